//! The target, taken for one load alone.

use std::sync::mpsc::Sender;
use std::time::Duration;

use face::option::{CREATE, DDL};
use job::error::Error;
use job::failpoint;
use job::options::LoadOptions;
use server::Session;
use targets::{Lock, LockOptions};

/// ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR.
const ER_DENIED: [u16; 2] = [1044, 1142];

/// Takes the target for this load alone; `told` hears of locks that are waited for.
pub fn lock(
    session: Session,
    options: &LoadOptions,
    told: Option<&Sender<String>>,
) -> Result<Lock, Error> {
    let name = options.target();
    Lock::take(session, &name, &lock_options(options, told)).map_err(|error| match error {
        server::Error::NoTable(name) if options.ddl.is_none() => no_table(&name),
        // A table that the account cannot see looks like a missing one.
        error if error.errno().is_some_and(|errno| ER_DENIED.contains(&errno)) => {
            Error::Usage(error.to_string())
        }
        error => error.into(),
    })
}

/// How the targets of these options are taken; `told` hears of locks that are waited for. Nobody waits for the end of
/// another load without a word.
pub(crate) fn lock_options(options: &LoadOptions, told: Option<&Sender<String>>) -> LockOptions {
    let defaults = LockOptions::default();
    let lock_wait = Duration::from_secs(u64::from(options.server.lock_wait_seconds));
    LockOptions {
        lock_wait,
        load_wait: told.map_or(defaults.load_wait, |_| lock_wait),
        reconnect_wait: failpoint::reconnect_wait(targets::RECONNECT_WAIT),
        told: told.cloned(),
        no_triggers: options.server.no_triggers,
        proof: options.proof(),
        allow_empty: options.allow_empty,
    }
}

pub(crate) fn no_table(name: &str) -> Error {
    let ddl = DDL.with("FILE");
    Error::Usage(format!("table {name} does not exist; {ddl} or {CREATE} creates it"))
}
