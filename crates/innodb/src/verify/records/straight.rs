//! A page as a builder leaves it, in one straight pass: every byte of a record's header is foreseen, and
//! keys that are a few bytes are compared as numbers.
//!
//! It only ever reports that all is well. Other pages are judged by the walk, by the same rules; so errors,
//! and their texts, do not depend on this pass.

use super::{OWNED_MAX, Walk, status};
use crate::ids::PAGE_SIZE;
use crate::index_page::{HEAP, INFIMUM, SUPREMUM, next_record};
use crate::page::PageBytes;
use crate::record::{MIN_RECORD, RECORD_HEADER, TRX_ID_AND_ROLL_PTR};
use crate::verify::Writer;
use crate::verify::plan::{Extent, RecordPlan};

/// Bytes of a key that are compared as one number.
const KEY_NUMBER_BYTES: usize = 16;
/// Bytes before a record's origin that are looked at together, its header last.
const BEFORE: usize = 8;

/// How keys of a fixed number of bytes are compared.
struct FixedKey {
    bytes: usize,
    /// The bytes of the key among the first sixteen of a record.
    mask: u128,
    /// Those of the part that must be unique.
    unique: u128,
    /// True if that is the whole key.
    is_unique: bool,
}

impl FixedKey {
    /// None where keys are not of fixed bytes, or NULL may be in them.
    fn of(plan: &RecordPlan) -> Option<FixedKey> {
        let bytes = plan.fixed_key.filter(|_| plan.key_bytes.is_some())?;
        let first = |bytes: usize| match bytes {
            0 => 0,
            bytes => u128::MAX << (128 - 8 * bytes.min(KEY_NUMBER_BYTES)),
        };
        let unique = plan.unique_bytes.unwrap_or(bytes);
        // What is beyond the number would have to be compared for being unique too.
        let is_seen = unique == bytes || unique <= KEY_NUMBER_BYTES;
        is_seen.then(|| FixedKey {
            bytes,
            mask: first(bytes),
            unique: first(unique),
            is_unique: unique == bytes,
        })
    }
}

impl Walk<'_> {
    /// Origins of the first and the last record, if every one of the page's records keeps all rules;
    /// none if that is not known.
    pub(super) fn straight(&self, plan: &RecordPlan) -> Option<(usize, usize)> {
        let key = FixedKey::of(plan)?;
        if self.writer != Writer::Loader || self.records == 0 {
            return None;
        }
        // Heap number and status of the record, above them the info bits.
        let kind = if self.is_leaf { status::LEAF } else { status::NODE };
        let mut kind = u64::from(2 << 3 | kind);
        let is_marked = !self.is_leaf && self.is_leftmost;
        let mut info = if is_marked { u64::from(MIN_RECORD) } else { 0 };

        let first = next_record(self.page, INFIMUM);
        let (mut origin, mut prev, mut end) = (first, 0, HEAP);
        let (mut unowned, mut slot) = (0, 0);
        let mut number_before = 0;
        for _ in 0..self.records {
            let (header, number) = self.around(origin)?;
            if header >> 16 & 0xFFFF != kind || header >> 32 & 0xF0 != info {
                return None;
            }
            end = self.end_of_next(plan, origin, end)?;
            let number = number & key.mask;
            if prev != 0 && !self.ascends(&key, (prev, number_before), (origin, number)) {
                return None;
            }
            unowned += 1;
            let owned = (header >> 32 & 0x0F) as usize;
            if owned != 0 {
                slot += 1;
                let has_slot = slot + 1 < self.slots && self.slot_origin(slot) == origin;
                if !has_slot || owned != unowned || owned > OWNED_MAX {
                    return None;
                }
                unowned = 0;
            }
            (prev, number_before) = (origin, number);
            origin = usize::from((origin as u16).wrapping_add(header as u16));
            kind += 1 << 3;
            info = 0;
        }
        let is_end = origin == SUPREMUM && end == self.heap_top && slot + 2 == self.slots;
        let supremum_owns = usize::from(self.page[SUPREMUM - RECORD_HEADER] & 0x0F);
        let is_owned = supremum_owns == unowned + 1 && supremum_owns <= OWNED_MAX;
        (is_end && is_owned).then_some((first, prev))
    }

    /// The header of the record at `origin`, in the lowest five bytes, and its first bytes.
    #[inline(always)]
    fn around(&self, origin: usize) -> Option<(u64, u128)> {
        let around = self.page.get(origin.wrapping_sub(BEFORE)..)?;
        let (before, rest) = around.split_first_chunk::<BEFORE>()?;
        let number = rest.first_chunk::<KEY_NUMBER_BYTES>()?;
        Some((u64::from_be_bytes(*before), u128::from_be_bytes(*number)))
    }

    /// Where the record at `origin` ends, if it begins at `start`, and has nothing in it that takes a closer look.
    #[inline(always)]
    fn end_of_next(&self, plan: &RecordPlan, origin: usize, start: usize) -> Option<usize> {
        let extent = match plan.fixed_record_bytes() {
            // Within the page, as its end is compared with where the heap ends.
            Some(bytes) => {
                let (start, end) = (origin.checked_sub(RECORD_HEADER)?, origin + bytes);
                Extent { start, end, has_external: false, has_null: false }
            }
            None => plan.extent(self.page, origin)?,
        };
        let is_next = extent.start == start && extent.end <= self.heap_top;
        if !is_next || extent.has_external {
            return None;
        }
        if extent.has_null && plan.has_stray_null(self.page, origin) {
            return None;
        }
        if plan.has_system_columns {
            let system = self.page.get(origin + plan.key_bytes?..)?.first_chunk()?;
            if *system != TRX_ID_AND_ROLL_PTR {
                return None;
            }
        }
        Some(extent.end)
    }

    /// True if a record comes after the one before it, and differs from it in the part that must be unique.
    #[inline(always)]
    fn ascends(&self, key: &FixedKey, before: (usize, u128), this: (usize, u128)) -> bool {
        let is_other = (before.1 ^ this.1) & key.unique != 0;
        match key.bytes <= KEY_NUMBER_BYTES || before.1 != this.1 {
            true => before.1 < this.1 && is_other,
            false => key.is_unique && rest_ascends(self.page, key.bytes, before.0, this.0),
        }
    }
}

