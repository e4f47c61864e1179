//! The rungs, and what is against each.

use encode::inspected::Inspected;
use job::error::Error;
use job::options::{LoadOptions, LoadPath, OnDuplicate, WithOthers};
use send::{Ask, Landing, Way};
use server::engine::Rules;
use server::{Session, Unsupported};
use sources::Source;
use targets::Lock;

use super::refused::Refused;
use super::{Climbed, LADDER};
use crate::estimate::Estimate;
use crate::partitioned::{Partitioned, Scope};
use crate::small;

/// Why tables are not built whose rows go into themselves.
const TOGETHER: &str = "a table of the command keeps rows that it has, or no other can take its place, so that \
                        the rows of all go in by one transaction";

/// The rungs, and what is against them.
pub(super) struct Ladder {
    rungs: Vec<LoadPath>,
    pub(super) refused: Vec<Refused>,
    /// Looked for when a way is met that needs it.
    pub(super) landing: Option<Landing>,
}

impl Ladder {
    /// What can be said before the table is looked into.
    pub(super) fn new(target: &mut Lock, options: &LoadOptions) -> Result<Ladder, Error> {
        let Lock { session, unsupported, facts, .. } = target;
        let mut ladder = Ladder::of(session, (unsupported, &facts.engine), options)?;
        if options.no_triggers && !target.table.triggers.is_empty() {
            let reason =
                "--no-triggers is for the direct path: rows that are sent run the triggers";
            ladder.refuse(LoadPath::Stream, reason.to_owned());
            ladder.refuse(LoadPath::Insert, reason.to_owned());
            if !options.replicas.named.is_empty() {
                let reason = "--no-triggers leaves the triggers of one server's table alone, and --replica \
                              names others";
                ladder.refuse(LoadPath::Direct, reason.to_owned());
            }
        }
        Ok(ladder)
    }

    pub(super) fn of(
        session: &mut Session,
        (against_direct, engine): (&[Unsupported], &Rules),
        options: &LoadOptions,
    ) -> Result<Ladder, Error> {
        let rungs = match options.path {
            LoadPath::Auto => LADDER.to_vec(),
            path => vec![path],
        };
        let mut ladder = Ladder { rungs, refused: Vec::new(), landing: None };
        for reason in against_direct {
            ladder.refuse(LoadPath::Direct, reason.to_string());
        }
        if options.with_others.is_transaction() {
            let is_small = options.with_others == WithOthers::Small;
            let reason = if is_small { small::REASON } else { TOGETHER };
            ladder.refuse(LoadPath::Direct, reason.to_owned());
        }
        if options.unlogged
            && session.query_text("SELECT @@GLOBAL.log_bin")?.as_deref() == Some("1")
        {
            let reason =
                "--unlogged is for the direct path: rows that are sent are in the binary log";
            ladder.refuse(LoadPath::Stream, reason.to_owned());
            ladder.refuse(LoadPath::Insert, reason.to_owned());
        }
        if options.on_duplicate == OnDuplicate::Update {
            let reason = "--on-duplicate update is only had by INSERT";
            ladder.refuse(LoadPath::Stream, reason.to_owned());
        }
        if options.duplicates.is_some() {
            let reason =
                "--duplicates FILE: a server that skips or replaces rows does not say which";
            ladder.refuse(LoadPath::Stream, reason.to_owned());
            ladder.refuse(LoadPath::Insert, reason.to_owned());
        }
        if let Some(why) = engine.refuses_load_data(&options.charset) {
            ladder.refuse(LoadPath::Stream, format!("{} ({why})", engine.kind));
        }
        let allowed = session.query_once("SELECT @@GLOBAL.local_infile")?;
        if allowed.first().map(|row| row.text_lossy(0)).as_deref() != Some("1") {
            let reason = "local_infile is off on the server: it takes no LOAD DATA LOCAL";
            ladder.refuse(LoadPath::Stream, reason.to_owned());
        }
        Ok(ladder)
    }

