//! How far a replay is: a bar on a terminal, a line now and then elsewhere.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use replay::progress::{Progress, Snapshot};

use crate::size;

/// Time between two lines when no terminal is there.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// A bar with rate and time left.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// Whether the size of the dump is known, once that was asked.
    sized: Mutex<Option<bool>>,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        let bar = ProgressBar::new(0);
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar { bar, sized: Mutex::new(None) }
    }

    fn style(&self, snapshot: &Snapshot) {
        let template = match snapshot.total_bytes {
            Some(_) => {
                "[{bar:24}] {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left, {prefix}, {msg}"
            }
            None => "{spinner} {decimal_bytes} {decimal_bytes_per_sec}, {prefix}, {msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
    }
}

impl Progress for Bar {
    fn update(&self, snapshot: &Snapshot) {
        let mut sized = self.sized.lock().unwrap_or_else(PoisonError::into_inner);
        let is_sized = snapshot.total_bytes.is_some();
        if *sized != Some(is_sized) {
            *sized = Some(is_sized);
            self.style(snapshot);
        }
        self.bar.set_length(snapshot.total_bytes.unwrap_or(0));
        self.bar.set_position(snapshot.read_bytes);
        self.bar.set_prefix(counts(snapshot));
        self.bar.set_message(snapshot.doing.clone());
    }

    fn say(&self, text: &str) {
        self.bar.println(text);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
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
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
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

fn counts(snapshot: &Snapshot) -> String {
    format!(
        "{} and {} done",
        size::count(snapshot.rows, "row"),
        size::count(snapshot.tables, "table")
    )
}

fn line(snapshot: &Snapshot, seconds: f64) -> String {
    let rate = snapshot.read_bytes as f64 / seconds.max(1e-9);
    let read = size::show(snapshot.read_bytes);
    let of = match snapshot.total_bytes {
        Some(total) => format!("{read} of {}", size::show(total)),
        None => read,
    };
    let left = match snapshot.total_bytes {
        Some(total) if rate > 0.0 => {
            let left = (total.saturating_sub(snapshot.read_bytes) as f64 / rate).ceil();
            format!(", about {left} s left")
        }
        _ => String::new(),
    };
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
        };
        let line = super::line(&snapshot, 2.0);
        assert!(line.contains("about 4 s left"), "{line}");
        assert!(line.contains("1 row and 2 tables done"), "{line}");
        snapshot.total_bytes = None;
        assert!(!super::line(&snapshot, 2.0).contains("left"));
    }
}
