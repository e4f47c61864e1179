//! Filling one index page with records that come in ascending order.
//!
//! Per record: one copy, the five header bytes, the `next` of the record before, and for every
//! fourth a directory slot. Nothing is read back, nothing is touched twice but the last slot.
//!
//! Source: MariaDB 10.11, storage/innobase/btr/btr0bulk.cc, `PageBulk`.

use core::mem::offset_of;

use zerocopy::IntoBytes;
use zerocopy::byteorder::big_endian::{U16, U32, U64};

use crate::ids::{FIL_NULL, IndexId, PAGE_SIZE, SpaceId};
use crate::index_page::{
    COMPACT_FLAG, DIRECTORY_END, FREE_SPACE_EMPTY, HEAP, INFIMUM, NO_DIRECTION, PAGE_HEADER,
    PageHeader, RECORDS_PER_SLOT, SUPREMUM, index_header, next_record,
};
use crate::page::{BODY, FilHeader, PageBytes, page_type, read_at, u16_at};
use crate::record::{CHILD, RECORD_HEADER, status};
use crate::segment::SegmentHeader;
use crate::space_format::SpaceFormat;

/// Most bytes of a record: two must fit every page, or a tree could grow without end.
pub const RECORD_BYTES_MAX: usize = FREE_SPACE_EMPTY / 2 - 1;

/// Bytes of each page left empty for later inserts, when a page gets at least two records.
///
/// Full pages make the file 6 % smaller, but the first random inserts split nearly every page:
/// 3,000 of them doubled an index of 60,000 entries. Most loads leave it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Bytes left empty in a leaf. Default [`Fill::RESERVE_BYTES`].
    pub leaf_reserve_bytes: usize,
    /// Bytes left empty in a non-leaf page. Default [`Fill::RESERVE_BYTES`].
    pub node_reserve_bytes: usize,
}

impl Fill {
    /// A sixteenth of the page: what the server leaves in a clustered index.
    pub const RESERVE_BYTES: usize = PAGE_SIZE / 16;

    /// Every page full: what the server does in a secondary index.
    pub const FULL: Fill = Fill { leaf_reserve_bytes: 0, node_reserve_bytes: 0 };
}

impl Default for Fill {
    fn default() -> Fill {
        Fill { leaf_reserve_bytes: Fill::RESERVE_BYTES, node_reserve_bytes: Fill::RESERVE_BYTES }
    }
}

/// First byte after the page header: the infimum's.
const PAGE_HEADER_END: usize = PAGE_HEADER + size_of::<PageHeader>();

/// First [`HEAP`] bytes of every page of one level of one index, page number and links excepted.
#[derive(Clone, Debug)]
pub(crate) struct PageHead([u8; HEAP]);

/// Infimum, which owns itself, and supremum, whose owned count is set when the page closes.
const INFIMUM_SUPREMUM: [u8; HEAP - PAGE_HEADER_END] =
    *b"\x01\x00\x02\x00\x0dinfimum\0\x01\x00\x0b\x00\x00supremum";

impl PageHead {
    /// `max_trx_id` is 0 but on leaves of secondary indexes.
    pub(crate) fn new(
        space_id: SpaceId,
        index_id: IndexId,
        level: u16,
        max_trx_id: u64,
    ) -> PageHead {
        let mut bytes = [0; HEAP];
        let frame = FilHeader {
            key_version_or_checksum: U32::ZERO,
            page_no: U32::ZERO,
            prev: U32::new(FIL_NULL),
            next: U32::new(FIL_NULL),
            lsn: U64::ZERO,
            page_type: U16::new(page_type::INDEX),
            flush_lsn: U64::ZERO,
            space_id: U32::new(space_id.0),
        };
        let none = SegmentHeader { space_id: U32::ZERO, page_no: U32::ZERO, offset: U16::ZERO };
        let header = PageHeader {
            directory_slots: U16::ZERO,
            heap_top: U16::ZERO,
            heap_records: U16::ZERO,
            free: U16::ZERO,
            garbage: U16::ZERO,
            last_insert: U16::ZERO,
            direction: U16::new(NO_DIRECTION),
            direction_count: U16::ZERO,
            records: U16::ZERO,
            max_trx_id_or_autoinc: U64::new(max_trx_id),
            level: U16::new(level),
            index_id: U64::new(index_id.0),
            leaf_segment: none,
            top_segment: none,
        };
        bytes[..BODY].copy_from_slice(frame.as_bytes());
        bytes[PAGE_HEADER..PAGE_HEADER_END].copy_from_slice(header.as_bytes());
        bytes[PAGE_HEADER_END..].copy_from_slice(&INFIMUM_SUPREMUM);
        PageHead(bytes)
    }

