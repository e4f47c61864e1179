//! Parts of a dump that cannot be replayed.

use face::option::MEMORY;

use crate::lexer::Inside;

/// Why a statement cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Longer than a statement may be.
    #[error(
        "the statement is longer than {bytes_max} bytes; a quote not closed or a delimiter not set \
         back is the usual cause, else it takes more {MEMORY}"
    )]
    TooLong {
        /// The limit.
        bytes_max: usize,
    },
    /// The input ends in quotes or a comment.
    #[error("{what} opens here and is not closed before the end of the file: is it cut short?")]
    Open {
        /// In what.
        what: &'static str,
    },
    /// A command to the client.
    #[error(
        "{command} is a command to the mariadb client, not SQL, and is not run; take it out of the \
         file"
    )]
    ClientCommand {
        /// Which.
        command: String,
    },
    /// DELIMITER with nothing behind it, or a backslash.
    #[error("DELIMITER needs what is to end a statement, without a backslash")]
    Delimiter,
}

impl Problem {
    /// The problem of a construct that is open at the end of an input.
    pub fn of_open(inside: Inside) -> Problem {
        let what = match inside {
            Inside::Quotes(b'"') => "a quote (\")",
            Inside::Quotes(b'`') => "a quoted name (`)",
            Inside::Quotes(_) => "a quote (')",
            _ => "a comment (/*)",
        };
        Problem::Open { what }
    }
}
