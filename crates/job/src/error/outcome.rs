//! The state that an error leaves: of the program, of the tables, of the load.

use targets::Lock;

use super::Error;
use crate::position::ErrorPlace;

impl Error {
    /// Exit status of the program: 2 when nothing was started, else 1.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Usage(_)
            | Error::Unfit { .. }
            | Error::NoSpace { .. }
            | Error::NothingToLoad { rejects: 0, .. }
            | Error::Memory { .. } => 2,
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

    /// True of a fault of the input's rows, which ends a load before any row is published. A load whose rows are
    /// in the table in part says so by [`Error::Appended`].
    pub fn leaves_table_unchanged(&self) -> bool {
        matches!(
            self,
            Error::Rejected { .. }
                | Error::RejectedPart { .. }
                | Error::NothingToLoad { .. }
                | Error::NoOrder(_)
                | Error::Duplicate { .. }
                | Error::UnknownDuplicate { .. }
                | Error::DuplicateRow { .. }
                | Error::KeyTaken { .. }
                | Error::NotMerged(_)
                | Error::NotRouted(_)
                | Error::Source(_)
        )
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
            Error::Step { error, .. } | Error::Several { error, .. } => {
                error.leaves_tables_as_before()
            }
            Error::AllIn { .. }
            | Error::SwapUnknown { .. }
            | Error::Appended { .. }
            | Error::StoppedAdding { .. }
            | Error::LostCommits { .. }
            | Error::NotRolledBack { .. }
            | Error::Prepared { .. }
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
            Ok(()) => format!("{now}the load left nothing behind; load again"),
            Err(error) => format!(
                "{now}{} and its files could not be removed; the next load of the table removes \
                 them ({error})",
                target.names.staging
            ),
        };
        Error::Step { step, error: Box::new(self), state, clean }
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
        | E::Downgrade { .. } => 2,
        _ => 1,
    }
}
