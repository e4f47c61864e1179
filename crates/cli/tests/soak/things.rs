//! Objects in a database besides rows, and connections.

use std::path::Path;

use crate::hosts::Host;
use crate::support::names;
use testkit::tables::server::Db;

/// Tables of a database, and the files of its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Things {
    pub(crate) tables: Vec<String>,
    files: Vec<String>,
}

impl Things {
    pub(crate) fn of(host: &Host, db: &mut Db) -> Things {
        let folder: &Path = &host.server.datadir().join(&db.name);
        let mut tables = db.tables();
        tables.sort();
        // What an export leaves goes with the next statement on its table.
        let files = names(folder).into_iter().filter(|name| !name.ends_with(".cfg")).collect();
        Things { tables, files }
    }
}

/// Connections, the one that asks among them.
pub(crate) fn connections(db: &mut Db) -> u64 {
    db.number("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND<>'Daemon'")
}
