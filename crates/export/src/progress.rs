//! How far an export is, told to whoever watches with each chunk that is written.

use std::time::Instant;

use job::progress::{Progress, Snapshot, Stage};

use crate::error::Error;
use crate::output::Output;
use crate::text::Chunk;

/// Before, nothing is said of the time that is left.
const SECONDS_LEAST: f64 = 1.0;

/// Somebody who is told.
pub(crate) struct ExportProgress<'a> {
    pub(crate) progress: &'a dyn Progress,
    begun: Instant,
    /// Rows that are written.
    pub(crate) rows: u64,
    /// Bytes read of the table's file where that is how it is read, else bytes of text.
    done_bytes: u64,
    /// All that are to be read; none where that is not known.
    pub(crate) total_bytes: Option<u64>,
}

impl<'a> ExportProgress<'a> {
    pub(crate) fn new(progress: &'a dyn Progress) -> ExportProgress<'a> {
        let begun = Instant::now();
        ExportProgress { progress, begun, rows: 0, done_bytes: 0, total_bytes: None }
    }

    /// Writes a chunk, and tells of it.
    pub(crate) fn write(
        &mut self,
        chunk: &mut Chunk,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        self.rows += chunk.rows;
        self.done_bytes += match self.total_bytes {
            Some(_) => chunk.read_bytes,
            None => chunk.plain_bytes(),
        };
        match &mut chunk.group {
            Some(group) => output.write_group(group)?,
            None => output.write(chunk)?,
        }
        let seconds = self.begun.elapsed().as_secs_f64();
        let is_known = seconds >= SECONDS_LEAST && self.done_bytes > 0;
        let left = self.total_bytes.filter(|_| is_known).map(|total| {
            seconds * total.saturating_sub(self.done_bytes) as f64 / self.done_bytes as f64
        });
        self.progress.update(Snapshot {
            stage: Stage::Export,
            rows: self.rows,
            done_bytes: self.done_bytes,
            total_bytes: self.total_bytes,
            seconds_left: left,
        });
        Ok(())
    }
}
