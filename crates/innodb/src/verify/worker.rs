//! One thread of a verification.

use crate::ids::{FIL_NULL, PAGE_SIZE, PageNo};
use crate::page::{PageBytes, fil_header};
use crate::page_kind::PageKind;
use crate::source::{ReadError, page_buffer, read_page};
use crate::verify::Verifier;
use crate::verify::corrupt::Violations;
use crate::verify::off_page::Reference;
use crate::verify::page;
use crate::verify::records::{Chain, RecordBuffers};
use crate::verify::siblings::{self, LastRecord};
use crate::verify::summary::PageSummary;

/// One thread's share of the pages.
pub struct Worker<'a> {
    verifier: &'a Verifier<'a>,
    scratch: RecordBuffers,
    next_page: Box<PageBytes>,
    found: Findings,
}

/// A worker's findings, apart from the summaries.
#[derive(Default)]
pub struct Findings {
    pub(super) violations: Violations,
    /// References to off-page values.
    pub(super) references: Vec<Reference>,
    pub(super) has_old_records: bool,
}

impl<'a> Worker<'a> {
    pub(super) fn new(verifier: &'a Verifier<'a>) -> Worker<'a> {
        let (next_page, found) = (page_buffer(), Findings::default());
        Worker { verifier, scratch: RecordBuffers::new(), next_page, found }
    }

    /// Checks consecutive pages, the first of which is `first`, and sums them up.
    ///
    /// `pages` is a whole number of pages, of which `summaries` has as many. The last record of
    /// a page is compared with the first of its right sibling: if that is not the next page of
    /// `pages`, it is read from the source. Long runs are therefore cheaper.
    ///
    /// Errors: a sibling that cannot be read. Broken rules are kept; see [`Worker::violations`].
    pub fn verify(
        &mut self,
        first: PageNo,
        pages: &[u8],
        summaries: &mut [PageSummary],
    ) -> Result<(), ReadError> {
        let (pages, _) = pages.as_chunks::<PAGE_SIZE>();
        for (index, (page, summary)) in pages.iter().zip(summaries).enumerate() {
            let page_no = first.0 + index as u32;
            *summary = match page::check(self.verifier, page_no, page, &mut self.scratch) {
                Ok(checked) => {
                    if let Some(chain) = checked.chain {
                        self.check_next(page_no, page, chain, pages.get(index + 1))?;
                    }
                    self.found.has_old_records |=
                        checked.summary.kind == PageKind::Index && checked.chain.is_none();
                    checked.summary
                }
                Err(corrupt) => {
                    self.found.violations.push(corrupt);
                    PageSummary { kind: PageKind::Corrupt, ..PageSummary::default() }
                }
            };
        }
        Ok(())
    }

    /// Completes the check of consecutive pages, the first of which is `first`: those that have no
    /// summary yet are read into `buffer`, which has room for all, and checked as by
    /// [`Worker::verify`]; of the others, verified early ([`super::Early`]), the owners are.
    ///
    /// Errors: a page that cannot be read.
    pub fn complete(
        &mut self,
        first: PageNo,
        buffer: &mut [u8],
        summaries: &mut [PageSummary],
    ) -> Result<(), ReadError> {
        let mut page_no = first.0;
        for run in summaries.chunk_by_mut(|a, b| is_unread(a) == is_unread(b)) {
            if is_unread(&run[0]) {
                let pages = &mut buffer[..run.len() * PAGE_SIZE];
                let read = self.verifier.source.read(PageNo(page_no), pages);
                read.map_err(|source| ReadError::Source { page_no, source })?;
                self.verify(PageNo(page_no), pages, run)?;
            } else {
                self.check_owners(page_no, run);
            }
            page_no += run.len() as u32;
        }
        Ok(())
    }

    /// Checks who owns pages that were verified before that was known.
    fn check_owners(&mut self, first: u32, summaries: &mut [PageSummary]) {
        for (page_no, summary) in (first..).zip(summaries) {
            if summary.kind == PageKind::Corrupt {
                continue;
            }
            if let Err(corrupt) = page::check_owned(self.verifier, page_no, summary) {
                self.found.violations.push(corrupt);
                *summary = PageSummary { kind: PageKind::Corrupt, ..PageSummary::default() };
            }
        }
    }

    /// The rules broken so far.
    pub fn violations(&self) -> &Violations {
        &self.found.violations
    }

    /// Ends the work.
    pub fn into_findings(mut self) -> Findings {
        self.found.references = self.scratch.references;
        self.found
    }

    /// The last record of a page must come before the first of its right sibling.
    fn check_next(
        &mut self,
        page_no: u32,
        page: &PageBytes,
        chain: Chain,
        following: Option<&PageBytes>,
    ) -> Result<(), ReadError> {
        let next = fil_header(page).next.get();
        // A sibling that is not there is reported with the links.
        let is_there = next != FIL_NULL && next < self.verifier.map.pages;
        let Some((_, origin)) = chain.ends.filter(|_| is_there) else { return Ok(()) };
        let next_page = match following {
            Some(following) if next == page_no + 1 => following,
            _ => {
                read_page(self.verifier.source, next, &mut self.next_page)?;
                &*self.next_page
            }
        };
        let rules = &self.verifier.rules;
        let last = LastRecord { page_no, page, origin };
        let broken = siblings::compare(rules, &mut self.scratch, last, next_page);
        self.found.violations.push_all(broken);
        Ok(())
    }
}

fn is_unread(summary: &PageSummary) -> bool {
    summary.kind == PageKind::Unread
}
