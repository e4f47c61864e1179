//! One value of a tuple: which literals are plain, and which of them a column takes as LOAD DATA
//! takes a field of the same text.
//!
//! A field of a file is stored as a string, whatever the column. A string in an INSERT is stored in
//! the same way; a number is stored as a number, which is the same only for some columns and some
//! texts, and what is hexadecimal is bytes to some columns and a number to others.
//!
//! Source: `get_text` and the number rules of `lex_one_token` in the server's `sql/sql_lex.cc`,
//! `Item_*::save_in_field` in `sql/item.cc` and `Field_*::store` in `sql/field.cc`; each rule was
//! tried on MariaDB 10.11 with random values (`crates/sources/tests/tuples.rs`).

use values::MultiByte;

use crate::escape::escaped;
use crate::syntax::Syntax;
use crate::walk::is_space;

/// Most digits of a number that the server reads exactly, whatever becomes of it.
const DIGITS_MAX: usize = 60;
/// Most of them after the point.
const SCALE_MAX: usize = 30;
/// Most digits of an integer that is shown as it was written.
const INTEGER_DIGITS_MAX: usize = 18;

/// Character sets with ASCII in them that are taken before a string.
const INTRODUCERS: [&[u8]; 6] = [b"binary", b"utf8mb4", b"utf8mb3", b"utf8", b"latin1", b"ascii"];

/// Which literals a column takes as LOAD DATA takes a field. NULL and strings always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Literals {
    /// Whole numbers: integer columns. Strict mode makes a fraction below zero in an unsigned
    /// column an error in an INSERT, and zero in a file.
    Whole,
    /// Whole and decimal numbers: DECIMAL columns.
    Exact,
    /// All numbers: FLOAT and DOUBLE.
    Real,
    /// Numbers that are shown as they are written; bytes that are ASCII. Columns of text in a
    /// character set that has ASCII in it.
    Text,
    /// The same, and any bytes: BINARY, VARBINARY and BLOB columns.
    Bytes,
    /// Any bytes: BIT, and types whose values only the server makes of bytes.
    Binary,
    /// Numbers of four digits: YEAR.
    Year,
    /// Strings only: text in ucs2, utf16 and utf32, dates and times, ENUM, SET, UUID and the like, and
    /// columns of which nothing is known.
    #[default]
    Strings,
}

