//! One table of several, on its way from station to station.

use locks::Mutex;

use direct::{StagedBuild, Unplaced};
use job::error::Error;
use job::failed::Failed;
use job::memory::Memory;
use job::options::LoadOptions;
use job::report::{Report, Stopwatch};
use sources::Source;
use targets::publish::FilledBy;
use targets::staging_table::DirectState;
use targets::{Direct, Resting};

use crate::choose::Chosen;
use crate::connections::SharedConnections;
use crate::fill::abandon_filled;

/// A table, what is known of it, and how far it is.
pub(super) struct Part {
    pub(super) options: LoadOptions,
    pub(super) memory: Memory,
    pub(super) chosen: Chosen,
    /// None once it was read.
    pub(super) source: Option<Mutex<Box<dyn Source>>>,
    /// None while connections work at it.
    pub(super) target: Option<Resting>,
    pub(super) at: At,
    pub(super) stopwatch: Stopwatch,
    /// Where its AUTO_INCREMENT is to go on behind COMMIT, if rows went into it and were counted.
    pub(super) next_number: Option<u64>,
    /// Seconds that its build is expected to take, with verification, where that is known.
    pub(super) build_seconds: f64,
}

/// How far a table is.
pub(super) enum At {
    /// Nothing of it is made.
    Inspected,
    /// Its staging table is made, by the direct path.
    StagedBuild(Box<StagedBuild>, DirectState),
    /// Its file is built.
    Built(Box<Unplaced>, DirectState),
    /// The table that takes its place has all rows.
    Full(FilledBy, Box<Report>),
    /// A step is under way, or has failed and was cleaned up after.
    Between,
}

impl Part {
    /// `database.table`.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.options.database, self.options.table)
    }

    pub(super) fn is_direct(&self) -> bool {
        self.chosen.destination.is_none()
    }

    /// Takes out how far it is, for the next step.
    pub(super) fn take(&mut self) -> At {
        std::mem::replace(&mut self.at, At::Between)
    }

    /// Removes what was made of it.
    pub(super) fn abandon(&mut self, connections: &mut SharedConnections) -> Result<(), Error> {
        if self.target.is_none() {
            return Ok(());
        }
        let at = self.take();
        connections.at(&mut self.target, |lock| {
            Ok(match at {
                At::Inspected | At::Between => Ok(()),
                At::StagedBuild(_, made) | At::Built(_, made) => {
                    Direct::resume(lock, made).abandon()
                }
                At::Full(..) => abandon_filled(&self.chosen, lock),
            }?)
        })
    }
}

/// The error that ended the command, its table, and the result of cleaning up after that one.
pub(super) struct Ended {
    pub(super) table: String,
    pub(super) step: &'static str,
    pub(super) failed: Box<Failed>,
}

impl Ended {
    /// Before a table's step began anything.
    pub(super) fn plainly(table: String, step: &'static str, error: Error) -> Ended {
        Ended { table, step, failed: error.into() }
    }
}
