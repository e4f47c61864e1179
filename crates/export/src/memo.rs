//! Texts of stored values that come again.
//!
//! ```text
//! slots   | number, bytes, text | ..      the lowest bits of a value's number tell its slot
//! ```
//!
//! Flags, dates and quantities are few: a value that is in its slot is written by a copy.

/// Bytes of a stored value and of its text, at most.
const STORED_BYTES: usize = size_of::<u64>();
const TEXT_BYTES: usize = 22;
/// Slots at the beginning.
const SLOTS_MIN: usize = 16;

/// Texts of values of a column.
#[derive(Debug)]
pub(crate) struct Memo {
    /// As many as a power of two; none if values do not come again.
    slots: Vec<Slot>,
    slots_max: usize,
    /// Values since the last call of [`Memo::judge`] that were in no slot.
    missed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    number: u64,
    /// Bytes of the stored value and one; 0 where no value is.
    stored: u8,
    len: u8,
    text: [u8; TEXT_BYTES],
}

impl Memo {
    /// An empty one that takes at most so much memory.
    pub(crate) fn new(bytes_max: usize) -> Memo {
        let slots_max = (bytes_max / size_of::<Slot>()).checked_ilog2().map_or(0, |bits| 1 << bits);
        Memo { slots: vec![Slot::default(); SLOTS_MIN.min(slots_max)], slots_max, missed: 0 }
    }

    /// Appends the text of a value, if it is there.
    #[inline(always)]
    pub(crate) fn push(&self, stored: &[u8], out: &mut Vec<u8>) -> bool {
        if stored.len() > STORED_BYTES {
            return false;
        }
        let number = number(stored);
        match self.slots.get(self.place(number)) {
            Some(slot) if slot.number == number && slot.is_of(stored) => {
                // All bytes, for a copy of a length that varies takes longer.
                let end = out.len() + usize::from(slot.len);
                out.extend_from_slice(&slot.text);
                out.truncate(end);
                true
            }
            _ => false,
        }
    }

    /// Notes that a value was in no slot; `text` is what it was written as, if it was.
    #[inline(always)]
    pub(crate) fn note(&mut self, stored: &[u8], text: Option<&[u8]>) {
        if !self.slots.is_empty() {
            self.keep(stored, text);
        }
    }

    #[inline(never)]
    fn keep(&mut self, stored: &[u8], text: Option<&[u8]>) {
        self.missed += 1;
        let Some(text) = text else { return };
        if stored.len() > STORED_BYTES || text.len() > TEXT_BYTES {
            return;
        }
        if self.missed >= self.slots.len() as u64 && self.slots.len() < self.slots_max {
            let slots = vec![Slot::default(); 2 * self.slots.len()];
            let before = std::mem::replace(&mut self.slots, slots);
            before.into_iter().filter(|slot| slot.stored > 0).for_each(|slot| self.put(slot));
        }
        let mut padded = [0; TEXT_BYTES];
        padded[..text.len()].copy_from_slice(text);
        let (stored_len, len) = (stored.len() as u8 + 1, text.len() as u8);
        self.put(Slot { number: number(stored), stored: stored_len, len, text: padded });
    }

    fn put(&mut self, slot: Slot) {
        let place = self.place(slot.number);
        self.slots[place] = slot;
    }

    /// Gives the memory up if most of so many values since the last call were in no slot.
    pub(crate) fn judge(&mut self, values: u64) {
        if 2 * std::mem::take(&mut self.missed) > values {
            self.slots = Vec::new();
        }
    }

    /// Neighbours have different places, and so have those that differ in digits before the point only.
    #[inline(always)]
    fn place(&self, number: u64) -> usize {
        (number ^ number >> 7) as usize & self.slots.len().wrapping_sub(1)
    }
}

impl Slot {
    #[inline(always)]
    fn is_of(&self, stored: &[u8]) -> bool {
        usize::from(self.stored) == stored.len() + 1
    }
}

/// Bytes, 8 at most, as a big-endian number.
#[inline(always)]
fn number(stored: &[u8]) -> u64 {
    match *stored {
        [] => 0,
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_be_bytes([a, b])),
        [a, b, c] => u64::from(u32::from_be_bytes([0, a, b, c])),
        [a, b, c, d, ..] => {
            let first = u64::from(u32::from_be_bytes([a, b, c, d]));
            let last = stored.last_chunk().map_or(0, |last| u32::from_be_bytes(*last));
            first << (8 * (stored.len() - 4)) | u64::from(last)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes values as their debug text, by the memo where it has them; gives how many it had.
    fn written(memo: &mut Memo, values: impl Iterator<Item = Vec<u8>>) -> usize {
        let mut known = 0;
        for value in values {
            let text = format!("{value:?}");
            let mut out = b"before".to_vec();
            match memo.push(&value, &mut out) {
                true => known += 1,
                false => {
                    out.extend_from_slice(text.as_bytes());
                    memo.note(&value, Some(text.as_bytes()));
                }
            }
            assert_eq!(out, [b"before", text.as_bytes()].concat());
        }
        known
    }

    #[test]
    fn values_have_their_own_texts() {
        let mut memo = Memo::new(1 << 20);
        let few = |at: u32| ((at % 5000) << 8).to_be_bytes()[..1 + at as usize % 4].to_vec();
        assert!(written(&mut memo, (0..50_000).map(few)) > 30_000);
        // Zeros differ by their length, and long values and texts have no slot.
        let zeros = (0..40).map(|at| vec![0; at / 2]);
        assert_eq!(written(&mut Memo::new(1 << 16), zeros.clone()), 8);
        assert_eq!(written(&mut Memo::new(size_of::<Slot>() - 1), zeros), 0);
    }

    #[test]
    fn columns_whose_values_do_not_come_again_are_given_up() {
        let mut memo = Memo::new(1 << 16);
        let values = |from: u32| (from..from + 9000).map(|at| at.to_be_bytes().to_vec());
        assert_eq!(written(&mut memo, values(0)), 0);
        assert_eq!(memo.slots.len(), (1 << 16) / size_of::<Slot>());
        memo.judge(9000);
        assert!(memo.slots.is_empty());
        assert_eq!(written(&mut memo, values(0)), 0);
        let mut memo = Memo::new(1 << 16);
        assert_eq!(written(&mut memo, (0..9000).map(|at| vec![at as u8 & 63])), 9000 - 64);
        memo.judge(9000);
        assert!(!memo.slots.is_empty());
    }
}
