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

use arrow_schema::SchemaRef;

use self::cells::Column;
use crate::Kind;
use crate::guard::Problem;
use crate::written::{BadCell, WriteOptions, WrittenColumn};

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
        let columns = match self.options.kind {
            Kind::Parquet => Columns::Parquet(Box::new(parquet::GroupEncoder::new(self)?)),
            Kind::Arrow => Columns::Arrow(Box::new(arrow::BatchEncoder::new(self)?)),
            Kind::Excel => return Err("Excel files cannot be written".to_owned()),
        };
        Ok(RowEncoder { columns, options: self.options, rows: 0 })
    }

    /// The writer of a file.
    pub fn file(&self) -> Result<FileWriter, Problem> {
        Ok(FileWriter(match self.options.kind {
            Kind::Parquet => Files::Parquet(parquet::FileAssembler::new(self)?),
            Kind::Arrow => Files::Arrow(arrow::FileAssembler::new(self)?),
            Kind::Excel => return Err("Excel files cannot be written".to_owned()),
        }))
    }
}

/// The columns of the row group at hand.
#[derive(Debug)]
enum Columns {
    /// Encoded page by page.
    Parquet(Box<parquet::GroupEncoder>),
    /// Encoded at the end of the row group, which is a record batch.
    Arrow(Box<arrow::BatchEncoder>),
}

/// Encodes rows.
#[derive(Debug)]
pub struct RowEncoder {
    columns: Columns,
    options: WriteOptions,
    /// Rows of the row group so far.
    rows: usize,
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
        match &mut self.columns {
            Columns::Parquet(group) => group.columns[column].stored(values),
            Columns::Arrow(batch) => batch.columns[column].stored(values),
        }
    }

    /// Appends a value of a column as the server sends it: text in UTF-8, or bytes.
    ///
    /// Errors: a value that cannot be written.
    pub fn sent(&mut self, column: usize, value: Option<&[u8]>) -> Result<(), BadCell> {
        match &mut self.columns {
            Columns::Parquet(group) => group.columns[column].sent(value),
            Columns::Arrow(batch) => batch.columns[column].sent(value),
        }
    }

    /// Ends so many rows, of which each column has a value; true if the row group is full.
    pub fn end_rows(&mut self, rows: usize) -> Result<bool, WriteError> {
        self.rows += rows;
        let (bytes, value_bytes) = match &mut self.columns {
            Columns::Parquet(group) => group.end_rows()?,
            Columns::Arrow(batch) => (batch.bytes(), batch.bytes()),
        };
        let WriteOptions { group_bytes, value_bytes: value_bytes_max, .. } = self.options;
        let is_full = bytes >= group_bytes || value_bytes as u64 >= value_bytes_max;
        Ok(is_full || self.rows_left() == 0)
    }

    /// Rows that the row group has room for.
    pub fn rows_left(&self) -> usize {
        self.options.group_rows.saturating_sub(self.rows)
    }

    /// Ends the row group; none without rows.
    pub fn take(&mut self) -> Result<Option<RowGroup>, WriteError> {
        let rows = std::mem::take(&mut self.rows) as u64;
        if rows == 0 {
            return Ok(None);
        }
        let (encoded, value_bytes) = match &mut self.columns {
            Columns::Parquet(encoder) => {
                let group = encoder.take()?;
                let value_bytes = group.iter().map(parquet::EncodedChunk::value_bytes).sum();
                (Encoded::Parquet(group), value_bytes)
            }
            Columns::Arrow(batch) => {
                let value_bytes = batch.bytes();
                (Encoded::Arrow(batch.take()?), value_bytes)
            }
        };
        Ok(Some(RowGroup { rows, value_bytes: value_bytes as u64, encoded }))
    }

    /// Goes on in the memory of a row group that is written.
    pub fn reuse(&mut self, spare: RowGroup) {
        if let (Columns::Parquet(encoder), Encoded::Parquet(spare)) =
            (&mut self.columns, spare.encoded)
        {
            encoder.reuse(spare);
        }
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

impl RowGroup {
    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        match &self.encoded {
            Encoded::Nothing => 0,
            Encoded::Parquet(group) => {
                group.iter().map(parquet::EncodedChunk::bytes).sum::<usize>() as u64
            }
            Encoded::Arrow(message) => message.bytes() as u64,
        }
    }
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

    /// Writes a row group. Only memory in which an encoder goes on stays in it.
    pub fn group(&mut self, group: &mut RowGroup, to: &mut dyn Write) -> io::Result<()> {
        match (&mut self.0, &mut group.encoded) {
            (Files::Parquet(file), Encoded::Parquet(group)) => file.group(group, to),
            (Files::Arrow(file), Encoded::Arrow(message)) => {
                file.message(message, to)?;
                group.encoded = Encoded::Nothing;
                Ok(())
            }
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
    fn internal(error: impl std::fmt::Display) -> WriteError {
        WriteError::Internal(error.to_string())
    }

    fn of_cell(bad: BadCell) -> WriteError {
        WriteError::Cell(0, bad)
    }

    /// The same, of the column of this number.
    fn of(self, column: usize) -> WriteError {
        match self {
            WriteError::Cell(_, bad) => WriteError::Cell(column, bad),
            internal => internal,
        }
    }
}

impl From<Problem> for WriteError {
    fn from(problem: Problem) -> WriteError {
        WriteError::Internal(problem)
    }
}
