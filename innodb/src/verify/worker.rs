//! One thread of a verification.

use crate::ids::{PAGE_SIZE, PageNo};
use crate::index_page::index_header;
use crate::page::{PageBytes, fil_header, page_type};
use crate::source::{ReadError, page_buffer, read_page};
use crate::verify::Verifier;
use crate::verify::corrupt::{Corrupt, Violations};
use crate::verify::page;
use crate::verify::records::{Chain, Scratch};
use crate::verify::summary::{PageKind, PageSummary};
use crate::verify::tree::Origins;

/// One thread's share of the pages.
pub struct Worker<'a> {
    verifier: &'a Verifier<'a>,
    pub(super) scratch: Scratch,
    next_page: Box<PageBytes>,
    pub(super) violations: Violations,
    pub(super) has_old_records: bool,
}

impl<'a> Worker<'a> {
    pub(super) fn new(verifier: &'a Verifier<'a>) -> Worker<'a> {
        Worker {
            verifier,
            scratch: Scratch::new(),
            next_page: page_buffer(),
            violations: Violations::new(),
            has_old_records: false,
        }
    }

    /// Checks consecutive pages, the first of which is `first`, and sums them up.
    ///
    /// `pages` is a whole number of pages, of which `summaries` has as many. The last record of
    /// a page is compared with the first of its right sibling: if that is not the next page of
    /// `pages`, it is read from the source. Long runs are therefore cheaper.
    ///
    /// Errors: a sibling that cannot be read. Broken rules are kept; see
    /// [`Worker::violations`].
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
                    self.has_old_records |=
                        checked.summary.kind == PageKind::Index && checked.chain.is_none();
                    checked.summary
                }
                Err(corrupt) => {
                    self.violations.push(corrupt);
                    PageSummary { kind: PageKind::Corrupt, ..PageSummary::default() }
                }
            };
        }
        Ok(())
    }

    /// The rules broken so far.
    pub fn violations(&self) -> &Violations {
        &self.violations
    }

    /// The last record of a page must come before the first of its right sibling.
    fn check_next(
        &mut self,
        page_no: u32,
        page: &PageBytes,
        chain: Chain,
        following: Option<&PageBytes>,
    ) -> Result<(), ReadError> {
        let header = index_header(page);
        let Some(rules) =
            self.verifier.index_by_id(header.index_id.get()).map(|i| &self.verifier.indexes[i])
        else {
            return Ok(());
        };
        let plan = if header.level.get() == 0 { &rules.leaf } else { &rules.node };
        let (Some(plan), Some((_, last))) = (plan, chain.ends) else { return Ok(()) };
        let next = fil_header(page).next.get();
        if next >= self.verifier.map.pages {
            // No sibling, or one that is reported with the links.
            return Ok(());
        }
        let next_page = match following {
            Some(following) if next == page_no + 1 => following,
            _ => {
                read_page(self.verifier.source, next, &mut self.next_page)?;
                &*self.next_page
            }
        };
        let their = index_header(next_page);
        let is_sibling = fil_header(next_page).page_type.get() == page_type::INDEX
            && (their.index_id, their.level) == (header.index_id, header.level);
        let Some(origin) = Origins::first(next_page).filter(|_| is_sibling) else {
            return Ok(());
        };
        let violation = self.scratch.compare_across(
            rules,
            plan,
            self.verifier.writer,
            (page, last),
            (next_page, origin),
        );
        if let Some((rule, seen)) = violation {
            let seen = format!("last record {seen} the first of page {next}, its right sibling");
            self.violations.push(Corrupt::at(page_no, last, rule, seen, "keys that ascend"));
        }
        Ok(())
    }
}
