//! Lists: of extents, of inode pages.

use core::mem::offset_of;

use super::{Allocation, address, descriptor_place, used_pages};
use crate::extent::{DESCRIPTORS, DESCRIPTORS_PER_PAGE, ExtentDescriptor, NODE, state};
use crate::ids::{PAGES_PER_EXTENT, PAGES_PER_XDES};
use crate::list::{FilAddr, ListBase};
use crate::segment::{INODE_PAGE_NODE, INODES_PER_PAGE, SegmentInode};
use crate::space_header::{SPACE_HEADER, SpaceHeader};
use crate::space_map::Segment;
use crate::verify::corrupt::Rule;

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

impl Allocation<'_> {
    pub(super) fn check_space_lists(&mut self) {
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

    pub(super) fn check_segment_lists(&mut self, segment: Segment) {
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
        let owner_fits = !extent.is_of_segment() || owner == list.segment_id;
        let is_of_list =
            state == list.state || (state == state::LEASED && list.state == state::SEGMENT);
        // Without a page of the segment's, a lent extent has those of the space.
        let is_empty_lease = state == state::LEASED && *list.used.end() == 0 && used == 2;
        let used_fits = list.used.contains(&used) || is_empty_lease;
        if !is_of_list || !owner_fits || !used_fits {
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

    /// Checks the two lists of inode pages. Pages behind a broken link were never read.
    pub(super) fn check_inode_lists(&mut self) {
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

    /// Every initialised extent is on a list.
    pub(super) fn check_unlisted(&mut self) {
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
}
