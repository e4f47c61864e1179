//! Which way into the server a load takes: direct, else stream, else insert.
//!
//! Each rung is refused by name and with reasons, so that whoever wonders why a load is slow reads
//! it in the report.

use encode::inspected::Inspected;
use job::error::Error;
use job::memory::{Least, Memory};
use job::options::{LoadOptions, LoadPath, Mode, OnDuplicate, WithOthers};
use schema::{Table, quote_name};
use send::{Ask, Landing, Way};
use serde::Serialize;
use server::engine::Rules;
use server::{ServerFacts, Session, Unsupported, catalog};
use sources::Source;
use targets::{Direct, Lock};

use crate::adding::{Adding, Ways};
use crate::estimate::Estimate;
use crate::fixed::Means;
use crate::forecast::Expected;
use crate::least;
use crate::partitioned::{Partitioned, Scope};
use crate::small;
use crate::space;
use crate::speeds::Speeds;

/// Why the direct path is taken, when it is.
const WHY_DIRECT: &str =
    "the server's files are reachable and the table has nothing the direct path cannot build";

/// Why tables are not built of which one keeps the rows that it has.
const ADDS: &str = "a table of the command keeps rows that it has, so that the rows of all go in by one \
                    transaction";

/// The rungs, from the top.
const LADDER: [LoadPath; 3] = [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert];

/// The way that is taken, and what was seen of the target from there.
pub(crate) struct Rung {
    /// Never [`LoadPath::Auto`].
    pub(crate) path: LoadPath,
    /// Why that one.
    pub(crate) why: String,
    pub(crate) inspected: Inspected,
    /// Where rows that are sent go; None on the direct path.
    pub(crate) landing: Option<Landing>,
    /// Whether rows that are there are kept, on the direct path.
    pub(crate) extends: bool,
    /// Why that is done for the rows of one partition only, if so.
    pub(crate) one_partition: Option<String>,
    /// What the stages take, where that can be told.
    pub(crate) expected: Vec<Expected>,
    /// What all of it takes.
    pub(crate) expected_seconds: Option<f64>,
}

impl Rung {
    /// How rows come into the table.
    pub(crate) fn means(&self) -> Means {
        match &self.landing {
            None if self.extends => Means::Merged,
            None => Means::Built,
            Some(landing) if landing.way == Way::Shadow => Means::Swapped,
            Some(_) => Means::Added,
        }
    }
}

/// Why a way is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// `direct`, `stream` or `insert`; `shards` of rows that go through the head of a Spider table.
    pub path: &'static str,
    /// One sentence.
    pub reason: String,
}

/// How far up the ladder it goes.
pub(crate) struct Climbed {
    /// None when every way is refused.
    pub(crate) rung: Option<Rung>,
    pub(crate) refused: Vec<Refused>,
    /// What the load would take, where that can be told.
    pub(crate) estimate: Option<Estimate>,
    /// The least memory that it needs; none where it is not known.
    pub(crate) least: Option<Least>,
    /// What merging with rows that are there takes, where that is done.
    pub(crate) adding: Option<Adding>,
    /// What a build of partitions takes, where they are built.
    pub(crate) partitioned: Option<Partitioned>,
}

/// What the answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Nothing may change.
    Plan,
    /// What a killed load left is removed first.
    Load,
}

/// The first rung that options, server, account and table allow.
///
/// Errors: options that do not fit the table; a disk that is too small. That all rungs are refused
/// is no error here.
pub(crate) fn climb(
    target: &mut Lock,
    options: &LoadOptions,
    memory: &Memory,
    source: &mut dyn Source,
    purpose: Purpose,
) -> Result<Climbed, Error> {
    let ladder = Ladder::new(target, options)?;
    climb_on(ladder, target, options, (memory, source), purpose)
}

