//! A row of the input, small enough to travel in every entry of a sort.

use std::path::PathBuf;

use serde::Serialize;
use values::decode::big_endian;

/// Which row of which file, and the line it is on. Ascends in input order.
///
/// In a sort most of its bits are equal in all rows, and cost nothing there: the file, and, where
/// every row is one line, `ahead`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Index into the input's files.
    pub(crate) file: u32,
    /// Number of the row in its file, from 0.
    pub(crate) row: u64,
    /// Lines before the row that are more than one a row: a header, line ends within fields.
    /// Wraps below 0 where rows share a line.
    ahead: u64,
}

/// [`Place::file`] of a row that the table has already.
const IN_TABLE: u32 = u32::MAX;

/// A place as people read it.
#[derive(Debug, Serialize)]
pub(crate) struct FileLine {
    pub(crate) file: String,
    pub(crate) line: u64,
}

impl Place {
    /// Bytes of [`Place::to_bytes`].
    pub(crate) const BYTES: usize = 20;

    /// Row `row` of a file, which begins on line `line` (from 1).
    pub(crate) fn new(file: u32, row: u64, line: u64) -> Place {
        Place { file, row, ahead: line.wrapping_sub(1).wrapping_sub(row) }
    }

    /// A row that the table has already: before all rows of the input. `number` tells it from others.
    pub(crate) fn in_table(number: u64) -> Place {
        Place { file: IN_TABLE, row: number, ahead: 0 }
    }

    /// True for a row of the table.
    pub(crate) fn is_in_table(&self) -> bool {
        self.file == IN_TABLE
    }

    /// Line of the file, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.ahead.wrapping_add(self.row).wrapping_add(1)
    }

    /// Memcmp-ordered.
    pub(crate) fn to_bytes(self) -> [u8; Place::BYTES] {
        let mut bytes = [0; Place::BYTES];
        // Rows of the table come first.
        bytes[..4].copy_from_slice(&self.file.wrapping_add(1).to_be_bytes());
        bytes[4..12].copy_from_slice(&self.row.to_be_bytes());
        bytes[12..].copy_from_slice(&self.ahead.to_be_bytes());
        bytes
    }

    /// Reads the bytes of [`Place::to_bytes`].
    pub(crate) fn from_bytes(bytes: &[u8]) -> Place {
        Place {
            file: (big_endian(&bytes[..4]) as u32).wrapping_sub(1),
            row: big_endian(&bytes[4..12]),
            ahead: big_endian(&bytes[12..Place::BYTES]),
        }
    }

    /// File and line by their names.
    pub(crate) fn file_line(&self, files: &[PathBuf]) -> FileLine {
        let file = files.get(self.file as usize);
        FileLine {
            file: file.map_or_else(String::new, |file| file.to_string_lossy().into_owned()),
            line: self.line(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_a_place_and_input_order() {
        // Rows with a header, rows of two lines, rows that share a line.
        let places = [
            Place::new(0, 0, 2),
            Place::new(0, 1, 4),
            Place::new(0, 500, 7),
            Place::new(1, 0, 1),
            Place::new(1, u64::MAX / 2, 1),
        ];
        for (place, line) in places.iter().zip([2, 4, 7, 1, 1]) {
            assert_eq!(Place::from_bytes(&place.to_bytes()), *place);
            assert_eq!(place.line(), line);
        }
        assert!(places.is_sorted());
        assert!(places.map(Place::to_bytes).is_sorted());
        let there = Place::in_table(u64::MAX);
        assert!(there.to_bytes() < places[0].to_bytes() && there.is_in_table());
        assert_eq!(Place::from_bytes(&there.to_bytes()), there);
    }
}
