//! Sees a connection wait for the lock of a table.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use server::connect::Mark;
use server::error::Result;
use server::identifier::{TableName, quote_text};
use server::session::Session;
use server::version::Flavor;

/// Several locks, one after the other, may each take an attempt's time.
const QUEUED_MAX: Duration = Duration::from_secs(15);
/// The server's time for each table before it waits for the first, which grows with their number:
/// 2,000 took it more than 15 s (10.11.19, two busy cores).
const QUEUED_MAX_OF_TABLE: Duration = Duration::from_millis(50);
pub(super) const POLL: Duration = Duration::from_millis(1);
/// It must be seen waiting this often in a row: another lock than the table's would be a moment's.
const SIGHTINGS: u32 = 3;
const WAITING: &str = "Waiting for table metadata lock";

/// Polls until connection `waiter`, which locks so many tables, waits for a table lock; gives what it
/// sends if it ends before. A table of the load's own that it locks exclusively `before` has to be locked by then: the
/// observer, which holds a table, sees that.
pub(super) fn wait_until_queued<T>(
    observer: &mut Session,
    waiter: &Mark,
    before: Option<&TableName>,
    tables: usize,
    result: &Receiver<T>,
) -> Result<Option<T>> {
    let state = |processes: &str| format!("SELECT STATE FROM {processes} WHERE ID={}", waiter.id());
    let (start, mut sightings) = (Instant::now(), 0);
    let tables = u32::try_from(tables).unwrap_or(u32::MAX);
    let queued_max = QUEUED_MAX + QUEUED_MAX_OF_TABLE.saturating_mul(tables);
    loop {
        let rows = observer.query_processes(state)?;
        let waits = rows.first().is_some_and(|row| row.text_lossy(0) == WAITING);
        sightings = if waits { sightings + 1 } else { 0 };
        if sightings >= SIGHTINGS && before.map_or(Ok(true), |own| is_locked(observer, own))? {
            return Ok(None);
        }
        match result.recv_timeout(POLL) {
            Ok(early) => return Ok(Some(early)),
            Err(RecvTimeoutError::Timeout) => {}
            // It died without a word: the caller's recv says so.
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
        if start.elapsed() > queued_max {
            // Ended by the server, it reports so; the table stays as it is.
            observer.kill(waiter)?;
            return Ok(None);
        }
    }
}

/// Waits until a connection no longer runs a statement that begins with `like`. False if it does after `wait`.
pub(super) fn wait_until_ended(
    observer: &mut Session,
    connection: u64,
    like: &str,
    wait: Duration,
) -> Result<bool> {
    let busy = |processes: &str| {
        format!("SELECT 1 FROM {processes} WHERE ID={connection} AND INFO LIKE '{like}%'")
    };
    let start = Instant::now();
    while !observer.query_processes(busy)?.is_empty() {
        if start.elapsed() > wait {
            return Ok(false);
        }
        std::thread::sleep(POLL);
    }
    Ok(true)
}

/// True if somebody has a table exclusively, or nobody can tell.
///
/// MariaDB shows it to nobody else then. MySQL lists its locks, where it keeps the list and the account may read it.
/// Source: MariaDB 10.11, sql/sql_show.cc, `try_acquire_high_prio_shared_mdl_lock`.
fn is_locked(observer: &mut Session, table: &TableName) -> Result<bool> {
    let (database, name) = (quote_text(&table.database), quote_text(&table.table));
    if observer.version().flavor == Flavor::MariaDb {
        let sql = format!(
            "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA={database} \
             AND TABLE_NAME={name} AND ENGINE IS NOT NULL"
        );
        return Ok(observer.query_text(&sql)?.is_none());
    }
    let sql = format!(
        "SELECT LOCK_TYPE='EXCLUSIVE' AND LOCK_STATUS='GRANTED' FROM performance_schema.metadata_locks \
         WHERE OBJECT_TYPE='TABLE' AND OBJECT_SCHEMA={database} AND OBJECT_NAME={name}"
    );
    match observer.query(&sql) {
        Err(error) if error.errno().is_some() => Ok(true),
        rows => {
            let rows = rows?;
            Ok(rows.is_empty() || rows.iter().any(|row| row.text_lossy(0) == "1"))
        }
    }
}
