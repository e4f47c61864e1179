//! The leaves of an index of an existing tablespace, to be carried over into a new one.
//!
//! ```text
//! level 1   | key page | key page | ..      LeafPointers: one page of these at a time, in order
//! level 0   many at once                    read_leaves: in order of key, read in order of place
//!           the records that count          LeafRecords: no deleted ones, their bytes as they are
//! ```
//!
//! Pages above the leaves are checked here, because a file that is only read was not [verified](crate::verify).

use core::mem::offset_of;

use crate::blob::BlobReference;
use crate::cfg::{Cfg, CfgIndex};
use crate::error::Error;
use crate::ids::{FIL_NULL, IndexId, PAGE_SIZE, PageNo, SpaceId};
use crate::index_page::{INFIMUM, SUPREMUM, index_header, next_record};
use crate::order::KeyOrder;
use crate::page::{AlignedPage, FilHeader, PageBytes, fil_header, page_type, u32_at};
use crate::record::{
    CHILD, DELETED, FieldSpan, MIN_RECORD, RECORD_HEADER, RecordShape, TRX_ID_AND_ROLL_PTR,
};
use crate::source::{PageSource, ReadError, page_buffer, read_page};
use crate::space_format::SpaceFormat;
use crate::template::TemplateIndex;
use crate::verify::plan::RecordPlan;

/// Goes through the node pointers to the leaves of an index, in order of key.
pub struct LeafPointers<'a> {
    source: &'a dyn PageSource,
    node: RecordShape,
    format: SpaceFormat,
    /// `PAGE_INDEX_ID` of all pages; none before the root was read.
    index_id: Option<u64>,
    page: Box<PageBytes>,
    page_no: u32,
    /// Pointer given last.
    origin: usize,
    /// Pointers of the page that follow it.
    left: u16,
    spans: Vec<FieldSpan>,
    /// Pages that may still be read before the links must have run into a circle.
    rest: u32,
    /// The root, while it is the only leaf and was not given yet.
    only: Option<u32>,
}

/// A node pointer.
#[derive(Clone, Copy, Debug)]
pub struct LeafPointer<'p> {
    /// The leaf.
    pub leaf: u32,
    /// The page the pointer is on, and the fields of its key there. No record of the leaf has a lesser
    /// key, and none of the leaf before it this or a greater one. None for the first leaf.
    pub key: Option<(&'p PageBytes, &'p [FieldSpan])>,
}

