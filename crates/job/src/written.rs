//! How people write values, where that is not how the server reads them.

use face::option::FORMAT_OF;
use sources::Pointer;

use crate::error::Error;

/// The form of an input's values. Formats are those of crate `written`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Columns, each with its format or its JSON pointer.
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

    /// The format of a column, as `is_it` knows it by its name.
    pub fn format_of(&self, is_it: impl Fn(&str) -> bool) -> Option<&str> {
        let mut formats = self.columns.iter().filter(|(_, text)| !Pointer::is_meant(text));
        formats.find(|(name, _)| is_it(name)).map(|(_, format)| format.as_str())
    }

    /// The columns that have pointers into records of JSON.
    ///
    /// Errors: pointers that are none; the input is not JSON.
    pub fn pointers(&self, is_json: bool) -> Result<Vec<(String, Pointer)>, Error> {
        let meant = self.columns.iter().filter(|(_, text)| Pointer::is_meant(text));
        let pointer = |(name, text): &(String, String)| {
            let option = FORMAT_OF.with(format!("{name}={text}"));
            let pointer = match is_json {
                true => Pointer::parse(text),
                false => Err("JSON pointers are for JSON input".to_owned()),
            };
            let pointer = pointer.map_err(|why| Error::Usage(format!("{option}: {why}")))?;
            Ok((name.clone(), pointer))
        };
        meant.map(pointer).collect()
    }
}
