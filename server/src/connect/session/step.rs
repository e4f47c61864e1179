//! Whether questions and answers are still in step.
//!
//! An answer that comes twice, by a mistake of the server's or of what stands between, has the form of
//! an answer: the second is taken for the next question's, that question's for the one behind it,
//! and so on. Nothing in the protocol tells. A question to which only one answer is right does.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Session;
use crate::error::{Error, Result};

/// Server error of whatever is asked at the end of an XA transaction.
const ER_XAER_RMFAIL: u16 = 1399;
/// A number that no other answer has by chance.
const FIRST: u64 = 7_177_135_000_000_000_000;

impl Session {
    /// Sees to it that the answers so far were those to what was asked: before something is done
    /// because of them, and behind it.
    ///
    /// Errors: [`Error::Nonsense`] where they are not; the connection is given up then.
    pub fn check_in_step(&mut self) -> Result<()> {
        match self.ask_number() {
            // Whoever is in step is refused a second time.
            Err(Error::Statement { .. }) => match self.ask_number() {
                Err(error) if error.errno() == Some(ER_XAER_RMFAIL) => Ok(()),
                done => done,
            },
            done => done,
        }
    }

    fn ask_number(&mut self) -> Result<()> {
        static ASKED: AtomicU64 = AtomicU64::new(FIRST);
        let number = ASKED.fetch_add(1, Ordering::Relaxed).to_string();
        let sql = format!("SELECT {number}");
        let rows = self.query(&sql)?;
        if matches!(rows.as_slice(), [row] if row.bytes(0) == Some(number.as_bytes())) {
            return Ok(());
        }
        self.driver.give_up();
        let message = "another answer came than that to what was asked".to_owned();
        Err(Error::Nonsense { message, statement: sql })
    }
}
