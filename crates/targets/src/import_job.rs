//! Jobs of TiDB's IMPORT INTO: started, watched, and cancelled with the staging table that they fill.
//!
//! A job belongs to the cluster, and continues without the connection that started it. The name of a staging
//! table is that of one load, so its jobs are known by the table.
//!
//! Sources: TiDB 8.5, pkg/executor/show.go (`FillOneImportJobInfo`), pkg/executor/importer/job.go. The tests
//! have only a simulated TiDB.

use std::collections::HashMap;

use server::error::{Error, Result};
use server::identifier::TableName;
use server::session::Session;

/// "You have an error in your SQL syntax": a TiDB without IMPORT INTO.
const ER_PARSE: u16 = 1064;
/// The job has ended, or is gone.
const ER_ENDED: [u16; 2] = [8170, 8171];

/// A job, as the last answer had it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportJob {
    /// Its number.
    pub id: u64,
    /// Its table, quoted, in lower case.
    table: String,
    /// `pending`, `running`, `finished`, `failed` or `cancelled`.
    pub status: String,
    /// Rows so far.
    pub rows: Option<u64>,
    /// Why it ended.
    pub message: String,
}

impl ImportJob {
    /// The job of a table that IMPORT INTO .. DETACHED has started.
    ///
    /// Errors: the server's; an answer of another form.
    pub fn start(session: &mut Session, statement: &str, table: &TableName) -> Result<ImportJob> {
        ImportJob::one(session, statement, table)
    }

    /// The same job now.
    ///
    /// Errors: as of [`ImportJob::start`].
    pub fn look(&self, session: &mut Session, table: &TableName) -> Result<ImportJob> {
        ImportJob::one(session, &format!("SHOW IMPORT JOB {}", self.id), table)
    }

    /// True if it is to import more rows.
    pub fn is_open(&self) -> bool {
        ["pending", "running"].contains(&self.status.as_str())
    }

    fn one(session: &mut Session, sql: &str, table: &TableName) -> Result<ImportJob> {
        let jobs = ImportJob::all(session, sql)?;
        let job = jobs.into_iter().find(|job| job.table == quoted(table));
        job.ok_or_else(|| answer("has no job of the table", "a job", sql))
    }

    fn all(session: &mut Session, sql: &str) -> Result<Vec<ImportJob>> {
        let rows = session.query_named(sql)?;
        rows.into_iter().map(|row| ImportJob::read(row, sql)).collect()
    }

    /// Columns have been added from version to version.
    fn read(mut row: HashMap<String, Option<String>>, sql: &str) -> Result<ImportJob> {
        let mut value = |name: &str| row.remove(name).flatten();
        let id = value("job_id").and_then(|id| id.parse().ok());
        Ok(ImportJob {
            id: id.ok_or_else(|| answer("has no Job_ID", "a number", sql))?,
            table: value("target_table").unwrap_or_default().to_lowercase(),
            status: value("status").unwrap_or_default(),
            rows: value("imported_rows").and_then(|rows| rows.parse().ok()),
            message: value("result_message").unwrap_or_default(),
        })
    }
}

/// Cancels the jobs of these tables that have not ended, and waits until they have.
///
/// Errors: the server's. A job of another account is not seen without the right SUPER.
pub(super) fn cancel_jobs(session: &mut Session, tables: &[TableName]) -> Result<()> {
    if tables.is_empty() {
        return Ok(());
    }
    let jobs = match ImportJob::all(session, "SHOW IMPORT JOBS") {
        Err(error) if error.errno() == Some(ER_PARSE) => return Ok(()),
        jobs => jobs?,
    };
    for job in jobs {
        if job.is_open() && tables.iter().any(|table| quoted(table) == job.table) {
            match session.exec(&format!("CANCEL IMPORT JOB {}", job.id)) {
                Err(error) if error.errno().is_some_and(|no| ER_ENDED.contains(&no)) => {}
                cancelled => drop(cancelled?),
            }
        }
    }
    Ok(())
}

/// A table as TiDB names that of a job.
fn quoted(table: &TableName) -> String {
    table.quoted().to_lowercase()
}

fn answer(seen: &str, expected: &'static str, sql: &str) -> Error {
    Error::Answer { column: 0, seen: seen.to_owned(), expected, statement: sql.to_owned() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_read_by_the_names_of_its_columns() {
        // As TiDB 8.5 answers.
        let row = [
            ("job_id", Some("1")),
            ("data_source", Some("/tmp/rows.csv")),
            ("target_table", Some("`d`.`t`")),
            ("phase", Some("importing")),
            ("status", Some("running")),
            ("imported_rows", None),
            ("result_message", Some("")),
        ];
        let row = row.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)));
        let job = ImportJob::read(HashMap::from(row), "SHOW IMPORT JOB 1").unwrap();
        assert_eq!((job.id, &*job.table, job.rows), (1, "`d`.`t`", None));
        assert!(job.is_open());
        let ended = ImportJob { status: "cancelled".to_owned(), ..job };
        assert!(!ended.is_open());
        assert!(ImportJob::read(HashMap::new(), "SHOW IMPORT JOBS").is_err());
        assert_eq!(quoted(&TableName::new("Shop", "_inrush_T")), "`shop`.`_inrush_t`");
    }
}
