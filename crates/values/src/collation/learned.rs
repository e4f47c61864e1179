//! Order by learned weights: units of a string, its key, comparison.

use std::cmp::Ordering;

use super::CollationError;
use super::contractions::{ContractionMatch, Contractions};
use super::data::CollationData;
use super::key_writer::{self, KeyWriter, Rule};
use super::weights::{Units, Weights};
use crate::Reason;
use crate::charset::Charset;

/// Entry of the byte tables: the byte needs the slow path.
const SLOW: u32 = u32::MAX;
/// Characters the fast path takes at once.
const RUN: usize = 32;
/// Unit of a byte that starts no character: above all others. Only [`Learned::compare`] meets it.
const MALFORMED: u32 = u32::MAX;
/// The most bytes at the end of a trimmed key.
const SURPLUS_BYTES: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Learned {
    pub(super) charset: Charset,
    weights: Weights,
    contractions: Contractions,
    /// The unit that pads strings.
    space: u32,
    /// True if the byte 0x20 is a character of that weight.
    has_space_byte: bool,
    rule: Rule,
    /// True if every character has one unit and no sequence another weight.
    uniform: bool,
    /// Unit of a byte that is one character with one unit, starts no contraction, and is neither
    /// the space unit nor zero; else [`SLOW`].
    plain: Box<[u32; 256]>,
}

impl Learned {
    pub(super) fn new(data: CollationData) -> Result<Learned, CollationError> {
        let CollationData { charset, pad_space, pad_unit, mut weights, contractions, .. } = data;
        let contractions = Contractions::new(&contractions, weights.unit_bytes)?;
        for head in contractions.heads() {
            weights.mark_head(head);
        }
        let space_weight = match weights.get(u32::from(b' ')) {
            Some((Units::Few([space, _], 1), false)) => space,
            _ => return Err(CollationError::Space),
        };
        let space = pad_unit.unwrap_or(space_weight);
        let has_space_byte = charset.char_bytes_min() == 1 && space == space_weight;
        let uniform = weights.is_uniform() && contractions.is_empty();
        let has_zero = weights.has_zero_unit() || contractions.has_zero_unit();
        let rule = match pad_space {
            true => Rule::Pad,
            false if has_zero || weights.unit_bytes == 1 => Rule::NoPadEscaped,
            false => Rule::NoPad,
        };
        let mut plain = Box::new([SLOW; 256]);
        for (byte, entry) in plain.iter_mut().enumerate() {
            if charset.char_bytes_min() > 1 || byte >= 0x80 && !charset.is_single_byte() {
                break;
            }
            if let Some((Units::Few([unit, _], 1), false)) = weights.get(byte as u32) {
                *entry = if unit == space || unit == 0 { SLOW } else { unit };
            }
        }
        Ok(Learned { charset, weights, contractions, space, has_space_byte, rule, uniform, plain })
    }

    #[cfg(test)]
    pub(super) fn unit_bytes(&self) -> usize {
        self.weights.unit_bytes()
    }

    pub(super) fn is_pad_space(&self) -> bool {
        self.rule == Rule::Pad
    }

    pub(super) fn push_key(&self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        self.push_units(stored, self.rule, out).map(drop)
    }

    /// Key of a CHAR without the spaces at its end; see [`super::Collation::push_trimmed_key`].
    pub(super) fn push_trimmed_key(&self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        self.push_units(stored, Rule::Pad, out)?;
        if self.has_surplus() {
            let surplus = self.surplus(stored).ok_or(Reason::NoSortWeight)?;
            out.extend_from_slice(&(surplus as u32 ^ (1 << 31)).to_be_bytes());
        }
        Ok(())
    }

    /// Bytes of the key at the start of `key`, by which of both it was written.
    pub(super) fn key_bytes(&self, key: &[u8], is_trimmed: bool) -> usize {
        let rule = if is_trimmed { Rule::Pad } else { self.rule };
        let units = match self.weights.unit_bytes {
            1 => key_writer::key_bytes::<1>(key, self.space, rule),
            2 => key_writer::key_bytes::<2>(key, self.space, rule),
            _ => key_writer::key_bytes::<3>(key, self.space, rule),
        };
        let has_surplus = is_trimmed && self.has_surplus();
        units + if has_surplus { SURPLUS_BYTES } else { 0 }
    }

