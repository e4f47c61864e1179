//! Facts about lines with rows of several tables, known before a table is loaded: bad lines, entities, and
//! the ids of those.
//!
//! ```text
//! looked up: rows of other tables -> lines read -> bad ones, entities in the order of their first lines
//!                                        ^              |
//!                                        +-- without those that contradict the first
//! entities that a table has keep their ids, others get the next ones
//! ```
//!
//! Nothing is changed on the server, and no id is used up: a load that fails leaves none missing.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use encode::input;
use encode::mapped::{Known, Mapping, OwnLines, RowReference, Share};
use encode::rejects::{self, Rejects};
use job::error::Error;
use job::failpoint;
use job::options::{InputOptions, LoadOptions, Mode, ResourceLimits, RowOptions};
use job::pool;
use job::progress::Progress;
use job::report::RejectTally;
use locks::Mutex;
use serde::Serialize;
use server::ConnectOptions;

use super::ids::Unnumbered;
use super::inspection::{self, Held};
use super::lines_read::{LineInputs, LinesOf, Parts};

/// The report of lines that were read before the tables were loaded.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LinesReport {
    /// Lines of the input.
    pub lines: u64,
    /// Those that went nowhere, because something was wrong with them.
    pub rejects: u64,
    /// Reasons of bad lines, the most frequent first.
    pub reasons: Vec<RejectTally>,
    /// Where they are.
    pub rejects_file: Option<PathBuf>,
}

/// Takes the tables, and tells them which rows of the lines are theirs: ids of rows are those of no other load.
///
/// Errors: a table that another load has, or had meanwhile; as of [`share`].
pub(super) fn share_held(
    connect: &ConnectOptions,
    tables: Vec<LoadOptions>,
    of: &LinesOf,
    told: &Sender<String>,
    progress: &dyn Progress,
) -> Result<(Vec<LoadOptions>, Option<LinesReport>, Held), Error> {
    let held = inspection::take(connect, &tables, told)?;
    let (tables, report) = share(connect, tables, of, false, progress)?;
    if !held.0.has_held() {
        let target = format!("each table of {}", tables[0].database);
        let detail = "the connection that held it was lost while lines were read: load again";
        return Err(server::Error::Altered { target, detail: detail.to_owned() }.into());
    }
    Ok((tables, report, held))
}

/// Tells the tables which rows of the lines are theirs.
///
/// For a comparison, rows of entities that a table has are shared out too, with the ids that it has.
///
/// Errors: more bad lines than are tolerated; lines that contradict each other; the server's.
pub(super) fn share(
    connect: &ConnectOptions,
    tables: Vec<LoadOptions>,
    of: &LinesOf,
    compares: bool,
    progress: &dyn Progress,
) -> Result<(Vec<LoadOptions>, Option<LinesReport>), Error> {
    of.check_texts(&tables[0].input)?;
    let mappings = &of.mappings;
    let wants = |mapping: &Arc<Mapping>| mapping.entity.is_some() || !mapping.wanted().is_empty();
    let is_added = tables.iter().any(|options| options.mode == Mode::Append);
    // What is taken back out of a table has used up its ids, so that is not begun for a bad line.
    let judges = tables[0].rows.rejects_max > 0 || is_added;
    if !judges && of.rules.is_empty() && !mappings.iter().any(wants) {
        return Ok((tables, None));
    }
    let mut asked = LineInputs::of(connect, &tables, of)?;
    let (lines, looked, lookups) = (&asked.options, &asked.looked, &asked.lookups);
    let (memory, mut source) = input::open_files(lines)?;
    let form = rejects::form(&mut *source)?;
    let mut log = Rejects::create(lines.rows.rejects.as_deref(), lines.rows.rejects_max, &form)?;
    let parts = Parts {
        looked,
        lookups,
        rules: &of.rules,
        judges,
        tells_all: false,
        options: lines,
        memory: &memory,
        progress,
    };
    let read = parts.read(&Mutex::new(source), &mut asked.session, &mut log)?;
    lines.check_loaded(read.lines.max(1), log.count(), read.lines)?;
    let report = LinesReport {
        lines: read.lines,
        rejects: log.count(),
        reasons: log.tally(),
        rejects_file: lines.rows.rejects.clone().filter(|_| log.count() > 0),
    };
    let mut unnumbered = Vec::new();
    for ((table, options), entities) in looked.iter().zip(&tables).zip(read.entities) {
        let ask = |all| Unnumbered::ask(&mut asked.session, table, &asked.facts, options, all);
        unnumbered.push(entities.map(ask).transpose()?);
    }
    let number = |all: Option<Unnumbered>| {
        failpoint::hit("thread.ids");
        all.map(|all| all.number(compares)).transpose()
    };
    let (mut known, mut own) = (Vec::<Option<Arc<Known>>>::new(), Vec::new());
    for numbered in pool::map(memory.threads, unnumbered, number)? {
        let (of_keys, of_lines) = numbered?.unzip();
        known.push(of_keys.map(Arc::new));
        own.push(of_lines.map(Arc::new));
    }
    let held = known.iter().flatten().map(|known| known.bytes()).sum::<u64>()
        + own.iter().flatten().map(|own: &Arc<OwnLines>| own.bytes()).sum::<u64>()
        + lookups.iter().map(|looked| looked.known.bytes()).sum::<u64>();
    let left_out = (!read.left_out.is_empty()).then(|| Arc::new(read.left_out));
    let find = |wanted: &RowReference| match wanted {
        RowReference::Id(name) => {
            let at = looked.iter().position(|table| table.name().eq_ignore_ascii_case(name))?;
            Some((looked[at].key.clone()?, known[at].clone()?))
        }
        RowReference::Looked(lookup) => {
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
            room_bytes: memory.chunk_bytes,
        };
        LoadOptions {
            input: InputOptions {
                selection: Some(Arc::new(share)),
                leaves_unclosed: Some(options.leaves_unclosed()),
                ..options.input
            },
            rows: RowOptions {
                rejects: None,
                rejects_max: 0,
                rejects_max_percent: None,
                ..options.rows
            },
            limits: ResourceLimits {
                memory_bytes_max: options.limits.memory_bytes_max.saturating_sub(held),
                ..options.limits
            },
            ..options
        }
    });
    Ok((shared.collect(), Some(report)))
}
