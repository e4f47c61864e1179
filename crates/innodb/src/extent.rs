//! Extent descriptors: who owns each 64 pages, and which of them are used.
//!
//! Page 0 and every further page whose number divides by 16,384 hold 256
//! descriptors, one for each extent from that page on.
//!
//! Source: MariaDB 10.11, storage/innobase/include/fsp0fsp.h, `XDES_*`.

use core::mem::{offset_of, size_of};
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ids::{PAGES_PER_EXTENT, PAGES_PER_XDES};
use crate::list::ListNode;
use crate::page::TRAILER;
use crate::space_header::{SPACE_HEADER, SpaceHeader};

/// Descriptor of one extent. 40 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ExtentDescriptor {
    /// `XDES_ID`. Owning segment if [`ExtentDescriptor::is_of_segment`], else 0.
    pub segment_id: U64,
    /// `XDES_FLST_NODE`. Addresses of extents point at this field.
    pub node: ListNode,
    /// `XDES_STATE`. One of the constants of [`state`].
    pub state: U32,
    /// `XDES_BITMAP`. Two bits a page, lowest first: free, and one that is always set.
    pub bitmap: [u8; 16],
}

/// Values of [`ExtentDescriptor::state`].
pub mod state {
    /// Beyond the free limit: not initialised.
    pub const NOT_INITED: u32 = 0;
    /// On the space's list of free extents.
    pub const FREE: u32 = 1;
    /// Pages given out singly, some free.
    pub const FREE_FRAG: u32 = 2;
    /// Pages given out singly, none free.
    pub const FULL_FRAG: u32 = 3;
    /// Belongs to a segment.
    pub const SEGMENT: u32 = 4;
    /// Belongs to a segment, but for its first two pages: the extent begins with the space's own pages. Only
    /// MySQL lends such extents.
    ///
    /// Source: MySQL 9.7, storage/innobase/include/fsp0fsp.h, `XDES_FSEG_FRAG`.
    pub const LEASED: u32 = 5;
}

/// Byte of a descriptor page at which descriptor 0 starts.
pub const DESCRIPTORS: usize = SPACE_HEADER + size_of::<SpaceHeader>();
/// Descriptors on one page.
pub const DESCRIPTORS_PER_PAGE: u32 = PAGES_PER_XDES / PAGES_PER_EXTENT;
/// Byte of a descriptor at which its list node starts.
pub const NODE: usize = offset_of!(ExtentDescriptor, node);

const _: () = {
    assert!(size_of::<ExtentDescriptor>() == 40);
    assert!(DESCRIPTORS == 150);
    assert!(DESCRIPTORS_PER_PAGE == 256);
    assert!(NODE == 8);
    assert!(DESCRIPTORS + DESCRIPTORS_PER_PAGE as usize * size_of::<ExtentDescriptor>() <= TRAILER);
};

impl ExtentDescriptor {
    /// True if a segment has it, with the pages that are not the space's own.
    pub fn is_of_segment(&self) -> bool {
        matches!(self.state.get(), state::SEGMENT | state::LEASED)
    }

    /// True if page `index` (0 to 63) of the extent is free.
    pub fn is_free(&self, index: u32) -> bool {
        debug_assert!(index < PAGES_PER_EXTENT, "an extent has no page {index}");
        self.bitmap[index as usize / 4] & (1 << (index % 4 * 2)) != 0
    }
}
