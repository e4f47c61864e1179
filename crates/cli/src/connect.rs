//! Which server is meant, from what was typed.

use sandbox::{Lifetime, Sandbox, SandboxOptions, Status, User};
use schema::TableName;
use server::ConnectOptions;
use terminal::connect::{ConnectArgs, NamedServer};
use terminal::failure::Failure;

/// The server that is meant.
pub(crate) enum Meant {
    /// One that the command line, an option file or the environment names.
    Named(Box<NamedServer>),
    /// The private one, since nothing names another.
    Sandbox(Sandbox),
}

/// Which server is meant. Option files and the environment count also where no option does.
pub(crate) fn meant(args: &ConnectArgs) -> Result<Meant, Failure> {
    let is_of_a_named = || match args.datadir {
        Some(_) => {
            Err(Failure::usage("--datadir is for a server that is named, by --socket or --host"))
        }
        None => Ok(()),
    };
    if args.sandbox.is_some() {
        if args.names_a_server() {
            return Err(Failure::usage(
                "--sandbox and a server's address name two servers; leave one of them out",
            ));
        }
        is_of_a_named()?;
        return Ok(Meant::Sandbox(sandbox(args.sandbox.as_deref())?));
    }
    let found = args.found()?;
    if !args.names_a_server() && found.named_by.is_none() {
        is_of_a_named()?;
        return Ok(Meant::Sandbox(sandbox(None)?));
    }
    Ok(Meant::Named(Box::new(args.given(found)?)))
}

impl Meant {
    /// True if it exists: named, or a sandbox that was made before.
    pub(crate) fn is_made(&self) -> bool {
        match self {
            Meant::Named(_) => true,
            Meant::Sandbox(sandbox) => sandbox.status() != Status::Absent,
        }
    }

    /// Reaches it; a sandbox is started if need be, and keeps running.
    pub(crate) fn resolve(self, quiet: bool) -> Result<Visit, Failure> {
        match self {
            Meant::Named(given) => Ok(Visit { connect: given.connect()?, _user: None }),
            Meant::Sandbox(sandbox) => {
                tell_start(&sandbox, quiet);
                Visit::of_sandbox(&sandbox, Lifetime::UntilStopped)
            }
        }
    }
}

/// Says that a sandbox is started: it takes a while.
pub(crate) fn tell_start(sandbox: &Sandbox, quiet: bool) {
    let dir = sandbox.dir().display();
    match sandbox.status() {
        Status::Absent if !quiet => {
            tell!("creating a private MariaDB in {dir}; it stays there for later loads");
        }
        Status::Stopped if !quiet => tell!("starting the private MariaDB in {dir}"),
        _ => {}
    }
}

/// The server of a command while it uses it. The sandbox that a visit started stops with its last user.
pub(crate) struct Visit {
    pub(crate) connect: ConnectOptions,
    _user: Option<User>,
}

impl Visit {
    fn of_sandbox(sandbox: &Sandbox, lifetime: Lifetime) -> Result<Visit, Failure> {
        let user = sandbox.enter(&SandboxOptions::default(), lifetime)?;
        Ok(Visit { connect: sandbox.connect_options(), _user: Some(user) })
    }
}

/// Reaches a server that is only to be looked at. It makes no sandbox: the error is the missing one.
pub(crate) fn visit(args: &ConnectArgs) -> Result<Result<Visit, Sandbox>, Failure> {
    let sandbox = match meant(args)? {
        Meant::Named(given) => return Ok(Ok(Visit { connect: given.connect()?, _user: None })),
        Meant::Sandbox(sandbox) => sandbox,
    };
    if sandbox.status() == Status::Absent {
        return Ok(Err(sandbox));
    }
    Visit::of_sandbox(&sandbox, Lifetime::UntilLastUser).map(Ok)
}

/// The server that is meant, if it runs already: nothing is started, and nobody is asked.
pub(crate) fn running(args: &ConnectArgs) -> Result<Option<ConnectOptions>, Failure> {
    match meant(args)? {
        Meant::Named(given) => Ok(Some(given.connect()?)),
        Meant::Sandbox(sandbox) => {
            Ok((matches!(sandbox.status(), Status::Running { .. }))
                .then(|| sandbox.connect_options()))
        }
    }
}

/// The same for a command that needs a server.
pub(crate) fn existing(args: &ConnectArgs) -> Result<Visit, Failure> {
    visit(args)?.map_err(|_| {
        Failure::usage(
            "no server is named, and there is no sandbox yet: name a server with -S SOCKET or -h HOST",
        )
    })
}

/// The sandbox in `dir`, or in the user's own folder.
pub(crate) fn sandbox(dir: Option<&std::path::Path>) -> Result<Sandbox, Failure> {
    Ok(match dir {
        Some(dir) => Sandbox::at(dir)?,
        None => Sandbox::in_home()?,
    })
}

/// The target of the rows.
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
