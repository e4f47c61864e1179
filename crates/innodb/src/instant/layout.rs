//! How the fields of a record lie in a table that was altered instantly.

use crate::ids::PAGE_SIZE;
use crate::page::PageBytes;
use crate::record::{EXTERNAL, FieldSpan, RECORD_HEADER, RecordShape, TWO_BYTES};

/// `REC_STATUS_INSTANT`: a record that says how many fields it has.
pub(super) const INSTANT: u8 = 4;

/// Where the fields of its records are.
#[derive(Clone, Debug)]
pub struct OldLayout {
    /// In the order of a record.
    pub(super) fields: Vec<OldField>,
    /// Fields of a record that does not say how many it has.
    pub(super) core: usize,
    /// Which field each field of a new record is.
    pub(super) places: Vec<usize>,
}

/// A field of an old record.
#[derive(Clone, Debug)]
pub(super) struct OldField {
    /// Bytes of a value, or 0 if they vary.
    pub(super) fixed_len: usize,
    pub(super) nullable: bool,
    /// True if its length may take two bytes.
    pub(super) big: bool,
    pub(super) missing: Missing,
}

/// The value of a field that a record lacks.
#[derive(Clone, Debug)]
pub(super) enum Missing {
    /// Every record has it.
    Never,
    Null,
    Value(Vec<u8>),
}

impl OldLayout {
    /// Shape of the node pointers of an index whose leaf records are of `shape` now.
    pub fn node_shape(&self, shape: &RecordShape) -> RecordShape {
        let nullable = self.fields[..self.core].iter().filter(|field| field.nullable).count();
        RecordShape { null_bytes: nullable.div_ceil(8), ..shape.to_node() }
    }

    /// Finds the fields that the record at `origin` has; false if they leave the page.
    pub(super) fn spans(
        &self,
        page: &PageBytes,
        origin: usize,
        spans: &mut Vec<FieldSpan>,
    ) -> bool {
        self.spans_with(page, origin, None, spans).is_some()
    }

    /// The same, with a field of so many bytes before field `.0`, as metadata has it.
    pub(super) fn spans_with(
        &self,
        page: &PageBytes,
        origin: usize,
        besides: Option<(usize, usize)>,
        spans: &mut Vec<FieldSpan>,
    ) -> Option<()> {
        spans.clear();
        let mut at = origin.checked_sub(RECORD_HEADER)?;
        let mut count = self.core;
        if page.get(at + 2)? & 7 == INSTANT {
            at = at.checked_sub(1)?;
            let mut added = usize::from(page[at]);
            if added & 0x80 != 0 {
                at = at.checked_sub(1)?;
                added = usize::from(page[at]) << 7 | added & 0x7F;
            }
            count = (count + 1 + added).checked_sub(usize::from(besides.is_some()))?;
        }
        let fields = self.fields.get(..count)?;
        let nullable = fields.iter().filter(|field| field.nullable).count();
        let nulls_end = at;
        at = at.checked_sub(nullable.div_ceil(8))?;
        let (mut bit, mut start) = (0, origin);
        for (number, field) in fields.iter().enumerate() {
            if let Some((_, len)) = besides.filter(|(before, _)| *before == number) {
                spans.push(FieldSpan { start, len, is_null: false, is_external: true });
                start += len;
            }
            let is_null = field.nullable && page[nulls_end - 1 - bit / 8] & (1 << (bit % 8)) != 0;
            bit += usize::from(field.nullable);
            let (mut len, mut is_external) = (field.fixed_len, false);
            if is_null {
                len = 0;
            } else if field.fixed_len == 0 {
                at = at.checked_sub(1)?;
                len = usize::from(page[at]);
                if field.big && page[at] & TWO_BYTES != 0 {
                    is_external = page[at] & EXTERNAL != 0;
                    at = at.checked_sub(1)?;
                    len = (len & usize::from(!(TWO_BYTES | EXTERNAL))) << 8 | usize::from(page[at]);
                }
            }
            spans.push(FieldSpan { start, len, is_null, is_external });
            start += len;
            if start > PAGE_SIZE {
                return None;
            }
        }
        Some(())
    }
}
