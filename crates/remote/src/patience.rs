//! How often, and after which time, a server is asked again.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Requests in a row that gave no byte.
const TRIES_MAX: u32 = 5;
/// The wait before the second one; it doubles.
const WAIT: Duration = Duration::from_millis(200);
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
    fruitless: u32,
}

impl Stops {
    pub(crate) fn watch(&self, stop: &Arc<AtomicBool>) {
        let mut flags = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        flags.retain(|flag| flag.strong_count() > 0);
        if !flags.iter().any(|flag| flag.as_ptr() == Arc::as_ptr(stop)) {
            flags.push(Arc::downgrade(stop));
        }
    }

    /// Errors, of kind Interrupted: the end was asked for.
    pub(crate) fn check(&self) -> io::Result<()> {
        let flags = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
    pub(crate) fn new(stops: &'a Stops) -> Patience<'a> {
        Patience { stops, fruitless: 0 }
    }

    /// Waits before the next try, which comes at once after one that gave some bytes.
    ///
    /// Errors: no more tries; the end was asked for.
    pub(crate) fn wait(&mut self, fault: Fault, gave_bytes: bool) -> io::Result<()> {
        let (why, after) = match fault {
            Fault::Final(why) => return Err(io::Error::other(why)),
            Fault::Again(why, after) => (why, after),
        };
        self.fruitless = if gave_bytes { 0 } else { self.fruitless + 1 };
        if self.fruitless >= TRIES_MAX {
            return Err(io::Error::other(format!("{why} ({TRIES_MAX} tries in a row)")));
        }
        if let Some(after) = after.filter(|after| *after > WAIT_MAX) {
            let seconds = after.as_secs();
            return Err(io::Error::other(format!("{why}, and asks to wait {seconds} seconds")));
        }
        let own = WAIT * (1 << self.fruitless) / 2;
        let wait = if self.fruitless == 0 { Duration::ZERO } else { own };
        let until = Instant::now() + wait.max(after.unwrap_or_default());
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
