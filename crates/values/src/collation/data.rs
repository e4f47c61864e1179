//! A learned collation, and its form in a cache file.
//!
//! All numbers big-endian; a text or list is its length (2 or 4 bytes) and its items.
//!
//! ```text
//! "INRCOLL" 2 | name | server version | charset name | pad 1 | pad unit 4 | verdict 1, text
//!             | levels: list of level
//! pad         = 0 none, CHAR counts spaces; 1 with spaces; 2 none, CHAR is trimmed
//! level       = unit bytes 1 | pages: list of 4 | slots: list of 4 | pool: list of 4
//!             | contractions: list of (chars: list of 4 | known 1 | weight: text)
//! ```
//! No checksum: whoever writes the file adds one.

use super::CollationError;
use super::contractions::Contraction;
use super::weights::{Weights, units_of};
use crate::charset::Charset;

const MAGIC: &[u8; 8] = b"INRCOLL\x02";
/// No collation has more levels.
const LEVELS_MAX: u32 = 8;
/// How the spaces at the end of a text count.
const NO_PAD: u8 = 0;
const PAD_SPACE: u8 = 1;
const NO_PAD_TRIMMED: u8 = 2;
/// Stands for [`CollationData::pad_unit`] of None.
const NO_UNIT: u32 = u32::MAX;

/// A collation as one server version has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollationData {
    /// Full name, as the server says it.
    pub name: String,
    /// `VERSION()` of the server it was learned from.
    pub server_version: String,
    /// Its character set.
    pub charset: Charset,
    /// True if strings compare as if spaces followed them for ever.
    pub pad_space: bool,
    /// The unit that follows a string in PAD SPACE comparison, if it is not the weight of a space:
    /// the collations of latin7 weigh the space otherwise.
    pub pad_unit: Option<u32>,
    /// True if a CHAR compares without the spaces at its end, though the collation does not pad:
    /// MySQL.
    pub trims_char: bool,
    /// Weight of every character.
    pub weights: Weights,
    /// Sequences that weigh otherwise than their characters one by one.
    pub contractions: Vec<Contraction>,
    /// Weights that decide among strings whose `weights` are equal: accents, then case.
    pub lower_levels: Vec<Level>,
    /// The verdict of the self-test.
    pub verdict: Verdict,
}

/// Weights of a level below the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Weight of every character.
    pub weights: Weights,
    /// Weights of the same sequences as those of the first level.
    pub contractions: Vec<Contraction>,
}

/// Result of comparing our order with the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not compared yet.
    Untested,
    /// They agreed on all strings.
    Exact,
    /// They did not, or the collation cannot be learned: why.
    Refused(String),
}

impl CollationData {
    /// The bytes described at the top of this file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        push_text(self.name.as_bytes(), &mut out);
        push_text(self.server_version.as_bytes(), &mut out);
        push_text(self.charset.name().as_bytes(), &mut out);
        out.push(match (self.pad_space, self.trims_char) {
            (true, _) => PAD_SPACE,
            (false, false) => NO_PAD,
            (false, true) => NO_PAD_TRIMMED,
        });
        out.extend(self.pad_unit.unwrap_or(NO_UNIT).to_be_bytes());
        let (verdict, why) = match &self.verdict {
            Verdict::Untested => (0, ""),
            Verdict::Exact => (1, ""),
            Verdict::Refused(why) => (2, why.as_str()),
        };
        out.push(verdict);
        push_text(why.as_bytes(), &mut out);
        out.extend((1 + self.lower_levels.len() as u32).to_be_bytes());
        push_level(&self.weights, &self.contractions, &mut out);
        for Level { weights, contractions } in &self.lower_levels {
            push_level(weights, contractions, &mut out);
        }
        out
    }

    /// The inverse of [`CollationData::to_bytes`], for a collation of `charset`.
    ///
    /// Errors: bytes of another version, origin or character set, or ones whose references point
    /// outside.
    pub fn from_bytes(bytes: &[u8], charset: Charset) -> Result<CollationData, CollationError> {
        let damaged = CollationError::Damaged("a cache file that does not parse");
        parse(&mut Reader(bytes), charset).ok_or(damaged)
    }
}

fn push_level(weights: &Weights, contractions: &[Contraction], out: &mut Vec<u8>) {
    out.push(weights.unit_bytes);
    for list in [&weights.pages, &weights.slots, &weights.pool] {
        push_list(list, out);
    }
    out.extend((contractions.len() as u32).to_be_bytes());
    for Contraction { chars, weight } in contractions {
        push_list(chars, out);
        out.push(u8::from(weight.is_some()));
        push_text(weight.as_deref().unwrap_or_default(), out);
    }
}

