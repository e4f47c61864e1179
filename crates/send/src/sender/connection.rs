//! The connection of a sender: made, made again, and fit for rows.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use job::error::Error;
use server::engine::Kind;
use server::identifier::digest;
use server::session::{Done, Isolation, Session};

use super::trouble::Trouble;
use super::{
    Commit, ER_AUTOINC_READ_FAILED, PACKET_BYTES_DEFAULT, Sender, WARNINGS_MAX, again_or_failed,
    no_session,
};

/// Seconds without a packet of ours after which the server takes the connection for lost. Rows
/// are in memory when they are sent.
const NET_READ_SECONDS: u32 = 120;
/// A lock of a row is not waited for longer at once: the wait is then begun anew, and counted.
const ROW_LOCK_SECONDS_MAX: u32 = 50;
/// How long the end of a connection that broke is waited for, on the server's side.
const ENDING_WAIT: Duration = Duration::from_secs(30);
/// Room that a statement leaves in a packet.
const PACKET_RESERVE: usize = 1024;
/// Character set of our sessions.
pub(super) const NAMES: &str = "utf8mb4";

impl Sender {
    /// Has the session take text as it is in the file, or as UTF-8.
    pub(super) fn set_names(&mut self, is_file: bool) -> Result<(), Trouble> {
        let charset = &self.statements.place.charset;
        if self.is_in_file_charset == is_file || charset == NAMES {
            return Ok(());
        }
        let charset = if is_file { charset } else { NAMES };
        // Messages stay in UTF-8.
        let sql = format!("SET character_set_client={charset}, character_set_connection={charset}");
        self.exec(&sql)?;
        self.is_in_file_charset = is_file;
        Ok(())
    }

    /// Runs a statement of ours.
    pub(super) fn exec(&mut self, sql: &str) -> Result<Done, Trouble> {
        self.with_session(|session| session.exec(sql))
    }

    pub(super) fn with_session<T>(
        &mut self,
        ask: impl FnOnce(&mut Session) -> server::Result<T>,
    ) -> Result<T, Trouble> {
        let session = self.session.as_mut().ok_or_else(no_session)?;
        ask(session).map_err(again_or_failed)
    }

    /// Sees to it that there is a session, in no transaction of its own.
    pub(super) fn reconnect(&mut self) -> Result<(), Trouble> {
        if matches!(self.options.commit, Commit::Whole { .. }) {
            return Ok(());
        }
        if let Some(session) = &mut self.session {
            if !self.is_open {
                return Ok(());
            }
            match session.exec("ROLLBACK") {
                Ok(_) => {
                    self.is_open = false;
                    return Ok(());
                }
                Err(error @ server::Error::Interrupted) => return Err(Error::from(error).into()),
                Err(_) => self.session = None,
            }
        }
        self.is_open = false;
        let wait = self.options.reconnect_wait;
        let session = server::reach::reach(&self.options.connect, wait).map_err(Error::from)?;
        match self.adopt(session) {
            Err(Error::Server(e)) => Err(again_or_failed(e)),
            adopted => Ok(adopted?),
        }
    }

    /// Makes a session fit for rows. The statement of the one before it is ended.
    pub(super) fn adopt(&mut self, mut session: Session) -> Result<(), Error> {
        let is_whole = matches!(self.options.commit, Commit::Whole { .. });
        if !is_whole {
            // Of a transaction that breaks nothing is begun anew.
            take_name(&mut session, &self.lock)?;
        }
        self.set_variables(&mut session)?;
        if !is_whole {
            // Else nothing is begun anew, and who began the transaction has said how long.
            passed_over(session.limit_row_wait(self.row_wait_seconds()))?;
            self.options.row_waits.add(&session);
        }
        for wish in Kind::of_version(session.version()).sender_wishes() {
            passed_over(session.set(&[*wish]))?;
        }
        if !is_whole && !logs_statements(&mut session)? {
            // Fewer locks between rows. The log's old format takes no row by it.
            session.set_isolation(Isolation::ReadCommitted)?;
        }
        let packet = session.query_once("SELECT @@max_allowed_packet")?;
        let packet = packet.first().map(|row| row.text_lossy(0));
        let packet = packet.and_then(|text| text.parse().ok()).unwrap_or(PACKET_BYTES_DEFAULT);
        let around = self.statements.insert.len() + self.statements.tail.len() + PACKET_RESERVE;
        self.packet_bytes = packet.saturating_sub(around);
        self.prepared = [None, None];
        self.is_in_file_charset = false;
        self.session = Some(session);
        Ok(())
    }

