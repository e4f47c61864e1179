//! Ways in which people write values, where all values of a column are written so.

use values::format::{Format, Meaning};

use super::kind::Forms;

/// Formats as `--format-of` has them, and what a column of such values is.
const FORMATS: [(&str, Kind); 9] = [
    ("decimal-comma", Kind::Number),
    ("%d.%m.%Y", Kind::Date),
    ("%d/%m/%Y", Kind::Date),
    ("%m/%d/%Y", Kind::Date),
    ("%d.%m.%Y %H:%i", Kind::Datetime),
    ("%d.%m.%Y %H:%i:%s", Kind::Datetime),
    ("%d/%m/%Y %H:%i:%s", Kind::Datetime),
    ("%m/%d/%Y %H:%i:%s", Kind::Datetime),
    ("iso", Kind::Moment),
];
/// Words that are one only where nothing else is in a column, and both are.
const YES: [&[u8]; 2] = [b"yes", b"true"];
const NO: [&[u8]; 2] = [b"no", b"false"];
/// Digits between two marks of thousands.
const THOUSANDS: usize = 3;
/// The range of a TIMESTAMP, whatever the time zone: microseconds of 1970-01-02 and 2038-01-18.
const MOMENTS: std::ops::Range<i64> = 86_400_000_000..2_147_385_600_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Date,
    Datetime,
    Moment,
}

/// The formats that values are tried by.
pub(super) struct Habits {
    formats: Vec<Format>,
    text: Vec<u8>,
}

/// Those that all values of a column have so far.
#[derive(Clone, Debug)]
pub(super) struct Habit {
    /// A bit a format.
    left: u16,
    words: Words,
    /// Digits before the point and behind it, of numbers.
    pub(super) digits: (usize, usize),
    seconds_digits: usize,
    /// True if any number shows that its comma stands before a fraction, and not between thousands.
    has_comma: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Words {
    yes: bool,
    no: bool,
    others: bool,
}

/// A format that a column is read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HabitFormat {
    /// As `--format-of` has it.
    pub(super) format: &'static str,
    kind: Option<Kind>,
}

impl Habits {
    pub(super) fn new() -> Habits {
        let formats = FORMATS.iter().map(|(text, _)| Format::parse(text, false));
        let formats: Result<Vec<Format>, String> = formats.collect();
        let formats = formats.unwrap_or_default();
        assert_eq!(formats.len(), FORMATS.len(), "formats of our own are formats");
        Habits { formats, text: Vec::new() }
    }
}

impl Default for Habit {
    fn default() -> Habit {
        let left = (1 << FORMATS.len()) - 1;
        Habit { left, words: Words::default(), digits: (0, 0), seconds_digits: 0, has_comma: false }
    }
}

impl Habit {
    /// The habit of a column with values that have none.
    pub(super) fn none() -> Habit {
        let words = Words { others: true, ..Words::default() };
        Habit { left: 0, words, ..Habit::default() }
    }

