//! Leaf pages, filled by one worker without knowing their numbers.
//!
//! A worker pushes encoded records into a [`LeafBatch`]; pages lie one after the other in one buffer.
//! [`crate::tree::IndexBuilder::append`] then gives them numbers, in the order of the batches, and takes the first key
//! of each page; the batch is lent to what it returns until the pages are sealed and written, and empty again after.

use crate::error::{Error, Result};
use crate::ids::PAGE_SIZE;
use crate::index_page::{COMPACT_FLAG, HEAP, INFIMUM, index_header, last_record, next_record};
use crate::leaves::LiveRecord;
use crate::order::{KeyOrder, RecordAt};
use crate::page::{AlignedPage, PageBytes};
use crate::page_fill::{Fill, PageFill, PageHead, RECORD_BYTES_MAX, unused_bytes};
use crate::record::{RecordShape, status};
use crate::template::TemplateIndex;

/// Consecutive leaf pages of one index. Kept and reused: no allocation once warm.
#[derive(Clone, Debug)]
pub struct LeafBatch {
    shape: RecordShape,
    order: KeyOrder,
    pub(crate) head: PageHead,
    pub(crate) reserve: usize,
    /// Buffers of pages; those from `count` on are left from an earlier use.
    pages: Vec<AlignedPage>,
    /// Pages begun since the last clear.
    count: usize,
    /// The last of them, while it is open.
    fill: PageFill,
    /// First key of each page.
    keys: NodeKeys,
    /// True if the closed pages have numbers and only wait to be written.
    is_appended: bool,
}

/// `PAGE_MAX_TRX_ID` of built leaves of secondary indexes: their rows are there for every transaction. IMPORT writes
/// its own, but a backup may copy the page before that, and 0 is no transaction's for CHECK TABLE.
/// Source: MariaDB 10.11, storage/innobase/page/page0page.cc, `page_validate`.
const OLDEST_TRX_ID: u64 = 1;

/// Bytes that a page may leave empty, besides what is to be, and is still well filled; more where a record is longer.
const UNUSED_BYTES_MAX: usize = PAGE_SIZE / 16;

/// Node pointers without their child page, in one buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeKeys {
    bytes: Vec<u8>,
    /// Byte at which each ends, and bytes before its origin.
    ends: Vec<(usize, usize)>,
}

impl LeafBatch {
    /// An empty batch for leaves of `index`, with room for `pages` pages before it has to grow.
    pub fn new(index: &TemplateIndex, fill: Fill, pages: usize) -> LeafBatch {
        let max_trx_id = if index.is_clustered { 0 } else { OLDEST_TRX_ID };
        LeafBatch {
            shape: index.shape.clone(),
            order: index.order.clone(),
            head: PageHead::new(index.space_id, index.id, 0, max_trx_id),
            reserve: fill.leaf_reserve_bytes,
            pages: Vec::with_capacity(pages),
            count: 0,
            fill: PageFill::NONE,
            keys: NodeKeys::default(),
            is_appended: false,
        }
    }

    /// Adds a record, as [`crate::record::RecordWriter::finish`] gives it, after all before.
    ///
    /// Records must ascend by key: debug builds panic if they descend, as far as their order is
    /// known without collations. Two of one key are for the verification of the file to find: while the
    /// indexes of a table are built side by side, another one may still have to say so.
    ///
    /// Errors: [`Error::RecordTooLarge`], and nothing is added.
    #[inline]
    pub fn push(&mut self, record: &[u8], origin: usize) -> Result<()> {
        debug_assert!(self.is_after_last(record, origin), "records are pushed in order of key");
        if record.len() > RECORD_BYTES_MAX || !self.fill.fits(record.len()) {
            self.open_page(record, origin)?;
        }
        self.fill.put(&mut self.pages[self.count - 1].0, record, origin, 0, status::LEAF);
        Ok(())
    }

    /// True if a leaf of another index of the same shape could be one of this index: its records,
    /// of which `live` count, lie on it in order, with nothing deleted between them, and little
    /// more of it is empty than in pages built here.
    pub fn takes_page(&self, page: &PageBytes, live: &[LiveRecord]) -> bool {
        let header = index_header(page);
        let in_heap = usize::from(header.heap_records.get() & !COMPACT_FLAG);
        let is_all = !live.is_empty()
            && usize::from(header.records.get()) == live.len()
            && in_heap == live.len() + 2
            && (header.free.get(), header.garbage.get()) == (0, 0);
        is_all
            && unused_bytes(header)
                <= self.reserve + LiveRecord::longest(live).max(UNUSED_BYTES_MAX)
            && LiveRecord::fill(live, HEAP..header.heap_top.get().into())
    }

