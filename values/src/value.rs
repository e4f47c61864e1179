//! One value of a row, on its way to a column.

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// The bytes, in the file's character set.
    Bytes(&'a [u8]),
}
