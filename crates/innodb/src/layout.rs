//! The pages that say which pages are used: written last, once everything has its place.
//!
//! ```text
//! page 0                  space header, descriptors of extents 0 to 255
//! page 16384 * n          descriptors of the 256 extents from there on
//! page 16384 * n + 1      change buffer bitmap, all zero: no hint, nothing buffered
//! inode pages             as in the template, each segment with its pages
//! dictionary page         as in the template; MySQL only
//! ```
//!
//! Memory: 12 bytes an extent, 12 MB for a tablespace of 1 TB.
//!
//! Source: MariaDB 10.11, storage/innobase/fsp/fsp0fsp.cc; include/fsp0fsp.h.

use std::collections::BTreeMap;
use zerocopy::byteorder::big_endian::{U16, U32, U64};

use crate::allocator::{Allocator, Owner};
use crate::extent::{DESCRIPTORS, DESCRIPTORS_PER_PAGE, ExtentDescriptor, NODE, state};
use crate::ids::{FIL_NULL, PAGE_SIZE, PAGES_PER_EXTENT, PAGES_PER_XDES, PageNo, SpaceId};
use crate::list::{FilAddr, ListBase, ListNode};
use crate::page::{BODY, FilHeader, PageBytes, TRAILER, page_type, read_at, write_at};
use crate::segment::{FRAGMENTS, SegmentInode};
use crate::space_format::SpaceFormat;
use crate::space_header::{SPACE_HEADER, SpaceHeader};
use crate::template::Template;

/// Everything the allocation pages say. The tree and off-page columns must be complete.
#[derive(Clone, Debug)]
pub struct Layout<'a> {
    template: &'a Template,
    allocator: &'a Allocator,
    /// Used pages of each extent that is not full.
    bitmaps: BTreeMap<u32, u64>,
    /// List of each extent.
    lists: Vec<List>,
    /// Node of each extent in its list.
    links: Vec<(u32, u32)>,
    /// Head of each list, and used pages in its extents.
    heads: BTreeMap<List, Head>,
}

/// A list of extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum List {
    /// An extent of the space: one of `FREE`, `FREE_FRAG`, `FULL_FRAG` of [`state`].
    Space(u8),
    /// An extent of a segment, whose extents have no, some or only used pages.
    Segment(u16, Used),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Used {
    No,
    Some,
    All,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    count: u32,
    first: u32,
    last: u32,
    used_pages: u32,
}

