//! Building one B+tree from its leaves upwards, each page once.
//!
//! ```text
//! level 2                 [ open page ]
//! level 1   written ... [ open page ]
//! level 0   written ... [ held back ]  <- batches of leaves, in key order
//! ```
//!
//! A page can be written once its right sibling has a number. So each level keeps its last page:
//! the one still open, or, among leaves, the last of the batch before. A level takes its first
//! page number only when it gets a second page; the page alone at the top becomes the root, under
//! the number the server knows. Memory: two pages a level, whatever the number of records.
//!
//! Source: MariaDB 10.11, storage/innobase/btr/btr0bulk.cc, `BtrBulk`.

use core::ops::Range;

use crate::allocator::Allocator;
use crate::error::{Error, Result};
use crate::ids::{FIL_NULL, PAGE_SIZE, PageNo};
use crate::index_page::{PAGE_HEADER, PageHeader};
use crate::leaf::LeafBatch;
use crate::page::{PageBytes, read_at, write_at};
use crate::page_fill::{Fill, PageFill, PageHead, RECORD_BYTES_MAX, joined, link_and_seal};
use crate::record::{CHILD, MIN_RECORD};
use crate::space_format::SpaceFormat;
use crate::template::TemplateIndex;

/// Numbers the pages of one index and builds the levels above its leaves.
///
/// ```text
/// LeafBatch --append--> Appended --seal--> Sealed --writes--> file
///     ^    under a lock          outside it                |
///     +------------------ empty again <--------------------+
/// ```
///
/// [`append`](Self::append) and [`finish`](Self::finish) are cheap and meant to be called under a
/// lock; checksums are left to [`Appended::seal`], outside of it.
#[derive(Debug)]
pub struct IndexBuilder {
    index: TemplateIndex,
    reserve: usize,
    /// Last leaf so far.
    held: Option<HeldLeaf>,
    /// Level 1 and up.
    levels: Vec<Level>,
    /// Numbers of the leaves of one batch; kept for its memory.
    numbers: Vec<Range<u32>>,
    /// True if an append failed midway, so that the index cannot be finished.
    is_broken: bool,
}

/// The last leaf of a batch, which waits for the number of its right sibling.
#[derive(Debug)]
struct HeldLeaf {
    page: Box<PageBytes>,
    prev: u32,
    place: Place,
}

/// The state of a page's number: known or not yet.
#[derive(Debug)]
enum Place {
    /// Alone on its level: its node pointer, without child and with its origin, is still to be
    /// pushed. Such a page may become the root.
    Alone { key: Vec<u8>, origin: usize },
    /// Numbered.
    Numbered(u32),
}

/// The open page of a level above the leaves.
#[derive(Debug)]
struct Level {
    head: PageHead,
    page: Box<PageBytes>,
    fill: PageFill,
    /// `None` while the page is alone on its level.
    page_no: Option<u32>,
    prev: u32,
    /// Node pointer of its first record, without child, and its origin.
    first_key: Vec<u8>,
    first_origin: usize,
}

/// Pages that [`IndexBuilder::append`] numbered, in the batch they came in: to be sealed.
#[derive(Debug)]
#[must_use = "pages with numbers have to be sealed and written"]
pub struct Appended<'b> {
    format: SpaceFormat,
    batch: &'b mut LeafBatch,
    /// Numbers of the first leaves of the batch, in order.
    runs: Vec<Range<u32>>,
    /// Left sibling of the first of them, right sibling of the last.
    prev: u32,
    next: u32,
    /// The leaf held back before and non-leaf pages, linked but not sealed.
    others: Vec<FinishedPage>,
    /// Leaves that the index has now and had not before.
    pub new_leaves: usize,
}

/// Pages as they are to be in the file: to be written.
///
/// When this goes, the batch is empty and can be filled again.
#[derive(Debug)]
#[must_use = "sealed pages have to be written"]
pub struct Sealed<'b> {
    pages: Appended<'b>,
}

/// A page with its number.
#[derive(Clone, Debug)]
pub struct FinishedPage {
    /// Where it belongs.
    pub page_no: PageNo,
    /// Its bytes.
    pub bytes: Box<PageBytes>,
    prev: u32,
    next: u32,
}

