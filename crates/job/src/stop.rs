//! Why a stage ended early, as its workers say it to each other.

use crate::error::Error;
use crate::turn::Closed;

/// The reason why the workers of a stage end.
#[derive(Debug)]
pub enum Stop {
    /// A row came before the one in front of it: build again, sorting.
    Unsorted,
    /// A refused row had a say in AUTO_INCREMENT values: build again, without it.
    Renumber,
    /// Two entries of an index are equal: which rows they are is still to be found.
    Duplicate(DuplicateKey),
    /// Another worker stopped first; its reason is the one that counts.
    Abandoned,
    /// An error to report.
    Failed(Error),
}

/// Two rows with one key: which index, and the part of the key that is equal.
#[derive(Clone, Debug)]
pub struct DuplicateKey {
    /// 0 is the clustered index, then the secondary ones.
    pub index: usize,
    /// The equal part.
    pub key: Vec<u8>,
}

/// Why a worker ended early, as others ask it.
pub trait Reason: From<Error> + Send {
    /// Another worker stopped first; its reason is the one that counts.
    const ABANDONED: Self;

    /// True if the work was abandoned.
    fn is_abandoned(&self) -> bool;
}

impl Reason for Stop {
    const ABANDONED: Stop = Stop::Abandoned;

    fn is_abandoned(&self) -> bool {
        matches!(self, Stop::Abandoned)
    }
}

impl Stop {
    /// A duplicate in index `index`.
    pub fn duplicate(index: usize, key: &[u8]) -> Stop {
        Stop::Duplicate(DuplicateKey { index, key: key.to_owned() })
    }

    /// The error to report; without one, `what` has stopped for no reason.
    pub fn into_error(self, what: &str) -> Error {
        match self {
            Stop::Failed(error) => error,
            _ => Error::Internal(format!("{what} stopped without a reason")),
        }
    }
}

impl From<Closed> for Stop {
    fn from(_: Closed) -> Stop {
        Stop::Abandoned
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

impl From<sources::Error> for Stop {
    fn from(error: sources::Error) -> Stop {
        match error {
            // It was given up, or all of the load is to end: nothing of its own.
            sources::Error::Stopped { .. } => Stop::Abandoned,
            error => Stop::Failed(error.into()),
        }
    }
}

impl From<server::Error> for Stop {
    fn from(error: server::Error) -> Stop {
        Stop::Failed(error.into())
    }
}

impl From<sort::Error> for Stop {
    fn from(error: sort::Error) -> Stop {
        Stop::Failed(error.into())
    }
}

impl From<innodb::error::Error> for Stop {
    fn from(error: innodb::error::Error) -> Stop {
        Stop::Failed(error.into())
    }
}
