//! The inrush program as a user runs it.
//!
//! A process of its own for each load: its memory is that of the load alone, and its seconds are
//! those that a user waits.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use secrecy::ExposeSecret;
use server::ConnectOptions;

use crate::error::Error;

/// The program, and how it is told which server to use.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) connect_arguments: Vec<OsString>,
    /// Variables of its environment, and their values.
    pub(crate) environment: Vec<(&'static str, String)>,
}

/// The inrush program beside the running one, or on PATH.
pub(crate) fn default_path() -> PathBuf {
    terminal::programs::find("inrush").unwrap_or_else(|| "inrush".into())
}

impl Program {
    /// `inrush load FILE --into TABLE ..`; gives its report.
    ///
    /// Errors: a load that does not end with status 0, and one that prints no report.
    pub(crate) fn load(
        &self,
        file: &Path,
        table: &str,
        arguments: &[OsString],
        connect: &ConnectOptions,
    ) -> Result<serde_json::Value, Error> {
        let words = ["load".as_ref(), file.as_os_str(), "--into".as_ref(), table.as_ref()];
        let failed = |said: String| Error::Inrush { table: table.to_owned(), said };
        self.report(&words, arguments, connect, failed)
    }

    /// `inrush load -c JOB`; gives its report. Errors as [`Program::load`].
    pub(crate) fn load_job(
        &self,
        job: &Path,
        arguments: &[OsString],
        connect: &ConnectOptions,
    ) -> Result<serde_json::Value, Error> {
        let words = ["load".as_ref(), "-c".as_ref(), job.as_os_str()];
        self.report(&words, arguments, connect, of_command("inrush load -c"))
    }

    /// `inrush plan FILE --into TABLE`; gives its report. Errors as [`Program::load`].
    pub(crate) fn plan(
        &self,
        file: &Path,
        table: &str,
        connect: &ConnectOptions,
    ) -> Result<serde_json::Value, Error> {
        let words = ["plan".as_ref(), file.as_os_str(), "--into".as_ref(), table.as_ref()];
        self.report(&words, &[], connect, of_command("inrush plan"))
    }

    /// `inrush replay DUMP ..`; gives its report. Errors as [`Program::load`].
    pub(crate) fn replay(
        &self,
        dump: &Path,
        arguments: &[OsString],
        connect: &ConnectOptions,
    ) -> Result<serde_json::Value, Error> {
        let words = ["replay".as_ref(), dump.as_os_str()];
        self.report(&words, arguments, connect, of_command("inrush replay"))
    }

    /// `inrush export TABLE -o FILE`; gives its report. Errors as [`Program::load`].
    pub(crate) fn export(
        &self,
        table: &str,
        file: &Path,
        more: &[&str],
        connect: &ConnectOptions,
    ) -> Result<serde_json::Value, Error> {
        let words = ["export".as_ref(), table.as_ref(), "--output".as_ref(), file.as_os_str()];
        let more: Vec<OsString> = more.iter().map(OsString::from).collect();
        self.report(&words, &more, connect, of_command("inrush export"))
    }

    /// Runs a command of Inrush that prints a report.
    fn report(
        &self,
        words: &[&OsStr],
        arguments: &[OsString],
        connect: &ConnectOptions,
        failed: impl Fn(String) -> Error,
    ) -> Result<serde_json::Value, Error> {
        let mut command = Command::new(&self.path);
        command.args(words).args(arguments);
        command.args(["--json", "--quiet"]).args(&self.connect_arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(password) = &connect.password {
            command.env("MYSQL_PWD", password.expose_secret());
        }
        let output = command.output().map_err(Error::io("running", &self.path))?;
        // 3: loaded, and some rows were refused.
        let is_tolerant = arguments.iter().any(|argument| argument == "--rejects-max");
        if !(output.status.success() || is_tolerant && output.status.code() == Some(3)) {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| failed(format!("no report: {error}")))
    }
}

/// The error of a command, with what it has said.
fn of_command(name: &str) -> impl Fn(String) -> Error {
    move |said| Error::Program { name: name.to_owned(), said }
}
