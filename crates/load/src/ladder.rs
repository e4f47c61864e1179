//! Which way into the server a load takes: direct, else stream, else insert.
//!
//! Each rung is refused by name and with reasons, so that whoever wonders why a load is slow reads
//! it in the report.

mod reasons;
mod refused;
mod rungs;

use encode::inspected::Inspected;
use job::error::Error;
use job::memory::{Least, Memory};
use job::options::{LoadOptions, LoadPath, Mode, OnDuplicate};
use send::{Landing, Way};
use server::{ServerFacts, Session};
use sources::Source;
use targets::{Direct, Lock};

pub use self::refused::Refused;

pub(crate) use self::reasons::not_empty;
use self::reasons::{WAS_EXTENDED, against_merging, against_replacing_whole_rows, why};
use self::rungs::Ladder;
use crate::adding::{Adding, Ways};
use crate::estimate::Estimate;
use crate::fixed::Means;
use crate::forecast::Expected;
use crate::least;
use crate::partitioned::{Partitioned, Scope};
use crate::space;
use crate::speeds::Speeds;

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
    if options.through_head {
        let name = &target.table.name;
        return Err(Error::Usage(format!(
            "--path head is for tables whose partitions are on other servers, and {name} is none"
        )));
    }
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
    let Some(is_empty) = look_at_rows(&mut ladder, target, options, purpose)? else {
        return Ok(ladder.give_up());
    };
    if options.restarts_numbers() && target.table.auto_increment.is_some() {
        target.table.auto_increment = Some(1);
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

/// Removes what a killed load left, if it is to be, and judges the ways by the rows that are there: whether
/// there are none. None where no way is left.
fn look_at_rows(
    ladder: &mut Ladder,
    target: &mut Lock,
    options: &LoadOptions,
    purpose: Purpose,
) -> Result<Option<bool>, Error> {
    let is_swept = target.is_swept();
    let removed = match (ladder.first_landing(target, options)?, purpose) {
        (None, _) => return Ok(None),
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
        ladder.refuse_all(&not_empty(was_swapped));
    }
    if options.mode == Mode::Append && !is_empty {
        if removed.contains(&format!("table {}", target.names.extended)) {
            ladder.refuse_all(WAS_EXTENDED);
        }
        if let Some(reason) = against_merging(target, options)? {
            ladder.refuse(LoadPath::Direct, reason);
        }
    }
    let is_any = ladder.first_landing(target, options)?.is_some();
    Ok(is_any.then_some(is_empty))
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
