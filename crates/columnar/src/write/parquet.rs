//! Parquet: row groups encoded in any thread, their pages put one behind the other.

mod bits;
mod chunk;
mod dictionary;
mod encoded_chunk;
mod levels;
mod pages;
mod statistics;

use std::io::{self, Write};

use arrow_array::{Array, ArrayRef};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, Encoding, GzipLevel, PageType, ZstdLevel};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescriptor, TypePtr};

use super::cells::Column;
use super::{TableFormat, Values, WriteError};
use crate::guard::{Problem, problem};
use crate::written::Packing;
pub(super) use chunk::ChunkEncoder;
use chunk::Room;
use encoded_chunk::EncodedChunk;
pub(super) use pages::Packer;
use pages::{GZIP_LEVEL, ZSTD_LEVEL};

/// Plain bytes of a page: its buffers stay below the size from which on the allocator asks the system for each.
const PAGE_BYTES: usize = 64 << 10;
/// Memory for a page of a column, at most.
const ROOM_MAX: usize = 1 << 20;
/// Least share of a column in a row group with which its values need not wait for the end of the row group.
const SHARE_MIN: usize = 64 << 10;
/// Memory of the writer of a column: its compressor, its dictionary and a page.
const WRITER_BYTES: usize = 400 << 10;
/// Part of a column that compression has to save.
const SAVED_MIN: i64 = 12;
/// Part of a column that its dictionary may be.
const DICTIONARY_SHARE: i64 = 4;

/// Findings about a column of a row group, for the row groups after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Habits {
    /// False if its values hardly repeat.
    has_dictionary: bool,
    /// False if compression saves next to nothing.
    is_packed: bool,
}

/// How files are written, or a column with these habits.
fn properties(packing: Packing, habits: Habits) -> Result<WriterPropertiesBuilder, Problem> {
    let compression = match packing {
        _ if !habits.is_packed => Compression::UNCOMPRESSED,
        Packing::None => Compression::UNCOMPRESSED,
        Packing::Gzip => Compression::GZIP(GzipLevel::try_new(GZIP_LEVEL).map_err(problem)?),
        Packing::Zstd => Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).map_err(problem)?),
    };
    Ok(WriterProperties::builder()
        .set_created_by(format!("inrush {}", env!("CARGO_PKG_VERSION")))
        .set_compression(compression)
        .set_dictionary_enabled(habits.has_dictionary)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_offset_index_disabled(true)
        .set_statistics_enabled(EnabledStatistics::Chunk))
}

fn root(schema: &SchemaRef) -> Result<TypePtr, Problem> {
    let converted = ArrowSchemaConverter::new().convert(schema).map_err(problem)?;
    Ok(converted.root_schema_ptr())
}

/// The column chunks of a row group.
pub(super) type Group = Vec<GroupColumn>;

/// A column chunk: by our encoder, or by that of the library.
#[derive(Debug)]
pub(super) enum GroupColumn {
    Chunk(EncodedChunk),
    /// With its bytes of memory.
    Array(Option<ArrowColumnChunk>, usize),
}

impl GroupColumn {
    /// Bytes of memory, at most.
    pub(super) fn bytes(&self) -> usize {
        match self {
            GroupColumn::Chunk(chunk) => chunk.bytes(),
            GroupColumn::Array(_, bytes) => *bytes,
        }
    }

    /// Bytes of memory that another row group can go on in.
    pub(super) fn capacity(&self) -> usize {
        match self {
            GroupColumn::Chunk(chunk) => chunk.capacity(),
            GroupColumn::Array(..) => 0,
        }
    }

    /// Bytes of the values in their plain form, as far as they are known.
    pub(super) fn value_bytes(&self) -> usize {
        match self {
            GroupColumn::Chunk(chunk) => chunk.value_bytes(),
            GroupColumn::Array(..) => 0,
        }
    }
}

/// A column's share of the memory of a row group.
fn share(columns: &[Column], group_bytes: usize) -> usize {
    group_bytes / columns.len().max(1)
}

/// An encoder of each column that has plain values; none where memory is too small for pages of all columns at once.
pub(super) fn chunk_encoders(
    schema: &SchemaRef,
    columns: &[Column],
    group_bytes: usize,
) -> Result<Vec<Option<ChunkEncoder>>, Problem> {
    let descriptor = SchemaDescriptor::new(root(schema)?);
    let share = share(columns, group_bytes);
    // The dictionaries of all columns fill no more than half of a row group.
    let room = Room { page: share.min(ROOM_MAX), dictionary: (share / 2).min(2 * ROOM_MAX) };
    let encoder = |(at, column)| {
        let encoder = || ChunkEncoder::new(column, descriptor.column(at), room);
        (share >= SHARE_MIN).then(encoder).flatten()
    };
    Ok(columns.iter().enumerate().map(encoder).collect())
}

