//! Results of the Insert Benchmark: as tables for people, and as JSON.

use std::fmt::Write;

use serde::Serialize;

use super::growth::{self, Merged};
use super::schema::Version;
use super::way::{Buffering, InrushLoad, InsertWay, Run, Step};
use crate::choice::choices;
use crate::figure::{grouped, median, rate, short, times};
use crate::head::{Head, write_notes};
use crate::text_table::TextTable;

choices! {
    /// A buffer pool of the server.
    pub enum Pool {
        /// Larger than the table.
        Cached = "cached";
        /// An eighth of it, or what was asked for.
        Small = "small";
    }
}

/// One benchmark with one buffer pool.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// Which benchmark.
    pub version: Version,
    /// Which pool.
    pub pool: Pool,
    /// Its bytes.
    pub pool_bytes: u64,
    /// Rows of the table that l.i1 begins with.
    pub rows: u64,
    /// Its bytes.
    pub table_bytes: u64,
    /// All steps by all ways.
    pub runs: Vec<Run>,
}

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct InsertOutcome {
    /// The program, the server and the machine.
    #[serde(flatten)]
    pub head: Head,
    /// Settings of the server that matter here, but for the pool, which is that of the case.
    pub server_settings: Vec<(String, String)>,
    /// Circumstances that make the comparison less than fair.
    pub notes: Vec<String>,
    /// Rows of the first step.
    pub rows: u64,
    /// Rows of the step behind it.
    pub more_rows: u64,
    /// A way began nothing more after so many seconds.
    pub seconds_max: f64,
    /// The cases.
    pub cases: Vec<Case>,
}

impl Case {
    /// The runs of a step.
    pub fn step(&self, step: Step) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.step == step)
    }

    /// LOAD DATA without the change buffer, which the others are compared with.
    pub fn load_data(&self, step: Step) -> Option<&Run> {
        self.step(step)
            .find(|run| run.way == InsertWay::LoadData && run.buffering == Buffering::None)
    }

    fn write(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\n{}, {}: buffer pool {:.1} MB, table {:.1} MB, {} rows",
            self.version,
            self.pool.name(),
            self.pool_bytes as f64 / 1e6,
            self.table_bytes as f64 / 1e6,
            grouped(self.rows as f64)
        );
        for step in [Step::First, Step::More] {
            if self.step(step).next().is_some() {
                self.write_step(text, step);
            }
        }
    }

    fn write_step(&self, text: &mut String, step: Step) {
        let is_first = step == Step::First;
        let (name, special) = if is_first { ("l.i0", "l.x") } else { ("l.i1", "put off") };
        let mut table = TextTable::new([
            name,
            "rows/s",
            "seconds",
            special,
            "/ LOAD",
            "first..middle..last",
            "pages r+w/row",
            "disk bytes r+w/row",
            "CPU us",
        ]);
        let load_data = self.load_data(step);
        for run in self.step(step) {
            let special = match (is_first, run.index_seconds, run.change_buffer_pages) {
                (true, Some(seconds), _) => format!("{seconds:.2}"),
                (false, _, Some(pages)) => format!("{pages} p."),
                _ => "-".to_owned(),
            };
            let late = (!run.is_whole).then(|| "time was over".to_owned());
            let figures = [
                run.name(),
                grouped(run.rows_per_second()),
                format!("{:.2}", run.took.seconds),
                special,
                load_data
                    .map_or("-".to_owned(), |other| times(rate_in_all(run), rate_in_all(other))),
                course(run),
                per_row(run, run.io.pages_read, run.io.pages_written, 2),
                per_row(run, run.io.read_bytes(), run.io.write_bytes(), 0),
                cpu(run),
            ];
            table.line(figures.into_iter().chain(late));
        }
        let _ = write!(text, "{table}");
        for run in self.step(step) {
            write_expected(text, run);
        }
    }
}

/// Writes the estimates of loads, beside their times: the planner's accuracy.
fn write_expected(text: &mut String, run: &Run) {
    let of = |load: &InrushLoad| Some((load.expected_seconds?, load.seconds));
    let known: Vec<(f64, f64)> = run.loads.iter().filter_map(of).collect();
    if known.is_empty() {
        return;
    }
    let part =
        |(expected, took): &(f64, f64)| (expected / took.max(f64::MIN_POSITIVE) - 1.0) * 100.0;
    let mut errors: Vec<f64> = known.iter().map(part).collect();
    errors.sort_by(f64::total_cmp);
    let (expected, took) = known.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    let _ = writeln!(
        text,
        "{}: {} load(s) expected to take {expected:.2} s took {took:.2} s; error of one {:+.0} % to {:+.0} %, median {:+.0} %",
        run.name(),
        known.len(),
        errors[0],
        errors[errors.len() - 1],
        median(&errors)
    );
}

/// Rows a second, indexes included.
fn rate_in_all(run: &Run) -> f64 {
    rate(run.rows, run.took.seconds + run.index_seconds.unwrap_or(0.0))
}

/// Rows a second of the first interval, of the median one and of the last.
fn course(run: &Run) -> String {
    let rates: Vec<f64> = run.points.iter().map(|point| point.rows_per_second).collect();
    let (Some(first), Some(last)) = (rates.first(), rates.last()) else { return "-".to_owned() };
    [*first, median(&rates), *last].map(short).join("..")
}

