//! One file, cut into chunks at record ends.

use std::io::{Cursor, Read as _};
use std::path::PathBuf;

use super::SourceOptions;
use crate::bytes::encoding::Unit;
use crate::bytes::stream::Stream;
use crate::chunk::{Chunk, newlines};
use crate::delimited::dialect::Dialect;
use crate::delimited::split::Splitter;
use crate::error::{Error, Position, Result};

/// Bytes of the first read call of a file: many files are smaller than a piece.
const FIRST_BYTES: usize = 64 << 10;

/// Bytes per read call. Small enough that a piece is still in the second-level cache when it is
/// searched for its last record end and its newlines.
pub(super) const PIECE_BYTES: usize = 256 << 10;

/// Bytes of the first read call of a record behind a quote that is closed nowhere: its line may have another one.
const LINE_BYTES: usize = 1 << 10;

/// The file being read.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) stream: Stream,
    pub(super) path: PathBuf,
    pub(super) ended: bool,
    pub(super) splitter: Splitter,
    /// Bytes that were read behind the last cut.
    pub(super) rest: Vec<u8>,
    /// True if that is a line with an unclosed quote.
    is_unclosed: bool,
    /// Bytes that were read behind such a line, and are to be read once more.
    again: Cursor<Vec<u8>>,
    /// True if a quote before what is read is closed nowhere, up to the end of the file.
    is_open_to_end: bool,
    /// Bytes that were searched for record ends, counting those that were searched again.
    #[cfg(test)]
    searched: u64,
    /// Place of `rest` in the file.
    pub(super) offset: u64,
    pub(super) line: u64,
    pub(super) unit: Unit,
    /// Text that was skipped at its start.
    pub(super) preamble: Vec<u8>,
    /// Lines of it that were not the header.
    pub(super) lines_skipped: u64,
    /// True if there is text behind it, and rows in that.
    pub(super) has_text: bool,
    pub(super) has_rows: bool,
}

impl OpenFile {
    /// A file from its start, of which nothing was read.
    pub(super) fn new(stream: Stream, path: PathBuf, splitter: Splitter) -> OpenFile {
        OpenFile {
            stream,
            path,
            ended: false,
            splitter,
            rest: Vec::new(),
            is_unclosed: false,
            again: Cursor::default(),
            is_open_to_end: false,
            #[cfg(test)]
            searched: 0,
            offset: 0,
            line: 1,
            unit: Unit::Byte,
            preamble: Vec::new(),
            lines_skipped: 0,
            has_text: false,
            has_rows: false,
        }
    }

    /// Bytes of the file that were handed out or skipped; where a thread unpacks it, used.
    pub(super) fn bytes_read(&self) -> u64 {
        self.stream.consumed().unwrap_or(self.offset)
    }

    /// True if all of it was handed out.
    pub(super) fn is_at_end(&self) -> bool {
        self.ended && self.rest.is_empty() && !self.is_unclosed
    }

