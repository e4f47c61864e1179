//! Partitions, from information_schema.PARTITIONS and what the definition says more.

use schema::{Partition, PartitionBound, PartitionMethod, Partitioning, TableName, quote_name};

use super::create_table::{is_partitioned, lines};
use super::only;
use server::error::Result;
use server::session::{Row, Session};

/// Into what the rows of a table are divided, if they are; `options` are its CREATE_OPTIONS.
pub(super) fn partitioning(
    session: &mut Session,
    name: &TableName,
    options: &str,
    definition: &str,
) -> Result<Option<Partitioning>> {
    if !is_partitioned(options) {
        return Ok(None);
    }
    let sql = format!(
        "SELECT PARTITION_NAME, SUBPARTITION_NAME, PARTITION_METHOD, PARTITION_EXPRESSION, \
         PARTITION_DESCRIPTION FROM information_schema.PARTITIONS \
         WHERE {} AND PARTITION_NAME IS NOT NULL \
         ORDER BY PARTITION_ORDINAL_POSITION, SUBPARTITION_ORDINAL_POSITION",
        only(session.version().flavor, name)
    );
    let rows = session.query(&sql)?;
    let mut found = Partitioning::default();
    if let Some(first) = rows.first() {
        let words = first.text(2)?;
        let method = words.strip_prefix("LINEAR ");
        found.is_linear = method.is_some();
        let method = method.unwrap_or(&words);
        let columns = method.strip_suffix(" COLUMNS");
        found.by_columns = columns.is_some();
        found.method = named(columns.unwrap_or(method));
        found.expression = first.text_or_null(3)?.unwrap_or_default();
        if first.text_or_null(1)?.is_some() {
            found.oddity = Some("subpartitions".to_owned());
        }
    }
    let lines = Lines(definition);
    found.oddity = found.oddity.or_else(|| lines.oddity());
    for row in &rows {
        found.partitions.push(partition(row, &lines, found.method)?);
    }
    // One has a row for each of its subpartitions.
    found.partitions.dedup();
    Ok(Some(found))
}

fn named(method: &str) -> Option<PartitionMethod> {
    Some(match method {
        "RANGE" => PartitionMethod::Range,
        "LIST" => PartitionMethod::List,
        "HASH" => PartitionMethod::Hash,
        "KEY" => PartitionMethod::Key,
        "SYSTEM_TIME" => PartitionMethod::SystemTime,
        _ => return None,
    })
}

fn partition(row: &Row, lines: &Lines<'_>, by: Option<PartitionMethod>) -> Result<Partition> {
    let name = row.text(0)?;
    // Of the default of a list the server shows a value that means nothing.
    let bound = match row.text_or_null(4)? {
        _ if by == Some(PartitionMethod::List) && lines.is_default(&name) => {
            PartitionBound::Default
        }
        Some(values) => PartitionBound::Values(values),
        // The one value that it takes.
        None if by == Some(PartitionMethod::List) => PartitionBound::Values("NULL".to_owned()),
        None => PartitionBound::Hash,
    };
    Ok(Partition { name, bound })
}

/// The definition, of which a partition is a line.
struct Lines<'d>(&'d str);

impl Lines<'_> {
    fn partitions(&self) -> impl Iterator<Item = &str> {
        let lines = lines(self.0).map(|line| line.trim_start_matches([' ', '(']));
        lines.filter(|line| line.starts_with("PARTITION "))
    }

    fn is_default(&self, name: &str) -> bool {
        let begin = format!("PARTITION {} DEFAULT", quote_name(name));
        self.partitions().any(|line| line.starts_with(&begin))
    }

    /// A feature that excludes building the partition: data elsewhere, a hash of old servers.
    fn oddity(&self) -> Option<String> {
        let mut lines = self.partitions();
        let is_odd = |line: &&str| {
            line.contains(" DATA DIRECTORY = ") || line.contains(" INDEX DIRECTORY = ")
        };
        if lines.any(|line| is_odd(&line)) {
            return Some("a partition with a DATA DIRECTORY".to_owned());
        }
        let mut lines = self.partitions();
        lines
            .any(|line| line.starts_with("PARTITION BY ") && line.contains("KEY ALGORITHM = 1"))
            .then(|| "KEY ALGORITHM = 1".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_and_what_is_odd_are_told_by_lines() {
        let definition = ") ENGINE=InnoDB\n PARTITION BY LIST (`i`)\n(PARTITION `a` VALUES IN (1) \
             ENGINE = InnoDB,\n PARTITION `d``e` DEFAULT ENGINE = InnoDB)";
        let lines = Lines(definition);
        assert!(lines.is_default("d`e") && !lines.is_default("a"));
        assert_eq!(lines.oddity(), None);
        let old = Lines(" PARTITION BY LINEAR KEY ALGORITHM = 1 (`i`)\nPARTITIONS 2");
        assert_eq!(old.oddity().as_deref(), Some("KEY ALGORITHM = 1"));
        let elsewhere = Lines("(PARTITION `a` VALUES LESS THAN (1) DATA DIRECTORY = '/x')");
        assert!(elsewhere.oddity().is_some());
    }
}
