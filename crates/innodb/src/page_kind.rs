//! Kinds of pages, which the two formats number alike for the most part.

use crate::page::page_type;
use crate::space_format::SpaceFormat;

/// Kind of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PageKind {
    /// Not looked at.
    #[default]
    Unread,
    /// Breaks a rule by itself.
    Corrupt,
    /// Page 0.
    SpaceHeader,
    /// Extent descriptors.
    Descriptors,
    /// Change buffer bitmap.
    ChangeBuffer,
    /// Segment inodes.
    Inodes,
    /// B+tree page.
    Index,
    /// R-tree page.
    RTree,
    /// Part of an off-page value.
    OffPage,
    /// Places of the parts of an off-page value, without a part.
    OffPageIndex,
    /// Dictionary data of the table.
    Dictionary,
    /// Used, of a type this crate does not know.
    Other,
    /// Free.
    Free,
}

impl PageKind {
    /// The kind that a page type stands for.
    pub fn of(format: SpaceFormat, page_type: u16) -> PageKind {
        match (format, page_type) {
            (_, page_type::FSP_HDR) => PageKind::SpaceHeader,
            (_, page_type::XDES) => PageKind::Descriptors,
            (_, page_type::IBUF_BITMAP) => PageKind::ChangeBuffer,
            (_, page_type::INODE) => PageKind::Inodes,
            (_, page_type::INDEX) => PageKind::Index,
            (_, page_type::RTREE) => PageKind::RTree,
            (_, page_type::BLOB) => PageKind::OffPage,
            (_, page_type::ALLOCATED) => PageKind::Free,
            (SpaceFormat::MariaDb, page_type::INSTANT) => PageKind::Index,
            (SpaceFormat::MySql, page_type::LOB_FIRST | page_type::LOB_DATA) => PageKind::OffPage,
            (SpaceFormat::MySql, page_type::LOB_INDEX) => PageKind::OffPageIndex,
            (SpaceFormat::MySql, page_type::SDI | page_type::SDI_BLOB | page_type::SDI_ZBLOB) => {
                PageKind::Dictionary
            }
            _ => PageKind::Other,
        }
    }

    /// Its usual name in the plural.
    pub fn plural(self) -> &'static str {
        match self {
            PageKind::Unread => "unread",
            PageKind::Corrupt => "corrupt",
            PageKind::SpaceHeader => "space header",
            PageKind::Descriptors => "extent descriptors",
            PageKind::ChangeBuffer => "change buffer bitmaps",
            PageKind::Inodes => "segment inodes",
            PageKind::Index => "index pages",
            PageKind::RTree => "R-tree pages",
            PageKind::OffPage => "off-page values",
            PageKind::OffPageIndex => "off-page value indexes",
            PageKind::Dictionary => "dictionary pages",
            PageKind::Other => "of unknown type",
            PageKind::Free => "free",
        }
    }

    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            PageKind::Unread => "an unread page",
            PageKind::Corrupt => "a corrupt page",
            PageKind::SpaceHeader => "the space header",
            PageKind::Descriptors => "an extent descriptor page",
            PageKind::ChangeBuffer => "a change buffer bitmap",
            PageKind::Inodes => "a segment inode page",
            PageKind::Index => "an index page",
            PageKind::RTree => "an R-tree page",
            PageKind::OffPage => "an off-page value",
            PageKind::OffPageIndex => "an index of an off-page value",
            PageKind::Dictionary => "a dictionary page",
            PageKind::Other => "a page of unknown type",
            PageKind::Free => "a free page",
        }
    }
}
