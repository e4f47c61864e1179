//! The leaves of an old index, a page of records at a time.

use std::ops::Range;

use innodb::instant::Rewriter;
use innodb::leaves::{LeafRecords, LiveRecord, check_links, read_leaves};
use innodb::page::{AlignedPage, PageBytes};
use job::error::Error;

use super::index::{OldIndex, READ_PAGES};
use super::keys::unreadable;
use crate::space_file::SpaceFile;

/// Reads some leaves after each other.
pub(crate) struct OldLeaves<'a> {
    index: &'a OldIndex,
    file: &'a SpaceFile,
    /// Leaves that are still to be read.
    ahead: Range<usize>,
    pages: Vec<AlignedPage>,
    /// The leaves in `pages`, and which is next there.
    read: Range<usize>,
    next: usize,
    order: Vec<(u32, usize)>,
    /// For a clustered index that was altered instantly.
    rewriting: Option<Rewriting<'a>>,
}

/// The leaf at hand, written anew: more than a page, where values of added columns go in.
struct Rewriting<'a> {
    rewriter: Rewriter<'a>,
    page: AlignedPage,
}

impl<'a> OldLeaves<'a> {
    pub(crate) fn new(
        index: &'a OldIndex,
        file: &'a SpaceFile,
        rewriter: Option<Rewriter<'a>>,
    ) -> OldLeaves<'a> {
        OldLeaves {
            index,
            file,
            ahead: 0..0,
            pages: vec![AlignedPage::ZERO; READ_PAGES],
            read: 0..0,
            next: 0,
            order: Vec::new(),
            rewriting: rewriter.map(|rewriter| Rewriting { rewriter, page: AlignedPage::ZERO }),
        }
    }

    pub(crate) fn index(&self) -> &'a OldIndex {
        self.index
    }

    /// Begins with some leaves.
    pub(crate) fn begin(&mut self, leaves: Range<usize>) {
        (self.read, self.next) = (0..0, 0);
        self.ahead = leaves;
    }

    /// Reads no leaf behind that at hand.
    pub(crate) fn end(&mut self) {
        self.ahead = 0..0;
        self.read.end = self.read.start + self.next;
    }

    /// Puts the records of the next page that count into `records`; false after the last page.
    pub(crate) fn advance(
        &mut self,
        of: &LeafRecords,
        records: &mut Vec<LiveRecord>,
    ) -> Result<bool, Error> {
        loop {
            if let (Some(Rewriting { rewriter, page }), 1..) = (&mut self.rewriting, self.next) {
                let at = self.next - 1;
                let page_no = self.index.leaves[self.read.start + at];
                let leaf = &self.pages[at].0;
                if rewriter.advance(page_no, leaf, &mut page.0, records).map_err(unreadable)? {
                    return Ok(true);
                }
            }
            if self.next == self.read.len() && !self.read_on()? {
                return Ok(false);
            }
            self.next += 1;
            let at = self.next - 1;
            let Some(Rewriting { rewriter, .. }) = &mut self.rewriting else {
                let leaf = self.index.leaves[self.read.start + at];
                of.live(leaf, &self.pages[at].0, records).map_err(unreadable)?;
                return Ok(true);
            };
            rewriter.begin();
        }
    }

    /// Reads more leaves; false if there are none. Each lies between those beside it, as when the file was verified.
    fn read_on(&mut self) -> Result<bool, Error> {
        let end = self.ahead.end.min(self.ahead.start + READ_PAGES);
        self.read = self.ahead.start..end;
        (self.ahead.start, self.next) = (end, 0);
        let leaves = &self.index.leaves;
        let numbers = &leaves[self.read.clone()];
        let read = read_leaves(self.file, numbers, &mut self.pages, &mut self.order);
        read.map_err(unreadable)?;
        for (at, page) in self.read.clone().zip(&self.pages) {
            let beside = [at.checked_sub(1), at.checked_add(1)];
            let beside = beside.map(|at| at.and_then(|at| leaves.get(at).copied()));
            check_links(leaves[at], &page.0, beside).map_err(unreadable)?;
        }
        Ok(!numbers.is_empty())
    }

    /// True if the current page is made of one of the file, and not that itself.
    pub(crate) fn rewrites(&self) -> bool {
        self.rewriting.is_some()
    }

    /// The page at hand.
    #[inline]
    pub(crate) fn page(&self) -> &PageBytes {
        match &self.rewriting {
            Some(rewriting) => &rewriting.page.0,
            None => &self.pages[self.next - 1].0,
        }
    }

    #[inline]
    pub(crate) fn page_mut(&mut self) -> &mut PageBytes {
        match &mut self.rewriting {
            Some(rewriting) => &mut rewriting.page.0,
            None => &mut self.pages[self.next - 1].0,
        }
    }
}
