//! The words of a statement: names, strings, signs.
//!
//! ```text
//! CREATE /*!50013 DEFINER=`r`@`%` */ VIEW `db`.`v` AS select 'x'
//! Word            Word  S Name S Name Word Name S Name Word Word Text
//! ```
//!
//! Space and comments are left out, comments that the server runs seen through. Bytes above 0x7f
//! belong to words, so that any character set whose letters are above it reads as the server reads it.

use std::borrow::Cow;
use std::ops::Range;

use crate::lexer::{Inside, ends_dashes};
use crate::literal::StringRules;
use crate::syntax::{Comments, Syntax};

/// A word, a name, a string or a sign, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Its kind.
    pub kind: TokenKind<'a>,
    /// Its bytes in the text, quotes included.
    pub place: Range<usize>,
    /// True if it is within `/*! .. */`.
    pub is_versioned: bool,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind<'a> {
    /// A word without quotes, a number.
    Word(&'a [u8]),
    /// A name in quotes, these undone.
    Name(Cow<'a, [u8]>),
    /// A string as it stands, quotes included.
    Text(&'a [u8]),
    /// Any other byte.
    Sign(u8),
}

impl TokenKind<'_> {
    /// True if it is this word, in any case.
    pub fn is(&self, word: &str) -> bool {
        matches!(self, TokenKind::Word(found) if found.eq_ignore_ascii_case(word.as_bytes()))
    }
}

impl<'a> Token<'a> {
    /// True if it is this word, in any case.
    pub fn is(&self, word: &str) -> bool {
        self.kind.is(word)
    }

    /// True if it is this byte.
    pub fn is_sign(&self, sign: u8) -> bool {
        self.kind == TokenKind::Sign(sign)
    }

    /// The name, if it may be one, without quotes.
    pub fn name(&self) -> Option<Cow<'a, [u8]>> {
        match &self.kind {
            TokenKind::Word(word) => Some(Cow::Borrowed(*word)),
            TokenKind::Name(name) => Some(name.clone()),
            TokenKind::Text(_) | TokenKind::Sign(_) => None,
        }
    }

    /// The value of the string, if it is one.
    pub fn value(&self, syntax: Syntax) -> Option<Vec<u8>> {
        let TokenKind::Text(text) = self.kind else { return None };
        let (&quote, rest) = text.split_first()?;
        let mut value = Vec::new();
        let inner = rest.strip_suffix(&[quote]).unwrap_or(rest);
        StringRules::new(syntax).unescape(inner, quote, &mut value);
        Some(value)
    }
}

/// Goes through the words of a text.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    /// Version comments that are open.
    depth: usize,
    syntax: Syntax,
    /// Which of them are run; none says that all are.
    comments: Option<Comments>,
    /// The construct that was not closed at the end.
    open: Option<Inside>,
}

