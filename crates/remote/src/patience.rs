//! How often, and after which time, a server is asked again.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use disk::failpoint;
use locks::Mutex;

/// Requests in a row that give no byte, at least.
const TRIES_MIN: u32 = 5;
/// How long a server is asked again that gave bytes before.
const TIME_MAX: Duration = Duration::from_secs(60);
/// The wait before the second request; it doubles up to the longest one.
const WAIT: Duration = Duration::from_millis(200);
const OWN_WAIT_MAX: Duration = Duration::from_secs(5);
/// The longest wait that a server may ask for.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How often somebody who waits looks whether to stop.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Why a request did not give what was asked for.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Another try may succeed, after the time that the server names.
    Again(String, Option<Duration>),
    /// No other try will.
    Final(String),
}

/// The flags that ask for the end.
#[derive(Debug, Default)]
pub(crate) struct Stops(Mutex<Vec<Weak<AtomicBool>>>);

/// The tries of one transfer.
pub(crate) struct Patience<'a> {
    stops: &'a Stops,
    time_max: Duration,
    /// Requests in a row that gave no byte, and when the first of them failed.
    fruitless: u32,
    since: Instant,
}

impl Stops {
    pub(crate) fn watch(&self, stop: &Arc<AtomicBool>) {
        let mut flags = self.0.lock();
        flags.retain(|flag| flag.strong_count() > 0);
        if !flags.iter().any(|flag| flag.as_ptr() == Arc::as_ptr(stop)) {
            flags.push(Arc::downgrade(stop));
        }
    }

    /// Errors, of kind Interrupted: the end was asked for.
    pub(crate) fn check(&self) -> io::Result<()> {
        let flags = self.0.lock();
        let is_set = |flag: &Weak<AtomicBool>| {
            flag.upgrade().is_some_and(|flag| flag.load(Ordering::Relaxed))
        };
        match flags.iter().any(is_set) {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }
}

impl<'a> Patience<'a> {
    /// With a server that a load or an export depends on.
    pub(crate) fn new(stops: &'a Stops) -> Patience<'a> {
        let time_max = failpoint::reconnect_wait(TIME_MAX);
        Patience { time_max, ..Patience::short(stops) }
    }

    /// With a server that may never have been there: the name of its host may be wrong.
    pub(crate) fn short(stops: &'a Stops) -> Patience<'a> {
        Patience { stops, time_max: Duration::ZERO, fruitless: 0, since: Instant::now() }
    }

    /// Errors, of kind Interrupted: the end was asked for.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.stops.check()
    }

    /// Waits before the next try, which comes at once after one that gave some bytes.
    ///
    /// Errors: no more tries; the end was asked for.
    pub(crate) fn wait(&mut self, fault: Fault, gave_bytes: bool) -> io::Result<()> {
        let (why, after) = match fault {
            Fault::Final(why) => return Err(io::Error::other(why)),
            Fault::Again(why, after) => (why, after),
        };
        if self.fruitless == 0 {
            self.since = Instant::now();
        }
        self.fruitless = if gave_bytes { 0 } else { self.fruitless + 1 };
        let time = self.since.elapsed();
        if self.fruitless >= TRIES_MIN && time >= self.time_max {
            let (tries, seconds) = (self.fruitless, time.as_secs());
            return Err(io::Error::other(format!(
                "{why} ({tries} tries in a row, for {seconds} seconds)"
            )));
        }
        if let Some(after) = after.filter(|after| *after > WAIT_MAX) {
            let seconds = after.as_secs();
            return Err(io::Error::other(format!("{why}, and asks to wait {seconds} seconds")));
        }
        let until = Instant::now() + own_wait(self.fruitless).max(after.unwrap_or_default());
        loop {
            self.stops.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK_INTERVAL));
        }
    }
}

/// The wait behind so many requests in a row that gave no byte.
fn own_wait(fruitless: u32) -> Duration {
    match fruitless.checked_sub(1) {
        Some(doublings) => (WAIT * (1 << doublings.min(10))).min(OWN_WAIT_MAX),
        None => Duration::ZERO,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn again(after: Option<Duration>) -> Fault {
        Fault::Again("no".to_owned(), after)
    }

    #[test]
    fn waits_grow_to_some_seconds() {
        let millis: Vec<u128> = (0..9).map(|tries| own_wait(tries).as_millis()).collect();
        assert_eq!(millis, [0, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        assert_eq!(own_wait(1000), OWN_WAIT_MAX);
    }

    /// A server that was away for three seconds ended loads of hours.
    #[test]
    fn patience_ends_by_time_and_not_by_tries() {
        let stops = Stops::default();
        let mut patience = Patience::new(&stops);
        patience.fruitless = 20;
        patience.since = Instant::now() - TIME_MAX + Duration::from_secs(7);
        patience.wait(again(None), false).unwrap();
        patience.since -= Duration::from_secs(7);
        let error = patience.wait(again(None), false).unwrap_err().to_string();
        assert!(error.contains("no (22 tries in a row, for 6"), "{error}");
        // Bytes begin it anew, and slow requests are tried as often as fast ones.
        patience.wait(again(None), true).unwrap();
        assert_eq!(patience.fruitless, 0);
        patience.wait(again(None), false).unwrap();
        patience.since -= TIME_MAX;
        patience.wait(again(None), false).unwrap();
        let mut short = Patience::short(&stops);
        short.fruitless = TRIES_MIN - 1;
        assert!(short.wait(again(None), false).is_err());
    }

    #[test]
    fn an_interrupt_ends_a_wait() {
        let (stops, stop) = (Stops::default(), Arc::new(AtomicBool::new(false)));
        stops.watch(&stop);
        let begin = Instant::now();
        let error = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Patience::new(&stops).wait(again(Some(WAIT_MAX)), false));
            std::thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
            waiting.join().unwrap().unwrap_err()
        });
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    }
}
