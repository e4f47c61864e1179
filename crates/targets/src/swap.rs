//! The swap: filled tables become the tables they are for in one atomic RENAME.
//!
//! MariaDB refuses RENAME TABLE under LOCK TABLES (error 1192), so looking at a table and swapping
//! it cannot be one connection's work. Two do it, a holder for each table (or for some that follow
//! each other, where they are too many for a connection each) and one mover for all:
//!
//! ```text
//! holder: LOCK TABLES table WRITE      nobody writes any more; look: empty? not altered?
//! mover:  RENAME TABLE table TO .., staging table TO table, ..                   waits for the lock
//! holder: sees the mover wait; UNLOCK TABLES
//! mover:  goes first: the server grants a waiting exclusive lock before every later or earlier
//!         waiting reader and writer, whose statements then find the new table
//! ```
//!
//! Where rows of a target were read or checked, who has kept others from writing to it since is its holder, and
//! the mover also waits for readers. There is one attempt then: the rows could be others by the next.
//!
//! A mover that is seen to wait may wait for one of the load's own tables still, which something of the server's has
//! for a moment. So the holder also sees that the mover has that one: a row that slipped in would be lost with a
//! target whose rows are merged.
//!
//! The mover takes the locks of several tables in the order of their names, and holders let go in
//! that order, each when the mover waits for its table. Should one be taken to wait that has just
//! got the lock before, a row that slips in is not lost either: it is in the table put aside, which
//! is not dropped while rows are in it. The same goes for a table that is not the first of its
//! holder's: those who waited for it have it before the mover comes. Should one of them alter it, the
//! table put aside is kept too.
//!
//! Killed at any point, the tables are the old ones or the new ones: RENAME is atomic, on the server's crash
//! too (DDL log, MariaDB 10.6 and later). Not of a partitioned table: 10.11.19, killed in its RENAME, has some
//! partitions under each name then, and errors 1932 or 1696. The name of a replacement tells if a RENAME
//! without an answer was done. Source: MariaDB 10.11, sql/mdl.cc, `MDL_lock::can_grant_lock`: a request is granted only if no
//! incompatible stronger one waits; `MDL_context::acquire_locks` sorts requests by name.

mod mover;
mod one_connection;
mod queued;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use self::mover::Mover;
use crate::lock::{Lock, RECONNECT_WAIT};
use crate::queued::wait_until_ended;
use crate::reach::reach;
use crate::triggers::{self, TriggersPlace};
use crate::turns::{Blocked, Turns};
use crate::waiting::{Patience, lock_holders};
use catalog::{self, KeysOfTables, definition, foreign_keys};
use schema::{ForeignKey, KeyEnd, Mode, first_of};
use server::engine::Kind;
use server::error::{Error, Result};
use server::identifier::TableName;
use server::session::Session;

/// How long the mover waits for the holders' tables, which come at once. Others may have got one of several.
const ATTEMPT: Duration = Duration::from_secs(3);
/// Connections that hold tables: with more tables than that each holds some that follow each other.
pub(super) const HOLDERS_MAX: usize = 8;

/// A table and what takes its place.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The name that both have, one after the other.
    pub table: TableName,
    /// Name of the new table before the swap.
    pub replacement: TableName,
    /// The table of that name before the swap.
    pub before: Before,
}

/// The table of a name before the swap. `aside` is its name afterwards.
#[derive(Clone, Debug)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// A table that goes as it is. Foreign keys of others may refer to it:
    /// [`carry_over`](super::carried_keys::carry_over) is for them.
    Whatever {
        /// Its name after the swap.
        aside: TableName,
    },
    /// A table that must not have been altered, nor have got its first trigger or other foreign keys,
    /// and has to be empty in [`Mode::Insert`], up to the swap. Where rows of tables that are not
    /// swapped refer to it, nobody writes to the new one before they refer to that.
    Unchanged {
        /// Its name after the swap.
        aside: TableName,
        /// Its definition.
        definition: String,
        /// Its foreign keys, in both directions.
        foreign_keys: Vec<ForeignKey>,
        /// The mode, which may require it to be empty.
        mode: Mode,
        /// Where its triggers are, if it has any: those that it has then stay on the table of its
        /// name.
        triggers: Option<TriggersPlace>,
    },
}

