//! What has to be known of lines that hold rows of several tables, before a table is loaded: which of them
//! are bad, which entities there are, and the ids of those.
//!
//! ```text
//! looked up: rows of other tables -> lines read -> bad ones, entities in the order of their first lines
//!                                        ^              |
//!                                        +-- without those that contradict the first
//! entities that a table has keep their ids, others get the next ones
//! ```
//!
//! Nothing is changed on the server, and no id is used up: a load that fails leaves none missing.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use check::lines::{BadLine, Firsts, Gathered, LineTable, LinesCheck, LookedUp, Rule};
use encode::input;
use encode::mapped::known::{Entities, Said};
use encode::mapped::{Gathering, Known, LinePlace, Mapping, OnConflict, OwnLines, Share, Wanted};
use encode::rejects::{self, Rejects};
use job::error::Error;
use job::memory::Memory;
use job::options::{LoadOptions, Mode};
use job::progress::Progress;
use job::report::RejectTally;
use serde::Serialize;
use server::{ConnectOptions, Session};
use sources::Source;

use super::ids;
use super::looked_up::look_up;

/// Readings after which lines that contradict each other are no longer told apart.
const READINGS_MAX: usize = 20;

/// What lines hold, and have to be.
#[derive(Clone, Debug, Default)]
pub struct LinesOf {
    /// What of each line goes to each table, in their order.
    pub mappings: Vec<Arc<Mapping>>,
    /// What each line has to be.
    pub rules: Vec<Rule>,
}

/// What became of lines that were read before the tables were loaded.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LinesReport {
    /// Lines of the input.
    pub lines: u64,
    /// Those that went nowhere, because something was wrong with them.
    pub rejects: u64,
    /// What was wrong, most first.
    pub reasons: Vec<RejectTally>,
    /// Where they are.
    pub rejects_file: Option<std::path::PathBuf>,
}

/// Tells the tables which rows of the lines are theirs.
///
/// Errors: more bad lines than are tolerated; lines that contradict each other; the server's.
pub(super) fn share(
    connect: &ConnectOptions,
    tables: Vec<LoadOptions>,
    of: &LinesOf,
    progress: &dyn Progress,
) -> Result<(Vec<LoadOptions>, Option<LinesReport>), Error> {
    let mappings = &of.mappings;
    let wants = |mapping: &Arc<Mapping>| mapping.entity.is_some() || !mapping.wanted().is_empty();
    let is_added = tables.iter().any(|options| options.mode == Mode::Append);
    // What is taken back out of a table has used up its ids, so that is not begun for a bad line.
    let judges = tables[0].rejects_max > 0 || is_added;
    if !judges && of.rules.is_empty() && !mappings.iter().any(wants) {
        return Ok((tables, None));
    }
    let mut session = Session::connect(connect)?;
    let look = |(options, mapping)| LineTable::look(&mut session, options, mapping);
    let looked = tables.iter().zip(mappings).map(look).collect::<Result<Vec<_>, Error>>()?;
    let lookups = look_up(&mut session, &looked, &of.rules, &tables)?;
    let lines = LoadOptions { selection: None, ..tables[0].clone() };
    let (memory, mut source) = input::open_files(&lines)?;
    let form = rejects::form(&mut *source)?;
    let mut log = Rejects::create(lines.rejects.as_deref(), lines.rejects_max, &form)?;
    let parts = Parts {
        looked: &looked,
        lookups: &lookups,
        rules: &of.rules,
        judges,
        options: &lines,
        memory: &memory,
        progress,
    };
    let read = parts.read(&Mutex::new(source), &mut log)?;
    lines.check_loaded(read.lines.max(1), log.count(), read.lines)?;
    let report = LinesReport {
        lines: read.lines,
        rejects: log.count(),
        reasons: log.tally(),
        rejects_file: lines.rejects.clone().filter(|_| log.count() > 0),
    };
    let (mut known, mut own) = (Vec::<Option<Arc<Known>>>::new(), Vec::new());
    for ((table, options), entities) in looked.iter().zip(&tables).zip(read.entities) {
        let found = entities.map(|all| ids::identify(&mut session, table, options, all));
        let found = found.transpose()?.unzip();
        known.push(found.0.map(Arc::new));
        own.push(found.1.map(Arc::new));
    }
    let held = known.iter().flatten().map(|known| bytes(known)).sum::<u64>()
        + own.iter().flatten().map(|own: &Arc<OwnLines>| own.bytes()).sum::<u64>();
    let left_out = (!read.left_out.is_empty()).then(|| Arc::new(read.left_out));
    let find = |wanted: &Wanted| match wanted {
        Wanted::Id(name) => {
            let at = looked.iter().position(|table| table.name().eq_ignore_ascii_case(name))?;
            Some((looked[at].key.clone()?, known[at].clone()?))
        }
        Wanted::Looked(lookup) => {
            let found = lookups.iter().find(|known| known.lookup == *lookup)?;
            Some((found.key.clone(), Arc::clone(&found.known)))
        }
    };
    let shared = tables.into_iter().zip(mappings).enumerate().map(|(at, (options, mapping))| {
        let share = Share {
            mapping: Arc::clone(mapping),
            known: mapping.wanted().iter().filter_map(find).collect(),
            own: own[at].clone(),
            left_out: left_out.clone(),
        };
        LoadOptions {
            selection: Some(Arc::new(share)),
            rejects: None,
            rejects_max: 0,
            rejects_max_percent: None,
            memory_bytes_max: options.memory_bytes_max.saturating_sub(held),
            ..options
        }
    });
    Ok((shared.collect(), Some(report)))
}

