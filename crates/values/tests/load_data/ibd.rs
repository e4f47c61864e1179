//! Just enough of a tablespace to read one column out of it.
//!
//! The tables here are `(id INT PRIMARY KEY, v ... NOT NULL)`: a record is its header, id (4), two
//! system columns (13), v.

use std::collections::BTreeMap;

/// Bytes of a page.
const PAGE: usize = 16_384;
/// FIL_PAGE_TYPE of B-tree pages.
const TYPE_INDEX: u16 = 17_855;
/// Origin of the infimum.
const INFIMUM: usize = 99;
/// Bytes before v in a record.
const BEFORE_V: usize = 4 + 6 + 7;

/// How a record tells the length of v.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Always so many bytes.
    Fixed(usize),
    /// One length byte, since no value is longer than 255 bytes.
    Short,
    /// One or two length bytes.
    Long,
}

fn u16_at(page: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([page[at], page[at + 1]])
}

/// v of every row by id; None for values kept off the page.
pub(crate) fn read(file: &[u8], shape: Shape) -> BTreeMap<u32, Option<Vec<u8>>> {
    let mut rows = BTreeMap::new();
    for page in file.chunks_exact(PAGE) {
        let level = u16_at(page, 64);
        if u16_at(page, 24) != TYPE_INDEX || level != 0 {
            continue;
        }
        let mut origin = INFIMUM;
        loop {
            origin = origin.wrapping_add_signed(u16_at(page, origin - 2).cast_signed().into());
            // Supremum.
            if page[origin - 3] & 7 == 3 {
                break;
            }
            let id = u32::from_be_bytes([
                page[origin] ^ 0x80,
                page[origin + 1],
                page[origin + 2],
                page[origin + 3],
            ]);
            let first = page[origin - 6];
            let (size, external) = match shape {
                Shape::Fixed(size) => (size, false),
                Shape::Long if first & 0x80 != 0 => {
                    let low = usize::from(page[origin - 7]);
                    (usize::from(first & 0x3f) << 8 | low, first & 0x40 != 0)
                }
                _ => (usize::from(first), false),
            };
            let v = &page[origin + BEFORE_V..origin + BEFORE_V + size];
            let seen = rows.insert(id, (!external).then(|| v.to_vec()));
            assert!(seen.is_none(), "row {id} is there twice");
        }
    }
    rows
}
