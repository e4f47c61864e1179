//! The least and the greatest value of a column chunk.

use parquet::basic::Type;
use parquet::data_type::ByteArray;
use parquet::file::statistics::{Statistics, ValueStatistics};

use crate::write::cells::Plain;

/// Bytes of a text in statistics, at most.
const TEXT_BYTES: usize = 64;

/// The least and the greatest value so far.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    numbers: Option<(i64, i64)>,
    least: Vec<u8>,
    greatest: Vec<u8>,
    has_bytes: bool,
}

impl Bounds {
    pub(super) fn clear(&mut self) {
        (self.numbers, self.has_bytes) = (None, false);
    }

    /// Takes values in; numbers without a sign if they are `unsigned`.
    pub(super) fn take(&mut self, values: &Plain, unsigned: bool) {
        match values {
            Plain::Numbers(numbers) => {
                // The order of numbers without a sign is that of others with the highest bit turned over.
                let turned = if unsigned { i64::MIN } else { 0 };
                let Some(first) = numbers.first() else { return };
                let (least, greatest) = self.numbers.unwrap_or((*first, *first));
                let start = (least ^ turned, greatest ^ turned);
                let (least, greatest) = numbers.iter().fold(start, |(least, greatest), number| {
                    let number = number ^ turned;
                    (least.min(number), greatest.max(number))
                });
                self.numbers = Some((least ^ turned, greatest ^ turned));
            }
            Plain::Bytes(bytes, ends) => self.take_bytes(bytes, ends),
        }
    }

    fn take_bytes(&mut self, bytes: &[u8], ends: &[i32]) {
        let mut bounds = (prefix(&self.least), prefix(&self.greatest));
        for at in 1..ends.len() {
            let value = Plain::bytes_of((bytes, ends), at - 1);
            // Statistics have no more of a value, and one byte says that it is longer.
            let value = &value[..value.len().min(TEXT_BYTES + 1)];
            let first = prefix(value);
            // Most values are between the two by their first bytes alone.
            if self.has_bytes && first > bounds.0 && first < bounds.1 {
                continue;
            }
            if !self.has_bytes || value < self.least.as_slice() {
                self.least.clear();
                self.least.extend_from_slice(value);
            }
            if !self.has_bytes || value > self.greatest.as_slice() {
                self.greatest.clear();
                self.greatest.extend_from_slice(value);
            }
            self.has_bytes = true;
            bounds = (prefix(&self.least), prefix(&self.greatest));
        }
    }

    /// The statistics of a chunk with so many NULLs.
    pub(super) fn statistics(&self, physical: Type, is_text: bool, nulls: u64) -> Statistics {
        let nulls = Some(nulls);
        match physical {
            Type::INT32 => {
                let (least, greatest) = self.numbers.map(|(a, b)| (a as i32, b as i32)).unzip();
                ValueStatistics::new(least, greatest, None, nulls, false).into()
            }
            Type::INT64 => {
                let (least, greatest) = self.numbers.unzip();
                ValueStatistics::new(least, greatest, None, nulls, false).into()
            }
            _ => {
                let least = self.has_bytes.then(|| lower(&self.least, is_text));
                let greatest = self.has_bytes.then(|| upper(&self.greatest, is_text)).flatten();
                let is_exact = |bytes: &Vec<u8>| bytes.len() <= TEXT_BYTES;
                let exact = (is_exact(&self.least), is_exact(&self.greatest));
                let bytes = |bytes: Option<Vec<u8>>| bytes.map(ByteArray::from);
                ValueStatistics::new(bytes(least), bytes(greatest), None, nulls, false)
                    .with_min_is_exact(self.has_bytes && exact.0)
                    .with_max_is_exact(self.has_bytes && exact.1)
                    .into()
            }
        }
    }
}

/// The first bytes as a number of the same order.
#[inline]
fn prefix(value: &[u8]) -> u64 {
    match value.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first[..value.len()].copy_from_slice(value);
            u64::from_be_bytes(first)
        }
    }
}

/// A short value that is not greater.
fn lower(value: &[u8], is_text: bool) -> Vec<u8> {
    let mut end = value.len().min(TEXT_BYTES);
    while is_text && end < value.len() && value[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    value[..end].to_vec()
}

/// A short value that is not less; none where each is longer.
fn upper(value: &[u8], is_text: bool) -> Option<Vec<u8>> {
    let mut short = lower(value, is_text);
    if short.len() == value.len() {
        return Some(short);
    }
    if !is_text {
        let last = short.iter().rposition(|byte| *byte < u8::MAX)?;
        short.truncate(last + 1);
        short[last] += 1;
        return Some(short);
    }
    let mut text = String::from_utf8(short).ok()?;
    while let Some(last) = text.pop() {
        if let Some(next) = char::from_u32(u32::from(last) + 1) {
            text.push(next);
            return Some(text.into_bytes());
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_long_values_are_short_and_hold() {
        let long = "é".repeat(40);
        let (lower, upper) = (lower(long.as_bytes(), true), upper(long.as_bytes(), true).unwrap());
        assert_eq!(lower, "é".repeat(32).as_bytes());
        assert_eq!(upper, format!("{}ê", "é".repeat(31)).as_bytes());
        assert_eq!(super::upper(&[u8::MAX; 65], false), None);
        assert_eq!(
            super::upper(&[&[1, u8::MAX][..], &[u8::MAX; 63]].concat(), false),
            Some(vec![2])
        );
    }

    #[test]
    fn numbers_without_a_sign_have_their_own_order() {
        let mut bounds = Bounds::default();
        bounds.take(&Plain::Numbers(vec![5, -1, 7]), true);
        bounds.take(&Plain::Numbers(vec![6]), true);
        assert_eq!(bounds.numbers, Some((5, -1)));
        bounds.clear();
        bounds.take(&Plain::Numbers(vec![5, -1, 7]), false);
        assert_eq!(bounds.numbers, Some((-1, 7)));
        let texts = Plain::Bytes(b"bbaab".to_vec(), vec![0, 1, 2, 4, 5]);
        bounds.take(&texts, false);
        assert_eq!((bounds.least.as_slice(), bounds.greatest.as_slice()), (&b"aa"[..], &b"b"[..]));
    }
}
