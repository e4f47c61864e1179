//! Errors at a place of a dump.

use sql::Problem;

use super::window::Window;
use crate::error::{Error, Result};

/// Bytes of a statement in messages.
pub(super) const SHOWN_BYTES: usize = 80;

/// Bytes in which the first line of a file ends.
const FIRST_LINE_BYTES_MAX: usize = 64 << 10;

/// Refuses a file whose lines end with CR alone, at a comment or a command of its first line: nothing
/// would be behind them.
///
/// Errors: reading; [`Error::NotText`].
pub(super) fn check_line_end(window: &mut Window) -> Result<()> {
    if window.line() > 1 {
        return Ok(());
    }
    window.need(FIRST_LINE_BYTES_MAX)?;
    let bytes = window.bytes();
    let first = &bytes[..bytes.len().min(FIRST_LINE_BYTES_MAX)];
    let ends = memchr::memchr(b'\r', first).is_some_and(|at| !first[at..].trim_ascii().is_empty());
    match ends && memchr::memchr(b'\n', first).is_none() {
        true => Err(Error::NotText { path: window.path().to_owned(), what: CR_LINES }),
        false => Ok(()),
    }
}

const CR_LINES: &str = "a file whose lines end with CR alone, as on old Macs; convert it first: \
                        tr '\\r' '\\n' < FILE > NEW";

/// An error at `bytes()[at]` of a statement of which `head` was taken. Behind a command of the client may stand
/// anything, so the command is all that is shown.
pub(super) fn problem(window: &Window, at: usize, problem: Problem, head: &[u8]) -> Error {
    let statement = match &problem {
        Problem::ClientCommand { .. } => String::new(),
        _ => begin(head, window.bytes()),
    };
    Error::Sql { at: window.position(at), problem, statement }
}

/// How a statement of these two parts begins, for messages: its first line, without its texts.
pub(super) fn begin(head: &[u8], rest: &[u8]) -> String {
    let shown: Vec<u8> = head.iter().chain(rest).copied().take(SHOWN_BYTES).collect();
    let line = shown.split(|&byte| byte == b'\n').next().unwrap_or_default();
    face::statement::shown(&String::from_utf8_lossy(line), SHOWN_BYTES)
}
