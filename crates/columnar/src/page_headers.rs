//! Headers of Parquet's pages: the sizes that they claim, examined before anything is decoded.
//!
//! Source: Apache Parquet, `parquet.thrift`, struct PageHeader, in Thrift's compact protocol.

use sources::InputBytes;

use crate::guard::{Problem, problem};
use crate::thrift::Thrift;

/// Bytes that have most headers, and bytes that have all of them.
const HEADER_BYTES: [usize; 2] = [512, 1 << 20];

/// The pages of a column of a row group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pages {
    /// Bytes that decoding one page takes at most, packed and unpacked.
    pub(crate) page_bytes: u64,
    /// Bytes of the dictionary, unpacked.
    pub(crate) dictionary_bytes: u64,
    /// Values of the dictionary; 0 without one.
    pub(crate) dictionary_values: u64,
    /// Bytes of the other pages, unpacked.
    pub(crate) data_bytes: u64,
    /// Values of the column, NULL included.
    pub(crate) values: u64,
}

/// A page's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Header {
    /// 0 for data, 2 for a dictionary, 3 for data of version 2.
    kind: i64,
    unpacked: i64,
    packed: i64,
    values: i64,
}

impl Pages {
    /// Walks over the headers of the pages in `start..end` of a file.
    pub(crate) fn walk(input: &InputBytes, start: u64, end: u64) -> Result<Pages, Problem> {
        let mut pages = Pages::default();
        let mut at = start;
        while at < end {
            let (header, size) = read(input, at, end)?;
            let packed = u64::try_from(header.packed).map_err(|_| negative())?;
            let unpacked = u64::try_from(header.unpacked).map_err(|_| negative())?;
            let values = u64::try_from(header.values).map_err(|_| negative())?;
            at = at.saturating_add(size).saturating_add(packed);
            if at > end {
                return Err("a page goes on behind the end of its column".to_owned());
            }
            match header.kind {
                2 => {
                    pages.dictionary_bytes += unpacked;
                    pages.dictionary_values += values;
                }
                _ => {
                    pages.values = pages.values.saturating_add(values);
                    pages.data_bytes = pages.data_bytes.saturating_add(unpacked);
                }
            }
            pages.page_bytes = pages.page_bytes.max(packed.saturating_add(unpacked));
        }
        Ok(pages)
    }
}

fn negative() -> Problem {
    "a page says that its size is negative".to_owned()
}

/// The header at a byte of the file, and its size.
fn read(input: &InputBytes, at: u64, end: u64) -> Result<(Header, u64), Problem> {
    for bytes in HEADER_BYTES {
        let mut head = vec![0; bytes.min(usize::try_from(end - at).unwrap_or(bytes))];
        let size = input.read_at(at, &mut head).map_err(problem)?;
        let mut thrift = Thrift::new(&head[..size]);
        if let Some(header) = header(&mut thrift) {
            return Ok((header, thrift.read_bytes() as u64));
        }
        if size < bytes {
            break;
        }
    }
    Err("a page's header is damaged".to_owned())
}

/// The header at the begin; None where the bytes end, or have none.
fn header(thrift: &mut Thrift<'_>) -> Option<Header> {
    let mut header = Header { kind: -1, unpacked: -1, packed: -1, values: 0 };
    let mut id = 0;
    while let Some((kind, number)) = thrift.field(id)? {
        id = number;
        match (number, kind) {
            (1, 5) => header.kind = thrift.zigzag()?,
            (2, 5) => header.unpacked = thrift.zigzag()?,
            (3, 5) => header.packed = thrift.zigzag()?,
            (5 | 7 | 8, 12) => header.values = first_number(thrift)?,
            (_, kind) => thrift.skip(kind)?,
        }
    }
    Some(header)
}

/// The field 1 of a struct, a number.
fn first_number(thrift: &mut Thrift<'_>) -> Option<i64> {
    let (mut id, mut first) = (0, 0);
    while let Some((kind, number)) = thrift.field(id)? {
        id = number;
        match (number, kind) {
            (1, 5) => first = thrift.zigzag()?,
            (_, kind) => thrift.skip(kind)?,
        }
    }
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_its_sizes() {
        // type 0, unpacked 10, packed 12, a data page of 3 values in plain encoding.
        let bytes = [0x15, 0, 0x15, 20, 0x15, 24, 0x2c, 0x15, 6, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];
        let mut thrift = Thrift::new(&bytes);
        let seen = header(&mut thrift);
        assert_eq!(seen, Some(Header { kind: 0, unpacked: 10, packed: 12, values: 3 }));
        assert_eq!(thrift.read_bytes(), bytes.len());
        for end in 0..bytes.len() {
            assert_eq!(header(&mut Thrift::new(&bytes[..end])), None, "{end}");
        }
    }
}