/// A literal as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Literal<'a> {
    Null,
    /// With its sign.
    Number(&'a [u8]),
    /// TRUE and FALSE.
    Truth(bool),
    /// The text between the quotes.
    Text {
        quote: u8,
        body: &'a [u8],
        /// True if it names its character set.
        has_introducer: bool,
    },
    /// Digits of `0x..` and `x'..'`.
    Hex(&'a [u8]),
    /// Digits of `0b..` and `b'..'`.
    Bits(&'a [u8]),
}

/// The rules by which strings are written.
#[derive(Clone, Debug, Default)]
pub struct StringRules {
    backslash_escapes: bool,
    ansi_quotes: bool,
    /// Only where a backslash may be a part of a character.
    charset: MultiByte,
}

impl StringRules {
    /// Those of a session.
    pub fn new(syntax: Syntax) -> StringRules {
        StringRules {
            backslash_escapes: !syntax.no_backslash_escapes,
            ansi_quotes: syntax.ansi_quotes,
            charset: if syntax.hides_ascii() { syntax.characters } else { MultiByte::None },
        }
    }

    /// Looks whether the text of a value, white space and comments around it included, is a literal
    /// that a column takes; every literal counts for one of which nothing is known.
    ///
    /// Errors: what it is instead: a noun with its article.
    pub fn check(&self, raw: &[u8], column: Option<Literals>) -> Result<(), &'static str> {
        let literal = self.parse(raw)?;
        column.map_or(Ok(()), |column| column.takes(literal))
    }

    /// Reads the text of a value, white space and comments around it included.
    ///
    /// Errors: what it is instead of a plain literal.
    fn parse<'a>(&self, raw: &'a [u8]) -> Result<Literal<'a>, &'static str> {
        let text = trim(raw)?;
        let (&first, rest) = text.split_first().ok_or("a value that is missing")?;
        if text.eq_ignore_ascii_case(b"NULL") {
            return Ok(Literal::Null);
        }
        match first {
            b'\'' => return self.string(text, false),
            b'"' if !self.ansi_quotes => return self.string(text, false),
            b'0' if matches!(rest, [b'x', _, ..]) => {
                return digits(&rest[1..], is_hex, Literal::Hex);
            }
            b'0' if matches!(rest, [b'b', _, ..]) => {
                return digits(&rest[1..], is_bit, Literal::Bits);
            }
            b'0'..=b'9' | b'.' | b'-' | b'+' => {
                return match Number::parse(text) {
                    Some(_) => Ok(Literal::Number(text)),
                    None => Err("an expression"),
                };
            }
            b'x' | b'X' if rest.first() == Some(&b'\'') => {
                let digits_of = inner(rest).filter(|digits| digits.len().is_multiple_of(2));
                return digits(digits_of.ok_or("an expression")?, is_hex, Literal::Hex);
            }
            b'b' | b'B' if rest.first() == Some(&b'\'') => {
                return digits(inner(rest).ok_or("an expression")?, is_bit, Literal::Bits);
            }
            b'_' => {
                let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
                let string = trim(&rest[name..])?;
                let is_known =
                    INTRODUCERS.iter().any(|known| known.eq_ignore_ascii_case(&rest[..name]));
                if is_known && matches!(string.first(), Some(b'\'' | b'"')) {
                    return self.string(string, true);
                }
            }
            _ if text.eq_ignore_ascii_case(b"TRUE") => return Ok(Literal::Truth(true)),
            _ if text.eq_ignore_ascii_case(b"FALSE") => return Ok(Literal::Truth(false)),
            _ if text.eq_ignore_ascii_case(b"DEFAULT") => return Err("a DEFAULT"),
            _ => {}
        }
        Err("an expression")
    }

    /// A string that is all of `text`.
    fn string<'a>(
        &self,
        text: &'a [u8],
        has_introducer: bool,
    ) -> Result<Literal<'a>, &'static str> {
        let quote = text[0];
        if quote == b'"' && self.ansi_quotes {
            return Err("a name");
        }
        let mut at = 1;
        while let Some(&byte) = text.get(at) {
            if byte == b'\\' && self.backslash_escapes {
                at += 2;
            } else if byte != quote {
                at += self.character(&text[at..]);
            } else if text.get(at + 1) == Some(&quote) {
                at += 2;
            } else if at + 1 == text.len() {
                return Ok(Literal::Text { quote, body: &text[1..at], has_introducer });
            } else {
                return Err("an expression");
            }
        }
        Err("a string that is not closed")
    }

    fn character(&self, rest: &[u8]) -> usize {
        match self.charset {
            MultiByte::None => 1,
            charset => charset.token_size(rest),
        }
    }

    /// The value of a literal that the scanner marked as escaped. Text that is no literal, which
    /// the scanner has refused, stays as it is. None is NULL.
    #[inline(never)]
    pub fn decode<'a>(
        &self,
        raw: &'a [u8],
        is_string: bool,
        out: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        if raw == b"NULL" {
            return None;
        }
        if is_string {
            self.unescape(&raw[1..raw.len() - 1], raw[0], out);
            return Some(out);
        }
        match self.parse(raw) {
            Ok(Literal::Null) => return None,
            Ok(Literal::Number(text)) => return Some(text),
            Ok(Literal::Truth(truth)) => return Some(if truth { b"1" } else { b"0" }),
            Ok(Literal::Text { quote, body, .. }) => self.unescape(body, quote, out),
            Ok(Literal::Hex(digits)) => unhex(digits, out),
            Ok(Literal::Bits(digits)) => unbit(digits, out),
            Err(_) => return Some(raw),
        }
        Some(out)
    }

    /// Undoes escapes and doubled quotes.
    pub(crate) fn unescape(&self, body: &[u8], quote: u8, out: &mut Vec<u8>) {
        out.clear();
        // Another quote has to be found where a backslash is none.
        let escape = if self.backslash_escapes { b'\\' } else { quote };
        let mut rest = body;
        while let Some(found) = self.find(rest, quote, escape) {
            out.extend_from_slice(&rest[..found]);
            let after = rest.get(found + 1).copied();
            if rest[found] == quote {
                out.push(quote);
            } else {
                push_escaped(after, out);
            }
            rest = rest.get(found + 2..).unwrap_or_default();
        }
        out.extend_from_slice(rest);
    }

    fn find(&self, rest: &[u8], quote: u8, escape: u8) -> Option<usize> {
        if self.charset == MultiByte::None {
            return memchr::memchr2(quote, escape, rest);
        }
        let mut at = 0;
        while at < rest.len() {
            if rest[at] == quote || rest[at] == escape {
                return Some(at);
            }
            at += self.charset.token_size(&rest[at..]);
        }
        None
    }
}

