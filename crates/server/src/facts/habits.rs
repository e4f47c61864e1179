//! Asks a server for the conversions in which servers differ.

use values::habits::Habits;

use crate::error::{Error, Result};
use crate::session::Session;
use crate::version::Flavor;

/// Data truncated for a column.
const ER_WARN_DATA_TRUNCATED: u16 = 1265;

/// Tries the conversions on variables: needs no table and no right.
///
/// MySQL is not asked: its conversions have no counterpart in an expression, and are the same in
/// all builds that are loaded directly.
pub fn habits(session: &mut Session) -> Result<Habits> {
    if session.version().flavor == Flavor::MySql {
        return Ok(Habits::MYSQL);
    }
    if let Some(habits) = session.habits {
        return Ok(habits);
    }
    // Between both ends, in whatever time zone.
    let late = "'2100-01-01 00:00:00'";
    let row = session.query_row(&format!(
        "SELECT CAST('-0' AS DOUBLE), COALESCE(UNIX_TIMESTAMP({late}), 0) > 0"
    ))?;
    // Servers before 10.10 have INET6 and no such cast; neither is an error worth a load.
    let mapped = session.query_text("SELECT CAST('1.2.3.4' AS INET6)").unwrap_or_default();
    let block = "BEGIN NOT ATOMIC DECLARE label ENUM('a'); SET label = '0'; END";
    let enum_zero = match session.exec(block) {
        Ok(_) => true,
        Err(Error::Statement { errno: ER_WARN_DATA_TRUNCATED, .. }) => false,
        Err(error) => return Err(error),
    };
    let habits = Habits {
        negative_zero: row.text(0)? == "-0",
        enum_zero,
        timestamp_to_2106: row.number::<u8>(1)? == 1,
        inet6_takes_inet4: mapped.is_some(),
        ..Habits::default()
    };
    session.habits = Some(habits);
    Ok(habits)
}
