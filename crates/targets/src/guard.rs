//! Tables that nobody writes to while one that they have to do with is looked at and swapped.
//!
//! ```text
//! parents   READ: no row that new rows refer to goes before the new table is there
//! children  READ: no row comes that refers to an old one, while rows are looked at
//! targets   READ: every transaction that has written to one has ended
//! ```
//!
//! Readers go on. Each table has a connection of its own: of one connection that waits for a table with others
//! locked, the server would end the transactions that it waits for, as deadlocks. So all tables are taken in
//! rounds: a table that does not come within a [`TURN`] has everything let go, and the next round begins at the
//! other end, for transactions that write to the tables in that order. A READ that waits keeps nobody from
//! writing.
//!
//! Without autocommit LOCK TABLES also takes InnoDB's lock of the table. It waits for transactions that no
//! connection has, prepared or from before the server's start, if they have changed rows of that table, and for
//! no other. COMMIT gives it back, and not the table.
//! Source: MariaDB 10.11, storage/innobase/trx/trx0trx.cc, `trx_resurrect_table_locks`; tried.
//!
//! Two loads may read the same related tables, and one could then swap what the other has looked at. Each
//! takes a named lock of the server for each of its tables before, as long as it holds them.
//!
//! The swap takes the connections of targets over: see [`swap`](super::swap). Those of parents and children stay
//! until the keys of children are the new table's. A READ locks nothing else with a table, as a WRITE does with
//! tables whose rows follow (ON DELETE CASCADE).

use std::collections::BTreeSet;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use crate::names::Names;
use crate::reach::second;
use crate::turns::{TURN, Turns, is_wait, within};
use crate::waiting::{Patience, describe, lock_holders};
use schema::TableName;
use server::error::{Error, Result};
use server::session::Session;
use server::version::Flavor;

/// Connections for tables of one kind: with more tables, some share one.
const HOLDERS_MAX: usize = 16;
/// How long a table is waited for with others held in the first round; doubled in each, up to a turn.
const FIRST_TURN: Duration = Duration::from_millis(125);
/// Waits that are not worth a word.
const QUIET: Duration = Duration::from_secs(1);
/// Between two words about them.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// The part of a table in a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Rows of the target refer to it.
    Parent,
    /// Its rows refer to the target.
    Child,
    /// It is loaded.
    Target,
}

/// The tables of a guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Guarded {
    pub(super) parents: BTreeSet<TableName>,
    pub(super) children: BTreeSet<TableName>,
    pub(super) targets: BTreeSet<TableName>,
}

/// Holds tables until it is dropped.
#[derive(Debug)]
pub struct Guard {
    holders: Vec<Holder>,
    /// Has the named locks.
    claims: Option<Session>,
    /// When the first table was held.
    since: Option<Instant>,
}

/// A connection and the tables that it holds.
#[derive(Debug)]
struct Holder {
    kind: Kind,
    tables: Vec<TableName>,
    session: Session,
}

/// Why a round has failed.
struct Missed {
    /// The table that did not come.
    table: TableName,
    /// Who may hold it, one sentence each.
    holders: Vec<String>,
    error: Error,
}

impl Guarded {
    /// A target that nothing else has to do with.
    pub(super) fn target(table: &TableName) -> Guarded {
        Guarded { targets: BTreeSet::from([table.clone()]), ..Guarded::default() }
    }

    /// True if other tables have to do with the targets.
    pub(super) fn has_related(&self) -> bool {
        !self.parents.is_empty() || !self.children.is_empty()
    }

    fn all(&self) -> BTreeSet<&TableName> {
        self.parents.iter().chain(&self.children).chain(&self.targets).collect()
    }

    /// Tables that share a connection, related ones first.
    fn shares(&self) -> Vec<(Kind, Vec<TableName>)> {
        let kinds = [
            (Kind::Parent, &self.parents),
            (Kind::Child, &self.children),
            (Kind::Target, &self.targets),
        ];
        let mut shares = Vec::new();
        for (kind, tables) in kinds {
            let tables: Vec<TableName> = tables.iter().cloned().collect();
            let each = tables.len().div_ceil(HOLDERS_MAX).max(1);
            shares.extend(tables.chunks(each).map(|some| (kind, some.to_vec())));
        }
        shares
    }
}

impl Guard {
    /// Holds a table against writers, as soon as no transaction has changes of it that are not committed: also
    /// none that has no connection. Waits no longer than `wait`, in turns, and says for whom.
    ///
    /// Errors: [`Error::LockWait`]; rights.
    pub fn of_table(
        session: &Session,
        table: &TableName,
        wait: Duration,
        told: Option<Sender<String>>,
    ) -> Result<Guard> {
        let patience = Patience { target: table.clone(), wait, told };
        Guard::take(session, &patience, &Guarded::target(table), &mut Turns::begin(wait))
    }

