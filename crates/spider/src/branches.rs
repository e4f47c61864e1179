//! The rows of an append that one shard gets: a branch of an XA transaction of our own.
//!
//! ```text
//! XA START -> rows, and one in the mark -> XA END -> XA PREPARE -> (decided on the head) -> XA COMMIT
//!                                                        |
//!          gone with its connection                      | stays, whatever goes down
//! ```
//!
//! A prepared branch outlives its connection and its server, and holds its rows' locks and the table's
//! definition until somebody ends it: any session may, of any machine. The mark is a table of the load's own
//! beside the shard's: what is in it is in with the rows, so that of a branch that the server does not know
//! any more it can be told whether it was committed or lost.
//!
//! Measured on MariaDB 10.11.19. XA COMMIT of a branch whose connection lives answers 1397, as if there
//! were none: so the connection is ended first, by a named lock that it holds. With
//! innodb_flush_log_at_trx_commit=0 a crash takes prepared branches along, unless an InnoDB table is made or
//! dropped afterwards, which has the log written to the disk: [`settle`].

use std::time::{Duration, Instant};

use disk::failpoint;
use server::error::{Error, Result};
use server::identifier::{TableName, quote_text};
use server::session::{Isolation, Row, Session};
use server::version::Flavor;
use targets::ENDING_WAIT;
use targets::Lock;
use targets::names::token;
use targets::waiting::describe;

use crate::map::Shard;

/// The prefix of all our branches' names.
const PREFIX: &str = "inrush_";
/// Digits of a digest.
const DIGITS: usize = 16;
/// `formatID` of branches that XA START makes where none is given.
const FORMAT: &str = "1";
/// Oldest MariaDB whose prepared branches outlive their connection.
const MARIADB_MIN: (u16, u16, u16) = (10, 5, 2);
/// Between two looks at a branch whose connection is about to end.
const NAP: Duration = Duration::from_millis(20);
/// Longest wait for a lock of a row, in seconds, that the server takes.
const ROW_LOCK_SECONDS_MAX: u64 = 1_073_741_824;
/// No such branch, as far as this session can see.
const ER_XA_NOTA: u16 = 1397;
/// The branch cannot be anything but rolled back, and was.
const ER_XA_ROLLED_BACK: [u16; 3] = [1402, 1613, 1614];

/// A branch: which append it is of, and where its rows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// Name of the append, as [`job_name`] makes it.
    pub(crate) job: String,
    /// Which of its branches, from 0.
    pub(crate) number: usize,
    /// The partition whose rows it has.
    pub(crate) shard: Shard,
}

/// The outcome of a branch that was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As was asked, now or before.
    AsAsked,
    /// It was to be committed, and is neither there nor in.
    Lost,
}

/// A name for an append from a head: nobody else gives the same. `home` is [`home`]'s.
pub(crate) fn job_name(home: &str, connection: u64) -> String {
    format!("{home}{:016x}", token(connection))
}

/// The prefix of the names of all appends to a table of this Spider server. Another Spider server
/// of the same shards has another prefix: its decisions are its own.
///
/// Errors: the server's.
pub(crate) fn home(head: &mut Session, target: &TableName) -> Result<String> {
    let row = head.query_row("SELECT @@hostname, @@port, @@datadir, @@server_id")?;
    let text = |at| row.text_or_null(at).map(Option::unwrap_or_default);
    let (host, port, dir, id) = (text(0)?, text(1)?, text(2)?, text(3)?);
    let TableName { database, table } = target;
    let word = format!("{host}\0{port}\0{dir}\0{id}\0{database}\0{table}");
    Ok(format!("{PREFIX}{:016x}_", server::identifier::digest(word.as_bytes())))
}

/// Why a server takes no branches that outlive a crash, in words; none where it does.
pub(crate) fn against(session: &mut Session) -> Result<Option<String>> {
    let version = session.version();
    if version.flavor != Flavor::MariaDb || version.number < MARIADB_MIN {
        return Ok(Some(format!(
            "{} may lose prepared XA transactions when their connection ends; MariaDB 10.5 and \
             later keeps them",
            version.text
        )));
    }
    let galera = session.query_named("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'")?;
    let is_on = galera.iter().any(|row| row.get("value") == Some(&Some("ON".to_owned())));
    Ok(is_on.then(|| "it is a node of a Galera cluster, which has no XA".to_owned()))
}

