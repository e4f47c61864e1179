//! ENUM: the ordinal of a label, from 1. SET: one bit for each label.
//!
//! A text that is no label may be the number of one, as in a dump of numbers. Source: MariaDB
//! 10.11, sql/field.cc `Field_enum::store`, `Field_set::store`; sql/strfunc.cc `find_type2`,
//! `find_set`.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::Arc;

use crate::charset::recode_lossy;
use crate::collation::Collation;
use crate::ctype::{is_ascii_space, is_space};
use crate::habits::Habits;
use crate::integer::push_be;
use crate::reason::Reason;
use crate::sql_type::{Charset, TextType};
use crate::text::same_ascii;

/// Digits of the largest ENUM number.
const ENUM_NUMBER_MAX: usize = 5;
/// Digits of the largest SET number, and one.
const SET_NUMBER_MAX: usize = 21;

/// The labels of a column, found by what equal texts have in common.
#[derive(Clone, Debug)]
struct Labels {
    file: Charset,
    column: Charset,
    /// True if ASCII is the same in both.
    same_ascii: bool,
    equality: Equality,
    count: u64,
    /// Shared by the workers.
    places: Arc<Places>,
    /// A field in the column's charset, and the common form of a label; kept to be reused.
    field: Vec<u8>,
    common: Vec<u8>,
}

/// When two texts are the same label.
#[derive(Clone, Debug)]
enum Equality {
    /// Byte by byte.
    Exact,
    /// ASCII letters without case, all else byte by byte: never wrong where it says equal, but it
    /// does not see that an accent may not count.
    AsciiCase,
    /// By sort key.
    Collation(Arc<Collation>),
}

impl Equality {
    /// Leaves the common form of `label` in `common`; false if it has none.
    #[inline]
    fn load(&self, charset: Charset, label: &[u8], common: &mut Vec<u8>) -> bool {
        common.clear();
        match self {
            Equality::Exact => common.extend_from_slice(label),
            Equality::AsciiCase => {
                common.extend_from_slice(label);
                common.make_ascii_lowercase();
            }
            // Labels have no spaces at their end, and unlike keys the server counts them.
            Equality::Collation(_) if charset.trimmed_len(label) < label.len() => return false,
            Equality::Collation(collation) => return collation.push_key(label, common).is_ok(),
        }
        true
    }
}

impl Labels {
    fn new(
        labels: &[String],
        text: &TextType,
        file: Charset,
        collation: Option<Arc<Collation>>,
    ) -> Labels {
        let equality = match collation {
            _ if is_bytewise(&text.collation) => Equality::Exact,
            Some(collation) => Equality::Collation(collation),
            None if folds_ascii_case(&text.collation) => Equality::AsciiCase,
            None => Equality::Exact,
        };
        let mut places = HashMap::default();
        let (mut field, mut common) = (Vec::with_capacity(64), Vec::with_capacity(64));
        for (index, label) in labels.iter().enumerate() {
            field.clear();
            recode_lossy(label.as_bytes(), Charset::Utf8mb4, text.charset, &mut field);
            if equality.load(text.charset, &field, &mut common) {
                // Of equal labels the first counts.
                places.entry(Box::from(common.as_slice())).or_insert(index as u16 + 1);
            }
        }
        let (places, count) = (Arc::new(Places(places)), labels.len() as u64);
        let (column, same_ascii) = (text.charset, same_ascii(file, text.charset));
        Labels { file, column, same_ascii, equality, count, places, field, common }
    }

    /// Takes a field over into the column's charset; its bytes less trailing spaces.
    #[inline]
    fn load(&mut self, text: &[u8]) -> usize {
        self.field.clear();
        if self.file == self.column || self.same_ascii && text.is_ascii() {
            self.field.extend_from_slice(text);
        } else {
            if self.file == Charset::Binary {
                // The server makes whole units of bytes by zeros before them: numbers are none then.
                let unit = self.column.char_bytes_min();
                self.field.resize(text.len().next_multiple_of(unit) - text.len(), 0);
            }
            recode_lossy(text, self.file, self.column, &mut self.field);
        }
        match self.column {
            Charset::Binary => self.field.len(),
            column => column.trimmed_len(&self.field),
        }
    }

    /// Place of the label that is the `range` of the field.
    #[inline]
    fn find(&mut self, range: Range<usize>) -> Option<u16> {
        let known = self.equality.load(self.column, &self.field[range], &mut self.common);
        known.then(|| self.places.0.get(self.common.as_slice()).copied())?
    }

    /// Where the next comma stands, from `start` on, or else `end`.
    #[inline]
    fn comma(&self, start: usize, end: usize) -> usize {
        let text = &self.field[start..end];
        let place = match self.column {
            // No character of another set has the comma's byte in it.
            column if column.char_bytes_min() == 1 => text.iter().position(|&byte| byte == b','),
            column => {
                let mut at = 0;
                std::iter::from_fn(|| {
                    let (code, bytes) = column.next_char(&text[at..])?;
                    at += bytes;
                    Some((code, at - bytes))
                })
                .find(|&(code, _)| code == u32::from(b','))
                .map(|(_, place)| place)
            }
        };
        place.map_or(end, |place| start + place)
    }
}

