//! VECTOR(n) of MySQL: one to n floats, each 4 bytes, the lowest first. They are stored as they come.
//!
//! Source: MySQL 9.7.4, measured.

use crate::reason::Reason;
use crate::sql_type::DIMENSION_BYTES;

/// Checks the values of VECTOR(n).
#[derive(Clone, Debug)]
pub(crate) struct Vector {
    bytes_max: usize,
}

impl Vector {
    pub(crate) fn new(dimensions: u32) -> Vector {
        Vector { bytes_max: dimensions.saturating_mul(DIMENSION_BYTES) as usize }
    }

    pub(crate) fn convert(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let (floats, rest) = value.as_chunks::<{ DIMENSION_BYTES as usize }>();
        let is_finite = |float: &[u8; 4]| f32::from_le_bytes(*float).is_finite();
        if floats.is_empty() || !rest.is_empty() || !floats.iter().all(is_finite) {
            return Err(Reason::NotAVector);
        }
        if value.len() > self.bytes_max {
            return Err(Reason::TooLong);
        }
        out.extend_from_slice(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_some_finite_floats() {
        let convert = |value: &[u8]| {
            let mut out = Vec::new();
            Vector::new(3).convert(value, &mut out).map(|()| out == value)
        };
        let floats =
            |floats: &[f32]| floats.iter().flat_map(|f| f.to_le_bytes()).collect::<Vec<u8>>();
        for (value, expected) in [
            (floats(&[1.0]), Ok(true)),
            (floats(&[-0.0, f32::MAX, 1e-45]), Ok(true)),
            (b"abcd".to_vec(), Ok(true)),
            (floats(&[1.0; 4]), Err(Reason::TooLong)),
            (floats(&[]), Err(Reason::NotAVector)),
            (b"abc".to_vec(), Err(Reason::NotAVector)),
            (b"[1,2,3]".to_vec(), Err(Reason::NotAVector)),
            (floats(&[1.0, f32::NAN]), Err(Reason::NotAVector)),
            (floats(&[f32::NEG_INFINITY]), Err(Reason::NotAVector)),
        ] {
            assert_eq!(convert(&value), expected, "{value:?}");
        }
    }
}
