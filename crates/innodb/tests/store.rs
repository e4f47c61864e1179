//! A tablespace in memory: pages by number, each written once, and a walk over its trees.

use std::collections::{BTreeMap, BTreeSet};

use innodb::allocator::Allocator;
use innodb::cfg::Cfg;
use innodb::extent::{DESCRIPTORS, DESCRIPTORS_PER_PAGE, ExtentDescriptor, state};
use innodb::ids::{FIL_NULL, PAGE_SIZE, PAGES_PER_EXTENT, PAGES_PER_XDES};
use innodb::index_page::{INFIMUM, PAGE_HEADER, PageHeader, SUPREMUM};
use innodb::layout::Layout;
use innodb::page::FilHeader;
use innodb::record::RecordShape;
use innodb::space_format::SpaceFormat;
use innodb::template::Template;
use zerocopy::FromBytes;

/// Cfg and template of `testdata/mariadb-10.11`.
pub(crate) fn template() -> (Cfg, Template) {
    let cfg = Cfg::parse(include_bytes!("../testdata/mariadb-10.11/t.cfg")).unwrap();
    let template =
        Template::parse(include_bytes!("../testdata/mariadb-10.11/t.ibd"), &cfg).unwrap();
    (cfg, template)
}

#[derive(Default)]
pub(crate) struct Store {
    pub(crate) pages: BTreeMap<u32, Vec<u8>>,
}