impl<'a> Layout<'a> {
    /// Works out the lists. One pass over the extents.
    pub fn new(template: &'a Template, allocator: &'a Allocator) -> Layout<'a> {
        assert!(
            allocator.segments().len() == template.segments.len(),
            "the allocator was made for this template"
        );
        let count = allocator.owners().len();
        let mut layout = Layout {
            template,
            allocator,
            bitmaps: allocator.used_bitmaps(),
            lists: Vec::with_capacity(count),
            links: vec![(FIL_NULL, FIL_NULL); count],
            heads: BTreeMap::new(),
        };
        for (extent, owner) in allocator.owners().iter().enumerate() {
            layout.add_extent(extent as u32, *owner);
        }
        layout
    }

    /// Pages of the file. It must have exactly this size; pages never written are zero.
    pub fn size_pages(&self) -> u32 {
        self.allocator.size_pages()
    }

    /// Bytes of the file.
    pub fn size_bytes(&self) -> u64 {
        PageNo(self.size_pages()).file_offset()
    }

    /// Every allocation page, sealed, with its number.
    pub fn pages(&self) -> impl Iterator<Item = (PageNo, Box<PageBytes>)> + '_ {
        let sections = self.size_pages().div_ceil(PAGES_PER_XDES);
        let spaces = (0..sections).flat_map(|section| {
            let first = section * PAGES_PER_XDES;
            [(first, self.descriptor_page(section)), (first + 1, self.bitmap_page(first + 1))]
        });
        let inodes = self.template.inode_pages.iter().map(|(page_no, page)| {
            let mut page = page.clone();
            self.fill_inode_page(*page_no, &mut page);
            (*page_no, page)
        });
        let dictionary = self.template.dictionary.iter().map(|(page_no, page)| {
            let mut page = page.clone();
            clear_lsn(&mut page);
            (*page_no, page)
        });
        spaces.chain(inodes).chain(dictionary).map(|(page_no, mut page)| {
            self.template.format.seal(&mut page);
            (PageNo(page_no), page)
        })
    }

    fn used(&self, extent: u32) -> u64 {
        self.bitmaps.get(&extent).copied().unwrap_or(u64::MAX)
    }

    fn add_extent(&mut self, extent: u32, owner: Owner) {
        let used = self.used(extent);
        let list = match (owner.segment(), used) {
            (None, 0) => List::Space(state::FREE as u8),
            (None, u64::MAX) => List::Space(state::FULL_FRAG as u8),
            (None, _) => List::Space(state::FREE_FRAG as u8),
            (Some(segment), 0) => List::Segment(segment as u16, Used::No),
            (Some(segment), u64::MAX) => List::Segment(segment as u16, Used::All),
            (Some(segment), _) => List::Segment(segment as u16, Used::Some),
        };
        let head = self.heads.entry(list).or_insert(Head {
            count: 0,
            first: extent,
            last: FIL_NULL,
            used_pages: 0,
        });
        if head.last != FIL_NULL {
            self.links[head.last as usize].1 = extent;
        }
        self.links[extent as usize].0 = head.last;
        head.last = extent;
        head.count += 1;
        head.used_pages += used.count_ones();
        self.lists.push(list);
    }

    fn list_base(&self, list: List) -> ListBase {
        self.heads.get(&list).map_or(ListBase::EMPTY, |head| ListBase {
            count: U32::new(head.count),
            first: extent_address(head.first),
            last: extent_address(head.last),
        })
    }

    fn used_pages(&self, list: List) -> U32 {
        U32::new(self.heads.get(&list).map_or(0, |head| head.used_pages))
    }

    fn descriptor_page(&self, section: u32) -> Box<PageBytes> {
        let page_no = section * PAGES_PER_XDES;
        let mut page = self.blank_page(page_no, page_type::XDES);
        if section == 0 {
            page.clone_from(&self.template.space_page);
            clear_lsn(&mut page);
            let header = self.space_header(read_at(&page, SPACE_HEADER));
            write_at(&mut page, SPACE_HEADER, &header);
        }
        let first = section * DESCRIPTORS_PER_PAGE;
        let end = (first + DESCRIPTORS_PER_PAGE).min(self.lists.len() as u32);
        for (slot, extent) in (first..end).enumerate() {
            let at = DESCRIPTORS + slot * size_of::<ExtentDescriptor>();
            write_at(&mut page, at, &self.descriptor(extent));
        }
        page
    }

    fn bitmap_page(&self, page_no: u32) -> Box<PageBytes> {
        self.blank_page(page_no, page_type::IBUF_BITMAP)
    }

    fn blank_page(&self, page_no: u32, page_type: u16) -> Box<PageBytes> {
        blank_page(self.template.format, self.template.space_id, page_no, page_type)
    }

    fn space_header(&self, template: SpaceHeader) -> SpaceHeader {
        let [free, free_frag, full_frag] =
            [state::FREE, state::FREE_FRAG, state::FULL_FRAG].map(|state| List::Space(state as u8));
        SpaceHeader {
            size_pages: U32::new(self.size_pages()),
            free_limit: U32::new(self.lists.len() as u32 * PAGES_PER_EXTENT),
            frag_used: self.used_pages(free_frag),
            free: self.list_base(free),
            free_frag: self.list_base(free_frag),
            full_frag: self.list_base(full_frag),
            ..template
        }
    }

    fn descriptor(&self, extent: u32) -> ExtentDescriptor {
        let (state, segment_id) = match self.lists[extent as usize] {
            List::Space(state) => (u32::from(state), 0),
            List::Segment(segment, _) => {
                (state::SEGMENT, self.template.segments[usize::from(segment)].id)
            }
        };
        let (prev, next) = self.links[extent as usize];
        ExtentDescriptor {
            segment_id: U64::new(segment_id),
            node: ListNode { prev: extent_address(prev), next: extent_address(next) },
            state: U32::new(state),
            bitmap: extent_bitmap(self.used(extent)),
        }
    }

    fn fill_inode_page(&self, page_no: u32, page: &mut PageBytes) {
        clear_lsn(page);
        for (number, segment) in self.template.segments.iter().enumerate() {
            if segment.inode_page == page_no {
                let inode = self.inode(number, read_at(page, segment.inode_offset));
                write_at(page, segment.inode_offset, &inode);
            }
        }
    }

    fn inode(&self, number: usize, template: SegmentInode) -> SegmentInode {
        let pages = &self.allocator.segments()[number];
        let mut fragments = [U32::new(FIL_NULL); FRAGMENTS];
        for (slot, page_no) in fragments.iter_mut().zip(&pages.fragments) {
            *slot = U32::new(*page_no);
        }
        let list = |used| List::Segment(number as u16, used);
        SegmentInode {
            not_full_used: self.used_pages(list(Used::Some)),
            free: self.list_base(list(Used::No)),
            not_full: self.list_base(list(Used::Some)),
            full: self.list_base(list(Used::All)),
            fragments,
            ..template
        }
    }
}

