//! The two connections of the conductor.

use server::{ConnectOptions, Session};

use crate::error::Error;

/// What a client's session has of the server's and ours has not: where that is no variable of this
/// server, nothing is lost.
const AS_CLIENT: [&str; 7] = [
    "sql_mode",
    "foreign_key_checks",
    "unique_checks",
    "check_constraint_checks",
    "sql_quote_show_create",
    "sql_safe_updates",
    "autocommit",
];

/// Server error of a variable that it does not have.
const ER_UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;

/// The two connections of the conductor.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// Runs the dump's statements in their order: set to what the dump sets.
    pub(crate) dump: Session,
    /// Ours: utf8mb4, strict, never touched by the dump.
    pub(crate) own: Session,
}

impl Sessions {
    /// Connects both. The dump's is as the client's are before the dump sets anything.
    pub(crate) fn connect(connect: &ConnectOptions) -> Result<Sessions, Error> {
        let mut dump = Session::connect(connect)?;
        for variable in AS_CLIENT {
            match dump.exec(&format!("SET SESSION {variable}=@@GLOBAL.{variable}")) {
                Err(error) if error.errno() != Some(ER_UNKNOWN_SYSTEM_VARIABLE) => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
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