impl<'a> Tokens<'a> {
    /// Those that a server sees that runs these comments.
    pub fn new(text: &'a [u8], syntax: Syntax, comments: Comments) -> Tokens<'a> {
        Tokens { comments: Some(comments), ..Tokens::of_any_server(text, syntax) }
    }

    /// Those that any server may see.
    pub fn of_any_server(text: &'a [u8], syntax: Syntax) -> Tokens<'a> {
        Tokens { text, at: 0, depth: 0, syntax, comments: None, open: None }
    }

    /// Behind the last one: what the text ends in, if something is not closed.
    pub fn open(&self) -> Option<Inside> {
        self.open.or((self.depth > 0).then_some(Inside::Block))
    }

    /// Byte behind the last word.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn runs(&self, behind: &[u8]) -> bool {
        match self.comments {
            Some(comments) => comments.runs(behind),
            None => is_version(behind),
        }
    }

    /// Goes to the next word: over space and comments.
    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let size = match *rest {
                [byte, ..] if byte.is_ascii_whitespace() || byte == 0x0b => 1,
                _ if let Some(size) = line_comment(rest) => size,
                [b'/', b'*', ref behind @ ..] if self.runs(behind) => {
                    self.depth += 1;
                    let marks = usize::from(behind[0] == b'M') + 1;
                    let digits = behind[marks..].iter().take(6);
                    2 + marks + digits.take_while(|byte| byte.is_ascii_digit()).count()
                }
                [b'/', b'*', ref behind @ ..] => match comment(behind, is_version(behind)) {
                    Some(size) => 2 + size,
                    None => {
                        self.open = Some(Inside::Block);
                        rest.len()
                    }
                },
                [b'*', b'/', ..] if self.depth > 0 => {
                    self.depth -= 1;
                    2
                }
                _ => return,
            };
            self.at += size;
        }
    }

    fn quoted(&mut self, quote: u8) -> TokenKind<'a> {
        let rest = self.rest();
        let escapes = self.syntax.escapes_in(quote);
        let wide = self.syntax.hides_ascii();
        let mut at = 1;
        let mut doubled = false;
        let mut closed = false;
        while let Some(&byte) = rest.get(at) {
            if byte == quote {
                if rest.get(at + 1) != Some(&quote) {
                    closed = true;
                    break;
                }
                doubled = true;
                at += 2;
            } else if byte == b'\\' && escapes {
                at += 2;
            } else if wide {
                at += self.syntax.characters.token_size(&rest[at..]);
            } else {
                at += 1;
            }
        }
        if !closed {
            self.open = Some(Inside::Quotes(quote));
        }
        let end = at.min(rest.len());
        let whole = &rest[..(end + 1).min(rest.len())];
        self.at += whole.len();
        if quote == b'\'' || (quote == b'"' && !self.syntax.ansi_quotes) {
            return TokenKind::Text(whole);
        }
        let inner = &rest[1.min(end)..end];
        TokenKind::Name(match doubled {
            false => Cow::Borrowed(inner),
            true => Cow::Owned(undouble(inner, quote)),
        })
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_blank();
        let (start, rest, is_versioned) = (self.at, self.rest(), self.depth > 0);
        let &first = rest.first()?;
        let kind = match first {
            b'\'' | b'"' | b'`' => self.quoted(first),
            _ if is_word(first) => {
                let size = rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len());
                self.at += size;
                TokenKind::Word(&rest[..size])
            }
            _ => {
                self.at += 1;
                TokenKind::Sign(first)
            }
        };
        Some(Token { kind, place: start..self.at, is_versioned })
    }
}

/// True if a byte can be in a name without quotes.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// True if a statement that the input ends with cannot be whole: a parenthesis or a comment is open, or its last sign
/// wants more.
pub fn is_cut(text: &[u8], syntax: Syntax) -> bool {
    let mut tokens = Tokens::of_any_server(text, syntax);
    let (mut depth, mut wants_more) = (0_i64, false);
    for token in tokens.by_ref() {
        depth += i64::from(token.is_sign(b'(')) - i64::from(token.is_sign(b')'));
        wants_more = [b',', b'=', b'.'].iter().any(|&sign| token.is_sign(sign));
    }
    depth > 0 || wants_more || tokens.open().is_some()
}

/// True if `/*` with this behind it is a comment that some server runs.
pub(crate) fn is_version(behind: &[u8]) -> bool {
    matches!(behind, [b'!', ..] | [b'M', b'!', ..])
}

/// Size of the comment up to the end of its line that this begins with.
pub(crate) fn line_comment(rest: &[u8]) -> Option<usize> {
    let is_comment = match rest {
        [b'#', ..] => true,
        [b'-', b'-', behind @ ..] => behind.first().is_none_or(|&byte| ends_dashes(byte)),
        _ => false,
    };
    let size = || memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    is_comment.then(size)
}

/// Size of a comment, from behind its `/*` to behind its `*/`; None if it is not closed. In one of
/// another version comments may stand.
pub(crate) fn comment(behind: &[u8], is_version: bool) -> Option<usize> {
    let (mut at, mut depth) = (0, 1);
    while let Some(pair) = behind.get(at..at + 2) {
        match pair {
            b"*/" if depth == 1 => return Some(at + 2),
            b"*/" => (at, depth) = (at + 2, depth - 1),
            b"/*" if is_version => (at, depth) = (at + 2, depth + 1),
            _ => at += 1,
        }
    }
    None
}

