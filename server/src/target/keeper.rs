//! The connection that holds all targets of a command that loads several.
//!
//! A target's named lock belongs to a connection. Those that work at several targets in turn may be
//! lost and made again, so one that does nothing else holds the locks of all, taken in the order of
//! the targets' names: two commands that want some of the same tables cannot wait for each other.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use schema::{Table, TableName};

use crate::catalog;
use crate::error::{Error, Result};
use crate::facts::ServerFacts;
use crate::identifier::quote_text;
use crate::session::Session;
use crate::target::lock::{BUSY_WAIT, LockOptions, busy, missing_target};
use crate::target::names::Names;
use crate::target::recover::{ENDING_WAIT, reach};
use crate::target::resting::Resting;
use crate::target::waiting::Patience;

/// Between two looks at a connection that is about to end.
const NAP: Duration = Duration::from_millis(20);

/// Holds targets until it is dropped.
#[derive(Debug)]
pub struct Keeper {
    session: Mutex<Session>,
    /// In the order of their names.
    targets: Vec<TableName>,
    reconnect_wait: Duration,
}

impl Keeper {
    /// Takes tables of one database, none of them twice, and describes them. Changes nothing.
    ///
    /// Errors: [`Error::Busy`], [`Error::NoTable`], [`Error::Leftover`], as
    /// [`Lock::take`](crate::Lock::take); none is taken then.
    pub fn take(
        mut session: Session,
        names: &[TableName],
        options: &LockOptions,
    ) -> Result<(Arc<Keeper>, Vec<Resting>)> {
        assert!(!names.is_empty(), "no table to take");
        session.set_lock_wait(options.lock_wait)?;
        let mut targets = names.to_vec();
        targets.sort();
        for target in &targets {
            if !session.lock_name(&Names::of(target).lock, BUSY_WAIT)? {
                return Err(busy(&mut session, target)?);
            }
        }
        let tables = describe(&mut session, names, options)?;
        let facts = Arc::new(ServerFacts::read(&mut session)?);
        let datadir = options.datadir.as_deref();
        let dir = facts.database_dir(&mut session, &names[0].database, datadir)?;
        let ours = Arc::new(ours(&mut session, &names[0].database)?);
        let reconnect_wait = options.reconnect_wait;
        let keeper = Arc::new(Keeper { session: Mutex::new(session), targets, reconnect_wait });
        let resting = |table| Resting {
            keeper: Some(Arc::clone(&keeper)),
            ours: Some(Arc::clone(&ours)),
            ..Resting::of(table, &facts, &dir, options)
        };
        let resting = tables.into_iter().map(resting).collect();
        Ok((keeper, resting))
    }

    /// Another connection like the one that holds them.
    pub fn another(&self) -> Result<Session> {
        self.lock().another()
    }

    /// Sees to it that the targets are held, over a new connection if the one before was lost:
    /// whether it was. Somebody else may have had them meanwhile.
    ///
    /// Errors: [`Error::Busy`] where somebody has one now; a server that cannot be reached.
    pub(super) fn ensure(&self) -> Result<bool> {
        let mut held = self.lock();
        if held.is_alive() {
            return Ok(false);
        }
        let mut session = reach(&held, self.reconnect_wait)?;
        end(&mut session, &held)?;
        for target in &self.targets {
            if !session.lock_name(&Names::of(target).lock, BUSY_WAIT)? {
                return Err(busy(&mut session, target)?);
            }
        }
        *held = session;
        Ok(true)
    }

    fn lock(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tables of ours that are in a database.
fn ours(session: &mut Session, database: &str) -> Result<BTreeSet<String>> {
    let rows = session.query(&format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA={} \
         AND TABLE_NAME LIKE {}",
        quote_text(database),
        quote_text("\\_inrush\\_%")
    ))?;
    rows.iter().map(|row| row.text(0)).collect()
}

/// What the tables are, now that nobody else loads them.
fn describe(
    session: &mut Session,
    names: &[TableName],
    options: &LockOptions,
) -> Result<Vec<Table>> {
    let mut tables = Vec::with_capacity(names.len());
    for name in names {
        let (wait, told) = (options.lock_wait, options.told.clone());
        let patience = Patience { target: name.clone(), wait, told };
        match patience.watch(session, |session| catalog::read(session, name)) {
            Err(Error::NoTable(missing)) => return Err(missing_target(session, name, missing)),
            table => tables.push(table?),
        }
    }
    Ok(tables)
}

/// Ends what a connection that was lost is doing on the server still.
pub(super) fn end(session: &mut Session, lost: &Session) -> Result<()> {
    session.kill(lost.mark())?;
    let begun = Instant::now();
    while session.is_there(lost.mark())? && begun.elapsed() < ENDING_WAIT {
        std::thread::sleep(NAP);
    }
    Ok(())
}
