//! The inspection before anything is made: where the shards are, that their tables match the Spider server's,
//! and that a row's shard can be told here.

use std::sync::Arc;
use std::time::Duration;

use encode::inspected::Inspected;
use encode::partition;
use face::option::{DUPLICATES, PATH, REJECTS_MAX, REPLICA, TIME_ZONE, TUNE, UNLOGGED};
use job::error::Error;
use job::options::{LoadOptions, LoadPath, Mode, RowOptions, ServerOptions};
use job::report::{Report, ShardReport};
use load::places::PlacesPlan;
use load::{Refused, parts};
use schema::{Engine, Table, TableKind};
use server::{ConnectOptions, Session, Unsupported, facts};
use sources::{Source, SourceExt as _};
use targets::Lock;
use values::{SqlMode, SqlType};

use super::cleaned::{self, Cleaner};
use super::reached::asks_by_head;
use super::through_head::{self, HeadWay};
use crate::branches;
use crate::decisions::Append;
use crate::map::{Shard, ShardMap};
use crate::routed::{RowRouter, head_rows};

pub(super) use super::reached::{of, reached, session};

/// Facts about the target.
pub(crate) struct Inspection {
    /// Held, so that no other load is at it.
    pub(crate) target: Lock,
    pub(super) map: ShardMap,
    /// Which shard takes a row; none where rows go through the head.
    pub(super) router: Option<Arc<RowRouter>>,
    /// How rows go through the head, if they do.
    pub(super) head: Option<HeadWay>,
    /// How values are read, on all shards.
    pub(super) sql_mode: String,
    /// That of the head's sessions; none where the connection has one.
    pub(super) time_zone: Option<String>,
    /// The identity of an append.
    pub(super) input: String,
    /// The append of the same input that is in, and whose command has not heard of it.
    pub(super) before: Option<Append>,
}

impl Inspection {
    /// True if the rows of this very command are in, by what the head says.
    pub(crate) fn is_in_already(&self) -> bool {
        self.before.is_some()
    }
}

/// Looks at the target and its shards.
///
/// Errors: [`Error::Unfit`] with all that is in the way; [`Error::Shard`].
pub(crate) fn look(
    mut target: Lock,
    connect: &ConnectOptions,
    options: &LoadOptions,
    source: &mut dyn Source,
) -> Result<Inspection, Error> {
    let ShardSurvey { map, inspected, router, unreached } =
        found(&mut target, connect, options, source)?;
    let input = send::input_text(options, &inspected, &source.words())?;
    let cleaner = Cleaner { connect, options, map: &map };
    let before = match unreached.is_some() {
        true => cleaner.clean_reached(&mut target, &input).map(|()| None)?,
        false => cleaner.clean(&mut target, &input)?,
    };
    let router = match (router, &inspected.router) {
        (Ok(router), Some(_)) => tried(&mut target, &inspected, router, options, source)?,
        (router, _) => router,
    };
    let is_empty = options.mode != Mode::Insert || target.is_empty()?;
    if !is_empty {
        return Err(unfit(&target.table, vec![parts::not_empty(false)]));
    }
    let (router, reasons) = match router {
        Ok(router) => (Some(Arc::new(router)), Vec::new()),
        Err(reasons) => (None, reasons),
    };
    let sql_mode = inspected.sql_mode.clone();
    let (mut time_zone, mut head) = (None, None);
    if router.is_none() {
        let by_head = unreached.is_some();
        may_go_through_head(&mut target, options, &map, &reasons, unreached)?;
        head = Some(HeadWay { reasons, by_head, inspected });
    } else {
        time_zone = self::time_zone(&mut target.session, connect, &options.rows, &map)?;
    }
    Ok(Inspection { target, map, router, head, sql_mode, time_zone, input, before })
}

/// The same for who only wants to know; changes nothing, so that the server is not asked where it puts rows.
pub(crate) fn planned(
    target: &mut Lock,
    connect: &ConnectOptions,
    options: &LoadOptions,
    source: &mut dyn Source,
) -> Result<PlacesPlan, Error> {
    let ShardSurvey { map, router, unreached, .. } = found(target, connect, options, source)?;
    let reasons = router.err().unwrap_or_default();
    if !reasons.is_empty() {
        may_go_through_head(target, options, &map, &reasons, unreached)?;
    }
    let mut notes = Vec::new();
    if cleaned::is_begun(target)? {
        notes.push(
            "an earlier load has neither added all its rows nor rolled them back: this load \
             finishes that load first"
                .to_owned(),
        );
    }
    let places: Vec<ShardReport> = map.shards.iter().map(|shard| told(shard, None)).collect();
    if reasons.is_empty() {
        let bytes: u64 = source.files().iter().filter_map(|file| file.bytes).sum();
        notes.extend(super::notes(options.mode, bytes / places.len().max(1) as u64));
        let why = super::why(options.mode, places.len());
        let (destination, refused) = (None, Vec::new());
        return Ok(PlacesPlan { path: "shards", why, destination, refused, places, notes });
    }
    let (why, destination) = (through_head::why(&reasons), through_head::destination(options.mode));
    let refused = reasons.into_iter().map(|reason| Refused { path: "shards", reason }).collect();
    let (path, destination) = (LoadPath::Insert.name(), Some(destination.to_owned()));
    Ok(PlacesPlan { path, why, destination, refused, places, notes })
}

