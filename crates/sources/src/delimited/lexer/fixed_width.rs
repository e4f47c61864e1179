//! Rows of fixed size: what a file is when fields have neither terminator nor quote.
//!
//! ```text
//! widths 3, 2     12 ab\n      [12 ][ab]        a row, and the end of its line
//!                 12 a\n       [12 ][a]         a line that ends early has a short last field
//!                 12\n         [12]             or fewer fields
//!                 12 abcd\n    [12 ][ab][cd]    a longer line has one field more
//! ```
//!
//! Widths are bytes, after escapes are undone; nothing is NULL. Without a line terminator one row
//! follows the other. Source: `read_fixed_length` in the server's `sql/sql_load.cc`.

use super::{Cursor, Lexer, Sink};
use crate::batch::text::DECODE;
use crate::field::FieldKind;

/// Sizes of the fields of a row.
#[derive(Clone, Debug)]
pub(crate) struct FixedWidth {
    /// Bytes each field takes at most.
    field_bytes: Vec<usize>,
    /// Bytes of a row. Not the sum of the above: a BLOB counts 256 here.
    row_bytes: usize,
}

/// A piece of a row.
struct Piece {
    /// Bytes of it in the file.
    raw_bytes: usize,
    /// Bytes it means.
    bytes: usize,
    has_escapes: bool,
    end: End,
}

/// Why a piece ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It has all bytes that were asked for.
    Full,
    /// A line terminator follows.
    Line(usize),
    /// The input ends.
    Input,
    /// More bytes have to be read to tell.
    Unknown,
}

impl FixedWidth {
    pub(crate) fn new(fields: &[FieldKind]) -> FixedWidth {
        FixedWidth {
            field_bytes: fields.iter().map(|field| field.bytes_max as usize).collect(),
            row_bytes: fields.iter().map(|field| field.row_bytes as usize).sum(),
        }
    }
}

impl Lexer {
    /// Reads one row at the cursor, which is behind its prefix; false if more bytes must come
    /// first.
    pub(crate) fn fixed_row<S: Sink>(
        &self,
        cursor: &mut Cursor,
        bytes: &[u8],
        last: bool,
        sink: &mut S,
    ) -> bool {
        let Some(fixed) = &self.fixed else { return false };
        let start = cursor.position;
        let row = self.piece(&bytes[start..], fixed.row_bytes, last);
        let after = start + row.raw_bytes;
        // What is behind a full row, up to the end of its line.
        let rest = match row.end {
            End::Unknown => return false,
            End::Full if !self.terminator.is_empty() => match self.line_ends(&bytes[after..]) {
                Some(rest) => rest,
                // The server no longer looks at what the end of the input cuts off.
                None if last && !self.any_newline => (0, bytes.len() - after),
                None if last => (bytes.len() - after, bytes.len() - after),
                None => return false,
            },
            End::Line(size) => (0, size),
            End::Full | End::Input => (0, 0),
        };
        let mut at = start;
        let mut left = row.bytes;
        for &field_bytes in &fixed.field_bytes {
            if left == 0 {
                break;
            }
            let field = self.piece(&bytes[at..after], field_bytes.min(left), true);
            at += field.raw_bytes;
            left -= field.bytes;
            sink.field(at, if field.has_escapes { DECODE } else { 0 });
        }
        if left > 0 || rest.0 > 0 {
            sink.field(after + rest.0, 0);
        }
        sink.row(after + rest.1);
        *cursor = self.cursor(after + rest.1);
        true
    }

    /// Up to `bytes_max` bytes, escapes undone, up to a line terminator.
    fn piece(&self, bytes: &[u8], bytes_max: usize, last: bool) -> Piece {
        let mut piece = Piece { raw_bytes: 0, bytes: 0, has_escapes: false, end: End::Full };
        while piece.bytes < bytes_max {
            let rest = &bytes[piece.raw_bytes..];
            let (Some(&byte), true) =
                (rest.first(), last || rest.len() > self.terminator.len().max(1))
            else {
                piece.end = if last { End::Input } else { End::Unknown };
                return piece;
            };
            if self.escape == Some(byte) {
                piece.has_escapes = true;
                piece.raw_bytes += rest.len().min(2);
            } else if let Some(size) = self.line_end(rest) {
                piece.end = End::Line(size);
                return piece;
            } else {
                piece.raw_bytes += 1;
            }
            piece.bytes += 1;
        }
        piece
    }
}
