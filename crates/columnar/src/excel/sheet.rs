//! The cells of a worksheet in memory, by columns.

use std::collections::HashMap;

use super::calendar;
use super::cell::{Cell, column_name};
use super::number;
use crate::guard::Problem;
use crate::options::SheetOptions;
use face::option::{COLUMNS, MEMORY, SHEET};
use values::Value;

/// Rows and columns that a worksheet has at most.
const ROWS_MAX: u32 = 1_048_576;
const COLUMNS_MAX: u32 = 16_384;
/// Bytes of a row besides its cells, of a column and of a text.
const ROW_BYTES: u64 = 4;
const COLUMN_BYTES: u64 = 64;
const TEXT_BYTES: u64 = 8;

/// Texts, by numbers.
#[derive(Debug, Default)]
struct Texts {
    ends: Vec<usize>,
    bytes: String,
}

/// A sheet that is being read: cells come by ascending rows.
pub(super) struct SheetBuilder {
    memory_bytes: u64,
    bytes: u64,
    rows: Vec<u32>,
    columns: Vec<Vec<Cell>>,
    texts: Texts,
    /// Numbers of texts that many cells share, by their addresses in the workbook.
    shared: HashMap<usize, u32>,
}

/// A sheet with its names.
#[derive(Debug)]
pub(super) struct Sheet {
    name: String,
    names: Vec<String>,
    /// The columns of the worksheet that have names, from 0.
    column_numbers: Vec<u32>,
    columns: Vec<Vec<Cell>>,
    /// Numbers of the rows in the worksheet, from 0; rows without a value are missing.
    rows: Vec<u32>,
    texts: Texts,
    bytes: u64,
}

impl Texts {
    fn get(&self, number: u32) -> &str {
        let at = number as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..self.ends[at]).unwrap_or_default()
    }
}

impl SheetBuilder {
    pub(super) fn new(memory_bytes: u64) -> SheetBuilder {
        SheetBuilder {
            memory_bytes,
            bytes: 0,
            rows: Vec::new(),
            columns: Vec::new(),
            texts: Texts::default(),
            shared: HashMap::new(),
        }
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Adds a cell.
    ///
    /// Errors: a place that no worksheet has; rows that descend; more cells than there is memory for.
    pub(super) fn push(&mut self, row: u32, column: u32, cell: Cell) -> Result<(), Problem> {
        if cell == Cell::Empty {
            return Ok(());
        }
        if row >= ROWS_MAX || column >= COLUMNS_MAX {
            return Err("it has a cell outside of the 1,048,576 rows and 16,384 columns".to_owned());
        }
        match self.rows.last() {
            Some(last) if row < *last => return Err("its rows are not in order".to_owned()),
            Some(last) if row == *last => {}
            _ => {
                self.take(ROW_BYTES)?;
                self.rows.push(row);
            }
        }
        let column = column as usize;
        if column >= self.columns.len() {
            self.take((column + 1 - self.columns.len()) as u64 * COLUMN_BYTES)?;
            self.columns.resize_with(column + 1, Vec::new);
        }
        let missing = self.rows.len().saturating_sub(self.columns[column].len());
        self.take((missing * size_of::<Cell>()) as u64)?;
        let cells = &mut self.columns[column];
        cells.resize(self.rows.len(), Cell::Empty);
        match cells.last_mut() {
            Some(last) if *last == Cell::Empty => *last = cell,
            _ => return Err("the sheet has the cell twice".to_owned()),
        }
        Ok(())
    }

    /// The number of a new text.
    ///
    /// Errors: more text than there is memory for.
    pub(super) fn text(&mut self, text: &str) -> Result<u32, Problem> {
        self.take(text.len() as u64 + TEXT_BYTES)?;
        let number = u32::try_from(self.texts.ends.len()).map_err(|_| "it has too many texts")?;
        self.texts.bytes.push_str(text);
        self.texts.ends.push(self.texts.bytes.len());
        Ok(number)
    }

    /// The number of a text that other cells may have.
    ///
    /// Errors: as [`SheetBuilder::text`].
    pub(super) fn shared_text(&mut self, text: &str) -> Result<u32, Problem> {
        let address = text.as_ptr() as usize;
        if let Some(number) = self.shared.get(&address).filter(|_| !text.is_empty()) {
            return Ok(*number);
        }
        self.take(4 * TEXT_BYTES)?;
        let number = self.text(text)?;
        self.shared.insert(address, number);
        Ok(number)
    }

    /// The cell of a text of ISO 8601.
    ///
    /// Errors: as [`SheetBuilder::text`].
    pub(super) fn iso(&mut self, text: &str) -> Result<Cell, Problem> {
        match calendar::of_iso(text) {
            Some(cell) => Ok(cell),
            None => Ok(Cell::NoDate(self.text(text)?)),
        }
    }

    /// Counts memory that is taken.
    ///
    /// Errors: more than there is.
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), Problem> {
        self.bytes = self.bytes.saturating_add(bytes);
        match self.bytes <= self.memory_bytes {
            true => Ok(()),
            false => Err(format!(
                "its cells take more than the {} MiB that are left for them: use more {MEMORY}",
                self.memory_bytes >> 20
            )),
        }
    }

