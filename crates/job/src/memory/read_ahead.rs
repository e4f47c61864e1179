//! Memory for reading compressed input and pipes ahead, apart from what the workers share.

use std::path::PathBuf;

use sources::{Encoding, FileSource, remote};

use super::PROGRAM_BYTES;
use crate::error::Error;

/// Text read ahead: below this, workers wait for each piece.
const AHEAD_BYTES_MIN: usize = 1536 << 10;
/// Beyond this nothing gets smoother.
const AHEAD_BYTES_MAX: usize = 8 << 20;

/// Ranges of an object on another machine that are on their way or wait: less leaves a fast line idle, more does not
/// fill it better.
const REMOTE_BYTES_MIN: usize = 2 << 20;
const REMOTE_BYTES_MAX: usize = 40 << 20;

/// Bytes that are read before anybody asks for them; none if all inputs are plain files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAhead {
    /// Text that is read before anybody asks for it.
    pub ahead_bytes: usize,
    /// Windows and tables of the unpacking itself.
    pub unpack_bytes: usize,
    /// Ranges of an object on another machine.
    pub remote_bytes: usize,
}

impl ReadAhead {
    /// Looks at the first bytes of the files.
    ///
    /// Errors: files that cannot be opened or hold no text.
    pub fn of(
        files: &[PathBuf],
        encoding: Encoding,
        memory_bytes_max: u64,
    ) -> Result<ReadAhead, Error> {
        let need = FileSource::unpack_bytes(files, encoding)
            .map_err(|error| Error::Usage(error.to_string()))?;
        let ahead =
            need.map_or(ReadAhead::default(), |need| ReadAhead::split(memory_bytes_max, need));
        let remote_bytes = match files.iter().any(|file| remote::has_ranges(file)) {
            true => remote_bytes(memory_bytes_max),
            false => 0,
        };
        Ok(ReadAhead { remote_bytes, ..ahead })
    }

    /// A sixteenth of the memory for text, an eighth for unpacking, or more if it needs that.
    fn split(memory_bytes_max: u64, need: usize) -> ReadAhead {
        let available = memory_bytes_max.saturating_sub(PROGRAM_BYTES);
        let available = usize::try_from(available).unwrap_or(usize::MAX);
        ReadAhead {
            ahead_bytes: (available / 16).clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX),
            // What unpacks is not there where only a byte order mark makes a thread of it.
            unpack_bytes: if need == 0 { 0 } else { need.max(available / 8) },
            remote_bytes: 0,
        }
    }

    /// All of it: what a source of files made with this says it holds.
    pub fn bytes(&self) -> u64 {
        (self.ahead_bytes + self.unpack_bytes + self.remote_bytes) as u64
    }
}

/// An eighth of the memory, within bounds.
fn remote_bytes(memory_bytes_max: u64) -> usize {
    let available = memory_bytes_max.saturating_sub(PROGRAM_BYTES);
    let share = usize::try_from(available / 8).unwrap_or(usize::MAX);
    share.clamp(REMOTE_BYTES_MIN, REMOTE_BYTES_MAX)
}
