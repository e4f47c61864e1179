//! A run of rows: consecutive INSERTs into one table by the same words, as a source. Where nothing
//! comes behind them in their file, those of the next one may belong to the run too: see `onward`.
//!
//! ```text
//! SqlReader --into_run--> RowRun, chunks of tuples        to whoever builds or sends rows
//!                         Handback --wait--> SqlReader    behind the run, as soon as it was read
//!                         RunPlace --open--> RowRun       the same rows again, by a stream of its own
//! ```
//!
//! The reader of the dump is lent to the run while it reads the first time. It comes back at the
//! run's end, or when the run is dropped or begins again before; then [`Handback::wait`] passes over
//! what is left.

mod lent;
mod statements;
mod text;

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use simd::Isa;
use sql::{Cutter, InsertHead, Problem, Tuples, is_blank};

pub use self::lent::Handback;
use self::lent::{Lent, Returned};
pub use self::statements::RunStatement;
use self::text::RunText;
use super::onward::Onward;
use super::problem::begin;
use super::scan::run_reader;
use super::window::{PIECE_BYTES, Window};
use crate::bytes::ahead::Ends;
use crate::bytes::encoding::Unit;
use crate::bytes::input::Input;
use crate::bytes::stream::Stream;
use crate::bytes::text::TextOptions;
use crate::chunk::{Chunk, newlines};
use crate::error::{Error, Position, Result};
use crate::source::{InputFacts, InputFile, ReadAs, Reader, Source};

const _: () = assert!(ReadAs::RECORD_BYTES_MAX + 2 * PIECE_BYTES < Chunk::BYTES_MAX);

/// Where a run of rows is. Clones are the same run; opening it disturbs nobody.
#[derive(Clone, Debug)]
pub struct RunPlace {
    input: Input,
    text: TextOptions,
    ahead_bytes: usize,
    stop: Arc<AtomicBool>,
    file: u32,
    /// The first byte after the head of the first statement.
    offset: u64,
    line: u64,
    head: Arc<InsertHead>,
    tuples: Arc<Tuples>,
    /// The files that it may go on in.
    onward: Onward,
}

impl RunPlace {
    /// The words before the rows.
    pub fn head(&self) -> &InsertHead {
        &self.head
    }

    /// Index of the input among those of the reader.
    pub fn file(&self) -> u32 {
        self.file
    }

    /// Where the first statement begins.
    pub fn position(&self) -> Position {
        let head = &self.head.text;
        let (line, offset) = (self.line - newlines(head), self.offset - head.len() as u64);
        Position::in_text(self.input.path(), line, offset)
    }

    /// The rows from their beginning, by a stream of its own that is opened when it is first read.
    pub fn open(&self, read_as: ReadAs) -> RowRun {
        RowRun::new(self.clone(), read_as, None)
    }

    fn window(&self, ends: &Ends) -> Result<Window> {
        let stream = Stream::open_at(&self.input, self.text, self.ahead_bytes, ends, self.offset)?;
        Ok(Window::at(stream, self.input.path().to_owned(), self.offset, self.line))
    }

    fn ends(&self, given_up: &Arc<AtomicBool>) -> Ends {
        Ends { stop: Arc::clone(&self.stop), given_up: Arc::clone(given_up) }
    }

    /// The text with which the run goes on if byte `end` of `text` is the end of its part in its
    /// file; None if the run ends there.
    fn next_window(&self, text: &RunText, end: usize, ends: &Ends) -> Result<Option<Window>> {
        if !self.may_go_on(text, end) {
            return Ok(None);
        }
        self.onward.window(text.file + 1, &self.head, self.tuples.syntax, ends)
    }

    /// True if there is no more in the file, and there is another one.
    fn may_go_on(&self, text: &RunText, end: usize) -> bool {
        text.file + 1 < self.onward.inputs.len()
            && text.ended
            && text.bytes.get(end..).is_some_and(is_blank)
    }

    fn cutter(&self) -> Cutter {
        Cutter::new(&self.tuples, Isa::best())
    }
}