/// Encodes row groups, one after the other.
#[derive(Debug)]
pub(super) struct GroupEncoder {
    pub(super) packer: Packer,
    /// The library's encoders, for columns without plain values.
    columns: Vec<Option<ColumnEncoder>>,
    /// True if values wait for the end of the row group, because writers of all columns at once take too much memory.
    is_deferred: bool,
    /// Memory of the row group so far.
    bytes: usize,
}

/// Encodes the chunks of a column by the library, one after the other.
#[derive(Debug)]
struct ColumnEncoder {
    schema: SchemaRef,
    packing: Packing,
    habits: Habits,
    factory: ArrowRowGroupWriterFactory,
    writer: Option<ArrowColumnWriter>,
    waiting: Vec<ArrayRef>,
}

impl GroupEncoder {
    pub(super) fn new(format: &TableFormat) -> Result<GroupEncoder, Problem> {
        let packing = format.options.packing;
        let has_room = share(&format.columns, format.options.group_bytes) >= SHARE_MIN;
        let column = |(field, column): (&FieldRef, &Column)| {
            let habits = Habits { has_dictionary: !column.is_long(), is_packed: true };
            let encoder = || ColumnEncoder::new(field, packing, habits);
            (!has_room || column.plain().is_none()).then(encoder).transpose()
        };
        let columns = format.schema.fields().iter().zip(&format.columns);
        let columns = columns.map(column).collect::<Result<Vec<_>, _>>()?;
        let count = columns.iter().flatten().count();
        let is_deferred = count * WRITER_BYTES > 2 * format.options.group_bytes;
        Ok(GroupEncoder { packer: Packer::new(packing)?, columns, is_deferred, bytes: 0 })
    }

    /// Bytes of memory that the row group takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends values of the columns that are encoded here.
    pub(super) fn write(&mut self, arrays: Vec<Option<ArrayRef>>) -> Result<(), Problem> {
        for (column, array) in self.columns.iter_mut().zip(arrays) {
            let Some((column, array)) = column.as_mut().zip(array) else { continue };
            match self.is_deferred {
                true => column.waiting.push(array),
                false => column.write(&array)?,
            }
        }
        self.bytes = self.columns.iter().flatten().map(ColumnEncoder::bytes).sum();
        Ok(())
    }

    /// Ends the row group.
    pub(super) fn take(&mut self, values: &mut [Values]) -> Result<Group, WriteError> {
        let mut group = Vec::with_capacity(values.len());
        self.bytes = 0;
        for (number, (values, column)) in values.iter_mut().zip(&mut self.columns).enumerate() {
            group.push(match (values, column) {
                (Values::Chunk(chunk), _) => {
                    let chunk = chunk.take(&mut self.packer).map_err(|error| error.of(number))?;
                    GroupColumn::Chunk(chunk)
                }
                (Values::Array(_), Some(column)) => {
                    let bytes = column.bytes();
                    GroupColumn::Array(Some(column.take()?), bytes)
                }
                (Values::Array(_), None) => {
                    return Err(WriteError::Internal("a column has no encoder".to_owned()));
                }
            });
        }
        Ok(group)
    }
}

impl ColumnEncoder {
    fn new(field: &FieldRef, packing: Packing, habits: Habits) -> Result<ColumnEncoder, Problem> {
        let schema = SchemaRef::new(Schema::new(vec![FieldRef::clone(field)]));
        let factory = factory(&schema, packing, habits)?;
        Ok(ColumnEncoder { schema, packing, habits, factory, writer: None, waiting: Vec::new() })
    }

    fn bytes(&self) -> usize {
        let waiting = self.waiting.iter().map(Array::get_buffer_memory_size).sum::<usize>();
        waiting + self.writer.as_ref().map_or(0, ArrowColumnWriter::memory_size)
    }

    fn write(&mut self, array: &ArrayRef) -> Result<(), Problem> {
        let mut writer = self.begun()?;
        // Decimals come in narrower arrays than readers of the schema get.
        let field = self.schema.field(0).clone().with_data_type(array.data_type().clone());
        for leaf in compute_leaves(&field, array).map_err(problem)? {
            writer.write(&leaf).map_err(problem)?;
        }
        self.writer = Some(writer);
        Ok(())
    }

