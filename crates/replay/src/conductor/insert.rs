//! Rows: small runs at once, others while the dump goes on.

use face::option::ATOMIC;
use job::pool;
use schema::TableName;
use server::Session;
use server::session::Done;
use sources::ReadAs;
use sources::dump::{RowRun, RunPlace, RunStatement, SqlReader, Statement};
use sql::{InsertHead, ObjectName, Verb};

use super::session::CHECKS;
use super::{Conductor, Filled};
use crate::changes::Changes;
use crate::connections;
use crate::dump::TableRows;
use crate::error::{Error, is_refusal};
use crate::filling::{Filling, Sent, Stopped};
use crate::order::{Step, has_word};
use crate::place::Place;
use crate::route::{Input, Job};
use crate::serial;
use crate::table::StagingTable;

impl Conductor<'_, '_> {
    /// An INSERT, and those behind it by the same words. The reader comes back behind them.
    pub(super) fn insert(
        &mut self,
        statement: &Statement,
        head: &InsertHead,
        mut reader: SqlReader,
        place: &Place,
    ) -> (Result<(), Error>, Result<SqlReader, Error>) {
        let table = match self.step(statement) {
            Ok(Step::Rows(table)) if !self.journal.is_table_done(&table, self.spot) => table,
            Ok(Step::Rows(table)) => {
                return (self.went_elsewhere(&table), behind_run(reader));
            }
            Ok(step) => {
                self.report.count(&step, &statement.kind);
                return (Ok(()), Ok(reader));
            }
            Err(error) => return (Err(error), Ok(reader)),
        };
        if !reader.stands_before_rows() {
            let done = reader
                .whole()
                .map_err(Error::from)
                .and_then(|text| self.whole(&table, head, &text, place.line));
            return (done, Ok(reader));
        }
        let (run, handback) = match reader.into_run(ReadAs::default()) {
            Ok(lent) => lent,
            Err(reader) => return (Ok(()), Ok(*reader)),
        };
        let (run_place, before) = (run.place(), self.filled.get(&table).copied());
        let done = self.run_of_rows(table.clone(), run, place);
        // How the dump goes on may depend on rows that ask its session.
        match (done, handback.wait_to_judge()) {
            (Ok(true), Ok((reader, true))) => {
                (self.after_run(&table, before, &run_place), Ok(reader))
            }
            (Ok(true), Ok((reader, false))) => (self.went_elsewhere(&table), Ok(reader)),
            (done, back) => (done.map(drop), back.map(|(reader, _)| reader).map_err(Error::from)),
        }
    }

    /// Gives whether the rows are under way: who sends them says how far they are.
    fn run_of_rows(
        &mut self,
        table: TableName,
        mut run: RowRun,
        place: &Place,
    ) -> Result<bool, Error> {
        if !self.shared.options.atomic {
            self.run_held_drops()?;
        }
        self.check_rows(&table, run.place().head().verb)?;
        self.wait_for(&table)?;
        if self.has_failed(&table) {
            return Ok(false);
        }
        if self.has_temporary && self.is_temporary(&table)? {
            let sent = self.play(&table, None, run, true)?;
            self.note(&table, sent, 0.0);
            return Ok(false);
        }
        let is_small = !run.is_longer_than(self.shared.options.small_bytes_max)?;
        if is_small && self.tables.staging(&table).is_some() && run.held_if_asks().is_some() {
            self.before_rows_that_ask(&table, &run.place())?;
        }
        let is_ours = self.tables.staging(&table).is_some();
        let is_inside = !is_ours && self.transaction.is_open();
        if !is_ours && self.before_rows_of_others(&table, is_inside)? {
            return Ok(false);
        }
        if is_small || is_inside || self.state()?.is_of_next() {
            return self.here(&table, run).map(|()| false);
        }
        self.send(table, Input::Run(Box::new(run)), place).map(|()| true)
    }

    /// A run that was begun although its rows ask the dump's session: rows that it could not load are
    /// loaded here, before the dump goes on.
    fn after_run(
        &mut self,
        table: &TableName,
        before: Option<Filled>,
        run: &RunPlace,
    ) -> Result<(), Error> {
        self.wait_for(table)?;
        let Some(notes) = self.returned.remove(table) else { return Ok(()) };
        if let Some(before) = before {
            // It has none of these rows, and is not to be taken for finished behind them.
            self.filled.insert(table.clone(), before);
            self.before_rows_that_ask(table, run)?;
            let is_inside = self.transaction.is_open();
            if self.tables.staging(table).is_none()
                && self.before_rows_of_others(table, is_inside)?
            {
                return Ok(());
            }
        }
        self.here(table, run.open(ReadAs::default()))?;
        self.note_all(table, notes);
        Ok(())
    }

