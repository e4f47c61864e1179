//! Storage engines.

use std::fmt;

/// Storage engine of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The one whose files the direct path builds.
    InnoDb,
    /// MyRocks.
    RocksDb,
    /// TokuDB, of Percona, gone since.
    TokuDb,
    /// Without transactions.
    MyIsam,
    /// Without transactions.
    Aria,
    /// In the server's memory.
    Memory,
    /// Files of text.
    Csv,
    /// Rows that are added and never changed.
    Archive,
    /// Any other, in the server's spelling.
    Other(String),
    /// A view has none, and a table none that the server cannot open.
    None,
}

/// Those with a name of their own, as servers spell it.
const NAMES: [(Engine, &str); 8] = [
    (Engine::InnoDb, "InnoDB"),
    (Engine::RocksDb, "ROCKSDB"),
    (Engine::TokuDb, "TokuDB"),
    (Engine::MyIsam, "MyISAM"),
    (Engine::Aria, "Aria"),
    (Engine::Memory, "MEMORY"),
    (Engine::Csv, "CSV"),
    (Engine::Archive, "ARCHIVE"),
];

impl Engine {
    /// The engine of this name, in whatever case; [`Engine::None`] for an empty one.
    pub fn named(name: &str) -> Engine {
        let known = NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name));
        match known {
            Some((engine, _)) => engine.clone(),
            None if name.is_empty() => Engine::None,
            None => Engine::Other(name.to_owned()),
        }
    }

    /// True for Spider, whose tables and partitions have their rows on other servers.
    pub fn is_spider(&self) -> bool {
        matches!(self, Engine::Other(name) if name.eq_ignore_ascii_case("SPIDER"))
    }
}

/// As the server spells it; nothing for [`Engine::None`].
impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::InnoDb => "InnoDB",
            Engine::RocksDb => "ROCKSDB",
            Engine::TokuDb => "TokuDB",
            Engine::MyIsam => "MyISAM",
            Engine::Aria => "Aria",
            Engine::Memory => "MEMORY",
            Engine::Csv => "CSV",
            Engine::Archive => "ARCHIVE",
            Engine::Other(name) => name,
            Engine::None => "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_spelled_as_they_were_read() {
        for (engine, name) in NAMES {
            assert_eq!(Engine::named(name), engine);
            assert_eq!(engine.to_string(), name);
        }
        assert_eq!(Engine::named("innodb"), Engine::InnoDb);
        assert_eq!(Engine::named("MRG_MyISAM").to_string(), "MRG_MyISAM");
        assert_eq!(Engine::named(""), Engine::None);
    }
}
