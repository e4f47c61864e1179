//! Positions of rows and bytes in an input.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A position in the input, as an editor counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file as it was named.
    pub file: PathBuf,
    /// Line, from 1, counted by `\n`; of an input whose rows are no text, the number of the row.
    pub line: u64,
    /// Byte, from 0, of the file after decompression, where rows are text; of a UTF-16 or UTF-32 file as it is.
    pub offset: Option<u64>,
    /// The part of the file, where a file has such parts.
    pub part: Option<Arc<PartPlace>>,
}

/// A part of a file: a row group, a record batch, a sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartPlace {
    /// Its name, as messages have it.
    pub name: String,
    /// Names of the columns of a sheet, by field: a field of a row is a cell then. None for a column that it lacks.
    pub cells: Option<Vec<Option<String>>>,
}

impl Position {
    /// A position in text.
    pub fn in_text(file: &Path, line: u64, offset: u64) -> Position {
        Position { file: file.to_owned(), line, offset: Some(offset), part: None }
    }

    /// The cell of a sheet that a field, from 1, is in: B7.
    pub fn cell(&self, field: Option<usize>) -> Option<String> {
        let columns = self.part.as_ref()?.cells.as_ref()?;
        let column = columns.get(field?.checked_sub(1)?)?.as_ref()?;
        Some(format!("{column}{}", self.line))
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.offset {
            Some(offset) => write!(f, "{file} line {} (byte {offset})", self.line)?,
            None => write!(f, "{file} row {}", self.line)?,
        }
        match self.part.as_deref() {
            // Row numbers of other files do not depend on the part.
            Some(PartPlace { name, cells: Some(_) }) => write!(f, " of {name}"),
            _ => Ok(()),
        }
    }
}
