//! Lines that are commands to the client.

use crate::token::is_word;

/// Longest line of a command to the client.
pub const LINE_BYTES_MAX: usize = 4 << 10;

/// Commands of the mariadb client that may stand where a statement does, DELIMITER, USE and HELP
/// left out. Source: `commands` in the server's `client/mysql.cc`.
pub const CLIENT_COMMANDS: [&str; 23] = [
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

/// The word that this begins with; empty if it begins with none.
pub fn first_word(bytes: &[u8]) -> &[u8] {
    let size = bytes.iter().position(|&byte| !is_word(byte)).unwrap_or(bytes.len());
    &bytes[..size]
}

/// Bytes up to and with the end of the line, as far as a line goes.
pub fn line_size(bytes: &[u8]) -> usize {
    let bytes = &bytes[..bytes.len().min(LINE_BYTES_MAX)];
    memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1)
}

/// The delimiter of a DELIMITER line; None if that cannot be one.
///
/// Source: `com_delimiter` and `get_arg` in the server's `client/mysql.cc`.
pub fn delimiter(line: &[u8]) -> Option<Vec<u8>> {
    let argument = line.get("DELIMITER".len()..).unwrap_or_default().trim_ascii();
    let argument = match argument {
        [quote @ (b'\'' | b'"' | b'`'), rest @ ..] => rest.split(|byte| byte == quote).next(),
        _ => argument.split(u8::is_ascii_whitespace).next(),
    };
    let argument = argument.unwrap_or_default();
    (!argument.is_empty() && !argument.contains(&b'\\')).then(|| argument.to_vec())
}
