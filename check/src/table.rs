//! The table that an input is compared with, and what ends that.

use job::error::Error;
use job::options::LoadOptions;
use job::progress::{Snapshot, Stage};
use job::stop::Stop;
use schema::{Table, TableName};
use server::version::Flavor;
use server::{ConnectOptions, Session, catalog};

/// The connection as the options have it.
pub(crate) fn connect_options(connect: &ConnectOptions, options: &LoadOptions) -> ConnectOptions {
    ConnectOptions {
        interrupt: options.interrupt.clone(),
        time_zone: options.time_zone.clone().or_else(|| connect.time_zone.clone()),
        ..connect.clone()
    }
}

/// Looks at the table. Takes no lock.
///
/// Errors: no table, a view, another server than MariaDB; the server's.
pub(crate) fn open(
    connect: &ConnectOptions,
    options: &LoadOptions,
) -> Result<(Session, Table), Error> {
    let mut session = Session::connect(connect)?;
    if session.version().flavor == Flavor::MySql {
        return Err(Error::Usage(
            "which values MySQL takes, only MySQL knows: rows are checked against tables of MariaDB"
                .to_owned(),
        ));
    }
    let name = TableName::new(&options.database, &options.table);
    let table = match catalog::read(&mut session, &name) {
        Err(server::Error::NoTable(name)) => {
            return Err(Error::Usage(format!(
                "table {name} does not exist, and rows are checked against one that does"
            )));
        }
        table => table?,
    };
    if table.kind.is_view() {
        return Err(Error::Usage(format!(
            "{} is a view: check the rows against the table behind it",
            table.name
        )));
    }
    Ok((session, table))
}

/// What is said of `what` that failed: that it was stopped, if it was.
pub(crate) fn stopped(options: &LoadOptions, what: &'static str, error: Error) -> Error {
    match options.interrupt.requested() {
        Some(by) => Error::Stopped {
            by,
            stage: what,
            target: format!("{}.{}", options.database, options.table),
        },
        None => error,
    }
}

pub(crate) fn failed(stop: Stop) -> Error {
    match stop {
        Stop::Failed(error) => error,
        _ => Error::Internal("a check stopped without a reason".to_owned()),
    }
}

pub(crate) fn snapshot(stage: Stage) -> Snapshot {
    Snapshot { stage, rows: 0, done_bytes: 0, total_bytes: None, seconds_left: None }
}
