//! One record: its bounds, its place in the order, its system columns and references.

use core::cmp::Ordering;

use super::{RecordBuffers, Walk, is_minimum};
use crate::ids::PAGE_SIZE;
use crate::index_page::HEAP;
use crate::page::{PageBytes, fil_header, u32_at};
use crate::record::{DELETED, FieldSpan, RECORD_HEADER, TRX_ID_AND_ROLL_PTR};
use crate::verify::Writer;
use crate::verify::corrupt::{Corrupt, Rule};
use crate::verify::off_page::Reference;
use crate::verify::plan::{Extent, RecordPlan};
use crate::verify::rules::IndexRules;

impl Walk<'_> {
    /// Bounds, order, system columns and references of one record.
    #[inline(always)]
    pub(super) fn check_record(
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
    pub(super) fn out_of_bounds(&self, origin: usize, extent: Option<Extent>) -> Corrupt {
        let seen = match extent {
            Some(Extent { start, end, .. }) => {
                format!("record at {origin} spans bytes {start} to {end}")
            }
            None => {
                format!("record at {origin} leaves the page, or has a value longer than its column")
            }
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

    /// True if a record comes before all others whatever its key: a server that inserts below the
    /// leftmost key of a tree leaves the leftmost node pointers as they are.
    fn is_lowest(&self, origin: usize) -> bool {
        !self.is_leaf && self.writer == Writer::Server && is_minimum(self.page, origin)
    }

    fn is_deleted(&self, origin: usize) -> bool {
        self.page[origin - 5] & DELETED != 0
    }

    /// Finds the key fields of a record; leaves them in `scratch.spans`.
    pub(super) fn spans_of(&mut self, plan: &RecordPlan, origin: usize) -> Result<(), Corrupt> {
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
            let (format, space_id) = (self.rules.format, fil_header(self.page).space_id.get());
            let (leaf, page) = (self.page_no, self.page);
            let reference = Reference::read(leaf, page, *span, format, space_id, self.writer)?;
            self.scratch.references.extend(reference);
        }
        Ok(())
    }
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

impl RecordBuffers {
    /// Compares a record with one of another page that must come after it; gives the rule broken and in which way.
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
