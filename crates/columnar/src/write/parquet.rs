//! Parquet: row groups encoded in any thread, their pages put one behind the other.

use std::io::{self, Write};

use arrow_array::ArrayRef;
use arrow_schema::{Field, SchemaRef};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, Encoding, GzipLevel, PageType, ZstdLevel};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, TypePtr};

use super::TableFormat;
use super::cells::Column;
use crate::guard::{Problem, problem};
use crate::written::Packing;

/// Level of zstd: higher ones take twice the time for files that are a few percent smaller.
const ZSTD_LEVEL: i32 = 1;
const GZIP_LEVEL: u32 = 4;
/// Part of a column that compression has to save.
const SAVED_MIN: i64 = 12;
/// Part of a column that its dictionary may be.
const DICTIONARY_SHARE: i64 = 4;

/// What a row group tells of a column, for those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Habits {
    /// False if its values hardly repeat.
    has_dictionary: bool,
    /// False if compression saves next to nothing.
    is_packed: bool,
}

/// How files are written, columns by their habits.
fn properties(
    schema: &SchemaRef,
    packing: Packing,
    habits: &[Habits],
) -> Result<WriterProperties, Problem> {
    let compression = match packing {
        Packing::None => Compression::UNCOMPRESSED,
        Packing::Gzip => Compression::GZIP(GzipLevel::try_new(GZIP_LEVEL).map_err(problem)?),
        Packing::Zstd => Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).map_err(problem)?),
    };
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("inrush {}", env!("CARGO_PKG_VERSION")))
        .set_compression(compression)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for (field, habits) in schema.fields().iter().zip(habits) {
        let path = ColumnPath::from(vec![field.name().clone()]);
        if !habits.is_packed {
            let none = Compression::UNCOMPRESSED;
            properties = properties.set_column_compression(path.clone(), none);
        }
        properties = properties.set_column_dictionary_enabled(path, habits.has_dictionary);
    }
    let mut properties = properties.build();
    add_encoded_arrow_schema_to_metadata(schema, &mut properties);
    Ok(properties)
}

fn root(schema: &SchemaRef) -> Result<TypePtr, Problem> {
    let converted = ArrowSchemaConverter::new().convert(schema).map_err(problem)?;
    Ok(converted.root_schema_ptr())
}

/// The column chunks of a row group.
pub(super) type Group = Vec<ArrowColumnChunk>;

/// Encodes row groups, one after the other.
#[derive(Debug)]
pub(super) struct GroupEncoder {
    schema: SchemaRef,
    packing: Packing,
    factory: ArrowRowGroupWriterFactory,
    columns: Vec<ArrowColumnWriter>,
    habits: Vec<Habits>,
}

impl GroupEncoder {
    pub(super) fn new(format: &TableFormat) -> Result<GroupEncoder, Problem> {
        let schema = SchemaRef::clone(&format.schema);
        let packing = format.options.packing;
        let habits =
            |column: &Column| Habits { has_dictionary: !column.is_long(), is_packed: true };
        let habits: Vec<Habits> = format.columns.iter().map(habits).collect();
        let factory = factory(&schema, packing, &habits)?;
        let columns = factory.create_column_writers(0).map_err(problem)?;
        Ok(GroupEncoder { schema, packing, factory, columns, habits })
    }

    /// Bytes of memory that the row group takes.
    pub(super) fn bytes(&self) -> usize {
        self.columns.iter().map(ArrowColumnWriter::memory_size).sum()
    }

    /// Appends values of all columns.
    pub(super) fn write(&mut self, arrays: &[ArrayRef]) -> Result<(), Problem> {
        let fields = self.schema.fields().iter().zip(arrays);
        for ((field, array), column) in fields.zip(&mut self.columns) {
            // Decimals come in narrower arrays than readers of the schema get.
            let narrow = Field::new(field.name(), array.data_type().clone(), field.is_nullable());
            for leaf in compute_leaves(&narrow, array).map_err(problem)? {
                column.write(&leaf).map_err(problem)?;
            }
        }
        Ok(())
    }

    /// Ends the row group.
    pub(super) fn take(&mut self) -> Result<Group, Problem> {
        let columns = std::mem::take(&mut self.columns).into_iter();
        let group: Group =
            columns.map(|column| column.close().map_err(problem)).collect::<Result<_, _>>()?;
        let learn =
            |(chunk, habits): (&ArrowColumnChunk, &Habits)| habits.learn(&chunk.close().metadata);
        let habits: Vec<Habits> = group.iter().zip(&self.habits).map(learn).collect();
        if habits != self.habits {
            self.factory = factory(&self.schema, self.packing, &habits)?;
            self.habits = habits;
        }
        self.columns = self.factory.create_column_writers(0).map_err(problem)?;
        Ok(group)
    }
}

fn factory(
    schema: &SchemaRef,
    packing: Packing,
    habits: &[Habits],
) -> Result<ArrowRowGroupWriterFactory, Problem> {
    let properties = properties(schema, packing, habits)?;
    // The factory takes the schema and the properties from a writer of files.
    let writer = SerializedFileWriter::new(std::io::sink(), root(schema)?, properties.into());
    let writer = writer.map_err(problem)?;
    Ok(ArrowRowGroupWriterFactory::new(&writer, SchemaRef::clone(schema)))
}

impl Habits {
    /// Those of a column with such a chunk.
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
        let properties = properties(&format.schema, format.options.packing, &[])?;
        let root = root(&format.schema)?;
        let writer = SerializedFileWriter::new(Vec::new(), root, properties.into());
        Ok(FileAssembler { writer: writer.map_err(problem)? })
    }

    pub(super) fn begin(&mut self, to: &mut dyn Write) -> io::Result<()> {
        self.hand_on(to)
    }

    pub(super) fn group(&mut self, group: Group, to: &mut dyn Write) -> io::Result<()> {
        let mut writer = self.writer.next_row_group().map_err(io::Error::other)?;
        for chunk in group {
            chunk.append_to_row_group(&mut writer).map_err(io::Error::other)?;
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
