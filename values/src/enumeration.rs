//! ENUM: the ordinal of a label, from 1. SET: one bit for each label.
//!
//! A text that is no label may be the number of one, as in a dump of numbers. Source: MariaDB
//! 10.11, sql/field.cc `Field_enum::store`, `Field_set::store`; sql/strfunc.cc `find_type2`,
//! `find_set`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::column::{Charset, TextType};
use crate::integer::push_be;
use crate::reason::Reason;
use crate::text::recode_lossy;

/// Digits of the largest ENUM number.
const ENUM_NUMBER_MAX: usize = 5;
/// Digits of the largest SET number, and one.
const SET_NUMBER_MAX: usize = 21;

/// The labels of a column, found by the bytes that the collation takes for equal.
#[derive(Clone, Debug)]
struct Labels {
    file: Charset,
    column: Charset,
    /// Whether the collation tells upper from lower case.
    exact: bool,
    count: u64,
    /// Folded label to its place, from 1. Shared by the workers.
    places: Arc<HashMap<Box<[u8]>, u16>>,
    /// A field in the column's charset, folded; kept to be reused.
    folded: Vec<u8>,
}

impl Labels {
    fn new(labels: &[String], text: &TextType, file: Charset) -> Labels {
        let exact = !text.collation.contains("_ci") && !text.collation.contains("_ai");
        let mut places = HashMap::with_capacity(labels.len());
        for (index, label) in labels.iter().enumerate() {
            let mut folded = Vec::new();
            recode_lossy(label.as_bytes(), Charset::Utf8mb4, text.charset, &mut folded);
            fold(&mut folded, text.charset, exact);
            places.entry(folded.into_boxed_slice()).or_insert(index as u16 + 1);
        }
        Labels {
            file,
            column: text.charset,
            exact,
            count: labels.len() as u64,
            places: Arc::new(places),
            folded: Vec::with_capacity(64),
        }
    }

    /// The field in the column's charset, letters folded, without trailing spaces.
    #[inline]
    fn load(&mut self, text: &[u8]) {
        self.folded.clear();
        if self.file == self.column || text.is_ascii() {
            self.folded.extend_from_slice(text);
        } else {
            recode_lossy(text, self.file, self.column, &mut self.folded);
        }
        while self.column != Charset::Binary && self.folded.last() == Some(&b' ') {
            self.folded.pop();
        }
        fold(&mut self.folded, self.column, self.exact);
    }

    #[inline]
    fn place(&self, folded: &[u8]) -> Option<u16> {
        self.places.get(folded).copied()
    }
}

/// Lower case, if the collation does not tell it from upper case.
#[inline]
fn fold(text: &mut [u8], charset: Charset, exact: bool) {
    if !exact {
        text.make_ascii_lowercase();
        if charset == Charset::Latin1 {
            for byte in text {
                if matches!(*byte, 0xc0..=0xde) && *byte != 0xd7 {
                    *byte += 0x20;
                }
            }
        }
    }
}

/// Converts text to ENUM.
#[derive(Clone, Debug)]
pub(crate) struct Enum {
    labels: Labels,
    bytes: usize,
}

impl Enum {
    pub(crate) fn new(labels: &[String], text: &TextType, file: Charset) -> Enum {
        let bytes = if labels.len() < 256 { 1 } else { 2 };
        Enum { labels: Labels::new(labels, text, file), bytes }
    }

    #[inline]
    pub(crate) fn convert(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        self.labels.load(text);
        let place = match self.labels.place(&self.labels.folded) {
            Some(place) => u64::from(place),
            None => self.number()?,
        };
        push_be(place, self.bytes, out);
        Ok(())
    }

    /// A text of up to five bytes may be a label's number; 0 is the empty value.
    #[cold]
    fn number(&self) -> Result<u64, Reason> {
        let text = &self.labels.folded;
        if text.len() > ENUM_NUMBER_MAX {
            return Err(Reason::NotALabel);
        }
        parse_number(text).filter(|&n| n <= self.labels.count).ok_or(Reason::NotALabel)
    }
}

/// Converts text to SET.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    labels: Labels,
    bytes: usize,
}

impl Set {
    pub(crate) fn new(labels: &[String], text: &TextType, file: Charset) -> Set {
        let bytes = match labels.len().div_ceil(8) {
            few @ 0..=4 => few.max(1),
            _ => 8,
        };
        Set { labels: Labels::new(labels, text, file), bytes }
    }

    #[inline]
    pub(crate) fn convert(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        self.labels.load(text);
        let mut bits = 0u64;
        let mut unknown = false;
        if !self.labels.folded.is_empty() {
            for label in self.labels.folded.split(|&byte| byte == b',') {
                match self.labels.place(label) {
                    Some(place) => bits |= 1 << (place - 1),
                    None => unknown = true,
                }
            }
        }
        if bits == 0 && !text.is_empty() && text.len() <= SET_NUMBER_MAX {
            // The server's bound is 1 << 64, which its processor takes for 1 << 0.
            let limit = 1u64.checked_shl(self.labels.count as u32).unwrap_or(1) - 1;
            bits = parse_number(text).filter(|&n| n <= limit).ok_or(Reason::NotALabel)?;
        } else if unknown {
            return Err(Reason::NotALabel);
        }
        push_be(bits, self.bytes, out);
        Ok(())
    }
}

/// `[space] [sign] digits`; a negative number wraps and so is beyond every column.
fn parse_number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    let negative = digits.first() == Some(&b'-');
    let digits = digits.strip_prefix(b"-").unwrap_or(digits);
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

    fn text(collation: &str) -> TextType {
        TextType { charset: Charset::Utf8mb4, collation: collation.into() }
    }

    fn labels() -> Vec<String> {
        ["red", "Green", "blue"].map(String::from).to_vec()
    }

    #[test]
    fn an_enum_is_its_ordinal() {
        let mut ci = Enum::new(&labels(), &text("utf8mb4_general_ci"), Charset::Utf8mb4);
        let mut bin = Enum::new(&labels(), &text("utf8mb4_bin"), Charset::Utf8mb4);
        let convert = |e: &mut Enum, value: &str| {
            let mut out = Vec::new();
            e.convert(value.as_bytes(), &mut out).map(|()| out[0])
        };
        for (value, expected) in [
            ("red", Ok(1)),
            ("green", Ok(2)),
            ("BLUE  ", Ok(3)),
            ("2", Ok(2)),
            ("0", Ok(0)),
            ("4", Err(Reason::NotALabel)),
            ("", Err(Reason::NotALabel)),
            ("yellow", Err(Reason::NotALabel)),
        ] {
            assert_eq!(convert(&mut ci, value), expected, "{value}");
        }
        assert_eq!(convert(&mut bin, "green"), Err(Reason::NotALabel));
        assert_eq!(convert(&mut bin, "Green"), Ok(2));
    }

    #[test]
    fn a_set_is_a_mask() {
        let mut set = Set::new(&labels(), &text("utf8mb4_general_ci"), Charset::Utf8mb4);
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
}
