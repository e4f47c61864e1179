//! The types of columns, and what each says of itself.
//!
//! Every question that is asked of a type in more than one place is answered here, and every match
//! names all types: a new one does not compile before it has answered. Most answers follow from
//! its [`Family`].

use std::fmt;

pub use crate::charset::Charset;
use crate::json;
use crate::shape_kind::ShapeKind;

/// Bytes of a float in a VECTOR.
pub(crate) const DIMENSION_BYTES: u32 = 4;

/// The character set and the collation of a character column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextType {
    /// Its bytes.
    pub charset: Charset,
    /// Full collation name as the server says it: `latin1_swedish_ci`, `utf8mb4_uca1400_ai_ci`.
    pub collation: String,
}

/// SQL type of a column: everything its stored form depends on.
#[allow(missing_docs, reason = "the fields are what the variant's line says")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlType {
    /// TINYINT (1 byte) to BIGINT (8 bytes), BOOL.
    Integer { bytes: u8, unsigned: bool },
    /// DECIMAL(precision, scale), precision to 65, scale to 38.
    Decimal { precision: u8, scale: u8, unsigned: bool },
    /// FLOAT, FLOAT(m,d): `digits` is the (m,d) of the declaration, which rounds.
    Float { unsigned: bool, digits: Option<(u8, u8)> },
    /// DOUBLE, DOUBLE(m,d).
    Double { unsigned: bool, digits: Option<(u8, u8)> },
    /// DATE.
    Date,
    /// TIME(digits), digits of the fraction 0 to 6.
    Time { digits: u8 },
    /// DATETIME(digits).
    DateTime { digits: u8 },
    /// TIMESTAMP(digits).
    Timestamp { digits: u8 },
    /// YEAR.
    Year,
    /// BIT(bits), 1 to 64.
    Bit { bits: u8 },
    /// ENUM; labels in declared order, in UTF-8.
    Enum { labels: Vec<String>, text: TextType },
    /// SET; labels in declared order, in UTF-8.
    Set { labels: Vec<String>, text: TextType },
    /// CHAR(chars) of a character set.
    Char { chars: u32, text: TextType },
    /// VARCHAR(chars) of a character set.
    VarChar { chars: u32, text: TextType },
    /// BINARY(bytes).
    Binary { bytes: u32 },
    /// VARBINARY(bytes).
    VarBinary { bytes: u32 },
    /// TINYTEXT (255) to LONGTEXT (2^32-1).
    Text { bytes_max: u64, text: TextType },
    /// TINYBLOB to LONGBLOB.
    Blob { bytes_max: u64 },
    /// UUID.
    Uuid,
    /// INET4.
    Inet4,
    /// INET6.
    Inet6,
    /// JSON: LONGTEXT whose value the server checks with JSON_VALID, in utf8mb4_bin unless it was
    /// converted. Its character set is one of [`SqlType::may_be_json`].
    Json(TextType),
    /// JSON of MySQL: a binary document.
    Document,
    /// GEOMETRY and the types of its kinds, of MySQL: shapes of one kind or all, with one SRID or any.
    Geometry { kind: Option<ShapeKind>, srid: Option<u32> },
    /// VECTOR(dimensions) of MySQL: floats.
    Vector { dimensions: u32 },
    /// A type whose stored form is not known here (GEOMETRY of MariaDB): `declared` as
    /// the server words it. No [`crate::Converter`] can be had for it; values can only be handed to
    /// the server, as text in a character set or as bytes.
    Opaque { declared: String, is_text: bool },
}

