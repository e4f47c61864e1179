//! The records of one index page: header, chain, heap, directory, order.

use core::cmp::Ordering;

use crate::ids::{FIL_NULL, PAGE_SIZE};
use crate::index_page::{COMPACT_FLAG, DIRECTORY_END, HEAP, INFIMUM, PageHeader, SUPREMUM};
use crate::page::PageBytes;
use crate::reader::{fil_header, index_header, next_record, u16_at, u32_at};
use crate::record::{DELETED, FieldSpan, MIN_RECORD, RECORD_HEADER, TRX_ID_AND_ROLL_PTR, status};
use crate::verify::corrupt::{Corrupt, Rule};
use crate::verify::off_page::Reference;
use crate::verify::plan::{Extent, RecordPlan};
use crate::verify::{IndexRules, Writer};

/// Records a directory slot may own (`PAGE_DIR_SLOT_MAX_N_OWNED`).
const OWNED_MAX: usize = 8;
/// Levels above the leaves a tree may have (`BTR_MAX_NODE_LEVEL`).
const LEVEL_MAX: u16 = 50;

/// Offsets inside an index page, for messages.
mod at {
    pub(super) const SLOTS: usize = 38;
    pub(super) const HEAP_TOP: usize = 40;
    pub(super) const HEAP_RECORDS: usize = 42;
    pub(super) const FREE: usize = 44;
    pub(super) const GARBAGE: usize = 46;
    pub(super) const RECORDS: usize = 54;
    pub(super) const LEVEL: usize = 64;
    pub(super) const SEGMENTS: usize = 74;
    pub(super) const INFIMUM_START: usize = 94;
    pub(super) const SUPREMUM_START: usize = 107;
}

/// Memory of a worker, reused from page to page.
pub(crate) struct Scratch {
    /// Heap numbers seen: a number has 13 bits.
    heap_numbers: [u64; 8192 / 64],
    /// Bytes of the page that belong to a record.
    bytes: [u64; PAGE_SIZE / 64],
    spans: Vec<FieldSpan>,
    prev_spans: Vec<FieldSpan>,
    /// References to off-page values found so far, on all pages.
    pub references: Vec<Reference>,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch {
            heap_numbers: [0; 128],
            bytes: [0; 256],
            spans: Vec::new(),
            prev_spans: Vec::new(),
            references: Vec::new(),
        }
    }
}

/// What a sound page looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    /// Origins of the first and last record, unless the page is empty.
    pub ends: Option<(usize, usize)>,
    /// Checksum of the first key, where records can be read.
    pub first_key: Option<u32>,
    /// Records marked as deleted.
    pub deleted: u16,
}

/// Whether an index page has COMPACT or DYNAMIC records.
pub(crate) fn is_compact(page: &PageBytes) -> bool {
    index_header(page).heap_records.get() & COMPACT_FLAG != 0
}

/// Bytes of an index page that a record could use, deleted records included.
pub(crate) fn free_bytes(header: &PageHeader) -> u16 {
    let end = (DIRECTORY_END as u16).saturating_sub(header.directory_slots.get().wrapping_mul(2));
    end.saturating_sub(header.heap_top.get()).saturating_add(header.garbage.get())
}

/// Checks every record of an index page of the new format.
pub(crate) fn check(
    page_no: u32,
    page: &PageBytes,
    rules: &IndexRules,
    writer: Writer,
    scratch: &mut Scratch,
) -> Result<Chain, Corrupt> {
    let mut walk = Walk::new(page_no, page, rules, writer, scratch)?;
    let plan = walk.plan;
    let mut first = None;
    while let Some(origin) = walk.next()? {
        walk.check_status(origin, first.is_none())?;
        match plan {
            Some(plan) => walk.check_record(plan, origin, first.is_none())?,
            None => walk.mark_bytes(origin - RECORD_HEADER, origin)?,
        }
        first.get_or_insert(origin);
        walk.prev = origin;
    }
    walk.end()?;
    walk.check_free_list()?;
    let first_key = match (first, plan) {
        (Some(origin), Some(plan)) => {
            walk.spans_of(plan, origin)?;
            Some(rules.order.checksum(page, &walk.scratch.spans))
        }
        _ => None,
    };
    let ends = first.map(|first| (first, walk.prev));
    Ok(Chain { ends, first_key, deleted: walk.deleted })
}

