//! Rows by LOAD DATA LOCAL, and whether it did what it was told.

use std::io::Read;
use std::sync::Arc;

use job::options::OnDuplicate;
use server::session::{Done, Session, Warning};

use super::trouble::Trouble;
use super::{
    ChunkResult, ER_DUP_ENTRY, SAVEPOINT, Sender, WARNINGS_MAX, again_or_failed, internal,
    no_session,
};
use crate::retry::{Class, classify};
use crate::sent_chunk::SentChunk;

/// The same, of INSERT IGNORE as a warning.
const ER_DUP_ENTRY_WITH_KEY_NAME: u16 = 1586;
const ER_WARN_DATA_TRUNCATED: u16 = 1265;

impl Sender {
    /// LOAD DATA LOCAL of a whole chunk; false when a row was skipped or a value changed.
    pub(super) fn load(
        &mut self,
        chunk: &mut SentChunk,
        sent: &mut ChunkResult,
    ) -> Result<bool, Trouble> {
        let rows = chunk.rows.len() as u64;
        if rows == 0 {
            return Ok(true);
        }
        if self.statements.place.rule == OnDuplicate::Update {
            return Err(internal("LOAD DATA cannot update rows").into());
        }
        let has_savepoint = self.joins_savepoint(chunk.form);
        let text = Arc::new(std::mem::take(&mut chunk.text));
        let source = Shared { bytes: Arc::clone(&text), at: 0 };
        let label = &self.statements.load_label;
        let session = self.session.as_mut().ok_or_else(no_session)?;
        let sql = session.comment() + &self.statements.load;
        let sql = if has_savepoint { format!("{SAVEPOINT}; {sql}") } else { sql };
        let done = session.load_rows(&sql, label, source);
        // The driver may still hold its half when the connection broke.
        chunk.text = Arc::try_unwrap(text).unwrap_or_else(|text| text.to_vec());
        let done = match done {
            Err(e) if matches!(classify(&e), Class::Row | Class::Duplicate) => return Ok(false),
            done => done.map_err(again_or_failed)?,
        };
        let [records, deleted, skipped, ..] = numbers(&done.info);
        let (deleted, skipped) = (deleted.unwrap_or(0), skipped.unwrap_or(0));
        if let Some(records) = records.filter(|&records| records != rows) {
            // A row that a CHECK refuses is warned of and not counted at all.
            if done.warnings > 0 && records < rows {
                return Ok(false);
            }
            let info = done.info;
            return Err(internal(&format!("the server did not read {rows} lines: {info}")).into());
        }
        // Nothing but the number of rows tells, where something in between drops the summary.
        if records.is_none() && done.affected_rows < rows {
            return Ok(false);
        }
        sent.entry.rows = rows - skipped.min(rows);
        sent.entry.duplicates = deleted + skipped;
        self.is_clean(&done, skipped)
    }

    /// True if a statement that cannot refuse rows loaded all of them: every warning is about a row
    /// that is `skipped` for its key, where that is the rule. A note is about a value that strict mode takes too,
    /// unless it says that data was truncated: of the scale of a DECIMAL, or of text behind it.
    pub(super) fn is_clean(&mut self, done: &Done, skipped: u64) -> Result<bool, Trouble> {
        if done.warnings == 0 && skipped == 0 {
            return Ok(true);
        }
        let may_skip = self.statements.place.rule == OnDuplicate::Skip;
        if skipped > 0 && !may_skip {
            return Ok(false);
        }
        let warnings = self.with_session(Session::warnings)?;
        let is_harmless = |it: &&Warning| it.level == "Note" && it.errno != ER_WARN_DATA_TRUNCATED;
        let is_duplicate =
            |it: &Warning| [ER_DUP_ENTRY, ER_DUP_ENTRY_WITH_KEY_NAME].contains(&it.errno);
        let notes = warnings.iter().filter(is_harmless).count();
        let mut others = warnings.iter().filter(|it| !is_harmless(it));
        // A list that is cut, or that something in between keeps, tells nothing.
        let are_all = warnings.len() >= usize::from(done.warnings);
        Ok(are_all
            && warnings.len() < WARNINGS_MAX
            && (warnings.len() - notes) as u64 == skipped
            && others.all(is_duplicate))
    }
}

/// Bytes that are sent and had back.
struct Shared {
    bytes: Arc<Vec<u8>>,
    at: usize,
}

impl Read for Shared {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = (&self.bytes[self.at..]).read(out)?;
        self.at += count;
        Ok(count)
    }
}

/// The numbers of a summary line, whatever the language of its words: `Records: 3  Deleted: 0
/// Skipped: 1  Warnings: 1`.
pub(super) fn numbers(info: &str) -> [Option<u64>; 4] {
    let mut found = info.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    [(); 4].map(|()| found.next().and_then(|digits| digits.parse().ok()))
}
