//! Rows to Parquet and Arrow files: encoded in row groups by any thread, put together in order by one.
//!
//! ```text
//! RowEncoder, one a thread: stored bytes or text -> columns -> RowGroup
//! FileWriter, one a file:   head | RowGroup RowGroup .. | footer
//! ```

mod arrow;
mod cells;
mod fields;
mod fill;
mod parquet;
mod texts;

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use self::cells::Column;
use crate::Kind;
use crate::guard::Problem;
use crate::written::{BadCell, WriteOptions, WrittenColumn};

/// Most rows of a row group.
const ROWS_MAX: usize = 1 << 20;
/// Bytes of values that are encoded at once into a row group of Parquet: the values of a column are then in a
/// processor's cache, and below the size from which on the allocator asks the system for each buffer.
const BATCH_BYTES: usize = 256 << 10;

/// The contents of files of a table: its columns, and how they are encoded.
#[derive(Debug)]
pub struct TableFormat {
    options: WriteOptions,
    schema: SchemaRef,
    columns: Vec<Column>,
}

impl TableFormat {
    /// Errors: a column whose values no file has.
    pub fn new(
        columns: &[WrittenColumn<'_>],
        options: WriteOptions,
    ) -> Result<TableFormat, Problem> {
        let fields = columns.iter().map(fields::field).collect::<Vec<_>>();
        let schema = SchemaRef::new(arrow_schema::Schema::new(fields));
        let columns = columns.iter().map(|column| Column::new(column, options.kind));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        Ok(TableFormat { options, schema, columns })
    }

    /// An encoder for a thread.
    pub fn encoder(&self) -> Result<RowEncoder, Problem> {
        let groups = match self.options.kind {
            Kind::Parquet => Groups::Parquet(parquet::GroupEncoder::new(self)?),
            Kind::Arrow => Groups::Arrow(Box::new(arrow::BatchEncoder::new(self)?)),
        };
        Ok(RowEncoder {
            schema: SchemaRef::clone(&self.schema),
            columns: self.columns.clone(),
            groups,
            group_bytes: self.options.group_bytes,
            rows: 0,
            group: RowGroup::default(),
        })
    }

    /// The writer of a file.
    pub fn file(&self) -> Result<FileWriter, Problem> {
        Ok(FileWriter(match self.options.kind {
            Kind::Parquet => Files::Parquet(parquet::FileAssembler::new(self)?),
            Kind::Arrow => Files::Arrow(arrow::FileAssembler::new(self)?),
        }))
    }
}

/// Encoders of row groups.
#[derive(Debug)]
enum Groups {
    Parquet(parquet::GroupEncoder),
    Arrow(Box<arrow::BatchEncoder>),
}

/// Encodes rows.
#[derive(Debug)]
pub struct RowEncoder {
    schema: SchemaRef,
    columns: Vec<Column>,
    groups: Groups,
    group_bytes: usize,
    /// Rows whose values are in `columns`.
    rows: usize,
    /// The row group so far, without these.
    group: RowGroup,
}

impl RowEncoder {
    /// Appends values of a column as they are stored.
    ///
    /// Errors: the number of the value that cannot be written, and why. The encoder is of no use then.
    #[inline]
    pub fn stored<'v>(
        &mut self,
        column: usize,
        values: impl Iterator<Item = Option<&'v [u8]>>,
    ) -> Result<(), (usize, BadCell)> {
        self.columns[column].stored(values)
    }

    /// Appends a value of a column as the server sends it: text in UTF-8, or bytes.
    ///
    /// Errors: a value that cannot be written.
    pub fn sent(&mut self, column: usize, value: Option<&[u8]>) -> Result<(), BadCell> {
        self.columns[column].sent(value)
    }

