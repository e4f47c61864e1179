//! Every page of an adopted table's files gets an LSN, in one pass over each file.
//!
//! ```text
//! read 1 MiB (in the page cache since IMPORT) -> LSN, checksum -> written around the page cache -> sync
//! ```
//!
//! Several threads take turns with the pieces, so that the disk has one to write while another is read.

use std::sync::atomic::{AtomicU64, Ordering};

use innodb::error::Error as PageError;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::page::{AlignedPage, PageBytes};
use innodb::source::PageSource;
use innodb::space_format::SpaceFormat;
use job::error::Error;
use job::failpoint;
use job::pool;
use job::progress::{Progress, Snapshot, Stage};
use job::stop::Stop;
use schema::Partition;
use server::Interrupt;
use server::version::Flavor;
use targets::publish::Filled;
use targets::stamp::has_backup_history;

use crate::space_file::SpaceFile;

/// Pages that a thread stamps at once.
const RUN_PAGES: usize = 64;

/// The conditions of stamping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamps {
    /// True if pages are stamped; none for: where the server has a history of backups.
    pub(crate) is_asked: Option<bool>,
    pub(crate) threads: usize,
}

/// The result for a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stamped {
    /// Nobody asked for it.
    #[default]
    No,
    /// So many pages have the server's LSN.
    Pages(u64),
    /// A backup ran beside it, or would not end.
    BesideBackup,
}

impl Stamps {
    /// Stamps the pages of the table that is to take the target's place, if that is wanted.
    ///
    /// Errors: a file that cannot be read or written; a damaged page.
    pub(crate) fn stamp(
        self,
        filled: &mut Filled<'_>,
        partitions: Option<&[Partition]>,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<Stamped, Error> {
        let pages = filled.stamp(partitions, |files, lsn| {
            let space = |(file, path)| SpaceFile::new(file, path, 0);
            let files: Vec<SpaceFile> = files.into_iter().map(space).collect();
            let sizes = files.iter().map(SpaceFile::size).collect::<Result<Vec<_>, _>>()?;
            let (total_bytes, done_bytes) = (sizes.iter().sum(), AtomicU64::new(0));
            let course = Course { progress, interrupt, done_bytes: &done_bytes, total_bytes };
            failpoint::hit("stamp.held");
            let mut pages = 0;
            for (file, bytes) in files.iter().zip(sizes) {
                pages += stamp_file(file, bytes, lsn, self.threads, course)?;
            }
            failpoint::hit("stamp.synced");
            Ok::<u64, Error>(pages)
        })?;
        Ok(pages.map_or(Stamped::BesideBackup, Stamped::Pages))
    }

    /// True if pages are to be stamped for a server.
    ///
    /// Errors: the connection's.
    pub(crate) fn are_wanted(self, session: &mut server::Session) -> Result<bool, Error> {
        // IMPORT of MySQL does that itself.
        let may = session.version().flavor == Flavor::MariaDb;
        Ok(may && self.is_asked.map_or_else(|| has_backup_history(session), Ok)?)
    }
}

/// Who hears of the pages, and may stop it.
#[derive(Clone, Copy)]
struct Course<'a> {
    progress: &'a dyn Progress,
    interrupt: &'a Interrupt,
    done_bytes: &'a AtomicU64,
    total_bytes: u64,
}

/// Gives all pages of a file an LSN, on disk; returns their number, without unused ones.
fn stamp_file(
    file: &SpaceFile,
    bytes: u64,
    lsn: u64,
    threads: usize,
    course: Course<'_>,
) -> Result<u64, Error> {
    let mut first = vec![AlignedPage::ZERO];
    read(file, 0, &mut first)?;
    let format = SpaceFormat::of_first_page(&first[0].0).ok_or_else(|| {
        Error::Adopted(format!("{}: page 0 is not that of a tablespace", file.path().display()))
    })?;
    let stamping = Stamping {
        file,
        format,
        lsn,
        pages: (bytes / PAGE_SIZE as u64) as u32,
        course,
        next_run: AtomicU64::new(0),
        stamped: AtomicU64::new(0),
    };
    let close = || stamping.next_run.store(u64::from(u32::MAX), Ordering::Relaxed);
    let runs = stamping.pages.div_ceil(RUN_PAGES as u32).max(1) as usize;
    let done = pool::run(threads.min(runs), || Ok(stamping.work()?), close);
    done.map_err(|stop| match stop {
        Stop::Failed(error) => error,
        _ => Error::Internal("a stamping thread stopped without a reason".to_owned()),
    })?;
    course.interrupt.check()?;
    file.sync()?;
    Ok(stamping.stamped.into_inner())
}

/// One file while its pages are stamped.
struct Stamping<'a> {
    file: &'a SpaceFile,
    format: SpaceFormat,
    lsn: u64,
    pages: u32,
    course: Course<'a>,
    next_run: AtomicU64,
    stamped: AtomicU64,
}

impl Stamping<'_> {
    /// Stamps runs of pages until none is left.
    fn work(&self) -> Result<(), Error> {
        failpoint::hit("thread.stamp");
        let mut pages = vec![AlignedPage::ZERO; RUN_PAGES];
        loop {
            let first = self.next_run.fetch_add(1, Ordering::Relaxed) * RUN_PAGES as u64;
            if first >= u64::from(self.pages) || self.course.interrupt.is_requested() {
                return Ok(());
            }
            let first = first as u32;
            let run = &mut pages[..RUN_PAGES.min((self.pages - first) as usize)];
            read(self.file, first, run)?;
            let stamped = self.stamp(run)?;
            if stamped > 0 {
                let offset = PageNo(first).file_offset();
                self.file.write(offset, AlignedPage::bytes_of(run))?;
            }
            self.stamped.fetch_add(stamped, Ordering::Relaxed);
            if self.tell((run.len() * PAGE_SIZE) as u64) {
                failpoint::hit("stamp.run");
            }
        }
    }

    fn stamp(&self, run: &mut [AlignedPage]) -> Result<u64, Error> {
        let mut stamped = 0;
        for page in run {
            stamped += u64::from(self.stamp_page(&mut page.0)?);
        }
        Ok(stamped)
    }

    fn stamp_page(&self, page: &mut PageBytes) -> Result<bool, Error> {
        let damaged =
            |error: PageError| Error::Adopted(format!("{}: {error}", self.file.path().display()));
        self.format.stamp(page, self.lsn).map_err(damaged)
    }

    /// Tells of so many bytes; true of the first ones.
    fn tell(&self, bytes: u64) -> bool {
        let Course { progress, done_bytes, total_bytes, .. } = self.course;
        let before = done_bytes.fetch_add(bytes, Ordering::Relaxed);
        let done_bytes = before + bytes;
        progress.update(Snapshot {
            stage: Stage::Stamp,
            rows: 0,
            done_bytes,
            total_bytes: Some(total_bytes),
            seconds_left: None,
        });
        before == 0
    }
}

fn read(file: &SpaceFile, first: u32, pages: &mut [AlignedPage]) -> Result<(), Error> {
    file.read(PageNo(first), AlignedPage::bytes_of_mut(pages))
        .map_err(Error::io("reading back", file.path()))
}
