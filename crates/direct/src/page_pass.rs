//! A pass over all pages of a table's files, in several threads.

use std::sync::atomic::{AtomicU64, Ordering};

use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::page::AlignedPage;
use innodb::source::PageSource;
use job::error::Error;
use job::failpoint;
use job::pool;
use job::progress::{Progress, Snapshot, Stage};
use job::stop::Stop;
use locks::Mutex;
use server::Interrupt;

use crate::space_file::SpaceFile;

/// Pages that a thread takes at once.
const RUN_PAGES: usize = 64;

/// A pass, who watches, and who may stop it.
pub(crate) struct PagePass<'a> {
    pub(crate) stage: Stage,
    /// Rows of the table, for who watches.
    pub(crate) rows: u64,
    pub(crate) threads: usize,
    /// Bytes of all files.
    pub(crate) total_bytes: u64,
    pub(crate) done_bytes: AtomicU64,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) interrupt: &'a Interrupt,
}

impl PagePass<'_> {
    /// Has threads `work` on the runs of pages of one file, each with a state of its own; gives these states.
    /// `place` is the failpoint of a thread.
    ///
    /// Errors: a page that cannot be read; those of `work`.
    pub(crate) fn run<S: Default + Send>(
        &self,
        file: &SpaceFile,
        place: &str,
        work: impl Fn(&mut S, PageNo, &mut [AlignedPage]) -> Result<(), Error> + Sync,
    ) -> Result<Vec<S>, Error> {
        let pages = file.size()? / PAGE_SIZE as u64;
        let runs = pages.div_ceil(RUN_PAGES as u64).max(1);
        let (next_run, states) = (AtomicU64::new(0), Mutex::<Vec<S>>::default());
        let work_all = || -> Result<(), Stop> {
            failpoint::hit(place);
            let mut state = S::default();
            let mut buffer = vec![AlignedPage::ZERO; RUN_PAGES];
            loop {
                let first = next_run.fetch_add(1, Ordering::Relaxed) * RUN_PAGES as u64;
                if first >= pages || self.interrupt.is_requested() {
                    break;
                }
                let run = &mut buffer[..RUN_PAGES.min((pages - first) as usize)];
                let first = PageNo(first as u32);
                read(file, first, run)?;
                work(&mut state, first, run)?;
                self.tell((run.len() * PAGE_SIZE) as u64);
            }
            states.lock().push(state);
            Ok(())
        };
        let close = || next_run.store(runs, Ordering::Relaxed);
        pool::run(self.threads.min(runs as usize), work_all, close)
            .map_err(|stop| stop.into_error("a thread that reads pages"))?;
        self.interrupt.check()?;
        Ok(states.into_inner())
    }

    fn tell(&self, bytes: u64) {
        let before = self.done_bytes.fetch_add(bytes, Ordering::Relaxed);
        let (done, total) = (before + bytes, Some(self.total_bytes));
        self.progress.update(Snapshot::of(self.stage, self.rows, done, total));
        if before == 0 {
            failpoint::hit(&format!("{}.run", self.stage.name()));
        }
    }
}

/// Reads consecutive pages of a file.
pub(crate) fn read(
    file: &SpaceFile,
    first: PageNo,
    pages: &mut [AlignedPage],
) -> Result<(), Error> {
    file.read(first, AlignedPage::bytes_of_mut(pages))
        .map_err(Error::io("reading back", file.path()))
}
