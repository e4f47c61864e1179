//! The words, names and literals of one statement, with their places.
//!
//! ```text
//! CREATE /*!50013 DEFINER=`r`@`%` */ VIEW `db`.`v` AS select 'x'
//! Word            Word  S Name S Name Word Name S Name Word Word Text
//! ```
//!
//! Space and comments are passed over, version comments seen through. Bytes above 0x7f belong to
//! words, so that any character set whose letters are above it reads as the server reads it.

use std::ops::Range;

/// A piece of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// What it is.
    pub(crate) kind: TokenKind,
    /// Its bytes in the statement, quotes included.
    pub(crate) place: Range<usize>,
}

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A keyword, a name without quotes, or a number.
    Word,
    /// A name in quotes.
    Name,
    /// A string.
    Text,
    /// `@x`, `@@x`, or the `@` between user and host.
    Variable,
    /// Any other byte.
    Symbol(u8),
}

/// How quotes and backslashes are read: flags of `sql_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modes {
    /// `"x"` is a name.
    pub(crate) ansi_quotes: bool,
    /// A backslash is a byte like any other.
    pub(crate) no_backslash_escapes: bool,
}

/// The pieces of `text`, in order.
pub(crate) fn tokens(text: &[u8], modes: Modes) -> Tokens<'_> {
    Tokens { text, modes, at: 0 }
}

/// See [`tokens`].
#[derive(Clone, Debug)]
pub(crate) struct Tokens<'a> {
    text: &'a [u8],
    modes: Modes,
    at: usize,
}

impl Token {
    /// Whether it is this word, in whatever case.
    pub(crate) fn is_word(&self, text: &[u8], word: &str) -> bool {
        self.kind == TokenKind::Word
            && text[self.place.clone()].eq_ignore_ascii_case(word.as_bytes())
    }

    /// Whether it may be the name of something.
    pub(crate) fn is_name(&self) -> bool {
        matches!(self.kind, TokenKind::Name | TokenKind::Word)
    }

    /// The name that it is, quotes undone.
    pub(crate) fn name(&self, text: &[u8]) -> Vec<u8> {
        let bytes = &text[self.place.clone()];
        if self.kind == TokenKind::Name { unquoted(bytes) } else { bytes.to_vec() }
    }

    /// The value of the string that it is.
    pub(crate) fn value(&self, text: &[u8], modes: Modes) -> Vec<u8> {
        let bytes = &text[self.place.clone()];
        if modes.no_backslash_escapes { unquoted(bytes) } else { unescaped(bytes) }
    }
}

/// A name in backquotes.
pub(crate) fn quoted(name: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'`'];
    for &byte in name {
        quoted.extend(std::iter::repeat_n(byte, if byte == b'`' { 2 } else { 1 }));
    }
    quoted.push(b'`');
    quoted
}

/// `` `a``b` `` as ``a`b``; what is not closed as it is.
fn unquoted(bytes: &[u8]) -> Vec<u8> {
    let Some((&quote, rest)) = bytes.split_first() else { return Vec::new() };
    let inside = rest.strip_suffix(&[quote]).unwrap_or(rest);
    let mut name = Vec::with_capacity(inside.len());
    let mut bytes = inside.iter();
    while let Some(&byte) = bytes.next() {
        name.push(byte);
        if byte == quote {
            bytes.next();
        }
    }
    name
}

/// A string's bytes by the rules of backslashes: `\%` and `\_` keep theirs.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let Some((&quote, rest)) = bytes.split_first() else { return Vec::new() };
    let inside = rest.strip_suffix(&[quote]).unwrap_or(rest);
    let mut value = Vec::with_capacity(inside.len());
    let mut bytes = inside.iter();
    while let Some(&byte) = bytes.next() {
        if byte == quote {
            bytes.next();
        }
        if byte != b'\\' {
            value.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'0') => value.push(0),
            Some(b'b') => value.push(8),
            Some(b'n') => value.push(b'\n'),
            Some(b'r') => value.push(b'\r'),
            Some(b't') => value.push(b'\t'),
            Some(b'Z') => value.push(0x1a),
            Some(&kept @ (b'%' | b'_')) => value.extend([b'\\', kept]),
            Some(&other) => value.push(other),
            None => value.push(b'\\'),
        }
    }
    value
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.pass_space();
        let start = self.at;
        let &first = self.text.get(start)?;
        let kind = match first {
            b'`' => self.quoted(first, false, TokenKind::Name),
            b'"' if self.modes.ansi_quotes => self.quoted(first, false, TokenKind::Name),
            b'"' | b'\'' => self.quoted(first, !self.modes.no_backslash_escapes, TokenKind::Text),
            b'@' => {
                self.at += 1;
                self.pass_while(|byte| is_in_word(byte) || byte == b'@' || byte == b'.');
                TokenKind::Variable
            }
            byte if is_in_word(byte) => {
                self.pass_while(is_in_word);
                TokenKind::Word
            }
            byte => {
                self.at += 1;
                TokenKind::Symbol(byte)
            }
        };
        Some(Token { kind, place: start..self.at })
    }
}

