//! Values as people write them, to text that the server reads: `1.234,50 %`, `31.12.2026`, `yes`.
//!
//! A format is chosen for a field before the first row, and says of each text what it means or that
//! it is not in it. Nothing is guessed: `1.23` is no number with a decimal comma, since of three
//! digits to a group two are missing. An empty text is left to the column.

#![forbid(unsafe_code)]

mod binary;
mod clock;
mod exact;
mod number;
mod pattern;
mod wkt;

use self::exact::ExactRule;
pub use self::exact::{decimal_digits, is_exact_double, is_exponential};
use self::number::Number;
use self::pattern::Pattern;
use self::wkt::Shapes;
use values::Reason;
use values::Value;
use values::charset::Charset;
use values::sql_type::{Family, SqlType};

/// Words of formats that are not patterns.
const WORDS: &str =
    "trim, exact, decimal-comma, decimal-point, percent, yes-no, iso, hex, base64, wkt, null:TEXT";
/// Begins a word whose rest is a text of NULL.
const NULL: &str = "null:";
/// Words for yes and no.
const YES: [&[u8]; 6] = [b"yes", b"true", b"y", b"t", b"on", b"1"];
const NO: [&[u8]; 6] = [b"no", b"false", b"n", b"f", b"off", b"0"];

/// How the texts of a field are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Its words.
    text: String,
    form: Form,
    /// True if texts that the column would change are refused.
    is_exact: bool,
    /// The rule by which they are, for the column that it is for.
    exact: Option<ExactRule>,
    /// Texts of NULL.
    nulls: Vec<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// As the server reads them.
    Plain,
    /// The same without blanks at their ends.
    Trimmed,
    Number(Number),
    /// By a pattern, as STR_TO_DATE has it.
    Pattern(Pattern),
    /// ISO 8601, perhaps with an offset from UTC.
    Iso,
    /// Words for 1 and 0; of a BIT column the bytes of these.
    YesNo {
        is_bit: bool,
    },
    /// Hexadecimal digits of bytes.
    Hex,
    /// Base64 of bytes.
    Base64,
    /// Well-known text of shapes.
    Wkt(Shapes),
}

/// The meaning of a text, in the given buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The text in the buffer.
    Text,
    /// NULL.
    Null,
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    Moment(i64),
    /// Nothing: the text, as it is, is in the buffer.
    NotInFormat,
    /// A value that the column would change; the text is in the buffer.
    Inexact,
}

impl Meaning {
    /// The value, of the buffer that the meaning was written to.
    #[inline]
    pub fn value(self, text: &[u8]) -> Value<'_> {
        match self {
            Meaning::Text => Value::Bytes(text),
            Meaning::Null => Value::Null,
            Meaning::Moment(micros) => Value::Timestamp(micros),
            Meaning::NotInFormat => Value::Malformed(text),
            Meaning::Inexact => Value::Refused { text, reason: Reason::Inexact },
        }
    }
}

impl Form {
    fn of_word(word: &str) -> Result<Form, String> {
        Ok(match word {
            "yes-no" => Form::YesNo { is_bit: false },
            "iso" => Form::Iso,
            "hex" => Form::Hex,
            "base64" => Form::Base64,
            "wkt" => Form::Wkt(Shapes::All),
            pattern if pattern.contains('%') => Form::Pattern(Pattern::parse(pattern)?),
            word => {
                return Err(format!(
                    "`{word}` is not a format: {WORDS}, or a pattern such as %d.%m.%Y, is expected"
                ));
            }
        })
    }
}

impl Format {
    /// Reads words joined by `+`: `trim`, `percent+decimal-comma`, `%d.%m.%Y`, `null:NA`.
    ///
    /// Errors: what is wrong, as the end of a sentence.
    pub fn parse(text: &str) -> Result<Format, String> {
        Format::in_charset(text, Charset::Utf8mb4)
    }

