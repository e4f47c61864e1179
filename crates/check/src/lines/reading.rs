//! The reading of lines, by many workers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use encode::mapped::{Gathering, Lines};
use encode::reading::Reading;
use job::error::Error;
use job::failpoint;
use job::pool;
use job::progress::Stage;
use job::stop::Stop;
use server::Session;
use sources::{Batch, Chunk, Rows, Source, SourceExt as _};

use super::candidate::{Entities, Keys};
use super::placed::is_unique;
use super::said::takes_last;
use super::shared::Shared;
use super::subject::LineTable;
use super::worker::Worker;
use super::{Gathered, LinesCheck};

/// Candidates beyond the bad lines that are tolerated with which reading pauses first.
const CANDIDATES_MIN: u64 = 1024;

pub(super) fn gather(
    check: &LinesCheck<'_>,
    source: &Mutex<Box<dyn Source>>,
    session: &mut Session,
) -> Result<Gathered, Stop> {
    let lines = {
        let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
        let said = check.tables.first().and_then(|table| table.mapping.fields.as_deref());
        let lines = Lines::of(&mut **source, said).map_err(usage)?;
        source.change(|read_as| read_as.fields = lines.kinds()).map_err(usage)?;
        lines
    };
    let entity = |table: &LineTable| table.key.as_ref().map(|_| Gathering::new(takes_last(table)));
    let kept = check.tables.iter().map(|_| Keys::default());
    let mut shared = Shared {
        check,
        reading: Reading::new(source, Stage::Inspect, check.progress, &check.options.interrupt),
        lines,
        entities: Entities {
            gathered: check.tables.iter().map(entity).collect(),
            kept: kept.collect(),
        },
        uniques: check
            .rules
            .iter()
            .filter(|rule| is_unique(rule))
            .map(|_| Gathering::new(false))
            .collect(),
        bad: Mutex::default(),
        bad_count: AtomicU64::new(0),
        count: AtomicU64::new(0),
        is_enough: AtomicBool::new(false),
        candidates: Mutex::default(),
        candidate_bytes: AtomicU64::new(0),
        candidates_max: check.options.rows.rejects_max.saturating_add(CANDIDATES_MIN),
        is_paused: AtomicBool::new(false),
    };
    loop {
        pool::run(check.memory.threads, || work(&shared), || shared.reading.close())?;
        if shared.decide(session)? {
            break;
        }
    }
    let mut bad = shared.bad.into_inner().unwrap_or_else(PoisonError::into_inner);
    bad.sort_by_key(|line| line.place);
    let lines = shared.count.into_inner();
    Ok(Gathered { entities: shared.entities.gathered, uniques: shared.uniques, bad, lines })
}

fn usage(error: sources::Error) -> Stop {
    Error::Usage(error.to_string()).into()
}

/// Runs one worker to the end of the lines, or until enough are bad: those before are done then.
fn work(shared: &Shared<'_>) -> Result<(), Stop> {
    failpoint::hit("thread.lines");
    let mut worker = Worker::new(shared).map_err(usage)?;
    let mut reader = shared.reading.reader();
    let (mut chunk, mut batch) = (Chunk::default(), Batch::new());
    let is_enough =
        || shared.is_enough.load(Ordering::Relaxed) || shared.is_paused.load(Ordering::Relaxed);
    while shared.reading.next_chunk(&mut chunk, is_enough, |_| ())?.is_some() {
        reader.read(&chunk, &mut batch)?;
        let Some(rows) = batch.text_rows(&chunk) else {
            return Err(Error::Internal("lines are no text".to_owned()).into());
        };
        worker.take(&chunk, rows)?;
        shared.count.fetch_add(rows.len() as u64, Ordering::Relaxed);
        shared.reading.add_rows(rows.len() as u64);
        shared.check_memory()?;
    }
    Ok(())
}
