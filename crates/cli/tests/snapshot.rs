//! The state before a command and behind it.

use server::Session;
use testkit::TestServer;

use crate::support::{names, tables};

/// The table `t (a, b)` of a database, and what is beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Rows of `t` in order of `a`, as `a b`; none where it is not there.
    pub(crate) rows: Option<Vec<String>>,
    pub(crate) tables: Vec<String>,
    pub(crate) files: Vec<String>,
}

impl Snapshot {
    pub(crate) fn of(session: &mut Session, server: &TestServer, database: &str) -> Snapshot {
        let tables = tables(session, database);
        let rows = tables.iter().any(|table| table == "t").then(|| {
            let sql = format!("SELECT CONCAT(a, ' ', b) FROM `{database}`.t ORDER BY a");
            let rows = session.query(&sql).unwrap();
            rows.iter().map(|row| row.text_lossy(0)).collect()
        });
        Snapshot { rows, tables, files: names(&server.datadir().join(database)) }
    }

    /// The leftovers of a load, by the names of its tables.
    pub(crate) fn left(&self) -> Vec<&str> {
        let names = self.tables.iter().chain(&self.files);
        let mut left: Vec<&str> = names
            .filter(|name| name.contains("_inrush_"))
            .map(|name| name.split('.').next().unwrap_or_default())
            .collect();
        left.dedup();
        left
    }
}
