//! Asks a server for the conversions in which servers differ.

use schema::Column;
use values::habits::Habits;
use values::{Family, SqlType};

use crate::error::{Error, Result};
use crate::session::Session;
use crate::version::Flavor;

/// Data truncated for a column.
const ER_WARN_DATA_TRUNCATED: u16 = 1265;

/// Tries the conversions of these columns, and of moments, on variables: needs no table and no right.
///
/// MySQL is not asked: its conversions have no counterpart in an expression, and are the same in
/// all builds that are loaded directly.
pub fn habits(session: &mut Session, columns: &[Column], has_moments: bool) -> Result<Habits> {
    if session.version().flavor == Flavor::MySql {
        return Ok(Habits::MYSQL);
    }
    let have = |is: fn(&SqlType) -> bool| columns.iter().any(|column| is(&column.sql_type));
    let mut habits = Habits::default();
    if has_moments || have(|kind| matches!(kind.family(), Family::Real | Family::Moment)) {
        // The time is between both ends, in whatever time zone.
        let sql =
            "SELECT CAST('-0' AS DOUBLE), COALESCE(UNIX_TIMESTAMP('2100-01-01 00:00:00'), 0) > 0";
        let rows = session.query_once(sql)?;
        let is = |column, text| rows.first().is_some_and(|row| row.bytes(column) == Some(text));
        (habits.negative_zero, habits.timestamp_to_2106) = (is(0, b"-0"), is(1, b"1"));
    }
    if have(|kind| matches!(kind, SqlType::Inet6)) {
        // Servers before 10.10 have INET6 and no such cast; neither is an error worth a load.
        let mapped = session.query_once("SELECT CAST('1.2.3.4' AS INET6)").unwrap_or_default();
        habits.inet6_takes_inet4 = mapped.first().is_some_and(|row| row.bytes(0).is_some());
    }
    if have(|kind| matches!(kind, SqlType::Enum { .. })) {
        let block = "BEGIN NOT ATOMIC DECLARE label ENUM('a'); SET label = '0'; END";
        let tried = session.enum_zero.map_or_else(|| session.exec(block).map(|_| true), Ok);
        habits.enum_zero = match tried {
            Err(Error::Statement { errno: ER_WARN_DATA_TRUNCATED, .. }) => false,
            takes => takes?,
        };
        session.enum_zero = Some(habits.enum_zero);
    }
    Ok(habits)
}
