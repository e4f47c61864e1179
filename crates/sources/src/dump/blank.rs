//! Text before a statement: space, comments, delimiters.

use sql::{Inside, Problem};

use super::problem::{SHOWN_BYTES, check_line_end, problem};
use super::window::Window;
use crate::error::Result;

/// Bytes that tell a comment of the client from one of a server: `/*M!`, a version, `\-`.
const MARK_BYTES: usize = 4 + VERSION_DIGITS + 2;
/// Most digits of a version.
const VERSION_DIGITS: usize = 6;

/// Behind this mark, which mariadb-dump writes first, the client does not run `source`.
const SANDBOX: &[u8] = b"M!999999\\-";

/// Goes to the first word of a statement; false if there is none left. Empty statements, comments
/// and the line by which mariadb-dump forbids the client its commands are passed over.
///
/// Errors: reading; a comment that is not closed, which would hide all that is behind it.
pub(super) fn skip_blank(window: &mut Window, delimiter: &[u8]) -> Result<bool> {
    loop {
        window.need(MARK_BYTES.max(delimiter.len()))?;
        let bytes = window.bytes();
        match bytes {
            [] => return Ok(false),
            _ if bytes.starts_with(delimiter) => window.take(delimiter.len()),
            [byte, ..] if is_blank(*byte) => {
                let size = bytes.iter().position(|&byte| !is_blank(byte));
                window.take(size.unwrap_or(bytes.len()));
            }
            // Also without space behind it: it could only be an error.
            [b'#', ..] | [b'-', b'-', ..] => {
                window.look_at_comment()?;
                check_line_end(window)?;
                skip_past(window, b"\n")?;
            }
            [b'/', b'*', behind @ ..] if !is_version(behind) => {
                window.is_sandboxed |= behind.starts_with(SANDBOX);
                window.need(SHOWN_BYTES)?;
                let unclosed = problem(window, 0, Problem::of_open(Inside::Block), b"");
                if !skip_past(window, b"*/")? {
                    return Err(unclosed);
                }
            }
            _ => return Ok(true),
        }
    }
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// True if `/*` with this behind it is a comment that a server may run. `/*M!999999\- enable the
/// sandbox mode */` is for the client alone, and so is `/*!\C utf8mb4 */` of mariadb-binlog, which
/// sets the session's character sets behind it.
fn is_version(behind: &[u8]) -> bool {
    let text = match behind {
        [b'!', text @ ..] | [b'M', b'!', text @ ..] => text,
        _ => return false,
    };
    let digits = text.iter().take(VERSION_DIGITS).take_while(|byte| byte.is_ascii_digit()).count();
    !matches!(text[digits..], [b'\\', b'-' | b'C', ..])
}

/// Takes everything up to and with `end`, in bounded memory. False if the input ends before, all of which is taken.
fn skip_past(window: &mut Window, end: &[u8]) -> Result<bool> {
    // Behind the mark that opens: `/*/` is open still.
    window.take(if end.len() > 1 { 2 } else { 1 });
    loop {
        let bytes = window.bytes();
        if let Some(at) = memchr::memmem::find(bytes, end) {
            window.take(at + end.len());
            return Ok(true);
        }
        if window.is_last() {
            window.take(bytes.len());
            return Ok(false);
        }
        // The first half of it may stand at the end.
        window.take(bytes.len().saturating_sub(end.len() - 1));
        window.fill()?;
    }
}
