//! What a dump can have that cannot be played.

use super::lexer::Inside;
use super::window::Window;
use crate::error::Error;

/// Bytes of a statement in messages.
const SHOWN_BYTES: usize = 80;

/// Why a statement cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Longer than a statement may be.
    #[error(
        "the statement is longer than {bytes_max} bytes; a quote not closed or a delimiter not set \
         back is the usual cause, else it takes more --memory"
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

/// What is open at the end of an input.
pub(super) fn open(inside: Inside) -> Problem {
    let what = match inside {
        Inside::Quotes(b'"') => "a quote (\")",
        Inside::Quotes(b'`') => "a quoted name (`)",
        Inside::Quotes(_) => "a quote (')",
        _ => "a comment (/*)",
    };
    Problem::Open { what }
}

/// An error at `bytes()[at]` of a statement of which `head` was taken.
pub(super) fn problem(window: &Window, at: usize, problem: Problem, head: &[u8]) -> Error {
    Error::Sql { at: window.position(at), problem, statement: begin(head, window.bytes()) }
}

/// How a statement of these two parts begins, for messages.
pub(super) fn begin(head: &[u8], rest: &[u8]) -> String {
    let shown: Vec<u8> = head.iter().chain(rest).copied().take(SHOWN_BYTES).collect();
    let line = shown.split(|&byte| byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line).trim_end().to_owned()
}
