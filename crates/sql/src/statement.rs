//! The kind of a statement, as far as its order among others depends on it.

use crate::insert::InsertHead;
use crate::name::ObjectName;

/// The kind of a statement. Version comments that the server runs are read like other text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// `INSERT` or `REPLACE .. VALUES (`: the reader stands before the first row.
    Insert(Box<InsertHead>),
    /// `SET` of session and user variables only: `variables` are the session's that it names, in
    /// lower case (`NAMES` is `names`, `CHARACTER SET` is `charset`); what it names by `@x` only is
    /// left out.
    Set {
        /// Session variables that it sets.
        variables: Vec<String>,
    },
    /// `USE db`.
    Use(Vec<u8>),
    /// `CREATE DATABASE`.
    CreateDatabase(Vec<u8>),
    /// `DROP DATABASE`.
    DropDatabase(Vec<u8>),
    /// `CREATE TABLE name (..)`, not TEMPORARY, not LIKE, not OR REPLACE, not by a SELECT.
    CreateTable {
        /// Its name.
        table: ObjectName,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// `DROP TABLE` of one table.
    DropTable {
        /// Its name.
        table: ObjectName,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// `LOCK TABLES ..`.
    LockTables,
    /// `UNLOCK TABLES`.
    UnlockTables,
    /// `ALTER TABLE t DISABLE KEYS` or `ENABLE KEYS`.
    Keys(ObjectName),
    /// `CREATE VIEW`, also OR REPLACE.
    CreateView(ObjectName),
    /// `DROP VIEW` of one view.
    DropView(ObjectName),
    /// `CREATE TRIGGER`: on which table.
    CreateTrigger(ObjectName),
    /// `DROP TRIGGER`.
    DropTrigger(ObjectName),
    /// `CREATE` or `DROP` of a FUNCTION, PROCEDURE, PACKAGE or EVENT.
    Routine,
    /// `BEGIN`, `START TRANSACTION`, `COMMIT`, `ROLLBACK`, with nothing else said but how it begins.
    Transaction(Bound),
    /// Everything else: to the server as it is, in order.
    Other,
}

impl StatementKind {
    /// Its first words, for people.
    pub fn words(&self) -> &'static str {
        match self {
            StatementKind::Insert(_) => "INSERT",
            StatementKind::Set { .. } => "SET",
            StatementKind::Use(_) => "USE",
            StatementKind::CreateDatabase(_) => "CREATE DATABASE",
            StatementKind::DropDatabase(_) => "DROP DATABASE",
            StatementKind::CreateTable { .. } => "CREATE TABLE",
            StatementKind::DropTable { .. } => "DROP TABLE",
            StatementKind::LockTables => "LOCK TABLES",
            StatementKind::UnlockTables => "UNLOCK TABLES",
            StatementKind::Keys(_) => "ALTER TABLE .. KEYS",
            StatementKind::CreateView(_) => "CREATE VIEW",
            StatementKind::DropView(_) => "DROP VIEW",
            StatementKind::CreateTrigger(_) => "CREATE TRIGGER",
            StatementKind::DropTrigger(_) => "DROP TRIGGER",
            StatementKind::Routine => "routine",
            StatementKind::Transaction(_) => "transaction",
            StatementKind::Other => "other",
        }
    }
}

/// Where a transaction begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `BEGIN`, `START TRANSACTION`.
    Begin,
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK`, of all.
    Rollback,
}
