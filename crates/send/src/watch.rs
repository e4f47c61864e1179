//! The thread that looks at the server and its replicas while connections load.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, ScopedJoinHandle};
use std::time::{Duration, Instant};

use locks::Mutex;

use crate::pressure::{Gauge, Pressure};
use encode::prepared::Prepared;
use job::error::Error;
use job::failpoint;
use job::progress::Progress;
use server::replicas::{self, Replica};
use server::{ConnectOptions, Interrupt, Session};

use crate::controller::{Controller, Limits};

/// Time between two looks at the server.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Input whose rows are in within a moment.
const MOMENT_BYTES_MAX: u64 = 1 << 14;

/// Time between two looks whether the load is to stop.
const NAP: Duration = Duration::from_millis(100);

/// How long the end of a load waits for an answer that nobody needs any more.
const END_WAIT: Duration = Duration::from_secs(2);

/// The watched state, and the messages about it.
#[derive(Debug)]
pub struct Watch {
    /// None once it is at work, and where nothing is looked at.
    gauge: Option<Gauge>,
    /// Replicas that nobody waits for, a sentence each.
    pub(crate) notes: Vec<String>,
}

impl Watch {
    /// The server that `session` is connected to, its replicas that it knows, and those named. An input of few
    /// `bytes` is in before there is anything to hold back, but for replicas that are named.
    ///
    /// Errors: a named one does not answer, or is no replica.
    pub(crate) fn begin(
        prepared: &Prepared<'_>,
        connect: &ConnectOptions,
        session: &mut Session,
        bytes: Option<u64>,
    ) -> Result<Watch, Error> {
        let asked = &prepared.options.server.replicas;
        let is_moment = bytes.is_some_and(|bytes| bytes <= MOMENT_BYTES_MAX);
        if is_moment && asked.named.is_empty() {
            return Ok(Watch::of_nobody());
        }
        let mut notes = Vec::new();
        let mut all = Vec::new();
        if asked.lag_max.is_some() {
            for address in &asked.named {
                all.push(Replica::named(address, connect)?);
            }
            let found = replicas::find(session, &all, &mut notes);
            let is_named = |replica: &Replica| all.iter().any(|named| named.is_same(replica));
            let others: Vec<Replica> = found.into_iter().filter(|r| !is_named(r)).collect();
            all.extend(others);
        }
        let gauge = (!is_moment || !all.is_empty()).then(|| Gauge::new(connect, all));
        Ok(Watch { gauge, notes })
    }

    /// The server that `connect` leads to, and no replicas.
    pub fn of_server(connect: &ConnectOptions) -> Watch {
        Watch { gauge: Some(Gauge::new(connect, Vec::new())), notes: Vec::new() }
    }

    /// Nothing is looked at.
    pub(crate) fn of_nobody() -> Watch {
        Watch { gauge: None, notes: Vec::new() }
    }

    /// Waits until replicas follow, and looks at nothing any more: for a transaction, whose locks keep others
    /// waiting until its end.
    ///
    /// Errors: the load is to stop; [`Error::StandingReplica`].
    pub(crate) fn wait_for_replicas(
        &mut self,
        limits: &Limits,
        interrupt: &Interrupt,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let Some(eyes) = self.gauge.take().and_then(Eyes::open) else { return Ok(()) };
        let controller = Controller::new(limits.clone());
        let samples = eyes.samples.lock();
        let mut told = None;
        loop {
            interrupt.check()?;
            match samples.recv_timeout(NAP) {
                Ok(pressure) => controller.observe(&pressure),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            controller.check()?;
            if !controller.is_paused() {
                return Ok(());
            }
            let reason = controller.holding().filter(|reason| told.as_ref() != Some(reason));
            if let Some(reason) = reason {
                progress.waiting(&reason);
                told = Some(reason);
            }
        }
    }

    /// Runs `load` with the server watched on behalf of `controller`, which is closed afterwards.
    pub(crate) fn during<T>(
        &mut self,
        controller: &Controller,
        interrupt: &Interrupt,
        progress: &dyn Progress,
        load: impl FnOnce() -> T,
    ) -> T {
        let eyes = self.gauge.take().and_then(Eyes::open);
        std::thread::scope(|scope| {
            let watching = eyes.as_ref().map(|eyes| {
                let samples = &eyes.samples;
                scope.spawn(|| {
                    failpoint::hit("thread.controller");
                    // A receiver cannot be shared between threads, a lock around it can.
                    let samples = samples.lock();
                    controller.watch(&samples, interrupt, progress);
                })
            });
            let done = load();
            controller.close();
            // Without it the load is slower, and as good.
            let _ = watching.map(ScopedJoinHandle::join);
            done
        })
    }
}

/// The thread that asks. Nobody waits for it longer than [`END_WAIT`]: a server that is cut off
/// answers when the connection times out, and a replica when its `STOP SLAVE` is through.
struct Eyes {
    samples: Mutex<Receiver<Pressure>>,
    /// Dropped, it ends the thread.
    stop: Option<Sender<()>>,
    thread: JoinHandle<()>,
}

impl Eyes {
    fn open(mut gauge: Gauge) -> Option<Eyes> {
        let (stop, stopped) = channel::<()>();
        let (sender, samples) = channel();
        let asking = move || {
            failpoint::hit("thread.gauge");
            loop {
                if sender.send(gauge.sample()).is_err()
                    || stopped.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout)
                {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("gauge".to_owned()).spawn(asking).ok()?;
        Some(Eyes { samples: Mutex::new(samples), stop: Some(stop), thread })
    }
}

impl Drop for Eyes {
    fn drop(&mut self) {
        self.stop = None;
        let begun = Instant::now();
        while !self.thread.is_finished() && begun.elapsed() < END_WAIT {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
