//! Recent results for fields of a line, kept for lines with the same values: many consecutive lines have one
//! order, and the same customers and products again and again.

use sources::TextRow;
use twox_hash::XxHash3_128;

/// Sets of places for what was found, two each, at most and at least; what comes to a full set takes the place
/// of the older one.
const SETS_MAX: usize = 1 << 14;
const SETS_MIN: usize = 16;

/// Stands in the places where nothing is; no mark is that.
const FREE: u128 = u128::MAX;

/// Remembers what was found, for one reader.
#[derive(Debug)]
pub struct Recent<T> {
    /// The fields: those that stand beside each other together, by the first and the last.
    fields: Vec<(usize, usize)>,
    /// A power of two.
    sets: usize,
    /// Each with the hash of the fields that it was found for. None before the first.
    places: Vec<(u128, T)>,
    text: Vec<u8>,
    /// The fields of the line looked at last, and their mark.
    last: (Vec<u8>, Mark),
}

/// The values of a line in these fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u128);

impl<T: Copy + Default> Recent<T> {
    /// By these fields of a line, within some memory.
    pub fn new(mut fields: Vec<usize>, bytes_max: usize) -> Recent<T> {
        fields.sort_unstable();
        fields.dedup();
        let beside = fields.chunk_by(|one, next| one + 1 == *next);
        let fields = beside.map(|fields| (fields[0], fields[fields.len() - 1])).collect();
        let sets = (bytes_max / size_of::<[(u128, T); 2]>()).clamp(SETS_MIN, SETS_MAX);
        let sets = 1 << sets.ilog2();
        Recent {
            fields,
            sets,
            places: Vec::new(),
            text: Vec::new(),
            last: (Vec::new(), Mark(FREE)),
        }
    }

    /// The mark of a line's values: another line has the same mark only if its values are the same,
    /// but for one in 2^128. Fields count as they are written, quotes and escapes included.
    #[inline]
    pub fn mark(&mut self, line: TextRow<'_>) -> Mark {
        let Recent { fields, text, last, .. } = self;
        let said = match fields.as_slice() {
            &[(first, last)] => line.raw_fields(first, last),
            fields => {
                text.clear();
                for &(first, last) in fields {
                    let raw = line.raw_fields(first, last);
                    text.extend_from_slice(&(raw.len() as u32).to_le_bytes());
                    text.extend_from_slice(raw);
                }
                text
            }
        };
        if said != last.0 || last.1 == Mark(FREE) {
            last.0.clear();
            last.0.extend_from_slice(said);
            last.1 = Mark(XxHash3_128::oneshot(said).min(FREE - 1));
        }
        last.1
    }

    /// Has the places of marks at hand that are asked for soon: the waits for memory are one.
    #[inline]
    pub fn expect(&self, marks: impl IntoIterator<Item = Mark>) {
        if self.places.is_empty() {
            return;
        }
        let place = |mark: Mark| self.places[self.set(mark)].0 as u64;
        // Nothing but looks at memory, of which none waits for another.
        std::hint::black_box(marks.into_iter().fold(0, |all, mark| all ^ place(mark)));
    }

    /// The result for it, if that is still kept.
    #[inline]
    pub fn get(&self, mark: Mark) -> Option<T> {
        let set = self.places.get(self.set(mark)..)?.first_chunk::<2>()?;
        set.iter().find(|(at, _)| *at == mark.0).map(|(_, found)| *found)
    }

    /// Remembers what was found for it.
    #[inline]
    pub fn put(&mut self, mark: Mark, found: T) {
        if self.places.is_empty() {
            // Written, so that what is looked up before it is put is no page that has to be copied then.
            self.places = vec![(FREE, T::default()); 2 * self.sets];
        }
        let set = self.set(mark);
        self.places.swap(set, set + 1);
        self.places[set] = (mark.0, found);
    }

    /// The first place of the set of a mark.
    #[inline]
    fn set(&self, mark: Mark) -> usize {
        (mark.0 as usize & (self.sets - 1)) * 2
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sources::{Batch, Chunk, FileSource, SourceOptions};

    use super::*;

    /// The marks of some fields of each line.
    fn marks(lines: &str, fields: &[usize]) -> Vec<Mark> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines.csv");
        std::fs::write(&path, lines).unwrap();
        let dialect = sources::Dialect::csv();
        let mut source = FileSource::new(&[path], &dialect, SourceOptions::default()).unwrap();
        let (mut chunk, mut batch) = (Chunk::default(), Batch::new());
        sources::Source::next_chunk(&mut source, &mut chunk).unwrap();
        sources::Source::reader(&source).read(&chunk, &mut batch).unwrap();
        let rows = batch.text_rows(&chunk).unwrap();
        let mut recent = Recent::<u8>::new(fields.to_vec(), 1 << 20);
        sources::Rows::iter(rows).map(|line| recent.mark(line)).collect()
    }

    #[test]
    fn lines_have_one_mark_where_they_say_the_same_in_the_fields() {
        let lines = "a,b,c,1\na,b,c,2\na,bc,,3\nab,,c,4\n\"a,b\",c,,5\nx,b,c,6\n";
        for (fields, same) in [
            (&[0, 1, 2][..], vec![(0, 1)]),
            (&[2, 0], vec![(0, 1)]),
            (&[1, 2], vec![(0, 1), (0, 5)]),
        ] {
            let marks = marks(lines, fields);
            for one in 0..marks.len() {
                for other in one + 1..marks.len() {
                    let is_same = same.contains(&(one, other))
                        || same.contains(&(0, one)) && same.contains(&(0, other));
                    assert_eq!(
                        marks[one] == marks[other],
                        is_same,
                        "{fields:?}: {one} and {other}"
                    );
                }
            }
        }
    }

    #[test]
    fn of_three_that_share_a_set_the_last_two_are_known() {
        let mut recent = Recent::new(vec![0], 0);
        let mark = |at: u128| Mark(at << 64 | 5);
        assert_eq!(recent.get(mark(1)), None);
        (1..=3).for_each(|at| recent.put(mark(at), at));
        assert_eq!([1, 2, 3].map(|at| recent.get(mark(at))), [None, Some(2), Some(3)]);
        let sets = |bytes_max| Recent::<u128>::new(vec![0], bytes_max).sets;
        assert_eq!([0, 1024, 100_000, 1 << 30].map(sets), [16, 16, 1024, 1 << 14]);
    }
}
