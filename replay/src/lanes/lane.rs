//! One connection at work: a chunk of rows in, a transaction out.

use std::thread::sleep;
use std::time::Duration;

use server::Session;
use sources::Chunk;

use super::gate::{Gate, unfit};
use super::tuples::{Span, Spans};
use crate::work::{Stopped, Work};

/// Bytes of a statement where the server takes as many: its rows are parsed into memory before the
/// first goes in, and smaller ones stay in the processor's caches.
const STATEMENT_BYTES: usize = 256 << 10;
/// What a statement may be where the server does not say: the protocol's first packet.
const PACKET_BYTES_DEFAULT: usize = 1 << 20;
/// Room in a packet that is not the statement's.
const PACKET_BYTES_SPARE: usize = 1 << 10;
/// Tries of a transaction that others hinder, and the pause after the first, doubled each time.
const TRIES_MAX: u32 = 10;
const PAUSE_MIN: Duration = Duration::from_millis(2);

/// Server errors after which a transaction may be done again: it gave way to another one, or
/// waited too long for it.
const ER_AGAIN: [u16; 2] = [1213, 1205];

/// Server error, or warning, of NULL in a NOT NULL column.
const ER_BAD_NULL: u16 = 1048;

/// A connection that sends rows.
pub(super) struct Lane<'a> {
    session: Session,
    gate: &'a Gate,
    /// Longest statement.
    statement_bytes_max: usize,
    statement: Vec<u8>,
}

impl<'a> Lane<'a> {
    /// A new connection, set to what the dump's session is.
    pub(super) fn connect(work: &Work<'_>, gate: &'a Gate) -> Result<Lane<'a>, Stopped> {
        let mut session = Session::connect(work.connect)?;
        work.state.apply(&mut session)?;
        // Without the check MariaDB locks an empty table as a whole and fills it in bulk: two
        // transactions that do so wait for each other, and no statement can be taken back.
        session.exec("SET SESSION unique_checks=1, sql_notes=0")?;
        let packet = session.query_row("SELECT @@SESSION.max_allowed_packet")?;
        let packet = packet.number::<usize>(0).unwrap_or(PACKET_BYTES_DEFAULT);
        let room = packet.saturating_sub(PACKET_BYTES_SPARE);
        if gate.is_whole {
            session.exec("START TRANSACTION")?;
        }
        Ok(Lane {
            session,
            gate,
            statement_bytes_max: STATEMENT_BYTES.min(room),
            statement: Vec::new(),
        })
    }

    /// Makes the rows stay that were sent, or takes them back where they are one transaction.
    pub(super) fn end(mut self, stay: bool) -> Result<(), Stopped> {
        if !self.gate.is_whole {
            return Ok(());
        }
        let _shield = self.session.options().interrupt.shield();
        if stay {
            return Ok(self.session.exec("COMMIT").map(drop)?);
        }
        // A connection that is gone takes its rows back too.
        let _ = self.session.exec("ROLLBACK");
        Ok(())
    }

    /// Sends the rows of a chunk, all or none; gives their number.
    ///
    /// Errors: [`Stopped::Unfit`] for whatever the dump's own statements, one after the other, may
    /// yet do otherwise.
    pub(super) fn send(&mut self, chunk: &Chunk) -> Result<u64, Stopped> {
        let span_bytes_max = self.statement_bytes_max.saturating_sub(self.gate.head.len());
        let spans = self.gate.rules.spans(&chunk.bytes, span_bytes_max).map_err(|found| {
            let (line, offset) = (chunk.line_at(found.at), chunk.offset_at(found.at));
            unfit(format!("{} in line {line}, byte {offset}", found.what))
        })?;
        let mut tries = 0;
        loop {
            let error = match self.transaction(chunk, &spans) {
                Ok(()) => return Ok(spans.spans.iter().map(|span| span.rows).sum()),
                Err(Stopped::Failed(crate::Error::Server(error))) => error,
                Err(stopped) => return Err(stopped),
            };
            let passes = error.errno().is_some_and(|errno| ER_AGAIN.contains(&errno));
            tries += 1;
            if self.gate.is_whole || !passes || tries == TRIES_MAX {
                return Err(refused(error));
            }
            self.session.exec("ROLLBACK")?;
            sleep(PAUSE_MIN * 2_u32.saturating_pow(tries));
        }
    }

    fn transaction(&mut self, chunk: &Chunk, spans: &Spans) -> Result<(), Stopped> {
        if !self.gate.is_whole {
            self.session.exec("START TRANSACTION")?;
        }
        let mut rest = spans.spans.as_slice();
        while !rest.is_empty() {
            let count = self.write(chunk, rest);
            let (now, later) = rest.split_at(count);
            rest = later;
            let done = self.session.exec_bytes(&self.statement)?;
            let rows: u64 = now.iter().map(|span| span.rows).sum();
            if self.gate.counts_matter && done.affected_rows != rows {
                return Err(unfit("rows that share a key take each other's place"));
            }
            if spans.has_single && done.warnings > 0 && self.has_null(done.warnings)? {
                return Err(unfit("NULL in a NOT NULL column, which single rows may not have"));
            }
        }
        if !self.gate.is_whole {
            self.session.exec("COMMIT")?;
        }
        Ok(())
    }

    /// Whether a warning is, or may be, of a NULL that the server has changed: in a statement of one
    /// row it is an error.
    fn has_null(&mut self, count: u16) -> Result<bool, Stopped> {
        let told = self.session.warnings()?;
        let is_all = told.len() >= usize::from(count);
        Ok(!is_all || told.iter().any(|warning| warning.errno == ER_BAD_NULL))
    }

    /// Writes a statement of as many spans as fit, at least one; their number.
    fn write(&mut self, chunk: &Chunk, spans: &[Span]) -> usize {
        self.statement.clear();
        self.statement.extend_from_slice(&self.gate.head);
        for (count, span) in spans.iter().enumerate() {
            let text = chunk.bytes.get(span.bytes.clone()).unwrap_or_default();
            if count > 0 {
                if self.statement.len() + text.len() >= self.statement_bytes_max {
                    return count;
                }
                self.statement.push(b',');
            }
            self.statement.extend_from_slice(text);
        }
        spans.len()
    }
}

/// What an error of the server means: it may not be one for the dump's own statements, and if it
/// is, they say which of them it was.
fn refused(error: server::Error) -> Stopped {
    match error {
        server::Error::Statement { errno, message, .. } => {
            unfit(format!("the server says: {message} (error {errno})"))
        }
        error => error.into(),
    }
}
