//! Integers and decimals.

/// Bytes of a group of 0 to 9 digits of a DECIMAL.
const GROUP_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
/// Digits of a full group, and its bytes.
const GROUP: usize = 9;
const FULL_BYTES: usize = 4;
/// Bytes of DECIMAL(65,s) at most.
const BYTES_MAX: usize = 32;

/// A big-endian number of 8 bytes at most.
#[inline]
pub(super) fn big_endian(stored: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[8 - stored.len()..].copy_from_slice(stored);
    u64::from_be_bytes(bytes)
}

/// Appends an integer of 1 to 8 bytes, the sign of which is turned round.
#[inline]
pub(super) fn push_integer(stored: &[u8], unsigned: bool, out: &mut Vec<u8>) -> bool {
    let number = big_endian(stored);
    if unsigned {
        push_number(number, out);
    } else {
        let bits = 64 - 8 * stored.len() as u32;
        // The sign goes to the highest bit, and the number down again with it.
        let signed = ((number << bits) ^ 1 << 63) as i64 >> bits;
        out.extend_from_slice(itoa::Buffer::new().format(signed).as_bytes());
    }
    true
}

#[inline]
pub(super) fn push_number(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a number with zeros before it: so many digits, 18 at most.
#[inline]
pub(super) fn push_padded(mut number: u64, digits: usize, out: &mut Vec<u8>) {
    let mut text = [b'0'; 18];
    for byte in text[..digits].iter_mut().rev() {
        *byte = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&text[..digits]);
}

/// Appends a DECIMAL with so many digits before and after the point.
#[inline]
pub(super) fn push_decimal(
    stored: &[u8],
    (integral, scale): (usize, usize),
    out: &mut Vec<u8>,
) -> bool {
    let lead = integral % GROUP;
    let expected = GROUP_BYTES[lead]
        + (integral / GROUP + scale / GROUP) * FULL_BYTES
        + GROUP_BYTES[scale % GROUP];
    if stored.len() != expected || expected == 0 || expected > BYTES_MAX {
        return false;
    }
    let is_negative = stored[0] & 0x80 == 0;
    let flip = if is_negative { 0xff } else { 0 };
    let mut bytes = [0; BYTES_MAX];
    for (byte, stored) in bytes.iter_mut().zip(stored) {
        *byte = stored ^ flip;
    }
    bytes[0] ^= 0x80;
    if is_negative {
        out.push(b'-');
    }
    let mut rest = &bytes[..expected];
    let mut group = |bytes: usize| {
        let (group, after) = rest.split_at(bytes);
        rest = after;
        big_endian(group)
    };
    let mut is_begun = false;
    let sizes = std::iter::once(lead).chain(std::iter::repeat_n(GROUP, integral / GROUP));
    for digits in sizes {
        let number = group(GROUP_BYTES[digits]);
        if is_begun {
            push_padded(number, digits, out);
        } else if number > 0 {
            push_number(number, out);
            is_begun = true;
        }
    }
    if !is_begun {
        out.push(b'0');
    }
    if scale > 0 {
        out.push(b'.');
        for digits in std::iter::repeat_n(GROUP, scale / GROUP).chain([scale % GROUP]) {
            push_padded(group(GROUP_BYTES[digits]), digits, out);
        }
    }
    true
}
