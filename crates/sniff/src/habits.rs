//! Ways in which people write values, where all values of a column are written so.

use written::{Format, Meaning};

use super::kind::Forms;

/// Formats as `--format-of` has them, and what a column of such values is. %b reads names of months
/// of any length.
const FORMATS: [(&str, Kind); 37] = [
    (DECIMAL_COMMA, Kind::Number),
    ("decimal-point", Kind::Number),
    ("%d.%m.%Y", Kind::Date),
    ("%d/%m/%Y", Kind::Date),
    ("%m/%d/%Y", Kind::Date),
    ("%Y/%m/%d", Kind::Date),
    ("%d-%m-%Y", Kind::Date),
    ("%m-%d-%Y", Kind::Date),
    ("%Y-%m-%d", Kind::Date),
    ("%d.%m.%y", Kind::Date),
    ("%d/%m/%y", Kind::Date),
    ("%m/%d/%y", Kind::Date),
    ("%d-%b-%Y", Kind::Date),
    ("%d-%b-%y", Kind::Date),
    ("%d %b %Y", Kind::Date),
    ("%b %d, %Y", Kind::Date),
    ("%b %d %Y", Kind::Date),
    ("%d.%m.%Y %H:%i", Kind::Datetime),
    ("%d.%m.%Y %H:%i:%s", Kind::Datetime),
    ("%d/%m/%Y %H:%i", Kind::Datetime),
    ("%d/%m/%Y %H:%i:%s", Kind::Datetime),
    ("%m/%d/%Y %H:%i", Kind::Datetime),
    ("%m/%d/%Y %H:%i:%s", Kind::Datetime),
    ("%Y/%m/%d %H:%i", Kind::Datetime),
    ("%Y/%m/%d %H:%i:%s", Kind::Datetime),
    ("%Y-%m-%d %H:%i", Kind::Datetime),
    ("%Y-%m-%d %H:%i:%s", Kind::Datetime),
    ("%m/%d/%y %H:%i", Kind::Datetime),
    ("%d/%m/%y %H:%i", Kind::Datetime),
    ("%d/%m/%Y %h:%i %p", Kind::Datetime),
    ("%d/%m/%Y %h:%i:%s %p", Kind::Datetime),
    ("%m/%d/%Y %h:%i %p", Kind::Datetime),
    ("%m/%d/%Y %h:%i:%s %p", Kind::Datetime),
    ("%Y-%m-%d %h:%i:%s %p", Kind::Datetime),
    ("%h:%i %p", Kind::Time),
    ("%h:%i:%s %p", Kind::Time),
    ("iso", Kind::Moment),
];
const DECIMAL_COMMA: &str = "decimal-comma";
/// Words for yes and no. Both of a pair must be in a column, unless one alone can mean nothing else.
const WORDS: [(&[u8], &[u8], bool); 3] =
    [(b"yes", b"no", false), (b"true", b"false", true), (b"t", b"f", false)];
/// The range of a TIMESTAMP, whatever the time zone: microseconds of 1970-01-02 and 2038-01-18.
const MOMENTS: std::ops::Range<i64> = 86_400_000_000..2_147_385_600_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Date,
    Datetime,
    Time,
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
    left: u64,
    words: Words,
    /// Digits before the point and behind it, of numbers with a decimal comma and with a decimal point.
    digits: [(usize, usize); 2],
    seconds_digits: usize,
    /// True if any value has a comma.
    has_comma: bool,
}

/// Values that are words for yes, and for no; a bit a pair that all values are of.
#[derive(Clone, Copy, Debug)]
struct Words {
    yes: bool,
    no: bool,
    left: u8,
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
        let formats = FORMATS.iter().map(|(text, _)| Format::parse(text));
        let formats: Result<Vec<Format>, String> = formats.collect();
        let formats = formats.unwrap_or_default();
        assert_eq!(formats.len(), FORMATS.len(), "formats of our own are formats");
        Habits { formats, text: Vec::new() }
    }
}

