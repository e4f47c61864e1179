//! Why a row is refused.

use face::option::CHARSET;
use sources::Row;
use values::Reason;

use crate::binding::Binding;
use crate::partition::Unplaced;

/// Why a row is refused, and by which field.
#[derive(Debug)]
pub struct RowFault {
    /// Field of the line, from 0.
    pub field: Option<usize>,
    /// Column of the table.
    pub column: Option<usize>,
    /// The kind of fault.
    pub kind: FaultKind,
}

impl RowFault {
    /// A line with too few or too many fields, where `needed` to `expected` are right; of too few,
    /// the first column without is named. `fields` has the field of each column, if it gets one.
    #[cold]
    pub fn field_count<R: Row>(
        row: R,
        needed: usize,
        expected: usize,
        mut fields: impl Iterator<Item = Option<usize>>,
    ) -> RowFault {
        if let Some(broken) = row.broken() {
            let kind = FaultKind::Broken(broken.to_owned());
            return RowFault { field: None, column: None, kind };
        }
        if row.is_unclosed() {
            return RowFault { field: None, column: None, kind: FaultKind::Unclosed };
        }
        let seen = if row.is_blank() { 0 } else { row.field_count() };
        let is_missing = |field: usize| (seen..needed).contains(&field);
        let column = fields.position(|field| field.is_some_and(is_missing));
        RowFault { field: None, column, kind: FaultKind::FieldCount { seen, expected } }
    }

    /// A row that no partition takes, or of which that is not known.
    #[cold]
    pub fn unplaced(why: Unplaced) -> RowFault {
        let (column, kind) = match why {
            Unplaced::NoPartition(value) => (None, FaultKind::NoPartition { value }),
            Unplaced::OutOfRange => (None, FaultKind::PartitionRange),
            Unplaced::Unknown(column) => (column, FaultKind::UnknownPartition),
        };
        RowFault { field: None, column, kind }
    }

    /// True if the fields of the row are known.
    pub fn has_fields(&self) -> bool {
        !matches!(
            self.kind,
            FaultKind::FieldCount { .. } | FaultKind::Unclosed | FaultKind::Broken(_)
        )
    }

    /// True if the server accepts the row, and only its place in an index or among partitions is
    /// unknown.
    pub fn is_unordered(&self) -> bool {
        matches!(self.kind, FaultKind::Value(Reason::NoSortWeight) | FaultKind::UnknownPartition)
    }

    /// True if a generated AUTO_INCREMENT value exceeds its column.
    pub fn is_generated(&self, binding: &Binding) -> bool {
        matches!(self.kind, FaultKind::Value(_))
            && self.field.is_none()
            && self.column.is_some()
            && self.column == binding.auto_increment
    }
}

/// The kind of a row's fault.
#[derive(Debug)]
pub enum FaultKind {
    /// A value, by its column's type.
    Value(Reason),
    /// NULL where the column is NOT NULL.
    Null,
    /// No value is left for the AUTO_INCREMENT column, or the given one cannot be counted.
    NoNumber,
    /// Too few or too many fields.
    FieldCount {
        /// Fields of the line; 0 of a blank one.
        seen: usize,
        /// Fields that are right.
        expected: usize,
    },
    /// A quote that nothing closes.
    Unclosed,
    /// The fields of a record are not known, for this reason.
    Broken(String),
    /// The record is too large for a page and nothing is left to store off page.
    TooLarge {
        /// Size of the record.
        bytes: usize,
    },
    /// No partition takes it.
    NoPartition {
        /// The row's value in the partitioning column, if it is one value.
        value: Option<String>,
    },
    /// The partitioning value exceeds 64 bits.
    PartitionRange,
    /// Which partition takes it is not known here.
    UnknownPartition,
}

impl FaultKind {
    /// The same for all rows that are at fault in that way.
    pub fn class(&self) -> String {
        match self {
            FaultKind::Value(Reason::InvalidCharacter { .. }) => {
                format!(
                    "has bytes that are invalid in the input's charset; {CHARSET} selects another"
                )
            }
            FaultKind::Value(Reason::Unconvertible { .. }) => {
                "has characters that the column's charset lacks".to_owned()
            }
            FaultKind::FieldCount { seen: 0, .. } => "the line is blank".to_owned(),
            FaultKind::FieldCount { seen, expected } if seen < expected => {
                "the line has too few fields".to_owned()
            }
            FaultKind::FieldCount { .. } => "the line has too many fields".to_owned(),
            FaultKind::TooLarge { .. } => "the row is too large for a page".to_owned(),
            FaultKind::NoPartition { .. } => "the table has no partition for the row".to_owned(),
            kind => kind.to_string(),
        }
    }
}

impl std::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FaultKind::Value(reason) => write!(f, "{reason}"),
            FaultKind::Null => write!(f, "NULL, but the column is NOT NULL"),
            FaultKind::NoNumber => {
                write!(f, "no AUTO_INCREMENT value that the column's type can hold")
            }
            FaultKind::FieldCount { seen: 0, expected } => {
                write!(f, "the line is blank; {expected} fields expected")
            }
            FaultKind::FieldCount { seen, expected } => {
                let fields = if *seen == 1 { "field" } else { "fields" };
                write!(f, "the line has {seen} {fields}; {expected} expected")?;
                match seen < expected {
                    true => write!(f, ": some columns get no data"),
                    false => write!(f, ": there are more fields than columns"),
                }
            }
            FaultKind::Unclosed => {
                write!(f, "the line has an unclosed quote, so its fields are unknown")
            }
            FaultKind::Broken(reason) => f.write_str(reason),
            FaultKind::TooLarge { bytes } => {
                write!(f, "the row takes {bytes} bytes in its page, more than half a page")
            }
            // As the server says it.
            FaultKind::NoPartition { value } => {
                let value = value.as_deref().unwrap_or("from column_list");
                write!(f, "Table has no partition for value {value} (server error 1526)")
            }
            FaultKind::PartitionRange => {
                write!(
                    f,
                    "BIGINT value is out of range in the table's partition function (server error 1690)"
                )
            }
            FaultKind::UnknownPartition => write!(f, "its partition is unknown"),
        }
    }
}
