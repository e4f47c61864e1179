//! Units to bytes that memcmp orders as the server orders the units.
//!
//! Units have `W` bytes, most significant first.
//!
//! ```text
//! PAD SPACE   trailing space units are dropped;  x     -> x            (not the space unit)
//!             inner space unit, then one byte:   sp... -> sp 00        next other unit < sp
//!                                                         sp 02        next other unit > sp
//!             end                                      -> sp 01
//! NO PAD      W = 1, or some unit is zero:       0     -> 0 01,  end -> 0 00
//!             else                               x     -> x,     end -> 0
//! ```
//! PAD SPACE compares a string as if spaces followed it for ever. The end is therefore a space
//! that equals any further spaces: it sorts after a run of spaces that turns down (00), before
//! one that turns up (02), and a longer run loses or wins at the place where the shorter turns.
//! No key is the beginning of another, so keys of several columns can stand in a row.

/// Writes the key of one string.
pub(crate) struct KeyWriter<'o, const W: usize> {
    out: &'o mut Vec<u8>,
    space: u32,
    /// Space units seen and not yet written.
    spaces: usize,
    rule: Rule,
}

/// How strings of different length compare, and how the key says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// PAD SPACE.
    Pad,
    /// NO PAD, a zero unit is followed by a byte.
    NoPadEscaped,
    /// NO PAD, no unit is zero.
    NoPad,
}

const TURNS_DOWN: u8 = 0;
const END: u8 = 1;
const TURNS_UP: u8 = 2;

/// Bytes of the key at the start of `key`, which a [`KeyWriter`] of this rule wrote.
pub(crate) fn key_bytes<const W: usize>(key: &[u8], space: u32, rule: Rule) -> usize {
    let space = &space.to_be_bytes()[4 - W..];
    let mut at = 0;
    loop {
        let unit = &key[at..at + W];
        at += W;
        let is_end = match rule {
            Rule::Pad if unit == space => {
                at += 1;
                key[at - 1] == END
            }
            Rule::NoPadEscaped if unit == [0; W] => {
                at += 1;
                key[at - 1] == 0
            }
            Rule::NoPad => unit == [0; W],
            Rule::Pad | Rule::NoPadEscaped => false,
        };
        if is_end {
            return at;
        }
    }
}

impl<'o, const W: usize> KeyWriter<'o, W> {
    pub(crate) fn new(out: &'o mut Vec<u8>, space: u32, rule: Rule) -> Self {
        KeyWriter { out, space, spaces: 0, rule }
    }

    /// Appends one unit.
    #[inline]
    pub(crate) fn push(&mut self, unit: u32) {
        match self.rule {
            Rule::Pad if unit == self.space => self.spaces += 1,
            Rule::Pad => {
                self.before_other(unit);
                self.raw(unit);
            }
            Rule::NoPadEscaped if unit == 0 => {
                self.raw(0);
                self.out.push(1);
            }
            _ => self.raw(unit),
        }
    }

    /// Appends units that are neither space nor zero, `bytes` as they go into the key.
    #[inline]
    pub(crate) fn push_plain(&mut self, first: u32, bytes: &[u8]) {
        self.before_other(first);
        self.out.extend_from_slice(bytes);
    }

    /// Ends the key.
    #[inline]
    pub(crate) fn finish(self) {
        let KeyWriter { out, space, rule, .. } = self;
        match rule {
            Rule::Pad => {
                out.extend_from_slice(&space.to_be_bytes()[4 - W..]);
                out.push(END);
            }
            Rule::NoPadEscaped => out.extend_from_slice(&[0; 5][..W + 1]),
            Rule::NoPad => out.extend_from_slice(&[0; 4][..W]),
        }
    }

    /// Writes the run of spaces that `unit`, not a space, ends.
    #[inline]
    fn before_other(&mut self, unit: u32) {
        if self.spaces > 0 {
            self.flush_spaces(if unit < self.space { TURNS_DOWN } else { TURNS_UP });
        }
    }

    fn flush_spaces(&mut self, turn: u8) {
        for _ in 0..std::mem::take(&mut self.spaces) {
            self.raw(self.space);
            self.out.push(turn);
        }
    }

    #[inline]
    fn raw(&mut self, unit: u32) {
        let bytes: [u8; 4] = unit.to_be_bytes();
        self.out.extend_from_slice(&bytes[4 - W..]);
    }
}