/// Appends the meaning of a backslash and the byte after it.
fn push_escaped(byte: Option<u8>, out: &mut Vec<u8>) {
    let Some(byte) = byte else { return };
    if matches!(byte, b'%' | b'_') {
        // For LIKE: the backslash stays.
        out.push(b'\\');
    }
    out.push(escaped(byte));
}

impl Literals {
    /// True if a column accepts a number, `text`, that the scanner found: digits and points,
    /// perhaps a minus sign before them.
    #[inline]
    pub fn takes_number(self, text: &[u8]) -> bool {
        match self {
            Literals::Whole if !text.is_empty() && text.len() < SCALE_MAX => !text.contains(&b'.'),
            Literals::Exact if !text.is_empty() && text.len() < SCALE_MAX => true,
            // Mostly without a sign.
            Literals::Real
                if text.len() < SCALE_MAX && matches!(text, [first, ..] if *first != b'-') =>
            {
                true
            }
            _ => self.takes_any_number(text),
        }
    }

    #[inline(never)]
    fn takes_any_number(self, text: &[u8]) -> bool {
        let Some(number) = Number::parse(text) else { return false };
        match self {
            Literals::Whole => number.is_exact() && !text.contains(&b'.'),
            Literals::Exact => number.is_exact(),
            Literals::Real => number.digits <= DIGITS_MAX && !is_negative_zero(text),
            Literals::Text | Literals::Bytes => number.is_exact() && is_shown_as_written(text),
            Literals::Year => text.len() == 4 && number.digits == 4,
            Literals::Binary | Literals::Strings => false,
        }
    }

