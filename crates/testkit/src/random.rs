//! Reproducible random numbers.

/// xorshift64*.
pub struct Random(u64);

impl Random {
    /// Numbers that the seed alone decides.
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..4).for_each(|_| _ = random.next_u64());
        random
    }

    /// The seed of this run: INRUSH_SEED, or a fixed one, so that a run without it can be repeated.
    pub fn seed_of_run() -> u64 {
        std::env::var("INRUSH_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_260_801)
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// 0 to `end - 1`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next_u64() >> 33) as usize % end
    }

    /// `min` to `max`.
    pub fn between(&mut self, min: usize, max: usize) -> usize {
        min + self.below(max - min + 1)
    }

    /// True once in `one_in` times.
    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Any order of them, each as likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
