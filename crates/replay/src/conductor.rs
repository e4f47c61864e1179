//! One statement after the other: what the verdict of `order` says, done.
//!
//! ```text
//! statement --order--> step: run on the dump's session
//!                            staging table made, filled by a run, published table.rs, route.rs
//!                            wait for one table, for all of them            barrier.rs
//!                            SET, and what else is the session's            session.rs
//!                            left for the end of an --atomic replay         atomic.rs
//!                            passed over, because it was done before        done.rs, repetition.rs
//! ```

mod atomic;
mod barrier;
mod done;
mod insert;
mod other_engines;
mod others;
mod repetition;
mod session;
mod settled;
mod transaction;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use face::option::ATOMIC;
use job::pool;
use schema::TableName;
use server::engine::Kind;
use server::identifier::{quote_name, quote_text};
use server::version::Flavor;
use sources::dump::{SqlReader, Statement};
use sql::{ObjectName, StatementKind, Syntax, database_charset, is_global};
use targets::waiting;

use self::atomic::Deferred;
use self::other_engines::OtherEngines;
use self::transaction::{Since, Transaction};
use crate::collations::{Collations, explain};
use crate::dump::{Content, Dump, Part, RowCount, Script, TableRows};
use crate::error::Error;
use crate::journal::{Journal, Line, Spot};
use crate::naming::Naming;
use crate::order::{Decode, Order, Step, has_word};
use crate::place::Place;
use crate::reading;
use crate::report::Report;
use crate::route::Shared;
use crate::runs::Runs;
use crate::session_question::LastNumber;
use crate::sessions::Sessions;
use crate::state::SessionState;
use crate::table::{Created, STAGING, Tables, staging_name};

/// Goes through a dump.
pub(crate) struct Conductor<'scope, 'env> {
    shared: Shared<'env>,
    sessions: Sessions,
    /// True if the server keeps all names in lower case.
    is_lower: bool,
    order: Order,
    /// True if this replay has created the database that everything goes into.
    is_new_database: bool,
    tables: Tables,
    /// Rows that are being loaded.
    runs: Runs<'scope, 'env>,
    /// How far the tables are that the dump makes and that are not published yet.
    filled: BTreeMap<TableName, Filled>,
    /// When the first of those was ready that may take their places now.
    ready_since: Option<Instant>,
    /// Where the dump makes its tables.
    creates: BTreeMap<TableName, Place>,
    /// Session variables that the dump has set.
    set: BTreeSet<String>,
    /// State of the dump's session, if it was read since its last change.
    state: Option<Arc<SessionState>>,
    /// Uncommitted work of the dump's session.
    transaction: Transaction,
    /// Tracks if it knows the server's last generated number.
    last_number: LastNumber,
    /// Names of its prepared statements that set variables.
    prepared: BTreeSet<Vec<u8>>,
    /// True if the dump's session may have temporary tables.
    has_temporary: bool,
    /// Names of the functions that the server has stored, where that was asked since the dump may have made some.
    functions: Option<Vec<Vec<u8>>>,
    /// Tables whose changes no ROLLBACK takes back, where that was asked since the dump may have made some.
    other_engines: Option<OtherEngines>,
    /// Tables that were there when the dump was to make them if they are not.
    existing: BTreeSet<TableName>,
    /// Tables whose rows no run could load, since they ask the dump's session, and the methods that were tried.
    returned: BTreeMap<TableName, Vec<String>>,
    /// Rows of the current part that wait for their table.
    rows_of_part: Option<TableRows>,
    /// Other names for collations.
    collations: Collations,
    /// The table of the last DROP TABLE, and its first statement.
    dropped: Option<(TableName, Spot)>,
    /// Where those are that were held back for a CREATE.
    held: BTreeMap<TableName, Spot>,
    /// The finished steps, for the same command after a crash.
    journal: Journal,
    /// Where the current statement is.
    spot: Spot,
    /// The file that it is in.
    file: PathBuf,
    /// Statements that an atomic replay leaves for its end.
    deferred: Vec<Deferred>,
    report: Report,
}

/// How far a table is that the dump makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Filled {
    /// Rows of it came.
    has_rows: bool,
    /// The dump went on to another table.
    is_left: bool,
    /// Its rows could not be had in: it stays as it was.
    has_failed: bool,
    /// Its first statement: its DROP, or its CREATE.
    from: Spot,
    /// The last one that is its own.
    to: Spot,
    /// Rows that are in.
    rows: u64,
    /// Which of them the dump may take back.
    since: Since,
}

