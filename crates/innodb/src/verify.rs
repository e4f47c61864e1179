//! Checking a finished tablespace, every page of it, in one pass.
//!
//! IMPORT TABLESPACE believes almost everything a file says about itself, and a server that has believed a wrong file
//! loses rows or dies later. So a file is verified before any server sees it.
//!
//! ```text
//! Verifier::new   page 0, descriptors, inodes, roots: who owns which page
//! Worker::verify  pages in any order, on any number of threads: 24 bytes kept of each
//! Verifier::finish  siblings, node pointers, off-page values, counts
//! ```
//!
//! Pages that are built in memory can be verified there ([`Early`]), before the file exists; who owns
//! them is looked at when it does, and they need not be read again.
//!
//! No threads and no I/O of its own: pages come from a [`PageSource`], threads from the caller.

mod allocation;
mod corrupt;
mod dictionary;
mod early;
mod off_page;
mod page;
pub(crate) mod plan;
mod records;
mod report;
mod rules;
mod siblings;
mod summary;
mod tree;
mod worker;

pub use crate::order::{Collations, Compare, UncheckedField, collation_of};
pub use crate::page_kind::PageKind;
pub use corrupt::{Corrupt, Rule, Violations};
pub use early::{Early, EarlyWorker, Edges};
pub use report::{IndexReport, LevelReport, Report};
pub use summary::PageSummary;
pub use worker::{Findings, Worker};

use crate::cfg::Cfg;
use crate::ids::{PAGE_SIZE, PageNo};
use crate::source::{PageSource, ReadError};
use crate::space_map::SpaceMap;
use off_page::Chains;
use report::check_counts;
use rules::{IndexRules, TableRules};
use tree::Tree;

/// Who wrote a file: what a server may leave in it, a file built for import must not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Built in order by this crate: no deleted record, no gap, no LSN, system columns constant.
    Loader,
    /// A server, changed at random since; exported, so that nothing is left in its memory.
    Server,
}

/// Facts about a file from elsewhere.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Who wrote it.
    pub writer: Writer,
    /// Its `.cfg`. Without one, records are checked as far as that goes without columns: chain,
    /// heap, directory, but neither lengths nor order nor node pointers.
    pub cfg: Option<&'a Cfg>,
    /// How to compare text.
    pub collations: Collations<'a>,
}

impl Context<'_> {
    /// A file of a server of which nothing else is known.
    pub fn unknown() -> Context<'static> {
        Context { writer: Writer::Server, cfg: None, collations: &|_, _| None }
    }
}

/// Verifies one tablespace.
pub struct Verifier<'a> {
    source: &'a dyn PageSource,
    map: SpaceMap,
    rules: TableRules,
    /// Violations of the allocation structures.
    violations: Violations,
}

