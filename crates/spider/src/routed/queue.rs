//! A bounded queue of pieces: between the reading of the input and the load of one partition.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use locks::{Condvar, Mutex, MutexGuard};
use sources::Chunk;

use super::piece::Piece;

/// How often who waits looks whether it still has to: of flags that nobody wakes it for.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Number of pieces' buffers that are kept for others.
const SPARES_MAX: usize = 1;

/// How long the two ends of a queue waited for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    /// The load, for rows.
    pub(crate) for_rows: Duration,
    /// The reading, because the queue was full.
    pub(crate) for_room: Duration,
}

#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Piece>,
    bytes: usize,
    spares: Vec<Chunk>,
    writer: Writer,
    reader: Reader,
    waits: Waits,
}

/// Who puts pieces in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Writer {
    #[default]
    Writes,
    /// There are no more pieces.
    Ended,
    /// It ended before the input did.
    Stopped,
}

/// Who takes them out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reader {
    #[default]
    Reads,
    /// Has all pieces, or gets its rows by itself.
    Done,
    /// Has gone before the end.
    Gone,
}

/// The next item of a queue.
#[derive(Debug)]
pub(super) enum Next {
    Piece(Piece),
    End,
    /// Nothing will come any more, though the input has not ended; or nobody wants it.
    Stopped,
}

impl Queue {
    /// Holds so many bytes, or one piece.
    pub(super) fn new(bytes_max: usize) -> Queue {
        Queue { state: Mutex::default(), changed: Condvar::new(), bytes_max }
    }

    /// Puts a piece in, once there is room. One that nobody wants is dropped. False if the reading is to
    /// end.
    pub(super) fn push(&self, piece: Piece) -> bool {
        let bytes = piece.bytes();
        let mut state = self.state.lock();
        while state.writer == Writer::Writes
            && state.reader == Reader::Reads
            && state.bytes > 0
            && state.bytes + bytes > self.bytes_max
        {
            let begun = Instant::now();
            state = self.wait(state);
            state.waits.for_room += begun.elapsed();
        }
        if state.writer != Writer::Writes {
            return false;
        }
        if state.reader == Reader::Reads {
            state.bytes += bytes;
            state.pieces.push_back(piece);
            self.changed.notify_all();
        }
        true
    }

    /// Takes the next piece, once there is one.
    pub(super) fn next(&self, given_up: &AtomicBool) -> Next {
        let mut state = self.state.lock();
        loop {
            if given_up.load(Ordering::Relaxed) {
                return Next::Stopped;
            }
            if let Some(piece) = state.pieces.pop_front() {
                state.bytes -= piece.bytes();
                self.changed.notify_all();
                return Next::Piece(piece);
            }
            match state.writer {
                Writer::Writes => {}
                Writer::Ended => {
                    state.reader = Reader::Done;
                    return Next::End;
                }
                Writer::Stopped => return Next::Stopped,
            }
            let begun = Instant::now();
            state = self.wait(state);
            state.waits.for_rows += begun.elapsed();
        }
    }

    /// All pieces are in.
    pub(super) fn end(&self) {
        self.set_writer(Writer::Ended);
    }

    /// Wakes and turns away both sides.
    pub(super) fn stop(&self) {
        self.set_writer(Writer::Stopped);
    }

    /// Who took pieces out takes no more: it gets them by itself, if `has_all`, or has ended.
    pub(super) fn leave(&self, has_all: bool) {
        let mut state = self.state.lock();
        if state.reader == Reader::Reads {
            state.reader = if has_all { Reader::Done } else { Reader::Gone };
        }
        (state.pieces, state.spares, state.bytes) = Default::default();
        self.changed.notify_all();
    }

    /// True if the load has not taken all rows, though it may have thought so.
    pub(super) fn was_left(&self) -> bool {
        self.state.lock().reader == Reader::Gone
    }

    pub(super) fn waits(&self) -> Waits {
        self.state.lock().waits
    }

    /// Something that was allocated for another piece.
    pub(super) fn spare(&self) -> Chunk {
        self.state.lock().spares.pop().unwrap_or_default()
    }

    /// Keeps what was allocated for a piece, for another.
    pub(super) fn give_back(&self, chunk: Chunk) {
        let mut state = self.state.lock();
        let is_wanted = state.reader == Reader::Reads && state.writer == Writer::Writes;
        if is_wanted && chunk.bytes.capacity() > 0 && state.spares.len() < SPARES_MAX {
            state.spares.push(chunk);
        }
    }

    fn set_writer(&self, writer: Writer) {
        let mut state = self.state.lock();
        if state.writer == Writer::Writes {
            state.writer = writer;
        }
        self.changed.notify_all();
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait_timeout(state, LOOK_INTERVAL)
    }
}
