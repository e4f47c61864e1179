//! Rules, by the fields of lines.

use encode::mapped::{Lines, When};
use sources::{Row, TextRow, Value};

use super::LinesCheck;
use super::rule::{Asks, Rule};

/// A rule, and where in lines and among what is known that is what it asks about.
pub(super) struct PlacedRule<'a> {
    pub(super) rule: &'a Rule,
    pub(super) field: usize,
    pub(super) other: Option<usize>,
    pub(super) when: When,
    /// The number of what it looks up, or of its unique values among what is gathered.
    pub(super) number: usize,
}

/// The rules, by the fields of lines.
pub(super) fn placed<'a>(
    check: &LinesCheck<'a>,
    lines: &Lines,
) -> sources::Result<Vec<PlacedRule<'a>>> {
    let mut uniques = check.tables.len()..;
    let place = |rule: &'a Rule| {
        let other = match &rule.asks {
            Asks::Compares { with, .. } => Some(lines.find(with)?),
            _ => None,
        };
        let number = match &rule.asks {
            Asks::Unique => uniques.next(),
            Asks::References(lookup) => {
                check.lookups.iter().position(|known| known.lookup == *lookup)
            }
            _ => None,
        };
        Ok(PlacedRule {
            field: lines.find(&rule.field)?,
            other,
            when: When::new(&rule.when, lines)?,
            number: number.unwrap_or_default(),
            rule,
        })
    };
    check.rules.iter().map(place).collect()
}

pub(super) fn is_unique(rule: &Rule) -> bool {
    matches!(rule.asks, Asks::Unique)
}

/// A field of a line; none if it is NULL.
pub(super) fn bytes<'v>(
    line: TextRow<'v>,
    field: usize,
    scratch: &'v mut Vec<u8>,
) -> Option<&'v [u8]> {
    match line.value(field, scratch) {
        Value::Bytes(text) => Some(text),
        _ => None,
    }
}
