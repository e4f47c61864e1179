//! Foreign keys, added when the rows of the tables they concern are in.
//!
//! InnoDB checks a foreign key row by row, and a table that has one, or that others refer to, cannot
//! have another put in its place. So tables are made and filled without, and get theirs when they
//! have their names. Cycles are no matter then, nor in which order the tables were filled. What is
//! added under `foreign_key_checks=0`, as nearly every dump means it, reads no rows and may refer
//! to a table that is not there.

use schema::TableName;
use sql::ForeignKey;

/// The table that a foreign key of `child` refers to.
pub(crate) fn parent_of(key: &ForeignKey, child: &TableName) -> TableName {
    let database = key.parent.database.as_ref().unwrap_or(&child.database);
    TableName::new(database.as_str(), key.parent.table.as_str())
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
            let parent = now(&parent_of(key, child)).quoted();
            format!("ADD {} {parent} {}", key.head, key.tail)
        })
        .collect();
    format!("ALTER TABLE {} {}", table.quoted(), adds.join(", "))
}

/// Names of tables for a statement.
pub(crate) fn quoted_list(tables: &[TableName]) -> String {
    tables.iter().map(TableName::quoted).collect::<Vec<_>>().join(", ")
}
