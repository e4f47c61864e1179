//! The result of a statement.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use adbc_core::CancelHandle;
use adbc_core::error::{Error, Result, Status};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use server::Session;

use crate::batches::{self, Batches};
use crate::errors::{error, of_server};
use crate::result_queue::Queue;
use crate::result_set::{self, ResultColumn};
use crate::server_options::TIME_ZONE;
use crate::shared::Shared;

/// A reader of batches, as ADBC hands them over.
pub(crate) type Reader = Box<dyn RecordBatchReader + Send + 'static>;

/// The result of a statement. A thread reads it from the server, some batches ahead.
pub(crate) struct StatementResult {
    schema: SchemaRef,
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl StatementResult {
    /// Runs a statement, up to the first batch of its result or to its end.
    pub(crate) fn of(shared: &Arc<Shared>, sql: &str) -> Result<StatementResult> {
        let queue = Arc::new(Queue::default());
        let (its_shared, its_queue, sql) = (Arc::clone(shared), Arc::clone(&queue), sql.to_owned());
        let work = move || {
            let _end = its_queue.end_by_drop();
            // The queue ends within the work: until then no other statement has the session.
            its_shared.with_result(&its_queue, |session| {
                its_queue.end(fill(session, &sql, &its_queue));
            });
        };
        let thread = thread::Builder::new().name("result".to_owned()).spawn(work);
        let thread = thread
            .map_err(|cause| error(Status::Internal, format!("starting a thread: {cause}")))?;
        // Its drop waits for the thread, also after an error.
        let mut result = StatementResult {
            schema: Arc::new(Schema::empty()),
            shared: Arc::clone(shared),
            queue,
            thread: Some(thread),
        };
        result.schema = result.queue.schema()?;
        Ok(result)
    }

    /// Reads the rest; gives the number of rows that the statement changed, None if it read rows.
    pub(crate) fn affected_rows(self) -> Result<Option<u64>> {
        while let Some(batch) = self.queue.pop() {
            batch?;
        }
        Ok(self.queue.changed_rows())
    }
}

impl Iterator for StatementResult {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.queue.pop()?;
        Some(batch.map_err(|cause| ArrowError::ExternalError(cause.message.into())))
    }
}

impl RecordBatchReader for StatementResult {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Drop for StatementResult {
    /// Ends a statement whose result nobody reads any more.
    fn drop(&mut self) {
        // A statement that cannot be ended is read to its end.
        self.queue.leave(|| drop(self.shared.work.try_cancel()));
        if let Some(thread) = self.thread.take() {
            // A panic has ended the queue with an error.
            drop(thread.join());
        }
    }
}

/// Runs a statement, and puts its result into the queue as it arrives; gives the schema, and the number of rows
/// that the statement changed, if it has no result.
fn fill(session: &mut Session, sql: &str, queue: &Queue) -> Result<(SchemaRef, Option<u64>)> {
    // Both closures fill it, one after the other.
    let filled = RefCell::new(Batches::default());
    let mut has_columns = false;
    let begin = |columns: &[ResultColumn], zone: Option<&str>| {
        has_columns = !columns.is_empty();
        // The server's word on NULL is about tables, not about each result.
        let nullable = |column: &ResultColumn| ResultColumn { is_nullable: true, ..column.clone() };
        let columns: Vec<_> = columns.iter().map(nullable).collect();
        filled.borrow_mut().begin(&columns, zone.map(|zone| zone == TIME_ZONE))
    };
    let visit = |row: &[_]| {
        let mut filled = filled.borrow_mut();
        filled.push(row)?;
        filled.take()?.into_iter().try_for_each(|batch| queue.push(batch))
    };
    let unfit = |cause| unfit(sql, cause);
    let changed = result_set::read(session, sql, begin, visit);
    let changed = changed.map_err(|cause| of_server(&cause))?.map_err(unfit)?;
    let filled = filled.into_inner();
    let is_utc = filled.awaits_zone() && is_utc(session)?;
    let (schema, batches) = filled.finish(is_utc).map_err(unfit)?;
    batches.into_iter().try_for_each(|batch| queue.push(batch))?;
    Ok((schema, (!has_columns).then_some(changed)))
}

/// The error of a result that Arrow's types do not have: a statement that changes rows has changed them.
fn unfit(sql: &str, cause: Error) -> Error {
    if result_set::reads(sql) {
        return cause;
    }
    let done = "the server executed the statement, but its result cannot be returned";
    Error { message: format!("{done}: {}", cause.message), ..cause }
}

/// A reader of batches in memory.
pub(crate) fn reader(schema: SchemaRef, batches: Vec<RecordBatch>) -> Reader {
    Box::new(RecordBatchIterator::new(batches.into_iter().map(Ok), schema))
}

/// The schema of the result of a query. `sql` is a query without rows.
pub(crate) fn schema(session: &mut Session, sql: &str) -> Result<Schema> {
    let mut columns = Vec::new();
    let begin = |of: &[ResultColumn], _: Option<&str>| {
        columns = of.to_vec();
        Ok::<(), adbc_core::error::Error>(())
    };
    result_set::read(session, sql, begin, |_| Ok(())).map_err(|cause| of_server(&cause))??;
    let is_utc = is_utc(session)?;
    Ok(batches::schema(&columns, is_utc))
}

/// True if values of TIMESTAMP are moments of UTC, as they are until somebody sets the variable.
fn is_utc(session: &mut Session) -> Result<bool> {
    let zone = session.query_text(result_set::ZONE);
    let zone = zone.map_err(|cause| of_server(&cause))?.unwrap_or_default();
    Ok(zone == TIME_ZONE)
}
