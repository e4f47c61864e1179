//! The words of a statement, as far as telling what it is needs them.

use std::borrow::Cow;

use super::lexer::{Syntax, ends_dashes};

/// Which version comments a server runs: all others are comments to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comments {
    /// The server is a MariaDB: it knows `/*M!`, and passes over `/*!50700` to `/*!99999`.
    pub mariadb: bool,
    /// Its version: 101119 is 10.11.19, 80036 is 8.0.36.
    pub version: u32,
}

impl Default for Comments {
    /// A MariaDB that runs whatever is meant for one.
    fn default() -> Comments {
        Comments { mariadb: true, version: 999_998 }
    }
}

impl Comments {
    /// Whether the comment is run; `text` is what is behind `/*`.
    ///
    /// Source: `lex_one_token`, MY_LEX_LONG_COMMENT, in `sql/sql_lex.cc` of both servers.
    fn runs(self, text: &[u8]) -> bool {
        let (text, for_mariadb) = match text {
            [b'!', rest @ ..] => (rest, false),
            [b'M', b'!', rest @ ..] if self.mariadb => (rest, true),
            _ => return false,
        };
        let digits = text.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
        if digits < 5 {
            return true;
        }
        let number =
            text[..digits].iter().fold(0, |sum, &digit| sum * 10 + u32::from(digit - b'0'));
        let not_for_it = self.mariadb && !for_mariadb && (50_700..=99_999).contains(&number);
        number <= self.version && !not_for_it
    }
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A word without quotes, a number.
    Word(&'a [u8]),
    /// A name in quotes, these undone.
    Name(Cow<'a, [u8]>),
    /// A string as it stands, quotes included.
    Text(&'a [u8]),
    /// Any other byte.
    Sign(u8),
}

impl Token<'_> {
    /// Whether it is this word, which is upper case.
    pub(crate) fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(found) if found.eq_ignore_ascii_case(word.as_bytes()))
    }
}

/// Goes through the words of a text, comments left out, comments that the server runs seen through.
#[derive(Clone, Debug)]
pub(crate) struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    /// Version comments that are open.
    depth: usize,
    syntax: Syntax,
    comments: Comments,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(text: &'a [u8], syntax: Syntax, comments: Comments) -> Tokens<'a> {
        Tokens { text, at: 0, depth: 0, syntax, comments }
    }

    /// Byte behind the last word.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Whether the last word was in a version comment.
    pub(crate) fn is_in_comment(&self) -> bool {
        self.depth > 0
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Goes to the next word: over space and comments.
    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let size = match *rest {
                [byte, ..] if byte.is_ascii_whitespace() || byte == 0x0b => 1,
                [b'#', ..] => line(rest),
                [b'-', b'-', ..] if rest.get(2).is_none_or(|&byte| ends_dashes(byte)) => line(rest),
                [b'/', b'*', ref behind @ ..] if self.comments.runs(behind) => {
                    self.depth += 1;
                    let marks = usize::from(behind[0] == b'M') + 1;
                    let digits = behind[marks..].iter().take(6);
                    2 + marks + digits.take_while(|byte| byte.is_ascii_digit()).count()
                }
                [b'/', b'*', ref behind @ ..] => {
                    let is_version = matches!(behind, [b'!', ..] | [b'M', b'!', ..]);
                    2 + comment(behind, is_version)
                }
                [b'*', b'/', ..] if self.depth > 0 => {
                    self.depth -= 1;
                    2
                }
                _ => return,
            };
            self.at += size;
        }
    }

    fn quoted(&mut self, quote: u8) -> Token<'a> {
        let rest = self.rest();
        let escapes = self.syntax.escapes_in(quote);
        let wide = self.syntax.hides_ascii();
        let mut at = 1;
        let mut doubled = false;
        while let Some(&byte) = rest.get(at) {
            if byte == quote {
                if rest.get(at + 1) != Some(&quote) {
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
        let end = at.min(rest.len());
        let whole = &rest[..(end + 1).min(rest.len())];
        self.at += whole.len();
        if quote == b'\'' || (quote == b'"' && !self.syntax.ansi_quotes) {
            return Token::Text(whole);
        }
        let inner = &rest[1.min(end)..end];
        Token::Name(match doubled {
            false => Cow::Borrowed(inner),
            true => Cow::Owned(undouble(inner, quote)),
        })
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_blank();
        let rest = self.rest();
        let &first = rest.first()?;
        Some(match first {
            b'\'' | b'"' | b'`' => self.quoted(first),
            _ if is_word(first) => {
                let size = rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len());
                self.at += size;
                Token::Word(&rest[..size])
            }
            _ => {
                self.at += 1;
                Token::Sign(first)
            }
        })
    }
}

/// Whether a byte can be in a name without quotes.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn line(rest: &[u8]) -> usize {
    memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1)
}

/// Size of a comment, from behind its `/*` to behind its `*/`. In one of another version comments
/// may stand.
fn comment(behind: &[u8], is_version: bool) -> usize {
    let (mut at, mut depth) = (0, 1);
    while let Some(pair) = behind.get(at..at + 2) {
        match pair {
            b"*/" if depth == 1 => return at + 2,
            b"*/" => (at, depth) = (at + 2, depth - 1),
            b"/*" if is_version => (at, depth) = (at + 2, depth + 1),
            _ => at += 1,
        }
    }
    behind.len()
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
