//! Cells of a worksheet.

use crate::guard::Problem;

/// A cell. Texts are numbers of those that the sheet has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    /// No value.
    Empty,
    /// A number without a format of dates.
    Number(f64),
    /// TRUE or FALSE.
    Bool(bool),
    /// A text.
    Text(u32),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds of a time of day or a duration.
    Time(i64),
    /// Microseconds since 1970-01-01 00:00:00, in no zone.
    DateTime(i64),
    /// An error of a formula, such as #REF!.
    Error(u32),
    /// A formula without a stored value.
    Unstored,
    /// A number with a format of dates that is no date, in its text.
    NoDate(u32),
}

/// The name of a column: A, B, ... XFD, by its number from 0.
pub(crate) fn column_name(column: u32) -> String {
    let (mut left, mut letters) = (u64::from(column) + 1, Vec::new());
    while left > 0 {
        letters.push(b'A' + ((left - 1) % 26) as u8);
        left = (left - 1) / 26;
    }
    letters.iter().rev().map(|letter| char::from(*letter)).collect()
}

/// A problem at a cell.
pub(super) fn placed(
    sheet: &str,
    preposition: &str,
    cell: Option<(u32, u32)>,
    problem: &str,
) -> Problem {
    match cell {
        Some((row, column)) => {
            let column = column_name(column);
            format!("sheet {sheet}, {preposition} {column}{}: {problem}", u64::from(row) + 1)
        }
        None => format!("sheet {sheet}: {problem}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_letters() {
        for (column, name) in [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (16_383, "XFD")] {
            assert_eq!(column_name(column), name);
        }
    }
}
