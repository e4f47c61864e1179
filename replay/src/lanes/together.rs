//! The transactions of several connections, which stay together or go together.
//!
//! ```text
//! lane 0: XA START .. XA END   XA PREPARE                         XA COMMIT
//! lane 1: XA START .. XA END               XA PREPARE                         XA COMMIT
//! lane 2: XA START .. XA END                           XA PREPARE                         XA COMMIT
//! ```
//!
//! Until the last one is prepared, each can be rolled back. What is prepared can be committed
//! whatever happens, by whichever connection: it outlives its own, and the server. So whoever was
//! killed has left one of these, which [`Together::resolve`] tells apart by their numbers:
//!
//! | prepared transactions | those of the others | what becomes of them |
//! | --- | --- | --- |
//! | number 0 is among them | none is committed | they are rolled back |
//! | number 0 is not | all before them are committed | they are committed |

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use load::failpoint;
use schema::TableName;
use send::retry::{self, Cause, Class, classify};
use server::RECONNECT_WAIT;
use server::identifier::{digest, quote_text};
use server::{ConnectOptions, Interrupt, Session};

use crate::error::Error;
use crate::journal::Spot;

/// The format of the names, which the server keeps for whoever gives them.
const FORMAT: u32 = 1;
/// How long another one of us who ends transactions of the same table is waited for.
const OTHERS_WAIT: Duration = Duration::from_secs(10);

/// Between two looks at what is left.
const PAUSE: Duration = Duration::from_millis(20);

/// Server error of a transaction that is not there: it was committed, or rolled back.
const ER_XAER_NOTA: u16 = 1397;

/// Names the transactions of a run of rows into a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Together {
    table: String,
    /// Of the table.
    pub(super) global: String,
    /// Of the run in its dump.
    run: String,
}

/// What a run is whose transactions were prepared by somebody who was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// There was none.
    Nothing,
    /// All its rows are in.
    In,
    /// None is.
    Out,
}

/// One that is prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Prepared {
    run: String,
    number: usize,
}

impl Together {
    /// For the run at `spot` of the dump, into `table`.
    pub(crate) fn of(table: &TableName, spot: Spot) -> Together {
        Together {
            table: table.to_string(),
            global: format!("inrush_{:016x}", digest(table.to_string().as_bytes())),
            run: format!("{}.{}", spot.part, spot.offset),
        }
    }

    /// Whether transactions can stay together on this server, for this account, and nobody minds
    /// that they are several: replicas see each by itself.
    pub(super) fn can_be(session: &mut Session) -> bool {
        let is_logged = "SELECT @@log_bin AND @@SESSION.sql_log_bin";
        let is_logged = session.query_text(is_logged).ok().flatten();
        // Not every server is part of a cluster, or could be.
        let is_cluster = session.query_text("SELECT @@wsrep_on").ok().flatten();
        is_logged.as_deref() == Some("0")
            && is_cluster.is_none_or(|on| on == "0")
            && session.query("XA RECOVER").is_ok()
    }

    /// Begins the transaction of a lane.
    pub(super) fn begin(&self, session: &mut Session, number: usize) -> server::Result<()> {
        session.exec(&format!("XA START {}", self.name(number))).map(drop)
    }

    /// Has the rows of all lanes stay, of number 0 first. `own` is a connection besides.
    ///
    /// Errors: before the last one is prepared, and none is in; or the server has gone in the
    /// midst of it, and what is left is for [`Together::resolve`].
    pub(super) fn commit(
        &self,
        own: &mut Session,
        lanes: BTreeMap<usize, Session>,
    ) -> Result<(), Error> {
        let mut lanes = lanes;
        if !own.lock_name(&self.global, OTHERS_WAIT)? {
            self.roll_back(lanes);
            return Err(Error::Refused(
                "another replay ends transactions of this table".to_owned(),
            ));
        }
        for (&number, lane) in &mut lanes {
            let prepared = self.prepare(lane, number);
            if let Err(error) = prepared {
                self.roll_back(lanes);
                return Err(error.into());
            }
            failpoint::step("replay.prepared");
        }
        for (&number, lane) in &mut lanes {
            self.commit_one(lane, number)?;
            failpoint::step("replay.committed");
        }
        Ok(())
    }

