//! Batches between the thread that reads a result and the reader of ADBC.

use std::collections::VecDeque;
use std::sync::Arc;

use adbc_core::error::{Error, Result, Status};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use locks::{Condvar, Mutex, MutexGuard};

use crate::errors::error;

/// Batches that await their reader.
const BATCHES_MAX: usize = 2;

/// Batches of a result, in their order.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    batches: VecDeque<RecordBatch>,
    /// True if all batches stay in memory, because another statement awaits the session.
    keeps_all: bool,
    /// True if nobody reads any more.
    is_left: bool,
    /// The schema, known with the first batch.
    schema: Option<SchemaRef>,
    /// Rows that the statement changed, if it has no result.
    changed_rows: Option<u64>,
    is_ended: bool,
    /// The error that ended the result, until the reader has it.
    error: Option<Error>,
}

/// Ends a queue when it is dropped, by a panic too.
pub(crate) struct EndByDrop(Arc<Queue>);

impl Queue {
    /// Adds a batch; waits for room.
    ///
    /// Errors: nobody reads any more.
    pub(crate) fn push(&self, batch: RecordBatch) -> Result<()> {
        let mut state = self.state.lock();
        while state.batches.len() >= BATCHES_MAX && !state.keeps_all && !state.is_left {
            state = self.wait(state);
        }
        if state.is_left {
            return Err(error(Status::Cancelled, "the reader of the result has ended"));
        }
        state.schema.get_or_insert_with(|| batch.schema());
        state.batches.push_back(batch);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Ends the queue; a second end does not count.
    pub(crate) fn end(&self, end: Result<(SchemaRef, Option<u64>)>) {
        let mut state = self.state.lock();
        if !state.is_ended {
            state.is_ended = true;
            match end {
                Ok((schema, rows)) => (state.schema, state.changed_rows) = (Some(schema), rows),
                Err(cause) => state.error = Some(cause),
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn end_by_drop(self: &Arc<Queue>) -> EndByDrop {
        EndByDrop(Arc::clone(self))
    }

    /// Has the thread read all batches into memory.
    pub(crate) fn keep_all(&self) {
        self.state.lock().keeps_all = true;
        self.changed.notify_all();
    }

    /// Waits for the first batch or the end, and gives the schema.
    ///
    /// Errors: those before the first batch.
    pub(crate) fn schema(&self) -> Result<SchemaRef> {
        let mut state = self.state.lock();
        loop {
            if let Some(schema) = &state.schema {
                return Ok(Arc::clone(schema));
            }
            if let Some(cause) = state.error.take() {
                return Err(cause);
            }
            state = self.wait(state);
        }
    }

    /// The next batch, or the error behind the last one; None at the end.
    pub(crate) fn pop(&self) -> Option<Result<RecordBatch>> {
        let mut state = self.state.lock();
        while state.batches.is_empty() && !state.is_ended {
            state = self.wait(state);
        }
        let next = match state.batches.pop_front() {
            Some(batch) => Some(Ok(batch)),
            None => state.error.take().map(Err),
        };
        drop(state);
        self.changed.notify_all();
        next
    }

    /// Rows that the statement changed; None if it has a result.
    pub(crate) fn changed_rows(&self) -> Option<u64> {
        self.state.lock().changed_rows
    }

    /// Ends the reading. `cancel` ends the statement, if it still runs: no other one can begin meanwhile.
    pub(crate) fn leave(&self, cancel: impl FnOnce()) {
        let mut state = self.state.lock();
        state.is_left = true;
        state.batches.clear();
        if !state.is_ended {
            cancel();
        }
        drop(state);
        self.changed.notify_all();
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state)
    }
}

impl Drop for EndByDrop {
    fn drop(&mut self) {
        self.0.end(Err(error(Status::Internal, "an internal error ended the result")));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::thread;

    use arrow_schema::Schema;

    use super::*;

    fn batch() -> RecordBatch {
        RecordBatch::new_empty(Arc::new(Schema::empty()))
    }

    #[test]
    fn a_result_waits_for_its_reader_unless_the_session_is_awaited() {
        let queue = Arc::new(Queue::default());
        let thread = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || (0..100).try_for_each(|_| queue.push(batch())))
        };
        assert!(queue.pop().unwrap().is_ok());
        assert!(queue.state.lock().batches.len() <= BATCHES_MAX);
        assert!(!thread.is_finished());
        queue.keep_all();
        thread.join().unwrap().unwrap();
        assert_eq!(queue.state.lock().batches.len(), 99);
        queue.leave(|| ());
        assert_eq!(queue.push(batch()).unwrap_err().status, Status::Cancelled);
    }

    #[test]
    fn a_panic_of_the_thread_is_an_error_behind_its_batches() {
        let queue = Arc::new(Queue::default());
        let end = queue.end_by_drop();
        let thread = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let _end = end;
                queue.push(batch()).unwrap();
                panic!("of the test");
            })
        };
        assert!(queue.schema().is_ok());
        assert!(queue.pop().unwrap().is_ok());
        assert_eq!(queue.pop().unwrap().unwrap_err().status, Status::Internal);
        assert!(queue.pop().is_none() && thread.join().is_err());
    }
}
