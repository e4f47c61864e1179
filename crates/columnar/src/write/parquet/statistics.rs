//! The least and the greatest value of a column chunk.

use parquet::basic::Type;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::statistics::{Statistics, ValueStatistics};

use crate::write::cells::{Order, Plain};

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

    /// Takes values in.
    pub(super) fn take(&mut self, values: &Plain, order: Order) {
        match values {
            Plain::Numbers(numbers) => self.take_numbers(numbers, order),
            Plain::Bytes(bytes, ends) => self.take_bytes(bytes, ends, order),
        }
    }

    fn take_numbers(&mut self, numbers: &[i64], order: Order) {
        let Some(first) = numbers.first() else { return };
        let (least, greatest) = self.numbers.unwrap_or((*first, *first));
        let start = (turned(least, order), turned(greatest, order));
        let (least, greatest) = numbers.iter().fold(start, |(least, greatest), number| {
            let number = turned(*number, order);
            (least.min(number), greatest.max(number))
        });
        self.numbers = Some((turned(least, order), turned(greatest, order)));
    }

    fn take_bytes(&mut self, bytes: &[u8], ends: &[i32], order: Order) {
        let mut bounds = (prefix(&self.least), prefix(&self.greatest));
        let mut signed = Vec::new();
        for at in 1..ends.len() {
            let value = Plain::bytes_of(bytes, ends, at - 1);
            // Statistics have no more of a value, and one byte says that it is longer.
            let mut value = &value[..value.len().min(TEXT_BYTES + 1)];
            if order == Order::Signed {
                signed.clear();
                signed.extend_from_slice(value);
                turn_sign(&mut signed);
                value = &signed;
            }
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

    /// The statistics of a chunk of values of this order, texts or not, with so many NULLs.
    pub(super) fn statistics(
        &self,
        physical: Type,
        order: Order,
        is_text: bool,
        nulls: u64,
    ) -> Statistics {
        let (numbers, nulls) = (self.numbers, Some(nulls));
        let is_exact = |bytes: &Vec<u8>| self.has_bytes && bytes.len() <= TEXT_BYTES;
        let exact = (is_exact(&self.least), is_exact(&self.greatest));
        match physical {
            Type::INT32 => {
                let (least, greatest) = numbers.map(|(a, b)| (a as i32, b as i32)).unzip();
                Statistics::int32(least, greatest, None, nulls, false)
            }
            Type::INT64 => {
                let (least, greatest) = numbers.unzip();
                Statistics::int64(least, greatest, None, nulls, false)
            }
            Type::FLOAT => {
                let real = |bits: i64| f64::from(f32::from_bits(bits as u32));
                let bounds = numbers.and_then(|(a, b)| reals(real(a), real(b)));
                let (least, greatest) = bounds.map(|(a, b)| (a as f32, b as f32)).unzip();
                Statistics::float(least, greatest, None, nulls, false)
            }
            Type::DOUBLE => {
                let real = |bits: i64| f64::from_bits(bits as u64);
                let bounds = numbers.and_then(|(a, b)| reals(real(a), real(b)));
                let (least, greatest) = bounds.unzip();
                Statistics::double(least, greatest, None, nulls, false)
            }
            Type::FIXED_LEN_BYTE_ARRAY => {
                let bytes = |bytes| FixedLenByteArray::from(ByteArray::from(bytes));
                let (least, greatest) = self.bytes(order, false);
                ValueStatistics::new(least.map(bytes), greatest.map(bytes), None, nulls, false)
                    .with_min_is_exact(exact.0)
                    .with_max_is_exact(exact.1)
                    .into()
            }
            _ => {
                let (least, greatest) = self.bytes(order, is_text);
                let bytes = |bytes: Option<Vec<u8>>| bytes.map(ByteArray::from);
                ValueStatistics::new(bytes(least), bytes(greatest), None, nulls, false)
                    .with_min_is_exact(exact.0)
                    .with_max_is_exact(exact.1)
                    .into()
            }
        }
    }

    /// Bytes that are not greater and not less than all values.
    fn bytes(&self, order: Order, is_text: bool) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let mut least = self.has_bytes.then(|| lower(&self.least, is_text));
        let mut greatest = self.has_bytes.then(|| upper(&self.greatest, is_text)).flatten();
        if order == Order::Signed {
            least.iter_mut().chain(&mut greatest).for_each(|bytes| turn_sign(bytes));
        }
        (least, greatest)
    }
}

