//! The rows of a table into files: the way back.
//!
//! ```text
//! table -> direct: its file, held by a lock   -> text: rows in a layout -> ordered -> output: files
//!       -> select: ranges, connections        ->
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | [`options`], `columns` | the request; the exported columns |
//! | `layout`, `text`, `memo`, `definition` | the format; rows in that format; texts that come again; the CREATE TABLE of SQL files |
//! | `typed` | rows as row groups of Parquet and Arrow |
//! | `direct`, `held` | rows from the table's file, held by a lock |
//! | `select`, `ranges`, `places` | rows by SELECT, in ranges, also from other servers |
//! | `ordered`, `packer`, `output`, `target`, `part_file`, `aligned_file` | threads that write text in order; compression; files |
//! | `leftover` | files that killed exports left |
//! | [`store`] | folders of object stores |
//! | `progress`, [`report`], [`error`] | results |

#![forbid(unsafe_code)]

mod aligned_file;
mod columns;
mod definition;
mod direct;
mod error;
mod held;
mod layout;
mod leftover;
mod memo;
pub mod options;
mod ordered;
mod output;
mod packer;
mod part_file;
mod places;
mod progress;
mod ranges;
mod report;
mod request;
mod retention;
mod select;
pub mod store;
mod target;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod text;
mod typed;

use std::time::Instant;

use face::option::{COLUMNS, FORMAT_OF, PATH, TIME_ZONE};
use job::progress::Progress;
use schema::{Table, TableKind, TableName};
use server::error::holders_text;
use server::identifier::quote_text;
use server::{ConnectOptions, Session};
use targets::waiting::{self, ER_LOCK_WAIT_TIMEOUT};
use values::Family;

pub use columnar::Kind as ColumnarKind;
pub use error::Error;
pub use options::{Compression, ExportOptions, ExportPath, Format, Place, Split};
pub use places::{PlaceReader, Places, PlacesRead};
pub use report::ExportReport;
pub use select::{DENIED, begin_snapshot, check_unaltered};

use crate::columns::Columns;
use crate::direct::Direct;
use crate::layout::{Kind, Layout};
use crate::ordered::{Flow, Turns};
use crate::output::{Finished, Output};
use crate::progress::ExportProgress;
use crate::request::Request;
use crate::select::{ReadBySelect, Select};
use crate::text::Chunk;
use crate::typed::Contents;

/// Begins the names of tables that loads make for a while.
const OURS: &str = "_inrush_";
/// Who asks for the end of what other threads do where one has failed.
const FAILURE: &str = "a failure";

/// Writes the rows of a table into files. It reads; nothing of the server's is changed.
///
/// Errors: no file of it is left then.
pub fn export(
    connect: &ConnectOptions,
    options: &ExportOptions,
    places: Option<&dyn Places>,
    progress: &dyn Progress,
) -> Result<ExportReport, Error> {
    let begun = Instant::now();
    let outcome = run(connect, options, places, progress, begun);
    match (outcome, options.interrupt.requested()) {
        // What the wish to stop ended is no failure of its own.
        (Err(Error::Server(_) | Error::Abandoned), Some(by)) if by != FAILURE => {
            Err(Error::Interrupted(by))
        }
        (Err(Error::Io { .. }), Some(by)) if by != FAILURE && options.store.is_some() => {
            Err(Error::Interrupted(by))
        }
        (Err(Error::Server(error)), _) if error.errno() == Some(ER_LOCK_WAIT_TIMEOUT) => {
            Err(locked(connect, options, error))
        }
        (outcome, _) => outcome,
    }
}

/// The error of a table that others keep from being read; as it was where they cannot be asked for.
fn locked(connect: &ConnectOptions, options: &ExportOptions, error: server::Error) -> Error {
    let holders = Session::connect(connect)
        .and_then(|mut session| waiting::lock_holders(&mut session, &[&options.table], &[]));
    let Ok(holders) = holders else { return error.into() };
    let (target, seconds) = (options.table.to_string(), options.wait().as_secs());
    server::Error::LockWait { target, seconds, holders }.into()
}

