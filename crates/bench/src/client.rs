//! MariaDB's own client programs, told which server.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use secrecy::ExposeSecret;
use server::ConnectOptions;

use crate::error::Error;

/// The client that runs a dump.
pub(crate) const CLIENT: &str = "mariadb";
/// The program that writes one.
pub(crate) const DUMPER: &str = "mariadb-dump";

/// `program`, connecting by `connect` and by nothing of an option file. Encrypted where a
/// certificate is named.
pub(crate) fn command(program: &str, connect: &ConnectOptions) -> Command {
    let mut command = Command::new(program);
    command.arg("--no-defaults");
    let mut add = |name: &str, value: Option<OsString>| {
        if let Some(value) = value {
            let mut argument = OsString::from(name);
            argument.push(value);
            command.arg(argument);
        }
    };
    add("--host=", connect.host.clone().map(Into::into));
    add("--port=", connect.port.map(|port| port.to_string().into()));
    add("--socket=", connect.socket.clone().map(Into::into));
    add("--user=", Some(connect.user_name().into()));
    add("--ssl-ca=", connect.tls.ca.clone().map(Into::into));
    add("--ssl-cert=", connect.tls.cert.clone().map(Into::into));
    add("--ssl-key=", connect.tls.key.clone().map(Into::into));
    if let Some(password) = &connect.password {
        command.env("MYSQL_PWD", password.expose_secret());
    }
    command.stdin(Stdio::null());
    command
}

/// Runs a command that reads `from` and writes `to`, where they are given; gives its output.
///
/// Errors: one that is not installed, and one that fails, with what it said.
pub(crate) fn run(
    mut command: Command,
    from: Option<&Path>,
    to: Option<&Path>,
) -> Result<Vec<u8>, Error> {
    if let Some(path) = from {
        command.stdin(File::open(path).map_err(Error::io("reading", path))?);
    }
    command.stdout(match to {
        Some(path) => File::create(path).map_err(Error::io("making", path))?.into(),
        None => Stdio::piped(),
    });
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stderr(Stdio::piped()).spawn();
    let output = child.and_then(|child| child.wait_with_output());
    let Output { status, stdout, stderr } =
        output.map_err(|error| failed(&name, format!("running it: {error}")))?;
    if status.success() {
        return Ok(stdout);
    }
    Err(failed(&name, format!("{status}: {}", String::from_utf8_lossy(&stderr).trim())))
}

fn failed(name: &str, said: String) -> Error {
    Error::Program { name: name.to_owned(), said }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_or_fails_is_named() {
        let error = run(Command::new("no-such-client"), None, None).unwrap_err().to_string();
        assert!(error.starts_with("no-such-client: running it: "), "{error}");
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo no >&2; exit 3"]);
        let error = run(shell, None, None).unwrap_err().to_string();
        assert!(error.contains("sh: exit status: 3: no"), "{error}");
    }

    #[test]
    fn the_password_is_no_argument() {
        let connect = ConnectOptions {
            user: Some("me".to_owned()),
            password: Some("sesame".to_owned().into()),
            ..ConnectOptions::default()
        };
        let command = command(CLIENT, &connect);
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        assert_eq!(arguments, ["--no-defaults", "--user=me"]);
        assert!(command.get_envs().any(|(name, _)| name == "MYSQL_PWD"));
    }
}
