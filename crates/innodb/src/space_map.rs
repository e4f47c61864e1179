//! The allocation structures of a tablespace: the owner of each page.
//!
//! Read once from page 0, the descriptor pages and the inode pages: 40 bytes
//! of memory for each MiB of the file, in time that grows as it does. Nothing is believed beyond what keeps
//! the reader inside the file; [`crate::verify`] judges what was read.

use std::collections::{HashMap, HashSet};

use crate::error::Error;
use crate::extent::{DESCRIPTORS, DESCRIPTORS_PER_PAGE, ExtentDescriptor, state};
use crate::ids::{FIL_NULL, IndexId, PAGE_SIZE, PAGES_PER_EXTENT, PAGES_PER_XDES};
use crate::index_page::index_header;
use crate::list::{ListBase, ListNode};
use crate::page::{PageBytes, fil_header, page_type, view};
use crate::page_kind::PageKind;
use crate::segment::{INODE_PAGE_NODE, INODES, INODES_PER_PAGE, SegmentHeader, SegmentInode};
use crate::source::{PageSource, ReadError, page_buffer, read_page};
use crate::space_format::SpaceFormat;
use crate::space_header::SpaceHeader;

/// The allocation structures of a tablespace.
#[derive(Clone, Debug)]
pub struct SpaceMap {
    /// Format of the file.
    pub format: SpaceFormat,
    /// Whole pages in the file.
    pub pages: u32,
    /// Bytes after the last whole page; 0 in a sound file.
    pub bytes_over: u32,
    /// The space header.
    pub header: SpaceHeader,
    /// Descriptors of the extents below the free limit.
    pub extents: Vec<ExtentDescriptor>,
    /// Inode pages, in the order of their lists: full ones, then those with free slots.
    pub inode_pages: Vec<InodePage>,
    /// Segments, in the order of their inodes.
    pub segments: Vec<Segment>,
    /// Indexes, by root page; the first is the clustered one.
    pub indexes: Vec<IndexRoot>,
    /// MySQL: the index of the dictionary pages (SDI), which is none of the table's.
    pub dictionary: Option<IndexRoot>,
    /// Pages of `inode_pages`: asked about any page of the file.
    inode_page_nos: HashSet<u32>,
    /// Where in `segments` the one is whose inode is at a byte of a page.
    segment_places: HashMap<(u32, usize), u32>,
    /// Segment of each page owned singly; of two owners the first.
    fragments: HashMap<u32, u32>,
    /// Segment of each extent, or `NO_SEGMENT`.
    extent_segments: Vec<u32>,
}

/// An inode page.
#[derive(Clone, Copy, Debug)]
pub struct InodePage {
    /// Page.
    pub page_no: u32,
    /// Its node on one of the two lists of inode pages.
    pub node: ListNode,
    /// Used slots.
    pub used: usize,
}

/// A segment and where its inode is.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Page of the inode.
    pub page_no: u32,
    /// Byte of that page.
    pub offset: usize,
    /// The inode.
    pub inode: SegmentInode,
    /// The half of an index it is, if a root page names it.
    pub role: Option<Role>,
}

/// The contents of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// Position in [`SpaceMap::indexes`].
    pub index: usize,
    /// Leaf pages (and off-page columns), or the root and all other non-leaf pages.
    pub half: Half,
}

/// Half of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Leaf pages, and off-page columns in the clustered index.
    Leaf,
    /// The root and every other non-leaf page.
    Top,
}

/// An index, known from its root page.
#[derive(Clone, Copy, Debug)]
pub struct IndexRoot {
    /// Root page.
    pub root: u32,
    /// `PAGE_INDEX_ID`.
    pub id: IndexId,
    /// Levels above the leaves.
    pub level: u16,
    /// `FIL_PAGE_TYPE` of the root.
    pub page_type: u16,
    /// `PAGE_BTR_SEG_LEAF`.
    pub leaf: SegmentHeader,
    /// `PAGE_BTR_SEG_TOP`.
    pub top: SegmentHeader,
}

const NO_SEGMENT: u32 = u32::MAX;

