//! Which engine a stand-in is: what it calls itself, what it tells, refuses and does not do, and with which
//! numbers. Limits are enforced as the engine enforces them, so that a load which does not keep to one
//! fails; what the engine would do without a word is noted ([`StandIn::broken`](super::StandIn::broken)).
//!
//! Of TiDB and Vitess they are what the engines answered (`make engines`), as those of Galera and Group
//! Replication. Those of PolarDB-X are from its documentation, as `docs/reference/engines.md` cites it.

use super::DATABASE;
use super::answers::{Learned, learned, learned_of_mysql};
use super::statements::{Answer, BASE_TABLE, Run, names, text, within};
use super::tables::{OF_SHARD, Value};
use std::collections::BTreeMap;

/// Size above which PolarDB-X cuts transactions, unless a setting keeps it from that.
const CUT_ABOVE: usize = 256 << 10;
/// Size of a gRPC message of Vitess, with the overhead of a value.
const MESSAGE_BYTES: usize = 16 << 20;
const VALUE_BYTES: usize = 16;
/// The beginning of a ledger's name.
const LEDGER: &str = "_inrush_ledger";
/// Transactions that a tablet has at once.
const TRANSACTIONS_MAX: usize = 20;

/// Which engine answers, with the limits that differ from one to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// MariaDB 10.11.
    #[default]
    MariaDb,
    /// A node of a cluster of MariaDB that takes write sets of so many bytes.
    Galera {
        /// `wsrep_max_ws_size`.
        bytes: usize,
    },
    /// A member of a group of MySQL.
    Group {
        /// `group_replication_transaction_size_limit`.
        bytes: usize,
    },
    /// TiDB of this release.
    TiDb {
        /// `7.5`.
        release: (u16, u16),
        /// `txn-total-size-limit`.
        bytes: usize,
    },
    /// vtgate before so many shards.
    Vitess {
        /// Shards of the keyspace.
        shards: usize,
    },
    /// PolarDB-X.
    PolarDbX,
}

impl Engine {
    /// Its version text.
    pub(super) fn version(self) -> String {
        match self {
            Engine::MariaDb | Engine::Galera { .. } => "10.11.19-MariaDB".to_owned(),
            Engine::Group { .. } => "9.7.4".to_owned(),
            Engine::TiDb { release: (major, minor), .. } => {
                format!("8.0.11-TiDB-v{major}.{minor}.0")
            }
            Engine::Vitess { .. } => "8.0.30-Vitess".to_owned(),
            Engine::PolarDbX => "5.7.25-TDDL-5.4.19-20240527".to_owned(),
        }
    }

    /// True if it speaks MariaDB's protocol.
    pub(super) fn is_mariadb(self) -> bool {
        matches!(self, Engine::MariaDb | Engine::Galera { .. })
    }

    /// True if it has InnoDB's dictionary.
    pub(super) fn has_dictionary(self) -> bool {
        !matches!(self, Engine::TiDb { .. } | Engine::PolarDbX)
    }

