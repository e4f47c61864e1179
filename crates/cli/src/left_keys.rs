//! Foreign keys and triggers that loads have left at old tables: carried over by the next command, and told of by the one
//! that left them.

use std::path::Path;
use std::time::Duration;

use load::{LeftKeys, Report};
use server::ConnectOptions;
use terminal::failure::KEYS_LEFT;
use terminal::state::folder;

/// How long a command that loads something else waits for others who hold a child.
const WAIT: Duration = Duration::from_secs(1);

/// Has foreign keys that earlier loads left at old tables refer to the new ones, and says so. A
/// failure is a warning, and stops no command.
pub(crate) fn carry_over(connect: &ConnectOptions, named: Option<&Path>) {
    let left = match ::load::carry_keys_over(connect, &folder(named), WAIT) {
        Ok(left) => left,
        // The command itself says so.
        Err(_) => return,
    };
    // An old table may be left without keys.
    let told =
        |one: &LeftKeys| !one.keys.is_empty() || !one.triggers.is_empty() || one.error.is_some();
    for LeftKeys { table, keys, triggers, error } in left.into_iter().filter(told) {
        let (keys, names) = (keys.join(", "), triggers.join(", "));
        match error {
            None if !triggers.is_empty() => tell!(
                "note: triggers that an earlier load had left at the old table of {table} are those of \
                 {table} again: {names}"
            ),
            Some(error) if !triggers.is_empty() => tell!(
                "inrush: warning: triggers of {table} do not run, because an earlier load left them at \
                 its old table: {names} ({error})"
            ),
            None => tell!(
                "note: foreign keys that still referred to the old table of {table} refer to \
                 {table} now: {keys}"
            ),
            Some(error) => tell!(
                "inrush: warning: foreign keys still refer to the old table of {table}, after an \
                 earlier load: {keys} ({error})"
            ),
        }
    }
}

/// Sentences about all that loads have left on a server; none where it cannot be asked.
pub(crate) fn found(connect: &ConnectOptions) -> Vec<String> {
    let left = ::load::keys_left(connect).unwrap_or_default().into_iter();
    left.flat_map(|LeftKeys { table, keys, triggers, .. }| {
        let about = |names: Vec<String>, what: &str| {
            let names = Some(names.join(", ")).filter(|names| !names.is_empty());
            names.map(|names| {
                format!(
                    "a load of {table} ended early, and {what}: {names}. The next load of any table of this \
                     server finishes that"
                )
            })
        };
        let keys = about(keys, "foreign keys still refer to its old table");
        let triggers = about(triggers, "triggers are still those of its old table, and do not run");
        keys.into_iter().chain(triggers)
    })
    .collect()
}

/// Says which foreign keys refer to an old table still, and which triggers it has, and gives the exit status of that;
/// none where there are none.
pub(crate) fn tell<'r>(job: &str, reports: impl IntoIterator<Item = &'r Report>) -> Option<u8> {
    let (mut keys, mut triggers): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for report in reports {
        keys.extend(report.foreign_keys_left.iter().map(String::as_str));
        triggers.extend(report.triggers_left.iter().map(String::as_str));
    }
    let text = match (keys.is_empty(), triggers.is_empty()) {
        (true, true) => return None,
        (false, _) => ::load::report::keys_left_text(&keys.join(", ")),
        (true, false) => ::load::report::triggers_left_text(&triggers.join(", ")),
    };
    tell!("inrush: {text}; run inrush resume {job}, or any other load of this server");
    Some(KEYS_LEFT)
}
