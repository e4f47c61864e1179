//! Rows by multi-row INSERTs, down to the single row where one is refused.

use std::ops::Range;
use std::time::Instant;

use job::error::Error;
use job::options::OnDuplicate;
use job::position::Position;
use server::engine::Kind;
use server::session::Done;

use super::lines::numbers;
use super::search::Search;
use super::trouble::Trouble;
use super::{
    Batch, ChunkResult, Commit, Sender, again_or_failed, internal, late, no_session, parameters,
    rejects_of,
};
use crate::ledger::Refused;
use crate::retry::{Class, classify};
use crate::sent_chunk::{Form, SentChunk};

/// Server error of a packet that is larger than `max_allowed_packet`.
const ER_PACKET_TOO_LARGE: u16 = 1153;

/// The same of savepoints in a transaction with tables that have none.
const ER_CHECK_NOT_IMPLEMENTED: u16 = 1178;

/// Rows of an INSERT IGNORE whose warnings are all listed.
const IGNORED_ROWS_MAX: usize = 10_000;
/// Most values of one statement of [`Form::Values`]: each takes 64 bytes here while it is sent.
const VALUES_MAX: usize = 1 << 15;

/// The result of the rows of one statement.
enum Outcome {
    /// They are in, or left out for their keys.
    In { rows: u64, duplicates: u64 },
    /// The statement cannot refuse, and bent a value or skipped a row for no key.
    Bent,
    /// None is in: one of them is at fault.
    Refused(Refusal),
}

/// The server's refusal of a statement.
struct Refusal {
    errno: u16,
    message: String,
    is_duplicate: bool,
}

impl Sender {
    /// Inserts a chunk's tuples. Without `is_strict`, duplicates are skipped by INSERT IGNORE
    /// where that is the rule, and the result is false when that did anything else as well.
    pub(super) fn insert(
        &mut self,
        chunk: &SentChunk,
        batch: Batch,
        is_strict: bool,
        sent: &mut ChunkResult,
    ) -> Result<bool, Trouble> {
        sent.entry.rows = 0;
        if chunk.form == Form::Values && !chunk.rows.is_empty() {
            self.set_names(false)?;
            self.prepare(false)?;
            if is_strict {
                self.prepare(true)?;
            }
            self.set_names(true)?;
        }
        let outcome = self.insert_all(chunk, batch, is_strict, sent);
        // The ledger is in UTF-8; after a failure the connection is one to undo by, if any.
        if outcome.is_ok() {
            self.set_names(false)?;
        }
        outcome
    }

    fn insert_all(
        &mut self,
        chunk: &SentChunk,
        batch: Batch,
        is_strict: bool,
        sent: &mut ChunkResult,
    ) -> Result<bool, Trouble> {
        let is_searched = is_strict && self.statements.place.rule == OnDuplicate::Skip;
        let rows_max = if is_searched { IGNORED_ROWS_MAX } else { usize::MAX };
        let mut search = Search::new();
        while search.at < chunk.rows.len() {
            let rows = batch.rows.min(search.rows_max).min(rows_max);
            let rows = self.next_batch(chunk, search.at, Batch { rows, ..batch });
            let count = rows.len();
            // A server that waits for rows ends nothing by itself.
            self.options.connect.interrupt.check().map_err(Error::from)?;
            let outcome = match is_strict {
                true => self.ask_strictly(chunk, rows.clone())?,
                false => self.ask(chunk, rows.clone(), false)?,
            };
            match outcome {
                Outcome::In { rows, duplicates } => {
                    sent.entry.rows += rows;
                    sent.entry.duplicates += duplicates;
                    search.done(count);
                }
                Outcome::Bent if is_strict && count > 1 => search.refused(count, None),
                Outcome::Bent => return Ok(false),
                Outcome::Refused(refusal) => {
                    if self.options.commit == (Commit::Whole { savepoints: false }) {
                        return Err(self.refused_for_good(chunk, rows, &refusal));
                    }
                    if count > 1 {
                        search.refused(count, row_named(&refusal.message));
                    } else {
                        self.refuse(chunk, rows.start, &refusal, sent)?;
                        search.pass_over();
                    }
                }
            }
        }
        Ok(true)
    }

    /// The rows of the next statement.
    fn next_batch(&self, chunk: &SentChunk, at: usize, batch: Batch) -> Range<usize> {
        let begin = at.checked_sub(1).map_or(0, |before| chunk.rows[before].end);
        let bytes = batch.bytes.min(self.packet_bytes);
        let mut rows = batch.rows;
        if chunk.form == Form::Values {
            rows = rows.min(VALUES_MAX / self.statements.place.insert_columns.len().max(1));
        }
        let last = at.saturating_add(rows.max(1)).min(chunk.rows.len());
        let fits = chunk.rows[at..last].partition_point(|row| row.end - begin <= bytes);
        at..at + fits.max(1)
    }

