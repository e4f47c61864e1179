//! Which server is meant, from what was typed.

use schema::TableName;
use secrecy::SecretString;
use server::sandbox::Status;
use server::{ConnectOptions, OptionFiles, Sandbox, SandboxOptions};

use crate::args::ConnectArgs;
use crate::failure::Failure;

/// Keeps off the terminal what the driver dies of when a server answers without sense: there is an
/// error for it.
pub(crate) fn hush_driver() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(server::CONNECT_THREAD) {
            usual(panic);
        }
    }));
}

/// The server that was named, or the sandbox, started if need be.
pub(crate) fn resolve(args: &ConnectArgs, quiet: bool) -> Result<ConnectOptions, Failure> {
    if args.names_a_server() {
        return named(args);
    }
    let sandbox = sandbox(args.sandbox.as_deref())?;
    start(&sandbox, quiet)?;
    Ok(sandbox.connect_options())
}

/// Whether the server that is meant is there: named, or a sandbox that was made before.
pub(crate) fn is_made(args: &ConnectArgs) -> Result<bool, Failure> {
    Ok(args.names_a_server() || sandbox(args.sandbox.as_deref())?.status() != Status::Absent)
}

/// Starts a sandbox, and says so: it takes a while.
pub(crate) fn start(sandbox: &Sandbox, quiet: bool) -> Result<(), Failure> {
    let dir = sandbox.dir().display();
    match sandbox.status() {
        Status::Absent if !quiet => {
            tell!("making a private MariaDB in {dir}; it stays there for later loads");
        }
        Status::Stopped if !quiet => tell!("starting the private MariaDB in {dir}"),
        _ => {}
    }
    Ok(sandbox.start(&SandboxOptions::default())?)
}

/// A server that is only to be looked at. A sandbox that was not running is stopped afterwards.
pub(crate) struct Visit {
    pub(crate) connect: ConnectOptions,
    started: Option<Sandbox>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(sandbox) = &self.started {
            // The visit is over either way.
            let _ = sandbox.stop();
        }
    }
}

/// As [`resolve`], but makes no sandbox: the error is the one that is not there yet.
pub(crate) fn visit(args: &ConnectArgs) -> Result<Result<Visit, Sandbox>, Failure> {
    if args.names_a_server() {
        return Ok(Ok(Visit { connect: named(args)?, started: None }));
    }
    let sandbox = sandbox(args.sandbox.as_deref())?;
    let status = sandbox.status();
    if status == Status::Absent {
        return Ok(Err(sandbox));
    }
    sandbox.start(&SandboxOptions::default())?;
    let connect = sandbox.connect_options();
    Ok(Ok(Visit { connect, started: (status == Status::Stopped).then_some(sandbox) }))
}

/// The sandbox in `dir`, or in the user's own folder.
pub(crate) fn sandbox(dir: Option<&std::path::Path>) -> Result<Sandbox, Failure> {
    Ok(match dir {
        Some(dir) => Sandbox::at(dir)?,
        None => Sandbox::in_home()?,
    })
}

/// The server that the arguments name, with the client's option files behind them.
pub(crate) fn named(args: &ConnectArgs) -> Result<ConnectOptions, Failure> {
    if args.sandbox.is_some() {
        return Err(Failure::usage("--sandbox and a server's address exclude each other"));
    }
    let files = OptionFiles {
        only: args.defaults_file.clone(),
        extra: args.defaults_extra_file.clone(),
        ..OptionFiles::default()
    };
    let mut warnings = Vec::new();
    let from_files = ConnectOptions::from_files(&files, &mut warnings)
        .map_err(|error| Failure::usage(error.to_string()))?;
    for warning in warnings {
        tell!("inrush: warning: {warning}");
    }
    let password = match args.password {
        true => {
            let text = rpassword::prompt_password("Enter password: ")
                .map_err(|error| Failure::usage(format!("reading the password: {error}")))?;
            Some(SecretString::from(text))
        }
        false => None,
    };
    Ok(from_files.overridden_by(ConnectOptions {
        host: args.host.clone(),
        port: args.port,
        socket: args.socket.clone(),
        user: args.user.clone(),
        password,
        ..args.secure.options()?
    }))
}

/// Reads `DB.TABLE`. Names that hold dots are given in backquotes, as in SQL.
pub(crate) fn target(into: &str) -> Result<TableName, Failure> {
    TableName::parse(into, None).map_err(|error| Failure::usage(format!("--into {error}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_split_at_the_dot_outside_backquotes() {
        let parts = |into| {
            let TableName { database, table } = target(into).unwrap();
            (database, table)
        };
        assert_eq!(parts("tpch.lineitem"), ("tpch".to_owned(), "lineitem".to_owned()));
        assert_eq!(parts("`a.b`.`c``.d`"), ("a.b".to_owned(), "c`.d".to_owned()));
        for wrong in ["lineitem", ".t", "d.", "`a`", "a.b.c", "`a.b", ""] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