/// True if two texts of this collation are equal only byte by byte.
fn is_bytewise(collation: &str) -> bool {
    collation == "binary" || collation.ends_with("_bin")
}

/// True if `A` and `a`, and so on to `Z`, are surely equal: not in Turkish, where `I` is the
/// capital of a dotless letter.
fn folds_ascii_case(collation: &str) -> bool {
    collation.ends_with("_ci") && !collation.contains("turkish")
}

/// Common form of a label to its place, from 1.
#[derive(Debug)]
struct Places(HashMap<Box<[u8]>, u16, BuildHasherDefault<Fnv>>);

/// FNV-1a: quick for a few bytes, and labels are no place for an attack.
#[derive(Clone, Debug)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// A length before the bytes tells nothing more.
    #[inline]
    fn write_usize(&mut self, _: usize) {}

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Converts text to ENUM.
#[derive(Clone, Debug)]
pub(crate) struct Enum {
    labels: Labels,
    bytes: usize,
    /// Smallest number that is taken: 1, or 0 by servers that store it as no label.
    number_min: u64,
}

impl Enum {
    pub(crate) fn new(
        labels: &[String],
        text: &TextType,
        file: Charset,
        collation: Option<Arc<Collation>>,
    ) -> Enum {
        let bytes = if labels.len() < 256 { 1 } else { 2 };
        Enum { labels: Labels::new(labels, text, file, collation), bytes, number_min: 1 }
    }

    /// As the server does.
    pub(crate) fn with_habits(mut self, habits: Habits) -> Enum {
        self.number_min = u64::from(!habits.enum_zero);
        self
    }

    #[inline]
    pub(crate) fn convert(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let labels = &mut self.labels;
        let end = labels.load(text);
        let place = match labels.find(0..end) {
            Some(place) => u64::from(place),
            None => self.number(end)?,
        };
        push_be(place, self.bytes, out);
        Ok(())
    }

    /// A text of up to five bytes may be a label's number.
    #[cold]
    fn number(&self, end: usize) -> Result<u64, Reason> {
        let text = &self.labels.field[..end];
        if text.len() > ENUM_NUMBER_MAX {
            return Err(Reason::NotALabel);
        }
        parse_number(text, self.labels.file)
            .filter(|number| (self.number_min..=self.labels.count).contains(number))
            .ok_or(Reason::NotALabel)
    }
}

/// Converts text to SET.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    labels: Labels,
    bytes: usize,
}

impl Set {
    pub(crate) fn new(
        labels: &[String],
        text: &TextType,
        file: Charset,
        collation: Option<Arc<Collation>>,
    ) -> Set {
        let bytes = match labels.len().div_ceil(8) {
            few @ 0..=4 => few.max(1),
            _ => 8,
        };
        Set { labels: Labels::new(labels, text, file, collation), bytes }
    }

    #[inline]
    pub(crate) fn convert(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let labels = &mut self.labels;
        let end = labels.load(text);
        let mut bits = 0u64;
        let mut unknown = false;
        let mut start = 0;
        while end > 0 && start <= end {
            let comma = labels.comma(start, end);
            match labels.find(start..comma) {
                Some(place) => bits |= 1 << (place - 1),
                None => unknown = true,
            }
            start = comma + labels.column.char_bytes_min();
        }
        let field = &labels.field;
        if bits == 0 && !field.is_empty() && field.len() <= SET_NUMBER_MAX {
            let limit = u64::MAX >> (64 - labels.count.clamp(1, 64));
            let number = parse_number(field, labels.file).filter(|&number| number <= limit);
            bits = number.ok_or(Reason::NotALabel)?;
        } else if unknown {
            return Err(Reason::NotALabel);
        }
        push_be(bits, self.bytes, out);
        Ok(())
    }
}

