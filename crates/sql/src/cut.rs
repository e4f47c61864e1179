//! Where a run of rows may be cut, and where it ends.
//!
//! A run is consecutive INSERTs that begin with the same words. It is cut after tuples; what is
//! between two of them, be it a comma or the end of a statement and the words of the next one,
//! begins the next piece.

use std::sync::Arc;

use simd::{Block, Isa};

use crate::tuples::{Next, Tuples};
use crate::walk::{BlockMasks, Cursor, Stop, TupleSink, Walk};

/// A tuple that the input ends in.
const CUT_ROW: &str = "a row that the end of the file cuts off";

/// Follows the text of a run as it comes, in a buffer that begins where a tuple may.
#[derive(Clone, Debug)]
pub struct Cutter {
    tuples: Arc<Tuples>,
    walk: Walk,
    isa: Isa,
    cursor: Cursor,
    state: State,
    /// End of the last tuple found so far; 0 if there is none.
    cut: usize,
    /// Where the first thing stands that is no part of tuples, and what it is. Nothing after it is
    /// cut, but the end of the run is found.
    not_plain: Option<(usize, &'static str)>,
    asks: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Among the tuples of a statement.
    Rows,
    /// After something else in a statement, on the way to its end.
    Tail,
    /// After a statement.
    Between,
    /// After the run.
    Ended,
}

impl Cutter {
    /// Before the first tuple.
    pub fn new(tuples: &Arc<Tuples>, isa: Isa) -> Cutter {
        Cutter {
            walk: Walk::new(tuples.syntax),
            tuples: Arc::clone(tuples),
            isa,
            cursor: Cursor::new(0),
            state: State::Rows,
            cut: 0,
            not_plain: None,
            asks: false,
        }
    }

    /// The same before the first tuple of another text.
    pub fn anew(&self) -> Cutter {
        Cutter::new(&self.tuples, self.isa)
    }

    /// Looks at what was added to `bytes` since the last call; `last`: the input ends with them.
    pub fn advance(&mut self, bytes: &[u8], last: bool) {
        loop {
            let go_on = match self.state {
                State::Rows => self.rows(bytes, last),
                State::Tail => self.tail(bytes, last),
                State::Between => self.between(bytes, last),
                State::Ended => false,
            };
            if !go_on {
                return;
            }
        }
    }

    /// End of the last whole tuple before anything that is none; 0 if there is none.
    pub fn cut(&self) -> usize {
        self.cut
    }

    /// The part that does not belong to tuples, and its place.
    pub fn not_plain(&self) -> Option<(usize, &'static str)> {
        self.not_plain
    }

    /// True if a part so far may mean something else in another session than the dump's:
    /// [`TupleSink::asks`] tells it, or no part of tuples.
    pub fn asks(&self) -> bool {
        self.asks || self.not_plain.is_some()
    }

    /// Where the run ends, once that was found: after the last semicolon.
    pub fn end(&self) -> Option<usize> {
        (self.state == State::Ended).then_some(self.cursor.position)
    }

    /// The quote that is open.
    pub fn has_open_quote(&self) -> bool {
        self.cursor.quote != 0
    }

    /// True if the input ends in a tuple.
    pub fn is_cut(&self) -> bool {
        self.not_plain.is_some_and(|(_, what)| what == CUT_ROW)
    }

    /// How far was looked.
    pub fn seen(&self) -> usize {
        self.cursor.position
    }

    /// The first `size` bytes of the buffer are gone; not more than were looked at.
    pub fn consume(&mut self, size: usize) {
        self.cursor.position -= size;
        self.cut = self.cut.saturating_sub(size);
        if let Some((at, _)) = &mut self.not_plain {
            *at = at.saturating_sub(size);
        }
    }

    fn rows(&mut self, bytes: &[u8], last: bool) -> bool {
        let mut sink = LastClose { end: self.cut, asks: false };
        let stop = self.walk.run(self.isa, &mut self.cursor, bytes, last, &mut sink);
        self.asks |= sink.asks;
        if self.not_plain.is_none() {
            self.cut = sink.end;
        }
        match stop {
            Stop::Statement => self.state = State::Between,
            Stop::NotPlain(what) => self.refuse(self.cursor.position, what),
            Stop::End if !last || self.cursor.position < bytes.len() => return false,
            Stop::End => {
                if !self.cursor.is_between() {
                    self.refuse(self.cut, CUT_ROW);
                }
                self.state = State::Ended;
            }
        }
        true
    }

    fn refuse(&mut self, at: usize, what: &'static str) {
        self.not_plain.get_or_insert((at, what));
        self.state = State::Tail;
    }

    fn tail(&mut self, bytes: &[u8], last: bool) -> bool {
        if self.walk.tail(&mut self.cursor, bytes, last) {
            self.state = State::Between;
        } else if last {
            self.state = State::Ended;
        } else {
            return false;
        }
        true
    }

    fn between(&mut self, bytes: &[u8], last: bool) -> bool {
        match self.tuples.after_statement(&bytes[self.cursor.position..], last) {
            Next::Unknown => return false,
            Next::Other => self.state = State::Ended,
            Next::Same(size) => {
                self.cursor = Cursor::new(self.cursor.position + size);
                self.state = State::Rows;
            }
        }
        true
    }
}

/// Remembers the end of the last tuple.
struct LastClose {
    end: usize,
    asks: bool,
}

impl TupleSink for LastClose {
    const FIELDS: bool = false;

    fn open(&mut self, _at: usize) {}

    fn field(&mut self, _end: usize, _flags: u32) {}

    fn close(&mut self, end: usize) {
        self.end = end;
    }

    fn asks(&mut self) {
        self.asks = true;
    }

    #[inline(always)]
    fn block<B: Block>(&mut self, found: &BlockMasks) {
        if found.closes != 0 {
            self.end = found.base + 64 - found.closes.leading_zeros() as usize;
        }
    }
}
