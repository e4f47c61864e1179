//! Rows of a record batch whose buffers are in the file as they are in memory: only their bytes are read, so that
//! readers of a large batch do not wait for each other, and none keeps it.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_ipc::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema};

use super::messages::{Messages, Stored};
use crate::file::{Decoded, OpenPart};
use crate::guard::{Problem, problem};

/// Buffers of the values of a column, behind that of its NULLs.
#[derive(Clone, Copy)]
enum Layout {
    /// No buffers: all values are NULL.
    Null,
    /// A bit for each value.
    Bits,
    /// So many bytes for each value.
    Fixed(u64),
    /// The start of each value and the last one's end, numbers of so many bytes; then their bytes.
    Variable(u64),
}

impl Layout {
    /// None of a type whose rows are not found without reading others.
    fn of(data_type: &DataType) -> Option<Layout> {
        match data_type {
            DataType::Null => Some(Layout::Null),
            DataType::Boolean => Some(Layout::Bits),
            DataType::Utf8 | DataType::Binary => Some(Layout::Variable(4)),
            DataType::LargeUtf8 | DataType::LargeBinary => Some(Layout::Variable(8)),
            DataType::FixedSizeBinary(width @ 1..) => Some(Layout::Fixed(*width as u64)),
            other => other.primitive_width().map(|width| Layout::Fixed(width as u64)),
        }
    }

    fn buffers(self) -> usize {
        match self {
            Layout::Null => 0,
            Layout::Bits | Layout::Fixed(_) => 2,
            Layout::Variable(_) => 3,
        }
    }
}

/// Rows whose NULLs are counted at once.
const COUNTED_ROWS: usize = 1 << 19;
const OUTSIDE: &str = "a value begins before its buffer";

/// Numbers of so many bytes, 4 or 8.
fn numbers(bytes: &[u8], width: u64) -> impl Iterator<Item = i64> {
    bytes.chunks_exact(width as usize).map(|number| match number.try_into() {
        Ok(number) => i32::from_le_bytes(number).into(),
        Err(_) => number.try_into().map_or(0, i64::from_le_bytes),
    })
}

/// True if the rows of all columns can be found.
pub(super) fn are_found(schema: &Schema) -> bool {
    schema.fields().iter().all(|field| Layout::of(field.data_type()).is_some())
}

/// A record batch of which rows are read as they are wanted.
pub(super) struct SlicedBatch {
    messages: Arc<Messages>,
    rows: u64,
    columns: Vec<SlicedColumn>,
}

/// A column of it.
struct SlicedColumn {
    data_type: DataType,
    layout: Layout,
    /// NULLs of the whole batch.
    nulls: u64,
    /// Bytes of the file that its buffers are.
    buffers: Vec<Range<u64>>,
}

impl SlicedBatch {
    /// Some columns of a batch that is not compressed, in a file whose columns [`are_found`].
    ///
    /// Errors: a description that the batch does not fit.
    pub(super) fn open(
        messages: &Arc<Messages>,
        stored: &Stored,
        schema: &Schema,
        columns: &[usize],
    ) -> Result<SlicedBatch, Problem> {
        let describe = |batch: RecordBatch<'_>| described(batch, stored, schema);
        let all = messages.described(stored, describe)??.into_iter().enumerate();
        let columns = all.filter_map(|(at, column)| columns.contains(&at).then_some(column));
        Ok(SlicedBatch {
            messages: Arc::clone(messages),
            rows: stored.rows,
            columns: columns.collect(),
        })
    }

    /// Bytes of its columns.
    pub(super) fn bytes(&self) -> u64 {
        let buffers = self.columns.iter().flat_map(|column| &column.buffers);
        buffers.map(|place| place.end - place.start).sum()
    }

    /// Compares the NULLs of each column with their number: nothing else tells a damaged bit.
    ///
    /// Errors: reading; another number.
    pub(super) fn check_nulls(&self) -> Result<(), Problem> {
        for column in self.columns.iter().filter(|column| column.has_bits()) {
            let mut nulls = 0;
            for first in (0..self.rows).step_by(COUNTED_ROWS) {
                let rows = first..self.rows.min(first + COUNTED_ROWS as u64);
                let bits = column.bits(&self.messages, 0, &rows)?;
                nulls += (bits.len() - bits.count_set_bits()) as u64;
            }
            if nulls != column.nulls {
                return Err(format!(
                    "a column has {nulls} NULLs, and should have {}",
                    column.nulls
                ));
            }
        }
        Ok(())
    }
}

/// The columns of a batch.
fn described(
    batch: RecordBatch<'_>,
    stored: &Stored,
    schema: &Schema,
) -> Result<Vec<SlicedColumn>, Problem> {
    let body = stored.body();
    let mut nodes = batch.nodes().into_iter().flatten();
    let mut buffers = batch.buffers().into_iter().flatten().map(|buffer| {
        let place = (u64::try_from(buffer.offset()).ok()?, u64::try_from(buffer.length()).ok()?);
        let start = body.start.checked_add(place.0)?;
        let end = start.checked_add(place.1).filter(|end| *end <= body.end)?;
        Some(start..end)
    });
    let column = |field: &FieldRef| {
        let data_type = field.data_type();
        let node = nodes.next().ok_or("it has fewer columns than the file")?;
        if u64::try_from(node.length()) != Ok(stored.rows) {
            return Err(format!(
                "a column has {} rows, and its record batch {}",
                node.length(),
                stored.rows
            ));
        }
        let layout = Layout::of(data_type).ok_or("its columns are of another type")?;
        let nulls = u64::try_from(node.null_count()).ok().filter(|nulls| *nulls <= stored.rows);
        let nulls = nulls.ok_or("a column has more NULLs than rows")?;
        if nulls > 0 && !field.is_nullable() && !matches!(layout, Layout::Null) {
            return Err(format!("column `{}` cannot be NULL, and has {nulls} NULLs", field.name()));
        }
        let places: Option<Vec<_>> = buffers.by_ref().take(layout.buffers()).collect();
        let buffers = places.ok_or("a buffer goes on behind the end of its record batch")?;
        match buffers.len() == layout.buffers() {
            true => Ok(SlicedColumn { data_type: data_type.clone(), layout, nulls, buffers }),
            false => Err("it has fewer buffers than its columns".to_owned()),
        }
    };
    schema.fields().iter().map(column).collect()
}

