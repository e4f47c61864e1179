//! The rows of a batch that a table gets, and what is made of each.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use job::position::PositionCursor;
use sources::{Chunk, Formats, PickShape, Picked, Position, Row, Rows, TextRow, TextRows};

use super::key::{KeyOf, Keyless, LineKeys};
use super::known::{KeyBlock, Known, KnownValue};
use super::line_values::{self, OfRow};
use super::own::Cursor;
use super::recent::{Mark, Recent};
use super::resolved::{LineColumn, Lines, Resolved};
use super::{LinePlace, Share};

/// Lines whose keys are hashed before the first of them is found: so many waits for memory at once.
const BLOCK_LINES: usize = 64;

/// Picks the rows of one table, for one reader.
#[derive(Debug)]
pub(super) struct Picker {
    lines: Arc<Lines>,
    resolved: Arc<Resolved>,
    shape: Arc<PickShape>,
    known: Vec<Finder>,
    /// The id of each picked row and the number of its line, if these count.
    ids: Vec<u64>,
    numbers: Vec<u64>,
    own: Option<Cursor>,
    left_out: Option<Arc<BTreeSet<LinePlace>>>,
    /// The files, and their names without folders.
    files: Arc<Vec<(PathBuf, Vec<u8>)>>,
    scratch: Vec<u8>,
    /// True if rows are known; before, any numbers stand for their ids.
    is_known: bool,
    /// True if the places of rows count, and the numbers of their lines.
    has_places: bool,
    has_lines: bool,
}

impl Picker {
    pub(super) fn new(
        share: &Share,
        lines: &Arc<Lines>,
        resolved: &Arc<Resolved>,
        files: &Arc<Vec<(PathBuf, Vec<u8>)>>,
        formats: &Arc<Formats>,
    ) -> sources::Result<Picker> {
        let room = share.room_bytes / share.known.len().max(1);
        let finder = |(of, known): &(_, Arc<Known>)| Finder::new(of, known, lines, room);
        let shape = PickShape { fields: resolved.fields.clone(), formats: Arc::clone(formats) };
        let has_lines = resolved.made.iter().any(|made| matches!(made, LineColumn::Line));
        Ok(Picker {
            lines: Arc::clone(lines),
            resolved: Arc::clone(resolved),
            shape: Arc::new(shape),
            known: share.known.iter().map(finder).collect::<sources::Result<_>>()?,
            ids: Vec::new(),
            numbers: Vec::new(),
            own: share.own.as_ref().map(Cursor::new),
            left_out: share.left_out.clone().filter(|places| !places.is_empty()),
            files: Arc::clone(files),
            scratch: Vec::new(),
            is_known: share.known.len() == share.mapping.wanted().len(),
            has_lines,
            has_places: has_lines || share.own.is_some() || share.left_out.is_some(),
        })
    }

    /// Picks rows of a batch into `picked`, which is overwritten.
    ///
    /// Errors: a line with too few or too many fields.
    pub(super) fn pick(
        &mut self,
        chunk: &Chunk,
        rows: TextRows<'_>,
        picked: &mut Picked,
    ) -> sources::Result<()> {
        if !Arc::ptr_eq(&picked.shape, &self.shape) {
            picked.shape = Arc::clone(&self.shape);
            picked.made = self.resolved.made.iter().map(line_values::column).collect();
        }
        line_values::clear(picked);
        self.choose(chunk, rows, &mut picked.rows)?;
        if !picked.made.is_empty() {
            for finder in &mut self.known {
                finder.find_all(chunk, rows, &picked.rows, &self.files)?;
            }
            self.make(chunk, rows, picked);
        }
        Ok(())
    }

    /// Which rows of a batch are the table's.
    fn choose(
        &mut self,
        chunk: &Chunk,
        rows: TextRows<'_>,
        chosen: &mut Vec<u32>,
    ) -> sources::Result<()> {
        self.ids.clear();
        self.numbers.clear();
        if let Some(own) = &mut self.own {
            own.begin();
        }
        let mut places = PositionCursor::of(chunk);
        for index in 0..rows.len() {
            let line = rows.row(index);
            let offset = match self.has_places {
                true => places.place(chunk, line.start()),
                false => 0,
            };
            let place = (chunk.file, offset);
            if self.left_out.as_ref().is_some_and(|left_out| left_out.contains(&place)) {
                continue;
            }
            if !self.lines.fit(line) {
                return Err(self.misfit(chunk, line));
            }
            if !self.resolved.when.is_met(line, &mut self.scratch) {
                continue;
            }
            let Some(own) = self.own(chunk, line, index, place)? else { continue };
            chosen.push(index as u32);
            self.ids.push(own);
            self.numbers.extend(self.has_lines.then(|| places.line(chunk)));
        }
        Ok(())
    }

    /// The id of the row that a line stands for, if it stands for one; a number where rows have none.
    #[inline]
    fn own(
        &mut self,
        chunk: &Chunk,
        line: TextRow<'_>,
        index: usize,
        place: LinePlace,
    ) -> sources::Result<Option<u64>> {
        let Some(own) = &mut self.own else { return Ok(Some(index as u64 + 1)) };
        own.id_at(place).map_err(|_| changed(chunk, line, &self.files))
    }

