//! mydumper's metadata about its own dump.

use std::collections::BTreeMap;

use crate::dump::folder::{self, Folder};
use crate::error::Error;

/// A database and a table, as the files' names have them.
pub(super) type FileNames = (Vec<u8>, Vec<u8>);

/// The contents of `metadata`. Up to 0.11 it is a few lines, since then sections of `key = value`.
#[derive(Clone, Debug, Default)]
pub(super) struct Metadata {
    /// True if the dump is complete.
    pub(super) is_complete: bool,
    /// Names of tables on the server.
    pub(super) names: BTreeMap<FileNames, Vec<u8>>,
    /// Rows of tables.
    pub(super) rows: BTreeMap<FileNames, u64>,
    /// The `sql_mode` of sessions that load, as SQL.
    pub(super) sql_mode: Option<String>,
}

impl Metadata {
    /// Reads the folder's `metadata`, or `metadata.partial`, which an interrupted dump leaves.
    pub(super) fn read(folder: &Folder) -> Result<Metadata, Error> {
        let mut metadata = Metadata::default();
        for name in ["metadata.header", "metadata.partial", "metadata"] {
            if let Some(path) = folder.file(name.as_bytes()) {
                metadata.parse(&folder::text(path)?);
                metadata.is_complete &= name == "metadata";
            }
        }
        Ok(metadata)
    }

    fn parse(&mut self, text: &[u8]) {
        let mut section: &[u8] = b"";
        for line in text.split(|&byte| byte == b'\n') {
            let line = line.trim_ascii();
            let comment = line.strip_prefix(b"#").unwrap_or(line).trim_ascii_start();
            if comment.starts_with(b"Finished dump at") {
                self.is_complete = true;
            } else if line.starts_with(b"[") && line.ends_with(b"]") {
                section = &line[1..line.len() - 1];
            } else if let Some(equals) = line.iter().position(|&byte| byte == b'=') {
                let (key, value) = (line[..equals].trim_ascii(), line[equals + 1..].trim_ascii());
                self.set(section, key, value);
            }
        }
    }

    fn set(&mut self, section: &[u8], key: &[u8], value: &[u8]) {
        if section == b"myloader_session_variables" {
            if key.eq_ignore_ascii_case(b"SQL_MODE") {
                let value = String::from_utf8_lossy(value);
                let value = value.split("/*").next().unwrap_or_default();
                self.sql_mode = Some(value.trim().to_owned());
            }
            return;
        }
        let Some(table) = table_of(section) else { return };
        match key {
            b"real_table_name" => {
                self.names.insert(table, value.to_vec());
            }
            b"rows" => {
                let count = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
                count.map(|count| self.rows.insert(table, count));
            }
            _ => {}
        }
    }
}

/// `` `db`.`t` `` or `"db"."t"`: no quote is doubled there.
fn table_of(section: &[u8]) -> Option<FileNames> {
    let (&quote, rest) = section.split_first()?;
    if quote != b'`' && quote != b'"' {
        return None;
    }
    let inside = rest.strip_suffix(&[quote])?;
    let between = [quote, b'.', quote];
    let place = inside.windows(3).position(|window| window == between)?;
    Some((inside[..place].to_vec(), inside[place + 3..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Metadata {
        let mut metadata = Metadata::default();
        metadata.parse(text.as_bytes());
        metadata
    }

    #[test]
    fn a_few_lines_of_old_say_whether_it_is_complete() {
        assert!(parse("Started dump at: 2026\nFinished dump at: 2026\n").is_complete);
        assert!(!parse("Started dump at: 2026\n").is_complete);
    }

    #[test]
    fn sections_of_today_have_names_rows_and_the_mode() {
        let metadata = parse(
            "# Started dump at: 2026-01-01\n[config]\nquote-character = BACKTICK\n\n\
             [myloader_session_variables]\nSQL_MODE='NO_AUTO_VALUE_ON_ZERO,ANSI_QUOTES' /*!40101\n\n\
             [`shop`.`mydumper_0`]\nreal_table_name=a.b\nrows = 12\n\n[`shop`]\nx = 1\n\
             # Finished dump at: 2026-01-01\n",
        );
        let key = (b"shop".to_vec(), b"mydumper_0".to_vec());
        assert!(metadata.is_complete);
        assert_eq!(metadata.names.get(&key), Some(&b"a.b".to_vec()));
        assert_eq!(metadata.rows.get(&key), Some(&12));
        assert_eq!(metadata.sql_mode.as_deref(), Some("'NO_AUTO_VALUE_ON_ZERO,ANSI_QUOTES'"));
    }
}