    /// Makes a page of another index of the same shape one of this: what says whose it is, and what the
    /// server knows of how it was filled. Its records and their directory stay as they are.
    pub(crate) fn adopt(&self, page: &mut PageBytes) {
        let old: PageHeader = read_at(page, PAGE_HEADER);
        page[..PAGE_HEADER_END].copy_from_slice(&self.0[..PAGE_HEADER_END]);
        put_u16(page, DIRECTORY_SLOTS, old.directory_slots.get());
        put_u16(page, HEAP_TOP, old.heap_top.get());
        put_u16(page, HEAP_RECORDS, old.heap_records.get());
        put_u16(page, RECORDS, old.records.get());
        let heap_top = usize::from(old.heap_top.get());
        page[heap_top..heap_top + unused_bytes(&old)].fill(0);
        page[DIRECTORY_END..].fill(0);
    }
}

/// Bytes of a page that neither its records nor their directory take.
pub(crate) fn unused_bytes(header: &PageHeader) -> usize {
    let taken =
        usize::from(header.heap_top.get()) + SLOT_BYTES * usize::from(header.directory_slots.get());
    DIRECTORY_END.saturating_sub(taken)
}

/// How far a page has been filled. The page itself is passed to each method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageFill {
    /// Bytes left for records and directory slots.
    free: usize,
    /// Bytes of `free` that only the first two records may use.
    reserve: usize,
    /// Byte at which the next record starts.
    heap_top: usize,
    /// Origin of the record put last.
    last_origin: usize,
    /// Records put.
    records: usize,
}

impl PageFill {
    /// No page: nothing fits.
    pub(crate) const NONE: PageFill =
        PageFill { free: 0, reserve: 0, heap_top: 0, last_origin: 0, records: 0 };

    /// Starts a page, whatever its bytes were.
    pub(crate) fn open(page: &mut PageBytes, head: &PageHead, reserve: usize) -> PageFill {
        page[..HEAP].copy_from_slice(&head.0);
        PageFill {
            free: FREE_SPACE_EMPTY,
            reserve,
            heap_top: HEAP,
            last_origin: INFIMUM,
            records: 0,
        }
    }

    /// True if there is an open page.
    pub(crate) fn is_open(&self) -> bool {
        self.heap_top != 0
    }

    /// Bytes left for records and directory slots.
    pub(crate) fn free_bytes(&self) -> usize {
        self.free
    }

    /// Origin of the record put last on the open page, if there is one.
    pub(crate) fn last_record(&self) -> Option<usize> {
        (self.records > 0).then_some(self.last_origin)
    }

    /// Records put on the page.
    pub(crate) fn records(&self) -> usize {
        self.records
    }

    /// True if a record of `len` bytes is to go on this page.
    ///
    /// Two records always may; further ones must leave the reserve.
    #[inline]
    pub(crate) fn fits(&self, len: usize) -> bool {
        let required = len + self.slot_bytes();
        match self.free.checked_sub(required) {
            Some(left) => left >= self.reserve || self.records < 2,
            None => false,
        }
    }

    /// Directory bytes the next record adds: the server counts `(2 * records + 3) / 4`.
    #[inline]
    fn slot_bytes(&self) -> usize {
        (self.records & 1) ^ 1
    }

    /// Puts a record that [`fits`](Self::fits).
    #[inline]
    pub(crate) fn put(
        &mut self,
        page: &mut PageBytes,
        record: &[u8],
        origin_in_record: usize,
        info: u8,
        status: u16,
    ) {
        debug_assert!(self.fits(record.len()) && origin_in_record >= RECORD_HEADER);
        let top = self.heap_top;
        page[top..top + record.len()].copy_from_slice(record);
        self.link(page, record.len(), top + origin_in_record, info, status);
    }

