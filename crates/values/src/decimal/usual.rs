//! The usual shapes of a DECIMAL: every digit of the scale, or no point, as one number.

use super::{Decimal, NARROW};
use crate::digits::{self, POW10};
use crate::text_end::{Narrow, TextEnd};
use crate::value::Value;

/// Digits of a number that is divided by a multiplication: 10^13 is less than 2^64 / 10^6.
pub(super) const ONE_NUMBER: usize = 13;
const _: () = assert!(POW10[ONE_NUMBER] as u128 * POW10[6] as u128 <= 1 << 64);

impl Narrow for Decimal {
    /// The stored number of a text of digits, perhaps with a minus sign and a point, that needs no
    /// rounding and is in range.
    #[inline(always)]
    fn narrow(&self, text: TextEnd<'_>) -> Option<u64> {
        let negative = text.is_negative();
        let usual = self.parse_usual(text, text.len() - usize::from(negative));
        let (integral, fraction) = match usual {
            Some(parts) => parts,
            None => self.parse_less_usual(&text.text()[usize::from(negative)..])?,
        };
        let fits = integral <= self.integral_limit && !(self.unsigned && negative);
        fits.then(|| self.pack_compact(negative, integral, fraction))
    }

    /// The stored number of a whole number, or of an exact one that needs no rounding, in range.
    #[inline(always)]
    fn narrow_value(&self, value: Value<'_>) -> Option<u64> {
        let (negative, integral, fraction) = self.parts(value)?;
        Some(self.pack_compact(negative, integral, fraction))
    }
}

impl Decimal {
    /// Digits before and after the point of a text without a sign, at the end of what it is in, that has
    /// every digit of the scale, or no point, and is of so few digits that one number holds them all.
    #[inline(always)]
    fn parse_usual(&self, text: TextEnd<'_>, len: usize) -> Option<(u64, u64)> {
        let scale = self.scale as u32;
        let last = text.last_eight();
        let has_point = (1..=6).contains(&scale)
            && len > self.scale
            && last >> (56 - 8 * scale) & 0xff == u64::from(b'.');
        let low = last ^ digits::ZEROS;
        if !has_point {
            let is_short = (1..=8).contains(&len) && self.scale <= NARROW;
            return is_short
                .then(|| digits::eight_low(digits::keep_last(low, len)))?
                .map(|n| (n, 0));
        }
        // The digits before the point move up to where it is.
        let after = u64::MAX << (64 - 8 * scale);
        let joined = low & after | low << 8 & !after;
        let count = len - 1;
        let number = match count {
            1..=7 => digits::eight_low(digits::keep_last(joined, count))?,
            8..=ONE_NUMBER => {
                let before = text.eight_before() ^ digits::ZEROS;
                let joined = digits::eight_low(joined | before >> 56)?;
                match count - 8 {
                    0 => joined,
                    rest => {
                        let high = digits::keep_last(before << 8, rest);
                        digits::eight_low(high)? * 100_000_000 + joined
                    }
                }
            }
            _ => return None,
        };
        let integral = ((u128::from(number) * u128::from(self.unit_inverse)) >> 64) as u64;
        Some((integral, number - integral * POW10[self.scale]))
    }
}
