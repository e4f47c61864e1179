//! UTF-16 and UTF-32 files to UTF-8, before anything else looks at them.
//!
//! The scanner wants ASCII to be single bytes; LOAD DATA refuses these character sets for the same
//! reason. Rows are cut from the UTF-8 text, and positions are computed back: every character has
//! a known size in both.

use crate::error::{Error, Position, Result};

/// How text is encoded in the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// As [`Encoding::Bytes`], unless a file begins with the byte order mark of UTF-16 or UTF-32. The default.
    #[default]
    ByMark,
    /// Bytes as they are: any character set in which ASCII is ASCII.
    Bytes,
    /// UTF-16, big-endian unless a byte order mark says otherwise.
    Utf16,
    /// UTF-16, little-endian unless a byte order mark says otherwise.
    Utf16Le,
    /// As [`Encoding::Utf16`], without surrogates.
    Ucs2,
    /// UTF-32, big-endian unless a byte order mark says otherwise.
    Utf32,
    /// UTF-32, little-endian unless a byte order mark says otherwise.
    Utf32Le,
}

/// The unit of a file's characters: with it, bytes of text are counted back to bytes of file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of text are bytes of the file.
    #[default]
    Byte,
    /// Two bytes a character, four beyond the basic plane.
    Word,
    /// Four bytes a character.
    Quad,
}

impl Unit {
    /// Bytes of the file that became `text`, which is whole characters.
    pub fn file_bytes(self, text: &[u8]) -> u64 {
        let characters = || text.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64;
        match self {
            Unit::Byte => text.len() as u64,
            Unit::Word => {
                let beyond = text.iter().filter(|&&byte| byte >= 0xf0).count() as u64;
                2 * (characters() + beyond)
            }
            Unit::Quad => 4 * characters(),
        }
    }
}

/// The marks, longest first: that of UTF-32LE begins with that of UTF-16LE.
const MARKS: [(&[u8], Unit, bool); 4] = [
    (b"\xff\xfe\0\0", Unit::Quad, true),
    (b"\0\0\xfe\xff", Unit::Quad, false),
    (b"\xff\xfe", Unit::Word, true),
    (b"\xfe\xff", Unit::Word, false),
];

impl Encoding {
    /// The transcoder to UTF-8 for a file that begins with `head`, and the size of its mark; None
    /// if it is taken as it is.
    pub(crate) fn transcoder(self, head: &[u8]) -> Option<Transcoder> {
        let (unit, little) = match self {
            Encoding::Bytes => return None,
            Encoding::ByMark => (Unit::Byte, false),
            Encoding::Utf16 | Encoding::Ucs2 => (Unit::Word, false),
            Encoding::Utf16Le => (Unit::Word, true),
            Encoding::Utf32 => (Unit::Quad, false),
            Encoding::Utf32Le => (Unit::Quad, true),
        };
        let mark = MARKS.iter().find(|(mark, marked, _)| {
            head.starts_with(mark) && (unit == Unit::Byte || unit == *marked)
        });
        let surrogates = self != Encoding::Ucs2;
        match mark {
            Some((mark, unit, little)) => {
                Some(Transcoder::new(*unit, *little, surrogates, mark.len()))
            }
            None if unit == Unit::Byte => None,
            None => Some(Transcoder::new(unit, little, surrogates, 0)),
        }
    }
}

/// Changes one file into UTF-8.
#[derive(Clone, Debug)]
pub(crate) struct Transcoder {
    unit: Unit,
    little: bool,
    surrogates: bool,
    mark_bytes: usize,
    /// Bytes of a unit that was cut by the end of what was given.
    left: Vec<u8>,
    /// First half of a pair.
    high: Option<u16>,
    /// Byte of the file of the next unit, and line there.
    offset: u64,
    line: u64,
}

impl Transcoder {
    fn new(unit: Unit, little: bool, surrogates: bool, mark_bytes: usize) -> Transcoder {
        let (left, high, offset, line) = (Vec::new(), None, 0, 1);
        Transcoder { unit, little, surrogates, mark_bytes, left, high, offset, line }
    }

    pub(crate) fn unit(&self) -> Unit {
        self.unit
    }

