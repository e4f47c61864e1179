//! How a collation orders text: keys that sort by memcmp, and direct comparison.
//!
//! ```text
//! binary, *_bin            built in            collation/bytewise.rs, code_points.rs
//! everything else          learned weights     collation/weights.rs, contractions.rs, learned.rs
//! weights, cache form                          collation/data.rs
//! units -> key bytes                           collation/key_writer.rs
//! ```
//! The weights are what a live server's `WEIGHT_STRING` says, character by character (the crate
//! `server` asks), and a collation is used only after its self-test: see [`Verdict`].

use std::cmp::Ordering;

use crate::Reason;
use crate::charset::Charset;

pub(crate) mod bytewise;
mod code_points;
mod contractions;
mod data;
mod key_writer;
mod learned;
#[cfg(test)]
pub(crate) mod tests;
mod weights;

pub use crate::error::CollationError;
pub use contractions::{CONTRACTION_CHARS_MAX, Contraction};
pub use data::{CollationData, Level, Verdict};
pub use weights::{Weights, WeightsBuilder};

/// A collation that can order text. Shared by all workers through `Arc`.
///
/// ```
/// use std::cmp::Ordering;
/// use values::{Charset, Collation};
///
/// // Pads with spaces, as `latin1_bin` and `utf8mb4_bin` do.
/// let bin = Collation::bytewise(Charset::Utf8mb4, true);
/// assert_eq!(bin.compare(b"a", b"a  "), Ordering::Equal);
/// let mut keys = [Vec::new(), Vec::new()];
/// bin.push_key(b"a", &mut keys[0])?;
/// bin.push_key(b"ab", &mut keys[1])?;
/// assert!(keys[0] < keys[1], "keys compare as bytes");
/// # Ok::<(), values::Reason>(())
/// ```
#[derive(Clone, Debug)]
pub struct Collation {
    name: String,
    order: Order,
    /// True if a CHAR compares without the spaces at its end, though the collation counts them.
    trims_char: bool,
}

#[derive(Clone, Debug)]
enum Order {
    Bytes {
        charset: Charset,
        pad_space: bool,
    },
    CodePoints {
        charset: Charset,
        pad_space: bool,
    },
    Learned(Box<learned::Learned>),
    /// Several levels: the first that differs decides. Not empty.
    Levels(Box<[learned::Learned]>),
}

impl Collation {
    /// The order of bytes, or of code points where they differ: `binary` and `*_nopad_bin` (NO PAD),
    /// other `*_bin` (PAD SPACE).
    pub fn bytewise(charset: Charset, pad_space: bool) -> Collation {
        let kind = match (charset, pad_space) {
            (Charset::Binary, _) => "",
            (_, true) => "_bin",
            (_, false) => "_nopad_bin",
        };
        let name = format!("{}{kind}", charset.name());
        let order = match charset.char_bytes_min() {
            1 => Order::Bytes { charset, pad_space },
            _ => Order::CodePoints { charset, pad_space },
        };
        Collation { name, order, trims_char: false }
    }

    /// The collation of this name, of `charset`, if it needs no learning: `binary` and `*_bin`.
    pub fn built_in(name: &str, charset: Charset) -> Option<Collation> {
        let bytewise = name == "binary" || name.ends_with("_bin");
        let no_pad = ["_nopad_bin", "_0900_bin"];
        let pad_space = name != "binary" && !no_pad.iter().any(|end| name.ends_with(end));
        bytewise.then(|| Collation { name: name.into(), ..Collation::bytewise(charset, pad_space) })
    }

    /// The same collation on MySQL, which compares a CHAR of a NO PAD collation without the spaces
    /// at its end.
    ///
    /// Source: MySQL 9.7, storage/innobase/rem/rem0cmp.cc, `innobase_mysql_cmp`.
    pub fn of_mysql(self) -> Collation {
        Collation { trims_char: !self.is_pad_space(), ..self }
    }

