//! The tables at the other ends of foreign keys, held while a table that they have to do with is
//! swapped.
//!
//! ```text
//! parents   READ: no row that new rows refer to goes before the new table is there
//! children  READ: no row comes that refers to an old one, while rows are looked at
//! ```
//!
//! Readers go on. A connection of its own locks them, since one that holds locks renames nothing. The lock
//! for the swap takes children over from it, since the server locks them with the target where their rows
//! follow those of the target (ON DELETE CASCADE), and another connection then until their keys are the new
//! table's: see [`swap`](super::swap).

use std::collections::BTreeSet;

use crate::lock::Lock;
use schema::TableName;
use server::error::Result;
use server::session::Session;

/// Holds tables until it is dropped.
#[derive(Debug)]
pub(super) struct Guard {
    session: Session,
}

impl Guard {
    /// Sees to it that it holds them still.
    ///
    /// Errors: [`Error::Lost`](server::Error::Lost) where its connection has ended, and the tables may
    /// be others by now.
    pub(super) fn check(&mut self) -> Result<()> {
        self.session.exec("DO 0").map(drop)
    }

    /// The session that locks them.
    pub(super) fn into_session(self) -> Session {
        self.session
    }

    /// Holds these tables as soon as nobody writes to one; none where there are none.
    ///
    /// Errors: [`Error::LockWait`](server::Error::LockWait); rights.
    pub(super) fn take(lock: &mut Lock, tables: &BTreeSet<TableName>) -> Result<Option<Guard>> {
        if tables.is_empty() {
            return Ok(None);
        }
        let list: Vec<String> =
            tables.iter().map(|table| format!("{} READ", table.quoted())).collect();
        let mut session = lock.fresh()?;
        session.set_lock_wait(lock.patience.wait)?;
        let sql = format!("LOCK TABLES {}", list.join(", "));
        lock.patience.watch(&mut session, |session| session.exec(&sql))?;
        Ok(Some(Guard { session }))
    }
}