impl<'a> LeafPointers<'a> {
    /// The leaves of the index with this root; `leaf` is the shape of its leaf records. `pages` is
    /// the number of pages in the file.
    pub fn new(
        source: &'a dyn PageSource,
        root: PageNo,
        leaf: &RecordShape,
        pages: u32,
    ) -> Result<LeafPointers<'a>, ReadError> {
        LeafPointers::with_node(source, root, leaf.to_node(), pages)
    }

    /// The same, of an index whose node pointers are of shape `node`.
    pub fn with_node(
        source: &'a dyn PageSource,
        root: PageNo,
        node: RecordShape,
        pages: u32,
    ) -> Result<LeafPointers<'a>, ReadError> {
        let mut page = page_buffer();
        read_page(source, 0, &mut page)?;
        let mut pointers = LeafPointers {
            source,
            node,
            format: SpaceFormat::with_header(&page)?.0,
            index_id: None,
            page,
            page_no: root.0,
            origin: INFIMUM,
            left: 0,
            spans: Vec::new(),
            rest: pages,
            only: None,
        };
        pointers.load(root.0, None)?;
        if pointers.level() == 0 {
            pointers.only = Some(root.0);
            return Ok(pointers);
        }
        while pointers.level() > 1 {
            let first = next_record(&pointers.page, INFIMUM);
            let child = pointers.child(first)?;
            pointers.load(child, Some(pointers.level() - 1))?;
        }
        Ok(pointers)
    }

    fn level(&self) -> u16 {
        index_header(&self.page).level.get()
    }

    /// The next leaf; none after the last.
    ///
    /// Errors: a source that fails, a damaged page, records or pages in a circle.
    pub fn advance(&mut self) -> Result<Option<LeafPointer<'_>>, ReadError> {
        if self.level() == 0 {
            return Ok(self.only.take().map(|leaf| LeafPointer { leaf, key: None }));
        }
        loop {
            self.origin = next_record(&self.page, self.origin);
            if (self.origin == SUPREMUM) != (self.left == 0) {
                return Err(self.corrupt(
                    "PAGE_N_RECS",
                    self.left.into(),
                    "0 after the last record",
                ));
            }
            if self.origin != SUPREMUM {
                self.left -= 1;
                break;
            }
            match fil_header(&self.page).next.get() {
                FIL_NULL => {
                    self.rest = 0;
                    self.page[INFIMUM - 2..INFIMUM]
                        .copy_from_slice(&((SUPREMUM - INFIMUM) as u16).to_be_bytes());
                    self.origin = INFIMUM;
                    return Ok(None);
                }
                next => self.load(next, Some(self.level()))?,
            }
        }
        let leaf = self.child(self.origin)?;
        let is_first = self.page[self.origin - RECORD_HEADER] & MIN_RECORD != 0;
        let key = (!is_first).then_some((&*self.page, self.spans.as_slice()));
        Ok(Some(LeafPointer { leaf, key }))
    }

    /// The child of the node pointer at `origin`, whose fields are found on the way.
    fn child(&mut self, origin: usize) -> Result<u32, ReadError> {
        if origin <= SUPREMUM {
            return Err(self.corrupt("first record", origin as u64, "after the supremum"));
        }
        let span = self.node.spans(&self.page[..], origin, &mut self.spans)?;
        Ok(u32_at(&self.page, span.end - CHILD))
    }

    /// Reads a page of the index, of a level; the root has any.
    fn load(&mut self, page_no: u32, level: Option<u16>) -> Result<(), ReadError> {
        let Some(rest) = self.rest.checked_sub(1) else {
            return Err(self.corrupt("next page", page_no.into(), "a page not read before"));
        };
        self.rest = rest;
        read_page(self.source, page_no, &mut self.page)?;
        (self.page_no, self.origin) = (page_no, INFIMUM);
        self.format.expect_intact(page_no, &self.page)?;
        let (fil, header) = (fil_header(&self.page), *index_header(&self.page));
        let (id, level) =
            (self.index_id.unwrap_or(header.index_id.get()), level.unwrap_or(header.level.get()));
        if !matches!(fil.page_type.get(), page_type::INDEX | page_type::INSTANT) {
            let seen = fil.page_type.get().into();
            return Err(self.corrupt("FIL_PAGE_TYPE", seen, "17855, an index page"));
        }
        for (what, seen, expected) in [
            ("FIL_PAGE_OFFSET", fil.page_no.get().into(), page_no.into()),
            ("PAGE_INDEX_ID", header.index_id.get(), id),
            ("PAGE_LEVEL", header.level.get().into(), level.into()),
        ] {
            if seen != expected {
                return Err(self.corrupt(what, seen, &expected.to_string()));
            }
        }
        (self.index_id, self.left) = (Some(id), header.records.get());
        Ok(())
    }

    fn corrupt(&self, what: &'static str, seen: u64, expected: &str) -> ReadError {
        corrupt(self.page_no, self.origin, what, seen, expected)
    }
}

/// Reads pages `numbers` into `pages`, in that order, but from the file in order of their place there,
/// neighbours together. `order` is kept for its memory.
pub fn read_leaves(
    source: &dyn PageSource,
    numbers: &[u32],
    pages: &mut [AlignedPage],
    order: &mut Vec<(u32, usize)>,
) -> Result<(), ReadError> {
    assert!(numbers.len() <= pages.len(), "room for each page");
    order.clear();
    order.extend(numbers.iter().copied().zip(0..));
    order.sort_unstable();
    // A run of neighbours that are wanted in the order in which they lie is read in one go.
    for run in order.chunk_by(|a, b| a.0 + 1 == b.0 && a.1 + 1 == b.1) {
        let (first, at) = run[0];
        let buffer = AlignedPage::bytes_of_mut(&mut pages[at..at + run.len()]);
        let failed = |error| ReadError::Source { page_no: first, source: error };
        source.read(PageNo(first), buffer).map_err(failed)?;
    }
    numbers.iter().zip(&*pages).try_for_each(|(page_no, page)| check_leaf(*page_no, &page.0))
}

