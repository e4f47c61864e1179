//! Further contents of MySQL's `.cfg` file: instant columns, the tablespace, the dictionary index.
//!
//! Source: MySQL 8.0.34 and 9.7, storage/innobase/row/row0quiesce.cc.

use super::{CfgColumn, CfgIndex, Input, put_u32};
use crate::error::{Error, Result};

/// Part of MySQL's file that describes the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MySqlTable {
    /// Version of the file: 7 or 8.
    pub file_version: u32,
    /// Nullable columns of rows before the first instant ALTER TABLE.
    pub nullable_before_instant: u32,
    /// Columns when the table was made.
    pub initial_columns: u32,
    /// Columns now.
    pub current_columns: u32,
    /// Columns now, and those that were dropped instantly.
    pub total_columns: u32,
    /// Instant ALTER TABLEs since the table was made; 0 if all rows are alike.
    pub row_version: u32,
    /// `FSP_SPACE_FLAGS`.
    pub space_flags: u32,
    /// Page compression; 0 for none.
    pub compression: u8,
    /// As many as the table has columns, in their order.
    pub columns: Vec<MySqlColumn>,
    /// Columns that were dropped instantly: rows of before still have their values.
    pub dropped: Vec<(CfgColumn, MySqlColumn)>,
    /// The index of the dictionary pages, `CLUST_IND_SDI`.
    pub dictionary: Option<CfgIndex>,
}

/// Part of MySQL's file that describes a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MySqlColumn {
    /// Row version that added it; [`NO_VERSION`] for a column of the first.
    pub version_added: u16,
    /// Row version that dropped it; [`NO_VERSION`] for none.
    pub version_dropped: u16,
    /// Its place among the fields of a row; `u32::MAX` for a column that has none. Bit 15 is set if the key
    /// has a prefix of the column, whose place is in the upper half.
    pub position: u32,
    /// The value of rows from before it was added; the inner `None` is NULL.
    pub default: Option<Option<Vec<u8>>>,
}

/// No row version.
pub const NO_VERSION: u16 = u16::MAX;
/// The version of the file whose row versions have one byte.
const WITH_SHORT_ROW_VERSIONS: u32 = 7;
/// Types of dropped columns whose elements follow: ENUM and SET.
const HAS_ELEMENTS: [u32; 2] = [22, 23];

impl MySqlTable {
    /// True if all rows are stored alike: no column was added or dropped instantly.
    pub fn is_plain(&self) -> bool {
        self.row_version == 0
            && self.initial_columns == self.current_columns
            && self.current_columns == self.total_columns
            && !self.has_counted_rows()
    }

    /// True if MySQL before 8.0.29 added a column instantly: rows since say how many fields they have.
    pub(crate) fn has_counted_rows(&self) -> bool {
        let is_counted =
            |column: &MySqlColumn| column.default.is_some() && column.version_added == NO_VERSION;
        self.columns.iter().any(is_counted)
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        for number in [
            self.nullable_before_instant,
            self.initial_columns,
            self.current_columns,
            self.total_columns,
            0,
            self.row_version,
            self.space_flags,
        ] {
            put_u32(out, number);
        }
        out.push(self.compression);
    }
}

/// Rows of a table that was altered are of several kinds.
pub(crate) fn altered(what: &'static str, seen: u32) -> Error {
    let expected = "a table that no ALGORITHM=INSTANT has added columns to or dropped columns from";
    Error::Unsupported { what, seen: seen.to_string(), expected }
}

impl MySqlColumn {
    pub(super) fn put(&self, file_version: u32, out: &mut Vec<u8>) {
        for [high, low] in [self.version_added, self.version_dropped].map(u16::to_be_bytes) {
            if file_version != WITH_SHORT_ROW_VERSIONS {
                out.push(high);
            }
            out.push(low);
        }
        put_u32(out, self.position);
        out.push(self.default.is_some().into());
        let Some(default) = &self.default else { return };
        out.push(default.is_none().into());
        if let Some(value) = default {
            put_u32(out, value.len() as u32);
            out.extend_from_slice(value);
        }
    }
}

impl Input<'_> {
    /// The fields before the columns.
    pub(super) fn mysql_table(&mut self, file_version: u32) -> Result<MySqlTable> {
        let nullable_before_instant = self.u32("nullable columns")?;
        let initial_columns = self.u32("initial columns")?;
        let current_columns = self.u32("current columns")?;
        let total_columns = self.u32("total columns")?;
        // Each column says it, too.
        self.u32("dropped columns")?;
        Ok(MySqlTable {
            file_version,
            nullable_before_instant,
            initial_columns,
            current_columns,
            total_columns,
            row_version: self.u32("row version")?,
            space_flags: self.u32("space flags")?,
            compression: self.u8("compression")?,
            columns: Vec::new(),
            dropped: Vec::new(),
            dictionary: None,
        })
    }

    /// The fields after a column.
    pub(super) fn mysql_column(&mut self, file_version: u32) -> Result<MySqlColumn> {
        let version_added = self.row_version(file_version, "version that added a column")?;
        let version_dropped = self.row_version(file_version, "version that dropped a column")?;
        let position = self.u32("position of a column")?;
        if version_dropped != NO_VERSION {
            self.type_of_dropped()?;
        }
        Ok(MySqlColumn {
            version_added,
            version_dropped,
            position,
            default: match self.flag("default of a column")? {
                false => None,
                true if self.flag("NULL as a default")? => Some(None),
                true => {
                    let len = self.u32("length of a default")? as usize;
                    Some(Some(self.take(len, "default of a column")?.to_vec()))
                }
            },
        })
    }

    /// A row version, in one byte or two.
    fn row_version(&mut self, file_version: u32, what: &'static str) -> Result<u16> {
        if file_version != WITH_SHORT_ROW_VERSIONS {
            return self.u16(what);
        }
        Ok(match self.u8(what)? {
            u8::MAX => NO_VERSION,
            version => version.into(),
        })
    }

    /// Passes over the SQL type of a dropped column: NULL, UNSIGNED, length; its number; scale, collation.
    fn type_of_dropped(&mut self) -> Result<()> {
        self.take(6, "type of a dropped column")?;
        let number = self.u32("type of a dropped column")?;
        self.take(12, "type of a dropped column")?;
        if HAS_ELEMENTS.contains(&number) {
            self.list("elements of a dropped column", |input| input.text("element"))?;
        }
        Ok(())
    }
}
