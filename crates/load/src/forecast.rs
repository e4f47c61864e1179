//! How long the whole load still takes, told with every snapshot.
//!
//! ```text
//! stage     rows      indexes   verify   import
//! expected  |---------|------|--|----|--|---------|    by the estimate, from speeds of loads before
//! taken     |------------|--x                          finished stages, and the running one up to x
//! pace      taken / expected, of all up to x: what is left is expected to go on at this pace
//! ```

use std::time::Instant;

use job::progress::{Progress, Snapshot, Stage};
use locks::Mutex;

/// Seconds for which a pace of 1 is believed: the first moments of a load tell nothing.
const BELIEF_SECONDS: f64 = 0.5;
/// Part of a stage behind which its own speed alone says how long it still takes.
const OWN_SPEED_FROM: f64 = 0.5;

/// The expected time of a stage, in seconds.
pub(crate) type Expected = (Stage, f64);

/// Passes on what is told, with the time that is left, as soon as it is known what to expect.
pub(crate) struct Forecast<'a> {
    progress: &'a dyn Progress,
    state: Mutex<State>,
}

/// Where the load is.
#[derive(Debug, Default)]
struct State {
    /// In order; none as long as nothing is known.
    expected: Vec<Expected>,
    /// Seconds that finished stages took, and were expected to.
    finished: (f64, f64),
    running: Option<Running>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    stage: Stage,
    since: Instant,
    /// How much of it is done, from 0 to 1, where that is told.
    part: Option<f64>,
}

impl<'a> Forecast<'a> {
    /// Tells `progress`.
    pub(crate) fn new(progress: &'a dyn Progress) -> Forecast<'a> {
        Forecast { progress, state: Mutex::default() }
    }

    /// From now on it is known what the stages are expected to take.
    pub(crate) fn expect(&self, expected: Vec<Expected>) {
        let mut state = self.state.lock();
        state.finished = (0.0, 0.0);
        state.expected = expected;
    }
}

impl Progress for Forecast<'_> {
    fn update(&self, snapshot: Snapshot) {
        let seconds_left = self.state.lock().note(&snapshot, Instant::now());
        self.progress.update(Snapshot { seconds_left, ..snapshot });
    }

    fn table(&self, name: &str, number: usize, of: usize) {
        self.progress.table(name, number, of);
    }

    fn waiting(&self, text: &str) {
        self.progress.waiting(text);
    }

    fn note(&self, text: &str) {
        self.progress.note(text);
    }
}

impl State {
    /// Seconds that the load takes from `now` on, if that can be told.
    fn note(&mut self, snapshot: &Snapshot, now: Instant) -> Option<f64> {
        let total = snapshot.total_bytes.filter(|&bytes| bytes > 0);
        let part = total.map(|total| (snapshot.done_bytes as f64 / total as f64).min(1.0));
        let running = match self.running {
            Some(running) if running.stage == snapshot.stage && !is_anew(running.part, part) => {
                let most = |part: f64| part.max(running.part.unwrap_or(0.0));
                Running { part: part.map(most), ..running }
            }
            before => {
                if let Some(before) = before {
                    self.finish(before, now);
                }
                Running { stage: snapshot.stage, since: now, part }
            }
        };
        self.running = Some(running);
        (!self.expected.is_empty()).then(|| self.left(running, now))
    }

    fn finish(&mut self, ended: Running, now: Instant) {
        let expected = self.expected_of(ended.stage);
        // What nobody expected says nothing about what was.
        if expected > 0.0 {
            self.finished.0 += (now - ended.since).as_secs_f64();
            self.finished.1 += expected * ended.part.unwrap_or(1.0);
        }
    }

    fn left(&self, running: Running, now: Instant) -> f64 {
        let expected = self.expected_of(running.stage);
        let taken = (now - running.since).as_secs_f64();
        let (mut all, mut all_expected) = self.finished;
        if let (Some(part), true) = (running.part, expected > 0.0) {
            all += taken;
            all_expected += expected * part;
        }
        let pace = (all + BELIEF_SECONDS) / (all_expected + BELIEF_SECONDS);
        let own = match running.part {
            Some(part) if part > 0.0 => {
                let by_own_speed = taken / part * (1.0 - part);
                let weight = if expected > 0.0 { (part / OWN_SPEED_FROM).min(1.0) } else { 1.0 };
                by_own_speed * weight + expected * (1.0 - part) * pace * (1.0 - weight)
            }
            _ => (expected * pace - taken).max(0.0),
        };
        own + pace * self.expected_after(running.stage)
    }

