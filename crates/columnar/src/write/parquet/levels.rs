//! The rows of a page, and which of them have a value.

use super::bits::push_varint;

/// Values that are packed into a byte.
const GROUP: usize = 8;

/// Rows of a page.
#[derive(Debug, Default)]
pub(super) struct Levels {
    pub(super) rows: usize,
    pub(super) nulls: usize,
    /// True for each row with a value; empty if all have one.
    present: Vec<bool>,
}

impl Levels {
    pub(super) fn clear(&mut self) {
        (self.rows, self.nulls) = (0, 0);
        self.present.clear();
    }

    /// Appends a row; gives whether it has a value.
    #[inline(always)]
    pub(super) fn push(&mut self, is_present: bool) -> bool {
        if !is_present || self.nulls > 0 {
            self.note(is_present);
        }
        self.rows += 1;
        is_present
    }

    fn note(&mut self, is_present: bool) {
        self.present.resize(self.rows, true);
        self.present.push(is_present);
        self.nulls += usize::from(!is_present);
    }

    /// Appends the levels as runs of bits, behind their length.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        if self.nulls == 0 || self.nulls == self.rows {
            push_varint((self.rows as u64) << 1, out);
            out.push(u8::from(self.nulls == 0));
        } else {
            push_varint((self.rows.div_ceil(GROUP) as u64) << 1 | 1, out);
            let bits = |group: &[bool]| {
                group.iter().rev().fold(0, |bits, is_present| bits << 1 | u8::from(*is_present))
            };
            out.extend(self.present.chunks(GROUP).map(bits));
        }
        let len = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&len.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_and_without_values() {
        let encoded = |rows: &[bool]| {
            let mut levels = Levels::default();
            for row in rows {
                assert_eq!(levels.push(*row), *row);
            }
            let mut out = Vec::new();
            levels.encode(&mut out);
            out
        };
        assert_eq!(encoded(&[true; 100]), [3, 0, 0, 0, 0xc8, 1, 1]);
        assert_eq!(encoded(&[false; 3]), [2, 0, 0, 0, 6, 0]);
        let mixed = [true, true, false, true, false, false, false, true, true];
        assert_eq!(encoded(&mixed), [3, 0, 0, 0, 5, 0b1000_1011, 1]);
    }
}
