//! Character sets known by the server's conversion tables: the 8-bit ones and those of East Asia.
//!
//! A character's *code* is its bytes as one big-endian number: the byte itself, 0x8140, 0x8fa2af.
//!
//! ```text
//! bytes -> code        by the first byte, if the code is in the table
//! code  -> code point  pages[code >> 8] -> slots[page * 256 + code & 255]
//! code point -> code   likewise
//! ```
//! A table is made once and stays for the life of the process, so that a [`Charset`] is copied as
//! cheaply as before; tables of equal content are the same.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use locks::Mutex;

use super::Charset;
use crate::error::CollationError;

const MAGIC: &[u8] = b"INRCSET\x01";
const PAGE: usize = 256;
/// Slot: nothing stands there.
const NONE: u32 = u32::MAX;
/// Slot: a character that Unicode lacks.
const UNMAPPED: u32 = u32::MAX - 1;
/// Characters no set exceeds: a bound for what a damaged file may claim.
const CHARACTERS_MAX: usize = 200_000;

static KNOWN: Mutex<Vec<&'static CharsetTable>> = Mutex::new(Vec::new());

/// The server's description of a character set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharsetData {
    /// The server's name.
    pub name: String,
    /// Each character: its code, and its code point if it has one. Ascending.
    pub characters: Vec<(u32, Option<u32>)>,
    /// Each code point that can be stored, and the code it becomes. Ascending.
    pub stored: Vec<(u32, u32)>,
    /// Bytes that are white space.
    pub spaces: Vec<u8>,
}

impl CharsetData {
    /// Bytes for a cache file; all numbers are 4 bytes, big-endian.
    ///
    /// ```text
    /// "INRCSET" 1 | name | spaces | characters: list of (code, code point) | stored: list of (code
    /// point, code); a list, or a text, is its length and its items
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for text in [self.name.as_bytes(), &self.spaces] {
            out.extend((text.len() as u32).to_be_bytes());
            out.extend_from_slice(text);
        }
        let characters: Vec<(u32, u32)> =
            self.characters.iter().map(|&(code, point)| (code, point.unwrap_or(NONE))).collect();
        for list in [&characters, &self.stored] {
            out.extend((list.len() as u32).to_be_bytes());
            out.extend(list.iter().flat_map(|&(a, b)| [a.to_be_bytes(), b.to_be_bytes()].concat()));
        }
        out
    }

    /// The inverse of [`CharsetData::to_bytes`]; None for bytes of another version or origin.
    pub fn from_bytes(bytes: &[u8]) -> Option<CharsetData> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let name = String::from_utf8(take_list(&mut rest, 1)?.to_vec()).ok()?;
        let spaces = take_list(&mut rest, 1)?.to_vec();
        let mut pairs = || -> Option<Vec<(u32, u32)>> {
            let (pairs, _) = take_list(&mut rest, 8)?.as_chunks::<4>();
            let number = |bytes: &[u8; 4]| u32::from_be_bytes(*bytes);
            Some(pairs.chunks_exact(2).map(|pair| (number(&pair[0]), number(&pair[1]))).collect())
        };
        let point = |(code, point): (u32, u32)| (code, (point != NONE).then_some(point));
        let characters = pairs()?.into_iter().map(point).collect();
        let stored = pairs()?;
        rest.is_empty().then_some(CharsetData { name, characters, stored, spaces })
    }
}

/// The bytes of a list of items of `item_bytes`.
fn take_list<'a>(rest: &mut &'a [u8], item_bytes: usize) -> Option<&'a [u8]> {
    let (count, after) = rest.split_first_chunk()?;
    let bytes = (u32::from_be_bytes(*count) as usize).checked_mul(item_bytes)?;
    let (list, after) = after.split_at_checked(bytes)?;
    *rest = after;
    Some(list)
}

/// A character set, ready for use.
pub struct CharsetTable {
    data: CharsetData,
    /// Bytes of a character by its first byte; 0 starts none.
    lengths: [u8; 256],
    bytes_max: usize,
    to_unicode: Pages,
    from_unicode: Pages,
    spaces: [bool; 256],
    is_ascii_superset: bool,
}

impl std::fmt::Debug for CharsetTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.data.name)
    }
}

/// Tables are interned, so two are equal when they are one.
impl PartialEq for CharsetTable {
    fn eq(&self, other: &CharsetTable) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for CharsetTable {}

impl Hash for CharsetTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.data.name.hash(state);
    }
}

