//! On-disk doubly linked lists: of extents in a space or segment, of inode pages.
//!
//! Source: MariaDB 10.11, storage/innobase/include/fut0lst.h.

use core::mem::size_of;
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ids::FIL_NULL;

/// Where a list node is: a page and a byte in it. 6 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct FilAddr {
    /// Page, or [`FIL_NULL`] for "none".
    pub page_no: U32,
    /// Byte of the page at which the node starts; 0 for "none".
    pub offset: U16,
}

impl FilAddr {
    /// The address that means "none".
    pub const NULL: FilAddr = FilAddr { page_no: U32::new(FIL_NULL), offset: U16::new(0) };

    /// An address from plain numbers.
    pub fn new(page_no: u32, offset: u16) -> FilAddr {
        FilAddr { page_no: U32::new(page_no), offset: U16::new(offset) }
    }

    /// True if this address means "none".
    pub fn is_null(self) -> bool {
        self.page_no.get() == FIL_NULL
    }
}

/// Head of a list. 16 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ListBase {
    /// Number of nodes.
    pub count: U32,
    /// First node.
    pub first: FilAddr,
    /// Last node.
    pub last: FilAddr,
}

impl ListBase {
    /// The list without nodes.
    pub const EMPTY: ListBase =
        ListBase { count: U32::new(0), first: FilAddr::NULL, last: FilAddr::NULL };
}

/// Node of a list, inside what is listed. 12 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ListNode {
    /// Node before this one.
    pub prev: FilAddr,
    /// Node after this one.
    pub next: FilAddr,
}

const _: () = {
    assert!(size_of::<FilAddr>() == 6);
    assert!(size_of::<ListBase>() == 16);
    assert!(size_of::<ListNode>() == 12);
};