/// True if the first `bytes` of a record are less than those of another.
#[cold]
fn rest_ascends(page: &PageBytes, bytes: usize, a: usize, b: usize) -> bool {
    a.max(b) + bytes <= PAGE_SIZE && page[a..a + bytes] < page[b..b + bytes]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Chain, RecordBuffers, check};
    use super::*;
    use crate::ids::{FIL_NULL, IndexId, SpaceId};
    use crate::index_page::DIRECTORY_END;
    use crate::order::{FieldOrder, KeyField, KeyOrder};
    use crate::page::{page_type, u16_at};
    use crate::page_fill::{PageFill, PageHead, link_and_seal};
    use crate::record::{FieldShape, RecordShape, RecordWriter, SystemColumn};
    use crate::space_format::SpaceFormat;
    use crate::verify::corrupt::Corrupt;
    use crate::verify::rules::IndexRules;

    const ROOT: u32 = 3;
    const PAGE_NO: u32 = 9;

    /// A field of so many bytes, 0 if they vary; `null_bit` if it can be NULL.
    fn field(fixed_len: u32, null_bit: Option<u16>) -> FieldShape {
        FieldShape {
            column: 0,
            prefix_len: 0,
            fixed_len,
            len_max: u32::MAX,
            nullable: null_bit.is_some(),
            big: fixed_len == 0,
            descending: false,
            system: None,
            null_bit: null_bit.unwrap_or(u16::MAX),
        }
    }

    fn rules(key: &[u32], rest: Vec<FieldShape>, unique_fields: Option<usize>) -> IndexRules {
        let fields: Vec<_> = key.iter().map(|len| field(*len, None)).chain(rest).collect();
        let null_bytes = usize::from(fields.iter().any(|field| field.nullable));
        let lengths = 2 * fields.iter().filter(|field| field.fixed_len == 0).count();
        let leaf = RecordShape {
            key_fields: key.len(),
            null_bytes,
            header_bytes_max: RECORD_HEADER + null_bytes + lengths,
            is_node: false,
            fields,
        };
        let part = |_: &u32| KeyField { order: FieldOrder::Bytes, descending: false };
        let order = KeyOrder { fields: key.iter().map(part).collect() };
        IndexRules {
            format: SpaceFormat::MariaDb,
            name: "k".to_owned(),
            id: IndexId(7),
            root: ROOT,
            root_type: page_type::INDEX,
            is_clustered: unique_fields.is_none(),
            is_altered: false,
            is_dropped: false,
            unique_fields,
            node: Some(RecordPlan::new(leaf.to_node(), &order, None)),
            leaf: Some(RecordPlan::new(leaf, &order, unique_fields)),
            order,
        }
    }

    fn all_rules() -> [IndexRules; 5] {
        let system = |bytes, system| FieldShape { system: Some(system), ..field(bytes, None) };
        let clustered = vec![
            system(6, SystemColumn::TrxId),
            system(7, SystemColumn::RollPtr),
            field(0, None),
            field(3, Some(0)),
        ];
        [
            rules(&[4, 4], Vec::new(), Some(1)),
            rules(&[4, 4, 4, 4], Vec::new(), Some(4)),
            rules(&[8, 8, 8], Vec::new(), Some(3)),
            rules(&[8, 8, 8], Vec::new(), Some(1)),
            rules(&[4], clustered, None),
        ]
    }

    /// A page of `count` records, with that many more in the key from one to the next.
    fn page(rules: &IndexRules, is_leaf: bool, count: u32, step: u32) -> PageBytes {
        let mut page = [0xEE; PAGE_SIZE];
        let head = PageHead::new(SpaceId(5), rules.id, u16::from(!is_leaf), 0);
        let mut fill = PageFill::open(&mut page, &head, 0);
        let shape = &rules.leaf.as_ref().unwrap().shape;
        let shape = if is_leaf { shape.clone() } else { shape.to_node() };
        let mut writer = RecordWriter::new(&shape);
        for number in 0..count {
            writer.begin();
            for (index, field) in shape.fields.iter().enumerate() {
                let is_null = field.nullable && number % 3 == 0;
                // Of the index with three unique fields, only the last one tells records apart.
                let is_same = rules.unique_fields == Some(3) && index < 2;
                let number = if is_same { 1 } else { u64::from(number * step) }.to_be_bytes();
                match field.system {
                    Some(SystemColumn::TrxId) => writer.data().extend(&TRX_ID_AND_ROLL_PTR[..6]),
                    Some(_) => writer.data().extend(&TRX_ID_AND_ROLL_PTR[6..]),
                    None if is_null => {}
                    None if field.fixed_len == 0 => writer.data().extend(&number[..3]),
                    None => writer.data().extend(&number[8 - field.fixed_len.min(8) as usize..]),
                }
                writer.end_field(is_null, false);
            }
            let record = writer.finish();
            let is_first = number == 0 && !is_leaf;
            match is_leaf {
                true => fill.put(&mut page, record.bytes, record.origin, 0, status::LEAF),
                false => {
                    let info = if is_first { MIN_RECORD } else { 0 };
                    fill.put_pointer(&mut page, record.bytes, record.origin, number, info);
                }
            }
        }
        fill.close(&mut page);
        link_and_seal(SpaceFormat::MariaDb, &mut page, PAGE_NO, FIL_NULL, FIL_NULL);
        page
    }

    /// The result of the walk alone for a page.
    fn walked(rules: &IndexRules, page: &PageBytes) -> Result<Option<(usize, usize)>, Corrupt> {
        Walk::new(PAGE_NO, page, rules, Writer::Loader, &mut RecordBuffers::new())?.go()
    }

    fn checked(rules: &IndexRules, page: &PageBytes) -> Result<Option<(usize, usize)>, Corrupt> {
        let chain = check(PAGE_NO, page, rules, Writer::Loader, &mut RecordBuffers::new())?;
        let Chain { ends, deleted, .. } = chain;
        assert_eq!(deleted, 0);
        Ok(ends)
    }

    fn is_straight(rules: &IndexRules, page: &PageBytes) -> bool {
        let mut scratch = RecordBuffers::new();
        let walk = Walk::new(PAGE_NO, page, rules, Writer::Loader, &mut scratch).unwrap();
        walk.plan.and_then(|plan| walk.straight(plan)).is_some()
    }

    #[test]
    fn pages_of_a_builder_need_no_walk() {
        for rules in &all_rules() {
            for (is_leaf, count) in [(true, 1), (true, 3), (true, 4), (true, 200), (false, 200)] {
                let page = page(rules, is_leaf, count, 3);
                assert!(is_straight(rules, &page), "{count} of {:?}", rules.leaf);
                assert_eq!(
                    format!("{:?}", checked(rules, &page)),
                    format!("{:?}", walked(rules, &page))
                );
            }
            // Equal keys, and equal in what must be unique.
            let page = page(rules, true, 9, 0);
            assert!(
                !is_straight(rules, &page) && walked(rules, &page).is_err(),
                "{rules:?}",
                rules = rules.leaf
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn what_passes_straight_passes_the_walk(
            which in 0_usize..5,
            is_leaf: bool,
            count in 1_u32..40,
            damages in prop::collection::vec((any::<u16>(), any::<u8>(), 0_u8..4), 1..3),
        ) {
            let rules = &all_rules()[which];
            let mut page = page(rules, is_leaf, count, 300);
            let heap_top = usize::from(u16_at(&page, 40));
            let directory = DIRECTORY_END - 2 * usize::from(u16_at(&page, 38));
            for (place, bits, part) in damages {
                // The header, system records and heap, or the directory; single bits mostly.
                let (from, to) = match part {
                    0 => (38, 56),
                    1 => (directory, DIRECTORY_END),
                    _ => (94, heap_top),
                };
                let bits = if part == 3 { bits } else { 1 << (bits % 8) };
                page[from + usize::from(place) % (to - from)] ^= bits;
            }
            let (seen, walked) = (checked(rules, &page), walked(rules, &page));
            prop_assert_eq!(format!("{:?}", seen), format!("{:?}", walked));
        }
    }
}