impl IndexBuilder {
    /// A builder of an empty index.
    pub fn new(index: &TemplateIndex, fill: Fill) -> IndexBuilder {
        IndexBuilder {
            index: index.clone(),
            reserve: fill.node_reserve_bytes,
            held: None,
            levels: Vec::new(),
            numbers: Vec::new(),
            is_broken: false,
        }
    }

    /// Adds all leaves of `batch` after those of earlier batches; its open page is closed. A page
    /// alone in its batch is joined with the leaf before where both fit on one.
    ///
    /// Keys must ascend from batch to batch, as in [`LeafBatch::push`]. Errors: [`Error::SpaceFull`],
    /// [`Error::RecordTooLarge`] for a node pointer; the index cannot be finished after either.
    pub fn append<'b>(
        &mut self,
        batch: &'b mut LeafBatch,
        allocator: &mut Allocator,
    ) -> Result<Appended<'b>> {
        batch.close_page();
        self.append_closed(batch, allocator)
    }

    /// As [`append`](Self::append), but leaves the open page of the batch out of it.
    ///
    /// For a single stream of records, which goes on filling that page.
    pub fn append_closed<'b>(
        &mut self,
        batch: &'b mut LeafBatch,
        allocator: &mut Allocator,
    ) -> Result<Appended<'b>> {
        assert!(!self.is_broken, "an append before has failed");
        self.is_broken = true;
        batch.mark_appended();
        let appended = self.number(batch, allocator)?;
        self.is_broken = false;
        Ok(appended)
    }

    /// Gives the closed pages of a batch their numbers, but for the last, which is held back.
    fn number<'b>(
        &mut self,
        batch: &'b mut LeafBatch,
        allocator: &mut Allocator,
    ) -> Result<Appended<'b>> {
        let (runs, others) = (Vec::new(), Vec::new());
        let (format, prev, next) = (self.index.format, FIL_NULL, FIL_NULL);
        let mut appended = Appended { format, batch, runs, prev, next, others, new_leaves: 0 };
        let batch = &*appended.batch;
        let count = batch.closed_pages();
        if count == 0 {
            return Ok(appended);
        }
        debug_assert!(
            self.held.as_ref().is_none_or(|held| batch.is_after(&held.page)),
            "batches are appended in order of key"
        );
        if let (1, Some(held)) = (count, &mut self.held)
            && let Some(page) = joined(&batch.head, batch.reserve, [&held.page, batch.page(0)])
        {
            held.page = page;
            return Ok(appended);
        }
        appended.new_leaves = count;
        let batch = &*appended.batch;
        if self.held.is_none() && count == 1 {
            let (key, origin) = batch.key(0);
            let place = Place::Alone { key: key.to_vec(), origin };
            let page = Box::new(*batch.page(0));
            self.held = Some(HeldLeaf { page, prev: FIL_NULL, place });
            return Ok(appended);
        }
        let before = self.number_held(allocator, &mut appended.others)?;
        self.numbers.clear();
        let mut numbers = core::mem::take(&mut self.numbers);
        allocator.allocate(self.index.leaf_segment, count as u32, &mut numbers)?;
        for (page, page_no) in numbers.iter().cloned().flatten().enumerate() {
            let (key, origin) = batch.key(page);
            self.push_pointer(0, key, origin, page_no, allocator, &mut appended.others)?;
        }
        self.hold_last(count, before, &numbers, &mut appended);
        self.numbers = numbers;
        Ok(appended)
    }

    /// Gives the held leaf its number, if there is one.
    fn number_held(
        &mut self,
        allocator: &mut Allocator,
        others: &mut Vec<FinishedPage>,
    ) -> Result<Option<u32>> {
        let Some(held) = &mut self.held else { return Ok(None) };
        let page_no = match held.place {
            Place::Numbered(page_no) => page_no,
            Place::Alone { .. } => allocator.allocate_page(self.index.leaf_segment)?,
        };
        let place = core::mem::replace(&mut held.place, Place::Numbered(page_no));
        if let Place::Alone { key, origin } = place {
            self.push_pointer(0, &key, origin, page_no, allocator, others)?;
        }
        Ok(Some(page_no))
    }

    /// Lets the leaf held so far go, and holds the last of the `count` closed ones of the batch.
    fn hold_last(
        &mut self,
        count: usize,
        before: Option<u32>,
        numbers: &[Range<u32>],
        appended: &mut Appended<'_>,
    ) {
        let last = appended.batch.page(count - 1);
        let mut runs = numbers.to_vec();
        let first_no = runs.first().map_or(FIL_NULL, |run| run.start);
        let last_no = runs.last().map_or(FIL_NULL, |run| run.end - 1);
        if let Some(run) = runs.last_mut() {
            run.end -= 1;
        }
        runs.retain(|run| !run.is_empty());
        appended.prev = before.unwrap_or(FIL_NULL);
        appended.next = last_no;
        let prev = runs.last().map_or(appended.prev, |run| run.end - 1);
        appended.runs = runs;

        let place = Place::Numbered(last_no);
        let page = match (self.held.take(), before) {
            (Some(mut held), Some(page_no)) => {
                let free = Box::new(*last);
                let bytes = core::mem::replace(&mut held.page, free);
                appended.others.push(FinishedPage {
                    page_no: PageNo(page_no),
                    bytes,
                    prev: held.prev,
                    next: first_no,
                });
                held.page
            }
            _ => Box::new(*last),
        };
        self.held = Some(HeldLeaf { page, prev, place });
    }

    /// Pushes a node pointer to `levels[at]`, and, if that ends a page, the page's to the next.
    fn push_pointer(
        &mut self,
        at: usize,
        key: &[u8],
        origin: usize,
        child: u32,
        allocator: &mut Allocator,
        others: &mut Vec<FinishedPage>,
    ) -> Result<()> {
        if key.len() + CHILD > RECORD_BYTES_MAX {
            let (bytes, bytes_max) = (key.len() + CHILD, RECORD_BYTES_MAX);
            return Err(Error::RecordTooLarge { bytes, bytes_max });
        }
        if at == self.levels.len() {
            let head = PageHead::new(self.index.space_id, self.index.id, at as u16 + 1, 0);
            self.levels.push(Level::new(head, self.reserve));
        }
        let level = &mut self.levels[at];
        if level.fill.fits(key.len() + CHILD) {
            level.put(key, origin, child);
            return Ok(());
        }
        let segment = self.index.top_segment;
        let page_no = match level.page_no {
            Some(page_no) => page_no,
            None => allocator.allocate_page(segment)?,
        };
        let next = allocator.allocate_page(segment)?;
        others.push(level.close(page_no, next));
        let closed_key = core::mem::take(&mut level.first_key);
        let closed_origin = level.first_origin;
        level.open(page_no, next, self.reserve);
        level.put(key, origin, child);
        self.push_pointer(at + 1, &closed_key, closed_origin, page_no, allocator, others)
    }

    /// Ends the index: its last page on each level, and its root, all sealed.
    ///
    /// `autoinc` is the last AUTO_INCREMENT value used, 0 for none; MariaDB keeps it in the root of the
    /// clustered index, and it is ignored elsewhere. Errors: as [`append`](Self::append).
    pub fn finish(mut self, autoinc: u64, allocator: &mut Allocator) -> Result<Vec<FinishedPage>> {
        assert!(!self.is_broken, "an append before has failed");
        let mut pages = Vec::new();
        let Some(held) = self.held.take() else {
            let head = PageHead::new(self.index.space_id, self.index.id, 0, 0);
            let mut page = Box::new([0; PAGE_SIZE]);
            PageFill::open(&mut page, &head, 0).close(&mut page);
            return Ok(self.seal_all(vec![self.root(page, autoinc)]));
        };
        let Place::Numbered(page_no) = held.place else {
            return Ok(self.seal_all(vec![self.root(held.page, autoinc)]));
        };
        pages.push(FinishedPage {
            page_no: PageNo(page_no),
            bytes: held.page,
            prev: held.prev,
            next: FIL_NULL,
        });
        let mut at = 0;
        // Closing the last page of a level may begin the level above it.
        while let Some(Level { page_no: Some(page_no), .. }) = self.levels.get(at) {
            let page_no = *page_no;
            let level = &mut self.levels[at];
            pages.push(level.close(page_no, FIL_NULL));
            let (key, origin) = (core::mem::take(&mut level.first_key), level.first_origin);
            at += 1;
            self.push_pointer(at, &key, origin, page_no, allocator, &mut pages)?;
        }
        let mut top = self.levels.swap_remove(at);
        top.fill.close(&mut top.page);
        pages.push(self.root(top.page, autoinc));
        Ok(self.seal_all(pages))
    }

    fn seal_all(&self, mut pages: Vec<FinishedPage>) -> Vec<FinishedPage> {
        for page in &mut pages {
            page.seal(self.index.format);
        }
        pages
    }

    /// Makes the page that is alone on its level the root.
    fn root(&self, mut bytes: Box<PageBytes>, autoinc: u64) -> FinishedPage {
        let mut header: PageHeader = read_at(&bytes, PAGE_HEADER);
        header.leaf_segment = self.index.leaf_header;
        header.top_segment = self.index.top_header;
        if self.index.is_clustered && self.index.format.has_counter_in_root() {
            header.max_trx_id_or_autoinc.set(autoinc);
        }
        write_at(&mut bytes, PAGE_HEADER, &header);
        let page_no = PageNo(self.index.root);
        FinishedPage { page_no, bytes, prev: FIL_NULL, next: FIL_NULL }
    }

    /// Levels so far, the leaves included; 0 without a record. The root is on the topmost.
    pub fn levels(&self) -> usize {
        self.levels.len() + usize::from(self.held.is_some())
    }
}

