//! Filled tables take the targets' places.
//!
//! One target or many: [`Filled`] is the one that the connections are at, with all others that are
//! published together with it, by one statement or not at all.

use std::time::Instant;

use disk::failpoint;
use schema::{Mode, Table, TableName};

use crate::built_file::BuiltFile;
use crate::export::Export;
use crate::guard::{Guard, Guarded, Kind};
use crate::key_run::Keys;
use crate::lock::{ER_GONE, Lock, is_missing};
use crate::merged_partition::MergedPartition;
use crate::names::Names;
use crate::relations::{self, KeyChecks, Preparation};
use crate::resting::{Connections, Resting};
use crate::staging_database;
use crate::swap::{Before, Held, Pair, Swap};
use crate::swapped::{Swapped, is_alone};
use crate::triggers::TriggersPlace;
use crate::turns::{TURN, Turns, is_wait};
use catalog::{self, definition};
use server::engine::Swap as EngineSwap;
use server::error::{Error, Result};
use server::facts::database_dir::DatabaseDir;
use server::session::Session;
use server::version::Flavor;

/// A table with all rows, [`Names::staging`], that may take the target's place, and others that take
/// theirs with it.
#[derive(Debug)]
pub struct Filled<'l> {
    /// The target.
    pub lock: &'l mut Lock,
    made: FilledBy,
    others: Vec<Ready>,
}

/// A target that is filled while nothing works at it.
#[derive(Debug)]
pub struct Ready {
    /// The target.
    pub target: Resting,
    made: FilledBy,
}

/// How a filled table came to be, and with that how it is told from another load's.
#[derive(Debug)]
pub struct FilledBy(By);

#[derive(Debug)]
enum By {
    Built {
        file: BuiltFile,
        /// Where the table's files are.
        dir: DatabaseDir,
        /// Its largest hidden row id, if its key is that.
        row_id_max: Option<u64>,
        /// Keys that foreign keys are checked by.
        keys: Keys,
        /// Holds the target, whose rows are in the table too.
        export: Option<Box<Export>>,
    },
    /// A table for a partition, with that one's rows too.
    Merged {
        partition: MergedPartition,
        /// Holds the target.
        export: Option<Box<Export>>,
    },
    /// A staging table: its name is this load's alone.
    Sent,
}

impl Ready {
    /// Has these connections work at it.
    pub fn work(self, connections: Connections) -> (Lock, FilledBy) {
        (self.target.work(connections), self.made)
    }

    /// The target, and how it was filled.
    pub fn rest(self) -> (Resting, FilledBy) {
        (self.target, self.made)
    }
}

impl FilledBy {
    pub(super) fn merged(partition: MergedPartition, export: Export) -> FilledBy {
        FilledBy(By::Merged { partition, export: Some(Box::new(export)) })
    }

    /// The same with keys that were taken down when it was built.
    pub fn with_keys(mut self, built: Keys) -> FilledBy {
        if let By::Built { keys, .. } = &mut self.0 {
            *keys = built;
        }
        self
    }

    /// The same of a table that has the target's rows too.
    pub fn extending(mut self, held: Option<Export>) -> FilledBy {
        if let By::Built { export, .. } = &mut self.0 {
            *export = held.map(Box::new);
        }
        self
    }

    fn keys(&self) -> Option<&Keys> {
        match &self.0 {
            By::Built { keys, .. } => Some(keys),
            By::Merged { .. } | By::Sent => None,
        }
    }

    /// The target that was filled so, without its connections.
    pub fn ready(self, target: Resting) -> Ready {
        Ready { target, made: self }
    }
}

/// How a target was filled, and how the others were that are published with it.
fn all_made<'m>(made: &'m FilledBy, others: &'m [Ready]) -> impl Iterator<Item = &'m FilledBy> {
    std::iter::once(made).chain(others.iter().map(|other| &other.made))
}

