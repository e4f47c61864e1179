//! Verifies the finished file before any server sees it: reads, in parallel, every page that was not
//! verified as it was built, and compares all with what owns them.

use std::collections::HashMap;
use std::iter::Enumerate;
use std::slice::ChunksMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::thread::ScopedJoinHandle;

use innodb::cfg::Cfg;
use innodb::ids::{IndexId, PAGE_SIZE, PageNo};
use innodb::page::AlignedPage;
use innodb::source::ReadError;
use innodb::verify::{
    self, Context, Early, Findings, PageKind, PageSummary, RUN_PAGES, Report, Verifier, Writer,
};
use job::error::Error;
use job::failpoint;
use job::memory::{MinMemory, PROGRAM_BYTES};
use job::pool;
use job::progress::{Progress, Snapshot, Stage};
use locks::Mutex;
use server::Interrupt;
use values::Collation;

use crate::digest::Digest;
use crate::digester::{DigestBuffers, Digester};
use crate::early_pass::EarlyPass;
use crate::space_file::SpaceFile;

/// Threads to a core: while one waits for the disk another checks.
const THREADS_PER_CORE: usize = 2;
/// Bytes of the pages that a thread reads at once.
const RUN_BYTES: u64 = (RUN_PAGES * PAGE_SIZE) as u64;
/// Broken rules that are named in the error; one is bad enough.
const NAMED_MAX: usize = 3;

/// Facts about the file from elsewhere.
pub(crate) struct Expected<'a> {
    pub(crate) cfg: &'a Cfg,
    /// Collations of key columns, by the number the `.cfg` has.
    pub(crate) collations: &'a HashMap<u32, Arc<Collation>>,
    pub(crate) rows: u64,
    /// Cores, and memory of the whole process.
    pub(crate) threads: usize,
    pub(crate) memory_bytes_max: u64,
    /// Ends the verification early.
    pub(crate) interrupt: &'a Interrupt,
}

/// Limits of verifying an old file.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'a> {
    pub(crate) threads: usize,
    pub(crate) memory_bytes_max: u64,
    /// Memory of the runs of new rows, which are kept meanwhile.
    pub(crate) run_bytes: usize,
    /// Ends it early.
    pub(crate) interrupt: &'a Interrupt,
}

/// Checks the whole file of a table that the server has written out; an error names the first rules it
/// breaks. With a `digester` also gives the digest of its rows, if that can be compared with a new file's:
/// long values lie elsewhere there.
pub(crate) fn verify_old(
    file: &SpaceFile,
    cfg: &Cfg,
    collations: &HashMap<u32, Arc<Collation>>,
    bounds: Bounds<'_>,
    digester: Option<&Digester>,
    progress: &dyn Progress,
) -> Result<(Report, Option<Digest>), Error> {
    let bytes = file.size()?;
    let compare = |id: u32, is_trimmed: bool| compare(collations, id, is_trimmed);
    let context = Context { writer: Writer::Server, cfg: Some(cfg), collations: &compare };
    let unreadable = |error: ReadError| Error::NotMerged(error.to_string());
    let verifier = Verifier::new(file, bytes, context).map_err(unreadable)?;
    let mut summaries = vec![PageSummary::default(); bytes as usize / PAGE_SIZE];
    let Bounds { memory_bytes_max, run_bytes, interrupt, .. } = bounds;
    let rest = memory_bytes_max.saturating_sub(PROGRAM_BYTES + run_bytes as u64);
    let rows = digester.zip(cfg.indexes.first().map(|clustered| clustered.id));
    let pass = Pass {
        digesting: rows.map(|(digester, index)| Digesting::new(digester, index)),
        ..Pass::new(file, &verifier, &mut summaries, interrupt, progress)
    };
    let findings = pass.run(threads_in(bounds.threads, rest))?;
    let digest = pass.digesting.and_then(Digesting::finish);
    let report = verifier.finish(&summaries, findings).map_err(unreadable)?;
    let mut broken: Vec<String> =
        report.violations.kept().iter().take(NAMED_MAX).map(ToString::to_string).collect();
    // What cannot be checked cannot be carried over either. Rows that were altered instantly are when
    // they are written anew, and with the new file.
    let are_read = report.are_records_read || report.is_altered;
    if !are_read {
        broken.extend(report.notes.iter().cloned());
    }
    for field in &report.unchecked {
        broken.push(format!("the order of `{}` in index `{}`", field.column, field.index));
    }
    if report.violations.is_empty() && are_read && report.unchecked.is_empty() {
        return Ok((report, digest));
    }
    let path = file.path().display();
    Err(Error::NotMerged(format!("{path}: {}", broken.join("; "))))
}

