//! The logical path: the server gets the rows as text, over several connections.
//!
//! ```text
//! source -> chunk -> sender (LOAD DATA LOCAL, or INSERT) -> staging table -> swap
//!           encoder    one a connection, as many as `controller` allows
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | `destination` | staging table, one transaction or appended chunks, and the reason |
//! | `columns`, `encoder` | the columns that are sent; rows to text |
//! | `sent_chunk`, `sender` | the part of the input that one transaction loads, by LOAD DATA or INSERT |
//! | `ledger`, `resume` | committed chunks, so that each is loaded once; continuing an interrupted load |
//! | `order`, `sorted` | chunks that may overtake others; rows sorted by key |
//! | `import_file`, `import_into` | the same rows in a file that TiDB imports, and its job |
//! | [`connections`], `chunk_connection` | connections at work, and one that sends chunks |
//! | [`controller`], `limits` | the number of connections and the size of statements |
//! | [`retry`], [`watch`] | errors that are tried again; the server during the load |
//! | `budget` | memory of all connections |
//! | `collector`, `unpublished`, `ended` | results in input order; filled and unpublished rows; the report |

mod budget;
mod chunk_connection;
mod collector;
mod columns;
pub mod connections;
pub mod controller;
mod destination;
mod encoder;
mod ended;
mod import_file;
mod import_into;
mod ledger;
mod limits;
mod order;
mod pressure;
mod resume;
pub mod retry;
mod sender;
mod sent_chunk;
mod shards;
mod sorted;
#[cfg(test)]
mod tests;
mod unpublished;
pub mod watch;

/// Locks of this crate. Models of what waits here (`crates/testkit/tests/models`) put others in their place.
mod sync {
    pub(crate) use locks::{Condvar, Mutex, MutexGuard};
}

pub use destination::Destination;
pub use import_file::server_user;
pub use ledger::Ledger;
pub use resume::{completed, forget_completed, input_text, sweep};
pub use unpublished::{NEXT_LOAD, Uncommitted, Unpublished, drop_ledgers, forget_ledgers};

use std::sync::Arc;
use std::time::Duration;

use encode::prepared::Prepared;
use job::error::Error;
use job::failed::Failed;
use job::failpoint;
use job::memory::ConnectionShares;
use job::options::{Constant, LoadPath, Mode, OnDuplicate, ResourceLimits};
use job::pool;
use job::progress::Stage;
use job::report::Report;
use job::steps::{AddedNote, Steps};
use job::tally;
use locks::Mutex;
use schema::{Engine, Method};
use server::{ConnectOptions, Session};
use sources::{Source, SourceExt as _};
use targets::row_waits::RowWaits;
use targets::secondary::Defer;
use targets::{Lock, Transaction};

use self::chunk_connection::{ConnectionSetup, SendResult, SharedChunks};
use self::collector::Collected;
use self::columns::Columns;
use self::encoder::{Numbers, Shared};
use self::import_file::ImportFile;
use self::ledger::Totals;
use self::order::{RowOrder, UniqueKeys};
use self::resume::Resume;
use self::sender::statements::Place;
use self::sender::{Commit, SenderOptions};
use self::sent_chunk::Form;
use self::shards::{Shards, Vindex};
use self::sorted::{Arrangement, InputOrder};
use self::watch::Watch;

/// Input from which indexes are dropped and built again when the rows are in, in bytes.
const DEFER_BYTES_MIN: u64 = 1 << 20;

/// A target whose rows were sent.
#[derive(Debug)]
pub struct Sent {
    /// The unpublished rows; none if they are in the caller's transaction.
    pub unpublished: Option<Unpublished>,
    /// Report of the load so far; times are added when it is published.
    pub report: Report,
}

/// A target whose rows were sent into a transaction that goes on.
#[derive(Debug)]
pub struct Within {
    /// Report of the load so far.
    pub report: Report,
    /// The transaction's connection.
    pub session: Session,
    /// Where its AUTO_INCREMENT is to go on once the rows are there to stay, if it was counted here.
    pub next_number: Option<u64>,
}