impl<'l> Filled<'l> {
    pub(super) fn built(
        lock: &'l mut Lock,
        file: BuiltFile,
        dir: DatabaseDir,
        row_id_max: Option<u64>,
    ) -> Filled<'l> {
        let keys = Keys::default();
        Filled::by(lock, FilledBy(By::Built { file, dir, row_id_max, keys, export: None }))
    }

    pub(super) fn sent(lock: &'l mut Lock) -> Filled<'l> {
        Filled::by(lock, FilledBy(By::Sent))
    }

    /// A target that was filled so.
    pub fn by(lock: &'l mut Lock, made: FilledBy) -> Filled<'l> {
        Filled { lock, made, others: Vec::new() }
    }

    /// How it was filled, for when the connections go to other targets.
    pub fn rest(self) -> FilledBy {
        self.made
    }

    /// The table that is to take the target's place, or that of one of its partitions.
    pub(super) fn table(&self) -> &TableName {
        match &self.made.0 {
            By::Merged { partition, .. } => partition.table(),
            By::Built { .. } | By::Sent => &self.lock.names.staging,
        }
    }

    /// True if writers of the target wait for its publish.
    pub(super) fn holds_target(&self) -> bool {
        match &self.made.0 {
            By::Built { export, .. } | By::Merged { export, .. } => export.is_some(),
            By::Sent => false,
        }
    }

    /// How all were filled, for when they are not published after all.
    pub fn into_parts(self) -> (FilledBy, Vec<Ready>) {
        (self.made, self.others)
    }

    /// Has others be published with it.
    pub fn with(mut self, others: Vec<Ready>) -> Filled<'l> {
        self.others.extend(others);
        self
    }

    /// Sees to it that the session works. One that was lost is made again, if what was filled is
    /// still there.
    ///
    /// Errors: [`Error::Overtaken`], [`Error::Busy`]; a server that cannot be reached.
    pub fn ensure_session(&mut self) -> Result<()> {
        let made = &self.made;
        let mut again = match self.lock.keeper.clone() {
            Some(keeper) => keeper.ensure()?,
            None => false,
        };
        again |= self.lock.ensure_session_if(|lock| {
            made.is_still_there(&mut lock.session, &lock.table, &lock.names)
        })?;
        if !again {
            return Ok(());
        }
        let Lock { session, table, names, .. } = &mut *self.lock;
        if !self.made.is_still_there(session, table, names)? {
            return Err(Error::Overtaken(table.name.to_string()));
        }
        for Ready { target, made } in &self.others {
            if !made.is_still_there(&mut self.lock.session, &target.table, &target.names)? {
                return Err(Error::Overtaken(target.table.name.to_string()));
            }
        }
        // The server may have restarted, and have lost what it had not written down.
        let all = all_made(&self.made, &self.others);
        match all.filter_map(FilledBy::row_ids).max_by_key(|(_, imported)| *imported) {
            Some((dir, imported)) => self.lock.raise_row_ids(dir, imported),
            None => Ok(()),
        }
    }

    /// Swaps the staging tables in, all at once. Afterwards the old tables have the names that
    /// [`Swapped::asides`] gives.
    ///
    /// Rows inserted before the swap are never lost: in [`Mode::Insert`] they stop it. Statements
    /// that come meanwhile wait, at most a few milliseconds plus the time the locks take.
    ///
    /// Killed after it: the targets are new, the old tables are still there under their other names.
    ///
    /// Errors, the targets as before: [`Error::NotEmpty`], [`Error::Altered`] (the staging table too, if
    /// anything of the target is missing in it), [`Error::LockWait`], [`Error::Orphans`].
    /// [`Error::Unanswered`]: they are the old tables or the new ones.
    pub fn publish(&mut self, mode: Mode, checks: KeyChecks) -> Result<Swapped> {
        self.lock.check_writable()?;
        if let By::Merged { partition, export } = &mut self.made.0 {
            let was_held = self.lock.exchange(partition, export.take().map(|export| *export))?;
            self.lock.sync_names();
            failpoint::hit("publish.moved");
            let mut swapped = Swapped::alone(self.lock, Mode::Append);
            if !was_held {
                swapped.keep_old(self.lock, Some(partition.partition()));
            }
            return Ok(swapped);
        }
        // Another load may have published a child when this one began: its old table is dropped by now.
        self.lock.reread_keys()?;
        let mut export = self.made.take_export();
        let mode = if export.is_some() { Mode::Append } else { mode };
        let Lock { session, table, names, .. } = &mut *self.lock;
        self.made.check(session, table, names)?;
        for Ready { target, made } in &self.others {
            made.check(session, &target.table, &target.names)?;
        }
        let others = self.others.iter().map(|other| &other.target);
        let targets: Vec<(Table, Names)> = std::iter::once((table.clone(), names.clone()))
            .chain(others.map(|target| (target.table.clone(), target.names.clone())))
            .collect();
        self.lock.sync_descriptions(targets.iter().map(|(_, names)| &names.staging))?;
        let keys: Vec<Option<&Keys>> =
            all_made(&self.made, &self.others).map(FilledBy::keys).collect();
        let mut preparation = Preparation::new(&targets, &keys, mode, checks);
        let mut turns = Turns::begin(self.lock.patience.wait);
        let held = loop {
            let made = all_made(&self.made, &self.others).collect();
            let attempt = Attempt { made, export: export.take() };
            let has_export = attempt.export.is_some();
            let done = attempt.run(self.lock, &mut preparation, &mut turns);
            // Rows of the target that were read could be others by the next attempt.
            let may_pass =
                !has_export && !preparation.keeps_keys && done.as_ref().is_err_and(is_wait);
            match done {
                Err(error) if may_pass && turns.again(&error, &self.lock.session) => {
                    if let Error::LockWait { holders, .. } = &error {
                        self.lock.patience.tell(holders);
                    }
                }
                done => break done,
            }
        };
        self.lock.blocked.include(turns.blocked);
        let (held, guard, begun) = held.map_err(|error| self.gone_meanwhile(error))?;
        self.lock.sync_names();
        failpoint::hit("publish.moved");
        let (begun, has_later_rows) = (Some(begun), held.has_later_rows);
        let mut swapped =
            Swapped { targets, mode, guard, held, begun, has_tried: false, kept: Vec::new() };
        if has_later_rows {
            swapped.keep_old(self.lock, None);
        }
        Ok(swapped)
    }

    /// A statement that found a table no more says which one it was.
    fn gone_meanwhile(&mut self, error: Error) -> Error {
        if !error.errno().is_some_and(|errno| ER_GONE.contains(&errno)) {
            return error;
        }
        for Ready { target, .. } in &self.others {
            let (target, staging) = (&target.table.name, &target.names.staging);
            let gone = [target, staging].map(|name| catalog::exists(&mut self.lock.session, name));
            let detail = match gone {
                [Ok(false), _] => "the table was dropped or renamed during the load".to_owned(),
                [_, Ok(false)] if is_missing(staging, &error) => {
                    format!("the load's staging table, {staging}, was dropped")
                }
                _ => continue,
            };
            return Error::Altered { target: target.to_string(), detail };
        }
        self.lock.gone_meanwhile(error)
    }
}

