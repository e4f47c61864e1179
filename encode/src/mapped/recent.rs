//! What was found for fields of a line, kept for lines that say the same: of many that follow each other
//! most say the same of an order, and of the customer and the product again and again.

use sources::{Row, TextRow, Value};
use twox_hash::XxHash3_128;

/// Places for what was found; what comes to the place of another takes it.
const PLACES: usize = 1 << 14;
/// Stands for a NULL, before which there is no length.
const NULL: u32 = u32::MAX;

/// Remembers what was found, for one reader.
#[derive(Debug)]
pub struct Recent<T> {
    fields: Vec<usize>,
    /// Each with the hash of the fields that it was found for. None before the first.
    places: Vec<(u128, T)>,
    text: Vec<u8>,
    scratch: Vec<u8>,
}

/// What a line says in these fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u128);

impl<T: Copy + Default> Recent<T> {
    /// By these fields of a line.
    pub fn new(mut fields: Vec<usize>) -> Recent<T> {
        fields.sort_unstable();
        fields.dedup();
        Recent { fields, places: Vec::new(), text: Vec::new(), scratch: Vec::new() }
    }

    /// What a line says: another line has the same mark only if it says the same, but for one in 2^128.
    #[inline]
    pub fn mark(&mut self, line: TextRow<'_>) -> Mark {
        let Recent { fields, text, scratch, .. } = self;
        text.clear();
        for &field in fields.iter() {
            match line.value(field, scratch) {
                Value::Bytes(bytes) => {
                    text.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                    text.extend_from_slice(bytes);
                }
                _ => text.extend_from_slice(&NULL.to_le_bytes()),
            }
        }
        // 0 is that of places where nothing is.
        Mark(XxHash3_128::oneshot(text).max(1))
    }

    /// What was found for it, if that is still known.
    #[inline]
    pub fn get(&self, Mark(mark): Mark) -> Option<T> {
        let (at, found) = self.places.get(place(mark))?;
        (*at == mark).then_some(*found)
    }

    /// Remembers what was found for it.
    #[inline]
    pub fn put(&mut self, Mark(mark): Mark, found: T) {
        if self.places.is_empty() {
            self.places = vec![(0, T::default()); PLACES];
        }
        self.places[place(mark)] = (mark, found);
    }
}

fn place(mark: u128) -> usize {
    mark as usize % PLACES
}
