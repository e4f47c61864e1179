//! Secondary indexes that are dropped while rows go in, and built sorted afterwards.
//!
//! ```text
//! staging table, empty:  ALTER TABLE DROP KEY ..            rows go in        ALTER TABLE ADD KEY ..
//! ```
//!
//! A server that adds an index to existing rows sorts its entries and fills pages from left to right; row by
//! row it searches a page for each. The indexes to add follow from the target's definition alone, so a load
//! that was cut off in between goes on, or begins again, without notes.

use schema::{Index, IndexKind, Table};

use catalog::{self, definition};
use server::error::Result;
use server::identifier::{TableName, quote_name, quoted_name};
use server::session::Session;
use server::version::Flavor;

/// Which indexes are dropped before rows go in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defer {
    /// None: all are kept up to date row by row.
    Nothing,
    /// Those that refuse no row: a duplicate shows when its row goes in.
    #[default]
    NotUnique,
    /// The unique ones too: for rows that are known to share no key.
    Unique,
}

/// A key of a table, as SHOW CREATE TABLE words it: `` UNIQUE KEY `b` (`b`) COMMENT 'c' ``.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    /// `PRIMARY` or its name.
    name: String,
    text: String,
}

/// The keys of a table that are built after its rows are in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secondary {
    keys: Vec<Key>,
}

impl Secondary {
    /// Those of `table` that `defer` allows to drop. None where one of the last kept keys stands
    /// behind them, since the server would not put them back where they were.
    ///
    /// Kept are the primary key, a key that an AUTO_INCREMENT column needs, and kinds the server
    /// can only build by copying the table: VECTOR, and UNIQUE over long columns.
    pub fn of(table: &Table, defer: Defer) -> Secondary {
        let mut keys = keys(&table.definition);
        // In the order of the definition, which is not that of every information_schema. A name
        // can hold what looks like a line of its own.
        let indexes: Vec<&Index> = keys.iter().filter_map(|key| table.index(&key.name)).collect();
        if indexes.len() != keys.len() || keys.len() != table.indexes.len() {
            return Secondary::default();
        }
        let counted = table.columns.iter().find(|column| column.auto_increment);
        let leads =
            |index: &Index| index.columns.first().map(|c| &c.name) == counted.map(|c| &c.name);
        let may_go = |index: &Index| {
            let kind = match &index.kind {
                IndexKind::BTree | IndexKind::Spatial | IndexKind::FullText => true,
                IndexKind::Hash | IndexKind::Vector | IndexKind::Other(_) => false,
            };
            let unique = defer == Defer::Unique || !index.unique;
            index.name != "PRIMARY" && kind && unique && defer != Defer::Nothing
        };
        let mut kept: Vec<bool> = indexes.iter().map(|index| !may_go(index)).collect();
        let is_led = indexes.iter().zip(&kept).any(|(index, kept)| *kept && leads(index));
        if counted.is_some() && !is_led {
            // The first of them, as the server itself would look for it.
            if let Some(at) = indexes.iter().position(|index| leads(index)) {
                kept[at] = true;
            }
        }
        let first = kept.iter().rposition(|&kept| kept).map_or(0, |last| last + 1);
        Secondary { keys: keys.split_off(first) }
    }

    /// True if there is nothing to build.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Drops them from their empty table. False, the table as before, where the server would not put
    /// them back as they were: that is tried first.
    ///
    /// Errors: the server's; the table may then be without them.
    pub fn take_from(&self, session: &mut Session, table: &Table) -> Result<bool> {
        if self.is_empty() {
            return Ok(false);
        }
        alter(session, &table.name, &self.drops())?;
        if !self.build(session, table)? {
            return Ok(false);
        }
        alter(session, &table.name, &self.drops())?;
        Ok(true)
    }

    /// Builds those that the table does not have; whether it then is as `table` was read.
    ///
    /// Errors: the server's; some may be built then, and the same again builds the others.
    pub fn build(&self, session: &mut Session, table: &Table) -> Result<bool> {
        let now = definition(session, &table.name)?;
        for clauses in self.adds(&now) {
            alter(session, &table.name, &clauses)?;
        }
        Ok(definition(session, &table.name)? == table.definition)
    }