    /// Ends so many rows, of which each column has a value; true if the row group is full.
    pub fn end_rows(&mut self, rows: usize) -> Result<bool, WriteError> {
        self.rows += rows;
        let bytes = self.columns.iter().map(Column::bytes).sum::<usize>();
        let is_batch = match self.groups {
            Groups::Parquet(_) => bytes >= BATCH_BYTES.min(self.group_bytes),
            Groups::Arrow(_) => return Ok(bytes >= self.group_bytes || self.rows >= ROWS_MAX),
        };
        if is_batch {
            self.flush()?;
        }
        let Groups::Parquet(group) = &self.groups else { return Ok(false) };
        let is_full = is_batch && group.bytes() >= self.group_bytes;
        Ok(is_full || self.group.rows as usize + self.rows >= ROWS_MAX)
    }

    /// Encodes the values of `columns`.
    fn flush(&mut self) -> Result<(), WriteError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.group.rows += self.rows as u64;
        self.group.value_bytes += self.columns.iter().map(Column::bytes).sum::<usize>() as u64;
        self.rows = 0;
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (number, column) in self.columns.iter_mut().enumerate() {
            let array = column.finish().map_err(|bad| WriteError::Cell(number, bad))?;
            arrays.push(array);
        }
        match &mut self.groups {
            Groups::Parquet(group) => group.write(arrays)?,
            Groups::Arrow(group) => {
                let schema = SchemaRef::clone(&self.schema);
                let batch = RecordBatch::try_new(schema, arrays).map_err(WriteError::of)?;
                self.group.encoded = Encoded::Arrow(group.encode(&batch)?);
            }
        }
        Ok(())
    }

    /// Ends the row group; none without rows.
    pub fn take(&mut self) -> Result<Option<RowGroup>, WriteError> {
        self.flush()?;
        if self.group.rows == 0 {
            return Ok(None);
        }
        let mut group = std::mem::take(&mut self.group);
        if let Groups::Parquet(encoder) = &mut self.groups {
            group.encoded = Encoded::Parquet(encoder.take()?);
        }
        Ok(Some(group))
    }
}

/// Rows that are encoded.
#[derive(Debug, Default)]
pub struct RowGroup {
    /// How many.
    pub rows: u64,
    /// Bytes of their values before they were encoded.
    pub value_bytes: u64,
    encoded: Encoded,
}

#[derive(Debug, Default)]
enum Encoded {
    #[default]
    Nothing,
    Parquet(parquet::Group),
    Arrow(arrow::Message),
}

/// Puts a file together.
#[derive(Debug)]
pub struct FileWriter(Files);

#[derive(Debug)]
enum Files {
    Parquet(parquet::FileAssembler),
    Arrow(arrow::FileAssembler),
}

impl FileWriter {
    /// Writes the beginning of the file.
    pub fn begin(&mut self, to: &mut dyn Write) -> io::Result<()> {
        match &mut self.0 {
            Files::Parquet(file) => file.begin(to),
            Files::Arrow(file) => file.begin(to),
        }
    }

    /// Writes a row group.
    pub fn group(&mut self, group: RowGroup, to: &mut dyn Write) -> io::Result<()> {
        match (&mut self.0, group.encoded) {
            (Files::Parquet(file), Encoded::Parquet(group)) => file.group(group, to),
            (Files::Arrow(file), Encoded::Arrow(message)) => file.message(&message, to),
            _ => Err(io::Error::other("the row group belongs to another kind of file")),
        }
    }

    /// Writes the end of the file.
    pub fn finish(self, to: &mut dyn Write) -> io::Result<()> {
        match self.0 {
            Files::Parquet(file) => file.finish(to),
            Files::Arrow(file) => file.finish(to),
        }
    }
}

/// Rows that cannot be written.
#[derive(Debug)]
pub enum WriteError {
    /// A value of the column of this number.
    Cell(usize, BadCell),
    /// A mistake of ours, or of the encoder's.
    Internal(Problem),
}

impl WriteError {
    fn of(error: impl std::fmt::Display) -> WriteError {
        WriteError::Internal(error.to_string())
    }
}

impl From<Problem> for WriteError {
    fn from(problem: Problem) -> WriteError {
        WriteError::Internal(problem)
    }
}
