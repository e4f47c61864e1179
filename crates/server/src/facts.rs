//! The server as a whole: settings, replication, the account's rights, and whether its data
//! directory is one we can write to.

pub mod database_dir;
pub mod habits;
pub mod privileges;
mod rules;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use schema::{Engine, RowFormat, Table, TableName};

use crate::engine::{Kind, Rules};
use crate::error::{Error, Result};
use crate::grant;
use crate::privileges::Privileges;
use crate::session::{Row, Session};
use crate::tested_build;
use crate::unsupported::{SUPER_READ_ONLY, Unsupported};
use crate::version::{Flavor, Version};

pub use self::rules::tidb_release;

/// Page size the direct path builds.
const PAGE_BYTES: u64 = 16_384;

/// Why the direct path is not taken to an engine.
pub const NO_FILES: &str = "its tables are not InnoDB files that a server can import";

/// Variables that keep writes away; the first is MySQL's alone, and keeps every account's away.
const READ_ONLY: [&str; 4] =
    [SUPER_READ_ONLY, "read_only", "innodb_read_only", "innodb_force_recovery"];
/// The variable that has MySQL encrypt new tables; MariaDB's.
const ENCRYPTS: [&str; 2] = ["default_table_encryption", "innodb_encrypt_tables"];

/// Facts that a load needs about a server before it changes anything.
#[derive(Clone, Debug)]
pub struct ServerFacts {
    /// Its version.
    pub version: Version,
    /// Why its build gets no built files; none if it is tested or proven, or nobody minds.
    pub untested: Option<String>,
    /// `@@hostname`.
    pub hostname: String,
    /// True if the server takes LOAD DATA LOCAL.
    pub local_infile: bool,
    /// `max_allowed_packet` of this session.
    pub packet_bytes: u64,
    /// `@@datadir`, as the server names it.
    pub datadir: PathBuf,
    /// The same folder as this machine sees it, if the user names it.
    pub local_datadir: Option<PathBuf>,
    /// `innodb_page_size`, bytes.
    pub page_bytes: u64,
    /// `innodb_checksum_algorithm`.
    pub checksum: String,
    /// True if the server writes a binary log.
    pub log_bin: bool,
    /// True if this session's statements would be in it.
    pub session_log_bin: bool,
    /// True if the load's statements are kept out of it on purpose.
    pub unlogged: bool,
    /// True if the statements that publish such a load are in the log, and the replicas have the rest.
    pub logs_publishing: bool,
    /// True if Galera replicates this server.
    pub galera: bool,
    /// Which engine it is, and what a load keeps to there.
    pub engine: Rules,
    /// Replicas connected now, as far as the account may see them.
    pub replicas: Vec<String>,
    /// The variables that keep writes away: `super_read_only`, `read_only`, `innodb_read_only`,
    /// `innodb_force_recovery`.
    pub read_only: Vec<&'static str>,
    /// `innodb_file_per_table`.
    pub file_per_table: bool,
    /// Encryption of new tables, by the variable that says so: `innodb_encrypt_tables` is FORCE.
    pub encrypt_tables: Option<(&'static str, String)>,
    /// `innodb_compression_default`: new tables are page-compressed.
    pub compression_default: bool,
    /// `innodb_default_row_format`: that of new tables which do not say.
    pub default_row_format: RowFormat,
    /// The engine that the server gives every new table, where the account may not change that.
    pub enforced_engine: Option<String>,
    /// The way to a checkpoint before an import; none if there is none.
    pub checkpoint: Option<CheckpointWay>,
    /// True if the server keeps its redo log for recovery, and the load's rows may not lack there.
    pub log_archive: bool,
    /// `lower_case_table_names`: 0 names keep their case and are compared by it.
    pub lower_case_table_names: u8,
    /// The global `sql_mode`.
    pub sql_mode: String,
    /// Time zone of new sessions: a name, an offset or SYSTEM.
    pub time_zone: String,
    /// `auto_increment_increment` and `auto_increment_offset` of this session.
    pub auto_increment_step: (u64, u64),
    /// The account, quoted for a statement.
    pub account: String,
    /// The account's privileges.
    pub privileges: Privileges,
    /// True if it has a history of backups, once that was asked.
    pub has_backup_history: OnceLock<bool>,
}

/// How the server's redo log is made to begin behind a certain LSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointWay {
    /// By one statement: `innodb_log_checkpoint_now` exists. Release builds have it since MDEV-30000.
    Statement,
    /// By writing out all changed pages, at the speed of [`FLUSH_VARIABLES`].
    Flush,
    /// By IMPORT itself, as its last step: MySQL.
    Import,
}