    /// The same for a column, of a file in this character set.
    ///
    /// Errors: also a format that loses values of such a column, or makes others of them.
    pub fn of_column(text: &str, sql_type: &SqlType, file: Charset) -> Result<Format, String> {
        let file = if file == Charset::Binary { Charset::Utf8mb4 } else { file };
        let mut format = Format::in_charset(text, file)?;
        let family = sql_type.family();
        let is_time = matches!(sql_type, SqlType::Time { .. });
        match &mut format.form {
            Form::YesNo { is_bit } => *is_bit = family == Family::Bits,
            Form::Hex | Form::Base64 => {
                use Family::{Bits, Bytes, CheckedBytes, OpaqueBytes};
                if !matches!(family, Bits | Bytes | CheckedBytes | OpaqueBytes) {
                    return Err(format!(
                        "hex and base64 are formats of binary columns; the column is {sql_type}"
                    ));
                }
            }
            Form::Wkt(shapes) => {
                *shapes = Shapes::of_column(sql_type).ok_or_else(|| {
                    format!("wkt is the format of GEOMETRY columns; the column is {sql_type}")
                })?;
            }
            Form::Pattern(pattern) => match family {
                Family::Temporal if is_time && pattern.has_date => {
                    return Err(format!("the pattern has a date; the column is {sql_type}"));
                }
                Family::Temporal | Family::Moment if !is_time && !pattern.has_date => {
                    return Err(format!("the pattern has no date; the column is {sql_type}"));
                }
                _ => {}
            },
            Form::Plain | Form::Trimmed | Form::Number(_) | Form::Iso => {}
        }
        format.exact = ExactRule::of(sql_type).filter(|_| format.is_exact);
        Ok(format)
    }

    fn in_charset(text: &str, file: Charset) -> Result<Format, String> {
        let mut number: Option<Number> = None;
        let (mut forms, mut is_trimmed, mut nulls) = (Vec::new(), false, Vec::new());
        let mut is_exact = false;
        for word in text.split('+') {
            match word {
                "trim" => is_trimmed = true,
                "exact" => is_exact = true,
                "decimal-comma" | "decimal-point" | "percent" => {
                    let number = number.get_or_insert_with(|| Number::new(file));
                    number.is_percent |= word == "percent";
                    if word == "decimal-comma" {
                        number.decimal = b',';
                    }
                }
                word => match word.strip_prefix(NULL) {
                    Some(null) => nulls.push(null.as_bytes().to_vec()),
                    None => forms.push(Form::of_word(word)?),
                },
            }
        }
        forms.extend(number.map(Form::Number));
        if forms.len() > 1 {
            return Err("two words of the format exclude each other".to_owned());
        }
        let form = match (forms.pop(), is_trimmed) {
            (Some(form), _) => form,
            (None, true) => Form::Trimmed,
            (None, false) => Form::Plain,
        };
        Ok(Format { text: text.to_owned(), form, is_exact, exact: None, nulls })
    }

    /// True if values may be moments, and not only times of a clock.
    pub fn has_moments(&self) -> bool {
        self.form == Form::Iso
    }

    /// Its words, as they were parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if blanks at the ends of a text count for nothing.
    pub fn ignores_blanks(&self) -> bool {
        self.form != Form::Plain
    }

    /// True for a text that is its own meaning, as far as a quick check shows.
    #[inline]
    pub fn is_as_written(&self, text: &[u8]) -> bool {
        self.exact.is_some_and(|rule| rule.keeps(text))
            && matches!(self.form, Form::Plain | Form::Trimmed)
            && self.nulls.iter().all(|null| null != text)
    }

    /// True for a text of the server's that the column would change.
    #[inline]
    pub fn refuses(&self, text: &[u8]) -> bool {
        self.exact.is_some_and(|rule| rule.refuses(text.trim_ascii()))
    }