    /// True if a trimmed key ends with the units that are more than the characters.
    fn has_surplus(&self) -> bool {
        self.rule != Rule::Pad && !self.uniform
    }

    /// Appends the key by `rule`.
    fn push_units(&self, stored: &[u8], rule: Rule, out: &mut Vec<u8>) -> Result<(), Reason> {
        match self.weights.unit_bytes {
            1 => self.push_units_of::<1>(stored, rule, out),
            2 => self.push_units_of::<2>(stored, rule, out),
            _ => self.push_units_of::<3>(stored, rule, out),
        }
    }

    fn push_units_of<const W: usize>(
        &self,
        stored: &[u8],
        rule: Rule,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        out.reserve((stored.len() + 1) * W + 1);
        let mut writer = KeyWriter::<W>::new(out, self.space, rule);
        let mut rest = stored;
        while !rest.is_empty() {
            let taken = self.push_plain_run(rest, &mut writer);
            rest = &rest[taken..];
            let Some(&first) = rest.first() else { break };
            if first == b' ' && self.has_space_byte {
                writer.push(self.space);
                rest = &rest[1..];
            } else if taken < RUN {
                let bytes = self
                    .push_first(rest, &mut writer)
                    .map_err(|unkeyed| self.reason(unkeyed, stored, rest))?;
                rest = &rest[bytes..];
            }
        }
        writer.finish();
        Ok(())
    }

    /// Appends the character or contraction at the start of `rest` (not empty); returns its bytes.
    #[inline]
    fn push_first<const W: usize>(
        &self,
        rest: &[u8],
        writer: &mut KeyWriter<'_, W>,
    ) -> Result<usize, Unkeyed> {
        if let Some((code, bytes)) = self.charset.next_char(rest)
            && let Some(unit) = self.weights.single_unit(code)
        {
            writer.push(unit);
            return Ok(bytes);
        }
        let (units, bytes) = self.first_weight(rest)?;
        for i in 0..units.len() {
            writer.push(units.get(i));
        }
        Ok(bytes)
    }

    /// Appends the plain bytes at the start of `rest`, at most [`RUN`]; returns their number.
    ///
    /// They are gathered on the stack so that the output is extended once per run.
    #[inline]
    fn push_plain_run<const W: usize>(&self, rest: &[u8], writer: &mut KeyWriter<'_, W>) -> usize {
        let mut buffer = [[0_u8; W]; RUN];
        let mut count = 0;
        for (&byte, place) in rest.iter().zip(&mut buffer) {
            let unit = self.plain[usize::from(byte)];
            if unit == SLOW {
                break;
            }
            let bytes = unit.to_be_bytes();
            place.copy_from_slice(&bytes[4 - W..]);
            count += 1;
        }
        if count > 0 {
            let first = self.plain[usize::from(rest[0])];
            writer.push_plain(first, buffer[..count].as_flattened());
        }
        count
    }

    /// Units of the character or contraction at the start of `rest` (not empty) and its bytes.
    fn first_weight(&self, rest: &[u8]) -> Result<(Units<'_>, usize), Unkeyed> {
        let (code, bytes) = self.charset.next_char(rest).ok_or(Unkeyed::Malformed)?;
        let (units, head) = self.weights.get(code).ok_or(Unkeyed::Malformed)?;
        if !head {
            return Ok((units, bytes));
        }
        match self.contractions.find(self.charset, code, &rest[bytes..]) {
            ContractionMatch::None => Ok((units, bytes)),
            ContractionMatch::Units { units, bytes: tail } => {
                Ok((Units::Many(units), bytes + tail))
            }
            ContractionMatch::Unknown => Err(Unkeyed::Contraction),
        }
    }

    /// Appends the units of `stored` one after the other.
    pub(super) fn push_weights(&self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let mut rest = stored;
        while !rest.is_empty() {
            let (units, bytes) =
                self.first_weight(rest).map_err(|unkeyed| self.reason(unkeyed, stored, rest))?;
            for i in 0..units.len() {
                out.extend_from_slice(&units.get(i).to_be_bytes()[4 - self.weights.unit_bytes()..]);
            }
            rest = &rest[bytes..];
        }
        Ok(())
    }