    /// Makes the values of the picked rows.
    fn make(&mut self, chunk: &Chunk, rows: TextRows<'_>, picked: &mut Picked) {
        let file = self.files.get(chunk.file as usize);
        let mut of = OfLine {
            known: &self.known,
            is_known: self.is_known,
            at: 0,
            own_id: 0,
            file_name: file.map_or(b"", |(_, name)| name),
            line: 0,
        };
        for (made, column) in self.resolved.made.iter().zip(&mut picked.made) {
            for (at, &index) in picked.rows.iter().enumerate() {
                (of.at, of.own_id) = (at, self.ids[at]);
                of.line = self.numbers.get(at).copied().unwrap_or_default();
                line_values::push(made, column, rows.row(index as usize), &of, &mut self.scratch);
            }
        }
    }

    #[cold]
    fn misfit(&self, chunk: &Chunk, line: TextRow<'_>) -> sources::Error {
        let at = position(chunk, line.start(), &self.files);
        if let Some(problem) = line.broken() {
            return sources::Error::Record { at, problem: problem.to_owned() };
        }
        sources::Error::FieldCount {
            at,
            seen: if line.is_blank() { 0 } else { line.field_count() },
            expected: self.lines.width(),
        }
    }
}

/// The values of the current row.
struct OfLine<'a> {
    known: &'a [Finder],
    is_known: bool,
    /// The how manieth row that is picked, from 0.
    at: usize,
    own_id: u64,
    file_name: &'a [u8],
    line: u64,
}

impl OfRow for OfLine<'_> {
    fn known(&self, number: usize) -> Option<KnownValue<'_>> {
        if !self.is_known {
            return Some(KnownValue::Id(self.own_id));
        }
        let Finder { known, found, .. } = self.known.get(number)?;
        known.taken((*found.get(self.at)?)?)
    }

    fn own_id(&self) -> Option<u64> {
        Some(self.own_id)
    }

    fn file_name(&self) -> &[u8] {
        self.file_name
    }

    fn line(&self) -> u64 {
        self.line
    }
}

/// Finds rows by the keys of lines. Many consecutive lines have the same one.
#[derive(Debug)]
struct Finder {
    keys: LineKeys,
    known: Arc<Known>,
    /// The numbers of rows that were found, none of lines without a key.
    recent: Recent<Option<usize>>,
    /// For a block of lines: the marks of all, those with the row of the line before, and those to
    /// be found by their keys.
    marks: Vec<Mark>,
    same: Vec<usize>,
    missed: Vec<usize>,
    missed_keys: KeyBlock,
    /// The rows that were found of those of a batch.
    found: Vec<Option<usize>>,
}

impl Finder {
    fn new(
        of: &KeyOf,
        known: &Arc<Known>,
        lines: &Lines,
        room_bytes: usize,
    ) -> sources::Result<Finder> {
        Ok(Finder {
            keys: LineKeys::new(of, lines)?,
            known: Arc::clone(known),
            recent: Recent::new(of.fields(lines)?, room_bytes),
            marks: Vec::new(),
            same: Vec::new(),
            missed: Vec::new(),
            missed_keys: KeyBlock::default(),
            found: Vec::new(),
        })
    }

    /// Finds the rows of some lines.
    ///
    /// Errors: a row is not there; all were when the lines were read before.
    fn find_all(
        &mut self,
        chunk: &Chunk,
        rows: TextRows<'_>,
        some: &[u32],
        files: &[(PathBuf, Vec<u8>)],
    ) -> sources::Result<()> {
        self.found.clear();
        for block in some.chunks(BLOCK_LINES) {
            self.find_block(rows, block)
                .map_err(|index| changed(chunk, rows.row(index as usize), files))?;
        }
        Ok(())
    }

    /// Finds the rows of a block of lines; gives the line of one that is not there.
    fn find_block(&mut self, rows: TextRows<'_>, block: &[u32]) -> Result<(), u32> {
        let Finder { keys, known, recent, marks, same, missed, missed_keys, found } = self;
        let begun = found.len();
        marks.clear();
        marks.extend(block.iter().map(|&index| recent.mark(rows.row(index as usize))));
        recent.expect(marks.iter().copied());
        same.clear();
        missed.clear();
        missed_keys.clear();
        for (at, &index) in block.iter().enumerate() {
            let row = recent.get(marks[at]);
            found.push(row.flatten());
            if row.is_some() {
                continue;
            }
            if at > 0 && marks[at] == marks[at - 1] {
                same.push(at);
                continue;
            }
            match keys.of(rows, index as usize) {
                Ok(key) => {
                    missed.push(at);
                    missed_keys.push(key);
                }
                // The line has no such row.
                Err(Keyless::NoRow) => recent.put(marks[at], None),
                Err(Keyless::Refused | Keyless::Unordered) => return Err(index),
            }
        }
        for (&at, row) in missed.iter().zip(known.find_all(missed_keys)) {
            found[begun + at] = Some(row.ok_or(block[at])?);
            recent.put(marks[at], found[begun + at]);
        }
        for &at in same.iter() {
            found[begun + at] = found[begun + at - 1];
        }
        Ok(())
    }
}

#[cold]
fn changed(chunk: &Chunk, line: TextRow<'_>, files: &[(PathBuf, Vec<u8>)]) -> sources::Error {
    let at = position(chunk, line.start(), files);
    let what = format!("changed while it was read, at line {}", at.line);
    sources::Error::Changed { path: at.file, what }
}

#[cold]
fn position(chunk: &Chunk, at: usize, files: &[(PathBuf, Vec<u8>)]) -> Position {
    let file = files.get(chunk.file_at(at) as usize);
    Position {
        file: file.map(|(path, _)| path.clone()).unwrap_or_default(),
        line: chunk.line_at(at),
        offset: chunk.first_record.is_none().then(|| chunk.offset_at(at)),
        part: chunk.part.clone(),
    }
}