    /// The name of the database in answers: vtgate sends on what its MySQL calls it.
    pub(super) fn schema_name(self) -> &'static str {
        if matches!(self, Engine::Vitess { .. }) { "vt_model_0" } else { DATABASE }
    }

    /// A variable after a statement that sets it: vtgate takes some, and ignores them.
    pub(super) fn as_kept(self, name: String, value: String) -> (String, String) {
        let is_wait = name.ends_with("_timeout") && name != "innodb_lock_wait_timeout";
        let is_kept = is_wait || name == "max_error_count";
        let is_vitess = matches!(self, Engine::Vitess { .. });
        (name, if is_vitess && is_kept { "28800".to_owned() } else { value })
    }

    /// The row format that is told of each table.
    pub(super) fn row_format(self) -> &'static str {
        if matches!(self, Engine::TiDb { .. }) { "Compact" } else { "Dynamic" }
    }

    /// The counter that a definition ends with, of a table that has had rows: TiDB's nodes take some thousand
    /// numbers at a time.
    pub(super) fn counter(self, lines: &[String], rows: usize) -> &'static str {
        let has = |word: &str| lines.iter().any(|line| line.contains(word));
        match self {
            Engine::TiDb { .. } if rows > 0 && has(" AUTO_INCREMENT") => " AUTO_INCREMENT=30001",
            Engine::TiDb { .. } if rows > 0 && has(" AUTO_RANDOM(") => {
                " /*T![auto_rand_base] AUTO_RANDOM_BASE=30001 */"
            }
            _ => "",
        }
    }

    /// True if LOCK TABLES locks anything, and a locking read waits.
    fn locks(self) -> bool {
        matches!(self, Engine::MariaDb | Engine::Galera { .. } | Engine::Group { .. })
    }

    /// Its answers to questions that do not depend on events.
    pub(super) fn answers(self) -> BTreeMap<String, Learned> {
        let mut answers = if self.is_mariadb() { learned() } else { learned_of_mysql() };
        let one = |text: String| Learned::Rows(1, vec![vec![Some(text.into_bytes())]]);
        answers.insert("SELECT VERSION()".to_owned(), one(self.version()));
        answers.insert("SELECT @@version_comment".to_owned(), one("(Debian)".to_owned()));
        let pair = |name: &str, value: &str| -> Vec<Value> { vec![text(name), text(value)] };
        for (question, answer) in &mut answers {
            let is_of_group = question.contains("replication_group_member");
            if is_of_group && !matches!(self, Engine::Group { .. }) {
                *answer = Learned::Refused(1146, "there is no such table".to_owned());
            }
            let Learned::Rows(columns, rows) = answer else { continue };
            match self {
                Engine::Galera { .. } if question.ends_with(", @@GLOBAL.wsrep_on") => {
                    rows[0][*columns - 1] = text("1");
                }
                // Where that was refused.
                Engine::Galera { .. } if question.contains("'wsrep_on',") => {
                    rows.retain(|row| row[0] != text("wsrep_on"));
                    rows.push(pair("wsrep_on", "ON"));
                }
                Engine::Group { bytes } if question.contains("'group_replication_group_name',") => {
                    let name = "group_replication_transaction_size_limit";
                    rows.retain(|row| row[0] != text(name));
                    rows.push(pair(name, &bytes.to_string()));
                }
                // No group, no log.
                _ if self.is_mariadb() => {}
                _ if question.contains("'group_replication_group_name',") => {
                    rows.clear();
                    if let Engine::TiDb { .. } = self {
                        rows.push(pair("tidb_txn_mode", "pessimistic"));
                    }
                    *columns = 2;
                }
                Engine::TiDb { .. } if question.contains("='TIDB_CHECK_CONSTRAINTS'") => {
                    *rows = vec![vec![text("TIDB_CHECK_CONSTRAINTS")]];
                }
                Engine::TiDb { .. } | Engine::PolarDbX if question.contains("'log_bin',") => {
                    rows.retain(|row| row[0] != text("log_bin"));
                }
                _ => {}
            }
        }
        let refused = |errno, words: &str| Learned::Refused(errno, words.to_owned());
        if matches!(self, Engine::TiDb { .. } | Engine::PolarDbX) {
            without_log(&mut answers);
        }
        match self {
            Engine::Galera { bytes } => {
                let limits = vec![
                    pair("wsrep_max_ws_rows", "0"),
                    pair("wsrep_max_ws_size", &bytes.to_string()),
                ];
                let asked = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
                             ('wsrep_max_ws_rows','wsrep_max_ws_size')";
                answers.insert(asked.to_owned(), Learned::Rows(2, limits));
            }
            Engine::Group { .. } => {
                let member = vec![["db1", "3306", "PRIMARY"].map(text).to_vec()];
                let asked = "SELECT MEMBER_HOST, MEMBER_PORT, MEMBER_ROLE FROM \
                             performance_schema.replication_group_members WHERE MEMBER_STATE <> 'OFFLINE'";
                answers.insert(asked.to_owned(), Learned::Rows(3, member));
            }
            Engine::TiDb { bytes, .. } => {
                let name = "performance.txn-total-size-limit";
                let told = ["tidb", "db1:4000", name, &bytes.to_string()].map(text).to_vec();
                let asked = format!("SHOW CONFIG WHERE type='tidb' AND name='{name}'");
                answers.insert(asked, Learned::Rows(4, vec![told]));
                answers
                    .insert("SELECT tidb_version()".to_owned(), one(Engine::tidb_version("tikv")));
                let quota = one((1u64 << 30).to_string());
                answers.insert("SELECT @@tidb_mem_quota_query".to_owned(), quota);
            }
            Engine::Vitess { shards } => {
                let shard = |at: usize| vec![text(format!("model/{}", shard_name(at)))];
                let rows = (0..shards).map(shard).collect();
                answers.insert("SHOW VITESS_SHARDS".to_owned(), Learned::Rows(1, rows));
            }
            Engine::PolarDbX => {
                let words = "There is no SHOW VITESS_SHARDS";
                answers.insert("SHOW VITESS_SHARDS".to_owned(), refused(1064, words));
            }
            Engine::MariaDb => {}
        }
        if !self.has_dictionary() {
            answers.retain(|question, _| !question.contains("information_schema.INNODB_"));
        }
        answers
    }

    /// The error for a transaction of more bytes than its limit.
    fn too_large(self, bytes: usize) -> Option<Answer> {
        let (most, errno, words) = match self {
            Engine::Galera { bytes } => (bytes, 1105, "Maximum writeset size exceeded".to_owned()),
            Engine::Group { bytes } => {
                let words = "Error on observer while running replication hook 'before_commit'.";
                (bytes, 3100, words.to_owned())
            }
            Engine::TiDb { bytes: most, .. } => {
                (most, 8004, format!("Transaction is too large, size: {bytes}"))
            }
            _ => return None,
        };
        (bytes > most).then_some(Answer::Refused(errno, words))
    }

    /// Bytes of rows in its log of rows, or of its keys and values, for a table with so many
    /// indexes.
    fn bytes_of(self, rows: &[Vec<Value>], indexes: usize) -> usize {
        let of_value = |value: &Value| value.as_ref().map_or(1, Vec::len) + 8;
        let of_rows: usize = rows.iter().flatten().map(of_value).sum();
        match self {
            Engine::TiDb { .. } => of_rows + rows.len() * (30 + 40 * indexes),
            _ => of_rows + rows.len() * 12,
        }
    }
}

