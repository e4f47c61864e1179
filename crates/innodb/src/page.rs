//! The beginning and the end of every page.
//!
//! ```text
//! 0        38                                16376     16384
//! | header | body, by page type ............ | trailer |
//! ```
//!
//! Source: MariaDB 10.11, storage/innobase/include/fil0fil.h, `FIL_PAGE_*`.

use core::mem::{offset_of, size_of};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ids::PAGE_SIZE;

/// Header of every page. 38 bytes, big-endian.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct FilHeader {
    /// MariaDB: number of the encryption key, 0 for none. MySQL: `FIL_PAGE_SPACE_OR_CHKSUM`.
    pub key_version_or_checksum: U32,
    /// `FIL_PAGE_OFFSET`. Number of this page; page 0 starts at byte 0.
    pub page_no: U32,
    /// `FIL_PAGE_PREV`. Left sibling on this B+tree level, or [`crate::ids::FIL_NULL`].
    pub prev: U32,
    /// `FIL_PAGE_NEXT`. Right sibling on this B+tree level, or [`crate::ids::FIL_NULL`].
    pub next: U32,
    /// `FIL_PAGE_LSN`. 0 in a file that is to be imported.
    pub lsn: U64,
    /// `FIL_PAGE_TYPE`. One of the constants of [`page_type`].
    pub page_type: U16,
    /// `FIL_PAGE_FILE_FLUSH_LSN_OR_KEY_VERSION`. 0.
    pub flush_lsn: U64,
    /// `FIL_PAGE_SPACE_ID`. The tablespace this page belongs to.
    pub space_id: U32,
}

impl FilHeader {
    /// The header of a page, of which `bytes` is at least the beginning; None of fewer bytes.
    ///
    /// ```
    /// let page = std::fs::read("testdata/mariadb-10.11/orders.ibd")?;
    /// let header = innodb::page::FilHeader::parse(&page).expect("a file has a first page");
    /// assert_eq!(header.page_type.get(), innodb::page::page_type::FSP_HDR);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn parse(bytes: &[u8]) -> Option<FilHeader> {
        FilHeader::read_from_prefix(bytes).ok().map(|(header, _)| header)
    }
}

/// Values of [`FilHeader::page_type`].
pub mod page_type {
    /// Never used since the file was extended, or freed (`FIL_PAGE_TYPE_ALLOCATED`).
    pub const ALLOCATED: u16 = 0;
    /// File segment inodes (`FIL_PAGE_INODE`).
    pub const INODE: u16 = 3;
    /// Change buffer bitmap, second page of each 16,384 (`FIL_PAGE_IBUF_BITMAP`).
    pub const IBUF_BITMAP: u16 = 5;
    /// Page 0: space header and the first extent descriptors (`FIL_PAGE_TYPE_FSP_HDR`).
    pub const FSP_HDR: u16 = 8;
    /// Extent descriptors, first page of each further 16,384 (`FIL_PAGE_TYPE_XDES`).
    pub const XDES: u16 = 9;
    /// Part of a column stored off page (`FIL_PAGE_TYPE_BLOB`).
    pub const BLOB: u16 = 10;
    /// MySQL: dictionary data that one page does not hold (`FIL_PAGE_SDI_BLOB`, `FIL_PAGE_SDI_ZBLOB`).
    pub const SDI_BLOB: u16 = 18;
    /// See [`SDI_BLOB`].
    pub const SDI_ZBLOB: u16 = 19;
    /// MySQL: more places of the parts of a column stored off page (`FIL_PAGE_TYPE_LOB_INDEX`).
    pub const LOB_INDEX: u16 = 22;
    /// MySQL: part of a column stored off page (`FIL_PAGE_TYPE_LOB_DATA`).
    pub const LOB_DATA: u16 = 23;
    /// MySQL: first part of a column stored off page, and places of the others (`FIL_PAGE_TYPE_LOB_FIRST`).
    pub const LOB_FIRST: u16 = 24;
    /// MySQL: B+tree page of the dictionary data of the table (`FIL_PAGE_SDI`).
    pub const SDI: u16 = 0x45BD;
    /// B+tree page (`FIL_PAGE_INDEX`).
    pub const INDEX: u16 = 0x45BF;
    /// MariaDB: clustered root that carries instant ALTER metadata (`FIL_PAGE_TYPE_INSTANT`).
    pub const INSTANT: u16 = 18;
    /// R-tree page (`FIL_PAGE_RTREE`).
    pub const RTREE: u16 = 0x45BE;
}

/// First byte after the header.
pub const BODY: usize = size_of::<FilHeader>();
/// First byte of the trailer: a checksum and the low half of [`FilHeader::lsn`], in the order of the
/// [format](crate::space_format::SpaceFormat).
pub const TRAILER: usize = PAGE_SIZE - size_of::<U64>();

const _: () = {
    assert!(BODY == 38);
    assert!(offset_of!(FilHeader, space_id) == 34);
    assert!(TRAILER == 16_376);
};

/// Bytes of one page.
pub type PageBytes = [u8; PAGE_SIZE];

/// A page at an address from which a file opened with O_DIRECT can be written.
///
/// 4 KiB is the largest block of any disk in use; file systems ask for their disk's.
#[derive(Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(4096))]
pub struct AlignedPage(pub PageBytes);

impl AlignedPage {
    /// A page of zeros.
    pub const ZERO: AlignedPage = AlignedPage([0; PAGE_SIZE]);

    /// Neighbouring pages as bytes.
    pub fn bytes_of(pages: &[AlignedPage]) -> &[u8] {
        pages.as_bytes()
    }

    /// Neighbouring pages as bytes.
    pub fn bytes_of_mut(pages: &mut [AlignedPage]) -> &mut [u8] {
        pages.as_mut_bytes()
    }
}

/// The header of a page of any type.
pub fn fil_header(page: &PageBytes) -> &FilHeader {
    view(page, 0)
}

/// A structure that fits a page at `offset`, which the caller has made sure of.
pub fn view<T>(page: &PageBytes, offset: usize) -> &T
where
    T: FromBytes + Immutable + KnownLayout + Unaligned,
{
    let Ok((structure, _)) = T::ref_from_prefix(&page[offset..]) else {
        unreachable!("structure at byte {offset} leaves the page");
    };
    structure
}

/// Two bytes of a page, big-endian.
#[inline(always)]
pub fn u16_at(page: &PageBytes, offset: usize) -> u16 {
    u16::from_be_bytes([page[offset], page[offset + 1]])
}

/// Four bytes of a page, big-endian.
#[inline(always)]
pub fn u32_at(page: &PageBytes, offset: usize) -> u32 {
    u32::from_be_bytes([page[offset], page[offset + 1], page[offset + 2], page[offset + 3]])
}

/// The structure at byte `at` of a page.
///
/// `at` is a constant of this crate or was checked: a structure that leaves the page is a bug.
pub(crate) fn read_at<T: FromBytes>(page: &PageBytes, at: usize) -> T {
    match T::read_from_prefix(&page[at..]) {
        Ok((value, _)) => value,
        Err(_) => panic!("a structure at byte {at} leaves the page"),
    }
}

/// Writes a structure at byte `at` of a page, as [`read_at`] reads it.
pub(crate) fn write_at<T: IntoBytes + Immutable>(page: &mut PageBytes, at: usize, value: &T) {
    let bytes = value.as_bytes();
    page[at..at + bytes.len()].copy_from_slice(bytes);
}