impl Store {
    /// Writes whole pages; writing one twice fails the test.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        assert!(offset.is_multiple_of(PAGE_SIZE as u64) && bytes.len().is_multiple_of(PAGE_SIZE));
        for (page_no, page) in (offset / PAGE_SIZE as u64..).zip(bytes.chunks(PAGE_SIZE)) {
            let page_no = u32::try_from(page_no).unwrap();
            let intact = SpaceFormat::MariaDb.is_intact(page.first_chunk().unwrap());
            assert!(intact, "checksum of page {page_no}");
            let frame = FilHeader::read_from_prefix(page).unwrap().0;
            assert_eq!(frame.page_no.get(), page_no);
            assert_eq!(frame.space_id.get(), 5);
            let before = self.pages.insert(page_no, page.to_vec());
            assert!(before.is_none(), "page {page_no} written twice");
        }
    }

    pub(crate) fn frame(&self, page_no: u32) -> FilHeader {
        FilHeader::read_from_prefix(&self.pages[&page_no]).unwrap().0
    }

    pub(crate) fn header(&self, page_no: u32) -> PageHeader {
        PageHeader::read_from_prefix(&self.pages[&page_no][PAGE_HEADER..]).unwrap().0
    }

    /// Every record of a page, start to end, and its origin in that slice; checks the heap, the
    /// list and the directory.
    pub(crate) fn records(&self, page_no: u32, shape: &RecordShape) -> Vec<(Vec<u8>, usize)> {
        let page = &self.pages[&page_no];
        let header = self.header(page_no);
        let u16_at = |at: usize| u16::from_be_bytes([page[at], page[at + 1]]);
        let (mut origin, mut records, mut spans) = (INFIMUM, Vec::new(), Vec::new());
        let (mut owned, mut slots, mut heap) = (0u8, Vec::new(), 120);
        loop {
            owned += 1;
            let n_owned = page[origin - 5] & 0xF;
            if n_owned != 0 {
                assert_eq!(n_owned, owned, "owned at {origin} of page {page_no}");
                slots.push(origin as u16);
                owned = 0;
            }
            if origin == SUPREMUM {
                break;
            }
            origin = usize::from(u16_at(origin - 2)).wrapping_add(origin) & 0xFFFF;
            if origin != SUPREMUM {
                let span = shape.spans(page, origin, &mut spans).unwrap();
                assert_eq!(span.start, heap, "records follow each other on page {page_no}");
                heap = span.end;
                assert_eq!(u16_at(origin - 4) >> 3, records.len() as u16 + 2);
                assert_eq!(u16_at(origin - 4) & 7, u16::from(shape.is_node));
                records.push((page[span.start..span.end].to_vec(), span.origin - span.start));
            }
        }
        assert_eq!(usize::from(header.heap_top.get()), heap);
        assert_eq!(usize::from(header.records.get()), records.len());
        assert_eq!(header.heap_records.get(), 0x8000 | (records.len() as u16 + 2));
        assert_eq!(usize::from(header.directory_slots.get()), slots.len());
        for (index, slot) in slots.iter().enumerate() {
            assert_eq!(u16_at(16_376 - 2 * (index + 1)), *slot, "slot {index} of page {page_no}");
        }
        let directory = 16_376 - 2 * slots.len();
        assert!(page[heap..directory].iter().all(|byte| *byte == 0));
        records
    }

    /// Walks a tree from its root: the leaf records in order, the levels, the pages.
    pub(crate) fn walk(&self, root: u32, leaf: &RecordShape) -> Walk {
        let node = leaf.to_node();
        let levels = self.header(root).level.get() + 1;
        let mut walk = Walk { levels, records: Vec::new(), pages: vec![root] };
        let mut level_pages = vec![root];
        for level in (1..levels).rev() {
            let (mut children, mut first) = (Vec::new(), true);
            for page_no in &level_pages {
                assert_eq!(self.header(*page_no).level.get(), level);
                for (record, origin) in self.records(*page_no, &node) {
                    let is_min = record[origin - 5] & 0x10 != 0;
                    assert_eq!(is_min, first, "min record flag on page {page_no}");
                    first = false;
                    let (key, child) = record.split_at(record.len() - 4);
                    let child = u32::from_be_bytes(child.try_into().unwrap());
                    let shape = if level == 1 { leaf } else { &node };
                    let (below, below_origin) = self.records(child, shape).swap_remove(0);
                    let mut expected = Vec::new();
                    let at = if level == 1 {
                        leaf.append_node_key(&below, below_origin, &mut expected).unwrap()
                    } else {
                        expected.extend_from_slice(&below[..below.len() - 4]);
                        below_origin
                    };
                    expected[at - 5..at].copy_from_slice(&key[origin - 5..origin]);
                    assert_eq!((key, origin), (&expected[..], at), "node pointer to {child}");
                    children.push(child);
                }
            }
            self.check_links(&children);
            walk.pages.extend_from_slice(&children);
            level_pages = children;
        }
        self.check_links(&[root]);
        for page_no in level_pages {
            assert_eq!(self.header(page_no).level.get(), 0);
            walk.records.extend(self.records(page_no, leaf));
        }
        walk
    }

    fn check_links(&self, pages: &[u32]) {
        for (index, page_no) in pages.iter().enumerate() {
            let frame = self.frame(*page_no);
            let prev = index.checked_sub(1).map_or(FIL_NULL, |before| pages[before]);
            let next = pages.get(index + 1).copied().unwrap_or(FIL_NULL);
            assert_eq!((frame.prev.get(), frame.next.get()), (prev, next), "page {page_no}");
        }
    }

    /// Writes the allocation pages and checks that they say used exactly where a page is.
    pub(crate) fn finish(&mut self, template: &Template, allocator: &Allocator) -> u32 {
        let layout = Layout::new(template, allocator);
        for (page_no, page) in layout.pages() {
            self.write(page_no.file_offset(), &page[..]);
        }
        let size = layout.size_pages();
        assert!(size < PAGES_PER_EXTENT || size.is_multiple_of(PAGES_PER_EXTENT));
        let mut used = BTreeSet::new();
        for extent in 0..size.div_ceil(PAGES_PER_EXTENT) {
            let page = &self.pages[&(extent / DESCRIPTORS_PER_PAGE * PAGES_PER_XDES)];
            let at = DESCRIPTORS + (extent % DESCRIPTORS_PER_PAGE) as usize * 40;
            let descriptor = ExtentDescriptor::read_from_prefix(&page[at..]).unwrap().0;
            assert_ne!(descriptor.state.get(), state::NOT_INITED);
            let first = extent * PAGES_PER_EXTENT;
            used.extend((0..64).filter(|page| !descriptor.is_free(*page)).map(|page| first + page));
        }
        let written: BTreeSet<u32> = self.pages.keys().copied().collect();
        assert_eq!(used, written, "used pages");
        assert!(written.iter().all(|page_no| *page_no < size));
        size
    }
}

/// The findings of a walk over one index.
pub(crate) struct Walk {
    pub(crate) levels: u16,
    pub(crate) records: Vec<(Vec<u8>, usize)>,
    pub(crate) pages: Vec<u32>,
}
