//! How the fields of a record lie in a table that was altered instantly.
//!
//! Each record has a version, 0 if it carries none, and the fields of that version, in one order.

use core::ops::Range;

use crate::cfg::{Cfg, CfgColumn, CfgIndex};
use crate::ids::PAGE_SIZE;
use crate::leaves::corrupt;
use crate::page::PageBytes;
use crate::page_fill::RECORD_BYTES_MAX;
use crate::record::{
    EXTERNAL, FieldShape, FieldSpan, RECORD_HEADER, RecordShape, TWO_BYTES, VERSIONED,
};
use crate::source::ReadError;

/// `REC_STATUS_INSTANT`: a record of MariaDB that says how many fields it has.
pub(super) const INSTANT: u8 = 4;

/// Info bit: MySQL before 8.0.29: the number of the row's fields is before the header.
const COUNTED: u8 = 0x80;

/// Where the fields of its records are.
#[derive(Clone, Debug)]
pub struct OldLayout {
    /// In the order of a record.
    pub(super) fields: Vec<OldField>,
    /// How its records say their version.
    pub(super) mark: VersionMark,
    /// The last version.
    pub(super) version_max: usize,
    /// Which field each field of a new record is.
    pub(super) places: Vec<usize>,
}

/// How a record says its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionMark {
    /// MariaDB: by its number of fields. All records have the fields of version 0.
    FieldCount,
    /// MySQL: by the number of the version.
    Number,
}

/// A field of an old record.
#[derive(Clone, Debug)]
pub(super) struct OldField {
    /// Bytes of a value, or 0 if they vary.
    pub(super) fixed_len: usize,
    pub(super) nullable: bool,
    /// True if its length may take two bytes.
    pub(super) big: bool,
    /// Versions whose records have it.
    pub(super) versions: Range<usize>,
    /// The value of records that lack it; none is NULL.
    pub(super) missing: Option<Vec<u8>>,
}

impl OldLayout {
    /// Shape of the node pointers of an index whose leaf records are of `shape` now.
    pub fn node_shape(&self, shape: &RecordShape) -> RecordShape {
        let is_counted = |field: &&OldField| field.nullable && field.versions.contains(&0);
        let nullable = self.fields.iter().filter(is_counted).count();
        RecordShape { null_bytes: nullable.div_ceil(8), ..shape.to_node() }
    }

    /// True if every record fits a page with the values of columns that were added since.
    pub fn fits_page(&self) -> bool {
        let added = self.fields.iter().filter(|field| field.versions.start > 0);
        // Beside a value its length and a NULL bit.
        let bytes = added.map(|field| 3 + field.missing.as_ref().map_or(0, Vec::len));
        RECORD_BYTES_MAX + bytes.sum::<usize>() <= PAGE_SIZE
    }

    /// Finds the fields of the record at `origin`, one entry a field, none for those that it lacks; false if
    /// they leave the page.
    pub(super) fn spans(
        &self,
        page: &PageBytes,
        origin: usize,
        spans: &mut Vec<Option<FieldSpan>>,
    ) -> bool {
        self.spans_with(page, origin, None, spans).is_some()
    }

    /// The version of the record at `origin`, and the end of its NULL bits.
    fn version(&self, page: &PageBytes, origin: usize) -> Option<(usize, usize)> {
        let mut at = origin.checked_sub(RECORD_HEADER)?;
        let is_marked = match self.mark {
            VersionMark::FieldCount => page.get(at + 2)? & 7 == INSTANT,
            VersionMark::Number if page.get(at)? & COUNTED != 0 => return None,
            VersionMark::Number => page.get(at)? & VERSIONED != 0,
        };
        if !is_marked {
            return Some((0, at));
        }
        at = at.checked_sub(1)?;
        let mut version = usize::from(page[at]);
        if self.mark == VersionMark::FieldCount {
            if version & 0x80 != 0 {
                at = at.checked_sub(1)?;
                version = usize::from(page[at]) << 7 | version & 0x7F;
            }
            version += 1;
        }
        Some((version, at))
    }

    /// The same, with a field of so many bytes before field `.0`, as metadata has it.
    pub(super) fn spans_with(
        &self,
        page: &PageBytes,
        origin: usize,
        besides: Option<(usize, usize)>,
        spans: &mut Vec<Option<FieldSpan>>,
    ) -> Option<()> {
        spans.clear();
        let (version, nulls_end) = self.version(page, origin)?;
        let version = version.checked_sub(usize::from(besides.is_some()))?;
        let has = |field: &OldField| field.versions.contains(&version);
        let nullable = self.fields.iter().filter(|field| field.nullable && has(field)).count();
        let mut at = nulls_end.checked_sub(nullable.div_ceil(8))?;
        let (mut bit, mut start) = (0, origin);
        for (number, field) in self.fields.iter().enumerate() {
            if let Some((_, len)) = besides.filter(|(before, _)| *before == number) {
                spans.push(Some(FieldSpan { start, len, is_null: false, is_external: true }));
                start += len;
            }
            if !has(field) {
                spans.push(None);
                continue;
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
            spans.push(Some(FieldSpan { start, len, is_null, is_external }));
            start += len;
            if start > PAGE_SIZE {
                return None;
            }
        }
        (version <= self.version_max).then_some(())
    }
}

impl OldField {
    /// The field of a column, in records of all versions.
    pub(super) fn of(column: &CfgColumn, fixed_len: u32) -> OldField {
        OldField {
            fixed_len: fixed_len as usize,
            nullable: column.is_nullable(),
            big: column.is_big(),
            versions: 0..usize::MAX,
            missing: None,
        }
    }
}

/// Which old field each field of the new index is.
pub(super) fn places(
    index: &CfgIndex,
    new: &Cfg,
    shape: &RecordShape,
) -> Result<Vec<usize>, ReadError> {
    let place = |field: &FieldShape| {
        let name = &new.columns[field.column].name;
        index.fields.iter().position(|old| {
            old.name == *name
                && old.prefix_len == field.prefix_len
                && old.fixed_len == field.fixed_len
        })
    };
    let places: Option<Vec<usize>> = shape.fields.iter().map(place).collect();
    places.ok_or_else(|| {
        corrupt(index.root, 0, "columns", 0, "the columns of the current table definition")
    })
}
