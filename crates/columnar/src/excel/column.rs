//! Cells of a column to typed cells, each value exactly or refused.
//!
//! Numbers, dates and times are typed where all of the rows have such ones and the column of the table takes them;
//! other cells become the text that Excel shows.

use std::ops::Range;
use std::sync::Arc;

use sources::batch::{Cells, RefusedCell, TypedColumn};
use values::{Family, Reason, SqlType};

use super::cell::Cell;
use super::number;
use super::sheet::Sheet;
use crate::file::MixedCells;
use crate::{cells, exact};

/// Some rows of a column of a sheet.
pub(super) struct SheetCells {
    pub(super) sheet: Arc<Sheet>,
    pub(super) column: usize,
    pub(super) rows: Range<usize>,
}

/// The values that a column of the table takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WantedValue {
    Number,
    /// Doubles, with all of their bits.
    Double,
    /// Numbers as bits.
    Bits,
    Date,
    Time,
    Text,
    /// One of some texts: a number would be its place.
    Label,
    /// Values that have a text.
    Other,
}

impl WantedValue {
    fn of(sql_type: Option<&SqlType>) -> WantedValue {
        let Some(sql_type) = sql_type else { return WantedValue::Text };
        match (sql_type, sql_type.family()) {
            (SqlType::Time { .. }, _) => WantedValue::Time,
            (SqlType::Double { .. }, _) => WantedValue::Double,
            (_, Family::Bits) => WantedValue::Bits,
            (_, Family::Integer | Family::Decimal | Family::Real | Family::Year) => {
                WantedValue::Number
            }
            (_, Family::Temporal | Family::Moment) => WantedValue::Date,
            (_, Family::Labels(_)) => WantedValue::Label,
            (_, Family::Text(_) | Family::Bytes) => WantedValue::Text,
            _ => WantedValue::Other,
        }
    }

    /// The reason for which a column refuses a cell.
    fn refusal(self, cell: Cell) -> Option<Reason> {
        match (cell, self) {
            (Cell::Error(_), _) => Some(Reason::ErrorCell),
            (Cell::Unstored, _) => Some(Reason::Unstored),
            (Cell::NoDate(_), _) => Some(Reason::NoDate),
            (Cell::Number(number), _)
                if self != WantedValue::Double && number::is_uncertain(number) =>
            {
                Some(Reason::Inexact)
            }
            (
                Cell::Date(_) | Cell::Time(_) | Cell::DateTime(_),
                WantedValue::Number | WantedValue::Double | WantedValue::Bits,
            ) => Some(Reason::NotANumber),
            (Cell::Text(_), WantedValue::Bits) => Some(Reason::NotANumber),
            (Cell::Number(_) | Cell::Bool(_), WantedValue::Date | WantedValue::Time) => {
                Some(Reason::NotATime)
            }
            (Cell::Time(_), WantedValue::Date) => Some(Reason::NotATime),
            (Cell::Date(_) | Cell::DateTime(_), WantedValue::Time) => Some(Reason::NotATime),
            (Cell::Number(_) | Cell::Bool(_), WantedValue::Label) => Some(Reason::NotALabel),
            _ => None,
        }
    }

    /// The text of a truth value.
    fn truth(self, is_true: bool) -> &'static [u8] {
        match (self, is_true) {
            (WantedValue::Number | WantedValue::Double, true) => b"1",
            (WantedValue::Number | WantedValue::Double, false) => b"0",
            (WantedValue::Other, true) => b"true",
            (WantedValue::Other, false) => b"false",
            (_, true) => b"TRUE",
            (_, false) => b"FALSE",
        }
    }
}

impl MixedCells for SheetCells {
    fn typed(&self, sql_type: Option<&SqlType>) -> TypedColumn {
        let wanted = WantedValue::of(sql_type);
        let rows = self.rows.clone();
        let mut values: Vec<Cell> = rows.map(|row| self.sheet.cell(self.column, row)).collect();
        let mut refused = Vec::new();
        let mut is_valid = Vec::with_capacity(values.len());
        for (row, cell) in values.iter_mut().enumerate() {
            is_valid.push(!self.is_null(*cell, wanted));
            if let Some(reason) = wanted.refusal(*cell) {
                refused.push(RefusedCell { row, text: self.text(*cell, wanted), reason });
                *cell = Cell::Empty;
            } else if !is_valid[row] {
                *cell = Cell::Empty;
            }
        }
        let typed = typed(&values, wanted);
        let is_text = typed.is_none();
        let cells = typed.unwrap_or_else(|| self.texts(&values, wanted));
        let mut column = TypedColumn { cells, is_valid, refused };
        if let Some(sql_type) = sql_type {
            match is_text {
                true => refuse_texts(&mut column, &values, wanted, sql_type),
                false => exact::refuse(&mut column, sql_type),
            }
        }
        if wanted == WantedValue::Bits {
            column.cells = cells::bits(column.cells, &mut column.refused);
        }
        if column.is_valid.iter().all(|is_valid| *is_valid) {
            column.is_valid.clear();
        }
        column
    }
}

