//! The two families of servers.

/// Who made the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flavor {
    /// MariaDB Server.
    MariaDb,
    /// MySQL, Percona Server and others that follow it.
    MySql,
}