    /// The error of a refused statement some of whose rows may be in all the same, so that none of
    /// it can be sent again.
    fn refused_for_good(
        &self,
        chunk: &SentChunk,
        rows: Range<usize>,
        refusal: &Refusal,
    ) -> Trouble {
        let named = row_named(&refusal.message).filter(|row| (1..=rows.len()).contains(row));
        let message = self.statements.clean(&refusal.message);
        if refusal.is_duplicate {
            let index = "primary or unique".to_owned();
            return Error::UnknownDuplicate { index, reason: message }.into();
        }
        let row = rows.start + named.map_or(0, |row| row - 1);
        let raw = chunk.rows[row].raw.clone();
        let message = match named {
            Some(_) => message,
            None => format!("{message}, in this row or one of the next {}", rows.len() - 1),
        };
        let (begin, end, errno) = (raw.start, raw.end, refusal.errno);
        let refused = Refused { begin, end, errno, message };
        Trouble::Rejected(rejects_of(chunk, &[refused], &self.options))
    }

    /// Takes down a single row that was refused.
    fn refuse(
        &self,
        chunk: &SentChunk,
        row: usize,
        refusal: &Refusal,
        sent: &mut ChunkResult,
    ) -> Result<(), Trouble> {
        let raw = chunk.rows[row].raw.clone();
        let message = self.statements.clean(&refusal.message);
        if refusal.is_duplicate {
            if self.statements.place.rule == OnDuplicate::Skip {
                sent.entry.duplicates += 1;
                return Ok(());
            }
            let position = Position::of(&chunk.input, raw.start, &self.options.files);
            return Err(Trouble::Duplicate { position, message });
        }
        let (begin, end, errno) = (raw.start, raw.end, refusal.errno);
        sent.entry.refused.push(Refused { begin, end, errno, message });
        let refused = chunk.rejected.len() + sent.entry.refused.len();
        if refused as u64 > self.options.rejects_max {
            let rejects = rejects_of(chunk, &sent.entry.refused, &self.options);
            return Err(Trouble::Rejected(rejects));
        }
        Ok(())
    }

    /// One statement that refuses rows. INSERT IGNORE where duplicates are skipped, undone if it did anything else:
    /// it skips them all at once, without naming one.
    fn ask_strictly(&mut self, chunk: &SentChunk, rows: Range<usize>) -> Result<Outcome, Trouble> {
        let skips = self.statements.place.rule == OnDuplicate::Skip && rows.len() > 1;
        if !skips || !self.set_savepoint()? {
            return self.ask(chunk, rows, true);
        }
        let outcome = self.ask(chunk, rows, false)?;
        if matches!(outcome, Outcome::Bent) {
            self.undo_by("ROLLBACK TO SAVEPOINT inrush_rows")?;
        }
        Ok(outcome)
    }

    /// False if there are no savepoints.
    fn set_savepoint(&mut self) -> Result<bool, Trouble> {
        let session = self.session.as_mut().ok_or_else(no_session)?;
        if !Kind::of_version(session.version()).has_savepoints() {
            return Ok(false);
        }
        match session.exec("SAVEPOINT inrush_rows") {
            // Spider's tables have none.
            Err(server::Error::Statement { errno: ER_CHECK_NOT_IMPLEMENTED, .. }) => Ok(false),
            set => set.map(|_| true).map_err(again_or_failed),
        }
    }

    /// One statement with some rows.
    fn ask(
        &mut self,
        chunk: &SentChunk,
        rows: Range<usize>,
        is_strict: bool,
    ) -> Result<Outcome, Trouble> {
        let count = rows.len() as u64;
        let text = chunk.text_of(rows);
        if text.len() > self.packet_bytes {
            return Ok(Outcome::Refused(Refusal {
                errno: ER_PACKET_TOO_LARGE,
                message: format!(
                    "the row takes {} bytes in a statement; the server's max_allowed_packet \
                     allows {}",
                    text.len(),
                    self.packet_bytes
                ),
                is_duplicate: false,
            }));
        }
        let begun = Instant::now();
        let done = match chunk.form {
            Form::Values => self.ask_by_values(text, is_strict)?,
            _ => self.ask_by_text(text, is_strict)?,
        };
        match done {
            Ok(done) => self.outcome(&done, count, is_strict),
            Err(error) if self.is_late(&error, begun) => Err(late(error)),
            Err(error) => refusal(error),
        }
    }

