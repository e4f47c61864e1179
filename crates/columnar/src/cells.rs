//! Arrow arrays to cells of typed rows, each value exactly or refused.
//!
//! | Arrow | cells |
//! | --- | --- |
//! | integers, booleans | numbers; for BIT their bytes |
//! | float, double | numbers; NaN and infinity are refused |
//! | decimals to 38 digits; wider ones | numbers; the text of their digits |
//! | dates, times, timestamps | days and microseconds; smaller digits and parts of a day are refused |
//! | texts, bytes | bytes |
//! | dictionaries, runs | cells of their values |
//! | lists, structs, maps | JSON text |

mod geometry;
mod json;
mod numbers;
mod texts;
mod times;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::{DataType, Field};
use sources::batch::{Cells, RefusedCell, TypedColumn};
use values::{Reason, SqlType};

use crate::exact;
use crate::file::Decoded;
use crate::fit::{self, is_uuid};
use crate::guard::{Problem, problem};
use crate::written::is_geometry;

/// A key in the metadata of fields whose early days and times are of another calendar.
pub(crate) const OLD_CALENDAR: &str = "inrush.old_calendar";

/// Cells, and the values that no column takes, by ascending rows.
struct CheckedCells {
    cells: Cells,
    refused: Vec<RefusedCell>,
}

impl From<Cells> for CheckedCells {
    fn from(cells: Cells) -> CheckedCells {
        CheckedCells { cells, refused: Vec::new() }
    }
}

/// A value that no column takes.
fn refused(row: usize, text: impl Into<Vec<u8>>, reason: Reason) -> RefusedCell {
    RefusedCell { row, text: text.into(), reason }
}

/// Numbers as the bytes that a column of bits takes, and those that are none.
#[cfg(feature = "excel")]
pub(crate) fn bits(cells: Cells, refused: &mut Vec<RefusedCell>) -> Cells {
    let made = numbers::bits(cells);
    refused.extend(made.refused);
    refused.sort_by_key(|cell| cell.row);
    refused.dedup_by_key(|cell| cell.row);
    made.cells
}

/// The cells of a column, for a column of the table of this type, if that is known. Texts may take so many bytes.
///
/// Errors: a type that is not supported; texts that take more.
pub(crate) fn column(
    decoded: &Decoded,
    field: &Field,
    sql_type: Option<&SqlType>,
    bytes_max: u64,
) -> Result<TypedColumn, Problem> {
    match decoded {
        Decoded::Array(array) => of_array(array, field, sql_type, bytes_max),
        Decoded::Cells(cells) => Ok(cells.typed(sql_type)),
    }
}

/// The rows of parts of a file, one behind the other.
///
/// Errors: as [`column`]; arrays of different types.
pub(crate) fn joined(parts: Vec<Vec<Decoded>>, bytes_max: u64) -> Result<Vec<Decoded>, Problem> {
    let columns = parts.first().map_or(0, Vec::len);
    let column = |at: usize| {
        let array = |part: &Vec<Decoded>| match part.get(at) {
            Some(Decoded::Array(array)) => plain(array, bytes_max),
            _ => Err("its parts cannot be joined".to_owned()),
        };
        let arrays = parts.iter().map(array).collect::<Result<Vec<ArrayRef>, _>>()?;
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        arrow_select::concat::concat(&arrays).map(Decoded::Array).map_err(problem)
    };
    (0..columns).map(column).collect()
}

fn of_array(
    array: &ArrayRef,
    field: &Field,
    sql_type: Option<&SqlType>,
    bytes_max: u64,
) -> Result<TypedColumn, Problem> {
    let array = plain(array, bytes_max)?;
    let is_valid = match array.nulls() {
        Some(nulls) if nulls.null_count() > 0 => nulls.iter().collect(),
        _ => Vec::new(),
    };
    let mut made = made(&array, field, sql_type, bytes_max)?;
    if field.metadata().contains_key(OLD_CALENDAR) {
        times::refuse_old(&mut made);
    }
    let mut column = TypedColumn { cells: made.cells, is_valid, refused: made.refused };
    if !column.is_valid.is_empty() {
        column.refused.retain(|cell| column.is_valid[cell.row]);
    }
    if let Some(sql_type) = sql_type {
        exact::refuse(&mut column, sql_type);
    }
    Ok(column)
}

