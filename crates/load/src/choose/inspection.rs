//! A look at server, table and input, and what comes of it.

use encode::inspected::Inspected;
use encode::prepared::Prepared;
use face::option::PATH;
use job::error::Error;
use job::memory::{Memory, MinMemory};
use job::options::{LoadOptions, LoadPath, Mode, ResourceLimits, WithOthers};
use job::progress::Progress;
use schema::{Method, Table, TableName, quote_name};
use send::Destination;
use server::engine::Kind;
use server::version::Flavor;
use server::{ServerFacts, Session, Unsupported};
use sources::{InputFacts, Source, SourceExt as _};
use targets::stamp::had_backup_history;
use targets::{Direct, Lock};

use super::facts::{Choice, Facts, Input, RowsThere};
use super::importing;
use super::objections::Objections;
use super::refused::Refused;
use super::small_input::small_bytes;
use super::{Costs, choose};
use crate::append::Old;
use crate::estimate::Estimate;
use crate::forecast::Expected;
use crate::min_memory;
use crate::partitioned::Scope;
use crate::space;
use crate::speeds::Speeds;

/// A method, and everything that it begins with.
pub struct Chosen {
    /// Never [`LoadPath::Auto`].
    pub path: LoadPath,
    /// The method on that path.
    pub method: Method,
    /// Why that path.
    pub why: String,
    /// Facts about the table, by server and input.
    pub inspected: Inspected,
    /// The table that rows are sent to; None on the direct path.
    pub destination: Option<Destination>,
    /// Why rows are merged with one partition only, if so.
    pub(crate) one_partition: Option<String>,
    /// Seconds of the stages, where that can be told.
    pub(crate) expected: Vec<Expected>,
    /// All of them.
    pub(crate) expected_seconds: Option<f64>,
}

impl Chosen {
    /// All that its stages begin with.
    pub fn prepared<'r>(
        &'r self,
        options: &'r LoadOptions,
        progress: &'r dyn Progress,
        memory: &'r Memory,
    ) -> Prepared<'r> {
        let Chosen { path, method, why, inspected, one_partition, .. } = self;
        let (path, method, one_partition) = (*path, *method, one_partition.as_deref());
        Prepared { options, progress, memory, inspected, path, method, why, one_partition }
    }
}

/// The result of an inspection.
#[derive(Default)]
pub(crate) struct Decision {
    /// None where every path is refused.
    pub(crate) chosen: Option<Chosen>,
    pub(crate) refused: Vec<Refused>,
    /// The estimated time and room of the load, if known.
    pub(crate) estimate: Option<Estimate>,
    /// The least memory that it needs; none where it is not known.
    pub(crate) least: Option<MinMemory>,
    /// Sentences on what was weighed.
    pub(crate) notes: Vec<String>,
    /// The facts that it follows from.
    pub(crate) facts: Facts,
}

/// The path by which a table would be loaded that is still to be made, and what is against faster ones.
#[derive(Clone, Debug)]
pub(crate) struct Prediction {
    pub(crate) path: Option<LoadPath>,
    pub(crate) refused: Vec<Refused>,
    /// True if the pages of a built table are stamped for incremental backups.
    pub(crate) stamps: bool,
    pub(crate) flavor: Flavor,
}

/// The use of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Nothing may change.
    Plan,
    /// A load: leftovers of a killed load are removed first.
    Load,
    /// The same of rows that somebody else publishes, or that were to be built before: few are no reason for
    /// another method.
    Part,
}

/// Decides by what options, server, account, table and input allow.
///
/// Errors: options that do not fit the table; a disk that is too small. That all paths are refused
/// is no error here.
pub(crate) fn decide(
    target: &mut Lock,
    options: &LoadOptions,
    memory: &Memory,
    source: &mut dyn Source,
    purpose: Purpose,
) -> Result<Decision, Error> {
    if options.server.through_head {
        let name = &target.table.name;
        return Err(Error::Usage(format!(
            "{} is for tables with partitions on other servers; {name} is none",
            PATH.with("coordinator")
        )));
    }
    let facts = Facts::of(target, options, purpose, Some(source.facts()))?;
    Survey::new(facts, target, options, memory, purpose).decide(source, purpose)
}

