//! A check that questions and answers are still in step.
//!
//! An answer that comes twice, by a mistake of the server's or of what stands between, has the form of
//! an answer: the second is taken for the next question's, that question's for the one behind it,
//! and so on. Nothing in the protocol tells. A question to which only one answer is right does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{Row, Session};
use crate::error::{Error, Result, shorten};

/// Server error of whatever is asked at the end of an XA transaction.
const ER_XAER_RMFAIL: u16 = 1399;
/// How long a check holds: a proxy may give the session another connection while it is idle.
const MOMENT: Duration = Duration::from_secs(1);
/// A number that no other answer has by chance.
const FIRST: u64 = 7_177_135_000_000_000_000;

impl Session {
    /// Sees to it that the answers so far were those to what was asked: before something is done
    /// because of them, and behind it.
    ///
    /// Also, to the variables of the session having their values still. Asks nothing where nothing was asked
    /// since the last time, a moment ago.
    ///
    /// Errors: [`Error::Nonsense`] where they are not; the connection is given up then.
    /// [`Error::Variable`].
    pub fn check_in_step(&mut self) -> Result<()> {
        let is_known = |(calls, checked): (u64, Instant)| {
            calls == self.driver.calls() && checked.elapsed() < MOMENT
        };
        if self.in_step.is_some_and(is_known) {
            return Ok(());
        }
        let variables = self.more_columns();
        if let Some(row) = self.check_answers(&variables)? {
            self.check_read(&row)?;
        }
        self.in_step = Some((self.driver.calls(), Instant::now()));
        Ok(())
    }

    /// How often the server was asked something so far.
    pub fn calls(&self) -> u64 {
        self.driver.calls()
    }

    /// Takes the variables as they are now, after a statement that may have set some on purpose; gives the
    /// values that `more` columns have at the same moment.
    ///
    /// Errors: [`Error::Nonsense`], as [`Session::check_in_step`].
    pub fn adopt_variables(&mut self, more: &[String]) -> Result<Vec<Option<String>>> {
        let mut columns = self.more_columns();
        more.iter().for_each(|column| columns.extend([", ", column]));
        let row = match self.check_answers(&columns)? {
            Some(row) => row,
            // The server says why nothing can be asked now.
            None => self.ask_number(&columns)?,
        };
        self.adopt_read(&row)?;
        self.in_step = Some((self.driver.calls(), Instant::now()));
        (row.len() - more.len()..row.len()).map(|column| row.text_or_null(column)).collect()
    }

    /// The same of the answers alone; gives what `more` reads besides, if anything is answered.
    pub(super) fn check_answers(&mut self, more: &str) -> Result<Option<Row>> {
        match self.ask_number(more) {
            // Whoever is in step is refused a second time.
            Err(Error::Statement { .. }) => match self.ask_number(more) {
                Err(error) if error.errno() == Some(ER_XAER_RMFAIL) => Ok(None),
                done => done.map(Some),
            },
            done => done.map(Some),
        }
    }

    fn ask_number(&mut self, more: &str) -> Result<Row> {
        static ASKED: AtomicU64 = AtomicU64::new(FIRST);
        let number = ASKED.fetch_add(1, Ordering::Relaxed).to_string();
        let sql = format!("SELECT {number}{more}");
        let mut rows = self.query(&sql)?;
        if matches!(rows.as_slice(), [row] if row.bytes(0) == Some(number.as_bytes())) {
            return Ok(rows.remove(0));
        }
        self.driver.give_up();
        let message = "the answer belongs to another statement".to_owned();
        Err(Error::Nonsense { message, statement: shorten(&sql) })
    }
}