impl OpenPart for SlicedBatch {
    fn read_bytes(&self, rows: &Range<u64>) -> Result<u64, Problem> {
        let bytes = |column: &SlicedColumn| column.value_bytes(&self.messages, rows);
        self.columns.iter().map(bytes).try_fold(0, |all: u64, bytes| Ok(all.saturating_add(bytes?)))
    }

    fn read(&self, rows: Range<u64>) -> Result<Vec<Decoded>, Problem> {
        if rows.end > self.rows {
            return Err(format!("it has {} rows, and not what it says", self.rows));
        }
        let read = |column: &SlicedColumn| column.read(&self.messages, &rows).map(Decoded::Array);
        self.columns.iter().map(read).collect()
    }
}

impl SlicedColumn {
    fn read(&self, messages: &Messages, rows: &Range<u64>) -> Result<ArrayRef, Problem> {
        let count = (rows.end - rows.start) as usize;
        let nulls = match self.has_bits() {
            true => Some(NullBuffer::new(self.bits(messages, 0, rows)?)),
            false => None,
        };
        let buffers = match self.layout {
            Layout::Null => Vec::new(),
            Layout::Bits => {
                let values = self.bits(messages, 1, rows)?;
                return Ok(Arc::new(BooleanArray::new(values, nulls)));
            }
            Layout::Fixed(width) => {
                vec![self.bytes(messages, 1, rows.start * width, rows.end * width)?]
            }
            Layout::Variable(width) => self.variable(messages, rows, width)?,
        };
        let array = ArrayData::builder(self.data_type.clone()).len(count).nulls(nulls);
        array.buffers(buffers).build().map(make_array).map_err(problem)
    }

    /// True if bits tell which values are NULL.
    fn has_bits(&self) -> bool {
        self.nulls > 0 && !matches!(self.layout, Layout::Null)
    }

    /// Bits of a buffer that has one for each row.
    fn bits(
        &self,
        messages: &Messages,
        buffer: usize,
        rows: &Range<u64>,
    ) -> Result<BooleanBuffer, Problem> {
        let count = (rows.end - rows.start) as usize;
        let bytes = self.bytes(messages, buffer, rows.start / 8, rows.end.div_ceil(8))?;
        Ok(BooleanBuffer::new(bytes, (rows.start % 8) as usize, count))
    }

    /// Bytes of some values.
    fn value_bytes(&self, messages: &Messages, rows: &Range<u64>) -> Result<u64, Problem> {
        let count = rows.end - rows.start;
        Ok(match self.layout {
            Layout::Null => 0,
            Layout::Bits => count.div_ceil(8),
            Layout::Fixed(width) => count * width,
            Layout::Variable(width) => {
                let start = |row: u64| {
                    let start = self.bytes(messages, 1, row * width, (row + 1) * width)?;
                    numbers(&start, width).next().ok_or_else(|| Problem::from(OUTSIDE))
                };
                let bytes = start(rows.end)?.saturating_sub(start(rows.start)?);
                u64::try_from(bytes).map_err(|_| OUTSIDE)?.saturating_add(count * width)
            }
        })
    }

    /// Starts of the values, from 0, and their bytes.
    fn variable(
        &self,
        messages: &Messages,
        rows: &Range<u64>,
        width: u64,
    ) -> Result<Vec<Buffer>, Problem> {
        let bytes = self.bytes(messages, 1, rows.start * width, (rows.end + 1) * width)?;
        let place = |start: Option<i64>| start.and_then(|start| u64::try_from(start).ok());
        let ends = (numbers(&bytes, width).next(), numbers(&bytes, width).last());
        let (Some(first), Some(last)) = (place(ends.0), place(ends.1)) else {
            return Err(OUTSIDE.to_owned());
        };
        // Starts between these that are out of order are found when the array is made.
        let from_first = numbers(&bytes, width).map(|start| start.wrapping_sub(first as i64));
        let starts: Buffer = match width {
            4 => from_first.map(|start| start as i32).collect::<Vec<i32>>().into(),
            _ => from_first.collect::<Vec<i64>>().into(),
        };
        Ok(vec![starts, self.bytes(messages, 2, first, last)?])
    }

    /// Bytes of a buffer.
    fn bytes(
        &self,
        messages: &Messages,
        buffer: usize,
        start: u64,
        end: u64,
    ) -> Result<Buffer, Problem> {
        let place = &self.buffers[buffer];
        if start > end || end > place.end - place.start {
            return Err("a buffer is shorter than its rows".to_owned());
        }
        let mut out = MutableBuffer::from_len_zeroed((end - start) as usize);
        messages.fill(place.start + start, out.as_slice_mut())?;
        Ok(out.into())
    }
}
