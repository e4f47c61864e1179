//! The type of a column, from information_schema.COLUMNS.

use std::str::FromStr;

use schema::Storage;
use values::{Charset, ShapeKind, SqlType, TextType};

/// Mark of a column in the temporal format of servers before 10.1.
const OLD_TEMPORAL: &str = "/* mariadb-5.3 */";

/// A column's description in information_schema.
pub(super) struct Described<'a> {
    /// `DATA_TYPE`: `varchar`.
    pub(super) data_type: &'a str,
    /// `COLUMN_TYPE`: `varchar(20)`, `enum('a','b')`, `int(11) unsigned zerofill`.
    pub(super) column_type: &'a str,
    pub(super) charset: Option<String>,
    /// The character set of that name, where it had to be learned.
    pub(super) known_charset: Option<Charset>,
    pub(super) collation: Option<String>,
    /// `CHARACTER_MAXIMUM_LENGTH`: characters of CHAR and VARCHAR, bytes of the others.
    pub(super) length: Option<u64>,
    /// `SRS_ID` of MySQL.
    pub(super) srid: Option<u32>,
    /// True if GEOMETRY and VECTOR are those of MySQL.
    pub(super) has_shapes: bool,
}

impl Described<'_> {
    /// The type, opaque if need be, and how values are kept.
    pub(super) fn sql_type(&self) -> (SqlType, Storage) {
        let declared = self.column_type.to_owned();
        match self.known_type() {
            Ok(sql_type) if self.column_type.contains(OLD_TEMPORAL) => {
                (sql_type, Storage::OldTemporal(declared))
            }
            Ok(sql_type) if self.column_type.contains("COMPRESSED") && !self.has_labels() => {
                (sql_type, Storage::Compressed(declared))
            }
            Ok(sql_type) => (sql_type, Storage::Usual),
            Err(storage) => (SqlType::Opaque { declared, is_text: self.is_text() }, storage),
        }
    }

    /// True if values of an unknown type are text to the server.
    fn is_text(&self) -> bool {
        self.charset.is_some()
    }

    /// The type that values are converted to, however they are stored; what they are in, if that is not known here.
    fn known_type(&self) -> Result<SqlType, Storage> {
        let unsigned = !self.has_labels() && self.column_type.contains(" unsigned");
        let integer = |bytes| Ok(SqlType::Integer { bytes, unsigned });
        match self.data_type.to_ascii_lowercase().as_str() {
            "tinyint" => integer(1),
            "smallint" => integer(2),
            "mediumint" => integer(3),
            "int" => integer(4),
            "bigint" => integer(8),
            "decimal" => {
                let (precision, scale) = self.digits()?.ok_or_else(|| self.unknown())?;
                Ok(SqlType::Decimal { precision, scale, unsigned })
            }
            "float" => Ok(SqlType::Float { unsigned, digits: self.digits()? }),
            "double" => Ok(SqlType::Double { unsigned, digits: self.digits()? }),
            "date" => Ok(SqlType::Date),
            "time" => Ok(SqlType::Time { digits: self.number()?.unwrap_or(0) }),
            "datetime" => Ok(SqlType::DateTime { digits: self.number()?.unwrap_or(0) }),
            "timestamp" => Ok(SqlType::Timestamp { digits: self.number()?.unwrap_or(0) }),
            "year" if self.column_type == "year(2)" => Err(Storage::TwoDigitYear),
            "year" => Ok(SqlType::Year),
            "bit" => Ok(SqlType::Bit { bits: self.number()?.unwrap_or(1) }),
            "enum" => Ok(SqlType::Enum { labels: self.labels()?, text: self.text()? }),
            "set" => Ok(SqlType::Set { labels: self.labels()?, text: self.text()? }),
            "char" => Ok(SqlType::Char { chars: self.length()?, text: self.text()? }),
            "varchar" => Ok(SqlType::VarChar { chars: self.length()?, text: self.text()? }),
            "binary" => Ok(SqlType::Binary { bytes: self.length()? }),
            "varbinary" => Ok(SqlType::VarBinary { bytes: self.length()? }),
            "uuid" if self.column_type == "uuid" => Ok(SqlType::Uuid),
            "inet4" => Ok(SqlType::Inet4),
            "inet6" => Ok(SqlType::Inet6),
            // Of MySQL alone: a JSON column of MariaDB is a longtext here.
            "json" => Ok(SqlType::Document),
            "tinytext" => self.long_text(1),
            "text" => self.long_text(2),
            "mediumtext" => self.long_text(3),
            "longtext" => self.long_text(4),
            "tinyblob" => Ok(SqlType::Blob { bytes_max: bytes_max(1) }),
            "blob" => Ok(SqlType::Blob { bytes_max: bytes_max(2) }),
            "mediumblob" => Ok(SqlType::Blob { bytes_max: bytes_max(3) }),
            "longblob" => Ok(SqlType::Blob { bytes_max: bytes_max(4) }),
            "vector" if self.has_shapes => {
                Ok(SqlType::Vector { dimensions: self.number()?.unwrap_or(0) })
            }
            "geometry" if self.has_shapes => Ok(SqlType::Geometry { kind: None, srid: self.srid }),
            name => match ShapeKind::named(name).filter(|_| self.has_shapes) {
                Some(kind) => Ok(SqlType::Geometry { kind: Some(kind), srid: self.srid }),
                None => Err(self.unknown()),
            },
        }
    }

    fn unknown(&self) -> Storage {
        Storage::UnknownType(self.column_type.to_owned())
    }

    fn has_labels(&self) -> bool {
        matches!(self.data_type, "enum" | "set")
    }

    fn long_text(&self, length_bytes: u32) -> Result<SqlType, Storage> {
        Ok(SqlType::Text { bytes_max: bytes_max(length_bytes), text: self.text()? })
    }

    fn length(&self) -> Result<u32, Storage> {
        self.length.and_then(|n| n.try_into().ok()).ok_or_else(|| self.unknown())
    }

    /// The text between the first parentheses, if there are any.
    fn parameters(&self) -> Option<&str> {
        let (_, rest) = self.column_type.split_once('(')?;
        rest.split_once(')').map(|(inner, _)| inner)
    }

    fn number<N: FromStr>(&self) -> Result<Option<N>, Storage> {
        self.parameters().map(|p| p.trim().parse().map_err(|_| self.unknown())).transpose()
    }

    /// `(10,2)`.
    fn digits(&self) -> Result<Option<(u8, u8)>, Storage> {
        let Some(inner) = self.parameters() else { return Ok(None) };
        let pair =
            inner.split_once(',').and_then(|(m, d)| Some((m.parse().ok()?, d.parse().ok()?)));
        pair.map(Some).ok_or_else(|| self.unknown())
    }

    fn text(&self) -> Result<TextType, Storage> {
        let (name, collation) = match (self.charset.as_deref(), self.collation.as_deref()) {
            (Some(charset), Some(collation)) => (charset, collation),
            // ENUM CHARACTER SET binary has neither.
            _ => ("binary", "binary"),
        };
        let charset = match self.known_charset {
            Some(charset) => charset,
            None => {
                Charset::built_in(name).ok_or_else(|| Storage::UnknownCharset(name.to_owned()))?
            }
        };
        Ok(TextType { charset, collation: collation.to_owned() })
    }

    fn labels(&self) -> Result<Vec<String>, Storage> {
        let open = self.column_type.find('(').ok_or_else(|| self.unknown())?;
        parse_labels(&self.column_type[open + 1..]).ok_or_else(|| self.unknown())
    }
}

