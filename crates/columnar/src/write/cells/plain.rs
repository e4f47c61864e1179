//! Values of a column in the two forms in which Parquet has them: numbers and bytes.

use arrow_buffer::i256;

use super::{Bytes, Cells, Column};
use crate::written::BadCell;

/// Values without NULLs.
#[derive(Debug)]
pub(in crate::write) enum Plain {
    /// Whole numbers, or the bits of real ones.
    Numbers(Vec<i64>),
    /// Bytes of all, and where the first begins and each ends.
    Bytes(Vec<u8>, Vec<i32>),
}

/// The order of values in their plain form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::write) enum Order {
    /// The highest bit is the sign.
    Signed,
    Unsigned,
    /// The bits are those of real numbers.
    Real,
}

impl Plain {
    /// How many.
    pub(in crate::write) fn len(&self) -> usize {
        match self {
            Plain::Numbers(numbers) => numbers.len(),
            Plain::Bytes(_, ends) => ends.len().saturating_sub(1),
        }
    }

    /// The bytes of the value of this number.
    pub(in crate::write) fn bytes_of<'p>(bytes: &'p [u8], ends: &[i32], at: usize) -> &'p [u8] {
        &bytes[ends[at] as usize..ends[at + 1] as usize]
    }

    /// Bytes of all values.
    pub(in crate::write) fn bytes(&self) -> usize {
        match self {
            Plain::Numbers(numbers) => size_of_val(&numbers[..]),
            Plain::Bytes(bytes, _) => bytes.len(),
        }
    }

    /// Appends the value of this number of others of the same form.
    pub(in crate::write) fn push(&mut self, from: &Plain, at: usize) {
        match (self, from) {
            (Plain::Numbers(to), Plain::Numbers(from)) => to.push(from[at]),
            (Plain::Bytes(to, ends), Plain::Bytes(bytes, of)) => {
                to.extend_from_slice(Plain::bytes_of(bytes, of, at));
                ends.push(to.len() as i32);
            }
            _ => {}
        }
    }

    /// Has the values of `entries` that have these numbers, and no others.
    pub(in crate::write) fn expand(&mut self, entries: &Plain, numbers: &[u16]) {
        self.clear();
        numbers.iter().for_each(|number| self.push(entries, usize::from(*number)));
    }

    fn clear(&mut self) {
        match self {
            Plain::Numbers(numbers) => numbers.clear(),
            Plain::Bytes(bytes, ends) => {
                bytes.clear();
                ends.clear();
                ends.push(0);
            }
        }
    }
}

impl Column {
    /// Memory for values in their plain form.
    pub(in crate::write) fn plain(&self) -> Plain {
        match &self.cells {
            Cells::Bytes(_) | Cells::Labels(..) | Cells::Uuid(_) | Cells::Fixed(..) => {
                Plain::Bytes(Vec::new(), vec![0])
            }
            Cells::Decimal(..) | Cells::Wide(..) => Plain::Bytes(Vec::new(), vec![0]),
            _ => Plain::Numbers(Vec::new()),
        }
    }

    /// The order of its values in their plain form.
    pub(in crate::write) fn order(&self) -> Order {
        match self.cells {
            Cells::Float(_) | Cells::Double(_) => Order::Real,
            Cells::UInt64(_) | Cells::Uuid(_) | Cells::Fixed(..) => Order::Unsigned,
            Cells::Bytes(_) | Cells::Labels(..) => Order::Unsigned,
            _ => Order::Signed,
        }
    }

    /// True if its values are text.
    pub(in crate::write) fn is_text(&self) -> bool {
        matches!(&self.cells, Cells::Labels(..) | Cells::Bytes(Bytes { is_text: true, .. }))
    }

