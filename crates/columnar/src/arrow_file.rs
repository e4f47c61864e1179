//! A file or stream of Arrow's IPC: record batches, of which any columns can be decoded.
//!
//! Source: Apache Arrow's columnar format, "Serialization and Interprocess Communication", by the crate `arrow-ipc`.

mod batches;
mod messages;

use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::MetadataVersion;
use arrow_schema::SchemaRef;
use sources::FoundInput;

use self::batches::Batches;
use self::messages::Messages;
use crate::file::{Part, TypedFile};
use crate::guard::{Problem, guard};
use crate::room::Room;

/// An open Arrow file.
pub(crate) struct ArrowFile {
    messages: Messages,
    batches: Batches,
}

/// The description at the start or the end of a file.
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
            let (messages, head) = Messages::open(input)?;
            Ok(ArrowFile { messages, batches: Batches::new(head) })
        }))
    }

    /// Columns of a record batch, which is kept for who reads it next.
    fn batch(&self, part: usize, columns: &[usize], room: &Room) -> Result<RecordBatch, Problem> {
        self.batches.get(&self.messages, part, columns, room.bytes())
    }
}

impl TypedFile for ArrowFile {
    fn schema(&self) -> &SchemaRef {
        self.batches.schema()
    }

    fn part(&self, index: usize, columns: &[usize]) -> Result<Option<Part>, Problem> {
        let message = guard(|| self.messages.batch(index))?;
        let Some(message) = message else { return Ok(None) };
        let all = self.schema().fields().len().max(1) as u64;
        // Columns are taken for equally wide: what is kept is the whole batch anyway.
        let of_row = message.unpacked_bytes / message.rows.max(1);
        let row_bytes =
            of_row.saturating_mul(columns.len() as u64) / all + 8 * columns.len() as u64;
        Ok(Some(Part {
            rows: message.rows,
            row_bytes,
            end: message.end(),
            fingerprint: message.fingerprint,
        }))
    }

    fn read(
        &self,
        part: usize,
        rows: Range<u64>,
        columns: &[usize],
        room: &Room,
    ) -> Result<Vec<ArrayRef>, Problem> {
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        guard(|| {
            let batch = self.batch(part, columns, room)?;
            let (first, count) = (rows.start as usize, (rows.end - rows.start) as usize);
            if batch.num_rows() < first.saturating_add(count) {
                return Err(format!("it has {} rows, and not what it says", batch.num_rows()));
            }
            Ok(batch.slice(first, count).columns().to_vec())
        })
    }

    fn reader_bytes(&self) -> Result<u64, Problem> {
        // Readers share the batches that are kept.
        Ok(self.messages.largest()?.saturating_mul(batches::KEPT as u64))
    }

    fn part_name(&self) -> &'static str {
        "record batch"
    }

    fn check_unchanged(&self) -> sources::Result<()> {
        self.messages.input().check_unchanged()
    }
}