/// The variables by which a server writes out its changed pages at once, with the values that do so, in the order
/// in which they are set: the server raises and lowers one with the other. They are put back the other way round.
/// Source: MariaDB 10.11, storage/innobase/buf/buf0flu.cc, `buf_flush_page_cleaner`.
pub const FLUSH_VARIABLES: [(&str, &str); 4] = [
    ("innodb_io_capacity_max", "20000"),
    ("innodb_io_capacity", "20000"),
    ("innodb_max_dirty_pages_pct_lwm", "0"),
    ("innodb_max_dirty_pages_pct", "0"),
];

impl CheckpointWay {
    /// Asks a server whose variables are known for the way.
    fn read(
        session: &mut Session,
        variables: &HashMap<String, String>,
    ) -> Result<Option<CheckpointWay>> {
        if variables.contains_key("innodb_log_checkpoint_now") && !disk::failpoint::only_flushes() {
            return Ok(Some(CheckpointWay::Statement));
        }
        if session.version().flavor == Flavor::MySql {
            return Ok(Some(CheckpointWay::Import));
        }
        if session.options().flushing.is_none() {
            return Ok(None);
        }
        let names = FLUSH_VARIABLES.map(|(name, _)| format!("'{name}'")).join(",");
        let settings =
            session.query(&format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"))?;
        let shows = session.query("SHOW GLOBAL STATUS LIKE 'Innodb_lsn_last_checkpoint'")?;
        let can_flush = settings.len() == FLUSH_VARIABLES.len() && !shows.is_empty();
        Ok(can_flush.then_some(CheckpointWay::Flush))
    }
}

impl ServerFacts {
    /// Asks the server. Changes nothing.
    pub fn read(session: &mut Session) -> Result<ServerFacts> {
        let (variables, session_row) = variables(session)?;
        let text = |name: &str| variables.get(name).cloned().unwrap_or_default();
        let on = |name: &str| matches!(text(name).as_str(), "ON" | "1");
        let log_bin = on("log_bin");
        let engine = rules::read(session, on("wsrep_on"))?;
        let untested = match engine.kind.has_files() {
            true => tested_build::objection(session)?,
            false => None,
        };
        Ok(ServerFacts {
            has_backup_history: OnceLock::new(),
            version: session.version().clone(),
            untested,
            hostname: text("hostname"),
            local_infile: on("local_infile"),
            packet_bytes: session_row.number(6)?,
            datadir: PathBuf::from(text("datadir")),
            local_datadir: session.options().datadir.clone(),
            page_bytes: text("innodb_page_size").parse().unwrap_or(0),
            checksum: text("innodb_checksum_algorithm"),
            log_bin,
            session_log_bin: log_bin && session_row.text(0)? == "1",
            unlogged: log_bin && session.options().unlogged,
            logs_publishing: log_bin && session.options().logs_publishing,
            galera: on("wsrep_on"),
            engine,
            replicas: if log_bin { replicas(session) } else { Vec::new() },
            read_only: keeps_writes_away(session)
                .into_iter()
                .filter(|name| is_set(&text(name)))
                .collect(),
            file_per_table: on("innodb_file_per_table"),
            encrypt_tables: ENCRYPTS
                .into_iter()
                .map(|name| (name, text(name)))
                .find(|(_, value)| is_set(value)),
            compression_default: on("innodb_compression_default"),
            default_row_format: RowFormat::named(&text("innodb_default_row_format")),
            enforced_engine: session.enforced_engine().map(str::to_owned),
            checkpoint: CheckpointWay::read(session, &variables)?,
            log_archive: !session.options().unlogged && archives_log(session)?,
            lower_case_table_names: text("lower_case_table_names").parse().unwrap_or(0),
            sql_mode: text("sql_mode"),
            time_zone: session_row.text(1)?,
            auto_increment_step: (session_row.number(2)?, session_row.number(3)?),
            account: grant::account(&session_row.text(4)?, &session_row.text(5)?),
            privileges: Privileges::read(session)?,
        })
    }