/// The family of a type's values. Most facts about a type follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family<'t> {
    /// Whole numbers.
    Integer,
    /// Numbers with so many digits behind the point.
    Decimal,
    /// Floating point.
    Real,
    /// Years.
    Year,
    /// Dates and times of the clock on the wall.
    Temporal,
    /// Moments, stored in UTC: what their text means depends on the time zone.
    Moment,
    /// Bits, which take any bytes for a number.
    Bits,
    /// Labels of a list, stored as numbers.
    Labels(&'t TextType),
    /// Text in a character set.
    Text(&'t TextType),
    /// JSON: text that is checked.
    Json(&'t TextType),
    /// JSON: text that is stored as a binary document.
    Document,
    /// Any bytes.
    Bytes,
    /// Bytes that have to be shapes or vectors.
    CheckedBytes,
    /// Bytes whose text has a form of its own: UUIDs and addresses.
    Formatted,
    /// Types that only the server can store, given as text.
    OpaqueText,
    /// Types that only the server can store, given as bytes.
    OpaqueBytes,
}

impl SqlType {
    /// A JSON column as it is declared.
    pub fn json() -> SqlType {
        let collation = json::COLLATION.to_owned();
        SqlType::Json(TextType { charset: json::CHARSET, collation })
    }

    /// The text type, if a column of this type that JSON_VALID checks is [`SqlType::Json`]: a
    /// LONGTEXT in UTF-8, since stored text is examined.
    pub fn may_be_json(&self) -> Option<&TextType> {
        match self {
            SqlType::Text { bytes_max, text }
                if *bytes_max == u64::from(u32::MAX)
                    && matches!(text.charset, Charset::Utf8mb3 | Charset::Utf8mb4) =>
            {
                Some(text)
            }
            _ => None,
        }
    }

    /// The family of its values.
    pub fn family(&self) -> Family<'_> {
        match self {
            SqlType::Integer { .. } => Family::Integer,
            SqlType::Decimal { .. } => Family::Decimal,
            SqlType::Float { .. } | SqlType::Double { .. } => Family::Real,
            SqlType::Year => Family::Year,
            SqlType::Date | SqlType::Time { .. } | SqlType::DateTime { .. } => Family::Temporal,
            SqlType::Timestamp { .. } => Family::Moment,
            SqlType::Bit { .. } => Family::Bits,
            SqlType::Enum { text, .. } | SqlType::Set { text, .. } => Family::Labels(text),
            SqlType::Char { text, .. }
            | SqlType::VarChar { text, .. }
            | SqlType::Text { text, .. } => Family::Text(text),
            SqlType::Json(text) => Family::Json(text),
            SqlType::Document => Family::Document,
            SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Blob { .. } => {
                Family::Bytes
            }
            SqlType::Geometry { .. } | SqlType::Vector { .. } => Family::CheckedBytes,
            SqlType::Uuid | SqlType::Inet4 | SqlType::Inet6 => Family::Formatted,
            SqlType::Opaque { is_text: true, .. } => Family::OpaqueText,
            SqlType::Opaque { is_text: false, .. } => Family::OpaqueBytes,
        }
    }

    /// Character set of its stored values, where they are text. Labels are not stored.
    pub fn charset(&self) -> Option<Charset> {
        use Family::*;
        match self.family() {
            Text(text) | Json(text) => Some(text.charset),
            Integer | Decimal | Real | Year | Temporal | Moment | Bits => None,
            Labels(_) | Document | Bytes | CheckedBytes | Formatted => None,
            OpaqueText | OpaqueBytes => None,
        }
    }

    /// Collation that orders its values in an index; None where numbers or bytes are ordered.
    pub fn collation(&self) -> Option<&str> {
        use Family::*;
        match self.family() {
            Text(text) | Json(text) => Some(&text.collation),
            Integer | Decimal | Real | Year | Temporal | Moment | Bits => None,
            Labels(_) | Document | Bytes | CheckedBytes | Formatted => None,
            OpaqueText | OpaqueBytes => None,
        }
    }

    /// The character set and the collation of its labels.
    pub fn label_text(&self) -> Option<&TextType> {
        use Family::*;
        match self.family() {
            Labels(text) => Some(text),
            Integer | Decimal | Real | Year | Temporal | Moment | Bits => None,
            Text(_) | Json(_) | Document | Bytes | CheckedBytes | Formatted => None,
            OpaqueText | OpaqueBytes => None,
        }
    }

    /// True if the server reads its fields by characters, by its `Field::binary`.
    pub fn is_text(&self) -> bool {
        use Family::*;
        match self.family() {
            Text(text) | Labels(text) => text.charset != Charset::Binary,
            Json(_) | Document | Formatted | OpaqueText => true,
            Integer | Decimal | Real | Year | Temporal | Moment | Bits => false,
            Bytes | CheckedBytes | OpaqueBytes => false,
        }
    }

    /// True if [`crate::Converter`] knows its stored form; `is_zone_known` tells if the time zone
    /// is known.
    pub fn is_convertible(&self, is_zone_known: bool) -> bool {
        use Family::*;
        match self.family() {
            Moment => is_zone_known,
            OpaqueText | OpaqueBytes => false,
            Integer | Decimal | Real | Year | Temporal | Bits => true,
            Labels(_) | Text(_) | Json(_) | Document | Bytes | CheckedBytes | Formatted => true,
        }
    }

    /// Most bytes of a value of a BLOB, TEXT, JSON, GEOMETRY or VECTOR column, which may lie off the page;
    /// None for other types.
    pub fn long_bytes_max(&self) -> Option<u32> {
        match self {
            SqlType::Text { bytes_max, .. } | SqlType::Blob { bytes_max } => {
                Some(u32::try_from(*bytes_max).unwrap_or(u32::MAX))
            }
            SqlType::Vector { dimensions } => Some(DIMENSION_BYTES.saturating_mul(*dimensions)),
            SqlType::Json(_) | SqlType::Document | SqlType::Geometry { .. } => Some(u32::MAX),
            SqlType::Integer { .. }
            | SqlType::Decimal { .. }
            | SqlType::Float { .. }
            | SqlType::Double { .. }
            | SqlType::Date
            | SqlType::Time { .. }
            | SqlType::DateTime { .. }
            | SqlType::Timestamp { .. }
            | SqlType::Year
            | SqlType::Bit { .. }
            | SqlType::Enum { .. }
            | SqlType::Set { .. }
            | SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Uuid
            | SqlType::Inet4
            | SqlType::Inet6
            | SqlType::Opaque { .. } => None,
        }
    }
}

/// The type as a CREATE TABLE would say it, without labels and collations.
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unsigned = |yes: &bool| if *yes { " UNSIGNED" } else { "" };
        match self {
            SqlType::Integer { bytes, unsigned: u } => {
                let name = match bytes {
                    1 => "TINYINT",
                    2 => "SMALLINT",
                    3 => "MEDIUMINT",
                    4 => "INT",
                    _ => "BIGINT",
                };
                write!(f, "{name}{}", unsigned(u))
            }
            SqlType::Decimal { precision, scale, unsigned: u } => {
                write!(f, "DECIMAL({precision},{scale}){}", unsigned(u))
            }
            SqlType::Float { unsigned: u, digits } => real(f, "FLOAT", *digits, unsigned(u)),
            SqlType::Double { unsigned: u, digits } => real(f, "DOUBLE", *digits, unsigned(u)),
            SqlType::Date => f.write_str("DATE"),
            SqlType::Time { digits } => fraction(f, "TIME", *digits),
            SqlType::DateTime { digits } => fraction(f, "DATETIME", *digits),
            SqlType::Timestamp { digits } => fraction(f, "TIMESTAMP", *digits),
            SqlType::Year => f.write_str("YEAR"),
            SqlType::Bit { bits } => write!(f, "BIT({bits})"),
            SqlType::Enum { .. } => f.write_str("ENUM"),
            SqlType::Set { .. } => f.write_str("SET"),
            SqlType::Char { chars, .. } => write!(f, "CHAR({chars})"),
            SqlType::VarChar { chars, .. } => write!(f, "VARCHAR({chars})"),
            SqlType::Binary { bytes } => write!(f, "BINARY({bytes})"),
            SqlType::VarBinary { bytes } => write!(f, "VARBINARY({bytes})"),
            SqlType::Text { bytes_max, .. } => write!(f, "{}TEXT", large(*bytes_max)),
            SqlType::Blob { bytes_max } => write!(f, "{}BLOB", large(*bytes_max)),
            SqlType::Uuid => f.write_str("UUID"),
            SqlType::Inet4 => f.write_str("INET4"),
            SqlType::Inet6 => f.write_str("INET6"),
            SqlType::Json(_) | SqlType::Document => f.write_str("JSON"),
            SqlType::Geometry { kind, srid } => {
                f.write_str(kind.map_or("GEOMETRY", ShapeKind::name))?;
                srid.map_or(Ok(()), |srid| write!(f, " SRID {srid}"))
            }
            SqlType::Vector { dimensions } => write!(f, "VECTOR({dimensions})"),
            SqlType::Opaque { declared, .. } => f.write_str(declared),
        }
    }
}

