//! Why a path cannot be taken: of the table, of the server, of the account.

use std::fmt;

use face::option::{REPLICA, UNLOGGED};
use schema::{Engine, Feature};

use crate::engine::Kind;
use crate::version::{UnfitVersion, Version};

/// The variable that keeps every account's writes away; MySQL's alone.
pub(crate) const SUPER_READ_ONLY: &str = "super_read_only";

/// Something that a path cannot take (yet), found before anything was done.
///
/// Its text is the name that the documentation lists it by, and what was seen: `binary log (..)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// A feature of the table.
    Table(Feature),
    /// A version whose files are not built.
    ServerVersion(Version, UnfitVersion),
    /// A build that is neither tested nor proven, and why.
    UntestedBuild(Version, String),
    /// Another page size, in bytes.
    PageSize(u64),
    /// Another checksum than the one that is needed, by their names.
    Checksum {
        /// `innodb_checksum_algorithm`.
        seen: String,
        /// The one that files of this server are built with.
        needed: &'static str,
    },
    /// A cluster that replicates rows.
    Galera,
    /// A binary log that would miss the rows.
    BinaryLog,
    /// An archive of the redo log that would miss the rows.
    LogArchive,
    /// Replicas that would miss them, one word each.
    Replicas(Vec<String>),
    /// The reason why a named replica cannot get the file.
    NamedReplica(String),
    /// The variables that keep writes away.
    ReadOnly(Vec<&'static str>),
    /// New tables have no files of their own.
    SharedTablespace,
    /// New tables are encrypted; the variable that says so, and its value.
    EncryptedTables(&'static str, String),
    /// New tables are compressed.
    CompressedTables,
    /// A checkpoint cannot be asked for.
    NoCheckpoint,
    /// The engine of every new table, where the account may not choose another.
    EnforcedEngine(String),
    /// Rights that the direct path needs and that are missing, as statements that give them.
    Privileges(Vec<String>),
    /// AUTO_INCREMENT counts by an offset beyond its step.
    AutoIncrementStep {
        /// `auto_increment_increment`.
        increment: u64,
        /// `auto_increment_offset`.
        offset: u64,
    },
    /// The folder of the database, and what is wrong with it.
    DataDirectory(String),
    /// Row format that a copy of the table would have, and the table's own.
    RowFormat(String),
    /// The server's copy of the table is another.
    CopyDiffers,
    /// The server refuses tables without a primary key, and does not let the account, by its name, change that.
    PrimaryKeyRequired(String),
    /// A staging table of InnoDB does not become the table's like again.
    StagedDiffers,
    /// Rows that are gone are kept in the table.
    History,
    /// Foreign keys may be there that the account, by its name, does not see.
    UnseenForeignKeys(String),
    /// Triggers may be there that the account does not see without this statement.
    UnseenTriggers(String),
    /// A trigger that could not be made anew, and why, as a sentence.
    StuckTrigger(String),
    /// Rights that a staging table needs and that are missing, as statements that give them.
    StagingPrivileges(Vec<String>),
    /// An engine that cannot take rows back.
    NoTransactions(Engine),
    /// An engine whose rows are another server's.
    ForeignRows(Engine),
    /// A rule of the engine that answers, as a sentence.
    Engine(Kind, String),
}

impl Unsupported {
    /// The name that the documentation lists it by.
    pub fn name(&self) -> &'static str {
        match self {
            Unsupported::Table(feature) => feature.name(),
            Unsupported::ServerVersion(..) => "server version",
            Unsupported::UntestedBuild(..) => "untested server",
            Unsupported::PageSize(_) => "page size",
            Unsupported::Checksum { .. } => "checksum algorithm",
            Unsupported::Galera => "Galera",
            Unsupported::BinaryLog => "binary log",
            Unsupported::LogArchive => "redo log archive",
            Unsupported::Replicas(_) => "replicas attached",
            Unsupported::NamedReplica(_) => REPLICA.typed(),
            Unsupported::ReadOnly(_) => "read-only server",
            Unsupported::SharedTablespace => "shared tablespace",
            Unsupported::EncryptedTables(..) => "encrypted tables",
            Unsupported::CompressedTables => "page compression",
            Unsupported::NoCheckpoint => "checkpoint on demand",
            Unsupported::EnforcedEngine(_) => "enforced storage engine",
            Unsupported::Privileges(_) | Unsupported::StagingPrivileges(_) => "privileges",
            Unsupported::AutoIncrementStep { .. } => "AUTO_INCREMENT step",
            Unsupported::DataDirectory(_) => "data directory",
            Unsupported::RowFormat(_) => "row format",
            Unsupported::CopyDiffers | Unsupported::PrimaryKeyRequired(_) => "copy of the table",
            Unsupported::History => "system versioning",
            Unsupported::UnseenForeignKeys(_) => "foreign key",
            Unsupported::UnseenTriggers(_) | Unsupported::StuckTrigger(_) => "trigger",
            Unsupported::Engine(kind, _) => kind.name(),
            Unsupported::StagedDiffers
            | Unsupported::NoTransactions(_)
            | Unsupported::ForeignRows(_) => "storage engine",
        }
    }

    /// Writes the detail, for features that are not of the table.
    fn write_detail(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::Table(_) => Ok(()),
            Unsupported::ServerVersion(version, why) => write!(f, "{version}: {why}"),
            Unsupported::UntestedBuild(version, why) => write!(f, "{version}: {why}"),
            Unsupported::PageSize(bytes) => {
                write!(f, "innodb_page_size is {bytes}; 16384 is needed")
            }
            Unsupported::Checksum { seen, needed } => write!(
                f,
                "innodb_checksum_algorithm is {seen}; {needed} or strict_{needed} is needed"
            ),
            Unsupported::Galera => f.write_str("wsrep_on is set"),
            Unsupported::BinaryLog => write!(
                f,
                "log_bin is on: replicas and point-in-time recovery would lack the rows; \
                 {UNLOGGED} accepts that, {REPLICA} gives each replica the same file"
            ),
            Unsupported::LogArchive => write!(
                f,
                "innodb_log_archive is ON: recovery from archived logs would lack the rows; {UNLOGGED} accepts that"
            ),
            Unsupported::Replicas(names) => write!(
                f,
                "{}; {REPLICA} gives each of them the same file",
                names.join(", ")
            ),
            Unsupported::NamedReplica(why) => f.write_str(why),
            Unsupported::ReadOnly(variables) => {
                let verb = if variables.len() == 1 { "is" } else { "are" };
                write!(f, "{} {verb} set", variables.join(" and "))?;
                match variables.contains(&SUPER_READ_ONLY) {
                    true => f.write_str(
                        "; no account can write before SET GLOBAL super_read_only=OFF",
                    ),
                    false => Ok(()),
                }
            }
            Unsupported::SharedTablespace => f.write_str(
                "innodb_file_per_table is off: new tables are created in the shared tablespace; ON is needed",
            ),
            Unsupported::EncryptedTables(variable, how) => {
                write!(f, "{variable} is {how}; OFF is needed")
            }
            Unsupported::CompressedTables => f.write_str(
                "innodb_compression_default is ON; OFF \
                                                          is needed",
            ),
            Unsupported::NoCheckpoint => f.write_str(
                "this version has no innodb_log_checkpoint_now, nor all variables that replace it: a crash \
                 soon after the load could empty the table",
            ),
            Unsupported::EnforcedEngine(engine) => write!(
                f,
                "enforce_storage_engine is {engine}, but a load needs its own InnoDB tables: \
                 unset the variable, or give the account SUPER"
            ),
            Unsupported::Privileges(missing) => {
                write!(f, "the account needs: {}", missing.join("; "))
            }
            Unsupported::AutoIncrementStep { increment, offset } => write!(
                f,
                "auto_increment_offset ({offset}) must not be greater than \
                 auto_increment_increment ({increment})"
            ),
            Unsupported::DataDirectory(seen)
            | Unsupported::RowFormat(seen)
            | Unsupported::StuckTrigger(seen)
            | Unsupported::Engine(_, seen) => f.write_str(seen),
            Unsupported::CopyDiffers => {
                f.write_str("CREATE TABLE .. LIKE creates a different table")
            }
            Unsupported::PrimaryKeyRequired(account) => write!(
                f,
                "sql_require_primary_key is ON, and the table has no primary key: a copy takes \
                 GRANT SESSION_VARIABLES_ADMIN ON *.* TO {account}"
            ),
            Unsupported::StagedDiffers => {
                f.write_str("the table cannot be converted to InnoDB and back unchanged")
            }
            Unsupported::History => f.write_str("the table keeps deleted rows"),
            Unsupported::UnseenForeignKeys(account) => write!(
                f,
                "foreign keys of other databases that refer to the table are not visible without \
                 GRANT PROCESS ON *.* TO {account}"
            ),
            Unsupported::UnseenTriggers(grant) => {
                write!(
                    f,
                    "the table may have triggers, which this account cannot see without \
                           {grant}"
                )
            }
            Unsupported::StagingPrivileges(missing) => {
                write!(f, "to create a staging table the account needs: {}", missing.join("; "))
            }
            // FEDERATED of MariaDB 10.11 keeps the first rows of an INSERT that failed, and leaves
            // out the duplicates of a LOAD DATA LOCAL without a word.
            Unsupported::NoTransactions(engine) => {
                write!(f, "{engine} has no transactions, so a load could not be rolled back")
            }
            Unsupported::ForeignRows(engine) => write!(
                f,
                "rows of a {engine} table may be on another server, where single statements \
                 cannot be undone"
            ),
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Unsupported::Table(feature) = self {
            return feature.fmt(f);
        }
        match self {
            Unsupported::NamedReplica(_) => write!(f, "{REPLICA} (")?,
            _ => write!(f, "{} (", self.name())?,
        }
        self.write_detail(f)?;
        f.write_str(")")
    }
}
