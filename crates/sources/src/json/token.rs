//! One value of JSON: its kind, and where it is.

use super::fault::Fault;

/// Most arrays and objects in each other. MySQL's documents have no more.
const DEPTH_MAX: usize = 100;

/// The kind of a value, and where its text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Null,
    Boolean(bool),
    Number,
    /// A string without escapes: the place is within its quotes.
    Text,
    /// A string with escapes, likewise.
    Escaped,
    /// An array or an object.
    Nested,
}

/// Reads a text of JSON from front to back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'t> {
    pub(super) text: &'t [u8],
    pub(super) at: usize,
}

impl Cursor<'_> {
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Leaves out blanks, of which most files have none.
    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Takes one byte, which must be there behind blanks.
    #[inline]
    pub(super) fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Fault> {
        self.skip_blanks();
        if self.peek() != Some(byte) {
            return Err(self.expected(what));
        }
        self.at += 1;
        Ok(())
    }

    #[cold]
    pub(super) fn expected(&self, what: &'static str) -> Fault {
        Fault::Expected { at: self.at, what }
    }

    /// A value; gives its kind, and where its text begins and ends.
    #[inline]
    pub(super) fn value(&mut self) -> Result<(Token, usize, usize), Fault> {
        self.skip_blanks();
        let start = self.at;
        let token = match self.peek() {
            Some(b'"') => return self.string(),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'{' | b'[') => self.nested()?,
            Some(b't') => self.word(b"true", Token::Boolean(true))?,
            Some(b'f') => self.word(b"false", Token::Boolean(false))?,
            Some(b'n') => self.word(b"null", Token::Null)?,
            _ => return Err(self.expected("a value")),
        };
        Ok((token, start, self.at))
    }

    /// A string; gives its place without quotes.
    #[inline]
    pub(super) fn string(&mut self) -> Result<(Token, usize, usize), Fault> {
        let start = self.at + 1;
        let mut at = start;
        // Most bytes of a string mean nothing: eight of them at a time.
        while let Some(eight) = self.text.get(at..at + 8) {
            let word = u64::from_le_bytes(eight.try_into().unwrap_or_default());
            let special = special_bytes(word);
            if special != 0 {
                at += special.trailing_zeros() as usize / 8;
                return self.string_end(start, at);
            }
            at += 8;
        }
        while self.text.get(at).is_some_and(|byte| !is_special(*byte)) {
            at += 1;
        }
        self.string_end(start, at)
    }

    /// The rest of a string from its first byte on that means something.
    #[inline]
    fn string_end(&mut self, start: usize, at: usize) -> Result<(Token, usize, usize), Fault> {
        self.at = at;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok((Token::Text, start, at));
        }
        self.escaped(start)
    }

    fn escaped(&mut self, start: usize) -> Result<(Token, usize, usize), Fault> {
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0..0x20) => return Err(self.expected("no control character in a string")),
                Some(_) => self.at += 1,
                None => return Err(self.expected("the end of the string")),
            }
        }
        self.at += 1;
        Ok((Token::Escaped, start, self.at - 1))
    }

    /// One escape sequence, and the second half of a pair of surrogates with the first.
    fn escape(&mut self) -> Result<(), Fault> {
        let at = self.at;
        match self.text.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => match unescaped(&self.text[at..]) {
                Some((_, size)) => self.at += size,
                None => return Err(self.expected("a character behind \\u")),
            },
            _ => return Err(self.expected("an escape sequence of JSON")),
        }
        Ok(())
    }

    fn word(&mut self, word: &'static [u8], token: Token) -> Result<Token, Fault> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(token)
    }

    #[inline]
    fn number(&mut self) -> Result<Token, Fault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let leads_with_zero = self.peek() == Some(b'0');
        let digits = self.digits();
        if digits == 0 || (leads_with_zero && digits > 1) {
            return Err(self.expected("a number"));
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err(self.expected("a digit behind the point"));
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.expected("a digit of the exponent"));
            }
        }
        Ok(Token::Number)
    }

    #[inline]
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    /// An array or an object with all that is in it.
    fn nested(&mut self) -> Result<Token, Fault> {
        let mut is_object = [false; DEPTH_MAX];
        let mut depth = 0;
        loop {
            // Here a value begins.
            self.skip_blanks();
            match self.peek() {
                Some(b'{' | b'[') if depth == DEPTH_MAX => {
                    return Err(Fault::TooDeep(self.at));
                }
                Some(b'{') => {
                    is_object[depth] = true;
                    depth += 1;
                    self.at += 1;
                    self.skip_blanks();
                    if self.peek() != Some(b'}') {
                        self.key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    is_object[depth] = false;
                    depth += 1;
                    self.at += 1;
                    self.skip_blanks();
                    if self.peek() != Some(b']') {
                        continue;
                    }
                }
                _ => drop(self.value()?),
            }
            // Here one has ended, or is empty.
            if self.close(&is_object, &mut depth)? {
                return Ok(Token::Nested);
            }
        }
    }

    /// What follows a value: the end of what it is in, as often as that ends, or a comma. True if all has ended.
    fn close(&mut self, is_object: &[bool; DEPTH_MAX], depth: &mut usize) -> Result<bool, Fault> {
        while *depth > 0 {
            self.skip_blanks();
            let in_object = is_object[*depth - 1];
            match (self.peek(), in_object) {
                (Some(b'}'), true) | (Some(b']'), false) => {
                    self.at += 1;
                    *depth -= 1;
                }
                (Some(b','), _) => {
                    self.at += 1;
                    if in_object {
                        self.key()?;
                    }
                    return Ok(false);
                }
                (_, true) => return Err(self.expected("a comma or a closing brace")),
                (_, false) => return Err(self.expected("a comma or a closing bracket")),
            }
        }
        Ok(true)
    }

    fn key(&mut self) -> Result<(), Fault> {
        self.skip_blanks();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a field's name in quotes"));
        }
        self.string()?;
        self.expect(b':', "a colon")
    }
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// A bit in each byte of a word that ends or interrupts a string. Bytes behind the first may have one by mistake.
#[inline]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    // Bytes below `than`, for a word without bytes from 0x80 on: others are left out by the last mask.
    let below = |word: u64, than: u64| word.wrapping_sub(ONES * than) & !word & HIGHS;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | equal(b'"') | equal(b'\\')
}

