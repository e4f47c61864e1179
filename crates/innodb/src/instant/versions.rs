//! The fields of MySQL's rows, by the `.cfg`: the version that added a column, the one that dropped it, and
//! its place in a row.

use crate::cfg::{Cfg, CfgColumn, CfgIndex, MySqlColumn, MySqlTable, NO_VERSION};
use crate::error::Error;
use crate::instant::layout::{OldField, OldLayout, VersionMark, places};
use crate::instant::metadata::SYSTEM_FIELDS;
use crate::leaves::corrupt;
use crate::record::RecordShape;
use crate::source::ReadError;

/// Bits of a column's place.
const POSITION: u32 = 0x7FFF;

/// The layout of a table whose clustered index is `index`.
pub(super) fn read(
    old: &Cfg,
    index: &CfgIndex,
    mysql: &MySqlTable,
    new: &Cfg,
    shape: &RecordShape,
) -> Result<OldLayout, ReadError> {
    if mysql.has_counted_rows() || mysql.row_version == 0 {
        let (what, seen) =
            ("the row format of ALGORITHM=INSTANT", "that of MySQL before 8.0.29".to_owned());
        let expected = "that of MySQL 8.0.29 and newer";
        return Err(Error::Unsupported { what, seen, expected }.into());
    }
    let column = |name: &str| {
        let at = old.column_position(name)?;
        Some((&old.columns[at], mysql.columns.get(at)?))
    };
    let first_column = shape.key_fields + SYSTEM_FIELDS;
    // Place in a row, field, and its number in the index if the column is still there.
    let mut fields = Vec::with_capacity(index.fields.len() + mysql.dropped.len());
    for (number, of) in index.fields.iter().enumerate() {
        let (column, more) =
            column(&of.name).ok_or_else(|| wrong(index, number, "a column of the description"))?;
        // The key and the system columns come first, and never change.
        let place = if number < first_column { number as u32 } else { more.position & POSITION };
        fields.push((place, field(column, more, of.fixed_len), Some(number)));
    }
    for (column, more) in &mysql.dropped {
        fields.push((more.position & POSITION, field(column, more, column.fixed_len()), None));
    }
    fields.sort_by_key(|(place, ..)| *place);
    if let Some(at) = (0..fields.len()).find(|at| fields[*at].0 != *at as u32) {
        return Err(wrong(index, at, "a place of its own for each column"));
    }
    let place = |number: &usize| fields.iter().position(|(.., of)| of.as_ref() == Some(number));
    let places = places(index, new, shape)?.iter().filter_map(place).collect();
    let fields = fields.into_iter().map(|(_, field, _)| field).collect();
    let version_max = mysql.row_version as usize;
    Ok(OldLayout { fields, mark: VersionMark::Number, version_max, places })
}

fn field(column: &CfgColumn, more: &MySqlColumn, fixed_len: u32) -> OldField {
    let version = |version: u16, none: usize| match version {
        NO_VERSION => none,
        version => version.into(),
    };
    let versions = version(more.version_added, 0)..version(more.version_dropped, usize::MAX);
    let missing = more.default.clone().flatten();
    OldField { versions, missing, ..OldField::of(column, fixed_len) }
}

fn wrong(index: &CfgIndex, at: usize, expected: &str) -> ReadError {
    corrupt(index.root, 0, "place of a column", at as u64, expected)
}
