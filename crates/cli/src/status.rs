//! A line that says how far something is, as wide as the terminal.

use std::fmt;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use terminal_size::{Width, terminal_size_of};

/// Time between two lines when no terminal is there.
pub(crate) const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// A command that ends before is over before its line is read.
const SILENCE: Duration = Duration::from_secs(1);
/// Time between two drawings of a bar.
const DRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Columns where nothing tells how many there are.
const COLUMNS: usize = 80;
/// With fewer, a line is as long as with these.
const COLUMNS_MIN: usize = 20;
const BAR_COLUMNS_MIN: usize = 8;
const BAR_COLUMNS_MAX: usize = 32;

/// The last line of a terminal, which is drawn again and again until its command ends.
pub(crate) struct StatusLine(ProgressBar);

impl StatusLine {
    /// Draws what `line` says for so many columns, so long after the beginning.
    pub(crate) fn new(
        line: impl Fn(usize, Duration) -> String + Clone + Send + Sync + 'static,
    ) -> StatusLine {
        let started = Instant::now();
        let draw = move |_: &ProgressState, out: &mut dyn fmt::Write| {
            let elapsed = started.elapsed();
            if elapsed >= SILENCE {
                let _ = out.write_str(&line(columns(), elapsed));
            }
        };
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{line}") {
            bar.set_style(style.with_key("line", draw));
        }
        bar.enable_steady_tick(DRAW_INTERVAL);
        StatusLine(bar)
    }

    /// A sentence above it.
    pub(crate) fn say(&self, text: &str) {
        self.0.println(text);
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// One of the things that a line says.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Lower ranks stay longer if there is no room for all.
    rank: u8,
    text: String,
}

impl Part {
    pub(crate) fn new(rank: u8, text: String) -> Part {
        Part { rank, text }
    }
}

/// Columns that a line may have: one less than the terminal, so that it does not wrap.
fn columns() -> usize {
    let size = terminal_size_of(std::io::stderr());
    let columns = size.map_or(COLUMNS, |(Width(columns), _)| usize::from(columns));
    columns.max(COLUMNS_MIN) - 1
}

/// `head`, a bar that is `done` from 0 to 1 if that is known, and of the parts those that fit.
pub(crate) fn line(columns: usize, head: &str, done: Option<f64>, mut parts: Vec<Part>) -> String {
    let text = |parts: &[Part]| {
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        texts.join(", ")
    };
    let bar_min = done.map_or(0, |_| BAR_COLUMNS_MIN + 3);
    let left_over = |parts: &[Part]| {
        columns.checked_sub(head.chars().count() + 1 + text(parts).chars().count())
    };
    while parts.len() > 1 && left_over(&parts).is_none_or(|left| left < bar_min) {
        let last = parts.iter().map(|part| part.rank).max();
        parts.retain(|part| Some(part.rank) != last);
    }
    let room = left_over(&parts).unwrap_or(0).saturating_sub(3).min(BAR_COLUMNS_MAX);
    let bar = match done {
        Some(done) if room >= BAR_COLUMNS_MIN => {
            let filled = (done.clamp(0.0, 1.0) * room as f64) as usize;
            let head = if filled < room { ">" } else { "" };
            format!(" [{:room$}]", "=".repeat(filled) + head)
        }
        _ => String::new(),
    };
    let line = terminal::plain::text(&format!("{head}{bar} {}", text(&parts)));
    line.chars().take(columns).collect()
}

/// A time as people say it, not finer than anybody can know it.
pub(crate) fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0).ceil();
    match seconds {
        0.0..120.0 => format!("{seconds} s"),
        120.0..7_200.0 => format!("{} min", (seconds / 60.0).round()),
        _ => format!("{:.1} h", seconds / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Vec<Part> {
        [
            (1, "380 MB of 1.09 GB"),
            (2, "123 MB/s"),
            (3, "1,234,567,890 rows"),
            (0, "about 12 s left"),
        ]
        .map(|(rank, text)| Part::new(rank, text.to_owned()))
        .to_vec()
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_the_time_last() {
        let line = |columns| super::line(columns, "rows     ", Some(0.5), parts());
        let wide = line(120);
        assert!(wide.starts_with("rows      [================>               ] 380 MB"), "{wide}");
        assert!(wide.ends_with("123 MB/s, 1,234,567,890 rows, about 12 s left"), "{wide}");
        for columns in 20..120 {
            let line = line(columns);
            assert!(line.chars().count() <= columns, "{columns}: {line}");
            assert!(columns < 25 || line.ends_with("about 12 s left"), "{columns}: {line}");
        }
        let narrow = line(79);
        assert!(narrow.starts_with("rows      [===========>          ] 380 MB"), "{narrow}");
        assert!(narrow.ends_with("of 1.09 GB, 123 MB/s, about 12 s left"), "{narrow}");
        assert_eq!(line(30), "rows      about 12 s left");
    }

    #[test]
    fn times_are_told_as_fine_as_they_are_known() {
        for (seconds, text) in [
            (-1.0, "0 s"),
            (0.2, "1 s"),
            (83.0, "83 s"),
            (300.0, "5 min"),
            (7_000.0, "117 min"),
            (10_000.0, "2.8 h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
