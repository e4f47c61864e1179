//! A table whose partitions are tables of other servers, read from each of these.
//!
//! ```text
//! head      the map --------------------------------------> is it still so? |
//! shard 1   LOCK TABLES | all are | snapshot, first row --------------------|--> UNLOCK, SELECT ..
//! shard n   LOCK TABLES | held    | snapshot, first row --------------------|--> UNLOCK, SELECT ..
//! ```
//!
//! While all shards' tables are locked nobody has written to one of them and not yet committed, on any: a
//! transaction committed on several shards is committed on all. The snapshots see that moment. A writer to
//! one shard that waits at another for our lock would have us wait for ever, so locks are soon let go, and
//! taken once more.

use std::time::{Duration, Instant};

use export::{
    DENIED, Error, ExportOptions, PlaceReader, PlacesRead, begin_snapshot, check_unaltered,
};
use face::option::WHERE;
use schema::{Engine, Table, TableKind};
use server::{ConnectOptions, Session};
use targets::brief_lock::ATTEMPT;
use targets::waiting::{ER_LOCK_WAIT_TIMEOUT, lock_holders};

use crate::map::{Shard, ShardMap};

/// Most shards that are read at once: each takes a connection, a thread and some chunks.
const SHARDS_MAX: usize = 64;
/// Between two attempts, while no table is locked; doubled up to the second.
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(8);

/// A shard that can be read like the head.
struct Reached {
    shard: Shard,
    table: Table,
    connect: ConnectOptions,
    /// Has the lock.
    holder: Session,
    /// Reads, connected before anything is locked.
    reader: Session,
}

/// Begins the transactions that read, on each shard or on the head.
pub(crate) fn begin(
    session: &mut Session,
    table: &Table,
    options: &ExportOptions,
) -> Result<PlacesRead, Error> {
    Ok(match readers(session, table, options)? {
        Ok(readers) => {
            let count = readers.len();
            let why = format!("rows are read with SELECT from {count} shards, all at one moment");
            PlacesRead::Each(readers, why)
        }
        Err(in_the_way) => PlacesRead::Through(
            format!("through the Spider server: {in_the_way}"),
            "rows are read through the Spider server, which reads one shard after the other, each \
             at a different moment"
                .to_owned(),
        ),
    })
}