    /// A learned collation.
    ///
    /// Errors: the self-test refused it, its space is not one unit, or the data is damaged.
    /// An untested collation is accepted: the self-test itself needs it.
    pub fn learned(data: CollationData) -> Result<Collation, CollationError> {
        let (name, trims_char) = (data.name.clone(), data.trims_char);
        if let Verdict::Refused(why) = data.verdict {
            return Err(CollationError::Refused { name, why });
        }
        let mut data = data;
        let lower = std::mem::take(&mut data.lower_levels);
        let levels = lower.into_iter().map(|Level { weights, contractions }| CollationData {
            name: String::new(),
            server_version: String::new(),
            weights,
            contractions,
            lower_levels: Vec::new(),
            verdict: Verdict::Untested,
            ..data
        });
        let lower = levels.map(learned::Learned::new).collect::<Result<Vec<_>, _>>()?;
        let first = learned::Learned::new(data)?;
        let order = match lower.is_empty() {
            true => Order::Learned(Box::new(first)),
            false => Order::Levels(std::iter::once(first).chain(lower).collect()),
        };
        Ok(Collation { name, order, trims_char })
    }

    /// Full name, as the server says it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its character set.
    pub fn charset(&self) -> Charset {
        match &self.order {
            Order::Bytes { charset, .. } | Order::CodePoints { charset, .. } => *charset,
            Order::Learned(learned) => learned.charset,
            Order::Levels(levels) => levels[0].charset,
        }
    }

    /// True if strings compare as if spaces followed them for ever.
    pub fn is_pad_space(&self) -> bool {
        match &self.order {
            Order::Bytes { pad_space, .. } | Order::CodePoints { pad_space, .. } => *pad_space,
            Order::Learned(learned) => learned.is_pad_space(),
            Order::Levels(levels) => levels[0].is_pad_space(),
        }
    }

    /// Appends the key of a stored value to `out`. Keys compare by memcmp as [`Collation::compare`]
    /// says, equal values have equal keys, and no key is the beginning of another.
    ///
    /// Errors: text that is malformed in the character set, or a contraction whose weight the
    /// server could not tell; `out` then ends with a
    /// part of a key.
    #[inline]
    pub fn push_key(&self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        match &self.order {
            Order::Bytes { pad_space, .. } => {
                bytewise::push_key(stored, *pad_space, out);
                Ok(())
            }
            Order::CodePoints { charset, pad_space } => {
                code_points::push_key(*charset, stored, *pad_space, out)
            }
            Order::Learned(learned) => learned.push_key(stored, out),
            Order::Levels(levels) => {
                levels.iter().try_for_each(|level| level.push_key(stored, out))
            }
        }
    }

    /// As [`Collation::push_key`], for CHAR of a multi-byte character set.
    ///
    /// InnoDB keeps such a CHAR without most of the spaces at its end, and NO PAD collations must
    /// compare it as if they were there. The server pads both sides with virtual spaces to the
    /// same number of *characters*; when all weights agree, the side with more virtual spaces left
    /// is greater, which is the side with more units for its characters. So the key is that of
    /// PAD SPACE and then this surplus (4 bytes).
    /// Source: MariaDB 10.11, rem0cmp.cc `cmp_data`; strings/ctype-uca.inl `strnncollsp_nchars`.
    ///
    /// MySQL compares without the spaces at the end instead: see [`Collation::of_mysql`].
    ///
    /// Errors: as [`Collation::push_key`]. Also, in NO PAD collations with expansions or ignorable
    /// characters, a value that ends with an ignorable character or holds one below the space
    /// (tab, line ends): how the server counts them depends on the value it compares with, so that
    /// it has no order for them itself.
    pub fn push_trimmed_key(&self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        if self.trims_char {
            return self.push_key(self.without_spaces(stored), out);
        }
        match &self.order {
            Order::Bytes { .. } => {
                bytewise::push_key(stored, true, out);
                Ok(())
            }
            Order::CodePoints { charset, .. } => code_points::push_key(*charset, stored, true, out),
            Order::Learned(learned) => learned.push_trimmed_key(stored, out),
            Order::Levels(levels) => {
                levels.iter().try_for_each(|level| level.push_trimmed_key(stored, out))
            }
        }
    }