    /// Adds all records of a leaf that [`LeafBatch::takes_page`], after all before: the page as it is,
    /// under another head. `first` is the first of them.
    ///
    /// Errors: as [`LeafBatch::push`].
    pub fn push_page(&mut self, page: &PageBytes, first: LiveRecord) -> Result<()> {
        let (record, origin) = (first.bytes(page), first.origin());
        debug_assert!(self.is_after_last(record, origin), "pages are pushed in order of key");
        assert!(!self.is_appended, "appended pages are sealed before the next page begins");
        self.keys.push(&self.shape, record, origin)?;
        self.close_page();
        if self.count == self.pages.len() {
            self.pages.push(AlignedPage::ZERO);
        }
        self.pages[self.count].0 = *page;
        self.head.adopt(&mut self.pages[self.count].0);
        self.count += 1;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn open_page(&mut self, record: &[u8], origin: usize) -> Result<()> {
        if record.len() > RECORD_BYTES_MAX {
            return Err(Error::RecordTooLarge { bytes: record.len(), bytes_max: RECORD_BYTES_MAX });
        }
        assert!(!self.is_appended, "appended pages are sealed before the next page begins");
        self.keys.push(&self.shape, record, origin)?;
        self.close_page();
        if self.count == self.pages.len() {
            self.pages.push(AlignedPage::ZERO);
        }
        self.fill = PageFill::open(&mut self.pages[self.count].0, &self.head, self.reserve);
        self.count += 1;
        Ok(())
    }

    /// Ends the open page, if any: the next record begins another.
    pub(crate) fn close_page(&mut self) {
        if self.fill.is_open() {
            self.fill.close(&mut self.pages[self.count - 1].0);
        }
    }

    /// True if a record is not less than those before, or too large to be one.
    fn is_after_last(&self, record: &[u8], origin: usize) -> bool {
        let (Some(page), Some(last)) = (self.count.checked_sub(1), self.fill.last_record()) else {
            return true;
        };
        let last = RecordAt { bytes: self.page(page), origin: last };
        record.len() > RECORD_BYTES_MAX
            || self.order.follows(&self.shape, last, RecordAt { bytes: record, origin })
    }

    /// True if the first record is not less than the last one of a closed page, the leaf before.
    pub(crate) fn is_after(&self, before: &PageBytes) -> bool {
        let before = RecordAt { bytes: before, origin: last_record(before) };
        let first = self.page(0);
        let first = RecordAt { bytes: first, origin: next_record(first, INFIMUM) };
        self.order.follows(&self.shape, before, first)
    }

    /// Marks the closed pages as numbered. They may only be written now, and then forgotten.
    pub(crate) fn mark_appended(&mut self) {
        assert!(!self.is_appended, "a batch is appended once");
        self.is_appended = true;
    }

    /// Pages so far, the open one included.
    pub fn pages(&self) -> usize {
        self.count
    }

    /// Bytes of the pages so far.
    pub fn bytes(&self) -> usize {
        self.count * PAGE_SIZE
    }

    /// True if no record was pushed.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// True if ending the open page, if there is one, leaves little more of it empty than in other pages.
    pub fn may_close(&self) -> bool {
        !self.fill.is_open() || self.fill.free_bytes() <= self.reserve + UNUSED_BYTES_MAX
    }

    /// Pages that no record can be added to any more.
    pub fn closed_pages(&self) -> usize {
        self.count - usize::from(self.fill.is_open())
    }

    /// Forgets every record; keeps the memory.
    pub fn clear(&mut self) {
        self.is_appended = false;
        self.count = 0;
        self.fill = PageFill::NONE;
        self.keys.clear();
    }

    /// Forgets every page but the open one, which goes on being filled.
    pub(crate) fn clear_closed(&mut self) {
        self.is_appended = false;
        let closed = self.closed_pages();
        if closed == self.count {
            return self.clear();
        }
        self.pages.swap(0, closed);
        self.count = 1;
        self.keys.keep_last();
        debug_assert!(self.fill.is_open() && self.keys.ends.len() == self.count);
    }

    pub(crate) fn key(&self, page: usize) -> (&[u8], usize) {
        self.keys.get(page)
    }

    pub(crate) fn page(&self, page: usize) -> &PageBytes {
        &self.pages[..self.count][page].0
    }

    pub(crate) fn page_mut(&mut self, page: usize) -> &mut PageBytes {
        &mut self.pages[..self.count][page].0
    }

    /// The bytes of `pages` pages from the `first` on.
    pub(crate) fn page_bytes(&self, first: usize, pages: usize) -> &[u8] {
        AlignedPage::bytes_of(&self.pages[..self.count][first..first + pages])
    }
}

impl NodeKeys {
    fn push(&mut self, shape: &RecordShape, record: &[u8], origin: usize) -> Result<()> {
        let before = self.bytes.len();
        match shape.append_node_key(record, origin, &mut self.bytes) {
            Ok(key_origin) => self.ends.push((self.bytes.len(), key_origin)),
            Err(e) => {
                self.bytes.truncate(before);
                return Err(e);
            }
        }
        Ok(())
    }

    fn get(&self, index: usize) -> (&[u8], usize) {
        let (end, origin) = self.ends[index];
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before].0);
        (&self.bytes[start..end], origin)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn keep_last(&mut self) {
        let Some(&(end, origin)) = self.ends.last() else { return };
        let start = self.ends.len().checked_sub(2).map_or(0, |before| self.ends[before].0);
        self.bytes.copy_within(start..end, 0);
        self.bytes.truncate(end - start);
        self.ends.clear();
        self.ends.push((end - start, origin));
    }
}