    /// The fastest way that nothing speaks against.
    pub(super) fn first(&self) -> Option<LoadPath> {
        self.rungs.iter().copied().find(|path| self.is_open(*path))
    }

    pub(super) fn is_open(&self, path: LoadPath) -> bool {
        self.rungs.contains(&path) && !self.refused.iter().any(|no| no.path == path.name())
    }

    /// The same, once it is known where its rows would go.
    pub(super) fn first_landing(
        &mut self,
        target: &mut Lock,
        options: &LoadOptions,
    ) -> Result<Option<LoadPath>, Error> {
        let sends = matches!(self.first(), Some(LoadPath::Stream | LoadPath::Insert));
        if sends && self.landing.is_none() {
            match Landing::choose(target, Ask::of(options))? {
                Ok(landing) => self.landing = Some(landing),
                Err(reasons) => {
                    for reason in reasons {
                        self.refuse(LoadPath::Stream, reason.clone());
                        self.refuse(LoadPath::Insert, reason);
                    }
                }
            }
        }
        Ok(self.first())
    }

    /// Refuses a transaction of all rows that the engine surely does not take.
    pub(super) fn weigh_transaction(&mut self, target: &Lock, source: &dyn Source) {
        let is_one = self.landing.as_ref().is_some_and(|landing| landing.way == Way::Transaction);
        let bytes = source.bytes_total().filter(|_| is_one);
        let why = bytes.and_then(|bytes| target.facts.engine.refuses_whole(bytes));
        if let Some(why) = why {
            self.refuse(LoadPath::Stream, why.clone());
            self.refuse(LoadPath::Insert, why);
        }
    }

    /// What is built anew of a table that has rows. Of one with partitions, merging is given up where an
    /// input does not tell beforehand.
    pub(super) fn scope(
        &mut self,
        target: &Lock,
        inspected: &Inspected,
        source: &mut dyn Source,
    ) -> Result<Option<Scope>, Error> {
        let is_read_once = source.files().iter().any(|file| file.bytes.is_none());
        if target.table.partitioning.is_some() && is_read_once {
            let reason = "the table is not empty and has partitions, and an input that can be read only once \
                          does not tell beforehand which of these get rows";
            self.refuse(LoadPath::Direct, reason.to_owned());
            return Ok(None);
        }
        Scope::of(&target.table, inspected, source).map(Some)
    }

    /// What building partitions takes, and sending the rows: what is slower is given up, if the other
    /// is open.
    pub(super) fn weigh_partitions(
        &mut self,
        target: &mut Lock,
        options: &LoadOptions,
        (built, sent): (&Estimate, &Estimate),
    ) -> Result<Option<Partitioned>, Error> {
        if !self.is_open(LoadPath::Direct) {
            return Ok(None);
        }
        let both = Partitioned::of(&target.table, built, sent);
        let may_send = self.is_open(LoadPath::Stream) || self.is_open(LoadPath::Insert);
        if let Some(reason) = both.filter(|_| may_send).and_then(|both| both.against_building()) {
            let before = self.refused.len();
            self.refuse(LoadPath::Direct, reason);
            if self.first_landing(target, options)?.is_none() {
                self.refused.remove(before);
            }
        }
        Ok(both)
    }

    /// Notes what speaks against a way, if it is one that may be taken.
    pub(super) fn refuse(&mut self, path: LoadPath, reason: String) {
        if self.rungs.contains(&path) {
            self.refused.push(Refused { path: path.name(), reason });
        }
    }

    pub(super) fn refuse_all(&mut self, reason: &str) {
        // Of all ways the same: what else they are refused for is of no use.
        self.refused.clear();
        for path in self.rungs.clone() {
            self.refuse(path, reason.to_owned());
        }
    }

    pub(super) fn give_up(&mut self) -> Climbed {
        let refused = std::mem::take(&mut self.refused);
        let (adding, partitioned) = (None, None);
        Climbed { rung: None, refused, estimate: None, least: None, adding, partitioned }
    }
}