    /// The sheet of this name, with the names of its columns.
    ///
    /// Errors: no row; columns with values and without a name.
    pub(super) fn finish(self, name: &str, options: &SheetOptions) -> Result<Sheet, Problem> {
        let SheetBuilder { bytes, mut rows, mut columns, mut texts, .. } = self;
        rows.shrink_to_fit();
        columns.iter_mut().for_each(Vec::shrink_to_fit);
        texts.ends.shrink_to_fit();
        texts.bytes.shrink_to_fit();
        let mut sheet = Sheet {
            name: name.to_owned(),
            names: Vec::new(),
            column_numbers: Vec::new(),
            columns,
            rows,
            texts,
            bytes,
        };
        let first = sheet.rows.partition_point(|row| u64::from(*row) < options.skip_rows);
        sheet.drop_rows(first);
        sheet.set_names(options.has_names)?;
        Ok(sheet)
    }
}

impl Sheet {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn column_numbers(&self) -> &[u32] {
        &self.column_numbers
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// The number of a row in the worksheet, from 0.
    pub(super) fn row_number(&self, row: usize) -> Option<u64> {
        self.rows.get(row).map(|row| u64::from(*row))
    }

    /// Memory that it takes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn cell(&self, column: usize, row: usize) -> Cell {
        self.columns[column].get(row).copied().unwrap_or(Cell::Empty)
    }

    pub(super) fn text(&self, number: u32) -> &str {
        self.texts.get(number)
    }

    /// Adds a cell's value as text, as Excel or ISO 8601 shows it.
    pub(super) fn write(&self, cell: Cell, out: &mut Vec<u8>) {
        let mut scratch = Vec::new();
        let value = match cell {
            Cell::Empty | Cell::Unstored => return,
            Cell::Text(number) | Cell::Error(number) | Cell::NoDate(number) => {
                return out.extend_from_slice(self.text(number).as_bytes());
            }
            Cell::Number(number) => return out.extend_from_slice(number::text(number).as_bytes()),
            Cell::Bool(is_true) => {
                return out.extend_from_slice(if is_true { b"TRUE" } else { b"FALSE" });
            }
            Cell::Date(days) => Value::Date(days),
            Cell::Time(micros) => Value::Time(micros),
            Cell::DateTime(micros) => Value::DateTime(micros),
        };
        out.extend_from_slice(value.text(&mut scratch).unwrap_or_default());
    }

    /// Indices of the rows behind a missing one, from the first row on, and the number of all rows.
    pub(super) fn starts(&self) -> Vec<usize> {
        let is_start = |at: &usize| *at == 0 || self.rows[*at] != self.rows[*at - 1] + 1;
        let mut starts: Vec<usize> = (0..self.rows.len()).filter(is_start).collect();
        starts.push(self.rows.len());
        starts
    }

    fn drop_rows(&mut self, count: usize) {
        self.rows.drain(..count);
        for column in &mut self.columns {
            column.drain(..count.min(column.len()));
        }
    }

    /// Takes the names of the first row, or letters.
    fn set_names(&mut self, has_names: bool) -> Result<(), Problem> {
        if self.rows.is_empty() {
            return Err("it has no rows".to_owned());
        }
        let row = self.rows[0];
        let has_values = |cells: &Vec<Cell>| cells.iter().any(|cell| *cell != Cell::Empty);
        let used = self.columns.iter().rposition(has_values).map_or(0, |last| last + 1);
        self.columns.truncate(used);
        // Columns without names are known by their places: blank ones keep theirs.
        let mut names: Vec<Option<String>> = Vec::with_capacity(self.columns.len());
        for column in 0..self.columns.len() {
            let mut name = Vec::new();
            match has_names {
                true => self.write(self.cell(column, 0), &mut name),
                false => name.extend_from_slice(column_name(column as u32).as_bytes()),
            }
            let name = String::from_utf8_lossy(&name).trim().to_owned();
            names.push(Some(name).filter(|name| !name.is_empty()));
        }
        if has_names {
            self.drop_rows(1);
        }
        let unnamed = names.iter().zip(&self.columns);
        let unnamed = unnamed.map(|(name, cells)| name.is_none() && has_values(cells));
        if let Some(column) = unnamed.into_iter().position(|is_unnamed| is_unnamed) {
            let name = column_name(column as u32);
            return Err(format!(
                "column {name} has values and no name in row {}; name it there, or name all columns by {COLUMNS}",
                row + 1
            ));
        }
        for (column, cells) in std::mem::take(&mut self.columns).into_iter().enumerate() {
            if let Some(name) = names[column].take() {
                self.names.push(name);
                self.column_numbers.push(column as u32);
                self.columns.push(cells);
            }
        }
        Ok(())
    }
}

/// The error for a sheet that does not exist.
pub(super) fn no_sheet(wanted: Option<&str>, sheets: &mut dyn Iterator<Item = &str>) -> Problem {
    let names: Vec<String> = sheets.take(20).map(|name| format!("`{name}`")).collect();
    match wanted {
        _ if names.is_empty() => "the workbook has no worksheet".to_owned(),
        Some(wanted) => {
            format!("it has no sheet `{wanted}`; {SHEET} names one of {}", names.join(", "))
        }
        None => "the workbook has no worksheet".to_owned(),
    }
}