/// The same for a load whose rows the direct path could not build, for this `reason`.
pub(crate) fn decide_without_building(
    target: &mut Lock,
    options: &LoadOptions,
    memory: &Memory,
    source: &mut dyn Source,
    reason: String,
) -> Result<Decision, Error> {
    source.restart()?;
    let mut facts = Facts::of(target, options, Purpose::Part, None)?;
    facts.against_direct.push(reason);
    Survey::new(facts, target, options, memory, Purpose::Part).decide(source, Purpose::Part)
}

/// The path by which a table would be loaded that is still to be made, as far as that hangs on the
/// server, the account and the options; and what is against faster ones.
pub(crate) fn foresee(session: &mut Session, options: &LoadOptions) -> Result<Prediction, Error> {
    let found = ServerFacts::read(session)?;
    let mut against = found.unsupported(&options.database);
    // The folder of its database may be missing still: it will be beside that of the server's own.
    if found.engine.kind.has_files() {
        against.extend(found.database_dir(session, "mysql")?.err());
        let name = TableName::new(options.database.as_str(), options.table.as_str());
        against.extend(found.unseen_triggers(&name));
    }
    let mut facts = Facts::of_server(session, &against, &found, options)?;
    facts.stamps = stamps(session, against.is_empty(), &found, options)?;
    let is_divided = !found.engine.shards_of(&options.database).is_empty();
    let no_vindex =
        || "a new table of a sharded keyspace has no vindex: create it first".to_owned();
    let refusal = found.engine.refuses(&options.database).or_else(|| is_divided.then(no_vindex));
    facts.against_all = refusal.map(|why| format!("{} ({why})", found.engine.kind));
    let against = Objections::of(&facts, options);
    let flavor = session.version().flavor;
    let (path, stamps) = (against.first(), facts.stamps);
    Ok(Prediction { path, refused: against.refused, stamps, flavor })
}

impl Facts {
    /// Facts that a table gives before its rows are looked at.
    fn of(
        target: &mut Lock,
        options: &LoadOptions,
        purpose: Purpose,
        input: Option<&InputFacts>,
    ) -> Result<Facts, Error> {
        let Lock { session, unsupported, facts, table, .. } = target;
        let kind = facts.engine.kind;
        let found = Facts::of_server(session, unsupported, facts, options)?;
        let small_bytes = match options.with_others {
            WithOthers::Alone if kind == Kind::Plain && purpose != Purpose::Part => {
                small_bytes(options, table, kind, input)?
            }
            _ => None,
        };
        let found = Facts { small_bytes, ..found };
        let stamps = !found.is_small() && stamps(session, unsupported.is_empty(), facts, options)?;
        // Seen on 8.5: rows without their parent go in, without a word.
        let passes_keys_over =
            kind == Kind::TiDb && !table.foreign_keys.is_empty() && !options.server.unchecked_keys;
        let unchecked = || format!("{kind} (LOAD DATA does not check foreign keys there)");
        let mut against_import = found.against_import;
        if options.path == LoadPath::Import {
            against_import.extend(importing::of_table(table));
        }
        Ok(Facts {
            stamps,
            against_import,
            against_load_data: found.against_load_data.or_else(|| passes_keys_over.then(unchecked)),
            has_triggers: !table.triggers.is_empty(),
            partitions: table.partitioning.as_ref().map(|by| by.partitions.len()),
            is_referred_to: table.is_referred_to(),
            keeps_keys_apart: facts.version.flavor == Flavor::MySql
                && !table.foreign_keys.is_empty(),
            indexes: table.indexes.len(),
            unique_keys: table.indexes.iter().filter(|index| index.unique).count(),
            ..found
        })
    }