/// The character of a `\u` sequence at the start of a text, with the sequence of its second half, and the size.
fn unescaped(text: &[u8]) -> Option<(char, usize)> {
    const SIZE: usize = 6;
    let unit = |text: &[u8]| {
        let digits = text.get(..SIZE)?.strip_prefix(b"\\u")?;
        let digit = |&byte: &u8| char::from(byte).to_digit(16);
        digits.iter().try_fold(0, |unit, byte| Some(unit << 4 | digit(byte)?))
    };
    let first = unit(text)?;
    if !(0xd800..0xdc00).contains(&first) {
        return Some((char::from_u32(first)?, SIZE));
    }
    let second = unit(&text[SIZE..]).filter(|unit| (0xdc00..0xe000).contains(unit))?;
    let character = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    Some((char::from_u32(character)?, 2 * SIZE))
}

/// Appends the text of a string whose escapes were read before.
pub(super) fn unescape(string: &[u8], out: &mut Vec<u8>) {
    let mut rest = string;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let size = match rest.get(1) {
            Some(b'u') => {
                let (character, size) = unescaped(rest).unwrap_or((char::REPLACEMENT_CHARACTER, 2));
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                size
            }
            Some(&byte) => {
                out.push(match byte {
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    byte => byte,
                });
                2
            }
            None => 1,
        };
        rest = &rest[size.min(rest.len())..];
    }
    out.extend_from_slice(rest);
}

/// Appends a text, which is UTF-8, as a string with its quotes.
pub(crate) fn push_string(text: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => {
                out.extend_from_slice(b"\\u00");
                out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

/// The text of a string, or of another value.
pub(super) fn plain(text: &[u8], is_escaped: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    match is_escaped {
        true => unescape(text, &mut bytes),
        false => bytes.extend_from_slice(text),
    }
    bytes
}
