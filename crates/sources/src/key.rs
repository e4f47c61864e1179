//! Fields that a reader finds by their names.

/// A field of JSON's records that somebody wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name, in UTF-8; that of the column where it has a pointer. Letters of ASCII may differ in their case.
    pub name: Vec<u8>,
    /// The place of its value, if that is not the field of its name.
    pub pointer: Option<Pointer>,
    /// What the column of the field takes.
    pub takes: ColumnKind,
    /// The value where a record lacks the field.
    pub absent: MissingValue,
}

impl Key {
    /// A field of which only the name is known.
    pub(crate) fn named(name: Vec<u8>) -> Key {
        Key { name, pointer: None, takes: ColumnKind::Values, absent: MissingValue::Null }
    }
}

/// A JSON pointer: the place of a value inside of a record.
///
/// Source: RFC 6901, JavaScript Object Notation (JSON) Pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The field of the record.
    pub(crate) field: Vec<u8>,
    /// Keys of objects and indexes of arrays below it.
    pub(crate) rest: Vec<Vec<u8>>,
}

impl Pointer {
    /// True for a text that is to be a pointer.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with('/')
    }

    /// The name of the record's field that the value is in.
    pub fn field(&self) -> &[u8] {
        &self.field
    }

    /// Reads `/a/b`.
    ///
    /// Errors: a text that is no pointer to something inside of a record, with the reason.
    pub fn parse(text: &str) -> Result<Pointer, String> {
        let keys = text.strip_prefix('/').ok_or("a JSON pointer begins with /")?;
        let mut keys = keys.split('/').map(|key| {
            let is_escaped = |at: usize| matches!(key.as_bytes().get(at + 1), Some(b'0' | b'1'));
            match key.match_indices('~').all(|(at, _)| is_escaped(at)) {
                true => Ok(key.replace("~1", "/").replace("~0", "~").into_bytes()),
                false => {
                    Err("~ is written as ~0 in a JSON pointer, and / in a name as ~1".to_owned())
                }
            }
        });
        let field = keys.next().unwrap_or_else(|| Ok(Vec::new()))?;
        Ok(Pointer { field, rest: keys.collect::<Result<_, _>>()? })
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
