//! The table that an input is compared with, and what ends that.

use encode::input;
use job::error::Error;
use job::memory::Memory;
use job::options::{InputOptions, LoadOptions};
use job::pool;
use job::progress::{Snapshot, Stage};
use job::stop::Stop;
use schema::Table;
use server::{ConnectOptions, Session};
use sources::Source;

/// Does `work` with the input from its start, and the connection as the options have it. `what` is what it
/// is called where somebody stops it.
///
/// Errors: the input cannot be opened; those of the work.
pub(crate) fn with_input<T>(
    connect: &ConnectOptions,
    options: &LoadOptions,
    what: &'static str,
    work: impl FnOnce(&ConnectOptions, &Memory, Box<dyn Source>) -> Result<T, Error>,
) -> Result<T, Error> {
    let tolerant = LoadOptions {
        input: InputOptions { leaves_unclosed: Some(true), ..options.input.clone() },
        ..options.clone()
    };
    let (memory, source) = input::open_files(&tolerant)?;
    let connect = ConnectOptions {
        interrupt: options.interrupt.clone(),
        time_zone: options.rows.time_zone.clone().or_else(|| connect.time_zone.clone()),
        ..connect.clone()
    };
    let _watcher = options.interrupt.watch(&connect);
    let done = pool::catch(|| work(&connect, &memory, source)).flatten();
    done.map_err(|error| match options.interrupt.requested() {
        Some(by) => Error::Stopped { by, stage: what, target: options.target().to_string() },
        None => error,
    })
}

/// Inspects the table. Takes no lock.
///
/// Errors: no table, a view; the server's.
pub(crate) fn open(
    connect: &ConnectOptions,
    options: &LoadOptions,
) -> Result<(Session, Table), Error> {
    let mut session = Session::connect(connect)?;
    let name = options.target();
    let table = match catalog::read(&mut session, &name) {
        Err(server::Error::NoTable(name)) => {
            return Err(Error::Usage(format!(
                "table {name} does not exist, and rows are checked against an existing table: create it \
                 first; inrush sniff prints a CREATE TABLE for a file"
            )));
        }
        table => table?,
    };
    if table.kind.is_view() {
        return Err(Error::Usage(format!(
            "{} is a view: check the rows against its table",
            table.name
        )));
    }
    Ok((session, table))
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
