//! The contents of a stand-in: tables with their rows, transactions, locks.
//!
//! A row that a transaction has put in is its own until it commits, and one that it has deleted is there
//! for all others until then. Locks of tables are those that a load can come upon: a transaction keeps
//! what it has touched, LOCK TABLES keeps others out, and what changes a table waits for both.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(super) use super::answers::Value;
use super::engine::Engine;

/// Number of a connection.
pub(super) type Id = u64;

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) tables: BTreeMap<String, Table>,
    pub(super) sessions: BTreeMap<Id, SessionState>,
    /// Named locks, and who holds them.
    pub(super) names: BTreeMap<String, Id>,
    /// Numbers rows in the order in which they came.
    ordinal: u64,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Its definition: lines of columns and keys, and what follows them.
    pub(super) lines: Vec<String>,
    pub(super) tail: String,
    /// Its first columns, of which no two rows have the same.
    pub(super) key_columns: usize,
    pub(super) rows: Vec<Row>,
    /// Name of its trigger, which does nothing that shows.
    pub(super) trigger: Option<String>,
}

/// A row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) values: Vec<Value>,
    ordinal: u64,
    /// The transactions that have put it in, or deleted it, and have not committed that.
    inserted_by: Option<Id>,
    deleted_by: Option<Id>,
}

/// The state of a connection.
#[derive(Debug)]
pub(super) struct SessionState {
    pub(super) is_manual: bool,
    pub(super) is_begun: bool,
    savepoint: u64,
    /// Tables that its transaction has to do with.
    touched: BTreeSet<String>,
    /// Tables that it has by LOCK TABLES.
    pub(super) locked: BTreeSet<String>,
    /// Tables that it waits for, to change them.
    pub(super) wants: BTreeSet<String>,
    /// The statement that it runs, as the process list has it.
    pub(super) statement: String,
    /// Rows that its last file has had passed over.
    pub(super) skipped: u64,
    /// Bytes that its transaction has, as an engine counts them.
    pub(super) bytes: usize,
    /// How long it waits for tables, and for rows.
    pub(super) table_wait: Duration,
    pub(super) row_wait: Duration,
    /// Which of several shards its statements go to; all of them, if none.
    pub(super) shard: Option<usize>,
    /// Variables that it has set.
    pub(super) variables: BTreeMap<String, String>,
    /// Somebody has ended its statement, or all of it.
    pub(super) is_stopped: bool,
    pub(super) is_killed: bool,
}

impl Default for SessionState {
    fn default() -> SessionState {
        SessionState {
            is_manual: false,
            is_begun: false,
            savepoint: 0,
            touched: BTreeSet::new(),
            locked: BTreeSet::new(),
            wants: BTreeSet::new(),
            statement: String::new(),
            skipped: 0,
            bytes: 0,
            table_wait: Duration::from_secs(60),
            row_wait: Duration::from_secs(50),
            shard: None,
            variables: BTreeMap::new(),
            is_stopped: false,
            is_killed: false,
        }
    }
}

/// Why a row does not go in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotIn {
    /// Another one has its key.
    Duplicate,
    /// A transaction that is not over decides whether one has.
    Waits,
}

impl Table {
    /// One of a statement's text, from behind its name: ` (..) ENGINE=..`, as SHOW CREATE TABLE has it
    /// or in one line.
    pub(super) fn of(text: &str, key_columns: usize) -> Table {
        let (inner, tail) = match text.rsplit_once("\n)") {
            Some((inner, tail)) => (inner, tail),
            None => text.rsplit_once(')').unwrap_or((text, "")),
        };
        let inner = inner.trim_start().trim_start_matches('(');
        let lines = inner.lines().map(|line| line.trim().trim_end_matches(',').to_owned());
        let lines = lines.filter(|line| !line.is_empty()).collect();
        Table { lines, tail: tail.trim().to_owned(), key_columns, ..Table::default() }
    }

    /// As SHOW CREATE TABLE has it.
    pub(super) fn definition(&self, name: &str, engine: Engine) -> String {
        let counter = engine.counter(&self.lines, self.rows.len());
        let lines = self.lines.join(",\n  ");
        format!("CREATE TABLE `{name}` (\n  {lines}\n) {}{counter}", self.tail)
    }

    /// The table that its foreign key refers to.
    pub(super) fn parent(&self) -> Option<String> {
        let key = self.lines.iter().find(|line| line.contains(" FOREIGN KEY "))?;
        Some(key.split_once("REFERENCES `")?.1.split('`').next()?.to_owned())
    }

    /// Rows that a connection sees.
    pub(super) fn seen_by(&self, id: Id) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| {
            row.inserted_by.is_none_or(|by| by == id) && row.deleted_by != Some(id)
        })
    }

    /// True if an open transaction of another connection concerns its rows.
    pub(super) fn is_undecided(&self, id: Id) -> bool {
        let others = |by: Option<Id>| by.is_some_and(|by| by != id);
        self.rows.iter().any(|row| others(row.inserted_by) || others(row.deleted_by))
    }

    fn may_take(&self, values: &[Value], id: Id) -> Result<(), NotIn> {
        if self.key_columns == 0 {
            return Ok(());
        }
        let key = values.get(..self.key_columns).unwrap_or_default();
        let same = |row: &&Row| row.values.get(..self.key_columns) == Some(key);
        for row in self.rows.iter().filter(same) {
            match (row.inserted_by, row.deleted_by) {
                (Some(by), _) | (_, Some(by)) if by != id => return Err(NotIn::Waits),
                (_, Some(_)) => {}
                _ => return Err(NotIn::Duplicate),
            }
        }
        Ok(())
    }
}

