//! A worksheet of an Excel or OpenDocument workbook: rows of cells, each with a type of its own.
//!
//! ```text
//! workbook --archive, checked--> cells of one sheet, one after the other --> Sheet --> typed columns
//! ```
//!
//! The sheet is read once and kept in memory: a sheet has at most 1,048,576 rows. Runs of rows without an empty row
//! between them are its parts.

mod archive;
mod calendar;
mod cell;
mod column;
mod create;
mod number;
mod number_format;
mod open_document;
mod sheet;
mod workbook;
mod xml_scan;

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use sources::{FoundInput, InputBytes, PartPlace};

use self::cell::column_name;
use self::column::SheetCells;
pub(crate) use self::create::{CellStatistics, examine};
use self::sheet::Sheet;
use crate::file::{Decoded, OpenPart, Part, TypedFile, fingerprint};
use crate::guard::{Problem, guard};
use crate::options::SheetOptions;

/// The worksheet of an open workbook.
pub(crate) struct ExcelFile {
    input: Arc<InputBytes>,
    bytes: u64,
    sheet: Arc<Sheet>,
    schema: SchemaRef,
    /// Indices of the rows at which parts begin, and the number of all rows.
    starts: Vec<usize>,
}

impl ExcelFile {
    /// Opens a workbook and reads its sheet, for which there is so much memory.
    ///
    /// Errors: an input that cannot be read; a workbook that is damaged, has a password or not this sheet.
    pub(crate) fn open(
        input: &FoundInput,
        options: &SheetOptions,
        memory_bytes: u64,
    ) -> sources::Result<Result<ExcelFile, Problem>> {
        let input = Arc::new(input.open()?);
        let bytes = input.size()?;
        let sheet = guard(|| workbook::read(&input, bytes, options, memory_bytes));
        Ok(sheet.map(|sheet| ExcelFile::of(input, bytes, sheet)))
    }

    fn of(input: Arc<InputBytes>, bytes: u64, sheet: Sheet) -> ExcelFile {
        // Each cell says its type: no type of a column refuses a value before its cell is read.
        let field = |name: &String| Field::new(name, DataType::Utf8, true);
        let schema = Schema::new(sheet.names().iter().map(field).collect::<Vec<_>>());
        let starts = sheet.starts();
        ExcelFile { input, bytes, sheet: Arc::new(sheet), schema: Arc::new(schema), starts }
    }
}

impl TypedFile for ExcelFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn part(&self, index: usize, _: &[usize]) -> Result<Option<Part>, Problem> {
        let Some([start, end]) = self.starts.get(index..index + 2) else { return Ok(None) };
        let rows = self.sheet.row_count().max(1) as u64;
        let name = fingerprint(self.bytes, self.sheet.name().as_bytes());
        Ok(Some(Part {
            rows: (end - start) as u64,
            first_row: self.sheet.row_number(*start),
            row_bytes: self.sheet.bytes() / rows,
            end: self.bytes * *end as u64 / rows,
            fingerprint: fingerprint(name, &rows.to_le_bytes()),
        }))
    }

    fn part_bytes(&self, _: usize, _: &[usize]) -> Result<u64, Problem> {
        // The sheet itself is counted once: by `reader_bytes`.
        Ok(0)
    }

    fn open_part(&self, part: usize, columns: &[usize]) -> Result<Box<dyn OpenPart>, Problem> {
        let start = self.starts.get(part).copied().unwrap_or_default();
        let sheet = Arc::clone(&self.sheet);
        Ok(Box::new(SheetPart { sheet, start, columns: columns.to_vec() }))
    }

    fn reader_bytes(&self) -> Result<u64, Problem> {
        Ok(self.sheet.bytes())
    }

    fn has_alike_parts(&self) -> bool {
        false
    }

    fn part_name(&self) -> &'static str {
        "rows"
    }

    fn place(&self, _: usize) -> PartPlace {
        let column = |number: &u32| Some(column_name(*number));
        let columns = self.sheet.column_numbers().iter().map(column).collect();
        PartPlace { name: format!("sheet {}", self.sheet.name()), cells: Some(columns) }
    }

    fn description_bytes(&self) -> Option<u64> {
        // It has all of the sheet.
        None
    }

    fn close(&self) {}

    fn check_unchanged(&self) -> sources::Result<()> {
        self.input.check_unchanged()
    }
}

/// Rows that follow each other.
struct SheetPart {
    sheet: Arc<Sheet>,
    start: usize,
    columns: Vec<usize>,
}

impl OpenPart for SheetPart {
    fn read(&self, rows: Range<u64>) -> Result<Vec<Decoded>, Problem> {
        let row = |row: u64| self.start + row as usize;
        let rows = row(rows.start)..row(rows.end);
        let cells = |column: &usize| SheetCells {
            sheet: Arc::clone(&self.sheet),
            column: *column,
            rows: rows.clone(),
        };
        Ok(self.columns.iter().map(|column| Decoded::Cells(Box::new(cells(column)))).collect())
    }
}