/// About what known rows take.
fn bytes(known: &Known) -> u64 {
    known.rows.keys().map(|key| key.len() as u64 + 64).sum()
}

/// What the lines are read by.
struct Parts<'a> {
    looked: &'a [LineTable],
    lookups: &'a [LookedUp],
    rules: &'a [Rule],
    /// Whether every value is judged.
    judges: bool,
    options: &'a LoadOptions,
    memory: &'a Memory,
    progress: &'a dyn Progress,
}

/// What the lines hold.
struct Read {
    lines: u64,
    left_out: BTreeSet<LinePlace>,
    /// One a table: its entities, in the order of their first lines.
    entities: Vec<Option<Entities>>,
}

impl Parts<'_> {
    /// Reads the lines, again without those that contradict others where these are refused.
    fn read(&self, source: &Mutex<Box<dyn Source>>, log: &mut Rejects) -> Result<Read, Error> {
        let mut left_out = BTreeSet::new();
        let mut firsts = HashMap::new();
        let mut bad: Vec<BadLine> = Vec::new();
        for _ in 0..READINGS_MAX {
            let check = LinesCheck {
                tables: self.looked,
                lookups: self.lookups,
                rules: self.rules,
                judges: self.judges,
                left_out: &left_out,
                firsts: std::mem::take(&mut firsts),
                options: self.options,
                memory: self.memory,
                progress: self.progress,
            };
            let Gathered { entities, uniques, bad: found, lines } = check.gather(source)?;
            left_out.extend(found.iter().map(|line| line.place));
            bad.extend(found);
            let is_over = bad.len() as u64 > self.options.rejects_max;
            let entities: Vec<Option<Entities>> =
                entities.into_iter().map(|all| all.map(|all| all.finish())).collect();
            if !is_over {
                firsts = self.contradicted(&entities)?;
                firsts.extend(self.repeated(uniques));
            }
            if is_over || firsts.is_empty() {
                bad.sort_by_key(|line| line.place);
                bad.iter().try_for_each(|line| log.push(&line.reject))?;
                log.flush()?;
                return Ok(Read { lines, left_out, entities });
            }
            restart(source)?;
        }
        Err(Error::Usage(format!(
            "after {READINGS_MAX} readings there are still lines that say different things of one row: say by \
             on_conflict = \"first\" or \"last\" what counts"
        )))
    }

    /// Of entities that lines say different things of, what the first line says, where the others are
    /// refused.
    ///
    /// Errors: such lines where they fail the load.
    fn contradicted(&self, entities: &[Option<Entities>]) -> Result<Firsts, Error> {
        let mut firsts = HashMap::new();
        for (at, (table, all)) in self.looked.iter().zip(entities).enumerate() {
            let (Some(entity), Some(all)) = (&table.mapping.entity, all) else { continue };
            let differ = || all.iter().filter(|(_, said)| said.other.is_some());
            match entity.on_conflict {
                OnConflict::First | OnConflict::Last => {}
                OnConflict::Fail => {
                    let first = differ().min_by_key(|(_, said)| said.other);
                    if let Some((_, said)) = first {
                        return Err(self.conflict(table, said));
                    }
                }
                OnConflict::Reject => {
                    let of: HashMap<_, _> =
                        differ().map(|(key, said)| (key.clone(), said.digest)).collect();
                    if !of.is_empty() {
                        firsts.insert(at, of);
                    }
                }
            }
        }
        Ok(firsts)
    }

    /// The first lines of values that are to be unique and are not, by the rule's number behind those of
    /// the tables.
    fn repeated(&self, uniques: Vec<Gathering>) -> Firsts {
        let of = uniques.into_iter().map(|values| {
            let shared = values.finish().into_iter().filter(|(_, said)| said.other.is_some());
            shared.map(|(key, said)| (key, said.digest)).collect::<HashMap<_, _>>()
        });
        let numbered = of.enumerate().filter(|(_, of)| !of.is_empty());
        numbered.map(|(at, of)| (self.looked.len() + at, of)).collect()
    }

    fn conflict(&self, table: &LineTable, said: &Said) -> Error {
        let other = said.other.unwrap_or(said.first);
        let name = |file: u32| {
            let file = self.options.files.get(file as usize);
            file.map(|file| file.display().to_string()).unwrap_or_default()
        };
        Error::Conflict {
            target: table.table.name.to_string(),
            first: format!("{} line {}", name(said.first.place.0), said.first.line),
            other: format!("{} line {}", name(other.place.0), other.line),
        }
    }
}

fn restart(source: &Mutex<Box<dyn Source>>) -> Result<(), Error> {
    let mut source = source.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(source.restart()?)
}