impl Default for Habit {
    fn default() -> Habit {
        let left = (1 << FORMATS.len()) - 1;
        let words = Words { yes: false, no: false, left: (1 << WORDS.len()) - 1 };
        Habit { left, words, digits: [(0, 0); 2], seconds_digits: 0, has_comma: false }
    }
}

impl Habit {
    /// The habit of a column with values that have none.
    pub(super) fn none() -> Habit {
        let fresh = Habit::default();
        Habit { left: 0, words: Words { left: 0, ..fresh.words }, ..fresh }
    }

    /// A value of the column, which is no NULL.
    pub(super) fn take(&mut self, value: &[u8], habits: &mut Habits) {
        self.words.take(value);
        if self.left == 0 {
            return;
        }
        let begins = value.trim_ascii().first();
        if !begins.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-+".contains(byte)) {
            self.left = 0;
            return;
        }
        for (at, format) in habits.formats.iter().enumerate() {
            if self.left & 1 << at == 0 {
                continue;
            }
            let is_in = match (format.read(value, &mut habits.text), FORMATS[at].1) {
                (Meaning::NotInFormat | Meaning::Null | Meaning::Inexact, _) => false,
                (Meaning::Moment(micros), _) => MOMENTS.contains(&micros),
                // Without an offset it is no moment.
                (Meaning::Text, Kind::Moment) => false,
                (Meaning::Text, Kind::Number) => self.is_number(at, &habits.text),
                // Of a pattern each part is a number, and together they may be no day.
                (Meaning::Text, Kind::Date) => Forms::of(&habits.text).date,
                (Meaning::Text, Kind::Datetime) => Forms::of(&habits.text).datetime.is_some(),
                (Meaning::Text, Kind::Time) => Forms::of(&habits.text).time.is_some(),
            };
            if !is_in {
                self.left &= !(1 << at);
            }
        }
        self.seconds_digits = self.seconds_digits.max(fraction_digits(value));
        self.has_comma |= value.contains(&b',');
    }

    /// True if a text that may be a number is one: texts with needless zeros in front are codes.
    fn is_number(&mut self, format: usize, number: &[u8]) -> bool {
        let digits = number.strip_prefix(b"-").unwrap_or(number);
        let whole = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
        let (most, scale) = self.digits[format];
        let fraction = digits.len().saturating_sub(whole + 1);
        self.digits[format] = (most.max(whole), scale.max(fraction));
        !(whole > 1 && digits[0] == b'0')
    }

    /// Decides between formats that all values have, as far as the file can: in one whose fields are
    /// separated by commas, a comma between digits stands between thousands.
    pub(super) fn settle(&mut self, comma_separates: bool) {
        if comma_separates && self.left & 0b11 == 0b11 {
            self.left &= !1;
        }
    }

    /// The format that all values have; none where it might be one of several.
    pub(super) fn found(&self) -> Option<HabitFormat> {
        if self.words.are_all() {
            return Some(HabitFormat { format: "yes-no", kind: None });
        }
        let (format, kind) = *FORMATS.get(self.left.trailing_zeros() as usize)?;
        let is_one = self.left.count_ones() == 1 && (kind != Kind::Number || self.has_comma);
        is_one.then_some(HabitFormat { format, kind: Some(kind) })
    }

    /// True if all values are one word for yes or no, which may mean something else.
    pub(super) fn has_one_word(&self) -> bool {
        self.words.left != 0 && !self.words.are_all()
    }

    /// The reason why all values may be read in two ways, if they may: the end of a sentence.
    pub(super) fn ambiguity(&self) -> Option<&'static str> {
        let are_several = self.left.count_ones() > 1;
        match self.left & 0b11 {
            0 => are_several.then_some("its dates do not show whether day or month comes first"),
            _ => (are_several && self.has_comma)
                .then_some("its commas may stand before a fraction or between thousands"),
        }
    }

    /// The type of a column that is read so.
    pub(super) fn sql_type(
        &self,
        found: HabitFormat,
        number: impl Fn((usize, usize)) -> String,
    ) -> String {
        match found.kind {
            None => "BOOLEAN".to_owned(),
            Some(Kind::Number) => number(self.digits[usize::from(found.format != DECIMAL_COMMA)]),
            Some(Kind::Date) => "DATE".to_owned(),
            Some(Kind::Datetime) => "DATETIME".to_owned(),
            Some(Kind::Time) => "TIME".to_owned(),
            // Else a server that gives the first TIMESTAMP a default of its own would do so.
            Some(Kind::Moment) => {
                format!("TIMESTAMP({}) NULL DEFAULT NULL", self.seconds_digits.min(6))
            }
        }
    }
}

