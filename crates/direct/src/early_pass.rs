//! Verification of pages on their way to the file, while they are in the processor's caches.
//!
//! The pages of a table need not be read again then, except those that tell the owners of the others. Damage
//! to a page between here and the server shows in its checksum, which IMPORT checks.

use locks::Mutex;

use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::source::ReadError;
use innodb::verify::{Early, EarlyWorker, Edges, Findings, PageSummary, Verifier};

use crate::space_file::SpaceFile;

/// Part of the memory that sorting can spare that is for summaries of pages: one in so many bytes,
/// enough for a file of some twelve times the memory.
const SHARE: usize = 12;
/// Bytes kept of a page: its summary, and a reference if a value begins there. The summaries' vector
/// may have as much again for what is to come.
const PAGE_BYTES: usize = 3 * size_of::<PageSummary>();

/// The verification of one build of a file.
pub(crate) struct EarlyPass {
    early: Early,
    /// Pages from this one on are left for later: their summaries have no room yet.
    pages_max: usize,
    summaries: Mutex<Vec<PageSummary>>,
    edges: Mutex<Edges>,
    idle: Mutex<Vec<Share>>,
}

/// A thread's buffers for it.
struct Share {
    worker: EarlyWorker,
    summaries: Vec<PageSummary>,
}

impl EarlyPass {
    /// A pass over nothing yet, which takes a part of `spare_bytes` for what it keeps.
    pub(crate) fn new(early: &Early, spare_bytes: usize) -> EarlyPass {
        EarlyPass {
            early: early.clone(),
            pages_max: spare_bytes / SHARE / PAGE_BYTES,
            summaries: Mutex::default(),
            edges: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    /// Bytes that it keeps at most.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.pages_max * PAGE_BYTES
    }

    /// Verifies consecutive pages that are written at `offset`. Errors are kept for
    /// [`EarlyPass::finish`].
    pub(crate) fn verify(&self, offset: u64, pages: &[u8]) {
        let first = (offset / PAGE_SIZE as u64) as usize;
        let end = first + pages.len() / PAGE_SIZE;
        if end > self.pages_max {
            return;
        }
        let mut share = self
            .idle
            .lock()
            .pop()
            .unwrap_or_else(|| Share { worker: self.early.worker(), summaries: Vec::new() });
        share.summaries.resize(end - first, PageSummary::default());
        share.worker.verify(PageNo(first as u32), pages, &mut share.summaries);
        let mut summaries = self.summaries.lock();
        if summaries.len() < end {
            summaries.resize(end, PageSummary::default());
        }
        summaries[first..end].copy_from_slice(&share.summaries);
        drop(summaries);
        self.edges.lock().take(&mut share.worker);
        self.idle.lock().push(share);
    }

    /// The summaries of all `pages` pages of the finished file, and what was found. Pages that were
    /// not verified have none.
    ///
    /// Errors: a page that cannot be read.
    pub(crate) fn finish(
        self,
        verifier: &Verifier<'_>,
        file: &SpaceFile,
        pages: u32,
    ) -> Result<(Vec<PageSummary>, Vec<Findings>), ReadError> {
        let EarlyPass { early, summaries, edges, idle, .. } = self;
        let mut summaries = summaries.into_inner();
        let mut findings = Vec::new();
        if early.is_of(verifier) {
            let edges = edges.into_inner();
            findings.push(edges.finish(&early, file, pages)?);
            let idle = idle.into_inner();
            findings.extend(idle.into_iter().map(|share| share.worker.into_findings()));
        } else {
            summaries.clear();
        }
        summaries.resize(pages as usize, PageSummary::default());
        Ok((summaries, findings))
    }

    /// Forgets all, for a file that was changed since.
    #[cfg(feature = "failpoints")]
    pub(crate) fn forget(&mut self) {
        self.summaries = Mutex::default();
        self.edges = Mutex::default();
        self.idle = Mutex::default();
    }
}
