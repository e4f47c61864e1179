//! The space header, in page 0 right after the page header.
//!
//! Source: MariaDB 10.11, storage/innobase/include/fsp0fsp.h, `FSP_*`.

use core::mem::{offset_of, size_of};
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::list::ListBase;
use crate::page::BODY;

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
    /// `FSP_SPACE_FLAGS`. They say which format the file has (`SpaceFormat`).
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
