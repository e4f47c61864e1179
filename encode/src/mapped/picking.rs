//! The rows of a batch that a table gets, and what is made of each.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use job::position::Places;
use sources::{Chunk, Formats, PickShape, Picked, Position, Row, Rows, TextRow, TextRows};

use super::key::{Keyless, LineKeys};
use super::known::Known;
use super::made::{self, OfRow, Taken};
use super::own::Cursor;
use super::recent::Recent;
use super::resolved::{Lines, Made, Resolved};
use super::{LinePlace, Share};

/// Picks the rows of one table, for one reader.
#[derive(Debug)]
pub(super) struct Picker {
    lines: Arc<Lines>,
    resolved: Arc<Resolved>,
    shape: Arc<PickShape>,
    known: Vec<Finder>,
    /// What they have found for the line at hand.
    found: Vec<Option<u64>>,
    own: Option<Cursor>,
    left_out: Option<Arc<BTreeSet<LinePlace>>>,
    /// The files, and their names without folders.
    files: Arc<Vec<(PathBuf, Vec<u8>)>>,
    scratch: Vec<u8>,
    /// Whether rows are known; any numbers stand for their ids before.
    is_known: bool,
    /// Whether the places of rows count, and the numbers of their lines.
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
        let finder = |(of, known): &(_, Arc<Known>)| {
            let (keys, known) = (LineKeys::new(of, lines)?, Arc::clone(known));
            Ok(Finder { keys, known, recent: Recent::new(of.fields(lines)?) })
        };
        let shape = PickShape { fields: resolved.fields.clone(), formats: Arc::clone(formats) };
        let has_lines = resolved.made.iter().any(|made| matches!(made, Made::Line));
        Ok(Picker {
            lines: Arc::clone(lines),
            resolved: Arc::clone(resolved),
            shape: Arc::new(shape),
            known: share.known.iter().map(finder).collect::<sources::Result<_>>()?,
            found: Vec::new(),
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
            picked.made = self.resolved.made.iter().map(made::column).collect();
        }
        made::clear(picked);
        if let Some(own) = &mut self.own {
            own.begin();
        }
        let mut places = Places::of(chunk);
        for index in 0..rows.len() {
            let line = rows.row(index);
            let offset = match self.has_places {
                true => places.advance_bytes(chunk, line.start()),
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
            picked.rows.push(index as u32);
            let number = if self.has_lines { places.line(chunk) } else { 0 };
            self.make(chunk, rows, index, (own, number), picked)?;
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

    fn make(
        &mut self,
        chunk: &Chunk,
        rows: TextRows<'_>,
        index: usize,
        (own_id, line): (u64, u64),
        picked: &mut Picked,
    ) -> sources::Result<()> {
        if picked.made.is_empty() {
            return Ok(());
        }
        self.found.clear();
        for finder in &mut self.known {
            self.found.push(finder.find((chunk, rows, index), &self.files)?);
        }
        let file = self.files.get(chunk.file as usize);
        let of = OfLine {
            known: &self.known,
            found: &self.found,
            is_known: self.is_known,
            own_id,
            file_name: file.map_or(b"", |(_, name)| name),
            line,
        };
        for (made, column) in self.resolved.made.iter().zip(&mut picked.made) {
            made::push(made, column, rows.row(index), &of, &mut self.scratch);
        }
        Ok(())
    }

    #[cold]
    fn misfit(&self, chunk: &Chunk, line: TextRow<'_>) -> sources::Error {
        sources::Error::FieldCount {
            at: position(chunk, line.start(), &self.files),
            seen: line.field_count(),
            expected: self.lines.width(),
        }
    }
}

/// What is made of the row at hand.
struct OfLine<'a> {
    known: &'a [Finder],
    found: &'a [Option<u64>],
    is_known: bool,
    own_id: u64,
    file_name: &'a [u8],
    line: u64,
}

impl OfRow for OfLine<'_> {
    fn known(&self, number: usize) -> Option<Taken<'_>> {
        if !self.is_known {
            return Some(Taken::Id(self.own_id));
        }
        let id = (*self.found.get(number)?)?;
        match &self.known.get(number)?.known.texts {
            None => Some(Taken::Id(id)),
            Some(texts) => texts.get(id as usize)?.as_deref().map(Taken::Text),
        }
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

/// Finds rows by the keys of lines. Of lines that follow each other many have the same one.
#[derive(Debug)]
struct Finder {
    keys: LineKeys,
    known: Arc<Known>,
    /// The ids that were found, none of lines without a key.
    recent: Recent<Option<u64>>,
}

impl Finder {
    /// The id of the row that a line has by its key; none if it has no key.
    #[inline]
    fn find(
        &mut self,
        (chunk, rows, index): (&Chunk, TextRows<'_>, usize),
        files: &[(PathBuf, Vec<u8>)],
    ) -> sources::Result<Option<u64>> {
        let Finder { keys, known, recent } = self;
        let line = rows.row(index);
        let mark = recent.mark(line);
        if let Some(found) = recent.get(mark) {
            return Ok(found);
        }
        let found = match keys.of(rows, index) {
            Ok(key) => known.find(key).map(Some),
            Err(Keyless::NoRow) => Some(None),
            Err(Keyless::Refused | Keyless::Unordered) => None,
        };
        // They all were found when the lines were read before.
        let found = found.ok_or_else(|| changed(chunk, line, files))?;
        recent.put(mark, found);
        Ok(found)
    }
}

#[cold]
fn changed(chunk: &Chunk, line: TextRow<'_>, files: &[(PathBuf, Vec<u8>)]) -> sources::Error {
    let at = position(chunk, line.start(), files);
    let what = format!("is not what it was a moment ago, at line {}", at.line);
    sources::Error::Changed { path: at.path, what }
}

#[cold]
fn position(chunk: &Chunk, at: usize, files: &[(PathBuf, Vec<u8>)]) -> Position {
    let file = files.get(chunk.file_at(at) as usize);
    Position {
        path: file.map(|(path, _)| path.clone()).unwrap_or_default(),
        line: chunk.line_at(at),
        offset: chunk.offset_at(at),
    }
}
