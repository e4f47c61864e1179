//! The two families of servers.

use serde::{Deserialize, Serialize};

/// Who made the server.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Flavor {
    /// MariaDB Server.
    #[default]
    MariaDb,
    /// MySQL, Percona Server and others that follow it.
    MySql,
}

impl Flavor {
    /// The name of a view of InnoDB's dictionary in information_schema: of TABLES, or of FOREIGN.
    pub fn innodb_view(self, what: &str) -> String {
        let prefix = match self {
            Flavor::MariaDb => "INNODB_SYS_",
            Flavor::MySql => "INNODB_",
        };
        format!("{prefix}{what}")
    }
}
