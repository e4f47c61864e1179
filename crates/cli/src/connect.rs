//! Which server is meant, from what was typed.

use schema::TableName;
use secrecy::SecretString;
use server::options::Found;
use server::sandbox::Status;
use server::{ConnectOptions, OptionFiles, Sandbox, SandboxOptions};

use crate::args::ConnectArgs;
use crate::failure::Failure;

/// Keeps off the terminal what the driver dies of when a server answers without sense: there is an
/// error for it.
pub(crate) fn hush_driver() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let connects = std::thread::current().name() == Some(server::CONNECT_THREAD);
        if !connects && !server::is_in_driver() {
            usual(panic);
        }
    }));
}

/// The server that is meant.
pub(crate) enum Meant {
    /// One that the command line, an option file or the environment names.
    Named(Box<Given>),
    /// The private one, since nothing names another.
    Sandbox(Sandbox),
}

/// A server that is named; the password may still have to be asked for.
pub(crate) struct Given {
    options: ConnectOptions,
    asks_password: bool,
}

/// Which server is meant. Option files and the environment count also where no option does.
pub(crate) fn meant(args: &ConnectArgs) -> Result<Meant, Failure> {
    if args.sandbox.is_some() {
        if args.names_a_server() {
            return Err(Failure::usage("--sandbox and a server's address exclude each other"));
        }
        return Ok(Meant::Sandbox(sandbox(args.sandbox.as_deref())?));
    }
    let found = found(args)?;
    if !args.names_a_server() && found.named_by.is_none() {
        return Ok(Meant::Sandbox(sandbox(None)?));
    }
    let options = found.options.overridden_by(typed(args)?);
    Ok(Meant::Named(Box::new(Given { options, asks_password: args.password })))
}

impl Given {
    fn connect(self) -> Result<ConnectOptions, Failure> {
        if !self.asks_password {
            return Ok(self.options);
        }
        let text = rpassword::prompt_password("Enter password: ")
            .map_err(|error| Failure::usage(format!("reading the password: {error}")))?;
        let password = Some(SecretString::from(text));
        Ok(ConnectOptions { password, ..self.options })
    }
}

impl Meant {
    /// Whether it is there: named, or a sandbox that was made before.
    pub(crate) fn is_made(&self) -> bool {
        match self {
            Meant::Named(_) => true,
            Meant::Sandbox(sandbox) => sandbox.status() != Status::Absent,
        }
    }

    /// How to reach it; a sandbox is started if need be.
    pub(crate) fn resolve(self, quiet: bool) -> Result<ConnectOptions, Failure> {
        match self {
            Meant::Named(given) => given.connect(),
            Meant::Sandbox(sandbox) => {
                start(&sandbox, quiet)?;
                Ok(sandbox.connect_options())
            }
        }
    }
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

/// As [`Meant::resolve`], but makes no sandbox: the error is the one that is not there yet.
pub(crate) fn visit(args: &ConnectArgs) -> Result<Result<Visit, Sandbox>, Failure> {
    let sandbox = match meant(args)? {
        Meant::Named(given) => return Ok(Ok(Visit { connect: given.connect()?, started: None })),
        Meant::Sandbox(sandbox) => sandbox,
    };
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
#[cfg_attr(not(feature = "bench"), expect(dead_code, reason = "only benchmarks take no sandbox"))]
pub(crate) fn named(args: &ConnectArgs) -> Result<ConnectOptions, Failure> {
    let options = found(args)?.options.overridden_by(typed(args)?);
    Given { options, asks_password: args.password }.connect()
}

/// The client's option files.
pub(crate) fn option_files(args: &ConnectArgs) -> OptionFiles {
    OptionFiles {
        only: args.defaults_file.clone(),
        extra: args.defaults_extra_file.clone(),
        ..OptionFiles::default()
    }
}

/// What the client's option files and the environment say.
fn found(args: &ConnectArgs) -> Result<Found, Failure> {
    let mut warnings = Vec::new();
    let found = ConnectOptions::find(&option_files(args), &mut warnings)
        .map_err(|error| Failure::usage(error.to_string()))?;
    for warning in warnings {
        tell!("inrush: warning: {warning}");
    }
    Ok(found)
}

/// What was typed, but for the password.
fn typed(args: &ConnectArgs) -> Result<ConnectOptions, Failure> {
    Ok(ConnectOptions {
        host: args.host.clone(),
        port: args.port,
        socket: args.socket.clone(),
        user: args.user.clone(),
        ..args.secure.options()?
    })
}

/// What rows go into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Into {
    /// One table.
    Table(TableName),
    /// Tables of this database.
    Database(String),
}

/// Reads `DB.TABLE` or `DB`. Names that hold dots are given in backquotes, as in SQL.
pub(crate) fn into(into: &str) -> Result<Into, Failure> {
    match TableName::parse(&format!("{into}.`t`"), None) {
        Ok(name) => Ok(Into::Database(name.database)),
        Err(_) => Ok(Into::Table(target(into)?)),
    }
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
        for (typed, database) in [("tpch", "tpch"), ("`a.b`", "a.b")] {
            assert_eq!(into(typed).unwrap(), Into::Database(database.to_owned()));
        }
        assert!(matches!(into("tpch.lineitem").unwrap(), Into::Table(_)));
        for wrong in [".t", "d.", "a.b.c", "`a.b", ""] {
            assert!(into(wrong).is_err(), "{wrong}");
        }
    }
}