    /// A value of the column, which is no NULL.
    pub(super) fn take(&mut self, value: &[u8], habits: &mut Habits) {
        self.words.take(value);
        if self.left == 0 {
            return;
        }
        let begins = value.trim_ascii().first();
        if !begins.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-') {
            self.left = 0;
            return;
        }
        for (at, format) in habits.formats.iter().enumerate() {
            if self.left & 1 << at == 0 {
                continue;
            }
            let is_in = match (format.read(value, &mut habits.text), FORMATS[at].1) {
                (Meaning::NotInFormat | Meaning::Null, _) => false,
                (Meaning::Moment(micros), _) => MOMENTS.contains(&micros),
                // Without an offset it is no moment.
                (Meaning::Text, Kind::Moment) => false,
                (Meaning::Text, Kind::Number) => self.is_number(value, &habits.text),
                // Of a pattern each part is a number, and together they may be no day.
                (Meaning::Text, Kind::Date) => Forms::of(&habits.text).date,
                (Meaning::Text, Kind::Datetime) => Forms::of(&habits.text).datetime.is_some(),
            };
            if !is_in {
                self.left &= !(1 << at);
            }
        }
        self.seconds_digits = self.seconds_digits.max(fraction_digits(value));
    }

    /// True if a text that may be a number is one: texts with needless zeros in front are codes.
    fn is_number(&mut self, value: &[u8], number: &[u8]) -> bool {
        let digits = number.strip_prefix(b"-").unwrap_or(number);
        let whole = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
        let (most, scale) = self.digits;
        let fraction = digits.len().saturating_sub(whole + 1);
        self.digits = (most.max(whole), scale.max(fraction));
        self.has_comma |= value.contains(&b',') && fraction != THOUSANDS;
        !(whole > 1 && digits[0] == b'0')
    }

    /// The format that all values have; none where it might be one of several.
    pub(super) fn found(&self) -> Option<HabitFormat> {
        if self.words.yes && self.words.no && !self.words.others {
            return Some(HabitFormat { format: "yes-no", kind: None });
        }
        let (format, kind) = *FORMATS.get(self.left.trailing_zeros() as usize)?;
        let is_one = self.left.count_ones() == 1 && (kind != Kind::Number || self.has_comma);
        is_one.then_some(HabitFormat { format, kind: Some(kind) })
    }

    /// True if all values are days that may be read in two ways.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.left.count_ones() > 1
    }

    /// The type of a column that is read so; none of a number, for which its digits say it.
    pub(super) fn sql_type(&self, found: HabitFormat) -> Option<String> {
        match found.kind {
            None => Some("BOOLEAN".to_owned()),
            Some(Kind::Number) => None,
            Some(Kind::Date) => Some("DATE".to_owned()),
            Some(Kind::Datetime) => Some("DATETIME".to_owned()),
            // Else a server that gives the first TIMESTAMP a default of its own would do so.
            Some(Kind::Moment) => {
                Some(format!("TIMESTAMP({}) NULL DEFAULT NULL", self.seconds_digits.min(6)))
            }
        }
    }
}

impl Words {
    fn take(&mut self, value: &[u8]) {
        let is_one_of = |words: &[&[u8]]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
        let (yes, no) = (is_one_of(&YES), is_one_of(&NO));
        self.yes |= yes;
        self.no |= no;
        self.others |= !(yes || no);
    }
}

/// Digits behind the point, of a moment.
fn fraction_digits(value: &[u8]) -> usize {
    let point = value.iter().position(|byte| *byte == b'.');
    point.map_or(0, |at| value[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: &[&str]) -> Option<&'static str> {
        let (mut habits, mut habit) = (Habits::new(), Habit::default());
        values.iter().for_each(|value| habit.take(value.as_bytes(), &mut habits));
        habit.found().map(|found| found.format)
    }

    #[test]
    fn a_format_is_found_where_all_values_have_it_and_no_other() {
        for (values, expected) in [
            (&["1.234,50", "-7", "12,5"][..], Some("decimal-comma")),
            (&["12,5", "1.23"], None),
            (&["01234", "99999"], None),
            (&["01234", "12,5"], None),
            (&["0,5", "-0,25"], Some("decimal-comma")),
            (&["1,234", "12,500"], None),
            (&["1,234", "12,50"], Some("decimal-comma")),
            (&["1.234", "5.678"], None),
            (&["31.12.2026", "1.2.2026"], Some("%d.%m.%Y")),
            (&["31/12/2026", "01/02/2026"], Some("%d/%m/%Y")),
            (&["12/31/2026", "01/02/2026"], Some("%m/%d/%Y")),
            (&["01/02/2026", "03/04/2026"], None),
            (&["31.12.2026 10:00", "1.2.2026 9:30"], Some("%d.%m.%Y %H:%i")),
            (&["31.12.2026 10:00:05"], Some("%d.%m.%Y %H:%i:%s")),
            (&["2026-12-31T10:00:00Z", "2026-12-31T10:00:00.25+05:30"], Some("iso")),
            (&["2126-12-31T10:00:00Z"], None),
            (&["yes", "No", "YES"], Some("yes-no")),
            (&["yes", "yes"], None),
            (&["true", "false", "maybe"], None),
            (&["x", "12,5"], None),
        ] {
            assert_eq!(found(values), expected, "{values:?}");
        }
    }
}
