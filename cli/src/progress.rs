//! How far the load is: a bar on a terminal, a line now and then elsewhere.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use load::{Progress, Snapshot, Stage};

use crate::size;

/// Time between two lines when no terminal is there.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// A bar with rate and time left.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// What is shown: a stage, and whether its size is known, which it is not at its beginning.
    shown: Mutex<Option<(Stage, bool)>>,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        let bar = ProgressBar::new(0);
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar { bar, shown: Mutex::new(None) }
    }

    fn begin(&self, snapshot: &Snapshot) {
        let template = if snapshot.total_bytes.is_some() {
            "{msg:9} [{bar:32}] {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left{prefix}"
        } else {
            "{msg:9} {spinner} {elapsed}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.reset();
        self.bar.set_length(snapshot.total_bytes.unwrap_or(0));
        self.bar.set_message(snapshot.stage.name());
        self.bar.set_prefix("");
    }
}

impl Progress for Bar {
    fn update(&self, snapshot: Snapshot) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Some((snapshot.stage, snapshot.total_bytes.is_some()));
        if *shown != now {
            *shown = now;
            self.begin(&snapshot);
        }
        self.bar.set_position(snapshot.done_bytes);
        if snapshot.rows > 0 && snapshot.total_bytes.is_some() {
            self.bar.set_prefix(format!(", {} rows", size::group(snapshot.rows)));
        }
    }

    fn waiting(&self, text: &str) {
        self.bar.println(text);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A line every few seconds and at each new stage, for logs.
pub(crate) struct Lines {
    state: Mutex<LinesState>,
}

struct LinesState {
    started: Instant,
    stage: Option<(Stage, Instant)>,
    printed: Instant,
    /// When a wait was last told of.
    waited: Option<Instant>,
}

impl Lines {
    pub(crate) fn new() -> Lines {
        let now = Instant::now();
        Lines {
            state: Mutex::new(LinesState { started: now, stage: None, printed: now, waited: None }),
        }
    }
}

impl Progress for Lines {
    fn update(&self, snapshot: Snapshot) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let begun = match state.stage {
            Some((stage, begun)) if stage == snapshot.stage => begun,
            _ => {
                state.stage = Some((snapshot.stage, now));
                now
            }
        };
        let first = begun == now;
        if !first && now - state.printed < LINE_INTERVAL {
            return;
        }
        state.printed = now;
        let clock = (now - state.started).as_secs();
        tell!("{clock:>5} s  {}", line(&snapshot, (now - begun).as_secs_f64()));
    }

    fn waiting(&self, text: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if state.waited.is_none_or(|told| now - told >= LINE_INTERVAL) {
            state.waited = Some(now);
            tell!("{:>5} s  {text}", (now - state.started).as_secs());
        }
    }
}

fn line(snapshot: &Snapshot, seconds: f64) -> String {
    let name = snapshot.stage.name();
    let Some(total) = snapshot.total_bytes.filter(|_| snapshot.done_bytes > 0 && seconds > 0.0)
    else {
        return name.to_owned();
    };
    let rate = snapshot.done_bytes as f64 / seconds;
    let left = (total.saturating_sub(snapshot.done_bytes) as f64 / rate).ceil();
    format!(
        "{name}: {} of {}, {}/s, {} rows, about {left} s left",
        size::show(snapshot.done_bytes),
        size::show(total),
        size::show(rate as u64),
        size::group(snapshot.rows),
    )
}
