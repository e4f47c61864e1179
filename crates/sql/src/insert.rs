//! The words of an INSERT before its rows.

use crate::name::ObjectName;
use crate::syntax::{Comments, Syntax};
use crate::token::Tokens;
use crate::words::Words;

/// INSERT or REPLACE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `INSERT`.
    Insert,
    /// `INSERT IGNORE`.
    InsertIgnore,
    /// `REPLACE`.
    Replace,
}

/// Everything of `INSERT INTO t (a, b) VALUES (` before the first row. LOW_PRIORITY, DELAYED and
/// HIGH_PRIORITY, which mean nothing to InnoDB, are in `text` only; PARTITION makes it a statement
/// of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertHead {
    /// The treatment of duplicates.
    pub verb: Verb,
    /// Where rows go.
    pub table: ObjectName,
    /// The columns, where they are named.
    pub columns: Option<Vec<Vec<u8>>>,
    /// The words as they stand, `VALUES` included, the first parenthesis not: what the next
    /// statement of the same run begins with too.
    pub text: Vec<u8>,
}

/// The start of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// An INSERT or REPLACE with rows.
    Rows(InsertHead),
    /// Something else.
    Other,
    /// More bytes would tell.
    More,
}

/// Looks whether a statement that begins with `text` is an INSERT of rows. `last`: `text` is all.
pub fn head(text: &[u8], last: bool, syntax: Syntax, comments: Comments) -> Head {
    // A version comment around all of it would have to be closed behind the rows.
    let may_be = match text.first() {
        None => !last,
        Some(byte) => matches!(byte, b'I' | b'i' | b'R' | b'r'),
    };
    if !may_be {
        return Head::Other;
    }
    let mut words = Words::new(Tokens::new(text, syntax, comments));
    let found = rows(&mut words);
    if words.seen() >= text.len() && !last {
        return Head::More;
    }
    match found {
        Some((verb, table, columns)) => {
            let text = text[..words.end()].to_vec();
            Head::Rows(InsertHead { verb, table, columns, text })
        }
        None => Head::Other,
    }
}

type RowsHead = (Verb, ObjectName, Option<Vec<Vec<u8>>>);

fn rows(words: &mut Words<'_>) -> Option<RowsHead> {
    let mut verb = match words.accept("REPLACE") {
        true => Verb::Replace,
        false if words.accept("INSERT") => Verb::Insert,
        false => return None,
    };
    for priority in ["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"] {
        if words.accept(priority) {
            break;
        }
    }
    if verb == Verb::Insert && words.accept("IGNORE") {
        verb = Verb::InsertIgnore;
    }
    words.accept("INTO");
    let table = words.object()?;
    let columns = match words.accept_sign(b'(') {
        true => Some(names(words)?),
        false => None,
    };
    let values = words.accept("VALUES") || words.accept("VALUE");
    (values && words.is_sign(b'(') && !words.was_in_comment()).then_some((verb, table, columns))
}

/// The names up to the closing parenthesis.
fn names(words: &mut Words<'_>) -> Option<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    if words.accept_sign(b')') {
        return Some(names);
    }
    loop {
        names.push(words.name()?);
        if words.accept_sign(b')') {
            return Some(names);
        }
        if !words.accept_sign(b',') {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, last: bool) -> Head {
        head(text.as_bytes(), last, Syntax::default(), Comments::default())
    }

    #[test]
    fn heads_are_told_from_other_inserts() {
        let cases = [
            (
                "INSERT INTO `t` VALUES (1)",
                Some((Verb::Insert, "t", None, "INSERT INTO `t` VALUES")),
            ),
            (
                "insert ignore into d.`a``b` (`x`, y) value\n(1",
                Some((
                    Verb::InsertIgnore,
                    "d.a`b",
                    Some("x y"),
                    "insert ignore into d.`a``b` (`x`, y) value",
                )),
            ),
            (
                "REPLACE DELAYED t /*!50000 (a) */ VALUES/* c */(1",
                Some((Verb::Replace, "t", Some("a"), "REPLACE DELAYED t /*!50000 (a) */ VALUES")),
            ),
            (
                "INSERT INTO t () VALUES ()",
                Some((Verb::Insert, "t", Some(""), "INSERT INTO t () VALUES")),
            ),
            ("INSERT INTO t SET a=1", None),
            ("INSERT INTO t (a) SELECT 1", None),
            ("INSERT INTO t PARTITION (p) VALUES (1)", None),
            ("INSERT INTO t (SELECT 1)", None),
            ("INSERT INTO t /*!50000 VALUES (1) */", None),
            ("INSERT INTO t VALUES", None),
            ("IN", None),
        ];
        for (text, expected) in cases {
            let found = match parse(text, true) {
                Head::Rows(head) => {
                    let dotted = |name: &ObjectName| {
                        let parts = name.database.iter().chain([&name.name]);
                        parts
                            .map(|part| String::from_utf8_lossy(part))
                            .collect::<Vec<_>>()
                            .join(".")
                    };
                    let columns = head.columns.as_ref().map(|names| {
                        let names = names.iter().map(|name| String::from_utf8_lossy(name));
                        names.collect::<Vec<_>>().join(" ")
                    });
                    let words = String::from_utf8_lossy(&head.text).into_owned();
                    Some((head.verb, dotted(&head.table), columns, words))
                }
                Head::Other => None,
                Head::More => panic!("{text}: all of it is here"),
            };
            let expected = expected.map(|(verb, table, columns, words)| {
                (verb, table.to_owned(), columns.map(str::to_owned), words.to_owned())
            });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_part_of_a_head_never_decides_otherwise_than_the_whole() {
        for text in
            ["INSERT INTO `a`.`b``c` (`x`,y) /* VALUES ( */ VALUES (1)", "replace t value (2)"]
        {
            let whole = parse(text, true);
            assert!(matches!(whole, Head::Rows(_)), "{text}");
            for end in 0..text.len() {
                let part = parse(&text[..end], false);
                assert!(part == Head::More || part == whole, "{text} cut at {end}: {part:?}");
            }
        }
    }
}