/// Stands before the number of its shard in the name of a table that each shard has by itself.
pub(super) const OF_SHARD: char = '@';

/// The shard of a row, by the remainder of its first value.
fn shard_of(table: &str, values: &[Value], shards: usize) -> usize {
    if let Some((_, shard)) = table.split_once(OF_SHARD) {
        return shard.parse().unwrap_or_default();
    }
    let first = values.first().cloned().flatten().unwrap_or_default();
    String::from_utf8_lossy(&first).parse::<usize>().unwrap_or_default() % shards
}

impl Tables {
    /// Puts rows in, all or none; those that are there already are passed over if `ignore` says so.
    /// Gives how many went in.
    pub(super) fn insert(
        &mut self,
        id: Id,
        name: &str,
        rows: &[Vec<Value>],
        ignore: bool,
    ) -> Result<u64, NotIn> {
        let (before, mut count) = (self.ordinal, 0);
        for values in rows {
            let Some(table) = self.tables.get_mut(name) else { break };
            match table.may_take(values, id) {
                Ok(()) => {
                    self.ordinal += 1;
                    let (values, ordinal) = (values.clone(), self.ordinal);
                    let inserted_by = Some(id);
                    table.rows.push(Row { values, ordinal, inserted_by, deleted_by: None });
                    count += 1;
                }
                Err(NotIn::Duplicate) if ignore => {}
                Err(error) => {
                    self.take_back(id, before);
                    return Err(error);
                }
            }
        }
        Ok(count)
    }

    /// Deletes rows that a connection sees, and `which` chooses.
    pub(super) fn delete(&mut self, id: Id, name: &str, which: impl Fn(&Row) -> bool) -> u64 {
        let Some(table) = self.tables.get_mut(name) else { return 0 };
        let mut count = 0;
        for row in &mut table.rows {
            let is_seen = row.inserted_by.is_none_or(|by| by == id) && row.deleted_by.is_none();
            if is_seen && which(row) {
                row.deleted_by = Some(id);
                count += 1;
            }
        }
        count
    }

    /// Has what a connection did stay.
    pub(super) fn commit(&mut self, id: Id) {
        for table in self.tables.values_mut() {
            table.rows.retain(|row| row.deleted_by != Some(id));
            let own = table.rows.iter_mut().filter(|row| row.inserted_by == Some(id));
            own.for_each(|row| row.inserted_by = None);
        }
        self.over(id);
    }

    /// Has stay what it did on the first of so many shards, and takes back the rest.
    pub(super) fn commit_on_first(&mut self, id: Id, shards: usize) {
        for (name, table) in &mut self.tables {
            let is_first = |row: &Row| shard_of(name, &row.values, shards) == 0;
            table.rows.retain(|row| row.deleted_by != Some(id) || !is_first(row));
            let own = table.rows.iter_mut().filter(|row| row.inserted_by == Some(id));
            own.filter(|row| is_first(row)).for_each(|row| row.inserted_by = None);
        }
        self.rollback(id);
    }

    /// Takes back what it did.
    pub(super) fn rollback(&mut self, id: Id) {
        self.take_back(id, 0);
        for table in self.tables.values_mut() {
            let own = table.rows.iter_mut().filter(|row| row.deleted_by == Some(id));
            own.for_each(|row| row.deleted_by = None);
        }
        self.over(id);
    }

    /// Remembers what is in.
    pub(super) fn set_savepoint(&mut self, id: Id) {
        let ordinal = self.ordinal;
        self.session(id).savepoint = ordinal;
    }

    /// Takes back what was put in since.
    pub(super) fn rollback_to_savepoint(&mut self, id: Id) {
        let since = self.session(id).savepoint;
        self.take_back(id, since);
    }

    fn take_back(&mut self, id: Id, since: u64) {
        for table in self.tables.values_mut() {
            table.rows.retain(|row| row.inserted_by != Some(id) || row.ordinal <= since);
        }
    }

    fn over(&mut self, id: Id) {
        let session = self.session(id);
        session.is_begun = false;
        session.bytes = 0;
        session.touched.clear();
    }

    /// A connection that has gone: what it did is taken back, what it held is free.
    pub(super) fn end(&mut self, id: Id) {
        self.rollback(id);
        self.sessions.remove(&id);
        self.names.retain(|_, holder| *holder != id);
    }

    pub(super) fn session(&mut self, id: Id) -> &mut SessionState {
        self.sessions.entry(id).or_default()
    }

    /// True if a connection is in a transaction, and its changes wait for COMMIT.
    pub(super) fn in_transaction(&mut self, id: Id) -> bool {
        let session = self.session(id);
        session.is_begun || session.is_manual
    }

    /// Has a connection read or change rows of a table, as soon as nobody keeps it from that.
    pub(super) fn touch(&mut self, id: Id, name: &str) -> bool {
        let own = self.session(id);
        let is_own = own.locked.contains(name) || own.touched.contains(name);
        let mut others = self.sessions.iter().filter(|(other, _)| **other != id);
        if !is_own && others.any(|(_, one)| one.locked.contains(name) || one.wants.contains(name)) {
            return false;
        }
        if self.in_transaction(id) {
            self.session(id).touched.insert(name.to_owned());
        }
        true
    }

    /// True if no other connection uses some tables.
    pub(super) fn are_free(&self, id: Id, names: &[String]) -> bool {
        let mut others = self.sessions.iter().filter(|(other, _)| **other != id);
        let has = |one: &SessionState, name: &String| {
            one.locked.contains(name) || one.touched.contains(name)
        };
        !others.any(|(_, one)| names.iter().any(|name| has(one, name)))
    }
}
