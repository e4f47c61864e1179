//! How far the load is: a line on a terminal that is drawn again and again, a line now and then
//! elsewhere.

use std::sync::Arc;
use std::time::Instant;

use load::{Progress, Snapshot, Stage};
use locks::Mutex;
use terminal::size;

use crate::status::{self, LINE_INTERVAL, Part, StatusLine};

/// A bar for each stage, with its rate, and the time that is left of the whole load.
pub(crate) struct Bar {
    bar: StatusLine,
    watched: Arc<Mutex<Watched>>,
}

/// The last snapshot.
#[derive(Default)]
struct Watched {
    heard: Option<Heard>,
    /// Which of several tables it is: `3/8 orders `.
    table: String,
}

struct Heard {
    snapshot: Snapshot,
    /// When it was heard, and when its stage was first heard of.
    at: Instant,
    stage_since: Instant,
}

impl Watched {
    fn hear(&mut self, snapshot: Snapshot, at: Instant) {
        let same_stage = self.heard.as_ref().filter(|heard| heard.snapshot.stage == snapshot.stage);
        let stage_since = same_stage.map_or(at, |heard| heard.stage_since);
        self.heard = Some(Heard { snapshot, at, stage_since });
    }

    /// The line that is drawn at a time.
    fn line(&self, columns: usize, now: Instant) -> String {
        let Some(Heard { snapshot, at, stage_since }) = &self.heard else { return String::new() };
        let seconds = (now - *stage_since).as_secs_f64();
        let mut parts = Vec::new();
        let total = snapshot.total_bytes.filter(|&bytes| bytes > 0);
        match total {
            Some(total) => {
                let (done, rate) =
                    (snapshot.done_bytes, snapshot.done_bytes as f64 / seconds.max(1e-3));
                parts.push(Part::new(1, format!("{} of {}", size::show(done), size::show(total))));
                parts.push(Part::new(2, format!("{}/s", size::show(rate as u64))));
            }
            None => parts.push(Part::new(1, format!("{} s", seconds as u64))),
        }
        let is_open_end = has_open_end(snapshot);
        if is_open_end {
            parts.push(Part::new(2, size::show(snapshot.done_bytes)));
        }
        if snapshot.rows > 0 && (total.is_some() || is_open_end) {
            parts.push(Part::new(3, format!("{} rows", size::group(snapshot.rows))));
        }
        if let Some(left) = snapshot.seconds_left {
            let left = status::duration(left - (now - *at).as_secs_f64());
            parts.push(Part::new(0, format!("about {left} left")));
        }
        let done = total.map(|total| snapshot.done_bytes as f64 / total as f64);
        let head = format!("{}{:9}", self.table, snapshot.stage.name());
        status::line(columns, &head, done, parts)
    }
}

impl Bar {
    pub(crate) fn new() -> Bar {
        let watched: Arc<Mutex<Watched>> = Arc::default();
        let drawn = Arc::clone(&watched);
        let bar = StatusLine::new(move |columns, _| drawn.lock().line(columns, Instant::now()));
        Bar { bar, watched }
    }
}

/// `3/8 orders `, of a table with its database.
fn one_of(name: &str, number: usize, of: usize) -> String {
    let table = name.split_once('.').map_or(name, |(_, table)| table);
    if of > 1 { format!("{number}/{of} {table} ") } else { String::new() }
}

impl Progress for Bar {
    fn update(&self, snapshot: Snapshot) {
        self.watched.lock().hear(snapshot, Instant::now());
    }

    fn table(&self, name: &str, number: usize, of: usize) {
        self.watched.lock().table = one_of(name, number, of);
    }

    fn waiting(&self, text: &str) {
        self.bar.say(text);
    }

    fn note(&self, text: &str) {
        self.bar.say(text);
    }
}

/// A line every ten seconds, for logs.
pub(crate) struct Lines {
    /// True if each new stage has a line too.
    is_verbose: bool,
    state: Mutex<LinesState>,
}

struct LinesState {
    started: Instant,
    /// Which of several tables it is: a line at each stage of each would be too much then.
    table: String,
    stage: Option<(Stage, Instant)>,
    printed: Instant,
    /// When a wait was last told of.
    waited: Option<Instant>,
}

impl Lines {
    pub(crate) fn new(is_verbose: bool) -> Lines {
        let now = Instant::now();
        Lines {
            is_verbose,
            state: Mutex::new(LinesState {
                started: now,
                table: String::new(),
                stage: None,
                printed: now,
                waited: None,
            }),
        }
    }
}