fn made(
    array: &ArrayRef,
    field: &Field,
    sql_type: Option<&SqlType>,
    bytes_max: u64,
) -> Result<CheckedCells, Problem> {
    use DataType::*;
    let made = match array.data_type() {
        Null => Cells::Null(array.len()).into(),
        Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => {
            let cells = numbers::integers(array);
            match sql_type {
                Some(SqlType::Bit { .. }) => numbers::bits(cells),
                Some(SqlType::Year) => numbers::years(cells),
                _ => cells.into(),
            }
        }
        Float16 | Float32 | Float64 => numbers::reals(array),
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => {
            numbers::decimals(array, sql_type)
        }
        Date32 | Date64 => times::dates(array),
        Time32(_) | Time64(_) | Duration(_) => times::times(array),
        Timestamp(..) => times::timestamps(array, sql_type),
        FixedSizeBinary(16) if is_uuid(field) && is_uuid_text(sql_type) => texts::uuids(array),
        Binary | LargeBinary | BinaryView
            if sql_type.is_some_and(is_geometry) && fit::srid(field).is_some() =>
        {
            let srid = fit::srid(field).unwrap_or("0").parse().map_err(problem)?;
            geometry::with_srid(texts::bytes(array, bytes_max)?, srid)
        }
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => {
            texts::bytes(array, bytes_max)?.into()
        }
        List(_) | LargeList(_) | FixedSizeList(..) | ListView(_) | LargeListView(_) | Struct(_)
        | Map(..) => json::texts(array, field, bytes_max)?,
        other => return Err(format!("its type {other} is not supported")),
    };
    Ok(made)
}

/// True if a column takes the text of a UUID, and not its bytes.
fn is_uuid_text(sql_type: Option<&SqlType>) -> bool {
    !matches!(
        sql_type,
        Some(SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Blob { .. })
    )
}

/// The array with a value a row: those of a dictionary or of runs are copied to their rows.
///
/// Errors: indices that are out of range; values that take more bytes than `bytes_max` then.
fn plain(array: &ArrayRef, bytes_max: u64) -> Result<ArrayRef, Problem> {
    let (values, keys): (ArrayRef, UInt64Array) = match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = dictionary.values();
            // There may be no value at all where every key is NULL.
            let keys =
                if values.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
            let is_valid = |row: usize| dictionary.keys().is_valid(row) && !values.is_empty();
            let keys = keys.into_iter().enumerate();
            let keys = keys.map(|(row, key)| is_valid(row).then_some(key as u64));
            (values.clone(), keys.collect())
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(array)?,
            DataType::Int32 => runs::<Int32Type>(array)?,
            _ => runs::<Int64Type>(array)?,
        },
        _ => return Ok(array.clone()),
    };
    check_bytes(&values, &keys, bytes_max)?;
    let taken = arrow_select::take::take(&values, &keys, None).map_err(problem)?;
    plain(&taken, bytes_max)
}

fn runs<R: RunEndIndexType>(array: &ArrayRef) -> Result<(ArrayRef, UInt64Array), Problem> {
    let runs = array.as_run_opt::<R>().ok_or("its runs are damaged")?;
    let keys = (0..runs.len()).map(|row| runs.get_physical_index(row) as u64);
    Ok((runs.values().clone(), keys.collect()))
}

/// Refuses to copy values of which a few bytes of keys would make too many.
fn check_bytes(values: &ArrayRef, keys: &UInt64Array, bytes_max: u64) -> Result<(), Problem> {
    let mut bytes = 0u64;
    for key in keys.iter().flatten() {
        bytes += texts::size(values, key as usize).unwrap_or(8) as u64;
    }
    texts::check(bytes, bytes_max)
}
