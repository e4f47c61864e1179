//! File segments: the pages of one index, or of one half of it.
//!
//! Each index has two: *top* (the root and every other non-leaf page) and
//! *leaf* (leaf pages; for the clustered index also off-page columns). Their
//! inodes are named by the two [`SegmentHeader`]s in the root page.
//!
//! Source: MariaDB 10.11, storage/innobase/include/fsp0fsp.h, `FSEG_*`; fsp0types.h.

use core::mem::size_of;
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::list::{ListBase, ListNode};
use crate::page::{BODY, TRAILER};

/// Inode of a segment. 192 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SegmentInode {
    /// `FSEG_ID`. 0 marks an unused slot.
    pub segment_id: U64,
    /// `FSEG_NOT_FULL_N_USED`. Used pages in the extents of `not_full`.
    pub not_full_used: U32,
    /// `FSEG_FREE`. Extents of this segment without a used page.
    pub free: ListBase,
    /// `FSEG_NOT_FULL`. Extents of this segment with used and free pages.
    pub not_full: ListBase,
    /// `FSEG_FULL`. Extents of this segment without a free page.
    pub full: ListBase,
    /// `FSEG_MAGIC_N`. [`INODE_MAGIC`].
    pub magic: U32,
    /// `FSEG_FRAG_ARR`. Pages owned singly, or [`crate::ids::FIL_NULL`].
    pub fragments: [U32; FRAGMENTS],
}

/// Where a segment's inode is. 10 bytes, twice in each root page.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SegmentHeader {
    /// Space of the inode; the segment's own.
    pub space_id: U32,
    /// Page of the inode.
    pub page_no: U32,
    /// Byte of that page at which the inode starts.
    pub offset: U16,
}

/// Fragment pages a segment may own before it takes whole extents.
pub const FRAGMENTS: usize = 32;
/// [`SegmentInode::magic`] of every inode.
pub const INODE_MAGIC: u32 = 97_937_874;
/// Byte of an inode page at which its list node starts.
pub const INODE_PAGE_NODE: usize = BODY;
/// Byte of an inode page at which the first inode starts.
pub const INODES: usize = INODE_PAGE_NODE + size_of::<ListNode>();
/// Inodes on one page.
pub const INODES_PER_PAGE: usize = 85;

const _: () = {
    assert!(size_of::<SegmentInode>() == 192);
    assert!(size_of::<SegmentHeader>() == 10);
    assert!(INODES == 50);
    assert!(INODES + INODES_PER_PAGE * size_of::<SegmentInode>() <= TRAILER);
    assert!(INODE_MAGIC == 0x05D6_69D2);
};
