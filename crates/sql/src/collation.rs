//! Other names for the collations that a statement names.

use std::ops::Range;

use crate::syntax::Syntax;
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
