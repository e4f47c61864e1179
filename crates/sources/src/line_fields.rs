//! Lines that are made of typed rows and of JSON's records, for job files: texts of fields, and values for columns.
//!
//! ```text
//! row      3, 2024-05-01, 1.50
//! texts    3|2024-05-01|1.50        conditions, rules, keys and joined texts read these
//! values   DATE, DECIMAL(9,2)       columns of tables get these, as if the row were loaded into one table
//! ```

use std::sync::Arc;

use values::SqlType;

use crate::key::{ColumnKind, Key, MissingValue, Pointer};

/// The fields of lines, and the values that columns of tables get from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineFields {
    /// Names of the fields in order.
    pub names: Vec<String>,
    /// For each field, whether its text is read.
    pub has_text: Vec<bool>,
    /// The values, each once.
    pub values: Vec<LineValue>,
    /// True if records may have fields of other names, which are left out.
    pub ignores_unknown: bool,
}

/// The value of a field for a column.
#[derive(Clone, Debug, PartialEq)]
pub struct LineValue {
    /// The number of the field.
    pub field: usize,
    /// The type of the column.
    pub sql_type: SqlType,
    /// The kind of values that the column takes from a record of JSON.
    pub takes: ColumnKind,
    /// The value where such a record lacks the field.
    pub absent: MissingValue,
}

impl LineFields {
    /// Fields of these names, of which nothing is read yet.
    pub fn new(names: &[String]) -> LineFields {
        LineFields {
            names: names.to_vec(),
            has_text: vec![false; names.len()],
            ..LineFields::default()
        }
    }

    /// Reads the texts of these fields, too.
    pub fn add_texts(&mut self, fields: impl IntoIterator<Item = usize>) {
        fields.into_iter().for_each(|field| self.has_text[field] = true);
    }

    /// Reads a value, too.
    pub fn add_value(&mut self, value: LineValue) {
        if !self.values.contains(&value) {
            self.values.push(value);
        }
    }

    /// The number of a value; none of one that is not read.
    pub fn find(&self, value: &LineValue) -> Option<usize> {
        self.values.iter().position(|known| known == value)
    }

    /// The keys of records of JSON: fields, and behind them values.
    pub(crate) fn keys(&self) -> Arc<[Key]> {
        let name = |field: usize| self.names[field].trim();
        // A name may be a pointer to a value inside of a field.
        let pointer = |name: &str| Pointer::parse(name).ok();
        let field = |(field, has_text): (usize, &bool)| Key {
            takes: if *has_text { ColumnKind::Values } else { ColumnKind::Nothing },
            pointer: pointer(name(field)),
            ..Key::named(name(field).as_bytes().to_vec())
        };
        let value = |value: &LineValue| {
            let name = name(value.field);
            let field = || Pointer { field: name.as_bytes().to_vec(), rest: Vec::new() };
            Key {
                pointer: Some(pointer(name).unwrap_or_else(field)),
                name: name.as_bytes().to_vec(),
                takes: value.takes,
                absent: value.absent.clone(),
            }
        };
        let fields = self.has_text.iter().enumerate().map(field);
        fields.chain(self.values.iter().map(value)).collect()
    }
}
