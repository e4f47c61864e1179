//! Which connection is ours: nobody else's is ended.
//!
//! A connection's number is one server's alone. Behind a balancer the next connection may reach
//! another server, or the number may be the balancer's own: `KILL 17` then ends a stranger. So every
//! session holds a named lock of a name that nobody else has, and who holds it is asked first, of
//! the server that is to end it. The lock is gone when the session is, however it ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::error::{Error, Result};
use crate::identifier::digest;
use crate::session::Session;

/// Server error of a KILL of nobody.
const ER_NO_SUCH_THREAD: u16 = 1094;

/// One session, wherever it is seen from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    id: u64,
    /// Name of the lock that it holds.
    lock: Arc<str>,
}

impl Mark {
    /// Has a new connection hold its lock. Of a server that knows no such locks nothing is ended.
    pub(super) fn put_on(conn: &mut Conn) -> Result<Mark> {
        let mark = Mark { id: u64::from(conn.connection_id()), lock: name(conn.connection_id()) };
        let sql = format!("DO GET_LOCK('{}', 0)", mark.lock);
        match conn.query_drop(&sql).map_err(|e| Error::from_driver(e, &sql)) {
            Err(error @ Error::Lost { .. }) => Err(error),
            _ => Ok(mark),
        }
    }

    /// The number that its server gave it.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

impl Session {
    /// Ends another session of ours. Fine when it has gone already, or is not on this server.
    pub fn kill(&mut self, other: &Mark) -> Result<()> {
        self.kill_holder(&other.lock)
    }

    /// Ends the connection that holds a named lock of ours. Fine when nobody does.
    pub fn kill_holder(&mut self, lock: &str) -> Result<()> {
        self.end("KILL CONNECTION", lock)
    }

    /// Ends the statement that another session of ours runs. As [`Session::kill`].
    pub(crate) fn kill_query(&mut self, other: &Mark) -> Result<()> {
        self.end("KILL QUERY", &other.lock)
    }

    fn end(&mut self, how: &str, lock: &str) -> Result<()> {
        let Some(holder) = self.lock_holder(lock)? else { return Ok(()) };
        match self.exec(&format!("{how} {holder}")) {
            Err(e) if e.errno() == Some(ER_NO_SUCH_THREAD) => Ok(()),
            other => other.map(drop),
        }
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