impl CharsetTable {
    /// The character set of this data.
    ///
    /// Errors: no characters, a code of more than 3 bytes, first bytes that do not tell how long
    /// a character is, or a code point that becomes no character.
    pub fn intern(data: CharsetData) -> Result<Charset, CollationError> {
        let mut known = KNOWN.lock();
        if let Some(table) = known.iter().find(|table| table.data == data) {
            return Ok(Charset::Learned(table));
        }
        let table = CharsetTable::new(data).map_err(CollationError::Damaged)?;
        let table: &'static CharsetTable = Box::leak(Box::new(table));
        known.push(table);
        Ok(Charset::Learned(table))
    }

    fn new(data: CharsetData) -> Result<CharsetTable, &'static str> {
        let ascending = data.characters.is_sorted_by(|a, b| a.0 < b.0)
            && data.stored.is_sorted_by(|a, b| a.0 < b.0);
        if data.characters.is_empty()
            || !ascending
            || data.characters.len().max(data.stored.len()) > CHARACTERS_MAX
        {
            return Err("a character set without order, or of no characters, or of too many");
        }
        let mut lengths = [0; 256];
        for &(code, unicode) in &data.characters {
            if code > 0xff_ffff || unicode.is_some_and(|point| point > 0x10_ffff) {
                return Err("a character of a character set is out of range");
            }
            let bytes = code_bytes(code);
            let length = &mut lengths[(code >> (8 * (bytes - 1))) as usize];
            if *length != 0 && *length != bytes as u8 {
                return Err("a first byte that starts characters of two lengths");
            }
            *length = bytes as u8;
        }
        let slot = |unicode: Option<u32>| unicode.unwrap_or(UNMAPPED);
        let to_unicode =
            Pages::new(data.characters.iter().map(|&(code, unicode)| (code, slot(unicode))));
        let from_unicode = Pages::new(data.stored.iter().copied());
        let known =
            |&(point, code): &(u32, u32)| point <= 0x10_ffff && to_unicode.get(code) != NONE;
        if !data.stored.iter().all(known) {
            return Err("a code point maps to no character");
        }
        let mut spaces = [false; 256];
        data.spaces.iter().for_each(|&byte| spaces[usize::from(byte)] = true);
        let same = |code| to_unicode.get(code) == code && from_unicode.get(code) == code;
        Ok(CharsetTable {
            is_ascii_superset: (0..0x80).all(same),
            bytes_max: lengths.iter().copied().max().unwrap_or(1).into(),
            data,
            lengths,
            to_unicode,
            from_unicode,
            spaces,
        })
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.data.name
    }

    /// The data that it was made of.
    pub fn data(&self) -> &CharsetData {
        &self.data
    }

    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    pub(super) fn is_ascii_superset(&self) -> bool {
        self.is_ascii_superset
    }

    pub(crate) fn is_space(&self, byte: u8) -> bool {
        self.spaces[usize::from(byte)]
    }

    /// Code and bytes of the first character.
    #[inline]
    pub(super) fn next_char(&self, bytes: &[u8]) -> Option<(u32, usize)> {
        let &first = bytes.first()?;
        if self.bytes_max == 1 {
            return Some((first.into(), 1));
        }
        let length = usize::from(self.lengths[usize::from(first)]);
        let character = bytes.get(..length)?;
        let code = character.iter().fold(0, |code, &byte| (code << 8) | u32::from(byte));
        (length == 1 || length > 0 && self.to_unicode.get(code) != NONE).then_some((code, length))
    }

    /// Code point of a character.
    #[inline]
    pub(super) fn to_unicode(&self, code: u32) -> Option<u32> {
        Some(self.to_unicode.get(code)).filter(|&point| point < UNMAPPED)
    }

    /// Appends the character of a code point; false if there is none.
    #[inline]
    pub(super) fn push(&self, point: u32, out: &mut Vec<u8>) -> bool {
        let code = self.from_unicode.get(point);
        if code != NONE {
            push_code(code, out);
        }
        code != NONE
    }
}

/// Bytes of a code.
fn code_bytes(code: u32) -> usize {
    match code {
        0..0x100 => 1,
        0x100..0x1_0000 => 2,
        _ => 3,
    }
}

/// Appends the bytes of a code.
pub(super) fn push_code(code: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&code.to_be_bytes()[4 - code_bytes(code)..]);
}

/// A map of numbers to numbers, in pages of 256; empty and equal pages take no room.
struct Pages {
    /// Offset of each page in `slots`.
    pages: Vec<u32>,
    slots: Vec<u32>,
}