/// The tables of a database by their names: no views, sequences, and tables that a load of ours has left.
///
/// Errors: a database that does not exist, or has no tables that the account sees.
pub fn tables(connect: &ConnectOptions, database: &str) -> Result<Vec<TableName>, Error> {
    let mut session = Session::connect(connect)?;
    let rows = session.query(&format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA={} AND \
         TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY TABLE_NAME",
        quote_text(database)
    ))?;
    let names = rows.iter().map(|row| row.text(0)).collect::<Result<Vec<_>, _>>()?;
    let is_users = |name: &String| !name.starts_with(OURS);
    let tables: Vec<TableName> =
        (names.into_iter().filter(is_users)).map(|name| TableName::new(database, &name)).collect();
    match tables.is_empty() {
        true => Err(Error::Usage(format!("database {database} has no tables that you can see"))),
        false => Ok(tables),
    }
}

fn run(
    connect: &ConnectOptions,
    options: &ExportOptions,
    places: Option<&dyn Places>,
    progress: &dyn Progress,
    begun: Instant,
) -> Result<ExportReport, Error> {
    let options = &options.within_memory()?;
    let connect = ConnectOptions {
        interrupt: options.interrupt.clone(),
        time_zone: Some(options.time_zone.clone()),
        ..connect.clone()
    };
    // Ends what the server does for us where somebody, or a thread of ours, asks for the end.
    let _watcher = options.interrupt.watch(&connect);
    let mut session = Session::connect(&connect)?;
    session.set_lock_wait(options.wait())?;
    let table = catalog::read(&mut session, &options.table)?;
    let columns = Columns::new(&table, options.columns.as_deref())?;
    let mut notes = notes(&table, &columns, options);
    let request = Request { table: &table, columns: &columns, options };
    let contents = contents(&mut session, request, &mut notes)?;
    let mut output = Output::open(options, contents.prelude())?.of_format(contents.typed());
    let server = session.version().text.clone();

    let mut to = Destination {
        contents: &contents,
        output: &mut output,
        told: ExportProgress::new(progress),
    };
    let Read { path, why, rows, threads } =
        read(&mut session, request, &mut to, places, &mut notes)?;
    let Finished { files, bytes, file_bytes } = output.finish()?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(ExportReport {
        table: table.name.to_string(),
        path,
        why,
        rows,
        bytes,
        file_bytes,
        seconds,
        rows_per_second: rows as f64 / seconds,
        megabytes_per_second: bytes as f64 / 1e6 / seconds,
        files,
        columns: columns.names(),
        memory_peak_bytes: job::report::memory_peak_bytes(),
        threads,
        server,
        server_address: connect.server_text(),
        notes,
    })
}

/// The contents of the files, by the options.
fn contents(
    session: &mut Session,
    Request { table, columns, options }: Request<'_>,
    notes: &mut Vec<String>,
) -> Result<Contents, Error> {
    if let Format::Columnar(kind) = options.format {
        let options = options.typed(kind)?;
        return Ok(Contents::Typed(typed::format(session, table, columns, options)?));
    }
    let mut layout =
        Layout::new(&options.format, &table.name, &columns.fields, &options.time_zone)?;
    if let Layout::Insert(insert) = &mut layout
        && options.creates_table
    {
        match definition::read(session, table)? {
            Ok(mut statements) => {
                columns.check_insertable(table)?;
                insert.prelude.append(&mut statements);
            }
            Err(reason) => notes.push(format!("the file has no CREATE TABLE: {reason}")),
        }
    }
    Ok(Contents::Text(layout))
}

/// How rows were read.
struct Read {
    path: &'static str,
    why: String,
    rows: u64,
    threads: usize,
}

/// The destination of rows that are read.
struct Destination<'d, 'o> {
    contents: &'d Contents,
    output: &'d mut Output<'o>,
    told: ExportProgress<'d>,
}

/// Reads all rows, by the first way that is open, and writes them.
fn read<'d>(
    session: &mut Session,
    request: Request<'d>,
    to: &mut Destination<'d, '_>,
    places: Option<&dyn Places>,
    notes: &mut Vec<String>,
) -> Result<Read, Error> {
    let Request { table, columns, options } = request;
    let (reasons, is_busy) = match options.way {
        ExportPath::Select => (vec![format!("{} was requested", PATH.with("select"))], false),
        ExportPath::Auto | ExportPath::Direct => match read_file(session, request, to)? {
            Ok(read) => return Ok(read),
            Err(reasons) => reasons,
        },
    };
    let how = ReadBySelect { progress: to.told.progress, is_busy };
    let (mut select, why) = selected(session, request, how, places, &reasons)?;
    notes.append(&mut select.notes);
    let watched = select.servers.iter().map(|connect| options.interrupt.watch(connect));
    let _watchers: Vec<_> = watched.collect();
    let turns = select.turns;
    let (workers, parts) = select.workers(table, columns, to.contents, options)?;
    let threads = workers.len();
    let write = |chunk: &mut Chunk| to.told.write(chunk, to.output);
    let end = || options.interrupt.request(FAILURE);
    ordered::run(workers, Flow::new(parts, turns, options), write, end)?;
    Ok(Read { path: "select", why, rows: to.told.rows, threads })
}

