//! The rows of one transaction: those of one chunk of input, as the server gets them.

use std::ops::Range;

use sources::{Batch, Chunk, Row, Rows, Visit};

/// How rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines of LOAD DATA: tabs, `\N`, backslash escapes, `\n`.
    #[default]
    Lines,
    /// `(..),` of a multi-row INSERT. Always UTF-8.
    Tuples,
    /// Values of a prepared INSERT, each after its length. In the character set of the file.
    Values,
}

/// The rows of one chunk of input, converted once to see that they are good, and written out.
///
/// Made and overwritten by [`super::encoder::Encoder`]; a connection keeps one, so that its buffers
/// grow once.
#[derive(Debug, Default)]
pub(crate) struct SentChunk {
    /// Place among all chunks: 0, 1, 2, ...
    pub(crate) ordinal: u64,
    pub(crate) form: Form,
    /// The accepted rows, back to back.
    pub(crate) text: Vec<u8>,
    /// One an accepted row, in order.
    pub(crate) rows: Vec<SentRow>,
    /// The chunk that the rows came from.
    pub(crate) input: Chunk,
    /// All rows of the chunk.
    pub(crate) batch: Batch,
    /// Rows of the batch that the conversion refused, by their place there, in order. Their reasons are found again
    /// when the chunk is in.
    pub(crate) rejected: Vec<u32>,
}

/// Where a row is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentRow {
    /// End of its text; it begins where the one before ends.
    pub(crate) end: usize,
    /// Its bytes in the chunk, terminator included; where rows are no text, its place among them.
    pub(crate) raw: Range<usize>,
}

impl SentChunk {
    /// A row as a file of rejects gets it, by what [`SentRow::raw`] says of it.
    pub(crate) fn raw(&self, raw: Range<usize>) -> Vec<u8> {
        match self.input.first_record {
            None => self.input.bytes.get(raw).unwrap_or_default().to_owned(),
            Some(_) => self.batch.visit(&self.input, Raw { index: raw.start }),
        }
    }

    /// The texts of these rows, back to back, and where each is.
    pub(crate) fn only(&self, rows: &[usize]) -> (Vec<u8>, Vec<SentRow>) {
        let (mut text, mut places) = (Vec::new(), Vec::with_capacity(rows.len()));
        for &row in rows {
            let begin = row.checked_sub(1).map_or(0, |before| self.rows[before].end);
            text.extend_from_slice(&self.text[begin..self.rows[row].end]);
            places.push(SentRow { end: text.len(), raw: self.rows[row].raw.clone() });
        }
        (text, places)
    }

    /// The text of some of the rows, as a statement wants it: tuples without the last comma.
    pub(crate) fn text_of(&self, rows: Range<usize>) -> &[u8] {
        let begin = rows.start.checked_sub(1).map_or(0, |before| self.rows[before].end);
        let end = rows.end.checked_sub(1).map_or(0, |last| self.rows[last].end);
        let text = self.text.get(begin..end).unwrap_or_default();
        match self.form {
            Form::Lines | Form::Values => text,
            Form::Tuples => text.strip_suffix(b",").unwrap_or(text),
        }
    }
}

/// Gives a row as it is in its file, or as a line of LOAD DATA.
struct Raw {
    index: usize,
}

impl Visit for Raw {
    type Output = Vec<u8>;

    fn rows<R: Rows>(self, rows: R) -> Vec<u8> {
        let is_there = self.index < rows.len();
        if is_there { rows.row(self.index).raw().into_owned() } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_rows_is_cut_where_they_end() {
        let row = |end| SentRow { end, raw: 0..0 };
        let mut chunk = SentChunk {
            form: Form::Tuples,
            text: b"(1),(22),(3),".to_vec(),
            rows: vec![row(4), row(9), row(13)],
            ..SentChunk::default()
        };
        assert_eq!(chunk.text_of(0..3), b"(1),(22),(3)");
        assert_eq!(chunk.text_of(1..2), b"(22)");
        assert_eq!(chunk.text_of(2..2), b"");
        assert_eq!(chunk.text_of(0..0), b"");
        let (text, rows) = chunk.only(&[0, 2]);
        assert_eq!((&text[..], rows[1].end), (&b"(1),(3),"[..], 8));
        chunk.form = Form::Lines;
        chunk.text = b"1\n1\n22222\n33\n".to_vec();
        assert_eq!(chunk.text_of(1..3), &chunk.text[4..13]);
    }
}
