//! Thrift's compact protocol, in which Parquet describes its pages and its file.
//!
//! Source: Apache Thrift, "Thrift Protocol: Compact"; kinds are 1 and 2 truth, 3 a byte, 4 to 6 numbers, 7 a double,
//! 8 bytes, 9 and 10 lists, 12 a struct.

/// Structs and lists in each other.
const DEPTH_MAX: u32 = 16;

/// Thrift's compact protocol; None where it ends or is none.
pub(crate) struct Thrift<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Thrift<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Thrift<'b> {
        Thrift { bytes, at: 0 }
    }

    /// Bytes that were read.
    pub(crate) fn read_bytes(&self) -> usize {
        self.at
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

    /// A whole number.
    pub(crate) fn zigzag(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Kind and number of the next field behind that of a number; an inner None at the end of the struct.
    pub(crate) fn field(&mut self, before: i64) -> Option<Option<(u8, i64)>> {
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

    /// Kind of the items of a list, and their number.
    pub(crate) fn list(&mut self) -> Option<(u8, u64)> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => self.varint()?,
            few => u64::from(few),
        };
        // A truth value in a list is a byte.
        Some((if byte & 15 <= 2 { 3 } else { byte & 15 }, count))
    }

    /// Goes over a value.
    pub(crate) fn skip(&mut self, kind: u8) -> Option<()> {
        self.skip_within(kind, 0)
    }

    fn skip_within(&mut self, kind: u8, depth: u32) -> Option<()> {
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
                let (kind, count) = self.list()?;
                for _ in 0..count {
                    self.skip_within(kind, depth + 1)?;
                    (self.at <= self.bytes.len()).then_some(())?;
                }
            }
            12 => {
                let mut id = 0;
                while let Some((kind, number)) = self.field(id)? {
                    id = number;
                    self.skip_within(kind, depth + 1)?;
                }
            }
            _ => return None,
        }
        Some(())
    }
}
