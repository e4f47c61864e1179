//! Lines that are commands to the client.

use crate::syntax::Syntax;
use crate::token::{TokenKind, Tokens, is_word};

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

/// First words of the statements of MariaDB and MySQL. Source: `verb_clause` and `keyword` in the servers'
/// `sql/sql_yacc.yy`.
const STATEMENTS: [&str; 71] = [
    "ALTER",
    "ANALYZE",
    "BACKUP",
    "BEGIN",
    "BINLOG",
    "CACHE",
    "CALL",
    "CHANGE",
    "CHECK",
    "CHECKSUM",
    "CLONE",
    "COMMIT",
    "CREATE",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DO",
    "DROP",
    "EXECUTE",
    "EXPLAIN",
    "FLUSH",
    "GET",
    "GRANT",
    "HANDLER",
    "HELP",
    "IF",
    "IMPORT",
    "INSERT",
    "INSTALL",
    "KILL",
    "LOAD",
    "LOCK",
    "LOOP",
    "OPTIMIZE",
    "PREPARE",
    "PURGE",
    "RELEASE",
    "RENAME",
    "REPAIR",
    "REPEAT",
    "REPLACE",
    "RESET",
    "RESIGNAL",
    "RESTART",
    "REVOKE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "SHOW",
    "SHUTDOWN",
    "SIGNAL",
    "SLAVE",
    "START",
    "STOP",
    "TABLE",
    "TRUNCATE",
    "UNINSTALL",
    "UNLOCK",
    "UPDATE",
    "USE",
    "VALUES",
    "WHILE",
    "WITH",
    "XA",
    "FOR",
    "CASE",
    "OPEN",
    "FETCH",
];

/// True if a text may be a statement, by its first word; also if it has none.
pub fn may_be_statement(text: &[u8]) -> bool {
    let mut tokens = Tokens::of_any_server(text, Syntax::default());
    match tokens.next().map(|token| token.kind) {
        None => true,
        // A label.
        Some(_) if tokens.next().is_some_and(|token| token.is_sign(b':')) => true,
        Some(first) => {
            first == TokenKind::Sign(b'(') || STATEMENTS.iter().any(|word| first.is(word))
        }
    }
}

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

/// The file of a line `source FILE` or `\. FILE`, and the bytes of the command; None for another line.
/// A delimiter ends the name, too.
///
/// Source: `com_source` in the server's `client/mysql.cc`.
pub fn source_line<'t>(text: &'t [u8], delimiter: &[u8]) -> Option<(&'t [u8], usize)> {
    let line = &text[..line_size(text)];
    let size = match line {
        [b'\\', b'.', ..] => 2,
        _ if first_word(line).eq_ignore_ascii_case(b"SOURCE") => "SOURCE".len(),
        _ => return None,
    };
    let rest = &line[size..];
    let end = memchr::memmem::find(rest, delimiter);
    let file = rest[..end.unwrap_or(rest.len())].trim_ascii();
    Some((file, end.map_or(line.len(), |end| size + end + delimiter.len())))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_no_statement_is_known_by_its_first_word() {
        for text in
            ["/*!40101 SET x=1 */", "(SELECT 1)", "a: BEGIN NOT ATOMIC END", "-- x", "create x"]
        {
            assert!(may_be_statement(text.as_bytes()), "{text}");
        }
        for text in ["id,name\n1,a", "{\"a\": 1}", "'a'", "PRAGMA foreign_keys=OFF", "1\t2"] {
            assert!(!may_be_statement(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn the_file_of_a_source_line_ends_at_the_delimiter_or_the_line() {
        for (text, delimiter, file, size) in [
            ("source load_titles.dump ;\nx", ";", "load_titles.dump", 25),
            ("SOURCE a b.sql\r\nx", ";", "a b.sql", 16),
            ("\\. a.sql\n", ";", "a.sql", 9),
            ("source a;b//x", "//", "a;b", 12),
            ("source", ";", "", 6),
        ] {
            let found = source_line(text.as_bytes(), delimiter.as_bytes());
            assert_eq!(found, Some((file.as_bytes(), size)), "{text}");
        }
        assert_eq!(source_line(b"sources a", b";"), None);
    }
}