impl Branch {
    /// The table whose one row is in with the branch's rows.
    pub(crate) fn mark(&self) -> TableName {
        let token = &self.job[self.job.len().saturating_sub(DIGITS)..];
        let name = format!("_inrush_mark_{token}_{}", self.number);
        TableName::new(self.shard.table.database.as_str(), name)
    }

    /// As the statements of XA take it.
    fn xid(&self) -> String {
        format!("{},'{}'", quote_text(&self.job), self.number)
    }

    /// Name of the lock that the branch's connection holds.
    fn lock_name(&self) -> String {
        format!("{}_{}", self.job, self.number)
    }

    /// Makes the mark. Killed after it: an empty table.
    pub(crate) fn make_mark(&self, session: &mut Session) -> Result<()> {
        let mark = self.mark().quoted();
        let shape = "(row_count BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE=InnoDB";
        let comment = "COMMENT='of an append by inrush that has not ended'";
        session.exec(&format!("CREATE TABLE IF NOT EXISTS {mark} {shape} {comment}")).map(drop)
    }

    /// Begins it on a connection of its own, with the shard's table held as it was described. It ends with
    /// the connection unless it is prepared.
    ///
    /// Errors: [`Error::ReadOnly`], [`Error::Altered`]; the server's.
    pub(crate) fn begin(&self, lock: &mut Lock) -> Result<Session> {
        lock.check_writable()?;
        let mut session = lock.second()?;
        let wait = lock.lock_wait();
        session.set_lock_wait(wait)?;
        let seconds = wait.as_secs().clamp(1, ROW_LOCK_SECONDS_MAX);
        session.set(&[("innodb_lock_wait_timeout", &seconds.to_string())])?;
        // A bulk insert's rows show after a crash though they are but prepared.
        session.set(&[("unique_checks", "1")])?;
        let format = session.query_text("SELECT @@SESSION.binlog_format")?;
        if format.as_deref() != Some("STATEMENT") {
            // Fewer locks between rows, which are held until the end.
            session.set_isolation(Isolation::ReadCommitted)?;
        }
        if !session.lock_name(&self.lock_name(), Duration::ZERO)? {
            let holder = session.lock_holder(&self.lock_name())?.unwrap_or_default();
            return Err(self.held_by(&mut session, holder));
        }
        session.exec(&format!("XA START {}", self.xid()))?;
        failpoint::hit(&format!("branch.begun.{}", self.number));
        Ok(session)
    }

    /// Ends the rows: no other goes in.
    pub(crate) fn end_rows(&self, session: &mut Session, rows: u64) -> Result<()> {
        let mark = self.mark();
        session.hold_tables(&[&mark])?;
        session.exec(&format!("INSERT INTO {} VALUES ({rows})", mark.quoted()))?;
        session.exec(&format!("XA END {}", self.xid())).map(drop)
    }

    /// Has the server keep it, whatever happens, until it is ended.
    pub(crate) fn prepare(&self, session: &mut Session) -> Result<()> {
        session.exec(&format!("XA PREPARE {}", self.xid()))?;
        failpoint::hit(&format!("branch.prepared.{}", self.number));
        Ok(())
    }

    /// Commits it over the connection that prepared it.
    pub(crate) fn commit(&self, session: &mut Session) -> Result<()> {
        session.exec(&format!("XA COMMIT {}", self.xid()))?;
        failpoint::hit(&format!("branch.committed.{}", self.number));
        Ok(())
    }

