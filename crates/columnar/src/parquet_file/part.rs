//! A row group that is being read: a decoder for each column, which readers use one after the other.
//!
//! ```text
//! rows      0..5000   5000..10000   10000..
//! column a  reader 1  reader 2      reader 1
//! column b            reader 1      reader 2
//! ```
//!
//! A page is unpacked once, whoever reads its rows, and readers are busy with different columns at a time.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch};
use locks::{Condvar, Mutex, MutexGuard};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::positioned::Positioned;
use crate::file::{Decoded, OpenPart};
use crate::guard::{Problem, guard, problem};

/// Time that a reader leaves to one with earlier rows, before it decodes for itself from a page's begin on.
const PATIENCE: Duration = Duration::from_millis(10);

/// A row group of an open file.
pub(super) struct RowGroup {
    input: Positioned,
    metadata: ArrowReaderMetadata,
    index: usize,
    columns: Vec<ColumnDecoder>,
}

/// The decoder of a column.
struct ColumnDecoder {
    column: usize,
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    decoder: Option<ParquetRecordBatchReader>,
    /// The row that it is at.
    row: u64,
}

impl RowGroup {
    pub(super) fn new(
        input: Positioned,
        metadata: ArrowReaderMetadata,
        index: usize,
        columns: &[usize],
    ) -> RowGroup {
        let decoder = |column: &usize| ColumnDecoder {
            column: *column,
            state: Mutex::default(),
            moved: Condvar::new(),
        };
        RowGroup { input, metadata, index, columns: columns.iter().map(decoder).collect() }
    }

    /// A decoder of a column that begins at a row.
    fn decoder(
        &self,
        column: usize,
        first: usize,
        rows: usize,
    ) -> Result<ParquetRecordBatchReader, Problem> {
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), [column]);
        let (input, metadata) = (self.input.clone(), self.metadata.clone());
        ParquetRecordBatchReaderBuilder::new_with_metadata(input, metadata)
            .with_row_groups(vec![self.index])
            .with_projection(mask)
            .with_batch_size(rows)
            .with_offset(first)
            .build()
            .map_err(problem)
    }

    fn array(&self, of: &ColumnDecoder, rows: &Range<u64>) -> Result<ArrayRef, Problem> {
        let mut state = of.wait_for(rows.start);
        let count = usize::try_from(rows.end - rows.start).map_err(problem)?;
        let at_hand = state.decoder.take().filter(|_| state.row == rows.start);
        let decoded = guard(|| {
            if let Some(mut decoder) = at_hand {
                let array = next(&mut decoder)?;
                if array.len() == count {
                    return Ok((array, decoder));
                }
            }
            let first = usize::try_from(rows.start).map_err(problem)?;
            let mut decoder = self.decoder(of.column, first, count)?;
            let array = next(&mut decoder)?;
            match array.len() == count {
                true => Ok((array, decoder)),
                false => Err(format!(
                    "it has {} rows, and not what its metadata says",
                    first + array.len()
                )),
            }
        });
        state.row = rows.end;
        of.moved.notify_all();
        let (array, decoder) = decoded.map_err(|problem| {
            let name = self.metadata.schema().field(of.column).name();
            format!("column `{name}`: {problem}")
        })?;
        state.decoder = Some(decoder);
        Ok(array)
    }
}

/// The next rows of a decoder's column.
fn next(decoder: &mut ParquetRecordBatchReader) -> Result<ArrayRef, Problem> {
    let batch = decoder.next().transpose().map_err(problem)?;
    let column = batch.as_ref().map(RecordBatch::columns).and_then(<[_]>::first);
    column.map(Arc::clone).ok_or_else(|| "it has no more rows".to_owned())
}

impl ColumnDecoder {
    /// The decoder at a row; a while later, wherever it is.
    fn wait_for(&self, row: u64) -> MutexGuard<'_, State> {
        let state = self.state.lock();
        self.moved.wait_timeout_while(state, PATIENCE, |state| state.row < row)
    }
}

impl RowGroup {
    /// An array for each of the columns.
    pub(super) fn arrays(&self, rows: Range<u64>) -> Result<Vec<ArrayRef>, Problem> {
        self.columns.iter().map(|column| self.array(column, &rows)).collect()
    }
}

impl OpenPart for RowGroup {
    fn read(&self, rows: Range<u64>) -> Result<Vec<Decoded>, Problem> {
        Ok(self.arrays(rows)?.into_iter().map(Decoded::Array).collect())
    }
}
