//! The reading of lines, by many workers.

use std::sync::atomic::{AtomicBool, AtomicU64};

use encode::mapped::{Gathering, Lines};
use encode::reading::Reading;
use job::error::Error;
use job::progress::Stage;
use job::stop::Stop;
use locks::Mutex;
use server::Session;
use sources::{Source, SourceExt as _};

use super::candidate::{Entities, Keys};
use super::entity_digest::takes_last;
use super::placed::is_unique;
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
        source.change(|read_as| read_as.fields = lines.kinds()).map_err(usage)?;
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

fn usage(error: sources::Error) -> Stop {
    Error::Usage(error.to_string()).into()
}
