//! Verifying pages in memory, while the file is still being built.
//!
//! The contents of a page, and the order of its records and its neighbours', can be checked as soon as the
//! page is complete. Its owner is in pages that are written last: that is left to
//! [`Worker::complete`](super::Worker::complete), which needs no more than the summary.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ids::{FIL_NULL, PAGE_SIZE, PageNo};
use crate::page::{PageBytes, fil_header};
use crate::page_kind::PageKind;
use crate::source::{PageSource, ReadError, page_buffer, read_page};
use crate::verify::records::RecordBuffers;
use crate::verify::rules::TableRules;
use crate::verify::siblings::{self, LastRecord};
use crate::verify::summary::PageSummary;
use crate::verify::worker::Findings;
use crate::verify::{Context, Verifier, Writer, page};

/// Verifies pages of a table whose file is not complete yet.
#[derive(Clone)]
pub struct Early {
    rules: Arc<TableRules>,
}

/// One thread's share of the pages.
pub struct EarlyWorker {
    rules: Arc<TableRules>,
    scratch: RecordBuffers,
    found: Findings,
    /// Edges of the pages verified since [`Edges::take`].
    edges: Vec<Edge>,
}

/// A page one of whose neighbours was not verified together with it.
struct Edge {
    /// The right one of the two pages.
    right: u32,
    side: Side,
    page: Box<PageBytes>,
}

enum Side {
    /// The page is `right` itself.
    Right,
    /// The page comes before `right`: its number, and the origin of its last record.
    Left { page_no: u32, origin: usize },
}

/// Pages that wait for a neighbour.
#[derive(Default)]
pub struct Edges {
    waiting: HashMap<u32, Edge>,
    /// Pages that name the same right neighbour as another one; one of them must be wrong.
    surplus: Vec<Edge>,
}

impl Early {
    /// For the table whose file, without rows, is `empty`: its roots stay where they are.
    ///
    /// Errors: as [`Verifier::new`].
    pub fn new(
        empty: &dyn PageSource,
        empty_bytes: u64,
        context: Context<'_>,
    ) -> Result<Early, ReadError> {
        assert_eq!(context.writer, Writer::Loader, "only built pages are seen before the file");
        let rules = Verifier::new(empty, empty_bytes, context)?.rules;
        Ok(Early { rules: Arc::new(rules) })
    }

    /// Memory for one thread's pages.
    pub fn worker(&self) -> EarlyWorker {
        let (scratch, found) = (RecordBuffers::new(), Findings::default());
        EarlyWorker { rules: Arc::clone(&self.rules), scratch, found, edges: Vec::new() }
    }

    /// True if the indexes are where `verifier` found them in the file: else nothing that was
    /// verified with these rules counts.
    pub fn is_of(&self, verifier: &Verifier<'_>) -> bool {
        let places = |rules: &TableRules| -> Vec<_> {
            rules.indexes.iter().map(|index| (index.root, index.id, index.root_type)).collect()
        };
        self.rules.space_id == verifier.rules.space_id
            && places(&self.rules) == places(&verifier.rules)
    }
}

impl EarlyWorker {
    /// Checks consecutive pages, the first of which is `first`, and sums them up. Pages that are
    /// neither of an index nor of an off-page value stay [`PageKind::Unread`].
    ///
    /// Broken rules are kept.
    pub fn verify(&mut self, first: PageNo, pages: &[u8], summaries: &mut [PageSummary]) {
        let (pages, _) = pages.as_chunks::<PAGE_SIZE>();
        for (index, (page, summary)) in pages.iter().zip(summaries).enumerate() {
            let page_no = first.0 + index as u32;
            *summary = match page::check_unowned(&self.rules, page_no, page, &mut self.scratch) {
                Ok(Some(checked)) => {
                    if let Some((_, origin)) = checked.chain.and_then(|chain| chain.ends) {
                        let before = index.checked_sub(1).map(|before| &pages[before]);
                        let last = LastRecord { page_no, page, origin };
                        self.check_neighbours(last, before, pages.get(index + 1));
                    }
                    self.found.has_old_records |=
                        checked.summary.kind == PageKind::Index && checked.chain.is_none();
                    checked.summary
                }
                Ok(None) => PageSummary::default(),
                Err(corrupt) => {
                    self.found.violations.push(corrupt);
                    PageSummary { kind: PageKind::Corrupt, ..PageSummary::default() }
                }
            };
        }
    }

    /// Ends the work.
    pub fn into_findings(mut self) -> Findings {
        debug_assert!(self.edges.is_empty(), "edges are taken after each run of pages");
        self.found.references = self.scratch.references;
        self.found
    }

    fn compare(&mut self, left: LastRecord<'_>, right: &PageBytes) {
        let broken = siblings::compare(&self.rules, &mut self.scratch, left, right);
        self.found.violations.push_all(broken);
    }

    fn check_neighbours(
        &mut self,
        last: LastRecord<'_>,
        before: Option<&PageBytes>,
        after: Option<&PageBytes>,
    ) {
        let LastRecord { page_no, page, origin } = last;
        let (prev, next) = (fil_header(page).prev.get(), fil_header(page).next.get());
        let names_this = |before: &PageBytes| fil_header(before).next.get() == page_no;
        if prev != FIL_NULL && !before.is_some_and(names_this) {
            let page = Box::new(*page);
            self.edges.push(Edge { right: page_no, side: Side::Right, page });
        }
        match after {
            _ if next == FIL_NULL => {}
            Some(after) if next == page_no + 1 => self.compare(last, after),
            _ => {
                let (side, page) = (Side::Left { page_no, origin }, Box::new(*page));
                self.edges.push(Edge { right: next, side, page });
            }
        }
    }
}

impl Edges {
    /// Takes the edges of the pages that `worker` verified last, and compares those that meet.
    pub fn take(&mut self, worker: &mut EarlyWorker) {
        for edge in std::mem::take(&mut worker.edges) {
            let Some(other) = self.waiting.remove(&edge.right) else {
                self.waiting.insert(edge.right, edge);
                continue;
            };
            match (&edge.side, &other.side) {
                (&Side::Left { page_no, origin }, Side::Right) => {
                    worker.compare(LastRecord { page_no, page: &edge.page, origin }, &other.page);
                }
                (Side::Right, &Side::Left { page_no, origin }) => {
                    worker.compare(LastRecord { page_no, page: &other.page, origin }, &edge.page);
                }
                _ => {
                    self.surplus.push(edge);
                    self.waiting.insert(other.right, other);
                }
            }
        }
    }

    /// Compares pages whose right neighbours were not verified early with these, from `source`.
    ///
    /// Errors: a page that cannot be read.
    pub fn finish(
        self,
        early: &Early,
        source: &dyn PageSource,
        pages: u32,
    ) -> Result<Findings, ReadError> {
        let mut worker = early.worker();
        let mut right = page_buffer();
        for edge in self.waiting.into_values().chain(self.surplus) {
            if let Side::Left { page_no, origin } = edge.side
                && edge.right < pages
            {
                read_page(source, edge.right, &mut right)?;
                worker.compare(LastRecord { page_no, page: &edge.page, origin }, &right);
            }
        }
        Ok(worker.into_findings())
    }

    /// Pages that wait.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.surplus.len()
    }

    /// True if none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
