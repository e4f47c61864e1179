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
        let TableFormat { options, schema, columns } = self;
        let mut chunks = Vec::new();
        let groups = match options.kind {
            Kind::Parquet => {
                chunks = parquet::chunk_encoders(schema, columns, options.group_bytes)?;
                Groups::Parquet(Box::new(parquet::GroupEncoder::new(self)?))
            }
            Kind::Arrow => Groups::Arrow(Box::new(arrow::BatchEncoder::new(self)?)),
            Kind::Excel => return Err("Excel files cannot be written".to_owned()),
        };
        let mut chunks = chunks.into_iter();
        let values = |column: &Column| match chunks.next().flatten() {
            Some(chunk) => Values::Chunk(Box::new(chunk)),
            None => Values::Array(Box::new(column.clone())),
        };
        Ok(RowEncoder {
            schema: SchemaRef::clone(schema),
            columns: columns.iter().map(values).collect(),
            groups,
            options: self.options,
            rows: 0,
            group: RowGroup::default(),
        })
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

/// Encoders of row groups.
#[derive(Debug)]
enum Groups {
    Parquet(Box<parquet::GroupEncoder>),
    Arrow(Box<arrow::BatchEncoder>),
}

/// Values of a column on their way to a file.
#[derive(Debug)]
enum Values {
    /// Until they are an array.
    Array(Box<Column>),
    /// As the pages of a chunk of Parquet.
    Chunk(Box<parquet::ChunkEncoder>),
}

/// Encodes rows.
#[derive(Debug)]
pub struct RowEncoder {
    schema: SchemaRef,
    columns: Vec<Values>,
    groups: Groups,
    options: WriteOptions,
    /// Rows whose values are in `columns`, but those in chunks.
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
        match &mut self.columns[column] {
            Values::Array(column) => column.stored(values),
            Values::Chunk(chunk) => chunk.stored(values),
        }
    }

    /// Appends a value of a column as the server sends it: text in UTF-8, or bytes.
    ///
    /// Errors: a value that cannot be written.
    pub fn sent(&mut self, column: usize, value: Option<&[u8]>) -> Result<(), BadCell> {
        match &mut self.columns[column] {
            Values::Array(column) => column.sent(value),
            Values::Chunk(chunk) => chunk.sent(value),
        }
    }

    /// Ends so many rows, of which each column has a value; true if the row group is full.
    pub fn end_rows(&mut self, rows: usize) -> Result<bool, WriteError> {
        self.rows += rows;
        // Bytes of arrays and of chunks, and of all values.
        let (mut bytes, mut chunk_bytes) = (0, 0);
        let mut value_bytes = self.group.value_bytes;
        for (number, values) in self.columns.iter_mut().enumerate() {
            match (values, &mut self.groups) {
                (Values::Array(column), _) => bytes += column.bytes(),
                (Values::Chunk(chunk), Groups::Parquet(group)) => {
                    chunk.end_rows(&mut group.packer).map_err(|error| error.of(number))?;
                    chunk_bytes += chunk.bytes();
                    value_bytes += chunk.value_bytes() as u64;
                }
                (Values::Chunk(_), Groups::Arrow(_)) => {}
            }
        }
        let WriteOptions { group_bytes, value_bytes: value_bytes_max, .. } = self.options;
        let is_full = self.rows_left() == 0 || value_bytes + bytes as u64 >= value_bytes_max;
        let Groups::Parquet(group) = &self.groups else {
            return Ok(is_full || bytes >= group_bytes);
        };
        let is_full = is_full || group.bytes() + chunk_bytes + bytes >= group_bytes;
        if bytes >= BATCH_BYTES.min(group_bytes) {
            self.flush()?;
        }
        Ok(is_full)
    }

    /// Rows that the row group has room for.
    pub fn rows_left(&self) -> usize {
        self.options.group_rows.saturating_sub(self.group.rows as usize + self.rows)
    }

    /// Encodes the values of `columns`.
    fn flush(&mut self) -> Result<(), WriteError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.group.rows += self.rows as u64;
        self.rows = 0;
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (number, values) in self.columns.iter_mut().enumerate() {
            let Values::Array(column) = values else {
                arrays.push(None);
                continue;
            };
            self.group.value_bytes += column.bytes() as u64;
            let array = column.finish().map_err(|bad| WriteError::Cell(number, bad))?;
            arrays.push(Some(array));
        }
        match &mut self.groups {
            Groups::Parquet(group) => group.write(arrays)?,
            Groups::Arrow(group) => {
                let schema = SchemaRef::clone(&self.schema);
                let arrays = arrays.into_iter().flatten().collect();
                let batch = RecordBatch::try_new(schema, arrays).map_err(WriteError::internal)?;
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
            let columns = encoder.take(&mut self.columns)?;
            let value_bytes = columns.iter().map(parquet::GroupColumn::value_bytes).sum::<usize>();
            group.value_bytes += value_bytes as u64;
            group.encoded = Encoded::Parquet(columns);
        }
        Ok(Some(group))
    }

    /// Goes on in the memory of a row group that is written.
    pub fn reuse(&mut self, spare: RowGroup) {
        let Encoded::Parquet(spare) = spare.encoded else { return };
        // Long values may have been in other columns of that row group.
        let capacity: usize = spare.iter().map(parquet::GroupColumn::capacity).sum();
        if capacity > 2 * self.options.group_bytes {
            return;
        }
        for (values, column) in self.columns.iter_mut().zip(spare) {
            if let (Values::Chunk(chunk), parquet::GroupColumn::Chunk(spare)) = (values, column) {
                chunk.reuse(spare);
            }
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
                group.iter().map(parquet::GroupColumn::bytes).sum::<usize>() as u64
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
