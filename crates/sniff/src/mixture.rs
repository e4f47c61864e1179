//! Columns of numbers or dates that a few other values make text.

use super::kind::Forms;

/// Values after which a column of texts is no longer examined.
const VALUES_MIN: u64 = 20;
/// Bytes of an odd value that a note shows.
const SHOWN_BYTES: usize = 40;

/// The values of a column, counted by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Mixture {
    values: u64,
    numbers: Share,
    dates: Share,
    /// True if a number has zeros in front: then the column has codes, and text is their type.
    has_codes: bool,
    has_fractions: bool,
    has_exponents: bool,
    has_clocks: bool,
}

/// Values of one kind.
#[derive(Clone, Debug, Default)]
struct Share {
    values: u64,
    /// The first value of another kind.
    other: Option<OddValue>,
}

/// A value that is not of the kind of most others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OddValue {
    /// Number of its row, from 0; none if unknown.
    pub(super) row: Option<u64>,
    pub(super) text: String,
}

/// The kind of most values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Majority {
    Integers,
    Decimals,
    Doubles,
    Dates,
    Datetimes,
}

impl Mixture {
    /// True while more values can show a majority.
    pub(super) fn is_open(&self) -> bool {
        let most = self.numbers.values.max(self.dates.values);
        !self.has_codes && (self.values < VALUES_MIN || most * 5 >= self.values * 4)
    }

    /// A value of row `row`.
    pub(super) fn take(&mut self, row: u64, value: &[u8], forms: &Forms) {
        self.values += 1;
        let is_number = forms.decimal.is_some() || forms.double;
        let is_date = forms.date || forms.datetime.is_some();
        self.numbers.take(is_number, Some(row), value);
        self.dates.take(is_date, Some(row), value);
        self.has_fractions |= is_number && !forms.integer;
        self.has_exponents |= forms.double && forms.decimal.is_none();
        self.has_clocks |= forms.datetime.is_some();
        self.has_codes |=
            !is_number && value.first() == Some(&b'0') && value.iter().all(u8::is_ascii_digit);
    }

    /// Values that could be NULL, and are text.
    pub(super) fn take_token(&mut self, count: u64, token: &str) {
        self.values += count;
        self.numbers.take(false, None, token.as_bytes());
        self.dates.take(false, None, token.as_bytes());
    }

    /// The kind of nearly all values, the number of the others, and the first of these.
    pub(super) fn majority(&self) -> Option<(Majority, u64, &OddValue)> {
        let (share, kind) = match self.numbers.values >= self.dates.values {
            true if self.has_exponents => (&self.numbers, Majority::Doubles),
            true if self.has_fractions => (&self.numbers, Majority::Decimals),
            true => (&self.numbers, Majority::Integers),
            false if self.has_clocks => (&self.dates, Majority::Datetimes),
            false => (&self.dates, Majority::Dates),
        };
        let others = self.values - share.values;
        let are_few = others * 10 <= self.values || (others == 1 && share.values > 1);
        let first = share.other.as_ref()?;
        (are_few && !self.has_codes).then_some((kind, others, first))
    }

    /// The number of all values.
    pub(super) fn values(&self) -> u64 {
        self.values
    }
}

impl Share {
    fn take(&mut self, is_member: bool, row: Option<u64>, value: &[u8]) {
        if is_member {
            self.values += 1;
        } else if self.other.is_none() {
            let shown = &value[..value.len().min(SHOWN_BYTES)];
            self.other = Some(OddValue { row, text: String::from_utf8_lossy(shown).into_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Mixture {
        let mut mixture = Mixture::default();
        for (row, value) in values.iter().enumerate() {
            mixture.take(row as u64, value.as_bytes(), &Forms::of(value.as_bytes()));
        }
        mixture
    }

    #[test]
    fn few_other_values_are_named_and_codes_are_not_numbers() {
        let others = |values: &[&str]| {
            of(values).majority().map(|(kind, others, odd)| (kind, others, odd.text.clone()))
        };
        let odd = |kind, text: &str| Some((kind, 1, text.to_owned()));
        assert_eq!(others(&["1", "x", "3"]), odd(Majority::Integers, "x"));
        assert_eq!(others(&["1.5O", "1", "3.25"]), odd(Majority::Decimals, "1.5O"));
        assert_eq!(others(&["1e5", "1", "-"]), odd(Majority::Doubles, "-"));
        assert_eq!(
            others(&["2026-01-01", "2026-02-30", "2026-01-03"]),
            odd(Majority::Dates, "2026-02-30")
        );
        assert_eq!(
            others(&["2026-01-01 10:00:00", "2026-01-03", "soon"]),
            odd(Majority::Datetimes, "soon")
        );
        for values in [&["1", "2", "3"][..], &["1", "x", "y"], &["12345", "01234", "23456"], &["x"]]
        {
            assert_eq!(others(values), None, "{values:?}");
        }
    }

    #[test]
    fn columns_of_texts_are_examined_no_longer_than_needed() {
        assert!(!of(&["x"; 20]).is_open());
        assert!(of(&["1"; 20]).is_open());
    }
}
