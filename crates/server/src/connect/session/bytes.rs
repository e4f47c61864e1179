//! Statements that are bytes: those of a dump, whatever character set it was written in.
//!
//! The protocol carries bytes, and the server reads them in the session's `character_set_client`.
//! Only the driver asks for text, so a statement that is no UTF-8 goes in hexadecimal digits, which
//! the server turns into its bytes before it reads them as a statement:
//!
//! ```text
//! MariaDB  EXECUTE IMMEDIATE x'53454c454354..'
//! longer   SET @_inrush_statement=x'..'; SET @_inrush_statement=CONCAT(@_inrush_statement, x'..');
//!          EXECUTE IMMEDIATE @_inrush_statement
//! MySQL    as the longer ones; PREPARE _inrush_statement FROM @_inrush_statement; EXECUTE ..
//! ```
//!
//! A string of digits has the character set binary, of which no byte is converted on its way to
//! `character_set_client`.
//! Source: MariaDB 10.11, sql/sql_prepare.cc, `LEX::get_dynamic_sql_string`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler, QueryResult, Text};

use crate::error::{Error, Result, shorten};
use crate::session::{Done, Session};
use crate::version::Flavor;

/// Bytes of a statement that an error is made of.
const HEAD_BYTES: usize = 1000;
/// Bytes of a statement that go at once as digits: less than the smallest `max_allowed_packet` that
/// servers are set to.
const PIECE_BYTES: usize = 480 << 10;
/// The user variable of a statement that comes in pieces.
const STATEMENT: &str = "_inrush_statement";
/// Server errors of a statement that cannot be prepared.
const ER_UNSUPPORTED_PS: u16 = 1295;
/// First words of a statement whose text is rows: numbers in them are data.
const ROWS: [&str; 2] = ["INSERT", "REPLACE"];

impl Session {
    /// Runs a statement of any bytes, in the session's character set, and reads all its answers.
    /// The result is that of the last answer, except for the counts, which are summed: a CALL, or
    /// statements with `;` in between, answer more than once.
    ///
    /// LOAD DATA LOCAL gets no file and is an error; the session stays good. Several statements at
    /// once have to be UTF-8.
    pub fn exec_bytes(&mut self, sql: &[u8]) -> Result<Done> {
        let _running = self.options.interrupt.begin(&self.mark)?;
        let asked = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&asked);
        self.driver.set_local_infile_handler(Some(LocalInfileHandler::new(move |_name, _out| {
            seen.store(true, Ordering::SeqCst);
            Ok(())
        })));
        let flavor = self.version.flavor;
        let done = self.driver.call(|conn| match str::from_utf8(sql) {
            Ok(text) => read_all(conn.query_iter(text)?),
            Err(_) => read_all(in_digits(conn, flavor, sql)?),
        });
        self.driver.set_local_infile_handler(None);
        let done = done.map_err(|e| match is_rows(sql) {
            true => Error::from_driver_as(e, &label(sql)),
            false => Error::from_driver(e, &String::from_utf8_lossy(sql)),
        });
        let done = done.map_err(|e| match e.errno() {
            Some(ER_UNSUPPORTED_PS) if str::from_utf8(sql).is_err() => Error::Option(format!(
                "this server accepts the statement in UTF-8 only: convert the dump to UTF-8 \
                 (iconv), and change its SET NAMES; statement: {}",
                label(sql)
            )),
            _ => self.with_grant(e),
        })?;
        match asked.load(Ordering::SeqCst) {
            true => Err(Error::Option(format!(
                "LOAD DATA LOCAL within a dump is not supported, because its file is not read; \
                 statement: {}",
                label(sql)
            ))),
            false => Ok(done),
        }
    }
}

fn read_all(mut answer: QueryResult<'_, '_, '_, Text>) -> mysql::Result<Done> {
    let mut done = Done::default();
    while let Some(set) = answer.iter() {
        done.affected_rows += set.affected_rows();
        done.warnings = done.warnings.saturating_add(set.warnings());
        done.info = set.info_str().into_owned();
        for row in set {
            row?;
        }
    }
    Ok(done)
}

/// A statement's beginning, for an error. That of rows ends before them.
fn label(sql: &[u8]) -> String {
    let head = String::from_utf8_lossy(&sql[..sql.len().min(HEAD_BYTES)]);
    match head.find('(').filter(|_| is_rows(sql)) {
        Some(at) => shorten(&head[..at]) + " (..)",
        None => shorten(&head),
    }
}

fn is_rows(sql: &[u8]) -> bool {
    ROWS.iter().any(|word| {
        sql.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// Sends a statement of any bytes as text that spells them. Gives the answer to the statement.
fn in_digits<'c>(
    conn: &'c mut Conn,
    flavor: Flavor,
    sql: &[u8],
) -> mysql::Result<QueryResult<'c, 'c, 'c, Text>> {
    if flavor == Flavor::MariaDb && sql.len() <= PIECE_BYTES {
        return conn.query_iter(digits("EXECUTE IMMEDIATE ", sql, ""));
    }
    let mut before = format!("SET @{STATEMENT}=");
    let mut after = "";
    for piece in sql.chunks(PIECE_BYTES) {
        conn.query_drop(digits(&before, piece, after))?;
        (before, after) = (format!("SET @{STATEMENT}=CONCAT(@{STATEMENT},"), ")");
    }
    if flavor == Flavor::MariaDb {
        return conn.query_iter(format!("EXECUTE IMMEDIATE @{STATEMENT}"));
    }
    conn.query_drop(format!("PREPARE {STATEMENT} FROM @{STATEMENT}"))?;
    conn.query_iter(format!("EXECUTE {STATEMENT}"))
}

/// `before x'..' after`.
fn digits(before: &str, bytes: &[u8], after: &str) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut text = String::with_capacity(before.len() + 2 * bytes.len() + after.len() + 3);
    text.push_str(before);
    text.push_str("x'");
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
    text.push('\'');
    text.push_str(after);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spelled_in_digits() {
        assert_eq!(digits("SET @a=", b"\x00\xffz", ";"), "SET @a=x'00ff7a';");
        assert_eq!(digits("", b"", ""), "x''");
    }

    #[test]
    fn labels_hold_no_rows_and_no_secrets() {
        let label = label(b"INSERT INTO `password` VALUES ('\xff')");
        assert!(!label.contains('\u{fffd}'), "{label}");
        assert_eq!(super::label(b"insert into t values (1)"), "insert into t values (..)");
        assert!(!super::label(b"CREATE USER a IDENTIFIED BY 'hunter2'").contains("hunter2"));
    }
}