/// Begins the transactions that read, one on each shard, all of one moment.
///
/// Errors of the inner result: why the head has to be asked, as a part of a sentence.
fn readers(
    session: &mut Session,
    table: &Table,
    options: &ExportOptions,
) -> Result<Result<Vec<PlaceReader>, String>, Error> {
    if options.condition.is_some() {
        return Ok(Err(format!("only the Spider server can evaluate {WHERE}")));
    }
    let map = ShardMap::read(session, &table.name, &table.definition, &options.shard_addresses)?;
    let map = match map {
        Ok(map) if map.shards.len() > SHARDS_MAX => {
            return Ok(Err(format!("it has more than {SHARDS_MAX} shards")));
        }
        Ok(map) => map,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(why) = map.unknown(&options.shard_addresses, &[]) {
        return Err(Error::Usage(format!("{}: {why}", table.name)));
    }
    let mut shards = Vec::with_capacity(map.shards.len());
    for shard in map.shards {
        match reach(shard, session.options(), table)? {
            Ok(shard) => shards.push(shard),
            Err(why) => return Ok(Err(why)),
        }
    }
    let wait = Duration::from_secs(options.lock_wait_seconds.into());
    if let Err(why) = begin_all(&mut shards, wait)? {
        return Ok(Err(why));
    }
    check_unaltered(session, table)?;
    let reader = |reached: Reached| {
        // The locks are let go with the connections.
        let Reached { shard, table, connect, mut reader, .. } = reached;
        reader.set_lock_wait(wait).map_err(|error| of(&shard, error))?;
        Ok(PlaceReader { session: reader, table, name: shard.name(), connect })
    };
    shards.into_iter().map(reader).collect::<Result<_, Error>>().map(Ok)
}

/// Connects to a shard, and looks whether its table has the columns of the head's.
fn reach(
    shard: Shard,
    head: &ConnectOptions,
    table: &Table,
) -> Result<Result<Reached, String>, Error> {
    let connect = match shard.connect_options(head) {
        Ok(connect) => connect,
        Err(error) => return Ok(Err(format!("{}: {error}", shard.name()))),
    };
    let mut holder = match Session::connect(&connect) {
        Ok(holder) => holder,
        Err(server::Error::Interrupted) => return Err(server::Error::Interrupted.into()),
        Err(error) => return Ok(Err(format!("{} is unreachable: {error}", shard.name()))),
    };
    let there = match catalog::read(&mut holder, &shard.table) {
        Ok(there) => there,
        Err(server::Error::Interrupted) => return Err(server::Error::Interrupted.into()),
        Err(error) => return Ok(Err(format!("{}: {error}", shard.name()))),
    };
    let is_plain = there.engine == Engine::InnoDb && there.kind == TableKind::Base;
    let columns = |table: &Table| -> Vec<_> {
        let column = |column: &schema::Column| (column.name.clone(), column.sql_type.clone());
        table.columns.iter().map(column).collect()
    };
    if !is_plain || columns(&there) != columns(table) {
        return Ok(Err(format!(
            "{} on {} is not an InnoDB table with the columns of the Spider table",
            shard.table,
            shard.name()
        )));
    }
    let connected = holder.another().and_then(|mut reader| {
        holder.set_lock_wait(ATTEMPT)?;
        reader.set_lock_wait(ATTEMPT)?;
        Ok(reader)
    });
    let reader = connected.map_err(|error| of(&shard, error))?;
    Ok(Ok(Reached { shard, table: there, connect, holder, reader }))
}

/// Locks all tables at once, and begins the transactions that read while they are locked.
///
/// Errors of the inner result: an account that may not.
fn begin_all(shards: &mut [Reached], wait: Duration) -> Result<Result<(), String>, Error> {
    let (begun, mut pause) = (Instant::now(), PAUSE_MIN);
    loop {
        let missed = match lock(shards).and_then(|()| snapshots(shards)) {
            Ok(()) => return Ok(Ok(())),
            Err(missed) => *missed,
        };
        let at = match missed {
            Missed::Denied(why) => return Ok(Err(why)),
            Missed::Failed(error) => return Err(error),
            Missed::Busy(at) => at,
        };
        let Reached { shard, table, holder, .. } = &mut shards[at];
        if begun.elapsed() >= wait {
            let holders = lock_holders(holder, &[&table.name], &[]).unwrap_or_default();
            let (target, seconds) = (table.name.to_string(), wait.as_secs());
            return Err(of(shard, server::Error::LockWait { target, seconds, holders }));
        }
        for Reached { shard, holder, reader, .. } in &mut *shards {
            let freed = reader.exec("ROLLBACK").and_then(|_| holder.exec("UNLOCK TABLES"));
            freed.map_err(|error| of(shard, error))?;
        }
        let Some(first) = shards.first() else { return Ok(Ok(())) };
        let interrupt = &first.connect.interrupt;
        server::reach::sleep(pause.min(wait.saturating_sub(begun.elapsed())), interrupt);
        interrupt.check()?;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Why an attempt to lock and read all tables failed.
enum Missed {
    /// The shard of this number did not give a lock in time.
    Busy(usize),
    /// The account may not, in words.
    Denied(String),
    Failed(Error),
}

impl Missed {
    fn of(at: usize, shard: &Shard, error: server::Error) -> Box<Missed> {
        Box::new(match error.errno() {
            Some(ER_LOCK_WAIT_TIMEOUT) => Missed::Busy(at),
            _ => Missed::Failed(of(shard, error)),
        })
    }
}

/// Locks the tables of all shards.
fn lock(shards: &mut [Reached]) -> Result<(), Box<Missed>> {
    for (at, Reached { shard, table, holder, .. }) in shards.iter_mut().enumerate() {
        match holder.exec(&format!("LOCK TABLES {} READ", table.name.quoted())) {
            Err(error) if error.errno().is_some_and(|errno| DENIED.contains(&errno)) => {
                let what = "the account lacks LOCK TABLES on";
                return Err(Box::new(Missed::Denied(format!("{what} {}", shard.name()))));
            }
            locked => locked.map_err(|error| Missed::of(at, shard, error))?,
        };
    }
    Ok(())
}

/// Begins the transactions that read. An ALTER that waits for our lock has them wait too: for no longer than the
/// attempt.
fn snapshots(shards: &mut [Reached]) -> Result<(), Box<Missed>> {
    for (at, Reached { shard, table, holder, reader, .. }) in shards.iter_mut().enumerate() {
        disk::failpoint::hit(&format!("export.snapshot.{at}"));
        let begun = begin_snapshot(reader, &table.name);
        begun.map_err(|error| Missed::of(at, shard, error))?;
        check_unaltered(holder, table).map_err(|error| Box::new(Missed::Failed(error)))?;
    }
    Ok(())
}

/// An error of a shard.
fn of(shard: &Shard, error: server::Error) -> Error {
    Error::shard(&shard.name(), error)
}
