//! Rows as text, in pieces that are handed on.

use columnar::RowGroup;
use values::decode::Decoder;

use crate::error::Error;
use crate::layout::{Field, Layout, Stored, Unwritable};
use crate::memo::Memo;
use crate::options::{ExportOptions, Split};

/// Most bytes of rows in a statement, but for one that is longer by itself: servers take 16 MiB at least.
const STATEMENT_BYTES: usize = 512 << 10;
/// Where files are cut, so that each is nearly as long as it may be.
const STATEMENT_ROWS: u64 = 100;
const STATEMENTS_OF_FILE: u64 = 16;
/// Rows after which it is known in which columns values come again.
const TRIAL_ROWS: u64 = 8192;
/// Chunks as large as what is remembered of all columns, at most.
const MEMO_CHUNKS: usize = 2;

/// Some rows, whole.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    /// The compressed form of these bytes, if the file is compressed.
    pub(crate) packed: Vec<u8>,
    pub(crate) rows: u64,
    /// Bytes of the table's file that were read for it, and none for any other.
    pub(crate) read_bytes: u64,
    /// Where it may be cut, in order, its end the last; empty where nobody cuts it.
    pub(crate) cuts: Vec<Cut>,
    /// A row group of a file with typed columns, in place of text.
    pub(crate) group: Option<RowGroup>,
}

impl Chunk {
    /// Bytes of memory that the rows take.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match &self.group {
            Some(group) => group.bytes(),
            None => self.bytes.len() as u64,
        }
    }

    /// Bytes of text, or of values.
    pub(crate) fn plain_bytes(&self) -> u64 {
        match &self.group {
            Some(group) => group.value_bytes,
            None => self.bytes.len() as u64,
        }
    }
}

/// A place between two rows, or statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) end: usize,
    /// Rows since the cut before.
    pub(crate) rows: u64,
}

/// Writes rows into a chunk.
#[derive(Debug)]
pub(crate) struct RowText<'a> {
    layout: &'a Layout,
    fields: &'a [Field],
    chunk_bytes: usize,
    /// True if the text is cut.
    is_cut: bool,
    statement_bytes: usize,
    statement_rows: u64,
    chunk: Chunk,
    /// Texts of values, by their column; none where the layout writes no stored values.
    memos: Vec<Memo>,
    /// Rows since the memos were judged.
    tried_rows: u64,
    /// Bytes and rows before the statement at hand, if there is one.
    statement: Option<(usize, u64)>,
}

impl<'a> RowText<'a> {
    pub(crate) fn new(
        layout: &'a Layout,
        fields: &'a [Field],
        options: &ExportOptions,
    ) -> RowText<'a> {
        let split = options.split;
        let is_cut = split != Split::default();
        let most_rows = if is_cut { STATEMENT_ROWS } else { u64::MAX };
        let most_bytes =
            split.bytes.map_or(usize::MAX, |bytes| (bytes / STATEMENTS_OF_FILE) as usize);
        RowText {
            layout,
            fields,
            chunk_bytes: options.chunk_bytes(),
            is_cut,
            statement_bytes: STATEMENT_BYTES.min(most_bytes),
            statement_rows: split.rows.map_or(most_rows, |rows| rows.min(most_rows)),
            chunk: Chunk::default(),
            memos: memos(layout, fields, options),
            tried_rows: 0,
            statement: None,
        }
    }

    /// Goes on in a chunk whose rows are written, for its memory.
    pub(crate) fn reuse(&mut self, mut spare: Chunk) {
        spare.bytes.clear();
        spare.cuts.clear();
        (spare.rows, spare.read_bytes) = (0, 0);
        self.chunk = spare;
    }

    #[inline]
    pub(crate) fn begin_row(&mut self) {
        if self.statement.is_none() && self.layout.has_statements() {
            self.statement = Some((self.chunk.bytes.len(), self.chunk.rows));
            self.layout.begin_rows(&mut self.chunk.bytes);
        }
        self.layout.begin_row(&mut self.chunk.bytes);
    }

    /// The next value of the row.
    #[inline]
    pub(crate) fn value(&mut self, field: usize, value: Option<&[u8]>) -> Result<(), Error> {
        let written = self.layout.value(field, value, &mut self.chunk.bytes);
        written.map_err(|error| self.unwritable(error))
    }

    /// The same, of a value as it is stored.
    #[inline(always)]
    pub(crate) fn stored(&mut self, field: usize, decoder: &Decoder, stored: &[u8]) -> Stored {
        let out = &mut self.chunk.bytes;
        if self.memos.get(field).is_some_and(|memo| memo.push(stored, out)) {
            return Stored::Written;
        }
        let start = out.len();
        let written = self.layout.stored(field, decoder, stored, out);
        if let Some(memo) = self.memos.get_mut(field) {
            memo.note(stored, (written == Stored::Written).then(|| &out[start..]));
        }
        written
    }

    #[cold]
    fn unwritable(&self, error: Unwritable) -> Error {
        let column = self.fields[error.field].name.clone();
        Error::Value { column, why: error.why.into() }
    }

    /// Ends the row; whether the chunk is to be handed on.
    #[inline]
    pub(crate) fn end_row(&mut self) -> bool {
        self.layout.end_row(&mut self.chunk.bytes);
        self.chunk.rows += 1;
        if let Some((start, rows_before)) = self.statement {
            let is_long = self.chunk.bytes.len() - start >= self.statement_bytes;
            if is_long || self.chunk.rows - rows_before >= self.statement_rows {
                self.end_statement();
            }
        } else if self.is_cut {
            self.chunk.cuts.push(Cut { end: self.chunk.bytes.len(), rows: 1 });
        }
        self.chunk.bytes.len() >= self.chunk_bytes
    }

    fn end_statement(&mut self) {
        let Some((_, rows_before)) = self.statement.take() else { return };
        self.layout.end_rows(&mut self.chunk.bytes);
        if self.is_cut {
            let rows = self.chunk.rows - rows_before;
            self.chunk.cuts.push(Cut { end: self.chunk.bytes.len(), rows });
        }
    }

    /// Takes the text since the chunk before.
    pub(crate) fn take(&mut self) -> Chunk {
        self.end_statement();
        self.tried_rows += self.chunk.rows;
        if self.tried_rows >= TRIAL_ROWS {
            self.memos.iter_mut().for_each(|memo| memo.judge(self.tried_rows));
            self.tried_rows = 0;
        }
        std::mem::take(&mut self.chunk)
    }
}

fn memos(layout: &Layout, fields: &[Field], options: &ExportOptions) -> Vec<Memo> {
    let Layout::Delimited(_) = layout else { return Vec::new() };
    let share = MEMO_CHUNKS * options.chunk_bytes() / fields.len().max(1);
    fields.iter().map(|_| Memo::new(share)).collect()
}
