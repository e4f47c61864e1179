//! Columns of a new table for the cells of sheets.

use super::ExcelFile;
use super::cell::Cell;
use super::number;
use crate::guess::ColumnGuess;

/// Characters of a VARCHAR for texts of at most half as many.
const WIDTH: usize = 255;
const SECOND: i64 = 1_000_000;

/// The cells of a column: kinds that it has, and the widest of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CellStatistics {
    numbers: u64,
    truths: u64,
    texts: u64,
    dates: u64,
    times: u64,
    datetimes: u64,
    chars_max: usize,
    bytes_max: usize,
    whole_max: f64,
    has_fractions: bool,
    has_millis: bool,
}

/// Adds the cells of a sheet to those of its columns before, and gives its rows; `columns` are those of the input.
pub(crate) fn examine(
    file: &ExcelFile,
    columns: &[Option<usize>],
    seen: &mut [CellStatistics],
) -> u64 {
    for (column, seen) in columns.iter().zip(seen) {
        let Some(column) = column else { continue };
        for row in 0..file.sheet.row_count() {
            seen.take(file, file.sheet.cell(*column, row));
        }
    }
    file.sheet.row_count() as u64
}

impl CellStatistics {
    fn take(&mut self, file: &ExcelFile, cell: Cell) {
        match cell {
            Cell::Empty | Cell::Error(_) | Cell::Unstored | Cell::NoDate(_) => {}
            Cell::Bool(_) => self.truths += 1,
            Cell::Number(number) => {
                self.numbers += 1;
                self.has_fractions |= number.fract() != 0.0;
                self.whole_max = self.whole_max.max(number.abs());
            }
            Cell::Text(number) => {
                let text = file.sheet.text(number);
                // An empty text is no value of a column of numbers or dates.
                self.texts += u64::from(!text.is_empty());
                self.bytes_max = self.bytes_max.max(text.len());
                self.chars_max = self.chars_max.max(text.chars().count());
            }
            Cell::Date(_) => self.dates += 1,
            Cell::Time(micros) => {
                self.times += 1;
                self.has_millis |= micros % SECOND != 0;
            }
            Cell::DateTime(micros) => {
                self.datetimes += 1;
                self.has_millis |= micros % SECOND != 0;
            }
        }
    }

    /// The column of a table for the cells.
    pub(crate) fn column(self, name: &str) -> ColumnGuess {
        let others = |of: u64| self.total() - of;
        let digits = if self.has_millis { "(3)" } else { "" };
        let mut long_type = None;
        let sql_type = match self {
            _ if self.total() == 0 => format!("VARCHAR({WIDTH})"),
            _ if others(self.truths) == 0 => "TINYINT(1)".to_owned(),
            _ if others(self.numbers) == 0 => self.number_type().to_owned(),
            _ if others(self.dates) == 0 => "DATE".to_owned(),
            _ if others(self.dates + self.datetimes) == 0 => format!("DATETIME{digits}"),
            _ if others(self.times) == 0 => format!("TIME{digits}"),
            _ => {
                let text = match self.bytes_max.saturating_mul(4) {
                    0..=0xffff => "TEXT",
                    _ => "MEDIUMTEXT",
                };
                long_type = Some(text);
                match self.chars_max * 2 <= WIDTH {
                    true => format!("VARCHAR({WIDTH})"),
                    false => text.to_owned(),
                }
            }
        };
        ColumnGuess { name: name.to_owned(), sql_type, long_type, is_empty: self.total() == 0 }
    }

    fn total(self) -> u64 {
        let CellStatistics { numbers, truths, texts, dates, times, datetimes, .. } = self;
        numbers + truths + texts + dates + times + datetimes
    }

    fn number_type(self) -> &'static str {
        match self.has_fractions || self.whole_max >= number::WHOLE_MAX {
            true => "DOUBLE",
            false if self.whole_max <= f64::from(i32::MAX) => "INT",
            false => "BIGINT",
        }
    }
}
