//! Chunks of several small files: each chunk is a transaction where rows are sent.

use super::FileSource;
use crate::chunk::{Chunk, RecordPlace};
use crate::delimited::lexer::{LastEnd, Lexer};
use crate::error::Result;

impl FileSource {
    /// Fills the chunk; false at the end of the last file.
    pub(super) fn fill(&mut self, chunk: &mut Chunk) -> Result<bool> {
        match self.left.take() {
            Some(left) => *chunk = left,
            None if !self.fill_from_file(chunk)? => return Ok(false),
            None => {}
        }
        while self.is_joined(chunk) {
            let mut next = Chunk::default();
            if !self.fill_from_file(&mut next)? {
                break;
            }
            if !self.join(chunk, &next) {
                self.left = Some(next);
                break;
            }
        }
        Ok(true)
    }

    /// True if the file of the chunk ends with it, and the next file is small enough to share it.
    fn is_joined(&self, chunk: &Chunk) -> bool {
        let json = self.dialect.json.as_ref();
        if !self.facts.read_as.joins_files
            || chunk.is_unclosed
            || json.is_some_and(|json| !json.is_lines)
            || self.current.as_ref().is_some_and(|open| !open.is_at_end())
        {
            return false;
        }
        let room = self.options.chunk_bytes.saturating_sub(chunk.bytes.len()) as u64;
        let next = self.index + usize::from(self.current.is_some());
        self.inputs.get(next).and_then(|input| input.bytes()).is_some_and(|bytes| bytes <= room)
    }

    /// Adds the records of another file; false if these would not be read as they are in their file.
    fn join(&self, chunk: &mut Chunk, next: &Chunk) -> bool {
        let fits = chunk.bytes.len() + next.bytes.len() < self.options.chunk_bytes;
        if next.unit != chunk.unit || next.is_unclosed || !fits {
            return false;
        }
        if !self.end_last_line(chunk) {
            return false;
        }
        let place = |of: &Chunk, at| RecordPlace {
            at,
            file: of.file,
            offset: of.offset,
            line: of.first_line,
        };
        if chunk.places.is_empty() {
            chunk.places.push(place(chunk, 0));
        }
        chunk.places.push(place(next, chunk.bytes.len()));
        chunk.bytes.extend_from_slice(&next.bytes);
        true
    }

    /// Gives the last line of the chunk the end that it may lack; false if its record would be another one then, or
    /// would go on behind it. Only CSV and JSON read a last line without its end as they read the others.
    fn end_last_line(&self, chunk: &mut Chunk) -> bool {
        let begin = chunk.places.last().map_or(0, |place| place.at);
        let lexer = Lexer::new(&self.dialect);
        let Some(alone) = lexer.last_end(&chunk.bytes[begin..]) else { return false };
        if alone.has_line_end || !self.dialect.any_newline {
            return alone.has_line_end;
        }
        let size = chunk.bytes.len();
        chunk.bytes.extend_from_slice(&self.dialect.lines_terminated_by);
        let ended = lexer.last_end(&chunk.bytes[begin..]);
        let is_same = ended == Some(LastEnd { has_line_end: true, ..alone });
        if !is_same {
            chunk.bytes.truncate(size);
        }
        is_same
    }
}
