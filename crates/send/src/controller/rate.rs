//! `--max-rate`: a bucket of bytes that fills with time.

use std::time::Duration;

/// Bytes that may still be taken.
///
/// A chunk takes the size of those before it when it begins, and the difference to its own when
/// it is done: so connections that begin together do not all find the bucket full.
#[derive(Debug)]
pub(super) struct Rate {
    bytes_per_second: f64,
    /// Below zero is debt: nobody goes before it is paid.
    level: f64,
    filled_at: Duration,
    /// Assumed size of a chunk before it is known.
    chunk_bytes: f64,
}

impl Rate {
    /// A bucket that has room for one chunk, and holds none.
    pub(super) fn new(bytes_per_second: u64, chunk_bytes: usize) -> Rate {
        Rate {
            bytes_per_second: bytes_per_second.max(1) as f64,
            level: 0.0,
            filled_at: Duration::ZERO,
            chunk_bytes: chunk_bytes as f64,
        }
    }

    /// How long until a chunk may begin.
    pub(super) fn wait(&self, now: Duration) -> Duration {
        let level = self.level_at(now);
        if level >= 0.0 {
            return Duration::ZERO;
        }
        // A millisecond more, for waits end early by rounding.
        Duration::try_from_secs_f64(-level / self.bytes_per_second)
            .unwrap_or(Duration::MAX)
            .saturating_add(Duration::from_millis(1))
    }

    /// A chunk begins. Gives what it took, for [`Rate::settle`].
    pub(super) fn take(&mut self, now: Duration) -> f64 {
        self.level = self.level_at(now) - self.chunk_bytes;
        self.filled_at = now;
        self.chunk_bytes
    }

    /// A chunk that took `taken` is of `bytes`.
    pub(super) fn settle(&mut self, taken: f64, bytes: u64) {
        self.level += taken - bytes as f64;
        self.chunk_bytes = (bytes as f64).max(1.0);
    }

    /// The saved allowance, worth a tenth of a second at most, so that a pause is not followed by a
    /// burst.
    fn level_at(&self, now: Duration) -> f64 {
        let filled = now.saturating_sub(self.filled_at).as_secs_f64() * self.bytes_per_second;
        (self.level + filled).min(self.bytes_per_second / 10.0)
    }
}