impl SpaceMap {
    /// Reads the map of a file of `file_bytes` bytes.
    ///
    /// Errors: a source that fails; a file without a page; a first page that is not that of a
    /// tablespace of a known [`SpaceFormat`].
    pub fn read(source: &dyn PageSource, file_bytes: u64) -> Result<SpaceMap, ReadError> {
        let pages = u32::try_from(file_bytes / PAGE_SIZE as u64)
            .ok()
            .filter(|pages| (1..FIL_NULL).contains(pages))
            .ok_or_else(|| bad_first_page(0, "file size", file_bytes, "at least a page"))?;
        let mut page = page_buffer();
        read_page(source, 0, &mut page)?;
        let (format, header) = SpaceFormat::with_header(&page)?;
        let dictionary_root = format.dictionary_root(&page);
        let mut map = SpaceMap {
            format,
            pages,
            bytes_over: (file_bytes % PAGE_SIZE as u64) as u32,
            header,
            extents: Vec::new(),
            inode_pages: Vec::new(),
            segments: Vec::new(),
            indexes: Vec::new(),
            dictionary: None,
            inode_page_nos: HashSet::new(),
            segment_places: HashMap::new(),
            fragments: HashMap::new(),
            extent_segments: Vec::new(),
        };
        map.read_extents(source, &mut page)?;
        map.read_inodes(source, header.inodes_full, &mut page)?;
        map.read_inodes(source, header.inodes_free, &mut page)?;
        map.read_roots(source, dictionary_root, &mut page)?;
        map.index_owners();
        Ok(map)
    }

    /// True if the descriptor of a page says it is free; above the free limit all are.
    pub fn is_free(&self, page_no: u32) -> bool {
        match self.extents.get((page_no / PAGES_PER_EXTENT) as usize) {
            Some(extent) if extent.state.get() != state::NOT_INITED => {
                extent.is_free(page_no % PAGES_PER_EXTENT)
            }
            _ => true,
        }
    }

    /// Position in [`SpaceMap::segments`] of the segment that owns a page.
    pub(crate) fn segment_of(&self, page_no: u32) -> Option<usize> {
        if page_no % PAGES_PER_XDES < 2 {
            return None;
        }
        let extent = *self.extent_segments.get((page_no / PAGES_PER_EXTENT) as usize)?;
        match extent {
            NO_SEGMENT => self.fragments.get(&page_no).map(|segment| *segment as usize),
            segment => Some(segment as usize),
        }
    }

    /// The half of an index that owns a page.
    pub fn role_of(&self, page_no: u32) -> Option<Role> {
        self.segments[self.segment_of(page_no)?].role
    }

    /// True if a segment, by its position in [`SpaceMap::segments`], is one of the dictionary's.
    pub(crate) fn is_dictionary(&self, segment: usize) -> bool {
        let root = self.dictionary.iter();
        root.flat_map(|root| [root.leaf, root.top])
            .any(|header| self.segment_at(&header) == Some(segment))
    }

    /// True if a page is on one of the two lists of inode pages.
    pub(crate) fn is_inode_page(&self, page_no: u32) -> bool {
        self.inode_page_nos.contains(&page_no)
    }

    /// Position in [`SpaceMap::segments`] of the segment a root page names.
    pub(crate) fn segment_at(&self, header: &SegmentHeader) -> Option<usize> {
        let (page_no, offset) = (header.page_no.get(), usize::from(header.offset.get()));
        self.segment_places.get(&(page_no, offset)).map(|segment| *segment as usize)
    }

    /// Pages that belong to the space: the fewer of what the file has and the header says.
    pub fn size_pages(&self) -> u32 {
        self.pages.min(self.header.size_pages.get())
    }

    fn read_extents(
        &mut self,
        source: &dyn PageSource,
        page: &mut PageBytes,
    ) -> Result<(), ReadError> {
        let in_file = self.pages.div_ceil(PAGES_PER_EXTENT);
        let count = (self.header.free_limit.get() / PAGES_PER_EXTENT).min(in_file);
        for extent in 0..count {
            let index = extent % DESCRIPTORS_PER_PAGE;
            if index == 0 {
                read_page(source, extent / DESCRIPTORS_PER_PAGE * PAGES_PER_XDES, page)?;
            }
            let offset = DESCRIPTORS + index as usize * size_of::<ExtentDescriptor>();
            self.extents.push(*view(page, offset));
        }
        Ok(())
    }

