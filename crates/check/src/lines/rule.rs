//! Rules for lines, besides rows that their tables accept.

use std::cmp::Ordering;
use std::collections::HashSet;

use encode::mapped::{Condition, Lookup, number, numeric_order};
use regex::bytes::Regex;
use sources::TextRow;

use crate::fault::{self, Fault};

/// A rule for a field of each line.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Name of its faults in reports; else the fault itself.
    pub name: Option<String>,
    /// The field.
    pub field: String,
    /// It holds for lines that meet all conditions of one of these; for all, if there are none.
    pub when: Vec<Vec<Condition>>,
    /// The condition.
    pub asks: Asks,
}

/// A condition on a field as it stands in the line. NULL passes all but the first.
#[derive(Clone, Debug)]
pub enum Asks {
    /// That it is there: neither NULL nor empty.
    Required,
    /// A number from one to another.
    Range {
        /// The least.
        min: Option<f64>,
        /// The greatest.
        max: Option<f64>,
    },
    /// So many characters.
    Length {
        /// At least.
        min: Option<usize>,
        /// At most.
        max: Option<usize>,
    },
    /// That a regular expression is found in it.
    Matches(Regex),
    /// One of these texts.
    OneOf(HashSet<String>),
    /// That no line before has the same.
    Unique,
    /// That a table has a row with it.
    References(Lookup),
    /// How it compares with another field: as numbers if both are, else byte for byte.
    Compares {
        /// The other field.
        with: String,
        /// How.
        by: Comparison,
    },
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `=`
    Equal,
    /// `!=`
    Unequal,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
}

impl Comparison {
    /// As rules have them, those of two signs first.
    pub const SIGNS: [(&'static str, Comparison); 7] = [
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("!=", Comparison::Unequal),
        ("<>", Comparison::Unequal),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
        ("=", Comparison::Equal),
    ];

    fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Equal => order.is_eq(),
            Comparison::Unequal => order.is_ne(),
            Comparison::GreaterOrEqual => order.is_ge(),
            Comparison::Greater => order.is_gt(),
        }
    }

    fn sign(self) -> &'static str {
        Comparison::SIGNS.iter().find(|(_, one)| *one == self).map_or("=", |(sign, _)| sign)
    }
}

impl Rule {
    /// The texts of the rule that are compared with fields.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let asked: Vec<&str> = match &self.asks {
            Asks::OneOf(texts) => texts.iter().map(String::as_str).collect(),
            Asks::Matches(regex) => vec![regex.as_str()],
            _ => Vec::new(),
        };
        let tests = self.when.iter().flatten().flat_map(|condition| condition.test.texts());
        asked.into_iter().chain(tests.map(String::as_str))
    }
}

impl Asks {
    /// The reason why a value does not pass; `other` is that of the field it is compared with.
    /// Other lines and tables are not considered.
    pub(super) fn fault(&self, value: Option<&[u8]>, other: Option<&[u8]>) -> Option<String> {
        let Some(text) = value else {
            return matches!(self, Asks::Required).then(|| "is required, but NULL".to_owned());
        };
        match self {
            Asks::Required => text.is_empty().then(|| "is required, but empty".to_owned()),
            Asks::Range { min, max } => out_of_range(text, *min, *max),
            Asks::Length { min, max } => {
                let count = String::from_utf8_lossy(text).chars().count();
                let is_short = min.is_some_and(|min| count < min);
                let is_long = max.is_some_and(|max| count > max);
                (is_short || is_long).then(|| {
                    let (limit, which) =
                        if is_short { (min, "at least") } else { (max, "at most") };
                    format!("must have {which} {} characters", limit.unwrap_or_default())
                })
            }
            Asks::Matches(regex) => {
                (!regex.is_match(text)).then(|| format!("does not match {}", regex.as_str()))
            }
            Asks::OneOf(texts) => {
                let is_one = std::str::from_utf8(text).is_ok_and(|text| texts.contains(text));
                (!is_one).then(|| "is not one of the allowed values".to_owned())
            }
            Asks::Compares { with, by } => {
                let other = other?;
                let order = numeric_order(text, other).unwrap_or_else(|| text.cmp(other));
                (!by.holds(order)).then(|| format!("is not {} {with}", by.sign()))
            }
            Asks::Unique | Asks::References(_) => None,
        }
    }
}

fn out_of_range(text: &[u8], min: Option<f64>, max: Option<f64>) -> Option<String> {
    let Some(number) = number(text) else { return Some("is not a number".to_owned()) };
    let words = match (min, max) {
        (Some(min), _) if number < min => format!("is less than {min}"),
        (_, Some(max)) if number > max => format!("is more than {max}"),
        _ => return None,
    };
    Some(words)
}

impl Rule {
    /// A fault of a line, and what it has in common with others.
    pub(super) fn told(&self, line: TextRow<'_>, field: usize, reason: String) -> Fault {
        let class = self.name.clone().unwrap_or_else(|| reason.clone());
        (fault::of_field(line, Some(field), self.field.clone(), reason), class)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_pass_or_it_is_said_why_not() {
        let of = |asks: &Asks, text: &str| asks.fault(Some(text.as_bytes()), None);
        assert!(Asks::Required.fault(None, None).is_some() && of(&Asks::Required, "").is_some());
        let range = Asks::Range { min: Some(0.0), max: Some(10.0) };
        assert_eq!(of(&range, " 7.5 "), None);
        assert_eq!(of(&range, "-1").unwrap(), "is less than 0");
        assert_eq!(of(&range, "11").unwrap(), "is more than 10");
        assert_eq!(of(&range, "x").unwrap(), "is not a number");
        assert_eq!(of(&range, "NaN").unwrap(), "is not a number");
        assert_eq!(range.fault(None, None), None);
        let length = Asks::Length { min: Some(2), max: Some(3) };
        assert!(of(&length, "äöü").is_none() && of(&length, "a").is_some());
        assert_eq!(of(&length, "abcd").unwrap(), "must have at most 3 characters");
        let regex = Asks::Matches(Regex::new("^[^@]+@[^@]+$").unwrap());
        assert!(of(&regex, "a@b").is_none() && of(&regex, "ab").is_some());
        let compares = |by| Asks::Compares { with: "b".to_owned(), by };
        let fault = |by, one: &str, other: &str| {
            compares(by).fault(Some(one.as_bytes()), Some(other.as_bytes()))
        };
        assert_eq!(fault(Comparison::Less, "9", "10"), None);
        assert_eq!(fault(Comparison::Less, "2026-01-09", "2026-01-10"), None);
        assert_eq!(fault(Comparison::GreaterOrEqual, "9", "10").unwrap(), "is not >= b");
        assert_eq!(fault(Comparison::Unequal, "1.0", "1").unwrap(), "is not != b");
        assert_eq!(fault(Comparison::Unequal, "9007199254740993", "9007199254740992"), None);
        assert_eq!(fault(Comparison::LessOrEqual, "nan", "1").unwrap(), "is not <= b");
    }
}