    /// Holds these tables, at least one, as soon as nobody writes to any.
    ///
    /// Errors: [`Error::LockWait`] when there are no more turns; rights.
    pub(super) fn take(
        like: &Session,
        patience: &Patience,
        tables: &Guarded,
        turns: &mut Turns,
    ) -> Result<Guard> {
        let mut holders = Vec::new();
        for (kind, tables) in tables.shares() {
            holders.push(Holder { kind, tables, session: connected(like, patience)? });
        }
        let claims = if tables.has_related() { Some(connected(like, patience)?) } else { None };
        let mut guard = Guard { holders, claims, since: None };
        let (mut turn, mut told) = (FIRST_TURN, None);
        loop {
            let round = guard.round(tables, turn);
            let Err(missed) = round else { return Ok(guard) };
            let Missed { table, holders, error } = *missed;
            guard.let_go()?;
            guard.since.into_iter().for_each(|since| turns.blocked.writers_since(since));
            if !is_wait(&error) {
                return Err(error);
            }
            let is_news = told.is_none_or(|told: Instant| told.elapsed() >= TELL_EVERY);
            if is_news && turns.elapsed() >= QUIET {
                told = Some(Instant::now());
                Patience { target: table.clone(), ..patience.clone() }.tell(&holders);
            }
            if !turns.again(&error, like) {
                let seconds = patience.wait.as_secs();
                return Err(Error::LockWait { target: table.to_string(), seconds, holders });
            }
            turn = (turn * 2).min(TURN);
            // For transactions that lock the tables in the other order.
            guard.holders.reverse();
        }
    }

    /// When the first of its tables was held.
    pub(super) fn since(&self) -> Instant {
        self.since.unwrap_or_else(Instant::now)
    }

    /// Sees to it that it holds them still.
    ///
    /// Errors: [`Error::Lost`](server::Error::Lost) where its connection has ended, and the tables may
    /// be others by now.
    pub(super) fn check(&mut self) -> Result<()> {
        let sessions = self.holders.iter_mut().map(|holder| &mut holder.session);
        sessions.chain(&mut self.claims).try_for_each(|session| session.exec("DO 0").map(drop))
    }

    /// The sessions that lock tables of one kind, which the guard does not hold any more.
    /// In the order of their tables.
    pub(super) fn hand_out(&mut self, kind: Kind) -> Vec<Session> {
        let holders = std::mem::take(&mut self.holders);
        let (out, kept) = holders.into_iter().partition(|holder| holder.kind == kind);
        self.holders = kept;
        let mut out: Vec<Holder> = out;
        out.sort_by(|a, b| a.tables.cmp(&b.tables));
        out.into_iter().map(|holder| holder.session).collect()
    }

    /// Takes all tables one after the other, or fails with some held.
    fn round(&mut self, tables: &Guarded, turn: Duration) -> std::result::Result<(), Box<Missed>> {
        self.since = None;
        if let Some(claims) = &mut self.claims {
            claim(claims, tables)?;
        }
        let own: Vec<u64> = self.holders.iter().map(|holder| holder.session.id()).collect();
        let mut since = None;
        for Holder { tables, session, .. } in &mut self.holders {
            let left = since.map_or(TURN, |since: Instant| turn.saturating_sub(since.elapsed()));
            let list: Vec<String> =
                tables.iter().map(|table| format!("{} READ", table.quoted())).collect();
            let sql = within(session, left, &format!("LOCK TABLES {}", list.join(", ")));
            // A statement of a lost connection fails, and so does the round.
            let locked = session.exec(&sql).and_then(|_| session.exec("COMMIT"));
            if let Err(error) = locked {
                let holders = lock_holders(session, &[&tables[0]], &own).unwrap_or_default();
                return Err(Box::new(Missed { table: tables[0].clone(), holders, error }));
            }
            since = since.or_else(|| Some(Instant::now()));
            self.since = since;
        }
        Ok(())
    }

    /// Lets go of all tables, in a round that failed.
    fn let_go(&mut self) -> Result<()> {
        for Holder { session, .. } in &mut self.holders {
            session.exec_always("COMMIT")?;
            session.exec_always("UNLOCK TABLES")?;
        }
        match &mut self.claims {
            Some(claims) => claims.query("SELECT RELEASE_ALL_LOCKS()").map(drop),
            None => Ok(()),
        }
    }
}

fn connected(like: &Session, patience: &Patience) -> Result<Session> {
    let mut session = second(like, patience.wait)?;
    session.set_lock_wait(TURN)?;
    // Who has no connection is not waited for with the table held. MySQL knows no wait of 0.
    let wait = if session.version().flavor == Flavor::MariaDb { "0" } else { "1" };
    session.set(&[("autocommit", "0"), ("innodb_lock_wait_timeout", wait)])?;
    Ok(session)
}

/// Takes the named locks of all tables, or fails at the first that another load has.
fn claim(session: &mut Session, tables: &Guarded) -> std::result::Result<(), Box<Missed>> {
    for table in tables.all() {
        let missed = |error, holders| Box::new(Missed { table: table.clone(), holders, error });
        let name = Names::of(table).publishing_lock();
        let is_taken =
            session.lock_name(&name, Duration::ZERO).map_err(|e| missed(e, Vec::new()))?;
        if is_taken {
            continue;
        }
        let holders = publishing(session, table).ok().flatten().unwrap_or_default();
        let wait = Error::LockWait { target: table.to_string(), seconds: 0, holders: Vec::new() };
        return Err(missed(wait, holders));
    }
    Ok(())
}

/// The load that publishes a table or one that foreign keys join with it, in words; none where there is none.
pub(super) fn publishing(session: &mut Session, table: &TableName) -> Result<Option<Vec<String>>> {
    let Some(holder) = session.lock_holder(&Names::of(table).publishing_lock())? else {
        return Ok(None);
    };
    let who = describe(session, holder);
    let text =
        format!("another load, which publishes a related table (connection {holder}: {who})");
    Ok(Some(vec![text]))
}
