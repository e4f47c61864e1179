//! Consecutive fields of a record that are always there and always as long: their bytes, row by row.
//!
//! ```text
//! row 0   | field | field   | field |  room  |
//! row 1   | field | field   | field |  room  |
//! ```
//!
//! Columns are filled in one after the other. Each is written with as many bytes as are quickest, eight
//! or sixteen; what is too much lies where the next column comes, or in the room.

use sources::Rows;
use values::{Converter, PlainText};

use super::BLOCK_ROWS;
use super::number::{Cell, Fill, Put};
use super::rows::BlockRows;
use crate::field;

/// Bytes that text is copied by.
const CHUNK: usize = 16;

/// The first bytes of a chunk, by their number.
const FIRST: [u128; CHUNK + 1] = {
    let mut masks = [0; CHUNK + 1];
    let mut count = 1;
    while count <= CHUNK {
        masks[count] = masks[count - 1] << 8 | 0xFF;
        count += 1;
    }
    masks
};

/// Consecutive fields.
#[derive(Debug)]
pub(super) struct Run {
    columns: Vec<RunColumn>,
    /// Bytes of the fields.
    pub(super) width: usize,
    /// Bytes from one row to the next.
    stride: usize,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct RunColumn {
    content: Content,
    /// Byte of the run at which the field begins.
    at: usize,
    width: usize,
}

/// The content of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// The same in all rows: the first bytes of this big-endian number.
    Constant(u64),
    /// A short number.
    Number {
        /// Position in [`crate::binding::Binding::columns`].
        column: usize,
        field: usize,
    },
    /// Text that is filled up.
    Text {
        /// Position in [`crate::binding::Binding::columns`].
        column: usize,
        field: usize,
        plain: PlainText,
    },
}

impl Run {
    pub(super) fn new() -> Run {
        Run { columns: Vec::new(), width: 0, stride: CHUNK, bytes: Vec::new() }
    }

    /// Adds a field of `width` bytes behind the others.
    pub(super) fn push(&mut self, content: Content, width: usize) {
        self.columns.push(RunColumn { content, at: self.width, width });
        self.width += width;
        self.stride = self.width + CHUNK;
        self.bytes.resize(BLOCK_ROWS * self.stride, 0);
    }

    /// Number of fields.
    #[inline]
    pub(super) fn fields(&self) -> usize {
        self.columns.len()
    }

    /// True if a column depends on a text being ASCII.
    pub(super) fn looks_at_bytes(&self) -> bool {
        let looks = |column: &RunColumn| match column.content {
            Content::Text { plain, .. } => !plain.any_byte,
            _ => false,
        };
        self.columns.iter().any(looks)
    }

    /// Converts the rows; gives a bit for each that could not be. `is_ascii` says that all of their text is.
    pub(super) fn take<'r, R: Rows + 'r>(
        &mut self,
        rows: BlockRows<'r, R>,
        converters: &mut [Converter],
        is_ascii: bool,
        scratch: &mut [Vec<u8>; 2],
    ) -> u64 {
        let mut is_bad = 0;
        let Run { columns, stride, bytes, .. } = self;
        for column in columns {
            let RunColumn { at, width, .. } = *column;
            let mut cells = Cells { bytes, stride: *stride, at, width, is_bad: 0 };
            match column.content {
                Content::Constant(number) => {
                    (0..rows.count()).for_each(|row| cells.put(row, Cell::Number(number)));
                }
                Content::Number { column, field } => {
                    let scratch = &mut scratch[0];
                    let fill = Fill { rows, field, scratch, put: &mut cells };
                    if converters[column].visit_narrow(fill).is_none() {
                        cells.is_bad = u64::MAX;
                    }
                }
                Content::Text { column, field, plain } => {
                    let left = cells.put_texts(rows, field, plain, is_ascii);
                    cells.convert(rows, field, left, &mut converters[column], scratch);
                }
            }
            is_bad |= cells.is_bad;
        }
        is_bad
    }

    /// All bytes of a row's fields.
    #[inline]
    pub(super) fn bytes(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.stride..][..self.width]
    }
}

/// The cells of one column.
struct Cells<'b> {
    bytes: &'b mut [u8],
    stride: usize,
    at: usize,
    width: usize,
    /// A bit for each row that has none.
    is_bad: u64,
}

impl Put for Cells<'_> {
    /// Writes eight bytes, whatever the width.
    #[inline(always)]
    fn put(&mut self, row: usize, cell: Cell) {
        match cell {
            Cell::Number(number) => {
                let cell = &mut self.bytes[row * self.stride + self.at..][..8];
                cell.copy_from_slice(&number.to_be_bytes());
            }
            Cell::Null | Cell::Other => self.is_bad |= 1 << row,
        }
    }
}

impl Cells<'_> {
    /// Writes the texts that are stored as they stand; gives a bit for each row whose is not.
    fn put_texts<'r, R: Rows + 'r>(
        &mut self,
        rows: BlockRows<'r, R>,
        field: usize,
        plain: PlainText,
        is_ascii: bool,
    ) -> u64 {
        let mut places = [(0, 0); BLOCK_ROWS];
        let are_found = rows.find(field, &mut places);
        let text = rows.bytes_of(field);
        let is_copied = plain.any_byte || rows.are_ascii_in(field, is_ascii);
        let mut left = rows.every() & !are_found;
        for (row, place) in places[..rows.count()].iter().enumerate() {
            let (start, end) = (place.0 as usize, place.1 as usize);
            if end - start <= self.width && (is_copied || text[start..end].is_ascii()) {
                self.put_text(row, &text[start..], end - start, plain.pad);
            } else {
                left |= 1 << row;
            }
        }
        left
    }

    /// Writes the first `len` bytes of `text`, filled up with `pad`.
    #[inline(always)]
    fn put_text(&mut self, row: usize, text: &[u8], len: usize, pad: u8) {
        let cell = &mut self.bytes[row * self.stride + self.at..];
        if self.width == 1 {
            cell[0] = if len == 1 { text[0] } else { pad };
            return;
        }
        let pads = [pad; CHUNK];
        for (index, at) in (0..self.width).step_by(CHUNK).enumerate() {
            let Some(out) = cell.get_mut(CHUNK * index..).and_then(|cell| cell.first_chunk_mut())
            else {
                unreachable!("there is room behind the last column");
            };
            let left = len.saturating_sub(at).min(CHUNK);
            let rest = text.get(at..).unwrap_or_default();
            *out = match rest.first_chunk::<CHUNK>() {
                Some(chunk) => {
                    let (chunk, first) = (u128::from_le_bytes(*chunk), FIRST[left]);
                    (chunk & first | u128::from_le_bytes(pads) & !first).to_le_bytes()
                }
                None => {
                    let mut chunk = pads;
                    chunk[..left].copy_from_slice(&rest[..left]);
                    chunk
                }
            };
        }
    }

    /// Converts the texts of rows in `left` as any are.
    fn convert<'r, R: Rows + 'r>(
        &mut self,
        rows: BlockRows<'r, R>,
        field: usize,
        mut left: u64,
        converter: &mut Converter,
        [scratch, stored]: &mut [Vec<u8>; 2],
    ) {
        while left != 0 {
            let row = left.trailing_zeros() as usize;
            left &= left - 1;
            stored.clear();
            let value = field::value(rows.row(row), Some(field), scratch);
            let is_value = converter.convert_value(value, stored) == Ok(true);
            if is_value && stored.len() == self.width {
                self.bytes[row * self.stride + self.at..][..self.width].copy_from_slice(stored);
            } else {
                self.is_bad |= 1 << row;
            }
        }
    }
}
