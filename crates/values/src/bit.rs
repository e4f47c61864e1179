//! BIT(n): the bytes of the field taken as one big-endian number.
//!
//! The text `1` is the byte 0x31, not the number one. Source: MariaDB 10.11, sql/field.cc
//! `Field_bit_as_char::store`.

use crate::integer::push_be;
use crate::reason::Reason;

/// Converts bytes to BIT(n).
#[derive(Clone, Debug)]
pub(crate) struct Bit {
    bits: u32,
}

impl Bit {
    pub(crate) fn new(bits: u8) -> Bit {
        Bit { bits: u32::from(bits) }
    }

    #[inline]
    pub(crate) fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let zeros = text.iter().take_while(|&&byte| byte == 0).count();
        let digits = &text[zeros..];
        if digits.len() > 8 {
            return Err(Reason::TooLong);
        }
        let value = digits.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        if value > u64::MAX >> (64 - self.bits) {
            return Err(Reason::TooLong);
        }
        push_be(value, self.bits.div_ceil(8) as usize, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn bytes_are_a_number() {
        let convert = |bits, text: &[u8]| {
            let mut out = Vec::new();
            Bit::new(bits).convert(text, &mut out).map(|()| out)
        };
        assert_eq!(convert(8, b"1"), Ok(vec![0x31]));
        assert_eq!(convert(1, b"\0\0\x01"), Ok(vec![1]));
        assert_eq!(convert(1, b""), Ok(vec![0]));
        assert_eq!(convert(1, b"\x02"), Err(Reason::TooLong));
        assert_eq!(convert(10, b"\x03\xff"), Ok(vec![3, 255]));
        assert_eq!(convert(64, b"12345678"), Ok(b"12345678".to_vec()));
        assert_eq!(convert(64, b"123456789"), Err(Reason::TooLong));
    }
}
