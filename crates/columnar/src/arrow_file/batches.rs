//! Record batches that were decoded, kept for readers of their other rows.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_ipc::MetadataVersion;
use arrow_ipc::reader::FileDecoder;
use arrow_schema::SchemaRef;
use face::option::MEMORY;

use super::Head;
use super::messages::Messages;
use crate::guard::{Problem, problem};

/// Record batches that are kept: the one at hand, and the one that slower readers still read.
pub(super) const KEPT: usize = 2;

/// The decoded ones.
pub(super) struct Batches {
    schema: SchemaRef,
    version: MetadataVersion,
    kept: Mutex<Vec<Arc<Kept>>>,
}

/// A record batch, decoded by the first who wants it.
struct Kept {
    index: usize,
    columns: Vec<usize>,
    batch: Mutex<Option<RecordBatch>>,
}

impl Batches {
    pub(super) fn new(head: Head) -> Batches {
        Batches { schema: head.schema, version: head.version, kept: Mutex::default() }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Some columns of a record batch, which may take so many bytes.
    pub(super) fn get(
        &self,
        messages: &Messages,
        index: usize,
        columns: &[usize],
        bytes_max: u64,
    ) -> Result<RecordBatch, Problem> {
        let kept = self.find(index, columns);
        let mut batch = kept.batch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(batch) = &*batch {
            return Ok(batch.clone());
        }
        let decoded = self.decode(messages, index, columns, bytes_max)?;
        *batch = Some(decoded.clone());
        Ok(decoded)
    }

    fn find(&self, index: usize, columns: &[usize]) -> Arc<Kept> {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = all.iter().find(|it| it.index == index && it.columns == columns) {
            return Arc::clone(kept);
        }
        if all.len() >= KEPT {
            all.remove(0);
        }
        let kept = Kept { index, columns: columns.to_vec(), batch: Mutex::default() };
        let kept = Arc::new(kept);
        all.push(Arc::clone(&kept));
        kept
    }

    fn decode(
        &self,
        messages: &Messages,
        index: usize,
        columns: &[usize],
        bytes_max: u64,
    ) -> Result<RecordBatch, Problem> {
        let stored = messages.batch(index)?.ok_or("the file has fewer record batches")?;
        let bytes = stored.bytes().saturating_add(stored.unpacked_bytes);
        let dictionaries = messages.dictionaries(stored.dictionaries);
        let of_dictionaries = dictionaries.iter().map(|it| it.unpacked_bytes).sum::<u64>();
        let bytes = bytes.saturating_add(of_dictionaries);
        if bytes > bytes_max {
            return Err(format!(
                "decoding it takes {} MiB, and {} MiB are left for it: use more {MEMORY}",
                bytes.div_ceil(1 << 20),
                bytes_max >> 20
            ));
        }
        let mut decoder = FileDecoder::new(Arc::clone(&self.schema), self.version)
            .with_projection(columns.to_vec());
        for dictionary in &dictionaries {
            let bytes = messages.read(dictionary)?;
            decoder.read_dictionary(&dictionary.block, &bytes).map_err(problem)?;
        }
        let bytes = messages.read(&stored)?;
        let batch = decoder.read_record_batch(&stored.block, &bytes).map_err(problem)?;
        batch.ok_or_else(|| "it has no rows".to_owned())
    }
}
