//! Reproducible random numbers and texts.

/// xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// 0 to `end - 1`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// `min` to `max` digits.
    pub(crate) fn digits(&mut self, min: usize, max: usize) -> String {
        let count = min + self.below(max - min + 1);
        // Long runs of 0 and 9 are where carries and limits are.
        let digit = match self.below(8) {
            0 => Some('0'),
            1 => Some('9'),
            _ => None,
        };
        (0..count)
            .map(|_| digit.unwrap_or_else(|| char::from(b'0' + self.below(10) as u8)))
            .collect()
    }

    /// One to three small changes: a byte put in, taken out, replaced or doubled.
    pub(crate) fn mutate(&mut self, text: &[u8], alphabet: &[&[u8]]) -> Vec<u8> {
        let mut text = text.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(text.len() + 1);
            match self.below(4) {
                0 if at < text.len() => {
                    text.remove(at);
                }
                1 if at < text.len() => {
                    let piece = self.pick(alphabet);
                    text.splice(at..=at, piece.iter().copied());
                }
                2 if at < text.len() => text.insert(at, text[at]),
                _ => {
                    let piece = self.pick(alphabet);
                    text.splice(at..at, piece.iter().copied());
                }
            }
        }
        text
    }
}
