//! Text between the tuples of a run, and behind them.

use crate::literal::trim;
use crate::syntax::Syntax;
use crate::walk::{comment, is_space};

/// How the tuples of a run of INSERTs are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuples {
    /// The words that each further statement of the run begins with: [`super::InsertHead::text`].
    pub head: Vec<u8>,
    /// How strings are written.
    pub syntax: Syntax,
}

/// The text after a semicolon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A statement of the same run, whose head ends after so many bytes.
    Same(usize),
    /// Something else.
    Other,
    /// That cannot be told yet.
    Unknown,
}

impl Tuples {
    /// Looks at what comes after a semicolon; `last` if the input ends with `bytes`.
    pub fn after_statement(&self, bytes: &[u8], last: bool) -> Next {
        let Some(start) = skip(bytes, last) else { return Next::Unknown };
        let rest = &bytes[start..];
        if rest.len() <= self.head.len() && !last && self.head.starts_with(rest) {
            return Next::Unknown;
        }
        match rest.starts_with(&self.head) {
            true => match skip(&rest[self.head.len()..], last) {
                None => Next::Unknown,
                Some(size) => match rest.get(self.head.len() + size) {
                    Some(b'(') => Next::Same(start + self.head.len()),
                    None if !last => Next::Unknown,
                    _ => Next::Other,
                },
            },
            false => Next::Other,
        }
    }

    /// True if this may stand between two rows, or before the first: one comma, or the words of the
    /// next statement.
    #[inline(never)]
    pub fn is_gap(&self, between: &[u8], is_first: bool) -> bool {
        let rest = |text| skip(text, true).map_or(&[][..], |size| &text[size..]);
        match rest(between) {
            [] => is_first,
            [b',', behind @ ..] => rest(behind).is_empty(),
            [b';', behind @ ..] => self.is_head(behind),
            _ => false,
        }
    }

    /// True if this is the words of a statement of the run. The walk has read text that begins with
    /// them, before the parenthesis that it ends before.
    fn is_head(&self, text: &[u8]) -> bool {
        let Some(start) = skip(text, true) else { return false };
        text[start..].starts_with(&self.head)
    }
}

/// True if this may stand behind the last row of a chunk: text without a meaning.
pub fn is_nothing(text: &[u8]) -> bool {
    trim(text) == Ok(b"")
}

/// True if this, up to the end of the input, is white space and comments.
pub fn is_blank(bytes: &[u8]) -> bool {
    skip(bytes, true) == Some(bytes.len())
}

/// Bytes of white space and comments at the start of `bytes`; None if more may come.
fn skip(bytes: &[u8], last: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        match rest {
            [byte, ..] if is_space(*byte) => at += 1,
            // Those that the server runs are no comments.
            [b'/', b'*', b'!' | b'M', ..] => return Some(at),
            [b'/', b'*', _, ..] => match memchr::memmem::find(&rest[2..], b"*/") {
                Some(end) => at += 2 + end + 2,
                None => return last.then_some(bytes.len()),
            },
            [b'#' | b'-' | b'/', ..] if rest.len() < 3 && !last => return None,
            _ => match comment(rest) {
                Some(_) => match memchr::memchr(b'\n', rest) {
                    Some(end) => at += end + 1,
                    None => return last.then_some(bytes.len()),
                },
                None => return Some(at),
            },
        }
    }
}
