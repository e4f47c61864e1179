//! One statement for many rows of parameters: MariaDB's bulk protocol, COM_STMT_BULK_EXECUTE.
//!
//! The server parses `INSERT .. VALUES (?, ?)` once and takes the values as they are. That costs it
//! what LOAD DATA does, half of an INSERT whose text it has to read. To the outside it is one
//! statement: all of its rows are in, or none.

use mysql::prelude::Queryable;
use mysql::{Params, Value};

use crate::error::{Error, Result};
use crate::session::{Done, Session, refuse_local};

/// Server error of a statement that is prepared, but not for many rows at once.
const ER_UNSUPPORTED_PS: u16 = 1295;

/// A statement that the server has parsed. Lasts as long as its session.
#[derive(Clone, Debug)]
pub struct Prepared {
    statement: mysql::Statement,
}

impl Session {
    /// True if the server, and any proxy in front of it, accepts many rows for one statement.
    ///
    /// MariaDB does for INSERT and the like, and refuses it for others: that refusal is looked for.
    /// On an encrypted connection it refuses all: the server believes what the client said that it
    /// can before the encryption began, and the driver (mysql 28.0.4) says it afterwards only. Into
    /// a binary log of statements no rows go that way (error 4033).
    pub fn has_bulk(&mut self) -> Result<bool> {
        if self.is_encrypted()? || self.logs_statements()? {
            return Ok(false);
        }
        let probe = self.prepare("DO ?", "DO")?;
        let rows = [0u8, 1].map(|_| vec![Value::Int(1)]);
        let outcome = self
            .driver
            .call(|conn| conn.exec_batch(&probe.statement, rows.map(Params::Positional)));
        match outcome.map_err(|e| Error::from_driver_as(e, "DO for two rows")) {
            Ok(()) => Ok(false),
            Err(e) if e.errno() == Some(ER_UNSUPPORTED_PS) => Ok(true),
            Err(e) => Err(e),
        }
    }

    fn logs_statements(&mut self) -> Result<bool> {
        const SQL: &str = "SELECT @@GLOBAL.log_bin AND @@SESSION.binlog_format='STATEMENT'";
        Ok(self.query_text(SQL)?.as_deref() == Some("1"))
    }

    /// Has the server parse a statement with a `?` for each value of a row. `label` stands for it
    /// in errors.
    pub fn prepare(&mut self, sql: &str, label: &str) -> Result<Prepared> {
        refuse_local(sql)?;
        let _running = self.options.interrupt.begin(&self.mark)?;
        let statement =
            self.driver.call(|conn| conn.prep(sql)).map_err(|e| Error::from_driver_as(e, label))?;
        Ok(Prepared { statement })
    }

    /// Runs a prepared INSERT or REPLACE once for all `rows`. Only for servers that
    /// [`Session::has_bulk`] says yes of, and rows that fit into one packet.
    ///
    /// Values are text in the session's character set, None is NULL.
    pub fn exec_bulk<'v>(
        &mut self,
        prepared: &Prepared,
        rows: impl Iterator<Item = Vec<Option<&'v [u8]>>>,
        label: &str,
    ) -> Result<Done> {
        let _running = self.options.interrupt.begin(&self.mark)?;
        let value = |value: Option<&[u8]>| value.map_or(Value::NULL, |v| Value::Bytes(v.to_vec()));
        let rows = rows.map(|row| Params::Positional(row.into_iter().map(value).collect()));
        let done = self.driver.call(|conn| {
            conn.exec_batch(&prepared.statement, rows)?;
            Ok(Done {
                affected_rows: conn.affected_rows(),
                warnings: conn.warnings(),
                info: conn.info_str().into_owned(),
            })
        });
        done.map_err(|e| Error::from_driver_as(e, label))
    }
}
