//! Numbers with other marks than a decimal point.

use values::charset::Charset;

/// Marks between groups of three digits that are neither point nor comma: a blank, apostrophes, a thin blank
/// and those that break no line.
const GROUP_MARKS: [char; 6] = [' ', '\'', '\u{2019}', '\u{2009}', '\u{a0}', '\u{202f}'];

/// How numbers are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Before the fraction: a point or a comma; the other one may stand between thousands.
    pub(super) decimal: u8,
    /// True if a percent sign may follow, which counts for nothing.
    pub(super) is_percent: bool,
    /// Other marks between thousands, in the character set of the file.
    marks: Vec<Vec<u8>>,
}

impl Number {
    /// With a decimal point, in a file of this character set.
    pub(super) fn new(file: Charset) -> Number {
        let mark = |mark: char| {
            let mut bytes = Vec::new();
            file.push_unicode(mark.into(), &mut bytes).then_some(bytes)
        };
        let marks = GROUP_MARKS.into_iter().filter_map(mark).collect();
        Number { decimal: b'.', is_percent: false, marks }
    }

    /// Writes a number as the server reads it; false if it is none.
    pub(super) fn read(&self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let text = match text.strip_suffix(b"%") {
            Some(number) if self.is_percent => number.trim_ascii_end(),
            _ => text,
        };
        let text = match text {
            [b'-', rest @ ..] => {
                out.push(b'-');
                rest
            }
            [b'+', rest @ ..] => rest,
            text => text,
        };
        let at = text.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e'));
        let (number, exponent) = text.split_at(at.unwrap_or(text.len()));
        let at = number.iter().position(|&byte| byte == self.decimal);
        let (whole, fraction) = number.split_at(at.unwrap_or(number.len()));
        let digits = fraction.get(1..).unwrap_or_default();
        let before = out.len();
        if !self.read_whole(whole, out) || !all_digits(digits) {
            return false;
        }
        let has_digits = out.len() > before || !digits.is_empty();
        if !digits.is_empty() {
            out.push(b'.');
            out.extend_from_slice(digits);
        }
        out.extend_from_slice(exponent);
        has_digits && (exponent.is_empty() || is_exponent(exponent))
    }

    /// Writes the digits before the fraction, without marks between groups of three; there may be
    /// none.
    fn read_whole(&self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let first = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        out.extend_from_slice(&text[..first]);
        let mut rest = &text[first..];
        if rest.is_empty() {
            return true;
        }
        let other: &[u8] = if self.decimal == b',' { b"." } else { b"," };
        let mut marks = [other].into_iter().chain(self.marks.iter().map(Vec::as_slice));
        let Some(mark) = marks.find(|mark| rest.starts_with(mark)) else {
            return false;
        };
        if !(1..=3).contains(&first) {
            return false;
        }
        while let Some(behind) = rest.strip_prefix(mark) {
            let Some((group, more)) = behind.split_at_checked(3) else { return false };
            if !all_digits(group) {
                return false;
            }
            out.extend_from_slice(group);
            rest = more;
        }
        rest.is_empty()
    }
}

fn all_digits(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_digit)
}

/// `e-3`
fn is_exponent(text: &[u8]) -> bool {
    let digits = match text {
        [_, b'+' | b'-', digits @ ..] | [_, digits @ ..] => digits,
        [] => return false,
    };
    !digits.is_empty() && all_digits(digits)
}