    /// Writes what a text means to `out` (overwritten).
    pub fn read(&self, text: &[u8], out: &mut Vec<u8>) -> Meaning {
        out.clear();
        let trimmed = text.trim_ascii();
        if self.nulls.iter().any(|null| null == trimmed) {
            return Meaning::Null;
        }
        let is_known = match &self.form {
            Form::Plain => {
                out.extend_from_slice(text);
                true
            }
            _ if trimmed.is_empty() => true,
            Form::Trimmed => {
                out.extend_from_slice(trimmed);
                true
            }
            Form::Number(number) => number.read(trimmed, out),
            Form::Pattern(pattern) => pattern.read(trimmed, out),
            Form::YesNo { is_bit } => yes_no(trimmed, *is_bit, out),
            Form::Hex => binary::read_hex(trimmed, out),
            Form::Base64 => binary::read_base64(trimmed, out),
            Form::Wkt(shapes) => shapes.read(trimmed, out),
            Form::Iso => match clock::read_iso(trimmed, out) {
                Some(meaning) => return meaning,
                None => false,
            },
        };
        if is_known {
            return if self.refuses(out) { Meaning::Inexact } else { Meaning::Text };
        }
        out.clear();
        out.extend_from_slice(text);
        Meaning::NotInFormat
    }
}

