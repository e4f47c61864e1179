//! A look at the first rows of the input: do they come in key order?

use encode::reading;
use encode::row_keys::KeyReader;
use job::error::Error;
use sources::{Rows, Source, SourceExt as _, Visit};

use super::Sorting;

/// Rows that are looked at.
const ROWS_MAX: usize = 50_000;
/// Bytes of input that are looked at, and what is left of the chunk.
const BYTES_MAX: usize = 4 << 20;
/// Fewest rows for a statement about their order.
const ROWS_MIN: usize = 1_000;

/// How far apart in key order rows are that are neighbours in the input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Scatter {
    /// Mean distance, as a part of all rows that were looked at: next to 0 for rows in order, also
    /// if a few are not, and where rows are only moved about nearby; a third for rows in random
    /// order.
    pub(crate) distance: f64,
}

impl Scatter {
    /// The scatter of keys in input order.
    fn of(keys: &[&[u8]]) -> Scatter {
        if keys.len() < ROWS_MIN || keys.is_sorted() {
            return Scatter::default();
        }
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&row| keys[row]);
        let mut ranks = vec![0; keys.len()];
        for (rank, &row) in order.iter().enumerate() {
            ranks[row] = rank;
        }
        let distances: usize = ranks.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum();
        let steps = keys.len() - 1;
        // Rows in order are one apart each.
        let distance = distances.saturating_sub(steps) as f64 / steps as f64 / keys.len() as f64;
        Scatter { distance }
    }
}

/// Looks at the first chunks; the source is at its start then. None if its rows are no text.
pub(super) fn look(
    sorting: &Sorting<'_>,
    source: &mut dyn Source,
) -> Result<Option<Scatter>, Error> {
    source.restart()?;
    let mut keys = Keys {
        reader: KeyReader::new(sorting.plan.keys.clone()),
        bytes: Vec::new(),
        ends: Vec::new(),
    };
    let (mut bytes_seen, mut is_text) = (0, true);
    reading::read_start(source, sorting.interrupt, |chunk, batch| {
        bytes_seen += chunk.bytes.len();
        is_text &= batch.is_text();
        batch.visit(chunk, &mut keys);
        is_text && keys.ends.len() < ROWS_MAX && bytes_seen < BYTES_MAX
    })?;
    Ok(is_text.then(|| keys.scatter()))
}

/// Keys of rows in input order.
struct Keys {
    reader: KeyReader,
    bytes: Vec<u8>,
    /// Where each ends in `bytes`.
    ends: Vec<usize>,
}

impl Visit for &mut Keys {
    type Output = ();

    fn rows<R: Rows>(self, rows: R) {
        for row in rows.iter().take(ROWS_MAX - self.ends.len()) {
            if self.reader.read(row) && self.reader.push(0, &mut self.bytes).is_ok() {
                self.ends.push(self.bytes.len());
            }
        }
    }
}

impl Keys {
    fn scatter(&self) -> Scatter {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(&self.ends);
        let keys: Vec<&[u8]> = spans.map(|(start, &end)| &self.bytes[start..end]).collect();
        Scatter::of(&keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scatter(numbers: impl Iterator<Item = u32>) -> f64 {
        let keys: Vec<[u8; 4]> = numbers.map(u32::to_be_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(<[u8; 4]>::as_slice).collect();
        Scatter::of(&keys).distance
    }

    #[test]
    fn order_and_disorder_are_told_apart() {
        assert_eq!(scatter(0..10_000), 0.0);
        // A few late rows, neighbours that are swapped, blocks of rows.
        assert!(scatter((0..10_000).chain(0..10)) < 0.002);
        assert!(scatter((0..10_000).map(|row| row ^ 63)) < 0.01);
        assert!(scatter((0..10_000).map(|row| (row % 100) * 1000 + row / 100)) > 0.015);
        let random = scatter((0..10_000_u32).map(|row| row.wrapping_mul(2_654_435_761)));
        assert!((0.2..0.5).contains(&random), "{random}");
        assert_eq!(scatter((0..999).rev()), 0.0, "too few to say");
    }
}
