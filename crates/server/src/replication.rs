//! Who replicates from whom, and what of a table would be lost on the way.
//!
//! For loads that put the same file on a primary and on its replicas, and have the RENAME alone
//! replicated: each replica of the primary has to have the file, and to come to the RENAME. [`replicas`]
//! says which there are, [`lag`] how far one is behind.

pub mod lag;
pub mod replicas;

use std::collections::{BTreeMap, HashMap};

use crate::error::Result;
use crate::session::Session;
use crate::version::Flavor;

/// Rules of a replica by which it leaves out or renames what it is sent.
const FILTERS: [&str; 7] = [
    "replicate_do_db",
    "replicate_ignore_db",
    "replicate_do_table",
    "replicate_ignore_table",
    "replicate_wild_do_table",
    "replicate_wild_ignore_table",
    "replicate_rewrite_db",
];

/// A server with a binary log, and who takes it.
#[derive(Clone, Debug)]
pub struct Primary {
    /// `@@server_id`.
    pub id: u64,
    /// Numbers of the replicas that registered, with what is known of where they are.
    pub replicas: BTreeMap<u64, String>,
    /// Rules that leave statements out of the log, a sentence each.
    pub filters: Vec<String>,
    /// Connections that take the log.
    pub followers: usize,
}

impl Primary {
    /// Asks the server of `session`.
    ///
    /// Errors: the account may not see it: it needs REPLICATION MASTER ADMIN and, without SUPER,
    /// BINLOG MONITOR; on MySQL REPLICATION SLAVE and REPLICATION CLIENT.
    pub fn read(session: &mut Session) -> Result<Primary> {
        let id = session.query_row("SELECT @@server_id")?.number(0)?;
        let mut replicas = BTreeMap::new();
        let hosts = match session.version().flavor {
            Flavor::MariaDb => "SHOW SLAVE HOSTS",
            Flavor::MySql => "SHOW REPLICAS",
        };
        for row in session.query(hosts)? {
            let place = format!("server {} at {}:{}", row.text(0)?, row.text(1)?, row.text(2)?);
            replicas.insert(row.number(0)?, place);
        }
        let mut filters = Vec::new();
        for status in log_status(session)? {
            for rule in ["binlog_do_db", "binlog_ignore_db"] {
                filters.extend(set(&status, rule).map(|names| format!("{rule} is {names}")));
            }
        }
        let dumps = session.query_processes(|processes| {
            format!("SELECT ID FROM {processes} WHERE COMMAND LIKE 'Binlog Dump%'")
        })?;
        let followers = dumps.len();
        Ok(Primary { id, replicas, filters, followers })
    }

    /// The reasons why the server of `session` is no replica that gets everything that this one
    /// logs, a sentence each.
    ///
    /// Errors: the account may not see it: without SUPER it needs REPLICA MONITOR.
    pub fn against(&self, session: &mut Session) -> Result<Vec<String>> {
        let channels = channels(session)?;
        let id = self.id.to_string();
        let source = ["master_server_id", "source_server_id"];
        let ours = |channel: &&HashMap<_, _>| word(channel, &source) == Some(id.as_str());
        let Some(channel) = channels.iter().find(ours) else {
            return Ok(vec![format!("the replica does not replicate from server {id}")]);
        };
        let mut against = Vec::new();
        let (threads, start) = match session.version().flavor {
            Flavor::MariaDb => (["slave_io_running", "slave_sql_running"], "START SLAVE"),
            Flavor::MySql => (["replica_io_running", "replica_sql_running"], "START REPLICA"),
        };
        for thread in threads {
            let state = set(channel, thread).unwrap_or("unknown");
            if state != "Yes" {
                against.push(format!("{thread} is {state}: {start}"));
            }
        }
        for rule in FILTERS {
            against.extend(set(channel, rule).map(|names| format!("{rule} is {names}")));
        }
        Ok(against)
    }

    /// What the server of `session` has logged so far, by the ids of its transactions; none if it gives them none.
    pub fn position(session: &mut Session) -> Result<Option<String>> {
        match session.version().flavor {
            Flavor::MariaDb => session.query_text("SELECT @@gtid_binlog_pos"),
            Flavor::MySql => session
                .query_text("SELECT IF(@@GLOBAL.gtid_mode='ON', @@GLOBAL.gtid_executed, NULL)"),
        }
    }

    /// Waits until the server of `session` has done all that this one had logged at `position`, as
    /// [`Primary::position`] has it; whether it has.
    pub fn is_reached(session: &mut Session, position: &str, seconds: u64) -> Result<bool> {
        let wait = match session.version().flavor {
            Flavor::MariaDb => "MASTER_GTID_WAIT",
            Flavor::MySql => "WAIT_FOR_EXECUTED_GTID_SET",
        };
        let position = crate::identifier::quote_text(position);
        let sql = format!("SELECT {wait}({position}, {seconds})");
        Ok(session.query_text(&sql)?.as_deref() == Some("0"))
    }
}

/// Seconds that the server of `session`, a replica, was told to stay behind (`MASTER_DELAY`).
pub fn delay(session: &mut Session) -> Result<u64> {
    let channels = channels(session)?;
    let delay = |channel| set(channel, "sql_delay")?.parse().ok();
    Ok(channels.iter().filter_map(delay).max().unwrap_or(0))
}

/// The value of a column, if any.
fn set<'a>(row: &'a HashMap<String, Option<String>>, column: &str) -> Option<&'a str> {
    row.get(column)?.as_deref().filter(|value| !value.is_empty())
}

/// The server's status of its binary log.
pub fn log_status(session: &mut Session) -> Result<Vec<HashMap<String, Option<String>>>> {
    session.query_named(match session.version().flavor {
        Flavor::MySql if session.version().number >= (8, 2, 0) => "SHOW BINARY LOG STATUS",
        _ => "SHOW MASTER STATUS",
    })
}

/// The server's status of each primary that it follows.
pub fn channels(session: &mut Session) -> Result<Vec<HashMap<String, Option<String>>>> {
    session.query_named(match session.version().flavor {
        Flavor::MariaDb => "SHOW ALL SLAVES STATUS",
        _ if session.version().number >= (8, 0, 22) => "SHOW REPLICA STATUS",
        _ => "SHOW SLAVE STATUS",
    })
}

/// The value of the first of these columns that exists, if any.
pub fn word<'a>(row: &'a HashMap<String, Option<String>>, columns: &[&str]) -> Option<&'a str> {
    let value = columns.iter().find_map(|column| row.get(*column))?;
    value.as_deref().filter(|value| !value.is_empty())
}