    /// Size of the file's byte order mark, which becomes no text.
    pub(crate) fn mark_bytes(&self) -> usize {
        self.mark_bytes
    }

    /// Appends `bytes` as UTF-8 to `text`: at most half as much again. `last`: the file ends here.
    ///
    /// Errors: what is no character of this encoding; `path` is for the message.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        last: bool,
        text: &mut Vec<u8>,
        path: &std::path::Path,
    ) -> Result<()> {
        let unit_bytes = if self.unit == Unit::Quad { 4 } else { 2 };
        let mut rest = bytes;
        if self.offset == 0 {
            let mark = self.mark_bytes.min(rest.len());
            rest = &rest[mark..];
            self.offset = mark as u64;
        }
        let seen = text.len();
        let outcome = self.units(unit_bytes, rest, text).and_then(|()| self.check_end(last));
        self.line += memchr::memchr_iter(b'\n', &text[seen..]).count() as u64;
        outcome.map_err(|reason| Error::Encoding {
            at: Position::in_text(path, self.line, self.offset),
            encoding: self.name(),
            reason,
        })
    }

    fn name(&self) -> &'static str {
        match (self.unit, self.little, self.surrogates) {
            (Unit::Quad, true, _) => "UTF-32LE",
            (Unit::Quad, false, _) => "UTF-32",
            (_, _, false) => "UCS-2",
            (_, true, _) => "UTF-16LE",
            (_, false, _) => "UTF-16",
        }
    }

    fn units(&mut self, size: usize, mut rest: &[u8], text: &mut Vec<u8>) -> Result<(), String> {
        if !self.left.is_empty() {
            let part = (size - self.left.len()).min(rest.len());
            self.left.extend_from_slice(&rest[..part]);
            rest = &rest[part..];
            if self.left.len() < size {
                return Ok(());
            }
            let unit = std::mem::take(&mut self.left);
            self.one(&unit, text)?;
        }
        let whole = rest.len() - rest.len() % size;
        for unit in rest[..whole].chunks_exact(size) {
            self.one(unit, text)?;
        }
        self.left.extend_from_slice(&rest[whole..]);
        Ok(())
    }

    #[inline]
    fn one(&mut self, unit: &[u8], text: &mut Vec<u8>) -> Result<(), String> {
        let value = match *unit {
            [a, b] if self.little => u32::from(u16::from_le_bytes([a, b])),
            [a, b] => u32::from(u16::from_be_bytes([a, b])),
            [a, b, c, d] if self.little => u32::from_le_bytes([a, b, c, d]),
            [a, b, c, d] => u32::from_be_bytes([a, b, c, d]),
            _ => 0,
        };
        if value < 0x80 && self.high.is_none() {
            text.push(value as u8);
            self.offset += unit.len() as u64;
            return Ok(());
        }
        self.wide(value, text)?;
        self.offset += unit.len() as u64;
        Ok(())
    }

    fn wide(&mut self, value: u32, text: &mut Vec<u8>) -> Result<(), String> {
        let is_high = (0xd800..0xdc00).contains(&value);
        let is_low = (0xdc00..0xe000).contains(&value);
        let pairs = self.unit == Unit::Word && self.surrogates;
        let code = match self.high.take() {
            Some(high) if is_low => 0x10000 + ((u32::from(high) - 0xd800) << 10) + (value - 0xdc00),
            Some(high) => {
                self.offset -= 2;
                return Err(format!(
                    "the first half of a surrogate pair, {high:04X}, has no second \
                                    half"
                ));
            }
            None if pairs && is_high => {
                self.high = Some(value as u16);
                return Ok(());
            }
            None if pairs && is_low => {
                return Err(format!(
                    "the second half of a surrogate pair, {value:04X}, has no \
                                    first half"
                ));
            }
            None => value,
        };
        let Some(character) = char::from_u32(code) else {
            return Err(format!("{code:04X} is not a character"));
        };
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn check_end(&mut self, last: bool) -> Result<(), String> {
        if !last {
            return Ok(());
        }
        match (self.high, self.left.len()) {
            (Some(high), _) => {
                self.offset -= 2;
                Err(format!("the file ends after the first half of a surrogate pair, {high:04X}"))
            }
            (None, 0) => Ok(()),
            (None, left) => Err(format!("the file ends {left} byte(s) into a character")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn encode(text: &str, unit: Unit, little: bool) -> Vec<u8> {
        let order = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            if little {
                bytes.reverse();
            }
            bytes
        };
        match unit {
            Unit::Byte => text.as_bytes().to_vec(),
            Unit::Word => text.encode_utf16().flat_map(|unit| order(&unit.to_be_bytes())).collect(),
            Unit::Quad => text.chars().flat_map(|c| order(&u32::from(c).to_be_bytes())).collect(),
        }
    }

    fn decode(encoding: Encoding, bytes: &[u8], step: usize) -> Result<Vec<u8>> {
        let Some(mut transcoder) = encoding.transcoder(bytes) else { return Ok(bytes.to_vec()) };
        let mut text = Vec::new();
        let pieces: Vec<&[u8]> = bytes.chunks(step).collect();
        // The mark comes with the first piece, as the caller sees to.
        let (first, rest) = bytes.split_at(bytes.len().min(4));
        transcoder.push(first, rest.is_empty(), &mut text, Path::new("f"))?;
        let rest: Vec<&[u8]> = rest.chunks(step).collect();
        for (index, piece) in rest.iter().enumerate() {
            transcoder.push(piece, index + 1 == rest.len(), &mut text, Path::new("f"))?;
        }
        assert!(pieces.len() >= rest.len());
        Ok(text)
    }

    proptest! {
        #[test]
        fn text_comes_out_as_it_went_in(
            text in "(?s).{0,40}", little in any::<bool>(), quad in any::<bool>(),
            mark in any::<bool>(), step in 1usize..9,
        ) {
            // A character that looks like a mark is one.
            prop_assume!(mark || !text.starts_with(['\u{feff}', '\u{fffe}']));
            let unit = if quad { Unit::Quad } else { Unit::Word };
            let encoding = match (mark, quad, little) {
                (true, ..) => Encoding::ByMark,
                (_, true, true) => Encoding::Utf32Le,
                (_, true, false) => Encoding::Utf32,
                (_, false, true) => Encoding::Utf16Le,
                (_, false, false) => Encoding::Utf16,
            };
            // FF FE 00 00 is the mark of UTF-32.
            prop_assume!(!(mark && !quad && little && text.starts_with('\0')));
            let marked = if mark { format!("\u{feff}{text}") } else { text.clone() };
            let bytes = encode(&marked, unit, little);
            prop_assert_eq!(decode(encoding, &bytes, step).unwrap(), text.as_bytes());
            prop_assert_eq!(unit.file_bytes(marked.as_bytes()), bytes.len() as u64);
        }
    }

    #[test]
    fn what_is_no_character_is_named_with_its_place() {
        let cases: [(Encoding, &[u8], &str); 7] = [
            (Encoding::Utf16, b"\0a\0\n\xd8\0\0a", "f line 2 (byte 4): not UTF-16: the first half"),
            (
                Encoding::Utf16,
                b"\0a\0\n\xdc\0\0a",
                "f line 2 (byte 4): not UTF-16: the second half",
            ),
            (
                Encoding::Utf16Le,
                b"a\0\0\xd8",
                "f line 1 (byte 2): not UTF-16LE: the file ends after",
            ),
            (
                Encoding::Utf16Le,
                b"a\0b",
                "f line 1 (byte 2): not UTF-16LE: the file ends 1 byte(s)",
            ),
            (Encoding::Ucs2, b"\xd8\x3d\xde\0", "(byte 0): not UCS-2: D83D is not a character"),
            (Encoding::Utf32, b"\0\x11\0\0", "(byte 0): not UTF-32: 110000 is not a character"),
            (Encoding::Utf32Le, b"\0\xd8\0\0", "(byte 0): not UTF-32LE: D800 is not a character"),
        ];
        for (encoding, bytes, expected) in cases {
            let error = decode(encoding, bytes, 3).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(decode(Encoding::Ucs2, b"\0a", 1).unwrap(), b"a");
    }
}
