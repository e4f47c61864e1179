//! A partition that gets rows takes the place of the old one; the others stay as they are, file by file.
//!
//! ```text
//! export: the target is held, readers read        ALTER TABLE part_n IMPORT; RENAME part_n TO merged_<space>
//! mover:  ALTER TABLE target EXCHANGE PARTITION p WITH TABLE merged_<space>     waits for the hold
//! export: sees the mover wait; lets go            the server grants a waiting ALTER before writers
//! mover:  reads the rows, readers go on; waits for these, exchanges: merged_<space> has the old rows
//! ```
//!
//! EXCHANGE is atomic, on the server's crash too: its DDL log takes back unfinished work. Several partitions
//! would take several statements, between which readers see some new and some old, and behind a crash for
//! ever: so no more than one gets rows this way.
//!
//! The name of the table tells if it was done: it says the number of the tablespace that was imported, which
//! goes with the rows. Source: MariaDB 10.11, sql/sql_partition_admin.cc, `exchange_partition`
//! (MDL_SHARED_NO_WRITE, as FLUSH TABLES .. FOR EXPORT has) and `exchange_name_with_ddl_log`.

use std::sync::mpsc::channel;
use std::time::Instant;

use disk::failpoint;
use schema::quote_name;

use crate::export::Export;
use crate::lock::Lock;
use crate::names::{merged_name, merged_space_id};
use crate::queued::{wait_until_ended, wait_until_queued};
use crate::reach::ENDING_WAIT;
use crate::swap::exec_published;
use server::error::{Error, Result};
use server::filename::filename;
use server::identifier::{TableName, quote_text};
use server::session::Session;

/// A table with the old and the new rows of a partition of the target, or, once they are exchanged, with
/// the old ones.
#[derive(Clone, Debug)]
pub(super) struct MergedPartition {
    partition: String,
    table: TableName,
    /// The tablespace with the new rows.
    space_id: u32,
}

impl MergedPartition {
    /// A table that is imported, under a name that says its number.
    ///
    /// Killed after it: the table.
    ///
    /// Errors: the server's.
    pub(super) fn of(
        lock: &mut Lock,
        table: &TableName,
        partition: &str,
    ) -> Result<MergedPartition> {
        let target = lock.table.name.clone();
        let space_id = space_id(&mut lock.session, table)?.ok_or_else(|| Error::Altered {
            target: target.to_string(),
            detail: format!("the load's staging table, {table}, was dropped"),
        })?;
        let merged = merged_name(&target, &lock.names, space_id);
        lock.exec(&format!("RENAME TABLE {} TO {}", table.quoted(), merged.quoted()))?;
        lock.names.extended = merged.clone();
        Ok(MergedPartition { partition: partition.to_owned(), table: merged, space_id })
    }

    /// The partition.
    pub(super) fn partition(&self) -> &str {
        &self.partition
    }

    /// The table.
    pub(super) fn table(&self) -> &TableName {
        &self.table
    }

    /// True if no other load has cleaned up.
    pub(super) fn is_still_there(&self, session: &mut Session) -> Result<bool> {
        Ok(space_id(session, &self.table)? == Some(self.space_id))
    }

    fn statement(&self, target: &TableName) -> String {
        format!(
            "ALTER TABLE {} EXCHANGE PARTITION {} WITH TABLE {}",
            target.quoted(),
            quote_name(&self.partition),
            self.table.quoted()
        )
    }
}

