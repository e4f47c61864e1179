//! Arrow IPC: record batches encoded in any thread, put one behind the other as a file or a stream.
//!
//! ```text
//! stream   schema | dictionaries | batch batch .. | end
//! file     ARROW1 | stream | footer: places of all messages | ARROW1
//! ```

use std::io::{self, Write};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{
    DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext, IpcWriteOptions,
    write_message,
};
use arrow_ipc::{Block, CompressionType, FooterBuilder, MetadataVersion};
use arrow_schema::{Schema, SchemaRef};

use super::cells::Column;
use super::{TableFormat, WriteError};
use crate::guard::{Problem, problem};
use crate::written::Packing;

/// Begins a file, in eight bytes, and ends it.
const MAGIC: &[u8; 6] = b"ARROW1";
const HEAD: &[u8; 8] = b"ARROW1\0\0";
/// Ends a stream.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

fn options(packing: Packing) -> Result<IpcWriteOptions, Problem> {
    let compression = match packing {
        Packing::Zstd => Some(CompressionType::ZSTD),
        Packing::None | Packing::Gzip => None,
    };
    IpcWriteOptions::default().try_with_compression(compression).map_err(problem)
}

/// An encoded message.
#[derive(Debug)]
pub(super) struct Message {
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Message {
    fn new(data: EncodedData, options: &IpcWriteOptions) -> Result<Message, Problem> {
        let EncodedData { ipc_message, arrow_data: body } = data;
        let mut head = Vec::new();
        // The body, whose length is in the head and which is padded already, is not copied.
        let data = EncodedData { ipc_message, arrow_data: Vec::new() };
        write_message(&mut head, data, options).map_err(problem)?;
        Ok(Message { head, body })
    }

    pub(super) fn bytes(&self) -> usize {
        self.head.len() + self.body.len()
    }

    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(&self.head)?;
        to.write_all(&self.body)
    }
}

/// Encodes record batches, one after the other.
#[derive(Debug)]
pub(super) struct BatchEncoder {
    /// Values of the batch.
    pub(super) columns: Vec<Column>,
    schema: SchemaRef,
    options: IpcWriteOptions,
    tracker: DictionaryTracker,
    context: IpcWriteContext,
}

impl BatchEncoder {
    pub(super) fn new(format: &TableFormat) -> Result<BatchEncoder, Problem> {
        let options = options(format.options.packing)?;
        let mut tracker = DictionaryTracker::new(true);
        // Gives each dictionary its number.
        let _ = schema_message(&format.schema, &mut tracker, &options);
        Ok(BatchEncoder {
            columns: format.columns.clone(),
            schema: SchemaRef::clone(&format.schema),
            options,
            tracker,
            context: IpcWriteContext::default(),
        })
    }

    /// Bytes of the values.
    pub(super) fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum()
    }

    /// Encodes the values, whose dictionaries are in the file already.
    pub(super) fn take(&mut self) -> Result<Message, WriteError> {
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (number, column) in self.columns.iter_mut().enumerate() {
            arrays.push(column.finish().map_err(|bad| WriteError::Cell(number, bad))?);
        }
        let batch = RecordBatch::try_new(SchemaRef::clone(&self.schema), arrays);
        let batch = batch.map_err(WriteError::internal)?;
        let generator = IpcDataGenerator::default();
        let encoded = generator.encode(&batch, &mut self.tracker, &self.options, &mut self.context);
        let (_, data) = encoded.map_err(WriteError::internal)?;
        Ok(Message::new(data, &self.options)?)
    }
}

fn schema_message(
    schema: &Schema,
    tracker: &mut DictionaryTracker,
    options: &IpcWriteOptions,
) -> EncodedData {
    IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(schema, tracker, options)
}

/// Puts messages one behind the other.
#[derive(Debug)]
pub(super) struct FileAssembler {
    schema: SchemaRef,
    is_stream: bool,
    /// The head: the schema and all dictionaries.
    head: Vec<u8>,
    /// Bytes so far.
    bytes: usize,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
}

impl FileAssembler {
    pub(super) fn new(format: &TableFormat) -> Result<FileAssembler, Problem> {
        let options = options(format.options.packing)?;
        let is_stream = format.options.is_stream;
        let mut file = FileAssembler {
            schema: SchemaRef::clone(&format.schema),
            is_stream,
            head: if is_stream { Vec::new() } else { HEAD.to_vec() },
            bytes: 0,
            dictionaries: Vec::new(),
            batches: Vec::new(),
        };
        let mut tracker = DictionaryTracker::new(true);
        let schema = schema_message(&format.schema, &mut tracker, &options);
        file.head.extend_from_slice(&Message::new(schema, &options)?.head);
        let empty = format.columns.iter().map(|column| column.clone().finish());
        let empty = empty.collect::<Result<Vec<ArrayRef>, _>>().map_err(problem)?;
        let empty =
            RecordBatch::try_new(SchemaRef::clone(&format.schema), empty).map_err(problem)?;
        let generator = IpcDataGenerator::default();
        let mut context = IpcWriteContext::default();
        let encoded = generator.encode(&empty, &mut tracker, &options, &mut context);
        for dictionary in encoded.map_err(problem)?.0 {
            let message = Message::new(dictionary, &options)?;
            file.dictionaries.push(block(file.head.len(), &message));
            message.write(&mut file.head).map_err(problem)?;
        }
        file.bytes = file.head.len();
        Ok(file)
    }

    pub(super) fn begin(&mut self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(&std::mem::take(&mut self.head))
    }

    pub(super) fn message(&mut self, message: &Message, to: &mut dyn Write) -> io::Result<()> {
        self.batches.push(block(self.bytes, message));
        self.bytes += message.bytes();
        message.write(to)
    }

    pub(super) fn finish(self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(&END)?;
        if self.is_stream {
            return Ok(());
        }
        let mut builder = flatbuffers::FlatBufferBuilder::new();
        let dictionaries = builder.create_vector(&self.dictionaries);
        let batches = builder.create_vector(&self.batches);
        let mut tracker = DictionaryTracker::new(true);
        let schema = IpcSchemaEncoder::new()
            .with_dictionary_tracker(&mut tracker)
            .schema_to_fb_offset(&mut builder, &self.schema);
        let mut footer = FooterBuilder::new(&mut builder);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(batches);
        let root = footer.finish();
        builder.finish(root, None);
        let footer = builder.finished_data();
        to.write_all(footer)?;
        let len = i32::try_from(footer.len()).map_err(io::Error::other)?;
        to.write_all(&len.to_le_bytes())?;
        to.write_all(MAGIC)
    }
}

fn block(offset: usize, message: &Message) -> Block {
    Block::new(offset as i64, message.head.len() as i32, message.body.len() as i64)
}