impl Tokens<'_> {
    fn rest(&self) -> &[u8] {
        &self.text[self.at..]
    }

    fn pass_while(&mut self, is_part: impl Fn(u8) -> bool) {
        let count = self.rest().iter().take_while(|&&byte| is_part(byte)).count();
        self.at += count;
    }

    /// Passes over space, comments, and both ends of version comments.
    fn pass_space(&mut self) {
        loop {
            let rest = self.rest();
            if rest.first().is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            } else if rest.starts_with(b"/*!") || rest.starts_with(b"/*M!") {
                self.at += if rest.starts_with(b"/*!") { 3 } else { 4 };
                self.pass_while(|byte| byte.is_ascii_digit());
            } else if rest.starts_with(b"*/") {
                self.at += 2;
            } else if rest.starts_with(b"/*") {
                let end = find(&rest[2..], b"*/").map_or(rest.len(), |place| place + 4);
                self.at += end;
            } else if rest.starts_with(b"#") || is_dash_comment(rest) {
                self.pass_while(|byte| byte != b'\n');
            } else {
                return;
            }
        }
    }

    /// Passes over what is between two `quote`s; to the end of the text if it is not closed.
    fn quoted(&mut self, quote: u8, escapes: bool, kind: TokenKind) -> TokenKind {
        self.at += 1;
        while let Some(&byte) = self.text.get(self.at) {
            self.at += 1;
            if byte == quote {
                if self.text.get(self.at) != Some(&quote) {
                    return kind;
                }
                self.at += 1;
            } else if byte == b'\\' && escapes {
                self.at = (self.at + 1).min(self.text.len());
            }
        }
        kind
    }
}

/// `-- ` begins a comment, `--1` does not.
fn is_dash_comment(rest: &[u8]) -> bool {
    rest.starts_with(b"--") && rest.get(2).is_none_or(|&byte| byte.is_ascii_whitespace())
}

fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, modes: Modes) -> Vec<String> {
        let text = text.as_bytes();
        tokens(text, modes).map(|one| text[one.place].escape_ascii().to_string()).collect()
    }

    #[test]
    fn space_and_comments_are_passed_over_and_version_comments_seen_through() {
        let text =
            "/*!50001 CREATE */ -- x\n VIEW/* y */`a``b`#z\n.t--1 /*M!100101 AS*/ '\\'' \"a\"\"b\"";
        let found = pieces(text, Modes::default());
        let wanted = ["CREATE", "VIEW", "`a``b`", ".", "t", "-", "-", "1", "AS"];
        assert_eq!(found[..9], wanted);
        assert_eq!(found[9..], ["\\\'\\\\\\\'\\\'", "\\\"a\\\"\\\"b\\\""]);
    }

    #[test]
    fn modes_say_what_quotes_and_backslashes_are() {
        let kinds = |modes| tokens(b"\"a\" '\\' b", modes).map(|one| one.kind).collect::<Vec<_>>();
        assert_eq!(kinds(Modes::default()), [TokenKind::Text, TokenKind::Text]);
        let ansi = Modes { ansi_quotes: true, no_backslash_escapes: true };
        assert_eq!(kinds(ansi), [TokenKind::Name, TokenKind::Text, TokenKind::Word]);
    }

    #[test]
    fn names_and_strings_lose_their_quotes() {
        let first = |text: &'static [u8]| tokens(text, Modes::default()).next();
        let name = |text| first(text).map(|one| one.name(text));
        assert_eq!(name(b"`a``b`"), Some(b"a`b".to_vec()));
        assert_eq!(name(b"plain"), Some(b"plain".to_vec()));
        let value = |text| first(text).map(|one| one.value(text, Modes::default()));
        assert_eq!(value(b"'a''b\\n\\%\\\\'"), Some(b"a'b\n\\%\\".to_vec()));
        assert_eq!(value(b"'open"), Some(b"open".to_vec()));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_told_apart_without_end_or_overlap(
            text in proptest::collection::vec(
                proptest::sample::select(b"a`'\"\\/*!-# \n@.1\x80".to_vec()), 0..60),
            ansi_quotes: bool, no_backslash_escapes: bool,
        ) {
            let modes = Modes { ansi_quotes, no_backslash_escapes };
            let mut end = 0;
            for token in tokens(&text, modes) {
                assert!(token.place.start >= end && token.place.end > token.place.start);
                assert!(token.place.end <= text.len());
                end = token.place.end;
                let _ = (token.name(&text), token.value(&text, modes));
            }
        }
    }
}
