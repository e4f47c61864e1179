//! A field of a row to a column's stored form; `block` does the usual forms of many rows at once.

use sources::Row;
use values::{Converter, Value};

use crate::fault::FaultKind;

/// A row's value in a field; NULL if there is no such field.
#[inline]
pub fn value<'v, R: Row + 'v>(row: R, field: Option<usize>, scratch: &'v mut Vec<u8>) -> Value<'v> {
    match field {
        Some(field) if field < row.field_count() => row.value(field, scratch),
        _ => Value::Null,
    }
}

/// The text of a field as the file has it, for messages; none where there is none, or it says NULL.
#[cold]
pub fn written<R: Row>(row: R, field: Option<usize>) -> Option<Vec<u8>> {
    let field = field.filter(|field| *field < row.field_count())?;
    let (mut scratch, mut text) = (Vec::new(), Vec::new());
    row.written(field, &mut scratch).text(&mut text).map(<[u8]>::to_vec)
}

/// Appends the stored form of a value to `out`; whether it is NULL. `on_null` is what that becomes
/// in a column that is NOT NULL, if it becomes anything.
///
/// Errors: why the row is refused; then nothing was appended.
#[inline]
pub fn store<'n>(
    value: Value<'_>,
    converter: &mut Converter,
    nullable: bool,
    on_null: impl FnOnce() -> Option<&'n [u8]>,
    out: &mut Vec<u8>,
) -> Result<bool, FaultKind> {
    match converter.convert_value(value, out) {
        Ok(true) => Ok(false),
        Ok(false) if nullable => Ok(true),
        Ok(false) => store_null(on_null(), out),
        Err(reason) => Err(FaultKind::Value(reason)),
    }
}

#[cold]
fn store_null(on_null: Option<&[u8]>, out: &mut Vec<u8>) -> Result<bool, FaultKind> {
    out.extend_from_slice(on_null.ok_or(FaultKind::Null)?);
    Ok(false)
}
