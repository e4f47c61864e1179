//! The table that rows go into before it takes its place.

use std::sync::Arc;

use schema::TableName;
use server::Session;
use server::version::Flavor;
use targets::names::suffix;

/// The prefix of staging tables.
pub(crate) const STAGING: &str = "_inrush_replay_";
/// The prefix of tables that a staging table has taken the place of.
pub(super) const ASIDE: &str = "_inrush_aside_";

/// A table that the dump makes, under the name it has until it is published.
#[derive(Clone, Debug)]
pub(crate) struct StagingTable {
    /// Its final name.
    pub(crate) table: TableName,
    /// Its current name: rows are loaded here.
    pub(crate) name: TableName,
    /// SHOW CREATE TABLE, from the columns on. Bytes: a default is shown in its own character set.
    definition: Arc<[u8]>,
}

impl StagingTable {
    /// Describes the staging table that was just made, and gives its engine.
    pub(super) fn read(
        own: &mut Session,
        table: TableName,
        name: TableName,
    ) -> server::Result<(StagingTable, String)> {
        let definition = definition(own, &name)?;
        let engine = sql::shown::engine(&definition);
        Ok((StagingTable { table, name, definition: definition.into() }, engine))
    }

    /// Makes it anew: empty, as it was when the dump made it. Does not need it to be there.
    ///
    /// Errors: [`server::Error::Altered`] where the server makes another table of its own words
    /// for it.
    pub(crate) fn remake(&self, own: &mut Session) -> server::Result<()> {
        own.exec(&format!("DROP TABLE IF EXISTS {}", self.name.quoted()))?;
        let create = format!("CREATE TABLE {} ", self.name.quoted());
        // Strict mode would refuse zero dates in defaults, and rows too wide for a page.
        let (before, after) = match own.version().flavor {
            Flavor::MariaDb => {
                ("SET STATEMENT innodb_strict_mode=0, sql_mode='ALLOW_INVALID_DATES' FOR ", None)
            }
            Flavor::MySql => {
                let mode = own.variable("sql_mode").unwrap_or_default().to_owned();
                own.set(&[("sql_mode", "ALLOW_INVALID_DATES")])?;
                ("", Some(mode))
            }
        };
        let columns = match own.version().flavor {
            Flavor::MariaDb => self.definition.to_vec(),
            Flavor::MySql => sql::shown::without_default_collations(&self.definition),
        };
        let sql = [before.as_bytes(), create.as_bytes(), &columns].concat();
        let made = own.exec_bytes(&sql);
        if let Some(mode) = after {
            own.set(&[("sql_mode", &mode)])?;
        }
        made?;
        if definition(own, &self.name)? == *self.definition {
            return Ok(());
        }
        let detail = "the server's own CREATE TABLE of it creates a different table".to_owned();
        Err(server::Error::Altered { target: self.table.to_string(), detail })
    }
}

/// The name of a table's staging table.
pub(crate) fn name_of(table: &TableName) -> TableName {
    TableName::new(table.database.as_str(), format!("{STAGING}{}", suffix(table)))
}

/// The name that the old table has after the swap, for a moment.
pub(super) fn aside_of(table: &TableName) -> TableName {
    TableName::new(table.database.as_str(), format!("{ASIDE}{}", suffix(table)))
}

/// SHOW CREATE TABLE without the name.
fn definition(own: &mut Session, name: &TableName) -> server::Result<Vec<u8>> {
    let sql = format!("SHOW CREATE TABLE {}", name.quoted());
    let row = own.query_row(&sql)?;
    let text = row.bytes(1).unwrap_or_default();
    // Our names hold no parenthesis.
    let start = text.iter().position(|&byte| byte == b'(').unwrap_or(0);
    Ok(text[start..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ours_fit_and_differ() {
        let (long, other) = (TableName::new("d", "\u{fc}".repeat(64)), TableName::new("e", "t"));
        for name in [name_of(&long), aside_of(&long), name_of(&other)] {
            assert!(name.table.len() <= 64 && name.table.starts_with("_inrush_"), "{name}");
        }
        assert_ne!(name_of(&TableName::new("d", "T")), name_of(&TableName::new("d", "t")));
    }
}