fn parse(reader: &mut Reader<'_>, charset: Charset) -> Option<CollationData> {
    if reader.take(MAGIC.len())? != MAGIC {
        return None;
    }
    let (name, server_version) = (reader.string()?, reader.string()?);
    if reader.text()? != charset.name().as_bytes() {
        return None;
    }
    let pad = reader.byte()?;
    let pad_unit = Some(reader.number()?).filter(|&unit| unit != NO_UNIT);
    let verdict = match (reader.byte()?, reader.string()?) {
        (0, _) => Verdict::Untested,
        (1, _) => Verdict::Exact,
        (2, why) => Verdict::Refused(why),
        _ => return None,
    };
    let count = Some(reader.number()?).filter(|count| (1..=LEVELS_MAX).contains(count))?;
    let Level { weights, contractions } = parse_level(reader)?;
    let lower_levels = (1..count).map(|_| parse_level(reader)).collect::<Option<_>>()?;
    reader.0.is_empty().then_some(CollationData {
        name,
        server_version,
        charset,
        pad_space: pad == PAD_SPACE,
        pad_unit,
        trims_char: pad == NO_PAD_TRIMMED,
        weights,
        contractions,
        lower_levels,
        verdict,
    })
}

fn parse_level(reader: &mut Reader<'_>) -> Option<Level> {
    let unit_bytes = reader.byte()?;
    let (pages, slots, pool) = (reader.list()?, reader.list()?, reader.list()?);
    let weights = Weights { unit_bytes, pages, slots, pool };
    let mut contractions = Vec::new();
    for _ in 0..reader.number()? {
        let (chars, known, weight) = (reader.list()?, reader.byte()? == 1, reader.text()?);
        contractions.push(Contraction { chars, weight: known.then(|| weight.to_vec()) });
    }
    weights.check().then_some(Level { weights, contractions })
}

fn push_text(text: &[u8], out: &mut Vec<u8>) {
    let text = &text[..text.len().min(usize::from(u16::MAX))];
    out.extend((text.len() as u16).to_be_bytes());
    out.extend_from_slice(text);
}

fn push_list(list: &[u32], out: &mut Vec<u8>) {
    out.extend((list.len() as u32).to_be_bytes());
    out.extend(list.iter().flat_map(|number| number.to_be_bytes()));
}

/// The text that is left to parse.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let len = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        self.take(usize::from(len))
    }

    fn string(&mut self) -> Option<String> {
        String::from_utf8(self.text()?.to_vec()).ok()
    }

    fn list(&mut self) -> Option<Vec<u32>> {
        let count = self.number()? as usize;
        Some(units_of(self.take(count.checked_mul(4)?)?, 4).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::weights::WeightsBuilder;
    use super::*;

    #[test]
    fn data_survives_its_cache_form() {
        let mut weights = WeightsBuilder::new(2);
        weights.push(0x20, &[0, 0x20]).unwrap();
        weights.push(0x41, &[0, 0x41, 1, 2]).unwrap();
        weights.push(0x1_f600, &[0xff, 0xfd]).unwrap();
        let data = CollationData {
            name: "utf8mb4_x_ci".into(),
            server_version: "10.11.19-MariaDB".into(),
            charset: Charset::Utf8mb4,
            pad_space: true,
            pad_unit: Some(0x20),
            trims_char: false,
            lower_levels: Vec::new(),
            weights: weights.finish(),
            contractions: vec![
                Contraction { chars: vec![0x63, 0x68], weight: Some(vec![1, 2]) },
                Contraction { chars: vec![0x63, 0x68, 0x68], weight: None },
            ],
            verdict: Verdict::Refused("'a' before 'b'".into()),
        };
        let level =
            Level { weights: data.weights.clone(), contractions: data.contractions.clone() };
        let data = CollationData { lower_levels: vec![level], ..data };
        let bytes = data.to_bytes();
        let from_bytes = |bytes: &[u8]| CollationData::from_bytes(bytes, Charset::Utf8mb4);
        assert_eq!(from_bytes(&bytes).unwrap(), data);
        assert!(CollationData::from_bytes(&bytes, Charset::Utf8mb3).is_err());
        for cut in 0..bytes.len() {
            assert!(from_bytes(&bytes[..cut]).is_err());
        }
        let no_pad = CollationData { pad_space: false, ..data.clone() };
        for data in [CollationData { trims_char: true, ..no_pad.clone() }, no_pad] {
            assert_eq!(from_bytes(&data.to_bytes()).unwrap(), data);
        }
        // No single damaged byte may make an index point outside.
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x81;
            let _ = from_bytes(&bytes).map(crate::collation::Collation::learned);
        }
    }
}
