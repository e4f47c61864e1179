//! Values that the server changed on their way into a table, as it does without strict mode: text that was cut,
//! numbers that were clamped, defaults in place of NULL. Each is a warning of its statement.

use std::fmt;

use face::option::STRICT;
use serde::Serialize;
use server::Session;
use server::session::{Done, Warning};

use crate::error::Error;
use crate::options::ReplayOptions;

/// Warnings of a statement that the server keeps at most.
const KEPT_MAX: u32 = 65_535;

/// Changes of a table that are told at most: they are held in memory.
pub const TOLD_MAX: usize = 100_000;

/// Warnings that are about no changed value: rows that IGNORE leaves out (duplicates, foreign keys, partitions,
/// CHECK), words that will go out of use, statements that replicas may run otherwise, values that dumps have of
/// generated columns (1906), which the server computes.
const NO_CHANGE: [u16; 14] =
    [1022, 1062, 1216, 1287, 1452, 1526, 1586, 1592, 1681, 1748, 1906, 3719, 3819, 4025];

/// The changes in a table, or in some of its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Changed values, by the server's count of warnings.
    pub count: u64,
    /// The first one; with [`show_changes`](ReplayOptions::show_changes) the first 100,000 that the server told.
    pub told: Vec<Change>,
}

/// A changed value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Line of the dump, from 1, on which the rows of its statement begin.
    pub line: u64,
    /// The server's words.
    pub message: String,
    /// Number of the server's warning.
    pub errno: u16,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { line, message, errno } = self;
        write!(f, "in the rows from line {line}: {message} (warning {errno})")
    }
}

impl Changes {
    /// Adds those of a statement that has just run over a session, whose rows begin on a line.
    ///
    /// Errors: a change under [`strict`](ReplayOptions::strict).
    pub(crate) fn take(
        &mut self,
        session: &mut Session,
        done: &Done,
        line: u64,
        options: &ReplayOptions,
    ) -> Result<(), Error> {
        if done.warnings == 0 {
            return Ok(());
        }
        let warnings = session.warnings()?;
        let unseen = usize::from(done.warnings).saturating_sub(warnings.len());
        let told = warnings.into_iter().filter(is_change);
        let told = told.map(|Warning { message, errno, .. }| Change { line, message, errno });
        let told: Vec<Change> = told.collect();
        let taken = Changes { count: (told.len() + unseen) as u64, told };
        if options.strict && taken.count > 0 {
            let first = taken.told.first().map_or_else(String::new, |first| format!(": {first}"));
            return Err(Error::Refused(format!(
                "{STRICT}: the server would change {} of the values{first}",
                taken.count
            )));
        }
        self.join(taken, options);
        Ok(())
    }

    /// Adds those of other rows.
    pub(crate) fn join(&mut self, other: Changes, options: &ReplayOptions) {
        self.count += other.count;
        self.told.extend(other.told);
        if !options.show_changes {
            self.told.sort_by_key(|change| change.line);
        }
        self.told.truncate(if options.show_changes { TOLD_MAX } else { 1 });
    }
}

/// Has the server keep all warnings of a statement: those that are changes may be the last.
pub(crate) fn keep(session: &mut Session) -> Result<(), Error> {
    Ok(session.set_if_allowed("max_error_count", &KEPT_MAX.to_string())?)
}

fn is_change(warning: &Warning) -> bool {
    warning.level != "Note" && !NO_CHANGE.contains(&warning.errno)
}
