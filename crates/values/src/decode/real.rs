//! FLOAT and DOUBLE as the shortest text that is read back as the same number.
//!
//! The server prints 6 digits of a FLOAT, which are not enough; of a DOUBLE it prints the shortest text too.

use std::io::Write;

/// Appends a DOUBLE.
pub fn push_double(value: f64, out: &mut Vec<u8>) {
    let start = out.len();
    // Writing to memory does not fail.
    let _ = write!(out, "{value:?}");
    without_point(start, out);
}

/// Appends a FLOAT.
///
/// Servers read a DOUBLE first, refuse one beyond the largest FLOAT, and round a second time. A short text
/// that servers refuse or read as another FLOAT is replaced by all digits of the DOUBLE.
pub fn push_float(value: f32, out: &mut Vec<u8>) {
    let start = out.len();
    let _ = write!(out, "{value:?}");
    let read = str::from_utf8(&out[start..]).ok().and_then(|text| text.parse::<f64>().ok());
    let comes_back =
        |read: f64| read.abs() <= f64::from(f32::MAX) && (read as f32).to_bits() == value.to_bits();
    if !read.is_some_and(comes_back) {
        out.truncate(start);
        push_double(value.into(), out);
        return;
    }
    without_point(start, out);
}

/// `1.0` is 1.
fn without_point(start: usize, out: &mut Vec<u8>) {
    if out[start..].ends_with(b".0") {
        out.truncate(out.len() - 2);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let double = |value| {
            let mut out = Vec::new();
            push_double(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        for (value, text) in [(0.1, "0.1"), (-2.0, "-2"), (1e300, "1e300"), (-0.0, "-0")] {
            assert_eq!(double(value), text);
        }
        let float = |value| {
            let mut out = Vec::new();
            push_float(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        for (value, text) in [(0.1, "0.1"), (16_777_217.0, "16777216"), (1e-40, "1e-40")] {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn the_largest_float_is_no_larger_as_a_double() {
        for value in [f32::MAX, f32::MIN] {
            let mut out = Vec::new();
            push_float(value, &mut out);
            let read: f64 = str::from_utf8(&out).unwrap().parse().unwrap();
            assert_eq!(read, f64::from(value));
        }
    }

    #[test]
    fn every_float_comes_back_by_way_of_a_double() {
        let mut bits = 12_345u32;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = f32::from_bits(bits);
            if !value.is_finite() {
                continue;
            }
            let mut out = Vec::new();
            push_float(value, &mut out);
            let read: f64 = str::from_utf8(&out).unwrap().parse().unwrap();
            assert_eq!((read as f32).to_bits(), bits, "{value:?}");
        }
    }
}