    /// Everything about the server that keeps the direct path from `database`; empty when it may
    /// be taken (if the table's shape and the data directory allow it too).
    pub fn unsupported(&self, database: &str) -> Vec<Unsupported> {
        if !self.engine.kind.has_files() {
            return vec![Unsupported::Engine(self.engine.kind, NO_FILES.to_owned())];
        }
        let unfit_version = self.version.unfit();
        let unfit = unfit_version.map(|why| Unsupported::ServerVersion(self.version.clone(), why));
        let mut reasons: Vec<Unsupported> = unfit.into_iter().collect();
        let mut refuse = |wrong: bool, reason: Unsupported| {
            if wrong {
                reasons.push(reason);
            }
        };
        if let (Some(why), None) = (&self.untested, unfit_version) {
            refuse(true, Unsupported::UntestedBuild(self.version.clone(), why.clone()));
        }
        refuse(self.page_bytes != PAGE_BYTES, Unsupported::PageSize(self.page_bytes));
        let needed = match self.version.flavor {
            Flavor::MariaDb => "full_crc32",
            Flavor::MySql => "crc32",
        };
        let is_known = self.checksum.strip_prefix("strict_").unwrap_or(&self.checksum) == needed;
        refuse(!is_known, Unsupported::Checksum { seen: self.checksum.clone(), needed });
        refuse(self.galera, Unsupported::Galera);
        if self.engine.kind == Kind::GroupReplication {
            let why = "the other members of the group would lack the rows".to_owned();
            refuse(true, Unsupported::Engine(Kind::GroupReplication, why));
        }
        refuse(self.log_bin && !self.unlogged, Unsupported::BinaryLog);
        let would_miss = !self.replicas.is_empty() && !self.unlogged;
        refuse(would_miss, Unsupported::Replicas(self.replicas.clone()));
        refuse(!self.read_only.is_empty(), Unsupported::ReadOnly(self.read_only.clone()));
        refuse(!self.file_per_table, Unsupported::SharedTablespace);
        if let Some((variable, value)) = &self.encrypt_tables {
            refuse(true, Unsupported::EncryptedTables(variable, value.clone()));
        }
        refuse(self.compression_default, Unsupported::CompressedTables);
        refuse(self.log_archive, Unsupported::LogArchive);
        refuse(self.checkpoint.is_none(), Unsupported::NoCheckpoint);
        let engine = self.enforced_engine.clone();
        refuse(engine.is_some(), Unsupported::EnforcedEngine(engine.unwrap_or_default()));
        let missing =
            self.privileges.missing_for_direct(self.version.flavor, database, &self.account);
        refuse(!missing.is_empty(), Unsupported::Privileges(missing));
        reasons
    }

    /// The setting that excludes the direct path for a table with an AUTO_INCREMENT column: an
    /// offset that the documentation calls ignored, by which the server counts all the same.
    pub fn unsupported_step(&self) -> Option<Unsupported> {
        let (increment, offset) = self.auto_increment_step;
        (offset > increment).then_some(Unsupported::AutoIncrementStep { increment, offset })
    }

    /// The reason why a new table would get another row format than a table without a ROW_FORMAT of
    /// its own: the server's default has changed.
    pub fn unsupported_row_format(&self, table: &Table) -> Option<Unsupported> {
        let last_line = table.definition.rsplit("\n)").next().unwrap_or_default();
        let says = last_line.to_ascii_uppercase().contains(" ROW_FORMAT=");
        let (today, own) = (self.default_row_format, table.row_format);
        let is_other = table.engine == Engine::InnoDb && !says && today != own;
        (is_other && today != RowFormat::Other && own != RowFormat::Other).then(|| {
            Unsupported::RowFormat(format!(
                "{} is {own:?}, but innodb_default_row_format creates {today:?} tables: change \
                 that variable, or give the table a ROW_FORMAT",
                table.name
            ))
        })
    }

    /// The reason why rows may have to go through triggers that the account does not see. MariaDB shows that
    /// there is one to whoever may use the table, MySQL to whoever has TRIGGER.
    pub fn unseen_triggers(&self, table: &TableName) -> Option<Unsupported> {
        let is_mysql = self.version.flavor == Flavor::MySql;
        let sees_all = !is_mysql || self.privileges.on_table("TRIGGER", table);
        let grant = || self.privileges.grant(&["TRIGGER"], &table.database, &self.account);
        (!sees_all).then(|| Unsupported::UnseenTriggers(grant()))
    }

    /// The reason why a staging table may not take an InnoDB table's place: foreign keys that refer
    /// to it may be there, in other databases, that the account does not see.
    pub fn unseen_foreign_keys(&self) -> Option<Unsupported> {
        let sees_all = self.privileges.sees_foreign_keys();
        (!sees_all).then(|| Unsupported::UnseenForeignKeys(self.account.clone()))
    }
}

/// The variables of [`READ_ONLY`] that count: a replica is read-only for others.
fn keeps_writes_away(session: &Session) -> Vec<&'static str> {
    let is_mysql = session.version().flavor == Flavor::MySql;
    let counts = |name: &&str| match *name {
        "read_only" => !session.options().is_replica,
        SUPER_READ_ONLY => is_mysql,
        _ => true,
    };
    READ_ONLY.into_iter().filter(counts).collect()
}

