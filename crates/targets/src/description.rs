//! The description (`.cfg`) that the server writes beside a table's file for another server.

use server::error::{Error, Result};
use server::session::{Done, Session};

/// Server errors of a description that could not be written, which it tells as warnings: ER_CANT_CREATE_FILE,
/// ER_IO_WRITE_ERROR.
const ER_UNWRITTEN: [u16; 2] = [1004, 1811];

/// Sees that the server has written the descriptions of files that a `FLUSH TABLES .. FOR EXPORT` has been for.
///
/// Errors: the server's warning, as an error: its disk is full, above all.
/// Source: MariaDB 10.11, storage/innobase/row/row0quiesce.cc, `row_quiesce_write_cfg`.
pub fn check_described(session: &mut Session, flush: &str, done: &Done) -> Result<()> {
    if done.warnings == 0 {
        return Ok(());
    }
    let warnings = session.warnings()?;
    let Some(warning) = warnings.into_iter().find(|one| ER_UNWRITTEN.contains(&one.errno)) else {
        return Ok(());
    };
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