    /// Fills the chunk with whole records; false if there are none left.
    pub(super) fn fill(
        &mut self,
        chunk: &mut Chunk,
        dialect: &Dialect,
        options: &SourceOptions,
    ) -> Result<bool> {
        if self.is_unclosed {
            self.hand_out_unclosed(chunk);
            return Ok(true);
        }
        if self.is_at_end() {
            return Ok(false);
        }
        chunk.bytes.clear();
        chunk.bytes.reserve_exact(options.chunk_bytes + PIECE_BYTES.min(options.chunk_bytes));
        chunk.bytes.append(&mut self.rest);
        chunk.first_line = self.line;
        let mut lines = newlines(&chunk.bytes);
        let (mut blank_bytes, mut judged) = (0, 0);
        let cut = loop {
            let seen = chunk.bytes.len();
            self.read(&mut chunk.bytes, self.piece_bytes(seen, options))?;
            // The first read tells what the file is made of.
            (chunk.offset, chunk.unit) = (self.offset, self.unit);
            lines += newlines(&chunk.bytes[seen..]);
            let cut = self.search(&chunk.bytes, seen);
            if !self.ended && chunk.bytes.len() >= options.chunk_bytes && cut > 0 {
                // Blank lines may be the last of the file. A chunk of nothing else is handed out.
                let kept = cut - dialect.blank_end(&chunk.bytes[..cut]);
                break if kept > 0 { kept } else { cut };
            }
            let is_too_long = chunk.bytes.len() - cut > options.record_bytes_max;
            let is_due = self.ended || is_too_long;
            if options.leaves_unclosed
                && (is_due || self.stays_open(&chunk.bytes, &mut judged))
                && self.leave_unclosed(&mut chunk.bytes)
            {
                lines = newlines(&chunk.bytes);
                break cut;
            }
            if !is_due {
                continue;
            }
            if !self.ended {
                return Err(self.too_long(chunk, cut, options.record_bytes_max));
            }
            self.check_end(chunk)?;
            blank_bytes = dialect.blank_end(&chunk.bytes);
            break chunk.bytes.len();
        };
        self.rest.extend_from_slice(&chunk.bytes[cut..]);
        chunk.bytes.truncate(cut);
        if !self.ended {
            self.splitter.consume(cut);
        }
        self.offset += self.unit.file_bytes(&chunk.bytes);
        self.line += lines - newlines(&self.rest);
        if cut == 0 && self.is_unclosed {
            self.hand_out_unclosed(chunk);
            return Ok(true);
        }
        chunk.bytes.truncate(cut - blank_bytes);
        Ok(cut > blank_bytes)
    }

    /// Bytes of the next read call, behind so many bytes of the chunk.
    fn piece_bytes(&self, seen: usize, options: &SourceOptions) -> usize {
        let piece = PIECE_BYTES.min(options.chunk_bytes);
        if self.is_open_to_end { seen.max(LINE_BYTES).min(piece) } else { piece }
    }

    /// The end of the last whole record in `bytes`, of which `seen` were searched before.
    fn search(&mut self, bytes: &[u8], seen: usize) -> usize {
        #[cfg(test)]
        {
            self.searched += (bytes.len() - seen) as u64;
        }
        let _ = seen;
        self.splitter.advance(bytes, self.ended)
    }

    /// True if a quote is open at the end of `bytes` that is known to be closed nowhere. Asked again when there are
    /// twice as many bytes as `judged`, since an answer costs as much as the search.
    fn stays_open(&self, bytes: &[u8], judged: &mut usize) -> bool {
        if !self.is_open_to_end || bytes.len() < 2 * *judged {
            return false;
        }
        *judged = bytes.len();
        self.splitter.stays_open(bytes)
    }

    /// Where a quote is open at the end of `bytes`: cuts them behind the line that it opened in, and has
    /// what follows read once more.
    fn leave_unclosed(&mut self, bytes: &mut Vec<u8>) -> bool {
        let quote = self.splitter.open_quote(bytes);
        let end = quote.and_then(|quote| self.splitter.line_end(bytes, quote, self.ended));
        let Some(end) = end else { return false };
        self.is_open_to_end |= self.ended;
        match self.again.position().checked_sub((bytes.len() - end) as u64) {
            // All of it was read from there.
            Some(position) => {
                self.again.set_position(position);
                bytes.truncate(end);
            }
            None => {
                let kept = bytes[..end].to_vec();
                self.again = Cursor::new(std::mem::replace(bytes, kept));
                self.again.set_position(end as u64);
            }
        }
        (self.is_unclosed, self.ended) = (true, false);
        true
    }

    /// The line with the open quote, for itself; the next one begins anew.
    fn hand_out_unclosed(&mut self, chunk: &mut Chunk) {
        chunk.bytes.clear();
        chunk.bytes.append(&mut self.rest);
        (chunk.offset, chunk.unit, chunk.first_line) = (self.offset, self.unit, self.line);
        chunk.is_unclosed = true;
        self.offset += self.unit.file_bytes(&chunk.bytes);
        self.line += newlines(&chunk.bytes);
        self.splitter.begin_anew();
        self.is_unclosed = false;
    }