    /// The writer of the chunk.
    fn begun(&mut self) -> Result<ArrowColumnWriter, Problem> {
        match self.writer.take() {
            Some(writer) => Ok(writer),
            None => {
                let writers = self.factory.create_column_writers(0).map_err(problem)?;
                writers.into_iter().next().ok_or_else(|| "a column has no writer".to_owned())
            }
        }
    }

    /// Ends the chunk, and learns from it.
    fn take(&mut self) -> Result<ArrowColumnChunk, Problem> {
        for array in std::mem::take(&mut self.waiting) {
            self.write(&array)?;
        }
        let chunk = self.begun()?.close().map_err(problem)?;
        let habits = self.habits.learn(&chunk.close().metadata);
        if habits != self.habits {
            self.habits = habits;
            self.factory = factory(&self.schema, self.packing, habits)?;
        }
        Ok(chunk)
    }
}

fn factory(
    schema: &SchemaRef,
    packing: Packing,
    habits: Habits,
) -> Result<ArrowRowGroupWriterFactory, Problem> {
    let properties = properties(packing, habits)?.build();
    // The factory takes the schema and the properties from a writer of files.
    let writer = SerializedFileWriter::new(std::io::sink(), root(schema)?, properties.into());
    let writer = writer.map_err(problem)?;
    Ok(ArrowRowGroupWriterFactory::new(&writer, SchemaRef::clone(schema)))
}

impl Habits {
    /// The findings about a column with such a chunk.
    fn learn(self, chunk: &ColumnChunkMetaData) -> Habits {
        let is_dictionary_useless = has_useless_dictionary(chunk);
        let saved = chunk.uncompressed_size() - chunk.compressed_size();
        // Without its dictionary, a column may well be compressed.
        let is_packed = is_dictionary_useless && self.has_dictionary
            || self.is_packed && saved * SAVED_MIN > chunk.uncompressed_size();
        let has_dictionary = self.has_dictionary && !is_dictionary_useless;
        Habits { has_dictionary, is_packed }
    }
}

/// True if a column's dictionary was given up, or is much of what is written.
fn has_useless_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    let stats = chunk.page_encoding_stats().map(Vec::as_slice).unwrap_or_default();
    let is_plain_page = stats.iter().any(|stat| {
        stat.page_type != PageType::DICTIONARY_PAGE && stat.encoding == Encoding::PLAIN
    });
    // The writer counts from the first data page; the dictionary comes after all of these.
    let dictionary =
        chunk.dictionary_page_offset().map_or(0, |start| chunk.compressed_size() - start);
    is_plain_page || dictionary * DICTIONARY_SHARE > chunk.compressed_size()
}

/// Puts row groups one behind the other.
#[derive(Debug)]
pub(super) struct FileAssembler {
    writer: SerializedFileWriter<Vec<u8>>,
}

impl FileAssembler {
    pub(super) fn new(format: &TableFormat) -> Result<FileAssembler, Problem> {
        let habits = Habits { has_dictionary: true, is_packed: true };
        let mut properties = properties(format.options.packing, habits)?.build();
        add_encoded_arrow_schema_to_metadata(&format.schema, &mut properties);
        let root = root(&format.schema)?;
        let writer = SerializedFileWriter::new(Vec::new(), root, properties.into());
        Ok(FileAssembler { writer: writer.map_err(problem)? })
    }

    pub(super) fn begin(&mut self, to: &mut dyn Write) -> io::Result<()> {
        self.hand_on(to)
    }

    pub(super) fn group(&mut self, group: &mut Group, to: &mut dyn Write) -> io::Result<()> {
        let mut writer = self.writer.next_row_group().map_err(io::Error::other)?;
        for column in group {
            let appended = match column {
                GroupColumn::Chunk(chunk) => chunk.append(&mut writer),
                GroupColumn::Array(chunk, _) => match chunk.take() {
                    Some(chunk) => chunk.append_to_row_group(&mut writer),
                    None => Ok(()),
                },
            };
            appended.map_err(io::Error::other)?;
        }
        writer.close().map_err(io::Error::other)?;
        self.hand_on(to)
    }

    pub(super) fn finish(mut self, to: &mut dyn Write) -> io::Result<()> {
        self.writer.finish().map_err(io::Error::other)?;
        self.hand_on(to)
    }

    /// Writes the bytes since the last call.
    fn hand_on(&mut self, to: &mut dyn Write) -> io::Result<()> {
        self.writer.flush()?;
        let bytes = self.writer.inner_mut();
        to.write_all(bytes)?;
        bytes.clear();
        Ok(())
    }
}
