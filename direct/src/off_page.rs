//! Values too long for their page: written at once, before any sort; records keep a reference.

use encode::fault::{FaultKind, RowFault};
use innodb::blob::{BlobPages, OffPage, needs_off_page};
use innodb::record::{EncodedRecord, RecordWriter};
use job::error::Error;

use crate::pages::PageSink;

/// Moves long values of one worker's rows off page.
pub(crate) struct Writer<'a> {
    sink: &'a PageSink<'a>,
    mover: OffPage,
    pages: BlobPages,
    /// The shortened record, when the last row needed it.
    short: Option<Short>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Short {
    origin: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(sink: &'a PageSink<'a>) -> Writer<'a> {
        let template = sink.template();
        let shape = &template.clustered().shape;
        Writer {
            sink,
            mover: OffPage::new(shape, template.row_format, template.space_id),
            pages: BlobPages::default(),
            short: None,
            bytes: Vec::new(),
        }
    }

    /// Makes `record` fit its page, writing what goes off page. The row is refused if it cannot.
    #[inline]
    pub(crate) fn fit(&mut self, record: &RecordWriter) -> Result<Result<(), RowFault>, Error> {
        self.short = None;
        if needs_off_page(record.finish().bytes.len()) { self.shorten(record) } else { Ok(Ok(())) }
    }

    /// Whether [`Writer::fit`] would not refuse `record`. Writes nothing.
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

    /// What to put on the page: `record`, or its shortened form.
    #[inline]
    pub(crate) fn record<'r>(&'r self, record: &'r RecordWriter) -> EncodedRecord<'r> {
        match self.short {
            None => record.finish(),
            Some(Short { origin }) => EncodedRecord { bytes: &self.bytes, origin },
        }
    }

    #[cold]
    fn shorten(&mut self, record: &RecordWriter) -> Result<Result<(), RowFault>, Error> {
        let count = match self.mover.plan(record) {
            Ok(count) => count,
            Err(innodb::error::Error::RecordTooLarge { bytes, .. }) => {
                let kind = FaultKind::TooLarge { bytes };
                return Ok(Err(RowFault { field: None, column: None, kind }));
            }
            Err(error) => return Err(error.into()),
        };
        let segment = self.sink.template().clustered().leaf_segment;
        let mut runs = Vec::new();
        self.sink.allocator().allocate(segment, count as u32, &mut runs)?;
        self.pages.clear();
        let mut page_nos = runs.into_iter().flatten();
        let sink = self.sink;
        let mut write = |pages: &BlobPages| -> Result<bool, Error> {
            for (offset, bytes) in pages.writes() {
                sink.write_pages(offset, bytes)?;
            }
            Ok(true)
        };
        let short =
            self.mover.move_fields_in_parts(record, &mut page_nos, &mut self.pages, &mut write)?;
        self.bytes.clear();
        self.bytes.extend_from_slice(short.bytes);
        self.short = Some(Short { origin: short.origin });
        write(&self.pages)?;
        Ok(Ok(()))
    }
}
