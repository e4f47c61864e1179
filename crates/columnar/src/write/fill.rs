//! Loops over values of a column, one for each form of its cells.
//!
//! They are `for` loops: the compiler calls a closure of `try_for_each` for each value, with all its state in memory.

use arrow_buffer::NullBufferBuilder;

use crate::written::BadCell;

/// Values on their way to a column.
pub(super) struct Fill<'n, I> {
    pub(super) values: I,
    pub(super) nulls: &'n mut NullBufferBuilder,
}

impl<'v, I: Iterator<Item = Option<&'v [u8]>>> Fill<'_, I> {
    /// Appends a number of each value, made by `read`.
    #[inline(always)]
    pub(super) fn fill<T: Default>(
        self,
        to: &mut Vec<T>,
        mut read: impl FnMut(&'v [u8]) -> Result<T, BadCell>,
    ) -> Result<(), (usize, BadCell)> {
        let Fill { values, nulls } = self;
        for (number, value) in values.enumerate() {
            match value {
                Some(value) => {
                    to.push(read(value).map_err(|bad| (number, bad))?);
                    nulls.append_non_null();
                }
                None => {
                    to.push(T::default());
                    nulls.append_null();
                }
            }
        }
        Ok(())
    }

    /// Appends `len` bytes of each value.
    #[inline(always)]
    pub(super) fn append<T: AsRef<[u8]>>(
        self,
        to: &mut Vec<u8>,
        len: usize,
        mut read: impl FnMut(&'v [u8]) -> Result<T, BadCell>,
    ) -> Result<(), (usize, BadCell)> {
        let Fill { values, nulls } = self;
        for (number, value) in values.enumerate() {
            let end = to.len() + len;
            match value {
                Some(value) => {
                    let bytes = read(value).map_err(|bad| (number, bad))?;
                    if bytes.as_ref().len() != len {
                        return Err((number, BadCell::NotStored));
                    }
                    to.extend_from_slice(bytes.as_ref());
                    nulls.append_non_null();
                }
                None => {
                    to.resize(end, 0);
                    nulls.append_null();
                }
            }
        }
        Ok(())
    }

    /// Appends bytes of each value, and where they end.
    #[inline(always)]
    pub(super) fn extend(
        self,
        ends: &mut Vec<i32>,
        to: &mut Vec<u8>,
        mut push: impl FnMut(&'v [u8], &mut Vec<u8>) -> Result<(), BadCell>,
    ) -> Result<(), (usize, BadCell)> {
        let Fill { values, nulls } = self;
        for (number, value) in values.enumerate() {
            match value {
                Some(value) => {
                    push(value, to).map_err(|bad| (number, bad))?;
                    nulls.append_non_null();
                }
                None => nulls.append_null(),
            }
            ends.push(i32::try_from(to.len()).map_err(|_| (number, BadCell::TooLong))?);
        }
        Ok(())
    }
}
