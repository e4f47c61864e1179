//! Clones of a MySQL server, which exclude DISCARD and IMPORT TABLESPACE.
//!
//! The server refuses both statements while somebody clones it, and a clone that begins during an IMPORT fails
//! (3633). So a load looks for clones before each of them, and waits for their end.
//!
//! Tried with the clone plugin of MySQL 9.7.4: the donor shows the command `clone` for each connection of the
//! server that gets the files. A clone into a folder of the same machine is a statement.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::lock::Lock;
use server::error::{Error, Result};
use server::session::{Done, Session};
use server::version::Flavor;

/// Server error of a DISCARD or IMPORT during a clone.
const ER_CLONE_IN_PROGRESS: u16 = 3874;
const POLL: Duration = Duration::from_millis(250);
/// Between two messages about a clone.
const TELL_EVERY: Duration = Duration::from_secs(30);

impl Lock {
    /// Runs DISCARD or IMPORT TABLESPACE when nobody clones the server.
    ///
    /// Errors: [`Error::Cloned`] where a clone takes longer than the load waits for locks; the server's.
    pub(super) fn exec_without_clones(&mut self, sql: &str) -> Result<Done> {
        if self.session.version().flavor != Flavor::MySql {
            return self.exec_done(sql);
        }
        let (begun, mut told) = (Instant::now(), None);
        loop {
            let mut cloner = cloner(&mut self.session)?;
            if cloner.is_none() {
                match self.exec_done(sql) {
                    Err(error) if error.errno() == Some(ER_CLONE_IN_PROGRESS) => {
                        cloner =
                            Some("a connection that is not visible to this account".to_owned());
                    }
                    done => return done,
                }
            }
            let cloner = cloner.unwrap_or_default();
            self.session.options().interrupt.check()?;
            let waited = begun.elapsed();
            if waited >= self.patience.wait {
                let (target, seconds) = (self.table.name.to_string(), waited.as_secs());
                return Err(Error::Cloned { target, seconds, cloner });
            }
            if told.is_none_or(|told: Instant| told.elapsed() >= TELL_EVERY) {
                told = Some(Instant::now());
                self.patience.say(&format!(
                    "waiting until a clone of the server ends, at most {} s; it is made by {cloner}",
                    self.patience.wait.as_secs()
                ));
            }
            sleep(POLL);
        }
    }
}

/// The connection that clones the server for the longest time, in words.
fn cloner(session: &mut Session) -> Result<Option<String>> {
    let rows = session.query_processes(|processes| {
        format!(
            "SELECT CONCAT('connection ', ID, ' of ', USER, '@', HOST, ', for ', TIME, ' s') \
             FROM {processes} WHERE COMMAND='clone' OR INFO LIKE 'CLONE LOCAL %' \
             ORDER BY TIME DESC LIMIT 1"
        )
    })?;
    rows.first().map_or(Ok(None), |row| row.text_or_null(0))
}