/// For the pages that are built from a template.
pub(crate) fn early(
    ibd: &[u8],
    cfg: &Cfg,
    collations: &HashMap<u32, Arc<Collation>>,
) -> Result<Early, Error> {
    let compare = |id: u32, is_trimmed: bool| compare(collations, id, is_trimmed);
    let context = Context { writer: Writer::Loader, cfg: Some(cfg), collations: &compare };
    let bytes = ibd.len() as u64;
    Early::new(&ibd, bytes, context).map_err(|error| Error::BadFile(error.to_string()))
}

fn compare(
    collations: &HashMap<u32, Arc<Collation>>,
    id: u32,
    is_trimmed: bool,
) -> Option<verify::Compare> {
    let collation = Arc::clone(collations.get(&id)?);
    Some(match is_trimmed {
        true => Arc::new(move |a: &[u8], b: &[u8]| collation.compare_trimmed(a, b)),
        false => Arc::new(move |a: &[u8], b: &[u8]| collation.compare(a, b)),
    })
}

/// Checks the whole file, of which `early` was verified; an error names the first rules it breaks.
pub(crate) fn verify(
    file: &SpaceFile,
    early: EarlyPass,
    expected: &Expected<'_>,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let bytes = file.size()?;
    let compare = |id: u32, is_trimmed: bool| compare(expected.collations, id, is_trimmed);
    let context = Context { writer: Writer::Loader, cfg: Some(expected.cfg), collations: &compare };
    let verifier = Verifier::new(file, bytes, context).map_err(read_error(file))?;
    let pages = (bytes / PAGE_SIZE as u64) as u32;
    let (mut summaries, mut findings) =
        early.finish(&verifier, file, pages).map_err(read_error(file))?;
    let pass = Pass {
        rows: expected.rows,
        ..Pass::new(file, &verifier, &mut summaries, expected.interrupt, progress)
    };
    let used = PROGRAM_BYTES + MinMemory::verifying_bytes(bytes);
    let rest = expected.memory_bytes_max.saturating_sub(used);
    findings.extend(pass.run(threads_in(expected.threads, rest))?);
    if let Some(page_no) = pass.into_lost() {
        let seen = "the file's contents differ from those that were written";
        return Err(Error::BadFile(format!("page {page_no}: {seen}")));
    }
    let report = verifier.finish(&summaries, findings).map_err(read_error(file))?;
    let mut broken: Vec<String> =
        report.violations.kept().iter().take(NAMED_MAX).map(ToString::to_string).collect();
    for index in &report.indexes {
        // A page that was not taken for one of the index is missing in its count, too.
        if broken.is_empty() && index.records() != expected.rows {
            let (name, seen) = (&index.name, index.records());
            broken.push(format!("index `{name}` has {seen} records for {} rows", expected.rows));
        }
    }
    if broken.is_empty() && !report.are_records_read {
        broken.extend(report.notes.iter().cloned());
    }
    for field in &report.unchecked {
        broken.push(format!(
            "the order of `{}` in index `{}` was not checked",
            field.column, field.index
        ));
    }
    if broken.is_empty() && report.violations.is_empty() {
        return Ok(());
    }
    Err(Error::BadFile(broken.join("; ")))
}

/// Threads that verify on so many cores, each with pages of its own, in so many bytes.
fn threads_in(cores: usize, bytes: u64) -> usize {
    let runs = usize::try_from(bytes / RUN_BYTES).unwrap_or(usize::MAX);
    (cores * THREADS_PER_CORE).min(runs).max(1)
}

/// The digest of the rows of a file that is verified.
struct Digesting<'a> {
    digester: &'a Digester,
    /// The clustered index.
    index: IndexId,
    /// None where there is something that cannot be compared.
    digest: Mutex<Option<Digest>>,
}

impl<'a> Digesting<'a> {
    fn new(digester: &'a Digester, index: IndexId) -> Digesting<'a> {
        Digesting { digester, index, digest: Mutex::new(Some(Digest::default())) }
    }

    /// Takes verified pages; a server leaves old contents in free ones. Verification reports errors
    /// of a page.
    fn take(
        &self,
        first: PageNo,
        pages: &[AlignedPage],
        summaries: &[PageSummary],
        scratch: &mut DigestBuffers,
    ) {
        for (page_no, (page, summary)) in (first.0..).zip(pages.iter().zip(summaries)) {
            let is_used = matches!(summary.kind, PageKind::Index | PageKind::OffPage);
            let page_no = PageNo(page_no);
            if is_used && self.digester.take(self.index, page_no, &page.0, scratch).is_err() {
                *self.digest.lock() = None;
            }
        }
        if let Some(digest) = &mut *self.digest.lock() {
            digest.take(&mut scratch.digest);
        }
    }

    fn finish(self) -> Option<Digest> {
        let digest = self.digest.into_inner();
        digest.filter(|digest| !digest.has_pages())
    }
}

/// One pass over all pages.
struct Pass<'a, I> {
    file: &'a SpaceFile,
    verifier: &'a Verifier<'a>,
    /// A page that is not in the file as it was built.
    lost: Mutex<Option<u32>>,
    runs: Mutex<I>,
    done_bytes: AtomicU64,
    total_bytes: u64,
    rows: u64,
    /// Where all pages are read.
    digesting: Option<Digesting<'a>>,
    interrupt: &'a Interrupt,
    progress: &'a dyn Progress,
}

