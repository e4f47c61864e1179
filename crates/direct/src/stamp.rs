//! Every page of an adopted table's files gets an LSN, in one pass over each file.
//!
//! ```text
//! read 1 MiB (in the page cache since IMPORT) -> LSN, checksum -> written around the page cache -> sync
//! ```
//!
//! Several threads take turns with the pieces, so that the disk has one to write while another is read.

use std::sync::atomic::AtomicU64;

use innodb::error::Error as PageError;
use innodb::ids::PageNo;
use innodb::page::{AlignedPage, PageBytes};
use innodb::space_format::SpaceFormat;
use job::error::Error;
use job::failpoint;
use job::progress::{Progress, Stage};
use schema::Partition;
use server::Interrupt;
use server::version::Flavor;
use targets::publish::Filled;
use targets::stamp::has_backup_history;

use crate::page_pass::{PagePass, read};
use crate::space_file::SpaceFile;

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
            let space = |(file, path)| SpaceFile::in_place(file, path);
            let files: Vec<SpaceFile> = files.into_iter().map(space).collect();
            let pass = PagePass {
                stage: Stage::Stamp,
                rows: 0,
                threads: self.threads,
                total_bytes: files.iter().map(SpaceFile::size).sum::<Result<_, _>>()?,
                done_bytes: AtomicU64::new(0),
                progress,
                interrupt,
            };
            failpoint::hit("stamp.held");
            let mut pages = 0;
            for file in &files {
                pages += stamp_file(file, lsn, &pass)?;
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

/// Gives all pages of a file an LSN, on disk; returns their number, without unused ones.
fn stamp_file(file: &SpaceFile, lsn: u64, pass: &PagePass<'_>) -> Result<u64, Error> {
    let mut first = vec![AlignedPage::ZERO];
    read(file, PageNo(0), &mut first)?;
    let format = SpaceFormat::of_first_page(&first[0].0).ok_or_else(|| {
        Error::Adopted(format!("{}: page 0 is not that of a tablespace", file.path().display()))
    })?;
    let stamping = Stamping { file, format, lsn };
    let work = |stamped: &mut u64, first: PageNo, run: &mut [AlignedPage]| {
        let before = *stamped;
        for page in &mut *run {
            *stamped += u64::from(stamping.stamp_page(&mut page.0)?);
        }
        match *stamped > before {
            true => file.write(first.file_offset(), AlignedPage::bytes_of(run)),
            false => Ok(()),
        }
    };
    let stamped: u64 = pass.run(file, "thread.stamp", work)?.iter().sum();
    file.sync()?;
    Ok(stamped)
}

/// One file while its pages are stamped.
struct Stamping<'a> {
    file: &'a SpaceFile,
    format: SpaceFormat,
    lsn: u64,
}

impl Stamping<'_> {
    fn stamp_page(&self, page: &mut PageBytes) -> Result<bool, Error> {
        let damaged =
            |error: PageError| Error::Adopted(format!("{}: {error}", self.file.path().display()));
        self.format.stamp(page, self.lsn).map_err(damaged)
    }
}