fn yes_no(text: &[u8], is_bit: bool, out: &mut Vec<u8>) -> bool {
    let is_one_of = |words: &[&[u8]]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    let value = match () {
        () if is_one_of(&YES) => 1,
        () if is_one_of(&NO) => 0,
        () => return false,
    };
    out.push(if is_bit { value } else { b'0' + value });
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(format: &str, text: &str) -> Option<String> {
        let mut out = b"before".to_vec();
        match Format::parse(format).unwrap().read(text.as_bytes(), &mut out) {
            Meaning::Text => Some(String::from_utf8(out).unwrap()),
            Meaning::Moment(micros) => Some(format!("@{micros}")),
            Meaning::Null => Some("NULL".to_owned()),
            Meaning::Inexact => None,
            Meaning::NotInFormat => {
                assert_eq!(out, text.as_bytes());
                None
            }
        }
    }

    #[test]
    fn texts_mean_what_their_format_says() {
        for (format, text, meaning) in [
            ("trim", "  a b\t", Some("a b")),
            ("trim", "   ", Some("")),
            ("null:NA", "NA", Some("NULL")),
            ("null:NA", " N/A ", Some(" N/A ")),
            ("null:NA", "", Some("")),
            ("null:", "", Some("NULL")),
            ("null:+null:\\N+decimal-comma", "\\N", Some("NULL")),
            ("null:+null:\\N+decimal-comma", "1,5", Some("1.5")),
            ("trim+null:-", " - ", Some("NULL")),
            ("decimal-comma", "12,50", Some("12.50")),
            ("decimal-comma", " -1.234.567,8 ", Some("-1234567.8")),
            ("decimal-comma", "1 234", Some("1234")),
            ("decimal-comma", "1\u{a0}234,5", Some("1234.5")),
            ("decimal-comma", "1'234", Some("1234")),
            ("decimal-comma", "1.234", Some("1234")),
            ("decimal-comma", "+,5", Some(".5")),
            ("decimal-comma", "1,5e-3", Some("1.5e-3")),
            ("decimal-comma", "1.23", None),
            ("decimal-comma", "1.2345", None),
            ("decimal-comma", "1234.567", None),
            ("decimal-comma", "1.234 567", None),
            ("decimal-comma", "1,2,3", None),
            ("decimal-comma", "12.", None),
            ("decimal-comma", "1,5e", None),
            ("decimal-comma", "x", None),
            ("decimal-comma", "-", None),
            ("decimal-comma", ",", None),
            ("decimal-comma", "5 %", None),
            ("decimal-point", "1,234.50", Some("1234.50")),
            ("decimal-point", "1,5", None),
            ("decimal-point", "1,23", None),
            ("decimal-point", "1,234,56", None),
            ("decimal-point", "1,234 567", None),
            ("decimal-point", "-1,234,567", Some("-1234567")),
            ("decimal-point", "1\u{202f}234\u{202f}567.5", Some("1234567.5")),
            ("decimal-point", "1\u{2019}234", Some("1234")),
            ("decimal-point", ".5", Some(".5")),
            ("percent", "12.5 %", Some("12.5")),
            ("percent", "7%", Some("7")),
            ("percent", "7", Some("7")),
            ("percent+decimal-comma", "1.012,5%", Some("1012.5")),
            ("percent", "%", None),
            ("yes-no", "YES", Some("1")),
            ("yes-no", "f", Some("0")),
            ("yes-no", "FALSE", Some("0")),
            ("yes-no", "True", Some("1")),
            ("yes-no", "T", Some("1")),
            ("yes-no", "maybe", None),
            ("hex", " \\x3132 ", Some("12")),
            ("hex", "0x3a", Some(":")),
            ("hex", "0x3", None),
            ("base64", "Zm8=", Some("fo")),
            ("base64+null:-", "-", Some("NULL")),
            ("base64", "Zm8*", None),
            ("%d.%m.%Y", "31.12.2026", Some("2026-12-31")),
            ("%d.%m.%Y", "1.2.2026", Some("2026-02-01")),
            ("%d.%m.%Y", "01.02.03", None),
            ("%d.%m.%Y", "31.12.2026 10:00", None),
            ("%m/%d/%Y", "12/31/2026", Some("2026-12-31")),
            ("%m/%d/%Y", "31-12-2026", None),
            ("%Y%m%d%H%i%s", "20261231235958", Some("2026-12-31 23:59:58")),
            ("%d.%m.%y %H:%i", "31.12.70 9:05", Some("1970-12-31 09:05:00")),
            ("%d.%m.%y %H:%i", "31.12.69 9:05", Some("2069-12-31 09:05:00")),
            ("%d-%b-%Y", "03-jan-2026", Some("2026-01-03")),
            ("%d-%b-%Y", "03-jän-2026", None),
            ("%H:%i:%s.%f", "10:11:12.5", Some("10:11:12.5")),
            ("%H:%i:%s.%f", "10:11:12.", None),
            ("%H:%i", "24:00", None),
            ("%H:%i", "9:60", None),
            ("%m/%d/%Y %h:%i:%s %p", "6/13/2018 1:05:09 PM", Some("2018-06-13 13:05:09")),
            ("%m/%d/%Y %h:%i:%s %p", "6/13/2018  12:05:09 am", Some("2018-06-13 00:05:09")),
            ("%m/%d/%Y %r", "6/13/2018 1:05:09\u{202f}PM", Some("2018-06-13 13:05:09")),
            ("%m/%d/%Y %h:%i %p", "6/13/2018 13:05 PM", None),
            ("%m/%d/%Y %h:%i %p", "6/13/2018 0:05 AM", None),
            ("%m/%d/%Y %h:%i %p", "6/13/2018 1:05", None),
            ("%m/%d/%Y %h:%i %p", "6/13/2018 1:05PM", None),
            ("%b %e %Y %l:%i%p", "Jun  3 2018 12:05PM", Some("2018-06-03 12:05:00")),
            ("%p %I", "PM 1", Some("13:00:00")),
            ("%T", "9:05:07", Some("09:05:07")),
            ("%a, %d %b %Y %T", "Fri, 27 Nov 2026 09:05:07", Some("2026-11-27 09:05:07")),
            ("%W %e. %M %Y", "Friday 27.November 2026", None),
            ("%D %M %Y", "1st March 2026", Some("2026-03-01")),
            ("%D %M %Y", "1xx March 2026", None),
            ("%Y-%j", "2024-366", Some("2024-12-31")),
            ("%Y-%j", "2026-366", None),
            ("%Y%j", "2026060", Some("2026-03-01")),
            ("%Y-%m-%d", "2026-13-01", None),
            ("%Y-%m-%d", "2026-12-32", None),
            ("iso", "2026-12-31", Some("2026-12-31")),
            ("iso", "2026-12-31T10:00:00", Some("2026-12-31 10:00:00")),
            ("iso", "2026-12-31 10:00", Some("2026-12-31 10:00:00")),
            ("iso", "2026-12-31T10:00:00.123456789", Some("2026-12-31 10:00:00.123456789")),
            ("iso", "1970-01-01T00:00:01Z", Some("@1000000")),
            ("iso", "1970-01-01T02:00:00.5+02:00", Some("@500000")),
            ("iso", "1969-12-31T19:00-0500", Some("@0")),
            ("iso", "2026-02-30T10:00:00Z", None),
            ("iso", "2026-12-31T25:00:00Z", None),
            ("iso", "31.12.2026", None),
            ("iso", "2026-12-31Z", None),
        ] {
            assert_eq!(read(format, text).as_deref(), meaning, "{format}: {text:?}");
        }
    }

    #[test]
    fn what_is_no_format_is_said() {
        for wrong in [
            "",
            "comma",
            "iso+yes-no",
            "percent+iso",
            "hex+base64",
            "%d.%m",
            "%q",
            "%d %Y %m %d",
            "%i",
            "%",
            "%h:%i",
            "%H:%i %p",
            "%h:%i %p %p",
            "%j",
            "%Y %j %m %d",
            "%p",
            "%T %H",
        ] {
            assert!(Format::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_format_fits_its_column() {
        let stamp = SqlType::Timestamp { digits: 0 };
        let (time, day) = (SqlType::Time { digits: 0 }, SqlType::Date);
        let blob = SqlType::Blob { bytes_max: 255 };
        let point = SqlType::Opaque { declared: "point".to_owned(), is_text: false };
        for (format, sql_type, fits) in [
            ("%H:%i", &time, true),
            ("%H:%i", &day, false),
            ("%H:%i", &stamp, false),
            ("%Y-%m-%d %H:%i", &time, false),
            ("%Y-%m-%d %H:%i", &stamp, true),
            ("%Y-%m-%d", &stamp, true),
            ("hex", &blob, true),
            ("hex", &SqlType::Bit { bits: 8 }, true),
            ("base64", &SqlType::json(), false),
            ("base64", &day, false),
            ("wkt", &point, true),
            ("hex", &point, true),
            ("wkt", &blob, false),
        ] {
            let format_of = Format::of_column(format, sql_type, Charset::Utf8mb4);
            assert_eq!(format_of.is_ok(), fits, "{format} of {sql_type}: {format_of:?}");
        }
    }

    #[test]
    fn marks_between_thousands_are_in_the_charset_of_the_file() {
        let double = SqlType::Double { unsigned: false, digits: None };
        let mut out = Vec::new();
        let mut read = |file, text: &[u8]| {
            let format = Format::of_column("decimal-comma", &double, file).unwrap();
            (format.read(text, &mut out) == Meaning::Text).then(|| out.clone())
        };
        assert_eq!(read(Charset::Latin1, b"1\xa0234,5").as_deref(), Some(&b"1234.5"[..]));
        assert_eq!(read(Charset::Latin1, b"1\x92234").as_deref(), Some(&b"1234"[..]));
        assert_eq!(read(Charset::Utf8mb4, b"1\xa0234,5"), None);
        assert_eq!(read(Charset::Binary, b"1\xc2\xa0234,5").as_deref(), Some(&b"1234.5"[..]));
    }

    #[test]
    fn bits_are_bytes() {
        let mut out = Vec::new();
        let bit = SqlType::Bit { bits: 1 };
        let format = Format::of_column("yes-no", &bit, Charset::Utf8mb4).unwrap();
        assert_eq!((format.read(b"no", &mut out), &out[..]), (Meaning::Text, &[0][..]));
        assert_eq!((format.read(b"yes", &mut out), &out[..]), (Meaning::Text, &[1][..]));
    }
}
