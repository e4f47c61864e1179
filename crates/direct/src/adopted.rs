//! The adopted table, read back from its files and compared with the encoded rows.
//!
//! Verification says that the file is sound and has as many rows as were read, the checksums of its
//! pages that IMPORT took them as they were. This says that they are the rows: whatever was sorted,
//! spilled, merged and written in between.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use innodb::ids::{IndexId, PAGE_SIZE, PageNo};
use innodb::leaves::Content;
use innodb::page::AlignedPage;
use innodb::source::{PageSource, ReadError};
use innodb::template::Template;
use job::error::Error;
use job::failpoint;
use job::pool;
use job::progress::{Progress, Snapshot, Stage};
use job::stop::Stop;
use server::Interrupt;

use crate::digest::Digest;
use crate::digester::{DigestBuffers, Digester};
use crate::space_file::SpaceFile;

/// Pages that are read at once by a worker.
const RUN_PAGES: usize = 16;

/// The expected contents of a table's files.
#[derive(Debug)]
pub(crate) struct Adopted {
    digester: Digester,
    /// Root of the clustered index.
    root: PageNo,
    /// Digest of the encoded rows.
    digest: Digest,
    threads: usize,
}

impl Adopted {
    /// Files that were built by `template` are to hold the rows of `digest`; so many threads read them.
    pub(crate) fn new(template: &Template, digest: Digest, threads: usize) -> Adopted {
        let root = PageNo(template.clustered().root);
        Adopted { digester: Digester::new(template), root, digest, threads }
    }

    /// Reads the files, which nobody changes, and compares.
    ///
    /// Errors: [`Error::OtherRows`]; a file that cannot be read.
    pub(crate) fn compare(
        &self,
        target: &str,
        files: &[SpaceFile],
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        let sizes = files.iter().map(SpaceFile::size).collect::<Result<Vec<_>, _>>()?;
        let total_bytes = sizes.iter().sum();
        let mut digest = Digest::default();
        let done_bytes = AtomicU64::new(0);
        for (file, bytes) in files.iter().zip(sizes) {
            let told = CompareProgress { progress, done_bytes: &done_bytes, total_bytes };
            digest.take(&mut self.digest_of(file, bytes, told, interrupt)?);
        }
        if digest == self.digest {
            return Ok(());
        }
        let (target, found, expected) = (target.to_owned(), digest.rows, self.digest.rows);
        Err(Error::OtherRows { target, found, expected })
    }

    fn digest_of(
        &self,
        file: &SpaceFile,
        bytes: u64,
        told: CompareProgress<'_>,
        interrupt: &Interrupt,
    ) -> Result<Digest, Error> {
        let pages = (bytes / PAGE_SIZE as u64) as u32;
        let mut root = vec![AlignedPage::ZERO];
        let unreadable = |error: ReadError| unreadable(file, error);
        read(file, self.root.0, &mut root).map_err(unreadable)?;
        let Content::Index { id: index, .. } = Content::of(&root[0].0) else {
            let path = file.path().display();
            return Err(Error::Adopted(format!(
                "{path}: page {} is not an index page",
                self.root.0
            )));
        };
        let reading = Reading {
            adopted: self,
            file,
            pages,
            index,
            next: AtomicU32::new(0),
            digest: Mutex::default(),
            told,
            interrupt,
        };
        let runs = pages.div_ceil(RUN_PAGES as u32).max(1) as usize;
        let close = || reading.next.store(pages, Ordering::Relaxed);
        let done = pool::run(self.threads.min(runs), || Ok(reading.work()?), close);
        done.map_err(|stop| match stop {
            Stop::Failed(error) => error,
            _ => Error::Internal("a reading thread stopped without a reason".to_owned()),
        })?;
        interrupt.check()?;
        Ok(reading.digest.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Who is told how far all files are.
#[derive(Clone, Copy)]
struct CompareProgress<'a> {
    progress: &'a dyn Progress,
    done_bytes: &'a AtomicU64,
    total_bytes: u64,
}

/// One file while it is read.
struct Reading<'a> {
    adopted: &'a Adopted,
    file: &'a SpaceFile,
    pages: u32,
    /// The clustered index, by the number that the server has given it.
    index: IndexId,
    /// Page from which nobody reads yet.
    next: AtomicU32,
    digest: Mutex<Digest>,
    told: CompareProgress<'a>,
    interrupt: &'a Interrupt,
}

impl Reading<'_> {
    /// Reads runs of pages until none is left.
    fn work(&self) -> Result<(), Error> {
        failpoint::hit("thread.adopted");
        let mut scratch = DigestBuffers::default();
        let mut pages = vec![AlignedPage::ZERO; RUN_PAGES];
        loop {
            let first = self.next.fetch_add(RUN_PAGES as u32, Ordering::Relaxed);
            if first >= self.pages || self.interrupt.is_requested() {
                break;
            }
            let run = &mut pages[..RUN_PAGES.min((self.pages - first) as usize)];
            let unreadable = |error: ReadError| unreadable(self.file, error);
            read(self.file, first, run).map_err(unreadable)?;
            for (page_no, page) in (first..).zip(run.iter()) {
                let page = (PageNo(page_no), &page.0);
                let taken = self.adopted.digester.take(self.index, page, &mut scratch);
                taken.map_err(unreadable)?;
            }
            let bytes = (run.len() * PAGE_SIZE) as u64;
            let done = self.told.done_bytes.fetch_add(bytes, Ordering::Relaxed);
            self.told.progress.update(Snapshot {
                stage: Stage::Compare,
                rows: self.adopted.digest.rows,
                done_bytes: done + bytes,
                total_bytes: Some(self.told.total_bytes),
                seconds_left: None,
            });
        }
        self.digest.lock().unwrap_or_else(PoisonError::into_inner).take(&mut scratch.digest);
        Ok(())
    }
}

fn read(file: &SpaceFile, first: u32, pages: &mut [AlignedPage]) -> Result<(), ReadError> {
    file.read(PageNo(first), AlignedPage::bytes_of_mut(pages))
        .map_err(|source| ReadError::Source { page_no: first, source })
}

fn unreadable(file: &SpaceFile, error: ReadError) -> Error {
    match error {
        ReadError::Source { source, .. } => Error::io("reading back", file.path())(source),
        error => Error::Adopted(format!("{}: {error}", file.path().display())),
    }
}
