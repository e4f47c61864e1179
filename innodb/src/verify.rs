//! Checking a finished tablespace, every page of it, in one pass.
//!
//! IMPORT TABLESPACE believes almost everything a file says about itself, and
//! a server that has believed a wrong file loses rows or dies later. So a
//! file is verified before any server sees it.
//!
//! ```text
//! Verifier::new   page 0, descriptors, inodes, roots: who owns which page
//! Worker::verify  pages in any order, on any number of threads: 24 bytes kept of each
//! Verifier::finish  siblings, node pointers, off-page values, counts
//! ```
//!
//! No threads and no I/O of its own: pages come from a
//! [`PageSource`], threads from the caller.

mod allocation;
mod corrupt;
mod off_page;
mod page;
mod plan;
mod records;
mod report;
mod summary;
mod tree;
mod worker;

pub use crate::order::{Collations, Compare, UncheckedField, collation_of};
pub use corrupt::{Corrupt, Rule, Violations};
pub use report::{IndexReport, LevelReport, Report};
pub use summary::{PageKind, PageSummary};
pub use worker::Worker;

use crate::cfg::{Cfg, CfgIndex, index_type};
use crate::ids::{FIL_NULL, IndexId, PAGE_SIZE, PageNo};
use crate::order::KeyOrder;
use crate::page::page_type;
use crate::record::RecordShape;
use crate::source::{PageSource, ReadError};
use crate::space_map::SpaceMap;
use plan::RecordPlan;
use report::check_counts;
use tree::Tree;

/// Who wrote a file: what a server may leave in it, a file built for import must not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Built in order by this crate: no deleted record, no gap, no LSN, system columns constant.
    Loader,
    /// A server, changed at random since; exported, so that nothing is left in its memory.
    Server,
}

/// What is known of a file from elsewhere.
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
    writer: Writer,
    /// Parallel to [`SpaceMap::indexes`].
    indexes: Vec<IndexRules>,
    violations: Violations,
    unchecked: Vec<UncheckedField>,
    notes: Vec<String>,
}