    /// Names of the keys, in the server's order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.name.as_str())
    }

    /// `` DROP KEY `b`, .. ``: what an ALTER TABLE of the empty table says.
    pub(crate) fn drops(&self) -> Vec<String> {
        self.names().map(|name| format!("DROP KEY {}", quote_name(name))).collect()
    }

    /// `ADD KEY ..` in groups of one ALTER TABLE each, less the keys that `definition` has.
    ///
    /// One statement reads the rows once for all its indexes. But of FULLTEXT indexes InnoDB
    /// builds one at a time; asked for two it copies the table.
    /// Source: MariaDB 10.11, handler0alter.cc, `check_if_supported_inplace_alter`.
    pub(crate) fn adds(&self, definition: &str) -> Vec<Vec<String>> {
        let there = keys(definition);
        let missing = self.keys.iter().filter(|key| !there.contains(key));
        let (texts, others): (Vec<_>, Vec<_>) =
            missing.partition(|key| key.text.starts_with("FULLTEXT"));
        let add = |key: &Key| format!("ADD {}", key.text);
        let mut groups = vec![others.into_iter().map(add).collect::<Vec<_>>()];
        groups.extend(texts.into_iter().map(|key| vec![add(key)]));
        groups.retain(|group| !group.is_empty());
        groups
    }
}

/// An ALTER TABLE that does not refuse what the table already is.
pub(crate) fn alter_text(flavor: Flavor, table: &TableName, clauses: &[String]) -> String {
    let sql = format!("ALTER TABLE {} {}", table.quoted(), clauses.join(", "));
    match flavor {
        Flavor::MariaDb => format!(
            "SET STATEMENT innodb_strict_mode=0, system_versioning_alter_history=KEEP FOR {sql}"
        ),
        Flavor::MySql => sql,
    }
}

fn alter(session: &mut Session, table: &TableName, clauses: &[String]) -> Result<()> {
    let sql = alter_text(session.version().flavor, table, clauses);
    session.exec(&sql).map(drop)
}

/// The lines of a definition that are keys.
fn keys(definition: &str) -> Vec<Key> {
    catalog::lines(definition).filter_map(key).collect()
}

fn key(line: &str) -> Option<Key> {
    const KINDS: [&str; 5] = ["", "UNIQUE ", "FULLTEXT ", "SPATIAL ", "VECTOR "];
    let line = line.strip_prefix("  ")?;
    let text = line.strip_suffix(',').unwrap_or(line).to_owned();
    if text.starts_with("PRIMARY KEY") {
        return Some(Key { name: "PRIMARY".to_owned(), text });
    }
    let rest = KINDS.iter().find_map(|kind| text.strip_prefix(kind)?.strip_prefix("KEY "))?;
    let (name, _) = quoted_name(rest)?;
    Some(Key { name, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINITION: &str = "  `a` int(11) NOT NULL,\n  PRIMARY KEY (`a`),\n  \
        UNIQUE KEY `u``x` (`b`),\n  KEY `k` (`c`) COMMENT 'it''s, so',\n  \
        FULLTEXT KEY `f` (`t`),\n  FULLTEXT KEY `g` (`t`),\n  \
        CONSTRAINT `KEY` CHECK (`a` > 1)\n) ENGINE=InnoDB";

    #[test]
    fn keys_are_found_as_the_server_words_them() {
        let names: Vec<_> = keys(DEFINITION).into_iter().map(|key| key.name).collect();
        assert_eq!(names, ["PRIMARY", "u`x", "k", "f", "g"]);
    }

    #[test]
    fn missing_keys_are_added_in_as_few_statements_as_one_scan_allows() {
        let secondary = Secondary { keys: keys(DEFINITION).split_off(1) };
        assert_eq!(secondary.drops()[0], "DROP KEY `u``x`");
        let adds = secondary.adds("");
        assert_eq!(adds.len(), 3);
        assert_eq!(adds[0][1], "ADD KEY `k` (`c`) COMMENT 'it''s, so'");
        let there = "  KEY `k` (`c`) COMMENT 'it''s, so',\n  UNIQUE KEY `u``x` (`b`)\n)";
        assert_eq!(secondary.adds(there).len(), 2);
        assert!(secondary.adds(DEFINITION).is_empty());
    }
}
