//! Values made from a line: joined texts, values of other rows.

use sources::batch::{Cells, TypedColumn};
use sources::{Picked, Row, TextRow};
use values::Value;

use super::known::KnownValue;
use super::resolved::{LineColumn, PlacedPiece};

/// Values for a line besides its own.
pub(super) trait OfRow {
    /// The value from the known row of this number among the requested ones.
    fn known(&self, number: usize) -> Option<KnownValue<'_>>;
    /// The id of the row that it is.
    fn own_id(&self) -> Option<u64>;
    /// The name of its file.
    fn file_name(&self) -> &[u8];
    /// Its number.
    fn line(&self) -> u64;
}

/// A column for what is made so.
pub(super) fn column(made: &LineColumn) -> TypedColumn {
    let cells = match made {
        LineColumn::OwnId | LineColumn::Id(_) | LineColumn::Line => Cells::Unsigned(Vec::new()),
        LineColumn::Joined(_) | LineColumn::Looked(_) | LineColumn::FileName => {
            Cells::Bytes { ends: Vec::new(), bytes: Vec::new() }
        }
    };
    TypedColumn::from(cells)
}

/// Without rows.
pub(super) fn clear(picked: &mut Picked) {
    picked.rows.clear();
    for TypedColumn { cells, is_valid, .. } in &mut picked.made {
        is_valid.clear();
        match cells {
            Cells::Unsigned(cells) => cells.clear(),
            Cells::Bytes { ends, bytes } => {
                ends.clear();
                bytes.clear();
            }
            _ => {}
        }
    }
}

/// Appends what is made of a line; `scratch` is overwritten.
pub(super) fn push(
    made: &LineColumn,
    column: &mut TypedColumn,
    line: TextRow<'_>,
    of: &impl OfRow,
    scratch: &mut Vec<u8>,
) {
    let is_valid = match (&mut column.cells, made) {
        (Cells::Unsigned(cells), made) => {
            let number = match made {
                LineColumn::Line => Some(of.line()),
                LineColumn::Id(number) => match of.known(*number) {
                    Some(KnownValue::Id(id)) => Some(id),
                    _ => None,
                },
                _ => of.own_id(),
            };
            cells.push(number.unwrap_or_default());
            number.is_some()
        }
        (Cells::Bytes { ends, bytes }, made) => {
            let start = bytes.len();
            let is_valid = match made {
                LineColumn::Joined(pieces) => join(pieces, line, bytes, scratch),
                LineColumn::FileName => {
                    bytes.extend_from_slice(of.file_name());
                    true
                }
                LineColumn::Looked(number) => match of.known(*number) {
                    Some(KnownValue::Id(id)) => {
                        push_number(id, bytes);
                        true
                    }
                    Some(KnownValue::Text(text)) => {
                        bytes.extend_from_slice(text);
                        true
                    }
                    None => false,
                },
                LineColumn::OwnId | LineColumn::Id(_) | LineColumn::Line => false,
            };
            if !is_valid {
                bytes.truncate(start);
            }
            ends.push(bytes.len());
            is_valid
        }
        _ => false,
    };
    column.is_valid.push(is_valid);
}

fn push_number(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends pieces; whether none of them is NULL.
fn join(
    pieces: &[PlacedPiece],
    line: TextRow<'_>,
    out: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
) -> bool {
    pieces.iter().all(|piece| match piece {
        PlacedPiece::Text(text) => {
            out.extend_from_slice(text);
            true
        }
        PlacedPiece::Field(field) => match line.value(*field, scratch) {
            Value::Bytes(text) => {
                out.extend_from_slice(text);
                true
            }
            _ => false,
        },
    })
}