impl<'a> Verifier<'a> {
    /// Reads and checks the allocation structures of a file of `file_bytes` bytes.
    ///
    /// Errors: a source that fails, a first page that says the file is not one this crate reads.
    pub fn new(
        source: &'a dyn PageSource,
        file_bytes: u64,
        context: Context<'_>,
    ) -> Result<Verifier<'a>, ReadError> {
        let map = SpaceMap::read(source, file_bytes)?;
        let mut violations = allocation::check(&map, context.writer);
        let rules = TableRules::bind(&map, context, &mut violations);
        Ok(Verifier { source, map, rules, violations })
    }

    /// The allocation structures.
    pub fn map(&self) -> &SpaceMap {
        &self.map
    }

    /// Their violations, before any other page is read.
    pub fn violations(&self) -> &Violations {
        &self.violations
    }

    /// Memory for one thread's pages.
    pub fn worker(&self) -> Worker<'_> {
        Worker::new(self)
    }

    /// Checks what takes more than one page, once every page of the file was verified.
    ///
    /// `summaries` has one entry for each page of the file; `findings` are those of all workers that were used. Reads
    /// the non-leaf pages again, and of a server's file those leaves whose first record was deleted.
    ///
    /// Errors: a page that cannot be read again.
    pub fn finish(
        &self,
        summaries: &[PageSummary],
        findings: Vec<Findings>,
    ) -> Result<Report, ReadError> {
        let mut violations = self.violations.clone();
        let mut notes = self.rules.notes.clone();
        let mut references = Vec::new();
        let mut has_old_records = false;
        for found in findings {
            violations.extend(found.violations);
            references.push(found.references);
            has_old_records |= found.has_old_records;
        }
        if has_old_records {
            notes.push("records of ROW_FORMAT=REDUNDANT are unchecked".into());
        }
        let indexes = self.count(summaries);
        tree::check_links(&indexes, summaries, &mut violations);
        let mut seen = vec![0; summaries.len().div_ceil(64)];
        for (index, report) in indexes.iter().enumerate() {
            Tree::new(self, index, summaries, &mut seen, &mut violations).check(report)?;
        }
        let is_readable =
            self.rules.indexes.first().is_some_and(|clustered| clustered.leaf.is_some());
        let is_damaged = indexes.iter().any(|index| index.is_damaged);
        if is_readable {
            let references = references.into_iter().flatten();
            let chains = Chains::new(self, summaries, &mut seen, &mut violations);
            let left = chains.check(references)?;
            if !is_damaged {
                self.judge_unreferenced(&left, &mut violations, &mut notes);
            }
        }
        if !is_damaged {
            check_counts(&indexes, &mut violations);
        }
        violations.sort();
        let are_readable = |also_altered: bool| {
            let is_readable = |index: &IndexRules| {
                index.leaf.is_some() || index.is_dropped || (also_altered && index.is_altered)
            };
            !has_old_records && self.rules.indexes.iter().all(is_readable)
        };
        let are_records_read = are_readable(false);
        let is_altered = !are_records_read && are_readable(true);
        let unchecked = self.rules.unchecked.clone();
        Ok(Report { violations, indexes, unchecked, notes, are_records_read, is_altered })
    }

    /// Sums up consecutive pages by their headers, without checking them.
    pub fn summarise(&self, first: PageNo, pages: &[u8], summaries: &mut [PageSummary]) {
        let (pages, _) = pages.as_chunks::<PAGE_SIZE>();
        for (index, (page, summary)) in pages.iter().zip(summaries).enumerate() {
            *summary = page::summarise(self, first.0 + index as u32, page);
        }
    }

    /// Sums up the pages of each index.
    pub fn count(&self, summaries: &[PageSummary]) -> Vec<IndexReport> {
        let mut reports: Vec<_> = self.rules.indexes.iter().map(IndexReport::empty).collect();
        for (page_no, summary) in summaries.iter().enumerate() {
            match summary.kind {
                PageKind::Index | PageKind::RTree => {
                    reports[usize::from(summary.index)].add(summary)
                }
                PageKind::Corrupt => {
                    // A page without an owner may be of any index.
                    let owner = self.map.role_of(page_no as u32).map(|role| role.index);
                    for (index, report) in reports.iter_mut().enumerate() {
                        report.is_damaged |= owner.is_none_or(|owner| owner == index);
                    }
                }
                _ => {}
            }
        }
        reports
    }

    fn judge_unreferenced(
        &self,
        left: &[u32],
        violations: &mut Violations,
        notes: &mut Vec<String>,
    ) {
        match self.rules.writer {
            Writer::Server if !left.is_empty() => notes.push(format!(
                "{} pages of off-page values belong to no row: old versions not purged yet",
                left.len()
            )),
            Writer::Server => {}
            Writer::Loader => {
                for page_no in left {
                    let seen = "page of an off-page value that no record refers to";
                    let expected = "one reference to each page";
                    violations.push(Corrupt::page(*page_no, Rule::OffPage, seen, expected));
                }
            }
        }
    }
}

/// Verifies a whole file on the calling thread, `RUN_PAGES` pages at a time.
///
/// Errors: a source that fails, or a file this crate does not read. A broken rule is no error but part of the report.
///
/// ```
/// use innodb::verify::{Context, verify_space};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let file = std::fs::File::open("testdata/mariadb-10.11/orders.ibd")?;
/// let report = verify_space(&file, file.metadata()?.len(), Context::unknown())?;
/// for violation in report.violations.kept() {
///     println!("{violation}");
/// }
/// assert!(report.violations.is_empty());
/// # Ok(())
/// # }
/// ```
pub fn verify_space(
    source: &dyn PageSource,
    file_bytes: u64,
    context: Context<'_>,
) -> Result<Report, ReadError> {
    let verifier = Verifier::new(source, file_bytes, context)?;
    let mut summaries = vec![PageSummary::default(); verifier.map.pages as usize];
    let mut worker = verifier.worker();
    let mut pages = vec![0; RUN_PAGES * PAGE_SIZE];
    for (run, summaries) in summaries.chunks_mut(RUN_PAGES).enumerate() {
        let first = PageNo((run * RUN_PAGES) as u32);
        worker.complete(first, &mut pages, summaries)?;
    }
    verifier.finish(&summaries, vec![worker.into_findings()])
}

/// Pages read at once: 4 MiB, so that few siblings are read a second time.
pub const RUN_PAGES: usize = 256;