/// True if rows that cannot go to each shard, for these reasons, may go through the Spider server.
///
/// Errors: they may not.
fn may_go_through_head(
    target: &mut Lock,
    options: &LoadOptions,
    map: &ShardMap,
    reasons: &[String],
    unreached: Option<Unreached>,
) -> Result<(), Error> {
    let against = through_head::against(&target.table, options, unreached.is_none());
    match unreached {
        None if against.is_empty() => Ok(()),
        None => Err(unfit(&target.table, [reasons, &against].concat())),
        Some(unreached) => match against.is_empty() {
            true => asks_by_head(&mut target.session, map),
            // What befell it says most.
            false => Err(of(&unreached.shard, unreached.error)),
        },
    }
}

/// Has the head say where it puts rows that are made for it, and the first ones of the input; gives the router
/// back, or what the head puts elsewhere.
fn tried(
    target: &mut Lock,
    inspected: &Inspected,
    router: RowRouter,
    options: &LoadOptions,
    source: &mut dyn Source,
) -> Result<Result<RowRouter, Vec<String>>, Error> {
    let Some(partitions) = &inspected.router else { return Ok(Ok(router)) };
    let of_table = |at: &usize| target.table.columns[*at].sql_type.clone();
    let types: Vec<SqlType> = partitions.columns().iter().map(of_table).collect();
    if let Some(what) = partition::differences(target, partitions, &inspected.convert)? {
        return Ok(Err(vec![what]));
    }
    let Some(rows) = head_rows(&router, &types, source, &options.interrupt)? else {
        let what = "some rows of the input have an unknown partition";
        return Ok(Err(vec![what.to_owned()]));
    };
    let other = partition::differences_of(target, partitions, rows)?;
    Ok(other.map_or(Ok(router), |what| Err(vec![format!("rows of the input: {what}")])))
}

/// Checks that the shards are still where they were when rows were divided among them. The table's
/// own definition is compared once more in the swap; the addresses of its servers only here.
///
/// Errors: they are not.
pub(super) fn check_map(looked: &mut Inspection, options: &ServerOptions) -> Result<(), Error> {
    let Inspection { target, map, .. } = looked;
    let name = target.table.name.clone();
    let definition = catalog::definition(&mut target.session, &name)?;
    let given = &options.shard_addresses;
    let now = ShardMap::read(&mut target.session, &name, &definition, given)?;
    let changed = |what: String| Err(Error::ShardsMoved { target: name.to_string(), what });
    let now = match now {
        Ok(now) => now,
        Err(why) => return changed(format!("its map has changed during the load: {why}")),
    };
    let pairs = map.shards.iter().zip(&now.shards);
    match pairs.into_iter().find(|(before, now)| before != now) {
        None if map.shards.len() == now.shards.len() => Ok(()),
        None => changed("it has other partitions than before".to_owned()),
        Some((before, now)) => changed(format!(
            "partition {} was {} on {} ({}) and is {} on {} ({}) now",
            before.partition,
            before.table,
            before.server,
            before.address,
            now.table,
            now.server,
            now.address
        )),
    }
}

/// A shard for people, with what was loaded.
pub(super) fn told(shard: &Shard, loaded: Option<(&Report, Duration)>) -> ShardReport {
    let report = loaded.map(|(report, _)| report);
    ShardReport {
        partition: shard.partition.clone(),
        server: shard.server.clone(),
        address: shard.address.clone(),
        table: shard.table.to_string(),
        path: report.map(|report| report.path),
        rows: report.map(|report| report.rows),
        seconds: report.map(|report| report.seconds),
        waited_seconds: loaded.map(|(_, waited)| waited.as_secs_f64()),
    }
}

struct ShardSurvey {
    map: ShardMap,
    inspected: Inspected,
    /// Or why it cannot be told which shard takes a row, or a shard cannot be reached.
    router: Result<RowRouter, Vec<String>>,
    unreached: Option<Unreached>,
}

