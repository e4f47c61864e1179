//! The transactions of several connections, which stay together or go together.
//!
//! ```text
//! connection 0: XA START .. XA END   XA PREPARE                         XA COMMIT
//! connection 1: XA START .. XA END               XA PREPARE                         XA COMMIT
//! connection 2: XA START .. XA END                           XA PREPARE                         XA COMMIT
//! ```
//!
//! Until the last one is prepared, each can be rolled back. A prepared transaction can be committed whatever
//! happens, by any connection: it outlives its own, and the server. So a killed replay has left one of these,
//! which [`Together::resolve`] tells apart by their numbers:
//!
//! | prepared transactions | those of the others | what becomes of them |
//! | --- | --- | --- |
//! | number 0 is among them | none is committed | they are rolled back |
//! | number 0 is not | all before them are committed | they are committed |
//!
//! That table is only right when no connection of the dead is still at work: its last XA PREPARE may be under way, and
//! a transaction that was not prepared goes only with its connection. Each connection therefore holds a named lock of
//! its own for as long as it lives, and nobody decides before these are free.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use load::failpoint;
use schema::TableName;
use server::identifier::{digest, quote_text};
use server::{ConnectOptions, Interrupt, Session};
use targets::RECONNECT_WAIT;

use super::CONNECTIONS_MAX;
use crate::error::Error;
use crate::journal::Spot;

/// The format of the names, which the server keeps for whoever gives them.
const FORMAT: u32 = 1;
/// How long another one of us who ends transactions of the same table is waited for, and how long
/// the server is given to notice that the connections of somebody who was killed are gone.
const OTHERS_WAIT: Duration = Duration::from_secs(10);

/// Between two looks at what is left.
const PAUSE: Duration = Duration::from_millis(20);

/// Server error of a transaction that is not there: it was committed, or rolled back.
const ER_XAER_NOTA: u16 = 1397;

/// Names the transactions of a run of rows into a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Together {
    table: String,
    /// Identity of the table.
    pub(super) global: String,
    /// Identity of the run in its dump.
    run: String,
}