/// Refuses a leaf whose links are not the leaves before and after it, as where either is of an earlier state.
pub fn check_links(
    page_no: u32,
    page: &PageBytes,
    [before, after]: [Option<u32>; 2],
) -> Result<(), ReadError> {
    let header = fil_header(page);
    for (what, offset, seen, expected) in [
        ("FIL_PAGE_PREV", offset_of!(FilHeader, prev), header.prev.get(), before),
        ("FIL_PAGE_NEXT", offset_of!(FilHeader, next), header.next.get(), after),
    ] {
        let expected = expected.unwrap_or(FIL_NULL);
        if seen != expected {
            let expected = format!("{expected}, the leaf there by the pages above");
            return Err(corrupt(page_no, offset, what, seen.into(), &expected));
        }
    }
    Ok(())
}

/// Reads a leaf.
pub(crate) fn leaf_page(
    source: &dyn PageSource,
    page_no: u32,
    page: &mut PageBytes,
) -> Result<(), ReadError> {
    read_page(source, page_no, page)?;
    check_leaf(page_no, page)
}

fn check_leaf(page_no: u32, page: &PageBytes) -> Result<(), ReadError> {
    let header = fil_header(page);
    let (seen, kind) = (header.page_no.get(), header.page_type.get());
    let is_of_index = matches!(kind, page_type::INDEX | page_type::INSTANT);
    match seen == page_no && is_of_index && index_header(page).level.get() == 0 {
        true => Ok(()),
        false => Err(corrupt(page_no, 4, "page", seen.into(), "a leaf of this number")),
    }
}

/// The contents of a page, for readers of a file from its first page to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Records of an index, the leaves of which are of level 0.
    Index {
        /// Which.
        id: IndexId,
        /// How far above the leaves.
        level: u16,
    },
    /// A part of an off-page value.
    OffPage,
    /// Anything else.
    Other,
}

impl Content {
    /// The contents by the page's type.
    pub fn of(page: &PageBytes) -> Content {
        match fil_header(page).page_type.get() {
            page_type::INDEX | page_type::INSTANT => {
                let header = index_header(page);
                Content::Index { id: IndexId(header.index_id.get()), level: header.level.get() }
            }
            page_type::BLOB | page_type::LOB_FIRST | page_type::LOB_DATA | page_type::LOB_INDEX => {
                Content::OffPage
            }
            _ => Content::Other,
        }
    }
}

/// A record that counts, on its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveRecord {
    start: u16,
    origin: u16,
    end: u16,
    /// True if a value of it goes on off page.
    pub has_external: bool,
    /// True if one may be NULL.
    pub(crate) may_have_null: bool,
}

/// How the leaf records of an index are read, to be written into one of the same shape.
#[derive(Clone, Debug)]
pub struct LeafRecords {
    plan: RecordPlan,
}

impl LiveRecord {
    /// The record that starts at byte `start` of a page, `len` bytes of which the data starts at `origin`.
    pub(crate) fn at(start: usize, origin: usize, len: usize, has_external: bool) -> LiveRecord {
        let (origin, end) = (start + origin, start + len);
        assert!(end <= PAGE_SIZE, "a record is on a page");
        let (start, origin, end) = (start as u16, origin as u16, end as u16);
        LiveRecord { start, origin, end, has_external, may_have_null: true }
    }

    /// True if records lie one after the other, and together take just these bytes of their page.
    pub(crate) fn fill(records: &[LiveRecord], heap: core::ops::Range<usize>) -> bool {
        let mut end = heap.start;
        for record in records {
            if usize::from(record.start) != end {
                return false;
            }
            end = record.end.into();
        }
        end == heap.end
    }

