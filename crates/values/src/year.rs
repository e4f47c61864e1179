//! YEAR: one byte, the year less 1900, 0 for `0000`.
//!
//! Source: MariaDB 10.11, sql/field.cc `Field_year::store`.

use crate::ctype::is_space;
use crate::digits;
use crate::habits::Habits;
use crate::reason::Reason;
use crate::rounded::{Outcome, parse_rounded};
use crate::sql_type::Charset;

/// Converts text to YEAR.
#[derive(Clone, Debug)]
pub(crate) struct Year {
    file_charset: Charset,
    habits: Habits,
}

impl Year {
    pub(crate) fn new(file_charset: Charset) -> Year {
        Year { file_charset, habits: Habits::default() }
    }

    /// As the server does.
    pub(crate) fn with_habits(self, habits: Habits) -> Year {
        Year { habits, ..self }
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let number = match digits::up_to_18(text) {
            Some(number) => number,
            None => self.parse_relaxed(text)?,
        };
        out.push(match number {
            // Only four bytes that say zero are year 0; `0` and `00` are 2000.
            0 if text.len() == 4 => 0,
            0..=69 => number as u8 + 100,
            70..=99 => number as u8,
            1901..=2155 => (number - 1900) as u8,
            _ => return Err(Reason::OutOfRange),
        });
        Ok(())
    }

    #[cold]
    fn parse_relaxed(&self, text: &[u8]) -> Result<u64, Reason> {
        let number = parse_rounded(text, false, self.habits);
        if number.outcome == Outcome::NoDigits
            || !number.rest.iter().all(|&byte| is_space(self.file_charset, byte))
        {
            return Err(Reason::NotANumber);
        }
        if number.outcome == Outcome::TooBig || (number.negative && number.magnitude != 0) {
            return Err(Reason::OutOfRange);
        }
        Ok(number.magnitude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_and_four_digits() {
        for (text, expected) in [
            ("1901", Ok(1)),
            ("2155", Ok(255)),
            ("2024", Ok(124)),
            ("0000", Ok(0)),
            ("0", Ok(100)),
            ("00", Ok(100)),
            ("69", Ok(169)),
            ("70", Ok(70)),
            ("99", Ok(99)),
            ("2023.5", Ok(124)),
            (" 24 ", Ok(124)),
            ("100", Err(Reason::OutOfRange)),
            ("1900", Err(Reason::OutOfRange)),
            ("2156", Err(Reason::OutOfRange)),
            ("-1", Err(Reason::OutOfRange)),
            ("", Err(Reason::NotANumber)),
            ("20x4", Err(Reason::NotANumber)),
        ] {
            let mut out = Vec::new();
            let result = Year::new(Charset::Utf8mb4).convert(text.as_bytes(), &mut out);
            assert_eq!(result.map(|()| out[0]), expected, "{text}");
        }
    }
}
