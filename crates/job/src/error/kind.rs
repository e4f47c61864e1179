//! The kind of an error, and its table, for programs.

use server::Error as ServerError;

use super::Error;

impl Error {
    /// A word by which programs tell errors apart. The words are part of `--json`.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Usage(_) | Error::Memory { .. } => "usage",
            Error::Unfit { .. } => "unfit",
            Error::NoSpace { .. } => "space",
            Error::Rejected { .. }
            | Error::RejectedPart { .. }
            | Error::RefusedLine { .. }
            | Error::NoOrder(_)
            | Error::Conflict { .. } => "rows",
            Error::Duplicate { .. }
            | Error::DuplicateRow { .. }
            | Error::KeyTaken { .. }
            | Error::UnknownDuplicate { .. } => "duplicate",
            Error::NothingToLoad { .. } => "empty",
            Error::Stopped { .. } | Error::StoppedAdding { .. } => "stopped",
            Error::Source(_) | Error::InputChanged | Error::InputChangedSince => "input",
            Error::Io { .. } | Error::State { .. } | Error::Sort(_) => "system",
            Error::Server(error) => of_server(error),
            error => error.cause().map_or("failed", Error::kind),
        }
    }

    /// The table that the error is about, as `database.table`, if the error names one.
    pub fn table(&self) -> Option<&str> {
        match self {
            Error::Several { table, .. } | Error::Each { table, .. } => Some(table),
            Error::Unfit { target, .. }
            | Error::NothingToLoad { target, .. }
            | Error::Stopped { target, .. }
            | Error::Conflict { target, .. } => Some(target),
            error => error.cause().and_then(Error::table),
        }
    }

    /// True if rows may have been added to a table, and a ledger lists them.
    pub(crate) fn keeps_ledger(&self) -> bool {
        matches!(self, Error::Appended { .. }) || self.cause().is_some_and(Error::keeps_ledger)
    }

    /// The error that this error adds words to.
    fn cause(&self) -> Option<&Error> {
        match self {
            Error::AllIn { error, .. }
            | Error::Appended { error, .. }
            | Error::Step { error, .. }
            | Error::Replica { error, .. }
            | Error::Shard { error, .. }
            | Error::Prepared { error, .. }
            | Error::OnReplicas { error, .. }
            | Error::Several { error, .. }
            | Error::Each { error, .. } => Some(error),
            _ => None,
        }
    }
}

fn of_server(error: &ServerError) -> &'static str {
    match error {
        ServerError::Connect { .. } => "connect",
        ServerError::Option(_) | ServerError::OptionFile { .. } => "usage",
        ServerError::NoTable(_) | ServerError::NotEmpty(_) | ServerError::Unsupported { .. } => {
            "unfit"
        }
        ServerError::Orphans(_) => "foreign-key",
        ServerError::Busy { .. } | ServerError::LockWait { .. } => "lock",
        _ => "server",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_one_of_several_tables_has_the_kind_of_its_cause() {
        let cause = Error::Server(ServerError::NoTable("shop.item".to_owned()));
        let error = Error::Several {
            table: "shop.item".to_owned(),
            step: "inspect",
            error: Box::new(cause),
            tables: 2,
            left: None,
            others: Vec::new(),
        };
        assert_eq!((error.kind(), error.table()), ("unfit", Some("shop.item")));
    }
}
