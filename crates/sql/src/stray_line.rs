//! Lines that a dump program or a terminal wrote into a dump by accident: `mysqldump .. > dump.sql 2>&1`.

use crate::command::line_size;

/// The prompt of the client programs, behind which the dump may begin in the same line.
const PROMPT: &[u8] = b"Enter password:";
/// Programs whose messages begin with their name.
const PROGRAMS: [&[u8]; 2] = [b"mysqldump", b"mariadb-dump"];
/// Beginnings of messages behind which the program goes on. Source: `client/mysqldump.cc` of both servers.
const WARNINGS: [&[u8]; 4] = [b"[Warning]", b"[Note]", b"Warning:", b"Deprecated program name"];
/// Tablespaces are the only part that the program leaves out and goes on.
const WITHOUT_TABLESPACES: &[u8] = b"when trying to dump tablespaces";
/// Messages of mysqldump 5.6 and later without its name.
const NAMELESS: [&[u8]; 3] = [
    b"Warning: Using a password on the command line",
    b"Warning: A partial dump from a server that has GTIDs",
    b"Warning: A dump from a server that has GTIDs",
];

/// A line, or its beginning, that is no SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrayLine {
    /// Its bytes, with the end of the line.
    pub size: usize,
    /// True for a message behind which the program gives up: the dump is not whole.
    pub is_error: bool,
}

impl StrayLine {
    /// The stray line that this text begins with.
    pub fn of(text: &[u8]) -> Option<StrayLine> {
        let line = &text[..line_size(text)];
        if line.get(..PROMPT.len()).is_some_and(|head| head.eq_ignore_ascii_case(PROMPT)) {
            let blanks = line[PROMPT.len()..].iter().take_while(|byte| byte.is_ascii_whitespace());
            return Some(StrayLine { size: PROMPT.len() + blanks.count(), is_error: false });
        }
        let size = line.len();
        if NAMELESS.iter().any(|known| line.starts_with(known)) {
            return Some(StrayLine { size, is_error: false });
        }
        let message = message(line)?;
        let is_warning = WARNINGS.iter().any(|begin| message.starts_with(begin))
            || memchr::memmem::find(message, WITHOUT_TABLESPACES).is_some();
        Some(StrayLine { size, is_error: !is_warning })
    }
}

/// The words of a program behind its name, which may have a path: `/usr/bin/mysqldump: ..`.
fn message(line: &[u8]) -> Option<&[u8]> {
    let (program, message) = line.split_at_checked(memchr::memmem::find(line, b": ")?)?;
    let name = program.rsplit(|byte| matches!(byte, b'/' | b'\\')).next()?;
    let name = name.strip_suffix(b".exe").unwrap_or(name);
    PROGRAMS.contains(&name).then(|| message[2..].trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_programs_are_told_from_sql() {
        let cases: [(&str, Option<(usize, bool)>); 15] = [
            ("mysqldump: [Warning] Using a password can be insecure.\nSET", Some((55, false))),
            ("mysqldump: Deprecated program name. It will\r\n", Some((45, false))),
            ("/usr/bin/mariadb-dump: Deprecated program name.", Some((47, false))),
            ("Warning: Using a password on the command line interface\n", Some((56, false))),
            ("Warning: BEGIN NOT ATOMIC\n", None),
            (
                "mysqldump: Error: 'Access denied; you need (at least one of) the PROCESS privilege(s) \
              for this operation' when trying to dump tablespaces",
                Some((137, false)),
            ),
            ("mysqldump: Error 2013: Lost connection\n", Some((39, true))),
            ("mysqldump: Got error: 1045: Access denied\n", Some((42, true))),
            ("mariadb-dump.exe: Couldn't find table: \"x\"\n", Some((43, true))),
            ("C:\\bin\\mysqldump.exe: Got errno 28 on write\n", Some((44, true))),
            ("Enter password: -- MySQL dump", Some((16, false))),
            ("Enter password: \r\n-- MySQL dump", Some((18, false))),
            ("mysqldump", None),
            ("INSERT INTO t VALUES ('mysqldump: x')", None),
            ("-- mysqldump: Error 1", None),
        ];
        for (text, expected) in cases {
            let found = StrayLine::of(text.as_bytes()).map(|line| (line.size, line.is_error));
            assert_eq!(found, expected, "{text}");
        }
    }
}