    /// Bytes of the key at the start of `key`, which [`Collation::push_key`] or, if `is_trimmed`,
    /// [`Collation::push_trimmed_key`] wrote.
    pub(crate) fn key_bytes(&self, key: &[u8], is_trimmed: bool) -> usize {
        let is_trimmed = is_trimmed && !self.trims_char;
        match &self.order {
            Order::Bytes { pad_space, .. } => bytewise::key_bytes(key, *pad_space || is_trimmed),
            Order::CodePoints { pad_space, .. } => {
                code_points::key_bytes(key, *pad_space || is_trimmed)
            }
            Order::Learned(learned) => learned.key_bytes(key, is_trimmed),
            Order::Levels(levels) => {
                levels.iter().fold(0, |at, level| at + level.key_bytes(&key[at..], is_trimmed))
            }
        }
    }

    /// Compares two stored values as InnoDB does. Does not allocate.
    ///
    /// Values that [`Collation::push_key`] refuses get some order, not the server's.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match &self.order {
            Order::Bytes { pad_space, .. } => bytewise::compare(a, b, *pad_space),
            Order::CodePoints { charset, pad_space } => {
                code_points::compare(*charset, a, b, *pad_space)
            }
            Order::Learned(learned) => learned.compare(a, b),
            Order::Levels(levels) => first_unequal(levels, |level| level.compare(a, b)),
        }
    }

    /// Compares as the keys of [`Collation::push_trimmed_key`] do.
    pub fn compare_trimmed(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.trims_char {
            return self.compare(self.without_spaces(a), self.without_spaces(b));
        }
        match &self.order {
            Order::Bytes { .. } => bytewise::compare(a, b, true),
            Order::CodePoints { charset, .. } => code_points::compare(*charset, a, b, true),
            Order::Learned(learned) => learned.compare_trimmed(a, b),
            Order::Levels(levels) => first_unequal(levels, |level| level.compare_trimmed(a, b)),
        }
    }

    /// The server's `WEIGHT_STRING(stored)`: the units one after the other, no padding, level after
    /// level. Only in East Asian sets, whose weights are of several sizes, it differs.
    ///
    /// Errors: as [`Collation::push_key`].
    pub fn weight_string(&self, stored: &[u8]) -> Result<Vec<u8>, Reason> {
        self.level_weights(stored).map(|levels| levels.concat())
    }

    /// As [`Collation::weight_string`], each level by itself.
    ///
    /// Errors: as [`Collation::push_key`].
    pub fn level_weights(&self, stored: &[u8]) -> Result<Vec<Vec<u8>>, Reason> {
        let of_level = |level: &learned::Learned| {
            let mut out = Vec::with_capacity(stored.len() * 2);
            level.push_weights(stored, &mut out).map(|()| out)
        };
        match &self.order {
            Order::Bytes { .. } => Ok(vec![stored.to_vec()]),
            Order::CodePoints { charset, .. } => {
                let mut out = Vec::with_capacity(stored.len() * 2);
                code_points::push_weights(*charset, stored, &mut out)?;
                Ok(vec![out])
            }
            Order::Learned(learned) => of_level(learned).map(|weight| vec![weight]),
            Order::Levels(levels) => levels.iter().map(of_level).collect(),
        }
    }

    fn without_spaces<'s>(&self, stored: &'s [u8]) -> &'s [u8] {
        &stored[..self.charset().trimmed_len(stored)]
    }

    /// Bytes of the first `chars` characters of `stored`: what a prefix index keeps.
    #[inline]
    pub fn prefix_bytes(&self, stored: &[u8], chars: usize) -> usize {
        self.charset().prefix_bytes(stored, chars)
    }
}

fn first_unequal(
    levels: &[learned::Learned],
    compare: impl Fn(&learned::Learned) -> Ordering,
) -> Ordering {
    levels.iter().map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
