//! A column chunk as it is in a file: its dictionary, its pages and their description.

use std::io::{Chain, Read};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;

use super::pages::PageHead;
use crate::guard::{Problem, problem};

/// An encoded chunk.
#[derive(Debug, Default)]
pub(in crate::write) struct EncodedChunk {
    pub(super) dictionary: Vec<u8>,
    pub(super) pages: Vec<u8>,
    description: Option<ColumnCloseResult>,
    value_bytes: usize,
}

/// Sums over the pages of a chunk.
#[derive(Debug, Default)]
pub(super) struct Totals {
    rows: usize,
    pub(super) nulls: usize,
    /// Bytes of pages, heads included, before they are compressed.
    plain_bytes: usize,
    /// Bytes of the values in their plain form.
    pub(super) value_bytes: usize,
    /// Encodings of data pages, and how many pages have each.
    data_pages: Vec<(Encoding, i32)>,
    /// True if bodies are compressed; none before the first page.
    pub(super) is_packed: Option<bool>,
}

impl Totals {
    /// True before the first page.
    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// True if a page has numbers of the dictionary.
    pub(super) fn is_indexed(&self) -> bool {
        self.data_pages.iter().any(|(encoding, _)| *encoding == Encoding::RLE_DICTIONARY)
    }

    /// Appends a page to `out`, and counts it.
    pub(super) fn push_page(
        &mut self,
        head: &PageHead,
        out: &mut Vec<u8>,
        body: &[u8],
    ) -> Result<(), Problem> {
        let start = out.len();
        head.push(out)?;
        self.plain_bytes += out.len() - start + head.plain_bytes;
        out.extend_from_slice(body);
        if head.page_type == PageType::DATA_PAGE {
            self.rows += head.values;
            match self.data_pages.iter_mut().find(|(encoding, _)| *encoding == head.encoding) {
                Some((_, count)) => *count += 1,
                None => self.data_pages.push((head.encoding, 1)),
            }
        }
        Ok(())
    }

    fn page_stats(&self) -> Vec<PageEncodingStats> {
        let stats = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
        let dictionary =
            self.is_indexed().then(|| stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1));
        let data = self.data_pages.iter();
        let data = data.map(|(encoding, count)| stats(PageType::DATA_PAGE, *encoding, *count));
        dictionary.into_iter().chain(data).collect()
    }
}

impl EncodedChunk {
    /// Bytes of memory.
    pub(in crate::write) fn bytes(&self) -> usize {
        self.dictionary.len() + self.pages.len()
    }

    /// Bytes that it has memory for.
    pub(super) fn capacity(&self) -> usize {
        self.dictionary.capacity() + self.pages.capacity()
    }

    /// Bytes of the values in their plain form.
    pub(in crate::write) fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// Describes the chunk, whose pages are complete.
    pub(super) fn close(
        &mut self,
        descriptor: &ColumnDescPtr,
        totals: &Totals,
        codec: Compression,
        statistics: Statistics,
    ) -> Result<(), Problem> {
        self.value_bytes = totals.value_bytes;
        let has_dictionary = !self.dictionary.is_empty();
        let stats = totals.page_stats();
        let mut encodings = vec![Encoding::RLE];
        encodings.extend(stats.iter().map(|stats| stats.encoding));
        let bytes = self.bytes() as i64;
        let metadata = ColumnChunkMetaData::builder(ColumnDescPtr::clone(descriptor))
            .set_encodings(encodings)
            .set_page_encoding_stats(stats)
            .set_compression(codec)
            .set_total_compressed_size(bytes)
            .set_total_uncompressed_size(totals.plain_bytes as i64)
            .set_num_values(totals.rows as i64)
            .set_dictionary_page_offset(has_dictionary.then_some(0))
            .set_data_page_offset(self.dictionary.len() as i64)
            .set_statistics(statistics);
        self.description = Some(ColumnCloseResult {
            bytes_written: bytes as u64,
            rows_written: totals.rows as u64,
            metadata: metadata.build().map_err(problem)?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        });
        Ok(())
    }

    /// Appends the chunk to a row group.
    pub(super) fn append<W: std::io::Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let missing = || ParquetError::General("a chunk without a description".to_owned());
        let description = self.description.take().ok_or_else(missing)?;
        group.append_column(&Parts(&self.dictionary, &self.pages), description)
    }

    /// Takes the memory of a chunk that is written.
    pub(super) fn reuse(&mut self, chunk: EncodedChunk) {
        if self.bytes() == 0 {
            *self = chunk;
            self.dictionary.clear();
            self.pages.clear();
        }
    }
}

/// The two parts of a chunk, to be read as one.
struct Parts<'a>(&'a [u8], &'a [u8]);

impl Length for Parts<'_> {
    fn len(&self) -> u64 {
        (self.0.len() + self.1.len()) as u64
    }
}

impl<'a> ChunkReader for Parts<'a> {
    type T = Chain<&'a [u8], &'a [u8]>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let start = start as usize;
        let first = self.0.get(start..).unwrap_or_default();
        let second = self.1.get(start.saturating_sub(self.0.len())..).unwrap_or_default();
        Ok(first.chain(second))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let mut bytes = Vec::with_capacity(length);
        self.get_read(start)?.take(length as u64).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}
