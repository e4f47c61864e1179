//! Foreign keys, added when the rows of the tables they concern are in.
//!
//! InnoDB checks a foreign key row by row, and a table that has one, or that others refer to, cannot
//! have another put in its place. So tables are made and filled without, and get theirs when they
//! have their names. Cycles are no matter then, nor in which order the tables were filled. What is
//! added under `foreign_key_checks=0`, as nearly every dump means it, reads no rows and may refer
//! to a table that is not there.

use server::TableName;

/// A foreign key as a CREATE TABLE has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignKey {
    /// `` CONSTRAINT `f` FOREIGN KEY ( `a` ) REFERENCES ``.
    pub(crate) head: String,
    /// The table it refers to.
    pub(crate) parent: Parent,
    /// `` ( `id` ) ON DELETE CASCADE ``.
    pub(crate) tail: String,
}

/// A table that a foreign key refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    /// Its database, where the dump names it: else that of the table with the foreign key.
    pub(crate) database: Option<String>,
    /// Its name.
    pub(crate) table: String,
}

impl ForeignKey {
    /// Whether it is written in ASCII alone, so that it reads the same in every character set.
    pub(crate) fn is_ascii(&self) -> bool {
        let parts = [&self.head, &self.tail, &self.parent.table];
        parts.into_iter().chain(&self.parent.database).all(|part| part.is_ascii())
    }

    /// The table it refers to, where `child` has it.
    pub(crate) fn parent_of(&self, child: &TableName) -> TableName {
        let database = self.parent.database.as_ref().unwrap_or(&child.database);
        TableName::new(database.as_str(), self.parent.table.as_str())
    }
}

/// `ALTER TABLE table ADD ..` of all foreign keys of `child`, which has the name `table` now; so have
/// the tables it refers to what `now` gives for their names.
pub(crate) fn add_all(
    child: &TableName,
    table: &TableName,
    keys: &[ForeignKey],
    now: impl Fn(&TableName) -> TableName,
) -> String {
    let adds: Vec<String> = keys
        .iter()
        .map(|key| {
            let parent = now(&key.parent_of(child)).quoted();
            format!("ADD {} {parent} {}", key.head, key.tail)
        })
        .collect();
    format!("ALTER TABLE {} {}", table.quoted(), adds.join(", "))
}

/// Names of tables for a statement.
pub(crate) fn quoted_list(tables: &[TableName]) -> String {
    tables.iter().map(TableName::quoted).collect::<Vec<_>>().join(", ")
}
