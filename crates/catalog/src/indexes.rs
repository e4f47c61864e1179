//! Indexes, from information_schema.STATISTICS and what the definition says more.

use schema::{Index, IndexColumn, IndexKind};

use super::About;
use super::create_table::keys_without_overlaps;
use server::error::Result;
use server::session::Row;
use server::version::Flavor;

/// Asks about indexes.
pub(super) fn sql(flavor: Flavor, About { condition, also }: &About) -> String {
    let order = match flavor {
        // As the server keeps them.
        Flavor::MariaDb => "",
        Flavor::MySql => " ORDER BY INDEX_NAME<>'PRIMARY', INDEX_NAME, SEQ_IN_INDEX",
    };
    format!(
        "SELECT INDEX_NAME, NON_UNIQUE, INDEX_TYPE, COLUMN_NAME, SUB_PART, COLLATION{also} \
         FROM information_schema.STATISTICS WHERE {condition}{order}"
    )
}

/// Indexes in the server's order, `definition` being the table's.
pub(super) fn indexes(rows: &[Row], definition: &str) -> Result<Vec<Index>> {
    let mut indexes: Vec<Index> = Vec::new();
    for row in rows {
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
