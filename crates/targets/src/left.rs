//! Leftovers of loads in a database and its folder, queried at once for many targets.
//!
//! A question for tables, databases and files of one target has the server read the names of all.

use std::collections::HashSet;

use crate::foreign_keys::own_parents;
use crate::names::{digest_of, digests_in};
use server::error::Result;
use server::facts::database_dir::DatabaseDir;
use server::identifier::{TableName, quote_text};
use server::session::Session;

/// The targets of which something is left.
#[derive(Debug)]
pub(super) struct Left {
    /// By the digests that their names have of their targets.
    digests: HashSet<String>,
}

impl Left {
    /// Asks the server, and reads the folder, if it can be reached.
    ///
    /// None where the folder cannot be read: each target is asked for by itself then.
    pub(super) fn read(
        session: &mut Session,
        database: &str,
        dir: Option<&DatabaseDir>,
    ) -> Result<Option<Left>> {
        let Ok(mut names) = dir.map_or_else(|| Ok(Vec::new()), DatabaseDir::names) else {
            return Ok(None);
        };
        let sql = format!(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA={} \
             AND TABLE_NAME LIKE '\\_inrush\\_%' UNION ALL \
             SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE '\\_inrush\\_%'",
            quote_text(database)
        );
        for row in session.query(&sql)? {
            names.push(row.text(0)?);
        }
        names.extend(own_parents(session)?);
        Ok(Some(Left { digests: names.iter().flat_map(|name| digests_in(name)).collect() }))
    }

    /// True if a load of this target has left something.
    pub(super) fn has(&self, target: &TableName) -> bool {
        self.digests.contains(&digest_of(target))
    }
}
