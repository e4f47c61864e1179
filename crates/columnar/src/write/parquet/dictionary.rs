//! The different values of a column, found by the bytes from which they are read.
//!
//! ```text
//! slots   | key, bytes, number | .. |      key: up to 8 bytes as they are, of longer values a hash
//! ```
//!
//! So a value that was there before is not decoded again.

/// Slots of an empty dictionary.
const SLOTS: usize = 16;
/// Bytes that are a key as they are.
const KEY_BYTES: usize = size_of::<u64>();
/// An odd number with bits all over (of the golden ratio), whose products differ in their highest bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Numbers of values, from 0 on.
#[derive(Debug)]
pub(super) struct Dictionary {
    slots: Vec<Slot>,
    /// How far a key is shifted to be the number of a slot.
    shift: u32,
    /// Values longer than a key, and where each value ends here.
    long: Vec<u8>,
    ends: Vec<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: u64,
    /// Its bytes and one; 0 where no value is.
    len: u32,
    number: u32,
}

impl Dictionary {
    pub(super) fn new() -> Dictionary {
        let slots = vec![Slot::default(); SLOTS];
        Dictionary { shift: shift(&slots), slots, long: Vec::new(), ends: Vec::new() }
    }

    /// Forgets all values.
    pub(super) fn clear(&mut self) {
        // Slots of a chunk with many values would count as memory of each chunk after it.
        self.slots.truncate(SLOTS);
        self.slots.shrink_to_fit();
        self.slots.fill(Slot::default());
        self.shift = shift(&self.slots);
        self.long.clear();
        self.ends.clear();
    }

    /// Values that it has.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.ends[..]) + self.long.len() + size_of_val(&self.slots[..])
    }

    /// The number of a value, and whether it is new.
    #[inline(always)]
    pub(super) fn number(&mut self, value: &[u8]) -> (usize, bool) {
        let (key, len) = (key(value), value.len() as u32 + 1);
        let mut at = self.first_slot(key);
        loop {
            let slot = self.slots[at];
            if slot.key == key && slot.len == len && self.is_same(slot, value) {
                return (slot.number as usize, false);
            }
            if slot.len == 0 {
                return (self.insert(at, key, value), true);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[inline(always)]
    fn first_slot(&self, key: u64) -> usize {
        // The highest bits depend on all bits of the key, and the lowest only on its lowest.
        (key.wrapping_mul(SPREAD) >> self.shift) as usize
    }

    #[inline(always)]
    fn is_same(&self, slot: Slot, value: &[u8]) -> bool {
        value.len() <= KEY_BYTES || {
            let end = self.ends[slot.number as usize];
            are_equal(&self.long[end - value.len()..end], value)
        }
    }

    #[cold]
    fn insert(&mut self, at: usize, key: u64, value: &[u8]) -> usize {
        let number = self.ends.len();
        self.slots[at] = Slot { key, len: value.len() as u32 + 1, number: number as u32 };
        if value.len() > KEY_BYTES {
            self.long.extend_from_slice(value);
        }
        self.ends.push(self.long.len());
        if 2 * self.ends.len() > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let slots = vec![Slot::default(); 2 * self.slots.len()];
        let before = std::mem::replace(&mut self.slots, slots);
        self.shift = shift(&self.slots);
        for slot in before.into_iter().filter(|slot| slot.len > 0) {
            let mut at = self.first_slot(slot.key);
            while self.slots[at].len > 0 {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = slot;
        }
    }
}

fn shift(slots: &[Slot]) -> u32 {
    u64::BITS - slots.len().ilog2()
}

/// True if two values of one length, which is above 8, are equal: without a call for so few bytes.
#[inline(always)]
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let differing = |one: &[u8; KEY_BYTES], other: &[u8; KEY_BYTES]| {
        u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other)
    };
    let (words, _) = one.as_chunks();
    let (others, _) = other.as_chunks();
    let words = words.iter().zip(others).fold(0, |all, (one, other)| all | differing(one, other));
    let last = one.last_chunk().zip(other.last_chunk());
    words | last.map_or(0, |(one, other)| differing(one, other)) == 0
}

/// A number that differs for each two values of one length up to 8, and for nearly each two longer ones.
#[inline(always)]
fn key(value: &[u8]) -> u64 {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let half = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    if let (Some(first), Some(last)) = (value.first_chunk(), value.last_chunk()) {
        if value.len() == KEY_BYTES {
            return word(first);
        }
        let (words, _) = value.as_chunks::<KEY_BYTES>();
        let mix = |hash: u64, bytes| (hash.rotate_left(29) ^ word(bytes)).wrapping_mul(SPREAD);
        let hash = mix(words.iter().fold(0, mix), last);
        return hash ^ hash >> 32;
    }
    if let (Some(first), Some(last)) = (value.first_chunk(), value.last_chunk()) {
        return half(first) | half(last) << 32;
    }
    match *value {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c] => u64::from(u32::from_le_bytes([a, b, c, 0])),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_number() {
        let mut dictionary = Dictionary::new();
        for _ in 0..2 {
            let texts = (0..5000).map(|n| format!("{n}").repeat(n % 6));
            let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
            let mut expected = std::collections::HashMap::new();
            for text in texts.iter().chain(&texts) {
                let next = expected.len();
                let is_new = !expected.contains_key(text);
                let number = *expected.entry(text).or_insert(next);
                assert_eq!(dictionary.number(text.as_bytes()), (number, is_new), "{text}");
            }
            assert_eq!(dictionary.len(), expected.len());
            dictionary.clear();
            assert_eq!(dictionary.bytes(), Dictionary::new().bytes());
        }
    }

    #[test]
    fn values_of_zeros_differ_by_their_length() {
        let mut dictionary = Dictionary::new();
        for len in 0..40 {
            assert_eq!(dictionary.number(&[0; 40][..len]), (len, true));
        }
    }
}