/// The same for a load whose rows the direct path could not build, for this `reason`.
pub(crate) fn climb_again(
    target: &mut Lock,
    options: &LoadOptions,
    memory: &Memory,
    source: &mut dyn Source,
    reason: String,
) -> Result<Climbed, Error> {
    source.restart()?;
    let mut ladder = Ladder::new(target, options)?;
    ladder.refuse(LoadPath::Direct, reason);
    climb_on(ladder, target, options, (memory, source), Purpose::Load)
}

fn climb_on(
    mut ladder: Ladder,
    target: &mut Lock,
    options: &LoadOptions,
    (memory, source): (&Memory, &mut dyn Source),
    purpose: Purpose,
) -> Result<Climbed, Error> {
    let is_swept = target.is_swept();
    let removed = match (ladder.first_landing(target, options)?, purpose) {
        (None, _) => return Ok(ladder.give_up()),
        (_, Purpose::Plan) => Vec::new(),
        _ if is_swept => Vec::new(),
        (Some(LoadPath::Direct), _) => Direct::new(target).cleanup()?,
        (Some(_), _) => target.cleanup_tables()?,
    };
    if purpose == Purpose::Load && !is_swept {
        // Where this account cannot look, it has left nothing.
        let _ = send::sweep(target);
    }
    let is_empty = target.is_empty()?;
    if options.mode == Mode::Insert && !is_empty {
        let was_swapped = removed.contains(&format!("table {}", target.names.emptied));
        ladder.refuse_all(&not_empty(options, was_swapped));
    }
    if options.mode == Mode::Append && !is_empty {
        if removed.contains(&format!("table {}", target.names.extended)) {
            ladder.refuse_all(WAS_EXTENDED);
        }
        if let Some(reason) = against_merging(target, options)? {
            ladder.refuse(LoadPath::Direct, reason);
        }
    }
    if ladder.first_landing(target, options)?.is_none() {
        return Ok(ladder.give_up());
    }
    let inspected = Inspected::new(target, options, source)?;
    ladder.weigh_transaction(target, source);
    for reason in &inspected.unfit {
        ladder.refuse(LoadPath::Direct, reason.clone());
    }
    if options.on_duplicate == OnDuplicate::Update
        && let Some(reason) = against_replacing_whole_rows(&target.table, &inspected)
    {
        ladder.refuse(LoadPath::Direct, reason);
    }
    let speeds = Speeds::of(&options.state_dir);
    let direct = Estimate::of(source, &target.table, &inspected, options, memory, &speeds)?;
    let size = (source.bytes_total().unwrap_or(0), target.table.indexes.len());
    let sending = if options.mode == Mode::Append { Means::Added } else { Means::Swapped };
    let sent = |path| direct.map(|direct| direct.sent(size, memory, (path, sending), &speeds));
    let extends = options.mode == Mode::Append && !is_empty;
    let scope = match extends && ladder.is_open(LoadPath::Direct) {
        true => ladder.scope(target, &inspected, source)?,
        false => None,
    };
    let partitions = target.table.partitioning.as_ref().map_or(0, |by| by.partitions.len());
    let built_in = |partitions| direct.map(|direct| direct.in_partitions(partitions, &speeds));
    let built = built_in(scope.as_ref().map_or(partitions, Scope::partitions));
    let mut weigh = |scope: &Scope| match (built_in(scope.partitions()), sent(LoadPath::Stream)) {
        (Some(built), Some(sent)) => {
            let stream = (LoadPath::Stream, sending);
            let bare = direct.map(|d| d.sent((size.0, 1), memory, stream, &speeds));
            let rows = Ways { built: &built, sent: &sent, bare: &bare.unwrap_or(sent) };
            let into = (&mut *target, scope);
            Adding::of(into, &rows, (options, memory.threads), &speeds).map(Some)
        }
        _ => Ok(None),
    };
    let adding = scope.as_ref().map_or(Ok(None), &mut weigh)?;
    let wider = scope.as_ref().and_then(Scope::widened);
    let wider = wider.as_ref().map_or(Ok(None), &mut weigh)?;
    let one_partition = wider.and_then(|wider| wider.against_merging(options));
    let partitioned = match (&built, sent(LoadPath::Stream)) {
        (Some(built), Some(sent)) if !extends => {
            ladder.weigh_partitions(target, options, (built, &sent))?
        }
        _ => None,
    };
    if let Some(reason) = adding.and_then(|adding| adding.against_merging(options)) {
        ladder.refuse(LoadPath::Direct, reason);
    }
    let Some(path) = ladder.first_landing(target, options)? else { return Ok(ladder.give_up()) };
    let landing = ladder.landing.take().filter(|_| path != LoadPath::Direct);
    let mut climbed = ladder.give_up();
    climbed.estimate = match path {
        LoadPath::Direct => built,
        _ => sent(path),
    };
    if let (Some(adding), Some(estimate)) = (adding, &mut climbed.estimate) {
        estimate.take(if path == LoadPath::Direct {
            adding.merge_seconds
        } else {
            adding.send_seconds
        });
    }
    let expected_seconds = match (adding, path) {
        (Some(adding), LoadPath::Direct) => Some(adding.merge_seconds),
        (Some(adding), _) => Some(adding.send_seconds),
        (None, _) => climbed.estimate.as_ref().map(Estimate::seconds_in_order),
    };
    climbed.adding = adding.filter(|_| path == LoadPath::Direct);
    climbed.partitioned = partitioned.filter(|_| path == LoadPath::Direct);
    let held_bytes = source.held_bytes();
    climbed.least =
        Some(least::least(path, &target.table, options, held_bytes, climbed.estimate.as_ref()));
    if purpose == Purpose::Load {
        climbed.check_room(path, target, options)?;
    }
    let why = why(path, (options, &target.table, scope.as_ref()), &climbed.refused);
    let has_twin = landing.as_ref().is_none_or(|landing| landing.way == Way::Shadow);
    let expected = climbed.estimate.as_ref().map(|estimate| estimate.expected(has_twin));
    let expected = expected.unwrap_or_default();
    let extends = extends && path == LoadPath::Direct;
    climbed.rung = Some(Rung {
        path,
        why,
        inspected,
        landing,
        extends,
        one_partition,
        expected,
        expected_seconds,
    });
    Ok(climbed)
}

