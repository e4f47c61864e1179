//! The chunks of a run, some of them read ahead.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sources::{Chunk, Source};

use super::gate::unfit;
use crate::filling::Stopped;

/// The run, some of it read ahead.
pub(super) struct Feed<S> {
    run: S,
    /// Read, and not taken; the first one last.
    ahead: Vec<Chunk>,
    is_at_end: bool,
}

impl<S: Source> Feed<S> {
    /// None of it read.
    pub(super) fn new(run: S) -> Feed<S> {
        Feed { run, ahead: Vec::new(), is_at_end: false }
    }

    /// Reads at least so many bytes; false if there are no more.
    pub(super) fn read_ahead(&mut self, bytes: usize) -> Result<bool, Stopped> {
        let mut read = 0;
        let mut chunks = Vec::new();
        while read < bytes {
            let mut chunk = Chunk::default();
            if !self.run.next_chunk(&mut chunk).map_err(not_read)? {
                self.is_at_end = true;
                break;
            }
            read += chunk.bytes.len();
            chunks.push(chunk);
        }
        chunks.reverse();
        self.ahead = chunks;
        Ok(!self.is_at_end)
    }

    /// Chunks that there are, as far as is known.
    pub(super) fn chunks_known(&self) -> usize {
        if self.is_at_end { self.ahead.len().max(1) } else { usize::MAX }
    }

    /// To be set when nobody wants more of it.
    pub(super) fn given_up(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.run.facts().given_up)
    }

    /// The next chunk; false at the end of the run.
    pub(super) fn next(&mut self, chunk: &mut Chunk) -> Result<bool, Stopped> {
        if let Some(next) = self.ahead.pop() {
            *chunk = next;
            return Ok(true);
        }
        Ok(!self.is_at_end && self.run.next_chunk(chunk).map_err(not_read)?)
    }
}

fn not_read(error: sources::Error) -> Stopped {
    match error {
        error @ (sources::Error::NotPlain { .. } | sources::Error::RecordTooLong { .. }) => {
            unfit(error.to_string())
        }
        error => error.into(),
    }
}
