//! How far a replay is: a bar on a terminal, a line now and then elsewhere.

use std::sync::Arc;
use std::time::Instant;

use locks::Mutex;
use replay::progress::{Progress, Snapshot};
use terminal::size;

use crate::status::{self, LINE_INTERVAL, Part, StatusLine};

/// A bar with rate and time left.
pub(crate) struct Bar {
    bar: StatusLine,
    snapshot: Arc<Mutex<Snapshot>>,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        let snapshot: Arc<Mutex<Snapshot>> = Arc::default();
        let drawn = Arc::clone(&snapshot);
        let bar = StatusLine::new(move |columns, elapsed| {
            let snapshot = drawn.lock().clone();
            drawn_line(&snapshot, elapsed.as_secs_f64(), columns)
        });
        Bar { bar, snapshot }
    }
}

impl Progress for Bar {
    fn update(&self, snapshot: &Snapshot) {
        *self.snapshot.lock() = snapshot.clone();
    }

    fn say(&self, text: &str) {
        self.bar.say(text);
    }
}

/// A line every few seconds, for logs.
pub(crate) struct Lines {
    started: Instant,
    printed: Mutex<Instant>,
}

impl Lines {
    pub(crate) fn new() -> Lines {
        let now = Instant::now();
        Lines { started: now, printed: Mutex::new(now) }
    }
}

impl Progress for Lines {
    fn update(&self, snapshot: &Snapshot) {
        let mut printed = self.printed.lock();
        let now = Instant::now();
        if now - *printed < LINE_INTERVAL {
            return;
        }
        *printed = now;
        let seconds = (now - self.started).as_secs_f64();
        tell!("{:>5} s  {}", seconds as u64, line(snapshot, seconds));
    }

    fn say(&self, text: &str) {
        tell!("{:>5} s  {text}", self.started.elapsed().as_secs());
    }
}

/// Sentences alone.
pub(crate) struct Sentences;

impl Progress for Sentences {
    fn update(&self, _: &Snapshot) {}

    fn say(&self, text: &str) {
        tell!("{text}");
    }
}

fn counts(snapshot: &Snapshot) -> String {
    format!(
        "{} and {} done",
        size::count(snapshot.rows, "row"),
        size::count(snapshot.tables, "table")
    )
}

/// The time left, in words; nothing if the size of the dump is unknown, or nothing was read.
fn left(snapshot: &Snapshot) -> Option<String> {
    match snapshot.seconds_left? {
        // What was read may still be under way.
        0 if snapshot.total_bytes? <= snapshot.read_bytes => Some("everything is read".to_owned()),
        left => Some(format!("about {} left", status::duration(left as f64))),
    }
}

fn drawn_line(snapshot: &Snapshot, seconds: f64, columns: usize) -> String {
    if snapshot.doing.is_empty() {
        return String::new();
    }
    let rate = size::show((snapshot.read_bytes as f64 / seconds.max(1e-9)) as u64);
    let read = size::show(snapshot.read_bytes);
    let read = match snapshot.total_bytes {
        Some(total) => format!("{read} of {}", size::show(total)),
        None => read,
    };
    let mut parts = vec![
        Part::new(1, read),
        Part::new(3, format!("{rate}/s")),
        Part::new(4, size::count(snapshot.rows, "row")),
        Part::new(5, size::count(snapshot.tables, "table")),
    ];
    parts.extend(left(snapshot).map(|left| Part::new(0, left)));
    parts.push(Part::new(2, snapshot.doing.clone()));
    let done = snapshot.total_bytes.map(|total| snapshot.read_bytes as f64 / total.max(1) as f64);
    status::line(columns, "replay", done, parts)
}

fn line(snapshot: &Snapshot, seconds: f64) -> String {
    let rate = snapshot.read_bytes as f64 / seconds.max(1e-9);
    let read = size::show(snapshot.read_bytes);
    let of = match snapshot.total_bytes {
        Some(total) => format!("{read} of {}", size::show(total)),
        None => read,
    };
    let left = left(snapshot).map_or(String::new(), |left| format!(", {left}"));
    format!(
        "{of} read, {}/s, {}{left}: {}",
        size::show(rate as u64),
        counts(snapshot),
        snapshot.doing
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_long_it_takes_where_the_size_is_known() {
        let mut snapshot = Snapshot {
            doing: "shop.orders".to_owned(),
            read_bytes: 10_000_000,
            total_bytes: Some(30_000_000),
            rows: 1,
            tables: 2,
            seconds_left: Some(4),
        };
        let line = super::line(&snapshot, 2.0);
        assert!(line.contains("about 4 s left"), "{line}");
        assert!(line.contains("1 row and 2 tables done"), "{line}");
        let drawn = drawn_line(&snapshot, 2.0, 59);
        assert!(drawn.chars().count() <= 59 && drawn.contains("about 4 s left"), "{drawn}");
        (snapshot.read_bytes, snapshot.seconds_left) = (30_000_000, Some(9));
        assert!(super::line(&snapshot, 2.0).contains("about 9 s left"));
        snapshot.seconds_left = Some(0);
        assert!(super::line(&snapshot, 2.0).contains("everything is read"));
        (snapshot.total_bytes, snapshot.seconds_left) = (None, None);
        assert!(!super::line(&snapshot, 2.0).contains("left"));
    }
}
