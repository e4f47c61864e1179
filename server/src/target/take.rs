//! Targets are taken: one, or all of a command that loads several.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use schema::Table;

use crate::catalog;
use crate::error::{Error, Result};
use crate::facts::ServerFacts;
use crate::identifier::{TableName, quote_text};
use crate::session::Session;
use crate::target::busy::{BUSY_WAIT, busy};
use crate::target::keeper::Keeper;
use crate::target::lock::{Lock, LockOptions};
use crate::target::names::Names;
use crate::target::resting::{Connections, Resting};
use crate::target::waiting::Patience;

impl Lock {
    /// Takes the target and describes it: table, server, folder.
    ///
    /// Changes nothing; killed after it: nothing is left.
    ///
    /// Errors: [`Error::Busy`], [`Error::NoTable`]; [`Error::Leftover`] when the table is missing
    /// but one that a swap had put aside exists.
    pub fn take(mut session: Session, name: &TableName, options: &LockOptions) -> Result<Lock> {
        let (wait, told) = (options.lock_wait, options.told.clone());
        let mut patience = Patience { target: name.clone(), wait, told };
        session.set_lock_wait(wait)?;
        let read = |session: &mut Session| catalog::read(session, name);
        let table = match patience.watch(&mut session, read) {
            Err(Error::NoTable(missing)) => {
                return Err(missing_target(&mut session, name, missing));
            }
            table => table?,
        };
        patience.target = table.name.clone();
        let names = Names::of(&table.name);
        if !session.lock_name(&names.lock, BUSY_WAIT)? {
            return Err(busy(&mut session, &table.name)?);
        }
        // Again, now that nobody else loads it.
        let table = patience.watch(&mut session, read)?;
        let facts = Arc::new(ServerFacts::read(&mut session)?);
        let datadir = options.datadir.as_deref();
        let dir = facts.database_dir(&mut session, &table.name.database, datadir)?;
        let resting = Resting::of(table, &facts, &dir, options);
        Ok(resting.work(Connections::of(session)))
    }
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

/// Why the target is missing: never there, or put aside by a swap that was not atomic.
fn missing_target(session: &mut Session, name: &TableName, missing: String) -> Error {
    refuse_put_aside(session, name).err().unwrap_or(Error::NoTable(missing))
}

/// Refuses a table that is missing because a swap has put it aside: one made under its name would
/// pass for the new table, and the next load would drop the old one.
///
/// Errors: [`Error::Leftover`], which names the table put aside.
pub fn refuse_put_aside(session: &mut Session, name: &TableName) -> Result<()> {
    let names = Names::of(name);
    for aside in [&names.replaced, &names.emptied] {
        if catalog::exists(session, aside)? {
            return Err(Error::Leftover(format!(
                "table {name} does not exist, but {aside}, which a load had put aside for it, does: \
                 RENAME TABLE {} TO {} brings it back, DROP TABLE gives it up",
                aside.quoted(),
                name.quoted()
            )));
        }
    }
    Ok(())
}