/// One attempt to swap filled tables in.
struct Attempt<'a> {
    /// How they were filled.
    made: Vec<&'a FilledBy>,
    /// Holds a target whose rows were read.
    export: Option<Export>,
}

impl Attempt<'_> {
    /// Holds what has to do with the targets, looks at rows, and swaps. Gives who holds tables from then on, and
    /// since when others may have waited.
    ///
    /// Errors, with nothing held: [`Error::LockWait`], as any of [`Filled::publish`].
    fn run(
        self,
        lock: &mut Lock,
        preparation: &mut Preparation<'_>,
        turns: &mut Turns,
    ) -> Result<(Held, Option<Guard>, Instant)> {
        let targets = preparation.targets;
        let flavor = lock.session.version().flavor;
        // Who keeps writers from a table since its rows were read does so until its RENAME waits.
        let is_alone = flavor == Flavor::MySql
            && self.export.is_none()
            && targets.iter().any(|(table, _)| is_alone(table));
        if targets.iter().all(|(table, _)| table.foreign_keys.is_empty()) && !is_alone {
            let begun = self.export.as_ref().map_or_else(Instant::now, |held| held.since());
            let held = self.swap(lock, preparation, turns, &Guarded::default(), None);
            lock.blocked.writers_since(begun);
            return held.map(|(held, guard)| (held, guard, begun));
        }
        let around = relations::around(lock, targets, preparation.checks)?;
        if is_alone {
            // An attempt before may have waited for long.
            lock.check_writable()?;
            let begun = Instant::now();
            let pairs = self.pairs(preparation, flavor);
            let held = Swap::new(pairs).run_alone(lock, preparation, &around)?;
            return Ok((held, None, begun));
        }
        let guard = match &self.export {
            None => Some(Guard::take(&lock.session, &lock.patience, &around, turns)?),
            Some(_) => None,
        };
        let since = guard.as_ref().map(Guard::since);
        let begun = self.export.as_ref().map(Export::since).or(since).unwrap_or_else(Instant::now);
        // Statements that make a place for filled tables wait for nobody who waits for these.
        lock.session.set_lock_wait(TURN)?;
        let prepared = preparation.prepare(lock, &around);
        failpoint::hit("publish.prepared");
        let swapped = prepared.and_then(|()| self.swap(lock, preparation, turns, &around, guard));
        lock.blocked.writers_since(begun);
        if lock.session.is_alive() {
            // Of no matter where the connection has gone.
            let _ = lock.session.set_lock_wait(lock.patience.wait);
        }
        swapped.map(|(held, guard)| (held, guard, begun))
    }

    /// The tables and what takes their places.
    fn pairs(&self, preparation: &Preparation<'_>, flavor: Flavor) -> Vec<Pair> {
        let (mode, pairs) = (preparation.mode, preparation.targets.iter().zip(&self.made));
        pairs.map(|((table, names), made)| pair(table, names, made, mode, flavor)).collect()
    }

    fn swap(
        self,
        lock: &mut Lock,
        preparation: &mut Preparation<'_>,
        turns: &mut Turns,
        around: &Guarded,
        mut guard: Option<Guard>,
    ) -> Result<(Held, Option<Guard>)> {
        let Preparation { targets, mode, .. } = *preparation;
        let pairs: Vec<Pair> = match lock.facts.engine.swap {
            EngineSwap::Unlocked => unlocked(&mut lock.session, targets, mode)?,
            EngineSwap::Locked | EngineSwap::Never(_) => {
                self.pairs(preparation, lock.session.version().flavor)
            }
        };
        let (mut export, mut given) = (self.export, Vec::new());
        guard.iter_mut().try_for_each(Guard::check)?;
        export.iter_mut().try_for_each(Export::check)?;
        let yields_since = export.as_ref().map(Export::since);
        if let Some((session, held)) = export.map(Export::into_parts) {
            given.push(session);
            guard = Some(held);
        } else if let Some(guard) = &mut guard {
            given = guard.hand_out(Kind::Target);
        }
        let swap = Swap::new(pairs).with_children(around.children.clone());
        let held = swap.run_for(lock, turns, given, yields_since);
        // Where nobody knows what the RENAME has done, the tables that had keys may be in their places.
        if let Err(error) = &held
            && !matches!(error, Error::Unanswered { .. })
            && lock.session.is_alive()
        {
            // The parents are held still.
            let taken = preparation.take_back(lock);
            // A swap that waited is tried again, which it must not be with the keys there.
            if matches!(error, Error::LockWait { .. } | Error::Yielded { .. }) {
                taken?;
            }
        }
        held.map(|held| (held, guard))
    }
}

