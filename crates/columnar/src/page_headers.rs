//! Headers of Parquet's pages: the sizes that they claim, examined before anything is decoded.
//!
//! Source: Apache Parquet, `parquet.thrift`, struct PageHeader, in Thrift's compact protocol.

use sources::InputBytes;

use crate::guard::{Problem, problem};

/// Bytes that have most headers, and bytes that have all of them.
const HEADER_BYTES: [usize; 2] = [512, 1 << 20];
/// Structs in each other.
const DEPTH_MAX: u32 = 16;

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
        let mut thrift = Thrift { bytes: &head[..size], at: 0 };
        if let Some(header) = thrift.header() {
            return Ok((header, thrift.at as u64));
        }
        if size < bytes {
            break;
        }
    }
    Err("a page's header is damaged".to_owned())
}

/// Thrift's compact protocol; None where it ends or is none.
struct Thrift<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Thrift<'_> {
    fn header(&mut self) -> Option<Header> {
        let mut header = Header { kind: -1, unpacked: -1, packed: -1, values: 0 };
        let mut id = 0;
        while let Some((kind, number)) = self.field(id)? {
            id = number;
            match (number, kind) {
                (1, 5) => header.kind = self.zigzag()?,
                (2, 5) => header.unpacked = self.zigzag()?,
                (3, 5) => header.packed = self.zigzag()?,
                (5 | 7 | 8, 12) => header.values = self.first_number()?,
                (_, kind) => self.skip(kind, 0)?,
            }
        }
        Some(header)
    }

    /// The field 1 of a struct, a number.
    fn first_number(&mut self) -> Option<i64> {
        let (mut id, mut first) = (0, 0);
        while let Some((kind, number)) = self.field(id)? {
            id = number;
            match (number, kind) {
                (1, 5) => first = self.zigzag()?,
                (_, kind) => self.skip(kind, 0)?,
            }
        }
        Some(first)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Kind and number of the next field behind that of a number; an inner None at the end of the struct.
    fn field(&mut self, before: i64) -> Option<Option<(u8, i64)>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        let number = match byte >> 4 {
            0 => self.zigzag()?,
            more => before.checked_add(i64::from(more))?,
        };
        Some(Some((byte & 15, number)))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match kind {
            1 | 2 => {}
            3 => self.at += 1,
            4..=6 => drop(self.varint()?),
            7 => self.at += 8,
            8 => {
                let size = usize::try_from(self.varint()?).ok()?;
                self.at = self.at.checked_add(size)?;
            }
            9 | 10 => {
                let byte = self.byte()?;
                let count = match byte >> 4 {
                    15 => self.varint()?,
                    few => u64::from(few),
                };
                for _ in 0..count {
                    // A truth value in a list is a byte.
                    self.skip(if byte & 15 <= 2 { 3 } else { byte & 15 }, depth + 1)?;
                    (self.at <= self.bytes.len()).then_some(())?;
                }
            }
            12 => {
                let mut id = 0;
                while let Some((kind, number)) = self.field(id)? {
                    id = number;
                    self.skip(kind, depth + 1)?;
                }
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_its_sizes() {
        // type 0, unpacked 10, packed 12, a data page of 3 values in plain encoding.
        let bytes = [0x15, 0, 0x15, 20, 0x15, 24, 0x2c, 0x15, 6, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];
        let mut thrift = Thrift { bytes: &bytes, at: 0 };
        let header = thrift.header();
        assert_eq!(header, Some(Header { kind: 0, unpacked: 10, packed: 12, values: 3 }));
        assert_eq!(thrift.at, bytes.len());
        for end in 0..bytes.len() {
            assert_eq!(Thrift { bytes: &bytes[..end], at: 0 }.header(), None, "{end}");
        }
    }
}