struct Walk<'a> {
    page_no: u32,
    page: &'a PageBytes,
    rules: &'a IndexRules,
    writer: Writer,
    plan: Option<&'a RecordPlan>,
    scratch: &'a mut Scratch,
    is_leaf: bool,
    is_leftmost: bool,
    heap_top: usize,
    heap_records: usize,
    records: usize,
    slots: usize,
    /// Record the walk stands on; the infimum at first.
    prev: usize,
    prev_extent: Extent,
    /// Record whose key fields `scratch.prev_spans` has.
    prev_spans_of: usize,
    /// Records passed, and records passed since the last owner.
    passed: usize,
    unowned: usize,
    /// Slot of the last owner.
    slot: usize,
    deleted: u16,
}

impl<'a> Walk<'a> {
    fn new(
        page_no: u32,
        page: &'a PageBytes,
        rules: &'a IndexRules,
        writer: Writer,
        scratch: &'a mut Scratch,
    ) -> Result<Walk<'a>, Corrupt> {
        let header = index_header(page);
        let is_leaf = header.level.get() == 0;
        let walk = Walk {
            page_no,
            page,
            rules,
            writer,
            plan: if is_leaf { rules.leaf.as_ref() } else { rules.node.as_ref() },
            scratch,
            is_leaf,
            is_leftmost: fil_header(page).prev.get() == FIL_NULL,
            heap_top: header.heap_top.get().into(),
            heap_records: (header.heap_records.get() & !COMPACT_FLAG).into(),
            records: header.records.get().into(),
            slots: header.directory_slots.get().into(),
            prev: INFIMUM,
            prev_extent: Extent { start: HEAP, end: HEAP, has_external: false, has_null: false },
            prev_spans_of: 0,
            passed: 0,
            unowned: 0,
            slot: 0,
            deleted: 0,
        };
        walk.check_header(header)?;
        walk.check_system_records()?;
        walk.scratch.heap_numbers[..walk.heap_records.div_ceil(64)].fill(0);
        if writer == Writer::Server || walk.plan.is_none() {
            walk.scratch.bytes.fill(0);
        }
        Ok(walk)
    }

    #[cold]
    fn corrupt(
        &self,
        offset: usize,
        rule: Rule,
        seen: impl Into<String>,
        expected: impl Into<String>,
    ) -> Corrupt {
        Corrupt::at(self.page_no, offset, rule, seen, expected)
    }

    fn check_header(&self, header: &PageHeader) -> Result<(), Corrupt> {
        let bad = |offset, seen: String, expected: &str| {
            Err(self.corrupt(offset, Rule::PageHeader, seen, expected))
        };
        let directory = DIRECTORY_END.saturating_sub(2 * self.slots);
        if self.slots < 2 || directory < HEAP {
            let seen = format!("PAGE_N_DIR_SLOTS is {}", self.slots);
            return bad(at::SLOTS, seen, "2 or more, as many as fit");
        }
        if self.heap_top < HEAP || self.heap_top > directory {
            let expected = format!("{HEAP} to {directory}, where the directory starts");
            return bad(at::HEAP_TOP, format!("PAGE_HEAP_TOP is {}", self.heap_top), &expected);
        }
        if self.heap_records < 2 || self.heap_records > 2 + (self.heap_top - HEAP) / RECORD_HEADER {
            let seen = format!("PAGE_N_HEAP counts {} records", self.heap_records);
            return bad(at::HEAP_RECORDS, seen, "2 or more, as many as fit the heap");
        }
        let level = header.level.get();
        if level > LEVEL_MAX {
            return bad(at::LEVEL, format!("PAGE_LEVEL is {level}"), "50 or less");
        }
        let in_heap = self.heap_records - 2;
        let built = self.writer == Writer::Loader;
        if self.records > in_heap || built && self.records != in_heap {
            let expected = format!("{in_heap}, the records of the heap");
            return bad(at::RECORDS, format!("PAGE_N_RECS is {}", self.records), &expected);
        }
        if self.records == 0 && self.page_no != self.rules.root {
            return bad(at::RECORDS, "page has no record".into(), "one or more outside the root");
        }
        if built && (header.free.get(), header.garbage.get()) != (0, 0) {
            let (free, garbage) = (header.free.get(), header.garbage.get());
            let seen = format!("PAGE_FREE is {free} and PAGE_GARBAGE {garbage}");
            return bad(at::FREE, seen, "0 and 0 in a page built in order");
        }
        let segments = &self.page[at::SEGMENTS..at::INFIMUM_START];
        if built && self.page_no != self.rules.root && segments.iter().any(|byte| *byte != 0) {
            return bad(at::SEGMENTS, "segment headers".into(), "zeros outside the root");
        }
        Ok(())
    }

    fn check_system_records(&self) -> Result<(), Corrupt> {
        let infimum = &self.page[at::INFIMUM_START..at::SUPREMUM_START];
        if infimum[..3] != [0x01, 0x00, 0x02] || infimum[5..] != *b"infimum\0" {
            let seen = format!("infimum is {infimum:02x?}");
            let expected = "01 00 02, the next record, \"infimum\" and 00";
            return Err(self.corrupt(at::INFIMUM_START, Rule::SystemRecord, seen, expected));
        }
        let supremum = &self.page[at::SUPREMUM_START..HEAP];
        if supremum[0] & 0xF0 != 0 || supremum[1..] != *b"\0\x0B\0\0supremum" {
            let seen = format!("supremum is {supremum:02x?}");
            let expected = "the owned count, 00 0b 00 00 and \"supremum\"";
            return Err(self.corrupt(at::SUPREMUM_START, Rule::SystemRecord, seen, expected));
        }
        for (slot, origin) in [(0, INFIMUM), (self.slots - 1, SUPREMUM)] {
            if self.slot_origin(slot) != origin {
                let seen = format!("directory slot {slot} is {}", self.slot_origin(slot));
                return Err(self.corrupt(
                    slot_offset(slot),
                    Rule::Directory,
                    seen,
                    origin.to_string(),
                ));
            }
        }
        Ok(())
    }

    fn slot_origin(&self, slot: usize) -> usize {
        u16_at(self.page, slot_offset(slot)).into()
    }

    /// The next record of the chain; `None` at the supremum.
    #[inline(always)]
    fn next(&mut self) -> Result<Option<usize>, Corrupt> {
        let origin = next_record(self.page, self.prev);
        if origin == SUPREMUM {
            return Ok(None);
        }
        if origin < HEAP + RECORD_HEADER || origin > self.heap_top {
            return Err(self.out_of_heap(origin));
        }
        self.passed += 1;
        if self.passed > self.records {
            return Err(self.wrong_count());
        }
        let heap_number = usize::from(u16_at(self.page, origin - 4) >> 3);
        self.take_heap_number(heap_number, origin)?;
        self.unowned += 1;
        let owned = self.page[origin - 5] & 0x0F;
        if owned != 0 {
            self.check_owner(origin, owned.into())?;
        }
        Ok(Some(origin))
    }

    #[cold]
    fn out_of_heap(&self, origin: usize) -> Corrupt {
        let seen = format!("record at {} has next record {origin}", self.prev);
        let expected = format!("{SUPREMUM} or a record between {HEAP} and {}", self.heap_top);
        self.corrupt(self.prev - 2, Rule::RecordChain, seen, expected)
    }

    #[cold]
    fn wrong_count(&self) -> Corrupt {
        let more = if self.passed > self.records { "or more" } else { "in all" };
        let seen = format!("the chain of records has {} {more}", self.passed);
        let expected = format!("PAGE_N_RECS, {}", self.records);
        self.corrupt(self.prev, Rule::RecordChain, seen, expected)
    }

    #[inline(always)]
    fn take_heap_number(&mut self, number: usize, origin: usize) -> Result<(), Corrupt> {
        let in_range = number >= 2 && number < self.heap_records;
        let word = &mut self.scratch.heap_numbers[number / 64];
        let bit = 1 << (number % 64);
        if !in_range || *word & bit != 0 {
            let seen = format!("record has heap number {number}");
            let expected = format!("one of 2 to {}, each once", self.heap_records - 1);
            return Err(self.corrupt(origin - 4, Rule::HeapNumber, seen, expected));
        }
        *word |= bit;
        Ok(())
    }

    fn check_owner(&mut self, origin: usize, owned: usize) -> Result<(), Corrupt> {
        self.slot += 1;
        if self.slot + 1 >= self.slots {
            let seen = format!("record owns {owned} records");
            let expected = "0, as every directory slot has its record already";
            return Err(self.corrupt(origin - 5, Rule::Directory, seen, expected));
        }
        if self.slot_origin(self.slot) != origin {
            let seen = format!("directory slot {} is {}", self.slot, self.slot_origin(self.slot));
            let expected = format!("{origin}, the next record that owns others");
            return Err(self.corrupt(slot_offset(self.slot), Rule::Directory, seen, expected));
        }
        if owned != self.unowned || owned > OWNED_MAX {
            let seen = format!("record owns {owned} records");
            let expected = format!("{}, 8 at most", self.unowned);
            return Err(self.corrupt(origin - 5, Rule::Directory, seen, expected));
        }
        self.unowned = 0;
        Ok(())
    }

    #[inline(always)]
    fn check_status(&mut self, origin: usize, is_first: bool) -> Result<(), Corrupt> {
        let expected = if self.is_leaf { status::LEAF } else { status::NODE };
        let seen = u16_at(self.page, origin - 4) & 7;
        let info = self.page[origin - 5] & 0xF0;
        let marked = !self.is_leaf && self.is_leftmost && is_first;
        let plain = if marked { MIN_RECORD } else { 0 };
        if seen == expected && info == plain {
            return Ok(());
        }
        self.judge_status(origin, seen, expected, info, plain)
    }

    #[cold]
    fn judge_status(
        &mut self,
        origin: usize,
        seen: u16,
        expected: u16,
        info: u8,
        plain: u8,
    ) -> Result<(), Corrupt> {
        if seen != expected {
            let seen = format!("record has status {seen}");
            let expected = format!("{expected} on this level");
            return Err(self.corrupt(origin - 3, Rule::RecordStatus, seen, expected));
        }
        if (info ^ plain) & MIN_RECORD != 0 {
            let (seen, expected) = match plain {
                0 => ("record is marked as the minimum of its level", "no mark"),
                _ => ("first record is not marked as the minimum of its level", "the mark 0x10"),
            };
            return Err(self.corrupt(origin - 5, Rule::MinRecord, seen, expected));
        }
        if info & DELETED != 0 && self.writer == Writer::Loader {
            let (seen, expected) = ("record is marked as deleted", "no such record");
            return Err(self.corrupt(origin - 5, Rule::DeleteMark, seen, expected));
        }
        if info & !DELETED != plain {
            let seen = format!("record has info bits {info:#04x}");
            let expected = format!("{plain:#04x}");
            return Err(self.corrupt(origin - 5, Rule::RecordStatus, seen, expected));
        }
        // A server that splits a page before a deleted record copies the mark into the node pointer,
        // where it means nothing.
        self.deleted += u16::from(self.is_leaf);
        Ok(())
    }

    /// Bounds, order, system columns and references of one record.
    #[inline(always)]
    fn check_record(
        &mut self,
        plan: &RecordPlan,
        origin: usize,
        is_first: bool,
    ) -> Result<(), Corrupt> {
        let extent = match plan.extent(self.page, origin) {
            Some(extent) if extent.start >= HEAP && extent.end <= self.heap_top => extent,
            extent => return Err(self.out_of_bounds(origin, extent)),
        };
        match self.writer {
            Writer::Loader if extent.start != self.prev_extent.end => {
                return Err(self.not_adjacent(origin, extent));
            }
            Writer::Loader => {}
            Writer::Server => self.mark_bytes(extent.start, extent.end)?,
        }
        if extent.has_null && plan.has_stray_null(self.page, origin) {
            let seen = "record has a NULL bit that no field has";
            let at = origin - RECORD_HEADER - 1;
            return Err(self.corrupt(at, Rule::RecordStatus, seen, "0 in unused bits"));
        }
        if !is_first && !self.is_lowest(self.prev) {
            self.check_order(plan, origin, extent)?;
        }
        if self.writer == Writer::Loader && plan.has_system_columns {
            self.check_system_columns(plan, origin)?;
        }
        if extent.has_external {
            self.check_references(plan, origin)?;
        }
        self.prev_extent = extent;
        Ok(())
    }

    #[cold]
    fn out_of_bounds(&self, origin: usize, extent: Option<Extent>) -> Corrupt {
        let seen = match extent {
            Some(Extent { start, end, .. }) => {
                format!("record at {origin} spans bytes {start} to {end}")
            }
            None => format!("record at {origin} leaves the page"),
        };
        let expected = format!("inside the heap, {HEAP} to {}", self.heap_top);
        self.corrupt(origin, Rule::RecordBounds, seen, expected)
    }

    #[cold]
    fn not_adjacent(&self, origin: usize, extent: Extent) -> Corrupt {
        let seen = format!("record at {origin} starts at byte {}", extent.start);
        let expected = format!("{}, where the record before it ends", self.prev_extent.end);
        self.corrupt(extent.start, Rule::RecordBounds, seen, expected)
    }

    /// Claims bytes for a record of a page whose records need not lie in order.
    fn mark_bytes(&mut self, start: usize, end: usize) -> Result<(), Corrupt> {
        let mut at = start;
        while at < end {
            let in_word = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - in_word)) << (at % 64);
            let word = &mut self.scratch.bytes[at / 64];
            if *word & mask != 0 {
                let seen = format!("record at bytes {start} to {end} lies on another record");
                return Err(self.corrupt(start, Rule::RecordBounds, seen, "bytes of its own"));
            }
            *word |= mask;
            at += in_word;
        }
        Ok(())
    }

    /// The record must come after the one before it.
    #[inline(always)]
    fn check_order(
        &mut self,
        plan: &RecordPlan,
        origin: usize,
        extent: Extent,
    ) -> Result<(), Corrupt> {
        let (ordering, same_unique_key) = match plan.fixed_key {
            Some(len) if !extent.has_null && !self.prev_extent.has_null => {
                let ordering = compare_fixed(self.page, self.prev, origin, len);
                let same = plan.unique_bytes.is_some_and(|unique| {
                    compare_fixed(self.page, self.prev, origin, unique).is_eq()
                });
                (Some(ordering), same)
            }
            _ => {
                self.spans_of(plan, origin)?;
                if self.prev_spans_of != self.prev {
                    plan.key_spans(self.page, self.prev, &mut self.scratch.prev_spans);
                }
                let (a, b) = (&mut self.scratch.prev_spans, &mut self.scratch.spans);
                let comparison = self.rules.order.compare(self.page, a, self.page, b);
                core::mem::swap(a, b);
                self.prev_spans_of = origin;
                let equal_fields = comparison.equal_fields;
                let same = self.rules.unique_fields.is_some_and(|unique| equal_fields >= unique);
                (comparison.ordering, same)
            }
        };
        if matches!(ordering, Some(Ordering::Greater | Ordering::Equal)) {
            return Err(self.out_of_order(origin, ordering));
        }
        if same_unique_key && !self.is_deleted(origin) && !self.is_deleted(self.prev) {
            let seen = format!("records at {} and {origin} have the same unique key", self.prev);
            return Err(self.corrupt(origin, Rule::Unique, seen, "each key once"));
        }
        Ok(())
    }

    #[cold]
    fn out_of_order(&self, origin: usize, ordering: Option<Ordering>) -> Corrupt {
        let seen = match ordering {
            Some(Ordering::Equal) => {
                format!("records at {} and {origin} have the same key", self.prev)
            }
            _ => format!("record at {origin} is less than the record before it, at {}", self.prev),
        };
        self.corrupt(origin, Rule::Order, seen, "records that ascend by key")
    }

    /// Whether a record comes before all others whatever its key says: a server that inserts
    /// below the leftmost key of a tree leaves the leftmost node pointers as they are.
    fn is_lowest(&self, origin: usize) -> bool {
        !self.is_leaf && self.writer == Writer::Server && is_minimum(self.page, origin)
    }

    fn is_deleted(&self, origin: usize) -> bool {
        self.page[origin - 5] & DELETED != 0
    }

    /// Finds the key fields of a record; leaves them in `scratch.spans`.
    fn spans_of(&mut self, plan: &RecordPlan, origin: usize) -> Result<(), Corrupt> {
        if plan.key_spans(self.page, origin, &mut self.scratch.spans) {
            return Ok(());
        }
        Err(self.out_of_bounds(origin, None))
    }

    #[inline(always)]
    fn check_system_columns(&mut self, plan: &RecordPlan, origin: usize) -> Result<(), Corrupt> {
        let start = match plan.key_bytes {
            Some(bytes) => origin + bytes,
            None => {
                self.spans_of(plan, origin)?;
                self.scratch.spans.last().map_or(origin, |span| span.start + span.len)
            }
        };
        let seen = self.page.get(start..start + TRX_ID_AND_ROLL_PTR.len());
        if seen == Some(&TRX_ID_AND_ROLL_PTR[..]) {
            return Ok(());
        }
        Err(self.corrupt(
            start,
            Rule::SystemColumn,
            format!("DB_TRX_ID and DB_ROLL_PTR are {:02x?}", seen.unwrap_or_default()),
            "00 00 00 00 00 00 80 00 00 00 00 00 00, visible to every transaction",
        ))
    }

    #[cold]
    fn check_references(&mut self, plan: &RecordPlan, origin: usize) -> Result<(), Corrupt> {
        let mut spans = core::mem::take(&mut self.scratch.spans);
        let parsed = plan.shape.spans(self.page, origin, &mut spans);
        let result = match parsed {
            Ok(_) => self.collect_references(plan, &spans),
            Err(_) => Err(self.out_of_bounds(origin, None)),
        };
        self.scratch.spans = spans;
        result
    }

    fn collect_references(
        &mut self,
        plan: &RecordPlan,
        spans: &[FieldSpan],
    ) -> Result<(), Corrupt> {
        let may_be_external = self.is_leaf && self.rules.is_clustered;
        for (index, span) in spans.iter().enumerate().filter(|(_, span)| span.is_external) {
            if !may_be_external || index < plan.shape.key_fields {
                let seen = "a key field is stored off page";
                let expected = "off-page values in the clustered leaves only";
                return Err(self.corrupt(span.start, Rule::Reference, seen, expected));
            }
            let space_id = fil_header(self.page).space_id.get();
            let reference = Reference::read(self.page_no, self.page, *span, space_id, self.writer)?;
            self.scratch.references.extend(reference);
        }
        Ok(())
    }

    /// At the supremum: everything counted must agree.
    fn end(&self) -> Result<(), Corrupt> {
        if self.passed != self.records {
            return Err(self.wrong_count());
        }
        if self.slot + 2 != self.slots {
            let seen = format!("PAGE_N_DIR_SLOTS is {}", self.slots);
            let expected = format!("{}, two more than records that own others", self.slot + 2);
            return Err(self.corrupt(at::SLOTS, Rule::Directory, seen, expected));
        }
        let owned = usize::from(self.page[at::SUPREMUM_START] & 0x0F);
        if owned != self.unowned + 1 || owned > OWNED_MAX {
            let seen = format!("the supremum owns {owned} records");
            let expected = format!("{}, 8 at most", self.unowned + 1);
            return Err(self.corrupt(at::SUPREMUM_START, Rule::Directory, seen, expected));
        }
        let end = self.prev_extent.end;
        if self.writer == Writer::Loader && self.plan.is_some() && end != self.heap_top {
            let seen = format!("PAGE_HEAP_TOP is {}", self.heap_top);
            let expected = format!("{end}, where the last record ends");
            return Err(self.corrupt(at::HEAP_TOP, Rule::PageHeader, seen, expected));
        }
        Ok(())
    }

    /// Deleted and purged records: with the others they make up the heap.
    fn check_free_list(&mut self) -> Result<(), Corrupt> {
        let header = index_header(self.page);
        let mut origin = usize::from(header.free.get());
        let mut link = at::FREE;
        let mut freed = 0;
        let mut bytes = 0;
        while origin != 0 {
            if origin < HEAP + RECORD_HEADER || origin > self.heap_top {
                let seen = format!("list of deleted records goes to {origin}");
                let expected = format!("a record between {HEAP} and {}", self.heap_top);
                return Err(self.corrupt(link, Rule::FreeList, seen, expected));
            }
            let number = usize::from(u16_at(self.page, origin - 4) >> 3);
            self.take_heap_number(number, origin)?;
            bytes += self.claim_freed(origin)?;
            freed += 1;
            link = origin - 2;
            let next = u16_at(self.page, link);
            origin = if next == 0 { 0 } else { next_record(self.page, origin) };
        }
        if self.records + freed + 2 != self.heap_records {
            let seen = format!("PAGE_N_HEAP counts {} records", self.heap_records);
            let expected = format!("{} records, {freed} deleted, and 2", self.records);
            return Err(self.corrupt(at::HEAP_RECORDS, Rule::FreeList, seen, expected));
        }
        let garbage = usize::from(header.garbage.get());
        if bytes > garbage || garbage > self.heap_top - HEAP {
            let seen = format!("PAGE_GARBAGE is {garbage}");
            let expected = format!("{bytes} or more, the bytes of deleted records");
            return Err(self.corrupt(at::GARBAGE, Rule::FreeList, seen, expected));
        }
        Ok(())
    }

    /// Claims the bytes of a deleted record and counts them.
    fn claim_freed(&mut self, origin: usize) -> Result<usize, Corrupt> {
        let (start, end) = match self.plan {
            None => (origin - RECORD_HEADER, origin),
            Some(plan) => match plan.extent(self.page, origin) {
                Some(Extent { start, end, .. }) if start >= HEAP && end <= self.heap_top => {
                    (start, end)
                }
                extent => return Err(self.out_of_bounds(origin, extent)),
            },
        };
        self.mark_bytes(start, end)?;
        Ok(end - start)
    }
}

