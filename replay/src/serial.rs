//! Rows as the dump's own statements, one after the other, as they stand but for the table's name.

use server::Session;
use server::session::Done;
use sources::Source as _;
use sources::sql::{RowRun, RunStatement, Verb};

use crate::error::Error;
use crate::lanes;
use crate::place::{self, Place};
use crate::state::State;
use crate::token::{Modes, TokenKind, tokens};
use crate::work::{Sent, Stopped, Work};

/// Bytes of statements in a transaction, where nobody sees the table yet: with one each, many short
/// statements would all wait for the disk.
const TRANSACTION_BYTES: usize = 4 << 20;

/// Words outside of strings by which a statement asks for what only the session has that ran the
/// statements before it.
const OF_SESSION: [&str; 5] = ["LAST_INSERT_ID", "FOUND_ROWS", "ROW_COUNT", "LASTVAL", "PREVIOUS"];

/// Whose session it is that statements run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    /// The dump's, which has run all statements before.
    Dump,
    /// Another one, set to the same.
    Other,
}

/// Runs the statements of a run in their order. Into a table that others see they are one
/// transaction.
///
/// Errors: the statement that failed, with its place, but under `--force`. A shadow may hold the
/// rows before it.
pub(crate) fn send(
    work: &Work<'_>,
    mut run: RowRun,
    session: &mut Session,
    seat: Seat,
) -> Result<Sent, Stopped> {
    let is_unchecked = !work.state.is_on("unique_checks");
    if is_unchecked {
        // MariaDB would fill an empty table in a way that finds duplicates at the COMMIT, and takes
        // all statements back with one.
        session.exec("SET SESSION unique_checks=1")?;
    }
    session.exec("START TRANSACTION")?;
    let done = statements(work, &mut run, session, seat);
    // The error of the statement says more.
    let _shield = done.is_err().then(|| work.options.interrupt.shield());
    let ended = session.exec(if done.is_ok() { "COMMIT" } else { "ROLLBACK" });
    if done.is_ok() {
        ended?;
    }
    if is_unchecked {
        let set_back = session.exec("SET SESSION unique_checks=0");
        if done.is_ok() {
            set_back?;
        }
    }
    Ok(Sent { rows: done?, way: "serial", notes: Vec::new() })
}

fn statements(
    work: &Work<'_>,
    run: &mut RowRun,
    session: &mut Session,
    seat: Seat,
) -> Result<u64, Stopped> {
    let head = lanes::head(session, work.into, work.state.charset(), work.head)?;
    let (mut statement, mut text, mut rows) = (RunStatement::default(), Vec::new(), 0);
    let mut open_bytes = 0;
    while run.next_statement(&mut statement)? {
        let tuples = statement.text.get(work.head.text.len()..).unwrap_or_default();
        text.clear();
        text.extend_from_slice(&head);
        text.extend_from_slice(tuples);
        let done = match seat == Seat::Other && is_of_session(tuples, work.state) {
            true => Err(Error::Refused(
                "it asks for user variables, or for what was done before, as only the dump's own \
                 session can, and stands behind rows that went in apart from it: give a --small \
                 that is longer than these rows"
                    .to_owned(),
            )),
            false => session.exec_bytes(&text).map_err(Error::from),
        };
        let done = match done {
            Ok(done) => done,
            Err(error) => {
                let file = run.files().get(statement.file as usize);
                let file = file.map(|file| file.path.clone()).unwrap_or_default();
                let (offset, line) = (statement.offset, statement.line);
                let place = Place { file, offset, line, head: place::head(&statement.text) };
                if work.options.force && error.is_passed_over() {
                    work.watch.fail(&place, &error);
                    continue;
                }
                return Err(error.at(place).into());
            }
        };
        let count = count(&done, work.head.verb);
        rows += count;
        work.watch.add_rows(count);
        open_bytes += text.len();
        if work.is_shadow && open_bytes >= TRANSACTION_BYTES {
            session.exec("COMMIT")?;
            session.exec("START TRANSACTION")?;
            open_bytes = 0;
        }
    }
    Ok(rows)
}

/// Whether rows ask for what only the dump's own session knows: `@x`, LAST_INSERT_ID().
pub(crate) fn is_of_session(tuples: &[u8], state: &State) -> bool {
    let modes = Modes {
        ansi_quotes: state.has_mode("ANSI_QUOTES"),
        no_backslash_escapes: state.has_mode("NO_BACKSLASH_ESCAPES"),
    };
    tokens(tuples, modes).any(|token| match token.kind {
        TokenKind::Variable => true,
        TokenKind::Word => OF_SESSION.iter().any(|word| token.is_word(tuples, word)),
        _ => false,
    })
}

/// Rows of a statement: `Records: 3  Duplicates: 0  Warnings: 0`, which the server says of more
/// than one row.
pub(crate) fn count(done: &Done, verb: Verb) -> u64 {
    let said = done.info.strip_prefix("Records: ");
    let said = said.and_then(|rest| rest.split(' ').next()?.parse().ok());
    // A row that replaces another counts twice, one that is left out not at all.
    said.unwrap_or(if verb == Verb::Insert { done.affected_rows } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_session_knows_is_told_from_text() {
        for (text, is) in [
            ("(1,'a@b','last_insert_id')", false),
            ("(1,@a)", true),
            ("(@@x)", true),
            ("('a',last_insert_id())", true),
            ("(PREVIOUS VALUE FOR s)", true),
        ] {
            assert_eq!(is_of_session(text.as_bytes(), &State::default()), is, "{text}");
        }
    }

    #[test]
    fn rows_are_those_that_were_sent() {
        let done = |affected_rows, info: &str| Done {
            affected_rows,
            info: info.to_owned(),
            ..Done::default()
        };
        assert_eq!(count(&done(6, "Records: 3  Duplicates: 3  Warnings: 0"), Verb::Replace), 3);
        assert_eq!(count(&done(2, ""), Verb::Replace), 1);
        assert_eq!(count(&done(0, ""), Verb::InsertIgnore), 1);
        assert_eq!(count(&done(1, ""), Verb::Insert), 1);
    }
}
