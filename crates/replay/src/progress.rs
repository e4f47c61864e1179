//! Progress of a replay.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use locks::{Condvar, Mutex};

use crate::error::Error;
use crate::place::Place;
use crate::report::Failed;
use crate::under_way::UnderWay;

/// How far a replay is, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Current work: a table, or the head of a statement.
    pub doing: String,
    /// Bytes of the dump's files that are read, compressed if they are.
    pub read_bytes: u64,
    /// Total bytes, if known.
    pub total_bytes: Option<u64>,
    /// Rows that are in.
    pub rows: u64,
    /// Tables that are finished.
    pub tables: u64,
    /// Seconds that all of it still takes, where that can be told.
    pub seconds_left: Option<u64>,
}

/// Somebody who wants to know how far a replay is.
pub trait Progress: Sync {
    /// It is at `snapshot` now. Called a few times a second at most.
    fn update(&self, snapshot: &Snapshot);

    /// A sentence for people: what is waited for, or went wrong and is passed over.
    fn say(&self, text: &str) {
        let _ = text;
    }
}

/// Nobody watches.
impl Progress for () {
    fn update(&self, _: &Snapshot) {}
}

/// Failed statements that are told, as many as rejects of a load: they are held in memory.
const FAILED_MAX: usize = 1_000;
/// Time between two updates.
const INTERVAL: Duration = Duration::from_millis(200);
/// How a replay begins says nothing of how long it takes.
const FIRST_MOMENT: Duration = Duration::from_secs(1);

/// Counters of the workers; [`Watch::tell`] passes them on.
#[derive(Debug)]
pub(crate) struct Watch {
    started: Instant,
    rows: AtomicU64,
    tables: AtomicU64,
    /// Bytes of the parts of the dump that are behind us.
    passed_bytes: AtomicU64,
    total_bytes: AtomicU64,
    words: Mutex<Words>,
    ended: AtomicBool,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Words {
    doing: String,
    /// Where the reader of the current part says how far it is.
    reading: Option<Arc<AtomicU64>>,
    said: Vec<String>,
    failed: Vec<Failed>,
    /// Failed statements that are not in `failed`.
    failed_more: u64,
    under_way: Vec<Arc<UnderWay>>,
    /// Seconds that the rows of runs took that have ended, and what came behind them.
    took: (f64, f64),
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            started: Instant::now(),
            rows: AtomicU64::default(),
            tables: AtomicU64::default(),
            passed_bytes: AtomicU64::default(),
            total_bytes: AtomicU64::default(),
            words: Mutex::default(),
            ended: AtomicBool::default(),
            changed: Condvar::default(),
        }
    }
}

impl Watch {
    /// So many more rows are in.
    pub(crate) fn add_rows(&self, count: u64) {
        self.rows.fetch_add(count, Ordering::Relaxed);
    }

    /// Rows counted so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// So many rows that were counted are not in after all.
    pub(crate) fn take_rows(&self, count: u64) {
        self.rows.fetch_sub(count, Ordering::Relaxed);
    }

    /// One more table is finished.
    pub(crate) fn add_table(&self) {
        self.tables.fetch_add(1, Ordering::Relaxed);
    }

    /// A part of the dump is being read, and its reader says there how far it is.
    pub(crate) fn follow(&self, counter: Arc<AtomicU64>) {
        self.words.lock().reading = Some(counter);
    }

