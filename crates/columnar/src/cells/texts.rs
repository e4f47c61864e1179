//! Texts and bytes of Arrow arrays to cells.

use arrow_array::cast::AsArray;
use arrow_array::types::ByteArrayType;
use arrow_array::{Array, ArrayRef, GenericByteArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;
use face::option::MEMORY;
use sources::batch::Cells;

use super::CheckedCells;
use crate::guard::Problem;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Texts or bytes as they are.
///
/// Errors: they take more bytes than that.
pub(super) fn bytes(array: &ArrayRef, bytes_max: u64) -> Result<Cells, Problem> {
    macro_rules! copy {
        ($array:expr) => {{
            let array = $array;
            copy(array.len(), |row| AsRef::<[u8]>::as_ref(array.value(row)), array, bytes_max)
        }};
    }
    if array.null_count() == 0 {
        match array.data_type() {
            DataType::Utf8 => return copy_all(array.as_string::<i32>(), bytes_max),
            DataType::LargeUtf8 => return copy_all(array.as_string::<i64>(), bytes_max),
            DataType::Binary => return copy_all(array.as_binary::<i32>(), bytes_max),
            DataType::LargeBinary => return copy_all(array.as_binary::<i64>(), bytes_max),
            _ => {}
        }
    }
    match array.data_type() {
        DataType::Utf8 => copy!(array.as_string::<i32>()),
        DataType::LargeUtf8 => copy!(array.as_string::<i64>()),
        DataType::Utf8View => copy!(array.as_string_view()),
        DataType::Binary => copy!(array.as_binary::<i32>()),
        DataType::LargeBinary => copy!(array.as_binary::<i64>()),
        DataType::BinaryView => copy!(array.as_binary_view()),
        _ => copy!(array.as_fixed_size_binary()),
    }
}

/// Copies values that lie one behind the other, of rows that all have one.
fn copy_all<T: ByteArrayType>(
    array: &GenericByteArray<T>,
    bytes_max: u64,
) -> Result<Cells, Problem> {
    let offsets = array.value_offsets();
    let start = offsets.first().map_or(0, |offset| offset.as_usize());
    let end = offsets.last().map_or(0, |offset| offset.as_usize());
    check((end - start) as u64, bytes_max)?;
    let ends = offsets.iter().skip(1).map(|offset| offset.as_usize() - start).collect();
    Ok(Cells::Bytes { ends, bytes: array.value_data()[start..end].to_vec() })
}

/// Copies the value of each row that has one.
fn copy<'a>(
    rows: usize,
    value: impl Fn(usize) -> &'a [u8],
    array: &dyn Array,
    bytes_max: u64,
) -> Result<Cells, Problem> {
    let (mut ends, mut bytes) = (Vec::with_capacity(rows), Vec::new());
    for row in 0..rows {
        if array.is_valid(row) {
            let value = value(row);
            if (bytes.len() + value.len()) as u64 > bytes_max {
                check(bytes_max + 1, bytes_max)?;
            }
            bytes.extend_from_slice(value);
        }
        ends.push(bytes.len());
    }
    Ok(Cells::Bytes { ends, bytes })
}

/// Refuses texts that take more bytes than there are.
pub(super) fn check(bytes: u64, bytes_max: u64) -> Result<(), Problem> {
    match bytes <= bytes_max {
        true => Ok(()),
        false => Err(format!(
            "its values in these rows take more than the {} MiB that are left for them: use more {MEMORY}",
            bytes_max >> 20
        )),
    }
}

/// Bytes of a text; None of another value.
pub(super) fn size(array: &ArrayRef, at: usize) -> Option<usize> {
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value_length(at) as usize,
        DataType::LargeUtf8 => array.as_string::<i64>().value_length(at) as usize,
        DataType::Binary => array.as_binary::<i32>().value_length(at) as usize,
        DataType::LargeBinary => array.as_binary::<i64>().value_length(at) as usize,
        DataType::Utf8View => array.as_string_view().value(at).len(),
        DataType::BinaryView => array.as_binary_view().value(at).len(),
        DataType::FixedSizeBinary(size) => usize::try_from(*size).ok()?,
        _ => return None,
    })
}

/// UUIDs in text.
pub(super) fn uuids(array: &ArrayRef) -> CheckedCells {
    let array = array.as_fixed_size_binary();
    let (mut ends, mut bytes) = (Vec::with_capacity(array.len()), Vec::new());
    for row in 0..array.len() {
        push_uuid(array.value(row), &mut bytes);
        ends.push(bytes.len());
    }
    Cells::Bytes { ends, bytes }.into()
}

/// Appends the text of a UUID.
pub(super) fn push_uuid(uuid: &[u8], out: &mut Vec<u8>) {
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.push(HEX[usize::from(byte >> 4)]);
        out.push(HEX[usize::from(byte & 15)]);
    }
}