/// Whether a record is marked as the leftmost node pointer of its level.
pub(crate) fn is_minimum(page: &PageBytes, origin: usize) -> bool {
    page[origin - RECORD_HEADER] & MIN_RECORD != 0
}

/// Byte of the page at which a directory slot starts.
fn slot_offset(slot: usize) -> usize {
    DIRECTORY_END - 2 * (slot + 1)
}

/// Compares the first `len` bytes of two records.
#[inline(always)]
fn compare_fixed(page: &PageBytes, a: usize, b: usize, len: usize) -> Ordering {
    // Most keys are one or two integers: compare them as such. A record is never so close to the
    // page end that 8 bytes leave it, as the directory and the trailer follow.
    if (1..=8).contains(&len) && a.max(b) + 8 <= PAGE_SIZE {
        let key = |origin| {
            let high = u64::from(u32_at(page, origin));
            let low = u64::from(u32_at(page, origin + 4));
            (high << 32 | low) >> (64 - 8 * len)
        };
        return key(a).cmp(&key(b));
    }
    page[a..a + len].cmp(&page[b..b + len])
}

impl Scratch {
    /// Compares a record with one of another page that must come after it; gives the rule broken
    /// and in which way.
    pub(crate) fn compare_across(
        &mut self,
        rules: &IndexRules,
        plan: &RecordPlan,
        writer: Writer,
        (a_page, a): (&PageBytes, usize),
        (b_page, b): (&PageBytes, usize),
    ) -> Option<(Rule, &'static str)> {
        let readable = plan.key_spans(a_page, a, &mut self.prev_spans)
            && plan.key_spans(b_page, b, &mut self.spans);
        if !readable || writer == Writer::Server && is_minimum(a_page, a) {
            // A minimum comes before all, whatever its key. The other page is told of when it is checked itself.
            return None;
        }
        let found = rules.order.compare(a_page, &self.prev_spans, b_page, &self.spans);
        let is_deleted = (a_page[a - 5] | b_page[b - 5]) & DELETED != 0;
        let is_leaf = !plan.shape.is_node;
        match found.ordering? {
            Ordering::Greater => Some((Rule::Order, "is greater than")),
            Ordering::Equal => Some((Rule::Order, "has the same key as")),
            Ordering::Less => {
                let same = rules.unique_fields.is_some_and(|unique| found.equal_fields >= unique);
                (same && is_leaf && !is_deleted)
                    .then_some((Rule::Unique, "has the same unique key as"))
            }
        }
    }
}