/// Rows as they stand in the dump. The text between two tuples of a chunk may be the end of a
/// statement and the words of the next one.
#[derive(Debug)]
pub struct RowRun {
    place: RunPlace,
    facts: InputFacts,
    isa: Isa,
    lent: Option<Lent>,
    /// The text that is read instead of the reader's, which was lent.
    own: Option<Window>,
    text: RunText,
    ordinal: u64,
    ended: bool,
    /// True if the text that was cut so far, or stands in its way, asks the session.
    asks: bool,
}

impl RowRun {
    fn new(place: RunPlace, read_as: ReadAs, lent: Option<Lent>) -> RowRun {
        let file = |input: &Input| InputFile { path: input.path().to_owned(), bytes: None };
        let files = place.onward.inputs.iter().map(file).collect();
        let words = format!("rows from byte {} {:?}", place.offset, place.tuples);
        RowRun {
            facts: InputFacts {
                bytes_total: None,
                held_bytes: (place.ahead_bytes + PIECE_BYTES) as u64,
                read_as: read_as.clamped(),
                ..InputFacts::new(files, words)
            },
            isa: Isa::best(),
            lent,
            own: None,
            text: RunText::new(&place),
            ordinal: 0,
            ended: false,
            asks: false,
            place,
        }
    }

    /// The same with the given instructions: for tests and benchmarks; before anything is read.
    pub fn with_isa(mut self, isa: Isa) -> RowRun {
        self.text.cutter = Cutter::new(&self.place.tuples, isa);
        self.isa = isa;
        self
    }

    /// Where it is, to have it again.
    pub fn place(&self) -> RunPlace {
        self.place.clone()
    }

    /// The words before the rows.
    pub fn head(&self) -> &InsertHead {
        &self.place.head
    }

    /// True if the run has more than so many bytes, its first head not counted, or goes on in
    /// another file. Keeps the text that it reads for that.
    ///
    /// Errors: reading.
    pub fn is_longer_than(&mut self, bytes: usize) -> Result<bool> {
        let mut cutter = self.text.cutter.clone();
        loop {
            cutter.advance(&self.text.bytes, self.text.ended);
            if let Some(end) = cutter.end() {
                return Ok(end > bytes || self.next_window(end)?.is_some());
            }
            if self.text.bytes.len() > bytes {
                return Ok(true);
            }
            self.read()?;
        }
    }

    /// All that was read ahead, if something in it asks the session; it may go beyond the run.
    pub fn held_if_asks(&self) -> Option<&[u8]> {
        let mut cutter = self.text.cutter.clone();
        cutter.advance(&self.text.bytes, self.text.ended);
        cutter.asks().then_some(&self.text.bytes[..])
    }

