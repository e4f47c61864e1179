//! Rows: small runs at once, others to the crew.

use server::identifier::quote_text;
use server::{Session, TableName};
use sources::sql::{InsertHead, ObjectName, RowRun, RunOptions, SqlReader, Statement};

use super::Conductor;
use crate::crew::Finished;
use crate::dump::TableRows;
use crate::error::Error;
use crate::journal::Spot;
use crate::naming::Naming;
use crate::order::{Step, has_word};
use crate::place::Place;
use crate::serial::Seat;
use crate::ways::{Input, Job};
use crate::work::{Sent, Stopped, Work};
use crate::{lanes, serial};

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
            Ok(Step::Rows(_)) => return (Ok(()), behind_run(reader)),
            Ok(_) => {
                self.report.left_out += 1;
                return (Ok(()), Ok(reader));
            }
            Err(error) => return (Err(error), Ok(reader)),
        };
        if !reader.stands_before_rows() {
            let done = reader
                .whole()
                .map_err(Error::from)
                .and_then(|text| self.whole(&table, head, &text));
            return (done, Ok(reader));
        }
        let (run, handback) = match reader.into_run(RunOptions::default()) {
            Ok(lent) => lent,
            Err(reader) => return (Ok(()), Ok(*reader)),
        };
        let done = self.run_of_rows(table, run, place);
        (done, handback.wait().map_err(Error::from))
    }

    fn run_of_rows(
        &mut self,
        table: TableName,
        mut run: RowRun,
        place: &Place,
    ) -> Result<(), Error> {
        if !self.shared.options.atomic {
            self.run_held_drops()?;
        }
        while self.crew.is_busy(&table) {
            self.settle(true)?;
        }
        let filled = self.filled.get(&table).copied();
        if filled.is_some_and(|filled| filled.has_failed) {
            return Ok(());
        }
        let is_small = !run.is_longer_than(self.shared.options.small_bytes_max)?;
        let is_ours = self.tables.shadow(&table).is_some();
        if is_ours && !self.shared.options.atomic && reads_tables(&run) {
            // What they read has to have its place, they themselves perhaps too.
            self.barrier()?;
        }
        let shadow = self.tables.shadow(&table).cloned();
        if shadow.is_none() && self.before_rows_of_others(&table)? {
            return Ok(());
        }
        let state = self.state()?;
        let is_of_session =
            run.held_if_not_plain().is_some_and(|text| serial::is_of_session(text, &state));
        if is_small || is_of_session || (shadow.is_none() && self.in_transaction) {
            return self.here(&table, run);
        }
        self.send(table, Input::Run(Box::new(run)), place)
    }

    /// Delimited rows of a table.
    pub(super) fn files(&mut self, rows: &TableRows, place: &Place) -> Result<(), Error> {
        let name = ObjectName { database: None, name: rows.table.clone() };
        let state = self.state()?;
        let (own, is_lower) = (&mut self.sessions.own, self.is_lower);
        let mut naming = Naming { own, charset: state.charset(), is_lower };
        let table = self.order.table(&name, &mut naming)?;
        if self.journal.is_table_done(&table, self.spot) {
            return Ok(());
        }
        while self.crew.is_busy(&table) {
            self.settle(true)?;
        }
        if self.tables.shadow(&table).is_none() && self.before_rows_of_others(&table)? {
            return Ok(());
        }
        self.send(table, Input::Files(Box::new(rows.clone())), place)
    }

    /// Rows for the crew.
    fn send(&mut self, table: TableName, input: Input, place: &Place) -> Result<(), Error> {
        while !self.crew.has_room() {
            self.settle(true)?;
        }
        if self.in_transaction {
            // A table that is filled apart is seen by nobody: its rows are in no transaction.
            self.sessions.dump.exec("COMMIT")?;
        }
        let shadow = self.tables.shadow(&table).cloned();
        let is_empty = match self.filled.get(&table) {
            Some(filled) => !filled.has_rows,
            None => server::Table::is_empty(&mut self.sessions.own, &table)?,
        };
        self.has_rows(&table);
        let state = self.state()?;
        let job = Job { table, shadow, is_empty, state, input };
        self.crew.begin(place.clone(), self.spot, job);
        Ok(())
    }

    /// Rows that go in at once, statement by statement.
    fn here(&mut self, table: &TableName, run: RowRun) -> Result<(), Error> {
        let state = self.state()?;
        let shadow = self.tables.shadow(table).cloned();
        let run_place = run.place();
        let has_rows = self.filled.get(table).is_some_and(|filled| filled.has_rows);
        let work = Work {
            connect: self.shared.connect,
            options: self.shared.options,
            state: &state,
            head: run_place.head(),
            table,
            into: shadow.as_ref().map_or(table, |shadow| &shadow.name),
            is_shadow: shadow.is_some(),
            is_empty: shadow.is_some() && !has_rows,
            threads: self.shared.options.threads,
            memory_bytes_max: self.shared.options.memory_bytes_max,
            watch: self.shared.watch,
        };
        self.has_rows(table);
        let done = match serial::send(&work, run, &mut self.sessions.dump, Seat::Dump) {
            Ok(sent) => Ok(sent),
            Err(Stopped::Failed(error)) => Err(error),
            Err(Stopped::Unfit(why)) => Err(Error::Refused(why)),
        };
        match done {
            Ok(sent) => self.sent(table, sent, 0.0, self.spot),
            Err(error) => {
                self.fail(table);
                Err(error)
            }
        }
    }

    /// An INSERT that cannot be taken apart: `text`, of which the first `head_size` bytes are the
    /// words before its rows.
    fn whole(&mut self, table: &TableName, head: &InsertHead, text: &[u8]) -> Result<(), Error> {
        if !self.shared.options.atomic {
            self.run_held_drops()?;
        }
        while self.crew.is_busy(table) {
            self.settle(true)?;
        }
        let state = self.state()?;
        let shadow = self.tables.shadow(table).cloned();
        if shadow.is_none() && self.before_rows_of_others(table)? {
            return Ok(());
        }
        let into = shadow.as_ref().map_or(table, |shadow| &shadow.name);
        let mut sent = lanes::head(&mut self.sessions.own, into, state.charset(), head)?;
        sent.extend_from_slice(text.get(head.text.len()..).unwrap_or_default());
        self.has_rows(table);
        let done = self.sessions.dump.exec_bytes(&sent);
        if done.is_err() {
            self.fail(table);
        }
        let rows = serial::count(&done?, head.verb);
        self.shared.watch.add_rows(rows);
        self.sent(table, Sent { rows, way: "serial", notes: Vec::new() }, 0.0, self.spot)
    }

    /// Before rows of a table that the dump has not made: what they refer to has its place. True
    /// where an interrupted replay has put them in.
    ///
    /// Errors: `--atomic`; rows that an interrupted replay may have put in.
    fn before_rows_of_others(&mut self, table: &TableName) -> Result<bool, Error> {
        if self.shared.options.atomic {
            return Err(Error::Refused(format!(
                "--atomic: {table} is none of the tables that the dump makes, so that its rows \
                 cannot be kept apart until the end"
            )));
        }
        self.barrier()?;
        let own = &mut self.sessions.own;
        if !server::Table::exists(own, table)? {
            // A temporary table of the dump's session, or none: its session tells.
            return Ok(false);
        }
        let is_empty = server::Table::is_empty(own, table)?;
        if self.journal.is_unclear(self.spot) && !is_empty {
            if self.journal.may_have_filled(self.spot) {
                self.journal.table(table, self.spot, self.spot, 0)?;
                return Ok(true);
            }
            self.journal.told(self.spot)?;
            return Err(Error::Refused(format!(
                "the replay before this one was interrupted while these rows went into {table}, \
                 which had others, and nothing tells whether they are in: look, take them out if \
                 they are, and give the same command again"
            )));
        }
        match is_empty && takes_rows_back(own, table)? {
            true => self.journal.fills(self.spot)?,
            false => self.journal.begins(self.spot)?,
        }
        Ok(false)
    }

    fn has_rows(&mut self, table: &TableName) {
        let spot = self.spot;
        self.has_open_rows |= self.in_transaction;
        if let Some(filled) = self.filled.get_mut(table) {
            filled.has_rows = true;
            filled.to = spot;
        }
    }

    /// Takes what the crew has finished, and publishes the tables that are ready for it; waits for
    /// one if `wait` says so.
    pub(super) fn settle(&mut self, wait: bool) -> Result<(), Error> {
        let mut wait = wait;
        while let Some(finished) = self.crew.next(wait) {
            wait = false;
            let Finished { table, place, spot, outcome, seconds } = finished;
            match outcome {
                Ok(sent) => self.sent(&table, sent, seconds, spot)?,
                Err(error) => {
                    self.fail(&table);
                    self.judge(place, Err(error))?;
                }
            }
        }
        self.publish_ready()
    }

    /// Rows are in: of a table that is filled apart, or of one in its place.
    fn sent(
        &mut self,
        table: &TableName,
        sent: Sent,
        seconds: f64,
        spot: Spot,
    ) -> Result<(), Error> {
        match self.filled.get_mut(table) {
            Some(filled) => filled.rows += sent.rows,
            None => {
                if self.in_transaction {
                    // What is written down as done has to stay.
                    self.sessions.dump.exec("COMMIT")?;
                }
                self.journal.table(table, spot, spot, sent.rows)?;
            }
        }
        self.note(table, sent, seconds);
        Ok(())
    }

    fn note(&mut self, table: &TableName, sent: Sent, seconds: f64) {
        let line = self.report.table(&table.to_string());
        line.rows += sent.rows;
        line.seconds += seconds;
        if !line.way.split('+').any(|way| way == sent.way) {
            if !line.way.is_empty() {
                line.way.push('+');
            }
            line.way.push_str(sent.way);
        }
        for note in sent.notes {
            if !line.notes.contains(&note) {
                line.notes.push(note);
            }
        }
    }

    /// A table stays as it was.
    fn fail(&mut self, table: &TableName) {
        if let Some(filled) = self.filled.get_mut(table) {
            filled.has_failed = true;
        }
    }
}

/// The reader behind the rows before it and those of the INSERTs that follow by the same words: they
/// were one run when they went in too.
fn behind_run(reader: SqlReader) -> Result<SqlReader, Error> {
    if !reader.stands_before_rows() {
        return Ok(reader);
    }
    match reader.into_run(RunOptions::default()) {
        Ok((run, handback)) => {
            drop(run);
            Ok(handback.wait()?)
        }
        Err(reader) => Ok(*reader),
    }
}

/// Whether the server takes rows back that did not go in as a whole.
fn takes_rows_back(own: &mut Session, table: &TableName) -> Result<bool, Error> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA={} AND TABLE_NAME={} \
         AND ENGINE='InnoDB'",
        quote_text(&table.database),
        quote_text(&table.table)
    );
    Ok(!own.query(&sql)?.is_empty())
}

/// Whether rows may look at tables: those that are no plain values, with a SELECT, or that change
/// rows that are there.
fn reads_tables(run: &RowRun) -> bool {
    run.held_if_not_plain()
        .is_some_and(|text| [&b"select"[..], b"update"].iter().any(|word| has_word(text, word)))
}
