//! Values of a column in the two forms that Parquet has for nearly all of them: whole numbers and bytes.

use super::{Bytes, Cells, Column};
use crate::written::BadCell;

/// Values without NULLs.
#[derive(Debug)]
pub(in crate::write) enum Plain {
    Numbers(Vec<i64>),
    /// Bytes of all, and where the first begins and each ends.
    Bytes(Vec<u8>, Vec<i32>),
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
    pub(in crate::write) fn bytes_of<'p>((bytes, ends): (&'p [u8], &[i32]), at: usize) -> &'p [u8] {
        &bytes[ends[at] as usize..ends[at + 1] as usize]
    }

    /// Has the values of `entries` that have these numbers, and no others.
    pub(in crate::write) fn expand(&mut self, entries: &Plain, numbers: &[u16]) {
        self.clear();
        match (self, entries) {
            (Plain::Numbers(to), Plain::Numbers(entries)) => {
                to.extend(numbers.iter().map(|number| entries[usize::from(*number)]));
            }
            (Plain::Bytes(to, ends), Plain::Bytes(bytes, of)) => {
                for number in numbers {
                    to.extend_from_slice(Plain::bytes_of((bytes, of), usize::from(*number)));
                    ends.push(to.len() as i32);
                }
            }
            _ => {}
        }
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
    /// Memory for values in their plain form; none of columns that have another.
    pub(in crate::write) fn plain(&self) -> Option<Plain> {
        match &self.cells {
            Cells::Float(_) | Cells::Double(_) | Cells::Decimal(..) | Cells::Wide(..) => None,
            Cells::Uuid(_) | Cells::Fixed(..) => None,
            Cells::Bytes(_) | Cells::Labels(..) => Some(Plain::Bytes(Vec::new(), vec![0])),
            _ => Some(Plain::Numbers(Vec::new())),
        }
    }

    /// True if the order of its numbers is that of numbers without a sign.
    pub(in crate::write) fn is_unsigned(&self) -> bool {
        matches!(self.cells, Cells::UInt64(_))
    }

    /// True if its values are text.
    pub(in crate::write) fn is_text(&self) -> bool {
        matches!(&self.cells, Cells::Labels(..) | Cells::Bytes(Bytes { is_text: true, .. }))
    }

    /// Moves the values, of which none is NULL, to `plain`, whose values are forgotten.
    ///
    /// Errors: texts that are none.
    pub(in crate::write) fn take_plain(&mut self, plain: &mut Plain) -> Result<(), BadCell> {
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

fn widen<T: Copy + Into<i64>>(from: &mut Vec<T>, to: &mut Vec<i64>) {
    to.extend(from.drain(..).map(Into::into));
}

/// True if each value is UTF-8.
fn are_texts(bytes: &[u8], ends: &[i32]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    bytes.is_ascii() || ends.iter().all(|end| text.is_char_boundary(*end as usize))
}
