//! INT96 timestamps: read in microseconds, which no date of a table overflows, and in nanoseconds to find digits that
//! microseconds lack.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, TimestampMicrosecondArray, TimestampNanosecondArray};
use arrow_schema::DataType;

use super::part::RowGroup;
use crate::file::{Decoded, OpenPart};
use crate::guard::Problem;

/// A row group, some of whose columns are read twice.
pub(super) struct WithNanos {
    pub(super) micros: RowGroup,
    /// The columns of INT96 alone.
    pub(super) nanos: RowGroup,
    /// Their places among all columns that are read.
    pub(super) places: Vec<usize>,
}

impl OpenPart for WithNanos {
    fn read(&self, rows: Range<u64>) -> Result<Vec<Decoded>, Problem> {
        let mut arrays = self.micros.arrays(rows.clone())?;
        for (place, nanos) in self.places.iter().zip(self.nanos.arrays(rows)?) {
            if let Some(micros) = arrays.get_mut(*place) {
                *micros = exact(micros, &nanos)?;
            }
        }
        Ok(arrays.into_iter().map(Decoded::Array).collect())
    }
}

/// The times in microseconds, or in nanoseconds if some have such digits.
///
/// Errors: 64 bits do not have all times in nanoseconds.
fn exact(micros: &ArrayRef, nanos: &ArrayRef) -> Result<ArrayRef, Problem> {
    if micros.data_type().is_nested() {
        return nested(micros, nanos);
    }
    let pair = (
        micros.as_primitive_opt::<TimestampMicrosecondType>(),
        nanos.as_primitive_opt::<TimestampNanosecondType>(),
    );
    let (Some(of_micros), Some(of_nanos)) = pair else {
        return Err("its INT96 times are read in other units".to_owned());
    };
    if !have_digits(of_micros, of_nanos) {
        return Ok(ArrayRef::clone(micros));
    }
    let fits =
        |micros: i64| micros.checked_mul(1_000).is_some_and(|it| it.checked_add(999).is_some());
    match of_micros.iter().flatten().all(fits) {
        true => Ok(ArrayRef::clone(nanos)),
        false => Err("it has times with nanoseconds beside times before 1677 or after 2262; write them with fewer \
                      digits"
            .to_owned()),
    }
}

/// True if some times in nanoseconds have digits that microseconds lack.
fn have_digits(micros: &TimestampMicrosecondArray, nanos: &TimestampNanosecondArray) -> bool {
    // The numbers of nanoseconds wrap around, and their differences do not.
    let has_digits = |row: usize| {
        micros.is_valid(row) && nanos.value(row) != micros.value(row).wrapping_mul(1_000)
    };
    (0..micros.len().min(nanos.len())).any(has_digits)
}

/// The times inside of lists and structs, in microseconds.
///
/// Errors: some have digits that microseconds lack.
fn nested(micros: &ArrayRef, nanos: &ArrayRef) -> Result<ArrayRef, Problem> {
    for (micros, nanos) in leaves(micros).iter().zip(leaves(nanos)) {
        let pair = (
            micros.as_primitive_opt::<TimestampMicrosecondType>(),
            nanos.as_primitive_opt::<TimestampNanosecondType>(),
        );
        if let (Some(micros), Some(nanos)) = pair
            && have_digits(micros, nanos)
        {
            return Err("it has times with nanoseconds inside of lists or structs; write them with fewer digits"
                .to_owned());
        }
    }
    Ok(ArrayRef::clone(micros))
}

/// The arrays of values inside of lists and structs, in order.
fn leaves(array: &ArrayRef) -> Vec<ArrayRef> {
    let of_all = |arrays: &[ArrayRef]| arrays.iter().flat_map(leaves).collect();
    match array.data_type() {
        DataType::Struct(_) => of_all(array.as_struct().columns()),
        DataType::Map(..) => of_all(array.as_map().entries().columns()),
        DataType::List(_) => leaves(array.as_list::<i32>().values()),
        DataType::LargeList(_) => leaves(array.as_list::<i64>().values()),
        DataType::FixedSizeList(..) => leaves(array.as_fixed_size_list().values()),
        _ => vec![ArrayRef::clone(array)],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{TimestampMicrosecondArray, TimestampNanosecondArray};
    use arrow_schema::{DataType, TimeUnit};

    use super::*;

    #[test]
    fn digits_below_microseconds_are_found() {
        let far = 253_402_300_799_000_000_i64;
        let unit = |micros: &[Option<i64>], left: i64| {
            let nanos =
                micros.iter().map(|it| it.map(|it| it.wrapping_mul(1_000).wrapping_add(left)));
            let nanos: ArrayRef = Arc::new(nanos.collect::<TimestampNanosecondArray>());
            let micros: ArrayRef =
                Arc::new(micros.iter().copied().collect::<TimestampMicrosecondArray>());
            exact(&micros, &nanos).map(|array| array.data_type().clone())
        };
        let (micros, nanos) = (TimeUnit::Microsecond, TimeUnit::Nanosecond);
        for (values, left, expected) in [
            (&[Some(5), None][..], 0, micros),
            (&[Some(-5), None], 7, nanos),
            (&[Some(far), Some(1)], 0, micros),
            (&[None], 9, micros),
        ] {
            assert_eq!(unit(values, left), Ok(DataType::Timestamp(expected, None)), "{values:?}");
        }
        assert!(unit(&[Some(far)], 1).unwrap_err().contains("before 1677"));
    }
}
