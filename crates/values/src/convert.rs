//! One column's converter: the text of a field to the bytes InnoDB keeps.

use std::sync::Arc;

use crate::bit::Bit;
use crate::clock_text::Dialect;
use crate::collation::Collation;
use crate::decimal::Decimal;
use crate::document::Document;
use crate::enumeration::{Enum, Set};
use crate::error::Error;
use crate::float::Real;
use crate::geometry::Geometry;
use crate::habits::Habits;
use crate::inet::{Inet4, Inet6};
use crate::integer::Integer;
use crate::json;
use crate::reason::Reason;
use crate::sql_mode::SqlMode;
use crate::sql_type::{Charset, SqlType, TextType};
use crate::temporal::{Date, DateTime, Stamp, Time};
use crate::text::{Limit, Pad, Text};
use crate::uuid::Uuid;
use crate::vector::Vector;
use crate::year::Year;
use crate::zone::Zone;

/// The settings that determine the meaning of a text, apart from the column.
#[derive(Clone, Debug)]
pub struct ConvertOptions {
    /// Charset the file is written in: LOAD DATA's `CHARACTER SET`.
    pub file_charset: Charset,
    /// Flags of `sql_mode` besides strict mode, which is always on.
    pub sql_mode: SqlMode,
    /// Zone of the local times that TIMESTAMP columns are given as.
    pub time_zone: Zone,
    /// The differences between servers.
    pub habits: Habits,
}

impl Default for ConvertOptions {
    fn default() -> ConvertOptions {
        ConvertOptions {
            file_charset: Charset::Utf8mb4,
            sql_mode: SqlMode::default(),
            time_zone: Zone::UTC,
            habits: Habits::default(),
        }
    }
}

/// Converts the fields of one column.
///
/// Bound once to type and options; then each field costs no allocation, and in its usual form
/// (plain digits, `YYYY-MM-DD`, ASCII) a few nanoseconds. One for each column and thread.
///
/// ```
/// use values::{ConvertOptions, Converter, SqlType};
///
/// let price = SqlType::Decimal { precision: 10, scale: 2, unsigned: false };
/// let mut converter = Converter::new("price", &price, &ConvertOptions::default())?;
/// let mut stored = Vec::new();
/// assert!(converter.convert(b"12.50", &mut stored).is_ok());
/// assert_eq!(stored, [0x80, 0, 0, 12, 50]);
///
/// let value = b"twelve";
/// let reason = converter.convert(value, &mut stored).unwrap_err();
/// assert_eq!(reason.explain(value, &price).to_string(), "\"twelve\" is not DECIMAL(10,2)");
/// # Ok::<(), values::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Converter {
    pub(crate) kind: Kind,
    /// Zone that moments are shown in.
    pub(crate) zone: Zone,
    /// The text of a typed value.
    pub(crate) scratch: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Integer(Integer),
    Decimal(Decimal),
    Real(Real),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    Stamp(Stamp),
    Year(Year),
    Bit(Bit),
    Enum(Enum),
    Set(Set),
    Text(Text),
    Uuid(Uuid),
    Inet4(Inet4),
    Inet6(Inet6),
    Json(Text),
    Document(Box<Document>),
    Geometry(Geometry),
    Vector(Vector),
}

impl Converter {
    /// Binds a converter to a column of this name and type.
    ///
    /// An ENUM or SET whose labels or texts have letters beyond ASCII needs its collation
    /// ([`Converter::with_collation`]) to see that they are the same; without it such a text is
    /// refused unless its bytes are those of the label.
    ///
    /// Errors: a type no server declares (`DECIMAL(70,2)`), or [`SqlType::Opaque`].
    pub fn new(
        column: &str,
        sql_type: &SqlType,
        options: &ConvertOptions,
    ) -> Result<Converter, Error> {
        Converter::with_collation(column, sql_type, options, None)
    }

