//! The space header, in page 0 right after the page header.
//!
//! Source: MariaDB 10.11, storage/innobase/include/fsp0fsp.h, `FSP_*`.

use core::mem::{offset_of, size_of};
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::list::ListBase;
use crate::page::{BODY, FilHeader, seal};

/// Space header. 112 bytes at byte [`SPACE_HEADER`] of page 0.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SpaceHeader {
    /// `FSP_SPACE_ID`.
    pub space_id: U32,
    /// `FSP_NOT_USED`. 0.
    pub unused: U32,
    /// `FSP_SIZE`. Pages in the file; the server trusts it blindly, so it must be exact.
    pub size_pages: U32,
    /// `FSP_FREE_LIMIT`. Extents below this page have an initialised descriptor; a multiple of 64.
    pub free_limit: U32,
    /// `FSP_SPACE_FLAGS`. [`FLAGS_FULL_CRC32_16K`] is the only value this crate writes.
    pub flags: U32,
    /// `FSP_FRAG_N_USED`. Used pages in the extents of `free_frag`.
    pub frag_used: U32,
    /// `FSP_FREE`. Extents without an owner and without a used page.
    pub free: ListBase,
    /// `FSP_FREE_FRAG`. Fragment extents with a free page.
    pub free_frag: ListBase,
    /// `FSP_FULL_FRAG`. Fragment extents without a free page.
    pub full_frag: ListBase,
    /// `FSP_SEG_ID`. The next segment gets this number.
    pub next_segment_id: U64,
    /// `FSP_SEG_INODES_FULL`. Inode pages without a free slot.
    pub inodes_full: ListBase,
    /// `FSP_SEG_INODES_FREE`. Inode pages with a free slot.
    pub inodes_free: ListBase,
}

/// Byte of page 0 at which the space header starts.
pub const SPACE_HEADER: usize = BODY;
/// full_crc32 marker (0x10) and 16 KiB pages (5), nothing else.
pub const FLAGS_FULL_CRC32_16K: u32 = 0x15;

const _: () = {
    assert!(size_of::<SpaceHeader>() == 112);
    assert!(SPACE_HEADER + offset_of!(SpaceHeader, size_pages) == 46);
    assert!(SPACE_HEADER + offset_of!(SpaceHeader, free) == 62);
    assert!(SPACE_HEADER + offset_of!(SpaceHeader, next_segment_id) == 110);
    assert!(SPACE_HEADER + offset_of!(SpaceHeader, inodes_free) == 134);
};

/// Gives the first page of a file the number of another tablespace, and its checksum. IMPORT writes
/// that number into all other pages; before it, the server looks for it in this one alone.
pub fn renumber(page: &mut [u8], space_id: u32) {
    for at in [offset_of!(FilHeader, space_id), SPACE_HEADER + offset_of!(SpaceHeader, space_id)] {
        page[at..at + size_of::<U32>()].copy_from_slice(&space_id.to_be_bytes());
    }
    seal(page);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ids::PAGE_SIZE;
    use crate::page::{CHECKSUM, checksum};

    #[test]
    fn a_renumbered_page_differs_in_its_number_and_checksum_alone() {
        let before = std::fs::read("testdata/mariadb-10.11/orders.ibd").unwrap();
        let before = &before[..PAGE_SIZE];
        let mut page = before.to_vec();
        renumber(&mut page, 4_711);
        assert_eq!(FilHeader::parse(&page).unwrap().space_id.get(), 4_711);
        assert_eq!(page[CHECKSUM..], checksum(&page).to_be_bytes());
        let differs = (0..PAGE_SIZE).filter(|&at| page[at] != before[at]);
        assert!(differs.into_iter().all(|at| (34..42).contains(&at) || at >= CHECKSUM));
        let old = FilHeader::parse(before).unwrap().space_id.get();
        renumber(&mut page, old);
        assert_eq!(page, before);
    }
}
