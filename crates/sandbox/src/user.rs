//! Users of a sandbox: commands that need its server, and the end of a server that runs for them alone.
//!
//! Each user holds a shared lock on `DIR/users`, which ends with its process. The content of the file tells
//! how long the server runs: until `inrush sandbox stop`, or until its last user leaves. Users come and leave
//! under `DIR/lock`, so none comes while the last one stops the server.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::FlockOperation;
use server::error::{Error, Result};

use crate::{START_TIMEOUT, Sandbox, SandboxOptions};

pub(crate) const NAME: &str = "users";
/// The content of the file while the server stops with its last user.
const UNTIL_LAST_USER: &[u8] = b"until the last user leaves\n";

/// The time that a server runs which a user starts. It changes nothing for a server that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Until it is stopped.
    UntilStopped,
    /// Until its last user leaves.
    UntilLastUser,
}

/// A user of a sandbox, whose server runs meanwhile. Dropping it leaves.
///
/// The last user stops a server that was started for its users alone. A killed user leaves that to the next.
#[derive(Debug)]
pub struct User {
    sandbox: Sandbox,
    /// Holds the shared lock.
    file: File,
}

impl Sandbox {
    /// Becomes a user of the sandbox, which is started as by [`Sandbox::start`] if it does not run.
    ///
    /// Errors: as [`Sandbox::start`].
    pub fn enter(&self, options: &SandboxOptions, lifetime: Lifetime) -> Result<User> {
        let _lock = self.make_and_lock()?;
        let mut file = self.users()?;
        self.locked_users(&file, FlockOperation::LockShared)?;
        if self.place.running().is_none() {
            self.write_lifetime(&mut file, lifetime)?;
        }
        self.start_locked(options)?;
        Ok(User { sandbox: self.clone(), file })
    }

    /// Notes under the sandbox's lock that the server runs until it is stopped.
    pub(crate) fn keep_running(&self) -> Result<()> {
        self.write_lifetime(&mut self.users()?, Lifetime::UntilStopped)
    }

    fn users(&self) -> Result<File> {
        let path = self.dir().join(NAME);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        options.open(&path).map_err(|e| Error::io("opening", &path, e))
    }

    fn locked_users(&self, file: &File, operation: FlockOperation) -> Result<()> {
        let path = self.dir().join(NAME);
        rustix::fs::flock(file, operation).map_err(|e| Error::io("locking", &path, e.into()))
    }

    fn write_lifetime(&self, file: &mut File, lifetime: Lifetime) -> Result<()> {
        let write = |file: &mut File| -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            match lifetime {
                Lifetime::UntilStopped => Ok(()),
                Lifetime::UntilLastUser => file.write_all(UNTIL_LAST_USER),
            }
        };
        write(file).map_err(|e| Error::io("writing", self.dir().join(NAME), e))
    }
}

impl User {
    /// The sandbox that it uses.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    fn leave(&mut self) -> Result<()> {
        if !self.is_until_last_user() {
            return Ok(());
        }
        let _lock = self.sandbox.lock(START_TIMEOUT)?;
        let is_last = rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive);
        match is_last.is_ok() && self.is_until_last_user() {
            true => self.sandbox.stop_locked(),
            false => Ok(()),
        }
    }

    fn is_until_last_user(&mut self) -> bool {
        let mut content = Vec::new();
        let read = self.file.rewind().and_then(|()| self.file.read_to_end(&mut content));
        read.is_ok() && content == UNTIL_LAST_USER
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // The work is over either way. A server that still runs is the next user's.
        let _ = self.leave();
    }
}
