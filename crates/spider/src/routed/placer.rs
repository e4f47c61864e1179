//! Where the rows of a chunk go, for one thread.

use std::path::PathBuf;
use std::sync::Arc;

use encode::partition::{Router, Unplaced};
use encode::row_keys::KeyReader;
use face::option::PATH;
use job::position::PositionCursor;
use sources::{Batch, Chunk, Error, Position, Reader, Result, Row, Rows, Source, Visit};

use super::RowRouter;

/// A row of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlacedRow {
    pub(super) partition: u32,
    /// Its bytes in the chunk, with what ends it.
    pub(super) start: u32,
    pub(super) end: u32,
    /// Line and byte of the file that it begins at.
    pub(super) line: u64,
    pub(super) offset: u64,
}

pub(super) struct Placer {
    reader: Box<dyn Reader>,
    batch: Batch,
    router: Router,
    columns: KeyReader,
    looked_at: usize,
    has_number: bool,
    /// True if the end of a row is the end of a line.
    ends_lines: bool,
    paths: Arc<Vec<PathBuf>>,
    key: Vec<u8>,
    rows: Vec<PlacedRow>,
}

impl Placer {
    /// A placer for chunks of a source whose fields were set.
    pub(super) fn new(
        router: &RowRouter,
        source: &dyn Source,
        paths: &Arc<Vec<PathBuf>>,
    ) -> Placer {
        let RowRouter { router, plan, looked_at, has_number } = router;
        Placer {
            reader: source.reader(),
            batch: Batch::new(),
            router: router.clone(),
            columns: KeyReader::new(plan.clone()),
            looked_at: *looked_at,
            has_number: *has_number,
            ends_lines: source.facts().row_end.ends_with(b"\n"),
            paths: Arc::clone(paths),
            key: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// The rows of a chunk, in order.
    ///
    /// Errors: what is there instead of a row; [`Error::Unplaced`].
    pub(super) fn place(&mut self, chunk: &Chunk) -> Result<&[PlacedRow]> {
        let mut batch = std::mem::take(&mut self.batch);
        self.reader.read(chunk, &mut batch)?;
        if !batch.is_text() {
            return Err(Error::Dialect("only rows of text can be divided".to_owned()));
        }
        self.rows.clear();
        let placed = batch.visit(chunk, Placing { placer: self, chunk });
        self.batch = batch;
        if let Err((start, why)) = placed {
            return Err(Error::Unplaced { at: Position::of(chunk, start, &self.paths), why });
        }
        Ok(&self.rows)
    }

    /// The partition that takes a row. One that will be refused for its values is the first
    /// partition's.
    #[inline]
    fn partition<R: Row>(&mut self, row: R) -> std::result::Result<usize, String> {
        if !self.columns.read(row) {
            return Ok(0);
        }
        let stored = |at| self.columns.stored(at).unwrap_or_default();
        if self.has_number && (0..=self.looked_at).any(|at| self.is_generated(at)) {
            return Err("has no number in the AUTO_INCREMENT column".to_owned());
        }
        self.router.place(stored, &mut self.key).map_err(unplaced)
    }

    fn is_generated(&self, column: usize) -> bool {
        column < self.columns.columns() && self.columns.stored(column).is_err()
    }
}

#[cold]
fn unplaced(why: Unplaced) -> String {
    match why {
        Unplaced::NoPartition(Some(value)) => format!("belongs to no partition, with {value}"),
        Unplaced::NoPartition(None) => "belongs to no partition".to_owned(),
        Unplaced::OutOfRange => "belongs to no partition: the number exceeds 64 bits".to_owned(),
        Unplaced::Unknown(_) => {
            let sent = PATH.with("coordinator");
            format!("has a partition that only the server can tell; {sent} lets it choose")
        }
    }
}

struct Placing<'p> {
    placer: &'p mut Placer,
    chunk: &'p Chunk,
}

impl Visit for Placing<'_> {
    type Output = std::result::Result<(), (usize, String)>;

    fn rows<R: Rows>(self, rows: R) -> Self::Output {
        let Placing { placer, chunk } = self;
        let mut places = PositionCursor::of(chunk);
        let is_line_each = placer.ends_lines && is_line_each(chunk, rows.len());
        for (index, row) in rows.iter().enumerate() {
            let span = row.span();
            let partition = placer.partition(row).map_err(|why| (span.start, why))? as u32;
            let (line, offset) = match is_line_each {
                true => (chunk.first_line + index as u64, places.advance_bytes(chunk, span.start)),
                false => places.advance(chunk, span.start),
            };
            // A chunk has less than 4 GB.
            let (start, end) = (span.start as u32, span.end as u32);
            placer.rows.push(PlacedRow { partition, start, end, line, offset });
        }
        Ok(())
    }
}

/// True if each of so many rows of a chunk is a line, all but the last ending one: counted at once,
/// since a test of each row would take longer than all else here.
fn is_line_each(chunk: &Chunk, rows: usize) -> bool {
    let lines =
        chunk.lines_between(0, chunk.bytes.len()) + u64::from(!chunk.bytes.ends_with(b"\n"));
    chunk.places.is_empty() && lines == rows as u64
}
