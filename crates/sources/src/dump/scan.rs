//! The fields of the tuples of a chunk, and whether they are plain literals.

use std::path::PathBuf;
use std::sync::Arc;

use simd::{Block, Isa, POSITION_MAX};
use sql::walk::{BlockMasks, Cursor, DECODE, QUOTED, Stop, TupleSink, Walk};
use sql::{Next, StringRules, Tuples};

use crate::batch::text::{Mark, Meaning, Shape};
use crate::batch::{Batch, TextIndex};
use crate::chunk::Chunk;
use crate::error::{Error, Position, Result};
use crate::field::FieldKind;
use crate::source::Reader;

/// Text that is no plain literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NotPlain {
    /// Its first byte in the chunk.
    at: usize,
    /// The unexpected part: a noun with its article.
    what: &'static str,
}

/// Reads the rows of a run of INSERTs, with the given instructions. `fields` are those of a row; empty
/// while the table is not known. `files` are those that chunks name.
pub fn run_reader(
    tuples: Arc<Tuples>,
    fields: Arc<[FieldKind]>,
    files: Vec<PathBuf>,
    isa: Isa,
) -> Box<dyn Reader> {
    let shape = Shape {
        separator_size: 1,
        // The parenthesis before the first field.
        prefix_size: 1,
        meaning: Meaning::Literals(StringRules::new(tuples.syntax)),
        ..Shape::default()
    };
    let walk = Walk::new(tuples.syntax);
    let rules = StringRules::new(tuples.syntax);
    Box::new(TupleReader { tuples, walk, rules, shape, fields, files, isa })
}

/// Finds the fields of chunks of tuples.
#[derive(Clone, Debug)]
struct TupleReader {
    tuples: Arc<Tuples>,
    walk: Walk,
    rules: StringRules,
    shape: Shape,
    fields: Arc<[FieldKind]>,
    files: Vec<PathBuf>,
    isa: Isa,
}

impl Reader for TupleReader {
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()> {
        let rows = batch.text();
        rows.begin(&self.shape);
        let text = &chunk.bytes;
        let found = self.walk(text, rows).or_else(|| self.check(text, rows));
        let Some(NotPlain { at, what }) = found else { return Ok(()) };
        Err(Error::NotPlain { at: Position::of(chunk, at, &self.files), what })
    }
}

impl TupleReader {
    /// Finds tuples and fields.
    fn walk(&self, chunk: &[u8], rows: &mut TextIndex) -> Option<NotPlain> {
        let mut sink = TupleRows { rows };
        let mut cursor = Cursor::new(0);
        loop {
            match self.walk.run(self.isa, &mut cursor, chunk, true, &mut sink) {
                Stop::End if cursor.is_between() => return None,
                Stop::End => return not_plain(chunk.len(), "a row that is not closed"),
                Stop::NotPlain(what) => return not_plain(cursor.position, what),
                Stop::Statement => {
                    match self.tuples.after_statement(&chunk[cursor.position..], true) {
                        Next::Same(size) => cursor.position += size,
                        _ => return not_plain(cursor.position, "another statement"),
                    }
                }
            }
        }
    }

    /// Looks at each row: what is before it, how many values it has, which they are.
    fn check(&self, chunk: &[u8], rows: &TextIndex) -> Option<NotPlain> {
        let mut fields = 0;
        let mut end = 0;
        for (mark, &start) in rows.marks.iter().zip(&rows.starts) {
            let between = &chunk[end..start as usize];
            let is_first = end == 0;
            match between {
                b"," | b",\n" => {}
                b"" if is_first => {}
                _ if self.tuples.is_gap(between, is_first) => {}
                _ => return not_plain(end, "unexpected text between two rows"),
            }
            let ends = &rows.ends[fields..mark.fields as usize];
            if !self.fields.is_empty() && ends.len() != self.fields.len() {
                return not_plain(start as usize, "a row with too many or too few values");
            }
            if let Some(found) = self.check_fields(chunk, start as usize + 1, ends) {
                return Some(found);
            }
            fields = mark.fields as usize;
            end = mark.end as usize;
        }
        match sql::is_nothing(&chunk[end..]) {
            true => None,
            false => not_plain(end, "unexpected text after the last row"),
        }
    }

    /// Looks at the values of a row, the first of which begins at `start`.
    #[inline]
    fn check_fields(&self, chunk: &[u8], mut start: usize, ends: &[u32]) -> Option<NotPlain> {
        for (index, &flagged) in ends.iter().enumerate() {
            let end = (flagged & POSITION_MAX) as usize;
            if flagged & QUOTED == 0 {
                let raw = &chunk[start..end];
                let is_taken = match flagged & DECODE {
                    0 => match self.fields.get(index) {
                        Some(kind) => kind.literals.takes_number(raw),
                        None => !raw.is_empty(),
                    },
                    _ => raw == b"NULL",
                };
                if !is_taken && let Err(what) = self.check_field(raw, index) {
                    return not_plain(start, what);
                }
            }
            start = end + 1;
        }
        None
    }

    /// Looks at what is no string.
    #[inline(never)]
    fn check_field(&self, raw: &[u8], index: usize) -> Result<(), &'static str> {
        self.rules.check(raw, self.fields.get(index).map(|kind| kind.literals))
    }
}

fn not_plain(at: usize, what: &'static str) -> Option<NotPlain> {
    Some(NotPlain { at, what })
}

/// Writes what the walk finds into rows.
struct TupleRows<'a> {
    rows: &'a mut TextIndex,
}

impl TupleSink for TupleRows<'_> {
    const FIELDS: bool = true;

    fn open(&mut self, at: usize) {
        self.rows.starts.push(at as u32);
    }

    fn field(&mut self, end: usize, flags: u32) {
        self.rows.reserve_block();
        self.rows.ends[self.rows.fields] = end as u32 | flags;
        self.rows.fields += 1;
    }

    fn close(&mut self, end: usize) {
        self.rows.marks.push(Mark { fields: self.rows.fields as u32, end: end as u32 });
    }

    #[inline(always)]
    fn block<B: Block>(&mut self, found: &BlockMasks) {
        self.rows.reserve_block();
        let before = self.rows.fields;
        if let Some(out) = self.rows.ends[before..].first_chunk_mut::<64>() {
            B::store(found.base as u32, found.ends, found.decode, found.quoted, out);
        }
        self.rows.fields += found.ends.count_ones() as usize;
        let mut left = found.opens;
        while left != 0 {
            self.rows.starts.push(found.base as u32 + left.trailing_zeros());
            left &= left - 1;
        }
        let mut left = found.closes;
        while left != 0 {
            let bit = left.trailing_zeros();
            let up_to = left ^ (left - 1);
            left &= left - 1;
            let fields = before + (found.ends & up_to).count_ones() as usize;
            let end = found.base as u32 + bit + 1;
            self.rows.marks.push(Mark { fields: fields as u32, end });
        }
    }
}