impl Level {
    /// A level whose first page is open.
    fn new(head: PageHead, reserve: usize) -> Level {
        let mut page = Box::new([0; PAGE_SIZE]);
        let fill = PageFill::open(&mut page, &head, reserve);
        let first_key = Vec::new();
        Level { head, page, fill, page_no: None, prev: FIL_NULL, first_key, first_origin: 0 }
    }

    /// Puts a node pointer that fits.
    fn put(&mut self, key: &[u8], origin: usize, child: u32) {
        let is_first = self.fill.records() == 0;
        if is_first {
            self.first_key.clear();
            self.first_key.extend_from_slice(key);
            self.first_origin = origin;
        }
        let is_leftmost = is_first && self.prev == FIL_NULL;
        let info = if is_leftmost { MIN_RECORD } else { 0 };
        self.fill.put_pointer(&mut self.page, key, origin, child, info);
    }

    /// Ends the open page, which is followed by page `next`.
    fn close(&mut self, page_no: u32, next: u32) -> FinishedPage {
        self.fill.close(&mut self.page);
        let bytes = core::mem::replace(&mut self.page, Box::new([0; PAGE_SIZE]));
        FinishedPage { page_no: PageNo(page_no), bytes, prev: self.prev, next }
    }

    /// Opens the page after `prev`.
    fn open(&mut self, prev: u32, page_no: u32, reserve: usize) {
        self.prev = prev;
        self.page_no = Some(page_no);
        self.fill = PageFill::open(&mut self.page, &self.head, reserve);
    }
}

