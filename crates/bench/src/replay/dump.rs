//! The dumps: made once a scale and server, and kept beside the rows.
//!
//! The server's own LOAD DATA fills the tables that are dumped, so that nothing that Inrush does to
//! rows is in the dump it is measured by. Beside `replay-plain.sql` a note, `replay-plain.json`, says
//! what the dumped tables held.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::choice::choices;
use crate::error::Error;
use crate::tpch::Table;

/// Changes whenever the same scale and server would give another dump.
pub(super) const MAKER: &str = "mariadb-dump 1";

choices! {
    /// One of the two dumps.
    #[derive(serde::Deserialize)]
    pub enum Kind {
        /// HammerDB's tables, keys and foreign keys.
        Plain = "plain";
        /// The same with an AUTO_INCREMENT column in each table.
        Numbered = "numbered";
    }
}

/// The contents of a table of the dump.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Its name.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// CHECKSUM TABLE.
    pub checksum: String,
}

/// A dump, and what was dumped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dump {
    /// Where it is.
    #[serde(skip)]
    pub path: PathBuf,
    /// Which of the two.
    pub kind: Kind,
    /// TPC-H scale factor of its rows.
    pub scale: f64,
    /// Its bytes.
    pub bytes: u64,
    /// The rows of each table.
    pub tables: Vec<Contents>,
    /// Their definitions by `mariadb-dump --no-data`.
    pub schema: String,
    /// Version of the server that it is of.
    pub(super) server: String,
    /// Who made it: [`MAKER`].
    pub(super) maker: String,
}

impl Kind {
    /// Statements that make the empty tables, in an order in which they may run.
    pub(super) fn statements(self) -> Result<Vec<&'static str>, Error> {
        let mut files = Vec::new();
        for table in Table::ALL {
            files.push(table.ddl(crate::tpch::Schema::Tproch)?);
        }
        if self == Kind::Numbered {
            files.push(include_str!("../../schema/tproch/numbered.sql"));
        }
        files.push(include_str!("../../schema/tproch/foreign_keys.sql"));
        let statements = files.into_iter().flat_map(|file| file.split(";\n"));
        Ok(statements.map(str::trim).filter(|text| !text.is_empty()).collect())
    }
}

impl Dump {
    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

/// The dump in `dir`, if its note says that it is whole, of this scale and of a server of this
/// version; an unreadable note says no.
pub(super) fn existing(dir: &Path, kind: Kind, scale: f64, server: &str) -> Option<Dump> {
    let path = path(dir, kind);
    let found: Dump = serde_json::from_slice(&fs::read(note(&path)).ok()?).ok()?;
    let bytes = fs::metadata(&path).ok()?.len();
    let same = (found.kind, found.bytes, found.scale) == (kind, bytes, scale);
    (same && found.maker == MAKER && found.server == server).then_some(Dump { path, ..found })
}

/// Where a dump is kept.
pub(super) fn path(dir: &Path, kind: Kind) -> PathBuf {
    dir.join(format!("replay-{}.sql", kind.name()))
}

/// Where the note beside it is.
pub(super) fn note(path: &Path) -> PathBuf {
    path.with_extension("json")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn statements_come_one_by_one() {
        let plain = Kind::Plain.statements().unwrap();
        assert_eq!(plain.iter().filter(|sql| sql.contains("CREATE TABLE")).count(), 8);
        assert_eq!(plain.iter().filter(|sql| sql.contains("ADD CONSTRAINT")).count(), 6);
        assert!(plain.iter().all(|sql| !sql.contains("AUTO_INCREMENT")));
        let numbered = Kind::Numbered.statements().unwrap();
        let columns: usize = numbered.iter().map(|sql| sql.matches("NULL AUTO_INC").count()).sum();
        assert_eq!(columns, 8);
    }

    #[test]
    fn a_dump_of_another_server_or_scale_is_not_taken() {
        let dir = std::env::temp_dir().join(format!("inrush-dump-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = path(&dir, Kind::Plain);
        fs::write(&path, "-- dump").unwrap();
        let dump = Dump {
            path: PathBuf::new(),
            kind: Kind::Plain,
            scale: 0.5,
            bytes: 7,
            tables: vec![Contents { table: "region".into(), rows: 5, checksum: "1".into() }],
            schema: String::new(),
            server: "10.11".to_owned(),
            maker: MAKER.to_owned(),
        };
        assert_eq!(existing(&dir, Kind::Plain, 0.5, "10.11"), None);
        fs::write(note(&path), serde_json::to_vec(&dump).unwrap()).unwrap();
        assert_eq!(existing(&dir, Kind::Plain, 0.5, "10.11").unwrap().path, path);
        assert_eq!(existing(&dir, Kind::Plain, 0.6, "10.11"), None);
        assert_eq!(existing(&dir, Kind::Plain, 0.5, "11.8"), None);
        fs::write(&path, "-- dump cut").unwrap();
        assert_eq!(existing(&dir, Kind::Plain, 0.5, "10.11"), None);
        fs::remove_dir_all(&dir).unwrap();
    }
}
