//! The number at the start of a text, rounded to an integer.
//!
//! Source: MariaDB 10.11, strings/ctype-simple.c `my_strntoull10rnd_8bit`; MySQL 9.7 in its own words at
//! [`Head::magnitude`].

use crate::ctype::is_latin1_space;
use crate::digits::POW10;
use crate::habits::Habits;

/// Exponents beyond which MariaDB stops reading digits.
const EXPONENT_MAX: i64 = 20;

/// The result of [`parse_rounded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Number,
    /// Beyond 64 bits.
    TooBig,
    NoDigits,
}

/// A number at the start of a text, rounded half away from zero to an integer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded<'a> {
    pub(crate) outcome: Outcome,
    pub(crate) negative: bool,
    pub(crate) magnitude: u64,
    /// The text after the number.
    pub(crate) rest: &'a [u8],
}

/// Reads `[space] [sign] digits [. digits] [e [sign] digits]` the way the server's
/// `strntoull10rnd` does, its oddities included: `12e ` is 12, and from 20 digits on only the
/// digit at the cut decides the rounding.
pub(crate) fn parse_rounded(text: &[u8], unsigned: bool, habits: Habits) -> Rounded<'_> {
    let mut at = 0;
    let byte = |at: usize| text.get(at).copied().unwrap_or(0);
    let digit = |at: usize| text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10);
    let found = |outcome, negative, magnitude, at: usize| Rounded {
        outcome,
        negative,
        magnitude,
        rest: text.get(at..).unwrap_or_default(),
    };

    while at < text.len() && is_before_number(text[at], habits) {
        at += 1;
    }
    let negative = byte(at) == b'-';
    if negative || byte(at) == b'+' {
        at += 1;
    }
    if at >= text.len() {
        return found(Outcome::NoDigits, negative, 0, at);
    }
    let start = at;

    let mut value: u64 = 0;
    let mut any_digit = false;
    let mut dot: Option<usize> = None;
    let mut overflowed = false;
    // Whether the first digit that did not fit rounds up.
    let mut round_up = false;
    let mut shift: i64 = 0;
    while at < text.len() {
        if let Some(d) = digit(at) {
            match value.checked_mul(10).and_then(|v| v.checked_add(u64::from(d))) {
                Some(more) => {
                    value = more;
                    any_digit = true;
                    at += 1;
                    continue;
                }
                None if value == u64::MAX / 10 => {
                    value = u64::MAX;
                    round_up = true;
                    at += 1;
                }
                None => round_up = d >= 5,
            }
            overflowed = true;
            match dot {
                None => {
                    while digit(at).is_some() {
                        shift += 1;
                        at += 1;
                    }
                    if byte(at) == b'.' {
                        at += 1;
                    }
                }
                Some(dot) => shift = dot as i64 - at as i64,
            }
            while digit(at).is_some() {
                at += 1;
            }
            break;
        }
        if byte(at) != b'.' || dot.is_some() {
            break;
        }
        at += 1;
        dot = Some(at);
    }
    if !overflowed {
        shift = dot.map_or(0, |dot| dot as i64 - at as i64);
    }
    if !any_digit {
        return found(Outcome::NoDigits, negative, 0, start);
    }

    if habits.mysql_integers {
        let head = Head { value, shift, round_up };
        let (magnitude, at) = head.magnitude(text, at);
        return within_limits(magnitude, negative, unsigned, &text[at..]);
    }
    if matches!(byte(at), b'e' | b'E') {
        let down = byte(at + 1) == b'-';
        let digits = at + 1 + usize::from(down || byte(at + 1) == b'+');
        if digits >= text.len() {
            // Nothing after the e: it is no part of the number.
            return found(Outcome::Number, negative, value, at);
        }
        at = digits;
        if shift > 0 && !down {
            return found(Outcome::TooBig, negative, 0, at);
        }
        let mut exponent: i64 = 0;
        while let Some(d) = digit(at) {
            // Given up before the last digit is read: small numbers are then followed by
            // rubbish, and 0e99999 is too big.
            if down && exponent - shift > EXPONENT_MAX {
                return found(Outcome::Number, negative, 0, at);
            }
            if !down && exponent + shift > EXPONENT_MAX {
                return found(Outcome::TooBig, negative, 0, at);
            }
            exponent = exponent * 10 + i64::from(d);
            at += 1;
        }
        shift += if down { -exponent } else { exponent };
    }

    let magnitude = match shift {
        0 => value.checked_add(u64::from(round_up)),
        ..0 => Some(match POW10.get(shift.unsigned_abs() as usize) {
            // Twice a remainder of 19 digits wraps in the server, which then rounds down.
            Some(power) => value / power + u64::from((value % power).wrapping_mul(2) >= *power),
            None => 0,
        }),
        1.. if value == 0 => Some(0),
        1.. => POW10.get(shift as usize).and_then(|power| value.checked_mul(*power)),
    };
    within_limits(magnitude, negative, unsigned, text.get(at..).unwrap_or_default())
}

