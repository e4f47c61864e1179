//! A file or stream of Arrow's IPC: record batches, of which any columns can be decoded.
//!
//! Source: Apache Arrow's columnar format, "Serialization and Interprocess Communication", by the crate `arrow-ipc`.

mod messages;
mod slices;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::MetadataVersion;
use arrow_ipc::reader::FileDecoder;
use arrow_schema::SchemaRef;
use locks::Mutex;
use sources::FoundInput;

use self::messages::{Messages, Stored};
use self::slices::SlicedBatch;
use crate::file::{Decoded, OpenPart, Part, TypedFile, VALUES_MAX, are_plain};
use crate::guard::{Problem, guard, problem};

/// Batches of less are read as a whole, by one request to the file.
const SLICED_BYTES_MIN: u64 = 256 << 10;
/// Least bytes of a column for the rows of a chunk: requests for less cost more than the rest of the batch.
const COLUMN_BYTES_MIN: u64 = 8 << 10;

/// An open Arrow file.
pub(crate) struct ArrowFile {
    messages: Arc<Messages>,
    schema: SchemaRef,
    /// True if rows of a batch that is not compressed can be read alone.
    has_slices: bool,
    /// Bytes of a row of the batch at hand.
    widths: Mutex<Option<Widths>>,
}

/// Bytes of some columns of a batch, for a row.
struct Widths {
    part: usize,
    columns: Vec<usize>,
    row_bytes: u64,
}

/// The description at the start of a stream or the end of a file.
#[derive(Clone)]
struct Head {
    schema: SchemaRef,
    version: MetadataVersion,
}

impl ArrowFile {
    /// Opens a file, or a stream of which only the schema is read.
    ///
    /// Errors: an input that cannot be read; a footer or a schema that is damaged.
    pub(crate) fn open(input: &FoundInput) -> sources::Result<Result<ArrowFile, Problem>> {
        let input = input.open()?;
        Ok(guard(|| {
            let has_slices = input.is_local();
            let (messages, schema) = Messages::open(input)?;
            let has_slices = has_slices && slices::are_found(&schema);
            let (messages, widths) = (Arc::new(messages), Mutex::default());
            Ok(ArrowFile { messages, schema, has_slices, widths })
        }))
    }

    fn is_sliced(&self, stored: &Stored) -> bool {
        let columns = self.schema.fields().len().max(1) as u64;
        let of_column = stored.bytes() / stored.rows.max(1) * (VALUES_MAX / columns) / columns;
        self.has_slices
            && !stored.is_packed
            && stored.bytes() >= SLICED_BYTES_MIN
            && of_column >= COLUMN_BYTES_MIN
    }

    fn opened(&self, part: usize, columns: &[usize]) -> Result<Box<dyn OpenPart>, Problem> {
        let stored = self.stored(part)?;
        if !self.is_sliced(&stored) {
            return Ok(Box::new(OpenBatch(self.decode(&stored, columns)?)));
        }
        let batch = SlicedBatch::open(&self.messages, &stored, &self.schema, columns)?;
        batch.check_nulls()?;
        Ok(Box::new(batch))
    }

    /// Bytes of a row of some columns of a batch that is sliced. The batch at hand is asked for with each chunk.
    fn row_bytes(&self, part: usize, stored: &Stored, columns: &[usize]) -> Result<u64, Problem> {
        let mut widths = self.widths.lock();
        if let Some(known) = &*widths
            && known.part == part
            && known.columns == columns
        {
            return Ok(known.row_bytes);
        }
        let batch = SlicedBatch::open(&self.messages, stored, &self.schema, columns)?;
        let row_bytes = batch.bytes() / stored.rows.max(1);
        *widths = Some(Widths { part, columns: columns.to_vec(), row_bytes });
        Ok(row_bytes)
    }

    fn decode(&self, stored: &Stored, columns: &[usize]) -> Result<RecordBatch, Problem> {
        let messages = &self.messages;
        let Head { schema, version } = messages.head(stored).ok_or("it has no schema")?;
        let mut decoder = FileDecoder::new(schema, version).with_projection(columns.to_vec());
        for dictionary in messages.dictionaries(stored) {
            let bytes = messages.read(&dictionary)?;
            decoder.read_dictionary(&dictionary.block, &bytes).map_err(problem)?;
        }
        let bytes = messages.read(stored)?;
        let batch = decoder.read_record_batch(&stored.block, &bytes).map_err(problem)?;
        batch.ok_or_else(|| "it has no rows".to_owned())
    }

    fn stored(&self, part: usize) -> Result<Stored, Problem> {
        let stored = guard(|| self.messages.batch(part))?;
        stored.ok_or_else(|| "the file has fewer record batches".to_owned())
    }
}

/// A record batch that was decoded.
struct OpenBatch(RecordBatch);

impl OpenPart for OpenBatch {
    fn read(&self, rows: Range<u64>) -> Result<Vec<Decoded>, Problem> {
        let (first, count) = (rows.start as usize, (rows.end - rows.start) as usize);
        if self.0.num_rows() < first.saturating_add(count) {
            return Err(format!("it has {} rows, and not what it says", self.0.num_rows()));
        }
        let batch = self.0.slice(first, count);
        Ok(batch.columns().iter().cloned().map(Decoded::Array).collect())
    }
}

impl TypedFile for ArrowFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn part(&self, index: usize, columns: &[usize]) -> Result<Option<Part>, Problem> {
        let message = guard(|| self.messages.batch(index))?;
        let Some(message) = message else { return Ok(None) };
        let all = self.schema().fields().len().max(1) as u64;
        let row_bytes = match self.is_sliced(&message) {
            true => guard(|| self.row_bytes(index, &message, columns))?,
            // Columns are taken for equally wide: what is kept is the whole batch anyway.
            false => {
                let of_row = message.unpacked_bytes / message.rows.max(1);
                of_row.saturating_mul(columns.len() as u64) / all
            }
        };
        let row_bytes = row_bytes + 8 * columns.len() as u64;
        Ok(Some(Part {
            rows: message.rows,
            first_row: None,
            row_bytes,
            end: message.end(),
            fingerprint: message.fingerprint,
        }))
    }

    fn part_bytes(&self, part: usize, _columns: &[usize]) -> Result<u64, Problem> {
        let stored = self.stored(part)?;
        if self.is_sliced(&stored) {
            return Ok(0);
        }
        let bytes = stored.bytes().saturating_add(stored.unpacked_bytes);
        let dictionaries = self.messages.dictionaries(&stored);
        let of_dictionaries = dictionaries.iter().map(|it| it.unpacked_bytes).sum::<u64>();
        Ok(bytes.saturating_add(of_dictionaries))
    }

    fn open_part(&self, part: usize, columns: &[usize]) -> Result<Box<dyn OpenPart>, Problem> {
        guard(|| self.opened(part, columns))
    }

    fn reader_bytes(&self) -> Result<u64, Problem> {
        // Few rows may have nearly all bytes of a batch, also where rows are read alone.
        self.messages.largest()
    }

    fn has_alike_parts(&self) -> bool {
        are_plain(self.schema())
    }

    fn part_name(&self) -> &'static str {
        "record batch"
    }

    fn description_bytes(&self) -> Option<u64> {
        Some(self.messages.description_bytes())
    }

    fn close(&self) {
        self.messages.input().close();
    }

    fn check_unchanged(&self) -> sources::Result<()> {
        self.messages.input().check_unchanged()
    }
}
