//! Sorts packed keys by as many leading bits as tell most of them apart, then mends the rest.
//!
//! Least significant digit first, but only over the digits that matter: among 65,536 words of 51
//! bits hardly two agree in the first 24. Digits of 8 bits are added from the left until the
//! chance that two words agree in all of them, judged by the digits' histograms, is small. Words
//! left out of order have their group of equal leading bits sorted; where the judgement was
//! wrong (digits that depend on each other), that costs what `sort_unstable` of the group costs.
//! Source: Knuth vol. 3, section 5.2.5, algorithm R.

use crate::pack::Word;

/// Below this many words the histograms cost more than they save.
const WORDS_MIN: usize = 512;
/// Bits of a digit.
const DIGIT_BITS: u32 = 8;
/// Digits are added until a word is expected to agree with fewer others than this.
const TIES_MAX: f64 = 0.1;

type Histogram = [u32; 1 << DIGIT_BITS];

/// Sorts `words`, of which only the low `bits` are set; `scratch` is of use during the call only.
pub(crate) fn sort<W: Word>(words: &mut Vec<W>, scratch: &mut Vec<W>, bits: u32) {
    if words.len() < WORDS_MIN {
        words.sort_unstable();
        return;
    }
    assert!(u32::try_from(words.len()).is_ok(), "positions are 32 bits");
    let mut histograms = [[0; 1 << DIGIT_BITS]; (u128::BITS / DIGIT_BITS) as usize];
    let mut shifts = [0; (u128::BITS / DIGIT_BITS) as usize];
    let mut digits = 0;
    let mut low = bits;
    let mut ties = words.len() as f64;
    while low > 0 && ties > TIES_MAX {
        low = low.saturating_sub(DIGIT_BITS);
        shifts[digits] = low;
        ties *= count(words, low, &mut histograms[digits]);
        digits += 1;
    }
    scratch.resize(words.len(), W::default());
    for digit in (0..digits).rev() {
        scatter(words, scratch, shifts[digit], &mut histograms[digit]);
    }
    if low > 0 {
        sort_groups(words, low);
    }
    debug_assert!(words.is_sorted());
}

#[inline(always)]
fn digit<W: Word>(word: W, shift: u32) -> usize {
    usize::from(word.bits(shift) as u8)
}

/// Fills the histogram of a digit; gives the chance that two words agree in it.
fn count<W: Word>(words: &[W], shift: u32, histogram: &mut Histogram) -> f64 {
    for &word in words {
        histogram[digit(word, shift)] += 1;
    }
    let all = words.len() as f64;
    histogram.iter().map(|&count| (f64::from(count) / all).powi(2)).sum()
}

/// Moves the words, stably, into the order of one digit.
fn scatter<W: Word>(
    words: &mut Vec<W>,
    scratch: &mut Vec<W>,
    shift: u32,
    positions: &mut Histogram,
) {
    if positions[digit(words[0], shift)] as usize == words.len() {
        return;
    }
    let mut start = 0;
    for position in positions.iter_mut() {
        (*position, start) = (start, start + *position);
    }
    for &word in words.iter() {
        let position = &mut positions[digit(word, shift)];
        scratch[*position as usize] = word;
        *position += 1;
    }
    std::mem::swap(words, scratch);
}

/// Sorts each group of words that agree in the bits from `low` on, where it is out of order.
fn sort_groups<W: Word>(words: &mut [W], low: u32) {
    let mut sorted_to = 1;
    while let Some(next) =
        words[sorted_to..].iter().zip(&words[sorted_to - 1..]).position(|(b, a)| b < a)
    {
        let inside = sorted_to + next;
        let same = |word: &W| word.leading(low) == words[inside].leading(low);
        let start = words[..inside].iter().rposition(|word| !same(word)).map_or(0, |i| i + 1);
        let len = words[inside..].iter().position(|word| !same(word));
        let end = len.map_or(words.len(), |len| inside + len);
        words[start..end].sort_unstable();
        sorted_to = end;
        if sorted_to == words.len() {
            break;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_come_out_sorted(seeds in prop::collection::vec(any::<u128>(), 0..1500), bits in 0_u32..129, gaps: u128) {
            // A mask with gaps makes digits of few values, so that groups are left to sort.
            let mask = if bits == 0 { 0 } else { (u128::MAX >> (128 - bits)) & (gaps | 1 << (bits - 1)) };
            let mut wide: Vec<u128> = seeds.iter().map(|seed| seed & mask).collect();
            let mut expected = wide.clone();
            expected.sort_unstable();
            sort(&mut wide, &mut Vec::new(), bits);
            prop_assert_eq!(&wide, &expected);
            let mut narrow: Vec<u64> = seeds.iter().map(|&seed| (seed & mask) as u64).collect();
            let mut expected = narrow.clone();
            expected.sort_unstable();
            sort(&mut narrow, &mut Vec::new(), bits.min(64));
            prop_assert_eq!(narrow, expected);
        }
    }
}