    /// True if something in the run may mean something else in another session than the dump's: a
    /// variable, a function, a subselect, a clause behind the rows. Reads it up to there.
    ///
    /// Errors: reading.
    pub fn asks_session(mut self) -> Result<bool> {
        let mut chunk = Chunk::default();
        while !self.asks {
            match self.next_chunk(&mut chunk) {
                Ok(true) => {}
                Ok(false) => break,
                Err(Error::NotPlain { .. }) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(self.asks)
    }

    fn check_size(&mut self, size: usize) -> Result<()> {
        let bytes_max = self.facts.read_as.record_bytes_max;
        if size <= bytes_max {
            return Ok(());
        }
        let at = self.text.position(&self.place, 0);
        self.give_back();
        self.ended = true;
        Err(Error::RecordTooLong { at, bytes_max, quote: None })
    }

    /// Reads some more behind what is held.
    fn read(&mut self) -> Result<()> {
        if let Some(lent) = &mut self.lent
            && let Some(window) = &mut lent.reader.window
        {
            let read = self.text.read(window);
            lent.reader.tell();
            return read;
        }
        if self.own.is_none() {
            self.own = Some(self.place.window(&self.place.ends(&self.facts.given_up))?);
        }
        match &mut self.own {
            Some(window) => self.text.read(window),
            None => Ok(()),
        }
    }

    /// As [`RunPlace::next_window`], of what is held.
    fn next_window(&self, end: usize) -> Result<Option<Window>> {
        let ends = match &self.lent {
            Some(lent) => lent.reader.ends.clone(),
            None => self.place.ends(&self.facts.given_up),
        };
        self.place.next_window(&self.text, end, &ends)
    }

    /// Goes on in the next file; false where the run ends at byte `end` of what is held.
    fn go_on(&mut self, end: usize) -> Result<bool> {
        let Some(window) = self.next_window(end)? else { return Ok(false) };
        self.text = self.text.behind(&self.place, &window);
        match &mut self.lent {
            Some(lent) => lent.reader.go_on(window),
            None => self.own = Some(window),
        }
        Ok(true)
    }

    /// The run was read to its end, which is at byte `end` of what is held.
    fn finish(&mut self, end: Option<usize>) {
        self.ended = true;
        self.own = None;
        self.text.end = end;
        self.give_back();
    }

    /// Gives the reader back with what was read and not used.
    fn give_back(&mut self) {
        if let Some(Lent { reader, back }) = self.lent.take() {
            let text = mem::replace(&mut self.text, RunText::new(&self.place));
            // Nobody waits for it where the whole replay has ended.
            let _ = back.send(Returned { reader, text, asks: self.asks });
        }
    }

    /// Reads until a chunk can be cut: its size. None at the end of the run.
    fn fill(&mut self) -> Result<Option<usize>> {
        let mut limit = self.facts.read_as.chunk_bytes;
        loop {
            self.text.look(limit);
            while self.text.bytes.len() < limit && !self.text.ended && self.text.end().is_none() {
                self.read()?;
                self.text.look(limit);
            }
            self.asks |= self.text.cutter.asks();
            let (cut, end) = (self.text.cutter.cut(), self.text.end());
            if cut > 0 {
                return Ok(Some(cut));
            }
            if let Some((at, what)) = self.text.cutter.not_plain() {
                let at = self.text.position(&self.place, at);
                let (quote, is_cut) = (self.text.has_open_quote(), self.text.cutter.is_cut());
                self.stop();
                return Err(match (quote, is_cut) {
                    (true, _) => Error::UnterminatedQuote { at },
                    (false, true) => self.cut(at),
                    (false, false) => Error::NotPlain { at, what },
                });
            }
            if let Some(end) = end {
                if self.go_on(end)? {
                    limit = self.facts.read_as.chunk_bytes;
                    continue;
                }
                self.finish(Some(end));
                return Ok(None);
            }
            self.check_size(limit)?;
            limit += PIECE_BYTES;
        }
    }

    /// The input ends in a statement.
    fn cut(&self, at: Position) -> Error {
        let statement = begin(&self.place.head.text, b"");
        Error::Sql { at, problem: Problem::Cut, statement }
    }

    /// Nothing more is read for this run.
    fn stop(&mut self) {
        self.ended = true;
        self.own = None;
        self.give_back();
    }
}

impl Source for RowRun {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn begin(&mut self, read_as: ReadAs) -> Result<()> {
        read_as.check_no_formats()?;
        self.facts.begin(read_as.clamped());
        if self.ordinal > 0 || self.text.file > 0 || self.ended {
            self.give_back();
            self.own = None;
            self.text = RunText::new(&self.place);
            self.ordinal = 0;
            self.ended = false;
        }
        Ok(())
    }

    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        chunk.clear();
        if self.ended {
            return Ok(false);
        }
        let filled = self.fill();
        if filled.is_err() {
            self.stop();
        }
        let Some(cut) = filled? else { return Ok(false) };
        chunk.ordinal = self.ordinal;
        chunk.file = self.text.file as u32;
        chunk.offset = self.text.offset;
        chunk.first_line = self.text.line;
        chunk.unit = Unit::Byte;
        self.text.cut_off(cut, &mut chunk.bytes);
        self.ordinal += 1;
        self.facts.bytes_read.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
        // The reader is wanted back as soon as there is no more to read.
        if let Some(end) = self.text.end()
            && self.text.cutter.cut() == 0
            && self.text.cutter.not_plain().is_none()
            && !self.place.may_go_on(&self.text, end)
        {
            self.finish(Some(end));
        }
        Ok(true)
    }

    fn reader(&self) -> Box<dyn Reader> {
        let files = self.facts.files.iter().map(|file| file.path.clone()).collect();
        let fields = self.facts.read_as.fields.as_slice().into();
        run_reader(Arc::clone(&self.place.tuples), fields, files, self.isa)
    }
}

impl Drop for RowRun {
    fn drop(&mut self) {
        self.give_back();
    }
}