    /// As [`Converter::new`], with the collation of an ENUM or SET. Other types do not look at it.
    pub fn with_collation(
        column: &str,
        sql_type: &SqlType,
        options: &ConvertOptions,
        collation: Option<Arc<Collation>>,
    ) -> Result<Converter, Error> {
        let file = options.file_charset;
        let mode = options.sql_mode.on(options.habits);
        let dialect = || Dialect::new(options.habits, &options.time_zone);
        let bad = || Error::BadType { column: column.to_owned(), declared: sql_type.to_string() };
        if !is_declarable(sql_type) {
            return Err(bad());
        }
        let kind = match sql_type {
            SqlType::Integer { bytes, unsigned } => {
                Kind::Integer(Integer::new(*bytes, *unsigned, file).with_habits(options.habits))
            }
            SqlType::Decimal { precision, scale, unsigned } => {
                let new = Decimal::new(*precision, *scale, *unsigned, file);
                Kind::Decimal(new.with_habits(options.habits))
            }
            SqlType::Float { unsigned, digits } => {
                Kind::Real(Real::new(true, *unsigned, *digits, file).with_habits(options.habits))
            }
            SqlType::Double { unsigned, digits } => {
                Kind::Real(Real::new(false, *unsigned, *digits, file).with_habits(options.habits))
            }
            SqlType::Date => Kind::Date(Date::new(mode).with_dialect(dialect(), mode)),
            SqlType::Time { digits } => {
                Kind::Time(Time::new(*digits, mode).with_dialect(dialect()))
            }
            SqlType::DateTime { digits } => {
                Kind::DateTime(DateTime::new(*digits, mode).with_dialect(dialect()))
            }
            SqlType::Timestamp { digits } => Kind::Stamp(
                Stamp::new(*digits, mode, &options.time_zone)
                    .with_habits(options.habits)
                    .with_dialect(dialect()),
            ),
            SqlType::Year => Kind::Year(Year::new(file).with_habits(options.habits)),
            SqlType::Bit { bits } => Kind::Bit(Bit::new(*bits)),
            SqlType::Enum { labels, text } => {
                let new = Enum::new(labels, text, file, collation);
                Kind::Enum(new.with_habits(options.habits))
            }
            SqlType::Set { labels, text } => Kind::Set(Set::new(labels, text, file, collation)),
            SqlType::Char { chars, text } => Kind::Text(char_text(*chars, text, file)),
            SqlType::VarChar { chars, text } => {
                let limit = Limit::Chars(*chars as usize);
                Kind::Text(Text::new(file, text.charset, limit, Pad::Nothing))
            }
            SqlType::Binary { bytes } => {
                let bytes = *bytes as usize;
                let pad = Pad::To { bytes, byte: 0 };
                Kind::Text(Text::new(file, Charset::Binary, Limit::Bytes(bytes), pad))
            }
            SqlType::VarBinary { bytes } => {
                let limit = Limit::Bytes(*bytes as usize);
                Kind::Text(Text::new(file, Charset::Binary, limit, Pad::Nothing))
            }
            SqlType::Text { bytes_max, text } => {
                Kind::Text(Text::new(file, text.charset, bytes_limit(*bytes_max), Pad::Nothing))
            }
            SqlType::Blob { bytes_max } => {
                Kind::Text(Text::new(file, Charset::Binary, bytes_limit(*bytes_max), Pad::Nothing))
            }
            SqlType::Uuid => Kind::Uuid(Uuid::new(file)),
            SqlType::Inet4 => Kind::Inet4(Inet4::new(file)),
            SqlType::Inet6 => Kind::Inet6(Inet6::new(file).with_habits(options.habits)),
            SqlType::Json(text) => {
                let limit = bytes_limit(u32::MAX.into());
                Kind::Json(Text::new(file, text.charset, limit, Pad::Nothing))
            }
            SqlType::Document => Kind::Document(Box::new(Document::new(file))),
            SqlType::Geometry { kind, srid } => Kind::Geometry(Geometry::new(*kind, *srid)),
            SqlType::Vector { dimensions } => Kind::Vector(Vector::new(*dimensions)),
            SqlType::Opaque { .. } => return Err(bad()),
        };
        let kind = match kind {
            Kind::Text(text) => Kind::Text(text.with_habits(options.habits)),
            other => other,
        };
        Ok(Converter { kind, zone: options.time_zone.clone(), scratch: Vec::new() })
    }

