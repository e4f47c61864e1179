//! Values inside of others: where a JSON pointer leads to.

use super::fault::Fault;
use super::field_place::{FieldPlace, each_field};
use super::token::{Cursor, Token, plain};

/// The value that keys lead to from another value of a record; None if there is none.
///
/// Errors: an object on the way has the key twice.
pub(super) fn resolve(
    record: &[u8],
    from: FieldPlace,
    keys: &[Vec<u8>],
) -> Result<Option<FieldPlace>, Fault> {
    let mut place = from;
    for key in keys {
        if place.token != Token::Nested {
            return Ok(None);
        }
        let cursor = Cursor { text: &record[..place.end], at: place.start };
        let found = match record[place.start] {
            b'{' => member(cursor, key)?,
            _ => item(cursor, key)?,
        };
        let Some(found) = found else { return Ok(None) };
        place = found;
    }
    Ok(Some(place))
}

fn member(mut cursor: Cursor<'_>, key: &[u8]) -> Result<Option<FieldPlace>, Fault> {
    let mut found = None;
    each_field(&mut cursor, |name, is_escaped, place| {
        let is_key = if is_escaped { plain(name, true) == key } else { name == key };
        match is_key && found.replace(place).is_some() {
            true => Err(Fault::Twice(key.to_vec())),
            false => Ok(()),
        }
    })?;
    Ok(found)
}

fn item(mut cursor: Cursor<'_>, key: &[u8]) -> Result<Option<FieldPlace>, Fault> {
    let Some(index) = index(key) else { return Ok(None) };
    cursor.expect(b'[', "an opening bracket")?;
    for at in 0.. {
        cursor.skip_blanks();
        if cursor.peek() == Some(b']') {
            break;
        }
        let (token, start, end) = cursor.value()?;
        if at == index {
            return Ok(Some(FieldPlace { token, start, end }));
        }
        cursor.skip_blanks();
        match cursor.peek() {
            Some(b',') => cursor.at += 1,
            _ => break,
        }
    }
    Ok(None)
}

/// The index that a key is: digits without zeros in front.
fn index(key: &[u8]) -> Option<usize> {
    let is_index = key == b"0" || (!key.starts_with(b"0") && key.iter().all(u8::is_ascii_digit));
    is_index.then(|| std::str::from_utf8(key).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::key::Pointer;

    fn value(record: &str, pointer: &str) -> Result<Option<String>, Fault> {
        let pointer = Pointer::parse(&format!("/x{pointer}")).unwrap();
        let text = format!("{{\"x\":{record}}}");
        let (mut cursor, mut from) = (Cursor { text: text.as_bytes(), at: 0 }, None);
        each_field(&mut cursor, |_, _, place| {
            from = Some(place);
            Ok(())
        })?;
        let found = resolve(text.as_bytes(), from.unwrap(), &pointer.rest)?;
        Ok(found.map(|place| text[place.start..place.end].to_owned()))
    }

    /// Source: RFC 6901, section 5.
    const EXAMPLE: &str = r#"{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4,
        "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}"#;

    #[test]
    fn pointers_lead_to_values_inside() {
        for (pointer, expected) in [
            ("", Some(EXAMPLE)),
            ("/foo", Some(r#"["bar", "baz"]"#)),
            ("/foo/0", Some("bar")),
            ("/foo/1", Some("baz")),
            ("/foo/2", None),
            ("/foo/00", None),
            ("/foo/-", None),
            ("/foo/", None),
            ("/foo/0/x", None),
            ("/", Some("0")),
            ("/a~1b", Some("1")),
            ("/c%d", Some("2")),
            ("/e^f", Some("3")),
            ("/g|h", Some("4")),
            ("/i\\j", Some("5")),
            ("/k\"l", Some("6")),
            ("/ ", Some("7")),
            ("/m~0n", Some("8")),
            ("/Foo", None),
        ] {
            assert_eq!(value(EXAMPLE, pointer).unwrap().as_deref(), expected, "{pointer}");
        }
        assert_eq!(value("[]", "/0"), Ok(None));
        assert_eq!(value("[[1,[2]]]", "/0/1/0").unwrap().as_deref(), Some("2"));
        assert_eq!(value("7", "/0"), Ok(None));
        assert!(matches!(value(r#"{"a": 1, "\u0061": 2}"#, "/a"), Err(Fault::Twice(_))));
    }

    #[test]
    fn texts_that_are_no_pointers_are_refused() {
        for text in ["", "a", "/a~", "/a~2"] {
            assert!(Pointer::parse(text).is_err(), "{text}");
        }
    }
}