    /// Follows one list of inode pages as far as it is sound.
    fn read_inodes(
        &mut self,
        source: &dyn PageSource,
        list: ListBase,
        page: &mut PageBytes,
    ) -> Result<(), ReadError> {
        let mut next = list.first;
        while next.page_no.get() < self.pages && !self.is_inode_page(next.page_no.get()) {
            let page_no = next.page_no.get();
            read_page(source, page_no, page)?;
            let node: ListNode = *view(page, INODE_PAGE_NODE);
            let used_before = self.segments.len();
            self.read_inode_page(page_no, page);
            let used = self.segments.len() - used_before;
            self.inode_pages.push(InodePage { page_no, node, used });
            self.inode_page_nos.insert(page_no);
            next = node.next;
        }
        Ok(())
    }

    fn read_inode_page(&mut self, page_no: u32, page: &PageBytes) {
        if fil_header(page).page_type.get() != page_type::INODE {
            return;
        }
        for slot in 0..INODES_PER_PAGE {
            let offset = INODES + slot * size_of::<SegmentInode>();
            let inode: SegmentInode = *view(page, offset);
            if inode.segment_id.get() != 0 {
                self.segment_places.insert((page_no, offset), self.segments.len() as u32);
                self.segments.push(Segment { page_no, offset, inode, role: None });
            }
        }
    }

    /// A root is the first single page of its top segment, and names that segment.
    fn read_roots(
        &mut self,
        source: &dyn PageSource,
        dictionary_root: Option<u32>,
        page: &mut PageBytes,
    ) -> Result<(), ReadError> {
        for segment in 0..self.segments.len() {
            let root = self.segments[segment].inode.fragments[0].get();
            if root >= self.pages {
                continue;
            }
            read_page(source, root, page)?;
            let page_type = fil_header(page).page_type.get();
            let header = index_header(page);
            if self.segment_at(&header.top_segment) != Some(segment) {
                continue;
            }
            let found = IndexRoot {
                root,
                id: IndexId(header.index_id.get()),
                level: header.level.get(),
                page_type,
                leaf: header.leaf_segment,
                top: header.top_segment,
            };
            match PageKind::of(self.format, page_type) {
                PageKind::Index | PageKind::RTree => self.indexes.push(found),
                PageKind::Dictionary if dictionary_root == Some(root) => {
                    self.dictionary = Some(found);
                }
                _ => {}
            }
        }
        self.indexes.sort_by_key(|index| index.root);
        Ok(())
    }

    fn index_owners(&mut self) {
        for index in 0..self.indexes.len() {
            let IndexRoot { leaf, top, .. } = self.indexes[index];
            for (header, half) in [(leaf, Half::Leaf), (top, Half::Top)] {
                if let Some(segment) = self.segment_at(&header) {
                    self.segments[segment].role.get_or_insert(Role { index, half });
                }
            }
        }
        let mut by_id = HashMap::new();
        for (segment, Segment { inode, .. }) in self.segments.iter().enumerate() {
            by_id.entry(inode.segment_id.get()).or_insert(segment as u32);
            for page_no in inode.fragments.iter().filter(|page_no| page_no.get() != FIL_NULL) {
                self.fragments.entry(page_no.get()).or_insert(segment as u32);
            }
        }
        let owner = |extent: &ExtentDescriptor| match extent.is_of_segment() {
            true => by_id.get(&extent.segment_id.get()).copied().unwrap_or(NO_SEGMENT),
            false => NO_SEGMENT,
        };
        self.extent_segments = self.extents.iter().map(owner).collect();
    }
}

fn bad_first_page(offset: usize, what: &'static str, seen: u64, expected: &str) -> Error {
    Error::Corrupt { page_no: 0, offset, what, seen, expected: expected.to_owned() }
}