    /// The longest wait of one statement for a row.
    pub(super) fn row_wait_seconds(&self) -> u32 {
        let seconds = u32::try_from(self.options.lock_wait.as_secs()).unwrap_or(u32::MAX);
        seconds.clamp(1, ROW_LOCK_SECONDS_MAX)
    }

    /// True for an AUTO_INCREMENT value that did not come because others keep the lock of the values, or because the wait
    /// for that lock was ended: the server has the same error for a full column.
    pub(super) fn is_late(&self, error: &server::Error, begun: Instant) -> bool {
        let limit = Duration::from_secs(u64::from(self.row_wait_seconds()));
        let has_waited = begun.elapsed() >= limit || self.has_yielded.load(Ordering::Acquire);
        error.errno() == Some(ER_AUTOINC_READ_FAILED) && has_waited
    }

    /// Sets the variables of a session that sends rows: all at once, or one by one where the server refuses one.
    fn set_variables(&self, session: &mut Session) -> Result<(), Error> {
        let (read_seconds, warnings) = (NET_READ_SECONDS.to_string(), WARNINGS_MAX.to_string());
        // Nice to have: not every server knows it.
        let wished = ("net_read_timeout", &*read_seconds);
        let limited = ("max_error_count", &*warnings);
        let settings = self.options.settings.iter().map(|(name, value)| (*name, &**value));
        let mut needed: Vec<(&str, &str)> = settings.collect();
        if !needed.iter().any(|(name, _)| *name == "sql_notes") {
            needed.push(("sql_notes", "0"));
        }
        let all = [&[wished, limited][..], &needed].concat();
        if passed_over(session.set(&all))?.is_none() {
            passed_over(session.set(&[wished]))?;
            session.set_if_allowed(limited.0, limited.1)?;
            session.set(&needed)?;
        }
        Ok(())
    }

    /// Lets go of a transaction that is not to be: the server rolls it back.
    pub(super) fn give_up(&mut self) {
        self.session = None;
    }
}

/// True if the session's changes are in the binary log as its statements.
fn logs_statements(session: &mut Session) -> Result<bool, Error> {
    let format = passed_over(session.query_text("SELECT @@SESSION.binlog_format"))?.flatten();
    Ok(format.is_some_and(|format| format == "STATEMENT"))
}

/// Has the session hold a name, after ending the one that holds it: a connection of ours that
/// broke, and whose transaction the server may not have given up yet.
fn take_name(session: &mut Session, name: &str) -> Result<(), Error> {
    let taken = passed_over(session.lock_name(name, Duration::ZERO))?;
    if taken != Some(false) {
        return Ok(());
    }
    passed_over(session.kill_holder(name))?;
    // If it does not come, the ledger's own locks make us wait.
    passed_over(session.lock_name(name, ENDING_WAIT))?;
    Ok(())
}

/// None for a statement that this server does not know.
fn passed_over<T>(outcome: server::Result<T>) -> Result<Option<T>, Error> {
    match outcome {
        Err(server::Error::Statement { .. }) => Ok(None),
        outcome => Ok(Some(outcome?)),
    }
}

/// A name that no other connection has.
pub(super) fn lock_name(session: &Session) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let text = format!("{} {} {now:?}", std::process::id(), session.id());
    format!("inrush_send_{:016x}", digest(text.as_bytes()))
}