impl Words {
    fn take(&mut self, value: &[u8]) {
        if self.left == 0 {
            return;
        }
        for (at, (yes, no, _)) in WORDS.iter().enumerate() {
            let (is_yes, is_no) = (value.eq_ignore_ascii_case(yes), value.eq_ignore_ascii_case(no));
            self.yes |= is_yes;
            self.no |= is_no;
            if !(is_yes || is_no) {
                self.left &= !(1 << at);
            }
        }
    }

    /// True if all values are words for yes and no.
    fn are_all(self) -> bool {
        let pair = WORDS.get(self.left.trailing_zeros() as usize);
        pair.is_some_and(|(.., alone)| (self.yes && self.no) || (*alone && (self.yes || self.no)))
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
        habit.settle(false);
        habit.found().map(|found| found.format)
    }

    #[test]
    fn a_format_is_found_where_all_values_have_it_and_no_other() {
        for (values, expected) in [
            (&["1.234,50", "-7", "12,5"][..], Some("decimal-comma")),
            (&["12,5", "1.23"], None),
            (&["1,234,567", "999", "-1,000.5"], Some("decimal-point")),
            (&["1,234", "0,123"], Some("decimal-comma")),
            (&["1,234", "12,34,567"], None),
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
            (&["2026/01/02", "2026/12/31"], Some("%Y/%m/%d")),
            (&["2026-1-2", "2026-12-31"], Some("%Y-%m-%d")),
            (&["13-05-2026"], Some("%d-%m-%Y")),
            (&["03-Jan-2026", "4-feb-2026"], Some("%d-%b-%Y")),
            (&["03-Jan-26"], Some("%d-%b-%y")),
            (&["5 May 2026"], Some("%d %b %Y")),
            (&["5 May 2026", "6 June 2026"], Some("%d %b %Y")),
            (&["January 5, 2026"], Some("%b %d, %Y")),
            (&["6/13/2018 1:05:09 PM", "6/1/2018 12:00:00 AM"], Some("%m/%d/%Y %h:%i:%s %p")),
            (&["6/1/2018 1:05:09 PM"], None),
            (&["1:05 PM", "11:30 am"], Some("%h:%i %p")),
            (&["6/13/2018 1:05 PM", "x"], None),
            (&["2026/1/2 3:04"], Some("%Y/%m/%d %H:%i")),
            (&["31.12.2026 10:00", "1.2.2026 9:30"], Some("%d.%m.%Y %H:%i")),
            (&["31.12.2026 10:00:05"], Some("%d.%m.%Y %H:%i:%s")),
            (&["2026-12-31T10:00:00Z", "2026-12-31T10:00:00.25+05:30"], Some("iso")),
            (&["2126-12-31T10:00:00Z"], None),
            (&["yes", "No", "YES"], Some("yes-no")),
            (&["yes", "yes"], None),
            (&["true", "false", "maybe"], None),
            (&["FALSE", "false"], Some("yes-no")),
            (&["true", "no"], None),
            (&["t", "f"], Some("yes-no")),
            (&["F", "F"], None),
            (&["x", "12,5"], None),
        ] {
            assert_eq!(found(values), expected, "{values:?}");
        }
    }
}