    #[cold]
    fn reason(&self, unkeyed: Unkeyed, stored: &[u8], rest: &[u8]) -> Reason {
        match unkeyed {
            Unkeyed::Malformed => {
                Reason::InvalidCharacter { offset: (stored.len() - rest.len()) as u32 }
            }
            Unkeyed::Contraction => Reason::NoSortWeight,
        }
    }

    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.compare_by(self.rule, a, b)
    }

    /// Order of [`Learned::push_trimmed_key`].
    pub(super) fn compare_trimmed(&self, a: &[u8], b: &[u8]) -> Ordering {
        let order = self.compare_by(Rule::Pad, a, b);
        if !self.has_surplus() || order != Ordering::Equal {
            return order;
        }
        self.surplus(a).cmp(&self.surplus(b))
    }

    fn compare_by(&self, rule: Rule, a: &[u8], b: &[u8]) -> Ordering {
        // Equal plain bytes start no contraction, so both strings can be cut there.
        let plain = |&(&x, &y): &(&u8, &u8)| x == y && self.plain[usize::from(x)] != SLOW;
        let equal = a.iter().zip(b).take_while(plain).count();
        let mut a = UnitStream::new(self, &a[equal..]);
        let mut b = UnitStream::new(self, &b[equal..]);
        let end = (rule == Rule::Pad).then_some(self.space);
        loop {
            let (x, y) = (a.next(), b.next());
            if x.is_none() && y.is_none() {
                return Ordering::Equal;
            }
            // None, the end in a NO PAD collation, is less than any unit.
            match x.or(end).cmp(&y.or(end)) {
                Ordering::Equal => (),
                unequal => return unequal,
            }
        }
    }

    /// Units of `stored` less its characters. None when the server's answer depends on what it
    /// compares with: an ignorable character at the end, or a unit below the space.
    fn surplus(&self, stored: &[u8]) -> Option<i32> {
        let (mut surplus, mut ignored, mut rest) = (0, false, stored);
        while !rest.is_empty() {
            let (units, bytes) = self.weight_or_guess(rest);
            if (0..units.len()).any(|i| units.get(i) < self.space) {
                return None;
            }
            ignored = units.len() == 0;
            surplus += units.len() as i32 - self.charset.count_chars(&rest[..bytes]) as i32;
            rest = &rest[bytes..];
        }
        (!ignored).then_some(surplus)
    }

    /// [`Learned::first_weight`], or where there is none that of the character or byte alone.
    fn weight_or_guess(&self, rest: &[u8]) -> (Units<'_>, usize) {
        self.first_weight(rest).unwrap_or_else(|_| {
            let known = |(code, bytes)| Some((self.weights.get(code)?.0, bytes));
            let alone = self.charset.next_char(rest).and_then(known);
            alone.unwrap_or((Units::Few([MALFORMED, 0], 1), 1))
        })
    }
}

/// Why a place in a string has no weight.
enum Unkeyed {
    Malformed,
    Contraction,
}

/// The units of a string one by one. Where no key exists it goes on with a guess.
struct UnitStream<'a> {
    learned: &'a Learned,
    rest: &'a [u8],
    units: Units<'a>,
    next_unit: usize,
}

impl<'a> UnitStream<'a> {
    fn new(learned: &'a Learned, rest: &'a [u8]) -> Self {
        UnitStream { learned, rest, units: Units::Few([0, 0], 0), next_unit: 0 }
    }

    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.next_unit == self.units.len() {
            let &first = self.rest.first()?;
            let plain = self.learned.plain[usize::from(first)];
            if plain != SLOW {
                self.rest = &self.rest[1..];
                return Some(plain);
            }
            let (units, bytes) = self.learned.weight_or_guess(self.rest);
            (self.units, self.next_unit, self.rest) = (units, 0, &self.rest[bytes..]);
        }
        self.next_unit += 1;
        Some(self.units.get(self.next_unit - 1))
    }
}