    /// Appends the stored form of `text` to `out`: exactly the bytes InnoDB keeps in the record
    /// after LOAD DATA under strict mode. `text` is the field in the file's charset, unquoted and
    /// unescaped; NULL does not come here.
    ///
    /// Errors: what LOAD DATA would refuse; then nothing was appended.
    #[inline]
    pub fn convert(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        match &mut self.kind {
            Kind::Integer(integer) => integer.convert(text, out),
            Kind::Decimal(decimal) => decimal.convert(text, out),
            Kind::Real(real) => real.convert(text, out),
            Kind::Date(date) => date.convert(text, out),
            Kind::Time(time) => time.convert(text, out),
            Kind::DateTime(datetime) => datetime.convert(text, out),
            Kind::Stamp(stamp) => stamp.convert(text, out),
            Kind::Year(year) => year.convert(text, out),
            Kind::Bit(bit) => bit.convert(text, out),
            Kind::Enum(labels) => labels.convert(text, out),
            Kind::Set(labels) => labels.convert(text, out),
            Kind::Text(string) => string.convert(text, out),
            Kind::Uuid(uuid) => uuid.convert(text, out),
            Kind::Inet4(inet) => inet.convert(text, out),
            Kind::Inet6(inet) => inet.convert(text, out),
            Kind::Json(string) => convert_json(string, text, out),
            Kind::Document(document) => document.convert(text, out),
            Kind::Geometry(geometry) => geometry.convert(text, out),
            Kind::Vector(vector) => vector.convert(text, out),
        }
    }
}

fn convert_json(string: &Text, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    let start = out.len();
    string.convert(text, out)?;
    if json::is_valid(&out[start..]) {
        return Ok(());
    }
    out.truncate(start);
    Err(Reason::NotJson)
}

fn char_text(chars: u32, text: &TextType, file: Charset) -> Text {
    let chars = chars as usize;
    if text.charset.char_bytes_min() > 1 {
        let pad = Pad::Wide { bytes: chars * text.charset.char_bytes_max() };
        return Text::new(file, text.charset, Limit::Chars(chars), pad);
    }
    // One byte a character at least: the length InnoDB never goes below.
    let byte = if text.charset == Charset::Binary { 0 } else { b' ' };
    Text::new(file, text.charset, Limit::Chars(chars), Pad::To { bytes: chars, byte })
}

fn bytes_limit(bytes_max: u64) -> Limit {
    Limit::Bytes(usize::try_from(bytes_max).unwrap_or(usize::MAX))
}

/// True if a server could have declared these sizes: the arithmetic relies on it.
fn is_declarable(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Integer { bytes, .. } => matches!(bytes, 1..=4 | 8),
        SqlType::Decimal { precision, scale, .. } => {
            (1..=65).contains(precision) && scale <= precision && *scale <= 38
        }
        SqlType::Float { digits, .. } | SqlType::Double { digits, .. } => {
            digits.is_none_or(|(m, d)| d <= m && d <= 30)
        }
        SqlType::Time { digits } | SqlType::DateTime { digits } | SqlType::Timestamp { digits } => {
            *digits <= 6
        }
        SqlType::Bit { bits } => (1..=64).contains(bits),
        SqlType::Enum { labels, .. } => labels.len() <= 65_535,
        SqlType::Set { labels, .. } => labels.len() <= 64,
        SqlType::Date
        | SqlType::Year
        | SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Text { .. }
        | SqlType::Blob { .. }
        | SqlType::Uuid
        | SqlType::Inet4
        | SqlType::Inet6
        | SqlType::Json(_)
        | SqlType::Document
        | SqlType::Geometry { .. }
        | SqlType::Vector { .. }
        | SqlType::Opaque { .. } => true,
    }
}
