//! The values that partitions take, from the server's words for them.
//!
//! ```text
//! 2000        MAXVALUE        NULL,1,2        'a',_utf8mb4 0xF09F9880        ('a',1),('b',NULL)
//! ```

use std::iter::Peekable;

use sql::syntax::Syntax;
use sql::token::{Token, TokenKind, Tokens};

/// A value of a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Null,
    MaxValue,
    /// A number or a string, in UTF-8.
    Text(Vec<u8>),
    /// Bytes in a character set.
    Bytes {
        charset: String,
        bytes: Vec<u8>,
    },
}

impl Literal {
    /// The whole number that it is.
    pub(super) fn number(&self) -> Option<i128> {
        match self {
            Literal::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            _ => None,
        }
    }
}

/// The values of a bound; those in parentheses are one of several columns.
///
/// Errors: what was seen that is no value.
pub(super) fn read(text: &str) -> Result<Vec<Vec<Literal>>, String> {
    let tokens = Tokens::of_any_server(text.as_bytes(), Syntax::default());
    let mut reader = Reader { tokens: tokens.peekable() };
    reader.values().ok_or_else(|| format!("unsupported partition values {text}"))
}

struct Reader<'t> {
    tokens: Peekable<Tokens<'t>>,
}

impl Reader<'_> {
    fn values(&mut self) -> Option<Vec<Vec<Literal>>> {
        let mut values = Vec::new();
        loop {
            values.push(match self.has(b'(') {
                true => self.tuple()?,
                false => vec![self.literal()?],
            });
            if self.tokens.peek().is_none() {
                return Some(values);
            }
            self.has(b',').then_some(())?;
        }
    }

    fn tuple(&mut self) -> Option<Vec<Literal>> {
        let mut tuple = Vec::new();
        loop {
            tuple.push(self.literal()?);
            if self.has(b')') {
                return Some(tuple);
            }
            self.has(b',').then_some(())?;
        }
    }

    fn literal(&mut self) -> Option<Literal> {
        let is_negative = self.has(b'-');
        let token = self.tokens.next()?;
        if let Some(text) = token.value(Syntax::default()) {
            return Some(Literal::Text(text));
        }
        let TokenKind::Word(word) = token.kind else { return None };
        let word = std::str::from_utf8(word).ok()?;
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            let sign = if is_negative { "-" } else { "" };
            return Some(Literal::Text(format!("{sign}{word}").into_bytes()));
        }
        if let Some(charset) = word.strip_prefix('_') {
            let Some(Token { kind: TokenKind::Word(word), .. }) = self.tokens.next() else {
                return None;
            };
            let charset = charset.to_owned();
            return Some(Literal::Bytes { charset, bytes: bytes(word.strip_prefix(b"0x")?)? });
        }
        match word.to_ascii_uppercase().as_str() {
            "NULL" => Some(Literal::Null),
            "MAXVALUE" => Some(Literal::MaxValue),
            _ => None,
        }
    }

    fn has(&mut self, sign: u8) -> bool {
        self.tokens.next_if(|token| token.is_sign(sign)).is_some()
    }
}

/// The bytes of hexadecimal digits.
fn bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let pairs = digits.chunks(2).map(|pair| {
        let text = std::str::from_utf8(pair).ok().filter(|text| text.len() == 2)?;
        u8::from_str_radix(text, 16).ok()
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_server_shows_them() {
        let text = |text: &str| Literal::Text(text.as_bytes().to_vec());
        for (shown, expected) in [
            ("2000", Some(vec![vec![text("2000")]])),
            ("MAXVALUE", Some(vec![vec![Literal::MaxValue]])),
            ("NULL,1,-2", Some(vec![vec![Literal::Null], vec![text("1")], vec![text("-2")]])),
            (
                r"('a''b\\c',1),('\n',NULL)",
                Some(vec![vec![text(r"a'b\c"), text("1")], vec![text("\n"), Literal::Null]]),
            ),
            (
                "_utf8mb4 0x61f09f9880,3",
                Some(vec![
                    vec![Literal::Bytes {
                        charset: "utf8mb4".to_owned(),
                        bytes: vec![0x61, 0xf0, 0x9f, 0x98, 0x80],
                    }],
                    vec![text("3")],
                ]),
            ),
            ("", None),
            ("1,", None),
            ("(1", None),
            ("now()", None),
            ("_binary 0x0", None),
        ] {
            assert_eq!(read(shown).ok(), expected, "{shown}");
        }
        assert_eq!(text("-5").number(), Some(-5));
        assert_eq!(Literal::Null.number(), None);
    }
}
