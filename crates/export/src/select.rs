//! Rows by SELECT: every table and view, on every server.
//!
//! Several connections read ranges of the primary key, and all see the rows of one moment: their
//! transactions begin and open the table while a lock keeps it from being written to. Where others keep that lock from
//! us, or the server has no such lock, one connection reads by one snapshot, which waits for nobody. TiDB has
//! timestamps instead, of which all connections take the same.

use std::time::{Duration, Instant};

use face::option::WHERE;
use job::progress::Progress;
use schema::quote_name;
use schema::{BASE_TABLE, Engine, Table, TableName};
use server::engine::{Kind as EngineKind, OLAP};
use server::error::holders_text;
use server::reach::{self, is_full};
use server::session::Isolation;
use server::{ConnectOptions, Session};
use targets::brief_lock;
use targets::waiting::{ER_LOCK_WAIT_TIMEOUT, lock_holders};
use values::SqlType;
use values::decode::{push_double, push_float};

use crate::columns::Columns;
use crate::error::Error;
use crate::layout::{Kind, without_zerofill};
use crate::options::ExportOptions;
use crate::ordered::{Sink, Turns, Worker};
use crate::places::PlaceReader;
use crate::ranges::{Ranges, data_bytes, ranges};
use crate::request::Request;
use crate::retention;
use crate::text::{Chunk, RowText};
use crate::typed::{Contents, Rows};

/// Begins a transaction whose rows are those of its first moment.
const BEGIN: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT";
const ER_TABLE_NOT_LOCKED: u16 = 1100;
/// Between two attempts to open the table by all connections.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a full server is tried for the only connection that reads.
const ROOM_WAIT: Duration = Duration::from_secs(10);

/// Rows that are about to be read.
#[derive(Default)]
pub(crate) struct Select {
    pub(crate) sessions: Vec<Session>,
    pub(crate) statements: Vec<String>,
    /// Where the sessions are, if not all are of the server that was named.
    pub(crate) places: Vec<String>,
    /// And how these are reached.
    pub(crate) servers: Vec<ConnectOptions>,
    /// In which order rows are written.
    pub(crate) turns: Turns,
    /// Notes about it.
    pub(crate) notes: Vec<String>,
}

/// The way to write a value from the server.
#[derive(Clone, Copy, Debug)]
enum SelectedForm {
    AsItIs,
    /// Without the zeros of ZEROFILL.
    Number,
    Float,
    Double,
}

/// How SELECT reads.
#[derive(Clone, Copy)]
pub(crate) struct ReadBySelect<'r> {
    pub(crate) progress: &'r dyn Progress,
    /// True if others write to the table all the time.
    pub(crate) is_busy: bool,
}

impl Select {
    /// Begins the transactions that read.
    ///
    /// Errors: those of the server; a table that is locked by others for too long.
    pub(crate) fn begin(
        session: &mut Session,
        request: Request<'_>,
        how: ReadBySelect<'_>,
    ) -> Result<Select, Error> {
        let Request { table, columns, options } = request;
        let mut notes = Vec::new();
        let ranges = match (&table.engine, options.threads) {
            (Engine::InnoDb, 2..) if !table.kind.is_view() => ranges(session, table, options)?,
            _ => Ranges::One(None),
        };
        if let Ranges::One(Some(why)) = &ranges {
            notes.push(format!("one connection reads: {why}"));
        }
        let kind = EngineKind::ask(session)?;
        if kind == EngineKind::TiDb {
            let bytes = data_bytes(session, &table.name)?;
            notes.extend(retention::note(session, bytes)?);
        }
        if kind == EngineKind::Vitess && has_several_shards(session, &table.name)? {
            notes.push("the rows of each shard are those of a moment of its own".to_owned());
        }
        let mut conditions = ranges.conditions();
        let mut sessions = Vec::new();
        let count = options.threads.min(conditions.len());
        if count > 1 {
            match several(session, request, count, kind, how)? {
                Ok(begun) => sessions = begun,
                Err(why) => {
                    notes.push(format!("one connection reads: {why}"));
                    conditions = vec![None];
                }
            }
        }
        if sessions.is_empty() {
            sessions.push(transaction(session, kind)?);
        }
        for reader in &mut sessions {
            reader.set_lock_wait(options.wait())?;
        }
        check_unaltered(session, table)?;
        let statement =
            |range: &Option<String>| statement(table, columns, options, range.as_deref());
        let statements = conditions.iter().map(statement).collect();
        Ok(Select { sessions, statements, notes, ..Select::default() })
    }