    /// Before rows of a table that is filled apart, which ask for more than they hold: what they may
    /// read has to have its place, they themselves perhaps too.
    ///
    /// Errors: `--atomic`, where nothing has its place yet.
    fn before_rows_that_ask(&mut self, table: &TableName, run: &RunPlace) -> Result<(), Error> {
        let (mut run, mut statement) = (run.open(ReadAs::default()), RunStatement::default());
        while self.tables.staging(table).is_some() && run.next_statement(&mut statement)? {
            let rows = statement.text.get(run.head().text.len()..).unwrap_or_default();
            self.before_rows_that_read(table, rows)?;
        }
        Ok(())
    }

    /// The same before the rows of one statement.
    fn before_rows_that_read(&mut self, table: &TableName, rows: &[u8]) -> Result<(), Error> {
        match self.words_that_read()?.iter().any(|word| has_word(rows, word)) {
            true if self.shared.options.atomic => Err(Error::Refused(format!(
                "{ATOMIC} stages all tables until the end of the dump, but these rows of {table} read \
                 tables: replay without {ATOMIC}"
            ))),
            true => self.barrier(),
            false => Ok(()),
        }
    }

    /// Words without which rows read no tables: of a subselect, of a change of rows that are there,
    /// and the functions that the server has stored.
    pub(super) fn words_that_read(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        let mut words = vec![b"select".to_vec(), b"update".to_vec()];
        words.extend_from_slice(self.functions()?);
        Ok(words)
    }

    /// Names of the functions that the server has stored.
    pub(super) fn functions(&mut self) -> Result<&[Vec<u8>], Error> {
        if self.functions.is_none() {
            let rows = self.sessions.own.query(
                "SELECT DISTINCT ROUTINE_NAME FROM information_schema.ROUTINES WHERE \
                 ROUTINE_TYPE='FUNCTION' AND ROUTINE_SCHEMA NOT IN ('mysql', 'sys')",
            )?;
            let names = rows.iter().map(|row| row.bytes(0).unwrap_or_default().to_vec());
            self.functions = Some(names.collect());
        }
        Ok(self.functions.as_deref().unwrap_or_default())
    }

