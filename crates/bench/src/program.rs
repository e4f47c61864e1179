//! The inrush program as a user runs it.
//!
//! A process of its own for each load: its memory is that of the load alone, and its seconds are
//! those that a user waits.

use std::ffi::OsString;
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
        let mut command = Command::new(&self.path);
        command.arg("load").arg(file).arg("--into").arg(table).args(arguments);
        let failed = |said: String| Error::Inrush { table: table.to_owned(), said };
        self.report(command, connect, failed)
    }

    /// `inrush plan FILE --into TABLE`; gives its report. Errors as [`Program::load`].
    pub(crate) fn plan(
        &self,
        file: &Path,
        table: &str,
        connect: &ConnectOptions,
    ) -> Result<serde_json::Value, Error> {
        let mut command = Command::new(&self.path);
        command.arg("plan").arg(file).arg("--into").arg(table);
        let failed = |said: String| Error::Program { name: "inrush plan".to_owned(), said };
        self.report(command, connect, failed)
    }

    /// `inrush replay DUMP ..`; gives its report. Errors as [`Program::load`].
    pub(crate) fn replay(
        &self,
        dump: &Path,
        arguments: &[OsString],
        connect: &ConnectOptions,
    ) -> Result<serde_json::Value, Error> {
        let mut command = Command::new(&self.path);
        command.arg("replay").arg(dump).args(arguments);
        let failed = |said: String| Error::Program { name: "inrush replay".to_owned(), said };
        self.report(command, connect, failed)
    }

    /// `inrush export TABLE -o FILE`; gives its report. Errors as [`Program::load`].
    pub(crate) fn export(
        &self,
        table: &str,
        file: &Path,
        more: &[&str],
        connect: &ConnectOptions,
    ) -> Result<serde_json::Value, Error> {
        let mut command = Command::new(&self.path);
        command.arg("export").arg(table).arg("--output").arg(file).args(more);
        let failed = |said: String| Error::Program { name: "inrush export".to_owned(), said };
        self.report(command, connect, failed)
    }

    /// Runs a command of Inrush that prints a report.
    fn report(
        &self,
        mut command: Command,
        connect: &ConnectOptions,
        failed: impl Fn(String) -> Error,
    ) -> Result<serde_json::Value, Error> {
        command.args(["--json", "--quiet"]).args(&self.connect_arguments);
        if let Some(password) = &connect.password {
            command.env("MYSQL_PWD", password.expose_secret());
        }
        let output = command.output().map_err(Error::io("running", &self.path))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| failed(format!("no report: {error}")))
    }
}
