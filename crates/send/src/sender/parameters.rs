//! Values of prepared statements, back to back: each is its length and its bytes.
//!
//! | first byte | then |
//! | --- | --- |
//! | 0 to 250 | so many bytes |
//! | 251 | nothing: NULL |
//! | 252 | 2 bytes of length, the bytes |
//! | 254 | 8 bytes of length, the bytes |
//!
//! Lengths are little-endian. It is what the client's protocol has, but for its three-byte length.

const NULL: u8 = 251;
const LENGTH_2: u8 = 252;
const LENGTH_8: u8 = 254;

/// Appends a value.
#[inline]
pub(crate) fn push(value: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(value) = value else {
        out.push(NULL);
        return;
    };
    match value.len() {
        length @ 0..=250 => out.push(length as u8),
        length @ 251..=0xffff => {
            out.push(LENGTH_2);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        length => {
            out.push(LENGTH_8);
            out.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(value);
}

/// The rows of a text of values, of `columns` values each.
pub(crate) fn rows(text: &[u8], columns: usize) -> impl Iterator<Item = Vec<Option<&[u8]>>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        (!rest.is_empty()).then(|| (0..columns).map(|_| take(&mut rest)).collect())
    })
}

/// Takes the first value off.
#[inline]
fn take<'t>(rest: &mut &'t [u8]) -> Option<&'t [u8]> {
    let (&first, mut after) = rest.split_first()?;
    let length = match first {
        NULL => {
            *rest = after;
            return None;
        }
        LENGTH_2 => number(&mut after, 2),
        LENGTH_8 => number(&mut after, 8),
        length => usize::from(length),
    };
    let (value, after) = after.split_at(length.min(after.len()));
    *rest = after;
    Some(value)
}

fn number(rest: &mut &[u8], bytes: usize) -> usize {
    let (digits, after) = rest.split_at(bytes.min(rest.len()));
    *rest = after;
    digits.iter().rev().fold(0, |number, &digit| (number << 8) | usize::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_all_lengths_are_had_back() {
        let long = vec![b'x'; 70_000];
        let lengths = [0, 1, 250, 251, 252, 255, 65_535, 65_536, 70_000];
        let mut values: Vec<Option<&[u8]>> = lengths.iter().map(|&n| Some(&long[..n])).collect();
        values.push(None);
        let mut text = Vec::new();
        for value in &values {
            push(*value, &mut text);
        }
        assert!(rows(&text, values.len()).eq([values.clone()]));
        assert!(rows(&text, 5).eq([values[..5].to_vec(), values[5..].to_vec()]));
        assert_eq!(rows(&[], 3).count(), 0);
    }
}