/// How the pages of one index must look.
pub(crate) struct IndexRules {
    name: String,
    id: IndexId,
    root: u32,
    /// `FIL_PAGE_TYPE` of the root.
    root_type: u16,
    is_clustered: bool,
    /// Leading fields that are unique, in a unique secondary index.
    unique_fields: Option<usize>,
    order: KeyOrder,
    leaf: Option<RecordPlan>,
    node: Option<RecordPlan>,
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
        let mut verifier = Verifier {
            source,
            violations: allocation::check(&map, context.writer),
            indexes: Vec::with_capacity(map.indexes.len()),
            writer: context.writer,
            unchecked: Vec::new(),
            notes: Vec::new(),
            map,
        };
        verifier.bind(context);
        Ok(verifier)
    }

    /// The allocation structures.
    pub fn map(&self) -> &SpaceMap {
        &self.map
    }

    /// What they break, before any other page is read.
    pub fn violations(&self) -> &Violations {
        &self.violations
    }

    /// Memory for one thread's pages.
    pub fn worker(&self) -> Worker<'_> {
        Worker::new(self)
    }

    /// Brings roots and `.cfg` together.
    fn bind(&mut self, context: Context<'_>) {
        if context.cfg.is_none() {
            self.notes.push("without a .cfg, keys, lengths and node pointers are unchecked".into());
        }
        for index in 0..self.map.indexes.len() {
            let root = self.map.indexes[index];
            let known = context.cfg.and_then(|cfg| {
                let found = cfg.indexes.iter().find(|known| known.root == root.root)?;
                Some((cfg, found))
            });
            if context.cfg.is_some() && known.is_none_or(|(_, known)| known.id != root.id) {
                let seen = format!("root of an index with id {}", root.id.0);
                let expected = match known {
                    Some((_, known)) => format!("{}, the id of {}", known.id.0, known.name),
                    None => "a root that the .cfg names".into(),
                };
                self.violations.push(Corrupt::at(root.root, 66, Rule::Root, seen, expected));
            }
            let rules = self.rules(index, known, context.collations);
            self.indexes.push(rules);
        }
        let roots = context.cfg.map_or(&[][..], |cfg| &cfg.indexes);
        for known in roots.iter().filter(|known| known.root != FIL_NULL) {
            if !self.indexes.iter().any(|rules| rules.root == known.root) {
                let seen = format!("page is not the root of {}", known.name);
                let expected = "a root page that its segment names first";
                self.violations.push(Corrupt::page(known.root, Rule::Root, seen, expected));
            }
        }
    }

    fn rules(
        &mut self,
        index: usize,
        known: Option<(&Cfg, &CfgIndex)>,
        collations: Collations<'_>,
    ) -> IndexRules {
        let root = self.map.indexes[index];
        let mut rules = IndexRules {
            name: known.map_or(format!("id {}", root.id.0), |(_, known)| known.name.clone()),
            id: root.id,
            root: root.root,
            root_type: root.page_type,
            is_clustered: index == 0,
            unique_fields: None,
            order: KeyOrder { fields: Vec::new() },
            leaf: None,
            node: None,
        };
        let Some((cfg, known)) = known else { return rules };
        let Some(shape) = self.readable_shape(cfg, known, root.page_type) else { return rules };
        let keys = &shape.fields[..shape.key_fields];
        rules.is_clustered = known.is_clustered();
        rules.unique_fields =
            (known.is_unique() && !known.is_clustered()).then_some(known.n_uniq as usize);
        rules.order = KeyOrder::new(cfg, &known.name, keys, collations, &mut self.unchecked);
        rules.node = Some(RecordPlan::new(shape.to_node(), &rules.order, None));
        rules.leaf = Some(RecordPlan::new(shape, &rules.order, rules.unique_fields));
        rules
    }

    /// The shape of the records of an index, if they are of a kind this crate reads.
    fn readable_shape(
        &mut self,
        cfg: &Cfg,
        index: &CfgIndex,
        root_type: u16,
    ) -> Option<RecordShape> {
        let why = if root_type == page_type::INSTANT {
            "the table was altered with ALGORITHM=INSTANT".to_owned()
        } else if index.type_bits & index_type::SPATIAL != 0 || root_type == page_type::RTREE {
            "it is SPATIAL".to_owned()
        } else {
            match RecordShape::leaf(cfg, index) {
                Ok(shape) => return Some(shape),
                Err(error) => error.to_string(),
            }
        };
        let name = &index.name;
        self.notes.push(format!("keys, lengths and node pointers of {name} are unchecked: {why}"));
        None
    }

    pub(crate) fn index_by_id(&self, id: u64) -> Option<usize> {
        self.indexes.iter().position(|rules| rules.id.0 == id)
    }

    /// Checks what takes more than one page, once every page of the file was verified.
    ///
    /// `summaries` has one entry for each page of the file; `workers` are all that were used.
    /// Reads the non-leaf pages again, and of a server's file those leaves whose first record
    /// was deleted.
    ///
    /// Errors: a page that cannot be read again.
    pub fn finish(
        &self,
        summaries: &[PageSummary],
        workers: Vec<Worker<'_>>,
    ) -> Result<Report, ReadError> {
        let mut violations = self.violations.clone();
        let mut notes = self.notes.clone();
        let mut references = Vec::new();
        let mut has_old_records = false;
        for worker in workers {
            violations.extend(worker.violations);
            references.push(worker.scratch.references);
            has_old_records |= worker.has_old_records;
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
        let is_readable = self.indexes.first().is_some_and(|clustered| clustered.leaf.is_some());
        let is_damaged = indexes.iter().any(|index| index.is_damaged);
        if is_readable {
            let references = references.into_iter().flatten();
            let left = off_page::check_chains(references, summaries, &mut seen, &mut violations);
            if !is_damaged {
                self.judge_unreferenced(&left, &mut violations, &mut notes);
            }
        }
        if !is_damaged {
            check_counts(&indexes, &mut violations);
        }
        violations.sort();
        Ok(Report { violations, indexes, unchecked: self.unchecked.clone(), notes })
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
        let mut reports: Vec<_> = self.indexes.iter().map(IndexReport::empty).collect();
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
        match self.writer {
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
/// Errors: a source that fails, or a file this crate does not read. A broken rule is no error
/// but part of the report.
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
        let pages = &mut pages[..summaries.len() * PAGE_SIZE];
        source
            .read(first, pages)
            .map_err(|source| ReadError::Source { page_no: first.0, source })?;
        worker.verify(first, pages, summaries)?;
    }
    verifier.finish(&summaries, vec![worker])
}

/// Pages read at once: 4 MiB, so that few siblings are read a second time.
pub const RUN_PAGES: usize = 256;