/// Those of them that are set now.
///
/// Errors: the server's.
pub fn writes_kept_away(session: &mut Session) -> Result<Vec<&'static str>> {
    let names = keeps_writes_away(session);
    if session.version().flavor == Flavor::MySql {
        // Not every version has all of them.
        let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", list.join(", "));
        let rows = session.query(&sql)?;
        let is_on = |name: &&str| {
            rows.iter().any(|row| row.text_lossy(0) == *name && is_set(&row.text_lossy(1)))
        };
        return Ok(names.into_iter().filter(is_on).collect());
    }
    let variables: Vec<String> = names.iter().map(|name| format!("@@GLOBAL.{name}")).collect();
    let row = session.query_row(&format!("SELECT {}", variables.join(", ")))?;
    let is_on = |(at, _): &(usize, &str)| is_set(&row.text_lossy(*at));
    Ok(names.into_iter().enumerate().filter(is_on).map(|(_, name)| name).collect())
}

/// True if a variable is neither off nor 0.
fn is_set(value: &str) -> bool {
    !matches!(value, "" | "0" | "OFF")
}

fn variables(session: &mut Session) -> Result<(HashMap<String, String>, Row)> {
    const NAMES: &str = "datadir hostname innodb_checksum_algorithm innodb_compression_default \
                         innodb_default_row_format innodb_encrypt_tables innodb_file_per_table \
                         innodb_force_recovery innodb_log_checkpoint_now innodb_page_size \
                         innodb_read_only local_infile log_bin lower_case_table_names read_only \
                         sql_mode time_zone wsrep_on";
    const OF_SESSION: &str = "@@session.time_zone, @@session.auto_increment_increment, \
                              @@session.auto_increment_offset, CURRENT_USER(), \
                              SUBSTRING_INDEX(CURRENT_USER(), '@', -1), @@max_allowed_packet";
    const LOGGED: &str = "@@session.sql_log_bin";
    let names: Vec<&str> = NAMES.split(' ').collect();
    if session.version().flavor == Flavor::MariaDb {
        // SHOW reads all variables of the server. It is for servers that lack one of these.
        let all = names.join(", @@GLOBAL.");
        match session.query_row(&format!("SELECT {LOGGED}, {OF_SESSION}, @@GLOBAL.{all}")) {
            Err(Error::Statement { .. }) => {}
            row => {
                let row = row?;
                let values = (row.len() - names.len()..row.len()).map(|at| row.text_lossy(at));
                return Ok((names.into_iter().map(str::to_owned).zip(values).collect(), row));
            }
        }
    }
    let of = [&names[..], &["default_table_encryption", "super_read_only"]].concat().join("','");
    let sql = format!("SHOW GLOBAL VARIABLES WHERE LOWER(Variable_name) IN ('{of}')");
    let pair = |row: &Row| (row.text_lossy(0).to_ascii_lowercase(), row.text_lossy(1));
    let all: HashMap<String, String> = session.query(&sql)?.iter().map(pair).collect();
    // TiDB from 8.4 on has no binary log, and no variables of one.
    let has_log = all.get("log_bin").is_some_and(|value| is_set(value));
    let is_logged = if has_log { LOGGED } else { "0" };
    Ok((all, session.query_row(&format!("SELECT {is_logged}, {OF_SESSION}"))?))
}

/// True if the server archives its redo log, which no release on the tested list does. IMPORT logs no page.
fn archives_log(session: &mut Session) -> Result<bool> {
    if session.version().is_tested() || session.version().flavor == Flavor::MySql {
        return Ok(false);
    }
    let rows = session.query("SHOW GLOBAL VARIABLES LIKE 'innodb_log_archive'")?;
    Ok(rows.first().is_some_and(|row| is_set(&row.text_lossy(1))))
}

/// Replicas that registered or are being sent the binary log. Those that the account may not see
/// are left out: the binary log alone is reason enough to refuse.
fn replicas(session: &mut Session) -> Vec<String> {
    registered(session).into_iter().chain(followers(session)).collect()
}

/// Replicas that registered, as far as the account may see them.
pub fn registered(session: &mut Session) -> Vec<String> {
    let sql = match session.version().flavor {
        Flavor::MariaDb => "SHOW SLAVE HOSTS",
        Flavor::MySql => "SHOW REPLICAS",
    };
    let rows = session.query(sql).unwrap_or_default();
    let name = |row: &Row| {
        let (id, host) = (row.text(0).ok()?, row.text(1).ok()?);
        Some(format!("server {id} {host}").trim().to_owned())
    };
    rows.iter().filter_map(name).collect()
}

/// Where those are that are being sent the binary log, as far as the account may see them.
pub fn followers(session: &mut Session) -> Vec<String> {
    let dumps =
        |processes: &str| format!("SELECT HOST FROM {processes} WHERE COMMAND LIKE 'Binlog Dump%'");
    let rows = session.query_processes(dumps).unwrap_or_default();
    rows.iter().filter_map(|row| row.text(0).ok()).collect()
}
