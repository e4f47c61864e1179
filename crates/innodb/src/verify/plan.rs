//! Reading records fast: what a [`RecordShape`] says, worked out once for each index.
//!
//! A record costs: its null bytes tested together, a byte or two for each field of varying length, and, where the key
//! is fixed bytes, one comparison of two integers with the record before. Only records with NULLs take the way through
//! single fields.

use crate::ids::PAGE_SIZE;
use crate::order::{FieldOrder, KeyOrder};
use crate::page::PageBytes;
use crate::record::{CHILD, FieldSpan, RECORD_HEADER, RecordShape, SystemColumn};

/// Where a record starts and ends on its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// First byte of its lengths.
    pub start: usize,
    /// Byte after its data.
    pub end: usize,
    /// True if a field goes on off page.
    pub has_external: bool,
    /// True if a field is NULL.
    pub has_null: bool,
}

/// How to read the records of one shape.
#[derive(Clone, Debug)]
pub(crate) struct RecordPlan {
    pub shape: RecordShape,
    /// Data bytes of a record without NULL and with every varying field empty.
    pub fixed_bytes: usize,
    /// Fields of varying length, in order.
    pub varying: Vec<Varying>,
    /// Fixed fields that can be NULL.
    nullable: Vec<(NullBit, usize)>,
    /// Bytes of the key, if it is a run of bytes from the origin that orders by memcmp in every record without NULL.
    pub fixed_key: Option<usize>,
    /// Bytes of the key, if all its fields are of fixed length and never NULL.
    pub key_bytes: Option<usize>,
    /// Bytes of the part of `fixed_key` that is unique, if that is not all of it.
    pub unique_bytes: Option<usize>,
    /// True if DB_TRX_ID and DB_ROLL_PTR follow the key: a clustered leaf.
    pub has_system_columns: bool,
    /// Fields of the key, in order.
    key: Vec<KeyPart>,
    /// Bits of each null byte, backwards from the header, that no field has.
    unused_null_bits: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct KeyPart {
    /// Bytes, or 0 if they vary.
    fixed_len: usize,
    big: bool,
    null: NullBit,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Varying {
    /// True if its length may take two bytes.
    pub big: bool,
    /// Most bytes: the server copies a longer value over others in its memory.
    len_max: u16,
    null: NullBit,
}

/// A bit of the null bitmap; for a field that cannot be NULL a mask of 0.
#[derive(Clone, Copy, Debug)]
struct NullBit {
    /// Byte, counted backwards from the header.
    byte: usize,
    mask: u8,
}

impl RecordPlan {
    /// `unique_fields` says how many leading fields of a secondary index are unique.
    pub(crate) fn new(
        shape: RecordShape,
        order: &KeyOrder,
        unique_fields: Option<usize>,
    ) -> RecordPlan {
        let bytes = |fields: usize| {
            shape.fields[..fields].iter().map(|field| field.fixed_len as usize).sum::<usize>()
        };
        let keys = &shape.fields[..shape.key_fields];
        let has_key_bytes = keys.iter().all(|field| field.fixed_len != 0 && !field.nullable);
        let mut plan = RecordPlan {
            fixed_bytes: if shape.is_node { CHILD } else { 0 },
            varying: Vec::new(),
            nullable: Vec::new(),
            fixed_key: is_fixed_key(&shape, order).then(|| bytes(shape.key_fields)),
            key_bytes: has_key_bytes.then(|| bytes(shape.key_fields)),
            unique_bytes: unique_fields.map(|unique| bytes(unique.min(shape.key_fields))),
            has_system_columns: has_system_columns(&shape),
            key: Vec::new(),
            unused_null_bits: vec![0xFF; shape.null_bytes],
            shape,
        };
        let mut bits = 0;
        for field in &plan.shape.fields {
            let mask = if field.nullable { 1 << (bits % 8) } else { 0 };
            let null = NullBit { byte: bits / 8, mask };
            bits += usize::from(field.nullable);
            if field.nullable
                && let Some(unused) = plan.unused_null_bits.get_mut(null.byte)
            {
                *unused &= !mask;
            }
            let fixed_len = field.fixed_len as usize;
            if plan.key.len() < plan.shape.key_fields {
                plan.key.push(KeyPart { fixed_len, big: field.big, null });
            }
            plan.fixed_bytes += fixed_len;
            match field.fixed_len {
                0 => {
                    let len_max = field.len_max.min(u16::MAX.into()) as u16;
                    plan.varying.push(Varying { big: field.big, len_max, null });
                }
                len if field.nullable => plan.nullable.push((null, len as usize)),
                _ => {}
            }
        }
        plan
    }

    /// Data bytes of every record, if there is nothing in them that varies.
    #[inline]
    pub(crate) fn fixed_record_bytes(&self) -> Option<usize> {
        let is_fixed = self.varying.is_empty() && self.shape.null_bytes == 0;
        is_fixed.then_some(self.fixed_bytes)
    }

    /// Where the record at `origin` starts and ends; `None` if it leaves the page, or a value is longer
    /// than its column.
    #[inline]
    pub(crate) fn extent(&self, page: &PageBytes, origin: usize) -> Option<Extent> {
        let header = origin.checked_sub(RECORD_HEADER)?;
        let mut at = header.checked_sub(self.shape.null_bytes)?;
        let nulls = page.get(at..header)?;
        let has_null = nulls.iter().fold(0, |any, byte| any | byte) != 0;
        let mut end = origin + self.fixed_bytes;
        if has_null {
            for (null, len) in &self.nullable {
                if null.is_set(nulls) {
                    end -= len;
                }
            }
        }
        let (mut flags, mut is_too_long) = (0, false);
        for field in &self.varying {
            if has_null && field.null.is_set(nulls) {
                continue;
            }
            at = at.checked_sub(1)?;
            let first = page[at];
            if field.big && first & 0x80 != 0 {
                at = at.checked_sub(1)?;
                flags |= first;
                let len = u16::from(first & 0x3F) << 8 | u16::from(page[at]);
                is_too_long |= len > field.len_max;
                end += usize::from(len);
            } else {
                is_too_long |= u16::from(first) > field.len_max;
                end += usize::from(first);
            }
        }
        let has_external = flags & 0x40 != 0;
        let is_sound = end <= PAGE_SIZE && !is_too_long;
        is_sound.then_some(Extent { start: at, end, has_external, has_null })
    }

    /// True if a bit of the null bitmap is set that no field has. The record must have an extent.
    pub(crate) fn has_stray_null(&self, page: &PageBytes, origin: usize) -> bool {
        let nulls = page[..origin - RECORD_HEADER].iter().rev();
        nulls.zip(&self.unused_null_bits).any(|(byte, unused)| byte & unused != 0)
    }

    /// Finds the key fields of the record at `origin`; false if they leave the page.
    pub(crate) fn key_spans(
        &self,
        page: &PageBytes,
        origin: usize,
        spans: &mut Vec<FieldSpan>,
    ) -> bool {
        spans.clear();
        let Some(header) = origin.checked_sub(RECORD_HEADER) else { return false };
        let Some(nulls) = header.checked_sub(self.shape.null_bytes) else { return false };
        let Some(null_bytes) = page.get(nulls..header) else { return false };
        let mut lengths = page[..nulls].iter().rev().map(|byte| usize::from(*byte));
        let mut start = origin;
        for part in &self.key {
            let is_null = part.null.is_set(null_bytes);
            let len = match part.fixed_len {
                _ if is_null => Some(0),
                0 => varying_len(&mut lengths, part.big),
                len => Some(len),
            };
            let Some(len) = len.filter(|len| start + len <= PAGE_SIZE) else { return false };
            // A key field is never external.
            spans.push(FieldSpan { start, len, is_null, is_external: false });
            start += len;
        }
        true
    }
}

/// The next length, whose bytes come backwards from the null bitmap.
fn varying_len(lengths: &mut impl Iterator<Item = usize>, big: bool) -> Option<usize> {
    let first = lengths.next()?;
    if big && first & 0x80 != 0 {
        return Some((first & 0x3F) << 8 | lengths.next()?);
    }
    Some(first)
}

impl NullBit {
    #[inline]
    fn is_set(self, nulls: &[u8]) -> bool {
        self.mask != 0 && nulls[nulls.len() - 1 - self.byte] & self.mask != 0
    }
}

fn has_system_columns(shape: &RecordShape) -> bool {
    let after_key = shape.fields.get(shape.key_fields);
    after_key.and_then(|field| field.system) == Some(SystemColumn::TrxId)
}

/// True if all fields of the key are of fixed length, ascend, and order as bytes.
fn is_fixed_key(shape: &RecordShape, order: &KeyOrder) -> bool {
    shape.fields.iter().zip(&order.fields).all(|(field, key)| {
        matches!(key.order, FieldOrder::Bytes) && !key.descending && field.fixed_len != 0
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::cfg::Cfg;
    use proptest::prelude::*;

    const CFG: &[u8] = include_bytes!("../../testdata/mariadb-10.11/t.cfg");

    fn plans() -> Vec<RecordPlan> {
        let cfg = Cfg::parse(CFG).unwrap();
        let mut plans = Vec::new();
        for index in &cfg.indexes {
            let mut leaf = RecordShape::leaf(&cfg, index).unwrap();
            // Field by field nobody looks at them.
            leaf.fields.iter_mut().for_each(|field| field.len_max = u32::MAX);
            let keys = &leaf.fields[..leaf.key_fields];
            let order = KeyOrder::new(&cfg, &index.name, keys, &|_, _| None, &mut Vec::new());
            plans.push(RecordPlan::new(leaf.to_node(), &order, None));
            plans.push(RecordPlan::new(leaf, &order, None));
        }
        plans
    }

    proptest! {
        /// The fast way and the way field by field must agree on any bytes.
        #[test]
        fn extents_agree_with_spans(
            bytes in proptest::collection::vec(any::<u8>(), 200),
            origin in 0usize..PAGE_SIZE,
        ) {
            let mut page = [0; PAGE_SIZE];
            let start = origin.saturating_sub(60).min(PAGE_SIZE - bytes.len());
            page[start..start + bytes.len()].copy_from_slice(&bytes);
            let mut spans = Vec::new();
            for plan in plans() {
                let slow = plan.shape.spans(&page, origin, &mut spans).ok();
                // Bits beyond the last nullable field are not looked at field by field.
                let fast = plan.extent(&page, origin);
                let ends = |start, end| (start, end);
                prop_assert_eq!(
                    fast.map(|fast| ends(fast.start, fast.end)),
                    slow.map(|slow| ends(slow.start, slow.end))
                );
                if let Some(fast) = fast {
                    let external = spans.iter().any(|span| span.is_external);
                    prop_assert_eq!(fast.has_external, external);
                    let key: Vec<_> = spans.iter().take(plan.shape.key_fields).collect();
                    let mut fast_key = Vec::new();
                    prop_assert!(plan.key_spans(&page, origin, &mut fast_key));
                    for (fast, slow) in fast_key.iter().zip(key) {
                        prop_assert_eq!(fast.of(&page), slow.of(&page));
                    }
                }
            }
        }
    }

    #[test]
    fn a_key_of_fixed_bytes_is_seen_as_one() {
        let plans = plans();
        let keys: Vec<_> = plans.iter().map(|plan| plan.fixed_key).collect();
        // PRIMARY (id), then three indexes that begin with text: node and leaf of each
        assert_eq!(keys, [Some(4), Some(4), None, None, None, None, None, None]);
    }
}