impl FilledBy {
    /// True if no other load has cleaned up.
    fn is_still_there(&self, session: &mut Session, table: &Table, names: &Names) -> Result<bool> {
        match &self.0 {
            By::Built { file, dir, .. } => file.is_still_there(session, dir, table),
            By::Merged { partition, .. } => partition.is_still_there(session),
            By::Sent => catalog::exists(session, &names.staging),
        }
    }

    /// Checks that sent rows are equal in every index: else the table is not swapped in. Built rows
    /// were compared when they were made.
    fn check(&self, session: &mut Session, table: &Table, names: &Names) -> Result<()> {
        match self.0 {
            By::Built { .. } | By::Merged { .. } => Ok(()),
            By::Sent => check_staging(session, table, names),
        }
    }

    fn take_export(&mut self) -> Option<Export> {
        match &mut self.0 {
            By::Built { export, .. } => export.take().map(|export| *export),
            By::Merged { .. } | By::Sent => None,
        }
    }

    fn row_ids(&self) -> Option<(&DatabaseDir, u64)> {
        match &self.0 {
            By::Built { dir, row_id_max: Some(max), .. } => Some((dir, *max)),
            _ => None,
        }
    }
}

impl Lock {
    /// True if a filled staging table has taken the target's place, for a caller that a panic in
    /// [`Filled::publish`] has kept from hearing so.
    ///
    /// Errors: the server cannot be asked, and nothing tells.
    pub fn is_published(&mut self) -> Result<bool> {
        self.reconnect()?;
        if let Some(is_exchanged) = self.is_exchanged()? {
            return Ok(is_exchanged);
        }
        let Lock { session, table, names, .. } = self;
        Ok(!staging_database::is_waiting(session, table, names)?)
    }

