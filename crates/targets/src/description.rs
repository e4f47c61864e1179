//! A table's file and its description (`.cfg`) as the server writes them for another server.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use disk::File;
use innodb::page::FilHeader;
use schema::TableName;
use server::error::{Error, Result};
use server::session::{Done, Session};
use server::version::Flavor;

/// Named lock of the server: the turn to have a table written out.
const FLUSH_TURN: &str = "inrush_flush";

/// Server errors of a description that could not be written, which it tells as warnings: ER_CANT_CREATE_FILE,
/// ER_IO_WRITE_ERROR.
const ER_UNWRITTEN: [u16; 2] = [1004, 1811];

/// Why rows of a table of MySQL are not read from its file.
pub const COUNTED_ROWS: &str =
    "MySQL before 8.0.29 added columns to the table by ALGORITHM=INSTANT";

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
        let (target, holders) = (table.to_string(), turn_holder(session)?);
        return Err(Error::LockWait { target, seconds: wait.as_secs(), holders });
    }
    let sql = format!("FLUSH TABLES {} FOR EXPORT", table.quoted());
    let written = session.exec(&sql).and_then(|done| check_described(session, &sql, &done));
    if !takes_turns {
        return written;
    }
    // Others wait for it: an interrupt comes behind it, and a KILL that came too late for the statement is no end.
    let release = format!("DO RELEASE_LOCK('{FLUSH_TURN}')");
    let released = session.exec_always(&release).or_else(|_| session.exec_always(&release));
    written.and(released)
}

/// True if MySQL before 8.0.29 added columns by ALGORITHM=INSTANT to the table of these files. Its rows tell how many
/// fields they have, and the description does not tell of such rows if the columns were dropped later.
///
/// Errors: a file that cannot be read; the server's, where the right PROCESS is missing.
/// Source: MySQL 9.7, sql/dd/impl, storage/innobase/dict/dict0dd.cc, `dd_instant_columns_consistent`.
pub fn had_instant_columns<'a>(
    session: &mut Session,
    files: impl IntoIterator<Item = (&'a File, &'a Path)>,
) -> Result<bool> {
    let mut spaces = String::from("0");
    for (file, path) in files {
        let mut header = [0; size_of::<FilHeader>()];
        let read = file.read_exact_at(&mut header, 0);
        read.map_err(|error| Error::io("reading", path, error))?;
        let id = FilHeader::parse(&header).map(|header| header.space_id.get());
        let _ = write!(spaces, ", {}", id.unwrap_or_default());
    }
    let rows = session.query(&format!(
        "SELECT 1 FROM information_schema.INNODB_TABLES \
         WHERE SPACE IN ({spaces}) AND INSTANT_COLS <> 0 LIMIT 1"
    ))?;
    Ok(!rows.is_empty())
}

/// Who has the turn, as a sentence.
pub(crate) fn turn_holder(session: &mut Session) -> Result<Vec<String>> {
    let holder = session.lock_holder(FLUSH_TURN)?;
    let sentence = |id| format!("connection {id}, which runs FLUSH TABLES .. FOR EXPORT");
    Ok(holder.map(sentence).into_iter().collect())
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