    pub(super) fn prepare(&self, lane: &mut Session, number: usize) -> server::Result<()> {
        let name = self.name(number);
        lane.exec(&format!("XA END {name}"))?;
        lane.exec(&format!("XA PREPARE {name}")).map(drop)
    }

    /// Commits what is prepared, over another connection if its own is lost.
    fn commit_one(&self, lane: &mut Session, number: usize) -> Result<(), Error> {
        let sql = format!("XA COMMIT {}", self.name(number));
        let error = match lane.exec(&sql) {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        if classify(&error) != Class::Again(Cause::Lost) {
            return Err(error.into());
        }
        let connect = ConnectOptions { interrupt: Interrupt::default(), ..lane.options().clone() };
        let mut other = retry::reach(&connect, RECONNECT_WAIT)?;
        match other.exec(&sql) {
            // It was committed, or the server has lost what it had prepared last.
            Err(again) if again.errno() == Some(ER_XAER_NOTA) => {
                Err(server::Error::CommitUnknown(self.table.clone()).into())
            }
            done => Ok(done.map(drop)?),
        }
    }

    /// Takes the rows of all lanes back.
    pub(super) fn roll_back(&self, lanes: BTreeMap<usize, Session>) {
        for (number, mut lane) in lanes {
            let name = self.name(number);
            // It may have come to its end already. A connection that is gone has taken its rows
            // back, unless it was prepared: then whoever comes next finds it.
            let _ = lane.exec(&format!("XA END {name}"));
            let _ = lane.exec(&format!("XA ROLLBACK {name}"));
        }
    }

    /// Ends what somebody who was killed has left of this table, and says what became of this run.
    pub(crate) fn resolve(&self, own: &mut Session) -> Result<Resolved, Error> {
        // An account that may not look could not have begun either.
        let Ok(rows) = own.query("XA RECOVER") else { return Ok(Resolved::Nothing) };
        if self.prepared(&rows).is_empty() || !own.lock_name(&self.global, OTHERS_WAIT)? {
            return Ok(Resolved::Nothing);
        }
        let resolved = self.resolve_locked(own);
        own.exec(&format!("DO RELEASE_LOCK({})", quote_text(&self.global)))?;
        resolved
    }

    fn resolve_locked(&self, own: &mut Session) -> Result<Resolved, Error> {
        let begun = Instant::now();
        let mut resolved = Resolved::Nothing;
        loop {
            let rows = own.query("XA RECOVER")?;
            let left = self.prepared(&rows);
            for Prepared { run, number } in &left {
                let is_first_left = left.contains(&Prepared { run: run.clone(), number: 0 });
                let of = Together { run: run.clone(), ..self.clone() };
                let verb = if is_first_left { "ROLLBACK" } else { "COMMIT" };
                match own.exec(&format!("XA {verb} {}", of.name(*number))) {
                    // Its connection is still there, of another run at work or not gone yet.
                    Err(error) if error.errno() == Some(ER_XAER_NOTA) => {}
                    done => drop(done?),
                }
                if *run == self.run {
                    resolved = if is_first_left { Resolved::Out } else { Resolved::In };
                }
            }
            let is_left = left.iter().any(|prepared| prepared.run == self.run);
            if !is_left || begun.elapsed() >= OTHERS_WAIT {
                return Ok(resolved);
            }
            sleep(PAUSE);
        }
    }

    /// Those of this table, of whichever run, in their order.
    fn prepared(&self, rows: &[server::session::Row]) -> Vec<Prepared> {
        let mut found: Vec<Prepared> = rows
            .iter()
            .filter_map(|row| {
                let text = row.text_lossy(3);
                let (run, number) = text.strip_prefix(&self.global)?.rsplit_once('.')?;
                Some(Prepared { run: run.to_owned(), number: number.parse().ok()? })
            })
            .collect();
        // Number 0 last: whoever is killed here leaves what tells the same.
        found.sort_by_key(|prepared| std::cmp::Reverse(prepared.number));
        found
    }

    fn name(&self, number: usize) -> String {
        let branch = format!("{}.{number}", self.run);
        format!("{},{},{FORMAT}", quote_text(&self.global), quote_text(&branch))
    }
}
