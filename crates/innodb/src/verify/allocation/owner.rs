//! Owners: each used page has one, each segment is one half of one index.

use core::mem::offset_of;
use std::collections::HashMap;

use super::{Allocation, descriptor_place};
use crate::extent::state;
use crate::ids::{FIL_NULL, PAGES_PER_EXTENT, PAGES_PER_XDES};
use crate::segment::SegmentInode;
use crate::space_map::{Half, Role, Segment};
use crate::verify::Writer;
use crate::verify::corrupt::{Corrupt, Rule};

impl Allocation<'_> {
    pub(super) fn check_extent_owners(&mut self, by_id: &HashMap<u64, usize>) {
        for (index, extent) in self.map.extents.iter().enumerate() {
            let owner = extent.segment_id.get();
            if extent.is_of_segment() && !by_id.contains_key(&owner) {
                let (page_no, offset) = descriptor_place(index as u32);
                let seen = format!("extent belongs to segment {owner}, which has no inode");
                let expected = "the id of a segment";
                self.violations.push(Corrupt::at(page_no, offset, Rule::Extent, seen, expected));
            }
        }
    }

    /// Pages owned singly: used, in a fragment extent, by one segment; and none without owner.
    pub(super) fn check_fragments(&mut self) {
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
    pub(super) fn check_roles(&mut self) {
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
        self.check_dictionary();
        for (segment, of) in self.map.segments.clone().into_iter().enumerate() {
            let Segment { page_no, offset, inode, role } = of;
            if role.is_none() && !self.map.is_dictionary(segment) {
                let seen = format!("segment {} belongs to no index", inode.segment_id.get());
                let expected = "an index root that names the segment";
                self.bad(page_no, offset, Rule::Segment, seen, expected);
            }
        }
        if self.writer == Writer::Loader && self.map.indexes.is_empty() {
            let seen = "no segment leads to the root of an index";
            self.violations.push(Corrupt::page(2, Rule::Root, seen, "a clustered index"));
        }
    }

    /// MySQL's dictionary has two segments that no index names.
    fn check_dictionary(&mut self) {
        let Some(root) = self.map.dictionary else { return };
        let space_id = self.map.header.space_id;
        let [leaf, top] = [root.leaf, root.top].map(|header| {
            let segment = self.map.segment_at(&header).filter(|_| header.space_id == space_id);
            segment.filter(|segment| self.map.segments[*segment].role.is_none())
        });
        if leaf == top || leaf.is_none() || top.is_none() {
            let seen = "root of the dictionary names a segment twice, or another index's";
            let expected = "two inodes of this space that no other index names";
            self.violations.push(Corrupt::at(root.root, 74, Rule::Segment, seen, expected));
        }
    }
}
