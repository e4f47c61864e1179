//! All tables, inspected before anything is done to one of them.

use face::option::{CREATE, DDL, MAP};
use sources::{Chunk, SourceExt as _};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use encode::input;
use job::error::Error;
use job::options::{LoadOptions, LoadPath, WithOthers};
use job::report::Stopwatch;
use locks::Mutex;
use schema::{Table, TableName, first_of};
use server::engine::Swap;
use server::{ConnectOptions, Session};
use targets::{Keeper, Resting};

use super::Input;
use super::facts::waiting;
use super::part::{At, Part};

use crate::choose::{self, CommandFacts, Methods, Purpose, Together, largest_first, with_children};
use crate::connections::SharedConnections;
use crate::copies::{self, Copies, CopyRequest, Original};
use crate::estimate::Estimate;
use crate::killed_loads::{self, KilledLoads};
use crate::lock_target::lock_options;
use crate::space;

/// The tables of a command in the order in which they are loaded, taken.
pub(super) struct InspectedTables {
    pub(super) parts: Vec<Part>,
    /// Work at the first of them.
    pub(super) connections: SharedConnections,
    /// Holds them all.
    pub(super) keeper: Arc<Keeper>,
    /// True if all rows are loaded by one transaction.
    pub(super) is_whole: bool,
    /// Replicas that get the same files.
    pub(super) copies: Option<Copies>,
    /// Positions in the command of tables that cannot be published together with these: each is loaded by itself
    /// behind them, in this order.
    pub(super) apart: Vec<usize>,
}

/// The result of inspecting the tables of a command.
pub(super) enum Inspection {
    /// They are to be loaded.
    Tables(Box<InspectedTables>, Box<KilledLoads>),
    /// All rows are in already, of a killed job of the same command. The keeper holds the tables.
    In(Vec<Resting>, Arc<Keeper>, Box<KilledLoads>),
}

/// Tables of a command, held by a connection.
pub(super) type Held = (Arc<Keeper>, Vec<Resting>);

/// Takes all tables of a command.
///
/// Errors: a table that is missing, or that another load has.
pub(super) fn take(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    told: &Sender<String>,
) -> Result<Held, Error> {
    let mut session = Session::connect(connect)?;
    let names = spelled(&mut session, tables)?;
    Ok(Keeper::take(session, &names, &lock_options(&tables[0], Some(told)))?)
}

/// Finds the way into each table, and removes what a killed load left. Takes tables that are not held yet.
///
/// Errors: whatever keeps one of them from being loaded with the others.
pub(super) fn inspect(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    mut held: Option<Held>,
    mut inputs: Vec<Input>,
    told: &Sender<String>,
    text: &str,
) -> Result<Inspection, Error> {
    let has_copies = tables.iter().all(copies::are_asked_for);
    // The tables are taken over a connection of another kind there.
    held = held.filter(|_| !has_copies);
    let against = match has_copies {
        true => match look_with_copies(connect, tables, told, text)? {
            Ok(found) => return Ok(found),
            Err(against) => against,
        },
        false => Vec::new(),
    };
    let (keeper, targets) = match held {
        Some(held) => held,
        None => take(connect, tables, told)?,
    };
    let (mut targets, mut settled) =
        killed_loads::finish_all(targets, &keeper, connect, tables, text)?;
    if settled.is_in {
        return Ok(Inspection::In(targets, keeper, Box::new(settled)));
    }
    settled.notes.extend(copies::sent_note(&against));
    for target in &mut targets {
        copies::add_reasons(&mut target.unsupported, &against);
    }
    let mut session = keeper.another()?;
    Resting::note_empty(&mut targets, &mut session)?;
    let described: Vec<Option<&Table>> = targets.iter().map(|one| Some(&one.table)).collect();
    let were_empty: Vec<Option<bool>> = targets.iter().map(|one| one.was_empty).collect();
    let facts = CommandFacts::of(&mut session, tables, &described, &were_empty, &inputs)?;
    let mut together = Together::choose(&facts)?;
    let mut connections = SharedConnections::of(session);
    let may_be_apart = may_be_apart(&facts, tables, targets.iter().map(Some));
    let mut tables: Vec<(LoadOptions, Resting)> = tables.iter().cloned().zip(targets).collect();
    let inspected = loop {
        // Another round opens the inputs again.
        let inputs = std::mem::take(&mut inputs);
        let with_others = together.with_others;
        let inspected = inspect_all(tables, inputs, &mut connections, with_others, &may_be_apart)?;
        let methods = match &inspected {
            Ok(inspected) => Methods::All { gives_numbers: inspected.give_numbers() },
            Err(_) => Methods::Missing,
        };
        match together.after(methods, &facts) {
            None => break inspected.map_err(|shut| shut.error)?,
            Some(next) => together = next,
        }
        tables = match inspected {
            Ok(inspected) => inspected.back(),
            Err(shut) => shut.tables,
        };
    };
    let Together { with_others, order } = together;
    let missing = (0..facts.tables.len()).filter(|at| !inspected.at.contains(at)).collect();
    let left_out = with_children(&facts.tables, missing);
    let mut apart = Together::each(&facts.tables).order;
    apart.retain(|at| left_out.contains(at));
    let inspected = inspected.without(&left_out).finish(keeper, connections, &order, None)?;
    let is_whole = with_others.is_transaction();
    let inspected = InspectedTables { apart, is_whole, ..inspected };
    Ok(Inspection::Tables(Box::new(inspected), Box::new(settled)))
}

