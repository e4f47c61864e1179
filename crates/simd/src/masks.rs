//! Masks from masks, carried from block to block.

/// The ends whose field has one of the `special` bits, none of which is an end. `carry` is 1 if
/// the field open at the end of the block has one.
///
/// Adding a bit to the run of ones that is a field makes it carry into the end of that field.
#[inline(always)]
pub fn after_any(special: u64, ends: u64, carry: &mut u64) -> u64 {
    let (sum, first) = (!ends).overflowing_add(special);
    let (sum, second) = sum.overflowing_add(*carry);
    *carry = u64::from(first | second);
    sum & ends
}

/// Bits of the bytes that an escape stands before. An escape that is escaped escapes nothing.
/// `carry` is 1 if the first byte is escaped, then if the first one of the next block is.
#[inline(always)]
pub fn escaped_bytes(escapes: u64, carry: &mut u64) -> u64 {
    if escapes == 0 {
        return std::mem::take(carry);
    }
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    // Escapes that may escape; the first one of a run does if the run does not start escaped.
    let active = escapes & !*carry;
    // Subtracting the runs from the odd bits tells in which run an escape sits at an even
    // distance from the first (John Keiser's and Daniel Lemire's trick in simdjson).
    let alternating = ((active << 1) | ODD).wrapping_sub(active) ^ ODD;
    let escaping = alternating & escapes;
    let escaped = alternating ^ (escapes | *carry);
    *carry = escaping >> 63;
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn escaped_bytes_are_those_a_loop_finds(bits in any::<u64>(), dense in any::<bool>(), first in 0u64..2) {
            let escapes = if dense { bits | (bits << 1) | (bits >> 3) } else { bits & (bits >> 7) };
            let (mut expected, mut escaped) = (0u64, first);
            for bit in 0..64 {
                expected |= escaped << bit;
                escaped = u64::from(escaped == 0 && escapes >> bit & 1 == 1);
            }
            let mut carry = first;
            prop_assert_eq!(escaped_bytes(escapes, &mut carry), expected);
            prop_assert_eq!(carry, escaped);
        }

        #[test]
        fn an_end_is_flagged_if_its_field_has_a_special_bit(ends in any::<u64>(), special in any::<u64>(), first in 0u64..2) {
            let special = special & !ends;
            let (mut expected, mut open) = (0u64, first);
            for bit in 0..64 {
                open |= special >> bit & 1;
                if ends >> bit & 1 == 1 {
                    expected |= open << bit;
                    open = 0;
                }
            }
            let mut carry = first;
            prop_assert_eq!(after_any(special, ends, &mut carry), expected);
            prop_assert_eq!(carry, open);
        }
    }
}