/// The load of a table whose rows are sent.
pub struct RowLoad<'a> {
    prepared: &'a Prepared<'a>,
    connect: &'a ConnectOptions,
    destination: Destination,
    resume: Option<Resume>,
    /// Notes the first rows in the table itself; only for appends chunk by chunk.
    added: Option<AddedNote>,
    /// The file that gets the rows, and the sessions' `sql_mode` in which TiDB reads it.
    file: Option<(ImportFile, String)>,
    /// The one that all rows are in, if they are in one that ends with them.
    transaction: Option<Transaction>,
    /// The connection whose transaction holds these rows and others', while no connection has it.
    given: Option<Session>,
    /// The table's AUTO_INCREMENT after all rows, where it was counted here.
    next_number: Option<u64>,
    notes: Vec<String>,
}

/// A load that is done.
struct Done {
    loaded: SendResult,
    order: InputOrder,
    unpublished: Option<Unpublished>,
}

impl<'a> RowLoad<'a> {
    /// A load that has sent nothing yet.
    pub fn new(
        prepared: &'a Prepared<'a>,
        connect: &'a ConnectOptions,
        destination: Destination,
    ) -> RowLoad<'a> {
        RowLoad {
            prepared,
            connect,
            destination,
            resume: None,
            added: None,
            file: None,
            transaction: None,
            given: None,
            next_number: None,
            notes: Vec::new(),
        }
    }

    /// Sends the rows into the transaction of `session`, which has those of other tables and holds this table, and
    /// gives that back. Nothing is committed here, and the table is known to be fit for it.
    ///
    /// Errors: the session is gone, and with it all that its transaction held.
    pub fn run_within(
        mut self,
        target: &mut Lock,
        source: Box<dyn Source>,
        steps: &mut Steps<'_>,
        session: Session,
    ) -> Result<Within, Error> {
        self.given = Some(session);
        let sent = self.run(target, source, steps).map_err(|failed| failed.error)?;
        let session = self.given.take().ok_or_else(no_connection)?;
        Ok(Within { report: sent.report, session, next_number: self.next_number })
    }

    /// Sends the rows, up to where they are published. A ledger that is of no use any more is removed where that
    /// fails.
    pub fn run(
        &mut self,
        target: &mut Lock,
        source: Box<dyn Source>,
        steps: &mut Steps<'_>,
    ) -> Result<Sent, Box<Failed>> {
        let done = pool::catch(|| {
            let mut done = self.send(target, source, steps)?;
            let unpublished = done.unpublished.take();
            Ok(Sent { unpublished, report: self.report(target, steps, done) })
        });
        done.flatten().map_err(|error| self.failed(target, error))
    }

    fn send(
        &mut self,
        target: &mut Lock,
        mut source: Box<dyn Source>,
        steps: &mut Steps<'_>,
    ) -> Result<Done, Error> {
        let prepared = self.prepared;
        let mut watch = match self.given {
            // One connection and a moment: there is nothing to be held back.
            Some(_) => Watch::of_nobody(),
            None => {
                let bytes = source.facts().bytes_total;
                Watch::begin(prepared, self.connect, &mut target.session, bytes)?
            }
        };
        self.notes.append(&mut watch.notes);
        let staging = match self.destination.method {
            Method::Stage => {
                let defer = match deferred(&prepared.options.limits, &*source) {
                    Defer::NotUnique
                        if prepared.options.limits.defer_indexes.is_none()
                            && target.facts.engine.no_deferred_indexes =>
                    {
                        Defer::Nothing
                    }
                    defer => defer,
                };
                steps.step(Stage::Staging, || {
                    self.destination.prepare(target, prepared.options, defer)
                })?
            }
            _ => None,
        };
        let row_order = RowOrder::of(target);
        let arrangement = Arrangement::of(prepared, &target.table, row_order, &mut *source)?;
        let taken = source.facts().held_bytes + arrangement.store_bytes() as u64;
        let mut shares =
            prepared.options.connection_shares(prepared.path, taken, source.facts().bytes_total)?;
        if self.destination.method != Method::Transaction {
            limits::limit_chunks(&mut shares, target, prepared.inspected);
        }
        let words = source.words();
        self.open_ledger(target, arrangement.is_sorted(), &words, &mut shares)?;
        source.change(|read_as| {
            read_as.chunk_bytes = shares.chunk_bytes;
            read_as.record_bytes_max = shares.record_bytes_max;
            // Each chunk is a transaction. Sorted rows have places of their own already.
            read_as.joins_files = !arrangement.is_sorted();
        })?;
        if let Some(resume) = self.resume.as_ref().filter(|_| !arrangement.is_sorted()) {
            resume.check(&mut *source, &prepared.options.interrupt)?;
        }
        let (source, order) = arrangement.apply(prepared, source, &shares, steps)?;
        let source = Mutex::new(source);
        let is_append = self.destination.method == Method::Append;
        self.added = is_append.then(|| steps.added_note());
        let mut loaded = steps.step(Stage::Rows, || {
            self.rows(target, shares, &source, order, row_order, &mut watch)
        })?;
        let session = loaded.session.take();
        if let Some(sorted) = order.rows {
            tally::check(sorted, loaded.rows_read, 0)?;
        }
        self.check_ledger(target, &loaded)?;
        let Collected { rows, rejects, .. } = loaded.collected;
        prepared.options.check_loaded(rows, rejects, loaded.rows_read)?;
        self.import_file(target, rows, steps)?;
        let unpublished = match (staging, self.transaction.take()) {
            (Some(mut staging), _) => {
                steps.step(Stage::Indexes, || {
                    staging.ensure_session(target)?;
                    self.next_number.map_or(Ok(()), |next| staging.number(target, next))?;
                    Ok(staging.finish(target)?)
                })?;
                Some(Unpublished::Table(staging.filled(target).rest()))
            }
            (None, Some(transaction)) => Some(Unpublished::Transaction(Box::new(Uncommitted {
                transaction,
                session,
                next_number: self.next_number,
                restarts_numbers: prepared.options.restarts_numbers(),
            }))),
            (None, None) => {
                self.given = session;
                let resume = self.resume.as_ref();
                resume.map(|resume| Unpublished::Added(resume.ledger.clone()))
            }
        };
        Ok(Done { loaded, order, unpublished })
    }

    /// Begins the ledger, or finds the one to go on with, which says how large chunks are.
    fn open_ledger(
        &mut self,
        target: &mut Lock,
        is_sorted: bool,
        source_words: &str,
        shares: &mut ConnectionShares,
    ) -> Result<(), Error> {
        if self.prepared.path == LoadPath::Import {
            return Ok(());
        }
        if self.destination.method == Method::Transaction {
            return resume::refuse_interrupted(target, self.prepared.options.mode);
        }
        let prepared = self.prepared;
        let inspected = prepared.inspected;
        let words = resume::input_words(prepared.options, inspected, source_words, is_sorted);
        let resume =
            Resume::open(target, &self.destination, prepared.options, words, shares.chunk_bytes)?;
        shares.chunk_bytes = resume.chunk_bytes;
        let before = resume.before();
        if before.chunks > 0 {
            self.notes.push(format!(
                "an interrupted load of this input had loaded {} rows already",
                before.rows
            ));
            let constants = prepared.options.rows.constants.iter();
            let evaluated = constants.filter(|constant| constant.value.is_evaluated());
            self.notes.extend(evaluated.map(|Constant { column, .. }| {
                format!("the expression for {column} was evaluated again for the other rows")
            }));
        }
        failpoint::hit("ledger.opened");
        self.resume = Some(resume);
        Ok(())
    }

    /// Sends all rows.
    fn rows(
        &mut self,
        target: &mut Lock,
        shares: ConnectionShares,
        source: &Mutex<Box<dyn Source>>,
        order: InputOrder,
        row_order: RowOrder,
        watch: &mut Watch,
    ) -> Result<SendResult, Error> {
        let Prepared { options, inspected, .. } = *self.prepared;
        let is_one = self.destination.method == Method::Transaction;
        let mut limits = limits::limits(self.prepared, target, &shares, is_one)?;
        let keys = self.keys(target, row_order);
        let columns = Columns::new(&mut target.session, &target.table, inspected)?;
        // Rows that are added get theirs from the server, as those of others do meanwhile.
        let numbers = match options.mode {
            Mode::Append => None,
            Mode::Insert | Mode::Replace => Numbers::new(&columns, inspected.series),
        };
        let is_parallel = !is_one && limits.connections != Some(1);
        if numbers.is_none() && is_parallel && limits::gives_numbers_twice(target, inspected) {
            limits.connections = Some(1);
            self.notes.push(
                "rows were sent over one connection: for partitioned tables, the server gives \
                 several connections the same AUTO_INCREMENT numbers"
                    .to_owned(),
            );
        }
        self.create_file(&columns, numbers.is_some())?;
        let encoder = Shared {
            columns: &columns,
            files: &options.input.files,
            rejects_max: options.rows.rejects_max,
            numbers: numbers.as_ref(),
        };
        let session = match (self.given.take(), self.destination.method) {
            (Some(given), _) => Some(given),
            (None, Method::Transaction) => {
                watch.wait_for_replicas(&limits, &options.interrupt, self.prepared.progress)?;
                let (transaction, session) =
                    Transaction::begin(target, self.prepared.options.mode)?;
                self.transaction = Some(transaction);
                Some(session)
            }
            (None, _) => None,
        };
        let sender = Arc::new(self.sender(target, &columns)?);
        limits.tune_batch = sender.form != Form::Lines;
        let plan = ConnectionSetup {
            prepared: self.prepared,
            limits,
            shares,
            encoder,
            sender,
            resume: self.resume.as_ref(),
            added: self.added.as_ref(),
            file: self.file.as_ref().map(|(file, _)| file),
            is_sorted: order.is_sorted,
            keys: keys.as_ref(),
            session,
        };
        let loaded = SharedChunks::new(plan, source)?.run(watch)?;
        // Other engines go on behind the largest number, by themselves.
        let is_reserved = target.table.engine == Engine::InnoDb;
        self.next_number = numbers.map(|numbers| numbers.next()).filter(|_| is_reserved);
        Ok(loaded)
    }

    /// Makes the file of a load by IMPORT INTO, which stores a 0 where LOAD DATA counts: `counts` if we do.
    fn create_file(&mut self, columns: &Columns, counts: bool) -> Result<(), Error> {
        if self.prepared.path != LoadPath::Import {
            return Ok(());
        }
        if columns.auto_increment.is_some() && !counts {
            let why = "the values of the AUTO_INCREMENT column cannot be counted";
            return Err(Error::NotImported(why.to_owned()));
        }
        let temp_dir = &self.prepared.options.limits.temp_dir;
        let file = ImportFile::create(temp_dir, self.connect, columns.names())?;
        self.file = Some((file, columns.sql_mode()));
        Ok(())
    }

    /// Has TiDB import the file, if there is one, with so many rows.
    fn import_file(
        &mut self,
        target: &mut Lock,
        rows: u64,
        steps: &mut Steps<'_>,
    ) -> Result<(), Error> {
        let Some((file, sql_mode)) = self.file.take() else { return Ok(()) };
        tally::check(rows, file.rows(), 0)?;
        let progress = self.prepared.progress;
        steps.step(Stage::Import, || {
            import_into::import(&file, target, self.connect, &sql_mode, progress)
        })
    }

    /// A server that went down and up again may have lost what it had committed last.
    fn check_ledger(&self, target: &mut Lock, loaded: &SendResult) -> Result<(), Error> {
        let Some(resume) = &self.resume else { return Ok(()) };
        target.reconnect()?;
        let (chunks, rows) = (loaded.collected.chunks, loaded.collected.rows);
        resume.ledger.require(&mut target.session, Totals { chunks, rows })
    }

    /// The keys by which chunks wait for each other, where rows with one key are no failure, or
    /// where a row goes in after the one that it refers to.
    fn keys(&mut self, target: &Lock, row_order: RowOrder) -> Option<UniqueKeys> {
        let Prepared { options, inspected, .. } = *self.prepared;
        let is_free = options.rows.on_duplicate == OnDuplicate::Fail && !row_order.refers_to_itself;
        if is_free || self.destination.method == Method::Transaction {
            return None;
        }
        let updates = options.rows.on_duplicate == OnDuplicate::Update;
        let keys = UniqueKeys::new(&target.table, inspected, updates, row_order);
        if let Some(why) = keys.serial() {
            self.notes.push(format!("chunks of the input were loaded one after the other: {why}"));
        }
        Some(keys)
    }

    fn sender(&self, target: &mut Lock, columns: &Columns) -> Result<SenderOptions, Error> {
        let options = self.prepared.options;
        // Rows that are another server's: no savepoints, and by MariaDB's bulk protocol they go there one by
        // one.
        let is_spider = target.table.engine.is_spider();
        let form = match self.prepared.path {
            LoadPath::Insert if is_spider => Form::Tuples,
            LoadPath::Insert => {
                let table = self.destination.table(target).clone();
                sender::insert_form(&mut target.session, &table, columns)?
            }
            LoadPath::Stream if columns.are_refused_as_lines() => Form::Tuples,
            _ => Form::Lines,
        };
        let commit = match &self.resume {
            Some(resume) => Commit::Chunks(resume.ledger.clone()),
            None => Commit::Whole { savepoints: !is_spider },
        };
        // A transaction of our own has looked for rows, or deleted them.
        let is_held = self.transaction.is_none() || options.mode != Mode::Append;
        let vindex = vindex(target, &columns.names())?;
        Ok(SenderOptions {
            connect: self.connect.clone(),
            place: Place {
                table: self.destination.table(target).clone(),
                target: target.table.name.clone(),
                charset: columns.file.name().to_owned(),
                escape: columns.escape,
                load_columns: columns.load_columns(),
                insert_columns: columns.names(),
                update_columns: columns.given_names(),
                rule: options.rows.on_duplicate,
            },
            commit,
            is_held,
            vindex,
            form,
            settings: columns.settings(target.session.version()),
            files: options.input.files.clone().into(),
            columns: columns.filled().into(),
            rejects_max: options.rows.rejects_max,
            lock_wait: Duration::from_secs(u64::from(options.server.lock_wait_seconds)),
            row_waits: RowWaits::default(),
            reconnect_wait: failpoint::reconnect_wait(targets::RECONNECT_WAIT),
        })
    }
}

