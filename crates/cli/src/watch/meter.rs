//! Numbers of a running command, as the last messages of its stages have them.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime};

use load::Snapshot;
use locks::{Condvar, Mutex};
use serde::Serialize;

use super::is_done;

/// Version of the lines of JSON: a change that readers could notice raises it.
const VERSION: u32 = 1;
/// Lines over which a rate is measured.
const RATE_LINES: usize = 5;

/// The result of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    /// Rows that were loaded, written or compared.
    pub(crate) rows: u64,
    /// Bytes of input or output; None keeps those of the last message.
    pub(crate) bytes: Option<u64>,
    /// Rows that were rejected, or are wrong.
    pub(crate) rejected: u64,
}

/// The numbers, which any thread may read and write.
#[derive(Debug)]
pub(super) struct Meter {
    command: &'static str,
    /// The table or database of the command.
    name: String,
    started: Instant,
    started_at: SystemTime,
    state: Mutex<State>,
    stopped: Condvar,
}

#[derive(Debug, Default)]
struct State {
    phase: &'static str,
    table: String,
    rows: u64,
    done_bytes: u64,
    total_bytes: Option<u64>,
    /// Seconds that were left at a time.
    left: Option<(f64, Instant)>,
    tables_done: u64,
    tables: Option<u64>,
    rejected: Option<u64>,
    status: Option<u8>,
    /// Seconds until the end.
    seconds: Option<f64>,
    is_stopped: bool,
    /// Earlier readings of the phase: time, rows, bytes.
    earlier: VecDeque<(Instant, u64, u64)>,
}

/// The numbers at one moment. Names and order are those of a line of JSON.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Reading {
    /// Version of the fields.
    inrush_progress: u32,
    pub(super) command: &'static str,
    pub(super) table: String,
    pub(super) phase: &'static str,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) total_bytes: Option<u64>,
    pub(super) percent: Option<f64>,
    pub(super) rows_per_second: u64,
    pub(super) bytes_per_second: u64,
    pub(super) seconds: f64,
    pub(super) seconds_left: Option<f64>,
    pub(super) tables_done: u64,
    pub(super) tables: Option<u64>,
    pub(super) rejected: Option<u64>,
    pub(super) status: Option<u8>,
    /// The table or database of the command.
    #[serde(skip)]
    pub(super) name: String,
    #[serde(skip)]
    pub(super) started_at: SystemTime,
}

impl Reading {
    /// One line, without its end.
    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Meter {
    pub(super) fn new(command: &'static str, table: &str) -> Meter {
        Meter {
            command,
            name: table.to_owned(),
            started: Instant::now(),
            started_at: SystemTime::now(),
            state: Mutex::new(State {
                phase: "start",
                table: table.to_owned(),
                ..State::default()
            }),
            stopped: Condvar::new(),
        }
    }

    /// Takes a message of a stage.
    pub(super) fn update(&self, snapshot: &Snapshot) {
        let mut state = self.state.lock();
        state.enter(snapshot.stage.name());
        state.rows = snapshot.rows.max(state.rows);
        (state.done_bytes, state.total_bytes) = (snapshot.done_bytes, snapshot.total_bytes);
        state.left = snapshot.seconds_left.map(|left| (left, Instant::now()));
    }

    /// Takes a message of a replay.
    pub(super) fn replayed(&self, snapshot: &replay::progress::Snapshot) {
        let mut state = self.state.lock();
        state.enter("replay");
        snapshot.doing.clone_into(&mut state.table);
        (state.rows, state.tables_done) = (snapshot.rows, snapshot.tables);
        (state.done_bytes, state.total_bytes) = (snapshot.read_bytes, snapshot.total_bytes);
        state.left = snapshot.seconds_left.map(|left| (left as f64, Instant::now()));
    }

    /// The work on a table begins, the `number`th of `of`.
    pub(super) fn table(&self, name: &str, number: usize, of: usize) {
        let mut state = self.state.lock();
        name.clone_into(&mut state.table);
        (state.rows, state.tables_done) = (0, number.saturating_sub(1) as u64);
        (state.done_bytes, state.total_bytes, state.left) = (0, None, None);
        state.tables = Some(of as u64);
        state.earlier.clear();
    }

    /// Notes the result.
    pub(super) fn total(&self, totals: Totals) {
        let mut state = self.state.lock();
        state.rows = totals.rows;
        state.done_bytes = totals.bytes.unwrap_or(state.done_bytes);
        state.total_bytes = Some(state.done_bytes);
        state.rejected = Some(totals.rejected);
    }

    /// The command has ended with this exit status.
    pub(super) fn end(&self, status: u8) {
        let mut state = self.state.lock();
        state.status = Some(status);
        state.seconds = Some(self.started.elapsed().as_secs_f64());
        state.left = None;
        state.earlier.clear();
        state.phase = if is_done(status) { "done" } else { "failed" };
        if is_done(status) {
            self.name.clone_into(&mut state.table);
            state.tables_done = state.tables.unwrap_or(state.tables_done);
        }
    }

    /// Waits for so long; false once the meter is stopped.
    pub(super) fn wait(&self, interval: Duration) -> bool {
        let is_running = |state: &mut State| !state.is_stopped;
        !self.stopped.wait_timeout_while(self.state.lock(), interval, is_running).is_stopped
    }

    pub(super) fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.stopped.notify_all();
    }

    /// The work in a few words: `load shop.orders, rows 42 %`.
    pub(super) fn words(&self) -> String {
        let state = self.state.lock();
        let percent = state.percent().map(|percent| format!(" {} %", percent as u64));
        let percent = percent.unwrap_or_default();
        // A replay goes on to other statements while rows are sent.
        let table = if self.command == "replay" { &self.name } else { &state.table };
        format!("{} {table}, {}{percent}", self.command, state.phase)
    }

