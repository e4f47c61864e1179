//! A load by IMPORT INTO of TiDB: the rows of a file, in one job of the cluster.
//!
//! The job fills the empty staging table past SQL: it converts values as INSERT does under a strict `sql_mode`,
//! ends at the first value that it cannot convert, and finds equal keys by a checksum at its end. It checks no
//! foreign keys and no CHECK constraints. A job that is left, by a failed load or a killed one, is cancelled
//! before its staging table is dropped ([`Lock::cleanup_tables`]).

use std::time::Duration;

use job::error::Error;
use job::failpoint;
use job::progress::{Progress, Snapshot, Stage};
use server::connect::reach::sleep;
use server::{ConnectOptions, Session};
use targets::{ImportJob, Lock};

use crate::import_file::ImportFile;

/// Between two looks at a job, doubled up to the second.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Connections that may be lost in a row while a job runs.
const LOST_MAX: usize = 4;

/// Has the server import a file into the staging table of `target`, in sessions with `sql_mode`, and waits.
///
/// Errors: [`Error::NotImported`]; the server's; the stop signal.
pub(crate) fn import(
    file: &ImportFile,
    target: &mut Lock,
    connect: &ConnectOptions,
    sql_mode: &str,
    progress: &dyn Progress,
) -> Result<(), Error> {
    if file.rows() == 0 {
        // TiDB refuses an empty file.
        return Ok(());
    }
    let table = target.names.staging.clone();
    let statement = file.hand_over(&table)?;
    let mut session = Session::connect(connect)?;
    session.set(&[("sql_mode", sql_mode)])?;
    let started = ImportJob::start(&mut session, &statement, &table).map_err(refused);
    drop(session);
    let mut job = started?;
    failpoint::hit("import.started");
    let (mut pause, mut lost) = (PAUSE_MIN, 0);
    while job.is_open() {
        sleep(pause, &connect.interrupt);
        connect.interrupt.check()?;
        pause = PAUSE_MAX.min(pause * 2);
        match job.look(&mut target.session, &table) {
            Err(error) if error.is_cut() && lost < LOST_MAX => {
                lost += 1;
                target.reconnect()?;
            }
            looked => (job, lost) = (looked.map_err(refused)?, 0),
        }
        let rows = job.rows.unwrap_or(0);
        let done_bytes = rows.saturating_mul(file.bytes()) / file.rows();
        progress.update(Snapshot::of(Stage::Import, rows, done_bytes, Some(file.bytes())));
    }
    check(&job, file.rows())
}

/// Refuses a job that has not imported so many rows.
fn check(job: &ImportJob, rows: u64) -> Result<(), Error> {
    let ImportJob { id, status, message, .. } = job;
    if status != "finished" {
        return Err(Error::NotImported(format!("TiDB's job {id} ended as {status}: {message}")));
    }
    if job.rows != Some(rows) {
        let imported = job.rows.map_or("an unknown number".to_owned(), |rows| rows.to_string());
        return Err(Error::NotImported(format!(
            "TiDB's job {id} imported {imported} of {rows} rows"
        )));
    }
    Ok(())
}

/// The server's error, in words if the server refused the statement.
fn refused(error: server::Error) -> Error {
    match error {
        server::Error::Statement { .. } if !error.is_unclear() => {
            Error::NotImported(error.to_string())
        }
        error => error.into(),
    }
}
