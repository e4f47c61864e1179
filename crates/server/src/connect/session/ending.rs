//! Other connections of ours that are ended: told by their [`Mark`].

use crate::connect::mark::Mark;
use crate::engine::Kind;
use crate::error::Result;
use crate::session::Session;

/// Server error of a KILL of nobody.
const ER_NO_SUCH_THREAD: u16 = 1094;

impl Session {
    /// Ends another session of ours. Fine when it has gone already, or is not on this server.
    pub fn kill(&mut self, other: &Mark) -> Result<()> {
        self.kill_holder(&other.lock)
    }

    /// Ends the connection that holds a named lock of ours. Fine when nobody does.
    pub fn kill_holder(&mut self, lock: &str) -> Result<()> {
        self.end("KILL CONNECTION", lock)
    }

    /// True if another session of ours has not ended yet.
    pub fn is_there(&mut self, other: &Mark) -> Result<bool> {
        Ok(self.lock_holder(&other.lock)?.is_some())
    }

    /// Ends the statement that another session of ours runs. As [`Session::kill`].
    pub fn kill_query(&mut self, other: &Mark) -> Result<()> {
        self.end("KILL QUERY", &other.lock)
    }

    fn end(&mut self, how: &str, lock: &str) -> Result<()> {
        let Some(holder) = self.lock_holder(lock)? else { return Ok(()) };
        if !Kind::of_version(self.version()).tells_holder(holder) {
            return Ok(());
        }
        match self.exec(&format!("{how} {holder}")) {
            Err(e) if e.errno() == Some(ER_NO_SUCH_THREAD) => Ok(()),
            other => other.map(drop),
        }
    }
}