    /// At the end of the file: no quote may be open, nor an object or an array of JSON.
    fn check_end(&self, chunk: &Chunk) -> Result<()> {
        if let Some(start) = self.splitter.open_record() {
            return Err(Error::OpenJson { at: self.position(chunk, start) });
        }
        match self.splitter.open_quote(&chunk.bytes) {
            None => Ok(()),
            Some(quote) => Err(Error::UnterminatedQuote { at: self.position(chunk, quote) }),
        }
    }

    /// The record at `start` of what was read is too long.
    fn too_long(&self, chunk: &Chunk, start: usize, bytes_max: usize) -> Error {
        let quote = self.splitter.open_quote(&chunk.bytes);
        let quote = quote.map(|quote| Box::new(self.position(chunk, quote)));
        Error::RecordTooLong { at: self.position(chunk, start), bytes_max, quote }
    }

    fn position(&self, chunk: &Chunk, at: usize) -> Position {
        let (line, offset) = (chunk.line_at(at), chunk.offset_at(at));
        Position::in_text(&self.path, line, offset)
    }

    /// Appends `size` bytes of the file; fewer come only at its end, when `ended` is set.
    pub(super) fn read(&mut self, bytes: &mut Vec<u8>, size: usize) -> Result<()> {
        let (seen, mut end, mut outcome) = (bytes.len(), bytes.len(), Ok(()));
        // To the full, whatever a pipe or an archive gives at once: where chunks end follows from
        // the text alone.
        while end < seen + size && !self.ended && outcome.is_ok() {
            if end == bytes.len() {
                // Zeroing a piece that is written right after stays in the cache.
                let is_first = end == 0 && self.offset == 0;
                let piece = if is_first { size.min(FIRST_BYTES) } else { size };
                bytes.resize(seen + piece, 0);
            }
            outcome = self.read_some(&mut bytes[end..]).map(|read| {
                end += read;
                self.ended = read == 0;
            });
        }
        bytes.truncate(end);
        outcome?;
        if self.offset == 0 {
            self.unit = self.stream.unit();
            self.offset = self.stream.mark_bytes() as u64;
        }
        Ok(())
    }

    /// The next bytes: what is to be read once more, then the file's.
    fn read_some(&mut self, into: &mut [u8]) -> Result<usize> {
        match self.again.read(into) {
            Ok(read) if read > 0 => Ok(read),
            _ => {
                self.again = Cursor::default();
                self.stream.read(into)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::FileSource;
    use super::*;
    use crate::source::Source;

    /// Bytes that are searched for record ends in a file of this text, and its lines with an open quote.
    fn searched(text: &str) -> (u64, usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let options = SourceOptions { leaves_unclosed: true, ..SourceOptions::default() };
        let mut source = FileSource::new(&[path], &Dialect::csv(), options).unwrap();
        let (mut chunk, mut searched, mut unclosed, mut seen) =
            (Chunk::default(), 0, 0, Vec::new());
        while source.next_chunk(&mut chunk).unwrap() {
            unclosed += usize::from(chunk.is_unclosed);
            searched = source.current.as_ref().map_or(searched, |open| open.searched);
            seen.extend_from_slice(&chunk.bytes);
        }
        assert!(seen == text.as_bytes());
        (searched, unclosed)
    }

    #[test]
    fn open_quotes_take_time_by_the_size_of_the_file() {
        for (head, line, of_line) in [
            ("", "1,\"open\n", 1),
            ("1,\"open\n", "2,closed nowhere else\n", 0),
            ("", "3,\"x \"\" y, \"\"\"z\n4,plain\n", 1),
        ] {
            let work = |count: usize| {
                let (searched, unclosed) = searched(&format!("{head}{}", line.repeat(count)));
                assert_eq!(unclosed, count * of_line + usize::from(!head.is_empty()), "{line}");
                searched
            };
            let (once, twice) = (work(4_000), work(8_000));
            assert!(twice < once * 5 / 2, "{line}: {once} bytes, and {twice} of twice as many");
        }
    }
}
