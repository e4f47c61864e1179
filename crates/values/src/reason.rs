//! Why the server would refuse a value.

use std::fmt;

use face::option::{CHARSET, TIME_ZONE};

use crate::sql_type::SqlType;

/// Characters of a refused value that a message shows.
const VALUE_CHARS_MAX: usize = 64;

/// Why a value cannot be stored: what LOAD DATA under strict mode answers with an error.
///
/// Two words, no heap: the text it speaks about stays with the caller, who joins both by
/// [`Reason::explain`]. `Display` alone gives the part after the value: `is out of range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// No number, or something other than white space after it.
    NotANumber,
    /// A number, date or time outside what the type or its declaration holds.
    OutOfRange,
    /// No date or time in a form the server reads, or rubbish after it.
    NotATime,
    /// A date with zero parts that `sql_mode` or the type forbids.
    ZeroDate,
    /// A local time that clocks skip when daylight saving time begins.
    SkippedTime,
    /// More characters, bytes or bits than the column has; only white space may be cut off.
    TooLong,
    /// A byte that is no character in the charset of the file.
    InvalidCharacter {
        /// Offset in the value, bytes.
        offset: u32,
    },
    /// A character that the charset of the column lacks.
    Unconvertible {
        /// Offset in the value, bytes.
        offset: u32,
    },
    /// No text of a UUID or an address.
    Malformed,
    /// Not written as the values of its field were said to be.
    NotInFormat,
    /// A typed value with digits, or a part, that the column would drop.
    Inexact,
    /// An early day or time that Spark wrote in its old calendar.
    OldCalendar,
    /// No geometry of two dimensions in well-known binary.
    NoGeometry,
    /// No geometry of the column's kind in the server's form.
    NotAGeometry,
    /// A geometry with another SRID than the column's.
    OtherSrid {
        /// Its SRID.
        srid: u32,
    },
    /// More than 100 collections of geometries in each other.
    TooDeepGeometry,
    /// No finite floats of 4 bytes each.
    NotAVector,
    /// An error of a formula in a cell, such as #REF!.
    ErrorCell,
    /// A number in a cell with a format of dates that no date has, or another text for one.
    NoDate,
    /// A formula in a cell whose value the file does not have.
    Unstored,
    /// A field that a record lacks, where the column's DEFAULT is not one value for all rows.
    NoDefault,
    /// A time that the clocks of the session's time zone show twice, where it can only be told as they
    /// show it.
    ShownTwice,
    /// A moment at such a time. Its text is in UTC, or has a zone of its own.
    MomentShownTwice,
    /// Neither a label of the ENUM or SET nor its number.
    NotALabel,
    /// Not what the server reads as JSON.
    NotJson,
    /// A map that has a key twice, which JSON cannot have.
    EqualKeys,
    /// More than 100 JSON arrays and objects in each other.
    TooDeep,
    /// A JSON key that is longer than MySQL can store.
    KeyTooLong,
    /// Bytes for a JSON column: the input has no character set.
    BinaryJson,
    /// A character sequence whose sort weight in the collation of a key is not known.
    NoSortWeight,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotANumber => f.write_str("is not a number"),
            Reason::OutOfRange => f.write_str("is out of range"),
            Reason::NotATime => f.write_str("is not a date or time"),
            Reason::ZeroDate => f.write_str("is a zero date, which sql_mode or the type forbids"),
            Reason::SkippedTime => f.write_str("does not exist in the time zone (daylight saving)"),
            Reason::TooLong => f.write_str("is too long"),
            Reason::InvalidCharacter { offset } => {
                let latin1 = CHARSET.with("latin1");
                write!(
                    f,
                    "has bytes that are invalid in the input's charset, at byte {offset} ({latin1} reads \
                     Western European files)"
                )
            }
            Reason::Unconvertible { offset } => {
                write!(f, "has a character at byte {offset} that the column's charset lacks")
            }
            Reason::Malformed => f.write_str("is not a UUID or an address"),
            Reason::NotInFormat => f.write_str("does not match the column's format"),
            Reason::Inexact => f.write_str("cannot be stored without loss"),
            Reason::OldCalendar => f.write_str(
                "is a date of the old calendar; have Spark write the file with \
                 spark.sql.parquet.datetimeRebaseModeInWrite=CORRECTED",
            ),
            Reason::NoGeometry => {
                f.write_str("is not a geometry of two dimensions in well-known binary")
            }
            Reason::NotAGeometry => f.write_str(
                "is not such a geometry as the server stores it: 4 bytes of the SRID and well-known binary, both \
                 with the lowest byte first",
            ),
            Reason::OtherSrid { srid } => write!(f, "has SRID {srid}, not the column's"),
            Reason::TooDeepGeometry => {
                f.write_str("has more than 100 collections of geometries in each other")
            }
            Reason::NotAVector => {
                f.write_str("is not a vector: finite floats of 4 bytes each, the lowest byte first")
            }
            Reason::ErrorCell => f.write_str("is an error of a formula"),
            Reason::NoDate => f.write_str("has the format of a date or time and is none"),
            Reason::Unstored => f.write_str(
                "is a formula whose value the file does not have; open the file in Excel and save it",
            ),
            Reason::NoDefault => {
                f.write_str("is missing, and the DEFAULT of the column is not one value")
            }
            Reason::ShownTwice => write!(
                f,
                "occurs twice in the session's time zone (end of daylight saving); {} has no such \
                 hour",
                TIME_ZONE.with("+00:00")
            ),
            Reason::MomentShownTwice => write!(
                f,
                "(in UTC, if it names no zone) is in the hour that occurs twice in the session's time zone (end of \
                 daylight saving); {} has no such hour",
                TIME_ZONE.with("+00:00")
            ),
            Reason::NotALabel => f.write_str("is not a label of the ENUM or SET column"),
            Reason::NotJson => f.write_str("is not valid JSON"),
            Reason::EqualKeys => f.write_str("has a key twice"),
            Reason::TooDeep => f.write_str("has JSON of more than 100 levels"),
            Reason::KeyTooLong => f.write_str("has a JSON key of more than 65535 bytes"),
            Reason::BinaryJson => write!(
                f,
                "has no character set, which JSON needs; {} tells it",
                CHARSET.with("utf8mb4")
            ),
            Reason::NoSortWeight => f.write_str("has no known sort order in the key's collation"),
        }
    }
}