/// The state of a run whose transactions a killed process prepared.
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

    /// True if transactions can be committed together on this server, for this account, and nobody
    /// minds that they are several: replicas see each by itself.
    pub(super) fn can_be(session: &mut Session) -> bool {
        let is_logged = "SELECT @@log_bin AND @@SESSION.sql_log_bin";
        let is_logged = session.query_text(is_logged).ok().flatten();
        // Not every server is part of a cluster, or could be.
        let is_cluster = session.query_text("SELECT @@wsrep_on").ok().flatten();
        is_logged.as_deref() == Some("0")
            && is_cluster.is_none_or(|on| on == "0")
            && session.query("XA RECOVER").is_ok()
    }

    /// Begins the transaction of a connection.
    ///
    /// Errors: as the server's, and where another connection still has the transaction of that number open.
    pub(super) fn begin(&self, session: &mut Session, number: usize) -> Result<(), Error> {
        if !session.lock_name(&self.connection_lock(number), OTHERS_WAIT)? {
            return Err(self.others_at_work());
        }
        Ok(session.exec(&format!("XA START {}", self.name(number))).map(drop)?)
    }

    /// The lock that a connection holds as long as it lives.
    fn connection_lock(&self, number: usize) -> String {
        let run = format!("{}\0{}", self.table, self.run);
        format!("inrush_{:016x}.{number}", digest(run.as_bytes()))
    }

    fn others_at_work(&self) -> Error {
        Error::Refused(format!(
            "connections of an earlier replay still work on {}: run the same command again when \
             the server has ended them",
            self.table
        ))
    }

    /// Waits until no connection of this run is left.
    fn wait_for_connections(&self, own: &mut Session) -> Result<(), Error> {
        let holders: Vec<String> = (0..CONNECTIONS_MAX)
            .map(|number| format!("IS_USED_LOCK({})", quote_text(&self.connection_lock(number))))
            .collect();
        let holders = format!("SELECT COALESCE({})", holders.join(","));
        let begun = Instant::now();
        while own.query_text(&holders)?.is_some() {
            if begun.elapsed() >= OTHERS_WAIT {
                return Err(self.others_at_work());
            }
            sleep(PAUSE);
        }
        Ok(())
    }

    /// Has the rows of all connections stay, of number 0 first. `own` is a connection besides.
    ///
    /// Errors: before the last one is prepared, or the first one is refused, and none is in; else what is
    /// left is for [`Together::resolve`].
    pub(super) fn commit(
        &self,
        own: &mut Session,
        mut sessions: BTreeMap<usize, Session>,
    ) -> Result<(), Error> {
        if !own.lock_name(&self.global, OTHERS_WAIT)? {
            self.roll_back(sessions);
            return Err(self.others_at_work());
        }
        for (&number, session) in &mut sessions {
            let prepared = self.prepare(session, number);
            if let Err(error) = prepared {
                self.roll_back(sessions);
                return Err(error.into());
            }
            failpoint::step("replay.prepared");
        }
        let begun = Instant::now();
        let mut is_first = true;
        while let Some((number, session)) = sessions.pop_first() {
            match self.commit_one(session, number, begun) {
                Err(error) if error.is_certain() && is_first => {
                    self.roll_back(sessions);
                    // The rest of the first one goes. Where this fails, the next replay does it.
                    let _ = self.resolve_locked(own);
                    return Err(error);
                }
                Err(error) if error.is_certain() => {
                    let (table, error) = (self.table.clone(), Box::new(error));
                    return Err(Error::PartlyCommitted { table, error });
                }
                done => done?,
            }
            is_first = false;
            failpoint::step("replay.committed");
        }
        Ok(())
    }

    pub(super) fn prepare(&self, session: &mut Session, number: usize) -> server::Result<()> {
        let name = self.name(number);
        session.exec(&format!("XA END {name}"))?;
        session.exec(&format!("XA PREPARE {name}")).map(drop)
    }

    /// Commits what is prepared, over another connection if its own is lost, or does not tell
    /// whether it was done. `begun`: when all were prepared.
    fn commit_one(&self, mut session: Session, number: usize, begun: Instant) -> Result<(), Error> {
        let sql = format!("XA COMMIT {}", self.name(number));
        let error = match session.exec(&sql).and_then(|_| session.check_in_step()) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if !error.is_unclear() {
            return Err(error.into());
        }
        let connect =
            ConnectOptions { interrupt: Interrupt::default(), ..session.options().clone() };
        // As long as it is there, no other connection may end its transaction.
        drop(session);
        let unknown = || server::Error::CommitUnknown(self.table.clone());
        let mut other = server::reach::reach(&connect, RECONNECT_WAIT).map_err(|_| unknown())?;
        let asked = Instant::now();
        loop {
            match other.exec(&sql) {
                Err(again) if again.errno() == Some(ER_XAER_NOTA) => {}
                done => return Ok(done.map(drop)?),
            }
            let left = self.prepared(&other.query("XA RECOVER")?);
            let is_left = left.iter().any(|one| one.run == self.run && one.number == number);
            match is_left {
                // The server has not noticed yet that its connection is gone.
                true if asked.elapsed() < OTHERS_WAIT => sleep(PAUSE),
                // It was committed; one that has restarted may have lost what it had prepared last.
                false if has_run_since(&mut other, begun)? => return Ok(()),
                _ => return Err(unknown().into()),
            }
        }
    }

    /// Takes the rows of all connections back, of number 0 last.
    pub(super) fn roll_back(&self, sessions: BTreeMap<usize, Session>) {
        for (number, mut session) in sessions.into_iter().rev() {
            let name = self.name(number);
            // It may have come to its end already. A connection that is gone has taken its rows
            // back, unless it was prepared: then whoever comes next finds it.
            let _ = session.exec(&format!("XA END {name}"));
            let _ = session.exec(&format!("XA ROLLBACK {name}"));
        }
    }

    /// Ends what somebody who was killed has left of this table, and says what became of this run.
    ///
    /// Errors: connections of theirs that do not end.
    pub(crate) fn resolve(&self, own: &mut Session) -> Result<Resolved, Error> {
        // An account that may not look could not have begun either.
        if own.query("XA RECOVER").is_err() {
            return Ok(Resolved::Nothing);
        }
        if !own.lock_name(&self.global, OTHERS_WAIT)? {
            return Err(self.others_at_work());
        }
        let resolved = self.resolve_locked(own);
        let released = own.exec(&format!("DO RELEASE_LOCK({})", quote_text(&self.global)));
        let resolved = resolved?;
        released?;
        Ok(resolved)
    }

    fn resolve_locked(&self, own: &mut Session) -> Result<Resolved, Error> {
        self.wait_for_connections(own)?;
        let begun = Instant::now();
        let mut resolved = Resolved::Nothing;
        loop {
            let left = self.prepared(&own.query("XA RECOVER")?);
            let runs: BTreeSet<&str> = left.iter().map(|prepared| prepared.run.as_str()).collect();
            for run in runs {
                let of = Together { run: run.to_owned(), ..self.clone() };
                let ended = of.end(own)?;
                if ended != Resolved::Nothing && *run == *self.run {
                    resolved = ended;
                }
            }
            let is_left = left.iter().any(|prepared| prepared.run == self.run);
            if !is_left || begun.elapsed() >= OTHERS_WAIT {
                return Ok(resolved);
            }
            sleep(PAUSE);
        }
    }

    /// Ends what is left of this run, when nobody is at work on it.
    fn end(&self, own: &mut Session) -> Result<Resolved, Error> {
        self.wait_for_connections(own)?;
        let mut left = self.prepared(&own.query("XA RECOVER")?);
        left.retain(|prepared| prepared.run == self.run);
        let Some(first) = left.last() else { return Ok(Resolved::Nothing) };
        let (verb, resolved) = match first.number {
            0 => ("ROLLBACK", Resolved::Out),
            _ => ("COMMIT", Resolved::In),
        };
        for prepared in &left {
            match own.exec(&format!("XA {verb} {}", self.name(prepared.number))) {
                // Somebody else was faster, or its connection has not let go of it yet.
                Err(error) if error.errno() == Some(ER_XAER_NOTA) => {}
                done => drop(done?),
            }
        }
        Ok(resolved)
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

/// True if the server has surely not restarted since then. It tells whole seconds.
fn has_run_since(session: &mut Session, then: Instant) -> server::Result<bool> {
    let uptime: u64 = session.query_row("SHOW GLOBAL STATUS LIKE 'Uptime'")?.number(1)?;
    Ok(uptime > then.elapsed().as_secs() + 1)
}
