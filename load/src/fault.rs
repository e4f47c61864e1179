//! Why a row is refused.

use values::Reason;

use crate::binding::Binding;

/// Why a row is refused, and by which field.
#[derive(Debug)]
pub(crate) struct RowFault {
    /// Field of the line, from 0.
    pub(crate) field: Option<usize>,
    /// Column of the table.
    pub(crate) column: Option<usize>,
    pub(crate) kind: FaultKind,
}

impl RowFault {
    /// Whether it is a generated AUTO_INCREMENT value that its column cannot hold.
    pub(crate) fn is_generated(&self, binding: &Binding) -> bool {
        self.field.is_none() && self.column.is_some() && self.column == binding.auto_increment
    }
}

/// What is wrong with a row.
#[derive(Debug)]
pub(crate) enum FaultKind {
    /// A value, by its column's type.
    Value(Reason),
    /// NULL where the column is NOT NULL.
    Null,
    /// No value is left for the AUTO_INCREMENT column, or the given one cannot be counted.
    NoNumber,
    /// Too few or too many fields.
    FieldCount { seen: usize, expected: usize },
    /// The record is too large for a page and nothing is left to store off page.
    TooLarge { bytes: usize },
}

impl std::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FaultKind::Value(reason) => write!(f, "{reason}"),
            FaultKind::Null => write!(f, "NULL, but the column is NOT NULL"),
            FaultKind::NoNumber => {
                write!(f, "no AUTO_INCREMENT value that the column's type can hold")
            }
            FaultKind::FieldCount { seen, expected } => {
                write!(f, "the line has {seen} field(s), expected {expected}")
            }
            FaultKind::TooLarge { bytes } => {
                write!(f, "the row takes {bytes} bytes in its page, more than half a page")
            }
        }
    }
}