impl Reason {
    /// The same of a text with so many bytes more before the value.
    pub fn moved(self, bytes: usize) -> Reason {
        let moved = |offset: u32| offset.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        match self {
            Reason::InvalidCharacter { offset } => {
                Reason::InvalidCharacter { offset: moved(offset) }
            }
            Reason::Unconvertible { offset } => Reason::Unconvertible { offset: moved(offset) },
            other => other,
        }
    }

    /// One sentence fragment with value and type: `"12,50" is not DECIMAL(10,2)`.
    /// The value is cut to 64 characters.
    pub fn explain<'a>(self, value: &'a [u8], sql_type: &'a SqlType) -> Explained<'a> {
        Explained { reason: self, value, sql_type }
    }
}

/// A reason together with the value and type it is about. See [`Reason::explain`].
#[derive(Clone, Copy, Debug)]
pub struct Explained<'a> {
    reason: Reason,
    value: &'a [u8],
    sql_type: &'a SqlType,
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        // 4 bytes a character at most: never looks at more of a long value than it shows.
        let head = &self.value[..self.value.len().min(4 * (VALUE_CHARS_MAX + 1))];
        let mut shown = 0;
        let mut cut = head.len() < self.value.len();
        'chunks: for chunk in head.utf8_chunks() {
            for character in chunk.valid().chars() {
                if shown == VALUE_CHARS_MAX {
                    cut = true;
                    break 'chunks;
                }
                shown += 1;
                write!(f, "{}", character.escape_debug())?;
            }
            for byte in chunk.invalid() {
                if shown == VALUE_CHARS_MAX {
                    cut = true;
                    break 'chunks;
                }
                shown += 1;
                write!(f, "\\x{byte:02x}")?;
            }
        }
        f.write_str(if cut { "...\" " } else { "\" " })?;
        match self.reason {
            Reason::NotANumber | Reason::NotATime | Reason::Malformed => {
                write!(f, "is not {}", self.sql_type)
            }
            Reason::NotALabel => write!(f, "is not a value of {}", self.sql_type),
            // The format says more than the type.
            Reason::NotInFormat => write!(f, "{}", self.reason),
            reason => write!(f, "{reason}: {}", self.sql_type),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_reads_as_one_sentence() {
        let decimal = SqlType::Decimal { precision: 10, scale: 2, unsigned: false };
        let text = Reason::NotANumber.explain(b"12,50", &decimal).to_string();
        assert_eq!(text, r#""12,50" is not DECIMAL(10,2)"#);
        let int = SqlType::Integer { bytes: 4, unsigned: true };
        let text = Reason::OutOfRange.explain(b"-1", &int).to_string();
        assert_eq!(text, r#""-1" is out of range: INT UNSIGNED"#);
        let latin1 = Reason::InvalidCharacter { offset: 3 }.to_string();
        assert!(
            latin1.ends_with("at byte 3 (--charset latin1 reads Western European files)"),
            "{latin1}"
        );
    }

    #[test]
    fn a_long_value_is_cut_and_bad_bytes_are_escaped() {
        let value = [b"a\xff\n".as_slice(), &[b'x'; 200]].concat();
        let text = Reason::TooLong.explain(&value, &SqlType::Year).to_string();
        assert_eq!(text, format!(r#""a\xff\n{}..." is too long: YEAR"#, "x".repeat(61)));
    }
}
