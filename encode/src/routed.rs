//! The rows of an input that one partition takes: a source like any other.
//!
//! ```text
//! files --reader--> all rows --Router--> kept: those of the partition
//! ```
//!
//! Each partition's load reads the whole input by itself and leaves out what is not its own. None waits for
//! another that way, whatever there is of each, and each can begin again by itself.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use job::options::Select;
use sources::{
    Batch, Chunk, Error, FieldKind, Formats, InputFile, Layout, Position, Reader, Result, Row,
    Rows, Source, Visit,
};

use crate::binding::BoundColumn;
use crate::column_source::Input;
use crate::partition::{Router, Unplaced};
use crate::row_keys::{KeyPlan, KeyReader};

/// Tells of rows, by their fields, which partition takes them.
#[derive(Clone, Debug)]
pub struct RowRouter {
    router: Router,
    /// The columns that the router looks at, in its order; behind them one that is AUTO_INCREMENT, whose
    /// numbers have to be in the input.
    plan: KeyPlan,
    /// How many of them the router looks at.
    looked_at: usize,
    has_number: bool,
}

impl RowRouter {
    /// By the columns of the table whose values follow from the input, `zero_is_value` being whether
    /// NO_AUTO_VALUE_ON_ZERO is set.
    ///
    /// Errors: why it cannot be told, in words.
    pub fn new(
        router: &Router,
        names: &[String],
        columns: &[BoundColumn],
        zero_is_value: bool,
    ) -> std::result::Result<RowRouter, String> {
        let find = |name: &String| columns.iter().find(|bound| bound.column.name == *name);
        let unknown =
            |name| format!("what a row has in column `{name}` is not known before it is in");
        let wanted = router.columns().iter().map(|at| &names[*at]);
        let mut plan = Vec::new();
        for name in wanted {
            plan.push(find(name).ok_or_else(|| unknown(name))?);
        }
        let looked_at = plan.len();
        let number = columns.iter().find(|bound| bound.column.auto_increment);
        if let Some(bound) = number {
            if matches!(bound.input, Input::AutoIncrement(None)) {
                return Err(format!("the input has no numbers for `{}`", bound.column.name));
            }
            plan.push(bound);
        }
        let plan = KeyPlan::of_columns(&plan, zero_is_value);
        Ok(RowRouter { router: router.clone(), plan, looked_at, has_number: number.is_some() })
    }
}

/// The rows that one partition takes.
#[derive(Clone, Debug)]
pub struct RowsOfPartition {
    /// Which partition takes a row.
    pub router: Arc<RowRouter>,
    /// The one.
    pub partition: usize,
    /// To be set by whoever has no use for the rows any more.
    pub stop: Arc<AtomicBool>,
}

impl Select for RowsOfPartition {
    fn select(&self, lines: Box<dyn Source>) -> Result<Box<dyn Source>> {
        let paths = lines.files().iter().map(|file| file.path.clone()).collect();
        Ok(Box::new(RoutedSource { input: lines, rows: self.clone(), paths: Arc::new(paths) }))
    }
}

struct RoutedSource {
    input: Box<dyn Source>,
    rows: RowsOfPartition,
    paths: Arc<Vec<PathBuf>>,
}

