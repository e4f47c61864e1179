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
        let engine = engine(&definition);
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
            Flavor::MySql => without_default_collations(&self.definition),
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

/// A definition of MySQL whose columns name no collation that is the table's. MySQL shows it with each column, and a
/// column that is made with one shows its character set from then on.
/// Source: MySQL 9.7, sql/sql_show.cc, `store_create_info`; tried on 9.7.4.
fn without_default_collations(definition: &[u8]) -> Vec<u8> {
    const COLLATE: &[u8] = b" COLLATE=";
    let end = definition.windows(3).rposition(|three| three == b"\n) ").unwrap_or(0);
    let options = &definition[end..];
    let Some(at) = options.windows(COLLATE.len()).position(|window| window == COLLATE) else {
        return definition.to_vec();
    };
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let name: Vec<u8> = options[at + COLLATE.len()..].iter().take_while(is_word).copied().collect();
    let shown = [b" COLLATE ", &*name].concat();
    let lines = definition.split_inclusive(|&byte| byte == b'\n').map(|line| {
        let at = column_type_end(line).filter(|&at| line[at..].starts_with(&shown));
        let at = at.filter(|at| !line.get(at + shown.len()).is_some_and(|byte| is_word(&byte)));
        at.map_or(line.to_vec(), |at| [&line[..at], &line[at + shown.len()..]].concat())
    });
    lines.collect::<Vec<_>>().concat()
}

/// The end of the type in the line of a column; none of another line. Names and texts escape their line ends.
fn column_type_end(line: &[u8]) -> Option<usize> {
    let rest = line.strip_prefix(b"  `")?;
    let mut at = 3 + quoted_len(rest, b'`')?;
    at +=
        line[at..].strip_prefix(b" ")?.iter().take_while(|byte| byte.is_ascii_lowercase()).count()
            + 1;
    if line.get(at) != Some(&b'(') {
        return Some(at);
    }
    loop {
        match *line.get(at)? {
            b')' => return Some(at + 1),
            b'\'' => at += 1 + quoted_len(&line[at + 1..], b'\'')?,
            _ => at += 1,
        }
    }
}

/// Bytes up to the end of what is quoted, the last quote included. A quote in it is doubled.
fn quoted_len(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].iter().position(|&byte| byte == quote)? + 1;
        if text.get(at) != Some(&quote) {
            return Some(at);
        }
        at += 1;
    }
}

/// The engine of a definition: behind the last line that begins with a parenthesis, since texts in
/// between escape their line ends.
fn engine(definition: &[u8]) -> String {
    const BEFORE: &[u8] = b"\n) ";
    const ENGINE: &[u8] = b"ENGINE=";
    let ends = definition.windows(BEFORE.len()).enumerate().rev();
    let mut lines = ends
        .filter(|(_, window)| *window == BEFORE)
        .map(|(at, _)| &definition[at + BEFORE.len()..])
        // MySQL names a tablespace before the engine.
        .filter(|line| line.starts_with(ENGINE) || line.starts_with(b"/*!"));
    let line = lines.next().unwrap_or_default();
    let at = line.windows(ENGINE.len()).position(|window| window == ENGINE);
    let rest = at.map_or(&[][..], |at| &line[at + ENGINE.len()..]);
    let word = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
    String::from_utf8_lossy(&word.copied().collect::<Vec<u8>>()).into_owned()
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

    #[test]
    fn collations_of_the_table_are_not_those_of_columns() {
        let of = |columns: &str, options: &str| {
            let text = format!("(\n{columns}\n) ENGINE=InnoDB {options}");
            let text = String::from_utf8(without_default_collations(text.as_bytes())).unwrap();
            text[2..text.rfind("\n) ").unwrap()].to_owned()
        };
        let options = "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT=' COLLATE=x'";
        for (shown, made) in [
            ("  `a` text COLLATE utf8mb4_bin,", "  `a` text,"),
            (
                "  `a``b` varchar(9) COLLATE utf8mb4_bin DEFAULT 'x'",
                "  `a``b` varchar(9) DEFAULT 'x'",
            ),
            ("  `a` enum('a''),','b') COLLATE utf8mb4_bin", "  `a` enum('a''),','b')"),
            ("  `a` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,", ""),
            ("  `a` text COLLATE utf8mb4_bin2", ""),
            ("  `a` int COMMENT ' COLLATE utf8mb4_bin',", ""),
            ("  `a` enum(' COLLATE utf8mb4_bin') CHARACTER SET latin1", ""),
            ("  KEY ` COLLATE utf8mb4_bin` (`a`)", ""),
        ] {
            assert_eq!(of(shown, options), if made.is_empty() { shown } else { made });
            assert_eq!(of(shown, "DEFAULT CHARSET=latin1"), shown);
        }
    }

    #[test]
    fn the_engine_is_read_behind_the_columns() {
        let text = b"(\n  `a` int COMMENT ') ENGINE=CSV'\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
        assert_eq!(engine(text), "InnoDB");
        let text =
            b"(\n  `a` int\n) /*!50100 TABLESPACE `s` */ ENGINE=InnoDB COMMENT=') ENGINE=CSV'";
        assert_eq!(engine(text), "InnoDB");
        assert_eq!(engine(b"("), "");
    }
}
