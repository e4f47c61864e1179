//! One server and its tables: dumped, replayed, and compared with what was dumped.

use std::ffi::OsString;
use std::path::Path;

use server::Session;
use server::identifier::quote_name;

use super::ReplayOptions;
use super::dump::{Contents, Dump};
use super::way::ReplayWay;
use crate::client::{self, CLIENT, DUMPER};
use crate::clock::{Clock, Took};
use crate::error::Error;
use crate::floor;
use crate::host::{self, DATABASE, Host};
use crate::program::Program;
use crate::rows::TableFile;
use crate::tpch::Table;
use crate::ways::load_data_sql;

/// The words for rows and for CREATE statements, if two methods differ.
const SCHEMA: &str = "CREATE statements";

/// A session, and what replays by it.
pub(super) struct Player<'a> {
    host: &'a Host,
    program: Program,
    /// Behind `inrush replay FILE`, for every way of Inrush.
    limits: Vec<OsString>,
    pub(super) session: Session,
}

/// One run of one way.
pub(super) struct Played {
    pub(super) took: Took,
    /// None for the client.
    pub(super) report: Option<serde_json::Value>,
}

impl<'a> Player<'a> {
    pub(super) fn new(
        host: &'a Host,
        program: Program,
        options: &ReplayOptions,
    ) -> Result<Player<'a>, Error> {
        let mut limits: Vec<OsString> = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                limits.extend([name.into(), value.into()]);
            }
        };
        add("--memory", options.memory_bytes_max.map(|bytes| bytes.to_string()));
        add("--threads", options.threads.map(|threads| threads.to_string()));
        add("--connections", options.connections.map(|count| count.to_string()));
        Ok(Player { host, program, limits, session: host.session()? })
    }

    /// Replays `dump` into the server, which has no such database before, and compares.
    ///
    /// Errors: a replay that fails, and one that leaves other tables than were dumped.
    pub(super) fn play(&mut self, way: ReplayWay, dump: &Dump) -> Result<Played, Error> {
        self.drop_database()?;
        // Into the page cache, for all alike.
        floor::read_seconds(&dump.path)?;
        host::settle(&mut self.session, self.host.is_own())?;
        let clock = Clock::start(self.host.pid());
        let report = match way {
            ReplayWay::Client => self.client(&dump.path)?,
            ReplayWay::Statements => Some(self.inrush(&dump.path, "statements")?),
            ReplayWay::Rows => Some(self.inrush(&dump.path, "rows")?),
        };
        let took = clock.stop();
        self.check(way, dump)?;
        Ok(Played { took, report })
    }

    pub(super) fn drop_database(&mut self) -> Result<(), Error> {
        self.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        Ok(())
    }

    /// Makes the database and in it the tables, empty.
    pub(super) fn create_tables(&mut self, statements: &[&str]) -> Result<(), Error> {
        self.session.exec(&format!("CREATE DATABASE {DATABASE}"))?;
        self.session.exec(&format!("USE {DATABASE}"))?;
        for statement in statements {
            self.session.exec(statement)?;
        }
        Ok(())
    }

    /// Fills a table, by LOAD DATA.
    pub(super) fn load_data(&mut self, table: Table, file: &TableFile) -> Result<(), Error> {
        // region and nation have a row of number 0.
        self.session.exec(
            "SET unique_checks=0, foreign_key_checks=0, \
             sql_mode=CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')",
        )?;
        let done = self.session.exec(&load_data_sql(table, &file.path))?;
        self.session
            .exec("SET unique_checks=DEFAULT, foreign_key_checks=DEFAULT, sql_mode=DEFAULT")?;
        if done.warnings > 0 {
            return Err(Error::Option(format!("LOAD DATA into {table} warned: {}", done.info)));
        }
        Ok(())
    }

    /// Writes a dump as `mariadb-dump` does when told nothing but the database.
    pub(super) fn dump(&self, to: &Path) -> Result<(), Error> {
        let mut command = client::command(DUMPER, &self.host.server.connect);
        command.args(["--databases", DATABASE]);
        client::run(command, None, Some(to)).map(drop)
    }

    /// The CREATE statements of all tables.
    pub(super) fn schema(&self) -> Result<String, Error> {
        let mut command = client::command(DUMPER, &self.host.server.connect);
        command.args(["--no-data", "--skip-dump-date", "--databases", DATABASE]);
        let text = client::run(command, None, None)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The contents of each table.
    pub(super) fn contents(&mut self) -> Result<Vec<Contents>, Error> {
        let mut all = Vec::new();
        for table in Table::ALL {
            let name = format!("{DATABASE}.{}", quote_name(table.name()));
            let rows =
                self.session.query_row(&format!("SELECT COUNT(*) FROM {name}"))?.number(0)?;
            let sum = self.session.query_row(&format!("CHECKSUM TABLE {name}"))?.text(1)?;
            all.push(Contents { table: table.name().to_owned(), rows, checksum: sum });
        }
        Ok(all)
    }

    fn client(&self, dump: &Path) -> Result<Option<serde_json::Value>, Error> {
        let command = client::command(CLIENT, &self.host.server.connect);
        client::run(command, Some(dump), None)?;
        Ok(None)
    }

    fn inrush(&self, dump: &Path, way: &str) -> Result<serde_json::Value, Error> {
        let mut arguments: Vec<OsString> = vec!["--as".into(), way.into()];
        arguments.extend(self.limits.iter().cloned());
        self.program.replay(dump, &arguments, &self.host.server.connect)
    }

    fn check(&mut self, way: ReplayWay, dump: &Dump) -> Result<(), Error> {
        let different = |table: &str, seen: String, expected: String| Error::Different {
            table: table.to_owned(),
            method: way.name().to_owned(),
            seen,
            reference: "the dumped table".to_owned(),
            expected,
        };
        let words = |table: &Contents| format!("{} rows, checksum {}", table.rows, table.checksum);
        for (seen, expected) in self.contents()?.iter().zip(&dump.tables) {
            if seen != expected {
                return Err(different(&expected.table, words(seen), words(expected)));
            }
        }
        let schema = self.schema()?;
        let (seen, expected) = first_difference(&schema, &dump.schema);
        if seen != expected {
            return Err(different(SCHEMA, format!("{seen:?}"), format!("{expected:?}")));
        }
        Ok(())
    }
}

/// The first line in which two texts differ; two empty ones where they are equal.
fn first_difference<'t>(one: &'t str, other: &'t str) -> (&'t str, &'t str) {
    let (mut ones, mut others) = (one.lines(), other.lines());
    loop {
        match (ones.next(), others.next()) {
            (None, None) => return ("", ""),
            (one, other) if one == other => {}
            (one, other) => return (one.unwrap_or("(end)"), other.unwrap_or("(end)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_told() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), ("", ""));
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), ("b", "c"));
        assert_eq!(first_difference("a\n", "a\nc\n"), ("(end)", "c"));
    }
}
