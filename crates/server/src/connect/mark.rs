//! Which connection is ours: nobody else's is ended.
//!
//! A connection's number is one server's alone. Behind a balancer the next connection may reach another server, or the number may be the
//! balancer's own: `KILL 17` then ends a stranger. So every session holds a named lock of a name that nobody else has, and who holds it
//! is asked first, of the server that is to end it. The lock is gone when the session is, however it ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::driver::Driver;
use crate::error::{Error, Result};
use crate::identifier::digest;

/// One session, wherever it is seen from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    id: u64,
    /// Name of the lock that it holds.
    pub lock: Arc<str>,
}

impl Mark {
    /// Takes the lock of a new connection. A connection of a server without such locks is never killed.
    pub(super) fn put_on(driver: &mut Driver) -> Result<Mark> {
        let mark =
            Mark { id: u64::from(driver.connection_id()), lock: name(driver.connection_id()) };
        let sql = format!("DO GET_LOCK('{}', 0)", mark.lock);
        match driver.query_drop(&sql).map_err(|e| Error::from_driver(e, &sql)) {
            Err(error @ (Error::Lost { .. } | Error::Nonsense { .. })) => Err(error),
            _ => Ok(mark),
        }
    }

    /// The number that its server gave it.
    pub fn id(&self) -> u64 {
        self.id
    }
}

/// A name that no other connection has: by time, process, number and how many there were before.
fn name(connection: u32) -> Arc<str> {
    static BEFORE: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let (pid, before) = (std::process::id(), BEFORE.fetch_add(1, Ordering::Relaxed));
    let word = |salt: u8| digest(format!("{salt} {since} {pid} {connection} {before}").as_bytes());
    format!("inrush_session_{:016x}{:016x}", word(0), word(1)).into()
}
