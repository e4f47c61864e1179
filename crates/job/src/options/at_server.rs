//! What a load does at the server besides filling the table.

use std::time::Duration;

use tune::Class;

/// How long others may have to wait for a merge, where nobody says.
const WRITE_BLOCK_SECONDS: u32 = 30;

/// Whom the logical path does not leave behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// `HOST[:PORT]` of replicas that the primary does not know, or not by an address that can be
    /// reached from here. Those that it knows are found.
    pub named: Vec<String>,
    /// How far they may be behind before the load waits for them; None does not look. Default 30 s.
    pub lag_max: Option<Duration>,
}

impl Default for Replicas {
    fn default() -> Replicas {
        Replicas { named: Vec::new(), lag_max: Some(Duration::from_secs(30)) }
    }
}

/// What is done at the server besides filling the table, and how long others may wait.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Whether nothing of the load is to be in the server's binary log, which only the direct path
    /// can do for so many rows. Default: no.
    pub unlogged: bool,
    /// Whether a table that is built is read back from the server before it is published, and its rows
    /// compared with those that were read. Default: yes.
    pub verifies: bool,
    /// Whether a table with triggers may be built, past them: they are not run, and stay on it.
    /// Default: no.
    pub no_triggers: bool,
    /// Whether rows are taken in whatever foreign keys say of them. Default: no.
    pub unchecked_keys: bool,
    /// Replicas that the logical path waits for. Default: those that the primary knows.
    pub replicas: Replicas,
    /// Addresses of servers that have partitions of the table, by the names that it knows them by:
    /// `HOST:PORT`. Default: those that it says.
    pub shard_addresses: Vec<(String, String)>,
    /// Whether rows of a table whose partitions are tables of other servers go through its own server.
    /// Default: where they cannot go to each by themselves.
    pub through_head: bool,
    /// Whether variables of the server are set for the load, and put back behind it, and what may be given
    /// up meanwhile. Default: none is set.
    pub tune: Option<Class>,
    /// Seconds to wait for others who hold the table. Default 60.
    pub lock_wait_seconds: u32,
    /// How long others that write to the table may have to wait while rows are merged with those there;
    /// none for as long as it takes.
    pub write_block_seconds_max: Option<u32>,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            unlogged: false,
            verifies: true,
            no_triggers: false,
            unchecked_keys: false,
            replicas: Replicas::default(),
            shard_addresses: Vec::new(),
            through_head: false,
            tune: None,
            lock_wait_seconds: 60,
            write_block_seconds_max: Some(WRITE_BLOCK_SECONDS),
        }
    }
}
