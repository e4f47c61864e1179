//! Columns that get the value of an SQL expression, which is the same in all rows.

use face::statement;
use job::error::Error;
use job::options::{Constant, ConstantValue, LoadOptions, RowOptions};
use server::identifier::digest;
use server::{ConnectOptions, Session};

/// Characters of an expression that a message shows.
const SHOWN_CHARS: usize = 200;

/// Asks the server for the value of each expression of these loads, once, and has it stand for the
/// expression: as a text, which the column then reads as it does fields. Who loads tables together
/// asks for all of them before.
///
/// Errors: an expression that the server refuses, or that gives NULL or no text.
pub fn evaluate_expressions(
    connect: &ConnectOptions,
    loads: &mut [LoadOptions],
) -> Result<(), Error> {
    for RowOptions { constants, time_zone, .. } in loads.iter_mut().map(|load| &mut load.rows) {
        let mut session = None;
        for Constant { column, value } in constants {
            let ConstantValue::Expression(expression) = &*value else { continue };
            let session = match &mut session {
                Some(session) => session,
                none => {
                    let time_zone = time_zone.clone().or_else(|| connect.time_zone.clone());
                    let options = ConnectOptions { time_zone, ..connect.clone() };
                    none.insert(Session::connect(&options)?)
                }
            };
            let (text, is_number) = value_of(session, expression).map_err(|why| {
                // Its texts may be keys.
                let shown = statement::shown(expression, SHOWN_CHARS);
                Error::Usage(format!("column {column}, {shown}: {why}"))
            })?;
            let expression = digest(expression.as_bytes());
            *value = ConstantValue::Evaluated { text, is_number, expression };
        }
    }
    Ok(())
}

/// The value of an expression, and true if it is a number.
fn value_of(session: &mut Session, expression: &str) -> Result<(String, bool), String> {
    // On lines of its own: it may end with a comment. Bytes of no character set are taken as they are: the
    // server would put question marks in the place of what is no UTF-8. Numbers and times have none either, but
    // their texts have one.
    let sql = format!(
        "SELECT CHARSET(v)='binary', CHARSET(CONCAT(v))='binary', CAST(v AS BINARY), \
         CAST(CONVERT(v USING utf8mb4) AS BINARY) FROM (SELECT (\n{expression}\n) AS v) AS e"
    );
    let row = session.query_row(&sql).map_err(|error| error.to_string())?;
    let [is_binary, is_bytes] = [0, 1].map(|at| row.bytes(at) == Some(b"1"));
    let bytes = row.bytes(if is_binary { 2 } else { 3 });
    let bytes = bytes.ok_or("its value is NULL, but an expression must give a value")?;
    let value = String::from_utf8(bytes.to_vec()).map_err(|_| "its value is not text")?;
    let is_number = is_binary && !is_bytes && value.parse::<f64>().is_ok();
    Ok((value, is_number))
}
