//! Connections at work, whatever it is that they send.
//!
//! ```text
//! controller --permit--> connection: takes a chunk, sends it, has it committed --done--> controller
//! ```
//!
//! A connection is a thread with a connection. It waits for the controller's leave, takes the next chunk
//! of what all connections share, and gives the leave back when the chunk's rows are in. The first connection
//! that fails, by an error or a panic, stops the others, and its reason is the one that counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use job::error::Error;
use job::failpoint;
use job::pool;
use job::progress::Progress;
use job::settled::Settled;
use job::stop::Reason;
use server::Interrupt;

use crate::controller::{Controller, Limits, Permit};
use crate::retry::Cause;
use crate::watch::Watch;

/// One connection at work. It need not be open before the first permit: the controller may have no
/// use for so many.
pub trait ConnectionWork {
    /// Why it stops early.
    type Stop: Reason;

    /// Sends the next chunk; false at the end of the input.
    fn take(&mut self, permit: Permit<'_>) -> Result<bool, Self::Stop>;

    /// Hands back what it has, after the last chunk or a failure of any connection.
    fn end(self);
}

/// The common parts of connections.
#[derive(Debug)]
pub struct ConnectionSet<'a> {
    interrupt: &'a Interrupt,
    controller: Controller,
    count: usize,
    given_up: Arc<AtomicBool>,
    next: AtomicUsize,
    tries_failed: AtomicUsize,
    stop: AtomicBool,
}

impl<'a> ConnectionSet<'a> {
    /// As many as `limits` allow. `given_up` is the source's: set when nobody wants more of it.
    pub fn new(
        limits: Limits,
        given_up: Arc<AtomicBool>,
        interrupt: &'a Interrupt,
    ) -> ConnectionSet<'a> {
        ConnectionSet {
            interrupt,
            count: limits.connections.unwrap_or(limits.connections_max).max(1),
            controller: Controller::new(limits),
            given_up,
            next: AtomicUsize::new(0),
            tries_failed: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// Runs connections that `open` makes to the end of the input, while `watch` looks at the server. The
    /// first failure has `close` called, which must wake and turn away all who wait.
    pub fn run<L: ConnectionWork>(
        &self,
        watch: &mut Watch,
        progress: &dyn Progress,
        open: impl Fn() -> L + Sync,
        close: impl Fn() + Sync,
    ) -> Result<(), L::Stop> {
        let close = || {
            self.stop.store(true, Ordering::SeqCst);
            self.given_up.store(true, Ordering::SeqCst);
            self.controller.close();
            close();
        };
        watch.during(&self.controller, self.interrupt, progress, || {
            pool::run_growing(self.count, |next| self.work(open(), next), close)
        })
    }

    /// Runs one connection to the end of the input, or to the first failure of any. Has the `next` begin once it may
    /// send itself: connections with lower numbers go first.
    fn work<L: ConnectionWork>(&self, mut connection: L, next: &dyn Fn()) -> Result<(), L::Stop> {
        failpoint::hit("thread.connection");
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let ended = loop {
            let Some(permit) = self.controller.enter(number, self.interrupt) else { break Ok(()) };
            next();
            match connection.take(permit) {
                Ok(true) => {}
                Ok(false) => {
                    self.controller.close();
                    break Ok(());
                }
                // The reason of the connection that stopped first is the one that counts.
                Err(_) if self.is_stopped() => break Err(L::Stop::ABANDONED),
                Err(stop) => break Err(stop),
            }
        };
        connection.end();
        ended?;
        self.interrupt.check().map_err(Error::from)?;
        self.controller.check()?;
        if self.is_stopped() { Err(L::Stop::ABANDONED) } else { Ok(()) }
    }

    /// True if no connection is to begin a chunk any more.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// A connection's chunk has to be sent again because of `cause`.
    ///
    /// Errors: there is no need to any more.
    pub fn again(&self, permit: &Permit<'_>, cause: Cause) -> Result<(), Error> {
        self.tries_failed.fetch_add(1, Ordering::Relaxed);
        permit.troubled(cause);
        if self.is_stopped() {
            return Err(server::Error::Interrupted.into());
        }
        Ok(())
    }

    /// Chunks that were sent again.
    pub(crate) fn tries_failed(&self) -> usize {
        self.tries_failed.load(Ordering::Relaxed)
    }

    /// The controller's settings.
    pub fn settled(&self) -> Settled {
        self.controller.settled()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use job::stop::Stop;
    use server::replication::lag::{Following, Lag};

    use super::*;
    use crate::pressure::Pressure;

    /// A connection that has nothing to send.
    struct Idle;

    impl ConnectionWork for Idle {
        type Stop = Stop;

        fn take(&mut self, _: Permit<'_>) -> Result<bool, Stop> {
            Ok(false)
        }

        fn end(self) {}
    }

    #[test]
    fn a_replica_that_stands_still_too_long_is_the_error_of_the_load() {
        let limits = Limits {
            connections_max: 2,
            server_cores: None,
            connections: None,
            batch_rows: None,
            batch_bytes_max: 1,
            tune_batch: false,
            rate_bytes: None,
            lag_max: Duration::from_secs(1),
            chunk_bytes: 1,
        };
        let interrupt = Interrupt::default();
        for is_stopped in [false, true] {
            let given_up = Arc::new(AtomicBool::new(false));
            let set = ConnectionSet::new(limits.clone(), given_up, &interrupt);
            if is_stopped {
                let (replica, following) = ("db2".to_owned(), Following::Stopped);
                let lag = Some(Lag { replica, following });
                let pressure = Pressure { lag, ..Pressure::default() };
                set.controller.observe_at(&pressure, Duration::ZERO);
                set.controller.observe_at(&pressure, Duration::from_secs(86_400));
            }
            let run = set.run(&mut Watch::of_nobody(), &(), || Idle, || {});
            let error = run.err().map(|stop| stop.into_error("it").to_string());
            assert_eq!(error.is_some(), is_stopped);
            let is_named = |text: String| text.starts_with("the replica db2 has stopped");
            assert!(error.is_none_or(is_named));
        }
    }
}
