//! Indexes, from information_schema.STATISTICS and what the definition says more.

use schema::{Index, IndexColumn, IndexKind, TableName};

use super::create_table::keys_without_overlaps;
use super::only;
use crate::error::Result;
use crate::session::Session;
use crate::version::Flavor;

/// Indexes in the server's order, `definition` being the table's.
pub(super) fn indexes(
    session: &mut Session,
    name: &TableName,
    definition: &str,
) -> Result<Vec<Index>> {
    let order = match session.version().flavor {
        // As the server keeps them.
        Flavor::MariaDb => "",
        Flavor::MySql => " ORDER BY INDEX_NAME<>'PRIMARY', INDEX_NAME, SEQ_IN_INDEX",
    };
    let sql = format!(
        "SELECT INDEX_NAME, NON_UNIQUE, INDEX_TYPE, COLUMN_NAME, SUB_PART, COLLATION \
         FROM information_schema.STATISTICS WHERE {}{order}",
        only(name)
    );
    let mut indexes: Vec<Index> = Vec::new();
    for row in session.query(&sql)? {
        let name = row.text(0)?;
        let column = IndexColumn {
            name: row.text_or_null(3)?.unwrap_or_default(),
            prefix: row.number_or_null(4)?,
            descending: row.text_or_null(5)?.as_deref() == Some("D"),
        };
        match indexes.last_mut() {
            Some(last) if last.name == name => last.columns.push(column),
            _ => indexes.push(Index {
                name,
                unique: row.text(1)? == "0",
                kind: IndexKind::named(&row.text(2)?),
                columns: vec![column],
                without_overlaps: None,
            }),
        }
    }
    for (name, line) in keys_without_overlaps(definition) {
        if let Some(index) = indexes.iter_mut().find(|index| index.name == name) {
            index.without_overlaps = Some(line.to_owned());
        }
    }
    Ok(indexes)
}