    /// Bytes of the longest.
    pub(crate) fn longest(records: &[LiveRecord]) -> usize {
        records.iter().map(|record| usize::from(record.end - record.start)).max().unwrap_or(0)
    }

    /// Its bytes.
    #[inline]
    pub fn bytes<'p>(&self, page: &'p PageBytes) -> &'p [u8] {
        &page[usize::from(self.start)..usize::from(self.end)]
    }

    /// Byte of its page at which its data starts.
    #[inline]
    pub(crate) fn origin_on_page(&self) -> usize {
        self.origin.into()
    }

    /// Byte of its page after its data.
    #[inline]
    pub(crate) fn end_on_page(&self) -> usize {
        self.end.into()
    }

    /// Byte of these at which its data starts.
    #[inline]
    pub fn origin(&self) -> usize {
        usize::from(self.origin - self.start)
    }

    /// Its data.
    #[inline]
    pub fn data<'p>(&self, page: &'p PageBytes) -> &'p [u8] {
        &page[usize::from(self.origin)..usize::from(self.end)]
    }
}

impl LeafRecords {
    /// The records of an index like this one.
    pub fn new(index: &TemplateIndex) -> LeafRecords {
        LeafRecords { plan: RecordPlan::new(index.shape.clone(), &index.order, None) }
    }

    /// The records of an index of a file that is known only by the server's description.
    ///
    /// Errors: those of [`RecordShape::leaf`].
    pub fn described(cfg: &Cfg, index: &CfgIndex) -> Result<LeafRecords, Error> {
        LeafRecords::of_shape(cfg, index, RecordShape::leaf(cfg, index)?)
    }

    /// The same of a clustered index that was altered instantly, as [rewritten](crate::instant::Rewriter).
    pub fn rewritten(cfg: &Cfg, clustered: &CfgIndex) -> Result<LeafRecords, Error> {
        LeafRecords::of_shape(cfg, clustered, RecordShape::new_rows(cfg, clustered)?)
    }

    fn of_shape(cfg: &Cfg, index: &CfgIndex, shape: RecordShape) -> Result<LeafRecords, Error> {
        let key = &shape.fields[..shape.key_fields];
        let order = KeyOrder::new(cfg, &index.name, key, &|_, _| None, &mut Vec::new());
        Ok(LeafRecords { plan: RecordPlan::new(shape, &order, None) })
    }

    pub(crate) fn plan(&self) -> &RecordPlan {
        &self.plan
    }

    /// How its records are stored.
    pub fn shape(&self) -> &RecordShape {
        &self.plan.shape
    }

    /// Finds the records of a leaf that are not deleted, in order of key; `out` is cleared first.
    ///
    /// Errors: records that leave their page, or are of another kind.
    pub fn live(
        &self,
        page_no: u32,
        page: &PageBytes,
        out: &mut Vec<LiveRecord>,
    ) -> Result<(), ReadError> {
        out.clear();
        let mut rest = index_header(page).records.get();
        let mut origin = INFIMUM;
        loop {
            origin = next_record(page, origin);
            if origin == SUPREMUM {
                return Ok(());
            }
            let extent = self.plan.extent(page, origin).filter(|_| origin > SUPREMUM && rest > 0);
            let Some(extent) = extent else {
                return Err(outside(page_no, origin));
            };
            rest -= 1;
            let kind = page[origin - RECORD_HEADER + 2] & 7;
            let info = page[origin - RECORD_HEADER] & 0xF0;
            if kind != 0 || info & !DELETED != 0 {
                let expected = "a plain record of a leaf";
                return Err(corrupt(page_no, origin, "record kind", kind.into(), expected));
            }
            if info & DELETED == 0 {
                out.push(LiveRecord {
                    start: extent.start as u16,
                    origin: origin as u16,
                    end: extent.end as u16,
                    has_external: extent.has_external,
                    may_have_null: extent.has_null,
                });
            }
        }
    }

