//! Memory of reading the input and of the loads of shards, and the number of loads that run at once.
//!
//! ```text
//! --memory = reading ahead + threads x chunk  +  loads at once x (queue, kept pieces + what a load has)
//! ```
//!
//! If there are more shards than memory allows, some are loaded after others: each time the input is read
//! once more. Rows are not kept on disk for them: that would be written and read too, and the input is there.

use job::error::Error;
use job::memory::{self, ReadAhead};
use job::options::LoadOptions;
use sources::Source;

use crate::routed::Shares;

/// Memory that a load is given at least, as long as there are others to wait for.
const LOAD_BYTES_MIN: u64 = 80 << 20;
/// And for the rows on their way to it.
const ROWS_BYTES_MIN: u64 = 16 << 20;
/// Part of a load's memory that these take.
const ROWS_SHARE: u64 = 6;
/// Part of all memory that the reading takes at most, and what each of its threads is of use for.
const READING_SHARE: u64 = 8;
const READING_BYTES_MAX: u64 = 256 << 20;
/// Copies of a chunk that a reading thread has: the bytes read, places of its fields and rows.
const CHUNK_COPIES: u64 = 8;
const CHUNK_BYTES_MAX: u64 = 1 << 20;
const CHUNK_BYTES_MIN: u64 = 64 << 10;
/// Pieces in what the rows of one load take: one that is filled, two in the queue, one spare, one that is
/// handed out; the rest are kept.
const PIECES: u64 = 8;
const PIECES_ON_THE_WAY: u64 = 5;
const PIECE_BYTES_MAX: u64 = 1 << 20;
const PIECE_BYTES_MIN: u64 = 32 << 10;
/// Beyond this it is as well to read again.
const KEPT_BYTES_MAX: u64 = 16 << 20;
/// Threads of a load for each reading thread: dividing rows takes a fraction of loading them.
const THREADS_PER_READER: usize = 2;
const READERS_MAX: usize = 8;

/// The shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// Loads that run at once.
    pub(super) at_once: usize,
    /// Memory of each, with its rows on their way.
    pub(super) load_bytes: u64,
    pub(super) rows: Shares,
    /// Threads that read, and what each takes at once.
    pub(super) readers: usize,
    pub(super) chunk_bytes: usize,
    pub(super) record_bytes_max: usize,
}

impl Split {
    /// The shares of a load of so many shards, with this input.
    ///
    /// Errors: files that cannot be looked at.
    pub(super) fn of(
        options: &LoadOptions,
        shards: usize,
        source: &dyn Source,
    ) -> Result<Split, Error> {
        let ahead = source.facts().held_bytes;
        let all = options.limits.memory_bytes_max;
        let readers = options.limits.threads.div_ceil(THREADS_PER_READER).clamp(1, READERS_MAX);
        let reading = (all / READING_SHARE).min(READING_BYTES_MAX * readers as u64);
        let loads = all.saturating_sub(ahead + reading);
        // What a load that reads by itself takes ahead, by the memory that it has.
        let own =
            |load_bytes| ReadAhead::of(&options.input.files, options.input.encoding, load_bytes);
        let own_min = own(LOAD_BYTES_MIN)?.bytes() + CHUNK_COPIES * CHUNK_BYTES_MIN;
        let load_min = LOAD_BYTES_MIN + own_min.max(ROWS_BYTES_MIN);
        let room = usize::try_from(loads / load_min).unwrap_or(usize::MAX).max(1);
        // Groups of one size.
        let at_once = shards.div_ceil(shards.div_ceil(room).max(1)).max(1);
        let load_bytes = loads / at_once as u64;
        let rows_bytes = load_bytes / ROWS_SHARE;
        let piece = (rows_bytes / PIECES).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX);
        let kept = rows_bytes.saturating_sub(PIECES_ON_THE_WAY * piece).min(KEPT_BYTES_MAX);
        let chunk = (reading / readers as u64 / CHUNK_COPIES).min(CHUNK_BYTES_MAX);
        let held_bytes =
            (PIECES_ON_THE_WAY * piece + kept).max(own(load_bytes)?.bytes() + CHUNK_COPIES * chunk);
        // One long record may be in each thread of the reading, and twice on its way to its load.
        let record = (rows_bytes / 2).min(reading / (2 * readers as u64));
        let record = usize::try_from(record).unwrap_or(usize::MAX);
        Ok(Split {
            at_once,
            load_bytes,
            rows: Shares {
                piece_bytes: piece as usize,
                queue_bytes: 2 * piece as usize,
                kept_bytes: kept as usize,
                held_bytes,
            },
            readers,
            chunk_bytes: chunk.max(CHUNK_BYTES_MIN) as usize,
            record_bytes_max: record.min(memory::record_bytes_max(load_bytes, held_bytes)),
        })
    }
}
