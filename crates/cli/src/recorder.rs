//! The course of a load, for its report: stages, bytes and memory over time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use load::{Progress, Snapshot, Stage};
use locks::Mutex;

/// Milliseconds between two samples at first.
const INTERVAL_MS: u64 = 50;
/// Samples that are kept; with more every second one goes, and the interval doubles.
const SAMPLES_MAX: usize = 1_000;
/// Bytes of a page of this machine's memory, as `/proc` counts.
const MEMORY_PAGE: u64 = 4_096;

/// Passes on what is told, and remembers it.
pub(crate) struct Recorder<'a> {
    watcher: Box<dyn Progress + 'a>,
    started: Instant,
    /// Milliseconds from the start at which the next sample is due.
    due_ms: AtomicU64,
    course: Mutex<Course>,
}

/// One moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Seconds from the start.
    pub(crate) seconds: f64,
    pub(crate) stage: Stage,
    /// Bytes of this stage's work done.
    pub(crate) done_bytes: u64,
    /// Resident memory of the program.
    pub(crate) memory_bytes: u64,
}

/// The recorded course.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    pub(crate) samples: Vec<Sample>,
    /// Stages, and the seconds from the start at which they were entered.
    pub(crate) stages: Vec<(Stage, f64)>,
    /// From the start to the end.
    pub(crate) seconds: f64,
    interval_ms: u64,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(watcher: Box<dyn Progress + 'a>) -> Recorder<'a> {
        let course = Course { interval_ms: INTERVAL_MS, ..Course::default() };
        Recorder {
            watcher,
            started: Instant::now(),
            due_ms: AtomicU64::new(0),
            course: Mutex::new(course),
        }
    }

    /// All that was seen until now.
    pub(crate) fn course(&self) -> Course {
        let mut course = self.course.lock().clone();
        course.seconds = self.started.elapsed().as_secs_f64();
        course
    }
}

impl Course {
    fn take(&mut self, seconds: f64, snapshot: Snapshot, memory_bytes: u64) {
        let Snapshot { stage, done_bytes, .. } = snapshot;
        if self.stages.last().is_none_or(|(last, _)| *last != stage) {
            self.stages.push((stage, seconds));
        }
        self.samples.push(Sample { seconds, stage, done_bytes, memory_bytes });
        if self.samples.len() > SAMPLES_MAX {
            let mut number = 0;
            self.samples.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.interval_ms *= 2;
        }
    }
}

impl Progress for Recorder<'_> {
    fn update(&self, snapshot: Snapshot) {
        self.watcher.update(snapshot);
        let now = self.started.elapsed();
        let is_new_stage = snapshot.done_bytes == 0 && snapshot.rows == 0;
        // Called for every chunk, by every thread: most look at the time and go on.
        if !is_new_stage && (now.as_millis() as u64) < self.due_ms.load(Ordering::Relaxed) {
            return;
        }
        let mut course = self.course.lock();
        course.take(now.as_secs_f64(), snapshot, memory_bytes());
        self.due_ms.store(now.as_millis() as u64 + course.interval_ms, Ordering::Relaxed);
    }

    fn table(&self, name: &str, number: usize, of: usize) {
        self.watcher.table(name, number, of);
    }

    fn waiting(&self, text: &str) {
        self.watcher.waiting(text);
    }

    fn note(&self, text: &str) {
        self.watcher.note(text);
    }
}

/// Resident memory of this process now; 0 where the kernel does not say.
fn memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.map_or(0, |pages| pages * MEMORY_PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_is_remembered_in_few_samples() {
        let mut course = Course { interval_ms: INTERVAL_MS, ..Course::default() };
        for number in 0..10_000u64 {
            let stage = if number < 6_000 { Stage::Rows } else { Stage::Import };
            let (done_bytes, total_bytes) = (number, None);
            let rows = number;
            let snapshot = Snapshot { stage, rows, done_bytes, total_bytes, seconds_left: None };
            course.take(number as f64, snapshot, 1);
        }
        assert!(course.samples.len() <= SAMPLES_MAX, "{}", course.samples.len());
        assert!(course.samples.windows(2).all(|pair| pair[0].seconds < pair[1].seconds));
        assert_eq!(course.stages, [(Stage::Rows, 0.0), (Stage::Import, 6_000.0)]);
        assert!(memory_bytes() > 100_000);
    }
}
