//! Targets are taken: one, or all of a command that loads several.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use locks::Mutex;
use schema::Table;

use crate::busy::{claim, claim_all};
use crate::guard::publishing;
use crate::keeper::Keeper;
use crate::left::Left;
use crate::lock::{Lock, LockOptions};
use crate::names::{ASIDES, is_own_database, kind_prefix};
use crate::resting::{Connections, Resting};
use crate::triggers;
use crate::turns::{TURN, Turns};
use crate::waiting::Patience;
use catalog::{self, CatalogCache};
use server::Unsupported;
use server::error::{Error, Result};
use server::facts::ServerFacts;
use server::facts::database_dir::DatabaseDir;
use server::identifier::{TableName, quote_text};
use server::session::Session;

impl Lock {
    /// Takes the target and describes it: table, server, folder.
    ///
    /// Changes nothing; killed after it: nothing is left.
    ///
    /// Errors: [`Error::Busy`], [`Error::NoTable`]; [`Error::Leftover`] when the table is missing
    /// but one that a swap had put aside exists.
    pub fn take(mut session: Session, name: &TableName, options: &LockOptions) -> Result<Lock> {
        session.set_lock_wait(options.lock_wait)?;
        let (mut name, mut wait) = (name.clone(), options.load_wait);
        let table = loop {
            claim(&mut session, &name, &mut wait, options.told.as_ref())?;
            // Now that nobody else loads it.
            let table = described(&mut session, &name, options, &CatalogCache::default())?;
            if table.name == name {
                break table;
            }
            // The lock is that of the name as the server spells it.
            name = table.name;
        };
        // A limit would have cut off what was read.
        session.check_variables()?;
        let facts = Arc::new(ServerFacts::read(&mut session)?);
        let dir = facts.database_dir(&mut session, &table.name.database)?;
        let left = left(&mut session, &table.name.database, &dir)?;
        let stuck = triggers::stuck(&mut session, &table, &facts, options.no_triggers)?;
        let mut resting = Resting { left, ..Resting::of(table, &facts, &dir, options) };
        resting.unsupported.extend(stuck);
        Ok(resting.work(Connections::of(session)))
    }
}

impl Keeper {
    /// Takes tables of one database, none of them twice, and describes them. Changes nothing.
    ///
    /// Errors: [`Error::Busy`], [`Error::NoTable`], [`Error::Leftover`], as
    /// [`Lock::take`](server::Lock::take); none is taken then.
    pub fn take(
        mut session: Session,
        names: &[TableName],
        options: &LockOptions,
    ) -> Result<(Arc<Keeper>, Vec<Resting>)> {
        assert!(!names.is_empty(), "no table to take");
        session.set_lock_wait(options.lock_wait)?;
        let mut targets = names.to_vec();
        targets.sort();
        // Others wait for the tables that are taken first: all are waited for as long as one.
        claim_all(&mut session, &targets, options.load_wait, options.told.as_ref())?;
        let asked = asked(&mut session, names, options)?;
        let tables = names.iter().map(|name| described(&mut session, name, options, &asked));
        let tables = tables.collect::<Result<Vec<Table>>>()?;
        session.check_variables()?;
        let facts = Arc::new(ServerFacts::read(&mut session)?);
        let dir = facts.database_dir(&mut session, &names[0].database)?;
        let left = left(&mut session, &names[0].database, &dir)?;
        let stuck = tables
            .iter()
            .map(|table| triggers::stuck(&mut session, table, &facts, options.no_triggers))
            .collect::<Result<Vec<_>>>()?;
        let reconnect_wait = options.reconnect_wait;
        let keeper = Arc::new(Keeper {
            session: Mutex::new(session),
            targets,
            reconnect_wait,
            is_retaken: AtomicBool::new(false),
        });
        let resting = |(table, stuck)| {
            let mut resting = Resting {
                keeper: Some(Arc::clone(&keeper)),
                left: left.clone(),
                ..Resting::of(table, &facts, &dir, options)
            };
            resting.unsupported.extend(stuck);
            resting
        };
        let resting = tables.into_iter().zip(stuck).map(resting).collect();
        Ok((keeper, resting))
    }
}

/// Leftovers of loads of any table of a database.
fn left(
    session: &mut Session,
    database: &str,
    dir: &std::result::Result<DatabaseDir, Unsupported>,
) -> Result<Option<Arc<Left>>> {
    Ok(Left::read(session, database, dir.as_ref().ok())?.map(Arc::new))
}

