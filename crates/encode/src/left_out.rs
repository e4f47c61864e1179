//! Rows of a chunk that are not loaded because others have their keys.

use job::options::OnDuplicate;

/// Rows of one chunk that are left out: a bit each. Empty if there are none.
#[derive(Debug, Default)]
pub struct LeftOut {
    words: Vec<u64>,
}

impl LeftOut {
    /// No row.
    pub fn none() -> &'static LeftOut {
        static NONE: LeftOut = LeftOut { words: Vec::new() };
        &NONE
    }

    /// True if row `row` of the chunk is left out.
    #[inline]
    pub fn has(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// True if no row is left out.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many are.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Leaves out row `row` of a chunk of `rows`.
    pub fn insert(&mut self, row: usize, rows: usize) {
        if self.words.is_empty() {
            self.words.resize(rows.div_ceil(64), 0);
        }
        self.words[row / 64] |= 1 << (row % 64);
    }

    /// Leaves out none any more.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// The rows among these whose generated numbers the next rows get: all or none.
    pub fn without_numbers(&self, on_duplicate: OnDuplicate) -> &LeftOut {
        // Rows that are replaced were there, and used theirs up.
        if on_duplicate == OnDuplicate::Skip { self } else { LeftOut::none() }
    }
}