/// Refuses engines on which not all that a replay rests on is as on MariaDB and MySQL.
fn refuse_engine(sessions: &Sessions) -> Result<(), Error> {
    let kind = Kind::of_version(sessions.own.version());
    match kind.has_files() {
        true => Ok(()),
        false => Err(Error::Usage(format!(
            "the server is {kind}, whose locks, RENAME and transactions do not support a replay; \
             load the tables with inrush load"
        ))),
    }
}

impl<'scope, 'env> Conductor<'scope, 'env> {
    /// Connects. The dump's session is one of the client's: with the server's settings.
    pub(crate) fn new(
        shared: Shared<'env>,
        runs: Runs<'scope, 'env>,
        order: Order,
    ) -> Result<Self, Error> {
        let mut sessions = Sessions::connect(shared.connect)?;
        refuse_engine(&sessions)?;
        let transaction = Transaction::of(&mut sessions.dump)?;
        let mut report = Report {
            dump: shared.options.dump.display().to_string(),
            server: sessions.own.version().text.clone(),
            server_address: shared.connect.server_text(),
            ..Report::default()
        };
        let is_lower =
            sessions.own.query_row("SELECT @@lower_case_table_names=1")?.number::<u8>(0)? == 1;
        let collations = Collations::new(shared.options);
        collations.check(&mut sessions.own)?;
        let mapped = collations.optional(&mut sessions.own)?;
        let journal = done::journal(shared.options, mapped, &mut sessions.own, &mut report)?;
        Ok(Conductor {
            shared,
            sessions,
            is_lower,
            order,
            is_new_database: false,
            tables: Tables::new(shared.options),
            runs,
            filled: BTreeMap::new(),
            creates: BTreeMap::new(),
            ready_since: None,
            set: BTreeSet::new(),
            state: None,
            transaction,
            last_number: LastNumber::default(),
            prepared: BTreeSet::new(),
            has_temporary: false,
            functions: None,
            other_engines: None,
            existing: BTreeSet::new(),
            returned: BTreeMap::new(),
            rows_of_part: None,
            collations,
            dropped: None,
            held: BTreeMap::new(),
            journal,
            spot: Spot::default(),
            file: PathBuf::new(),
            deferred: Vec::new(),
            report,
        })
    }

    /// Replays all of a dump.
    pub(crate) fn run(mut self, dump: &Dump) -> Result<Report, Error> {
        self.report.notes.extend(dump.notes.iter().cloned());
        self.report.tell_missing(&dump.missing, self.shared.options.partial);
        self.shared.watch.set_total_bytes(dump.bytes().unwrap_or(0));
        // A panic is one more way to fail: what is not published has to go.
        match pool::catch(|| self.all(dump)).unwrap_or_else(|error| Err(error.into())) {
            Ok(()) => {
                (self.report.failed, self.report.failed_more) = self.shared.watch.take_failed();
                if self.report.failed.is_empty() {
                    // The replay is complete, also where the server does not answer any more.
                    let _ = self.compare_counts(dump);
                }
                self.end_journal();
                self.report.notes.extend(self.collations.notes());
                Ok(self.report)
            }
            Err(error) => {
                self.give_up();
                if self.shared.options.interrupt.requested().is_none() {
                    self.journal.failed(&mut self.sessions.own);
                }
                Err(error)
            }
        }
    }

    fn all(&mut self, dump: &Dump) -> Result<(), Error> {
        if let Some(into) = self.shared.options.into.as_deref() {
            let name = quote_name(into);
            self.is_new_database = !self.has_database(into)?;
            let sql = format!("CREATE DATABASE IF NOT EXISTS {name}");
            let wait = Duration::from_secs(u64::from(self.shared.options.lock_wait_seconds));
            let (all, own) = (TableName::new(into, "*"), &mut self.sessions.own);
            waiting::within(own, &all, wait, None, |own| own.exec(&sql))?;
            self.sessions.dump.exec(&format!("USE {name}"))?;
        }
        for part in &dump.parts {
            self.part(part)?;
            // The files of a part are numbered from here on.
            self.spot.part += part.files();
        }
        self.report.tell_selection(&mut self.order)?;
        self.finish().map_err(|error| self.named(error))
    }