/// A page with nothing but its header.
pub(crate) fn blank_page(
    format: SpaceFormat,
    space_id: SpaceId,
    page_no: u32,
    page_type: u16,
) -> Box<PageBytes> {
    let mut page = Box::new([0; PAGE_SIZE]);
    let header = FilHeader {
        key_version_or_checksum: U32::ZERO,
        page_no: U32::new(page_no),
        prev: U32::new(format.no_neighbour()),
        next: U32::new(format.no_neighbour()),
        lsn: U64::ZERO,
        page_type: U16::new(page_type),
        flush_lsn: U64::ZERO,
        space_id: U32::new(space_id.0),
    };
    write_at(&mut page, 0, &header);
    page
}

/// Takes the LSN of the server out of a page of the template.
fn clear_lsn(page: &mut PageBytes) {
    let header = FilHeader { lsn: U64::ZERO, flush_lsn: U64::ZERO, ..read_at(page, 0) };
    write_at(page, 0, &header);
    page[TRAILER..].fill(0);
}

/// Address of the list node of an extent.
fn extent_address(extent: u32) -> FilAddr {
    if extent == FIL_NULL {
        return FilAddr::NULL;
    }
    let slot = (extent % DESCRIPTORS_PER_PAGE) as usize;
    let offset = DESCRIPTORS + slot * size_of::<ExtentDescriptor>() + NODE;
    FilAddr::new(extent / DESCRIPTORS_PER_PAGE * PAGES_PER_XDES, offset as u16)
}

/// Two bits a page, lowest first: free, and one that is always set.
fn extent_bitmap(used: u64) -> [u8; 16] {
    core::array::from_fn(|byte| {
        (0..4).fold(0, |bits, pair| {
            let is_free = used >> (4 * byte + pair) & 1 == 0;
            bits | (0b10 | u8::from(is_free)) << (2 * pair)
        })
    })
}

const _: () = assert!(BODY == SPACE_HEADER);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_marks_free_pages() {
        assert_eq!(extent_bitmap(u64::MAX), [0b1010_1010; 16]);
        assert_eq!(extent_bitmap(0), [0xFF; 16]);
        let first_seven = extent_bitmap(0x7F);
        // As in page 0 of testdata/mariadb-10.11/t.ibd, which uses 7 pages.
        assert_eq!(first_seven[..3], [0xAA, 0xEA, 0xFF]);
    }

    #[test]
    fn an_address_points_at_the_node() {
        assert!(extent_address(FIL_NULL).is_null());
        assert_eq!(extent_address(0), FilAddr::new(0, 158));
        assert_eq!(extent_address(255), FilAddr::new(0, 150 + 255 * 40 + 8));
        assert_eq!(extent_address(257), FilAddr::new(16_384, 198));
    }
}
