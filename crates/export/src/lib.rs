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
//! | `layout`, `text`, `definition` | the format; rows in that format; the CREATE TABLE of SQL files |
//! | `direct`, `held` | rows from the table's file, held by a lock |
//! | `select`, `ranges`, `places` | rows by SELECT, in ranges, also from other servers |
//! | `ordered`, `packer`, `output`, `part_file` | threads that write text in order; compression; files |
//! | `progress`, [`report`], [`error`] | results |

#![forbid(unsafe_code)]

mod columns;
mod definition;
mod direct;
pub mod error;
mod held;
mod layout;
pub mod options;
mod ordered;
mod output;
mod packer;
mod part_file;
mod places;
mod progress;
mod ranges;
pub mod report;
mod select;
mod text;

use std::time::Instant;

use face::option::{COLUMNS, PATH, TIME_ZONE};
use job::progress::Progress;
use schema::{Table, TableName};
use server::identifier::quote_text;
use server::{ConnectOptions, Session, catalog};
use values::Family;

pub use error::Error;
pub use options::{Compression, ExportOptions, ExportPath, Format, Place, Split};
pub use places::{PlaceReader, Places, PlacesRead};
pub use report::ExportReport;
pub use select::{DENIED, begin_snapshot};

use crate::columns::Columns;
use crate::direct::Direct;
use crate::layout::Layout;
use crate::ordered::Turns;
use crate::output::{Finished, Output};
use crate::progress::ExportProgress;
use crate::select::Select;
use crate::text::Chunk;

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
        (outcome, _) => outcome,
    }
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
    let connect = ConnectOptions {
        interrupt: options.interrupt.clone(),
        time_zone: Some(options.time_zone.clone()),
        ..connect.clone()
    };
    // Ends what the server does for us where somebody, or a thread of ours, asks for the end.
    let _watcher = options.interrupt.watch(&connect);
    let mut session = Session::connect(&connect)?;
    let table = catalog::read(&mut session, &options.table)?;
    let columns = Columns::new(&table, options.columns.as_deref())?;
    let mut notes = notes(&table, &columns, options);
    let mut layout =
        Layout::new(&options.format, &table.name, &columns.fields, &options.time_zone)?;
    if let Layout::Insert(insert) = &mut layout
        && options.creates_table
    {
        match definition::read(&mut session, &table)? {
            Ok(mut statements) => insert.prelude.append(&mut statements),
            Err(reason) => notes.push(format!("the file has no CREATE TABLE: {reason}")),
        }
    }
    let layout = layout;
    let mut output = Output::open(options, layout.prelude())?;
    let server = session.version().text.clone();

    let told = ExportProgress::new(progress);
    let to = (&layout, &mut output, told);
    let Read { path, why, rows, threads } =
        read(&mut session, (&table, &columns), to, (options, places), &mut notes)?;
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
        threads,
        server,
        server_address: connect.target_text(),
        notes,
    })
}

/// How rows were read.
struct Read {
    path: &'static str,
    why: String,
    rows: u64,
    threads: usize,
}

/// Reads all rows, by the first way that is open, and writes them.
fn read(
    session: &mut Session,
    (table, columns): (&Table, &Columns),
    (layout, output, mut told): (&Layout, &mut Output<'_>, ExportProgress<'_>),
    (options, places): (&ExportOptions, Option<&dyn Places>),
    notes: &mut Vec<String>,
) -> Result<Read, Error> {
    let end = || options.interrupt.request(FAILURE);
    let reasons = match options.way {
        ExportPath::Select => vec![format!("{} was requested", PATH.with("select"))],
        ExportPath::Auto | ExportPath::Direct => {
            match Direct::begin(session, table, columns, options)? {
                Ok(direct) => {
                    let (workers, parts) = direct.workers(table, columns, layout, options)?;
                    let threads = workers.len();
                    told.total_bytes = Some(direct.read_bytes());
                    let write = |chunk: &Chunk| told.write(chunk, output);
                    let how = (parts, Turns::Parts, options.compression);
                    ordered::run(workers, how, write, end)?;
                    // Whether nobody wrote to the table is known when the lock was there to the end.
                    direct.release()?;
                    let why = "rows are read from the table's file".to_owned();
                    return Ok(Read { path: "direct", why, rows: told.rows, threads });
                }
                Err(reasons) if options.way == ExportPath::Direct => {
                    return Err(Error::NotDirect { table: table.name.to_string(), reasons });
                }
                Err(reasons) => reasons,
            }
        }
    };
    let (mut select, why) = selected(session, (table, columns), (options, places), &reasons)?;
    notes.append(&mut select.notes);
    let watched = select.servers.iter().map(|connect| options.interrupt.watch(connect));
    let _watchers: Vec<_> = watched.collect();
    let turns = select.turns;
    let (workers, parts) = select.workers(table, columns, layout, options);
    let threads = workers.len();
    let write = |chunk: &Chunk| told.write(chunk, output);
    ordered::run(workers, (parts, turns, options.compression), write, end)?;
    Ok(Read { path: "select", why, rows: told.rows, threads })
}

/// Rows by SELECT, from each place of the table if that can be; and why so.
fn selected(
    session: &mut Session,
    (table, columns): (&Table, &Columns),
    (options, places): (&ExportOptions, Option<&dyn Places>),
    reasons: &[String],
) -> Result<(Select, String), Error> {
    select::check_condition(session, table, options)?;
    let why = format!("rows are read with SELECT: {}", reasons.join("; "));
    let Some(places) = places.filter(|places| places.claims(table)) else {
        return Ok((Select::begin(session, table, columns, options)?, why));
    };
    Ok(match places.begin(session, table, options)? {
        PlacesRead::Each(readers, why) => (Select::of_places(readers, columns, options), why),
        PlacesRead::Through(why_through, note) => {
            let mut select = Select::begin(session, table, columns, options)?;
            select.notes.push(note);
            (select, format!("{why}; {why_through}"))
        }
    })
}

/// Notes for a load of the files.
fn notes(table: &Table, columns: &Columns, options: &ExportOptions) -> Vec<String> {
    let mut notes = Vec::new();
    if !matches!(options.format, Format::Delimited { .. }) {
        return notes;
    }
    let header = matches!(options.format, Format::Delimited { header: true, .. });
    if !header && columns.have_to_be_told(table) {
        notes.push(format!("to load them: {}", COLUMNS.with(columns.names().join(","))));
    }
    let is_moment = |place: &usize| table.columns[*place].sql_type.family() == Family::Moment;
    if columns.places.iter().any(is_moment) {
        let zone = &options.time_zone;
        notes.push(format!(
            "TIMESTAMP values are of time zone {zone}, to load them: {}",
            TIME_ZONE.with(zone)
        ));
    }
    notes
}
