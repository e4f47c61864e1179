//! Dates and times by a pattern, of which STR_TO_DATE reads the same.
//!
//! STR_TO_DATE makes zeros of parts that a text lacks, drops text behind the last part and takes 12:30 without
//! AM or PM for half past midnight. Such texts and patterns are refused here.

use super::clock::{Parts, take_digits, take_number};
use values::civil::{date, days_since_1970};

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
const WEEKDAYS: [&[u8]; 7] =
    [b"Monday", b"Tuesday", b"Wednesday", b"Thursday", b"Friday", b"Saturday", b"Sunday"];
/// Letters of a name that is cut short.
const SHORT_LETTERS: usize = 3;
/// Blanks that break no line, in UTF-8: some programs write them before AM and PM.
const HARD_BLANKS: [&[u8]; 2] = [b"\xc2\xa0", b"\xe2\x80\xaf"];

/// A pattern, part by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<Part>,
    pub(super) has_date: bool,
    pub(super) has_time: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Byte(u8),
    /// One blank or more; they may stand before every other part, too.
    Blank,
    /// Four digits.
    Year,
    /// Two digits: from 70 on of the last century.
    YearOfCentury,
    Month,
    /// In English, perhaps cut to three letters.
    MonthName,
    Day,
    /// `1st`, `22nd`.
    OrdinalDay,
    /// From 1 to 366.
    DayOfYear,
    /// In English, perhaps cut to three letters. The date counts, as in STR_TO_DATE.
    Weekday,
    Hour,
    /// From 1 to 12.
    HourOfHalf,
    /// AM or PM.
    Half,
    Minute,
    Second,
    Fraction,
}