/// Reads the table's file where that can be.
///
/// Errors of the inner result: why not, a sentence each, and whether others write to the table all the time.
fn read_file<'d>(
    session: &mut Session,
    request: Request<'d>,
    Destination { contents, output, told }: &mut Destination<'d, '_>,
) -> Result<Result<Read, (Vec<String>, bool)>, Error> {
    let Request { table, columns, options } = request;
    let is_required = options.way == ExportPath::Direct;
    let direct = match Direct::begin(session, request, told.progress) {
        Ok(Ok(direct)) => direct,
        Ok(Err(reasons)) if is_required => {
            return Err(Error::NotDirect { table: table.name.to_string(), reasons });
        }
        Ok(Err(reasons)) => return Ok(Err((reasons, false))),
        Err(Error::Locked { seconds, holders, .. }) if !is_required => {
            let holders = holders_text(&holders);
            let reason = format!("the table's file was not locked within {seconds} s; {holders}");
            return Ok(Err((vec![reason], true)));
        }
        Err(error) => return Err(error),
    };
    let (workers, parts) = direct.workers(table, columns, contents, options)?;
    let threads = workers.len();
    told.total_bytes = Some(direct.read_bytes());
    let write = |chunk: &mut Chunk| told.write(chunk, output);
    let end = || options.interrupt.request(FAILURE);
    ordered::run(workers, Flow::new(parts, Turns::Parts, options), write, end)?;
    // Whether nobody wrote to the table is known when the lock was there to the end.
    direct.release()?;
    let why = "rows are read from the table's file".to_owned();
    Ok(Ok(Read { path: "direct", why, rows: told.rows, threads }))
}

/// Rows by SELECT, from each place of the table if that can be; and why so.
fn selected(
    session: &mut Session,
    request: Request<'_>,
    how: ReadBySelect<'_>,
    places: Option<&dyn Places>,
    reasons: &[String],
) -> Result<(Select, String), Error> {
    let Request { table, columns, options } = request;
    select::check_condition(session, table, options)?;
    let why = format!("rows are read with SELECT: {}", reasons.join("; "));
    let Some(places) = places.filter(|places| places.claims(table)) else {
        return Ok((Select::begin(session, request, how)?, why));
    };
    Ok(match places.begin(session, table, options)? {
        PlacesRead::Each(readers, why) => (Select::of_places(readers, columns, options), why),
        PlacesRead::Through(why_through, note) => {
            let mut select = Select::begin(session, request, how)?;
            select.notes.push(note);
            (select, format!("{why}; {why_through}"))
        }
    })
}

/// Notes for a load of the files.
fn notes(table: &Table, columns: &Columns, options: &ExportOptions) -> Vec<String> {
    let mut notes = Vec::new();
    if table.kind == TableKind::SystemVersioned {
        notes.push("rows of the table's history are left out".to_owned());
    }
    match &options.format {
        Format::Delimited { header, .. } if !header && columns.have_to_be_told(table) => {
            notes.push(format!("a load needs {}", COLUMNS.with(columns.names().join(","))));
        }
        Format::Delimited { .. } => {}
        Format::JsonLines => notes.extend(base64_note(columns)),
        _ => return notes,
    }
    let is_moment = |place: &usize| table.columns[*place].sql_type.family() == Family::Moment;
    if columns.places.iter().any(is_moment) {
        let zone = &options.time_zone;
        notes.push(format!(
            "TIMESTAMP values are in the time zone {zone}: a load needs {}",
            TIME_ZONE.with(zone)
        ));
    }
    notes
}

/// A note on columns of bytes, which JSON has in base64: a load takes that for a text, unless it is told.
fn base64_note(columns: &Columns) -> Option<String> {
    let bytes = columns.fields.iter().filter(|field| field.kind == Kind::Bytes);
    let options = bytes.map(|field| FORMAT_OF.with(format!("{}=base64", field.name)).to_string());
    let options: Vec<String> = options.collect();
    (!options.is_empty())
        .then(|| format!("bytes are in base64: a load needs {}", options.join(" ")))
}
