//! Foreign keys that earlier loads of a server have left at old tables.

use std::path::Path;
use std::time::Duration;

use job::error::Error;
use job::jobs::{self, State};
use schema::TableName;
use server::{ConnectOptions, Session};
use targets::left_keys;

pub use targets::left_keys::LeftKeys;

/// Has them refer to the new tables; others who hold a child are waited for. Gives what was left, and why
/// some of it is.
///
/// Errors: no connection.
pub fn carry_keys_over(
    connect: &ConnectOptions,
    state_dir: &Path,
    wait: Duration,
) -> Result<Vec<LeftKeys>, Error> {
    let mut session = Session::connect(connect)?;
    let may_go = |table: &TableName, is_extended| {
        may_go(state_dir, &table.to_string(), is_extended).unwrap_or(false)
    };
    let left = left_keys::finish(&mut session, wait, may_go)?;
    if left.is_empty() {
        session.keep();
    }
    Ok(left)
}

/// The same with nothing carried over. Errors: no connection.
pub fn keys_left(connect: &ConnectOptions) -> Result<Vec<LeftKeys>, Error> {
    Ok(left_keys::find(&mut Session::connect(connect)?)?)
}

/// True if the old table of this one, which proves that the rows of a job are in, may go: their journals say
/// so, and those of killed jobs from here on. False while a journal cannot be read.
fn may_go(state_dir: &Path, table: &str, is_extended: bool) -> Result<bool, Error> {
    let (mut is_known, mut is_open) = (false, false);
    let (jobs, unreadable) = jobs::list(state_dir)?;
    if !unreadable.is_empty() {
        return Ok(false);
    }
    for job in jobs.iter().filter(|job| job.may_be_in()) {
        let is_of_table = job.target() == table;
        let is_waiting = !job.is_in() && matches!(job.state, State::Killed | State::Running);
        match (is_waiting, is_of_table && job.state == State::Killed) {
            (true, true) if !is_known => jobs::note_in(state_dir, job)?,
            (true, _) => is_open = true,
            (false, _) => {}
        }
        is_known |= is_of_table;
    }
    // That of a job of another computer says to its command that rows were added.
    Ok(!is_open && (is_known || !is_extended))
}