impl Pattern {
    /// Reads `%d.%m.%Y %H:%i:%s`.
    ///
    /// Errors: what is wrong, as the end of a sentence.
    pub(super) fn parse(text: &str) -> Result<Pattern, String> {
        let parts = parts(text.trim_ascii()).ok_or_else(|| {
            format!(
                "pattern {text} has an unknown part: %Y %y %m %c %b %M %d %e %D %j %a %W %H %k %h \
                 %I %l %p %i %s %S %f %T %r are known, as in STR_TO_DATE"
            )
        })?;
        let count = |wanted: Part| parts.iter().filter(|part| **part == wanted).count();
        if count(Part::HourOfHalf) != count(Part::Half) {
            return Err(format!(
                "pattern {text} must have %h and %p together, or %H: an hour up to 12 needs AM or \
                 PM"
            ));
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
            count(&[Part::Day, Part::OrdinalDay]),
            count(&[Part::DayOfYear]),
        ];
        let time = [
            count(&[Part::Hour, Part::HourOfHalf]),
            count(&[Part::Minute]),
            count(&[Part::Second]),
            count(&[Part::Fraction]),
        ];
        let is_whole = [[0, 0, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]].contains(&date);
        // Each but the last has the one before it.
        let is_time = time.is_sorted_by(|before, behind| before >= behind) && time[0] <= 1;
        let (has_date, has_time) = (date[0] > 0, time[0] > 0);
        let is_once = count(&[Part::Weekday]) <= 1 && count(&[Part::Half]) <= 1;
        (is_whole && is_time && is_once && (has_date || has_time)).then_some(Pattern {
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
        let (mut day_of_year, mut afternoon) = (None, None);
        for part in &self.parts {
            let has_blanks = take_blanks(&mut rest);
            match part {
                Part::Byte(byte) => rest = rest.strip_prefix(&[*byte])?,
                Part::Blank => has_blanks.then_some(())?,
                Part::Year => parts.year = take_number(&mut rest, 4, 4)?,
                Part::YearOfCentury => {
                    let year = take_number(&mut rest, 2, 2)?;
                    parts.year = if year < 70 { 2000 + year } else { 1900 + year };
                }
                Part::Month => parts.month = take(&mut rest, 0, 12)?,
                Part::MonthName => parts.month = take_name(&mut rest, &MONTHS)?,
                Part::Day => parts.day = take(&mut rest, 0, 31)?,
                Part::OrdinalDay => parts.day = take_ordinal(&mut rest)?,
                Part::DayOfYear => day_of_year = Some(take_number(&mut rest, 1, 3)?),
                Part::Weekday => drop(take_name(&mut rest, &WEEKDAYS)?),
                Part::Hour => parts.hour = take(&mut rest, 0, 23)?,
                Part::HourOfHalf => parts.hour = take(&mut rest, 1, 12)? % 12,
                Part::Half => afternoon = Some(take_half(&mut rest)?),
                Part::Minute => parts.minute = take(&mut rest, 0, 59)?,
                Part::Second => parts.second = take(&mut rest, 0, 59)?,
                Part::Fraction => {
                    parts.fraction = take_digits(&mut rest, usize::MAX);
                    (!parts.fraction.is_empty()).then_some(())?;
                }
            }
        }
        if let Some(day) = day_of_year {
            (parts.month, parts.day) = day_in_year(parts.year, day)?;
        }
        parts.hour += if afternoon == Some(true) { 12 } else { 0 };
        rest.is_empty().then_some(parts)
    }
}

/// The parts of a pattern; none where one is unknown.
fn parts(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let part = match byte {
            b'%' => match bytes.next()? {
                b'Y' => Part::Year,
                b'y' => Part::YearOfCentury,
                b'm' | b'c' => Part::Month,
                b'b' | b'M' => Part::MonthName,
                b'd' | b'e' => Part::Day,
                b'D' => Part::OrdinalDay,
                b'j' => Part::DayOfYear,
                b'a' | b'W' => Part::Weekday,
                b'H' | b'k' => Part::Hour,
                b'h' | b'I' | b'l' => Part::HourOfHalf,
                b'p' => Part::Half,
                b'i' => Part::Minute,
                b's' | b'S' => Part::Second,
                b'f' => Part::Fraction,
                b'%' => Part::Byte(b'%'),
                b'T' => {
                    parts.extend(self::parts("%H:%i:%S")?);
                    continue;
                }
                b'r' => {
                    parts.extend(self::parts("%I:%i:%S %p")?);
                    continue;
                }
                _ => return None,
            },
            blank if blank.is_ascii_whitespace() => match parts.last() {
                Some(Part::Blank) => continue,
                _ => Part::Blank,
            },
            byte => Part::Byte(byte),
        };
        parts.push(part);
    }
    Some(parts)
}

/// Takes all blanks off a text; true if there are any.
fn take_blanks(text: &mut &[u8]) -> bool {
    let before = text.len();
    loop {
        *text = text.trim_ascii_start();
        match HARD_BLANKS.iter().find_map(|blank| text.strip_prefix(*blank)) {
            Some(rest) => *text = rest,
            None => return text.len() < before,
        }
    }
}

/// Takes one or two digits off a text, of a number in these bounds.
fn take(text: &mut &[u8], least: u32, most: u32) -> Option<u32> {
    take_number(text, 1, 2).filter(|number| (least..=most).contains(number))
}

/// Takes a day with the letters behind it off a text.
fn take_ordinal(text: &mut &[u8]) -> Option<u32> {
    let day = take(text, 0, 31)?;
    let (letters, rest) = text.split_at_checked(2)?;
    *text = rest;
    [b"st", b"nd", b"rd", b"th"].iter().any(|end| letters.eq_ignore_ascii_case(*end)).then_some(day)
}

/// Takes AM or PM off a text; true for PM.
fn take_half(text: &mut &[u8]) -> Option<bool> {
    let (half, rest) = text.split_at_checked(2)?;
    *text = rest;
    match () {
        () if half.eq_ignore_ascii_case(b"AM") => Some(false),
        () if half.eq_ignore_ascii_case(b"PM") => Some(true),
        () => None,
    }
}

/// Takes a name off a text, whole or cut short; its number, from 1.
fn take_name(text: &mut &[u8], names: &[&[u8]]) -> Option<u32> {
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, rest) = text.split_at(letters);
    let is_it = |name: &&[u8]| {
        word.eq_ignore_ascii_case(name) || word.eq_ignore_ascii_case(&name[..SHORT_LETTERS])
    };
    let at = names.iter().position(is_it)?;
    *text = rest;
    Some(at as u32 + 1)
}

/// Month and day of a day that is counted from the begin of its year.
fn day_in_year(year: u32, day: u32) -> Option<(u32, u32)> {
    if year == 0 || day == 0 {
        return None;
    }
    let (of_year, month, day) = date(days_since_1970(year, 1, 1) + i64::from(day) - 1);
    (of_year == i64::from(year)).then_some((month, day))
}
