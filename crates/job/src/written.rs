//! How people write values, where that is not how the server reads them.

/// The form of an input's values. Formats are those of `values::format`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Columns, each with its format.
    pub columns: Vec<(String, String)>,
    /// Number columns have a comma before the fraction, perhaps points between thousands.
    pub decimal_comma: bool,
    /// The format of all dates, with a time or without.
    pub dates: Option<String>,
    /// Columns of one byte or bit have words for 1 and 0.
    pub yes_no: bool,
    /// Blanks at the ends count for nothing, except in binary columns.
    pub trim: bool,
}

impl Written {
    /// True if nothing is set.
    pub fn is_plain(&self) -> bool {
        *self == Written::default()
    }
}