impl SheetCells {
    /// True if a cell has no value: an empty text is none but for columns of texts.
    fn is_null(&self, cell: Cell, wanted: WantedValue) -> bool {
        match cell {
            Cell::Empty => true,
            Cell::Text(number) if wanted != WantedValue::Text && wanted != WantedValue::Label => {
                self.sheet.text(number).is_empty()
            }
            _ => false,
        }
    }

    fn text(&self, cell: Cell, wanted: WantedValue) -> Vec<u8> {
        let mut text = Vec::new();
        match cell {
            Cell::Bool(is_true) => text.extend_from_slice(wanted.truth(is_true)),
            cell => self.sheet.write(cell, &mut text),
        }
        text
    }

    fn texts(&self, cells: &[Cell], wanted: WantedValue) -> Cells {
        let (mut ends, mut bytes) = (Vec::with_capacity(cells.len()), Vec::new());
        for cell in cells {
            match cell {
                Cell::Bool(is_true) => bytes.extend_from_slice(wanted.truth(*is_true)),
                // A text among numbers takes no bit of theirs.
                Cell::Number(number) if wanted == WantedValue::Double => {
                    bytes.extend_from_slice(number::text_of_bits(*number).as_bytes());
                }
                cell => self.sheet.write(*cell, &mut bytes),
            }
            ends.push(bytes.len());
        }
        Cells::Bytes { ends, bytes }
    }
}

/// Refuses numbers, dates and times among texts that a column would change.
fn refuse_texts(column: &mut TypedColumn, cells: &[Cell], wanted: WantedValue, sql_type: &SqlType) {
    for (row, cell) in cells.iter().enumerate() {
        let Some(one) = typed(&[*cell], wanted) else { continue };
        let mut one = TypedColumn::from(one);
        exact::refuse(&mut one, sql_type);
        column
            .refused
            .extend(one.refused.into_iter().map(|refused| RefusedCell { row, ..refused }));
    }
    column.refused.sort_by_key(|cell| cell.row);
    column.refused.dedup_by_key(|cell| cell.row);
}

/// Cells of one type; None where some have another, or only their text counts.
fn typed(cells: &[Cell], wanted: WantedValue) -> Option<Cells> {
    let used = || cells.iter().filter(|cell| **cell != Cell::Empty);
    if used().next().is_none() {
        return Some(Cells::Null(cells.len()));
    }
    match wanted {
        WantedValue::Number | WantedValue::Double | WantedValue::Bits => numbers(cells, wanted),
        WantedValue::Date => dates(cells),
        WantedValue::Time => {
            let time = |cell: &Cell| match cell {
                Cell::Time(micros) => Some(*micros),
                Cell::Empty => Some(0),
                _ => None,
            };
            cells.iter().map(time).collect::<Option<Vec<i64>>>().map(Cells::Time)
        }
        WantedValue::Text | WantedValue::Label | WantedValue::Other => None,
    }
}

fn numbers(cells: &[Cell], wanted: WantedValue) -> Option<Cells> {
    let number = |cell: &Cell| match cell {
        Cell::Number(number) if wanted == WantedValue::Double => Some(*number),
        Cell::Number(number) => Some(number::shown(*number)),
        Cell::Bool(is_true) => Some(f64::from(*is_true)),
        Cell::Empty => Some(0.0),
        _ => None,
    };
    let numbers = cells.iter().map(number).collect::<Option<Vec<f64>>>()?;
    let is_whole = numbers.iter().all(|number| number::is_whole(*number));
    Some(match is_whole {
        true => Cells::Integer(numbers.into_iter().map(|number| number as i64).collect()),
        false => Cells::Double(numbers),
    })
}

fn dates(cells: &[Cell]) -> Option<Cells> {
    let day = |cell: &Cell| match cell {
        Cell::Date(days) => Some(*days),
        Cell::Empty => Some(0),
        _ => None,
    };
    if let Some(days) = cells.iter().map(day).collect::<Option<Vec<i32>>>() {
        return Some(Cells::Date(days));
    }
    let micros = |cell: &Cell| match cell {
        Cell::Date(days) => Some(i64::from(*days) * 86_400_000_000),
        Cell::DateTime(micros) => Some(*micros),
        Cell::Empty => Some(0),
        _ => None,
    };
    cells.iter().map(micros).collect::<Option<Vec<i64>>>().map(Cells::DateTime)
}
