//! Off-page columns as MySQL writes them: any part of a value can be replaced by itself.
//!
//! ```text
//! reference:  space, first page, LOB version, length            (where a BLOB has 38, a LOB has its version)
//!                     |
//!               38     64            80          96            696                 16376
//! first page  | header | used entries| free ones | 10 entries  | up to 15,680 bytes | trailer |
//! index page  | version 39 | 272 entries ................................ | trailer |
//! data page   | header 49  | up to 16,327 bytes ......................... | trailer |
//! ```
//!
//! The list of used entries has the parts of the value in order: each names a page, the first page among them. Values
//! of before 8.0, and those that this crate writes, are chains of BLOB pages ([`crate::blob`]); the server reads both.
//!
//! Source: MySQL 9.7, storage/innobase/include/lob0first.h, lob0index.h, lob0pages.h.

use core::mem::{offset_of, size_of};
use core::ops::Range;
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::blob::{BLOB_DATA, BlobHeader};
use crate::error::Error;
use crate::list::{FilAddr, ListBase};
use crate::page::{BODY, PageBytes, TRAILER, fil_header, page_type, view};
use crate::source::{PageSource, ReadError, page_buffer, read_page};

/// Header of the first page of a value, after that of the page. 58 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct LobFirst {
    /// `OFFSET_VERSION`. 0.
    pub version: u8,
    /// `OFFSET_FLAGS`. Lowest bit: no part can be replaced by itself any more.
    pub flags: u8,
    /// `OFFSET_LOB_VERSION`. 1, and one more for each partial update.
    pub lob_version: U32,
    /// `OFFSET_LAST_TRX_ID`.
    pub last_trx_id: [u8; 6],
    /// `OFFSET_LAST_UNDO_NO`.
    pub last_undo_no: U32,
    /// `OFFSET_DATA_LEN`. Bytes of the value on this page.
    pub data_len: U32,
    /// `OFFSET_TRX_ID`.
    pub trx_id: [u8; 6],
    /// `OFFSET_INDEX_LIST`. Entries of the parts, in order.
    pub used: ListBase,
    /// `OFFSET_INDEX_FREE_NODES`. Entries that no part uses.
    pub free: ListBase,
}

/// Header of a further page of a value, after that of the page. 11 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct LobData {
    /// `OFFSET_VERSION`. 0.
    pub version: u8,
    /// `OFFSET_DATA_LEN`. Bytes of the value on this page.
    pub data_len: U32,
    /// `OFFSET_TRX_ID`.
    pub trx_id: [u8; 6],
}

/// An entry for a part of a value. 60 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub(crate) struct LobEntry {
    /// `OFFSET_PREV`. Entry before it on its list.
    pub(crate) prev: FilAddr,
    /// `OFFSET_NEXT`. Entry after it on its list.
    pub(crate) next: FilAddr,
    /// `OFFSET_VERSIONS`. Entries of what was here before, until purge.
    pub(crate) versions: ListBase,
    /// `OFFSET_TRXID`.
    pub(crate) trx_id: [u8; 6],
    /// `OFFSET_TRXID_MODIFIER`.
    pub(crate) modifier_trx_id: [u8; 6],
    /// `OFFSET_TRX_UNDO_NO`.
    pub(crate) undo_no: U32,
    /// `OFFSET_TRX_UNDO_NO_MODIFIER`.
    pub(crate) modifier_undo_no: U32,
    /// `OFFSET_PAGE_NO`. Page of the part.
    pub(crate) page_no: U32,
    /// `OFFSET_DATA_LEN`. Bytes of the part.
    pub(crate) data_len: U16,
    /// Nothing.
    pub(crate) unused: U16,
    /// `OFFSET_LOB_VERSION`. Since when the part is in the value.
    pub(crate) lob_version: U32,
}

/// Entries of a first page.
const FIRST_ENTRIES: usize = 10;
/// Byte of a first page at which the value begins.
const FIRST_DATA: usize = BODY + size_of::<LobFirst>() + FIRST_ENTRIES * size_of::<LobEntry>();
/// Byte of a data page at which the value goes on.
const DATA: usize = BODY + size_of::<LobData>();

const _: () = {
    assert!(BODY + offset_of!(LobFirst, used) == 64);
    assert!(BODY + size_of::<LobFirst>() == 96);
    assert!(size_of::<LobEntry>() == 60);
    assert!(FIRST_DATA == 696 && TRAILER - FIRST_DATA == 15_680);
    assert!(DATA == 49 && TRAILER - DATA == 16_327);
};

/// Place of the part of a value on a page, and its length.
pub struct Part {
    /// From the first byte to the end of the page.
    pub room: Range<usize>,
    /// Bytes of the part; more than `room` on a broken page.
    pub len: usize,
}

impl Part {
    /// The part on a page of a type that has one.
    pub fn of(page: &PageBytes) -> Option<Part> {
        let (start, len) = match fil_header(page).page_type.get() {
            page_type::BLOB => (BLOB_DATA, view::<BlobHeader>(page, BODY).part_len),
            page_type::LOB_FIRST => (FIRST_DATA, view::<LobFirst>(page, BODY).data_len),
            page_type::LOB_DATA => (DATA, view::<LobData>(page, BODY).data_len),
            _ => return None,
        };
        Some(Part { room: start..TRAILER, len: len.get() as usize })
    }

    /// Bytes of the part; none on a page that claims to have nothing, or more than it has room for.
    pub(crate) fn range(&self) -> Option<Range<usize>> {
        let is_part = (1..=self.room.len()).contains(&self.len);
        is_part.then(|| self.room.start..self.room.start + self.len)
    }
}

/// Goes through the entries of a value, in the order of its parts.
#[derive(Clone, Debug)]
pub(crate) struct LobEntries {
    page: Box<PageBytes>,
    page_no: u32,
    next: FilAddr,
}

impl LobEntries {
    /// Entries of no value.
    pub(crate) fn new() -> LobEntries {
        LobEntries { page: page_buffer(), page_no: 0, next: FilAddr::NULL }
    }

    /// Begins with the value whose first page this is.
    pub(crate) fn begin(&mut self, page_no: u32, first: &PageBytes) {
        self.page.copy_from_slice(first);
        self.page_no = page_no;
        self.next = view::<LobFirst>(first, BODY).used.first;
    }

    /// The next entry; none after the last.
    ///
    /// Errors: a source that fails; an entry that is on no page of entries.
    pub(crate) fn advance(
        &mut self,
        source: &dyn PageSource,
    ) -> Result<Option<LobEntry>, ReadError> {
        if self.next.is_null() {
            return Ok(None);
        }
        let (page_no, offset) = (self.next.page_no.get(), usize::from(self.next.offset.get()));
        if page_no != self.page_no {
            read_page(source, page_no, &mut self.page)?;
            self.page_no = page_no;
        }
        let found = fil_header(&self.page).page_type.get();
        let has_entries = matches!(found, page_type::LOB_FIRST | page_type::LOB_INDEX);
        if !has_entries || !(BODY..=TRAILER - size_of::<LobEntry>()).contains(&offset) {
            let (what, seen) = ("off-page value", offset as u64);
            let expected = "an entry of its index on the page".to_owned();
            return Err(Error::Corrupt { page_no, offset: BODY, what, seen, expected }.into());
        }
        let entry: LobEntry = *view(&self.page, offset);
        self.next = entry.next;
        Ok(Some(entry))
    }
}
