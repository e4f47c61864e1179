//! The rows of a table whose shards cannot be filled one by one: by INSERTs to the head, which gives them to
//! the shards' servers.
//!
//! ```text
//! head:  START TRANSACTION -> INSERT of some hundred rows a shard, .. -> COMMIT     into its next table
//! ```
//!
//! A server that goes down may leave a statement or a commit half done: all of it goes into the next table,
//! which is removed then. The head cannot take back a part of a transaction of Spider's, so that the first row
//! that it refuses ends the load.

use encode::input;
use encode::inspected::Inspected;
use encode::prepared::Prepared;
use face::option::{MODE, ON_DUPLICATE, PATH};
use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, LoadPath, Mode, OnDuplicate, ResourceLimits, WithOthers};
use job::progress::Progress;
use job::report::{Report, memory_peak_bytes};
use job::steps::Steps;
use load::parts;
use schema::{Column, Method, Table, TableName};
use send::{Destination, RowLoad};
use server::{ConnectOptions, Session};
use sources::Source;
use values::SqlType;

/// Settings of sessions of the Spider server: it hands INSERTs on as they are, and in pieces of
/// this size.
const SETTINGS: [(&str, &str); 2] =
    [("spider_direct_dup_insert", "1"), ("spider_bulk_size", "65536")];
/// Rows of a statement for each shard. Each gets a fraction of a statement, one after the other.
const ROWS_PER_SHARD: u64 = 500;
/// Rows of a statement at most, of however many shards.
const ROWS_MAX: u64 = 10_000;

/// Why, and how, rows go through the head.
pub(crate) struct HeadWay {
    /// Why not to each shard, a sentence each.
    pub(super) reasons: Vec<String>,
    /// True if the shards' servers cannot be reached from here, so that the Spider server makes
    /// their tables.
    pub(super) by_head: bool,
    pub(super) inspected: Inspected,
}

/// Reasons why such a load would not be atomic, or is impossible, in words.
pub(super) fn against(table: &Table, options: &LoadOptions, is_reached: bool) -> Vec<String> {
    let appends = options.mode == Mode::Append;
    let is_float = |column: &Column| matches!(column.sql_type, SqlType::Float { .. });
    let replace = MODE.with("replace");
    let found = [
        (
            appends && !is_reached,
            format!(
                "rows cannot be added through the Spider server to shards that are unreachable \
                 from here, because a crash could leave only some of the rows: {replace} with all \
                 rows swaps in a new table"
            ),
        ),
        (
            appends && table.columns.iter().any(|column| column.auto_increment),
            format!(
                "rows sent through the Spider server are added from a staging table, which would \
                 generate other AUTO_INCREMENT numbers: {replace} with all rows swaps in a new \
                 table"
            ),
        ),
        (
            table.columns.iter().any(is_float),
            "the Spider server sends FLOAT values with a function to_float, which its shards lack \
             and which keeps six digits after the point; DOUBLE works"
                .to_owned(),
        ),
        (
            !matches!(options.path, LoadPath::Auto | LoadPath::Insert),
            format!(
                "only INSERT sends rows through the Spider server: {}",
                PATH.with_any(&["auto", "insert"])
            ),
        ),
        (
            options.rows.on_duplicate != OnDuplicate::Fail,
            format!(
                "the Spider server does not report rows that were not loaded because of duplicate \
                 keys: use {}",
                ON_DUPLICATE.with("fail")
            ),
        ),
    ];
    found.into_iter().filter(|(is_so, _)| *is_so).map(|(_, why)| why).collect()
}

/// Why rows go there, in a sentence.
pub(super) fn why(reasons: &[String]) -> String {
    format!(
        "rows are sent through the Spider server, which passes them to its shards one after the \
         other: {}",
        reasons.join("; ")
    )
}

/// Where they go there, and from there.
pub(super) fn destination(mode: Mode) -> &'static str {
    match mode {
        Mode::Append => {
            "rows are sent through the Spider server into a staging table, and from there into \
             the existing tables, by a branch of one transaction on each shard"
        }
        Mode::Insert | Mode::Replace => {
            "rows are sent through the Spider server into a staging table, which then replaces \
             the old table"
        }
    }
}

/// Fills the head's next table, `table`, of so many shards. Nothing of it is published here.
pub(super) fn fill(
    connect: &ConnectOptions,
    options: &LoadOptions,
    table: &TableName,
    way: &HeadWay,
    shards: usize,
    source: Box<dyn Source>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let rows = (ROWS_PER_SHARD * shards as u64).min(ROWS_MAX);
    let state_dir = options.state_dir.join("shards");
    disk::private::make(&state_dir).map_err(Error::io("making", &state_dir))?;
    let options = &LoadOptions {
        database: table.database.clone(),
        table: table.table.clone(),
        mode: Mode::Insert,
        ddl: None,
        allow_empty: true,
        path: LoadPath::Insert,
        with_others: WithOthers::Transaction,
        // It is no job of its own.
        state_dir,
        command: None,
        limits: ResourceLimits {
            batches: job::options::Batches {
                rows: options.limits.batches.rows.or(Some(rows)),
                ..options.limits.batches
            },
            ..options.limits.clone()
        },
        ..options.clone()
    };
    let target = table.to_string();
    parts::job(connect, options, &target, progress, |connect, steps, _| {
        send(connect, options, way, source, progress, steps)
    })
}

fn send(
    connect: &ConnectOptions,
    options: &LoadOptions,
    way: &HeadWay,
    mut source: Box<dyn Source>,
    progress: &dyn Progress,
    steps: &mut Steps<'_>,
) -> Result<Report, Error> {
    let memory = input::adopt_part(options, &mut *source)?;
    let settings = SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut session = Session::connect(connect)?;
    session.set_all(&settings)?;
    let mut session_of_rows = session.another()?;
    let mut lock = parts::lock(session, options, None)?;
    let why = why(&way.reasons);
    let destination = Destination::into_own(&mut lock, why.clone())?;
    session_of_rows.exec("START TRANSACTION")?;
    session_of_rows.hold_tables(&[&lock.table.name])?;
    let prepared = Prepared {
        options,
        progress,
        memory: &memory,
        inspected: &way.inspected,
        path: LoadPath::Insert,
        method: Method::Transaction,
        why: &why,
        one_partition: None,
    };
    let load = RowLoad::new(&prepared, connect, destination);
    let within = load.run_within(&mut lock, source, steps, session_of_rows)?;
    let (mut report, mut session) = (within.report, within.session);
    failpoint::hit("head.sent");
    session.exec("COMMIT")?;
    failpoint::hit("head.committed");
    report.finish(&mut steps.stopwatch, memory_peak_bytes(), Vec::new());
    Ok(report)
}
