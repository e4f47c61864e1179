//! Relations of a table's rows to others, and the checks and triggers of their changes.

use std::fmt;

use crate::name::{TableName, quote_name};

/// A foreign key that a table has, or that another has to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// As the server's dictionary has it, `db/child_ibfk_1`; its plain name where the account may
    /// not look there.
    pub name: String,
    /// Which end of it the table is.
    pub end: KeyEnd,
    /// The table at the other end, where the server says it: MySQL's dictionary does not.
    pub other: Option<TableName>,
}

/// Which end of a foreign key a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEnd {
    /// Its rows refer to those of another.
    Child,
    /// Rows of another refer to its own.
    Parent,
    /// Its rows refer to each other.
    Both,
}

/// Its name, and whether it is another table's. Since MDEV-28933 a byte that is no UTF-8 stands between the names of
/// table and key.
impl fmt::Display for ForeignKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.replace(char::REPLACEMENT_CHARACTER, "/");
        match self.end {
            KeyEnd::Child | KeyEnd::Both => f.write_str(&name),
            KeyEnd::Parent => write!(f, "{name} refers to this table"),
        }
    }
}

/// A foreign key of a table, as its definition has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its name.
    pub name: String,
    /// The columns that refer.
    pub columns: Vec<String>,
    /// The table whose rows they refer to.
    pub parent: TableName,
    /// The columns there, as many.
    pub parent_columns: Vec<String>,
    /// The fate of a row together with the one it refers to: `ON DELETE CASCADE`; empty if that
    /// stays as long as it is referred to.
    pub rules: String,
}

impl Reference {
    /// As CREATE TABLE and ALTER TABLE take it, referring to `parent` instead.
    pub fn clause(&self, parent: &TableName) -> String {
        let clause = format!(
            "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({}) {}",
            quote_name(&self.name),
            quoted(&self.columns),
            parent.quoted(),
            quoted(&self.parent_columns),
            self.rules
        );
        clause.trim_end().to_owned()
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| quote_name(name)).collect::<Vec<_>>().join(", ")
}

/// A trigger, which statements on the table run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Its name.
    pub name: String,
}

/// A CHECK constraint that is enforced. The JSON_VALID that makes a LONGTEXT a JSON column is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name; of a constraint in a column's line the column's.
    pub name: String,
    /// The condition, as the server words it.
    pub clause: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_without_the_byte_that_is_no_text() {
        let key = |name: &str, end| ForeignKey { name: name.to_owned(), end, other: None };
        assert_eq!(key("d/c_t", KeyEnd::Child).to_string(), "d/c_t");
        let parent = key("d/child\u{FFFD}1", KeyEnd::Parent).to_string();
        assert_eq!(parent, "d/child/1 refers to this table");
    }
}
