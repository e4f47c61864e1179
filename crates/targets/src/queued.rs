//! Sees a connection wait for the lock of a table.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use server::connect::Mark;
use server::error::Result;
use server::identifier::{TableName, quote_text};
use server::session::Session;

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
/// observer, which holds a table, is not shown that one any more.
/// Source: MariaDB 10.11, sql/sql_show.cc, `try_acquire_high_prio_shared_mdl_lock`.
pub(super) fn wait_until_queued<T>(
    observer: &mut Session,
    (waiter, before): (&Mark, Option<&TableName>),
    tables: usize,
    result: &Receiver<T>,
) -> Result<Option<T>> {
    let sql = format!("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID={}", waiter.id());
    let (start, mut sightings) = (Instant::now(), 0);
    let tables = u32::try_from(tables).unwrap_or(u32::MAX);
    let queued_max = QUEUED_MAX + QUEUED_MAX_OF_TABLE.saturating_mul(tables);
    loop {
        let waits = observer.query_text(&sql)?.as_deref() == Some(WAITING);
        sightings = if waits { sightings + 1 } else { 0 };
        if sightings >= SIGHTINGS && !before.map_or(Ok(false), |own| is_shown(observer, own))? {
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

/// True if nobody has a table exclusively.
fn is_shown(observer: &mut Session, table: &TableName) -> Result<bool> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA={} AND TABLE_NAME={} \
         AND ENGINE IS NOT NULL",
        quote_text(&table.database),
        quote_text(&table.table)
    );
    Ok(observer.query_text(&sql)?.is_some())
}
