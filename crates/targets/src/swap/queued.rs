//! Connections that wait for tables while these are swapped.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{ATTEMPT, Group, Held, HeldTables};
use crate::behind::Behind;
use crate::turns::TURN;
use server::error::Result;
use server::identifier::TableName;
use server::session::Session;

/// A RENAME takes less, once it has its locks.
const PASSING: Duration = Duration::from_millis(200);

/// Connections that wait for tables while these are swapped.
#[derive(Default)]
pub(super) struct Queued {
    pub(super) tables: Vec<(Group, Behind)>,
}

impl Queued {
    /// All of them, or none where one does not get its tables soon: somebody who waits for a table of the
    /// others may have these. That is no failure: the swap is done, and the keys are carried over later.
    pub(super) fn held(self, observer: &mut Session) -> Held {
        let end = Instant::now() + TURN;
        let (mut held, mut is_complete) = (Held::default(), true);
        for (group, one) in self.tables {
            match one.held_until(end, observer) {
                Some(session) => held.tables.push(HeldTables { group, session }),
                None => is_complete = false,
            }
        }
        if is_complete { held } else { Held::default() }
    }

    /// The mover's answer. It locks tables one after the other, and others that wait for one that
    /// it has not come to may get the old one before it: those wait again then, behind it. None if
    /// it died.
    pub(super) fn let_pass(
        &mut self,
        result: &Receiver<Result<()>>,
        wait: Duration,
        holders: &mut [Session],
    ) -> Option<Result<()>> {
        loop {
            let slice = if self.tables.is_empty() { wait + ATTEMPT } else { PASSING };
            match result.recv_timeout(slice) {
                Ok(moved) => return Some(moved),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let Some(observer) = holders.first_mut() else { continue };
            let waiting = std::mem::take(&mut self.tables).into_iter();
            let again = waiting.map(|(group, one)| Some((group, one.again(wait, observer).ok()?)));
            self.tables = again.flatten().collect();
        }
    }

    pub(super) fn give_up(self, observer: &mut Session) {
        self.tables.into_iter().for_each(|(_, one)| one.give_up(observer));
    }
}

/// The statement that locks tables.
pub(super) fn lock_statement<'t>(tables: impl Iterator<Item = &'t TableName>) -> String {
    let tables: Vec<String> = tables.map(|table| format!("{} WRITE", table.quoted())).collect();
    format!("LOCK TABLES {}", tables.join(", "))
}