/// The same with the tables taken on the replicas that are named, too.
///
/// Errors: the inner one is what keeps the files from one of them, a sentence each; none where a table
/// is not built at all.
fn look_with_copies(
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    told: &Sender<String>,
    text: &str,
) -> Result<Result<Inspection, Vec<String>>, Error> {
    let logged = connect;
    let connect = copies::primary_options(connect);
    let mut session = match Session::connect(&connect) {
        Ok(session) => session,
        Err(error) => return Ok(Err(vec![error.to_string()])),
    };
    let names = spelled(&mut session, tables)?;
    let (keeper, targets) = Keeper::take(session, &names, &lock_options(&tables[0], Some(told)))?;
    let (targets, settled) = killed_loads::finish_all(targets, &keeper, logged, tables, text)?;
    if settled.is_in {
        return Ok(Ok(Inspection::In(targets, keeper, Box::new(settled))));
    }
    let mut session = keeper.another()?;
    let originals: Vec<Original<'_>> = targets.iter().map(Original::of).collect();
    let wanted =
        CopyRequest { connect: &connect, options: &tables[0], told: Some(told), cleans: true };
    let copies = match Copies::inspect(&mut session, &originals, wanted)? {
        Ok(copies) => copies,
        Err(against) => return Ok(Err(against)),
    };
    let described = targets.iter().map(|target| Some(&target.table));
    let order = largest_first(&waiting(tables, described));
    let direct = |options: &LoadOptions| LoadOptions { path: LoadPath::Direct, ..options.clone() };
    let direct: Vec<_> = tables.iter().map(direct).zip(targets).collect();
    let mut connections = SharedConnections::of(session);
    let (inputs, none) = (Vec::new(), HashSet::new());
    let inspected = inspect_all(direct, inputs, &mut connections, WithOthers::Swap, &none)?;
    let mut inspected = match inspected {
        Err(_) if tables[0].path == LoadPath::Auto => return Ok(Err(Vec::new())),
        inspected => inspected.map_err(|shut| shut.error)?,
    };
    for part in &mut inspected.parts {
        part.chosen.why = copies.why();
    }
    let inspected = inspected.finish(keeper, connections, &order, Some(copies))?;
    Ok(Ok(Inspection::Tables(Box::new(inspected), Box::new(settled))))
}

impl TablesWithMethods {
    /// All of them in their order, if there is room.
    fn finish(
        self,
        keeper: Arc<Keeper>,
        mut connections: SharedConnections,
        order: &[usize],
        copies: Option<Copies>,
    ) -> Result<InspectedTables, Error> {
        let TablesWithMethods { at, mut parts, estimates } = self;
        check_room(&parts, &estimates)?;
        for part in &mut parts {
            connections.at(&mut part.target, |lock| Ok::<_, Error>(lock.reread_keys()?))?;
        }
        expect_children(&mut parts);
        let mut parts: HashMap<usize, Part> = at.into_iter().zip(parts).collect();
        let parts = order.iter().filter_map(|at| parts.remove(at)).collect();
        let (is_whole, apart) = (false, Vec::new());
        Ok(InspectedTables { parts, connections, keeper, is_whole, copies, apart })
    }
}

/// The inspection of all tables, if each has a method.
struct TablesWithMethods {
    /// Positions of the tables in the command. Those that cannot be published together with others are missing.
    at: Vec<usize>,
    parts: Vec<Part>,
    /// Estimates of the tables that are built.
    estimates: Vec<Estimate>,
}

/// The tables of a command, if one of them excludes the intended publish.
struct NoMethod {
    /// Which, and why.
    error: Error,
    tables: Vec<(LoadOptions, Resting)>,
}

impl TablesWithMethods {
    /// True if the inputs give each AUTO_INCREMENT value.
    fn give_numbers(&self) -> bool {
        self.parts.iter().all(|part| part.chosen.inspected.gives_numbers())
    }

