//! Rows as the dump's own statements, one after the other, as they stand but for the table's name.

use job::tally::Tally;
use load::failpoint;
use server::Session;
use server::session::Done;
use sources::SourceExt as _;
use sources::dump::{RowRun, RunStatement};
use sql::Verb;

use crate::changes::Changes;
use crate::connections;
use crate::filling::{Filling, Sent, Stopped};
use crate::place::{self, Place};
use crate::session_question::{LastNumber, SessionQuestion};

/// Bytes of statements in a transaction, where nobody sees the table yet: with one each, many short
/// statements would all wait for the disk.
const TRANSACTION_BYTES: usize = 4 << 20;

/// Runs the statements of a run in their order. Into a table that others see they are one
/// transaction, unless the session is in one already (`in_transaction`).
///
/// Errors: the statement that failed, with its place, but under `--force`; one that asks about those before it what
/// `last_number` does not tell. A staging table may hold the rows before it.
pub(crate) fn send(
    filling: &Filling<'_>,
    mut run: RowRun,
    session: &mut Session,
    in_transaction: bool,
    last_number: &LastNumber,
) -> Result<Sent, Stopped> {
    let is_ours = !in_transaction;
    let is_unchecked = is_ours && !filling.state.is_on("unique_checks");
    if is_unchecked {
        // MariaDB would fill an empty table in a way that finds duplicates at the COMMIT, and takes
        // all statements back with one.
        session.set(&[("unique_checks", "1")])?;
    }
    let hold = connections::hold(session, filling.into, filling.state.charset())?;
    if is_ours {
        session.exec("START TRANSACTION")?;
    }
    let parts = is_ours && filling.is_staging;
    let done = session.exec_bytes(&hold).map_err(Stopped::from);
    let mut done =
        done.and_then(|_| statements(filling, &mut run, session, parts, &hold, last_number));
    // The error of the statement says more.
    let _shield = done.is_err().then(|| filling.options.interrupt.shield());
    if is_unchecked {
        let set_back = session.set(&[("unique_checks", "0")]);
        done = done.and_then(|sent| set_back.map(|()| sent).map_err(Stopped::from));
    }
    if is_ours {
        match done {
            Ok(_) => filling.commit(session)?,
            Err(_) => drop(session.exec("ROLLBACK")),
        }
    }
    let (rows, changes) = done?;
    Ok(Sent { rows, way: "serial", changes, ..Sent::default() })
}

/// The statements; `parts`: the transaction may be committed now and then, and the next one begins with `hold`.
fn statements(
    filling: &Filling<'_>,
    run: &mut RowRun,
    session: &mut Session,
    parts: bool,
    hold: &[u8],
    last_number: &LastNumber,
) -> Result<(u64, Changes), Stopped> {
    let head = connections::head(session, filling.into, filling.state.charset(), filling.head)?;
    let (mut statement, mut text, mut rows) = (RunStatement::default(), Vec::new(), 0);
    let (mut open_bytes, mut ordinal, tally) = (0, 0_u64, Tally::new());
    let (mut changes, options) = (Changes::default(), filling.options);
    while run.next_statement(&mut statement)? {
        let tuples = statement.text.get(filling.head.text.len()..).unwrap_or_default();
        // Where they are literals; else only the server knows.
        let known = connections::rows_of(filling, tuples);
        tally.read(known.unwrap_or(0));
        ordinal += 1;
        if failpoint::drops_batch(ordinal - 1) {
            continue;
        }
        text.clear();
        text.extend_from_slice(&head);
        text.extend_from_slice(tuples);
        let asked = match known {
            None if SessionQuestion::may_be_by(tuples) => {
                SessionQuestion::by(tuples, filling.state.syntax())
            }
            _ => None,
        };
        let done = last_number.check(session, asked);
        let done = match done.and_then(|()| Ok(session.exec_bytes(&text)?)) {
            Ok(done) => done,
            Err(error) => {
                let error = filling.named(error);
                let file = run.files().get(statement.file as usize);
                let file = file.map(|file| file.path.clone()).unwrap_or_default();
                let (offset, line) = (statement.offset, statement.line);
                let place = Place { file, offset, line, head: place::head(&statement.text) };
                if filling.options.passes_over(&error) {
                    tally.done(known.unwrap_or(0));
                    filling.watch.fail(&place, &error);
                    continue;
                }
                return Err(error.at(place).into());
            }
        };
        changes.take(session, &done, statement.line, options)?;
        let count = count(&done, filling.head.verb);
        rows += count;
        tally.done(known.map_or(0, |known| connections::taken(&done, filling.head.verb, known)));
        filling.watch.add_rows(count);
        open_bytes += text.len();
        if parts && open_bytes >= TRANSACTION_BYTES {
            filling.commit(session)?;
            session.exec("START TRANSACTION")?;
            session.exec_bytes(hold)?;
            open_bytes = 0;
        }
    }
    tally.check()?;
    Ok((rows, changes))
}

/// Rows of a statement: `Records: 3  Duplicates: 0  Warnings: 0`, which the server says of more than one row.
pub(crate) fn count(done: &Done, verb: Verb) -> u64 {
    // A row that replaces another counts twice, one that is left out not at all.
    connections::said(done).unwrap_or(if verb == Verb::Insert { done.affected_rows } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

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
