//! Parquet: row groups encoded in any thread, their pages put one behind the other.

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
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
use crate::guard::{Problem, problem};
use crate::written::Packing;

/// Level of zstd: higher ones take twice the time for files that are a few percent smaller.
const ZSTD_LEVEL: i32 = 1;
const GZIP_LEVEL: u32 = 4;

/// How files are written; `plain` columns, whose values hardly repeat, have no dictionary.
fn properties(
    schema: &SchemaRef,
    packing: Packing,
    plain: &[bool],
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
    for (field, is_plain) in schema.fields().iter().zip(plain) {
        if *is_plain {
            let path = ColumnPath::from(vec![field.name().clone()]);
            properties = properties.set_column_dictionary_enabled(path, false);
        }
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
    /// Columns whose dictionaries were of no use in a row group before.
    plain: Vec<bool>,
}

impl GroupEncoder {
    pub(super) fn new(format: &TableFormat) -> Result<GroupEncoder, Problem> {
        let schema = SchemaRef::clone(&format.schema);
        let (packing, plain) = (format.options.packing, format.columns.iter());
        let plain: Vec<bool> = plain.map(|column| column.is_long()).collect();
        let factory = factory(&schema, packing, &plain)?;
        let columns = factory.create_column_writers(0).map_err(problem)?;
        Ok(GroupEncoder { schema, packing, factory, columns, plain })
    }

    /// Bytes of memory that the row group takes.
    pub(super) fn bytes(&self) -> usize {
        self.columns.iter().map(ArrowColumnWriter::memory_size).sum()
    }

    /// Appends values of all columns.
    pub(super) fn write(&mut self, arrays: &[ArrayRef]) -> Result<(), Problem> {
        let fields = self.schema.fields().iter().zip(arrays);
        for ((field, array), column) in fields.zip(&mut self.columns) {
            for leaf in compute_leaves(field, array).map_err(problem)? {
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
        let mut is_changed = false;
        for (chunk, plain) in group.iter().zip(&mut self.plain) {
            if !*plain && has_useless_dictionary(&chunk.close().metadata) {
                (*plain, is_changed) = (true, true);
            }
        }
        if is_changed {
            self.factory = factory(&self.schema, self.packing, &self.plain)?;
        }
        self.columns = self.factory.create_column_writers(0).map_err(problem)?;
        Ok(group)
    }
}

fn factory(
    schema: &SchemaRef,
    packing: Packing,
    plain: &[bool],
) -> Result<ArrowRowGroupWriterFactory, Problem> {
    let properties = properties(schema, packing, plain)?;
    // The factory takes the schema and the properties from a writer of files.
    let writer = SerializedFileWriter::new(std::io::sink(), root(schema)?, properties.into());
    let writer = writer.map_err(problem)?;
    Ok(ArrowRowGroupWriterFactory::new(&writer, SchemaRef::clone(schema)))
}

/// True if a column's dictionary was given up, or is most of what is written.
fn has_useless_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    let stats = chunk.page_encoding_stats().map(Vec::as_slice).unwrap_or_default();
    let is_plain_page = stats.iter().any(|stat| {
        stat.page_type != PageType::DICTIONARY_PAGE && stat.encoding == Encoding::PLAIN
    });
    // The writer counts from the first data page; the dictionary comes after all of these.
    let dictionary =
        chunk.dictionary_page_offset().map_or(0, |start| chunk.compressed_size() - start);
    is_plain_page || dictionary * 2 > chunk.compressed_size()
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

    pub(super) fn begin(&mut self, out: &mut Vec<u8>) -> Result<(), Problem> {
        self.written(out)
    }

    pub(super) fn group(&mut self, group: Group, out: &mut Vec<u8>) -> Result<(), Problem> {
        let mut writer = self.writer.next_row_group().map_err(problem)?;
        for chunk in group {
            chunk.append_to_row_group(&mut writer).map_err(problem)?;
        }
        writer.close().map_err(problem)?;
        self.written(out)
    }

    pub(super) fn finish(mut self, out: &mut Vec<u8>) -> Result<(), Problem> {
        self.writer.finish().map_err(problem)?;
        self.written(out)
    }

    /// Moves the bytes since the last call into `out`.
    fn written(&mut self, out: &mut Vec<u8>) -> Result<(), Problem> {
        self.writer.flush().map_err(problem)?;
        out.clear();
        std::mem::swap(out, self.writer.inner_mut());
        Ok(())
    }
}