    /// Warns of tables that have fewer rows than the dump says: a file of rows may be missing.
    fn compare_counts(&mut self, dump: &Dump) -> Result<(), Error> {
        for RowCount { database, table, rows } in &dump.counts {
            let name = ObjectName { database: Some(database.clone()), name: table.clone() };
            let name = self.by_names(|order, names| order.table(&name, names))?.to_string();
            let loaded = self.report.table(&name).rows;
            if loaded < *rows && !self.report.tables_before.contains(&name) {
                self.report.warnings.push(format!(
                    "{name} has {loaded} rows of the dump, but its metadata counts {rows}: a file of \
                     rows may be missing"
                ));
            }
        }
        Ok(())
    }

    fn part(&mut self, part: &Part) -> Result<(), Error> {
        if let Some(database) = &part.database {
            self.order.enter(database);
            if self.shared.options.into.is_none() {
                let name = self.by_names(|_, names| names.decode(database))?;
                self.enter(&name)?;
            }
        }
        match &part.content {
            Content::Sql { files, rows } => {
                self.rows_of_part = rows.as_deref().cloned();
                let options = reading::options(self.shared.options, &self.sessions.own);
                let mut reader = reading::open(files, self.shared.options, options)?;
                reading::follow(&mut reader, &*self.state()?);
                self.statements(reader)?;
                match self.rows_of_part.take() {
                    Some(rows) => self.part_rows(&rows),
                    None => Ok(()),
                }
            }
            Content::Script(script) => self.script(script),
            Content::Rows(rows) => self.part_rows(rows),
        }
    }

    fn part_rows(&mut self, rows: &TableRows) -> Result<(), Error> {
        self.spot.offset = u64::MAX;
        let file = rows.files.first().unwrap_or(&self.shared.options.dump).clone();
        let place = Place { file, ..Place::default() };
        self.settle(false)?;
        self.shared.watch.set_doing(&String::from_utf8_lossy(&rows.table));
        let sent = self.files(rows, &place);
        if !matches!(sent, Ok(true)) {
            self.shared.watch.pass(rows.bytes().unwrap_or(0));
        }
        self.judge(place, sent.map(drop))
    }

    fn script(&mut self, script: &Script) -> Result<(), Error> {
        let comments = reading::options(self.shared.options, &self.sessions.own).comments;
        for (index, one) in script.statements.iter().enumerate() {
            // Those of no file are all at its first byte.
            self.spot.offset = index as u64;
            let statement = one.statement(self.state()?.syntax(), comments);
            let file = script.path.as_ref().unwrap_or(&self.shared.options.dump);
            self.file.clone_from(file);
            let place = Place::of(file, &statement, &statement.text);
            self.settle(false)?;
            let done = self.statement(&statement);
            self.judge(place, done)?;
        }
        Ok(())
    }

    fn statements(&mut self, mut reader: SqlReader) -> Result<(), Error> {
        self.shared.watch.follow(reader.counter());
        let (first, mut files, mut is_first) = (self.spot.part, reader.files().len(), true);
        loop {
            let mut next = self.next(&mut reader);
            if std::mem::take(&mut is_first) {
                next = reading::first(&reader, self.shared.options, next);
            }
            let Some(statement) = next? else { break };
            if reader.files().len() > files {
                files = reader.files().len();
                self.named_files(&reader)?;
            }
            let part = first + statement.file as usize;
            self.spot = Spot { part, offset: statement.offset };
            let file = reading::file_of(&reader, &statement, self.shared.options);
            let text = match &statement.kind {
                StatementKind::Insert(head) => &head.text,
                _ => &statement.text,
            };
            let place = Place::of(&file, &statement, text);
            self.file = file;
            self.shared.watch.set_doing(&place.head);
            self.settle(false)?;
            let done = match &statement.kind {
                StatementKind::Insert(head) => {
                    let (done, back) = self.insert(&statement, head, reader, &place);
                    reader = match (&done, back) {
                        (_, Ok(reader)) => reader,
                        (Ok(()), Err(error)) => return Err(error),
                        // Whatever ended the reading too, this is what came first.
                        (Err(_), Err(_)) => return done.map_err(|error| error.at(place)),
                    };
                    done
                }
                _ => self.statement(&statement).and_then(|()| self.follow(&mut reader, &statement)),
            };
            self.judge(place, done)?;
        }
        self.shared.watch.pass(reader.bytes_read());
        self.report.tell_cut(reader.cut_short(), self.shared.options.partial);
        self.report.tell_stray(reader.stray());
        self.spot.part = first;
        Ok(())
    }