    /// Checks that a column accepts a literal.
    fn takes(self, literal: Literal<'_>) -> Result<(), &'static str> {
        let (taken, what) = match literal {
            Literal::Null | Literal::Text { has_introducer: false, .. } => (true, ""),
            Literal::Number(text) => {
                (self.takes_any_number(text), "a number that LOAD DATA reads differently")
            }
            Literal::Truth(_) => (
                !matches!(self, Literals::Binary | Literals::Year | Literals::Strings),
                "TRUE or FALSE in a column that is not a number",
            ),
            Literal::Text { body, .. } => (
                self.takes_bytes() || (self == Literals::Text && body.is_ascii()),
                "a string with its own character set (an introducer such as _latin1)",
            ),
            Literal::Hex(digits) => (
                self.takes_bytes() || (self == Literals::Text && is_ascii_hex(digits)),
                "a hexadecimal literal",
            ),
            Literal::Bits(digits) => (
                self.takes_bytes() || (self == Literals::Text && is_ascii_bits(digits)),
                "a bit literal",
            ),
        };
        if taken { Ok(()) } else { Err(what) }
    }

    fn takes_bytes(self) -> bool {
        matches!(self, Literals::Bytes | Literals::Binary)
    }
}

/// A number's parts.
struct Number {
    /// Before and after the point.
    digits: usize,
    scale: usize,
    has_exponent: bool,
}

impl Number {
    /// Digits with at most one point, a sign before, an exponent behind.
    fn parse(text: &[u8]) -> Option<Number> {
        let text = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
        let split = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let mantissa = &text[..split.unwrap_or(text.len())];
        let point = mantissa.iter().position(|&byte| byte == b'.');
        let digits = mantissa.iter().filter(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || digits + usize::from(point.is_some()) != mantissa.len() {
            return None;
        }
        if let Some(split) = split {
            let exponent = &text[split + 1..];
            let exponent =
                exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+")).unwrap_or(exponent);
            let is_number = !exponent.is_empty() && exponent.iter().all(u8::is_ascii_digit);
            if !is_number {
                return None;
            }
        }
        let scale = point.map_or(0, |point| mantissa.len() - point - 1);
        Some(Number { digits, scale, has_exponent: split.is_some() })
    }

    /// True if it is a whole or a decimal number that the server reads exactly.
    fn is_exact(&self) -> bool {
        !self.has_exponent && self.digits <= DIGITS_MAX && self.scale <= SCALE_MAX
    }
}

/// True if an exact number is zero with a minus before it. The literal has no sign, and the text in
/// a file has one since MariaDB 11.8; `-0e0` has it in both.
fn is_negative_zero(text: &[u8]) -> bool {
    text.first() == Some(&b'-')
        && !text.iter().any(|byte| matches!(byte, b'1'..=b'9' | b'e' | b'E'))
}

/// True if the server shows an exact number as it is written: no sign but the minus of a number
/// other than zero, no zeros before others, a digit on both sides of a point.
fn is_shown_as_written(text: &[u8]) -> bool {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let point = digits.iter().position(|&byte| byte == b'.');
    let (whole, scale) = match point {
        Some(at) => (&digits[..at], digits.len() - at - 1),
        None => (digits, 1),
    };
    let is_zero = !digits.iter().any(|byte| matches!(byte, b'1'..=b'9'));
    whole.first().is_some_and(u8::is_ascii_digit)
        && scale > 0
        && (whole.len() == 1 || whole[0] != b'0')
        && whole.len() <= INTEGER_DIGITS_MAX
        && !(is_negative && is_zero)
}

/// Takes white space and comments off both ends. Those that a server runs are no comments.
///
/// Errors: what else is there, and is no value: a noun with its article.
pub(crate) fn trim(raw: &[u8]) -> Result<&[u8], &'static str> {
    let mut text = raw;
    loop {
        text = match text {
            [byte, rest @ ..] if is_space(*byte) => rest,
            [rest @ .., byte] if is_space(*byte) => rest,
            [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..] => {
                return Err("a comment that the server runs");
            }
            [b'/', b'*', rest @ ..] => match memchr::memmem::find(rest, b"*/") {
                Some(end) => &rest[end + 2..],
                None => return Err("a comment that is not closed"),
            },
            _ => return Ok(text),
        }
    }
}

/// The text between single quotes.
fn inner(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"'")?.strip_suffix(b"'")
}

fn digits<'a>(
    digits: &'a [u8],
    is_digit: fn(&u8) -> bool,
    make: fn(&'a [u8]) -> Literal<'a>,
) -> Result<Literal<'a>, &'static str> {
    match digits.iter().all(is_digit) {
        true => Ok(make(digits)),
        false => Err("an expression"),
    }
}

fn is_hex(byte: &u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn is_bit(byte: &u8) -> bool {
    matches!(byte, b'0' | b'1')
}

fn is_ascii_hex(digits: &[u8]) -> bool {
    let mut out = Vec::new();
    unhex(digits, &mut out);
    out.is_ascii()
}

fn is_ascii_bits(digits: &[u8]) -> bool {
    let mut out = Vec::new();
    unbit(digits, &mut out);
    out.is_ascii()
}

/// An odd number of digits has a zero before it.
fn unhex(digits: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let value = |digit: u8| match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    };
    let (first, pairs) = digits.split_at(digits.len() % 2);
    out.extend(first.iter().copied().map(value));
    out.extend(pairs.as_chunks::<2>().0.iter().map(|&[high, low]| value(high) << 4 | value(low)));
}

/// The first byte has the bits that are too few for one.
fn unbit(digits: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let byte = |bits: &[u8]| bits.iter().fold(0, |byte, bit| byte << 1 | (bit - b'0'));
    let (first, bytes) = digits.split_at(digits.len() % 8);
    out.extend((!first.is_empty()).then(|| byte(first)));
    out.extend(bytes.chunks(8).map(byte));
}
