//! Rows of all shards appear by the RENAME on the head, or by its decision on the branches.

use std::time::{Duration, Instant};

use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, Mode};
use job::pool;
use job::publish::Publish;
use schema::TableName;
use server::ConnectOptions;
use targets::Lock;
use targets::swap::{Before, Pair, Swap};

use super::cleaned::{self, Cleaner};
use super::inspection::{self, Inspection};
use super::opened::Branches;
use super::tables::Tables;
use crate::decisions::{Append, Decisions, State};

/// A new table of the head, whose shards have all rows, takes the place of the one that is there.
pub(super) struct HeadSwap<'s> {
    pub(super) options: &'s LoadOptions,
    pub(super) looked: &'s mut Inspection,
    pub(super) tables: &'s Tables<'s>,
}

impl HeadSwap<'_> {
    /// The name that the old table gets.
    fn aside(&self) -> &TableName {
        let names = &self.looked.target.names;
        if self.options.mode == Mode::Replace { &names.replaced } else { &names.emptied }
    }
}

impl Publish for HeadSwap<'_> {
    fn target(&self) -> String {
        self.looked.target.table.name.to_string()
    }

    fn publish(&mut self) -> Result<(), Error> {
        failpoint::hit("shards.swap");
        inspection::check_map(self.looked, &self.options.server)?;
        let Lock { table, names, .. } = &self.looked.target;
        let mode = match self.options.mode {
            Mode::Replace => Mode::Replace,
            Mode::Insert | Mode::Append => Mode::Insert,
        };
        let before = Before::Unchanged {
            aside: self.aside().clone(),
            definition: table.definition.clone(),
            foreign_keys: Vec::new(),
            mode,
            triggers: None,
        };
        let pair = Pair { table: table.name.clone(), replacement: names.staging.clone(), before };
        let wait = Duration::from_secs(u64::from(self.options.server.lock_wait_seconds));
        let swapped = Swap::new(vec![pair]).run(&mut self.looked.target.session, wait);
        swapped.map_err(|error| match error {
            server::Error::Unanswered(_) => self.unknown(error.to_string()),
            error => error.into(),
        })?;
        failpoint::hit("shards.swapped");
        Ok(())
    }

    fn is_published(&mut self) -> server::Result<bool> {
        self.looked.target.is_published()
    }

    fn unknown(&self, reason: String) -> Error {
        Error::SwapUnknown { target: self.target(), reason }
    }

    fn proof(&self) -> Option<TableName> {
        Some(self.aside().clone())
    }

    fn clean_up(&mut self) -> Vec<String> {
        let target = &mut self.looked.target;
        let (died, dropped) =
            pool::catch_again("shards.dropped", || self.tables.drop_old(&mut target.session));
        let mut warnings: Vec<String> = died.into_iter().collect();
        warnings.extend(dropped.unwrap_or_else(|error| vec![super::left(&error)]));
        warnings.extend(cleaned::forget_all(target).err().map(|error| super::left(&error)));
        warnings
    }
}

/// Branches with all rows, of which the head decides that they are to be.
pub(super) struct Decision<'d> {
    pub(super) connect: &'d ConnectOptions,
    pub(super) options: &'d LoadOptions,
    pub(super) looked: &'d mut Inspection,
    pub(super) decisions: &'d Decisions,
    pub(super) append: &'d mut Append,
    /// None once it is decided.
    pub(super) branches: Option<Branches>,
    /// From the first shard's commit to the last one's.
    pub(super) seen: Duration,
}

impl Decision<'_> {
    /// Brings an append that is decided to its end.
    fn commit(&mut self) -> Result<(), Error> {
        failpoint::hit("branches.decided");
        let begun = Instant::now();
        self.branches.take().into_iter().for_each(Branches::commit);
        self.seen = begun.elapsed();
        self.looked.target.reconnect()?;
        let (connect, options) = (self.connect, self.options);
        let cleaner = Cleaner { connect, options, map: &self.looked.map };
        let head = &mut self.looked.target.session;
        cleaner.end_branches(head, self.decisions, self.append).map(drop)
    }
}

impl Publish for Decision<'_> {
    fn target(&self) -> String {
        self.looked.target.table.name.to_string()
    }

    fn publish(&mut self) -> Result<(), Error> {
        failpoint::hit("branches.decide");
        inspection::check_map(self.looked, &self.options.server)?;
        decide(&mut self.looked.target, self.decisions, self.append)?;
        self.append.state = State::Decided;
        let _shield = self.options.interrupt.shield();
        let done = pool::catch(|| self.commit()).flatten();
        done.map_err(|error| match is_of_branches(&error) {
            true => error,
            false => self.unknown(error.to_string()),
        })
    }

    /// As long as it is not decided, nothing is; behind that, [`Decision::publish`] says so itself.
    fn is_published(&mut self) -> server::Result<bool> {
        Ok(false)
    }

    fn unknown(&self, what: String) -> Error {
        Error::Pending { target: self.target(), what }
    }

    fn proof(&self) -> Option<TableName> {
        Some(self.decisions.table().clone())
    }

    fn clean_up(&mut self) -> Vec<String> {
        let cleaner =
            Cleaner { connect: self.connect, options: self.options, map: &self.looked.map };
        let forgotten = cleaner.unmark(self.append, true).and_then(|()| {
            Ok(self.decisions.forget(&mut self.looked.target.session, &self.append.job)?)
        });
        let left = forgotten.err().map(|error| left(&error, self.decisions));
        left.into_iter().collect()
    }
}

/// Has the head decide that the append is to be.
///
/// Errors: [`Error::Pending`] where it does not say whether it has; any other: it has not.
fn decide(target: &mut Lock, decisions: &Decisions, append: &Append) -> Result<(), Error> {
    let name = target.table.name.to_string();
    let overtaken = || server::Error::Overtaken(name.clone()).into();
    let pending = |error: server::Error| Error::Pending {
        target: name.clone(),
        what: format!("the Spider server does not tell whether they should be committed ({error})"),
    };
    let error = match decisions.decide(&mut target.session, append) {
        Ok(State::Begun | State::GivenUp) => return Err(overtaken()),
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    let _shield = target.session.options().interrupt.shield();
    target.reconnect().map_err(pending)?;
    match decisions.decide(&mut target.session, append) {
        Ok(State::Begun | State::GivenUp) => Err(overtaken()),
        Ok(_) => Ok(()),
        // It answers, and refuses: so there is no decision, unless it was the first time.
        Err(again) => match decisions.state(&mut target.session, &append.job).map_err(pending)? {
            State::Begun | State::GivenUp => Err(error.into()),
            _ => Err(pending(again)),
        },
    }
}

/// True if the rows are decided on, or may be, so that branches stay as they are.
pub(super) fn is_of_branches(error: &Error) -> bool {
    matches!(error, Error::Pending { .. } | Error::LostBranches { .. })
}

pub(super) fn left(error: &Error, decisions: &Decisions) -> String {
    format!(
        "all rows are loaded, but the record of the load could not be removed ({error}): the next \
         load removes the record; until then the same command adds nothing; after DROP TABLE {} \
         the same command adds all rows once more",
        decisions.table().quoted()
    )
}