fn per_row(run: &Run, read: u64, written: u64, decimals: usize) -> String {
    let rows = run.rows.max(1) as f64;
    format!("{:.decimals$}+{:.decimals$}", read as f64 / rows, written as f64 / rows)
}

fn cpu(run: &Run) -> String {
    let micros = |seconds: f64| seconds * 1e6 / run.rows.max(1) as f64;
    let (server, client) = (run.took.server_cpu_seconds, run.took.client_cpu_seconds);
    format!("{:.1}+{:.1}", micros(server), micros(client))
}

impl InsertOutcome {
    /// The comparison as text.
    pub fn text(&self) -> String {
        let mut text = self.head.text("server");
        let is_pool = |name: &str| name == "innodb_buffer_pool_size";
        let settings = self.server_settings.iter().filter(|(name, _)| !is_pool(name));
        let settings: Vec<String> =
            settings.map(|(name, value)| format!("{name}={value}")).collect();
        let _ = writeln!(text, "{}", settings.join(" "));
        let _ = writeln!(
            text,
            "l.i0: {} rows into the empty table; l.i1: {} rows more. One client.",
            grouped(self.rows as f64),
            grouped(self.more_rows as f64)
        );
        for case in &self.cases {
            case.write(&mut text);
        }
        let merged = self.cases.iter().flat_map(|case| {
            let name = format!("{}, {}", case.version, case.pool.name());
            case.runs.iter().filter_map(move |run| Merged::of(&name, case.rows, run))
        });
        for line in growth::lines(&merged.collect::<Vec<_>>()) {
            let _ = writeln!(text, "{line}");
        }
        text += "\nl.x: seconds of making the indexes behind the rows; - where they were there from the \
                 start. put off:\npages of the change buffer that are left to be merged. / LOAD: as fast as \
                 LOAD DATA without the change\nbuffer, l.x included. first..middle..last: rows/s of \
                 intervals. Pages: the server's counters, until all\nwas written back; disk bytes: the \
                 kernel's, of server and client. CPU: microseconds a row, server + client.\nEach way began \
                 with the same files, an empty buffer pool and nothing in the page cache; all have left the \
                 same\nrows by every index, but for those whose time was over, which were counted.\n";
        write_notes(&mut text, &self.notes);
        text
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::clock::Took;
    use crate::insert::meter::Counters;
    use crate::insert::way::Point;

    fn run(way: InsertWay, seconds: f64) -> Run {
        let point = |rows, seconds, rows_per_second| Point { rows, seconds, rows_per_second };
        let path = "stream".to_owned();
        let load = InrushLoad { path, seconds: 2.0, expected_seconds: Some(1.5) };
        Run {
            step: Step::More,
            way,
            buffering: Buffering::None,
            batch_rows: 50,
            rows_before: 1_000,
            rows: 1_000,
            is_whole: way != InsertWay::Insert,
            took: Took { seconds, server_cpu_seconds: 0.5, client_cpu_seconds: 0.1 },
            index_seconds: None,
            settle_seconds: 0.1,
            change_buffer_pages: Some(7),
            io: Counters {
                pages_read: 2_500,
                pages_written: 500,
                server_read_bytes: 16_000,
                client_write_bytes: 4_000,
                ..Counters::default()
            },
            points: vec![point(1_200, 0.1, 2_000.0), point(2_000, seconds, 40.0)],
            loads: vec![load.clone(), load],
        }
    }

    #[test]
    fn figures_are_of_a_row_and_ratios_those_of_load_data() {
        let runs = vec![
            run(InsertWay::Insert, 8.0),
            run(InsertWay::LoadData, 4.0),
            run(InsertWay::Inrush(10), 1.0),
        ];
        let outcome = InsertOutcome {
            head: Head::new("10.11".to_owned()),
            server_settings: vec![("innodb_doublewrite".to_owned(), "ON".to_owned())],
            notes: vec!["busy".to_owned()],
            rows: 1_000,
            more_rows: 1_000,
            seconds_max: 10.0,
            cases: vec![Case {
                version: Version::Mc,
                pool: Pool::Small,
                pool_bytes: 8_000_000,
                rows: 1_000,
                table_bytes: 64_000_000,
                runs,
            }],
        };
        let text = outcome.text();
        let line =
            |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        let words = |name: &str| -> Vec<String> {
            line(name)[name.len()..].split_whitespace().map(str::to_owned).collect()
        };
        let figures = ["1,000", "1.00", "7", "p.", "4.00x", "2.0k..1.0k..40", "2.50+0.50", "16+4"];
        assert_eq!(words("Inrush, 10 % (stream)")[..8], figures);
        assert_eq!(words("Inrush, 10 % (stream)")[8], "500.0+100.0");
        let expected = "Inrush, 10 % (stream): 2 load(s) expected to take 3.00 s took 4.00 s; error of one \
                        -25 % to -25 %, median -25 %";
        assert!(text.contains(expected), "{text}");
        assert!(line("INSERT, 50 rows").ends_with("time was over"), "{text}");
        assert!(text.contains("iibench-mc, small: buffer pool 8.0 MB, table 64.0 MB"), "{text}");
        assert!(text.contains("innodb_doublewrite=ON") && text.contains("note: busy"), "{text}");
        let json = serde_json::to_value(&outcome).unwrap();
        assert_eq!(json["cases"][0]["version"], "iibench-mc");
        assert_eq!(json["cases"][0]["runs"][2]["way"]["inrush"], 10);
    }
}