impl Source for RoutedSource {
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        self.input.next_chunk(chunk)
    }

    fn files(&self) -> &[InputFile] {
        self.input.files()
    }

    fn reader(&self) -> Box<dyn Reader> {
        let RowRouter { router, plan, looked_at, has_number } = &*self.rows.router;
        Box::new(RoutedReader {
            input: self.input.reader(),
            router: router.clone(),
            columns: KeyReader::new(plan.clone()),
            looked_at: *looked_at,
            has_number: *has_number,
            partition: self.rows.partition,
            stop: Arc::clone(&self.rows.stop),
            paths: Arc::clone(&self.paths),
            key: Vec::new(),
            kept: Vec::new(),
        })
    }

    fn layout(&self) -> Layout {
        self.input.layout()
    }

    fn row_end(&self) -> &[u8] {
        self.input.row_end()
    }

    fn set_fields(&mut self, fields: Vec<FieldKind>) -> Result<()> {
        self.input.set_fields(fields)
    }

    fn set_formats(&mut self, formats: Arc<Formats>) -> Result<()> {
        self.input.set_formats(formats)
    }

    fn set_chunks(&mut self, chunk_bytes: usize, record_bytes_max: usize) -> Result<()> {
        self.input.set_chunks(chunk_bytes, record_bytes_max)
    }

    fn header_bytes(&mut self) -> Result<Option<&[Vec<u8>]>> {
        self.input.header_bytes()
    }

    fn preamble(&mut self) -> Result<Vec<u8>> {
        self.input.preamble()
    }

    fn held_bytes(&self) -> u64 {
        self.input.held_bytes()
    }

    fn words(&self) -> String {
        let RowsOfPartition { router, partition, .. } = &self.rows;
        format!("{} {:?} {partition}", self.input.words(), router.router)
    }

    fn bytes_total(&self) -> Option<u64> {
        self.input.bytes_total()
    }

    fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    fn given_up(&self) -> Arc<AtomicBool> {
        self.input.given_up()
    }

    fn restart(&mut self) -> Result<()> {
        self.input.restart()
    }
}

struct RoutedReader {
    input: Box<dyn Reader>,
    router: Router,
    columns: KeyReader,
    looked_at: usize,
    has_number: bool,
    partition: usize,
    stop: Arc<AtomicBool>,
    paths: Arc<Vec<PathBuf>>,
    key: Vec<u8>,
    /// Of each row of the batch, whether it is the partition's.
    kept: Vec<bool>,
}

impl Reader for RoutedReader {
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped { path: self.paths.first().cloned().unwrap_or_default() });
        }
        self.input.read(chunk, batch)?;
        self.kept.clear();
        if let Err((start, why)) = batch.visit(chunk, Routing(self)) {
            let path = self.paths.get(chunk.file_at(start) as usize).cloned().unwrap_or_default();
            let (line, offset) = (chunk.line_at(start), chunk.offset_at(start));
            return Err(Error::Unplaced { at: Position { path, line, offset }, why });
        }
        match batch.keep(&self.kept) {
            true => Ok(()),
            false => Err(Error::Dialect("only rows of text are taken apart".to_owned())),
        }
    }
}

impl RoutedReader {
    /// Whether the partition takes a row. One that will be refused for its values is the first
    /// partition's.
    #[inline]
    fn takes<R: Row>(&mut self, row: R) -> std::result::Result<bool, String> {
        if !self.columns.read(row) {
            return Ok(self.partition == 0);
        }
        let stored = |at| self.columns.stored(at).unwrap_or_default();
        if self.has_number && (0..=self.looked_at).any(|at| self.is_generated(at)) {
            return Err("has no number in the AUTO_INCREMENT column".to_owned());
        }
        let place = self.router.place(stored, &mut self.key);
        place.map(|place| place == self.partition).map_err(unplaced)
    }

    fn is_generated(&self, column: usize) -> bool {
        column < self.columns.columns() && self.columns.stored(column).is_err()
    }
}

#[cold]
fn unplaced(why: Unplaced) -> String {
    match why {
        Unplaced::NoPartition(Some(value)) => format!("goes to no partition, with {value}"),
        Unplaced::NoPartition(None) => "goes to no partition".to_owned(),
        Unplaced::OutOfRange => "goes to no partition: the number is beyond 64 bits".to_owned(),
        Unplaced::Unknown(_) => "may go to any partition: that only the server knows".to_owned(),
    }
}

struct Routing<'r>(&'r mut RoutedReader);

impl Visit for Routing<'_> {
    type Output = std::result::Result<(), (usize, String)>;

    fn rows<R: Rows>(self, rows: R) -> Self::Output {
        for row in rows.iter() {
            let takes = self.0.takes(row).map_err(|why| (row.start(), why))?;
            self.0.kept.push(takes);
        }
        Ok(())
    }
}