impl Progress for Lines {
    fn update(&self, snapshot: Snapshot) {
        let mut state = self.state.lock();
        let now = Instant::now();
        let begun = match state.stage {
            Some((stage, begun)) if stage == snapshot.stage => begun,
            _ => {
                state.stage = Some((snapshot.stage, now));
                now
            }
        };
        let first = self.is_verbose && begun == now && state.table.is_empty();
        if !first && now - state.printed < LINE_INTERVAL {
            return;
        }
        state.printed = now;
        let clock = (now - state.started).as_secs();
        let line = line(&snapshot, (now - begun).as_secs_f64());
        tell!("{clock:>5} s  {}{line}", state.table);
    }

    fn table(&self, name: &str, number: usize, of: usize) {
        self.state.lock().table = one_of(name, number, of);
    }

    fn waiting(&self, text: &str) {
        let mut state = self.state.lock();
        if is_due(&mut state.waited) {
            tell!("{:>5} s  {text}", state.started.elapsed().as_secs());
        }
    }

    fn note(&self, text: &str) {
        tell!("{text}");
    }
}

/// Notes and warnings alone.
pub(crate) struct Quiet;

impl Progress for Quiet {
    fn update(&self, _: Snapshot) {}

    fn note(&self, text: &str) {
        tell!("{text}");
    }
}

/// Notes, warnings and waits for locks.
#[derive(Default)]
pub(crate) struct Notes {
    /// The last time when a wait was printed.
    waited: Mutex<Option<Instant>>,
}

impl Progress for Notes {
    fn update(&self, _: Snapshot) {}

    fn waiting(&self, text: &str) {
        if is_due(&mut self.waited.lock()) {
            tell!("{text}");
        }
    }

    fn note(&self, text: &str) {
        tell!("{text}");
    }
}

/// True if a wait is to be printed, after the last one that was.
fn is_due(waited: &mut Option<Instant>) -> bool {
    let is_due = waited.is_none_or(|told| told.elapsed() >= LINE_INTERVAL);
    if is_due {
        *waited = Some(Instant::now());
    }
    is_due
}

/// True if rows are written whose number is unknown.
fn has_open_end(snapshot: &Snapshot) -> bool {
    snapshot.stage == Stage::Export && snapshot.total_bytes.is_none() && snapshot.done_bytes > 0
}

fn line(snapshot: &Snapshot, seconds: f64) -> String {
    // Less than a moment is not worth saying.
    let left = match snapshot.seconds_left {
        Some(left) if left >= 0.5 => format!(", about {} left", status::duration(left)),
        _ => String::new(),
    };
    let name = snapshot.stage.name();
    if has_open_end(snapshot) {
        let done = size::show(snapshot.done_bytes);
        return format!("{name}: {done}, {} rows", size::group(snapshot.rows));
    }
    let Some(total) = snapshot.total_bytes.filter(|_| snapshot.done_bytes > 0 && seconds > 0.0)
    else {
        return format!("{name}{left}");
    };
    let rate = snapshot.done_bytes as f64 / seconds;
    format!(
        "{name}: {} of {}, {}/s, {} rows{left}",
        size::show(snapshot.done_bytes),
        size::show(total),
        size::show(rate as u64),
        size::group(snapshot.rows),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_time_left_goes_on_between_two_snapshots() {
        let (mut watched, begun) = (Watched::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut snapshot = Snapshot {
            stage: Stage::Rows,
            rows: 1_000,
            done_bytes: 10_000_000,
            total_bytes: Some(40_000_000),
            seconds_left: Some(50.0),
        };
        watched.hear(snapshot, at(0));
        watched.hear(snapshot, at(2));
        let line = watched.line(79, at(5));
        assert!(
            line.ends_with("] 10.0 MB of 40.0 MB, 2.00 MB/s, 1,000 rows, about 47 s left"),
            "{line}"
        );
        assert_eq!(watched.line(59, at(5)).chars().count(), 59);
        (snapshot.stage, snapshot.total_bytes) = (Stage::Import, None);
        watched.hear(snapshot, at(10));
        assert_eq!(watched.line(79, at(13)), "import    3 s, about 47 s left");
        // Rows that are written, nobody knows how many.
        (snapshot.stage, snapshot.seconds_left) = (Stage::Export, None);
        watched.hear(snapshot, at(20));
        assert_eq!(watched.line(79, at(23)), "export    3 s, 10.0 MB, 1,000 rows");
    }
}