/// A shard that there is no way to from here.
struct Unreached {
    shard: Shard,
    error: server::Error,
}

fn found(
    target: &mut Lock,
    connect: &ConnectOptions,
    options: &LoadOptions,
    source: &mut dyn Source,
) -> Result<ShardSurvey, Error> {
    let mut against = against(&target.table, options, source);
    against.extend(read_only(&target.facts.read_only));
    if !against.is_empty() {
        return Err(unfit(&target.table, against));
    }
    let missing = missing_rights(target, options.mode);
    if !missing.is_empty() {
        let why = format!("the account needs {missing}, to record the decision about the rows");
        return Err(unfit(&target.table, vec![why]));
    }
    let given = &options.server.shard_addresses;
    let Lock { session, table, .. } = &mut *target;
    let map = ShardMap::read(session, &table.name, &table.definition, given)?;
    let map = map.map_err(|why| unfit(table, vec![why]))?;
    let others = [cleaned::servers(target)?, cleaned::servers_left(target, given)?].concat();
    if let Some(why) = map.unknown(given, &others) {
        return Err(unfit(&target.table, vec![why]));
    }
    let inspected = Inspected::new(target, options, source)?;
    let mut router = match options.server.through_head {
        true => Err(vec![format!("{} was requested", PATH.with("coordinator"))]),
        false => router(&target.table, &inspected),
    };
    let unreached = alike(target, connect, options, &map)?;
    if let Some(Unreached { shard, error }) = &unreached {
        let mut reasons = router.err().unwrap_or_default();
        reasons.push(format!("the shard {}: {error}", shard.name()));
        router = Err(reasons);
    }
    Ok(ShardSurvey { map, inspected, router, unreached })
}

/// The router that tells a row's partition, or the reasons why there is none.
fn router(table: &Table, inspected: &Inspected) -> Result<RowRouter, Vec<String>> {
    let Some(partitions) = &inspected.router else {
        let by = table.partitioning.as_ref().and_then(|by| by.unfit());
        let by = by.map(|what| format!("the partitions are unsupported ({what})"));
        let reasons = inspected.unfit.iter().cloned().chain(by);
        return Err(reasons
            .map(|why| format!("{why}, so only the Spider server can divide the rows"))
            .collect());
    };
    let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    let zero_is_value =
        SqlMode::parse(&inspected.sql_mode).contains(SqlMode::NO_AUTO_VALUE_ON_ZERO);
    RowRouter::new(partitions, &names, &inspected.columns, zero_is_value).map_err(|why| vec![why])
}

/// Checks that the shards' tables match the Spider server's; returns one that cannot be reached.
///
/// Errors: [`Error::Unfit`] of one that is not; [`Error::Shard`].
fn alike(
    target: &Lock,
    connect: &ConnectOptions,
    options: &LoadOptions,
    map: &ShardMap,
) -> Result<Option<Unreached>, Error> {
    for shard in &map.shards {
        let mut session = match Session::connect(&reached(shard, connect)?) {
            Err(error @ server::Error::Connect { .. }) => {
                return Ok(Some(Unreached { shard: shard.clone(), error }));
            }
            session => session.map_err(|error| of(shard, error))?,
        };
        let there = catalog::read(&mut session, &shard.table).map_err(|error| of(shard, error))?;
        let set = facts::writes_kept_away(&mut session).map_err(|error| of(shard, error))?;
        if let Some(why) = read_only(&set) {
            return Err(unfit(&target.table, vec![format!("{}: {why}", shard.server)]));
        }
        if options.mode == Mode::Append
            && let Some(what) = branches::against(&mut session).map_err(|error| of(shard, error))?
        {
            return Err(unfit(
                &target.table,
                vec![format!("rows are not added to {}: {what}", shard.server)],
            ));
        }
        if let Some(what) = difference(&target.table, &there) {
            return Err(unfit(
                &target.table,
                vec![format!("{} on {} {what}", shard.table, shard.server)],
            ));
        }
    }
    Ok(None)
}

/// Privileges that the account lacks on the Spider server for adding rows.
fn missing_rights(target: &Lock, mode: Mode) -> String {
    let (database, facts) = (&target.table.name.database, &target.facts);
    let mut missing = vec!["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP"];
    missing.retain(|right| !facts.privileges.on_database(right, database));
    match mode {
        Mode::Append if !missing.is_empty() => {
            facts.privileges.grant(&missing, database, &facts.account)
        }
        _ => String::new(),
    }
}