fn undouble(inner: &[u8], quote: u8) -> Vec<u8> {
    let mut name = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(&byte) = bytes.next() {
        name.push(byte);
        if byte == quote {
            bytes.next();
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<String> {
        let text = text.as_bytes();
        let tokens = Tokens::of_any_server(text, Syntax::default());
        tokens.map(|one| text[one.place].escape_ascii().to_string()).collect()
    }

    #[test]
    fn space_and_comments_are_passed_over_and_version_comments_seen_through() {
        let text =
            "/*!50001 CREATE */ -- x\n VIEW/* y */`a``b`#z\n.t--1 /*M!100101 AS*/ '\\'' \"a\"\"b\"";
        let found = pieces(text);
        let wanted = ["CREATE", "VIEW", "`a``b`", ".", "t", "-", "-", "1", "AS"];
        assert_eq!(found[..9], wanted);
        assert_eq!(found[9..], ["\\\'\\\\\\\'\\\'", "\\\"a\\\"\\\"b\\\""]);
    }

    #[test]
    fn a_server_sees_only_comments_of_its_own() {
        let mysql = Comments { mariadb: false, version: 80_036 };
        let text = b"a /*!80036 b */ /*!80037 c /* d */ e */ /*M!100000 f */ g";
        let words: Vec<_> = Tokens::new(text, Syntax::default(), mysql).collect();
        let kinds: Vec<_> = words.iter().map(|one| &one.kind).collect();
        assert_eq!(kinds, [b"a", b"b", b"g"].map(|word| TokenKind::Word(word)).each_ref());
        let versioned: Vec<bool> = words.iter().map(|one| one.is_versioned).collect();
        assert_eq!(versioned, [false, true, false]);
    }

    #[test]
    fn flags_of_sql_mode_say_what_quotes_and_backslashes_are() {
        let kinds = |syntax| {
            let tokens = Tokens::of_any_server(b"\"a\" '\\' b", syntax);
            tokens.map(|one| one.kind).collect::<Vec<_>>()
        };
        let texts = [b"\"a\"".as_slice(), b"'\\' b"].map(TokenKind::Text);
        assert_eq!(kinds(Syntax::default()), texts);
        let ansi = Syntax { ansi_quotes: true, no_backslash_escapes: true, ..Syntax::default() };
        let name = TokenKind::Name(b"a".as_slice().into());
        assert_eq!(kinds(ansi), [name, TokenKind::Text(b"'\\'"), TokenKind::Word(b"b")]);
    }

    #[test]
    fn names_and_strings_lose_their_quotes() {
        let first = |text: &'static [u8]| Tokens::of_any_server(text, Syntax::default()).next();
        let name = |text| first(text).and_then(|one| one.name()).map(Cow::into_owned);
        assert_eq!(name(b"`a``b`"), Some(b"a`b".to_vec()));
        assert_eq!(name(b"plain"), Some(b"plain".to_vec()));
        assert_eq!(name(b"'text'"), None);
        let value = |text| first(text).and_then(|one| one.value(Syntax::default()));
        assert_eq!(value(b"'a''b\\n\\%\\\\'"), Some(b"a'b\n\\%\\".to_vec()));
        assert_eq!(value(b"'open"), Some(b"open".to_vec()));
    }

    #[test]
    fn what_is_not_closed_is_told() {
        let open = |text: &[u8]| {
            let mut tokens = Tokens::of_any_server(text, Syntax::default());
            tokens.by_ref().for_each(drop);
            tokens.open()
        };
        assert_eq!(open(b"a 'b' /* c */ /*! d */"), None);
        assert_eq!(open(b"a 'b\\'"), Some(Inside::Quotes(b'\'')));
        assert_eq!(open(b"a `b"), Some(Inside::Quotes(b'`')));
        assert_eq!(open(b"a /* b"), Some(Inside::Block));
        assert_eq!(open(b"a /*! b"), Some(Inside::Block));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_told_apart_without_end_or_overlap(
            text in proptest::collection::vec(
                proptest::sample::select(b"a`'\"\\/*!-# \n@.1\x80".to_vec()), 0..60),
            ansi_quotes: bool, no_backslash_escapes: bool,
        ) {
            let syntax = Syntax { ansi_quotes, no_backslash_escapes, ..Syntax::default() };
            let mut end = 0;
            for token in Tokens::of_any_server(&text, syntax) {
                assert!(token.place.start >= end && token.place.end > token.place.start);
                assert!(token.place.end <= text.len());
                end = token.place.end;
                let _ = (token.name(), token.value(syntax));
            }
        }
    }
}
