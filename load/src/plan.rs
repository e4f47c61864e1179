//! Which way into the server a load takes, and why not a faster one.

use serde::Serialize;
use server::{ConnectOptions, Session, Table, TableName, Target, TargetOptions};
use std::time::Duration;

use crate::error::Error;
use crate::options::{LoadOptions, Mode};

/// What a load would do.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// `database.table`.
    pub target: String,
    /// `direct`; none when no way is open.
    pub path: Option<&'static str>,
    /// Why that one.
    pub why: String,
    /// Each feature that keeps the direct path away, as a sentence.
    pub refused: Vec<String>,
    /// Version of the server.
    pub server: String,
    /// Bytes of the input.
    pub input_bytes: u64,
}

/// Why the direct path is taken, when it is.
pub(crate) const WHY_DIRECT: &str =
    "the server's files are reachable and the table has nothing the direct path cannot build";

/// Says what [`crate::load`] would do. Changes nothing.
pub fn plan(connect: &ConnectOptions, options: &LoadOptions) -> Result<Plan, Error> {
    let session = Session::connect(connect)?;
    let server = session.version().text.clone();
    let mut target = lock(session, options)?;
    let mut refused = refusals(&target);
    if options.mode != Mode::Replace && !Table::is_empty(&mut target.session, &target.table.name)? {
        refused.push(not_empty(options));
    }
    let input_bytes = options
        .files
        .iter()
        .map(|file| std::fs::metadata(file).map(|m| m.len()).map_err(Error::io("looking at", file)))
        .sum::<Result<u64, Error>>()?;
    Ok(Plan {
        target: target.table.name.to_string(),
        path: refused.is_empty().then_some("direct"),
        why: if refused.is_empty() { WHY_DIRECT.to_owned() } else { String::new() },
        refused,
        server,
        input_bytes,
    })
}

/// Takes the target for this load alone.
pub(crate) fn lock(session: Session, options: &LoadOptions) -> Result<Target, Error> {
    let name = TableName::new(&options.database, &options.table);
    let wait = Duration::from_secs(u64::from(options.lock_wait_seconds));
    Ok(Target::lock(session, &name, &TargetOptions { lock_wait: wait, datadir: None })?)
}

/// What keeps the direct path from a table, one sentence each.
pub(crate) fn refusals(target: &Target) -> Vec<String> {
    target.unsupported.iter().map(ToString::to_string).collect()
}

/// The sentence for a table that has rows already.
pub(crate) fn not_empty(options: &LoadOptions) -> String {
    match options.mode {
        Mode::Append => {
            "the table is not empty, and rows cannot be added to those there yet".to_owned()
        }
        _ => "the table is not empty; --mode replace swaps its rows for the input's".to_owned(),
    }
}
