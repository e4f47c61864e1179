//! The list of a server's connections.

use crate::error::Result;
use crate::session::{Row, Session};

const PROCESS_LIST: &str = "information_schema.PROCESSLIST";
/// MySQL's error of that list while any statement has a character of four bytes, or invalid text (9.7.4).
const ER_CANNOT_CONVERT_STRING: u16 = 3854;
/// The same list without that fault; empty on servers without a performance schema.
const PERFORMANCE_SCHEMA: &str = "performance_schema.processlist";

impl Session {
    /// Runs a SELECT from the list of connections, whose name `select` gets.
    pub fn query_processes(&mut self, select: impl Fn(&str) -> String) -> Result<Vec<Row>> {
        match self.query(&select(PROCESS_LIST)) {
            Err(error)
                if error.errno() == Some(ER_CANNOT_CONVERT_STRING)
                    && self.query_row("SELECT @@performance_schema")?.text(0)? == "1" =>
            {
                self.query(&select(PERFORMANCE_SCHEMA))
            }
            rows => rows,
        }
    }
}
