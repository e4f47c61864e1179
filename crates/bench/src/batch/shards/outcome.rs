//! Results of the benchmark of shards: as text for people and as JSON.

use std::fmt::Write;

use serde::Serialize;

use super::ways::Run;
use crate::figure::{grouped, median};
use crate::head::Head;
use crate::text_table::TextTable;

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct ShardsOutcome {
    /// The program, the server and the machine.
    #[serde(flatten)]
    pub head: Head,
    /// Rows of each run, unless time was over.
    pub rows: u64,
    /// Seconds after which INSERTs began no further statement.
    pub seconds_max: f64,
    /// Each way with each number of shards.
    pub ways: Vec<WayOutcome>,
}

/// A way with a number of shards.
#[derive(Clone, Debug, Serialize)]
pub struct WayOutcome {
    /// Its name.
    pub way: String,
    /// Shards.
    pub shards: usize,
    /// Seconds and counts of each run.
    pub runs: Vec<Run>,
}

impl WayOutcome {
    fn median(&self, figure: impl Fn(&Run) -> f64) -> f64 {
        median(&self.runs.iter().map(figure).collect::<Vec<f64>>())
    }

    /// Rows a second: the median of the runs.
    pub fn rate(&self) -> f64 {
        self.median(|run| run.rows as f64 / run.seconds.max(1e-9))
    }

    /// Microseconds of processors a row: of the head, of all shards, of the client.
    pub fn micros(&self) -> [f64; 3] {
        let per_row = |seconds: f64, run: &Run| seconds * 1e6 / run.rows.max(1) as f64;
        [
            self.median(|run| per_row(run.head_cpu_seconds, run)),
            self.median(|run| per_row(run.shards_cpu_seconds.iter().sum(), run)),
            self.median(|run| per_row(run.client_cpu_seconds, run)),
        ]
    }
}

impl ShardsOutcome {
    /// A line for each way with each number of shards.
    pub fn text(&self) -> String {
        let mut text = self.head.text("servers") + "\n";
        let heading =
            format!("{} rows, or those of {} s", grouped(self.rows as f64), self.seconds_max);
        let heads = ["shards", "rows/s", "Spider", "shards", "client", "x first", "each shard, s"];
        let mut table = TextTable::new([heading].into_iter().chain(heads.map(str::to_owned)));
        let mut names: Vec<&str> = Vec::new();
        for way in &self.ways {
            if !names.contains(&way.way.as_str()) {
                names.push(&way.way);
            }
        }
        for name in names {
            let mut first = None;
            for way in self.ways.iter().filter(|way| way.way == name) {
                let micros = way.micros();
                let sum: f64 = micros.iter().sum();
                let first = *first.get_or_insert(sum);
                let [head, shards, client] = micros.map(|micros| format!("{micros:.1}"));
                table.line([
                    name.to_owned(),
                    way.shards.to_string(),
                    grouped(way.rate()),
                    head,
                    shards,
                    client,
                    format!("{:.2}", if first > 0.0 { sum / first } else { 0.0 }),
                    each_shard(way.runs.last()),
                ]);
            }
        }
        let _ = write!(text, "{table}");
        text.push_str(
            "\nSpider, shards, client: processor microseconds per row. x first: the sum of the three, relative \
             to the first number of shards.\nAll servers share the processors of this machine. Rows/s grow with \
             machines if this sum stays the same\nand all shards finish at the same time. each shard: the time at \
             which it had all its rows, in the last run;\nfor Inrush, also how long it waited for rows of the \
             input. INSERT: rows of a statement x clients; to the\nshards: one client each. Rows of every run \
             are counted, and CHECK TABLE on the Spider server proves that\neach row is in its shard.\n",
        );
        text
    }
}

/// When each shard was done: `1.20 (0.31)`.
fn each_shard(run: Option<&Run>) -> String {
    let Some(run) = run else { return String::new() };
    let shard = |(at, finished): (usize, &f64)| match run.waited_seconds.get(at) {
        Some(waited) => format!("{finished:.2} ({waited:.2})"),
        None => format!("{finished:.2}"),
    };
    run.finished_seconds.iter().enumerate().map(shard).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_told_by_the_row_and_beside_the_first() {
        let run = |rows, shards: &[f64]| Run {
            rows,
            seconds: 2.0,
            head_cpu_seconds: 0.5,
            shards_cpu_seconds: shards.to_vec(),
            client_cpu_seconds: 0.25,
            finished_seconds: vec![1.5; shards.len()],
            waited_seconds: Vec::new(),
        };
        let way = |shards, runs| WayOutcome { way: "w".to_owned(), shards, runs };
        let one = way(1, vec![run(100_000, &[1.0])]);
        let two = way(2, vec![run(100_000, &[1.0, 1.75])]);
        assert_eq!(one.micros(), [5.0, 10.0, 2.5]);
        assert_eq!(one.rate(), 50_000.0);
        let outcome = ShardsOutcome {
            head: Head::new("0".to_owned()),
            rows: 100_000,
            seconds_max: 5.0,
            ways: vec![one, two],
        };
        let text = outcome.text();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("w ")).collect();
        let last = |line: &str| line.split_whitespace().skip(6).collect::<Vec<_>>().join(" ");
        assert_eq!((last(lines[0]), last(lines[1])), ("1.00 1.50".into(), "2.00 1.50 1.50".into()));
    }
}
