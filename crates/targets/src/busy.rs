//! A target that another load has taken.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use crate::names::Names;
use crate::waiting::describe;
use server::error::{Error, Result};
use server::identifier::{TableName, quote_text};
use server::session::{Row, Session};

/// A predecessor that was killed may still hold its lock while the server ends its statement.
pub(super) const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Targets that are taken by one request at most.
const CLAIMED_AT_ONCE: usize = 64;

/// Takes a target's named lock. Waits for another load that has it, and tells that; takes the time from `wait`.
///
/// Errors: [`Error::Busy`].
pub fn claim(
    session: &mut Session,
    target: &TableName,
    wait: &mut Duration,
    told: Option<&Sender<String>>,
) -> Result<()> {
    let begun = Instant::now();
    let claimed = claim_within(session, target, *wait, told);
    *wait = wait.saturating_sub(begun.elapsed());
    claimed
}

fn claim_within(
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

/// The same of many targets, in their order: those that are free by few requests.
pub(super) fn claim_all(
    session: &mut Session,
    targets: &[TableName],
    mut wait: Duration,
    told: Option<&Sender<String>>,
) -> Result<()> {
    let lock = |target| quote_text(&Names::of(target).lock);
    for some in targets.chunks(CLAIMED_AT_ONCE) {
        let questions = some.iter().map(|target| format!("SELECT GET_LOCK({}, 0)", lock(target)));
        let answers = match session.query_all(&questions.collect::<Vec<_>>()) {
            Err(error) if error.errno().is_none() => return Err(error),
            // A proxy may take one statement at a time.
            answers => answers.unwrap_or_default(),
        };
        let is_taken = |rows: &Vec<Row>| rows.first().and_then(|row| row.bytes(0)) == Some(b"1");
        let first = answers.iter().position(|rows| !is_taken(rows)).unwrap_or(answers.len());
        // A load that waits for a target holds none behind it.
        for (target, _) in some.iter().zip(&answers).skip(first).filter(|(_, rows)| is_taken(rows))
        {
            session.exec(&format!("DO RELEASE_LOCK({})", lock(target)))?;
        }
        some[first..].iter().try_for_each(|target| claim(session, target, &mut wait, told))?;
    }
    Ok(())
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
