//! Why a replay ended.

use crate::place::Place;

/// Why a replay ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A statement of the dump.
    #[error("{place}: {error}")]
    At {
        /// Where it is.
        place: Box<Place>,
        /// The cause.
        error: Box<Error>,
    },
    /// A load of rows.
    #[error(transparent)]
    Load(#[from] load::Error),
    /// The server.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// The dump cannot be read.
    #[error(transparent)]
    Source(#[from] sources::Error),
    /// A wrong option, or a dump that cannot be replayed; nothing was done.
    #[error("{0}")]
    Usage(String),
    /// A dump, or a part of it, that cannot go on this way.
    #[error("{0}")]
    Refused(String),
    /// Somebody asked for the end.
    #[error("{by}: the replay was stopped; the same command continues with the unfinished tables")]
    Stopped {
        /// Name of the signal.
        by: &'static str,
    },
}

impl Error {
    /// Exit status of a command that ends with this.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Usage(_) => 2,
            _ => 1,
        }
    }

    /// Changes what the server said.
    pub(crate) fn reword(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Error::Server(server::Error::Statement { message, statement, .. }) => {
                change(message);
                change(statement);
            }
            Error::At { error, .. } => error.reword(change),
            _ => {}
        }
    }

    /// True if `--force` goes on behind it: the server refused a statement, and still answers.
    pub(crate) fn is_passed_over(&self) -> bool {
        match self {
            Error::Server(server::Error::Statement { .. }) | Error::Refused(_) => true,
            Error::Load(_) => true,
            Error::At { error, .. } => error.is_passed_over(),
            _ => false,
        }
    }

    /// The same with the place of the statement that it is about; one that has a place keeps it.
    pub(crate) fn at(self, place: Place) -> Error {
        match self {
            error @ (Error::At { .. } | Error::Usage(_) | Error::Stopped { .. }) => error,
            error => Error::At { place: Box::new(place), error: Box::new(error) },
        }
    }
}
