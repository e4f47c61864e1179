//! Base tables, proven to be such by the server while it holds their names.
//!
//! Anybody who may create a view can put one in the place of any table of the database, between two
//! statements too. A view of SQL SECURITY INVOKER runs its functions, and reaches the tables below it, with
//! the rights of the account that names the view. So
//!
//! ```text
//! reads   FROM table USE INDEX FOR GROUP BY ()          refused where the name is a view: TableName::base
//! writes  START TRANSACTION -> hold_tables -> write     the metadata lock keeps the name a table's until COMMIT
//! ```

use schema::{BASE_TABLE, TableName};

use crate::engine::Kind;
use crate::error::Result;
use crate::session::Session;

impl Session {
    /// Keeps the names of tables with base tables until the transaction of this session ends. Reads no row.
    ///
    /// Errors: [`Error::View`](crate::Error::View); the server's, for a table that does not exist.
    pub fn hold_tables(&mut self, tables: &[&TableName]) -> Result<()> {
        let base = tables.iter().map(|table| table.base()).collect::<Vec<_>>().join(", ");
        self.exec(&format!("SELECT 1 FROM {base} LIMIT 0")).map(drop)
    }

    /// Writes to a table by `write`, in a transaction that holds the table.
    ///
    /// Errors: as [`Session::hold_tables`]; those of `write`, and nothing is written.
    pub fn write_to<T>(
        &mut self,
        table: &TableName,
        write: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        self.exec("START TRANSACTION")?;
        let written = self.hold_tables(&[table]).and_then(|()| write(self));
        match written {
            Ok(done) => self.exec("COMMIT").map(|_| done),
            Err(error) => {
                // A connection that broke has ended its transaction.
                let _ = self.exec("ROLLBACK");
                Err(error)
            }
        }
    }

    /// The hint after a table in FROM that makes the server refuse a view: [`BASE_TABLE`], or
    /// nothing if the engine is not known to accept it.
    pub fn base_table_hint(&self) -> &'static str {
        if Kind::of_version(self.version()).takes_index_hints() { BASE_TABLE } else { "" }
    }

    /// A statement without hints that the engine is not known to take.
    pub(crate) fn as_taken<'a>(&self, sql: &'a str) -> std::borrow::Cow<'a, str> {
        match sql.contains(BASE_TABLE) && self.base_table_hint().is_empty() {
            true => sql.replace(&format!(" {BASE_TABLE}"), "").into(),
            false => sql.into(),
        }
    }
}
