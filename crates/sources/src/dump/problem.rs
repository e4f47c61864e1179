//! Errors at a place of a dump.

use sql::Problem;

use super::window::Window;
use crate::error::Error;

/// Bytes of a statement in messages.
pub(super) const SHOWN_BYTES: usize = 80;

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
