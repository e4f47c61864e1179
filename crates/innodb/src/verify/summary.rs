//! Summaries of pages, for the rules that need several pages.

use crate::page_kind::PageKind;

/// A page in 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageSummary {
    /// The kind of the page.
    pub kind: PageKind,
    /// Index pages: level, 0 for a leaf. Off-page values: 1 for the first page of a list of parts.
    pub level: u8,
    /// Index pages: position of the index in [`crate::space_map::SpaceMap::indexes`].
    pub index: u16,
    /// Index pages: user records. Off-page values: bytes on the page.
    pub records: u16,
    /// Index pages: records marked as deleted.
    pub deleted: u16,
    /// Index pages: bytes a record could use.
    pub free: u16,
    /// True if `first_key` is known.
    pub has_first_key: bool,
    /// Index pages: checksum of the first key.
    pub first_key: u32,
    /// Index pages: left sibling.
    pub prev: u32,
    /// Index pages: right sibling. Off-page values: next page.
    pub next: u32,
}

const _: () = assert!(size_of::<PageSummary>() <= 32);
