//! The meaning of a server's refusal for the rows that were sent.

use std::time::Duration;

use encode::rejects::Reject;
use job::error::Error;
use job::position::Position;

use crate::retry::Cause;

/// Why a chunk did not go in.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It can be sent again. [`super::Sender::send`] does so itself and does not give this, except
    /// where all chunks are one transaction, which is lost: the load can only begin anew.
    Again(Again),
    /// A row has the key of another one, and that is to fail the load.
    Duplicate {
        /// Where the row is.
        position: Position,
        /// The server's words: which key of which index.
        message: String,
    },
    /// The chunk alone has more rows that are refused than may be; these are the first ones that the server refused,
    /// in order, each behind its first byte in the chunk. Nothing of it is in.
    Rejected(Vec<(usize, Reject)>),
    /// Anything else that ends the load.
    Failed(Error),
}

impl Trouble {
    /// As the error that ends the load, or the rows of the chunk that the server refused.
    pub(crate) fn into_error(self) -> Result<Error, Vec<(usize, Reject)>> {
        match self {
            Trouble::Again(again) => Ok(again.error.into()),
            Trouble::Duplicate { position, message } => {
                Ok(Error::DuplicateRow { position: Box::new(position), message })
            }
            Trouble::Rejected(rejects) => Err(rejects),
            Trouble::Failed(error) => Ok(error),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Failed(error)
    }
}

/// A try that failed for a reason that passes.
#[derive(Debug)]
pub(crate) struct Again {
    /// Its kind.
    pub(crate) cause: Cause,
    /// Tries of this chunk that failed so far, from 1.
    pub(crate) tries: u32,
    /// Time until the next one.
    pub(crate) pause: Duration,
    /// The error of the server or the driver.
    pub(crate) error: server::Error,
}