    /// Reads each place by its own connection.
    pub(crate) fn of_places(
        readers: Vec<PlaceReader>,
        columns: &Columns,
        options: &ExportOptions,
    ) -> Select {
        let mut select = Select { turns: Turns::Chunks, ..Select::default() };
        for PlaceReader { session, table, name, connect } in readers {
            select.sessions.push(session);
            select.statements.push(statement(&table, columns, options, None));
            select.places.push(name);
            select.servers.push(connect);
        }
        select
    }

    /// Those that read, and of how many parts.
    pub(crate) fn workers<'a>(
        self,
        table: &Table,
        columns: &'a Columns,
        contents: &'a Contents,
        options: &ExportOptions,
    ) -> Result<(Vec<Reader<'a>>, usize), Error> {
        let said: Vec<SelectedForm> =
            columns.places.iter().map(|place| said(table, *place)).collect();
        let parts = self.statements.len();
        let statements: std::sync::Arc<[String]> = self.statements.into();
        let mut places = self.places.into_iter();
        let reader = |session| {
            Ok(Reader {
                session,
                table: table.name.clone(),
                place: places.next(),
                statements: std::sync::Arc::clone(&statements),
                columns,
                said: said.clone(),
                rows: contents.rows(columns, options)?,
                scratch: Vec::new(),
            })
        };
        let readers = self.sessions.into_iter().map(reader).collect::<Result<_, Error>>()?;
        Ok((readers, parts))
    }
}

/// So many connections, which see the rows of one moment.
///
/// Errors of the inner result: why there are not several, as a part of a sentence.
fn several(
    session: &mut Session,
    Request { table, options, .. }: Request<'_>,
    count: usize,
    kind: EngineKind,
    ReadBySelect { progress, is_busy }: ReadBySelect<'_>,
) -> Result<Result<Vec<Session>, String>, Error> {
    if kind == EngineKind::TiDb {
        return match of_one_timestamp(session, count) {
            Err(error) if error.errno().is_some() => {
                Ok(Err(format!("tidb_snapshot cannot be set: {error}")))
            }
            begun => Ok(Ok(begun?)),
        };
    }
    if !kind.has_files() {
        return Ok(Err(format!("LOCK TABLES locks nothing on {kind}")));
    }
    if is_busy {
        return Ok(Err("others write to the table".to_owned()));
    }
    let begun = Instant::now();
    loop {
        if let Err(why) = lock(session, table, options, progress)? {
            return Ok(Err(why));
        }
        let readers: Result<Vec<Session>, _> =
            (0..count).map(|at| opened(session, &table.name, at)).collect();
        session.exec("UNLOCK TABLES")?;
        match readers {
            Err(error) if error.errno() == Some(ER_LOCK_WAIT_TIMEOUT) => {}
            Err(error) if is_full(&error) => {
                return Ok(Err(format!("the server has no room for {count} connections: {error}")));
            }
            readers => return Ok(Ok(readers?)),
        }
        if begun.elapsed() > options.lock_wait() {
            return Ok(Err("others alter the table".to_owned()));
        }
        let interrupt = &session.options().interrupt;
        reach::sleep(PAUSE, interrupt);
        interrupt.check()?;
    }
}

/// A connection whose transaction has its snapshot and has opened the table, which nobody alters before its end. An
/// ALTER that waits for our lock has it wait too: for no longer than an attempt.
fn opened(session: &Session, table: &TableName, at: usize) -> Result<Session, server::Error> {
    disk::failpoint::hit(&format!("export.snapshot.{at}"));
    let mut reader = session.another()?;
    reader.set_lock_wait(brief_lock::ATTEMPT)?;
    begin_snapshot(&mut reader, table)?;
    Ok(reader)
}

/// True if a table of Vitess is in several shards, which have no common moment.
fn has_several_shards(session: &mut Session, table: &TableName) -> Result<bool, server::Error> {
    let shards = session.query("SHOW VITESS_SHARDS")?;
    let keyspace = format!("{}/", table.database);
    Ok(shards.iter().filter(|shard| shard.text_lossy(0).starts_with(&keyspace)).count() > 1)
}

/// Connections that read by one timestamp of TiDB's. The transaction of `session` is open for longer than they
/// read, and keeps the rows of that moment from the garbage collection.
fn of_one_timestamp(session: &mut Session, count: usize) -> Result<Vec<Session>, server::Error> {
    session.exec(BEGIN)?;
    let timestamp: u64 = session.query_row("SELECT @@tidb_current_ts")?.number(0)?;
    let reader = |_| {
        let mut reader = session.another()?;
        reader.set(&[("tidb_snapshot", &timestamp.to_string())])?;
        Ok(reader)
    };
    (0..count).map(reader).collect()
}