    fn expected_of(&self, stage: Stage) -> f64 {
        self.expected.iter().filter(|(of, _)| *of == stage).map(|(_, seconds)| seconds).sum()
    }

    /// Expected time of all stages after one. After a search for rows that share keys, all begins
    /// again.
    fn expected_after(&self, stage: Stage) -> f64 {
        let from = if stage == Stage::Duplicates { Stage::Staging } else { stage };
        self.expected.iter().filter(|(of, _)| *of > from).map(|(_, seconds)| seconds).sum()
    }
}

/// True if a stage begins again, for instance when the input is read a second time. Reports of
/// several threads come in no order.
fn is_anew(before: Option<f64>, part: Option<f64>) -> bool {
    match (before, part) {
        (Some(before), Some(part)) => part < 0.5 * before,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    const EXPECTED: [Expected; 4] =
        [(Stage::Rows, 10.0), (Stage::Indexes, 4.0), (Stage::Verify, 2.0), (Stage::Import, 4.0)];

    /// A load whose stages take so many times what was expected, told every tenth of a second: what
    /// was said to be left, and what was.
    fn told(pace: f64) -> Vec<(Stage, f64, f64)> {
        let mut state = State { expected: EXPECTED.to_vec(), ..State::default() };
        let (begun, mut at, mut said) = (Instant::now(), 0.0, Vec::new());
        let total: f64 = EXPECTED.iter().map(|(_, seconds)| seconds * pace).sum();
        for (stage, seconds) in EXPECTED {
            let steps = (seconds * pace * 10.0) as u64;
            for step in 0..steps {
                let total_bytes = (stage != Stage::Import).then_some(1000 * steps);
                let done_bytes = total_bytes.map_or(0, |_| 1000 * step);
                let snapshot =
                    Snapshot { stage, rows: 0, done_bytes, total_bytes, seconds_left: None };
                let now = begun + Duration::from_secs_f64(at);
                said.push((stage, state.note(&snapshot, now).unwrap(), total - at));
                at += 0.1;
            }
        }
        said
    }

    #[test]
    fn what_is_left_is_that_of_the_whole_load_from_its_beginning() {
        let said = told(1.0);
        assert_eq!(said.len(), 200);
        for (stage, said, left) in said {
            assert!((said - left).abs() < 0.2, "{stage:?}: {said} of {left}");
        }
    }

    /// Half way through the first stage the others are known to take as much longer.
    #[test]
    fn what_is_left_is_corrected_by_what_was_taken() {
        for pace in [0.4, 3.0] {
            let said = told(pace);
            let half = said.len() / 4;
            for (stage, said, left) in &said[half..] {
                assert!(
                    (said - left).abs() < 0.15 * left + 0.5,
                    "{pace}: {stage:?}: {said}, {left}"
                );
            }
        }
    }

    #[test]
    fn no_stage_begins_the_time_anew() {
        for pace in [0.4, 1.0, 3.0] {
            for pair in told(pace).windows(2).filter(|pair| pair[0].0 != pair[1].0) {
                let (before, after) = (pair[0].1, pair[1].1);
                assert!((before - after).abs() < 0.1 * before + 0.5, "{pace}: {pair:?}");
            }
        }
    }

    #[test]
    fn nothing_is_said_of_a_load_that_nothing_is_known_of() {
        let snapshot = Snapshot {
            stage: Stage::Rows,
            rows: 0,
            done_bytes: 5,
            total_bytes: Some(10),
            seconds_left: None,
        };
        assert_eq!(State::default().note(&snapshot, Instant::now()), None);
    }

    /// Rows that come out of order are read once more.
    #[test]
    fn input_that_is_read_again_takes_its_time_again() {
        let mut state = State { expected: EXPECTED.to_vec(), ..State::default() };
        let begun = Instant::now();
        let mut note = |done_bytes: u64, at: f64| {
            let (stage, total_bytes) = (Stage::Rows, Some(1000));
            let snapshot = Snapshot { stage, rows: 0, done_bytes, total_bytes, seconds_left: None };
            state.note(&snapshot, begun + Duration::from_secs_f64(at)).unwrap()
        };
        note(0, 0.0);
        assert!((note(900, 9.0) - 11.0).abs() < 0.2);
        assert!((note(0, 9.1) - 20.0).abs() < 0.5);
        assert!((note(500, 14.1) - 15.0).abs() < 0.5);
    }
}
