//! Questions of a statement about those before it, which the server answers for its own session only.
//!
//! A replay asks the dump's session things of its own between two statements of the dump, and has rows
//! put in by other sessions. So `ROW_COUNT()` and the like would be answered for something else, without
//! a word; they are refused. `LAST_INSERT_ID()` outlives what is asked in between, but not rows of which
//! the dump's session knows nothing.

use schema::TableName;
use server::Session;
use sql::{Syntax, Token, Tokens};

use crate::error::Error;
use crate::order::has_word;

/// Functions of the statement just before.
const COUNTS: [&str; 2] = ["row_count", "found_rows"];
/// Variables of it.
const COUNTERS: [&str; 2] = ["warning_count", "error_count"];
/// The number that the server gave last, as a function and as variables.
const NUMBER: &str = "last_insert_id";
const NUMBERS: [&str; 2] = [NUMBER, "identity"];

/// A question to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionQuestion {
    /// How the statement just before went.
    LastStatement,
    /// The last number that the server gave a row of this session.
    LastNumber,
}

impl SessionQuestion {
    /// True if a text may ask something: by words, wherever they stand.
    pub(crate) fn may_be_by(text: &[u8]) -> bool {
        let words = COUNTS.iter().chain(&COUNTERS).chain(&NUMBERS).chain(&["diagnostics"]);
        words.into_iter().any(|word| has_word(text, word.as_bytes()))
    }

    /// The question of a statement, or of the rows of one; None if there is none.
    pub(crate) fn by(text: &[u8], syntax: Syntax) -> Option<SessionQuestion> {
        let words: Vec<Token<'_>> = Tokens::of_any_server(text, syntax).collect();
        let asked = |at| SessionQuestion::at(&words, at);
        let found: Vec<SessionQuestion> = (0..words.len()).filter_map(asked).collect();
        // Nobody can answer the first, the other perhaps.
        found
            .iter()
            .copied()
            .find(|one| *one == SessionQuestion::LastStatement)
            .or(found.first().copied())
    }

    /// The question of the word at `at` and those around it.
    fn at(words: &[Token<'_>], at: usize) -> Option<SessionQuestion> {
        let name = words[at].name()?;
        let is = |known: &&str| name.eq_ignore_ascii_case(known.as_bytes());
        let is_sign = |at: usize, sign| words.get(at).is_some_and(|word| word.is_sign(sign));
        let is_call = is_sign(at + 1, b'(');
        // With a number of its own, it is set to that.
        let is_empty_call = is_call && is_sign(at + 2, b')');
        match is_variable(words, at) {
            true if COUNTERS.iter().any(is) => Some(SessionQuestion::LastStatement),
            true if NUMBERS.iter().any(is) => Some(SessionQuestion::LastNumber),
            false if is_call && COUNTS.iter().any(is) => Some(SessionQuestion::LastStatement),
            false if is_empty_call && is(&NUMBER) => Some(SessionQuestion::LastNumber),
            false if is(&"diagnostics") && words[0].is("get") => {
                Some(SessionQuestion::LastStatement)
            }
            _ => None,
        }
    }
}

/// True if a word is `@@name` or `@@session.name`.
fn is_variable(words: &[Token<'_>], at: usize) -> bool {
    let sign = |back: usize, sign| at.checked_sub(back).is_some_and(|at| words[at].is_sign(sign));
    let is_plain = sign(1, b'@') && sign(2, b'@');
    is_plain || (sign(1, b'.') && sign(3, b'@') && sign(4, b'@'))
}

/// Tracks if the dump's session knows the server's last generated number.
#[derive(Debug, Default)]
pub(crate) struct LastNumber {
    /// The table that rows went into since by another session, or before this replay.
    elsewhere: Option<TableName>,
}

impl LastNumber {
    /// Rows went into this table without the dump's session, which is asked by `dump`. `numbers`: the
    /// server may have counted them.
    pub(crate) fn went(
        &mut self,
        dump: &mut Session,
        table: &TableName,
        numbers: bool,
    ) -> Result<(), Error> {
        if numbers {
            // Another number comes with the next row that is counted in this session only.
            dump.query("SELECT LAST_INSERT_ID(0)")?;
            self.elsewhere = Some(table.clone());
        }
        Ok(())
    }

    /// Before a statement, or rows, of the dump's.
    ///
    /// Errors: it would be answered otherwise than the client is.
    pub(crate) fn check(
        &self,
        dump: &mut Session,
        asked: Option<SessionQuestion>,
    ) -> Result<(), Error> {
        let Some(asked) = asked else { return Ok(()) };
        if asked == SessionQuestion::LastStatement {
            return Err(Error::Refused(
                "this statement reads results of the statement before it (ROW_COUNT() and the \
                 like), but the replay has run other statements since: use the mariadb client for \
                 this dump"
                    .to_owned(),
            ));
        }
        let Some(table) = &self.elsewhere else { return Ok(()) };
        match dump.query_text("SELECT LAST_INSERT_ID()")?.as_deref() {
            Some("0") | None => Err(Error::Refused(format!(
                "this statement reads a row's generated number (LAST_INSERT_ID() and the like), \
                 but other connections loaded the rows of {table}: use the mariadb client for \
                 this dump"
            ))),
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_about_the_statement_before_it_is_found_and_nothing_else() {
        let last = Some(SessionQuestion::LastStatement);
        let number = Some(SessionQuestion::LastNumber);
        for (text, expected) in [
            ("UPDATE t SET v = ROW_COUNT()", last),
            ("(1, row_count ( ) )", last),
            ("(1),(/*!50000 FOUND_ROWS() */)", last),
            ("CREATE TABLE u AS SELECT ROW_COUNT() AS n", last),
            ("SET @n = @@warning_count", last),
            ("SET @n = @@session.error_count", last),
            ("GET DIAGNOSTICS @n = ROW_COUNT", last),
            ("(LAST_INSERT_ID(), ROW_COUNT())", last),
            ("(LAST_INSERT_ID() + 1)", number),
            ("SET @n = @@identity, @m = @@SESSION . Last_Insert_Id", number),
            ("(LAST_INSERT_ID(LAST_INSERT_ID() + 1))", number),
            ("(LAST_INSERT_ID(7))", None),
            ("('ROW_COUNT()', \"@@identity\")", None),
            ("INSERT INTO row_count (last_insert_id) VALUES (1)", last),
            ("UPDATE t SET row_count = identity + @identity", None),
            ("UPDATE diagnostics SET a = 1 -- ROW_COUNT()", None),
            ("", None),
        ] {
            assert_eq!(SessionQuestion::by(text.as_bytes(), Syntax::default()), expected, "{text}");
        }
    }
}