impl Pages {
    /// Keys ascend.
    fn new(pairs: impl Iterator<Item = (u32, u32)>) -> Pages {
        let mut filled: Vec<(usize, [u32; PAGE])> = Vec::new();
        for (key, value) in pairs {
            let page_no = key as usize / PAGE;
            if filled.last().is_none_or(|(last, _)| *last != page_no) {
                filled.push((page_no, [NONE; PAGE]));
            }
            if let Some((_, page)) = filled.last_mut() {
                page[key as usize % PAGE] = value;
            }
        }
        let count = filled.last().map_or(0, |(last, _)| last + 1);
        let mut pages = Pages { pages: vec![0; count], slots: vec![NONE; PAGE] };
        let mut known = HashMap::new();
        for (page_no, page) in filled {
            pages.pages[page_no] = *known.entry(page).or_insert_with(|| {
                pages.slots.extend(page);
                (pages.slots.len() - PAGE) as u32
            });
        }
        pages
    }

    #[inline]
    fn get(&self, key: u32) -> u32 {
        match self.pages.get(key as usize / PAGE) {
            Some(&page) => self.slots[page as usize + key as usize % PAGE],
            None => NONE,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    /// ASCII, 0x81 0x40 as U+4E00, 0x81 0x41 without code point, 0x8f 0xa1 0xa2 as U+00E4, and
    /// U+FF01 stored as `!`.
    pub(crate) fn invented() -> Charset {
        let mut characters: Vec<_> = (0..0x80).map(|code| (code, Some(code))).collect();
        characters.extend([(0x8140, Some(0x4e00)), (0x8141, None), (0x8f_a1a2, Some(0xe4))]);
        let mut stored: Vec<_> = (0..0x80).map(|code| (code, code)).collect();
        stored.extend([(0xe4, 0x8f_a1a2), (0x4e00, 0x8140), (0xff01, 0x21)]);
        let spaces = b" \t\n".to_vec();
        CharsetTable::intern(CharsetData { name: "invented".into(), characters, stored, spaces })
            .unwrap()
    }

    #[test]
    fn characters_are_cut_by_their_first_byte() {
        let charset = invented();
        assert_eq!(charset.next_char(b"a"), Some((0x61, 1)));
        assert_eq!(charset.next_char(b"\x81\x40a"), Some((0x8140, 2)));
        assert_eq!(charset.next_char(b"\x8f\xa1\xa2"), Some((0x8f_a1a2, 3)));
        for bytes in [&b"\x81"[..], b"\x81\x42", b"\x8f\xa1", b"\xff", b""] {
            assert_eq!(charset.next_char(bytes), None, "{bytes:x?}");
        }
        assert_eq!(charset.char_bytes_max(), 3);
        assert_eq!(charset.count_chars(b"a\x81\x40\x81"), 3);
        assert_eq!(charset.prefix_bytes(b"a\x81\x40z", 2), 3);
    }

    #[test]
    fn code_points_go_both_ways() {
        let charset = invented();
        assert_eq!(charset.to_unicode(0x8140), Some(0x4e00));
        assert_eq!(charset.to_unicode(0x8141), None);
        let mut out = Vec::new();
        assert!(charset.push_unicode(0xe4, &mut out) && charset.push_unicode(0xff01, &mut out));
        assert!(!charset.push_unicode(0x4e01, &mut out) && !charset.push_unicode(0xe5, &mut out));
        assert_eq!(out, b"\x8f\xa1\xa2!");
    }

    #[test]
    fn equal_tables_are_one_and_damaged_ones_none() {
        assert_eq!(invented(), invented());
        let Charset::Learned(table) = invented() else { panic!("it is learned") };
        let bytes = table.data().to_bytes();
        assert_eq!(CharsetData::from_bytes(&bytes).as_ref(), Some(table.data()));
        for cut in 0..bytes.len() {
            assert_eq!(CharsetData::from_bytes(&bytes[..cut]), None);
        }
        let damaged = |change: &dyn Fn(&mut CharsetData)| {
            let mut data = table.data().clone();
            change(&mut data);
            CharsetTable::intern(data).is_err()
        };
        assert!(damaged(&|data| data.characters.clear()));
        assert!(damaged(&|data| data.characters.swap(0, 1)));
        assert!(damaged(&|data| data.characters.push((0x1_000_000, None))));
        assert!(damaged(&|data| data.characters.insert(0x80, (0x81, None))));
        assert!(damaged(&|data| data.stored.push((0x1_0000, 0x8142))));
    }
}