/// `[space] [sign] digits`; a negative number wraps and is beyond all but a SET of 64.
fn parse_number(text: &[u8], file: Charset) -> Option<u64> {
    let is_space = |byte: u8| match file {
        // Its character table knows white space, unlike its collation.
        Charset::Binary => is_ascii_space(byte),
        file => is_space(file, byte),
    };
    let text = &text[text.iter().take_while(|&&byte| is_space(byte)).count()..];
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let number = digits.iter().try_fold(0u64, |n, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })?;
    Some(if negative { number.wrapping_neg() } else { number })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::collation::tests::invented;

    fn text(collation: &str) -> TextType {
        TextType { charset: Charset::Utf8mb4, collation: collation.into() }
    }

    fn labels() -> Vec<String> {
        ["red", "Green", "blue"].map(String::from).to_vec()
    }

    /// As MariaDB 10.11.19 answered.
    #[test]
    fn bytes_that_are_no_whole_units_are_no_number() {
        let labels: Vec<String> = (0..64).map(|label| format!("l{label}")).collect();
        let text = TextType { charset: Charset::Utf32, collation: "utf32_general_ci".into() };
        let mut set = Set::new(&labels, &text, Charset::Binary, None);
        for (value, expected) in [
            ("-1", Err(Reason::NotALabel)),
            ("18446744073709551615", Ok(vec![0xff; 8])),
            ("1234", Ok(1234u64.to_be_bytes().to_vec())),
            ("\0\0\0l\0\0\x001", Ok(2u64.to_be_bytes().to_vec())),
        ] {
            let mut out = Vec::new();
            let stored = set.convert(value.as_bytes(), &mut out).map(|()| out);
            assert_eq!(stored, expected, "{value}");
        }
    }

    #[test]
    fn an_enum_is_its_ordinal() {
        let mut ci = Enum::new(&labels(), &text("utf8mb4_general_ci"), Charset::Utf8mb4, None);
        let mut bin = Enum::new(&labels(), &text("utf8mb4_bin"), Charset::Utf8mb4, None);
        let convert = |e: &mut Enum, value: &str| {
            let mut out = Vec::new();
            e.convert(value.as_bytes(), &mut out).map(|()| out[0])
        };
        for (value, expected) in [
            ("red", Ok(1)),
            ("green", Ok(2)),
            ("BLUE  ", Ok(3)),
            ("2", Ok(2)),
            ("0", Err(Reason::NotALabel)),
            ("4", Err(Reason::NotALabel)),
            ("", Err(Reason::NotALabel)),
            ("yellow", Err(Reason::NotALabel)),
        ] {
            assert_eq!(convert(&mut ci, value), expected, "{value}");
        }
        let mut taking = ci.clone().with_habits(Habits { enum_zero: true, ..Habits::default() });
        for (value, expected) in [("0", Ok(0)), ("00", Ok(0)), ("", Err(Reason::NotALabel))] {
            assert_eq!(convert(&mut taking, value), expected, "{value}");
        }
        assert_eq!(convert(&mut bin, "green"), Err(Reason::NotALabel));
        assert_eq!(convert(&mut bin, "Green"), Ok(2));
    }

    #[test]
    fn without_a_collation_case_counts_where_it_may() {
        for (collation, same) in [
            ("utf8mb4_general_ci", true),
            ("latin1_swedish_ci", true),
            ("utf8mb4_turkish_ci", false),
            ("utf8mb3_turkish_nopad_ci", false),
            ("uca1400_turkish_ai_ci", false),
            ("uca1400_ai_cs", false),
            ("utf8mb4_uca1400_as_cs", false),
            ("latin1_general_cs", false),
            ("utf8mb4_nopad_bin", false),
            ("binary", false),
        ] {
            let mut label = Enum::new(&labels(), &text(collation), Charset::Utf8mb4, None);
            assert_eq!(label.convert(b"RED", &mut Vec::new()).is_ok(), same, "{collation}");
            assert_eq!(label.convert(b"red", &mut Vec::new()), Ok(()), "{collation}");
        }
    }

    #[test]
    fn a_set_is_a_mask() {
        let mut set = Set::new(&labels(), &text("utf8mb4_general_ci"), Charset::Utf8mb4, None);
        for (value, expected) in [
            ("", Ok(0)),
            ("red", Ok(1)),
            ("blue,RED", Ok(5)),
            ("red,red", Ok(1)),
            ("5", Ok(5)),
            ("8", Err(Reason::NotALabel)),
            ("red,", Err(Reason::NotALabel)),
            ("red,pink", Err(Reason::NotALabel)),
        ] {
            let mut out = Vec::new();
            let result = set.convert(value.as_bytes(), &mut out).map(|()| out[0]);
            assert_eq!(result, expected, "{value}");
        }
    }

    #[test]
    fn with_a_collation_what_it_calls_equal_is_a_label() {
        // In the invented collation U+00E6 weighs as "ae".
        let data = invented(Charset::Utf8mb4, true, 2);
        let collation = Some(Arc::new(Collation::learned(data).unwrap()));
        let labels = ["\u{e6}ther".to_string(), "b".into()];
        let mut set = Set::new(&labels, &text("invented_ci"), Charset::Utf8mb4, collation);
        for (value, expected) in [
            ("AETHER,b", Ok(3)),
            ("\u{e6}ther", Ok(1)),
            ("b ", Ok(2)),
            ("b ,aether", Err(Reason::NotALabel)),
            ("ether", Err(Reason::NotALabel)),
        ] {
            let mut out = Vec::new();
            let result = set.convert(value.as_bytes(), &mut out).map(|()| out[0]);
            assert_eq!(result, expected, "{value}");
        }
    }
}
