//! Conditions on the lines that give a table a row.

use std::cmp::Ordering;

use sources::{Row, TextRow};
use values::Value;

/// A condition on a field.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Its name.
    pub field: String,
    /// The test of its value.
    pub test: Test,
}

/// A test of a field. As in SQL, NULL passes only the test for NULL.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// One of these texts, byte for byte.
    In(Vec<String>),
    /// None of these texts.
    NotIn(Vec<String>),
    /// NULL, or something else.
    Null(bool),
    /// Like a pattern of LIKE or unlike it: `%` stands for any characters, `_` for one, a backslash takes both
    /// for themselves; letters are told from capital ones.
    Like {
        /// The pattern.
        pattern: String,
        /// True if it must not match.
        not: bool,
    },
    /// A number that is no less than this.
    Min(f64),
    /// A number that is no more than this.
    Max(f64),
}

impl Test {
    /// The texts that fields are compared with.
    pub fn texts(&self) -> &[String] {
        match self {
            Test::In(texts) | Test::NotIn(texts) => texts,
            Test::Like { pattern, .. } => std::slice::from_ref(pattern),
            Test::Null(_) | Test::Min(_) | Test::Max(_) => &[],
        }
    }

    /// True if a value passes.
    pub fn passes(&self, value: Option<&[u8]>) -> bool {
        let Some(text) = value else { return *self == Test::Null(true) };
        match self {
            Test::In(texts) => texts.iter().any(|one| one.as_bytes() == text),
            Test::NotIn(texts) => !texts.iter().any(|one| one.as_bytes() == text),
            Test::Null(wanted) => !wanted,
            Test::Like { pattern, not } => sql::is_like(text, pattern.as_bytes()) != *not,
            Test::Min(least) => is_ordered(text, *least, Ordering::is_ge),
            Test::Max(most) => is_ordered(text, *most, Ordering::is_le),
        }
    }
}

fn is_ordered(text: &[u8], other: f64, wanted: impl Fn(Ordering) -> bool) -> bool {
    number(text).and_then(|number| number.partial_cmp(&other)).is_some_and(wanted)
}

/// The number that a text is, blanks around it aside.
pub fn number(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    // Not NaN and infinity, the only words that are read as numbers.
    text.parse().ok().filter(|_| !text.contains(['n', 'N']))
}

/// The order of two texts that are numbers: exact if both are whole.
pub fn numeric_order(one: &[u8], other: &[u8]) -> Option<Ordering> {
    let whole = |text: &[u8]| std::str::from_utf8(text.trim_ascii()).ok()?.parse::<i128>().ok();
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => number(one)?.partial_cmp(&number(other)?),
    }
}

/// A condition, and the number of its field.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) field: usize,
    pub(super) test: Test,
}

/// True if a line meets all conditions of one of these; `scratch` is overwritten.
#[inline]
pub(super) fn are_met(when: &[Vec<Placed>], line: TextRow<'_>, scratch: &mut Vec<u8>) -> bool {
    let mut is_met = |Placed { field, test }: &Placed| match line.value(*field, scratch) {
        Value::Bytes(text) => test.passes(Some(text)),
        _ => test.passes(None),
    };
    when.is_empty() || when.iter().any(|all| all.iter().all(&mut is_met))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_passes_only_the_test_for_it() {
        let like = |not| Test::Like { pattern: "%".to_owned(), not };
        let tests = [
            Test::In(vec![String::new()]),
            Test::NotIn(Vec::new()),
            Test::Null(false),
            like(true),
            like(false),
            Test::Min(0.0),
        ];
        assert!(tests.iter().all(|test| !test.passes(None)) && Test::Null(true).passes(None));
        assert!(Test::Min(2.0).passes(Some(b" 2")) && !Test::Min(2.0).passes(Some(b"x")));
        assert!(Test::Max(2.0).passes(Some(b"-3.5")) && !Test::Max(2.0).passes(Some(b"NaN")));
        assert!(Test::NotIn(vec!["a".to_owned()]).passes(Some(b"b")));
    }

    #[test]
    fn words_are_no_numbers() {
        for word in ["nan", "NaN", "-nan", "inf", "+Inf", "infinity", "x", "", "1 2"] {
            assert_eq!(number(word.as_bytes()), None, "{word}");
        }
        assert_eq!(number(b" 1e3 "), Some(1000.0));
        assert!(!Test::Min(2.0).passes(Some(b"inf")) && Test::Min(2.0).passes(Some(b"1e999")));
    }

    #[test]
    fn whole_numbers_of_many_digits_differ() {
        let order = |one: &str, other: &str| numeric_order(one.as_bytes(), other.as_bytes());
        assert_eq!(order("9007199254740993", " 9007199254740992 "), Some(Ordering::Greater));
        assert_eq!(order("2.0", "2"), Some(Ordering::Equal));
        assert_eq!(order("nan", "1"), None);
    }
}
