//! Faults of rows, in words.

use encode::field;
use encode::rejects::{Also, Reject};
use job::position::{Position, RefusedRow};
use sources::Row;

/// A fault of a row, and its class: the same words for all rows that are at fault in that way.
pub(crate) type Fault = (Also, String);

/// A row that is refused for all of this, the first fault before others.
pub(crate) fn reject(
    position: Position,
    (first, class): Fault,
    others: impl Iterator<Item = Fault>,
    raw: Vec<u8>,
) -> Reject {
    let Also { field, column, value, reason, .. } = first;
    let placed = |(also, _): Fault| Also { cell: position.cell(also.field), ..also };
    let also = others.map(placed).collect();
    Reject { row: RefusedRow { position, field, column, value, reason }, class, also, raw }
}

/// A fault of a field of a row, which goes to `column`.
pub(crate) fn of_field<R: Row>(
    row: R,
    field: Option<usize>,
    column: String,
    reason: String,
) -> Also {
    let value = field.and_then(|field| text(row, field));
    let field = field.map(|field| field + 1);
    Also { field, column: Some(column), cell: None, value, reason }
}

/// A field for people; none if it is NULL.
pub(crate) fn text<R: Row>(row: R, field: usize) -> Option<String> {
    field::written(row, Some(field)).as_deref().map(Reject::cut)
}