    /// Ends it over any other connection to its server, whoever prepared it, and says what became of it.
    /// Does nothing the second time. Its own connection is ended first.
    pub(crate) fn end(&self, session: &mut Session, commits: bool) -> Result<Ended> {
        let verb = if commits { "COMMIT" } else { "ROLLBACK" };
        let (sql, begun) = (format!("XA {verb} {}", self.xid()), Instant::now());
        session.kill_holder(&self.lock_name())?;
        loop {
            match session.exec(&sql) {
                Err(error) if error.errno() == Some(ER_XA_NOTA) => {}
                Err(error) if !commits && is_rolled_back(&error) => break,
                done => {
                    done?;
                    break;
                }
            }
            // In this order: what it prepares while it ends is met by the next look.
            let holder = session.lock_holder(&self.lock_name())?;
            let is_there = prepared(session, &self.job)?.contains(&self.number);
            if holder.is_none() && !is_there {
                break;
            }
            if begun.elapsed() > ENDING_WAIT {
                return Err(self.held_by(session, holder.unwrap_or_default()));
            }
            std::thread::sleep(NAP);
        }
        failpoint::hit(&format!("branch.ended.{}", self.number));
        match commits && !self.is_in(session)? {
            true => Ok(Ended::Lost),
            false => Ok(Ended::AsAsked),
        }
    }

    fn held_by(&self, session: &mut Session, holder: u64) -> Error {
        let who = describe(session, holder);
        Error::Busy { target: self.shard.table.to_string(), holder, who }
    }

    /// True if its rows are in, and visible to everybody.
    pub(crate) fn is_in(&self, session: &mut Session) -> Result<bool> {
        let mark = self.mark();
        Ok(catalog::exists(session, &mark)? && !catalog::is_empty(session, &mark)?)
    }

    /// Removes the mark, which has the server write to its disk what was committed before.
    pub(crate) fn drop_mark(&self, session: &mut Session) -> Result<()> {
        let mark = self.mark();
        let tables = format!("{}, {}", mark.quoted(), settled(&mark).quoted());
        session.exec(&format!("DROP TABLE IF EXISTS {tables}")).map(drop)
    }
}

/// Numbers of the branches of an append that a server has prepared.
pub(crate) fn prepared(session: &mut Session, job: &str) -> Result<Vec<usize>> {
    let all = all_prepared(session)?;
    Ok(all.into_iter().filter(|(name, _)| name == job).map(|(_, number)| number).collect())
}

/// All transactions that a server has prepared, whoever began them, as the statements of XA take them.
pub(crate) fn names(session: &mut Session) -> Result<Vec<String>> {
    session.query("XA RECOVER FORMAT='SQL'")?.iter().map(|row| row.text(3)).collect()
}

/// Appends of this home that a server has prepared branches of: name and number.
pub(crate) fn all_of(session: &mut Session, home: &str) -> Result<Vec<(String, usize)>> {
    let all = all_prepared(session)?;
    Ok(all.into_iter().filter(|(name, _)| name.starts_with(home)).collect())
}

fn all_prepared(session: &mut Session) -> Result<Vec<(String, usize)>> {
    let rows = session.query("XA RECOVER")?;
    Ok(rows.iter().filter_map(own).collect())
}

/// A line of XA RECOVER, if it may be a branch of ours.
fn own(row: &Row) -> Option<(String, usize)> {
    if row.text(0).ok()? != FORMAT {
        return None;
    }
    let (length, data) = (row.number::<usize>(1).ok()?, row.text_lossy(3));
    let (name, number) = (data.get(..length)?, data.get(length..)?);
    name.starts_with(PREFIX).then_some(())?;
    Some((name.to_owned(), number.parse().ok()?))
}

fn is_rolled_back(error: &Error) -> bool {
    error.errno().is_some_and(|errno| ER_XA_ROLLED_BACK.contains(&errno))
}

/// Has a server write to its disk all that was committed or prepared there, where its settings let it be
/// late: an InnoDB table that is made, and dropped, does. `beside` is a name that only this load has.
pub(crate) fn settle(session: &mut Session, beside: &TableName) -> Result<()> {
    let settings = "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.log_bin";
    let row = session.query_row(settings)?;
    // With a binary log the server leaves a commit's last write to later.
    if row.text(0)? == "1" && row.text(1)? == "0" {
        return Ok(());
    }
    let table = settled(beside).quoted();
    session.exec(&format!("CREATE TABLE IF NOT EXISTS {table} (a TINYINT) ENGINE=InnoDB"))?;
    session.exec(&format!("DROP TABLE IF EXISTS {table}")).map(drop)
}

/// The table that [`settle`] makes.
pub(crate) fn settled(beside: &TableName) -> TableName {
    TableName::new(beside.database.as_str(), format!("{}_s", beside.table))
}