/// Tables that take their places all at once, or none of them.
#[derive(Clone, Debug)]
pub struct Swap {
    /// In the order of the tables' names, as the server locks them.
    pairs: Vec<Pair>,
    /// Tables whose rows refer to some of those, and that are not swapped with them.
    children: BTreeSet<TableName>,
}

/// New tables that nobody writes to behind a swap, until foreign keys are carried over.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Those that rows of others are to refer to, and who holds each.
    tables: Vec<HeldTables>,
    /// When the swap began, where there are any: nobody could read the tables.
    pub(super) since: Option<Instant>,
    /// True if others may have written to old tables after their rows were read.
    pub(super) has_later_rows: bool,
}

/// Tables that one connection locks.
#[derive(Debug)]
struct HeldTables {
    group: Group,
    session: Session,
}

/// Tables that the server locks together.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    tables: Vec<TableName>,
    /// True if old tables are locked with them: rows of these follow theirs.
    has_old: bool,
}

impl Group {
    /// A table that nothing else is locked with.
    fn alone(table: &TableName) -> Group {
        Group { tables: vec![table.clone()], has_old: false }
    }
}

impl Held {
    /// The same with the moment since when nobody could read what is held.
    fn since(self, begun: Instant) -> Held {
        Held { since: (!self.tables.is_empty()).then_some(begun), ..self }
    }

    /// Who holds the new table, perhaps with others.
    pub(super) fn take(&mut self, table: &TableName) -> Option<Session> {
        let at = self.tables.iter().position(|held| held.group.tables.contains(table))?;
        Some(self.tables.swap_remove(at).session)
    }

    /// Who holds old tables too, which are not dropped before.
    pub(super) fn take_old(&mut self) -> Vec<Session> {
        let (old, rest) =
            std::mem::take(&mut self.tables).into_iter().partition(|held| held.group.has_old);
        self.tables = rest;
        let old: Vec<HeldTables> = old;
        old.into_iter().map(|held| held.session).collect()
    }
}

impl Swap {
    /// A swap of these tables, at least one.
    pub fn new(mut pairs: Vec<Pair>) -> Swap {
        assert!(!pairs.is_empty(), "a swap of no table");
        pairs.sort_by(|a, b| a.table.cmp(&b.table));
        assert!(pairs.windows(2).all(|two| two[0].table != two[1].table), "a table swapped twice");
        Swap { pairs, children: BTreeSet::new() }
    }

    /// The same where rows of these refer to tables that are swapped, and nobody writes to them until their keys are
    /// carried over.
    pub(super) fn with_children(self, children: BTreeSet<TableName>) -> Swap {
        Swap { children, ..self }
    }

    /// Swaps over `session`, and waits for locks no longer than `wait`. A session that is lost on the
    /// way is made again; what it held besides is lost with it.
    ///
    /// Errors, all tables as before: [`Error::NotEmpty`], [`Error::Altered`], [`Error::LockWait`];
    /// the server's. [`Error::Unanswered`]: they are the old tables or the new ones.
    pub fn run(&self, session: &mut Session, wait: Duration) -> Result<()> {
        let patience = Patience { target: self.pairs[0].table.clone(), wait, told: None };
        let mover = Mover {
            swap: self,
            session,
            patience: &patience,
            turns: &mut Turns::begin(wait),
            reconnect_wait: RECONNECT_WAIT,
            given: Vec::new(),
            yields_since: None,
            blocked: &mut Blocked::default(),
        };
        let done = { mover }.run(&mut None).map(drop);
        if session.is_alive() {
            return done;
        }
        // The result of the RENAME is known: a server that is away is met by the next statement.
        if let Ok(again) = reach(session, RECONNECT_WAIT) {
            *session = again;
            let _ = session.set_lock_wait(wait);
        }
        done
    }