    /// A part is behind us, of so many bytes.
    pub(crate) fn pass(&self, bytes: u64) {
        let mut words = self.words.lock();
        words.reading = None;
        self.passed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A run of rows begins; so many bytes of the dump are files of its own.
    pub(crate) fn begin(&self, bytes: u64) -> Arc<UnderWay> {
        let run = Arc::new(UnderWay::new(bytes));
        self.words.lock().under_way.push(Arc::clone(&run));
        run
    }

    /// It has ended, and its files are behind us.
    pub(crate) fn end(&self, run: &Arc<UnderWay>) {
        let mut words = self.words.lock();
        words.under_way.retain(|other| !Arc::ptr_eq(other, run));
        if let Some((rows, behind)) = run.took(Instant::now()) {
            words.took = (words.took.0 + rows, words.took.1 + behind);
        }
        self.passed_bytes.fetch_add(run.bytes, Ordering::Relaxed);
    }

    /// How much of them there is; 0 where that is not known.
    pub(crate) fn set_total_bytes(&self, bytes: u64) {
        self.total_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Sets the current work.
    pub(crate) fn set_doing(&self, what: &str) {
        what.clone_into(&mut self.words.lock().doing);
    }

    /// A sentence for people.
    pub(crate) fn say(&self, text: &str) {
        self.words.lock().said.push(text.to_owned());
        self.changed.notify_all();
    }

    /// A statement failed and is passed over.
    pub(crate) fn fail(&self, place: &Place, error: &Error) {
        let failed = match error {
            // It knows its statement of a run.
            Error::At { place, error } => Failed::new(place, error),
            error => Failed::new(place, error),
        };
        let mut words = self.words.lock();
        if words.failed.len() == FAILED_MAX {
            words.failed_more += 1;
            return;
        }
        words.said.push(format!("skipped: {failed}"));
        words.failed.push(failed);
        self.changed.notify_all();
    }

    /// The first statements that failed, and the number of the others.
    pub(crate) fn take_failed(&self) -> (Vec<Failed>, u64) {
        let mut words = self.words.lock();
        (std::mem::take(&mut words.failed), words.failed_more)
    }

    /// Bytes of the dump's files that are read.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read_by(&self.words.lock())
    }

    fn read_by(&self, words: &Words) -> u64 {
        let reading = words.reading.as_ref().map_or(0, |counter| counter.load(Ordering::Relaxed));
        let files: u64 = words.under_way.iter().map(|run| run.read()).sum();
        self.passed_bytes.load(Ordering::Relaxed) + reading + files
    }

    /// Seconds that all of it still takes, if so many bytes are read of so many.
    fn seconds_left(&self, words: &Words, read: u64, total: u64, now: Instant) -> Option<u64> {
        let elapsed = now.saturating_duration_since(self.started);
        if read == 0 || total == 0 || elapsed < FIRST_MOMENT {
            return None;
        }
        let pace = elapsed.as_secs_f64() / read as f64;
        let (rows, behind) = words.took;
        let behind = (rows > 0.0).then(|| behind / rows);
        let most = |seconds: fn(&UnderWay, Option<f64>, Instant) -> f64| {
            words.under_way.iter().map(|run| seconds(run, behind, now)).fold(0.0, f64::max)
        };
        let left = pace * total.saturating_sub(read) as f64 + most(UnderWay::behind_rows);
        Some(left.max(most(|run, _, now| run.told(now))).round() as u64)
    }

    fn snapshot(&self, doing: String) -> Snapshot {
        let total = self.total_bytes.load(Ordering::Relaxed);
        let words = self.words.lock();
        let read_bytes = self.read_by(&words);
        let seconds_left = self.seconds_left(&words, read_bytes, total, Instant::now());
        Snapshot {
            doing,
            read_bytes,
            seconds_left,
            total_bytes: (total > 0).then_some(total),
            rows: self.rows(),
            tables: self.tables.load(Ordering::Relaxed),
        }
    }

    /// Tells `progress` until [`Watch::end`]: the work of a thread of its own.
    pub(crate) fn tell(&self, progress: &dyn Progress) {
        let mut words = self.words.lock();
        loop {
            let (said, doing) = (std::mem::take(&mut words.said), words.doing.clone());
            drop(words);
            said.iter().for_each(|text| progress.say(text));
            let ended = self.ended.load(Ordering::SeqCst);
            if !doing.is_empty() {
                progress.update(&self.snapshot(doing));
            }
            if ended {
                return;
            }
            words = self.changed.wait_timeout(self.words.lock(), INTERVAL);
        }
    }

    /// The replay is over, and whoever [`Watch::tell`]s may go when the result is dropped.
    pub(crate) fn until_dropped(&self) -> Ending<'_> {
        Ending(self)
    }
}

/// Ends the telling when it is dropped, however the replay ends.
pub(crate) struct Ending<'a>(&'a Watch);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let words = self.0.words.lock();
        self.0.ended.store(true, Ordering::SeqCst);
        drop(words);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Ear(Mutex<Vec<String>>);

    impl Progress for Ear {
        fn update(&self, snapshot: &Snapshot) {
            let text = format!("{} rows at {}", snapshot.rows, snapshot.doing);
            self.0.lock().push(text);
        }

        fn say(&self, text: &str) {
            self.0.lock().push(text.to_owned());
        }
    }

    #[test]
    fn the_time_left_is_that_of_the_whole() {
        let watch = Watch::default();
        let run = watch.begin(0);
        let after = |seconds| watch.started + Duration::from_secs(seconds);
        let stage = |stage| load::Snapshot {
            stage,
            rows: 0,
            done_bytes: 0,
            total_bytes: None,
            seconds_left: None,
        };
        let left =
            |read, seconds| watch.seconds_left(&watch.words.lock(), read, 100, after(seconds));
        assert_eq!(left(0, 4), None);
        assert_eq!(left(1, 0), None);
        run.update(&stage(load::Stage::Rows), after(0));
        // As long again for the rest, and four seconds for what comes behind the rows so far.
        assert_eq!(left(50, 4), Some(8));
        run.update(&stage(load::Stage::Indexes), after(8));
        assert_eq!(left(100, 10), Some(6));
        watch.end(&run);
        assert_eq!(left(100, 10), Some(0));
    }

    #[test]
    fn failed_statements_beyond_the_first_are_counted() {
        let watch = Watch::default();
        let fail = |_| watch.fail(&Place::default(), &Error::Refused("no".to_owned()));
        (0..FAILED_MAX + 7).for_each(fail);
        let (failed, more) = watch.take_failed();
        assert_eq!(
            (failed.len(), more, watch.words.lock().said.len()),
            (FAILED_MAX, 7, FAILED_MAX)
        );
    }

    #[test]
    fn files_are_read_while_they_are_loaded() {
        let watch = Watch::default();
        let run = watch.begin(1_000);
        assert_eq!(watch.read_bytes(), 0);
        watch.end(&run);
        assert_eq!(watch.read_bytes(), 1_000);
    }

    #[test]
    fn all_that_was_said_is_told_before_the_end() {
        let (watch, ear) = (Watch::default(), Ear::default());
        std::thread::scope(|scope| {
            let _ending = watch.until_dropped();
            scope.spawn(|| watch.tell(&ear));
            watch.set_doing("t");
            watch.add_rows(3);
            watch.say("word");
        });
        let heard = ear.0.into_inner();
        assert!(heard.contains(&"word".to_owned()), "{heard:?}");
        assert_eq!(heard.last().map(String::as_str), Some("3 rows at t"));
    }
}
