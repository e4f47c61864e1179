//! Which way into the server a load takes, and why not a faster one.

use std::collections::BTreeSet;

use encode::input;
use encode::inspected::Inspected;
use job::error::Error;
use job::memory::Memory;
use job::options::{InputOptions, LoadOptions, LoadPath, OnDuplicate, ServerOptions};
use job::report::{self, EngineReport, ShardReport};
use job::space::free_bytes;
use job::tuning::for_load;
use schema::{Flavor, ForeignKey, KeyEnd, Table, TableName, first_of};
use serde::Serialize;
use server::{ConnectOptions, Session};
use sources::{FileSource, Source, SourceExt as _};
use targets::Lock;

use crate::choose::{self, Decision, Facts, Prediction, Purpose, Refused};
use crate::copies;
use crate::ddl;
use crate::estimate::Estimate;
use crate::lock_target::{lock, no_table};
use crate::min_memory;
use crate::places::{Places, PlacesPlan};
use crate::predicted_table;
use crate::replication_notes::{self, Arrival};

/// The plan of a load.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Plan {
    /// `database.table`.
    pub target: String,
    /// `direct`, `stream` or `insert`, or `shards` where each shard is loaded by its own; none when no way is
    /// open, or there is no server yet.
    pub path: Option<&'static str>,
    /// Why that one.
    pub why: String,
    /// True if the table is missing and `--ddl` would make it first.
    pub makes_table: bool,
    /// True if the direct path would stamp the table's pages, so that incremental backups contain it.
    pub stamps: bool,
    /// Where rows would go, and why there; none on the direct path.
    pub destination: Option<String>,
    /// Paths that are excluded, with reasons; all paths if none is open.
    pub refused: Vec<Refused>,
    /// Version of the server.
    pub server: String,
    /// Where the server is: host and port, its socket, or `sandbox`; none where there is none yet.
    pub server_address: Option<String>,
    /// The engine that answers and the rules that bind there; none of a plain server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineReport>,
    /// Bytes of the input as it is, compressed or not; pipes are not counted.
    pub input_bytes: u64,
    /// The estimate; none if the table cannot be loaded, or the input's size is unknown. For a
    /// table that does not exist yet, a guess by the statement that makes it.
    pub estimate: Option<Estimate>,
    /// Bytes free where the table goes, and in the temporary folder; none where rows are sent, to
    /// a server whose disks cannot be asked.
    pub free_bytes: Option<[u64; 2]>,
    /// The least memory that the load needs, and what it is given; none where no way is open.
    pub memory_bytes: Option<[u64; 2]>,
    /// The facts that the method follows from; none without a table or a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) facts: Option<Facts>,
    /// The treatment of rows that share keys.
    pub on_duplicate: String,
    /// How the input is compressed: each kind once.
    pub compression: Vec<String>,
    /// The partitions that are on servers of their own, if they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardReport>,
    /// Notes for the user, one sentence each.
    pub notes: Vec<String>,
}

/// Refuses what can be refused without a server: options and files. Changes nothing.
pub fn check(options: &LoadOptions) -> Result<(), Error> {
    input::open_files(options).map(drop)
}

/// Says what [`crate::load`] would do. Changes nothing. Without `connect` there is no server yet.
///
/// Errors: the options that a load would refuse too.
pub fn plan(
    connect: Option<&ConnectOptions>,
    options: &LoadOptions,
    places: Option<&dyn Places>,
) -> Result<Plan, Error> {
    planned(connect, options, places).map(|(plan, _)| plan)
}

/// The same, and what was seen of table and input on the way that would be taken.
pub(crate) fn planned(
    connect: Option<&ConnectOptions>,
    options: &LoadOptions,
    places: Option<&dyn Places>,
) -> Result<(Plan, Option<Inspected>), Error> {
    let (memory, mut source) = input::open_files(options)?;
    let connect = connect.map(|connect| for_load(connect, options));
    let mut session = connect.as_ref().map(Session::connect).transpose()?;
    let name = options.target();
    let plan = Plan::of(options, &*source, session.as_ref())?;
    let exists = match &mut session {
        Some(session) => catalog::exists(session, &name)?,
        None => false,
    };
    let Some(session) = session.take_if(|_| exists) else {
        let foreseen = match session {
            Some(mut session) => {
                targets::refuse_put_aside(&mut session, &name)?;
                Some(choose::foresee(&mut session, options)?)
            }
            None => None,
        };
        let plan = plan.of_missing(foreseen, &name, options, &memory, &mut *source)?;
        return Ok((plan, None));
    };
    let (reached, purpose) = (session.options().clone(), Purpose::Plan);
    let copied = copies::decide(&reached, options, &memory, &mut *source, None, purpose)?;
    let (mut target, decision) = match copied {
        Ok((target, decision, _)) => (target, decision),
        Err(against) => {
            let mut target = lock(session, options, None)?;
            if let Some(places) = places.filter(|places| places.claims(&target.table)) {
                let planned = places.plan(&mut target, &reached, options, &mut *source)?;
                return Ok((plan.of_places(planned), None));
            }
            copies::add_reasons(&mut target.unsupported, &against);
            let decision = choose::decide(&mut target, options, &memory, &mut *source, purpose)?;
            (target, decision)
        }
    };
    let (mut plan, inspected) = plan.of_decision(&target, decision, options, |_| false)?;
    plan.notes.extend(plan.replication_notes(&mut target, options)?);
    Ok((plan, inspected))
}

