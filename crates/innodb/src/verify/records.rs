//! The records of one index page.
//!
//! One walk along the chain of records, from infimum to supremum: here the chain itself, heap numbers, kinds and the
//! directory; [`header`] what comes before, [`record`] each record by itself and after the one before it, [`heap`]
//! which bytes are whose. Most pages of a loader need no such walk: [`straight`].

mod header;
mod heap;
mod record;
mod straight;

use crate::ids::{FIL_NULL, PAGE_SIZE};
use crate::index_page::{
    COMPACT_FLAG, DIRECTORY_END, HEAP, INFIMUM, PageHeader, SUPREMUM, index_header, next_record,
};
use crate::page::{PageBytes, fil_header, page_type, u16_at};
use crate::record::{DELETED, FieldSpan, MIN_RECORD, RECORD_HEADER, VERSIONED};
use crate::space_format::SpaceFormat;
use crate::verify::Writer;
use crate::verify::corrupt::{Corrupt, Rule};
use crate::verify::off_page::Reference;
use crate::verify::plan::{Extent, RecordPlan};
use crate::verify::rules::IndexRules;
use header::at;

/// Kinds of records.
mod status {
    pub(super) use crate::record::status::{LEAF, NODE};
    /// Record of a leaf with columns added since (`REC_STATUS_INSTANT`).
    pub(super) const INSTANT: u16 = 4;
}

/// Records a directory slot may own (`PAGE_DIR_SLOT_MAX_N_OWNED`).
const OWNED_MAX: usize = 8;

/// Memory of a worker, reused from page to page.
pub(crate) struct RecordBuffers {
    /// Heap numbers seen: a number has 13 bits.
    heap_numbers: [u64; 8192 / 64],
    /// Bytes of the page that belong to a record.
    bytes: [u64; PAGE_SIZE / 64],
    spans: Vec<FieldSpan>,
    prev_spans: Vec<FieldSpan>,
    /// References to off-page values found so far, on all pages.
    pub references: Vec<Reference>,
}

impl RecordBuffers {
    pub(crate) fn new() -> RecordBuffers {
        RecordBuffers {
            heap_numbers: [0; 128],
            bytes: [0; 256],
            spans: Vec::new(),
            prev_spans: Vec::new(),
            references: Vec::new(),
        }
    }
}

/// The shape of a sound page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    /// Origins of the first and last record, unless the page is empty.
    pub ends: Option<(usize, usize)>,
    /// Checksum of the first key, where records can be read.
    pub first_key: Option<u32>,
    /// Records marked as deleted.
    pub deleted: u16,
}

/// True if an index page has COMPACT or DYNAMIC records.
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
    scratch: &mut RecordBuffers,
) -> Result<Chain, Corrupt> {
    let mut walk = Walk::new(page_no, page, rules, writer, scratch)?;
    let plan = walk.plan;
    let ends = match plan.and_then(|plan| walk.straight(plan)) {
        Some(ends) => Some(ends),
        None => walk.go()?,
    };
    let first_key = match (ends, plan) {
        (Some((first, _)), Some(plan)) => {
            walk.spans_of(plan, first)?;
            Some(rules.order.checksum(page, &walk.scratch.spans))
        }
        _ => None,
    };
    Ok(Chain { ends, first_key, deleted: walk.deleted })
}

struct Walk<'a> {
    page_no: u32,
    page: &'a PageBytes,
    rules: &'a IndexRules,
    writer: Writer,
    plan: Option<&'a RecordPlan>,
    scratch: &'a mut RecordBuffers,
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
        scratch: &'a mut RecordBuffers,
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
        Ok(walk)
    }

    /// Checks record after record; gives the origins of the first and the last, if there is one.
    fn go(&mut self) -> Result<Option<(usize, usize)>, Corrupt> {
        self.scratch.heap_numbers[..self.heap_records.div_ceil(64)].fill(0);
        if self.writer == Writer::Server || self.plan.is_none() {
            self.scratch.bytes.fill(0);
        }
        let mut first = None;
        while let Some(origin) = self.next()? {
            self.check_status(origin, first.is_none())?;
            match self.plan {
                Some(plan) => self.check_record(plan, origin, first.is_none())?,
                None => self.mark_bytes(origin - RECORD_HEADER, origin)?,
            }
            first.get_or_insert(origin);
            self.prev = origin;
        }
        self.end()?;
        self.check_free_list()?;
        Ok(first.map(|first| (first, self.prev)))
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
        let is_altered = self.rules.is_altered && self.is_leaf;
        let is_instant = is_altered && self.rules.format == SpaceFormat::MariaDb;
        if seen != expected && !(is_instant && seen == status::INSTANT) {
            let seen = format!("record has status {seen}");
            let expected = format!("{expected} on this level");
            return Err(self.corrupt(origin - 3, Rule::RecordStatus, seen, expected));
        }
        if is_instant && info & MIN_RECORD != 0 {
            // Describes the columns that were added or dropped; no row.
            self.deleted += 1;
            return Ok(());
        }
        // R-trees have no order and no leftmost record.
        let is_ordered = self.rules.root_type != page_type::RTREE;
        if (info ^ plain) & MIN_RECORD != 0 && is_ordered {
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
        let has_versions = is_altered && self.rules.format == SpaceFormat::MySql;
        let versioned = if has_versions { VERSIONED } else { 0 };
        if info & !(DELETED | MIN_RECORD | versioned) != 0 {
            let seen = format!("record has info bits {info:#04x}");
            let expected = format!("{plain:#04x}");
            return Err(self.corrupt(origin - 5, Rule::RecordStatus, seen, expected));
        }
        // A server that splits a page before a deleted record copies the mark into the node pointer,
        // where it means nothing.
        self.deleted += u16::from(self.is_leaf && info & DELETED != 0);
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
}

/// True if a record is marked as the leftmost node pointer of its level.
pub(crate) fn is_minimum(page: &PageBytes, origin: usize) -> bool {
    page[origin - RECORD_HEADER] & MIN_RECORD != 0
}

/// Byte of the page at which a directory slot starts.
fn slot_offset(slot: usize) -> usize {
    DIRECTORY_END - 2 * (slot + 1)
}
