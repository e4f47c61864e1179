//! Why a replay ended.

use send::retry::{Class, classify};

use crate::place::Place;

/// Why a replay ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A statement of the dump.
    #[error("{place}: {}", error.cause())]
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
    /// Rows of several connections, some of which are committed.
    #[error(
        "the server has committed a part of the rows of {table} and refused the rest: {error}; the \
         same command commits the rest"
    )]
    PartlyCommitted {
        /// `db.table`.
        table: String,
        /// The cause.
        error: Box<Error>,
    },
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

    /// The error beside the place of its statement, which shows the statement of the dump. The server may
    /// have got another one.
    pub(crate) fn cause(&self) -> String {
        let text = self.to_string();
        match self {
            Error::Server(server::Error::Statement { statement, .. }) => {
                let end = format!("; statement: {statement}");
                text.strip_suffix(&end).unwrap_or(&text).to_owned()
            }
            Error::Server(error) if error.is_cut() => {
                format!("{text}; the same command continues the replay")
            }
            _ => text,
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

    /// True if `--force` goes on behind it: a statement, or the rows of a table, were refused for good.
    ///
    /// Statements that did not run because of a signal, a KILL, a lost connection or a lock are not
    /// refused: the same command runs them. Deadlocks also roll back the statements before them.
    pub(crate) fn is_passed_over(&self) -> bool {
        use load::Error as E;
        match self {
            Error::Server(error) => is_refusal(error),
            Error::Refused(_) => true,
            Error::Load(error) => match innermost(error) {
                E::Source(sources::Error::Stopped { .. }) => false,
                E::Source(_) | E::InputChanged | E::Internal(_) | E::Miscounted { .. } => true,
                E::Server(error) => is_refusal(error),
                _ => false,
            },
            Error::At { error, .. } => error.is_passed_over(),
            _ => false,
        }
    }

    /// True if the server has refused a statement of the dump, so that the same command goes on there.
    pub fn is_refused_statement(&self) -> bool {
        let is_of_server =
            |error: &Error| matches!(error, Error::Server(error) if is_refusal(error));
        matches!(self, Error::At { error, .. } if is_of_server(error))
    }

    /// True if the server has refused a statement, and done nothing of it.
    pub(crate) fn is_certain(&self) -> bool {
        match self {
            Error::Server(error) => is_certain(error),
            Error::Load(error) => match innermost(error) {
                load::Error::Server(error) => is_certain(error),
                _ => false,
            },
            Error::At { error, .. } => error.is_certain(),
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

/// True if the server has refused a statement, and done nothing of it.
pub(crate) fn is_certain(error: &server::Error) -> bool {
    matches!(error, server::Error::Statement { .. }) && !error.is_unclear()
}

/// True if the server has refused a statement for good, and still answers.
pub(crate) fn is_refusal(error: &server::Error) -> bool {
    is_certain(error) && !matches!(classify(error), Class::Again(_))
}

/// The cause, without its step.
pub(crate) fn innermost(mut error: &load::Error) -> &load::Error {
    while let load::Error::Step { error: inner, .. } = error {
        error = inner;
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(errno: u16) -> server::Error {
        server::Error::Statement {
            errno,
            sqlstate: "HY000".to_owned(),
            message: String::new(),
            statement: "CREATE VIEW v".to_owned(),
        }
    }

    #[test]
    fn force_passes_over_what_is_refused_for_good() {
        // A table that is missing, one that exists, a duplicate, a syntax error, a right, a full disk.
        for errno in [1146, 1050, 1062, 1064, 1142, 1021] {
            assert!(Error::Server(refused(errno)).is_passed_over(), "{errno}");
            assert!(Error::Load(refused(errno).into()).is_passed_over(), "{errno}");
        }
        // Killed, out of time, shut down, no lock, a deadlock, a row that has changed.
        for errno in [1317, 1969, 3024, 1053, 1927, 1205, 1213, 1020] {
            assert!(!Error::Server(refused(errno)).is_passed_over(), "{errno}");
            let step = load::Error::Step {
                step: "rows",
                error: Box::new(refused(errno).into()),
                state: String::new(),
                clean: true,
            };
            assert!(!Error::Load(step).at(Place::default()).is_passed_over(), "{errno}");
        }
    }

    #[test]
    fn force_does_not_pass_over_a_signal_or_a_journal_that_cannot_be_written() {
        let (target, source) = ("d.t".to_owned(), || std::io::Error::other("no room"));
        let stopped =
            || load::Error::Stopped { by: "SIGINT", stage: "rows", target: target.clone() };
        let unread = sources::Error::Stopped { path: "d.sql".into() };
        for error in [
            stopped(),
            load::Error::Server(server::Error::Interrupted),
            load::Error::Source(unread),
            load::Error::State { path: "state".into(), source: source() },
            load::Error::io("writing", "state".as_ref())(source()),
            load::Error::SwapUnknown { target: target.clone(), reason: "lost".to_owned() },
        ] {
            let text = error.to_string();
            assert!(!Error::Load(error).is_passed_over(), "{text}");
        }
        assert!(!Error::Server(server::Error::Interrupted).is_passed_over());
    }
}
