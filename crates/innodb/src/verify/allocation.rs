//! Rules of the allocation structures: space header, extents, lists, segments, owners.
//!
//! The server believes these blindly: a wrong size kills it at the next
//! INSERT, a used page marked as free is overwritten by the next one.

/// Byte of page 0 of a field of the space header.
macro_rules! space_field {
    ($field:ident) => {
        SPACE_HEADER + offset_of!(SpaceHeader, $field)
    };
}

mod list;
mod owner;

use core::mem::offset_of;
use std::collections::HashMap;

use crate::extent::{DESCRIPTORS, DESCRIPTORS_PER_PAGE, ExtentDescriptor, state};
use crate::ids::{PAGE_SIZE, PAGES_PER_EXTENT, PAGES_PER_XDES};
use crate::list::FilAddr;
use crate::segment::{INODE_MAGIC, SegmentInode};
use crate::space_format::SpaceFormat;
use crate::space_header::{SPACE_HEADER, SpaceHeader};
use crate::space_map::{Segment, SpaceMap};
use crate::verify::Writer;
use crate::verify::corrupt::{Corrupt, Rule, Violations};

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
        let least = self.map.format.pages_min();
        if size < least {
            let seen = format!("FSP_SIZE is {size} pages");
            let expected = format!("at least {least}, the pages of a new file");
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
            let expected = "free bits for all pages past FSP_SIZE";
            return bad("has used pages past FSP_SIZE".into(), expected);
        }
        let is_single = matches!(extent.state.get(), state::FREE_FRAG | state::FULL_FRAG);
        let is_leased = extent.state.get() == state::LEASED && self.may_be_leased(first);
        if first.is_multiple_of(PAGES_PER_XDES)
            && (!(is_single || is_leased) || extent.is_free(0) || extent.is_free(1))
        {
            let seen =
                format!("has state {}, or one of its first two pages is free", extent.state.get());
            let expected =
                "state 2 or 3, and both pages used for descriptors and change buffer bitmap";
            return bad(seen, expected);
        }
        let used = used_pages(extent);
        match extent.state.get() {
            state::FREE if used == 0 => Ok(()),
            state::FREE_FRAG if (1..PAGES_PER_EXTENT).contains(&used) => Ok(()),
            state::FULL_FRAG if used == PAGES_PER_EXTENT => Ok(()),
            state::SEGMENT => Ok(()),
            state::LEASED if is_leased => Ok(()),
            other => bad(
                format!("has state {other} and {used} used pages"),
                "state 1 with no used page, 2 with some, 3 with all, or 4 for an extent of a \
                 segment",
            ),
        }
    }

    /// True of an extent that MySQL may have lent to a segment: one whose first pages are descriptors and the
    /// bitmap, but for that of page 0. We build none.
    fn may_be_leased(&self, first: u32) -> bool {
        let by_server = self.writer == Writer::Server && self.map.format == SpaceFormat::MySql;
        by_server && first > 0 && first.is_multiple_of(PAGES_PER_XDES)
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