    /// The numbers now.
    pub(super) fn reading(&self) -> Reading {
        let now = Instant::now();
        let mut state = self.state.lock();
        let (rows_per_second, bytes_per_second) = state.rates(now, self.started);
        let percent = state.percent();
        Reading {
            inrush_progress: VERSION,
            command: self.command,
            table: state.table.clone(),
            phase: state.phase,
            rows: state.rows,
            bytes: state.done_bytes,
            total_bytes: state.total_bytes,
            percent,
            rows_per_second,
            bytes_per_second,
            seconds: rounded(state.seconds.unwrap_or((now - self.started).as_secs_f64())),
            seconds_left: state
                .left
                .map(|(left, at)| rounded((left - (now - at).as_secs_f64()).max(0.0))),
            tables_done: state.tables_done,
            tables: state.tables,
            rejected: state.rejected,
            status: state.status,
            name: self.name.clone(),
            started_at: self.started_at,
        }
    }
}

impl State {
    /// Begins a phase, unless it is the current one.
    fn enter(&mut self, phase: &'static str) {
        if self.phase != phase {
            self.phase = phase;
            self.earlier.clear();
        }
    }

    /// Rows and bytes a second: of the last lines of a phase, at the end those of the whole command.
    fn rates(&mut self, now: Instant, started: Instant) -> (u64, u64) {
        let rate = |number: u64, since: Instant| {
            (number as f64 / (now - since).as_secs_f64().max(1e-3)) as u64
        };
        if self.status.is_some() {
            return (rate(self.rows, started), rate(self.done_bytes, started));
        }
        let rates = self.earlier.front().map_or((0, 0), |&(at, rows, bytes)| {
            let rows = rate(self.rows.saturating_sub(rows), at);
            (rows, rate(self.done_bytes.saturating_sub(bytes), at))
        });
        self.earlier.push_back((now, self.rows, self.done_bytes));
        if self.earlier.len() > RATE_LINES {
            self.earlier.pop_front();
        }
        rates
    }

    /// The finished part of the phase.
    fn percent(&self) -> Option<f64> {
        if self.status.is_some_and(is_done) {
            return Some(100.0);
        }
        let total = self.total_bytes.filter(|&total| total > 0)?;
        Some(rounded((100.0 * self.done_bytes as f64 / total as f64).min(100.0)))
    }
}

/// One digit behind the point.
fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use load::Stage;
    use serde_json::{Value, json};

    use super::*;

    fn fields(meter: &Meter) -> Value {
        serde_json::from_str(&meter.reading().json()).unwrap()
    }

    /// The order and the names of the fields are a contract.
    #[test]
    fn a_line_has_these_fields() {
        let meter = Meter::new("load", "shop.orders");
        let mut reading = meter.reading();
        reading.seconds = 0.0;
        assert_eq!(
            reading.json(),
            "{\"inrush_progress\":1,\"command\":\"load\",\"table\":\"shop.orders\",\
             \"phase\":\"start\",\"rows\":0,\"bytes\":0,\"total_bytes\":null,\"percent\":null,\
             \"rows_per_second\":0,\"bytes_per_second\":0,\"seconds\":0.0,\"seconds_left\":null,\
             \"tables_done\":0,\"tables\":null,\"rejected\":null,\"status\":null}"
        );
    }

    #[test]
    fn a_line_has_the_last_message_and_the_end_has_the_result() {
        let meter = Meter::new("load", "shop");
        meter.table("shop.orders", 2, 3);
        let mut snapshot = Snapshot {
            stage: Stage::Rows,
            rows: 10,
            done_bytes: 250,
            total_bytes: Some(1_000),
            seconds_left: Some(9.0),
        };
        meter.update(&snapshot);
        let first = fields(&meter);
        assert_eq!((&first["phase"], &first["percent"]), (&json!("rows"), &json!(25.0)));
        assert_eq!((&first["tables_done"], &first["tables"]), (&json!(1), &json!(3)));
        assert_eq!(first["seconds_left"], json!(9.0));
        assert_eq!(meter.words(), "load shop.orders, rows 25 %");
        std::thread::sleep(Duration::from_millis(5));
        (snapshot.rows, snapshot.done_bytes) = (30, 500);
        meter.update(&snapshot);
        let next = fields(&meter);
        assert!(next["rows_per_second"].as_u64() > Some(0), "{next}");
        assert!(next["bytes_per_second"].as_u64() > Some(0), "{next}");
        snapshot.stage = Stage::Import;
        meter.update(&snapshot);
        assert_eq!(fields(&meter)["bytes_per_second"], 0);
        meter.total(Totals { rows: 40, bytes: Some(1_000), rejected: 2 });
        meter.end(3);
        let last = fields(&meter);
        let Value::Object(last) = last else { panic!("{last}") };
        for (name, value) in [
            ("phase", json!("done")),
            ("rows", json!(40)),
            ("bytes", json!(1_000)),
            ("percent", json!(100.0)),
            ("rejected", json!(2)),
            ("status", json!(3)),
            ("tables_done", json!(3)),
            ("seconds_left", Value::Null),
        ] {
            assert_eq!(last[name], value, "{name}");
        }
    }

    #[test]
    fn a_command_that_fails_says_so() {
        for (status, phase) in
            [(0, "done"), (1, "failed"), (2, "failed"), (4, "done"), (141, "failed")]
        {
            let meter = Meter::new("export", "a.b");
            meter.end(status);
            assert_eq!(fields(&meter)["phase"], phase, "{status}");
        }
    }
}
