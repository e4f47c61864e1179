//! Foreign keys, added when the rows of the tables they concern are in.
//!
//! InnoDB checks a foreign key row by row, and a table that has one, or that others refer to, cannot
//! have another put in its place. So tables are made and filled without, and get theirs when they
//! have their names. Cycles are no matter then, nor in which order the tables were filled. What is
//! added under `foreign_key_checks=0`, as nearly every dump means it, reads no rows and may refer
//! to a table that is not there.
//!
//! InnoDB keeps by name to what a foreign key refers, and follows a table that is renamed: those of
//! other tables that refer to the old table refer to its new name after the swap, and dangle when it
//! is dropped. A table that takes a name to which one dangles gets it. So the new table takes the
//! old one's second name for a moment ([`rebind`]), as a table that is dropped and made again
//! gets them.
//! Source: tried on MariaDB 10.11.19 and 11.8.6; MariaDB 10.11, storage/innobase/row/row0mysql.cc,
//! `row_rename_table_for_mysql`, `dict_load_foreigns`.

use server::identifier::{filename, quote_text};
use server::version::Flavor;
use server::{Session, TableName};

/// Server errors of an account that may not look.
const ER_ACCESS: [u16; 2] = [1142, 1227];

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

/// Whether foreign keys of other tables refer to a table of this name, whether it is there or not.
pub(crate) fn has_children(session: &mut Session, table: &TableName) -> server::Result<bool> {
    let database = filename(session, &table.database)?;
    let file = filename(session, &table.table)?;
    let internal = quote_text(&format!("{database}/{file}"));
    let view = match session.version().flavor {
        Flavor::MariaDb => "INNODB_SYS_FOREIGN",
        Flavor::MySql => "INNODB_FOREIGN",
    };
    let dictionary = format!(
        "SELECT 1 FROM information_schema.{view} \
         WHERE REF_NAME={internal} AND FOR_NAME<>{internal} LIMIT 1"
    );
    match session.query(&dictionary) {
        Err(e) if e.errno().is_some_and(|errno| ER_ACCESS.contains(&errno)) => {}
        rows => return Ok(!rows?.is_empty()),
    }
    let (database, name) = (quote_text(&table.database), quote_text(&table.table));
    let visible = format!(
        "SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS \
         WHERE UNIQUE_CONSTRAINT_SCHEMA={database} AND REFERENCED_TABLE_NAME={name} \
         AND NOT (CONSTRAINT_SCHEMA={database} AND TABLE_NAME={name}) LIMIT 1"
    );
    Ok(!session.query(&visible)?.is_empty())
}

/// Whether rows of a table refer to others of it.
pub(crate) fn refers_to_itself(session: &mut Session, table: &TableName) -> server::Result<bool> {
    let (database, name) = (quote_text(&table.database), quote_text(&table.table));
    let sql = format!(
        "SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS \
         WHERE CONSTRAINT_SCHEMA={database} AND TABLE_NAME={name} \
         AND UNIQUE_CONSTRAINT_SCHEMA={database} AND REFERENCED_TABLE_NAME={name} LIMIT 1"
    );
    Ok(!session.query(&sql)?.is_empty())
}

/// Has the foreign keys that refer to `aside`, which is no table any more, refer to `table`.
///
/// Killed at any point: they refer to either; doing it again is right.
///
/// Errors: `table` lacks the columns or the index that one refers to; it is as it was then.
pub(crate) fn rebind(
    session: &mut Session,
    table: &TableName,
    aside: &TableName,
) -> server::Result<()> {
    let (table, aside) = (table.quoted(), aside.quoted());
    session.exec(&format!("RENAME TABLE {table} TO {aside}, {aside} TO {table}")).map(drop)
}

/// Names of tables for a statement.
pub(crate) fn quoted_list(tables: &[TableName]) -> String {
    tables.iter().map(TableName::quoted).collect::<Vec<_>>().join(", ")
}
