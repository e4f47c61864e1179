//! Parts of messages that depend on numbers, names and other errors.

use std::path::Path;

use disk::size::show;
use face::option::{ON_DUPLICATE, REJECTS, REJECTS_MAX};
use schema::first_of;

use super::Error;
use crate::report::Report;

pub(super) fn of_which(kept_bytes: u64) -> String {
    match kept_bytes {
        0 => String::new(),
        bytes => format!(", of which {} stay free for the server", show(bytes)),
    }
}

pub(super) fn added(error: &Error, [target, ledger]: &[String; 2], rows: Option<u64>) -> String {
    // The same row would end the same command.
    let command = match error {
        Error::Rejected { .. } | Error::RejectedPart { .. } => {
            format!("the same command with a larger {REJECTS_MAX}")
        }
        Error::DuplicateRow { .. } => format!(
            "the same command with {}",
            ON_DUPLICATE.with_any(&["skip", "replace", "update"])
        ),
        // The same command refuses other files.
        Error::Source(sources::Error::Changed { .. }) => {
            "the same command with the file as it was".to_owned()
        }
        _ => "the same command again".to_owned(),
    };
    match rows {
        Some(rows) => format!(
            "{rows} row{} in {target}; run {command} to load the rest; until then the table {ledger} \
             lists these rows",
            if rows == 1 { " is" } else { "s are" }
        ),
        None => format!(
            "{target} may contain rows of this load; run {command} to load the rest; until then the \
             table {ledger} lists the rows"
        ),
    }
}

pub(super) fn none(table: &str, tables: usize, left: Option<&str>) -> String {
    let changed = match tables {
        1 => format!("{table} is unchanged"),
        tables => format!("none of the {tables} tables was changed"),
    };
    match left {
        None => changed,
        Some(error) => format!(
            "{changed}; some of the load's own tables and files could not be removed; the next \
             load of each table removes them ({error})"
        ),
    }
}

pub(super) fn also_bad(others: &[String]) -> String {
    match others {
        [] => String::new(),
        [other] => format!("; another table has bad rows: {other}"),
        others => format!("; other tables have bad rows: {}", others.join("; ")),
    }
}

pub(super) fn also_helps(error: &Error) -> String {
    error.remedy().map_or(String::new(), |remedy| format!("; {remedy}"))
}

pub(super) fn state_of_tables(table: &str, error: &Error, done: &[Report]) -> String {
    let loaded = format!("already loaded: {}", first_of(done.iter().map(|one| &one.target)));
    match error.leaves_table_unchanged() {
        _ if done.is_empty() => "no table was loaded".to_owned(),
        true => format!("{table} is unchanged; {loaded}"),
        false => loaded,
    }
}

pub(super) fn kept_in(path: Option<&Path>) -> String {
    path.map_or(String::new(), |path| {
        let path = path.display();
        format!("; {path} has the rejected rows, {path}.reasons.jsonl their reasons")
    })
}

/// As people type a limit: `28 MiB`.
pub(super) fn mebibytes(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{bytes} bytes"),
        bytes => format!("{} MiB", bytes >> 20),
    }
}

pub(super) fn not_tolerated(rejects: u64, rejects_max: u64) -> String {
    let check = face::call("check", REJECTS.with("FILE"));
    let unchecked = format!("later rows were not checked: {check} lists all bad rows");
    match rejects_max {
        0 => format!("{unchecked}, {} skips up to N", REJECTS_MAX.with("N")),
        max => format!("{rejects} rows rejected, and {REJECTS_MAX} is {max}; {unchecked}"),
    }
}

pub(super) fn no_rows(rejects: u64) -> String {
    match rejects {
        0 => "the input has no rows".to_owned(),
        1 => "the only row of the input was rejected".to_owned(),
        rejects => format!("all {rejects} rows of the input were rejected"),
    }
}

pub(super) fn unfinished(chunks: u64) -> String {
    if chunks == 0 {
        String::new()
    } else {
        format!(", and {chunks} chunks of the input were lost")
    }
}

pub(super) fn by(path: Option<&str>) -> String {
    path.map_or(String::new(), |path| format!(" by the {path} path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same command refuses a file that has changed.
    #[test]
    fn rows_of_a_changed_file_need_the_file_as_it_was() {
        let source = |error| added(&Error::Source(error), &["d.t".into(), "d.l".into()], Some(2));
        let what = "grew from 4 to 8 bytes while it was read".to_owned();
        let changed = sources::Error::Changed { path: "a.csv".into(), what };
        assert_eq!(
            source(changed),
            "2 rows are in d.t; run the same command with the file as it was to load the rest; until then the table \
             d.l lists these rows"
        );
    }
}