    /// The same without tables that are loaded by themselves.
    fn without(mut self, left_out: &HashSet<usize>) -> TablesWithMethods {
        let parts = self.at.into_iter().zip(self.parts);
        (self.at, self.parts) = parts.filter(|(at, _)| !left_out.contains(at)).unzip();
        self
    }

    /// The tables without their methods.
    fn back(self) -> Vec<(LoadOptions, Resting)> {
        let tables = self.parts.into_iter().filter_map(|part| Some((part.options, part.target?)));
        tables.collect()
    }
}

/// Finds the way into each table, by which all get their rows at once. Those at the positions `may_be_apart` that have
/// none are left to loads by themselves. Inputs that are missing are opened.
fn inspect_all(
    tables: Vec<(LoadOptions, Resting)>,
    inputs: Vec<Input>,
    connections: &mut SharedConnections,
    with_others: WithOthers,
    may_be_apart: &HashSet<usize>,
) -> Result<Result<TablesWithMethods, NoMethod>, Error> {
    let (mut parts, mut estimates) = (Vec::new(), Vec::new());
    let mut all_at = Vec::new();
    let (mut tables, mut inputs) = (tables.into_iter(), inputs.into_iter());
    let mut next_at = 0..;
    while let Some(((options, target), at)) = tables.next().zip(next_at.next()) {
        let options = LoadOptions { with_others, ..options };
        let may_be = with_others == WithOthers::Swap && may_be_apart.contains(&at);
        match inspect_one(options, target, inputs.next(), connections)?
            .map_or_else(|shut| shut.apart(may_be, connections), |found| Ok(Ok(found)))?
        {
            Ok(Some((part, estimate))) => {
                all_at.push(at);
                parts.push(part);
                estimates.extend(estimate);
            }
            Ok(None) => {}
            Err(mut shut) => {
                let before = parts.into_iter();
                let before = before.filter_map(|part: Part| Some((part.options, part.target?)));
                shut.tables = before.chain(shut.tables).chain(tables).collect();
                return Ok(Err(shut));
            }
        }
    }
    Ok(Ok(TablesWithMethods { at: all_at, parts, estimates }))
}

impl NoMethod {
    /// The table left to a load by itself, if it may be and that has a method.
    fn apart(
        mut self,
        may_be: bool,
        connections: &mut SharedConnections,
    ) -> Result<Result<InspectedTable, NoMethod>, Error> {
        match self.tables.pop() {
            Some((options, target)) if may_be => {
                let alone = LoadOptions { with_others: WithOthers::Alone, ..options.clone() };
                match inspect_one(alone, target, None, connections)? {
                    Ok(_) => Ok(Ok(None)),
                    Err(mut shut) => {
                        shut.tables.iter_mut().for_each(|table| table.0 = options.clone());
                        Ok(Err(shut))
                    }
                }
            }
            last => {
                self.tables.extend(last);
                Ok(Err(self))
            }
        }
    }
}

/// Positions of the tables that may be loaded behind the others of a command, each by itself: those with reasons of
/// their own, and all whose rows refer to them.
pub(super) fn may_be_apart<'t>(
    facts: &CommandFacts,
    tables: &[LoadOptions],
    targets: impl Iterator<Item = Option<&'t Resting>>,
) -> HashSet<usize> {
    let known = tables.iter().zip(targets).enumerate();
    let own = known
        .filter_map(|(at, (options, target))| is_unlike_others(options, target?).then_some(at));
    with_children(&facts.tables, own.collect())
}

/// True if a table of a command has files of its own and triggers, on a server that publishes others together. Foreign
/// keys alone are no reason: all tables of a command may have some, and none would be published together.
pub(super) fn is_unlike_others(options: &LoadOptions, target: &Resting) -> bool {
    options.input.selection.is_none()
        && !target.table.triggers.is_empty()
        && !matches!(target.facts.engine.swap, Swap::Never(_))
}

