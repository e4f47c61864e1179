//! The state that an error leaves: of the program, of the tables, of the load.

use face::option::{MODE, ON_DUPLICATE, PATH};
use targets::Lock;

use super::Error;
use crate::position::ErrorPlace;

/// `ER_ROW_IS_REFERENCED_2`: a row of another table refers to a row that is to be deleted.
const ER_ROW_IS_REFERENCED: u16 = 1451;
/// Exit status of the program when nothing was started.
const NOT_BEGUN: u8 = 2;

impl Error {
    /// Exit status of the program: 2 when nothing was started, else 1.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Usage(_)
            | Error::Unfit { .. }
            | Error::NoSpace { .. }
            | Error::NothingToLoad { rejects: 0, .. }
            | Error::Memory { .. } => NOT_BEGUN,
            Error::Server(error) => server_status(error),
            Error::Step { error, .. } | Error::Several { error, .. } => error.exit_status(),
            Error::Each { error, done, .. } if done.is_empty() => error.exit_status(),
            _ => 1,
        }
    }

    /// Where in the input it happened, if it happened at a place.
    pub fn place(&self) -> Option<ErrorPlace> {
        match self {
            Error::Rejected { last: row, .. }
            | Error::RefusedLine { row }
            | Error::NoOrder(row) => Some(ErrorPlace::from(&**row)),
            Error::Duplicate { second: position, .. }
            | Error::DuplicateRow { position, .. }
            | Error::KeyTaken { row: position, .. }
            | Error::GaveUp { position, .. } => Some(ErrorPlace::from(&**position)),
            Error::Step { error, .. }
            | Error::Appended { error, .. }
            | Error::AllIn { error, .. }
            | Error::Shard { error, .. }
            | Error::Several { error, .. }
            | Error::Each { error, .. } => error.place(),
            Error::Source(error) => error.position().map(ErrorPlace::from),
            _ => None,
        }
    }

    /// True if a load that had begun has left the tables as they were, and its error does not say so.
    pub fn leaves_table_unchanged(&self) -> bool {
        match self {
            Error::Step { .. }
            | Error::Several { .. }
            | Error::Stopped { .. }
            | Error::Each { .. } => false,
            Error::Usage(_) | Error::Unfit { .. } | Error::Memory { .. } => false,
            Error::Server(error) if server_status(error) == NOT_BEGUN => false,
            // After a mistake of ours, only the step that failed knows.
            Error::Internal(_) => false,
            error => error.leaves_tables_as_before(),
        }
    }

    /// True if only the server can load the rows of an INSERT, as statements: `load::load_from`
    /// gives up at the first such row, and the target is unchanged.
    pub fn is_not_plain(&self) -> bool {
        match self {
            Error::NotPlain(_) | Error::Source(sources::Error::NotPlain { .. }) => true,
            Error::Step { error, .. } => error.is_not_plain(),
            _ => false,
        }
    }

    /// True if the tables are as they were before the load, as far as is known.
    pub fn leaves_tables_as_before(&self) -> bool {
        use server::Error as E;
        match self {
            Error::Step { error, .. }
            | Error::Several { error, .. }
            | Error::Replica { error, .. }
            | Error::Shard { error, .. }
            | Error::Prepared { error, .. } => error.leaves_tables_as_before(),
            Error::AllIn { .. }
            | Error::SwapUnknown { .. }
            | Error::Appended { .. }
            | Error::StoppedAdding { .. }
            | Error::LostCommits { .. }
            | Error::NotRolledBack { .. }
            | Error::Pending { .. }
            | Error::LostBranches { .. }
            | Error::Shards { .. }
            | Error::OnReplicas { .. }
            | Error::Each { .. }
            | Error::Miscounted { .. }
            | Error::Server(E::CommitUnknown(_) | E::Unanswered(_)) => false,
            _ => true,
        }
    }

    /// True if the error itself tells the state of the tables: they have all rows, or may have
    /// them.
    pub fn is_told(&self) -> bool {
        self.is_unknown() || matches!(self, Error::AllIn { .. })
    }

    /// True if nobody knows whether the rows are in. What proves it on the server has to stay for the next load.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Error::SwapUnknown { .. } | Error::Server(server::Error::CommitUnknown(_)))
    }

    /// The error of a step, with leftovers of the load after `cleaned` up. An error that tells
    /// enough by itself stays as it is.
    pub fn in_step(
        self,
        step: &'static str,
        target: &Lock,
        cleaned: Result<(), server::Error>,
    ) -> Error {
        use server::Error as E;
        let plain = !matches!(
            &self,
            Error::Server(
                E::Lost { .. } | E::Statement { .. } | E::Connect { .. } | E::Answer { .. }
            ) | Error::Internal(_)
        );
        let name = &target.table.name;
        let now = if self.is_told() { String::new() } else { format!("{name} is unchanged; ") };
        let clean = cleaned.is_ok();
        let state = match cleaned {
            Ok(()) if plain => return self,
            // The same load would end in the same way.
            Ok(()) if matches!(&self, Error::Server(error) if error.has_advice()) => {
                format!("{now}the load left nothing behind")
            }
            Ok(()) => {
                let remedy = self.remedy().unwrap_or_else(|| "load again".to_owned());
                format!("{now}the load left nothing behind; {remedy}")
            }
            Err(error) => format!(
                "{now}{} and its files could not be removed; the next load of the table removes \
                 them ({error})",
                target.names.staging
            ),
        };
        Error::Step { step, error: Box::new(self), state, clean }
    }

    /// The remedy for an error of the server that has no advice of its own; none where the same load may succeed.
    pub(super) fn remedy(&self) -> Option<String> {
        let Error::Server(error) = self else { return None };
        (error.errno() == Some(ER_ROW_IS_REFERENCED)).then(|| {
            format!(
                "{} replaces rows that other tables refer to, and {} with {} changes them and deletes none",
                PATH.with("direct"),
                MODE.with("append"),
                ON_DUPLICATE.with("update")
            )
        })
    }
}

