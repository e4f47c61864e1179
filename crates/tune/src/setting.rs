//! Variables set, read, and put back.

use face::call;
use face::option::RESTORE;
use schema::LoadPath;
use server::Session;
use server::error::{Error, Result};
use server::facts::FLUSH_VARIABLES;

use crate::class::Class;
use crate::facts::Facts;
use crate::journal::{Change, Entry};
use crate::variable::{ALL, Use, Variable};

/// The settings for a load by one path, and objections to them, one sentence each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingPlan {
    /// The changes.
    pub changes: Vec<Change>,
    /// Variables that stay as they are, though a load would gain, and why.
    pub advice: Vec<String>,
}

impl SettingPlan {
    /// Looks through all variables, for so many bytes of rows if that is known.
    pub fn of(facts: &Facts, class: Class, path: LoadPath, bytes: Option<u64>) -> SettingPlan {
        let mut wanted = SettingPlan::default();
        let of_path = ALL.iter().filter(|variable| {
            variable.used != Use::Advise
                && variable.class <= class
                && variable.paths.contains(&path)
        });
        for variable in of_path {
            let (Some(before), Some(set)) = (variable.now(facts), variable.better(facts)) else {
                continue;
            };
            let name = variable.name;
            let is_small =
                || bytes.is_some_and(|bytes| before.parse().is_ok_and(|now| bytes < now));
            if variable.takes_seconds && is_small() {
                wanted.advice.push(format!(
                    "{name}={set} was not set: the current value suffices for this load"
                ));
            } else if !variable.is_settable(facts) {
                let text = "this server accepts the variable only at its start";
                wanted.advice.push(format!("{name}={set} was not set: {text}"));
            } else if let Some(obstacle) = variable.obstacle(facts) {
                wanted.advice.push(format!("{name}={set} was not set: {obstacle}"));
            } else {
                let (variable, beneath) = (name.to_owned(), None);
                wanted.changes.push(Change { variable, before, set, held: false, beneath });
            }
        }
        wanted
    }
}

/// Its current value; none if the server does not tell.
pub(crate) fn value(session: &mut Session, variable: &Variable) -> Result<Option<String>> {
    Ok(session.query(&variable.question())?.first().map(|row| row.text_lossy(1)))
}

/// True if two values are equal to the server: `90` and `90.000000`, `on` and `ON`.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    a.eq_ignore_ascii_case(b) || number(a).is_some_and(|a| number(b) == Some(a))
}

/// Restores the variables, the last first, except those that are held. Variables that cannot be
/// restored stay in `entry`; returns messages, one sentence each.
pub(crate) fn put_back(session: &mut Session, entry: &mut Entry) -> Vec<String> {
    let mut told = Vec::new();
    let mut kept = Vec::new();
    for (number, change) in entry.changes.drain(..).rev().enumerate() {
        if change.held {
            kept.push(change);
            continue;
        }
        match put_one_back(session, &change) {
            Ok(None) => {}
            Ok(Some(changed)) => told.push(changed),
            Err(error) => {
                let Change { variable, before, set, .. } = &change;
                told.push(format!(
                    "{variable} is still {set}, as set for a load: restoring {before} failed \
                     ({error}); the next command for this server tries again, and so does {}",
                    call("tune", RESTORE)
                ));
                kept.push(change);
            }
        }
        disk::failpoint::hit(&format!("tune.restored.{}", number + 1));
    }
    kept.reverse();
    entry.changes = kept;
    told
}

/// Writes into `entry` what a flush sets, over what loads at work have set; the server has it later.
pub(crate) fn note_flush(session: &mut Session, entry: &mut Entry) -> Result<()> {
    for (name, set) in FLUSH_VARIABLES {
        let Some(variable) = Variable::named(name) else { continue };
        let Some(now) = value(session, variable)? else { continue };
        let noted = entry.changes.iter_mut().find(|change| change.variable == name);
        match noted {
            _ if is_same(&now, set) || is_fast(name, &now, set) => {}
            Some(change) => {
                change.set = set.to_owned();
                change.beneath = Some(now);
            }
            None => entry.changes.push(Change {
                variable: name.to_owned(),
                before: now.clone(),
                set: set.to_owned(),
                held: false,
                beneath: Some(now),
            }),
        }
    }
    Ok(())
}

/// True if a server writes pages out faster than by the value of a flush. A lower value would also be put back
/// wrongly: the server raises `innodb_io_capacity_max` with `innodb_io_capacity`.
fn is_fast(name: &str, now: &str, set: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().ok();
    name.starts_with("innodb_io_capacity") && number(now) > number(set)
}

/// Puts back what flushes have set, the last first, to what the loads at work count on.
pub(crate) fn end_flush(session: &mut Session, entry: &mut Entry) -> Result<()> {
    for (name, _) in FLUSH_VARIABLES.into_iter().rev() {
        let (Some(at), Some(variable)) = (
            entry.changes.iter().position(|change| change.variable == name),
            Variable::named(name),
        ) else {
            continue;
        };
        let Some(beneath) = entry.changes[at].beneath.clone() else { continue };
        let change = &mut entry.changes[at];
        let now = value(session, variable)?.unwrap_or_default();
        // Somebody else may have set it since.
        if is_same(&now, &change.set) {
            session.exec(&variable.statement(&beneath))?;
        }
        change.beneath = None;
        change.set = beneath;
        if is_same(&change.before, &change.set) {
            entry.changes.remove(at);
        }
        disk::failpoint::hit(&format!("tune.flushed.{name}"));
    }
    Ok(())
}

fn put_one_back(session: &mut Session, change: &Change) -> Result<Option<String>> {
    let Change { variable: name, before, set, .. } = change;
    let Some(variable) = Variable::named(name) else { return Ok(None) };
    let Some(now) = value(session, variable)? else { return Ok(None) };
    if is_same(&now, before) {
        return Ok(None);
    }
    if !is_same(&now, set) {
        return Ok(Some(format!(
            "{name} stays {now}: somebody else set it during the load; it was {before} before"
        )));
    }
    session.exec(&variable.statement(before))?;
    match value(session, variable)? {
        Some(now) if !is_same(&now, before) => {
            Err(Error::Option(format!("the server still shows {now} after SET")))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_as_the_server_means_them() {
        for (a, b, same) in [
            ("90", "90.000000", true),
            ("on", "ON", true),
            ("2", "1", false),
            ("all", "none", false),
            ("", "0", false),
        ] {
            assert_eq!(is_same(a, b), same, "{a} {b}");
        }
    }
}