    fn of_server(
        session: &mut Session,
        against_direct: &[Unsupported],
        found: &ServerFacts,
        options: &LoadOptions,
    ) -> Result<Facts, Error> {
        let engine = &found.engine;
        let logs = |session: &mut Session| session.query_text("SELECT @@GLOBAL.log_bin");
        let refusal = engine.refuses_load_data(&options.input.charset);
        let against_import = match options.path {
            LoadPath::Import => importing::of_server(session, found, options)?,
            _ => Vec::new(),
        };
        Ok(Facts {
            flavor: found.version.flavor,
            against_import,
            against_direct: against_direct.iter().map(ToString::to_string).collect(),
            local_infile: found.local_infile,
            against_load_data: refusal.map(|why| format!("{} ({why})", engine.kind)),
            is_logged: options.server.unlogged && logs(session)?.as_deref() == Some("1"),
            ..Facts::default()
        })
    }
}

/// True if the pages of a built table are stamped for incremental backups.
fn stamps(
    session: &mut Session,
    may_build: bool,
    found: &ServerFacts,
    options: &LoadOptions,
) -> Result<bool, Error> {
    // IMPORT of MySQL does it.
    let is_done = session.version().flavor == Flavor::MySql;
    Ok(match options.server.stamps {
        _ if is_done => may_build,
        Some(stamps) => stamps,
        None => may_build && had_backup_history(session, found)?,
    })
}

/// A target that is being looked at.
struct Survey<'l> {
    facts: Facts,
    target: &'l mut Lock,
    options: &'l LoadOptions,
    memory: &'l Memory,
    /// None where no estimate is made: a load sends the rows of small tables by one transaction, whatever the time.
    speeds: Option<Speeds>,
    destination: Option<Destination>,
}