impl<'a, 's> Pass<'a, Enumerate<ChunksMut<'s, PageSummary>>> {
    fn new(
        file: &'a SpaceFile,
        verifier: &'a Verifier<'a>,
        summaries: &'s mut [PageSummary],
        interrupt: &'a Interrupt,
        progress: &'a dyn Progress,
    ) -> Self {
        let total_bytes = (summaries.len() * PAGE_SIZE) as u64;
        Pass {
            file,
            lost: Mutex::new(None),
            verifier,
            runs: Mutex::new(summaries.chunks_mut(RUN_PAGES).enumerate()),
            done_bytes: AtomicU64::new(0),
            total_bytes,
            rows: 0,
            digesting: None,
            interrupt,
            progress,
        }
    }

    fn run(&self, threads: usize) -> Result<Vec<Findings>, Error> {
        // A small file has not enough for all: each thread takes longer to begin than its page to read.
        let runs = (self.total_bytes as usize / PAGE_SIZE).div_ceil(RUN_PAGES).max(1);
        let threads = threads.min(runs);
        let work = || {
            let found = pool::catch(|| self.work())?.map_err(read_error(self.file))?;
            // What was left out was left out because of it.
            self.interrupt.check()?;
            Ok(found)
        };
        let mut outcomes = Vec::with_capacity(threads);
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            // One that is missing has left pages out.
            let join = |handle: ScopedJoinHandle<'_, _>| {
                handle.join().unwrap_or_else(|panic| Err(pool::internal(&*panic)))
            };
            outcomes.extend(handles.into_iter().map(join));
        });
        outcomes.into_iter().collect()
    }

    fn work(&self) -> Result<Findings, ReadError> {
        failpoint::hit("thread.verify");
        let mut worker = self.verifier.worker();
        let mut pages = vec![AlignedPage::ZERO; RUN_PAGES];
        let mut scratch = DigestBuffers::default();
        loop {
            let run = self.runs.lock().next();
            let run = run.filter(|_| !self.interrupt.is_requested());
            let Some((run, summaries)) = run else { return Ok(worker.into_findings()) };
            let first = PageNo((run * RUN_PAGES) as u32);
            self.check_written(first, summaries)?;
            worker.complete(first, AlignedPage::bytes_of_mut(&mut pages), summaries)?;
            if let Some(digesting) = &self.digesting {
                digesting.take(first, &pages, summaries, &mut scratch);
            }
            let bytes = (summaries.len() * PAGE_SIZE) as u64;
            let done = self.done_bytes.fetch_add(bytes, Memory::Relaxed) + bytes;
            let total = Some(self.total_bytes);
            self.progress.update(Snapshot::of(Stage::Verify, self.rows, done, total));
        }
    }
}

impl<I> Pass<'_, I> {
    fn into_lost(self) -> Option<u32> {
        self.lost.into_inner()
    }

    /// Pages that were verified on their way to the file are in it: IMPORT checks what a page holds, but
    /// takes one of zeros for one that is free.
    fn check_written(&self, first: PageNo, summaries: &[PageSummary]) -> Result<(), ReadError> {
        for (page_no, summary) in (first.0..).zip(summaries) {
            if summary.kind == PageKind::Unread {
                continue;
            }
            let number = self.file.cached_number(PageNo(page_no));
            let number = number.map_err(|source| ReadError::Source { page_no, source })?;
            if number.is_some_and(|number| number != page_no) {
                let mut lost = self.lost.lock();
                lost.get_or_insert(page_no);
            }
        }
        Ok(())
    }
}

fn read_error(file: &SpaceFile) -> impl Fn(ReadError) -> Error {
    let path = file.path().to_owned();
    move |error| match error {
        ReadError::Source { source, .. } => Error::io("reading back", &path)(source),
        error => Error::BadFile(format!("{}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 26 threads of 4 MiB each went beyond `--memory 128M`.
    #[test]
    fn pages_of_all_threads_fit_in_the_memory() {
        for (cores, bytes, threads) in [(13, 104 << 20, 26), (13, 52 << 20, 13), (2, 0, 1)] {
            assert_eq!(threads_in(cores, bytes), threads, "{cores} cores, {bytes} bytes");
        }
    }
}
