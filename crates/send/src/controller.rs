//! How many connections load at once, and how much each statement holds: found by feedback.
//!
//! ```text
//! connection -> enter: gate (connections), rate, back-off -> Permit -> done: a measured chunk
//!                   ^                                              |
//!                   '-- search, trial: what would be faster? <-----'      observe: the server's pressure
//! ```
//!
//! A connection has a [`Permit`] from before it takes its chunk until the chunk's rows are committed.
//! How long that took beside how many others is all that the controller learns from; nobody tells
//! it what the server is.

mod backoff;
mod rate;
mod sample;
mod search;

#[cfg(test)]
mod simulated;
mod statement;
mod tuner;

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use locks::{Condvar, Mutex};

use crate::pressure::Pressure;
use crate::retry::Cause;
use job::error::Error;
use job::progress::Progress;
use job::settled::Settled;
use server::Interrupt;

use self::tuner::{Begun, Tuner};

/// Longest sleep of a waiting connection before it looks whether the load is to end.
const NAP: Duration = Duration::from_millis(100);

/// Time until it is said again what holds the load back.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// How long a load waits for a replica that applies nothing.
const STANDING_MAX: Duration = Duration::from_secs(3600);

/// The limits of the controller. Fixed values are not searched for.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Most connections: what memory, the server and the user allow; at least 1.
    pub connections_max: usize,
    /// Processors of the server, where they are known: what the search starts from.
    pub server_cores: Option<usize>,
    /// `--connections`: exactly so many.
    pub connections: Option<usize>,
    /// `--batch-rows`: exactly so many rows a statement.
    pub batch_rows: Option<usize>,
    /// Most bytes of a statement: `--batch-bytes`, or what max_allowed_packet allows.
    pub batch_bytes_max: usize,
    /// True if the size of statements matters; else each takes all of a chunk.
    pub tune_batch: bool,
    /// `--max-rate`: bytes of input a second.
    pub rate_bytes: Option<u64>,
    /// `--max-lag`: how far replicas may be behind.
    pub lag_max: Duration,
    /// Bytes of a chunk: what a chunk takes of the rate before its size is known.
    pub chunk_bytes: usize,
}

/// How much one statement holds: it ends before the row that would exceed either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Rows, at least 1.
    pub rows: usize,
    /// Bytes of its text; a longer row goes alone.
    pub bytes: usize,
}

/// Decides who may load, and with what batch.
#[derive(Debug)]
pub(crate) struct Controller {
    began: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    tuner: Tuner,
    closed: bool,
    /// The replica that the load has waited for too long.
    given_up: Option<String>,
}

/// Leave to load one chunk. Dropped without [`Permit::done`], nothing was measured.
#[derive(Debug)]
pub struct Permit<'a> {
    controller: &'a Controller,
    begun: Begun,
}

impl Controller {
    /// Begins in the middle of the known good region, within `limits`.
    pub(crate) fn new(limits: Limits) -> Controller {
        let state = State { tuner: Tuner::new(&limits), closed: false, given_up: None };
        Controller { began: Instant::now(), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits until connection `number` (0, 1, 2, ..) may load a chunk. None when nobody may any
    /// more: the input is at its end ([`Controller::close`]) or the load is to stop.
    ///
    /// The connections with the lowest numbers go first, so the connections of the others need not even
    /// be opened.
    pub(crate) fn enter(&self, number: usize, interrupt: &Interrupt) -> Option<Permit<'_>> {
        let mut state = self.state.lock();
        loop {
            if state.closed || interrupt.is_requested() {
                return None;
            }
            let now = self.began.elapsed();
            let wait = state.tuner.wait(number, now);
            if wait.is_zero() {
                let begun = state.tuner.begin(now);
                return Some(Permit { controller: self, begun });
            }
            state = self.changed.wait_timeout(state, wait.min(NAP));
        }
    }

    /// Lets go all who wait: there is nothing left to load.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Takes note of `samples` until the load is at its end, and tells `progress` what holds it
    /// back. For a thread of its own.
    pub(crate) fn watch(
        &self,
        samples: &Receiver<Pressure>,
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) {
        let mut told: Option<Instant> = None;
        loop {
            for pressure in samples.try_iter() {
                self.observe(&pressure);
            }
            match self.holding() {
                Some(text) if told.is_none_or(|at| at.elapsed() >= TELL_EVERY) => {
                    progress.waiting(&text);
                    told = Some(Instant::now());
                }
                Some(_) => {}
                None => told = None,
            }
            if !self.sleep(NAP, interrupt) {
                return;
            }
        }
    }

    /// Sleeps; false when the load is at its end.
    fn sleep(&self, time: Duration, interrupt: &Interrupt) -> bool {
        let until = Instant::now() + time;
        let mut state = self.state.lock();
        loop {
            if state.closed || interrupt.is_requested() {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = self.changed.wait_timeout(state, left.min(NAP));
        }
    }

    /// Takes note of what the server suffers.
    pub(crate) fn observe(&self, pressure: &Pressure) {
        self.observe_at(pressure, self.began.elapsed());
    }

    /// The same at a time after the begin.
    pub(crate) fn observe_at(&self, pressure: &Pressure, now: Duration) {
        let mut state = self.state.lock();
        state.tuner.observe(pressure, now);
        let standing = state.tuner.standing(now).filter(|(time, _)| *time >= STANDING_MAX);
        if let Some(replica) = standing.map(|(_, words)| words.to_owned())
            && !state.closed
        {
            (state.closed, state.given_up) = (true, Some(replica));
        }
        drop(state);
        self.changed.notify_all();
    }

    /// The load ends early if it has waited too long for a replica that applies nothing.
    ///
    /// Errors: [`Error::StandingReplica`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.state.lock().given_up.clone() {
            None => Ok(()),
            Some(replica) => {
                Err(Error::StandingReplica { replica, seconds: STANDING_MAX.as_secs() })
            }
        }
    }

