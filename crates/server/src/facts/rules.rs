//! Which engine answers, and the limits that it tells.

use std::collections::HashMap;

use face::option::MODE;

use crate::engine::{Kind, Limit, Rules, Swap};
use crate::error::Result;
use crate::session::Session;
use crate::version::Flavor;

/// Variables of TiDB and of Group Replication; a MySQL without either has none.
const OF_MYSQL: [&str; 4] = [
    "group_replication_group_name",
    "group_replication_single_primary_mode",
    "group_replication_transaction_size_limit",
    "tidb_txn_mode",
];
const OF_GALERA: [&str; 2] = ["wsrep_max_ws_rows", "wsrep_max_ws_size"];

/// TiDB's limit of a transaction where it does not tell: `txn-total-size-limit` by default.
const TIDB_TRANSACTION_BYTES: u64 = 100 << 20;
/// A transaction may take so much less of the memory of its session (`tidb_mem_quota_query`), by which
/// versions from 6.5 go where the limit is the default.
const TIDB_MEMORY_TIMES: u64 = 4;
/// From there on LOAD DATA belongs to the transaction it is in, and ROLLBACK undoes it.
/// Source: docs.pingcap.com, LOAD DATA, MySQL compatibility.
const TIDB_LOADS_IN_TRANSACTION: (u16, u16) = (7, 6);
/// From there on it has named locks, savepoints and metadata locks.
const TIDB_MIN: (u16, u16) = (6, 5);
/// Character sets in which LOAD DATA of TiDB can read a file: `CHARACTER SET` is parsed and ignored.
const TIDB_CHARSETS: [&str; 4] = ["utf8mb4", "utf8mb3", "utf8", "ascii"];

/// gRPC messages of Vitess have 16 MiB at most by default. A value of an INSERT is there as its place
/// in the statement and as a variable: of a digit some sixteen bytes.
const VITESS_STATEMENT_BYTES: u64 = 1 << 20;
/// Half of the transactions that a tablet has at once by default (`queryserver-config-transaction-cap`).
const VITESS_CONNECTIONS: usize = 10;

/// Above that PolarDB-X cuts an INSERT into pieces of 200 rows (`MAX_BATCH_INSERT_SQL_LENGTH`).
const POLARDB_X_STATEMENT_BYTES: u64 = 256 << 10;

/// Asks the server of `session`; `has_wsrep` where `wsrep_on` is set. Changes nothing.
pub(super) fn read(session: &mut Session, has_wsrep: bool) -> Result<Rules> {
    if has_wsrep {
        return Ok(galera(&variables(session, &OF_GALERA)?));
    }
    if session.version().flavor == Flavor::MariaDb {
        return Ok(Rules::default());
    }
    match Kind::of_version(session.version()) {
        Kind::PolarDbX => return Ok(polardb_x()),
        Kind::TiDb => return tidb(session),
        _ => {}
    }
    let named = Kind::of_version(session.version()) == Kind::Vitess;
    if let Some(shards) = shards(session)?.or(named.then(Vec::new)) {
        return Ok(vitess(shards));
    }
    let variables = variables(session, &OF_MYSQL)?;
    if variables.contains_key("tidb_txn_mode") {
        // Sessions are made fit for TiDB by its version.
        return Ok(Rules {
            kind: Kind::TiDb,
            refused: Some(format!(
                "version {} does not contain TiDB, so the server is not recognised as TiDB: add \
                 TiDB to `server-version`",
                session.version()
            )),
            ..Rules::default()
        });
    }
    group(session, &variables)
}

/// Shards of a vtgate, which may call itself as it was told to: only it knows this statement.
fn shards(session: &mut Session) -> Result<Option<Vec<String>>> {
    match session.query("SHOW VITESS_SHARDS") {
        Ok(rows) => Ok(Some(rows.iter().map(|row| row.text_lossy(0)).collect())),
        Err(error) if error.is_cut() => Err(error),
        Err(_) => Ok(None),
    }
}

impl Kind {
    /// The engine without its rules, as far as an export has to know it.
    pub fn ask(session: &mut Session) -> Result<Kind> {
        let kind = Kind::of_version(session.version());
        let is_known = kind != Kind::Plain || session.version().flavor == Flavor::MariaDb;
        Ok(if !is_known && shards(session)?.is_some() { Kind::Vitess } else { kind })
    }
}

