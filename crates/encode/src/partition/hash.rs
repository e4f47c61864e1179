//! Which partition a hash goes to, and the hash of KEY.
//!
//! KEY hashes columns in the form that the server has them in memory, where whole numbers have their least
//! byte first; and those of all number types as if they were text.
//! Source: MariaDB 10.11, sql/sql_partition.cc, `get_part_id_from_linear_hash`, `get_part_id_hash`,
//! `calculate_key_hash_value`; sql/field.cc, `Field::hash_not_null`; strings/ctype-bin.c,
//! `my_hash_sort_bin`.

use values::SqlType;

/// The partition of `count` for the value of a HASH expression; None is NULL.
pub(super) fn of_value(value: Option<i128>, count: usize, is_linear: bool) -> usize {
    // As 64 bits with a sign, whatever they are.
    let value = value.map_or(i64::MIN, |value| value as i64);
    match is_linear {
        true => linear(value as u64, count),
        false => (value % count as i64).unsigned_abs() as usize,
    }
}

/// The partition of `count` for a hash of KEY.
pub(super) fn of_key(hash: u32, count: usize, is_linear: bool) -> usize {
    match is_linear {
        true => linear(u64::from(hash), count),
        false => hash as usize % count,
    }
}

fn linear(value: u64, count: usize) -> usize {
    let mask = count.next_power_of_two() - 1;
    let at = value as usize & mask;
    if at < count { at } else { at & (mask >> 1) }
}

/// The hash of a row's columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyHash(u64, u64);

impl KeyHash {
    pub(super) fn new() -> KeyHash {
        KeyHash(1, 4)
    }

    /// Takes the next column's stored value; None is NULL.
    pub(super) fn add(&mut self, form: KeyForm, stored: Option<&[u8]>) {
        let Some(stored) = stored else {
            self.0 ^= (self.0 << 1) | 1;
            return;
        };
        let mut number = [0; LONGEST_NUMBER];
        match form {
            KeyForm::Bytes => stored.iter().for_each(|byte| self.add_byte(*byte)),
            KeyForm::Number => self.add_text(stored),
            KeyForm::Reversed { flip, is_number } => {
                let Some(bytes) = number.get_mut(..stored.len()) else { return };
                bytes.copy_from_slice(stored);
                bytes[0] ^= flip;
                bytes.reverse();
                match is_number {
                    true => self.add_text(bytes),
                    false => bytes.iter().for_each(|byte| self.add_byte(*byte)),
                }
            }
        }
    }

    /// Takes bytes as if they were text in latin1_swedish_ci, which numbers have for their charset.
    fn add_text(&mut self, bytes: &[u8]) {
        let spaces = bytes.iter().rev().take_while(|byte| **byte == b' ').count();
        for byte in &bytes[..bytes.len() - spaces] {
            self.add_byte(latin1_weight(*byte));
        }
    }

    fn add_byte(&mut self, byte: u8) {
        let mixed = (self.0 & 63).wrapping_add(self.1).wrapping_mul(u64::from(byte));
        self.0 ^= mixed.wrapping_add(self.0 << 8);
        self.1 = self.1.wrapping_add(3);
    }

    pub(super) fn finish(self) -> u32 {
        self.0 as u32
    }
}

/// Bytes of the longest whole number.
const LONGEST_NUMBER: usize = 8;

/// The weights of latin1_swedish_ci from 0xC0 on. Source: strings/ctype-latin1.c, `sort_order_latin1`.
const HIGH_WEIGHTS: &[u8; 64] = b"AAAA\\[\\CEEEEIIIIDNOOOO]\xd7\xd8UUUYY\xde\xdf\
                                  AAAA\\[\\CEEEEIIIIDNOOOO]\xf7\xd8UUUYY\xde\xff";

fn latin1_weight(byte: u8) -> u8 {
    match byte {
        0xc0.. => HIGH_WEIGHTS[usize::from(byte - 0xc0)],
        _ => byte.to_ascii_uppercase(),
    }
}

/// How the bytes in the server's memory are had from those that are stored, and hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyForm {
    /// As they are.
    Bytes,
    /// As they are, like text.
    Number,
    /// Last byte first; the first one, then last, less the sign that it has in the file.
    Reversed { flip: u8, is_number: bool },
}

impl KeyForm {
    /// That of a type; none where values are hashed by a collation, or in a form that is not known here.
    pub(super) fn of(sql_type: &SqlType) -> Option<KeyForm> {
        Some(match sql_type {
            SqlType::Integer { unsigned: true, .. } => {
                KeyForm::Reversed { flip: 0, is_number: true }
            }
            SqlType::Integer { unsigned: false, .. } => {
                KeyForm::Reversed { flip: 0x80, is_number: true }
            }
            SqlType::Date => KeyForm::Reversed { flip: 0x80, is_number: false },
            SqlType::Decimal { .. } | SqlType::Year => KeyForm::Number,
            SqlType::Time { .. }
            | SqlType::DateTime { .. }
            | SqlType::Timestamp { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. } => KeyForm::Bytes,
            SqlType::Float { .. }
            | SqlType::Double { .. }
            | SqlType::Bit { .. }
            | SqlType::Enum { .. }
            | SqlType::Set { .. }
            | SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Text { .. }
            | SqlType::Blob { .. }
            | SqlType::Uuid
            | SqlType::Inet4
            | SqlType::Inet6
            | SqlType::Json(_)
            | SqlType::Document
            | SqlType::Geometry { .. }
            | SqlType::Vector { .. }
            | SqlType::Opaque { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_go_round_and_null_is_the_least_number() {
        // As seen on 10.11.19.
        assert_eq!(of_value(None, 3, false), 2);
        assert_eq!(of_value(None, 5, false), 3);
        assert_eq!(of_value(None, 5, true), 0);
        assert_eq!(of_value(Some(18_446_744_073_709_551_610), 7, false), 6);
        assert_eq!(of_value(Some(-8), 7, false), 1);
        assert_eq!([0, 5, 6, 7, 8].map(|value| of_value(Some(value), 6, true)), [0, 5, 2, 3, 0]);
        assert_eq!(of_value(Some(9), 1, true), 0);
    }
}
