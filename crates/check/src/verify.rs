//! A comparison of a table's rows with those of an input, in any order.
//!
//! ```text
//! input -> bytes of each row's values, as the table would store them -> hash -> digest, in parts
//! table -> the same bytes, of what the server shows                  -> hash -> digest, in parts
//! ```
//!
//! Where the digests are the same, so are the rows. Where parts of them are not, both are read once more
//! and the rows of these parts compared one by one. Memory does not grow with the rows.

mod columns;
mod differences;
mod digest;
mod input_rows;
pub(crate) mod report;
mod table_rows;

use std::time::Instant;

use encode::inspected::Inspected;
use job::error::Error;
use job::memory::Memory;
use job::options::LoadOptions;
use job::progress::{Progress, Snapshot, Stage};
use locks::Mutex;
use schema::Table;
use server::engine::Kind;
use server::session::Isolation;
use server::{ConnectOptions, ServerFacts, Session};
use sources::{Source, SourceExt as _};

use crate::table;
use columns::{Columns, RowBytes};
use digest::Digest;
use input_rows::Counted;
use report::VerifyReport;
use table_rows::TableRows;

/// Rows of a table after which who watches is told.
const ROWS_PER_WORD: u64 = 1 << 16;

/// Compares files with a table, read by the options that a load of them has. Changes nothing, and takes no
/// lock; the rows of an InnoDB table are those of one moment.
///
/// Errors: options, files and tables that a load would refuse, too; no column to compare; the server's.
pub fn verify(
    connect: &ConnectOptions,
    options: &LoadOptions,
    progress: &dyn Progress,
) -> Result<VerifyReport, Error> {
    let begun = Instant::now();
    let mut report =
        table::with_input(connect, options, "the comparison", |connect, memory, mut source| {
            progress.update(table::snapshot(Stage::Inspect));
            let (mut session, table) = table::open(connect, options)?;
            let facts = ServerFacts::read(&mut session)?;
            let inspected =
                Inspected::of_table(&mut session, &table, &facts, options, &mut *source)?;
            let shown = begin_reading(connect)?;
            let table = &table;
            let mut verifying = Verifying { options, memory, progress, table, inspected, shown };
            let mut report = verifying.compare(Mutex::new(source))?;
            report.server.clone_from(&session.version().text);
            report.server_address = session.options().server_text();
            Ok(report)
        })?;
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

/// A session that sees the table as it is now until it ends, and shows moments in UTC.
fn begin_reading(connect: &ConnectOptions) -> Result<Session, Error> {
    let utc = ConnectOptions { time_zone: Some("+00:00".to_owned()), ..connect.clone() };
    let mut session = Session::connect(&utc)?;
    session.set_isolation(Isolation::RepeatableRead)?;
    // TiDB refuses `READ ONLY`.
    let only = if Kind::of_version(session.version()).has_files() { ", READ ONLY" } else { "" };
    session.exec(&format!("START TRANSACTION WITH CONSISTENT SNAPSHOT{only}"))?;
    Ok(session)
}

/// The parts of a comparison.
struct Verifying<'a> {
    options: &'a LoadOptions,
    memory: &'a Memory,
    progress: &'a dyn Progress,
    table: &'a Table,
    inspected: Inspected,
    /// Shows the rows of the table.
    shown: Session,
}

impl Verifying<'_> {
    fn compare(&mut self, source: Mutex<Box<dyn Source>>) -> Result<VerifyReport, Error> {
        let mut columns = Columns::of(self.table, &self.inspected, true);
        let mut counted = self.read_input(&columns, &source)?;
        if counted.numbered > 0 {
            // Which numbers the server has given, the input does not say.
            columns = Columns::of(self.table, &self.inspected, false);
            source.lock().restart()?;
            counted = self.read_input(&columns, &source)?;
        }
        let mut rows = TableRows::new(&columns)?;
        let there = self.digest_of_table(&mut rows)?;
        let differing = counted.digest.differing(&there);
        let mut report = VerifyReport {
            target: self.table.name.to_string(),
            rows: counted.digest.rows() + counted.refused,
            table_rows: there.rows(),
            refused_rows: counted.refused,
            compared: columns.bound.iter().map(|bound| bound.column.name.clone()).collect(),
            not_compared: columns.not_compared.clone(),
            are_all_told: true,
            ..VerifyReport::default()
        };
        if !differing.is_empty() {
            let mut source = source.into_inner();
            let statement = &rows.statement(&self.table.name);
            let shown =
                differences::ShownRows { session: &mut self.shown, rows: &mut rows, statement };
            let source = &mut *source;
            differences::find(&columns, self.options, &differing, source, shown, &mut report)?;
        }
        Ok(report)
    }

    /// Reads the input on all threads.
    fn read_input(
        &self,
        columns: &Columns,
        source: &Mutex<Box<dyn Source>>,
    ) -> Result<Counted, Error> {
        if columns.bound.is_empty() {
            return Err(Error::Usage(format!(
                "no column of {} can be compared: the input has none with known values",
                self.table.name
            )));
        }
        input_rows::count(columns, self.memory, source, self.progress, &self.options.interrupt)
            .map_err(table::failed)
    }

    fn digest_of_table(&mut self, rows: &mut TableRows) -> Result<Digest, Error> {
        let statement = rows.statement(&self.table.name);
        let (mut digest, mut bytes, mut done) = (Digest::default(), RowBytes::default(), 0u64);
        let progress = self.progress;
        self.shown.for_each(&statement, |row| {
            rows.read(&row, &mut bytes);
            digest.add(Digest::hash(&bytes.bytes));
            done += 1;
            if done.is_multiple_of(ROWS_PER_WORD) {
                progress.update(Snapshot { rows: done, ..table::snapshot(Stage::Verify) });
            }
            Ok(())
        })?;
        self.shown.check_variables()?;
        Ok(digest)
    }
}