/// The names as the server spells them, or as they were typed where `--ddl` is to make a table.
///
/// Errors: other tables that are missing, the first of them by name; two names that are one table's.
pub(super) fn spelled(
    session: &mut Session,
    tables: &[LoadOptions],
) -> Result<Vec<TableName>, Error> {
    let typed = |options: &LoadOptions| TableName::new(&options.database, &options.table);
    let wanted: Vec<TableName> = tables.iter().map(typed).collect();
    let (mut names, mut missing) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    let mut spellings = catalog::spellings(session, &tables[0].database, &wanted)?;
    let is_unseen = |(name, spelled): (&TableName, &Option<TableName>)| {
        spelled.is_none() && is_there(session, name)
    };
    // While the server renames tables, those of a load that was killed, its catalog lacks some.
    if wanted.iter().zip(&spellings).any(is_unseen) {
        spellings = catalog::spellings(session, &tables[0].database, &wanted)?;
    }
    for ((options, name), spelled) in tables.iter().zip(wanted).zip(spellings) {
        match spelled {
            Some(spelled) if !seen.insert(spelled.clone()) => {
                return Err(Error::Usage(format!(
                    "table {spelled} is named twice, once as {name}"
                )));
            }
            Some(spelled) => names.push(spelled),
            None if options.ddl.is_some() => names.push(name),
            None => {
                targets::refuse_put_aside(session, &name)?;
                let file = options.input.files.first().map(|file| file.display().to_string());
                missing.push(format!("{name} (for {})", file.unwrap_or_default()));
            }
        }
    }
    match missing.as_slice() {
        [] => Ok(names),
        missing => Err(Error::Usage(format!(
            "{} not exist: {}; {} or {CREATE} creates missing tables; {} sets the table of a file, \
             and {} excludes files",
            if missing.len() == 1 { "a table does" } else { "tables do" },
            first_of(missing),
            DDL.with("FILE"),
            MAP.with("PATTERN=TABLE"),
            MAP.with("PATTERN=")
        ))),
    }
}

/// True if a table is there once nobody changes it.
fn is_there(session: &mut Session, name: &TableName) -> bool {
    session.query(&format!("SELECT 1 FROM {base} LIMIT 0", base = name.base())).is_ok()
}

/// A table, and what it will take; none that is loaded by itself.
type InspectedTable = Option<(Part, Option<Estimate>)>;

/// The way into one of them, and what it will take; else why there is none.
fn inspect_one(
    options: LoadOptions,
    target: Resting,
    input: Option<Input>,
    connections: &mut SharedConnections,
) -> Result<Result<InspectedTable, NoMethod>, Error> {
    let stays_open = input.is_some();
    let (memory, mut source) = input.map_or_else(|| input::open_files(&options), Ok)?;
    let mut target = Some(target);
    let (chosen, estimate) = connections.at(&mut target, |lock| {
        let mut decision = choose::decide(lock, &options, &memory, &mut *source, Purpose::Load)?;
        let estimate = decision.estimate.take();
        Ok::<_, Error>((decision.require(lock, &options), estimate))
    })?;
    let chosen = match chosen {
        Ok(chosen) => chosen,
        Err(error) => {
            let tables = target.map(|target| (options, target)).into_iter().collect();
            return Ok(Err(NoMethod { error, tables }));
        }
    };
    if !stays_open && estimate.is_none() {
        // A file of which more than its start was read is closed, and opened again when its turn comes, which also
        // tells what is wrong with it.
        let _ = source.next_chunk(&mut Chunk::default());
    }
    source.restart()?;
    let estimate = estimate.filter(|_| chosen.path == LoadPath::Direct);
    let build_seconds = estimate.as_ref().map_or(0.0, Estimate::build_seconds);
    let part = Part {
        options,
        memory,
        chosen,
        source: Some(Mutex::new(source)),
        target,
        at: At::Inspected,
        stopwatch: Stopwatch::start(),
        next_number: None,
        build_seconds,
    };
    Ok(Ok(Some((part, estimate))))
}

/// Has tables keep the keys that others of the command refer to.
fn expect_children(parts: &mut [Part]) {
    let tables = parts.iter().filter_map(|part| Some(&part.target.as_ref()?.table));
    let references: Vec<_> = tables.flat_map(|table| table.references.clone()).collect();
    for part in parts.iter_mut().filter(|part| !part.options.server.unchecked_keys) {
        let Some(name) = part.target.as_ref().map(|target| target.table.name.clone()) else {
            continue;
        };
        let wanted = references.iter().filter(|reference| reference.parent == name);
        let keys = &mut part.chosen.inspected.foreign_keys;
        keys.extend(wanted.map(|reference| reference.parent_columns.clone()));
        keys.sort();
        keys.dedup();
    }
}

/// Refuses tables that fit the disk one by one and not all together.
fn check_room(parts: &[Part], estimates: &[Estimate]) -> Result<(), Error> {
    let mut direct = parts.iter().filter(|part| part.is_direct());
    let path = direct.find_map(|part| part.target.as_ref()?.build_path());
    match (path, Estimate::of_all(estimates)) {
        (Some(path), Some(all)) => {
            space::check(&path, &parts[0].options.limits.temp_dir, Some(&all))
        }
        _ => Ok(()),
    }
}
