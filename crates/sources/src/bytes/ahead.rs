//! Reading ahead: inputs that take work or patience are read on a thread of their own.
//!
//! ```text
//! thread:  read -> unpack -> transcode -> [piece] [piece] [piece] -> splitter, workers
//! ```
//!
//! Unpacking cannot be shared among cores, so nothing else is done on its thread, and it never
//! waits for the workers while there is an empty piece. Pieces go back and forth: what is read
//! ahead is at most what was allowed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use disk::failpoint;

use crate::bytes::encoding::Unit;
use crate::bytes::input::Input;
use crate::bytes::text::{Text, TextOptions};
use crate::error::{Error, Result};

/// Bytes of text handed over at once.
pub(crate) const PIECE_BYTES: usize = 256 << 10;
/// Fewest pieces: one being filled, one waiting, one being used.
const PIECES_MIN: usize = 3;
/// How often somebody who waits looks whether to stop.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// An input being read ahead.
#[derive(Debug)]
pub(crate) struct Ahead {
    path: PathBuf,
    filled: Receiver<Result<Piece>>,
    empty: Sender<Vec<u8>>,
    piece: Piece,
    /// Bytes of the piece that were given out.
    given: usize,
    ended: bool,
    /// The thread has read everything.
    is_read: Arc<AtomicBool>,
    ends: Ends,
}

/// When nobody waits for more text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    /// The end of everything was asked for.
    pub(crate) stop: Arc<AtomicBool>,
    /// True if the bytes that were read are of no use any more.
    pub(crate) given_up: Arc<AtomicBool>,
}

impl Ends {
    fn are_reached(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.given_up.load(Ordering::Relaxed)
    }
}

/// Some text, and what is known of the input at its end.
#[derive(Debug, Default)]
struct Piece {
    text: Vec<u8>,
    consumed: u64,
    unit: Unit,
    mark_bytes: usize,
}

impl Ahead {
    /// Begins to read an input, `bytes_max` ahead.
    pub(crate) fn new(
        input: &Input,
        options: TextOptions,
        bytes_max: usize,
        ends: Ends,
    ) -> Result<Ahead> {
        let pieces = (bytes_max / PIECE_BYTES).max(PIECES_MIN);
        // One is being used by each side.
        let (sender, filled) = sync_channel(pieces - 2);
        let (empty, returned) = channel();
        for _ in 0..pieces {
            // The receiver is here: it takes them.
            let _ = empty.send(Vec::new());
        }
        let is_read = Arc::new(AtomicBool::new(false));
        let reader = Reader {
            input: input.clone(),
            options,
            filled: sender,
            returned,
            is_read: Arc::clone(&is_read),
        };
        // Nobody waits for it: when the load ends early it may hang in reading a pipe.
        thread::Builder::new().name("read-ahead".to_owned()).spawn(move || reader.run()).map_err(
            |source| Error::Io {
                action: "starting a thread to read",
                path: input.path().to_owned(),
                source,
            },
        )?;
        let (piece, path) = (Piece::default(), input.path().to_owned());
        Ok(Ahead { path, filled, empty, piece, given: 0, ended: false, is_read, ends })
    }

    /// The next bytes of text; 0 at its end. Waits for the thread.
    ///
    /// Errors: whatever stopped it.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        if self.given == self.piece.text.len() && !self.ended {
            let mut used = std::mem::take(&mut self.piece.text);
            used.clear();
            // The thread has gone if it had no more use for it.
            let _ = self.empty.send(used);
            self.given = 0;
            self.piece = self.wait()?;
            self.ended = self.piece.text.is_empty();
        }
        let size = (self.piece.text.len() - self.given).min(out.len());
        out[..size].copy_from_slice(&self.piece.text[self.given..self.given + size]);
        self.given += size;
        Ok(size)
    }

    fn wait(&self) -> Result<Piece> {
        loop {
            match self.filled.recv_timeout(LOOK_INTERVAL) {
                Ok(piece) => return piece,
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
                Err(RecvTimeoutError::Timeout) if self.ends.are_reached() => {
                    return Err(Error::Stopped { path: self.path.clone() });
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Bytes of the input that the text so far came from.
    pub(crate) fn consumed(&self) -> u64 {
        self.piece.consumed
    }

    /// The unit of characters, once something was read.
    pub(crate) fn unit(&self) -> Unit {
        self.piece.unit
    }

    /// Bytes at the start of the input that are no text, once something was read.
    pub(crate) fn mark_bytes(&self) -> usize {
        self.piece.mark_bytes
    }

    /// True if everything is read, though not yet given out.
    pub(crate) fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Relaxed)
    }

    /// The thread ended without a word, which only a bug of ours can make it.
    fn gone(&self) -> Error {
        Error::Io {
            action: "reading",
            path: self.path.clone(),
            source: std::io::Error::other("the read-ahead thread has ended"),
        }
    }
}

/// The thread's side.
struct Reader {
    input: Input,
    options: TextOptions,
    filled: SyncSender<Result<Piece>>,
    returned: Receiver<Vec<u8>>,
    is_read: Arc<AtomicBool>,
}

impl Reader {
    /// Reads to the end, to an error, or until nobody wants more.
    fn run(self) {
        failpoint::hit("thread.read-ahead");
        let mut text = match Text::open(&self.input, self.options) {
            Ok(text) => text,
            Err(error) => return drop(self.filled.send(Err(error))),
        };
        while let Ok(buffer) = self.returned.recv() {
            let piece = fill(&mut text, buffer);
            let more = matches!(&piece, Ok(piece) if !piece.text.is_empty());
            if !more {
                self.is_read.store(true, Ordering::Relaxed);
            }
            if self.filled.send(piece).is_err() || !more {
                return;
            }
        }
    }
}

fn fill(text: &mut Text, mut buffer: Vec<u8>) -> Result<Piece> {
    buffer.reserve_exact(PIECE_BYTES);
    text.read(&mut buffer, PIECE_BYTES)?;
    // Small blocks are joined; a pipe's bytes are not waited for.
    while text.is_packed() && buffer.len() < PIECE_BYTES / 2 {
        let seen = buffer.len();
        text.read(&mut buffer, PIECE_BYTES - seen)?;
        if buffer.len() == seen {
            break;
        }
    }
    Ok(Piece {
        text: buffer,
        consumed: text.consumed(),
        unit: text.unit(),
        mark_bytes: text.mark_bytes(),
    })
}