    /// Puts a node pointer that [`fits`](Self::fits): `key` and the child page.
    pub(crate) fn put_pointer(
        &mut self,
        page: &mut PageBytes,
        key: &[u8],
        origin_in_key: usize,
        child: u32,
        info: u8,
    ) {
        debug_assert!(self.fits(key.len() + CHILD) && origin_in_key >= RECORD_HEADER);
        let top = self.heap_top;
        let key_end = top + key.len();
        page[top..key_end].copy_from_slice(key);
        page[key_end..key_end + CHILD].copy_from_slice(&child.to_be_bytes());
        self.link(page, key.len() + CHILD, top + origin_in_key, info, status::NODE);
    }

    /// Makes the `len` bytes at the heap top, with that origin, the last record.
    #[inline]
    fn link(&mut self, page: &mut PageBytes, len: usize, origin: usize, info: u8, status: u16) {
        self.free -= len + self.slot_bytes();
        self.heap_top += len;
        self.records += 1;

        let owned = match self.records % RECORDS_PER_SLOT {
            0 => {
                put_u16(page, slot(self.records / RECORDS_PER_SLOT), origin as u16);
                RECORDS_PER_SLOT as u8
            }
            _ => 0,
        };
        let heap_no = self.records as u16 + 1;
        let [high, low] = (heap_no << 3 | status).to_be_bytes();
        page[origin - RECORD_HEADER..origin - 2].copy_from_slice(&[info | owned, high, low]);
        put_u16(page, self.last_origin - 2, (origin - self.last_origin) as u16);
        self.last_origin = origin;
    }

    /// Ends the page: supremum, directory, header; zeroes what is unused.
    ///
    /// Page number, links and checksum are still to be set.
    pub(crate) fn close(&mut self, page: &mut PageBytes) {
        assert!(self.is_open(), "only an open page can be closed");
        let mut slots = self.records / RECORDS_PER_SLOT;
        let mut rest = self.records % RECORDS_PER_SLOT;
        if slots > 0 {
            // The server merges the last slot into the supremum's when both have room in one.
            let owner = usize::from(u16_at(page, slot(slots)));
            page[owner - RECORD_HEADER] &= 0xF0;
            slots -= 1;
            rest += RECORDS_PER_SLOT;
        }
        put_u16(page, slot(0), INFIMUM as u16);
        put_u16(page, slot(slots + 1), SUPREMUM as u16);
        page[SUPREMUM - RECORD_HEADER] = rest as u8 + 1;
        // Relative to the record; the supremum lies before it, so this wraps to a negative.
        put_u16(page, self.last_origin - 2, SUPREMUM.wrapping_sub(self.last_origin) as u16);
        assert!(self.heap_top <= slot(slots + 1), "records and directory share the page");
        page[self.heap_top..slot(slots + 1)].fill(0);

        put_u16(page, DIRECTORY_SLOTS, slots as u16 + 2);
        put_u16(page, HEAP_TOP, self.heap_top as u16);
        put_u16(page, HEAP_RECORDS, COMPACT_FLAG | (self.records as u16 + 2));
        put_u16(page, RECORDS, self.records as u16);
        page[DIRECTORY_END..].fill(0);
        *self = PageFill::NONE;
    }
}

/// A page with the records of two leaves, in whose heaps they lie in order and without gaps; None if they do not fit.
pub(crate) fn joined(
    head: &PageHead,
    reserve: usize,
    leaves: [&PageBytes; 2],
) -> Option<Box<PageBytes>> {
    // The directory may need up to four more slots.
    let unused: usize = leaves.iter().map(|leaf| unused_bytes(index_header(leaf))).sum();
    if unused < FREE_SPACE_EMPTY + reserve + 4 * SLOT_BYTES {
        return None;
    }
    let mut page = Box::new([0; PAGE_SIZE]);
    let mut fill = PageFill::open(&mut page, head, reserve);
    for (leaf, header) in leaves.map(|leaf| (leaf, index_header(leaf))) {
        let (start, end) = (fill.heap_top, usize::from(header.heap_top.get()));
        page[start..start + end - HEAP].copy_from_slice(&leaf[HEAP..end]);
        let mut origin = INFIMUM;
        for left in (0..header.records.get()).rev() {
            origin = next_record(leaf, origin);
            let info = leaf[origin - RECORD_HEADER] & 0xF0;
            // The heap ends behind the last one.
            let len = if left == 0 { end - HEAP } else { 0 };
            fill.link(&mut page, len, start + origin - HEAP, info, status::LEAF);
        }
    }
    fill.close(&mut page);
    Some(page)
}