/// White space that may stand before a number.
fn is_before_number(byte: u8, habits: Habits) -> bool {
    match habits.mysql_integers {
        true => matches!(byte, b' ' | b'\t'),
        false => is_latin1_space(byte),
    }
}

fn within_limits(
    magnitude: Option<u64>,
    negative: bool,
    unsigned: bool,
    rest: &[u8],
) -> Rounded<'_> {
    let limit = match (unsigned, negative) {
        (true, false) => u64::MAX,
        (true, true) => 0,
        (false, false) => i64::MAX as u64,
        (false, true) => i64::MIN.unsigned_abs(),
    };
    let (outcome, magnitude) = match magnitude.filter(|m| *m <= limit) {
        Some(magnitude) => (Outcome::Number, magnitude),
        None => (Outcome::TooBig, 0),
    };
    Rounded { outcome, negative, magnitude, rest }
}

/// The digits of a number, before its exponent.
struct Head {
    value: u64,
    /// Powers of ten that they stand for, where the point has its place.
    shift: i64,
    /// True if the first digit that did not fit rounds up.
    round_up: bool,
}

impl Head {
    /// The number and where the text goes on behind its exponent; None: beyond 64 bits.
    ///
    /// Its own rules for exponents: one without digits is none, but is passed over, and with a sign it
    /// also makes a point count for nothing; the sum of exponent and point has 32 bits. Source: MySQL 9.7,
    /// strings/ctype-simple.cc `my_strntoull10rnd_8bit`.
    fn magnitude(&self, text: &[u8], mut at: usize) -> (Option<u64>, usize) {
        let mut exponent: i64 = 0;
        if matches!(text.get(at), Some(b'e' | b'E')) {
            at += 1;
            let sign = text.get(at).filter(|byte| matches!(byte, b'-' | b'+'));
            at += usize::from(sign.is_some());
            if sign.is_some() && at == text.len() {
                return (shifted_left(self.value, self.shift), at);
            }
            while let Some(digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
                let more = exponent.checked_mul(10);
                match more.and_then(|more| more.checked_add(i64::from(digit - b'0'))) {
                    Some(more) => exponent = more,
                    None => return (None, at),
                }
                at += 1;
            }
            if sign == Some(&b'-') {
                exponent = -exponent;
            }
        }
        let shift = self.shift.wrapping_add(exponent) as i32;
        let magnitude = match shift {
            0 => self.value.checked_add(u64::from(self.round_up)),
            ..0 => Some(match POW10.get(shift.unsigned_abs() as usize) {
                Some(power) => self.value / power + u64::from(self.value % power >= power / 2),
                None => 0,
            }),
            1.. => shifted_left(self.value, shift.into()),
        };
        (magnitude, at)
    }
}

/// Times ten to the `shift`, if that is not negative.
fn shifted_left(value: u64, shift: i64) -> Option<u64> {
    match POW10.get(usize::try_from(shift).unwrap_or(0)) {
        _ if value == 0 => Some(0),
        Some(power) => value.checked_mul(*power),
        None => None,
    }
}
