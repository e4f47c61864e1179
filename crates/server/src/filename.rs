//! How the server spells names in file names.

use schema::{filename_ascii, filename_by_letters};

use crate::error::Result;
use crate::identifier::quote_text;
use crate::session::Session;
use crate::version::Flavor;

/// The name of a database's folder or a table's files, as the server spells it: it is asked for letters outside
/// ASCII. MySQL does not answer.
pub fn filename(session: &mut Session, name: &str) -> Result<String> {
    if let Some(plain) = filename_ascii(name) {
        return Ok(plain);
    }
    if session.version().flavor == Flavor::MySql {
        return Ok(filename_by_letters(name));
    }
    let sql =
        format!("SELECT CAST(CONVERT(_utf8mb4{} USING filename) AS BINARY)", quote_text(name));
    session.query_row(&sql)?.text(0)
}