    /// The dump has named more files by `source`.
    fn named_files(&mut self, reader: &SqlReader) -> Result<(), Error> {
        self.shared.watch.set_total_bytes(reader.bytes_total().unwrap_or(0));
        for file in reader.files().iter().filter(|file| file.path != self.shared.options.dump) {
            self.journal.named(&file.path)?;
        }
        Ok(())
    }

    /// The next statement; under `--force` behind those that cannot be read.
    fn next(&mut self, reader: &mut SqlReader) -> Result<Option<Statement>, Error> {
        loop {
            match reader.next() {
                Err(error @ sources::Error::Sql { .. }) if self.shared.options.force => {
                    let file = match error.position() {
                        Some(position) => position.file.clone(),
                        None => self.shared.options.dump.clone(),
                    };
                    let place = Place { file, ..Place::default() };
                    self.pass_over(&place, &error.into());
                }
                next => return Ok(next?),
            }
        }
    }

    /// Judges a failed statement: the end, or under `--force` a line of the report.
    fn judge(&mut self, place: Place, done: Result<(), Error>) -> Result<(), Error> {
        let done = done.map_err(|error| explain(error, &mut self.sessions.own));
        match done.map_err(|error| self.named(error)) {
            Err(error) if self.shared.options.passes_over(&error) => {
                self.pass_over(&place, &error);
                Ok(())
            }
            done => done.map_err(|error| error.at(place)),
        }
    }

    /// The server's words, of the tables as the dump calls them.
    fn named(&self, mut error: Error) -> Error {
        error.reword(&mut |text| {
            if text.contains(STAGING) {
                let names =
                    self.creates.keys().map(|table| (staging_name(table).table, &table.table));
                *text = names
                    .fold(text.clone(), |text, (staging, table)| text.replace(&staging, table));
            }
        });
        error
    }

    fn pass_over(&mut self, place: &Place, error: &Error) {
        self.shared.watch.fail(place, error);
    }

    /// A statement, with the new names for collations.
    fn statement(&mut self, statement: &Statement) -> Result<(), Error> {
        if self.is_of_mysql_alone(statement) {
            return Ok(());
        }
        let mapped = match self.collations.is_empty() {
            true => None,
            false => {
                let syntax = self.state()?.syntax();
                self.collations.apply(statement, syntax)
            }
        };
        self.statement_as_it_is(mapped.as_ref().unwrap_or(statement))
    }

    /// True if MariaDB has no such thing; the report says it.
    fn is_of_mysql_alone(&mut self, statement: &Statement) -> bool {
        let own = &self.sessions.own;
        let is_of_mysql = own.version().flavor == Flavor::MariaDb
            && statement.kind == StatementKind::Other
            && is_global(&statement.text, Syntax::default(), reading::comments(own), "gtid_purged");
        if is_of_mysql {
            let line = statement.line;
            self.report.notes.push(format!(
                "line {line}, SET @@GLOBAL.GTID_PURGED, was left out: MariaDB does not know MySQL's GTIDs"
            ));
        }
        is_of_mysql
    }

    fn statement_as_it_is(&mut self, statement: &Statement) -> Result<(), Error> {
        let mut step = self.step(statement)?;
        if self.is_trigger_left_out(statement)? {
            step = Step::LeftOut;
        }
        self.report.count(&step, &statement.kind);
        if let StatementKind::Transaction(bound) = statement.kind {
            return self.bound(statement, bound);
        }
        if self.is_new_database && matches!(statement.kind, StatementKind::CreateDatabase(_)) {
            self.take_defaults(statement)?;
        }
        if step == Step::LeftOut {
            return Ok(());
        }
        if let Step::Make(table) = &step {
            let place = Place::of(&self.file, statement, &statement.text);
            self.creates.insert(table.clone(), place);
        }
        self.before_statement(statement)?;
        if self.was_done(&step, statement)? {
            // So were the rows that follow it.
            self.rows_of_part.take_if(|rows| *rows.table == *own_name(statement));
            return Ok(());
        }
        match &step {
            Step::Drop(_) | Step::Make(_) => self.leave_tables(),
            Step::Set(_) | Step::Nothing | Step::Keys(_) => {}
            _ if self.shared.options.atomic => {}
            // What was dropped was not made again.
            _ => self.run_held_drops()?,
        }
        self.check_asks(statement)?;
        self.do_step(step, statement)?;
        self.after_statement(statement)
    }

