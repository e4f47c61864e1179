//! The result of a statement.

use adbc_core::error::{Error, Result};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{Schema, SchemaRef};
use server::Session;

use crate::batches::{self, Batches};
use crate::errors::of_server;
use crate::result_set::{self, ResultColumn};
use crate::server_options::TIME_ZONE;

/// A reader of batches, as ADBC hands them over.
pub(crate) type Reader = Box<dyn RecordBatchReader + Send + 'static>;

/// The result of a statement, all of it in memory.
pub(crate) struct StatementResult {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// Rows that the statement changed; None if it read rows.
    pub(crate) affected_rows: Option<u64>,
}

impl StatementResult {
    /// Runs a statement.
    pub(crate) fn of(session: &mut Session, sql: &str) -> Result<StatementResult> {
        // Both closures fill it, one after the other.
        let filled = std::cell::RefCell::new(Batches::default());
        let mut has_columns = false;
        let begin = |columns: &[ResultColumn]| {
            has_columns = !columns.is_empty();
            // The server's word on NULL is about tables, not about each result.
            let nullable =
                |column: &ResultColumn| ResultColumn { is_nullable: true, ..column.clone() };
            filled.borrow_mut().begin(&columns.iter().map(nullable).collect::<Vec<_>>())
        };
        let changed = result_set::read(session, sql, begin, |row| filled.borrow_mut().push(row));
        let unfit = |cause| unfit(sql, cause);
        let changed = changed.map_err(|cause| of_server(&cause))?.map_err(unfit)?;
        let filled = filled.into_inner();
        let is_utc = filled.has_moments() && is_utc(session)?;
        let (schema, batches) = filled.finish(is_utc).map_err(unfit)?;
        let affected_rows = (!has_columns).then_some(changed);
        Ok(StatementResult { schema, batches, affected_rows })
    }

    /// The batches.
    pub(crate) fn reader(self) -> Reader {
        reader(self.schema, self.batches)
    }
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
    let begin = |of: &[ResultColumn]| {
        columns = of.to_vec();
        Ok::<(), adbc_core::error::Error>(())
    };
    result_set::read(session, sql, begin, |_| Ok(())).map_err(|cause| of_server(&cause))??;
    let is_utc = is_utc(session)?;
    Ok(batches::schema(&columns, is_utc))
}

/// True if values of TIMESTAMP are moments of UTC, as they are until somebody sets the variable.
fn is_utc(session: &mut Session) -> Result<bool> {
    let zone = session.query_text("SELECT @@SESSION.time_zone");
    let zone = zone.map_err(|cause| of_server(&cause))?.unwrap_or_default();
    Ok(zone == TIME_ZONE)
}
