//! Errors of ADBC from those of the server and of the program.

use std::os::raw::c_char;

use adbc_core::error::{Error, Status};

/// Key of the error as JSON, among the details of an error of a load.
const DETAIL: &str = "inrush.error";
/// Key of the server's error number, among the details of an error of a statement.
const NUMBER: &str = "inrush.errno";
/// Exit status of a load whose rows are in, while keys of other tables refer to the old table.
const KEYS_LEFT: i32 = 4;

/// An error with a status.
pub(crate) fn error(status: Status, message: impl Into<String>) -> Error {
    Error::with_message_and_status(message, status)
}

/// An operation of ADBC that the driver does not have.
pub(crate) fn not_implemented(message: &str) -> Error {
    error(Status::NotImplemented, message)
}

/// The error for an option that has no value, or none of the kind.
pub(crate) fn unset(key: &str) -> Error {
    error(Status::NotFound, format!("option {key} has no value"))
}

/// An error of a connection to a server.
pub(crate) fn of_server(cause: &server::Error) -> Error {
    use server::Error as E;
    let status = match cause {
        E::Statement { errno, sqlstate, .. } => of_statement(*errno, sqlstate),
        // Access denied, for the account or for the database.
        E::Connect { errno: Some(1045 | 1698 | 1044), .. } => Status::Unauthenticated,
        E::Connect { errno: Some(1049), .. } | E::NoTable(_) => Status::NotFound,
        E::Connect { .. } | E::Lost { .. } | E::Nonsense { .. } | E::Io { .. } => Status::IO,
        E::Option(_) | E::OptionFile { .. } | E::View(_) => Status::InvalidArguments,
        E::Interrupted => Status::Cancelled,
        _ => Status::Unknown,
    };
    let mut error = error(status, cause.to_string());
    if let Some(number) = cause.errno() {
        // Driver managers take the place of the code for a mark of theirs.
        error.vendor_code = i32::from(number);
        error.details = Some(vec![(NUMBER.to_owned(), number.to_string().into_bytes())]);
    }
    if let E::Statement { sqlstate, .. } = cause {
        error.sqlstate = state(sqlstate);
    }
    error
}

fn of_statement(errno: u16, sqlstate: &str) -> Status {
    match errno {
        // Unknown database, table, view, routine.
        1049 | 1051 | 1146 | 1305 => Status::NotFound,
        1007 | 1050 | 1304 => Status::AlreadyExists,
        1044 | 1142 | 1143 | 1227 | 1370 => Status::Unauthorized,
        1317 => Status::Cancelled,
        1205 | 1969 | 3024 => Status::Timeout,
        _ => match sqlstate.get(..2) {
            Some("22") => Status::InvalidData,
            Some("23") => Status::Integrity,
            Some("42") => Status::InvalidArguments,
            Some("08") => Status::IO,
            _ => Status::Unknown,
        },
    }
}

fn state(text: &str) -> [c_char; 5] {
    let mut state = [0; 5];
    for (slot, byte) in state.iter_mut().zip(text.bytes()) {
        *slot = c_char::from_ne_bytes([byte]);
    }
    state
}

/// An error that the program reports, by its JSON and its exit status.
pub(crate) fn of_load(report: &serde_json::Value, status: i32) -> Error {
    let text = |name: &str| report.get(name).and_then(serde_json::Value::as_str);
    let message =
        text("error").map_or_else(|| format!("inrush ended with status {status}"), str::to_owned);
    let kind = match text("kind").unwrap_or_default() {
        "connect" => Status::IO,
        "duplicate" | "foreign-key" => Status::Integrity,
        "rows" | "input" | "empty" => Status::InvalidData,
        "space" => Status::InvalidState,
        "stopped" => Status::Cancelled,
        "unfit" | "usage" => Status::InvalidArguments,
        _ if status == KEYS_LEFT => Status::Internal,
        _ if status == 2 => Status::InvalidArguments,
        _ => Status::Unknown,
    };
    let mut error = error(kind, message);
    error.details = Some(vec![(DETAIL.to_owned(), report.to_string().into_bytes())]);
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_server_keep_its_number_and_words() {
        let cause = server::Error::Statement {
            errno: 1146,
            sqlstate: "42S02".to_owned(),
            message: "Table 'shop.t' doesn't exist".to_owned(),
            statement: "SELECT 1".to_owned(),
        };
        let error = of_server(&cause);
        assert_eq!((error.status, error.vendor_code), (Status::NotFound, 1146));
        assert_eq!(error.sqlstate.map(|c| c as u8), *b"42S02");
        assert!(error.message.contains("Table 'shop.t' doesn't exist"), "{}", error.message);
    }

    #[test]
    fn errors_of_loads_have_the_kind_of_the_program() {
        let report = serde_json::json!({"error": "nothing was loaded", "kind": "duplicate"});
        let error = of_load(&report, 1);
        assert_eq!(
            (error.status, error.message.as_str()),
            (Status::Integrity, "nothing was loaded")
        );
        let error = of_load(&serde_json::json!({}), 2);
        assert_eq!(error.status, Status::InvalidArguments);
        assert_eq!(error.message, "inrush ended with status 2");
    }
}