    fn ask_by_text(
        &mut self,
        text: &[u8],
        is_strict: bool,
    ) -> Result<server::Result<Done>, Trouble> {
        let text = std::str::from_utf8(text)
            .map_err(|e| internal(&format!("tuples are not UTF-8: {e}")))?;
        let statements = &self.statements;
        let insert = if is_strict { &statements.insert_strict } else { &statements.insert };
        self.sql.clear();
        let session = self.session.as_mut().ok_or_else(no_session)?;
        // A hint must come first.
        if !insert.starts_with("/*") {
            self.sql.push_str(&session.comment());
        }
        self.sql.push_str(insert);
        self.sql.push_str(text);
        self.sql.push_str(&statements.tail);
        Ok(session.exec_rows(&self.sql, &statements.insert_label))
    }

    fn ask_by_values(
        &mut self,
        text: &[u8],
        is_strict: bool,
    ) -> Result<server::Result<Done>, Trouble> {
        let session = self.session.as_mut().ok_or_else(no_session)?;
        let prepared = self.prepared[usize::from(is_strict)]
            .as_ref()
            .ok_or_else(|| internal("values were sent before their statement was prepared"))?;
        let rows = parameters::rows(text, self.statements.place.insert_columns.len());
        Ok(session.exec_bulk(prepared, rows, &self.statements.insert_label))
    }

    /// Prepares the INSERT of [`Form::Values`], while the session is in UTF-8 as its names are.
    fn prepare(&mut self, is_strict: bool) -> Result<(), Trouble> {
        if self.prepared[usize::from(is_strict)].is_some() {
            return Ok(());
        }
        let session = self.session.as_mut().ok_or_else(no_session)?;
        // The text is read once: its percentage is that of the connection's first chunk.
        let sql = session.comment() + &self.statements.prepared(is_strict);
        let prepared = session.prepare(&sql, &self.statements.insert_label);
        self.prepared[usize::from(is_strict)] = Some(prepared.map_err(again_or_failed)?);
        Ok(())
    }

    /// The result of a statement that was not refused.
    fn outcome(&mut self, done: &Done, count: u64, is_strict: bool) -> Result<Outcome, Trouble> {
        let affected = done.affected_rows;
        // `Records: 3  Duplicates: 1  Warnings: 0`; a statement of one row has no summary. It is to
        // be preferred, because with triggers the other number may have rows of their statements.
        let duplicates = match numbers(&done.info) {
            [Some(_), duplicates, ..] => duplicates,
            _ => None,
        };
        let whole = |rows: u64, duplicates: u64| Ok(Outcome::In { rows, duplicates });
        match self.statements.place.rule {
            OnDuplicate::Skip if !is_strict => {
                let skipped = duplicates.unwrap_or(count.saturating_sub(affected)).min(count);
                if self.is_clean(done, skipped)? {
                    whole(count - skipped, skipped)
                } else {
                    Ok(Outcome::Bent)
                }
            }
            OnDuplicate::Fail | OnDuplicate::Skip if affected >= count => whole(count, 0),
            OnDuplicate::Fail | OnDuplicate::Skip => Err(internal(&format!(
                "the server inserted {affected} of {count} rows but reported no error: {}",
                done.info
            ))
            .into()),
            // Each row counts, and each one that it replaced.
            OnDuplicate::Replace => {
                whole(count, duplicates.unwrap_or(affected.saturating_sub(count)))
            }
            // A row that is inserted counts once, one that changes another twice and is in the
            // summary; one that finds all as it should be is in neither.
            OnDuplicate::Update => {
                let changed = duplicates.unwrap_or(u64::from(affected > 1)).min(count);
                let inserted = affected.saturating_sub(2 * changed).min(count - changed);
                whole(count, count - inserted)
            }
        }
    }
}

/// The meaning of a statement's refusal.
fn refusal(error: server::Error) -> Result<Outcome, Trouble> {
    let class = classify(&error);
    match (class, error) {
        (Class::Row | Class::Duplicate, server::Error::Statement { errno, message, .. }) => {
            let is_duplicate = class == Class::Duplicate;
            Ok(Outcome::Refused(Refusal { errno, message, is_duplicate }))
        }
        (_, error) => Err(again_or_failed(error)),
    }
}

/// The row of the statement, from 1, that a message of the server's ends with.
fn row_named(message: &str) -> Option<usize> {
    let at = message.rfind(" at row ")?;
    message[at + " at row ".len()..].parse().ok()
}
