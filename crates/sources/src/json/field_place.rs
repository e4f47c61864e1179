//! Where the fields of an object and their values are in the text of a record.

use super::fault::Fault;
use super::token::{Cursor, Token};

/// Where the value of a field is in the text of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldPlace {
    pub(super) token: Token,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Takes each field of a record: its name as it stands between the quotes, whether that has escapes, and its value.
#[inline]
pub(super) fn each_field(
    cursor: &mut Cursor<'_>,
    mut take: impl FnMut(&[u8], bool, FieldPlace) -> Result<(), Fault>,
) -> Result<(), Fault> {
    cursor.expect(b'{', "an opening brace")?;
    cursor.skip_blanks();
    if cursor.peek() == Some(b'}') {
        cursor.at += 1;
        return end(cursor);
    }
    loop {
        cursor.skip_blanks();
        if cursor.peek() != Some(b'"') {
            return Err(cursor.expected("a field's name in quotes"));
        }
        let (name, from, to) = cursor.string()?;
        cursor.expect(b':', "a colon")?;
        let (token, start, end_of_value) = cursor.value()?;
        let found = FieldPlace { token, start, end: end_of_value };
        take(&cursor.text[from..to], name == Token::Escaped, found)?;
        cursor.skip_blanks();
        match cursor.peek() {
            Some(b',') => cursor.at += 1,
            Some(b'}') => break,
            _ => return Err(cursor.expected("a comma or a closing brace")),
        }
    }
    cursor.at += 1;
    end(cursor)
}

/// Nothing may follow a record.
fn end(cursor: &mut Cursor<'_>) -> Result<(), Fault> {
    cursor.skip_blanks();
    match cursor.at == cursor.text.len() {
        true => Ok(()),
        false => Err(cursor.expected("the end of the record")),
    }
}