/// Options and features of the table that exclude a load of shards, in words.
fn against(table: &Table, options: &LoadOptions, source: &dyn Source) -> Vec<String> {
    let appends = options.mode == Mode::Append;
    let is_pipe = source.files().iter().any(|file| file.bytes.is_none());
    let is_read_once = source.again().is_none();
    let found = [
        (
            appends && options.path == LoadPath::Direct,
            format!(
                "rows are added to shards by a transaction: {}",
                PATH.with_any(&["auto", "stream", "insert"])
            ),
        ),
        (
            appends && options.server.unlogged,
            format!("a branch of a transaction is in the shards' binary logs: omit {UNLOGGED}"),
        ),
        (
            options.rows.rejects_max > 0 || options.rows.rejects_max_percent.is_some(),
            format!("a load of shards accepts no rejected rows: {}", REJECTS_MAX.with(0)),
        ),
        (options.rows.duplicates.is_some(), format!("a load of shards writes no {DUPLICATES}")),
        (
            !options.server.replicas.named.is_empty(),
            format!("a load of shards does not support {REPLICA}"),
        ),
        (options.server.tune.is_some(), format!("a load of shards sets no variables: omit {TUNE}")),
        (
            options.input.selection.is_some(),
            "a job file cannot load a table with shards".to_owned(),
        ),
        (is_read_once, "only rows of files and pipes can be divided among shards".to_owned()),
        (
            appends && is_pipe,
            "rows are added to shards exactly once, because a repeated load recognizes its files; \
             a pipe cannot be recognized: write the input to a file"
                .to_owned(),
        ),
        (
            !table.triggers.is_empty(),
            "triggers of the Spider table would not run, because the rows bypass it".to_owned(),
        ),
        (table.kind != TableKind::Base, "it is not a plain table".to_owned()),
    ];
    found.into_iter().filter(|(is_so, _)| *is_so).map(|(_, why)| why).collect()
}

/// Why a server takes no rows, by its variables that say so.
fn read_only(set: &[&'static str]) -> Option<String> {
    (!set.is_empty()).then(|| Unsupported::ReadOnly(set.to_vec()).to_string())
}

fn unfit(table: &Table, reasons: Vec<String>) -> Error {
    Error::Unfit { target: table.name.to_string(), path: None, reasons }
}

/// The difference between the Spider server's table and a shard's, in words.
fn difference(head: &Table, shard: &Table) -> Option<String> {
    if shard.engine != Engine::InnoDb || shard.kind != TableKind::Base {
        return Some(format!("is not a plain InnoDB table ({})", shard.engine));
    }
    if !shard.triggers.is_empty() || !shard.foreign_keys.is_empty() {
        return Some(
            "has triggers or foreign keys, which a load into shards does not support".to_owned(),
        );
    }
    let (ours, theirs) = (shape(&head.definition), shape(&shard.definition));
    if ours == theirs {
        return None;
    }
    let other = ours.iter().zip(&theirs).find(|(a, b)| a != b);
    Some(match other {
        Some((a, b)) => {
            format!(
                "differs from the Spider table: {} on the shard, {} on the Spider server",
                b.trim(),
                a.trim()
            )
        }
        None => "differs from the Spider table: it has more or fewer columns or keys".to_owned(),
    })
}

/// Columns and keys, a line each, and the character set.
fn shape(definition: &str) -> Vec<&str> {
    let (columns, options) = definition.rsplit_once("\n) ENGINE=").unwrap_or((definition, ""));
    let options = options.split('\n').next().unwrap_or_default();
    let of_texts = |word: &&str| word.starts_with("CHARSET=") || word.starts_with("COLLATE=");
    let lines = columns.lines().map(|line| line.trim_end_matches(','));
    lines.chain(options.split(' ').filter(of_texts)).collect()
}

/// The zone that moments are told in on the head: the same counts on the shards.
fn time_zone(
    session: &mut Session,
    connect: &ConnectOptions,
    options: &RowOptions,
    map: &ShardMap,
) -> Result<Option<String>, Error> {
    if options.time_zone.is_some() || connect.time_zone.is_some() {
        return Ok(None);
    }
    let ask = "SELECT @@session.time_zone, @@system_time_zone";
    let row = session.query_row(ask)?;
    let (zone, system) = (row.text(0)?, row.text(1)?);
    if zone != "SYSTEM" {
        return Ok(Some(zone));
    }
    for shard in &map.shards {
        let row =
            self::session(shard, connect)?.query_row(ask).map_err(|error| of(shard, error))?;
        let there = row.text(1)?;
        if there != system {
            return Err(Error::Usage(format!(
                "the Spider server's time zone is {system}, that of {} is {there}: set that of \
                 the input with {TIME_ZONE}",
                shard.server
            )));
        }
    }
    Ok(Some(zone))
}
