//! Where built pages go: numbered under one lock, written by whoever built them.

use locks::{Mutex, MutexGuard};

use innodb::allocator::Allocator;
use innodb::layout::Layout;
use innodb::leaf::LeafBatch;
use innodb::page_fill;
use innodb::template::{Template, TemplateIndex};
use innodb::tree::{Appended, FinishedPage, IndexBuilder};
use job::error::Error;
use job::options::Fill;
use job::report::IndexReport;

use crate::early_pass::EarlyPass;
use crate::space_file::SpaceFile;

/// The tablespace that is being built.
pub(crate) struct PageSink<'a> {
    template: &'a Template,
    file: &'a SpaceFile,
    early: EarlyPass,
    fill: Fill,
    allocator: Mutex<Allocator>,
    reports: Mutex<Vec<IndexReport>>,
}

/// A tablespace that is complete.
pub(crate) struct SealedSpace {
    pub(crate) bytes: u64,
    pub(crate) indexes: Vec<IndexReport>,
    /// The outcome of its verification.
    pub(crate) early: EarlyPass,
}

impl<'a> PageSink<'a> {
    /// An empty tablespace.
    pub(crate) fn new(
        template: &'a Template,
        file: &'a SpaceFile,
        early: EarlyPass,
        fill: Fill,
    ) -> PageSink<'a> {
        let report = |index: &TemplateIndex| IndexReport {
            name: index.name.clone(),
            records: 0,
            leaf_pages: 0,
            height: 1,
        };
        PageSink {
            template,
            file,
            early,
            fill,
            allocator: Mutex::new(Allocator::new(template)),
            reports: Mutex::new(template.indexes.iter().map(report).collect()),
        }
    }

    /// A builder of index `index` of the table.
    pub(crate) fn builder(&self, index: usize) -> IndexBuilder {
        IndexBuilder::new(&self.template.indexes[index], self.fill_of(index))
    }

    /// An empty batch of leaves of index `index` with room for `bytes`.
    pub(crate) fn batch(&self, index: usize, bytes: usize) -> LeafBatch {
        let pages = bytes / innodb::ids::PAGE_SIZE + 2;
        LeafBatch::new(&self.template.indexes[index], self.fill_of(index), pages)
    }

    /// Gives the pages of a batch their numbers: all of them at the `end` of an ordered piece of
    /// work, else all but the one that is still being filled.
    pub(crate) fn number<'b>(
        &self,
        index: usize,
        builder: &mut IndexBuilder,
        batch: &'b mut LeafBatch,
        end: bool,
    ) -> Result<Appended<'b>, Error> {
        let mut allocator = self.allocator();
        let appended = if end {
            builder.append(batch, &mut allocator)?
        } else {
            builder.append_closed(batch, &mut allocator)?
        };
        drop(allocator);
        self.note(index, |report| report.leaf_pages += appended.new_leaves as u64);
        Ok(appended)
    }

    /// Seals and writes what [`PageSink::number`] numbered, and empties the batch.
    pub(crate) fn write(&self, appended: Appended<'_>) -> Result<(), Error> {
        let sealed = appended.seal();
        sealed.writes().for_each(|(offset, bytes)| self.early.verify(offset, bytes));
        self.file.write_all(sealed.writes())
    }

    /// Writes sealed pages at `offset`, and verifies them.
    pub(crate) fn write_pages(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.early.verify(offset, bytes);
        self.file.write(offset, bytes)
    }

    /// Ends an index: its last pages, for [`PageSink::write_finished`].
    ///
    /// `auto_increment` is the last value used, for the clustered index.
    pub(crate) fn finish(
        &self,
        index: usize,
        builder: IndexBuilder,
        auto_increment: u64,
    ) -> Result<Vec<FinishedPage>, Error> {
        let levels = builder.levels().max(1);
        self.note(index, |report| report.height = levels as u16);
        Ok(builder.finish(auto_increment, &mut self.allocator())?)
    }

    /// Writes the last pages of an index.
    pub(crate) fn write_finished(&self, pages: Vec<FinishedPage>) -> Result<(), Error> {
        for page in pages {
            self.write_pages(page.page_no.file_offset(), &page.bytes[..])?;
        }
        Ok(())
    }

    /// Notes what became of index `index`.
    fn note(&self, index: usize, change: impl FnOnce(&mut IndexReport)) {
        let mut reports = self.reports.lock();
        change(&mut reports[index]);
    }

    /// Ends the tablespace: its allocation pages and its size.
    pub(crate) fn seal(self) -> Result<SealedSpace, Error> {
        let allocator = self.allocator.into_inner();
        let layout = Layout::new(self.template, &allocator);
        for (page_no, page) in layout.pages() {
            self.file.write(page_no.file_offset(), &page[..])?;
        }
        self.file.set_size(layout.size_bytes())?;
        self.file.allocate(layout.size_bytes())?;
        let indexes = self.reports.into_inner();
        Ok(SealedSpace { bytes: layout.size_bytes(), indexes, early: self.early })
    }

    /// Bytes that are kept of what is verified, at most.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.early.kept_bytes()
    }

    /// The allocator, for off-page columns.
    pub(crate) fn allocator(&self) -> MutexGuard<'_, Allocator> {
        self.allocator.lock()
    }

    /// The empty table this one is made from.
    pub(crate) fn template(&self) -> &'a Template {
        self.template
    }

    fn fill_of(&self, index: usize) -> page_fill::Fill {
        let reserve = match index {
            0 => self.fill.clustered_reserve,
            _ => self.fill.secondary_reserve,
        };
        page_fill::Fill { leaf_reserve_bytes: reserve, node_reserve_bytes: reserve }
    }
}
