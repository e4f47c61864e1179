//! The report of a replay.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;

use face::option::PARTIAL;
use serde::Serialize;
use sources::dump::StrayLines;
use sql::StatementKind;

use crate::changes::Changes;
use crate::error::Error;
use crate::order::{Order, Step};
use crate::place::Place;

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TableReport {
    /// `database.table`.
    pub table: String,
    /// Rows that went in; with REPLACE or IGNORE those that were sent.
    pub rows: u64,
    /// How: `direct`, `stream`, `insert`, `parallel`, `serial`, or several of them with `+`; empty if
    /// the dump has no rows of it.
    pub way: String,
    /// Seconds that its rows took, while others were worked on too.
    pub seconds: f64,
    /// Values that the server changed.
    pub changes: Changes,
    /// Why not a faster way, and what else is to be said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A statement that failed and was passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The file it is in.
    pub file: String,
    /// Byte of the unpacked file that it begins at.
    pub offset: u64,
    /// Line, from 1.
    pub line: u64,
    /// How it begins.
    pub statement: String,
    /// The server's message.
    pub error: String,
}

/// Outcome of a replay, or with `dry_run` what it would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The dump as it was named.
    pub dump: String,
    /// True if nothing was done.
    pub dry_run: bool,
    /// Version of the server; empty if none was asked.
    pub server: String,
    /// Where the server is: host and port, its socket, or `sandbox`; empty if none was asked.
    pub server_address: String,
    /// Statements in the dump, INSERTs and skipped ones not counted, nor the SETs that repeat those before a table's
    /// rows at the start of the next file of them.
    pub statements: u64,
    /// Those that waited until all tables before them were finished.
    pub barriers: u64,
    /// Statements left out by `--tables`, `--exclude` or `--into`.
    pub left_out: u64,
    /// Skipped statements by kind: those left out, and LOCK TABLES.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Tables, in the order of the dump.
    pub tables: Vec<TableReport>,
    /// Where each of them is in `tables`.
    #[serde(skip)]
    pub(crate) places: HashMap<String, usize>,
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes read, compressed if they are.
    pub bytes: u64,
    /// Wall time.
    pub seconds: f64,
    /// Rows a second over all of it.
    pub rows_per_second: f64,
    /// Megabytes (10^6) of files a second over all of it.
    pub megabytes_per_second: f64,
    /// Highest resident memory of the process.
    pub memory_peak_bytes: u64,
    /// Values that the server changed in statements that are not INSERTs of rows.
    pub changes: Changes,
    /// Tables that were finished by an interrupted replay of the same dump before.
    pub tables_before: Vec<String>,
    /// Statements that failed, with `--force`; the first of them.
    pub failed: Vec<Failed>,
    /// Failed statements that are not in `failed`.
    pub failed_more: u64,
    /// Possible omissions, a sentence each.
    pub warnings: Vec<String>,
    /// Notes for the user, a sentence each.
    pub notes: Vec<String>,
    /// With `dry_run`: what would be done, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<DryRunStep>,
}

/// One step of a replay that is only looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DryRunStep {
    /// The file.
    pub file: String,
    /// Line that it begins on, from 1.
    pub line: u64,
    /// Byte of the unpacked file that it begins at.
    pub offset: u64,
    /// `run`, `barrier`, `make`, `rows`, `left out`.
    pub what: &'static str,
    /// The table, or how the statement begins.
    pub statement: String,
    /// Rows, for `rows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

impl Failed {
    pub(crate) fn new(place: &Place, error: &Error) -> Failed {
        Failed {
            file: place.file.display().to_string(),
            offset: place.offset,
            line: place.line,
            statement: place.head.clone(),
            error: error.cause(),
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failed { file, offset, line, statement, error } = self;
        write!(f, "{file}, line {line}, byte {offset}, at {statement:?}: {error}")
    }
}

impl Report {
    /// Counts a statement of the dump.
    pub(crate) fn count(&mut self, step: &Step, kind: &StatementKind) {
        match step {
            Step::Rows(_) => {}
            Step::LeftOut | Step::Nothing => {
                self.left_out += u64::from(*step == Step::LeftOut);
                *self.skipped.entry(kind.words()).or_default() += 1;
            }
            _ => self.statements += 1,
        }
    }

    /// Says what the dump lacks: as warnings, unless that `is_known`.
    pub(crate) fn tell_missing(&mut self, missing: &[String], is_known: bool) {
        match is_known {
            true => self.notes.extend_from_slice(missing),
            false => {
                let say = |what: &String| format!("{what} ({PARTIAL} accepts it)");
                self.warnings.extend(missing.iter().map(say));
            }
        }
    }

    /// Says which files were cut: as [`Report::tell_missing`].
    pub(crate) fn tell_cut(&mut self, cut: &[(PathBuf, Option<u64>)], is_known: bool) {
        let say = |(path, next): &(PathBuf, Option<u64>)| {
            let before = next.map_or_else(String::new, |line| format!(" before line {line}"));
            format!(
                "{} lacks its last line{before}, \"-- Dump completed\": the dump was cut short, and \
                 its end is missing",
                path.display()
            )
        };
        self.tell_missing(&cut.iter().map(say).collect::<Vec<_>>(), is_known);
    }

    /// Says that lines of the dump's program were passed over.
    pub(crate) fn tell_stray(&mut self, stray: Option<&StrayLines>) {
        let Some(StrayLines { count, at, text }) = stray else { return };
        self.notes.push(match count {
            1 => format!("left out a line that is no SQL, a message of the dump program: {at}, {text:?}"),
            count => format!(
                "left out {count} lines that are no SQL, messages of the dump program; the first one: \
                 {at}, {text:?}"
            ),
        });
    }

    /// Says which names of the selection the dump does not have, and what else was left out.
    ///
    /// Errors: nothing was selected.
    pub(crate) fn tell_selection(&mut self, order: &mut Order) -> Result<(), Error> {
        let unmatched = order.names().unmatched()?;
        let say = |one: String| format!("the dump has no table or view that {one} names");
        self.warnings.extend(unmatched.into_iter().map(say));
        self.notes.extend(order.notes());
        Ok(())
    }

    /// The line of a table, made if it is not there.
    pub(crate) fn table(&mut self, name: &str) -> &mut TableReport {
        let next = self.tables.len();
        let at = *self.places.entry(name.to_owned()).or_insert(next);
        if at == next {
            self.tables.push(TableReport { table: name.to_owned(), ..TableReport::default() });
        }
        &mut self.tables[at]
    }

    /// Fills in what follows from the rest.
    pub(crate) fn finish(&mut self, seconds: f64, bytes: u64) {
        let tables = self.tables.iter_mut().map(|table| &mut table.changes);
        for changes in tables.chain([&mut self.changes]) {
            changes.told.sort_by_key(|change| change.line);
        }
        self.rows = self.tables.iter().map(|table| table.rows).sum();
        self.seconds = seconds;
        self.bytes = bytes;
        let span = seconds.max(1e-9);
        self.rows_per_second = self.rows as f64 / span;
        self.megabytes_per_second = bytes as f64 / span / 1e6;
    }
}