/// The note about tables whose writers wait because of foreign keys. None if there are no such tables, or the
/// command loads them.
fn keys_note(
    table: &Table,
    options: &ServerOptions,
    is_loaded: impl Fn(&TableName) -> bool,
) -> Option<String> {
    // Of parents nobody looks whether they stay as they are.
    let waits = |key: &&ForeignKey| match key.end {
        KeyEnd::Parent => true,
        KeyEnd::Child => !options.unchecked_keys,
        KeyEnd::Both => false,
    };
    let others = table.foreign_keys.iter().filter(waits).filter_map(|key| key.other.as_ref());
    let others: BTreeSet<String> =
        others.filter(|name| !is_loaded(name)).map(TableName::to_string).collect();
    let cause = match options.unchecked_keys {
        true => "the table is published",
        false => "foreign keys are checked",
    };
    (!others.is_empty())
        .then(|| format!("writes to {} wait for a moment while {cause}", first_of(&others)))
}

impl Plan {
    /// True if the table is built.
    pub fn is_direct(&self) -> bool {
        self.path == Some(LoadPath::Direct.name())
    }

    /// The notes that are known before the table is inspected.
    pub(crate) fn of(
        options: &LoadOptions,
        source: &dyn Source,
        session: Option<&Session>,
    ) -> Result<Plan, Error> {
        Ok(Plan {
            target: options.target().to_string(),
            server: session.map_or_else(String::new, |session| session.version().text.clone()),
            server_address: session.map(|session| session.options().server_text()),
            input_bytes: source.files().iter().filter_map(|file| file.bytes).sum(),
            on_duplicate: on_duplicate(options.rows.on_duplicate).to_owned(),
            compression: compression(&options.input)?,
            ..Plan::default()
        })
    }

    /// For a table whose rows are in other places.
    fn of_places(self, planned: PlacesPlan) -> Plan {
        let PlacesPlan { path, why, destination, refused, places, notes } = planned;
        Plan { path: Some(path), why, destination, refused, shards: places, notes, ..self }
    }

    /// For a table that is there, where the same command loads some others.
    pub(crate) fn of_decision(
        mut self,
        target: &Lock,
        decision: Decision,
        options: &LoadOptions,
        is_loaded: impl Fn(&TableName) -> bool,
    ) -> Result<(Plan, Option<Inspected>), Error> {
        self.refused.clone_from(&decision.refused);
        self.facts = Some(decision.facts.clone());
        self.engine = EngineReport::of(&target.facts.engine);
        let Some(path) = decision.chosen.as_ref().map(|chosen| chosen.path) else {
            return Ok((self, None));
        };
        self.estimate = decision.estimate;
        let least = decision.least.as_ref();
        self.memory_bytes = least.map(|least| [least.bytes, options.limits.memory_bytes_max]);
        if path == LoadPath::Direct {
            self.stamps = decision.facts.stamps;
            if options.rows.on_duplicate != OnDuplicate::Fail {
                self.on_duplicate.push_str("; if there are any, the input is read twice more");
            }
            let folder = target.build_path()?;
            let folder = folder.parent().unwrap_or(&folder);
            self.free_bytes = Some([free_bytes(folder)?, free_bytes(&options.limits.temp_dir)?]);
            self.notes.extend(report::flush_note(&target.facts));
            self.notes.extend(report::unlogged_note(&target.facts));
            self.notes.extend(target.triggers_note());
            self.notes.extend(keys_note(&target.table, &options.server, is_loaded));
            self.notes.extend(decision.notes.iter().cloned());
        }
        if self.estimate.as_ref().is_some_and(|estimate| estimate.temporary_bytes > 0) {
            self.notes.extend(options.limits.temp_dir_note());
        }
        self.notes.extend(choose::import_note(path, &options.limits.temp_dir));
        self.notes.extend(options.unchecked_note(!target.table.foreign_keys.is_empty()));
        if let Err(error) = decision.check_room(path, target, &options.limits) {
            self.refused.push(Refused { path: path.name(), reason: error.to_string() });
            return Ok((self, None));
        }
        let Some(chosen) = decision.chosen else { return Ok((self, None)) };
        self.path = Some(chosen.path.name());
        self.why = chosen.why;
        self.notes.extend(chosen.inspected.fields.notes(&target.table, &options.input));
        self.destination = chosen.destination.map(|destination| destination.why);
        Ok((self, Some(chosen.inspected)))
    }

