//! The thread that looks at the server and its replicas while lanes load.

use server::pressure::Gauge;
use server::replicas::{self, Replica};
use server::{ConnectOptions, Session};

use crate::controller::Controller;
use crate::error::Error;
use crate::job::Job;

/// What is looked at, and what has to be said of it.
#[derive(Debug)]
pub(crate) struct Watch {
    gauge: Gauge,
    /// Replicas that nobody waits for, a sentence each.
    pub(crate) notes: Vec<String>,
}

impl Watch {
    /// The server that `session` is connected to, its replicas that it knows, and those named.
    ///
    /// Errors: a named one does not answer, or is no replica.
    pub(crate) fn begin(
        job: &Job<'_>,
        connect: &ConnectOptions,
        session: &mut Session,
    ) -> Result<Watch, Error> {
        let asked = &job.options.replicas;
        let mut notes = Vec::new();
        let mut all = Vec::new();
        if asked.lag_max.is_some() {
            for address in &asked.named {
                all.push(Replica::named(address, connect)?);
            }
            let found = replicas::find(session, &mut notes);
            let is_named = |replica: &Replica| all.iter().any(|named| named.is_same(replica));
            let others: Vec<Replica> = found.into_iter().filter(|r| !is_named(r)).collect();
            all.extend(others);
        }
        Ok(Watch { gauge: Gauge::new(connect, all), notes })
    }

    /// Runs `load` with the server watched on behalf of `controller`, which is closed afterwards.
    pub(crate) fn during<T>(
        &mut self,
        controller: &Controller,
        job: &Job<'_>,
        load: impl FnOnce() -> T,
    ) -> T {
        let gauge = &mut self.gauge;
        std::thread::scope(|scope| {
            scope.spawn(|| controller.watch(gauge, &job.options.interrupt, job.progress));
            let done = load();
            controller.close();
            done
        })
    }
}
