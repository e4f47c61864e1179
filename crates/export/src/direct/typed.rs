//! Rows of a leaf as values of typed columns: column by column, but rows with off-page values one by one.

use columnar::BadCell;
use innodb::finder::FieldFinder;
use innodb::ids::PAGE_SIZE;
use innodb::page::PageBytes;
use innodb::record::FieldSpan;

use super::{Leaf, Reader, off_page, unreadable};
use crate::error::Error;
use crate::layout::Stored;
use crate::ordered::Sink;
use crate::typed::Rows;

/// Marks of a length: of NULL, and of a value that goes on off page.
const NULL: u16 = u16::MAX;
const EXTERNAL: u16 = 1 << 15;
const _: () = assert!(PAGE_SIZE < EXTERNAL as usize);

/// A [`FieldSpan`] in few bytes, so that those of a leaf stay in the processor's cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompactSpan {
    start: u16,
    len: u16,
}

impl CompactSpan {
    #[inline(always)]
    fn new(span: &FieldSpan) -> CompactSpan {
        let external = if span.is_external { EXTERNAL } else { 0 };
        let len = if span.is_null { NULL } else { span.len as u16 | external };
        CompactSpan { start: span.start as u16, len }
    }

    fn is_external(self) -> bool {
        self.len != NULL && self.len & EXTERNAL != 0
    }

    /// The stored bytes; `None` for NULL.
    #[inline(always)]
    fn of(self, page: &PageBytes) -> Option<&[u8]> {
        let (start, len) = (usize::from(self.start), usize::from(self.len & !EXTERNAL));
        (self.len != NULL).then(|| &page[start..start + len])
    }
}

impl Reader<'_> {
    /// Writes the rows of a leaf, whose records are known.
    #[inline(never)]
    pub(super) fn typed_leaf(
        &mut self,
        leaf: Leaf<'_>,
        finder: &mut FieldFinder,
        sink: &mut Sink,
    ) -> Result<(), Error> {
        let (space, page) = (leaf.space, &self.pages[leaf.at].0);
        self.spans.clear();
        let mut has_external = false;
        for record in &self.records {
            let spans = finder.find(page, *record);
            let spans = spans.map_err(|error| unreadable(&space.file.path, error))?;
            has_external |= record.has_external;
            self.spans.extend(spans.iter().map(CompactSpan::new));
        }
        let fields = self.columns.places.len();
        let mut start = 0;
        while start < self.records.len() {
            let Rows::Typed(rows) = &self.rows else { return Ok(()) };
            // A leaf may have many values that are each as long as memory allows.
            let rows_max = if has_external { 1 } else { rows.encoder.rows_left().max(1) };
            let end = self.records.len().min(start + rows_max);
            if self.typed_rows(leaf, start * fields..end * fields)? {
                let spare = sink.send(self.rows.take()?)?;
                self.rows.reuse(spare);
            }
            start = end;
        }
        Ok(())
    }

    /// Writes rows with these spans; true if the row group is full.
    fn typed_rows(&mut self, leaf: Leaf<'_>, spans: std::ops::Range<usize>) -> Result<bool, Error> {
        let (space, page) = (leaf.space, &self.pages[leaf.at].0);
        let Rows::Typed(rows) = &mut self.rows else { return Ok(false) };
        let (spans, fields) = (&self.spans[spans], self.columns.places.len());
        for field in 0..fields {
            let written = match spans[field].is_external() {
                false => {
                    let values = spans.chunks_exact(fields).map(|row| row[field].of(page));
                    rows.encoder.stored(field, values)
                }
                true => {
                    let local = spans[field].of(page).unwrap_or_default();
                    let scratch = &mut self.scratch;
                    off_page(space, local, &mut scratch.whole, &mut scratch.values)?;
                    rows.encoder.stored(field, std::iter::once(Some(&*scratch.whole)))
                }
            };
            if let Err((row, bad)) = written {
                return Err(self.refused(leaf, &spans[row * fields..], field, bad));
            }
        }
        rows.end_rows(spans.len() / fields)
    }

    /// The error for a value of a row that cannot be written.
    #[cold]
    fn refused(
        &self,
        Leaf { space, page_no, at }: Leaf<'_>,
        row: &[CompactSpan],
        field: usize,
        bad: BadCell,
    ) -> Error {
        let page = &self.pages[at].0;
        let Rows::Typed(rows) = &self.rows else { return Error::Abandoned };
        if bad == BadCell::NotStored {
            return self.unwritten(Stored::NoValue, field, &space.file.path, page_no);
        }
        rows.refused(field, bad, |field| {
            let stored = row[field].of(page).filter(|_| !row[field].is_external())?;
            let mut text = Vec::new();
            self.decoders[field].decode(stored, &mut text).ok()?;
            Some(text)
        })
    }
}