/// Bytes of a directory slot.
const SLOT_BYTES: usize = 2;
/// Bytes of a page at which fields of its header start.
const DIRECTORY_SLOTS: usize = PAGE_HEADER + offset_of!(PageHeader, directory_slots);
const HEAP_TOP: usize = PAGE_HEADER + offset_of!(PageHeader, heap_top);
const HEAP_RECORDS: usize = PAGE_HEADER + offset_of!(PageHeader, heap_records);
const RECORDS: usize = PAGE_HEADER + offset_of!(PageHeader, records);

/// Byte at which directory slot `index` starts.
#[inline]
fn slot(index: usize) -> usize {
    DIRECTORY_END - SLOT_BYTES * (index + 1)
}

#[inline]
fn put_u16(page: &mut PageBytes, at: usize, value: u16) {
    page[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[inline]
fn put_u32(page: &mut PageBytes, at: usize, value: u32) {
    page[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// Sets the page number and both links of an index page, and its checksum.
pub(crate) fn link_and_seal(
    format: SpaceFormat,
    page: &mut PageBytes,
    page_no: u32,
    prev: u32,
    next: u32,
) {
    put_u32(page, offset_of!(FilHeader, page_no), page_no);
    put_u32(page, offset_of!(FilHeader, prev), prev);
    put_u32(page, offset_of!(FilHeader, next), next);
    format.seal(page);
}

const _: () = {
    // Two of the longest records and their slot, or a tree could grow without end.
    assert!(2 * RECORD_BYTES_MAX + SLOT_BYTES <= FREE_SPACE_EMPTY);
    assert!(Fill::RESERVE_BYTES < FREE_SPACE_EMPTY);
    // Heap numbers have 13 bits.
    assert!(FREE_SPACE_EMPTY / (RECORD_HEADER + 1) + 2 < 1 << 13);
};

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: u8) -> PageBytes {
        let mut page = [0xEE; PAGE_SIZE];
        let head = PageHead::new(SpaceId(5), IndexId(0x1A), 0, 0);
        let mut fill = PageFill::open(&mut page, &head, 0);
        for id in 0..count {
            assert!(fill.fits(8));
            fill.put(&mut page, &[0, 0, 0, 0, 0, b'i', b'd', id], 5, 0, status::LEAF);
        }
        fill.close(&mut page);
        page
    }

    #[test]
    fn five_records_in_hex() {
        let page = filled(5);
        // Slots 2, heap top 160, heap 7 with the COMPACT flag, direction none, 5 records.
        let header = [0, 2, 0, 160, 0x80, 7, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 5];
        assert_eq!(page[38..56], header);
        assert_eq!(page[64..74], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0x1A]);
        // Infimum owns itself and leads to the first record, at 125; the supremum owns six.
        assert_eq!(page[94..107], *b"\x01\x00\x02\x00\x1ainfimum\0");
        assert_eq!(page[107..120], *b"\x06\x00\x0b\x00\x00supremum");
        // Owned 0, heap numbers 2 to 6 above status 0, next 8 bytes on; the last leads back to 112.
        let records = [
            [0, 0, 0x10, 0, 8, b'i', b'd', 0],
            [0, 0, 0x18, 0, 8, b'i', b'd', 1],
            [0, 0, 0x20, 0, 8, b'i', b'd', 2],
            [0, 0, 0x28, 0, 8, b'i', b'd', 3],
            [0, 0, 0x30, 0xFF, 0xD3, b'i', b'd', 4],
        ];
        assert_eq!(page[120..160], *records.as_flattened());
        assert!(page[160..16_372].iter().all(|byte| *byte == 0));
        assert_eq!(page[16_372..], [0, 112, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn every_fourth_record_owns_a_slot_but_the_last_group_is_the_supremums() {
        for (count, slots, supremum_owns) in
            [(0, 0, 1), (3, 0, 4), (4, 0, 5), (7, 0, 8), (8, 1, 5), (11, 1, 8), (12, 2, 5)]
        {
            let page = filled(count);
            assert_eq!(u16_at(&page, PAGE_HEADER), slots + 2, "{count} records");
            assert_eq!(page[SUPREMUM - RECORD_HEADER], supremum_owns, "{count} records");
            for number in 1..=usize::from(slots) {
                let owner = usize::from(u16_at(&page, slot(number)));
                assert_eq!((owner - 125) / 8 + 1, 4 * number);
                assert_eq!(page[owner - RECORD_HEADER], 4);
            }
        }
    }
}
