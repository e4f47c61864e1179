//! Where a row of the input is.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use sources::Chunk;

/// A row of the input: file, line and byte, as an editor counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file as it was named.
    pub file: PathBuf,
    /// Line on which the row begins, from 1; of an input whose rows are no text, its number.
    pub line: u64,
    /// Byte of the file at which the row begins, from 0, where rows are text.
    pub offset: Option<u64>,
}

impl Position {
    /// Where the row is that begins at `at` of a chunk. Counts from the start of the chunk: for few.
    pub fn of(chunk: &Chunk, at: usize, files: &[PathBuf]) -> Position {
        Position {
            file: file_of(chunk, at, files),
            line: chunk.line_at(at),
            offset: offset(chunk, chunk.offset_at(at)),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.offset {
            Some(offset) => write!(f, "{file} line {} (byte {offset})", self.line),
            None => write!(f, "{file} row {}", self.line),
        }
    }
}

/// A row that was refused, as errors have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// Where it is.
    pub position: Position,
    /// Field of the line, from 1; none when the line as a whole is at fault.
    pub field: Option<usize>,
    /// Column the field goes to.
    pub column: Option<String>,
    /// The value, cut.
    pub value: Option<String>,
    /// Why it was refused.
    pub reason: String,
}

impl fmt::Display for RefusedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.position)?;
        if let Some(field) = self.field {
            write!(f, ", field {field}")?;
        }
        if let Some(column) = &self.column {
            write!(f, " `{column}`")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Where in the input an error is, for programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ErrorPlace {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Byte of the file, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// Field of the line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<usize>,
    /// Column that the field goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The value, cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Why the row was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<&Position> for ErrorPlace {
    fn from(position: &Position) -> ErrorPlace {
        ErrorPlace {
            file: position.file.display().to_string(),
            line: position.line,
            byte: position.offset,
            ..ErrorPlace::default()
        }
    }
}

impl From<&RefusedRow> for ErrorPlace {
    fn from(row: &RefusedRow) -> ErrorPlace {
        ErrorPlace {
            field: row.field,
            column: row.column.clone(),
            value: row.value.clone(),
            reason: Some(row.reason.clone()),
            ..ErrorPlace::from(&row.position)
        }
    }
}

fn file_of(chunk: &Chunk, at: usize, files: &[PathBuf]) -> PathBuf {
    files.get(chunk.file_at(at) as usize).cloned().unwrap_or_default()
}

fn offset(chunk: &Chunk, offset: u64) -> Option<u64> {
    chunk.first_record.is_none().then_some(offset)
}

/// Finds lines and bytes of the file for rows of one chunk after the other, in order: each byte is
/// looked at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places {
    /// The record at hand, where records have places of their own.
    record: usize,
    /// Where in the chunk bytes were counted up to, and the byte of the file there.
    at: usize,
    offset: u64,
    /// Where lines were counted up to, which are asked for less often, and the line there.
    line_at: usize,
    line: u64,
}

impl Places {
    /// At the start of `chunk`.
    pub fn of(chunk: &Chunk) -> Places {
        Places { record: 0, at: 0, offset: chunk.offset, line_at: 0, line: chunk.line_at(0) }
    }

    /// Line and byte of the file at which the row at `at` begins, which is not before that of the
    /// call before.
    #[inline]
    pub fn advance(&mut self, chunk: &Chunk, at: usize) -> (u64, u64) {
        let offset = self.advance_bytes(chunk, at);
        (self.line(chunk), offset)
    }

    /// Byte of the file at which the row at `at` begins, as [`Places::advance`].
    #[inline]
    pub fn advance_bytes(&mut self, chunk: &Chunk, at: usize) -> u64 {
        if !chunk.places.is_empty() {
            self.enter_record(chunk, at);
        }
        self.offset += chunk.file_bytes_between(self.at, at);
        self.at = at;
        self.offset
    }

    /// Counts on from the record that `at` is in.
    fn enter_record(&mut self, chunk: &Chunk, at: usize) {
        while let Some(next) = chunk.places.get(self.record + 1).filter(|next| next.at <= at) {
            let record = self.record + 1;
            let (at, line) = (next.at, next.line);
            *self = Places { record, at, offset: next.offset, line_at: at, line };
        }
    }

    /// Line of the file on which the row begins that was asked about last.
    #[inline]
    pub fn line(&mut self, chunk: &Chunk) -> u64 {
        self.line += chunk.lines_between(self.line_at, self.at);
        self.line_at = self.at;
        self.line
    }

    /// Where the row at `at` is, as [`Places::advance`]; of a chunk whose records are from several
    /// places too.
    pub fn find(&mut self, chunk: &Chunk, files: &[PathBuf], at: usize) -> Position {
        if !chunk.places.is_empty() {
            return Position::of(chunk, at, files);
        }
        let (line, bytes) = self.advance(chunk, at);
        Position { file: file_of(chunk, at, files), line, offset: offset(chunk, bytes) }
    }
}

#[cfg(test)]
mod tests {
    use sources::RecordPlace;

    use super::*;

    #[test]
    fn places_of_records_from_anywhere_are_theirs() {
        let place = |at, offset, line| RecordPlace { at, file: 0, offset, line };
        let chunk = Chunk {
            offset: 40,
            first_line: 5,
            bytes: b"a\n\"b\nb\"\nc\n".to_vec(),
            places: vec![place(0, 40, 5), place(2, 70, 9), place(8, 76, 11)],
            ..Chunk::default()
        };
        let mut places = Places::of(&chunk);
        let seen: Vec<_> = [0, 2, 5, 8].map(|at| places.advance(&chunk, at)).to_vec();
        assert_eq!(seen, [(5, 40), (9, 70), (10, 73), (11, 76)]);
        let mut late = Places::of(&chunk);
        assert_eq!(late.advance(&chunk, 8), (11, 76));
    }
}
