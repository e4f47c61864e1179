//! Index (B+tree) pages.
//!
//! ```text
//! 38            74        94      107       120                       16376
//! | page header | segments| infimum| supremum| records ->  <- directory |
//! ```
//!
//! Source: MariaDB 10.11, storage/innobase/include/page0types.h, page0page.h.

use core::mem::{offset_of, size_of};
use zerocopy::byteorder::big_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ids::PAGE_SIZE;
use crate::page::{BODY, PageBytes, TRAILER, u16_at, view};
use crate::record::RECORD_HEADER;
use crate::segment::SegmentHeader;

/// Header of an index page. 56 bytes at byte [`PAGE_HEADER`].
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct PageHeader {
    /// `PAGE_N_DIR_SLOTS`. Directory slots, those of infimum and supremum included.
    pub directory_slots: U16,
    /// `PAGE_HEAP_TOP`. First byte after the record heap.
    pub heap_top: U16,
    /// `PAGE_N_HEAP`. [`COMPACT_FLAG`] and the records of the heap, infimum and supremum included.
    pub heap_records: U16,
    /// `PAGE_FREE`. First deleted record; 0 for none.
    pub free: U16,
    /// `PAGE_GARBAGE`. Bytes of deleted records.
    pub garbage: U16,
    /// `PAGE_LAST_INSERT`. Last inserted record; 0 for none.
    pub last_insert: U16,
    /// `PAGE_INSTANT` (high 13 bits, 0) and `PAGE_DIRECTION_B`. [`NO_DIRECTION`].
    pub direction: U16,
    /// `PAGE_N_DIRECTION`. Consecutive inserts in one direction.
    pub direction_count: U16,
    /// `PAGE_N_RECS`. User records.
    pub records: U16,
    /// `PAGE_MAX_TRX_ID`; on a clustered root `PAGE_ROOT_AUTO_INC`, the last value used.
    pub max_trx_id_or_autoinc: U64,
    /// `PAGE_LEVEL`. 0 is a leaf.
    pub level: U16,
    /// `PAGE_INDEX_ID`.
    pub index_id: U64,
    /// `PAGE_BTR_SEG_LEAF`. Only in the root, else zero.
    pub leaf_segment: SegmentHeader,
    /// `PAGE_BTR_SEG_TOP`. Only in the root, else zero.
    pub top_segment: SegmentHeader,
}

/// Byte of an index page at which its header starts.
pub const PAGE_HEADER: usize = BODY;
/// High bit of [`PageHeader::heap_records`]: COMPACT or DYNAMIC records.
pub const COMPACT_FLAG: u16 = 0x8000;
/// [`PageHeader::direction`] of a page built in order (`PAGE_NO_DIRECTION`).
pub const NO_DIRECTION: u16 = 5;
/// Origin of the infimum record.
pub const INFIMUM: usize = 99;
/// Origin of the supremum record.
pub const SUPREMUM: usize = 112;
/// First byte of the record heap.
pub const HEAP: usize = 120;
/// Bytes of "infimum" and a zero, and of "supremum": what the two have instead of fields.
const PSEUDO_RECORD_BYTES: usize = 8;
/// Directory slot 0 ends here; slots are 2 bytes and grow towards the heap.
pub const DIRECTORY_END: usize = TRAILER;
/// Bytes a page has for records and their directory slots, infimum and supremum's slots excluded.
pub const FREE_SPACE_EMPTY: usize = DIRECTORY_END - HEAP - 4;
/// Records owned by a full directory slot of a page built in order.
pub(crate) const RECORDS_PER_SLOT: usize = 4;

const _: () = {
    assert!(size_of::<PageHeader>() == 56);
    assert!(PAGE_HEADER + offset_of!(PageHeader, max_trx_id_or_autoinc) == 56);
    assert!(PAGE_HEADER + offset_of!(PageHeader, index_id) == 66);
    assert!(PAGE_HEADER + offset_of!(PageHeader, leaf_segment) == 74);
    assert!(FREE_SPACE_EMPTY == 16_252);
    assert!(INFIMUM == PAGE_HEADER + size_of::<PageHeader>() + RECORD_HEADER);
    assert!(SUPREMUM == INFIMUM + PSEUDO_RECORD_BYTES + RECORD_HEADER);
    assert!(HEAP == SUPREMUM + PSEUDO_RECORD_BYTES);
    assert!(HEAP < PAGE_SIZE);
};

/// The header of an index page.
pub(crate) fn index_header(page: &PageBytes) -> &PageHeader {
    view(page, PAGE_HEADER)
}

/// Origin of the record after the one at `origin`, taken from its header: on the page, though not
/// always at a record; 0 if it would leave the page.
#[inline(always)]
pub fn next_record(page: &PageBytes, origin: usize) -> usize {
    let next = usize::from((origin as u16).wrapping_add(u16_at(page, origin - 2)));
    if next < PAGE_SIZE { next } else { 0 }
}

/// Origin of the last record of a sound page; the infimum's if it has none. Goes through them all.
pub(crate) fn last_record(page: &PageBytes) -> usize {
    let mut last = INFIMUM;
    while let next = next_record(page, last)
        && next > SUPREMUM
    {
        last = next;
    }
    last
}
