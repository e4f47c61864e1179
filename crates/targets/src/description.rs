//! A table's file and its description (`.cfg`) as the server writes them for another server.

use std::time::Duration;

use schema::TableName;
use server::error::{Error, Result};
use server::session::{Done, Session};
use server::version::Flavor;

/// Named lock of the server: the turn to have a table written out.
pub const FLUSH_TURN: &str = "inrush_flush";

/// Server errors of a description that could not be written, which it tells as warnings: ER_CANT_CREATE_FILE,
/// ER_IO_WRITE_ERROR.
const ER_UNWRITTEN: [u16; 2] = [1004, 1811];

/// Has the server write out a table, and change nothing of its file until UNLOCK TABLES.
///
/// Commands take turns: MariaDB's purge stops for all tables that are held so, but only the first statement waits until it
/// has stopped. One that comes meanwhile would hold a file in which purge goes on.
///
/// Errors: [`Error::LockWait`] if others have their turn for longer than `wait`; the server's, also its warning that
/// the description was not written, above all because its disk is full. Nothing is held then.
/// Source: MariaDB 10.11, storage/innobase/srv/srv0srv.cc, `purge_sys_t::stop`; row/row0quiesce.cc,
/// `row_quiesce_write_cfg`. MySQL waits in each statement.
pub fn write_out(session: &mut Session, table: &TableName, wait: Duration) -> Result<()> {
    let takes_turns = session.version().flavor == Flavor::MariaDb;
    if takes_turns && !session.lock_name(FLUSH_TURN, wait)? {
        let holder = session.lock_holder(FLUSH_TURN)?;
        let holders =
            holder.map(|id| format!("connection {id}, which runs FLUSH TABLES .. FOR EXPORT"));
        let (target, holders) = (table.to_string(), holders.into_iter().collect());
        return Err(Error::LockWait { target, seconds: wait.as_secs(), holders });
    }
    let sql = format!("FLUSH TABLES {} FOR EXPORT", table.quoted());
    let written = session.exec(&sql).and_then(|done| check_described(session, &sql, &done));
    let left = match takes_turns {
        true => session.exec(&format!("DO RELEASE_LOCK('{FLUSH_TURN}')")).map(drop),
        false => Ok(()),
    };
    written.and(left)
}

/// Sees that the server has written the description; the table is let go otherwise.
fn check_described(session: &mut Session, flush: &str, done: &Done) -> Result<()> {
    if done.warnings == 0 {
        return Ok(());
    }
    let warnings = session.warnings()?;
    let Some(warning) = warnings.into_iter().find(|one| ER_UNWRITTEN.contains(&one.errno)) else {
        return Ok(());
    };
    session.exec("UNLOCK TABLES")?;
    let advice = match warning.message.contains("No space left") {
        true => "; free some space there",
        false => "",
    };
    Err(Error::Statement {
        errno: warning.errno,
        sqlstate: "HY000".to_owned(),
        message: warning.message + advice,
        statement: flush.to_owned(),
    })
}
