//! Sequences of characters with a weight of their own: `ch` in Czech, Thai vowel before consonant.
//!
//! The server takes the longest known sequence at each place, left to right, 6 characters at most.
//! Source: MariaDB 10.11, strings/ctype-uca.c, `my_uca_scanner_contraction_find`.

use super::CollationError;
use super::weights::units_of;
use crate::charset::Charset;

/// Longest contraction in characters (the server's `MY_UCA_MAX_CONTRACTION`).
pub const CONTRACTION_CHARS_MAX: usize = 6;

/// One contraction as learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contraction {
    /// Its characters, 2 to 6.
    pub chars: Vec<u32>,
    /// Its weight as `WEIGHT_STRING` gives it; None when it could not be learned, so that text
    /// holding the sequence has no key.
    pub weight: Option<Vec<u8>>,
}

/// All contractions of a collation, ready for lookup.
#[derive(Clone, Debug)]
pub(crate) struct Contractions {
    /// Ascending by (first, second character), longer sequences first.
    entries: Vec<Entry>,
    pool: Vec<u32>,
    /// True for each ASCII character that is the second of a contraction: mostly none, which spares
    /// the search.
    ascii_second: [bool; 128],
}

#[derive(Clone, Debug)]
struct Entry {
    first_two: [u32; 2],
    /// Characters after the second.
    rest: Box<[u32]>,
    /// Offset in the pool and number of units.
    units: Option<(u32, u32)>,
}

/// The contraction at a head character.
pub(crate) enum ContractionMatch<'a> {
    /// No contraction: the head counts alone.
    None,
    /// One of these units, whose characters after the head take `bytes`.
    Units { units: &'a [u32], bytes: usize },
    /// One whose weight is not known; characters after the head take `bytes`.
    Unknown,
}

impl Contractions {
    /// Errors: a sequence of fewer than 2 or more than 6 characters, or a weight that is not a
    /// whole number of units.
    pub(crate) fn new(list: &[Contraction], unit_bytes: u8) -> Result<Self, CollationError> {
        let mut contractions =
            Contractions { entries: Vec::new(), pool: Vec::new(), ascii_second: [false; 128] };
        for Contraction { chars, weight } in list {
            let [first, second, rest @ ..] = &chars[..] else {
                return Err(CollationError::Damaged("a contraction of one character"));
            };
            if chars.len() > CONTRACTION_CHARS_MAX {
                return Err(CollationError::Damaged("a contraction of more than 6 characters"));
            }
            let offset = contractions.pool.len();
            let units = weight.as_ref().map(|weight| {
                contractions.pool.extend(units_of(weight, unit_bytes));
                (offset as u32, (contractions.pool.len() - offset) as u32)
            });
            let whole = usize::from(unit_bytes) * (contractions.pool.len() - offset);
            if weight.as_ref().is_some_and(|weight| weight.len() != whole) {
                return Err(CollationError::Damaged("a contraction with half a unit of weight"));
            }
            if let Some(known) = contractions.ascii_second.get_mut(*second as usize) {
                *known = true;
            }
            let (first_two, rest) = ([*first, *second], rest.into());
            contractions.entries.push(Entry { first_two, rest, units });
        }
        let order = |entry: &Entry| (entry.first_two, usize::MAX - entry.rest.len());
        contractions.entries.sort_by_key(order);
        Ok(contractions)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Head characters, each at least once.
    pub(crate) fn heads(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|entry| entry.first_two[0])
    }

    /// True if any weight contains a unit of zero.
    pub(crate) fn has_zero_unit(&self) -> bool {
        self.pool.contains(&0)
    }

    /// The longest contraction of `head` and the characters at the start of `rest`.
    pub(crate) fn find(&self, charset: Charset, head: u32, rest: &[u8]) -> ContractionMatch<'_> {
        let is_no_second = |&byte: &u8| self.ascii_second.get(usize::from(byte)) == Some(&false);
        if charset.char_bytes_min() == 1 && rest.first().is_none_or(is_no_second) {
            return ContractionMatch::None;
        }
        let Some((second, second_bytes)) = charset.next_char(rest) else {
            return ContractionMatch::None;
        };
        let first_two = [head, second];
        let begin = self.entries.partition_point(|entry| entry.first_two < first_two);
        let alike = self.entries[begin..].iter().take_while(|entry| entry.first_two == first_two);
        for entry in alike {
            let Some(bytes) = matched(charset, &entry.rest, &rest[second_bytes..]) else {
                continue;
            };
            let bytes = second_bytes + bytes;
            return match entry.units {
                Some((at, n)) => ContractionMatch::Units {
                    units: &self.pool[at as usize..(at + n) as usize],
                    bytes,
                },
                None => ContractionMatch::Unknown,
            };
        }
        ContractionMatch::None
    }
}

/// Bytes that `chars` take at the start of `rest`; None when other characters stand there.
fn matched(charset: Charset, chars: &[u32], rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    for &wanted in chars {
        let (code, bytes) = charset.next_char(&rest[at..])?;
        if code != wanted {
            return None;
        }
        at += bytes;
    }
    Some(at)
}
