//! The two connections of the conductor.

use server::{ConnectOptions, Session};

use crate::changes;
use crate::error::Error;

/// The two connections of the conductor.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// Runs the dump's statements in their order: set to what the dump sets.
    pub(crate) dump: Session,
    /// Ours: utf8mb4, strict, never touched by the dump.
    pub(crate) own: Session,
}

impl Sessions {
    /// Connects both. The dump's has the server's own `sql_mode`, as a client's has, before the dump sets
    /// anything; all else is ours there too.
    pub(crate) fn connect(connect: &ConnectOptions) -> Result<Sessions, Error> {
        let mut dump = Session::connect(connect)?;
        let sql_mode = dump.query_row("SELECT @@GLOBAL.sql_mode")?.text(0)?;
        dump.set(&[("sql_mode", &sql_mode)])?;
        changes::keep(&mut dump)?;
        let own = Session::connect(&ConnectOptions { database: None, ..connect.clone() })?;
        Ok(Sessions { dump, own })
    }

    /// Sees to it that what was heard over both was the answer to what was asked, before tables are
    /// touched because of it.
    ///
    /// Errors: [`server::Error::Nonsense`].
    pub(crate) fn check_in_step(&mut self) -> server::Result<()> {
        self.dump.check_in_step()?;
        self.own.check_in_step()
    }
}