    /// Finds the fields of a record's key.
    ///
    /// Errors: they leave the page.
    pub fn key(
        &self,
        page: &PageBytes,
        record: LiveRecord,
        spans: &mut Vec<FieldSpan>,
    ) -> Result<(), ReadError> {
        let origin = usize::from(record.origin);
        match self.plan.key_spans(page, origin, spans) {
            true => Ok(()),
            false => Err(corrupt(FIL_NULL, origin, "key", origin as u64, "fields on the page")),
        }
    }

    /// Finds all fields of a record.
    ///
    /// Errors: they leave the page.
    pub fn fields(
        &self,
        page: &PageBytes,
        record: LiveRecord,
        spans: &mut Vec<FieldSpan>,
    ) -> Result<(), ReadError> {
        self.plan.shape.spans(&page[..], usize::from(record.origin), spans)?;
        Ok(())
    }

    /// Makes the row of a clustered record one that every transaction sees.
    ///
    /// Errors: as [`LeafRecords::key`].
    pub fn settle(
        &self,
        page: &mut PageBytes,
        record: LiveRecord,
        spans: &mut Vec<FieldSpan>,
    ) -> Result<(), ReadError> {
        if let Some(at) = self.system_columns(page, record, spans)? {
            page[at].copy_from_slice(&TRX_ID_AND_ROLL_PTR);
        }
        Ok(())
    }

    /// A clustered record as it was encoded, before a page took it and a server adopted that:
    /// [`EncodedRecord::bytes`](crate::record::EncodedRecord::bytes), where off-page values were in the
    /// tablespace of number `space_id`. `out` is cleared first.
    ///
    /// Errors: as [`LeafRecords::key`].
    pub fn as_encoded(
        &self,
        page: &PageBytes,
        record: LiveRecord,
        space_id: SpaceId,
        spans: &mut Vec<FieldSpan>,
        out: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        out.clear();
        out.extend_from_slice(record.bytes(page));
        let start = usize::from(record.start);
        let header = record.origin() - RECORD_HEADER;
        out[header..header + RECORD_HEADER].fill(0);
        if let Some(at) = self.system_columns(page, record, spans)? {
            out[at.start - start..at.end - start].copy_from_slice(&TRX_ID_AND_ROLL_PTR);
        }
        if record.has_external {
            self.fields(page, record, spans)?;
            for field in spans.iter().filter(|field| field.is_external) {
                let bytes = &mut out[field.start - start..field.start - start + field.len];
                if let Some(reference) = BlobReference::at_end(bytes) {
                    BlobReference { space_id: space_id.0.into(), ..reference }.put_at_end(bytes);
                }
            }
        }
        Ok(())
    }

    /// Where DB_TRX_ID and DB_ROLL_PTR of a clustered record are; none of another index.
    fn system_columns(
        &self,
        page: &PageBytes,
        record: LiveRecord,
        spans: &mut Vec<FieldSpan>,
    ) -> Result<Option<core::ops::Range<usize>>, ReadError> {
        if !self.plan.has_system_columns {
            return Ok(None);
        }
        let at = match self.plan.key_bytes {
            Some(bytes) => usize::from(record.origin) + bytes,
            None => {
                self.key(page, record, spans)?;
                spans.last().map_or(usize::from(record.origin), |span| span.start + span.len)
            }
        };
        let end = at + TRX_ID_AND_ROLL_PTR.len();
        if end > usize::from(record.end) {
            return Err(corrupt(FIL_NULL, at, "record end", record.end.into(), "system columns"));
        }
        Ok(Some(at..end))
    }
}

/// Places on a page fit [`LiveRecord`].
const _: () = assert!(PAGE_SIZE <= u16::MAX as usize);

/// The error of a record that begins outside of its page.
pub(crate) fn outside(page_no: u32, origin: usize) -> ReadError {
    corrupt(page_no, origin, "record", origin as u64, "a record on the page")
}

pub(crate) fn corrupt(
    page_no: u32,
    offset: usize,
    what: &'static str,
    seen: u64,
    expected: &str,
) -> ReadError {
    Error::Corrupt { page_no, offset, what, seen, expected: expected.to_owned() }.into()
}
