//! Values too long for their page: written at once, before any sort; records keep a reference. Those of
//! rows that the table has already are copied.

use encode::fault::{FaultKind, RowFault};
use innodb::blob::{BlobPages, BlobReference, OffPage, needs_off_page, pages_needed};
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::page::PageBytes;
use innodb::record::{EncodedRecord, FieldSpan, RecordWriter};
use innodb::template::Template;
use job::error::Error;

use crate::digest::Digest;
use crate::pages::PageSink;
use crate::space_file::SpaceFile;

/// Moves long values of one worker's rows off page.
pub(crate) struct Writer {
    mover: OffPage,
    pages: BlobPages,
    /// The origin of the shortened record in `bytes`, when the last row needed it.
    short: Option<usize>,
    bytes: Vec<u8>,
    /// Digest of the pages written since it was taken.
    digest: Digest,
}

impl Writer {
    /// For the tablespaces of tables like this.
    pub(crate) fn new(template: &Template) -> Writer {
        let shape = &template.clustered().shape;
        Writer {
            mover: OffPage::new(shape, template.row_format, template.space_id),
            pages: BlobPages::new(template.format),
            short: None,
            bytes: Vec::new(),
            digest: Digest::default(),
        }
    }

    /// Makes `record` fit its page, writing what goes off page to `sink`. The row is refused if it cannot.
    #[inline]
    pub(crate) fn fit(
        &mut self,
        record: &RecordWriter,
        sink: &PageSink<'_>,
    ) -> Result<Result<(), RowFault>, Error> {
        self.short = None;
        match needs_off_page(record.finish().bytes.len()) {
            true => self.shorten(record, sink),
            false => Ok(Ok(())),
        }
    }

    /// True if [`Writer::fit`] would accept `record`. Writes nothing.
    pub(crate) fn would_fit(&mut self, record: &RecordWriter) -> Result<bool, Error> {
        if !needs_off_page(record.finish().bytes.len()) {
            return Ok(true);
        }
        match self.mover.plan(record) {
            Ok(_) => Ok(true),
            Err(innodb::error::Error::RecordTooLarge { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The digest of the pages that were written since it was taken.
    pub(crate) fn digest(&mut self) -> &mut Digest {
        &mut self.digest
    }

    /// The record for the page: `record`, or its shortened form.
    #[inline]
    pub(crate) fn record<'r>(&'r self, record: &'r RecordWriter) -> EncodedRecord<'r> {
        match self.short {
            None => record.finish(),
            Some(origin) => EncodedRecord { bytes: &self.bytes, origin },
        }
    }

    #[cold]
    fn shorten(
        &mut self,
        record: &RecordWriter,
        sink: &PageSink<'_>,
    ) -> Result<Result<(), RowFault>, Error> {
        self.mover.set_space(sink.template().space_id);
        let count = match self.mover.plan(record) {
            Ok(count) => count,
            Err(innodb::error::Error::RecordTooLarge { bytes, .. }) => {
                let kind = FaultKind::TooLarge { bytes };
                return Ok(Err(RowFault { field: None, column: None, kind }));
            }
            Err(error) => return Err(error.into()),
        };
        let segment = sink.template().clustered().leaf_segment;
        let mut runs = Vec::new();
        sink.allocator().allocate(segment, count as u32, &mut runs)?;
        self.pages.clear();
        let mut page_nos = runs.into_iter().flatten();
        let digest = &mut self.digest;
        let mut write = |pages: &BlobPages| -> Result<bool, Error> {
            for (offset, bytes) in pages.writes() {
                let (pages, _) = bytes.as_chunks::<PAGE_SIZE>();
                for (page_no, page) in (offset / PAGE_SIZE as u64..).zip(pages) {
                    digest.add_page(PageNo(page_no as u32), page);
                }
                sink.write_pages(offset, bytes)?;
            }
            Ok(true)
        };
        let short = self.mover.move_fields(record, &mut page_nos, &mut self.pages, &mut write)?;
        self.bytes.clear();
        self.bytes.extend_from_slice(short.bytes);
        self.short = Some(short.origin);
        write(&self.pages)?;
        Ok(Ok(()))
    }
}

/// Copies values of an old file.
pub(crate) struct Copier<'a> {
    sink: &'a PageSink<'a>,
    old: &'a SpaceFile,
    pages: BlobPages,
}

impl<'a> Copier<'a> {
    pub(crate) fn new(sink: &'a PageSink<'a>, old: &'a SpaceFile) -> Copier<'a> {
        Copier { sink, old, pages: BlobPages::new(sink.template().format) }
    }

    /// Copies the value of an external field of a record on `page`, which refers to the copy then.
    pub(crate) fn copy(&mut self, page: &mut PageBytes, field: FieldSpan) -> Result<(), Error> {
        let bytes = &mut page[field.start..field.start + field.len];
        let reference = BlobReference::at_end(bytes).ok_or_else(|| {
            Error::NotMerged(format!("an off-page value has a reference of {} bytes", field.len))
        })?;
        let template = self.sink.template();
        let segment = template.clustered().leaf_segment;
        let mut runs = Vec::new();
        let count = pages_needed(reference.bytes()) as u32;
        self.sink.allocator().allocate(segment, count, &mut runs)?;
        let mut page_nos = runs.into_iter().flatten();
        let sink = self.sink;
        let mut write = |pages: &BlobPages| -> Result<bool, CopyError> {
            for (offset, bytes) in pages.writes() {
                sink.write_pages(offset, bytes).map_err(CopyError)?;
            }
            Ok(true)
        };
        self.pages.clear();
        let (old, space_id) = (self.old, template.space_id);
        let copied = self.pages.copy(old, &reference, space_id, &mut page_nos, &mut write);
        let copied = copied.map_err(|CopyError(error)| error)?;
        write(&self.pages).map_err(|CopyError(error)| error)?;
        copied.put_at_end(bytes);
        Ok(())
    }
}

/// Why a value was not copied.
struct CopyError(Error);

impl From<innodb::source::ReadError> for CopyError {
    fn from(error: innodb::source::ReadError) -> CopyError {
        CopyError(Error::NotMerged(error.to_string()))
    }
}
