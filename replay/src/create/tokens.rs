//! The words of a statement: names, strings, signs.

use super::{Quotes, Unread};

/// A word, a quoted text or a sign. Comments and space are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it is within `/*! .. */`.
    pub(super) is_versioned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A keyword, a name or a number without quotes.
    Word,
    /// A name in quotes of this kind.
    Quoted(u8),
    /// A string.
    Text,
    /// Any other byte.
    Punct(u8),
}

impl Token {
    /// Whether it is this keyword.
    pub(super) fn is_word(&self, text: &[u8], word: &str) -> bool {
        self.kind == Kind::Word && text[self.start..self.end].eq_ignore_ascii_case(word.as_bytes())
    }

    pub(super) fn is_punct(&self, byte: u8) -> bool {
        self.kind == Kind::Punct(byte)
    }

    pub(super) fn punct(&self) -> Option<u8> {
        match self.kind {
            Kind::Punct(byte) => Some(byte),
            _ => None,
        }
    }

    pub(super) fn is_quoted(&self) -> bool {
        matches!(self.kind, Kind::Quoted(_))
    }

    /// What it names, quotes undone.
    pub(super) fn name(&self, text: &[u8]) -> Option<Vec<u8>> {
        match self.kind {
            Kind::Word => Some(text[self.start..self.end].to_vec()),
            Kind::Quoted(quote) => {
                let inner = &text[self.start + 1..self.end - 1];
                let mut name = Vec::with_capacity(inner.len());
                let mut bytes = inner.iter();
                while let Some(&byte) = bytes.next() {
                    name.push(byte);
                    if byte == quote {
                        // The second of a doubled quote.
                        bytes.next();
                    }
                }
                Some(name)
            }
            Kind::Text | Kind::Punct(_) => None,
        }
    }
}

/// The tokens of a statement.
///
/// Errors: a quote or comment that is not closed.
pub(super) fn tokens(text: &[u8], quotes: Quotes) -> Result<Vec<Token>, Unread> {
    let (mut found, mut at, mut is_versioned) = (Vec::new(), 0, false);
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        if byte.is_ascii_whitespace() || byte == 0x0b {
            at += 1;
        } else if let Some(length) = version_start(rest) {
            is_versioned = true;
            at += length;
        } else if is_versioned && rest.starts_with(b"*/") {
            is_versioned = false;
            at += 2;
        } else if let Some(length) = comment(rest)? {
            at += length;
        } else {
            let (kind, length) = token(rest, quotes)?;
            found.push(Token { kind, start: at, end: at + length, is_versioned });
            at += length;
        }
    }
    if is_versioned {
        return Err(Unread("a comment is not closed"));
    }
    Ok(found)
}

/// Length of `/*!50100` or `/*M!100100`, whose text the server runs.
fn version_start(text: &[u8]) -> Option<usize> {
    let open = [&b"/*!"[..], b"/*M!"].into_iter().find(|open| text.starts_with(open))?;
    let digits = text[open.len()..].iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    Some(open.len() + digits)
}

fn comment(text: &[u8]) -> Result<Option<usize>, Unread> {
    let space = |byte: &u8| byte.is_ascii_whitespace() || byte.is_ascii_control();
    let dashes = text.starts_with(b"--") && text.get(2).is_none_or(space);
    if dashes || text[0] == b'#' {
        return Ok(Some(text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len())));
    }
    if !text.starts_with(b"/*") {
        return Ok(None);
    }
    let end = text[2..].windows(2).position(|two| two == b"*/");
    end.map(|end| Some(end + 4)).ok_or(Unread("a comment is not closed"))
}

fn token(text: &[u8], quotes: Quotes) -> Result<(Kind, usize), Unread> {
    let byte = text[0];
    let is_word =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80;
    match byte {
        b'`' => Ok((Kind::Quoted(byte), quoted(text, false)?)),
        b'"' if quotes.ansi => Ok((Kind::Quoted(byte), quoted(text, false)?)),
        b'\'' | b'"' => Ok((Kind::Text, quoted(text, !quotes.no_backslash_escapes)?)),
        byte if is_word(byte) => {
            Ok((Kind::Word, text.iter().take_while(|&&byte| is_word(byte)).count()))
        }
        byte => Ok((Kind::Punct(byte), 1)),
    }
}

/// Length of a quoted text, both quotes and doubled ones included.
fn quoted(text: &[u8], escapes: bool) -> Result<usize, Unread> {
    let quote = text[0];
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        if byte == b'\\' && escapes {
            at += 2;
        } else if byte != quote {
            at += 1;
        } else if text.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return Ok(at + 1);
        }
    }
    Err(Unread("a quote is not closed"))
}
