//! Runs of rows under way, for who wants to know how long all of it still takes.
//!
//! ```text
//! bytes of the dump that are left, at the pace so far + what the runs under way take behind their last row
//! ```
//!
//! Indexes, the check and the import come behind a run's last row. The load engine knows how long files take;
//! the rest is estimated as the same multiple of the reading as in the runs before.

use std::time::Instant;

use load::{Snapshot, Stage};
use locks::Mutex;

/// How many times the reading of its rows a built run takes behind them, as long as none has ended.
const BEHIND_ROWS: f64 = 1.0;

/// A run of rows on its way into a table.
#[derive(Debug)]
pub(crate) struct UnderWay {
    /// Bytes of its own files; 0 of rows that are in the text of the dump.
    pub(crate) bytes: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of them that are read.
    read: u64,
    /// When its rows began to be read, and when the last one was.
    rows: (Option<Instant>, Option<Instant>),
    /// The load engine's estimate, and its time.
    told: Option<(f64, Instant)>,
}

impl UnderWay {
    pub(crate) fn new(bytes: u64) -> UnderWay {
        UnderWay { bytes, state: Mutex::default() }
    }

    /// Where the load engine is with it.
    pub(crate) fn update(&self, snapshot: &Snapshot, now: Instant) {
        let mut state = self.state.lock();
        if snapshot.stage == Stage::Rows {
            state.rows = (state.rows.0.or(Some(now)), None);
            if let Some(total) = snapshot.total_bytes.filter(|&total| total > 0) {
                let part = snapshot.done_bytes as f64 / total as f64;
                let read = (self.bytes as f64 * part) as u64;
                state.read = state.read.max(read.min(self.bytes));
            }
        } else if snapshot.stage > Stage::Rows {
            state.rows.1 = state.rows.1.or(Some(now));
        }
        state.told = snapshot.seconds_left.map(|seconds| (seconds, now));
    }

    /// Bytes of its files that are read.
    pub(crate) fn read(&self) -> u64 {
        self.state.lock().read
    }

    /// Seconds that it takes from `now` on, by what the load engine says.
    pub(crate) fn told(&self, now: Instant) -> f64 {
        self.state.lock().told.map_or(0.0, |(seconds, at)| (seconds - seconds_of(at, now)).max(0.0))
    }

    /// Seconds that it takes behind its last row, from `now` or from then on; `behind` says how many times
    /// its reading that is.
    pub(crate) fn behind_rows(&self, behind: Option<f64>, now: Instant) -> f64 {
        let (begun, ended) = self.state.lock().rows;
        let Some(begun) = begun else { return 0.0 };
        let expected = behind.unwrap_or(BEHIND_ROWS) * seconds_of(begun, ended.unwrap_or(now));
        (expected - ended.map_or(0.0, |ended| seconds_of(ended, now))).max(0.0)
    }

    /// Seconds that its rows took, and what came behind them, when it has ended.
    pub(crate) fn took(&self, now: Instant) -> Option<(f64, f64)> {
        let (begun, ended) = self.state.lock().rows;
        let ended = ended?;
        Some((seconds_of(begun?, ended), seconds_of(ended, now)))
    }
}

fn seconds_of(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(stage: Stage, part: Option<(u64, u64)>, seconds_left: Option<f64>) -> Snapshot {
        let (done_bytes, total_bytes) = part.map_or((0, None), |(done, all)| (done, Some(all)));
        Snapshot { stage, rows: 0, done_bytes, total_bytes, seconds_left }
    }

    #[test]
    fn what_comes_behind_the_rows_is_measured_by_them() {
        let (run, begun) = (UnderWay::new(0), Instant::now());
        let after = |seconds| begun + Duration::from_secs(seconds);
        assert!(run.behind_rows(None, begun) < 0.1);
        run.update(&at(Stage::Rows, None, None), begun);
        assert!((run.behind_rows(None, after(4)) - 4.0).abs() < 0.1);
        assert!((run.behind_rows(Some(0.5), after(4)) - 2.0).abs() < 0.1);
        run.update(&at(Stage::Indexes, None, None), after(10));
        assert!((run.behind_rows(Some(0.5), after(12)) - 3.0).abs() < 0.1);
        assert!(run.behind_rows(Some(0.5), after(90)) < 0.1);
        let took = run.took(after(16)).unwrap_or_default();
        assert!((took.0 - 10.0).abs() < 0.1 && (took.1 - 6.0).abs() < 0.1, "{took:?}");
    }

    #[test]
    fn files_of_its_own_are_read_with_its_rows() {
        let (run, begun) = (UnderWay::new(1_000), Instant::now());
        run.update(&at(Stage::Inspect, Some((90, 100)), None), begun);
        assert_eq!(run.read(), 0);
        run.update(&at(Stage::Rows, Some((25, 100)), Some(9.0)), begun);
        run.update(&at(Stage::Rows, Some((20, 100)), Some(9.0)), begun);
        assert_eq!(run.read(), 250);
        assert!((run.told(begun + Duration::from_secs(2)) - 7.0).abs() < 0.1);
    }
}