    /// Notes about replication for a load by its path; empty without replication.
    pub(crate) fn replication_notes(
        &self,
        target: &mut Lock,
        options: &LoadOptions,
    ) -> Result<Vec<String>, Error> {
        let arrival = match self.path {
            None => return Ok(Vec::new()),
            Some(path) if path == LoadPath::Direct.name() => Arrival::Built,
            Some(_) => Arrival::Sent,
        };
        let Lock { session, facts, .. } = target;
        let mut found = replication_notes::of_server(session, facts, &options.database, arrival)?;
        found.extend(replication_notes::of_replicas(
            &options.server.replicas.named,
            session.options(),
            arrival,
        ));
        Ok(found)
    }

    /// For a table that is still to be made; what is foreseen of it is none where there is no server
    /// yet.
    pub(crate) fn of_missing(
        mut self,
        foreseen: Option<Prediction>,
        name: &TableName,
        options: &LoadOptions,
        memory: &Memory,
        source: &mut dyn Source,
    ) -> Result<Plan, Error> {
        if options.ddl.is_none() {
            return Err(no_table(&name.to_string()));
        }
        ddl::statement(options)?;
        self.makes_table = true;
        // The sandbox's, where no server is named.
        let mut of_server = Flavor::MariaDb;
        if let Some(Prediction { path, refused, stamps, flavor }) = foreseen {
            of_server = flavor;
            self.path = path.map(LoadPath::name);
            (self.refused, self.stamps) = (refused, stamps);
            self.why = "unless the table has unsupported features".to_owned();
        }
        self.with_foreseen(name, options, memory, of_server, source)
    }

    /// Adds the estimate by the statement that makes the table. Without a server it is that of the
    /// fastest path, which the sandbox has.
    fn with_foreseen(
        mut self,
        name: &TableName,
        options: &LoadOptions,
        memory: &Memory,
        flavor: Flavor,
        source: &mut dyn Source,
    ) -> Result<Plan, Error> {
        let named = |path: &LoadPath| Some(path.name()) == self.path;
        let paths = [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert];
        let path = match paths.into_iter().find(named) {
            Some(path) => path,
            None if self.refused.is_empty() => options.path,
            None => return Ok(self),
        };
        let Some(table) = predicted_table::table(name, ddl::statement(options)?) else {
            return Ok(self);
        };
        self.estimate = predicted_table::estimate(source, &table, path, options, memory, flavor)?;
        let estimate = self.estimate.as_ref();
        let of = |held_bytes| min_memory::least(path, &table, options, held_bytes, estimate);
        let least = min_memory::of_files(options, source.facts().held_bytes, of);
        self.memory_bytes = Some([least.bytes, options.limits.memory_bytes_max]);
        Ok(self)
    }
}

/// The kinds of compression that the files have.
fn compression(options: &InputOptions) -> Result<Vec<String>, Error> {
    let mut kinds = Vec::new();
    if options.kind()?.is_some() {
        return Ok(kinds);
    }
    for path in &options.files {
        let kind =
            FileSource::compression(path).map_err(|error| Error::Usage(error.to_string()))?;
        kinds.extend(kind.map(|kind| kind.to_string()));
    }
    kinds.sort();
    kinds.dedup();
    Ok(kinds)
}

fn on_duplicate(on_duplicate: OnDuplicate) -> &'static str {
    match on_duplicate {
        OnDuplicate::Fail => "the load fails if two rows have the same primary or unique key",
        OnDuplicate::Skip => "rows with a primary or unique key of an earlier row are skipped",
        OnDuplicate::Replace => {
            "rows replace earlier rows that have the same primary key or any of the same unique \
             keys"
        }
        OnDuplicate::Update => {
            "rows with a primary or unique key of an earlier row update that row, by INSERT .. ON \
             DUPLICATE KEY UPDATE"
        }
    }
}
