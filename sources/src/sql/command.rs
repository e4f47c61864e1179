//! Lines that are commands to the client.

use super::problem::{Problem, problem};
use super::token::is_word;
use super::window::Window;
use crate::error::Result;

/// Longest line of a command to the client.
pub(super) const LINE_BYTES_MAX: usize = 4 << 10;

/// Commands of the mariadb client that may stand where a statement does, DELIMITER, USE and HELP
/// left out. Source: `commands` in the server's `client/mysql.cc`.
pub(super) const CLIENT_COMMANDS: [&str; 23] = [
    "CHARSET",
    "CLEAR",
    "CONNECT",
    "COSTS",
    "EDIT",
    "EGO",
    "EXIT",
    "GO",
    "NOPAGER",
    "NOTEE",
    "NOWARNING",
    "PAGER",
    "PRINT",
    "PROMPT",
    "QUIT",
    "REHASH",
    "SANDBOX",
    "SOURCE",
    "STATUS",
    "SYSTEM",
    "TEE",
    "WARNINGS",
    "RESETCONNECTION",
];

pub(super) fn first_word(bytes: &[u8]) -> &[u8] {
    let size = bytes.iter().position(|&byte| !is_word(byte)).unwrap_or(bytes.len());
    &bytes[..size]
}

/// Bytes up to and with the end of the line, as far as a line goes.
pub(super) fn line_size(bytes: &[u8]) -> usize {
    let bytes = &bytes[..bytes.len().min(LINE_BYTES_MAX)];
    memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1)
}

/// Takes a line with DELIMITER: what it says.
///
/// Source: `com_delimiter` and `get_arg` in the server's `client/mysql.cc`.
pub(super) fn delimiter(window: &mut Window) -> Result<Vec<u8>> {
    let size = line_size(window.bytes());
    let line = window.bytes()[..size].get("DELIMITER".len()..).unwrap_or_default();
    let argument = line.trim_ascii();
    let argument = match argument {
        [quote @ (b'\'' | b'"' | b'`'), rest @ ..] => rest.split(|byte| byte == quote).next(),
        _ => argument.split(u8::is_ascii_whitespace).next(),
    };
    let argument = argument.unwrap_or_default().to_vec();
    if argument.is_empty() || argument.contains(&b'\\') {
        let error = problem(window, 0, Problem::Delimiter, b"");
        window.take(size);
        return Err(error);
    }
    window.take(size);
    Ok(argument)
}
