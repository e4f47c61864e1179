//! Parts of a dump that cannot be replayed.

use face::option::{MEMORY, PARTIAL};

use crate::lexer::Inside;

/// Why a statement cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Longer than a statement may be.
    #[error(
        "the statement is longer than {bytes_max} bytes; usual causes are an unclosed quote or a \
         delimiter that was not reset; otherwise use more {MEMORY}"
    )]
    TooLong {
        /// The limit.
        bytes_max: usize,
    },
    /// The input ends in quotes or a comment.
    #[error("{what} opens here and is never closed: the file may be cut short")]
    Open {
        /// In what.
        what: &'static str,
    },
    /// The input ends in the statement.
    #[error("the file ends inside this statement: the dump was cut short; make or fetch it again")]
    Cut,
    /// A command to the client.
    #[error(
        "{command} is a command for the mariadb client, not SQL, and is not run; remove it from \
         the file"
    )]
    ClientCommand {
        /// Which.
        command: String,
    },
    /// A message of the dump program, which gave up.
    #[error(
        "the dump program wrote this error into the dump, so the dump is not whole: {message}; \
         dump again, or use {PARTIAL} to load what there is"
    )]
    DumpError {
        /// Its words.
        message: String,
    },
    /// A `source` line whose file is not read.
    #[error("`source` names the file {reason}")]
    Source {
        /// The file as it is named, why not, and what to do.
        reason: String,
    },
    /// DELIMITER with nothing behind it, or a backslash.
    #[error("DELIMITER needs the text that ends a statement, without a backslash")]
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