fn tidb(session: &mut Session) -> Result<Rules> {
    let text = session.version().text.clone();
    let release = tidb_release(&text);
    let refused = match release {
        Some(release) if release >= TIDB_MIN => None,
        Some(_) => Some(format!(
            "version {text} is too old: TiDB 6.5 or newer is needed, for the named locks that \
             prevent two loads of one table"
        )),
        None => Some(format!("version {text} contains no TiDB release")),
    };
    let in_transaction = release.is_some_and(|release| release >= TIDB_LOADS_IN_TRANSACTION);
    let no_load_data = (!in_transaction).then(|| {
        "before TiDB 7.6, LOAD DATA is not part of the transaction and cannot be rolled back"
            .to_owned()
    });
    Ok(Rules {
        kind: Kind::TiDb,
        refused,
        no_load_data,
        load_data_charsets: Some(&TIDB_CHARSETS),
        transaction: Some(tidb_transaction(session)?),
        swap: Swap::Unlocked,
        no_deferred_indexes: true,
        notes: vec![
            "rows in primary key order go to one region at a time; AUTO_RANDOM, or SHARD_ROW_ID_BITS with \
             PRE_SPLIT_REGIONS, spreads them"
                .to_owned(),
        ],
        ..Rules::default()
    })
}

/// `v7.5.1` in `8.0.11-TiDB-v7.5.1`.
pub fn tidb_release(text: &str) -> Option<(u16, u16)> {
    let (_, rest) = text.split_once("TiDB-v")?;
    let mut parts = rest.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The limit of a transaction: the smaller one of its limits.
fn tidb_transaction(session: &mut Session) -> Result<Limit> {
    const NAME: &str = "performance.txn-total-size-limit";
    let sql = format!("SHOW CONFIG WHERE type='tidb' AND name='{NAME}'");
    let asked = match session.query(&sql) {
        Err(error) if error.is_cut() => return Err(error),
        // Without the right to see it.
        Err(_) => Vec::new(),
        Ok(rows) => rows,
    };
    // Type, instance, name, value: of each server of the cluster.
    let told = asked.iter().filter_map(|row| row.text_lossy(3).parse::<u64>().ok());
    let told = told.filter(|bytes| *bytes > 0).min();
    let limit = match told {
        Some(bytes) => Limit { bytes, from: "txn-total-size-limit" },
        None => Limit { bytes: TIDB_TRANSACTION_BYTES, from: "txn-total-size-limit by default" },
    };
    let memory = match session.query_text("SELECT @@tidb_mem_quota_query") {
        Err(error) if error.is_cut() => return Err(error),
        // 0 and -1 are no limit.
        memory => memory.ok().flatten().and_then(|text| text.parse::<u64>().ok()),
    };
    let memory = memory.filter(|bytes| *bytes > 0).map(|bytes| bytes / TIDB_MEMORY_TIMES);
    Ok(match memory {
        Some(bytes) if bytes < limit.bytes => {
            Limit { bytes, from: "a part of tidb_mem_quota_query" }
        }
        _ => limit,
    })
}

fn vitess(shards: Vec<String>) -> Rules {
    Rules {
        kind: Kind::Vitess,
        no_load_data: Some("vtgate does not support LOAD DATA LOCAL".to_owned()),
        statement: Some(Limit {
            bytes: VITESS_STATEMENT_BYTES,
            from: "a gRPC message has 16 MiB, and each value needs some further bytes",
        }),
        connections_max: Some(VITESS_CONNECTIONS),
        swap: Swap::Never("vtgate ignores LOCK TABLES, and routes only known table names"),
        no_deferred_indexes: true,
        shards,
        notes: vec![
            "tablets end transactions, also that of a load, after \
             queryserver-config-transaction-timeout, 30 s by default"
                .to_owned(),
        ],
        ..Rules::default()
    }
}

fn polardb_x() -> Rules {
    Rules {
        kind: Kind::PolarDbX,
        no_load_data: Some("LOAD DATA is not a transaction on PolarDB-X".to_owned()),
        statement: Some(Limit {
            bytes: POLARDB_X_STATEMENT_BYTES,
            from: "MAX_BATCH_INSERT_SQL_LENGTH, above which an INSERT is split",
        }),
        swap: Swap::Never(
            "PolarDB-X has no CREATE TABLE .. LIKE for partitioned tables, and some versions \
             cannot rename several tables at once",
        ),
        no_whole: Some(format!(
            "savepoints in such a transaction are not confirmed to work on PolarDB-X; {} adds \
             rows exactly once, in chunks",
            MODE.with("append")
        )),
        no_deferred_indexes: true,
        ..Rules::default()
    }
}

fn galera(variables: &HashMap<String, String>) -> Rules {
    let number = |name: &str| positive(variables, name);
    let limit = |bytes| Limit { bytes, from: "wsrep_max_ws_size" };
    Rules {
        kind: Kind::Galera,
        transaction: number("wsrep_max_ws_size").map(limit),
        transaction_rows: number("wsrep_max_ws_rows").map(|rows| (rows, "wsrep_max_ws_rows")),
        // An ALTER is done by all nodes at the same point, and everything behind it waits.
        no_deferred_indexes: true,
        notes: vec![
            "a load's named locks exist on this node only: do not load the table through another \
             node at the same time"
                .to_owned(),
        ],
        ..Rules::default()
    }
}

fn group(session: &mut Session, variables: &HashMap<String, String>) -> Result<Rules> {
    if variables.get("group_replication_group_name").is_none_or(String::is_empty) {
        return Ok(Rules::default());
    }
    let members = session.query(
        "SELECT MEMBER_HOST, MEMBER_PORT, MEMBER_ROLE FROM performance_schema.replication_group_members \
         WHERE MEMBER_STATE <> 'OFFLINE'",
    );
    let members = match members {
        Err(error) if error.is_cut() => return Err(error),
        Ok(members) if members.is_empty() => return Ok(Rules::default()),
        // An account that may not look is taken for one of a running group's member.
        members => members.unwrap_or_default(),
    };
    let limit = |bytes| Limit { bytes, from: "group_replication_transaction_size_limit" };
    let mut notes = vec![
        "a load's named locks exist on this member only: do not load the table through another \
         member at the same time"
            .to_owned(),
    ];
    let primaries = members.iter().filter(|row| row.text_lossy(2) == "PRIMARY");
    let primaries: Vec<String> =
        primaries.map(|row| format!("{}:{}", row.text_lossy(0), row.text_lossy(1))).collect();
    let mode = variables.get("group_replication_single_primary_mode");
    match mode.map(String::as_str) {
        Some("OFF") => notes.push(
            "the group has several primaries: do not change the table through another one during \
             the load, because a RENAME and rows of different members can conflict"
                .to_owned(),
        ),
        _ if !primaries.is_empty() => {
            notes.push(format!("the primary of the group is {}", primaries.join(", ")))
        }
        _ => {}
    }
    Ok(Rules {
        kind: Kind::GroupReplication,
        transaction: positive(variables, "group_replication_transaction_size_limit").map(limit),
        notes,
        ..Rules::default()
    })
}

fn positive(variables: &HashMap<String, String>, name: &str) -> Option<u64> {
    variables.get(name)?.parse().ok().filter(|number| *number > 0)
}

fn variables(session: &mut Session, names: &[&str]) -> Result<HashMap<String, String>> {
    let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", list.join(","));
    let rows = session.query(&sql)?;
    rows.iter().map(|row| Ok((row.text(0)?.to_ascii_lowercase(), row.text(1)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_tidb_are_read() {
        assert_eq!(tidb_release("8.0.11-TiDB-v7.5.1"), Some((7, 5)));
        assert_eq!(tidb_release("5.7.25-TiDB-v6.5.0-serverless"), Some((6, 5)));
        assert_eq!(tidb_release("8.0.11-TiDB-None"), None);
    }

    #[test]
    fn limits_of_a_cluster_are_those_that_it_tells() {
        let told = [("wsrep_max_ws_size", "1048576"), ("wsrep_max_ws_rows", "0")];
        let told = told.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let rules = galera(&told);
        assert_eq!(rules.transaction.map(|limit| limit.bytes), Some(1 << 20));
        assert_eq!(rules.transaction_rows, None);
    }
}
