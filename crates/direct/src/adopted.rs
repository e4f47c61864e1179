//! The adopted table, read back from its files and compared with the encoded rows.
//!
//! Verification says that the file is sound and has as many rows as were read, the checksums of its
//! pages that IMPORT took them as they were. This says that they are the rows: whatever was sorted,
//! spilled, merged and written in between.

use std::sync::atomic::AtomicU64;

use innodb::ids::PageNo;
use innodb::leaves::Content;
use innodb::page::AlignedPage;
use innodb::source::ReadError;
use innodb::template::Template;
use job::error::Error;
use job::progress::{Progress, Stage};
use server::Interrupt;

use crate::digest::Digest;
use crate::digester::{DigestBuffers, Digester};
use crate::page_pass::{PagePass, read};
use crate::space_file::SpaceFile;

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
        let pass = PagePass {
            stage: Stage::Compare,
            rows: self.digest.rows,
            threads: self.threads,
            total_bytes: files.iter().map(SpaceFile::size).sum::<Result<_, _>>()?,
            done_bytes: AtomicU64::new(0),
            progress,
            interrupt,
        };
        let mut digest = Digest::default();
        for file in files {
            self.add(file, &pass, &mut digest)?;
        }
        if digest == self.digest {
            return Ok(());
        }
        let (target, found, expected) = (target.to_owned(), digest.rows, self.digest.rows);
        Err(Error::OtherRows { target, found, expected })
    }

    /// Takes the rows of a file into a digest.
    fn add(&self, file: &SpaceFile, pass: &PagePass<'_>, digest: &mut Digest) -> Result<(), Error> {
        let mut root = vec![AlignedPage::ZERO];
        read(file, self.root, &mut root)?;
        // The server has numbered the clustered index.
        let Content::Index { id: index, .. } = Content::of(&root[0].0) else {
            let path = file.path().display();
            return Err(Error::Adopted(format!(
                "{path}: page {} is not an index page",
                self.root.0
            )));
        };
        let work = |buffers: &mut DigestBuffers, first: PageNo, run: &mut [AlignedPage]| {
            let mut pages = (first.0..).zip(run.iter());
            let taken = pages.try_for_each(|(page_no, page)| {
                self.digester.take(index, PageNo(page_no), &page.0, buffers)
            });
            taken.map_err(|error| unreadable(file, error))
        };
        for mut buffers in pass.run(file, "thread.adopted", work)? {
            digest.take(&mut buffers.digest);
        }
        Ok(())
    }
}

fn unreadable(file: &SpaceFile, error: ReadError) -> Error {
    match error {
        ReadError::Source { source, .. } => Error::io("reading back", file.path())(source),
        error => Error::Adopted(format!("{}: {error}", file.path().display())),
    }
}
