//! Transactions that a restarted server found prepared, or is still rolling back.
//!
//! Their rows are in the files of tables, and no lock on a table tells. They are nobody's connection's, as
//! those are that the server makes by itself, for statistics and definitions: which end soon.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use server::error::Result;
use server::session::Session;

/// Source: MariaDB 10.11, storage/innobase/trx/trx0i_s.cc, `fill_trx_row`: the thread is 0 where there is no
/// connection.
const NOBODYS: &str = "SELECT TRX_ID FROM information_schema.INNODB_TRX \
                       WHERE TRX_MYSQL_THREAD_ID=0 AND TRX_ROWS_MODIFIED>0";
/// How long the server's own are waited for, before a lock is taken and while one is held.
const WAIT_BEFORE: Duration = Duration::from_secs(15);
const WAIT: Duration = Duration::from_secs(3);
const BETWEEN: Duration = Duration::from_millis(50);

/// True if there is one. A transaction without an owner counts if it does not end.
///
/// Errors: the server's; the right PROCESS is needed.
pub fn is_any(session: &mut Session) -> Result<bool> {
    is_left(session, WAIT)
}

/// Waits for the server's own, which take long on a busy disk. The lock of a table may be taken then without
/// keeping others waiting for them.
///
/// Errors: as [`is_any`].
pub fn await_end(session: &mut Session) -> Result<()> {
    is_left(session, WAIT_BEFORE).map(|_| ())
}

/// True if one does not end within `wait`.
fn is_left(session: &mut Session, wait: Duration) -> Result<bool> {
    let begun = Instant::now();
    let mut left = nobodys(session)?;
    while !left.is_empty() && begun.elapsed() < wait {
        thread::sleep(BETWEEN);
        let now = nobodys(session)?;
        left.retain(|transaction| now.contains(transaction));
    }
    Ok(!left.is_empty())
}

fn nobodys(session: &mut Session) -> Result<BTreeSet<String>> {
    let rows = session.query(NOBODYS)?;
    rows.iter().map(|row| Ok(row.text_or_null(0)?.unwrap_or_default())).collect()
}