    /// True if the staging table exists.
    pub(super) fn has_staging(&mut self) -> Result<bool> {
        let staging = self.names.staging.clone();
        catalog::exists(&mut self.session, &staging)
    }

    /// The staging table is what the target is, in every index: else it is not swapped in.
    pub(super) fn check_staging(&mut self) -> Result<()> {
        check_staging(&mut self.session, &self.table, &self.names)
    }
}

fn check_staging(session: &mut Session, table: &Table, names: &Names) -> Result<()> {
    let staging = &names.staging;
    if definition(session, staging)? == table.definition {
        return Ok(());
    }
    let detail = format!("the load's staging table, {staging}, differs from the table");
    Err(Error::Altered { target: table.name.to_string(), detail })
}

/// Pairs to swap if LOCK TABLES locks nothing: the tables are inspected right before. Rows that
/// come in between are in the renamed tables, which are not dropped with unexpected rows.
fn unlocked(session: &mut Session, targets: &[(Table, Names)], mode: Mode) -> Result<Vec<Pair>> {
    for (table, _) in targets {
        if definition(session, &table.name)? != table.definition {
            let detail = "the table's definition changed during the load".to_owned();
            return Err(Error::Altered { target: table.name.to_string(), detail });
        }
        if mode == Mode::Insert && !catalog::is_empty(session, &table.name)? {
            return Err(Error::NotEmpty(table.name.to_string()));
        }
    }
    let pair = |(table, names): &(Table, Names)| Pair {
        table: table.name.clone(),
        replacement: names.replacement(table),
        before: Before::Whatever { aside: names.aside(table, mode) },
    };
    Ok(targets.iter().map(pair).collect())
}

fn pair(table: &Table, names: &Names, made: &FilledBy, mode: Mode, flavor: Flavor) -> Pair {
    let triggers = match &made.0 {
        By::Built { dir, .. } if !table.triggers.is_empty() => Some(match flavor {
            Flavor::MariaDb => TriggersPlace::Folder(dir.clone()),
            Flavor::MySql => TriggersPlace::Dictionary,
        }),
        By::Built { .. } | By::Merged { .. } | By::Sent => None,
    };
    Pair {
        table: table.name.clone(),
        replacement: names.replacement(table),
        before: Before::Unchanged {
            aside: names.aside(table, mode),
            definition: table.definition.clone(),
            foreign_keys: table.foreign_keys.clone(),
            mode,
            triggers,
        },
    }
}
