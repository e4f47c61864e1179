//! Fields that a reader finds by their names.

/// A field of JSON's records that somebody wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name, in UTF-8. Letters of ASCII may differ in their case.
    pub name: Vec<u8>,
    /// What the column of the field takes.
    pub takes: ColumnKind,
    /// The value where a record lacks the field.
    pub absent: MissingValue,
}

impl Key {
    /// A field of which only the name is known.
    pub(crate) fn named(name: Vec<u8>) -> Key {
        Key { name, takes: ColumnKind::Values, absent: MissingValue::Null }
    }
}

/// What the column of a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// There is no column: the field is left out.
    Nothing,
    /// Documents.
    Json,
    /// Text.
    Text,
    /// Bits, of which LOAD DATA would take digits for bytes.
    Bits,
    /// Years, of which LOAD DATA would take the digit 0 for 2000.
    Years,
    /// Numbers, dates, bytes and others.
    Values,
}

/// The value of a field that a record lacks.
#[derive(Clone, Debug, PartialEq)]
pub enum MissingValue {
    /// NULL.
    Null,
    /// This text.
    Text(Vec<u8>),
    /// None that is known: such a record is refused.
    Unknown,
}