impl FinishedPage {
    fn seal(&mut self, format: SpaceFormat) {
        link_and_seal(format, &mut self.bytes, self.page_no.0, self.prev, self.next);
    }
}

impl<'b> Appended<'b> {
    /// Numbers, links and checksums every page.
    pub fn seal(mut self) -> Sealed<'b> {
        let mut numbers = self.runs.iter().cloned().flatten().peekable();
        let mut prev = self.prev;
        for page in 0..self.leaf_pages() {
            let page_no = numbers.next().unwrap_or(FIL_NULL);
            let next = numbers.peek().copied().unwrap_or(self.next);
            link_and_seal(self.format, self.batch.page_mut(page), page_no, prev, next);
            prev = page_no;
        }
        for page in &mut self.others {
            page.seal(self.format);
        }
        Sealed { pages: self }
    }

    /// Pages to write.
    pub fn pages(&self) -> usize {
        self.leaf_pages() + self.others.len()
    }

    fn leaf_pages(&self) -> usize {
        self.runs.iter().map(ExactSizeIterator::len).sum()
    }
}

impl Sealed<'_> {
    /// Where in the file to write what: runs of leaves as long as possible, then single pages.
    pub fn writes(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let Appended { batch, runs, others, .. } = &self.pages;
        let leaves = runs.iter().scan(0, |done, run| {
            let pages = run.len();
            let bytes = batch.page_bytes(*done, pages);
            *done += pages;
            Some((PageNo(run.start).file_offset(), bytes))
        });
        let others = others.iter().map(|page| (page.page_no.file_offset(), &page.bytes[..]));
        leaves.chain(others)
    }
}

/// The batch is empty again, but for a page that is still being filled.
impl Drop for Sealed<'_> {
    fn drop(&mut self) {
        self.pages.batch.clear_closed();
    }
}