/// Most bytes a value has whose length is stored in `length_bytes`.
fn bytes_max(length_bytes: u32) -> u64 {
    (1 << (8 * length_bytes)) - 1
}

/// Reads `'a','b''c','\\')`; None when it does not end with the parenthesis.
///
/// Source: MariaDB 10.11, sql/field.cc `Field_enum::sql_type`, `append_unescaped`.
fn parse_labels(text: &str) -> Option<Vec<String>> {
    let mut labels = Vec::new();
    let mut rest = text;
    loop {
        let (label, after) = parse_literal(rest)?;
        labels.push(label);
        rest = match after.strip_prefix(',') {
            Some(next) => next,
            None => return after.starts_with(')').then_some(labels),
        };
    }
}

/// Reads one quoted literal; its value and what follows it.
pub(super) fn parse_literal(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.strip_prefix('\'')?.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if text[at + 2..].starts_with('\'') => {
                value.push('\'');
                chars.next();
            }
            '\'' => return Some((value, &text[at + 2..])),
            '\\' => {
                let c = chars.next()?.1;
                value.push(u8::try_from(c).map_or(c, |byte| char::from(sql::escaped(byte))));
            }
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_quotes_commas_and_backslashes() {
        let labels = parse_labels("'a','b''c','d,e','\\\\x','\u{fc}','','(x)','l\\n')").unwrap();
        assert_eq!(labels, ["a", "b'c", "d,e", "\\x", "\u{fc}", "", "(x)", "l\n"]);
        assert_eq!(parse_labels("'a','b"), None);
        assert_eq!(parse_labels("'a' "), None);
    }

    #[test]
    fn types_as_the_server_words_them() {
        let of = |data_type, column_type| {
            let length = Some(9);
            Described {
                data_type,
                column_type,
                charset: None,
                known_charset: None,
                collation: None,
                length,
                srid: None,
                has_shapes: false,
            }
            .sql_type()
        };
        let known = |data_type, column_type| match of(data_type, column_type) {
            (sql_type, Storage::Usual) => sql_type,
            refused => panic!("{refused:?}"),
        };
        assert_eq!(known("int", "int(11)"), SqlType::Integer { bytes: 4, unsigned: false });
        assert_eq!(
            known("decimal", "decimal(65,30) unsigned zerofill"),
            SqlType::Decimal { precision: 65, scale: 30, unsigned: true }
        );
        assert_eq!(
            known("float", "float(7,3)"),
            SqlType::Float { unsigned: false, digits: Some((7, 3)) }
        );
        assert_eq!(known("datetime", "datetime(3)"), SqlType::DateTime { digits: 3 });
        assert_eq!(known("bit", "bit(5)"), SqlType::Bit { bits: 5 });
        assert_eq!(known("longblob", "longblob"), SqlType::Blob { bytes_max: 4_294_967_295 });
        let compressed = "varbinary(5) /*M!100301 COMPRESSED*/";
        let text = |text: &str| text.to_owned();
        for (data_type, column_type, storage, sql_type) in [
            (
                "datetime",
                "datetime /* mariadb-5.3 */",
                Storage::OldTemporal(text("datetime /* mariadb-5.3 */")),
                Some(SqlType::DateTime { digits: 0 }),
            ),
            (
                "varbinary",
                compressed,
                Storage::Compressed(text(compressed)),
                Some(SqlType::VarBinary { bytes: 9 }),
            ),
            ("point", "point", Storage::UnknownType(text("point")), None),
            ("uuid", "uuid /* of old */", Storage::UnknownType(text("uuid /* of old */")), None),
            ("vector", "vector(3)", Storage::UnknownType(text("vector(3)")), None),
            ("year", "year(2)", Storage::TwoDigitYear, None),
        ] {
            let opaque = SqlType::Opaque { declared: column_type.to_owned(), is_text: false };
            assert_eq!(of(data_type, column_type), (sql_type.unwrap_or(opaque), storage));
        }
        assert_eq!(known("json", "json"), SqlType::Document);
    }

    #[test]
    fn mysql_has_shapes_and_vectors() {
        let of = |data_type, column_type, srid| {
            let described = Described {
                data_type,
                column_type,
                charset: None,
                known_charset: None,
                collation: None,
                length: None,
                srid,
                has_shapes: true,
            };
            described.sql_type()
        };
        for (data_type, column_type, srid, sql_type) in [
            ("vector", "vector(2048)", None, SqlType::Vector { dimensions: 2_048 }),
            (
                "geometry",
                "geometry",
                Some(4_326),
                SqlType::Geometry { kind: None, srid: Some(4_326) },
            ),
            (
                "geomcollection",
                "geomcollection",
                None,
                SqlType::Geometry { kind: Some(ShapeKind::Collection), srid: None },
            ),
        ] {
            assert_eq!(of(data_type, column_type, srid), (sql_type, Storage::Usual));
        }
        assert!(matches!(of("uuid", "uuid x", None), (SqlType::Opaque { .. }, _)));
    }
}
