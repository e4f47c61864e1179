//! Rows that are in: taken from their runs, counted, noted for the report.

use schema::TableName;

use super::Conductor;
use super::transaction::Since;
use crate::error::Error;
use crate::filling::{Sent, Stopped};
use crate::journal::Spot;
use crate::runs::Finished;

impl Conductor<'_, '_> {
    /// Rows have begun to go into a table.
    pub(super) fn has_rows(&mut self, table: &TableName) {
        let spot = self.spot;
        if let Some(filled) = self.filled.get_mut(table) {
            if self.transaction.is_open() {
                let is_first = !filled.has_rows || filled.since == Since::All;
                filled.since = if is_first { Since::All } else { Since::Some };
            }
            filled.has_rows = true;
            filled.to = spot;
        }
    }

    /// Waits until no run of a table is left.
    pub(super) fn wait_for(&mut self, table: &TableName) -> Result<(), Error> {
        while self.runs.is_busy(table) {
            self.settle(true)?;
        }
        Ok(())
    }

    /// Takes the runs that have ended, and publishes the tables that are ready for it; waits for
    /// one if `wait` says so.
    pub(super) fn settle(&mut self, wait: bool) -> Result<(), Error> {
        let mut wait = wait;
        while let Some(finished) = self.runs.next(wait) {
            wait = false;
            let Finished { table, place, spot, outcome, seconds } = finished;
            match outcome {
                Ok(sent) => self.sent(&table, sent, seconds, spot)?,
                // Who has begun it waits for that.
                Err(Stopped::AsksSession(notes)) => {
                    self.returned.insert(table, notes);
                }
                Err(stopped) => {
                    self.fail(&table);
                    let error = stopped.into_error();
                    self.were_refused(&table, spot, &error)?;
                    self.judge(place, Err(error))?;
                }
            }
        }
        self.publish_ready()
    }

    /// Rows are in: of a table that is filled apart, or of one in its place.
    pub(super) fn sent(
        &mut self,
        table: &TableName,
        sent: Sent,
        seconds: f64,
        spot: Spot,
    ) -> Result<(), Error> {
        match self.filled.get_mut(table) {
            Some(filled) => filled.rows += sent.rows,
            None => self.journal.table(table, spot, spot, sent.rows)?,
        }
        self.note(table, sent, seconds);
        Ok(())
    }

    /// Counts rows for the report, with the way that they took.
    pub(super) fn note(&mut self, table: &TableName, sent: Sent, seconds: f64) {
        let line = self.report.table(&table.to_string());
        line.rows += sent.rows;
        line.seconds += seconds;
        if !line.way.split('+').any(|way| way == sent.way) {
            if !line.way.is_empty() {
                line.way.push('+');
            }
            line.way.push_str(sent.way);
        }
        let mut changes = sent.changes;
        if let Some(staging) = self.tables.staging(table) {
            for change in &mut changes.told {
                change.message = change.message.replace(&staging.name.table, &table.table);
            }
        }
        line.changes.join(changes, self.shared.options);
        self.note_all(table, sent.notes);
    }

    /// Notes for the report about a table, by the name that users know.
    pub(super) fn note_all(&mut self, table: &TableName, notes: Vec<String>) {
        let staging = self.tables.staging(table).map(|staging| staging.name.table.clone());
        let line = self.report.table(&table.to_string());
        for note in notes {
            let note = match &staging {
                Some(staging) => note.replace(staging, &table.table),
                None => note,
            };
            if !line.notes.contains(&note) {
                line.notes.push(note);
            }
        }
    }

    /// True if a table stays as it was.
    pub(super) fn has_failed(&self, table: &TableName) -> bool {
        self.filled.get(table).is_some_and(|filled| filled.has_failed)
    }

    /// A table stays as it was.
    pub(super) fn fail(&mut self, table: &TableName) {
        if let Some(filled) = self.filled.get_mut(table) {
            filled.has_failed = true;
        }
    }
}
