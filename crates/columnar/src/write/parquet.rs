//! Parquet: row groups encoded in any thread, their pages put one behind the other.

mod bits;
mod chunk;
mod delta;
mod dictionary;
mod encoded_chunk;
mod levels;
mod pages;
mod statistics;

use std::io::{self, Write};

use arrow_schema::SchemaRef;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescriptor, TypePtr};

use super::{TableFormat, WriteError};
use crate::guard::{Problem, problem};
use chunk::{ChunkEncoder, Room};
pub(super) use encoded_chunk::EncodedChunk;
use pages::Packer;

/// Memory for a page of a column, at most.
const ROOM_MAX: usize = 1 << 20;
/// Least share of a column in a row group with which its values need not wait for the end of the row group.
const SHARE_MIN: usize = 64 << 10;

fn root(schema: &SchemaRef) -> Result<TypePtr, Problem> {
    let converted = ArrowSchemaConverter::new().convert(schema).map_err(problem)?;
    Ok(converted.root_schema_ptr())
}

/// The column chunks of a row group.
pub(super) type Group = Vec<EncodedChunk>;

/// Encodes row groups, one after the other.
#[derive(Debug)]
pub(super) struct GroupEncoder {
    pub(super) columns: Vec<ChunkEncoder>,
    packer: Packer,
    group_bytes: usize,
}

impl GroupEncoder {
    pub(super) fn new(format: &TableFormat) -> Result<GroupEncoder, Problem> {
        let TableFormat { options, schema, columns } = format;
        let descriptor = SchemaDescriptor::new(root(schema)?);
        let share = options.group_bytes / columns.len().max(1);
        // The dictionaries of all columns fill no more than half of a row group.
        let room = Room { page: share.min(ROOM_MAX), dictionary: (share / 2).min(2 * ROOM_MAX) };
        let waits = share < SHARE_MIN;
        let encoder = |(at, column)| ChunkEncoder::new(column, descriptor.column(at), room, waits);
        let columns = columns.iter().enumerate().map(encoder).collect();
        let packer = Packer::new(options.packing)?;
        Ok(GroupEncoder { columns, packer, group_bytes: options.group_bytes })
    }

    /// Ends rows, and the pages that they fill; gives the bytes of memory of the row group so far, and of its values in
    /// their plain form.
    pub(super) fn end_rows(&mut self) -> Result<(usize, usize), WriteError> {
        let (mut bytes, mut value_bytes) = (0, 0);
        for (number, column) in self.columns.iter_mut().enumerate() {
            column.end_rows(&mut self.packer).map_err(|error| error.of(number))?;
            bytes += column.bytes();
            value_bytes += column.value_bytes();
        }
        Ok((bytes, value_bytes))
    }

    /// Ends the row group.
    pub(super) fn take(&mut self) -> Result<Group, WriteError> {
        let chunk = |(number, column): (usize, &mut ChunkEncoder)| {
            column.take(&mut self.packer).map_err(|error| error.of(number))
        };
        self.columns.iter_mut().enumerate().map(chunk).collect()
    }

    /// Goes on in the memory of a row group that is written; long values may have been in other columns of that one.
    pub(super) fn reuse(&mut self, spare: Group) {
        let capacity: usize = spare.iter().map(EncodedChunk::capacity).sum();
        if capacity <= 2 * self.group_bytes {
            self.columns.iter_mut().zip(spare).for_each(|(column, chunk)| column.reuse(chunk));
        }
    }
}

/// Puts row groups one behind the other.
#[derive(Debug)]
pub(super) struct FileAssembler {
    writer: SerializedFileWriter<Vec<u8>>,
}

impl FileAssembler {
    pub(super) fn new(format: &TableFormat) -> Result<FileAssembler, Problem> {
        let created_by = format!("inrush {}", env!("CARGO_PKG_VERSION"));
        let mut properties = WriterProperties::builder()
            .set_created_by(created_by)
            .set_offset_index_disabled(true)
            .build();
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
        for chunk in group {
            chunk.append(&mut writer).map_err(io::Error::other)?;
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
