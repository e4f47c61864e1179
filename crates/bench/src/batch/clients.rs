//! One cell of the grid: so many threads, each with a connection, insert batches of so many rows.
//!
//! As a client of the plainest kind would: the threads take the batches in the order of their ids,
//! send each as one multi-row INSERT in text, and the server commits it before it answers. The
//! tuples are ready in memory, so what is measured is next to nothing of the client and all of the
//! server. The clock runs from the moment that all are connected to the last commit.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use server::{ConnectOptions, Session};

use crate::clients::send;
use crate::error::Error;
use crate::sbtest::Tuples;

/// The text before the tuples.
const INSERT: &str = "INSERT INTO inrush_bench.sbtest1 (id, k, c, pad) VALUES ";
/// State shared by the clients of one run.
pub(crate) struct Clients<'a> {
    pub(crate) connect: &'a ConnectOptions,
    pub(crate) tuples: &'a Tuples,
    /// How many of the tuples, from the first.
    pub(crate) rows: usize,
    /// No statement begins later than this after the start.
    pub(crate) time_max: Duration,
}

/// The result of one run of a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inserted {
    /// Rows committed.
    pub(crate) rows: u64,
    /// Seconds to the last commit.
    pub(crate) seconds: f64,
    /// Statements sent again after a deadlock or a lock wait timeout.
    pub(crate) retries: u64,
}

/// A thread's result.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    rows: u64,
    retries: u64,
    last_commit: Option<Instant>,
}

impl Clients<'_> {
    /// Inserts the rows with `threads` connections, `batch` rows a statement.
    ///
    /// Errors: a connection or statement the server refused; the first one stops all threads.
    pub(crate) fn insert(&self, batch: usize, threads: usize) -> Result<Inserted, Error> {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        // The threads, and the clock.
        let ready = Barrier::new(threads + 1);
        let (started, parts) = std::thread::scope(|scope| {
            let client = || {
                let session = Session::connect(self.connect);
                ready.wait();
                let part = session
                    .map_err(Error::from)
                    .and_then(|session| self.batches(session, batch, &next, &stop));
                if part.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                part
            };
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(client)).collect();
            ready.wait();
            let started = Instant::now();
            let parts: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
            (started, parts)
        });
        let mut done = Inserted::default();
        let mut last_commit = started;
        for part in parts {
            let part = part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            done.rows += part.rows;
            done.retries += part.retries;
            last_commit = last_commit.max(part.last_commit.unwrap_or(started));
        }
        done.seconds = (last_commit - started).as_secs_f64();
        Ok(done)
    }

    /// Takes batches until there are none, or time is over.
    fn batches(
        &self,
        mut session: Session,
        batch: usize,
        next: &AtomicUsize,
        stop: &AtomicBool,
    ) -> Result<Part, Error> {
        let started = Instant::now();
        let mut part = Part::default();
        let mut sql = String::from(INSERT);
        while started.elapsed() < self.time_max && !stop.load(Ordering::Relaxed) {
            let first = next.fetch_add(1, Ordering::Relaxed) * batch;
            let end = (first + batch).min(self.rows);
            if first >= end {
                break;
            }
            sql.truncate(INSERT.len());
            sql.push_str(self.tuples.values(first..end));
            part.retries += send(&mut session, &sql)?;
            part.rows += (end - first) as u64;
            part.last_commit = Some(Instant::now());
        }
        Ok(part)
    }
}
