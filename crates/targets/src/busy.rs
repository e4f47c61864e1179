//! A target that another load has taken.

use std::sync::mpsc::Sender;
use std::time::Duration;

use crate::names::Names;
use crate::waiting::describe;
use server::error::{Error, Result};
use server::identifier::TableName;
use server::session::Session;

/// A predecessor that was killed may still hold its lock while the server ends its statement.
pub(super) const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Takes a target's named lock. Waits for another load that has it, and tells that.
///
/// Errors: [`Error::Busy`].
pub fn claim(
    session: &mut Session,
    target: &TableName,
    wait: Duration,
    told: Option<&Sender<String>>,
) -> Result<()> {
    let lock = Names::of(target).lock;
    if session.lock_name(&lock, BUSY_WAIT)? {
        return Ok(());
    }
    let rest = wait.saturating_sub(BUSY_WAIT);
    if rest.is_zero() {
        return Err(busy(session, target)?);
    }
    let (holder, who) = holder(session, target)?;
    if let Some(told) = told {
        let seconds = wait.as_secs();
        // Nobody listens any more: fine.
        let _ = told.send(format!(
            "waiting for another load into {target} to end, at most {seconds} s (connection {holder}: {who})"
        ));
    }
    match session.lock_name(&lock, rest)? {
        true => Ok(()),
        false => Err(busy(session, target)?),
    }
}

/// The error of a target that another load has taken.
pub(super) fn busy(session: &mut Session, target: &TableName) -> Result<Error> {
    let (holder, who) = holder(session, target)?;
    Ok(Error::Busy { target: target.to_string(), holder, who })
}

/// The connection that has a target, 0 when it has just gone, and who that is.
fn holder(session: &mut Session, target: &TableName) -> Result<(u64, String)> {
    let holder = session.lock_holder(&Names::of(target).lock)?.unwrap_or(0);
    Ok((holder, describe(session, holder)))
}