    /// Gives the database that everything goes into, and that this replay has created, the character set of the dump's.
    fn take_defaults(&mut self, statement: &Statement) -> Result<(), Error> {
        let comments = reading::comments(&self.sessions.own);
        let charset = database_charset(&statement.text, self.state()?.syntax(), comments);
        let Some(into) = self.shared.options.into.as_deref().filter(|_| !charset.is_empty()) else {
            return Ok(());
        };
        // In the dump's session, which keeps those of its database until it alters them itself.
        self.sessions.dump.exec(&format!("ALTER DATABASE {} {charset}", quote_name(into)))?;
        self.state = None;
        Ok(())
    }

    fn do_step(&mut self, step: Step, statement: &Statement) -> Result<(), Error> {
        if step == Step::Barrier && self.prepared(statement)? {
            return Ok(());
        }
        match step {
            Step::Nothing | Step::LeftOut => {}
            Step::Use(database) => self.enter(&database)?,
            Step::Set(variables) => self.set(statement, variables)?,
            Step::Drop(table) => self.drop(statement, &table)?,
            Step::Make(table) => {
                self.make(statement, &table)?;
                if let Some(rows) =
                    self.rows_of_part.take_if(|rows| *rows.table == *own_name(statement))
                {
                    self.part_rows(&rows)?;
                }
            }
            Step::Keys(table) => self.keys(statement, table)?,
            // Its DROP was left out.
            Step::Database(name) if self.order.names().select() && self.has_database(&name)? => {}
            Step::Database(_) => self.once(statement)?,
            Step::Rows(_) => return Err(Error::Refused("rows came out of order".to_owned())),
            Step::After(_) | Step::Run | Step::Barrier if self.shared.options.atomic => {
                self.defer(statement, &step)?;
            }
            Step::After(table) => {
                self.finish_table(&table)?;
                self.check_replaced(|failed| *failed == table)?;
                self.once(statement)?;
            }
            Step::Run => self.once(statement)?,
            Step::Barrier => {
                self.report.barriers += 1;
                self.barrier()?;
                if statement.kind == StatementKind::Other {
                    let text = &statement.text;
                    self.check_replaced(|failed| has_word(text, failed.table.as_bytes()))?;
                }
                let is_temporary = has_word(&statement.text, b"temporary");
                if is_temporary {
                    // What only this session has is not made again for who passes over this.
                    self.journal.forget()?;
                }
                self.once(statement)?;
                // Whatever it was, it may have changed the session.
                self.state = None;
                self.functions = None;
                self.has_temporary |= is_temporary || has_word(&statement.text, b"call");
            }
        }
        Ok(())
    }

    /// ALTER TABLE .. DISABLE or ENABLE KEYS: a table that is filled apart needs neither.
    fn keys(&mut self, statement: &Statement, table: TableName) -> Result<(), Error> {
        if self.tables.staging(&table).is_some() {
            return Ok(());
        }
        if self.shared.options.atomic {
            return self.defer(statement, &Step::Keys(table));
        }
        // The statement would wait for the transaction of the rows.
        self.wait_for(&table)?;
        self.once(statement)
    }

    fn step(&mut self, statement: &Statement) -> Result<Step, Error> {
        self.by_names(|order, names| order.step(statement, names))
    }

