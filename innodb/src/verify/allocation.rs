//! Rules of the allocation structures: space header, extents, lists, segments, owners.
//!
//! The server believes these blindly: a wrong size kills it at the next
//! INSERT, a used page marked as free is overwritten by the next one.

use std::collections::HashMap;

use crate::extent::{DESCRIPTORS, DESCRIPTORS_PER_PAGE, ExtentDescriptor, NODE, state};
use crate::ids::{FIL_NULL, PAGE_SIZE, PAGES_PER_EXTENT, PAGES_PER_XDES};
use crate::list::{FilAddr, ListBase};
use crate::segment::{INODE_MAGIC, INODE_PAGE_NODE, INODES_PER_PAGE, SegmentInode};
use crate::space_header::{SPACE_HEADER, SpaceHeader};
use crate::space_map::{Half, Role, Segment, SpaceMap};
use crate::verify::Writer;
use crate::verify::corrupt::{Corrupt, Rule, Violations};

use core::mem::offset_of;

/// Checks everything the map holds.
pub(crate) fn check(map: &SpaceMap, writer: Writer) -> Violations {
    let mut allocation = Allocation {
        map,
        writer,
        violations: Violations::new(),
        listed: vec![false; map.extents.len()],
    };
    allocation.check_size();
    allocation.check_extents();
    allocation.check_space_lists();
    allocation.check_inode_lists();
    allocation.check_segments();
    allocation.check_unlisted();
    allocation.check_fragments();
    allocation.check_roles();
    allocation.violations
}

struct Allocation<'a> {
    map: &'a SpaceMap,
    writer: Writer,
    violations: Violations,
    /// Extents found on a list so far.
    listed: Vec<bool>,
}

/// A list of extents: where its base is, what it is called, what may be on it.
struct ExtentList {
    base: ListBase,
    page_no: u32,
    offset: usize,
    name: &'static str,
    state: u32,
    segment_id: u64,
    used: core::ops::RangeInclusive<u32>,
}

/// Byte of page 0 of a field of the space header.
macro_rules! space_field {
    ($field:ident) => {
        SPACE_HEADER + offset_of!(SpaceHeader, $field)
    };
}