impl Lock {
    /// Exchanges a partition of the target, which `export` holds until then. Gives false where others may have
    /// written to the old rows after they were read.
    ///
    /// Killed in it: the old partition or the new one. Killed after it: the new one, and a table with the
    /// old rows.
    ///
    /// Errors, the partition as before: [`Error::LockWait`]; the server's. [`Error::Unanswered`]: it is the
    /// old one or the new one.
    pub(super) fn exchange(
        &mut self,
        merged: &MergedPartition,
        export: Option<Export>,
    ) -> Result<bool> {
        let target = self.table.name.clone();
        let sql = merged.statement(&target);
        let mut export =
            export.ok_or_else(|| Error::lost("the table is not locked", sql.as_str()))?;
        export.check()?;
        let mut observer = self.second()?;
        self.session.set_lock_wait(self.patience.wait)?;
        let mover = self.session.mark().clone();
        failpoint::hit("publish.checked");
        // No table is joined with one that has partitions by foreign keys.
        let (writers, begun) = (export.since(), Instant::now());
        let (session, _guard) = export.into_parts();
        let mut was_held = false;
        let done = self.patience.watch_yielding(&mut self.session, writers, |mover| {
            let (held, done) = exchange_held(mover, &sql, session, &mut observer);
            was_held = held;
            done
        });
        self.spare = Some(observer);
        self.blocked.writers_since(writers);
        self.blocked.all_since(begun);
        match done {
            Ok(()) => {}
            Err(error) if error.is_unclear() || matches!(error, Error::Yielded { .. }) => {
                match self.was_exchanged(merged, mover.id()) {
                    Ok(true) => {}
                    Ok(false) => return Err(error),
                    Err(_) => return Err(Error::Unanswered(target.to_string())),
                }
            }
            Err(error) => return Err(error),
        }
        Ok(was_held)
    }

    /// True if an EXCHANGE without answer was done.
    fn was_exchanged(&mut self, merged: &MergedPartition, mover: u64) -> Result<bool> {
        let _shield = self.session.options().interrupt.shield();
        let mut session = self.reach()?;
        if !wait_until_ended(&mut session, mover, "ALTER TABLE", ENDING_WAIT)? {
            return Err(Error::Unanswered(self.table.name.to_string()));
        }
        Ok(!merged.is_still_there(&mut session)?)
    }

    /// True if the partition of a load that merges one is exchanged; none of other loads.
    pub(super) fn is_exchanged(&mut self) -> Result<Option<bool>> {
        let table = self.names.extended.clone();
        let Some(imported) = merged_space_id(&self.table.name, &table) else { return Ok(None) };
        Ok(Some(space_id(&mut self.session, &table)? != Some(imported)))
    }

    /// True if a table that a killed load has left has the old rows of a partition: it was
    /// exchanged.
    pub(super) fn has_old_rows(&mut self, table: &TableName) -> Result<bool> {
        let Some(imported) = merged_space_id(&self.table.name, table) else { return Ok(false) };
        Ok(space_id(&mut self.session, table)?.is_some_and(|seen| seen != imported))
    }
}

/// Has a session exchange, and the one that locks the target let go when it waits. Returns true if
/// that one held its lock until then, and the server's answer.
fn exchange_held(
    session: &mut Session,
    sql: &str,
    mut holder: Session,
    observer: &mut Session,
) -> (bool, Result<()>) {
    let mover = session.mark().clone();
    std::thread::scope(|scope| {
        let (sender, result) = channel();
        let moving = scope.spawn(move || {
            failpoint::hit("thread.mover");
            // The receiver outlives this: it is asked in any case.
            let _ = sender.send(exec_published(session, sql));
        });
        let seen = wait_until_queued(observer, &mover, None, 1, &result);
        failpoint::hit("publish.queued");
        // To its end, also when somebody wants the load stopped: the lock must go.
        let _shield = holder.options().interrupt.shield();
        let was_held = matches!(seen, Ok(None)) && holder.exec("DO 0").is_ok();
        if !was_held {
            // Where this fails too the partition may be exchanged, and its old rows are kept.
            let _ = observer.kill_query(&mover);
        }
        let _ = holder.exec("UNLOCK TABLES");
        drop(holder);
        let done = match seen {
            Ok(Some(early)) => early,
            _ => result.recv().unwrap_or_else(|_| {
                Err(Error::lost("the thread of the connection has ended", sql))
            }),
        };
        let _ = moving.join();
        (was_held, done)
    })
}

/// The number of a table's tablespace; none where it has none, or is not there.
fn space_id(session: &mut Session, table: &TableName) -> Result<Option<u32>> {
    let database = filename(session, &table.database)?;
    let name = quote_text(&format!("{database}/{}", table.table));
    let view = session.version().flavor.innodb_view("TABLES");
    let sql = format!("SELECT SPACE FROM information_schema.{view} WHERE NAME={name}");
    let rows = session.query(&sql)?;
    rows.first().map_or(Ok(None), |row| row.number_or_null(0))
}