/// Bounds of real numbers for readers to whom either zero may be the other one; none if one is no number.
fn reals(least: f64, greatest: f64) -> Option<(f64, f64)> {
    let least = if least == 0.0 { -0.0 } else { least };
    let greatest = if greatest == 0.0 { 0.0 } else { greatest };
    (!least.is_nan() && !greatest.is_nan()).then_some((least, greatest))
}

/// A number whose order among others is that of numbers with a sign; done twice, the number itself.
#[inline(always)]
fn turned(number: i64, order: Order) -> i64 {
    match order {
        Order::Signed => number,
        Order::Unsigned => number ^ i64::MIN,
        // Negative ones are the greater, the less their other bits are.
        Order::Real => number ^ (number >> 63) & i64::MAX,
    }
}

/// Turns the sign of a number over, so that its bytes have the order of the number; done twice, it is as before.
fn turn_sign(bytes: &mut [u8]) {
    if let Some(first) = bytes.first_mut() {
        *first ^= 0x80;
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
    fn reals_and_decimals_have_the_order_of_their_numbers() {
        let reals = [1.5f64, -2.5, -0.5, 0.0, 2.25].map(|real| real.to_bits() as i64);
        let mut bounds = Bounds::default();
        bounds.take(&Plain::Numbers(reals.to_vec()), Order::Real);
        let of = |bounds: &Bounds, physical, order| bounds.statistics(physical, order, false, 0);
        let expected = Statistics::double(Some(-2.5), Some(2.25), None, Some(0), false);
        assert_eq!(of(&bounds, Type::DOUBLE, Order::Real), expected);
        bounds.clear();
        let reals = [0.0f32, 0.0].map(|real| i64::from(real.to_bits() as i32));
        bounds.take(&Plain::Numbers(reals.to_vec()), Order::Real);
        let Statistics::Float(zeros) = of(&bounds, Type::FLOAT, Order::Real) else { panic!() };
        assert!(zeros.min_opt().unwrap().is_sign_negative());
        bounds.clear();
        // 1, -1 and 256 in two bytes.
        bounds.take(&Plain::Bytes(vec![0, 1, 255, 255, 1, 0], vec![0, 2, 4, 6]), Order::Signed);
        let statistics = of(&bounds, Type::FIXED_LEN_BYTE_ARRAY, Order::Signed);
        assert_eq!(statistics.min_bytes_opt(), Some(&[255, 255][..]));
        assert_eq!(statistics.max_bytes_opt(), Some(&[1, 0][..]));
    }

    #[test]
    fn numbers_without_a_sign_have_their_own_order() {
        let mut bounds = Bounds::default();
        bounds.take(&Plain::Numbers(vec![5, -1, 7]), Order::Unsigned);
        bounds.take(&Plain::Numbers(vec![6]), Order::Unsigned);
        assert_eq!(bounds.numbers, Some((5, -1)));
        bounds.clear();
        bounds.take(&Plain::Numbers(vec![5, -1, 7]), Order::Signed);
        assert_eq!(bounds.numbers, Some((-1, 7)));
        let texts = Plain::Bytes(b"bbaab".to_vec(), vec![0, 1, 2, 4, 5]);
        bounds.take(&texts, Order::Unsigned);
        assert_eq!((bounds.least.as_slice(), bounds.greatest.as_slice()), (&b"aa"[..], &b"b"[..]));
    }
}
