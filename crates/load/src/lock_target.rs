//! The target, taken for one load alone.

use std::sync::mpsc::Sender;
use std::time::Duration;

use face::option::{CREATE, DDL};
use job::error::Error;
use job::failpoint;
use job::options::LoadOptions;
use schema::TableName;
use server::Session;
use targets::{Lock, LockOptions};

/// Takes the target for this load alone; `told` hears of locks that are waited for.
pub fn lock(
    session: Session,
    options: &LoadOptions,
    told: Option<&Sender<String>>,
) -> Result<Lock, Error> {
    let name = TableName::new(&options.database, &options.table);
    let wait = Duration::from_secs(u64::from(options.server.lock_wait_seconds));
    let reconnect_wait = failpoint::reconnect_wait(targets::RECONNECT_WAIT);
    let lock_options = LockOptions {
        lock_wait: wait,
        reconnect_wait,
        told: told.cloned(),
        datadir: None,
        no_triggers: options.server.no_triggers,
        proof: options.proof(),
    };
    Lock::take(session, &name, &lock_options).map_err(|error| match error {
        server::Error::NoTable(name) if options.ddl.is_none() => no_table(&name),
        error => error.into(),
    })
}

pub(crate) fn no_table(name: &str) -> Error {
    let ddl = DDL.with("FILE");
    Error::Usage(format!("table {name} does not exist; {ddl} or {CREATE} creates it"))
}