    /// True if the dump's session has a temporary table of this name, which hides any other.
    pub(super) fn is_temporary(&mut self, table: &TableName) -> Result<bool, Error> {
        match self.sessions.dump.query(&format!("SHOW CREATE TABLE {}", table.quoted())) {
            Ok(rows) => Ok(rows.first().is_some_and(|row| {
                row.bytes(1).is_some_and(|text| text.starts_with(b"CREATE TEMPORARY"))
            })),
            Err(error) if is_refusal(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Delimited rows of a table.
    ///
    /// Gives whether they are under way: who sends them says how far they are.
    pub(super) fn files(&mut self, rows: &TableRows, place: &Place) -> Result<bool, Error> {
        let name = ObjectName { database: None, name: rows.table.clone() };
        let table = self.by_names(|order, names| order.table(&name, names))?;
        if self.journal.is_table_done(&table, self.spot) {
            return self.went_elsewhere(&table).map(|()| false);
        }
        self.check_rows(&table, Verb::Insert)?;
        self.wait_for(&table)?;
        if self.has_failed(&table) {
            return Ok(false);
        }
        if self.tables.staging(&table).is_none() && self.before_rows_of_others(&table, false)? {
            return Ok(false);
        }
        self.send(table.clone(), Input::Files(Box::new(rows.clone())), place)?;
        self.went_elsewhere(&table).map(|()| true)
    }

    /// Begins a run.
    fn send(&mut self, table: TableName, input: Input, place: &Place) -> Result<(), Error> {
        self.check_written()?;
        self.publish_all_ready()?;
        while !self.runs.has_room() {
            self.settle(true)?;
        }
        self.tables.keys_later(&mut self.sessions, &table)?;
        let staging = self.tables.staging(&table).cloned();
        let is_empty = match self.filled.get(&table) {
            Some(filled) => !filled.has_rows,
            None => catalog::is_empty(&mut self.sessions.own, &table)?,
        };
        self.has_rows(&table);
        let state = self.state()?;
        let job = Job { table, staging, is_empty, state, spot: self.spot, input };
        self.runs.begin(place.clone(), job);
        Ok(())
    }

    /// Rows that go in at once, statement by statement.
    fn here(&mut self, table: &TableName, run: RowRun) -> Result<(), Error> {
        self.check_no_keys(table)?;
        let staging = self.tables.staging(table).cloned();
        let in_transaction = staging.is_none() && self.transaction.is_open();
        let played = self.play(table, staging.as_ref(), run, in_transaction);
        self.has_rows(table);
        self.went_in(table, played, in_transaction)
    }

    /// Rows went in at once, or did not.
    fn went_in(
        &mut self,
        table: &TableName,
        sent: Result<Sent, Error>,
        in_transaction: bool,
    ) -> Result<(), Error> {
        match sent {
            Ok(sent) if in_transaction => {
                self.hold_rows(table, sent.rows);
                self.note(table, sent, 0.0);
                Ok(())
            }
            Ok(sent) => self.sent(table, sent, 0.0, self.spot),
            Err(error) => {
                self.fail(table);
                self.were_refused(table, self.spot, &error)?;
                Err(error)
            }
        }
    }

    /// Before rows that go in at once: a table apart has no foreign keys if the dump has them checked.
    fn check_no_keys(&mut self, table: &TableName) -> Result<(), Error> {
        match self.state()?.is_on(CHECKS) {
            true => self.tables.keys_later(&mut self.sessions, table),
            false => Ok(()),
        }
    }

    /// Statement by statement, in the dump's session.
    fn play(
        &mut self,
        table: &TableName,
        staging: Option<&StagingTable>,
        run: RowRun,
        in_transaction: bool,
    ) -> Result<Sent, Error> {
        let state = self.state()?;
        let run_place = run.place();
        let filling = Filling {
            connect: self.shared.connect,
            options: self.shared.options,
            state: &state,
            head: run_place.head(),
            table,
            into: staging.map_or(table, |staging| &staging.name),
            is_staging: staging.is_some(),
            // Nobody asks that here.
            is_empty: false,
            spot: self.spot,
            memory_bytes_max: self.shared.options.memory_bytes_max,
            watch: self.shared.watch,
            under_way: None,
        };
        let (session, last_number) = (&mut self.sessions.dump, &self.last_number);
        let sent =
            pool::catch(|| serial::send(&filling, run, session, in_transaction, last_number));
        let sent = sent.unwrap_or_else(|error| Err(error.into()));
        if state.is_of_next() {
            self.state = None;
        }
        sent.map_err(Stopped::into_error)
    }

    /// An INSERT that cannot be taken apart: `text`, of which the first `head_size` bytes are the
    /// words before its rows. It begins on a line.
    fn whole(
        &mut self,
        table: &TableName,
        head: &InsertHead,
        text: &[u8],
        line: u64,
    ) -> Result<(), Error> {
        if !self.shared.options.atomic {
            self.run_held_drops()?;
        }
        self.check_rows(table, head.verb)?;
        self.check_asked(text.get(head.text.len()..).unwrap_or_default())?;
        self.wait_for(table)?;
        if self.has_failed(table) {
            return Ok(());
        }
        if self.tables.staging(table).is_some() {
            self.before_rows_that_read(table, text.get(head.text.len()..).unwrap_or_default())?;
        }
        self.check_no_keys(table)?;
        let state = self.state()?;
        let staging = self.tables.staging(table).cloned();
        let in_transaction = self.transaction.is_open();
        if staging.is_none() && self.before_rows_of_others(table, in_transaction)? {
            return Ok(());
        }
        let into = staging.as_ref().map_or(table, |staging| &staging.name);
        let mut sent = connections::head(&mut self.sessions.own, into, state.charset(), head)?;
        sent.extend_from_slice(text.get(head.text.len()..).unwrap_or_default());
        let hold = connections::hold(&mut self.sessions.own, into, state.charset())?;
        self.has_rows(table);
        let mut changes = Changes::default();
        let options = self.shared.options;
        let done = whole(&mut self.sessions.dump, &hold, &sent, in_transaction, |session, done| {
            changes.take(session, done, line, options)
        });
        let sent = done.map(|done| {
            let rows = serial::count(&done, head.verb);
            self.shared.watch.add_rows(rows);
            Sent { rows, way: "serial", changes, ..Sent::default() }
        });
        // Nobody waits for a table that is filled apart.
        if staging.is_some() && sent.is_ok() && self.transaction.is_open() {
            self.commit()?;
        }
        self.went_in(table, sent, staging.is_none() && self.transaction.is_open())
    }
}

/// Runs an INSERT in a transaction that holds its table; `judge` sees the answer before the COMMIT.
fn whole(
    session: &mut Session,
    hold: &[u8],
    sent: &[u8],
    in_transaction: bool,
    judge: impl FnOnce(&mut Session, &Done) -> Result<(), Error>,
) -> Result<Done, Error> {
    if !in_transaction {
        session.exec("START TRANSACTION")?;
    }
    let done = session.exec_bytes(hold).and_then(|_| session.exec_bytes(sent));
    let done = done.map_err(Error::from).and_then(|done| judge(session, &done).map(|()| done));
    match done {
        Ok(done) if !in_transaction => Ok(session.exec("COMMIT").map(|_| done)?),
        Err(error) if !in_transaction => {
            // The error of the INSERT says more.
            let _ = session.exec("ROLLBACK");
            Err(error)
        }
        done => done,
    }
}

/// The reader behind the rows before it and those of the INSERTs that follow by the same words: they
/// were one run when they went in too.
fn behind_run(reader: SqlReader) -> Result<SqlReader, Error> {
    if !reader.stands_before_rows() {
        return Ok(reader);
    }
    match reader.into_run(ReadAs::default()) {
        Ok((run, handback)) => {
            drop(run);
            Ok(handback.wait()?)
        }
        Err(reader) => Ok(*reader),
    }
}
