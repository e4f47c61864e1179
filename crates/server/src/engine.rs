//! Engines that speak the protocol of MariaDB and MySQL and are more than one server, or another one,
//! and what a load keeps to on each: one table, of which every stage reads its own column.
//!
//! | engine | seen by | source of its rules |
//! | --- | --- | --- |
//! | TiDB | `TiDB` in VERSION(), variables `tidb_..` | docs.pingcap.com: LOAD DATA, RENAME TABLE, pessimistic transactions, locking functions, `txn-total-size-limit` |
//! | Vitess | `SHOW VITESS_SHARDS` | vitess.io, MySQL compatibility; vitess `go/vt/vtgate/planbuilder/locktables.go` |
//! | PolarDB-X | `TDDL` in VERSION() | its documentation: limits on database development, batch inserts, LOAD DATA |
//! | Galera | `wsrep_on` | mariadb.com: known limitations, `wsrep_max_ws_size`; run here |
//! | Group Replication | members of `performance_schema` | MySQL manual, Group Replication limitations; run here |
//! | NDB | the table's engine | MySQL manual, limits relating to transaction handling |
//!
//! Limits that a server tells are read from it. A method that an engine is not confirmed to support is
//! refused, so that nothing can be lost. `docs/reference/engines.md` says which engine anybody has run.

mod rules;

use std::borrow::Cow;
use std::fmt;

use face::option::{ATOMIC, MODE};
use schema::Engine;

pub use self::rules::{Limit, Rules, Swap};
use crate::version::Version;

/// Opens statements to PolarDB-X, which else cuts those above 256 KB into 200-row pieces that it
/// runs one after another. Source: its documentation, "Optimize batch insert queries".
const POLARDB_X_HINT: &str = "/*+TDDL:CMD_EXTRA(BATCH_INSERT_POLICY=NONE)*/ ";

/// Has vtgate send rows as they come: otherwise tablets refuse an answer of more than 10,000.
pub const OLAP: (&str, &str) = ("workload", "OLAP");

/// Which engine answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A MariaDB or MySQL server that has its tables to itself.
    #[default]
    Plain,
    /// TiDB.
    TiDb,
    /// Vitess, PlanetScale: vtgate before MySQL servers.
    Vitess,
    /// PolarDB-X, once DRDS.
    PolarDbX,
    /// A node of a Galera cluster.
    Galera,
    /// A member of a MySQL group, InnoDB Cluster's included.
    GroupReplication,
    /// Tables of NDB Cluster's data nodes.
    Ndb,
}

impl Kind {
    /// The engine by its version alone.
    pub fn of_version(version: &Version) -> Kind {
        let has = |mark: &str| version.text.contains(mark);
        match () {
            () if has("TiDB") => Kind::TiDb,
            // `5.7.25-TDDL-5.4.19-..`; the Standard Edition, `..-X-Cluster-..`, is a MySQL.
            () if has("TDDL") => Kind::PolarDbX,
            () if has("Vitess") => Kind::Vitess,
            () => Kind::Plain,
        }
    }

    /// Whose the rows of a table are, if not the server's.
    pub fn of_table(engine: &Engine) -> Kind {
        match engine {
            Engine::Other(name) if name.eq_ignore_ascii_case("ndbcluster") => Kind::Ndb,
            Engine::Other(name) if name.eq_ignore_ascii_case("ndb") => Kind::Ndb,
            _ => Kind::Plain,
        }
    }

    /// As plans and reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Plain => "plain server",
            Kind::TiDb => "TiDB",
            Kind::Vitess => "Vitess",
            Kind::PolarDbX => "PolarDB-X",
            Kind::Galera => "Galera",
            Kind::GroupReplication => "Group Replication",
            Kind::Ndb => "NDB Cluster",
        }
    }

    /// True if the server has tables in files of its own, as MariaDB and MySQL have them.
    pub fn has_files(self) -> bool {
        matches!(self, Kind::Plain | Kind::Galera | Kind::GroupReplication)
    }

    /// True if a locking read waits for others' uncommitted rows, and keeps others from inserting
    /// where it found none. TiDB has no gap locks, and takes `LOCK IN SHARE MODE` for nothing or
    /// for an error (docs.pingcap.com, pessimistic transactions); for PolarDB-X it was not
    /// confirmed.
    pub fn keeps_gaps(self) -> bool {
        !matches!(self, Kind::TiDb | Kind::PolarDbX)
    }

    /// True if a RENAME may be done after its connection has gone: one of TiDB is a job of the cluster's.
    pub fn renames_later(self) -> bool {
        self == Kind::TiDb
    }

    /// True if statements may have index hints, of which a view is refused: of PolarDB-X it was not confirmed.
    pub(crate) fn takes_index_hints(self) -> bool {
        self != Kind::PolarDbX
    }

    /// True if a part of a transaction can be undone: of PolarDB-X it was not confirmed.
    pub fn has_savepoints(self) -> bool {
        self != Kind::PolarDbX
    }

    /// The beginning of an INSERT.
    pub fn insert_hint(self) -> &'static str {
        if self == Kind::PolarDbX { POLARDB_X_HINT } else { "" }
    }

    /// Variables that each session of ours needs there, and their values.
    ///
    /// TiDB finds that a key is taken at COMMIT only, in optimistic transactions: then a row of the
    /// ledger would not wait for one that is not over.
    pub(crate) fn session_needs(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Kind::TiDb => &[("tidb_txn_mode", "pessimistic")],
            _ => &[],
        }
    }

    /// Variables that it takes, and does not set. Source: Vitess 24, go/vt/sysvars/sysvars.go, `CheckAndIgnore`.
    pub(crate) fn ignored(self) -> &'static [&'static str] {
        match self {
            Kind::Vitess => &[
                "interactive_timeout",
                "lock_wait_timeout",
                "max_error_count",
                "net_read_timeout",
                "net_write_timeout",
                "wait_timeout",
            ],
            _ => &[],
        }
    }

    /// Variables of a connection that sends rows, where the engine knows them: values of AUTO_RANDOM columns
    /// that the input has are taken.
    pub fn sender_wishes(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Kind::TiDb => &[("allow_auto_random_explicit_insert", "1")],
            _ => &[],
        }
    }

    /// True if a named lock's holder is told by its number. TiDB says 1 of one that is elsewhere.
    pub(crate) fn tells_holder(self, holder: u64) -> bool {
        self != Kind::TiDb || holder != 1
    }

    /// Why a NDB table gets no rows.
    pub const NDB_REFUSED: &'static str = "its engine commits rows of LOAD DATA one by one and \
                                           has no large transactions, so a load could not be \
                                           rolled back; use ndb_import";
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn galera_too_large() -> String {
    format!(
        "; on a Galera cluster this means a transaction larger than wsrep_max_ws_size or \
         wsrep_max_ws_rows: raise the limit, or load in chunks, without {ATOMIC}"
    )
}

