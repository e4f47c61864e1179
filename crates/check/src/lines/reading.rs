//! The reading of lines, by many workers.

use std::sync::atomic::{AtomicBool, AtomicU64};

use encode::mapped::{Gathering, Lines};
use encode::reading::Reading;
use job::error::Error;
use job::progress::Stage;
use job::stop::Stop;
use locks::Mutex;
use server::Session;
use sources::{LineFields, ReadAs, Source, SourceExt as _};
use values::Zone;

use super::candidate::{Entities, Keys};
use super::entity_digest::takes_last;
use super::placed::{is_unique, placed};
use super::shared::Shared;
use super::table::LineTable;
use super::worker::Worker;
use super::{Gathered, LinesCheck};
use crate::pass;

/// Candidates beyond the bad lines that are tolerated with which reading pauses first.
const CANDIDATES_MIN: u64 = 1024;

pub(super) fn gather(
    check: &LinesCheck<'_>,
    source: &Mutex<Box<dyn Source>>,
    session: &mut Session,
) -> Result<Gathered, Stop> {
    let lines = {
        let mut source = source.lock();
        let said = check.tables.first().and_then(|table| table.mapping.fields.as_deref());
        let lines = Lines::of(&mut **source, said).map_err(usage)?;
        let read = match source.facts().makes_lines {
            true => Some(read(check, &lines).map_err(usage)?),
            false => None,
        };
        let lines = read.map_or(lines.clone(), |read| lines.made_of(read));
        let change = |read_as: &mut ReadAs| {
            (read_as.fields, read_as.lines) = (lines.kinds(), lines.read());
            if read_as.lines.is_some() {
                // Records, their texts and their values are in memory at once.
                read_as.chunk_bytes = (check.memory.chunk_bytes / 2).max(1);
                let zone = check.tables.first().map(|table| &table.convert.time_zone);
                read_as.time_zone = zone.cloned().unwrap_or(Zone::UTC);
            }
        };
        source.change(change).map_err(usage)?;
        lines
    };
    let entity = |table: &LineTable| table.key.as_ref().map(|_| Gathering::new(takes_last(table)));
    let unique = check.rules.iter().filter(|rule| is_unique(rule));
    let gathered =
        check.tables.iter().map(entity).chain(unique.map(|_| Some(Gathering::new(false))));
    let mut shared = Shared {
        check,
        reading: Reading::new(source, Stage::Inspect, check.progress, &check.options.interrupt),
        lines,
        entities: Entities {
            gathered: gathered.collect(),
            kept: check.tables.iter().map(|_| Keys::default()).collect(),
        },
        has_rows: check.tables.iter().map(|_| AtomicBool::new(false)).collect(),
        bad: Mutex::default(),
        bad_bytes: AtomicU64::new(check.bad_bytes),
        candidates: Mutex::default(),
        candidate_bytes: AtomicU64::new(0),
        candidates_max: check.options.rows.rejects_max.saturating_add(CANDIDATES_MIN),
    };
    loop {
        let worker = || Worker::new(&shared).map_err(usage);
        pass::by_many("thread.lines", &shared.reading, check.memory, &[], worker)?;
        if shared.decide(session)? {
            break;
        }
    }
    let (ends_early, bad_bytes) = (shared.is_enough(), shared.bad_bytes.into_inner());
    let mut bad = shared.bad.into_inner();
    bad.sort_by_key(|line| line.place);
    let lines = shared.reading.tally().rows_read();
    let has_rows = shared.has_rows.into_iter().map(AtomicBool::into_inner).collect();
    let entities = shared.entities.gathered;
    Ok(Gathered { entities, has_rows, bad, bad_bytes, ends_early, lines })
}

/// All that is read of typed rows: texts for conditions, rules and keys, and values for columns.
///
/// Errors: fields that lines do not have.
fn read(check: &LinesCheck<'_>, lines: &Lines) -> sources::Result<LineFields> {
    let mut read = LineFields::new(lines.names());
    read.ignores_unknown = check.tables.iter().all(|table| table.mapping.columns.is_some());
    for table in check.tables {
        table.values.add_row_to(&mut read, &table.mapping, lines)?;
        if let Some(key) = &table.key {
            // Lines with the same values are recognised by their texts.
            read.add_texts(lines.find_all(table.mapping.field_names())?);
            key.add_to(&mut read, lines)?;
        }
    }
    for looked in check.lookups {
        looked.key.add_to(&mut read, lines)?;
    }
    for rule in placed(check, lines)? {
        read.add_texts(rule.when.fields().chain([rule.field]).chain(rule.other));
    }
    Ok(read)
}

fn usage(error: sources::Error) -> Stop {
    Error::Usage(error.to_string()).into()
}