    /// Moves the values, of which none is NULL, to `plain`, whose values are forgotten. Bytes of a fixed length have
    /// `len` each.
    ///
    /// Errors: texts that are none.
    pub(in crate::write) fn take_plain(
        &mut self,
        plain: &mut Plain,
        len: usize,
    ) -> Result<(), BadCell> {
        plain.clear();
        self.nulls = arrow_buffer::NullBufferBuilder::new(0);
        match (&mut self.cells, plain) {
            (Cells::Int8(from), Plain::Numbers(to)) => widen(from, to),
            (Cells::Int16(from), Plain::Numbers(to)) => widen(from, to),
            (Cells::Int32(from) | Cells::Date(from), Plain::Numbers(to)) => widen(from, to),
            (Cells::UInt8(from), Plain::Numbers(to)) => widen(from, to),
            (Cells::UInt16(from) | Cells::Year(from), Plain::Numbers(to)) => widen(from, to),
            (Cells::UInt32(from), Plain::Numbers(to)) => widen(from, to),
            (Cells::UInt64(from), Plain::Numbers(to)) => {
                to.extend(from.drain(..).map(|number| number as i64));
            }
            (Cells::Int64(from) | Cells::Narrow(from, ..), Plain::Numbers(to))
            | (Cells::Time(from, _) | Cells::DateTime(from, _), Plain::Numbers(to))
            | (Cells::Timestamp(from, _), Plain::Numbers(to)) => std::mem::swap(from, to),
            (Cells::Float(from), Plain::Numbers(to)) => {
                to.extend(from.drain(..).map(|real| i64::from(real.to_bits() as i32)));
            }
            (Cells::Double(from), Plain::Numbers(to)) => {
                to.extend(from.drain(..).map(|real| real.to_bits() as i64));
            }
            (Cells::Decimal(from, ..), Plain::Bytes(bytes, ends)) => {
                let units = from.drain(..).map(i128::to_be_bytes);
                push_fixed(units, len, bytes, ends)?;
            }
            (Cells::Wide(from, _), Plain::Bytes(bytes, ends)) => {
                let units = from.drain(..).map(i256::to_be_bytes);
                push_fixed(units, len, bytes, ends)?;
            }
            (Cells::Uuid(from) | Cells::Fixed(from, _), Plain::Bytes(bytes, ends)) => {
                std::mem::swap(from, bytes);
                push_ends(bytes.len(), len, ends)?;
            }
            (Cells::Labels(from, labels), Plain::Bytes(bytes, ends)) => {
                for number in from.drain(..) {
                    bytes.extend_from_slice(labels.array.value(number as usize).as_bytes());
                    ends.push(i32::try_from(bytes.len()).map_err(|_| BadCell::TooLong)?);
                }
            }
            (Cells::Bytes(from), Plain::Bytes(bytes, ends)) => {
                std::mem::swap(&mut from.bytes, bytes);
                std::mem::swap(&mut from.ends, ends);
                if from.is_text && !are_texts(bytes, ends) {
                    return Err(BadCell::NoText);
                }
            }
            _ => return Err(BadCell::NotStored),
        }
        Ok(())
    }
}

/// Appends the last `len` bytes of numbers, whose first bytes are the sign, and where each ends.
fn push_fixed<const N: usize>(
    numbers: impl Iterator<Item = [u8; N]>,
    len: usize,
    bytes: &mut Vec<u8>,
    ends: &mut Vec<i32>,
) -> Result<(), BadCell> {
    for number in numbers {
        let first = N.checked_sub(len).ok_or(BadCell::NotStored)?;
        bytes.extend_from_slice(&number[first..]);
    }
    push_ends(bytes.len(), len, ends)
}

/// Appends the ends of values of `len` bytes each.
fn push_ends(bytes: usize, len: usize, ends: &mut Vec<i32>) -> Result<(), BadCell> {
    let bytes = i32::try_from(bytes).map_err(|_| BadCell::TooLong)?;
    ends.extend((0..=bytes).step_by(len.max(1)).skip(1));
    Ok(())
}

fn widen<T: Copy + Into<i64>>(from: &mut Vec<T>, to: &mut Vec<i64>) {
    to.extend(from.drain(..).map(Into::into));
}

/// True if each value is UTF-8.
fn are_texts(bytes: &[u8], ends: &[i32]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    bytes.is_ascii() || ends.iter().all(|end| text.is_char_boundary(*end as usize))
}