/// A transaction that sees the rows as they are now.
fn transaction(session: &Session, kind: EngineKind) -> Result<Session, server::Error> {
    // Connections that were just given up may still count.
    let mut reader = reach::with_room(session.options(), ROOM_WAIT)?;
    if kind == EngineKind::Vitess {
        reader.set(&[OLAP])?;
    }
    reader.set_isolation(Isolation::RepeatableRead)?;
    reader.exec(BEGIN)?;
    Ok(reader)
}

/// Begins a transaction that sees the rows as they are now; nobody alters the table before it ends.
pub fn begin_snapshot(reader: &mut Session, table: &TableName) -> Result<(), server::Error> {
    reader.set_isolation(Isolation::RepeatableRead)?;
    reader.exec(BEGIN)?;
    reader.query(&format!("SELECT 1 FROM {base} LIMIT 1", base = table.base())).map(drop)
}

/// Checks that a table has the definition by which its columns are read: to be called once its snapshots or locks
/// are there.
///
/// Errors: [`Error::Altered`]; the server's.
pub fn check_unaltered(session: &mut Session, table: &Table) -> Result<(), Error> {
    let is_same =
        table.kind.is_view() || catalog::definition(session, &table.name)? == table.definition;
    is_same.then_some(()).ok_or_else(|| Error::Altered(table.name.to_string()))
}

/// Server errors of an account that lacks a right.
pub const DENIED: [u16; 4] = [1044, 1045, 1142, 1227];

/// Keeps the table from being written to until UNLOCK TABLES; whoever has written to it has ended by then.
///
/// Errors of the inner result: why not, as a part of a sentence.
fn lock(
    session: &mut Session,
    table: &Table,
    options: &ExportOptions,
    progress: &dyn Progress,
) -> Result<Result<(), String>, Error> {
    let sql = format!("LOCK TABLES {} READ", table.name.quoted());
    let waiting = |text: &str| progress.waiting(text);
    match brief_lock::take(session, &table.name, &sql, options.lock_wait(), waiting) {
        Ok(_) => proven(session, table),
        Err(server::Error::LockWait { seconds, holders, .. }) => Ok(Err(format!(
            "several need a lock, which did not come within {seconds} s; {}",
            holders_text(&holders)
        ))),
        Err(error) if error.errno().is_some_and(|errno| DENIED.contains(&errno)) => Ok(Err(
            "the account lacks LOCK TABLES, which several connections need to read the same rows"
                .to_owned(),
        )),
        Err(error) => Err(error.into()),
    }
}

/// Proves a lock: the server refuses the table by another name, under which it is not locked.
fn proven(session: &mut Session, table: &Table) -> Result<Result<(), String>, Error> {
    let name = table.name.quoted();
    let sql = format!("SELECT 1 FROM {name} AS unlocked {BASE_TABLE} LIMIT 0");
    match session.query(&sql) {
        Err(error) if error.errno() == Some(ER_TABLE_NOT_LOCKED) => Ok(Ok(())),
        Err(error) => Err(error.into()),
        Ok(_) => {
            session.exec("UNLOCK TABLES")?;
            Ok(Err("LOCK TABLES locks nothing on this server".to_owned()))
        }
    }
}

/// Has the server read the condition by itself: one that closes a parenthesis that it has not opened would have
/// other rows come, and those of each range again.
///
/// Errors: [`Error::Usage`] with the server's words.
pub(crate) fn check_condition(
    session: &mut Session,
    table: &Table,
    options: &ExportOptions,
) -> Result<(), Error> {
    let Some(condition) = &options.condition else { return Ok(()) };
    let base = table.base_or_view();
    let looked = session.query(&format!("SELECT 1 FROM {base} WHERE {condition}\nLIMIT 0"));
    looked.map(drop).map_err(|error| match error {
        server::Error::Statement { message, .. } => {
            let message = message.replace('\n', " ");
            Error::Usage(format!("the server refused the condition of {WHERE}: {message}"))
        }
        error => error.into(),
    })
}

fn statement(
    table: &Table,
    columns: &Columns,
    options: &ExportOptions,
    range: Option<&str>,
) -> String {
    let base = table.base_or_view();
    let mut sql = format!("SELECT {} FROM {base}", columns.expressions(table));
    // A comment at the end of the user's condition ends with its line.
    let condition = options.condition.as_ref().map(|condition| format!("({condition}\n)"));
    let conditions: Vec<&str> = condition.as_deref().into_iter().chain(range).collect();
    if !conditions.is_empty() {
        sql += " WHERE ";
        sql += &conditions.join(" AND ");
    }
    if let Some(primary) = table.index("PRIMARY") {
        let part = |column: &schema::IndexColumn| {
            let order = if column.descending { " DESC" } else { "" };
            format!("{}{order}", quote_name(&column.name))
        };
        sql += " ORDER BY ";
        sql += &primary.columns.iter().map(part).collect::<Vec<_>>().join(",");
    }
    sql
}

