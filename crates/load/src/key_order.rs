//! A check whether the first rows come in primary key order.

use encode::inspected::{Inspected, collation_of};
use schema::Table;
use values::KeyPart;

/// Looks at one row after the other.
pub(crate) struct KeyOrder {
    /// For each part of the key, the number of its column among those that are bound, and its
    /// order; none if it is unknown, or the server counts the key.
    parts: Vec<(usize, KeyPart)>,
    /// The values of the row's parts, in stored form.
    values: Vec<Vec<u8>>,
    key: Vec<u8>,
    last: Vec<u8>,
}

impl KeyOrder {
    /// The check for a table's primary key. Prefix keys are not checked.
    pub(crate) fn of(table: &Table, inspected: &Inspected) -> KeyOrder {
        let parts = parts(table, inspected).unwrap_or_default();
        let values = vec![Vec::new(); parts.len()];
        KeyOrder { parts, values, key: Vec::new(), last: Vec::new() }
    }

    /// The row has this value, in stored form, in the column at this place.
    pub(crate) fn value(&mut self, column: usize, stored: &[u8]) {
        for ((part, _), value) in self.parts.iter().zip(&mut self.values) {
            if *part == column {
                value.clear();
                value.extend_from_slice(stored);
            }
        }
    }

    /// Ends a row with all its values; true if it comes before its predecessor.
    pub(crate) fn ends_row(&mut self) -> bool {
        self.key.clear();
        for ((_, part), value) in self.parts.iter().zip(&self.values) {
            // A row that will be refused for its key is in nobody's way.
            if value.is_empty() || part.push(Some(value), &mut self.key).is_err() {
                return false;
            }
        }
        let comes_before = self.key < self.last;
        std::mem::swap(&mut self.key, &mut self.last);
        comes_before
    }
}

fn parts(table: &Table, inspected: &Inspected) -> Option<Vec<(usize, KeyPart)>> {
    let primary = table.indexes.iter().find(|index| index.name == "PRIMARY")?;
    let part = |part: &schema::IndexColumn| {
        let is_it = |bound: &encode::binding::BoundColumn| bound.column.name == part.name;
        let position = inspected.columns.iter().position(is_it)?;
        let bound = &inspected.columns[position];
        let sql_type = &bound.column.sql_type;
        let collation = collation_of(sql_type, &inspected.collations).ok()?;
        let is_whole = part.prefix.is_none() && bound.input.field().is_some();
        let key = KeyPart::new(sql_type, collation, bound.column.nullable, part.descending);
        is_whole.then_some((position, key))
    };
    primary.columns.iter().map(part).collect()
}