/// The definition of a table, once nobody else loads it, nor publishes a table that refers to it: until that is done,
/// a table of that load's own refers to it.
///
/// Errors: [`Error::LockWait`].
fn described(
    session: &mut Session,
    name: &TableName,
    options: &LockOptions,
    asked: &CatalogCache,
) -> Result<Table> {
    let mut turns = Turns::begin(options.lock_wait);
    let mut table = read(session, name, options, asked)?;
    loop {
        let is_own = |other: &TableName| is_own_database(&other.database);
        let keys = &table.foreign_keys;
        if !keys.iter().filter_map(|key| key.other.as_ref()).any(is_own) {
            return Ok(table);
        }
        // What a killed load has left is nobody's.
        let Some(holders) = publishing(session, &table.name)? else { return Ok(table) };
        let seconds = options.lock_wait.as_secs();
        let waited = Error::LockWait { target: table.name.to_string(), seconds, holders };
        if !turns.again(&waited, session) {
            return Err(waited);
        }
        table = read(session, name, options, &CatalogCache::default())?;
    }
}

fn read(
    session: &mut Session,
    name: &TableName,
    options: &LockOptions,
    asked: &CatalogCache,
) -> Result<Table> {
    let work = |session: &mut Session| catalog::read_among(session, name, asked);
    match patience(name, options).watch(session, work) {
        Err(Error::NoTable(missing)) => Err(missing_target(session, name, missing)),
        table => table,
    }
}

/// Answers about all tables at once. A table that cannot be defined is queried alone, which tells
/// why.
fn asked(
    session: &mut Session,
    names: &[TableName],
    options: &LockOptions,
) -> Result<CatalogCache> {
    let mut asked = CatalogCache::default();
    // A lock that does not come within a turn is waited for below, by the name of its table.
    session.set_lock_wait(TURN)?;
    let one_by_one = match asked.define(session, &names.iter().collect::<Vec<_>>()) {
        Ok(()) => &[],
        Err(error) if error.errno().is_none() => return Err(error),
        Err(_) => names,
    };
    session.set_lock_wait(options.lock_wait)?;
    for name in one_by_one {
        let patience = patience(name, options);
        let defined = patience.watch(session, |session| asked.define(session, &[name]));
        match defined {
            Err(error) if error.errno().is_none() => return Err(error),
            _ => {}
        }
    }
    asked.ask(session)?;
    session.set_lock_wait(TURN)?;
    asked.confirm(session)?;
    session.set_lock_wait(options.lock_wait)?;
    Ok(asked)
}

fn patience(name: &TableName, options: &LockOptions) -> Patience {
    let (wait, told) = (options.lock_wait, options.told.clone());
    Patience { target: name.clone(), wait, told }
}

/// The reason for a missing target: renamed by a swap that was not atomic, invisible to the account, or never
/// created. information_schema omits tables on which the account has no right; DESCRIBE is denied.
fn missing_target(session: &mut Session, name: &TableName, missing: String) -> Error {
    if let Err(error) = refuse_put_aside(session, name) {
        return error;
    }
    match session.query(&format!("DESCRIBE {}", name.quoted())) {
        Err(error) if error.is_denied() => error,
        _ => Error::NoTable(missing),
    }
}

/// Refuses a table that is missing because a swap has put it aside: one made under its name would
/// pass for the new table, and the next load would drop the old one.
///
/// Errors: [`Error::Leftover`], which names the table put aside.
pub fn refuse_put_aside(session: &mut Session, name: &TableName) -> Result<()> {
    refuse_any_put_aside(session, std::slice::from_ref(name))
}

/// The same of several tables of one database, by one question.
pub fn refuse_any_put_aside(session: &mut Session, names: &[TableName]) -> Result<()> {
    let Some(first) = names.first() else { return Ok(()) };
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA={} \
         AND TABLE_NAME LIKE '\\_inrush\\_%'",
        quote_text(&first.database)
    );
    let rows = session.query(&sql)?;
    let own = rows.iter().map(|row| row.text(0)).collect::<Result<Vec<String>>>()?;
    let aside_of = |name: &TableName| {
        let prefixes = ASIDES.map(|kind| kind_prefix(name, kind));
        own.iter().find(|own| prefixes.iter().any(|prefix| own.starts_with(prefix)))
    };
    let found = names.iter().find_map(|name| Some((name, aside_of(name)?)));
    let Some((name, aside)) = found else { return Ok(()) };
    let aside = TableName::new(first.database.as_str(), aside.as_str());
    Err(Error::Leftover(format!(
        "table {name} does not exist, because a load renamed it to {aside}: RENAME TABLE {} TO {} \
         restores the table; DROP TABLE of the renamed table discards its rows",
        aside.quoted(),
        name.quoted()
    )))
}
