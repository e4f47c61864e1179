//! Some fields of records, in an order of one's own.
//!
//! ```text
//! record   key | system | a: 4 bytes | b: varies | c: 3 bytes | d: varies
//! place    0   |        | 17         | 21        | 21 + b     | 24 + b
//! ```
//!
//! Where each field would be if those that vary were empty is worked out once. A record without NULLs then
//! costs a byte or two for each field that varies and an addition for each that is wanted. The others take the
//! way through single fields.

use crate::ids::{FIL_NULL, PAGE_SIZE};
use crate::leaves::{LeafRecords, LiveRecord, corrupt};
use crate::page::PageBytes;
use crate::record::{FieldSpan, RECORD_HEADER};
use crate::source::ReadError;
use crate::verify::plan::RecordPlan;

/// Finds the wanted fields of the records of an index.
#[derive(Clone, Debug)]
pub struct FieldFinder {
    plan: RecordPlan,
    wanted: Vec<Place>,
    /// Bytes of the varying fields before each of them, and of all.
    varying: Vec<usize>,
    spans: Vec<FieldSpan>,
    /// All fields of a record with NULLs.
    all: Vec<FieldSpan>,
}

/// Where a field is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its number among the fields of the record.
    field: usize,
    /// Bytes of the fields of fixed length before it.
    start: usize,
    /// Varying fields before it.
    varying: usize,
    /// Its bytes, or 0 if they vary.
    fixed_len: usize,
}

impl FieldFinder {
    /// A finder of the fields of these numbers, which must exist, in records of this kind.
    pub fn new(records: &LeafRecords, wanted: &[usize]) -> FieldFinder {
        let (mut start, mut varying) = (0, 0);
        let mut places = Vec::with_capacity(records.shape().fields.len());
        for (field, shape) in records.shape().fields.iter().enumerate() {
            let fixed_len = shape.fixed_len as usize;
            places.push(Place { field, start, varying, fixed_len });
            start += fixed_len;
            varying += usize::from(fixed_len == 0);
        }
        FieldFinder {
            plan: records.plan().clone(),
            wanted: wanted.iter().map(|field| places[*field]).collect(),
            varying: vec![0; varying + 1],
            spans: vec![FieldSpan::default(); wanted.len()],
            all: Vec::new(),
        }
    }

    /// Finds the wanted fields of a record of `page`, in their order.
    ///
    /// Errors: a record of another page, whose fields are not where it is.
    #[inline]
    pub fn find(
        &mut self,
        page: &PageBytes,
        record: LiveRecord,
    ) -> Result<&[FieldSpan], ReadError> {
        let origin = record.origin_on_page();
        if record.may_have_null || record.has_external {
            self.plan.shape.spans(&page[..], origin, &mut self.all)?;
            self.spans.clear();
            self.spans.extend(self.wanted.iter().map(|place| self.all[place.field]));
            return Ok(&self.spans);
        }
        if self.measure(page, record).is_none() {
            let seen = origin as u64;
            return Err(corrupt(FIL_NULL, origin, "record", seen, "a record of this page"));
        }
        for (place, span) in self.wanted.iter().zip(&mut self.spans) {
            let before = self.varying[place.varying];
            let len = match place.fixed_len {
                0 => self.varying[place.varying + 1] - before,
                len => len,
            };
            let start = origin + place.start + before;
            *span = FieldSpan { start, len, is_null: false, is_external: false };
        }
        Ok(&self.spans)
    }

    /// Adds up what varies in a record without NULLs; none if that is not what is between its ends.
    #[inline]
    fn measure(&mut self, page: &PageBytes, record: LiveRecord) -> Option<()> {
        let origin = record.origin_on_page();
        let mut at = origin.checked_sub(RECORD_HEADER + self.plan.shape.null_bytes)?;
        let mut sum = 0;
        for (field, before) in self.plan.varying.iter().zip(&mut self.varying[1..]) {
            at = at.checked_sub(1)?;
            let first = *page.get(at)?;
            let mut len = usize::from(first);
            if field.big && first & 0x80 != 0 {
                at = at.checked_sub(1)?;
                len = usize::from(first & 0x3f) << 8 | usize::from(page[at]);
            }
            sum += len;
            *before = sum;
        }
        let end = origin + self.plan.fixed_bytes + sum;
        (end == record.end_on_page() && end <= PAGE_SIZE).then_some(())
    }
}
