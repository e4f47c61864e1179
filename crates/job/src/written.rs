//! How people write values, where that is not how the server reads them.

/// What is said of the values of an input. Formats are those of `values::format`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Columns, each with its format.
    pub columns: Vec<(String, String)>,
    /// Of all number columns: a comma before the fraction, perhaps points between thousands.
    pub decimal_comma: bool,
    /// The format of all dates, with a time or without.
    pub dates: Option<String>,
    /// Of all columns of one byte or bit: words for 1 and 0.
    pub yes_no: bool,
    /// Of all but binary columns: blanks at the ends count for nothing.
    pub trim: bool,
}

impl Written {
    /// Whether nothing is said.
    pub fn is_plain(&self) -> bool {
        *self == Written::default()
    }
}
