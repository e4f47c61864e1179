//! Statements that are bytes: those of a dump, whatever character set it was written in.
//!
//! The protocol carries bytes, and the server reads them in the session's `character_set_client`.
//! Only the driver asks for text.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mysql::prelude::Queryable;
use mysql::{LocalInfileHandler, QueryResult, Text};

use crate::error::{Error, Result, shorten};
use crate::session::{Done, Session};

/// Bytes of a statement that an error is made of.
const HEAD_BYTES: usize = 1000;
/// First words of a statement whose text is rows: words that look like secrets are data.
const ROWS: [&str; 2] = ["INSERT", "REPLACE"];

impl Session {
    /// Runs a statement of any bytes, in the character set that the session is set to, and reads
    /// all that it answers with. What it did is what its last answer says, but for the counts,
    /// which are summed: a CALL, or statements with `;` in between, answer more than once.
    ///
    /// LOAD DATA LOCAL gets no file and is an error; the session stays good.
    pub fn exec_bytes(&mut self, sql: &[u8]) -> Result<Done> {
        let _running = self.options.interrupt.begin(&self.mark)?;
        let asked = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&asked);
        self.conn.set_local_infile_handler(Some(LocalInfileHandler::new(move |_name, _out| {
            seen.store(true, Ordering::SeqCst);
            Ok(())
        })));
        let done = with_text(sql, |sql| self.conn.query_iter(sql).and_then(read_all));
        self.conn.set_local_infile_handler(None);
        let done = done.map_err(|e| match is_rows(sql) {
            true => Error::from_driver_as(e, &label(sql)),
            false => Error::from_driver(e, &String::from_utf8_lossy(sql)),
        })?;
        match asked.load(Ordering::SeqCst) {
            true => Err(Error::Option(format!(
                "a LOAD DATA LOCAL is only sent with its data, and its file is not read from \
                 within a dump; statement: {}",
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

/// A statement's beginning, for an error.
fn label(sql: &[u8]) -> String {
    if !is_rows(sql) {
        return shorten(&String::from_utf8_lossy(sql));
    }
    let head = String::from_utf8_lossy(&sql[..sql.len().min(HEAD_BYTES)]);
    // Where the rows begin, what may look like a secret is data.
    let words = head.find('(').map_or(&*head, |at| &head[..at]);
    shorten(words) + " (..)"
}

fn is_rows(sql: &[u8]) -> bool {
    ROWS.iter().any(|word| {
        sql.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// Hands a statement to the driver, which asks for a `str`.
///
/// Bytes that are UTF-8 go the safe way. Others are called a `str` without being one, which is
/// sound as long as nobody looks at them as characters: `Conn::query_iter` of mysql 28.0.4 takes
/// `as_ref()` of what it is given and `Conn::_query` the `as_bytes()` of that, which go into the
/// packet, and nothing else is done with them (`src/conn/mod.rs`). The version is held by a test.
fn with_text<T>(sql: &[u8], run: impl FnOnce(&str) -> T) -> T {
    match str::from_utf8(sql) {
        Ok(text) => run(text),
        Err(_) => {
            // SAFETY: a str of other bytes is no undefined behaviour by itself; what is done with
            // it here uses its bytes only, see above.
            #[expect(unsafe_code, reason = "the driver takes statements as str only")]
            let text = unsafe { str::from_utf8_unchecked(sql) };
            run(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_the_one_that_was_looked_at() {
        let lock = include_str!("../../../../Cargo.lock");
        assert!(
            lock.contains("name = \"mysql\"\nversion = \"28.0.4\"\n"),
            "look at what Conn::query_iter does with its str, then change this test and with_text"
        );
    }

    #[test]
    fn labels_hold_no_rows_and_no_secrets() {
        let label = label(b"INSERT INTO `password` VALUES ('\xff')");
        assert!(!label.contains('\u{fffd}'), "{label}");
        assert_eq!(super::label(b"insert into t values (1)"), "insert into t values (..)");
        assert!(!super::label(b"CREATE USER a IDENTIFIED BY 'hunter2'").contains("hunter2"));
    }
}