impl<'l> Survey<'l> {
    fn new(
        facts: Facts,
        target: &'l mut Lock,
        options: &'l LoadOptions,
        memory: &'l Memory,
        purpose: Purpose,
    ) -> Survey<'l> {
        let flavor = target.session.version().flavor;
        let is_weighed = purpose == Purpose::Plan || options.with_others != WithOthers::Small;
        let speeds = is_weighed.then(|| Speeds::of(&options.state_dir, flavor));
        Survey { facts, target, options, memory, speeds, destination: None }
    }

    fn decide(mut self, source: &mut dyn Source, purpose: Purpose) -> Result<Decision, Error> {
        let choice = self.choose()?;
        let Some(path) = choice.path else { return Ok(self.refusing(choice)) };
        self.facts.rows = Some(self.rows(path, purpose)?);
        let choice = self.choose()?;
        if choice.path.is_none() {
            return Ok(self.refusing(choice));
        }
        let numbers = &mut self.target.table.auto_increment;
        if self.options.restarts_numbers() && numbers.is_some() {
            *numbers = Some(1);
        }
        let inspected = self.inspected(purpose, source)?;
        self.input(&inspected, source)?;
        let choice = self.choose()?;
        let Some(path) = choice.path else { return Ok(self.refusing(choice)) };
        let (table, estimate) = (&self.target.table, choice.estimate.as_ref());
        let (options, held_bytes) = (self.options, source.facts().held_bytes);
        let of = |held_bytes| min_memory::least(path, table, options, held_bytes, estimate);
        let mut least = of(held_bytes);
        if purpose == Purpose::Plan || least.bytes > options.limits.memory_bytes_max {
            least = min_memory::of_files(options, held_bytes, of);
        }
        let decision = self.decision(choice, inspected, least);
        if purpose != Purpose::Plan {
            decision.check_room(path, self.target, &self.options.limits)?;
            if path == LoadPath::Import {
                let text_bytes = source.facts().bytes_total.unwrap_or(0);
                space::fits(&self.options.limits.temp_dir, 0, text_bytes)?;
            }
        }
        Ok(decision)
    }

    fn refusing(self, choice: Choice) -> Decision {
        Decision { refused: choice.refused, facts: self.facts, ..Decision::default() }
    }

    /// The decision for a choice. Facts and destination move into it.
    fn decision(&mut self, choice: Choice, inspected: Inspected, least: MinMemory) -> Decision {
        let Choice { path, method, why, refused, estimate, notes, .. } = choice;
        let is_staged = !method.is_some_and(Method::sends_in_place);
        let expected = estimate.as_ref().map(|estimate| estimate.expected(is_staged));
        let chosen = path.zip(method).map(|(path, method)| Chosen {
            path,
            method,
            why,
            inspected,
            destination: self.destination.take().filter(|_| path.sends()),
            one_partition: choice.one_partition,
            expected: expected.unwrap_or_default(),
            expected_seconds: choice.expected_seconds,
        });
        let facts = std::mem::take(&mut self.facts);
        Decision { chosen, refused, estimate, least: Some(least), notes, facts }
    }

    /// Looks at the columns and at the start of the input. LOAD DATA reserves more AUTO_INCREMENT values than it
    /// generates, so a small table without values of its own is built: the table itself would go on at another
    /// number.
    fn inspected(&mut self, purpose: Purpose, source: &mut dyn Source) -> Result<Inspected, Error> {
        // Small tables of one command are inspected again if they are not sent by one transaction.
        if self.options.with_others == WithOthers::Small {
            return Inspected::without_order(self.target, self.options, source);
        }
        if !self.facts.is_small() {
            return Inspected::new(self.target, self.options, source);
        }
        let mut inspected = Inspected::without_order(self.target, self.options, source)?;
        let is_numbered = self.options.mode == Mode::Insert && !inspected.gives_numbers();
        if is_numbered {
            (self.facts.small_bytes, self.facts.sending, self.destination) = (None, None, None);
            let Lock { session, unsupported, facts, .. } = &mut *self.target;
            self.facts.stamps = stamps(session, unsupported.is_empty(), facts, self.options)?;
            if let Some(path) = self.choose()?.path {
                self.facts.rows = Some(self.rows(path, purpose)?);
            }
        }
        let is_sent = self.choose()?.path.is_some_and(LoadPath::sends);
        if !is_sent || !self.facts.is_small() {
            inspected.learn_order(&mut self.target.session, &self.target.table)?;
        }
        Ok(inspected)
    }

    /// Chooses by what is known, and looks where rows would go if they are to be sent.
    fn choose(&mut self) -> Result<Choice, Error> {
        loop {
            let flavor = self.target.session.version().flavor;
            let speeds = self.speeds.unwrap_or_else(|| Speeds::before_any(flavor));
            let costs = Costs { speeds: &speeds, memory: self.memory };
            let choice = choose(&self.facts, self.options, &costs);
            if !choice.path.is_some_and(LoadPath::sends) || self.facts.sending.is_some() {
                return Ok(choice);
            }
            let with_others = match self.facts.is_small() {
                true => WithOthers::Small,
                false => self.options.with_others,
            };
            let destination = Destination::choose(self.target, self.options, with_others)?;
            self.facts.sending = match destination {
                Ok(destination) => Some(Ok(self.destination.insert(destination).method)),
                // There may be another method.
                Err(_) if self.facts.small_bytes.take().is_some() => None,
                Err(reasons) => Some(Err(reasons)),
            };
        }
    }

    /// Removes what a killed load left, if it is to be, and looks at the rows that are there.
    fn rows(&mut self, path: LoadPath, purpose: Purpose) -> Result<RowsThere, Error> {
        let target = &mut *self.target;
        let sweeps = purpose != Purpose::Plan && !target.is_swept();
        let removed = match path {
            _ if !sweeps => Vec::new(),
            LoadPath::Direct => Direct::new(target).cleanup()?,
            _ => target.cleanup_tables()?,
        };
        if sweeps {
            // Where this account cannot look, it has left nothing.
            let _ = send::sweep(target);
        }
        let has_removed = |table: &dyn std::fmt::Display| {
            let named = format!("table {table}");
            removed.contains(&named)
        };
        let is_empty = match target.was_empty.take() {
            Some(is_empty) if !sweeps => is_empty,
            _ => target.is_empty()?,
        };
        let mut rows = RowsThere {
            is_empty,
            was_swapped: has_removed(&target.names.emptied),
            was_extended: has_removed(&target.names.extended),
            ledger: None,
        };
        if self.options.mode == Mode::Append && !rows.is_empty && !target.is_swept() {
            let ledger = target.names.ledger.clone();
            let is_there = catalog::exists(&mut target.session, &ledger)?;
            rows.ledger = is_there.then(|| ledger.to_string());
        }
        Ok(rows)
    }

    /// Looks at the input, and at files of the table that it may be merged with.
    fn input(&mut self, inspected: &Inspected, source: &mut dyn Source) -> Result<(), Error> {
        let Survey { options, memory, speeds, .. } = *self;
        let bytes = source.facts().bytes_total;
        let built = match &speeds {
            Some(speeds) => {
                Estimate::of(source, &self.target.table, inspected, options, memory, speeds)?
            }
            None => None,
        };
        let (table, engine) = (&self.target.table, &self.target.facts.engine);
        let input = Input {
            bytes,
            is_read_once: source.files().iter().any(|file| file.bytes.is_none()),
            unfit: inspected.unfit.clone(),
            lacks: lacks(table, inspected),
            against_whole: bytes.and_then(|bytes| engine.refuses_whole(bytes)),
            built,
            ..Input::default()
        };
        self.facts.input = Some(input);
        let is_direct = self.choose()?.path == Some(LoadPath::Direct);
        if !(is_direct && self.facts.extends(options)) {
            return Ok(());
        }
        if let Some(missing) = self.target.missing_file()? {
            self.facts.against_direct.push(missing);
            return Ok(());
        }
        let Lock { session, table, .. } = &mut *self.target;
        let scope = Scope::of(table, inspected, source, session)?;
        let wider = scope.widened();
        let is_weighed = self.facts.input.as_ref().is_some_and(|input| input.built.is_some());
        let mut look = |scope: &Scope| Old::inspect(self.target, scope);
        let old = is_weighed.then(|| look(&scope)).transpose()?;
        let all = wider.filter(|_| is_weighed).map(|wider| look(&wider)).transpose()?;
        if let Some(input) = &mut self.facts.input {
            *input = Input { scope: Some(scope), old, all, ..std::mem::take(input) };
        }
        Ok(())
    }
}

/// A column of a table, quoted, that an input has no field for.
fn lacks(table: &Table, inspected: &Inspected) -> Option<String> {
    let has_field = |column: usize| inspected.fields.columns.contains(&Some(column));
    let column = (0..table.columns.len()).find(|column| !has_field(*column))?;
    Some(quote_name(&table.columns[column].name))
}

impl Decision {
    /// Refuses what will not fit memory or disks by a path.
    pub(crate) fn check_room(
        &self,
        path: LoadPath,
        target: &Lock,
        options: &ResourceLimits,
    ) -> Result<(), Error> {
        // First: more memory does not help where the disk lacks.
        if path == LoadPath::Direct {
            let build_path = target.build_path()?;
            space::check(&build_path, &options.temp_dir, self.estimate.as_ref())?;
        }
        // A test that hands out shares has its own idea of them.
        match (&self.least, options.shares) {
            (Some(least), None) => least.clone().check(options.memory_bytes_max),
            _ => Ok(()),
        }
    }

    /// The method, or an error with all that is against each path.
    pub(crate) fn require(self, target: &Lock, options: &LoadOptions) -> Result<Chosen, Error> {
        let Decision { chosen, mut refused, .. } = self;
        chosen.ok_or_else(|| {
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
