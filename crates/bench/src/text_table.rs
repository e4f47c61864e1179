//! A table for people: each column as wide as what is in it.

use std::fmt;

/// Between two columns.
const GAP: &str = "  ";

/// Lines of cells, the first of which is left-aligned; the others stand at the right of their column.
pub(crate) struct TextTable {
    lines: Vec<Vec<String>>,
}

impl TextTable {
    /// A table with these heads.
    pub(crate) fn new(heads: impl IntoIterator<Item = impl Into<String>>) -> TextTable {
        TextTable { lines: vec![heads.into_iter().map(Into::into).collect()] }
    }

    /// Adds a line; one with fewer cells than heads ends there.
    pub(crate) fn line(&mut self, cells: impl IntoIterator<Item = String>) {
        self.lines.push(cells.into_iter().collect());
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths: Vec<usize> = Vec::new();
        for line in &self.lines {
            widths.resize(widths.len().max(line.len()), 0);
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for line in &self.lines {
            let mut text = String::new();
            for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
                text += &match at {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{GAP}{cell:>width$}"),
                };
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let mut table = TextTable::new(["way", "rows/s", "s"]);
        table.line(["LOAD DATA".to_owned(), "1".to_owned(), "10.25".to_owned()]);
        table.line(["all".to_owned(), "1,000,000".to_owned()]);
        let text =
            "way           rows/s      s\nLOAD DATA          1  10.25\nall        1,000,000\n";
        assert_eq!(table.to_string(), text);
    }
}