/// Conditions that the user has to change are usage errors, also when the server reports them.
/// These come before anything is done.
fn server_status(error: &server::Error) -> u8 {
    use server::Error as E;
    match error {
        E::NoTable(_)
        | E::Option(_)
        | E::OptionFile { .. }
        | E::Unsupported { .. }
        | E::Collation(_)
        | E::NoServer(..)
        | E::Leftover(_)
        | E::Downgrade { .. } => NOT_BEGUN,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::report::Report;

    fn refused(errno: u16) -> Error {
        let words = String::new;
        let (sqlstate, message, statement) = (words(), words(), words());
        Error::Server(server::Error::Statement { errno, sqlstate, message, statement })
    }

    fn several(error: Error) -> Error {
        Error::Several {
            table: "d.t".to_owned(),
            step: "rows",
            error: Box::new(error),
            tables: 2,
            left: None,
            others: Vec::new(),
        }
    }

    #[test]
    fn a_load_that_failed_says_once_what_became_of_the_table() {
        let lock = || {
            let (target, holders) = ("d.t".to_owned(), Vec::new());
            Error::Server(server::Error::LockWait { target, seconds: 1, holders })
        };
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let full = Error::Io { doing: "writing", path: "/tmp/run".into(), source: full };
        assert!(lock().leaves_table_unchanged() && full.leaves_table_unchanged());
        let unknown = server::Error::CommitUnknown("d.t".to_owned());
        for error in [several(lock()), Error::Server(unknown), Error::Usage("--fill".to_owned())] {
            assert!(!error.leaves_table_unchanged(), "{error}");
        }
        let each = Error::Each {
            table: "d.b".to_owned(),
            error: Box::new(lock()),
            done: vec![Report { target: "d.a".to_owned(), ..Report::default() }],
        };
        assert!(each.to_string().ends_with("; d.b is unchanged; already loaded: d.a"), "{each}");
    }

    #[test]
    fn rows_that_others_refer_to_are_not_to_be_loaded_again_in_the_same_way() {
        let remedy = |errno| refused(errno).remedy();
        assert!(
            remedy(ER_ROW_IS_REFERENCED).is_some_and(|text| text.starts_with("--path direct "))
        );
        assert_eq!(remedy(1146), None);
        let of_several = |errno| several(refused(errno)).to_string();
        assert!(
            of_several(ER_ROW_IS_REFERENCED).contains("was changed; --path direct replaces rows"),
            "{}",
            of_several(ER_ROW_IS_REFERENCED)
        );
        assert!(of_several(1146).ends_with("none of the 2 tables was changed"));
    }
}