fn said(table: &Table, place: usize) -> SelectedForm {
    let sql_type = &table.columns[place].sql_type;
    match sql_type {
        SqlType::Float { .. } => SelectedForm::Float,
        SqlType::Double { .. } => SelectedForm::Double,
        // A year is four digits.
        SqlType::Year => SelectedForm::AsItIs,
        _ if Kind::of(sql_type) == Kind::Number => SelectedForm::Number,
        _ => SelectedForm::AsItIs,
    }
}

/// One connection.
pub(crate) struct Reader<'a> {
    session: Session,
    /// The table, for messages.
    table: TableName,
    /// Where that is, if it is not the server that was named.
    place: Option<String>,
    statements: std::sync::Arc<[String]>,
    columns: &'a Columns,
    said: Vec<SelectedForm>,
    rows: Rows<'a>,
    scratch: Vec<u8>,
}

impl Worker for Reader<'_> {
    fn part(&mut self, part: usize, sink: &mut Sink) -> Result<Chunk, Error> {
        let Reader { session, table, place, statements, columns, said, rows, scratch } = self;
        let (connect, mark) = (session.options().clone(), session.mark().clone());
        let mut failed = None;
        let read = session.for_each(&statements[part], |row| {
            let written = match (row.bytes(said.len()), &mut *rows) {
                (Some(lost), _) => Err(columns.lost_text(lost)),
                (None, Rows::Text(text)) => write_row(&row, said, text, scratch),
                (None, Rows::Typed(typed)) => typed.sent(&row),
            };
            let written = written.and_then(|is_full| match is_full {
                true => {
                    let spare = sink.send(rows.take()?)?;
                    rows.reuse(spare);
                    Ok(())
                }
                false => Ok(()),
            });
            written.map_err(|error| {
                failed = Some(error);
                // The driver reads the rest of an answer, so another connection ends the statement.
                let other = Session::connect(&connect);
                let _ = other.and_then(|mut other| other.kill_query(&mark));
                server::Error::Interrupted
            })
        });
        match failed {
            Some(error) => Err(error),
            None => {
                // Rows that a limit has cut off are not all of them.
                let read = read.and_then(|()| session.check_variables());
                let read = read.map_err(|error| named(error, session, table));
                read.map_err(|error| match place {
                    Some(place) => Error::shard(place, error),
                    None => error.into(),
                })?;
                rows.take()
            }
        }
    }

    fn reuse(&mut self, spare: Chunk) {
        self.rows.reuse(spare);
    }
}

/// The error of a table that others keep from being read, with these others: asked by the same connection, so
/// that it is not named itself.
fn named(error: server::Error, session: &mut Session, table: &TableName) -> server::Error {
    if error.errno() != Some(ER_LOCK_WAIT_TIMEOUT) {
        return error;
    }
    let _shield = session.options().interrupt.clone().shield();
    let Ok(holders) = lock_holders(session, &[table], &[]) else { return error };
    let waited = session.variable("lock_wait_timeout").and_then(|text| text.parse().ok());
    server::Error::LockWait { target: table.to_string(), seconds: waited.unwrap_or(0), holders }
}

/// Writes a row; true if the chunk is to be handed on.
fn write_row(
    row: &server::Row,
    said: &[SelectedForm],
    text: &mut RowText<'_>,
    scratch: &mut Vec<u8>,
) -> Result<bool, Error> {
    text.begin_row();
    for (field, said) in said.iter().enumerate() {
        let value = row.bytes(field);
        match (said, value) {
            (SelectedForm::AsItIs, value) | (_, value @ None) => text.value(field, value)?,
            (SelectedForm::Number, Some(value)) => {
                text.value(field, Some(without_zerofill(value)))?
            }
            (SelectedForm::Float | SelectedForm::Double, Some(value)) => {
                scratch.clear();
                let number: Option<f64> = str::from_utf8(value).ok().and_then(|n| n.parse().ok());
                match (number, said) {
                    (Some(number), SelectedForm::Float) => push_float(number as f32, scratch),
                    (Some(number), _) => push_double(number, scratch),
                    (None, _) => scratch.extend_from_slice(value),
                }
                text.value(field, Some(scratch))?;
            }
        }
    }
    Ok(text.end_row())
}
