//! Values as people write them, to text that the server reads: `1.234,50 %`, `31.12.2026`, `yes`.
//!
//! A format is chosen for a field before the first row, and says of each text what it means or that
//! it is not in it. Nothing is guessed: `1.23` is no number with a decimal comma, since of three
//! digits to a group two are missing. An empty text is left to the column.

mod clock;
mod number;
mod pattern;

use self::number::Number;
use self::pattern::Pattern;
use crate::value::Value;

/// Words of formats that are not patterns.
const WORDS: &str = "trim, decimal-comma, decimal-point, percent, yes-no, iso, null:TEXT";
/// Begins a word whose rest is a text of NULL.
const NULL: &str = "null:";
/// Words for yes and no.
const YES: [&[u8]; 6] = [b"yes", b"true", b"y", b"t", b"on", b"1"];
const NO: [&[u8]; 6] = [b"no", b"false", b"n", b"f", b"off", b"0"];

/// How the texts of a field are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    form: Form,
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
        }
    }
}

impl Format {
    /// Reads words joined by `+`: `trim`, `percent+decimal-comma`, `%d.%m.%Y`, `null:NA`. `is_bit` says that
    /// the column is a BIT.
    ///
    /// Errors: what is wrong, as the end of a sentence.
    pub fn parse(text: &str, is_bit: bool) -> Result<Format, String> {
        let mut number: Option<Number> = None;
        let (mut form, mut is_trimmed, mut nulls) = (None, false, Vec::new());
        for word in text.split('+') {
            if let Some(null) = word.strip_prefix(NULL) {
                nulls.push(null.as_bytes().to_vec());
                continue;
            }
            let other = match word {
                "trim" => {
                    is_trimmed = true;
                    continue;
                }
                "decimal-comma" => {
                    number.get_or_insert_default().decimal = b',';
                    continue;
                }
                "decimal-point" => {
                    number.get_or_insert_default();
                    continue;
                }
                "percent" => {
                    number.get_or_insert_default().is_percent = true;
                    continue;
                }
                "yes-no" => Form::YesNo { is_bit },
                "iso" => Form::Iso,
                pattern if pattern.contains('%') => Form::Pattern(Pattern::parse(pattern)?),
                word => {
                    return Err(format!(
                        "`{word}` is not a format: {WORDS}, or a pattern such as %d.%m.%Y, is \
                         expected"
                    ));
                }
            };
            if form.replace(other).is_some() {
                return Err("two words of the format exclude each other".to_owned());
            }
        }
        let form = match (form, number) {
            (Some(_), Some(_)) => {
                return Err("two words of the format exclude each other".to_owned());
            }
            (Some(form), None) => form,
            (None, Some(number)) => Form::Number(number),
            (None, None) if is_trimmed => Form::Trimmed,
            (None, None) => Form::Plain,
        };
        Ok(Format { form, nulls })
    }

    /// True if values may be moments, and not only times of a clock.
    pub fn has_moments(&self) -> bool {
        self.form == Form::Iso
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
            Form::Iso => match clock::read_iso(trimmed, out) {
                Some(meaning) => return meaning,
                None => false,
            },
        };
        if is_known {
            return Meaning::Text;
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
        match Format::parse(format, false).unwrap().read(text.as_bytes(), &mut out) {
            Meaning::Text => Some(String::from_utf8(out).unwrap()),
            Meaning::Moment(micros) => Some(format!("@{micros}")),
            Meaning::Null => Some("NULL".to_owned()),
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
            ("percent", "12.5 %", Some("12.5")),
            ("percent", "7%", Some("7")),
            ("percent", "7", Some("7")),
            ("percent+decimal-comma", "1.012,5%", Some("1012.5")),
            ("percent", "%", None),
            ("yes-no", "YES", Some("1")),
            ("yes-no", "f", Some("0")),
            ("yes-no", "maybe", None),
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
        for wrong in
            ["", "comma", "iso+yes-no", "percent+iso", "%d.%m", "%q", "%d %Y %m %d", "%i", "%"]
        {
            assert!(Format::parse(wrong, false).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bits_are_bytes() {
        let mut out = Vec::new();
        let format = Format::parse("yes-no", true).unwrap();
        assert_eq!((format.read(b"no", &mut out), &out[..]), (Meaning::Text, &[0][..]));
        assert_eq!((format.read(b"yes", &mut out), &out[..]), (Meaning::Text, &[1][..]));
    }
}