    /// Reads names of the dump as its session does now.
    fn by_names<T>(
        &mut self,
        read: impl FnOnce(&mut Order, &mut Naming<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let state = self.state()?;
        let (own, is_lower) = (&mut self.sessions.own, self.is_lower);
        read(&mut self.order, &mut Naming { own, state: &state, is_lower })
    }

    /// True for DROP TRIGGER of a table that is left out.
    fn is_trigger_left_out(&mut self, statement: &Statement) -> Result<bool, Error> {
        let StatementKind::DropTrigger(name) = &statement.kind else { return Ok(false) };
        if !self.order.names().select() {
            return Ok(false);
        }
        let trigger = self.by_names(|order, names| order.table(name, names))?;
        let found = self.sessions.own.query_text(&format!(
            "SELECT EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS \
             WHERE TRIGGER_SCHEMA={} AND TRIGGER_NAME={}",
            quote_text(&trigger.database),
            quote_text(&trigger.table)
        ))?;
        let database = name.database.as_deref().or(self.order.database());
        let takes = |table: &String| self.order.names().takes(database, table.as_bytes());
        Ok(found.is_some_and(|table| !takes(&table)))
    }

    fn drop(&mut self, statement: &Statement, table: &TableName) -> Result<(), Error> {
        let StatementKind::DropTable { if_exists, .. } = &statement.kind else { return Ok(()) };
        if self.has_temporary && self.is_temporary(table)? {
            return self.exec(statement);
        }
        self.wait_for(table)?;
        let unpublished = self.filled.remove(table);
        self.journal.gone(table)?;
        // Rows that are gone with it are of the table that comes.
        let from = unpublished.map_or(self.spot, |filled| filled.from);
        self.dropped = Some((table.clone(), from));
        let is_of_next = self.state()?.is_of_next();
        if !is_of_next && self.tables.hold_drop(&mut self.sessions, table, *if_exists)? {
            self.held.insert(table.clone(), self.spot);
            return Ok(());
        }
        if self.shared.options.atomic {
            return self.defer(statement, &Step::Run);
        }
        self.run_held_drops()?;
        self.once(statement)
    }

    /// Drops the tables whose CREATE did not follow; that is written down, or the same command would
    /// do it again to whatever has their names by then.
    fn run_held_drops(&mut self) -> Result<(), Error> {
        for &spot in self.held.values() {
            self.journal.write(Line::Begin(spot))?;
        }
        self.tables.run_held_drops(&mut self.sessions)?;
        while let Some((_, spot)) = self.held.pop_first() {
            self.journal.write(Line::Done(spot))?;
        }
        Ok(())
    }

    fn make(&mut self, statement: &Statement, table: &TableName) -> Result<(), Error> {
        let StatementKind::CreateTable { if_not_exists, .. } = &statement.kind else {
            return Ok(());
        };
        let syntax = self.state()?.syntax();
        let text = self.order.text(&statement.text, syntax).into_owned();
        let name = table.to_string();
        self.check_written()?;
        let created = match self.state()?.is_of_next() {
            true => {
                Created::AsItIs("the dump sets gtid_next, gtid_seq_no or insert_id for it".into())
            }
            false => {
                let made = self.tables.create(&mut self.sessions, &text, table, *if_not_exists);
                if made.as_ref().is_err_and(|error| self.shared.options.passes_over(error)) {
                    // The old one stays, if its DROP was held back.
                    self.held.remove(table);
                    if self.tables.keep(table) {
                        let filled = Filled { has_failed: true, ..Filled::default() };
                        self.filled.insert(table.clone(), filled);
                    }
                }
                made?
            }
        };
        match created {
            Created::StagingTable => {
                let dropped = self.dropped.take().filter(|(dropped, _)| dropped == table);
                let held = self.held.remove(table).into_iter();
                let from = held.chain(dropped.map(|(_, spot)| spot)).min().unwrap_or(self.spot);
                let filled = Filled { from, to: self.spot, ..Filled::default() };
                self.filled.insert(table.clone(), filled);
                self.report.table(&name);
            }
            Created::Exists => {
                self.existing.insert(table.clone());
                self.report.table(&name).notes.push("it existed before".to_owned());
            }
            Created::OfTables => self.defer(statement, &Step::Run)?,
            Created::AsItIs(why) if self.shared.options.atomic => {
                return Err(Error::Refused(format!("{ATOMIC} cannot stage {name}: {why}")));
            }
            Created::AsItIs(why) => {
                self.run_held_drops()?;
                // What it refers to may be on its way.
                self.barrier()?;
                self.once(statement)?;
                let note = format!("created without a staging table: {why}");
                self.report.table(&name).notes.push(note);
            }
        }
        Ok(())
    }
}

/// The name of the table that a statement makes, as it stands there.
fn own_name(statement: &Statement) -> &[u8] {
    match &statement.kind {
        StatementKind::CreateTable { table, .. } => &table.name,
        _ => &[],
    }
}