    /// As [`Swap::run`], over the session of a locked target, which keeps a second one, in what is left of
    /// `turns`. Gives the locks of new tables whose children are still the old ones'. Those `given` hold the
    /// targets, each some that follow each other, since rows were looked at: then there is one attempt. A swap
    /// that yields waits for others in it as long as nobody has waited for the load `yields_since` then.
    ///
    /// Errors: as [`Swap::run`], and [`Error::Yielded`].
    pub(super) fn run_for(
        &self,
        lock: &mut Lock,
        turns: &mut Turns,
        given: Vec<Session>,
        yields_since: Option<Instant>,
    ) -> Result<Held> {
        let mut spare = Some(lock.second()?);
        let Lock { session, patience, reconnect_wait, blocked, .. } = lock;
        let (swap, reconnect_wait) = (self, *reconnect_wait);
        let mut mover =
            Mover { swap, session, patience, turns, reconnect_wait, given, yields_since, blocked };
        let done = mover.run(&mut spare);
        lock.spare = spare;
        // Of no matter where the connection has gone.
        let _ = lock.session.set_lock_wait(lock.patience.wait);
        done
    }

    /// True if a RENAME without answer of connection `mover` was done: it is atomic, so the name of one replacement
    /// tells. One that is still under way is waited for as long as for a server.
    fn was_swapped(&self, session: &Session, wait: Duration, mover: u64) -> Result<bool> {
        let _shield = session.options().interrupt.shield();
        let mut session = reach(session, wait)?;
        if !wait_until_ended(&mut session, mover, "RENAME TABLE", wait.max(ATTEMPT))? {
            return Err(self.unanswered());
        }
        let is_waiting = catalog::exists(&mut session, &self.pairs[0].replacement)?;
        if is_waiting && Kind::of_version(session.version()).renames_later() {
            return Err(self.unanswered());
        }
        Ok(!is_waiting)
    }

    /// Pairs whose tables are locked before the swap, those of each of so many holders together: none where there
    /// is nothing to be looked at, and else all, so that the mover waits for nobody else's lock.
    fn held(&self, holders: usize) -> Vec<Vec<&Pair>> {
        if !self.pairs.iter().any(Pair::is_looked_at) {
            return Vec::new();
        }
        let is_there = |pair: &&Pair| !matches!(pair.before, Before::Nothing);
        let held: Vec<&Pair> = self.pairs.iter().filter(is_there).collect();
        let each = held.len().div_ceil(holders.max(1)).max(1);
        held.chunks(each).map(<[&Pair]>::to_vec).collect()
    }

    /// True if foreign keys join tables with others, or may.
    fn is_joined(&self) -> bool {
        !self.pairs.iter().all(Pair::is_free)
    }

    /// True if tables have triggers, which may write to others of them.
    fn has_triggers(&self) -> bool {
        let has = |pair: &Pair| matches!(&pair.before, Before::Unchanged { triggers: Some(_), .. });
        self.pairs.iter().any(has)
    }

    /// Tables whose triggers a server has in its dictionary, with the names of the old ones.
    fn with_triggers(&self) -> impl Iterator<Item = (&TableName, &TableName)> {
        self.pairs.iter().filter_map(|pair| match &pair.before {
            Before::Unchanged { aside, triggers: Some(TriggersPlace::Dictionary), .. } => {
                Some((&pair.table, aside))
            }
            _ => None,
        })
    }

    /// The last of the load's own tables that the mover locks before a target: the server locks in the order of
    /// names. While something else of the server's has it for a moment, the mover does not wait for the target yet.
    fn locked_before(&self, target: &TableName) -> Option<&TableName> {
        let own = self.pairs.iter().map(|pair| &pair.replacement);
        own.filter(|own| *own < target).max()
    }

    /// Tables that rows of others refer to, which are not swapped with them.
    fn referred(&self) -> Vec<&TableName> {
        let is_other = |key: &ForeignKey| {
            let other = key.other.as_ref();
            key.end == KeyEnd::Parent && other.is_some_and(|other| self.children.contains(other))
        };
        let is_referred = |pair: &&Pair| match &pair.before {
            Before::Unchanged { foreign_keys, .. } => foreign_keys.iter().any(is_other),
            Before::Nothing | Before::Whatever { .. } => false,
        };
        self.pairs.iter().filter(is_referred).map(|pair| &pair.table).collect()
    }

    /// The names of the tables, for messages.
    fn names(&self) -> String {
        first_of(self.pairs.iter().map(|pair| &pair.table))
    }

