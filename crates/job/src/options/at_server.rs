//! The server's binary log, triggers, keys, replicas and settings during a load, and waits for others.

use std::time::Duration;

use tune::Class;

/// How long others may have to wait for a merge, where nobody says.
const WRITE_BLOCK_SECONDS: u32 = 30;

/// Replicas that the logical path does not leave behind.
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

/// The server's binary log, triggers, keys, replicas and settings, and waits for others.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// True if nothing of the load is to be in the server's binary log, which only the direct path
    /// can do. Default no.
    pub unlogged: bool,
    /// True if a table that is built is read back from the server before it is published, and its rows
    /// compared with those of the input. Default yes.
    pub verifies: bool,
    /// True if the pages of a table that is built get the server's LSN before it is published, so that
    /// incremental backups contain it. Default: where the server has a history of backups.
    pub stamps: Option<bool>,
    /// True if a table with triggers may be built without running them; they stay on it. Default no.
    pub no_triggers: bool,
    /// True if a server gets built files whose build is neither tested nor proven. Default no.
    pub untested: bool,
    /// True if rows are loaded without a look at their foreign keys. Default no.
    pub unchecked_keys: bool,
    /// Replicas that the logical path waits for. Default: those that the primary knows.
    pub replicas: Replicas,
    /// Addresses of servers that have partitions of the table, by the names that it knows them by:
    /// `HOST:PORT`. Default: those that it says.
    pub shard_addresses: Vec<(String, String)>,
    /// True if rows of a table whose partitions are tables of other servers go through its own server.
    /// Default: where they cannot go to each by themselves.
    pub through_head: bool,
    /// The class of server variables that are set for the load and put back behind it: each class gives up
    /// more safety meanwhile. Default: none is set.
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
            stamps: None,
            no_triggers: false,
            untested: false,
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
