//! The footer of a Parquet file, which names all that is before it.

use bytes::Bytes;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::ChunkReader as _;

use super::positioned::Positioned;
use crate::guard::{Problem, problem};
use crate::thrift::Thrift;

/// Length of the footer and the magic, at the end.
const TRAILER_BYTES: u64 = 8;
const MAGIC: &[u8] = b"PAR1";
/// The end of a file and the begin of another one.
const JOINT: &[u8] = b"PAR1PAR1";
/// Bytes that are searched at once.
const BLOCK_BYTES: usize = 1 << 20;

/// The bytes of the footer.
pub(super) fn read(input: &Positioned) -> Result<Bytes, Problem> {
    let bytes = input.bytes();
    let behind = bytes
        .checked_sub(TRAILER_BYTES)
        .ok_or("the file is cut off before the footer of Parquet")?;
    let trailer = input.get_bytes(behind, TRAILER_BYTES as usize).map_err(problem)?;
    let length = trailer.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length));
    let start = behind.checked_sub(u64::from(length)).ok_or("the file has no footer of Parquet")?;
    input.get_bytes(start, length as usize).map_err(problem)
}

/// True if columns are encrypted and the footer is not: it names the algorithm then.
///
/// Source: Apache Parquet, `parquet.thrift`: field 8 of FileMetaData is the encryption algorithm.
pub(super) fn has_encrypted_columns(footer: &[u8]) -> bool {
    let mut thrift = Thrift::new(footer);
    let mut id = 0;
    while let Some(Some((kind, number))) = thrift.field(id) {
        if number == 8 {
            return true;
        }
        if thrift.skip(kind).is_none() {
            return false;
        }
        id = number;
    }
    false
}

/// Refuses files that were joined: the footer has the rows of the last one, and its places are those in that file.
pub(super) fn check_one_file(
    input: &Positioned,
    footer: &Bytes,
    metadata: &ParquetMetaData,
) -> Result<(), Problem> {
    let columns = metadata.row_groups().iter().flat_map(|group| group.columns());
    let end = columns.map(end).max().unwrap_or(MAGIC.len() as u64);
    let start = input.bytes().saturating_sub(TRAILER_BYTES + footer.len() as u64);
    // Writers may put bytes there that the footer does not name: old ones did not write the size of a Bloom filter.
    let unnamed = start.saturating_sub(end);
    match begin_of_last(input, unnamed).map_err(problem)? {
        None => Ok(()),
        Some(begin) => Err(format!(
            "another Parquet file begins at byte {begin}, and rows before it would be missing; load files that were \
             joined one by one"
        )),
    }
}

/// The byte behind all that a column has.
fn end(column: &ColumnChunkMetaData) -> u64 {
    let (start, bytes) = column.byte_range();
    let index_end = |offset: Option<i64>, bytes: Option<i32>| {
        let offset = offset.and_then(|offset| u64::try_from(offset).ok()).unwrap_or_default();
        offset.saturating_add(bytes.and_then(|it| u64::try_from(it).ok()).unwrap_or_default())
    };
    start
        .saturating_add(bytes)
        .max(index_end(column.column_index_offset(), column.column_index_length()))
        .max(index_end(column.offset_index_offset(), column.offset_index_length()))
        .max(index_end(column.bloom_filter_offset(), column.bloom_filter_length()))
}

/// The byte at which the last of joined files begins, with so many bytes of which its footer knows nothing: behind
/// all of them, or in them where it has such bytes of its own.
fn begin_of_last(input: &Positioned, unnamed: u64) -> parquet::errors::Result<Option<u64>> {
    if unnamed == 0 {
        return Ok(None);
    }
    if *input.get_bytes(unnamed, MAGIC.len())? == *MAGIC {
        return Ok(Some(unnamed));
    }
    let mut at = 0;
    while at < unnamed {
        let left = usize::try_from(input.bytes() - at).unwrap_or(BLOCK_BYTES);
        let block = input.get_bytes(at, left.min(BLOCK_BYTES))?;
        let joint = block.windows(JOINT.len()).position(|bytes| bytes == JOINT);
        let begin = joint.map(|joint| at + (joint + MAGIC.len()) as u64);
        if let Some(begin) = begin.filter(|begin| *begin <= unnamed) {
            return Ok(Some(begin));
        }
        at += (BLOCK_BYTES - JOINT.len()) as u64;
    }
    Ok(None)
}