/// The indexes that are left for later. For few rows all are kept up to date row by row, which
/// costs less than the four ALTER TABLE by which they come back.
fn deferred(options: &ResourceLimits, source: &dyn Source) -> Defer {
    let is_small = source.facts().bytes_total.is_some_and(|bytes| bytes < DEFER_BYTES_MIN);
    match options.defer_indexes.unwrap_or(!is_small) {
        true => Defer::NotUnique,
        false => Defer::Nothing,
    }
}

/// The column by which rows are divided among shards, if they are, and its place among the columns that are
/// sent.
fn vindex(target: &mut Lock, columns: &[String]) -> Result<Option<(Vindex, usize)>, Error> {
    if !Shards::of(target).are_several() {
        return Ok(None);
    }
    let name = target.table.name.to_string();
    let unfit = |why| Error::Unfit { target: name.clone(), path: None, reasons: vec![why] };
    let vindex = Vindex::read(target)?.map_err(unfit)?;
    let place = columns.iter().position(|column| column.eq_ignore_ascii_case(&vindex.column));
    let missing = || {
        unfit(format!(
            "the input has no values of `{}`, by which Vitess divides rows",
            vindex.column
        ))
    };
    let place = place.ok_or_else(missing)?;
    Ok(Some((vindex, place)))
}

fn no_connection() -> Error {
    Error::Internal("the transaction's connection was lost".to_owned())
}
