//! Dates and times by a pattern, of which STR_TO_DATE reads the same.

use super::clock::{Parts, take_digits, take_number};

const MONTHS: [&[u8]; 12] = [
    b"January",
    b"February",
    b"March",
    b"April",
    b"May",
    b"June",
    b"July",
    b"August",
    b"September",
    b"October",
    b"November",
    b"December",
];
/// Letters of a month's name that are written where it is cut short.
const MONTH_LETTERS: usize = 3;

/// A pattern, part by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<Part>,
    has_date: bool,
    has_time: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Byte(u8),
    /// Four digits.
    Year,
    /// Two digits: from 70 on of the last century.
    YearOfCentury,
    Month,
    /// In English, perhaps cut to three letters.
    MonthName,
    Day,
    Hour,
    Minute,
    Second,
    Fraction,
}

impl Pattern {
    /// Reads `%d.%m.%Y %H:%i:%s`.
    ///
    /// Errors: what is wrong, as the end of a sentence.
    pub(super) fn parse(text: &str) -> Result<Pattern, String> {
        let mut parts = Vec::new();
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'%' {
                parts.push(Part::Byte(byte));
                continue;
            }
            parts.push(match bytes.next() {
                Some(b'Y') => Part::Year,
                Some(b'y') => Part::YearOfCentury,
                Some(b'm' | b'c') => Part::Month,
                Some(b'b' | b'M') => Part::MonthName,
                Some(b'd' | b'e') => Part::Day,
                Some(b'H' | b'k') => Part::Hour,
                Some(b'i') => Part::Minute,
                Some(b's' | b'S') => Part::Second,
                Some(b'f') => Part::Fraction,
                Some(b'%') => Part::Byte(b'%'),
                _ => {
                    return Err(format!(
                        "pattern {text} has an unknown part: %Y %y %m %c %b %M %d %e %H %k %i %s \
                         %S %f are known, as in STR_TO_DATE"
                    ));
                }
            });
        }
        Pattern::of(parts).ok_or_else(|| {
            format!(
                "pattern {text} must have a complete date, a time with hours, or both, each part \
                 once"
            )
        })
    }

    /// None where parts are missing, or there twice.
    fn of(parts: Vec<Part>) -> Option<Pattern> {
        let count = |wanted: &[Part]| parts.iter().filter(|part| wanted.contains(part)).count();
        let date = [
            count(&[Part::Year, Part::YearOfCentury]),
            count(&[Part::Month, Part::MonthName]),
            count(&[Part::Day]),
        ];
        let time =
            [Part::Hour, Part::Minute, Part::Second, Part::Fraction].map(|part| count(&[part]));
        let is_whole = date == [0; 3] || date == [1; 3];
        // Each but the last has the one before it.
        let is_time = time.is_sorted_by(|before, behind| before >= behind) && time[0] <= 1;
        let (has_date, has_time) = (date[0] > 0, time[0] > 0);
        (is_whole && is_time && (has_date || has_time)).then_some(Pattern {
            parts,
            has_date,
            has_time,
        })
    }

    /// Writes a date, a time or both as the server reads them; false if the text is other.
    pub(super) fn read(&self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(parts) = self.parts(text) else { return false };
        if self.has_date {
            parts.write_date(out);
        }
        if self.has_date && self.has_time {
            out.push(b' ');
        }
        if self.has_time {
            parts.write_time(out);
        }
        true
    }

    fn parts<'t>(&self, text: &'t [u8]) -> Option<Parts<'t>> {
        let (mut rest, mut parts) = (text, Parts::default());
        for part in &self.parts {
            match part {
                Part::Byte(byte) => rest = rest.strip_prefix(&[*byte])?,
                Part::Year => parts.year = take_number(&mut rest, 4, 4)?,
                Part::YearOfCentury => {
                    let year = take_number(&mut rest, 2, 2)?;
                    parts.year = if year < 70 { 2000 + year } else { 1900 + year };
                }
                Part::Month => parts.month = take_number(&mut rest, 1, 2)?,
                Part::MonthName => parts.month = take_month(&mut rest)?,
                Part::Day => parts.day = take_number(&mut rest, 1, 2)?,
                Part::Hour => parts.hour = take_number(&mut rest, 1, 2)?,
                Part::Minute => parts.minute = take_number(&mut rest, 1, 2)?,
                Part::Second => parts.second = take_number(&mut rest, 1, 2)?,
                Part::Fraction => parts.fraction = take_digits(&mut rest, usize::MAX),
            }
        }
        rest.is_empty().then_some(parts)
    }
}

/// Takes a month's name off a text, whole or cut short.
fn take_month(text: &mut &[u8]) -> Option<u32> {
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (name, rest) = text.split_at(letters);
    let is_it = |month: &&[u8]| {
        name.eq_ignore_ascii_case(month) || name.eq_ignore_ascii_case(&month[..MONTH_LETTERS])
    };
    let at = MONTHS.iter().position(is_it)?;
    *text = rest;
    Some(at as u32 + 1)
}