/// The way that a table would be loaded by that is still to be made, as far as that hangs on the
/// server, the account and the options; and what is against faster ones.
pub(crate) fn foresee(
    session: &mut Session,
    options: &LoadOptions,
) -> Result<(Option<LoadPath>, Vec<Refused>), Error> {
    let facts = ServerFacts::read(session)?;
    let mut against = facts.unsupported(&options.database);
    // The folder of its database may be missing still: it will be beside that of the server's own.
    against.extend(facts.database_dir(session, "mysql", None)?.err());
    let mut ladder = Ladder::of(session, (&against, &facts.engine), options)?;
    if let Some(why) = facts.engine.refuses(&options.database) {
        ladder.refuse_all(&format!("{} ({why})", facts.engine.kind));
    }
    Ok((ladder.first(), ladder.refused))
}

/// The rungs, and what is against them.
struct Ladder {
    rungs: Vec<LoadPath>,
    refused: Vec<Refused>,
    /// Looked for when a way is met that needs it.
    landing: Option<Landing>,
}

impl Ladder {
    /// What can be said before the table is looked into.
    fn new(target: &mut Lock, options: &LoadOptions) -> Result<Ladder, Error> {
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

    fn of(
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
        if options.with_others == WithOthers::Transaction {
            let is_small = options.mode == Mode::Insert && small::is_open(options);
            let reason = if is_small { small::REASON } else { ADDS };
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
    fn first(&self) -> Option<LoadPath> {
        self.rungs.iter().copied().find(|path| self.is_open(*path))
    }

    fn is_open(&self, path: LoadPath) -> bool {
        self.rungs.contains(&path) && !self.refused.iter().any(|no| no.path == path.name())
    }

    /// The same, once it is known where its rows would go.
    fn first_landing(
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
    fn weigh_transaction(&mut self, target: &Lock, source: &dyn Source) {
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
    fn scope(
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
    fn weigh_partitions(
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
    fn refuse(&mut self, path: LoadPath, reason: String) {
        if self.rungs.contains(&path) {
            self.refused.push(Refused { path: path.name(), reason });
        }
    }

    fn refuse_all(&mut self, reason: &str) {
        // Of all ways the same: what else they are refused for is of no use.
        self.refused.clear();
        for path in self.rungs.clone() {
            self.refuse(path, reason.to_owned());
        }
    }

    fn give_up(&mut self) -> Climbed {
        let refused = std::mem::take(&mut self.refused);
        let (adding, partitioned) = (None, None);
        Climbed { rung: None, refused, estimate: None, least: None, adding, partitioned }
    }
}

fn why(
    path: LoadPath,
    (options, table, scope): (&LoadOptions, &Table, Option<&Scope>),
    refused: &[Refused],
) -> String {
    if path == LoadPath::Direct {
        let parts = table.partitioning.as_ref().map(|by| by.partitions.len());
        return match (parts, scope) {
            (None, _) => WHY_DIRECT.to_owned(),
            (Some(_), Some(Scope::One(..))) => format!(
                "{WHY_DIRECT}: the partition that gets rows is built anew with those that it has, and \
                 exchanged with ALTER TABLE .. EXCHANGE PARTITION, which reads all rows; the others stay \
                 as they are"
            ),
            (Some(parts), Some(_)) => format!(
                "{WHY_DIRECT}: rows go to several of its {parts} partitions, so that all of them are built \
                 anew with those that they have, and exchanged into a new table with ALTER TABLE .. \
                 EXCHANGE PARTITION, which reads all rows"
            ),
            (Some(parts), None) => format!(
                "{WHY_DIRECT}: each of its {parts} partitions that gets rows is built as a table, and \
                 exchanged into a new one with ALTER TABLE .. EXCHANGE PARTITION, which reads all rows"
            ),
        };
    }
    if options.path == path {
        return format!("--path {} asks for it", path.name());
    }
    Refused::sentences(refused).join("; ")
}

impl Refused {
    /// What speaks against which ways, each reason once, ways with the same reasons together:
    /// `not direct or stream: ..; ..`.
    pub fn sentences(refused: &[Refused]) -> Vec<String> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut refused: Vec<&Refused> = refused.iter().collect();
        refused.sort_by_key(|no| LADDER.iter().position(|path| path.name() == no.path));
        for Refused { path, reason } in refused {
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, paths)) if paths.contains(path) => {}
                Some((_, paths)) => paths.push(path),
                None => reasons.push((reason, vec![path])),
            }
        }
        let mut sentences: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
        for (reason, paths) in reasons {
            match sentences.iter_mut().find(|(known, _)| *known == paths) {
                Some((_, reasons)) => reasons.push(reason),
                None => sentences.push((paths, vec![reason])),
            }
        }
        let sentence = |(paths, reasons): (Vec<&str>, Vec<&str>)| {
            // `direct`, `direct or stream`, `direct, stream or insert`
            let commas = paths.len().saturating_sub(2);
            let paths = paths.join(" or ").replacen(" or ", ", ", commas);
            format!("not {paths}: {}", reasons.join("; "))
        };
        sentences.into_iter().map(sentence).collect()
    }
}

impl Climbed {
    /// Refuses what will not fit memory or disks by a path.
    pub(crate) fn check_room(
        &self,
        path: LoadPath,
        target: &Lock,
        options: &LoadOptions,
    ) -> Result<(), Error> {
        // A test that hands out shares has its own idea of them.
        if let (Some(least), None) = (&self.least, options.shares) {
            least.clone().check(options.memory_bytes_max)?;
        }
        match path {
            LoadPath::Direct => {
                let build_path = target.build_path()?;
                space::check(&build_path, &options.temp_dir, self.estimate.as_ref())
            }
            LoadPath::Auto | LoadPath::Stream | LoadPath::Insert => Ok(()),
        }
    }

    /// The rung, or an error with all that is against each.
    pub(crate) fn require(self, target: &Lock, options: &LoadOptions) -> Result<Rung, Error> {
        let Climbed { rung, mut refused, .. } = self;
        rung.ok_or_else(|| {
            let path = (options.path != LoadPath::Auto).then(|| options.path.name());
            let first = refused.first().map(|no| no.reason.clone()).unwrap_or_default();
            let is_same = refused.iter().all(|no| no.reason == first);
            if is_same {
                refused.truncate(1);
            }
            let reasons = match path.is_some() || is_same {
                true => refused.into_iter().map(|no| no.reason).collect(),
                false => Refused::sentences(&refused),
            };
            Error::Unfit { target: target.table.name.to_string(), path, reasons }
        })
    }
}

/// What is said instead of adding rows that may be there.
const WAS_EXTENDED: &str = "a load that was killed at its very end had added all its rows; the same \
                            command adds this input's now";

/// Why rows cannot be added to those there by building the table anew.
fn against_merging(target: &mut Lock, options: &LoadOptions) -> Result<Option<String>, Error> {
    let ledger = target.names.ledger.clone();
    let is_partitioned = target.table.partitioning.is_some();
    Ok(if is_partitioned && options.on_duplicate != OnDuplicate::Fail {
        let rule = options.on_duplicate.name();
        Some(format!(
            "the table is not empty, and has partitions: --on-duplicate {rule} looks for rows that lose \
             before it is known which of these get rows"
        ))
    } else if options.with_others != WithOthers::Alone {
        Some("the table is not empty, and rows are added to one table of a command only".to_owned())
    } else if options.on_duplicate.replaces() && target.table.is_referred_to() {
        let rule = options.on_duplicate.name();
        Some(format!(
            "the table is not empty, --on-duplicate {rule} takes rows out of it, and others may refer to \
             these"
        ))
    } else if catalog::exists(&mut target.session, &ledger)? {
        Some(format!(
            "a load by statements was interrupted, and {ledger} says which of its rows are in: the same \
             command goes on with the others"
        ))
    } else {
        None
    })
}

/// Why a row that takes the place of another is not what INSERT .. ON DUPLICATE KEY UPDATE makes of
/// that: it keeps what the input has no field for, and with a second unique key it may be refused.
fn against_replacing_whole_rows(table: &Table, inspected: &Inspected) -> Option<String> {
    let has_field = |column: usize| inspected.fields.columns.contains(&Some(column));
    let kept = (0..table.columns.len()).find(|column| !has_field(*column));
    if let Some(column) = kept {
        let name = quote_name(&table.columns[column].name);
        return Some(format!(
            "--on-duplicate update keeps {name} of rows that are there, since the input has no field for \
             it: only INSERT does that"
        ));
    }
    let unique = table.indexes.iter().filter(|index| index.unique).count();
    (unique > 1).then(|| {
        format!("--on-duplicate update of a table with {unique} unique keys is only had by INSERT")
    })
}

/// The sentence for a table that has rows already; `was_swapped` if they are those of a load that
/// was killed after its swap.
fn not_empty(options: &LoadOptions, was_swapped: bool) -> String {
    match options.mode {
        _ if was_swapped => "a load that was killed at its very end had put all its rows in; \
             --mode replace would put this input's in their place"
            .to_owned(),
        _ => "the table is not empty; --mode append adds the input's rows to those there, --mode \
             replace puts them in their place"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_once() {
        let no = |path, reason: &str| Refused { path, reason: reason.to_owned() };
        let refused = [
            no("stream", "only by INSERT"),
            no("direct", "only by INSERT"),
            no("direct", "not empty"),
            no("direct", "partitions"),
            no("direct", "partitions"),
            no("direct", "read-only"),
            no("stream", "read-only"),
            no("insert", "read-only"),
        ];
        assert_eq!(
            Refused::sentences(&refused),
            [
                "not direct or stream: only by INSERT",
                "not direct: not empty; partitions",
                "not direct, stream or insert: read-only"
            ]
        );
        assert!(Refused::sentences(&[]).is_empty());
    }
}
