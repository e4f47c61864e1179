//! The columns of a key by which foreign keys are checked, and the bytes that its values become.
//!
//! Values that are equal to the server have equal bytes, and bytes ascend as the server orders values:
//! they are those that indexes are sorted by ([`KeyPart`]), without what says whether one is NULL.

use values::{KeyKind, KeyPart, SqlType};

/// The columns of a key.
#[derive(Clone, Debug)]
pub struct KeyShape {
    columns: Vec<KeyColumn>,
    /// Bytes of a key, where all have as many.
    bytes: Option<usize>,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct KeyColumn {
    name: String,
    sql_type: SqlType,
    part: KeyPart,
}

impl KeyColumn {
    /// A column of this name and type, of which an index makes its keys as `part` says.
    pub fn new(name: &str, sql_type: &SqlType, part: &KeyPart) -> KeyColumn {
        KeyColumn { name: name.to_owned(), sql_type: sql_type.clone(), part: part.plain() }
    }

    /// Its type.
    pub(super) fn sql_type(&self) -> &SqlType {
        &self.sql_type
    }

    /// How its values become bytes.
    pub(super) fn part(&self) -> &KeyPart {
        &self.part
    }

    /// True if equal values of this column and one of that type become the same bytes.
    pub(crate) fn is_like(&self, other: &SqlType) -> bool {
        use SqlType::{Char, VarBinary, VarChar};
        match (&self.sql_type, other) {
            (own, other) if own == other => true,
            (VarBinary { .. }, VarBinary { .. }) => true,
            (VarChar { text: own, .. }, VarChar { text: other, .. }) => own == other,
            // How many spaces follow a CHAR matters only where none are added.
            (
                Char { text: own, .. } | VarChar { text: own, .. },
                Char { text: other, .. } | VarChar { text: other, .. },
            ) => own == other && self.is_pad_space(),
            _ => false,
        }
    }

    fn is_pad_space(&self) -> bool {
        matches!(&self.part.kind, KeyKind::Text(collation) if collation.is_pad_space())
    }
}

impl KeyShape {
    /// A key of these columns.
    pub fn new(columns: Vec<KeyColumn>) -> KeyShape {
        let bytes = columns.iter().map(|column| column.part.fixed_len(None)).sum();
        KeyShape { columns, bytes }
    }

    #[cfg(test)]
    pub(crate) fn plain(bytes: u8) -> KeyShape {
        let sql_type = SqlType::Integer { bytes, unsigned: true };
        KeyShape::new(vec![KeyColumn::new(
            "c",
            &sql_type,
            &KeyPart::new(&sql_type, None, false, false),
        )])
    }

    pub(super) fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }

    /// True if it has these columns.
    pub(super) fn is_of(&self, columns: &[String]) -> bool {
        // Names of columns have no case.
        let own = self.columns.iter().map(|column| column.name.to_lowercase());
        own.eq(columns.iter().map(|name| name.to_lowercase()))
    }

    /// True if keys of both compare.
    pub(crate) fn is_like(&self, other: &KeyShape) -> bool {
        self.columns.len() == other.columns.len()
            && self.columns.iter().zip(&other.columns).all(|(a, b)| a.is_like(&b.sql_type))
    }

    /// Appends a key to others that stand one behind the other.
    #[inline]
    pub fn append(&self, key: &[u8], keys: &mut Vec<u8>) {
        if self.bytes.is_none() {
            keys.extend_from_slice(&(key.len() as u32).to_le_bytes());
        }
        keys.extend_from_slice(key);
    }

    /// Where the first of keys is that stand one behind the other; none where no whole one is there.
    #[inline]
    pub(super) fn first(&self, keys: &[u8]) -> Option<std::ops::Range<usize>> {
        let place = match self.bytes {
            Some(bytes) => 0..bytes,
            None => {
                let (bytes, _) = keys.split_first_chunk()?;
                4..4 + u32::from_le_bytes(*bytes) as usize
            }
        };
        (place.end <= keys.len()).then_some(place)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use values::sql_type::TextType;
    use values::{Charset, Collation};

    use super::*;

    #[test]
    fn equal_values_become_equal_bytes_only_where_types_are_alike() {
        let text = |name: &str| TextType { charset: Charset::Latin1, collation: name.to_owned() };
        let char = |chars, name| SqlType::Char { chars, text: text(name) };
        let varchar = |chars, name| SqlType::VarChar { chars, text: text(name) };
        let decimal = |precision| SqlType::Decimal { precision, scale: 2, unsigned: false };
        let (pad, no_pad) = ("latin1_bin", "latin1_nopad_bin");
        for (own, other, expected) in [
            (decimal(10), decimal(10), true),
            (decimal(10), decimal(12), false),
            (varchar(3, pad), varchar(30, pad), true),
            (varchar(3, pad), varchar(3, no_pad), false),
            (varchar(3, no_pad), varchar(30, no_pad), true),
            (char(3, pad), varchar(4, pad), true),
            (char(3, pad), char(4, pad), true),
            (char(3, no_pad), char(4, no_pad), false),
            (char(3, no_pad), char(3, no_pad), true),
            (char(3, no_pad), varchar(3, no_pad), false),
            (SqlType::VarBinary { bytes: 3 }, SqlType::VarBinary { bytes: 9 }, true),
            (SqlType::Binary { bytes: 3 }, SqlType::Binary { bytes: 4 }, false),
        ] {
            let collation = own
                .collation()
                .map(|name| Arc::new(Collation::built_in(name, Charset::Latin1).unwrap()));
            let part = KeyPart::new(&own, collation, true, false);
            let column = KeyColumn::new("c", &own, &part);
            assert_eq!(column.is_like(&other), expected, "{own} {other}");
        }
    }
}