    /// True while nobody may load.
    pub(crate) fn is_paused(&self) -> bool {
        self.state.lock().tuner.connections() == 0
    }

    /// The reason why the load is held back now, as a sentence; None if it is not.
    pub(crate) fn holding(&self) -> Option<String> {
        self.state.lock().tuner.holding()
    }

    /// The settings for the report.
    pub(crate) fn settled(&self) -> Settled {
        self.state.lock().tuner.settled()
    }
}

impl Permit<'_> {
    /// How much a statement of this chunk holds.
    pub fn batch(&self) -> Batch {
        self.begun.batch
    }

    /// The chunk is committed: `rows` of it, from `bytes` of input.
    pub fn done(self, rows: u64, bytes: u64) {
        let mut state = self.controller.state.lock();
        let now = self.controller.began.elapsed();
        state.tuner.done(&self.begun, rows, bytes, now);
    }

    /// The chunk has to be loaded again because of `cause`; the permit stays valid.
    pub(crate) fn troubled(&self, cause: Cause) {
        let mut state = self.controller.state.lock();
        let now = self.controller.began.elapsed();
        state.tuner.troubled(cause, now);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.controller.state.lock();
        let now = self.controller.began.elapsed();
        state.tuner.leave(now);
        drop(state);
        self.controller.changed.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc::channel;

    use server::replication::lag::{Following, Lag};

    use super::backoff::Backoff;
    use super::*;

    fn limits() -> Limits {
        Limits {
            connections_max: 8,
            server_cores: Some(2),
            connections: None,
            batch_rows: None,
            batch_bytes_max: 1 << 20,
            tune_batch: true,
            rate_bytes: None,
            lag_max: Duration::from_secs(10),
            chunk_bytes: 1 << 20,
        }
    }

    fn lag(following: Following) -> Pressure {
        let lag = Some(Lag { replica: "db2:3306".to_owned(), following });
        Pressure { lag, ..Pressure::default() }
    }

    /// Connection 0 asks once; what it got.
    fn ask<'s>(
        scope: &'s std::thread::Scope<'s, '_>,
        controller: &'s Controller,
        interrupt: &'s Interrupt,
    ) -> Receiver<bool> {
        let (sender, receiver) = channel();
        scope.spawn(move || sender.send(controller.enter(0, interrupt).is_some()));
        receiver
    }

    #[test]
    fn a_pause_ends_when_the_replica_has_come_after_or_nobody_knows() {
        let controller = Controller::new(limits());
        let interrupt = Interrupt::default();
        assert_eq!(controller.holding(), None);
        for (bad, good) in [
            (lag(Following::Stopped), Pressure::default()),
            (lag(Following::Behind(Duration::from_secs(94))), Pressure::default()),
        ] {
            controller.observe(&bad);
            let text = controller.holding().unwrap();
            assert!(
                text.starts_with("loading is paused because of replica lag (db2:3306 "),
                "{text}"
            );
            std::thread::scope(|scope| {
                let got = ask(scope, &controller, &interrupt);
                assert!(got.recv_timeout(Duration::from_millis(50)).is_err(), "it has to wait");
                // A change has a second to show its effect.
                std::thread::sleep(CALM_AND_MORE);
                controller.observe(&good);
                assert!(got.recv_timeout(Duration::from_secs(5)).unwrap());
            });
        }
        let held = controller.settled().held_back;
        assert_eq!((held.len(), held[0].cause, held[0].times), (1, "replica lag", 2));
        assert!(held[0].paused_seconds >= 2.0, "{held:?}");
    }

    const CALM_AND_MORE: Duration = Duration::from_millis(1050);

    #[test]
    fn a_load_that_waits_too_long_for_a_replica_ends() {
        let (controller, interrupt) = (Controller::new(limits()), Interrupt::default());
        let at = |following, seconds| {
            controller.observe_at(&lag(following), Duration::from_secs(seconds));
            controller.check().err().map(|error| error.to_string())
        };
        assert_eq!(at(Following::Stopped, 5), None);
        // A replica that is behind, but follows, is waited for.
        assert_eq!(at(Following::Behind(Duration::from_secs(90_000)), 3_000), None);
        assert_eq!(at(Following::Unreachable, 90_000), None);
        assert_eq!(at(Following::Stopped, 93_599), None);
        let error = at(Following::Stopped, 93_600).unwrap();
        assert!(
            error.starts_with("the replica db2:3306 has stopped replicating, and the load waited"),
            "{error}"
        );
        assert!(controller.enter(0, &interrupt).is_none());
    }

    #[test]
    fn the_end_of_the_load_and_a_wish_to_stop_let_go_who_waits() {
        for wish in [false, true] {
            let controller = Controller::new(limits());
            let interrupt = Interrupt::default();
            controller.observe(&lag(Following::Unreachable));
            std::thread::scope(|scope| {
                let got = ask(scope, &controller, &interrupt);
                assert!(got.recv_timeout(Duration::from_millis(50)).is_err());
                if wish {
                    interrupt.request("SIGINT")
                } else {
                    controller.close()
                }
                assert!(!got.recv_timeout(Duration::from_secs(5)).unwrap());
            });
        }
    }

    #[test]
    fn the_connections_with_the_lowest_numbers_load() {
        let controller = Controller::new(Limits { connections: Some(2), ..limits() });
        let interrupt = Interrupt::default();
        std::thread::scope(|scope| {
            let third = scope.spawn(|| controller.enter(2, &interrupt).is_some());
            let permits = [controller.enter(0, &interrupt), controller.enter(1, &interrupt)];
            assert!(permits.iter().all(Option::is_some));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!third.is_finished());
            drop(permits);
            controller.close();
            assert!(!third.join().unwrap());
        });
        assert_eq!(controller.settled().connections_max, 2);
    }

    #[test]
    fn each_trouble_has_its_name_and_passes() {
        for (cause, name) in [
            (Cause::Deadlock, "deadlocks"),
            (Cause::LockWait, "lock waits"),
            (Cause::Lost, "lost connections"),
            (Cause::Refused, "refused connections or statements"),
        ] {
            let mut backoff = Backoff::new(Duration::from_secs(10));
            backoff.troubled(cause, 8, Duration::from_secs(1));
            let expected = format!("only 5 connections load because of {name}");
            assert_eq!(backoff.holding(), Some(expected));
            for seconds in 2..10 {
                backoff.done(8, Duration::from_secs(seconds));
            }
            assert_eq!(backoff.holding(), None);
        }
    }

    #[test]
    fn a_permit_says_the_batch_and_counts_what_was_loaded() {
        let controller = Controller::new(Limits { batch_rows: Some(50), ..limits() });
        let permit = controller.enter(0, &Interrupt::default()).unwrap();
        assert_eq!(permit.batch(), Batch { rows: 50, bytes: 1 << 20 });
        permit.troubled(Cause::Deadlock);
        permit.done(1000, 200_000);
        let settled = controller.settled();
        assert_eq!((settled.batch_rows, settled.batch_bytes), (Some(50), Some(10_000)));
        assert_eq!((settled.held_back[0].cause, settled.held_back[0].times), ("deadlocks", 1));
        let whole = Controller::new(Limits { tune_batch: false, ..limits() });
        let permit = whole.enter(0, &Interrupt::default()).unwrap();
        assert_eq!((permit.batch().rows, whole.settled().batch_rows), (usize::MAX, None));
    }
}
