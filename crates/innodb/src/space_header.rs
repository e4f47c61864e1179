//! The space header, in page 0 right after the page header.
//!
//! Source: MariaDB 10.11, storage/innobase/include/fsp0fsp.h, `FSP_*`.

use core::mem::{offset_of, size_of};
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::list::ListBase;
use crate::page::{BODY, FilHeader, PageBytes};
use crate::source::ReadError;
use crate::space_format::SpaceFormat;

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
    /// `FSP_SPACE_FLAGS`. They say which [`SpaceFormat`] the file has.
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

const _: () = {
    assert!(size_of::<SpaceHeader>() == 112);
    assert!(SPACE_HEADER + offset_of!(SpaceHeader, size_pages) == 46);
    assert!(SPACE_HEADER + offset_of!(SpaceHeader, free) == 62);
    assert!(SPACE_HEADER + offset_of!(SpaceHeader, next_segment_id) == 110);
    assert!(SPACE_HEADER + offset_of!(SpaceHeader, inodes_free) == 134);
};

/// Gives the first page of a file the number of another tablespace, and its checksum. IMPORT writes
/// that number into all other pages; before it, the server looks for it in this one alone.
///
/// Errors: a page that is not the first of a file this crate reads; it stays as it is.
pub fn renumber(page: &mut PageBytes, space_id: u32) -> Result<(), ReadError> {
    let (format, _) = SpaceFormat::with_header(page)?;
    for at in [offset_of!(FilHeader, space_id), SPACE_HEADER + offset_of!(SpaceHeader, space_id)] {
        page[at..at + size_of::<U32>()].copy_from_slice(&space_id.to_be_bytes());
    }
    format.seal(page);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ids::PAGE_SIZE;

    #[test]
    fn a_renumbered_page_differs_in_its_number_and_checksum_alone() {
        for path in ["testdata/mariadb-10.11/orders.ibd", "testdata/mysql-9.7/items.ibd"] {
            let file = std::fs::read(path).unwrap();
            let before: &PageBytes = file.first_chunk().unwrap();
            let format = SpaceFormat::of_first_page(before).unwrap();
            let mut page = *before;
            renumber(&mut page, 4_711).unwrap();
            assert_eq!(FilHeader::parse(&page).unwrap().space_id.get(), 4_711);
            assert!(format.is_intact(&page));
            let mut changed: Vec<usize> = (34..42).collect();
            for at in format.checksum_offsets() {
                changed.extend(*at..at + 4);
            }
            let differs = (0..PAGE_SIZE).filter(|&at| page[at] != before[at]);
            assert!(differs.into_iter().all(|at| changed.contains(&at)), "{path}");
            let old = FilHeader::parse(before).unwrap().space_id.get();
            renumber(&mut page, old).unwrap();
            assert_eq!(page, *before);
        }
    }
}