/// Takes a binary log and its variables away, as TiDB has from 8.4 on.
fn without_log(answers: &mut BTreeMap<String, Learned>) {
    const LOGGED: &str = "@@session.sql_log_bin";
    let logged: Vec<String> =
        answers.keys().filter(|sql| sql.contains("log_bin")).cloned().collect();
    for question in logged {
        let unknown = Learned::Refused(1193, "Unknown system variable 'log_bin'".to_owned());
        let known = question.contains("SHOW GLOBAL VARIABLES");
        if !known && let Some(answer) = answers.insert(question.clone(), unknown) {
            answers.insert(question.replace(LOGGED, "0"), answer);
        }
    }
}

/// The name of a shard, by its place.
fn shard_name(at: usize) -> String {
    format!("{at}0-")
}

impl Run<'_> {
    /// A statement as one of several shards has it: each has a ledger of its own.
    pub(super) fn on_shard(&self, sql: &str) -> String {
        let Engine::Vitess { shards: 2.. } = self.shared.engine else { return sql.to_owned() };
        let mut tables = self.shared.held();
        let session = tables.session(self.id);
        if let Some(name) = within(sql, "USE `", "`") {
            let shard = name.strip_prefix("model:").and_then(|shard| shard.strip_suffix("0-"));
            session.shard = shard.and_then(|shard| shard.parse().ok());
        }
        let Some(shard) = session.shard else { return sql.to_owned() };
        let own = names(sql).into_iter().filter(|name| name.starts_with(LEDGER));
        own.fold(sql.to_owned(), |sql, name| {
            sql.replace(&format!("`{name}`"), &format!("`{name}{OF_SHARD}{shard}`"))
        })
    }

    /// Has stay what a transaction did on the first of several shards, as if the others had gone down.
    pub(super) fn commit_on_some(&self) {
        if let Engine::Vitess { shards: shards @ 2.. } = self.shared.engine {
            self.shared.held().commit_on_first(self.id, shards);
        }
    }

    /// vtgate's answers about several shards.
    fn of_shards(&self, sql: &str, shards: usize) -> Option<Answer> {
        if shards == 1 {
            return None;
        }
        let is_definition = sql.starts_with("CREATE TABLE ") || sql.starts_with("DROP TABLE ");
        let names = names(sql);
        let has_ledger = names.iter().any(|name| name.starts_with(LEDGER));
        let is_on_one = self.shared.held().session(self.id).shard.is_some();
        if is_on_one && is_definition && sql.contains("`model`.") {
            return Some(Answer::Refused(1049, "Unknown database 'model'".to_owned()));
        }
        let is_olap = self.shared.held().session(self.id).variables.get("workload").cloned()
            == Some("OLAP".to_owned());
        if is_on_one
            && is_olap
            && ["INSERT ", "UPDATE ", "DELETE "].iter().any(|verb| sql.starts_with(verb))
        {
            return Some(Answer::Refused(1105, "INSERT not allowed for streaming".to_owned()));
        }
        if is_on_one != has_ledger && !names.is_empty() && !sql.starts_with("USE ") {
            self.broke(sql);
        }
        if sql.starts_with("SHOW VSCHEMA VINDEXES ON ") {
            return Some(Answer::Rows(5, vec![["a", "hash", "hash", "", ""].map(text).to_vec()]));
        }
        let keys = within(sql, "SELECT shard FROM `model`.`hash` WHERE id IN (", ")")?;
        let shard =
            |key: &str| key.trim_matches('\'').parse::<usize>().unwrap_or_default() % shards;
        let rows = keys.split(", ").map(|key| vec![text(shard_name(shard(key)))]);
        Some(Answer::Rows(1, rows.collect()))
    }

    /// An engine's answer to a statement that MariaDB would treat otherwise.
    pub(super) fn of_engine(&self, sql: &str) -> Option<Answer> {
        let engine = self.shared.engine;
        let refused = |errno, words: &str| Some(Answer::Refused(errno, words.to_owned()));
        let is_insert = sql.contains("INSERT ") && sql.contains(" VALUES ");
        match engine {
            Engine::MariaDb | Engine::Galera { .. } | Engine::Group { .. } => return None,
            Engine::TiDb { .. } => {
                if let Some(answer) = self.imports(sql) {
                    return Some(answer);
                }
                if sql.ends_with(" LOCK IN SHARE MODE") {
                    return refused(
                        1235,
                        "function LOCK IN SHARE MODE has only noop implementation in tidb now",
                    );
                }
                if sql.contains(" AND ENFORCED='YES'") {
                    return refused(1054, "Unknown column 'enforced' in 'where clause'");
                }
                if sql.contains(" FROM information_schema.TIDB_CHECK_CONSTRAINTS ") {
                    return Some(Answer::Rows(3, Vec::new()));
                }
                // Another session's is not told.
                if let Some(name) = within(sql, "SELECT IS_USED_LOCK('", "')") {
                    let holder = self.shared.held().names.get(name).copied();
                    let told = holder.map(|id| if id == self.id { id } else { 1 });
                    return Some(Answer::Rows(1, vec![vec![told.and_then(text)]]));
                }
                if sql == "KILL CONNECTION 1" || sql == "KILL QUERY 1" {
                    self.broke(sql);
                }
            }
            Engine::Vitess { shards } => {
                if let Some(answer) = self.of_shards(sql, shards) {
                    return Some(answer);
                }
                // Only names of its own that are compared plainly become those of its MySQL.
                if sql.contains(" AND BINARY TABLE_SCHEMA='") {
                    return Some(Answer::Rows(1, Vec::new()));
                }
                if sql.starts_with("LOAD DATA") {
                    return refused(1064, "syntax error at position 16 near 'local'");
                }
                let values = if is_insert { sql.matches([',', ')']).count() } else { 0 };
                if sql.len() + values * VALUE_BYTES > MESSAGE_BYTES {
                    return refused(1203, "trying to send message larger than max");
                }
                if sql == "START TRANSACTION" {
                    let tables = self.shared.held();
                    let open = tables.sessions.values().filter(|session| session.is_begun).count();
                    if open >= TRANSACTIONS_MAX {
                        return refused(1203, "transaction pool connection limit exceeded");
                    }
                }
            }
            Engine::PolarDbX => {
                if sql.contains(BASE_TABLE) {
                    return refused(4500, "FOR GROUP BY is not supported");
                }
                if sql.starts_with("CREATE TABLE") && sql.contains(" LIKE ") {
                    return refused(
                        4500,
                        "CREATE TABLE LIKE is not supported for partitioned tables",
                    );
                }
                if sql.starts_with("RENAME TABLE") && names(sql).len() > 2 {
                    return refused(4500, "RENAME of several tables is not supported");
                }
                if sql.starts_with("SAVEPOINT") {
                    return refused(4500, "SAVEPOINT is not supported");
                }
                if sql.starts_with("LOAD DATA") || (is_insert && sql.len() > CUT_ABOVE) {
                    // It would be done in pieces.
                    self.broke(sql);
                }
                if is_insert && !sql.contains("_inrush_ledger") && !sql.starts_with("/*+TDDL:") {
                    self.broke(sql);
                }
            }
        }
        if !engine.locks() && sql.starts_with("LOCK TABLES ") {
            if sql.ends_with(" READ") {
                // Several connections would read rows of several moments.
                self.broke(sql);
            }
            return Some(Answer::done());
        }
        None
    }

    /// A statement without the parts that only its engine reads.
    pub(super) fn without_hint<'a>(&self, sql: &'a str) -> &'a str {
        match sql.strip_prefix("/*+TDDL:").and_then(|rest| rest.split_once("*/ ")) {
            Some((_, rest)) if self.shared.engine == Engine::PolarDbX => rest,
            _ => sql,
        }
    }

    /// Counts rows of a statement, and refuses those that are too many for its transaction.
    pub(super) fn count_bytes(&self, table: &str, rows: &[Vec<Value>]) -> Option<Answer> {
        let engine = self.shared.engine;
        let mut tables = self.shared.held();
        let lines = tables.tables.get(table).map(|table| table.lines.clone()).unwrap_or_default();
        let indexes = lines.iter().filter(|line| line.contains("KEY ")).count();
        let in_transaction = tables.in_transaction(self.id);
        let session = tables.session(self.id);
        let before = if in_transaction { session.bytes } else { 0 };
        let bytes = before + engine.bytes_of(rows, indexes);
        if let (Engine::TiDb { .. }, Some(refused)) = (engine, engine.too_large(bytes)) {
            return Some(refused);
        }
        session.bytes = bytes;
        None
    }

    /// Refuses a COMMIT of too many rows, and takes them back.
    pub(super) fn refuse_commit(&self) -> Option<Answer> {
        let mut tables = self.shared.held();
        let refused = self.shared.engine.too_large(tables.session(self.id).bytes)?;
        tables.rollback(self.id);
        Some(refused)
    }

    pub(super) fn broke(&self, sql: &str) {
        self.shared.broken.lock().push(sql.chars().take(120).collect());
    }
}
