//! A column of texts of varying length: where in the chunk those are that are stored as they stand.

use sources::{Places, Rows};
use values::PlainText;

use super::BLOCK_ROWS;
use super::rows::BlockRows;

/// One column of a block.
#[derive(Debug)]
pub(super) struct TextColumn {
    /// Position in [`crate::binding::Binding::columns`].
    pub(super) column: usize,
    pub(super) field: usize,
    plain: PlainText,
    /// Begin and end of each row's text.
    places: Box<Places>,
    /// A bit for each row: whether it has a place.
    is_known: u64,
}

impl TextColumn {
    pub(super) fn new(column: usize, field: usize, plain: PlainText) -> TextColumn {
        let places = Box::new([(0, 0); BLOCK_ROWS]);
        TextColumn { column, field, plain, places, is_known: 0 }
    }

    /// True if the column depends on a text being ASCII.
    pub(super) fn looks_at_bytes(&self) -> bool {
        !self.plain.any_byte
    }

    /// `is_ascii` says that all of the rows' text is.
    pub(super) fn take<'r, R: Rows + 'r>(&mut self, rows: BlockRows<'r, R>, is_ascii: bool) {
        self.is_known = 0;
        let mut are_found = rows.find(self.field, &mut self.places);
        if are_found == 0 {
            return;
        }
        let text = rows.bytes_of(self.field);
        let is_copied = self.plain.any_byte || rows.are_ascii_in(self.field, is_ascii);
        let mut is_known = 0;
        for (row, place) in self.places[..rows.count()].iter_mut().enumerate() {
            let (start, end) = (place.0 as usize, place.1 as usize);
            let is_plain =
                end - start <= self.plain.bytes_max && (is_copied || text[start..end].is_ascii());
            is_known |= (are_found & u64::from(is_plain)) << row;
            are_found >>= 1;
        }
        self.is_known = is_known;
    }

    /// Where the text of a row begins in that of the chunk, and its bytes, if it is stored as it stands.
    #[inline]
    pub(super) fn place(&self, row: usize) -> Option<(usize, usize)> {
        let (start, end) = self.places[row];
        (self.is_known >> row & 1 == 1).then_some((start as usize, (end - start) as usize))
    }

    /// Bytes up to which a text is filled up, and with what.
    #[inline]
    pub(super) fn pad(&self) -> (usize, u8) {
        (self.plain.padded_bytes, self.plain.pad)
    }
}
