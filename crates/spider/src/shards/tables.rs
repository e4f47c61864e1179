//! Tables that a load of shards makes beside the target, and their removal: those of this load and of one
//! that was killed.

use std::time::Duration;

use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, Mode};
use schema::TableName;
use server::{ConnectOptions, Session};
use targets::{Lock, LockOptions};

use super::inspection::Inspection;
use super::reached::{self, by_head};
use crate::map::{self, Shard, ShardMap};

/// Spider's error of a table that is not there.
const ER_SPIDER_NO_REMOTE_TABLE: u16 = 12702;

/// The tables of one load.
pub(super) struct Tables<'l> {
    connect: &'l ConnectOptions,
    options: &'l LoadOptions,
    target: TableName,
    /// The head's next table, and what it becomes in the swap.
    head: TableName,
    asides: [TableName; 2],
    definition: String,
    before: ShardMap,
    next: ShardMap,
    /// True if the Spider server makes and removes the shards' tables, which cannot be reached from
    /// here.
    by_head: bool,
}

impl<'l> Tables<'l> {
    pub(super) fn new(
        connect: &'l ConnectOptions,
        options: &'l LoadOptions,
        looked: &Inspection,
        by_head: bool,
    ) -> Tables<'l> {
        let (before, Lock { session, table, names, .. }) = (&looked.map, &looked.target);
        Tables {
            connect,
            options,
            target: table.name.clone(),
            head: names.staging.clone(),
            asides: [names.replaced.clone(), names.emptied.clone()],
            definition: table.definition.clone(),
            before: before.clone(),
            next: before.next(&table.name, session.id()),
            by_head,
        }
    }

    /// The head's table for them.
    pub(super) fn head(&self) -> &TableName {
        &self.head
    }

    /// Where the rows are to go.
    pub(super) fn next(&self) -> &ShardMap {
        &self.next
    }

    /// Removes what a killed load left, and makes the tables: the head's first, which says what there is on
    /// the shards.
    ///
    /// Killed in it: the head's table, and those of some shards.
    pub(super) fn create(&self, session: &mut Session) -> Result<(), Error> {
        self.sweep(session)?;
        self.next.create(session, &self.head)?;
        failpoint::hit("shards.head");
        for (at, (shard, next)) in self.before.shards.iter().zip(&self.next.shards).enumerate() {
            let like = format!(
                "SET STATEMENT innodb_strict_mode=0, sql_mode='ALLOW_INVALID_DATES' FOR \
                 CREATE TABLE {} LIKE {}",
                next.table.quoted(),
                shard.table.quoted()
            );
            match self.by_head {
                true => by_head(session, shard, &like)?,
                false => {
                    let mut session = reached::session(shard, self.connect)?;
                    session.exec(&like).map_err(|error| reached::of(shard, error))?;
                }
            }
            failpoint::hit(&format!("shards.created.{at}"));
        }
        Ok(())
    }

    /// Has the head look whether each row is where it belongs, and whether all are there.
    ///
    /// Errors: they are not.
    pub(super) fn compare(
        &self,
        session: &mut Session,
        expected: u64,
        verifies: bool,
    ) -> Result<(), Error> {
        let (target, head) = (self.target.to_string(), self.head.quoted());
        if !map::is_divided_like(session, &self.head, &self.definition)? {
            let what = "its staging table is partitioned differently".to_owned();
            return Err(Error::Shards { target, what });
        }
        let count = format!("SELECT COUNT(*) FROM {base}", base = self.head.base());
        let found: u64 = session.query_row(&count)?.number(0)?;
        if found != expected {
            return Err(Error::Shards {
                target,
                what: format!("{found} rows, but {expected} were read"),
            });
        }
        if !verifies {
            return Ok(());
        }
        for row in session.query(&format!("CHECK TABLE {head}"))? {
            let (kind, text) = (row.text(2)?, row.text(3)?);
            if kind == "error" || (kind == "status" && text != "OK") {
                return Err(Error::Shards { target, what: format!("CHECK TABLE says {text:?}") });
            }
        }
        Ok(())
    }

    /// Removes what this load has made and not published.
    pub(super) fn abandon(&self, session: &mut Session) -> Result<(), Error> {
        self.remove(session, &self.head, &self.next)
    }

    /// Removes the tables that were replaced; gives what is left of them, a sentence each.
    pub(super) fn drop_old(&self, session: &mut Session) -> Result<Vec<String>, Error> {
        let aside = match self.options.mode {
            Mode::Replace => &self.asides[0],
            Mode::Insert | Mode::Append => &self.asides[1],
        };
        self.put_away(session, aside, &self.before, &self.next)
    }

    /// Removes what a killed load left.
    pub(super) fn sweep(&self, session: &mut Session) -> Result<(), Error> {
        if let Some(mut map) = self.left(session, &self.head)? {
            map.shards.retain(|shard| map::is_own(&shard.table, &self.target));
            self.remove(session, &self.head, &map)?;
        }
        for aside in &self.asides {
            if let Some(map) = self.left(session, aside)? {
                let left = self.put_away(session, aside, &map, &self.before)?;
                if let Some(left) = left.first() {
                    return Err(server::Error::Leftover(left.clone()).into());
                }
            }
        }
        Ok(())
    }

    /// The map of a table of ours on the head, if it is there.
    fn left(&self, session: &mut Session, name: &TableName) -> Result<Option<ShardMap>, Error> {
        if !catalog::exists(session, name)? {
            return Ok(None);
        }
        self.map(session, name)?
            .map(Some)
            .map_err(|why| server::Error::Leftover(format!("{name}: {why}")).into())
    }

    /// The map of a table of the head.
    fn map(
        &self,
        session: &mut Session,
        name: &TableName,
    ) -> Result<Result<ShardMap, String>, Error> {
        let definition = catalog::definition(session, name)?;
        let given = &self.options.server.shard_addresses;
        Ok(ShardMap::read(session, name, &definition, given)?)
    }

    /// Removes the tables of shards, and then the head's, which says which they are.
    ///
    /// Errors: a shard's table could not be removed; those of the other shards are.
    fn remove(&self, session: &mut Session, head: &TableName, map: &ShardMap) -> Result<(), Error> {
        let mut removed = Ok(());
        for shard in map.shards.iter().filter(|shard| !self.before.has(shard)) {
            removed = removed.and(self.remove_from(session, shard));
        }
        removed?;
        failpoint::hit("shards.removed");
        session.exec(&format!("DROP TABLE IF EXISTS {}", head.quoted()))?;
        Ok(())
    }

    /// Removes a table of a shard, with what a load of it has left beside.
    fn remove_from(&self, head: &mut Session, shard: &Shard) -> Result<(), Error> {
        if self.by_head {
            let drop = format!("DROP TABLE IF EXISTS {}", shard.table.quoted());
            return by_head(head, shard, &drop);
        }
        let of = |error: server::Error| reached::of(shard, error);
        let mut session = reached::session(shard, self.connect)?;
        if !catalog::exists(&mut session, &shard.table).map_err(of)? {
            return Ok(());
        }
        let wait = Duration::from_secs(u64::from(self.options.server.lock_wait_seconds));
        let options = LockOptions { lock_wait: wait, ..LockOptions::default() };
        let mut lock = Lock::take(session, &shard.table, &options).map_err(of)?;
        lock.cleanup_tables().map_err(of)?;
        let drop = format!("DROP TABLE IF EXISTS {}", shard.table.quoted());
        lock.session.exec(&drop).map(|_| ()).map_err(of)
    }

    /// True if another table of the Spider server has the rows of a shard's table too, or may have.
    fn is_linked(
        &self,
        session: &mut Session,
        shard: &Shard,
        aside: &TableName,
    ) -> Result<bool, Error> {
        for name in map::linked(session, &shard.table.table)? {
            if name == self.target || name == self.head || name == *aside {
                continue;
            }
            if self.map(session, &name)?.map_or(true, |map| map.has(shard)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Drops a table that was replaced, with its shards' tables: unless others have these too, or rows have
    /// come into one that was empty. `live` are the tables of the target.
    fn put_away(
        &self,
        session: &mut Session,
        aside: &TableName,
        map: &ShardMap,
        live: &ShardMap,
    ) -> Result<Vec<String>, Error> {
        if *aside == self.asides[1] && !is_empty(session, aside)? {
            return Ok(vec![format!(
                "rows were inserted into {} at the last moment and are in {aside} now",
                self.target
            )]);
        }
        let mut left = Vec::new();
        for shard in &map.shards {
            if live.has(shard) || self.is_linked(session, shard, aside)? {
                left.push(format!(
                    "the table {} on {} is kept, because a table of the Spider server may still \
                     use its rows",
                    shard.table, shard.server
                ));
            } else {
                self.remove_from(session, shard)?;
            }
        }
        failpoint::hit("shards.removed");
        session.exec(&format!("DROP TABLE IF EXISTS {}", aside.quoted()))?;
        Ok(left)
    }
}

/// True if a table of the Spider server has no rows. Tables of its shards are missing if a load was
/// killed while it removed them: then it had none.
fn is_empty(session: &mut Session, name: &TableName) -> Result<bool, Error> {
    match catalog::is_empty(session, name) {
        Err(error) if error.errno() == Some(ER_SPIDER_NO_REMOTE_TABLE) => Ok(true),
        is_empty => Ok(is_empty?),
    }
}
