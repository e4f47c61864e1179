//! INT96 timestamps: read in microseconds, which no date of a table overflows, and in nanoseconds to find digits that
//! microseconds lack.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef};

use super::part::RowGroup;
use crate::file::OpenPart;
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
    fn read(&self, rows: Range<u64>) -> Result<Vec<ArrayRef>, Problem> {
        let mut arrays = self.micros.read(rows.clone())?;
        for (place, nanos) in self.places.iter().zip(self.nanos.read(rows)?) {
            if let Some(micros) = arrays.get_mut(*place) {
                *micros = exact(micros, &nanos)?;
            }
        }
        Ok(arrays)
    }
}

/// The times in microseconds, or in nanoseconds if some have such digits.
///
/// Errors: 64 bits do not have all times in nanoseconds.
fn exact(micros: &ArrayRef, nanos: &ArrayRef) -> Result<ArrayRef, Problem> {
    let pair = (
        micros.as_primitive_opt::<TimestampMicrosecondType>(),
        nanos.as_primitive_opt::<TimestampNanosecondType>(),
    );
    let (Some(of_micros), Some(of_nanos)) = pair else {
        return Err("its INT96 times are read in other units".to_owned());
    };
    // The numbers of nanoseconds wrap around, and their differences do not.
    let has_digits = |row: usize| {
        of_micros.is_valid(row) && of_nanos.value(row) != of_micros.value(row).wrapping_mul(1_000)
    };
    if !(0..of_micros.len().min(of_nanos.len())).any(has_digits) {
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