impl Allocation<'_> {
    fn bad(
        &mut self,
        page_no: u32,
        offset: usize,
        rule: Rule,
        seen: String,
        expected: impl Into<String>,
    ) {
        self.violations.push(Corrupt::at(page_no, offset, rule, seen, expected));
    }

    fn check_size(&mut self) {
        let SpaceMap { pages, bytes_over, header, .. } = self.map;
        let size = header.size_pages.get();
        if *bytes_over != 0 {
            let seen = format!("file ends {bytes_over} bytes into a page");
            let expected = "a whole number of pages of 16,384 bytes";
            self.violations.push(Corrupt::page(*pages, Rule::FileSize, seen, expected));
        }
        if size != *pages {
            let seen = format!("FSP_SIZE is {size} pages");
            let expected = format!("{pages}, the pages in the file");
            self.bad(0, space_field!(size_pages), Rule::FileSize, seen, expected);
        }
        let limit = header.free_limit.get();
        let limit_max = size.div_ceil(PAGES_PER_EXTENT).saturating_mul(PAGES_PER_EXTENT);
        if limit % PAGES_PER_EXTENT != 0 || limit < PAGES_PER_EXTENT || limit > limit_max {
            let seen = format!("FSP_FREE_LIMIT is {limit}");
            let expected = format!("a multiple of 64 from 64 to {limit_max}");
            self.bad(0, space_field!(free_limit), Rule::FreeLimit, seen, expected);
        }
    }

    /// State, bitmap and place of each extent.
    fn check_extents(&mut self) {
        for index in 0..self.map.extents.len() as u32 {
            if let Err(corrupt) = self.check_extent(index) {
                self.violations.push(corrupt);
            }
        }
    }

    fn check_extent(&self, index: u32) -> Result<(), Corrupt> {
        let extent = &self.map.extents[index as usize];
        let (page_no, offset) = descriptor_place(index);
        let first = index * PAGES_PER_EXTENT;
        let bad = |seen: String, expected: &str| {
            let seen = format!("extent of pages {first} to {} {seen}", first + 63);
            Err(Corrupt::at(page_no, offset, Rule::Extent, seen, expected))
        };
        if extent.bitmap.iter().any(|byte| byte & 0xAA != 0xAA) {
            return bad("has clean bits cleared".into(), "every second bit of the bitmap set");
        }
        let past_end = first.max(self.map.header.size_pages.get())..first + PAGES_PER_EXTENT;
        if past_end.clone().any(|page| !extent.is_free(page - first)) {
            return bad("has used pages past FSP_SIZE".into(), "free bits for pages not there");
        }
        let is_single = matches!(extent.state.get(), state::FREE_FRAG | state::FULL_FRAG);
        if first.is_multiple_of(PAGES_PER_XDES)
            && (!is_single || extent.is_free(0) || extent.is_free(1))
        {
            let seen = format!("has state {}, or its first two pages free", extent.state.get());
            return bad(seen, "state 2 or 3 and both used, as descriptors and bitmap are there");
        }
        let used = used_pages(extent);
        match extent.state.get() {
            state::FREE if used == 0 => Ok(()),
            state::FREE_FRAG if (1..PAGES_PER_EXTENT).contains(&used) => Ok(()),
            state::FULL_FRAG if used == PAGES_PER_EXTENT => Ok(()),
            state::SEGMENT => Ok(()),
            other => bad(
                format!("has state {other} and {used} used pages"),
                "1 with none, 2 with some, 3 with all, or 4 for a segment's",
            ),
        }
    }

    fn check_space_lists(&mut self) {
        let header = &self.map.header;
        let list = |base, offset, name, state, used| ExtentList {
            base,
            page_no: 0,
            offset,
            name,
            state,
            segment_id: 0,
            used,
        };
        self.check_list(list(header.free, space_field!(free), "FSP_FREE", state::FREE, 0..=0));
        let in_free_frag = self.check_list(list(
            header.free_frag,
            space_field!(free_frag),
            "FSP_FREE_FRAG",
            state::FREE_FRAG,
            1..=63,
        ));
        self.check_list(list(
            header.full_frag,
            space_field!(full_frag),
            "FSP_FULL_FRAG",
            state::FULL_FRAG,
            64..=64,
        ));
        let counted = header.frag_used.get();
        if counted != in_free_frag {
            let seen = format!("FSP_FRAG_N_USED is {counted}");
            let expected =
                format!("{in_free_frag}, the used pages of the extents in FSP_FREE_FRAG");
            self.bad(0, space_field!(frag_used), Rule::UsedCount, seen, expected);
        }
    }

    /// Walks a list of extents; gives the used pages of those on it.
    fn check_list(&mut self, list: ExtentList) -> u32 {
        let mut used = 0;
        let mut count = 0;
        let mut prev = FilAddr::NULL;
        // Where the link now followed is.
        let mut link = (list.page_no, list.offset + offset_of!(ListBase, first));
        let mut next = list.base.first;
        while !next.is_null() {
            let Some(index) = self.extent_at(next) else {
                let seen = format!("list {} goes to {}", list.name, address(next));
                let expected = "the descriptor of an extent below the free limit";
                self.bad(link.0, link.1, Rule::List, seen, expected);
                return used;
            };
            if self.listed[index] {
                let seen = format!("list {} goes to {}", list.name, address(next));
                let expected = "an extent that is on no list yet";
                self.bad(link.0, link.1, Rule::List, seen, expected);
                return used;
            }
            self.listed[index] = true;
            count += 1;
            let extent = self.map.extents[index];
            used += used_pages(&extent);
            self.check_listed(&list, index, &extent, prev);
            let (page_no, offset) = descriptor_place(index as u32);
            link = (page_no, offset + NODE + size_of::<FilAddr>());
            prev = next;
            next = extent.node.next;
        }
        self.check_list_base(&list, count, prev);
        used
    }

    /// An extent on a list must belong there and point back.
    fn check_listed(
        &mut self,
        list: &ExtentList,
        index: usize,
        extent: &ExtentDescriptor,
        prev: FilAddr,
    ) {
        let (page_no, offset) = descriptor_place(index as u32);
        let name = list.name;
        if extent.node.prev != prev {
            let seen = format!("extent on {name} has {} before it", address(extent.node.prev));
            self.bad(page_no, offset + NODE, Rule::List, seen, address(prev));
        }
        let (state, owner) = (extent.state.get(), extent.segment_id.get());
        let used = used_pages(extent);
        let owner_fits = state != state::SEGMENT || owner == list.segment_id;
        if state != list.state || !owner_fits || !list.used.contains(&used) {
            let seen =
                format!("extent on {name} has state {state}, owner {owner} and {used} used pages");
            let expected = format!(
                "state {}, owner {} and {} to {} used pages",
                list.state,
                list.segment_id,
                list.used.start(),
                list.used.end()
            );
            self.bad(page_no, offset, Rule::Extent, seen, expected);
        }
    }

    fn check_list_base(&mut self, list: &ExtentList, count: u32, last: FilAddr) {
        if list.base.last != last {
            let seen = format!("list {} ends at {}", list.name, address(list.base.last));
            let offset = list.offset + offset_of!(ListBase, last);
            self.bad(list.page_no, offset, Rule::List, seen, address(last));
        }
        if list.base.count.get() != count {
            let seen = format!("list {} counts {} extents", list.name, list.base.count.get());
            self.bad(list.page_no, list.offset, Rule::List, seen, count.to_string());
        }
    }

    /// The extent whose list node is at an address.
    fn extent_at(&self, address: FilAddr) -> Option<usize> {
        let (page_no, offset) = (address.page_no.get(), usize::from(address.offset.get()));
        let into = offset.checked_sub(DESCRIPTORS + NODE)?;
        let slot = into / size_of::<ExtentDescriptor>();
        if page_no % PAGES_PER_XDES != 0
            || into % size_of::<ExtentDescriptor>() != 0
            || slot >= DESCRIPTORS_PER_PAGE as usize
        {
            return None;
        }
        let index = (page_no / PAGES_PER_XDES * DESCRIPTORS_PER_PAGE) as usize + slot;
        (index < self.map.extents.len()).then_some(index)
    }

    /// The two lists of inode pages. What is behind a broken link was never read.
    fn check_inode_lists(&mut self) {
        let header = &self.map.header;
        let (full, free) = (header.inodes_full, header.inodes_free);
        let split = self.map.inode_pages.iter().position(|page| page.used < INODES_PER_PAGE);
        let (on_full, on_free) =
            self.map.inode_pages.split_at(split.unwrap_or(self.map.inode_pages.len()));
        let lists = [
            ("FSP_SEG_INODES_FULL", full, space_field!(inodes_full), on_full),
            ("FSP_SEG_INODES_FREE", free, space_field!(inodes_free), on_free),
        ];
        for (name, base, offset, pages) in lists {
            let node = |page_no| FilAddr::new(page_no, INODE_PAGE_NODE as u16);
            let mut link = (0, offset + offset_of!(ListBase, first), base.first);
            let mut prev = FilAddr::NULL;
            for page in pages {
                let here = node(page.page_no);
                if link.2 != here {
                    let seen = format!("list {name} goes to {}", address(link.2));
                    self.bad(link.0, link.1, Rule::List, seen, address(here));
                }
                if page.node.prev != prev {
                    let seen = format!("page on {name} has {} before it", address(page.node.prev));
                    self.bad(page.page_no, INODE_PAGE_NODE, Rule::List, seen, address(prev));
                }
                let next = INODE_PAGE_NODE + size_of::<FilAddr>();
                (link, prev) = ((page.page_no, next, page.node.next), here);
            }
            if link.2 != FilAddr::NULL {
                let seen = format!("list {name} goes to {}", address(link.2));
                self.bad(link.0, link.1, Rule::List, seen, "its end");
            }
            if (base.last, base.count.get()) != (prev, pages.len() as u32) {
                let (last, count) = (address(base.last), base.count.get());
                let seen = format!("list {name} counts {count} pages and ends at {last}");
                let expected = format!("{} and {}", pages.len(), address(prev));
                self.bad(0, offset, Rule::List, seen, expected);
            }
        }
    }

    fn check_segments(&mut self) {
        let mut by_id = HashMap::new();
        for index in 0..self.map.segments.len() {
            let segment = self.map.segments[index];
            let Segment { page_no, offset, inode, .. } = segment;
            let id = inode.segment_id.get();
            let next = self.map.header.next_segment_id.get();
            if id >= next {
                let (seen, expected) = (format!("segment id is {id}"), format!("below {next}"));
                self.bad(page_no, offset, Rule::Segment, seen, expected);
            }
            if by_id.insert(id, index).is_some() {
                let seen = format!("segment id {id} occurs a second time");
                self.bad(page_no, offset, Rule::Segment, seen, "each id once");
            }
            if inode.magic.get() != INODE_MAGIC {
                let seen = format!("FSEG_MAGIC_N is {:#010x}", inode.magic.get());
                let at = offset + offset_of!(SegmentInode, magic);
                self.bad(page_no, at, Rule::Segment, seen, format!("{INODE_MAGIC:#010x}"));
            }
            self.check_segment_lists(segment);
        }
        self.check_extent_owners(&by_id);
    }

    fn check_segment_lists(&mut self, segment: Segment) {
        let Segment { page_no, offset, inode, .. } = segment;
        let list = |base, at: usize, name, used| ExtentList {
            base,
            page_no,
            offset: offset + at,
            name,
            state: state::SEGMENT,
            segment_id: inode.segment_id.get(),
            used,
        };
        let (free, not_full, full) = (
            offset_of!(SegmentInode, free),
            offset_of!(SegmentInode, not_full),
            offset_of!(SegmentInode, full),
        );
        self.check_list(list(inode.free, free, "FSEG_FREE", 0..=0));
        let used = self.check_list(list(inode.not_full, not_full, "FSEG_NOT_FULL", 1..=63));
        self.check_list(list(inode.full, full, "FSEG_FULL", 64..=64));
        let counted = inode.not_full_used.get();
        if counted != used {
            let seen = format!("FSEG_NOT_FULL_N_USED is {counted}");
            let expected = format!("{used}, the used pages of the extents in FSEG_NOT_FULL");
            let at = offset + offset_of!(SegmentInode, not_full_used);
            self.bad(page_no, at, Rule::UsedCount, seen, expected);
        }
    }

    fn check_extent_owners(&mut self, by_id: &HashMap<u64, usize>) {
        for (index, extent) in self.map.extents.iter().enumerate() {
            let owner = extent.segment_id.get();
            if extent.state.get() == state::SEGMENT && !by_id.contains_key(&owner) {
                let (page_no, offset) = descriptor_place(index as u32);
                let seen = format!("extent belongs to segment {owner}, which has no inode");
                let expected = "the id of a segment";
                self.violations.push(Corrupt::at(page_no, offset, Rule::Extent, seen, expected));
            }
        }
    }

    /// Every initialised extent is on a list.
    fn check_unlisted(&mut self) {
        for index in 0..self.listed.len() {
            if !self.listed[index] {
                let (page_no, offset) = descriptor_place(index as u32);
                let first = index as u32 * PAGES_PER_EXTENT;
                let seen = format!("extent of pages {first} to {} is on no list", first + 63);
                let expected = "every extent below the free limit on one list";
                self.bad(page_no, offset + NODE, Rule::List, seen, expected);
            }
        }
    }

    /// Pages owned singly: used, in a fragment extent, by one segment; and none without owner.
    fn check_fragments(&mut self) {
        let mut owners: HashMap<u32, u64> = HashMap::new();
        for Segment { page_no, offset, inode, .. } in self.map.segments.clone() {
            let id = inode.segment_id.get();
            for (slot, fragment) in inode.fragments.iter().enumerate() {
                let fragment = fragment.get();
                if fragment == FIL_NULL {
                    continue;
                }
                let at = offset + offset_of!(SegmentInode, fragments) + 4 * slot;
                let seen = format!("segment {id} owns page {fragment}");
                if let Some(other) = owners.insert(fragment, id) {
                    let expected = format!("one owner, but segment {other} owns it too");
                    self.bad(page_no, at, Rule::PageOwner, seen, expected);
                } else if let Some(expected) = self.unfit_fragment(fragment) {
                    self.bad(page_no, at, Rule::PageOwner, seen, expected);
                }
            }
        }
        for index in 0..self.map.extents.len() as u32 {
            self.check_single_pages(index, &owners);
        }
    }

    /// Why a page cannot be owned singly by a segment.
    fn unfit_fragment(&self, page_no: u32) -> Option<&'static str> {
        let map = self.map;
        let extent = map.extents.get((page_no / PAGES_PER_EXTENT) as usize);
        let is_single =
            extent.is_some_and(|e| matches!(e.state.get(), state::FREE_FRAG | state::FULL_FRAG));
        if page_no >= map.size_pages() {
            Some("a page of the file")
        } else if !is_single {
            Some("a page of an extent whose pages are given out singly")
        } else if map.is_free(page_no) {
            Some("a page marked as used")
        } else if page_no % PAGES_PER_XDES < 2 || map.is_inode_page(page_no) {
            Some("a page that is not the space's own")
        } else {
            None
        }
    }

    fn check_single_pages(&mut self, index: u32, owners: &HashMap<u32, u64>) {
        let extent = self.map.extents[index as usize];
        if !matches!(extent.state.get(), state::FREE_FRAG | state::FULL_FRAG) {
            return;
        }
        for page_no in index * PAGES_PER_EXTENT..(index + 1) * PAGES_PER_EXTENT {
            let is_space = page_no % PAGES_PER_XDES < 2 || self.map.is_inode_page(page_no);
            let is_used = !extent.is_free(page_no % PAGES_PER_EXTENT);
            if is_used && !is_space && !owners.contains_key(&page_no) {
                let seen = "page is marked as used, but no segment owns it";
                let expected = "one owner for each used page";
                self.violations.push(Corrupt::page(page_no, Rule::PageOwner, seen, expected));
            } else if !is_used && self.map.is_inode_page(page_no) {
                let seen = "inode page is marked as free";
                self.violations.push(Corrupt::page(page_no, Rule::PageOwner, seen, "a used page"));
            }
        }
    }

    /// Each segment is one half of one index, and each index has both.
    fn check_roles(&mut self) {
        for (index, root) in self.map.indexes.iter().enumerate() {
            for (header, half, offset) in
                [(root.leaf, Half::Leaf, 74_usize), (root.top, Half::Top, 84)]
            {
                let segment = self.map.segment_at(&header);
                let role = segment.and_then(|segment| self.map.segments[segment].role);
                let space_id = self.map.header.space_id;
                if role == Some(Role { index, half }) && header.space_id == space_id {
                    continue;
                }
                let seen = format!(
                    "root names the segment at page {}, byte {}, of space {}",
                    header.page_no, header.offset, header.space_id
                );
                let expected = "an inode of this space that no other index names";
                let corrupt = Corrupt::at(root.root, offset, Rule::Segment, seen, expected);
                self.violations.push(corrupt);
            }
        }
        for Segment { page_no, offset, inode, role } in self.map.segments.clone() {
            if role.is_none() {
                let seen = format!("segment {} belongs to no index", inode.segment_id.get());
                self.bad(page_no, offset, Rule::Segment, seen, "a root that names it");
            }
        }
        if self.writer == Writer::Loader && self.map.indexes.is_empty() {
            let seen = "no segment leads to the root of an index";
            self.violations.push(Corrupt::page(2, Rule::Root, seen, "a clustered index"));
        }
    }
}

fn used_pages(extent: &ExtentDescriptor) -> u32 {
    extent.bitmap.iter().map(|byte| (!byte & 0x55).count_ones()).sum()
}

/// Page and byte of the descriptor of an extent.
fn descriptor_place(index: u32) -> (u32, usize) {
    let page_no = index / DESCRIPTORS_PER_PAGE * PAGES_PER_XDES;
    let slot = (index % DESCRIPTORS_PER_PAGE) as usize;
    let offset = DESCRIPTORS + slot * size_of::<ExtentDescriptor>();
    debug_assert!(offset < PAGE_SIZE, "descriptors fit their page");
    (page_no, offset)
}

fn address(address: FilAddr) -> String {
    match address.is_null() {
        true => "none".into(),
        false => format!("page {}, byte {}", address.page_no, address.offset),
    }
}
