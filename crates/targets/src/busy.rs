//! A target that another load has taken.

use std::time::Duration;

use crate::names::Names;
use crate::waiting::describe;
use server::error::{Error, Result};
use server::identifier::TableName;
use server::session::Session;

/// A predecessor that was killed may still hold its lock while the server ends its statement.
pub(super) const BUSY_WAIT: Duration = Duration::from_secs(5);

/// The error of a target that another load has taken.
pub(super) fn busy(session: &mut Session, target: &TableName) -> Result<Error> {
    let holder = session.lock_holder(&Names::of(target).lock)?.unwrap_or(0);
    let who = describe(session, holder);
    Ok(Error::Busy { target: target.to_string(), holder, who })
}
