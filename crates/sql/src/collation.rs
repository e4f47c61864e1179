//! Other names for the collations that a statement names.

use std::ops::Range;

use crate::syntax::{Comments, Syntax};
use crate::token::{TokenKind, Tokens};

/// The statement with other names for collations, and for each place the index of its pair; None if it
/// names none of them. `names` are pairs of the name in the dump and the new one.
///
/// A name is a word outside of strings, quoted names and plain comments, or the quoted word behind COLLATE.
pub fn replace_collations(
    text: &[u8],
    syntax: Syntax,
    names: &[(String, String)],
) -> Option<(Vec<u8>, Vec<usize>)> {
    let places = places(text, syntax, names);
    if places.is_empty() {
        return None;
    }
    let (mut replaced, mut copied) = (Vec::with_capacity(text.len()), 0);
    for (place, index) in &places {
        replaced.extend_from_slice(&text[copied..place.start]);
        replaced.extend_from_slice(names[*index].1.as_bytes());
        copied = place.end;
    }
    replaced.extend_from_slice(&text[copied..]);
    Some((replaced, places.into_iter().map(|(_, index)| index).collect()))
}

/// `CHARACTER SET name COLLATE name` as a CREATE DATABASE has them; empty if it has none.
pub fn database_charset(text: &[u8], syntax: Syntax, comments: Comments) -> String {
    let mut found = String::new();
    let mut tokens = Tokens::new(text, syntax, comments).filter(|token| !token.is_sign(b'='));
    while let Some(token) = tokens.next() {
        let words = if token.is("COLLATE") {
            "COLLATE"
        } else if token.is("CHARSET") || token.is("SET") {
            "CHARACTER SET"
        } else {
            continue;
        };
        let value = tokens.next().map(|value| match value.kind {
            TokenKind::Text(quoted) => quoted.get(1..quoted.len() - 1).unwrap_or_default().to_vec(),
            _ => value.name().unwrap_or_default().into_owned(),
        });
        let is_name = |text: &String| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if let Some(name) = value.and_then(|name| String::from_utf8(name).ok()).filter(is_name) {
            found.push_str(&format!(" {words} {name}"));
        }
    }
    found.trim_start().to_owned()
}

/// The places of names, and the indexes of their pairs.
fn places(text: &[u8], syntax: Syntax, names: &[(String, String)]) -> Vec<(Range<usize>, usize)> {
    let mut places = Vec::new();
    let mut is_behind_collate = false;
    for token in Tokens::of_any_server(text, syntax) {
        let word = match &token.kind {
            TokenKind::Word(word) => *word,
            TokenKind::Text(quoted) if is_behind_collate => {
                quoted.get(1..quoted.len() - 1).unwrap_or_default()
            }
            TokenKind::Name(name) if is_behind_collate => name,
            _ => &[],
        };
        let index = names.iter().position(|(from, _)| word.eq_ignore_ascii_case(from.as_bytes()));
        places.extend(index.map(|index| (token.place.clone(), index)));
        is_behind_collate = token.is("COLLATE") || (is_behind_collate && token.is_sign(b'='));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charset_of_a_database_is_found() {
        let comments = Comments::default();
        for (text, expected) in [
            ("CREATE DATABASE a", ""),
            (
                "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `collate` /*!40100 DEFAULT CHARACTER SET utf8mb4 \
                 COLLATE utf8mb4_bin */ COMMENT 'CHARSET x'",
                "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            ),
            ("create database a default charset = 'latin1'", "CHARACTER SET latin1"),
            ("create schema a collate=binary", "COLLATE binary"),
        ] {
            let found = database_charset(text.as_bytes(), Syntax::default(), comments);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn words_are_replaced_and_data_is_not() {
        let names = [("a_0900_ai_ci".to_owned(), "new_ci".to_owned())];
        let replace = |text: &str| {
            let found = replace_collations(text.as_bytes(), Syntax::default(), &names);
            found.map(|(text, places)| (String::from_utf8_lossy(&text).into_owned(), places.len()))
        };
        for (text, expected, places) in [
            (
                "CREATE TABLE t (a TEXT COLLATE A_0900_ai_ci COMMENT 'a_0900_ai_ci') COLLATE=a_0900_ai_ci",
                "CREATE TABLE t (a TEXT COLLATE new_ci COMMENT 'a_0900_ai_ci') COLLATE=new_ci",
                2,
            ),
            (
                "CREATE DATABASE d /*!40100 COLLATE a_0900_ai_ci */ -- a_0900_ai_ci",
                "CREATE DATABASE d /*!40100 COLLATE new_ci */ -- a_0900_ai_ci",
                1,
            ),
            ("SET NAMES x COLLATE 'a_0900_ai_ci'", "SET NAMES x COLLATE new_ci", 1),
            ("SET collation_connection = a_0900_ai_ci", "SET collation_connection = new_ci", 1),
        ] {
            assert_eq!(replace(text), Some((expected.to_owned(), places)), "{text}");
        }
        for text in
            ["SELECT `a_0900_ai_ci`, 'a_0900_ai_ci', a_0900_ai_ci2", "/* a_0900_ai_ci */", ""]
        {
            assert_eq!(replace(text), None, "{text}");
        }
    }
}