fn real(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    digits: Option<(u8, u8)>,
    unsigned: &str,
) -> fmt::Result {
    match digits {
        Some((m, d)) => write!(f, "{name}({m},{d}){unsigned}"),
        None => write!(f, "{name}{unsigned}"),
    }
}

fn fraction(f: &mut fmt::Formatter<'_>, name: &str, digits: u8) -> fmt::Result {
    match digits {
        0 => f.write_str(name),
        n => write!(f, "{name}({n})"),
    }
}

fn large(bytes_max: u64) -> &'static str {
    match bytes_max {
        0..=0xff => "TINY",
        0x100..=0xffff => "",
        0x1_0000..=0xff_ffff => "MEDIUM",
        _ => "LONG",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(charset: Charset) -> TextType {
        TextType { charset, collation: "a_collation".to_owned() }
    }

    #[test]
    fn types_say_what_their_values_are() {
        let latin1 = SqlType::Char { chars: 3, text: text(Charset::Latin1) };
        assert_eq!(
            (latin1.charset(), latin1.collation()),
            (Some(Charset::Latin1), Some("a_collation"))
        );
        assert!(latin1.is_text() && latin1.label_text().is_none());
        let bytes = SqlType::VarChar { chars: 3, text: text(Charset::Binary) };
        assert!(!bytes.is_text());
        let label = SqlType::Enum { labels: Vec::new(), text: text(Charset::Utf8mb4) };
        assert!(label.is_text() && label.label_text().is_some());
        assert_eq!((label.charset(), label.collation()), (None, None));
        assert_eq!(SqlType::json().collation(), Some("utf8mb4_bin"));
        assert!(SqlType::Uuid.is_text() && SqlType::Uuid.charset().is_none());
    }

    #[test]
    fn a_moment_needs_a_zone_and_the_unknown_a_server() {
        assert!(SqlType::DateTime { digits: 0 }.is_convertible(false));
        assert!(!SqlType::Timestamp { digits: 0 }.is_convertible(false));
        assert!(SqlType::Timestamp { digits: 0 }.is_convertible(true));
        let vector = SqlType::Opaque { declared: "vector(3)".to_owned(), is_text: true };
        assert!(vector.is_text() && !vector.is_convertible(true));
        assert!(SqlType::Document.is_text() && SqlType::Document.is_convertible(true));
    }

    #[test]
    fn only_blobs_and_texts_are_long() {
        assert_eq!(SqlType::Blob { bytes_max: 255 }.long_bytes_max(), Some(255));
        assert_eq!(SqlType::json().long_bytes_max(), Some(u32::MAX));
        assert_eq!(SqlType::VarBinary { bytes: 60_000 }.long_bytes_max(), None);
    }
}