    fn statement(&self) -> String {
        let mut renames = Vec::new();
        for pair in &self.pairs {
            let (table, replacement) = (pair.table.quoted(), pair.replacement.quoted());
            if let Some(aside) = pair.aside() {
                renames.push(format!("{table} TO {}", aside.quoted()));
            }
            renames.push(format!("{replacement} TO {table}"));
        }
        format!("RENAME TABLE {}", renames.join(", "))
    }

    /// The statement that takes a swap back.
    fn statement_back(&self) -> String {
        let mut renames = Vec::new();
        for pair in &self.pairs {
            let (table, replacement) = (pair.table.quoted(), pair.replacement.quoted());
            renames.push(format!("{table} TO {replacement}"));
            if let Some(aside) = pair.aside() {
                renames.push(format!("{} TO {table}", aside.quoted()));
            }
        }
        format!("RENAME TABLE {}", renames.join(", "))
    }

    /// Who may hold a lock that keeps the tables from being swapped, besides connections of our `own`.
    fn holders_of_locks(&self, session: &mut Session, own: &[u64]) -> Vec<String> {
        let tables: Vec<&TableName> = self.pairs.iter().map(|pair| &pair.table).collect();
        lock_holders(session, &tables, own).unwrap_or_default()
    }

    fn unanswered(&self) -> Error {
        Error::Unanswered(self.names())
    }
}

impl Pair {
    fn is_looked_at(&self) -> bool {
        matches!(self.before, Before::Unchanged { .. })
    }

    /// Name of the old table afterwards.
    fn aside(&self) -> Option<&TableName> {
        match &self.before {
            Before::Whatever { aside } | Before::Unchanged { aside, .. } => Some(aside),
            Before::Nothing => None,
        }
    }

    /// True if it is known to have no foreign keys.
    fn is_free(&self) -> bool {
        matches!(&self.before, Before::Unchanged { foreign_keys, .. } if foreign_keys.is_empty())
    }

    /// Under the holder's lock: the table is as it was when its replacement was made.
    fn check_unchanged(&self, holder: &mut Session, keys: &KeysOfTables) -> Result<()> {
        let Before::Unchanged { definition: before, foreign_keys: known, mode, triggers, .. } =
            &self.before
        else {
            return Ok(());
        };
        let name = &self.table;
        let altered = |detail: &str| {
            Err(Error::Altered { target: name.to_string(), detail: detail.to_owned() })
        };
        if definition(holder, name)? != *before {
            return altered("the table's definition changed during the load");
        }
        if triggers.is_none() && catalog::has_triggers(holder, name)? {
            return altered("the table got a trigger during the load");
        }
        // That of a child table is not in the target's definition.
        let keys = match keys.get(name) {
            Some(keys) => keys.clone(),
            None => foreign_keys(holder, name)?,
        };
        if let Some(key) = keys.iter().find(|key| !known.contains(key)) {
            return altered(&format!("the table got a foreign key during the load: {key}"));
        }
        if let Some(key) = known.iter().find(|key| !keys.contains(key)) {
            return altered(&format!("the table lost a foreign key during the load: {key}"));
        }
        let any = format!("SELECT 1 FROM {base} LIMIT 1", base = name.base());
        if *mode == Mode::Insert && !holder.query(&any)?.is_empty() {
            return Err(Error::NotEmpty(name.to_string()));
        }
        holder.check_variables()?;
        match triggers {
            Some(TriggersPlace::Folder(dir)) => {
                triggers::copy(holder, dir, name, &self.replacement)
            }
            // They are carried over behind the swap.
            Some(TriggersPlace::Dictionary) | None => Ok(()),
        }
    }
}

/// A statement that publishes: in the binary log, also of a session that is not, where replicas are
/// to publish by it.
pub(super) fn exec_published(session: &mut Session, sql: &str) -> Result<()> {
    if !session.options().logs_publishing {
        return session.exec(sql).map(drop);
    }
    session.set(&[("sql_log_bin", "1")])?;
    let done = session.exec(sql).map(drop);
    if session.is_alive() {
        let _shield = session.options().interrupt.shield();
        // One that is made again begins without the log.
        let _ = session.set(&[("sql_log_bin", "0")]);
    }
    done
}
