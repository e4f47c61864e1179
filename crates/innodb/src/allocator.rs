//! Giving out the pages of a tablespace, in the server's own way.
//!
//! A segment gets its first 32 pages one by one from *fragment* extents, which all segments share, and then whole
//! extents of its own. The extent that holds a descriptor page is always a fragment extent. So a segment that allocates
//! alone gets one long run of pages, interrupted by two pages in 16,384.
//!
//! Memory: 2 bytes an extent, 2 MB for a tablespace of 1 TB.
//!
//! Source: MariaDB 10.11, storage/innobase/fsp/fsp0fsp.cc, `fseg_alloc_free_page_low`.

use core::ops::Range;
use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::extent::DESCRIPTORS_PER_PAGE;
use crate::ids::{FIL_NULL, PAGES_PER_EXTENT};
use crate::segment::FRAGMENTS;
use crate::template::{SegmentNo, Template};

/// Pages of every extent that have been given out, and to which segment.
#[derive(Clone, Debug)]
pub struct Allocator {
    segments: Vec<Segment>,
    extents: Vec<Owner>,
    /// Used pages of each fragment extent, lowest bit first.
    fragments: BTreeMap<u32, u64>,
    /// Of the smallest file.
    pages_min: u32,
}

/// The use of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u16);

/// Pages of one segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segment {
    /// Pages from fragment extents.
    pub(crate) fragments: Vec<u32>,
    /// Pages of the newest extent that were not given out yet.
    rest: Range<u32>,
}

impl Owner {
    /// Shared by all segments.
    pub(crate) const FRAGMENTS: Owner = Owner(u16::MAX);

    /// The segment that owns the extent.
    pub(crate) fn segment(self) -> Option<usize> {
        (self != Owner::FRAGMENTS).then_some(usize::from(self.0))
    }
}

impl Allocator {
    /// An allocator for a copy of `template`, whose own pages are used already.
    pub fn new(template: &Template) -> Allocator {
        let mut allocator = Allocator {
            segments: template.segments.iter().map(Segment::of_template).collect(),
            extents: Vec::new(),
            fragments: BTreeMap::new(),
            pages_min: template.format.pages_min(),
        };
        for page_no in template.used_pages() {
            let (extent, page) = (page_no / PAGES_PER_EXTENT, page_no % PAGES_PER_EXTENT);
            *allocator.fragments.entry(extent).or_default() |= 1 << page;
            let count = allocator.extents.len().max(extent as usize + 1);
            allocator.extents.resize(count, Owner::FRAGMENTS);
        }
        allocator
    }

    /// Gives `pages` pages to a segment, appended to `ranges` in ascending runs as long as possible.
    ///
    /// Errors: [`Error::SpaceFull`]; pages given before it stay the segment's.
    pub fn allocate(
        &mut self,
        segment: SegmentNo,
        pages: u32,
        ranges: &mut Vec<Range<u32>>,
    ) -> Result<()> {
        let mut missing = pages;
        while missing > 0 {
            let range = self.next_range(segment, missing)?;
            missing -= range.end - range.start;
            match ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => ranges.push(range),
            }
        }
        Ok(())
    }

    /// Gives one page to a segment.
    ///
    /// Errors: [`Error::SpaceFull`].
    pub(crate) fn allocate_page(&mut self, segment: SegmentNo) -> Result<u32> {
        self.next_range(segment, 1).map(|range| range.start)
    }

    /// Pages from 0 to the last one of the file: whole extents, except in a file of one.
    pub fn size_pages(&self) -> u32 {
        match (self.extents.len(), self.fragments.get(&0)) {
            (1, Some(used)) => (u64::BITS - used.leading_zeros()).max(self.pages_min),
            (count, _) => count as u32 * PAGES_PER_EXTENT,
        }
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    pub(crate) fn owners(&self) -> &[Owner] {
        &self.extents
    }

    /// Used pages of each extent that is not full: fragment extents, and those of a segment with pages not given out.
    pub(crate) fn used_bitmaps(&self) -> BTreeMap<u32, u64> {
        let mut bitmaps = self.fragments.clone();
        for segment in &self.segments {
            for page_no in segment.rest.clone() {
                let used = bitmaps.entry(page_no / PAGES_PER_EXTENT).or_insert(u64::MAX);
                *used &= !(1 << (page_no % PAGES_PER_EXTENT));
            }
        }
        bitmaps
    }

    /// Between 1 and `pages_max` pages next to each other.
    fn next_range(&mut self, number: SegmentNo, pages_max: u32) -> Result<Range<u32>> {
        let segment = &mut self.segments[number.0];
        if segment.rest.is_empty() {
            if segment.fragments.len() < FRAGMENTS {
                let page_no = self.fragment_page()?;
                self.segments[number.0].fragments.push(page_no);
                return Ok(page_no..page_no + 1);
            }
            let extent = self.new_extent(Owner(number.0 as u16))?;
            let first = extent * PAGES_PER_EXTENT;
            self.segments[number.0].rest = first..first + PAGES_PER_EXTENT;
        }
        Ok(cut_front(&mut self.segments[number.0].rest, pages_max))
    }

    /// The lowest free page of a fragment extent.
    fn fragment_page(&mut self) -> Result<u32> {
        // Fragment extents fill one after the other; one opened for its descriptors comes last.
        let found = self.fragments.iter_mut().find(|(_, used)| **used != u64::MAX);
        let (extent, used) = match found {
            Some((extent, used)) => (*extent, used),
            None => {
                let extent = self.new_extent(Owner::FRAGMENTS)?;
                (extent, self.fragments.entry(extent).or_default())
            }
        };
        let page = used.trailing_ones();
        assert!(page < PAGES_PER_EXTENT, "the extent has a free page");
        *used |= 1 << page;
        Ok(extent * PAGES_PER_EXTENT + page)
    }

    /// Takes the next extent of the file for `owner`.
    fn new_extent(&mut self, owner: Owner) -> Result<u32> {
        loop {
            let extent = self.extents.len() as u32;
            // The last page number, FIL_NULL, means "none".
            if extent >= FIL_NULL / PAGES_PER_EXTENT {
                return Err(Error::SpaceFull { pages_max: extent * PAGES_PER_EXTENT });
            }
            if !extent.is_multiple_of(DESCRIPTORS_PER_PAGE) {
                self.extents.push(owner);
                return Ok(extent);
            }
            // Its first two pages hold descriptors and bitmap; no segment can own it.
            self.extents.push(Owner::FRAGMENTS);
            self.fragments.insert(extent, 0b11);
            if owner == Owner::FRAGMENTS {
                return Ok(extent);
            }
        }
    }
}

impl Segment {
    fn of_template(segment: &crate::template::TemplateSegment) -> Segment {
        Segment { fragments: segment.page.into_iter().collect(), ..Segment::default() }
    }
}

/// Takes up to `pages_max` pages off the front.
fn cut_front(range: &mut Range<u32>, pages_max: u32) -> Range<u32> {
    debug_assert!(range.start < range.end && pages_max > 0);
    let middle = range.end.min(range.start.saturating_add(pages_max));
    let front = range.start..middle;
    range.start = middle;
    front
}