/// Advice about an error that is an engine's own.
///
/// Sources: TiDB's error codes; MariaDB 10.11 `ER_ERROR_DURING_COMMIT`, MySQL 9
/// `ER_RUN_HOOK_ERROR`, `ER_BEFORE_DML_VALIDATION_ERROR`; Vitess `vterrors`.
pub(crate) fn advice(errno: u16, message: &str) -> Cow<'static, str> {
    match errno {
        8004 => format!(
            "; a transaction is larger than TiDB's txn-total-size-limit: raise the limit, or load \
             in chunks, without {ATOMIC}"
        )
        .into(),
        // The words of tablets of Vitess 24 about a transaction that they end, or have ended.
        1317 if message.contains("tx killer") || message.contains("exceeded timeout") => format!(
            "; the tablet ends transactions after queryserver-config-transaction-timeout: raise it, or load \
             with {}, in chunks",
            MODE.with("append")
        )
        .into(),
        8175 => "; TiDB's tidb_mem_quota_query is too small for the transaction: raise it".into(),
        8025 => "; a row is larger than TiDB's txn-entry-size-limit".into(),
        8216 => {
            "; TiDB accepts values for AUTO_RANDOM only with allow_auto_random_explicit_insert=1"
                .into()
        }
        // What MariaDB 10.11.19 with Galera 26.4.23 says of either; others say 1180 of both.
        1105 if message.contains("Maximum writeset size exceeded") => galera_too_large().into(),
        1180 if message.contains("during COMMIT") || message.contains("wsrep_max_ws") => {
            galera_too_large().into()
        }
        3098 => "; Group Replication accepts only rows of InnoDB tables with a primary key".into(),
        3100 => format!(
            "; in a replication group this mostly means a transaction larger than \
             group_replication_transaction_size_limit: raise the limit, or load in chunks, \
             without {ATOMIC}"
        )
        .into(),
        _ => "".into(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_told_by_their_versions() {
        for (text, kind) in [
            ("10.11.19-MariaDB-0+deb12u1", Kind::Plain),
            ("9.7.4-2", Kind::Plain),
            ("8.0.11-TiDB-v7.5.1", Kind::TiDb),
            ("5.7.25-TiDB-v6.5.0-serverless", Kind::TiDb),
            ("8.0.30-Vitess", Kind::Vitess),
            ("5.7.25-TDDL-5.4.19-20240527", Kind::PolarDbX),
            ("8.0.32-X-Cluster-8.4.19", Kind::Plain),
        ] {
            assert_eq!(Kind::of_version(&Version::parse(text).unwrap()), kind, "{text}");
        }
        assert_eq!(Kind::of_table(&Engine::named("ndbcluster")), Kind::Ndb);
        assert_eq!(Kind::of_table(&Engine::InnoDb), Kind::Plain);
    }

    #[test]
    fn errors_of_an_engine_say_what_to_do() {
        assert!(advice(8004, "").contains("txn-total-size-limit"));
        assert!(advice(1180, "Got error 5 during COMMIT").contains("wsrep_max_ws_size"));
        assert!(advice(1180, "wsrep_max_ws_rows exceeded").contains("wsrep_max_ws_rows"));
        assert!(advice(1105, "Maximum writeset size exceeded").contains("wsrep_max_ws_size"));
        assert_eq!(advice(1180, "Got error 28 from storage engine"), "");
        assert!(advice(3100, "").contains("group_replication_transaction_size_limit"));
        let killed = "transaction 7: in use: for tx killer rollback (CallerID: userData1)";
        assert!(advice(1317, killed).contains("--mode append"));
        assert_eq!(advice(1317, "Query execution was interrupted"), "");
        assert_eq!(advice(1062, ""), "");
    }
}
