//! Reads every page of the finished file, in parallel, before any server sees it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

use innodb::cfg::Cfg;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::page::AlignedPage;
use innodb::source::{PageSource, ReadError};
use innodb::verify::{self, Context, PageSummary, RUN_PAGES, Verifier, Worker, Writer};
use job::error::Error;
use job::failpoint;
use job::pool;
use job::progress::{Progress, Snapshot, Stage};
use server::Interrupt;
use values::Collation;

use crate::space_file::SpaceFile;

/// Threads to a core: while one waits for the disk another checks.
const THREADS_PER_CORE: usize = 2;
/// Broken rules that are named in the error; one is bad enough.
const NAMED_MAX: usize = 3;

/// What is known of the file from elsewhere.
pub(crate) struct Expected<'a> {
    pub(crate) cfg: &'a Cfg,
    /// Collations of key columns, by the number the `.cfg` has.
    pub(crate) collations: &'a HashMap<u32, Arc<Collation>>,
    pub(crate) rows: u64,
    pub(crate) threads: usize,
    /// Ends the verification early.
    pub(crate) interrupt: &'a Interrupt,
}

/// Checks the whole file; an error names the first rules it breaks.
pub(crate) fn verify(
    file: &SpaceFile,
    expected: &Expected<'_>,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let bytes = file.size()?;
    let collations = |id: u32, is_trimmed: bool| {
        let collation = Arc::clone(expected.collations.get(&id)?);
        let compare: verify::Compare = match is_trimmed {
            true => Arc::new(move |a: &[u8], b: &[u8]| collation.compare_trimmed(a, b)),
            false => Arc::new(move |a: &[u8], b: &[u8]| collation.compare(a, b)),
        };
        Some(compare)
    };
    let context =
        Context { writer: Writer::Loader, cfg: Some(expected.cfg), collations: &collations };
    let verifier = Verifier::new(file, bytes, context).map_err(read_error(file))?;
    let mut summaries = vec![PageSummary::default(); (bytes / PAGE_SIZE as u64) as usize];
    let pass = Pass {
        source: file,
        verifier: &verifier,
        runs: Mutex::new(summaries.chunks_mut(RUN_PAGES).enumerate()),
        done_bytes: AtomicU64::new(0),
        total_bytes: bytes,
        rows: expected.rows,
        interrupt: expected.interrupt,
        progress,
    };
    let workers = pass.run(expected.threads * THREADS_PER_CORE, file)?;
    let report = verifier.finish(&summaries, workers).map_err(read_error(file))?;
    let mut broken: Vec<String> =
        report.violations.kept().iter().take(NAMED_MAX).map(ToString::to_string).collect();
    for index in &report.indexes {
        // A page that was not taken for one of the index is missing in its count, too.
        if broken.is_empty() && index.records() != expected.rows {
            let (name, seen) = (&index.name, index.records());
            broken.push(format!("index `{name}` has {seen} records for {} rows", expected.rows));
        }
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

/// One pass over all pages.
struct Pass<'a, I> {
    source: &'a dyn PageSource,
    verifier: &'a Verifier<'a>,
    runs: Mutex<I>,
    done_bytes: AtomicU64,
    total_bytes: u64,
    rows: u64,
    interrupt: &'a Interrupt,
    progress: &'a dyn Progress,
}

impl<'a, 's, I: Iterator<Item = (usize, &'s mut [PageSummary])> + Send> Pass<'a, I> {
    fn run(&self, threads: usize, file: &SpaceFile) -> Result<Vec<Worker<'a>>, Error> {
        let work = || {
            let worker = pool::catch(|| self.work())?.map_err(read_error(file))?;
            // What was left out was left out because of it.
            self.interrupt.check()?;
            Ok(worker)
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

    fn work(&self) -> Result<Worker<'a>, ReadError> {
        failpoint::hit("thread.verify");
        let mut worker = self.verifier.worker();
        let mut pages = vec![AlignedPage::ZERO; RUN_PAGES];
        loop {
            let run = self.runs.lock().unwrap_or_else(PoisonError::into_inner).next();
            let run = run.filter(|_| !self.interrupt.is_requested());
            let Some((run, summaries)) = run else { return Ok(worker) };
            let first = PageNo((run * RUN_PAGES) as u32);
            let pages = AlignedPage::bytes_of_mut(&mut pages[..summaries.len()]);
            self.source
                .read(first, pages)
                .map_err(|source| ReadError::Source { page_no: first.0, source })?;
            worker.verify(first, pages, summaries)?;
            let done = self.done_bytes.fetch_add(pages.len() as u64, Memory::Relaxed);
            self.progress.update(Snapshot {
                stage: Stage::Verify,
                rows: self.rows,
                done_bytes: done + pages.len() as u64,
                total_bytes: Some(self.total_bytes),
                seconds_left: None,
            });
        }
    }
}

fn read_error(file: &SpaceFile) -> impl Fn(ReadError) -> Error {
    let path = file.path().to_owned();
    move |error| match error {
        ReadError::Source { source, .. } => Error::io("reading back", &path)(source),
        error => Error::BadFile(format!("{}: {error}", path.display())),
    }
}
