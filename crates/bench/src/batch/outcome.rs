//! What a run of the batch benchmark found: as tables for people, as JSON and as a picture.

use std::fmt::Write;

use serde::Serialize;

use super::grid::{Grid, Measured, grouped};
use super::loads::{Load, Loads, Way};
use crate::head::{Head, write_notes};

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct BatchOutcome {
    /// What was measured, and where.
    #[serde(flatten)]
    pub head: Head,
    /// Settings of the server that matter here, as SHOW VARIABLES gives them.
    pub server_settings: Vec<(String, String)>,
    /// What would make the comparison less than fair.
    pub notes: Vec<String>,
    /// Rows that each cell inserted, unless time was over.
    pub rows: u64,
    /// Seconds after which a cell began no further statement.
    pub seconds_max: f64,
    /// The cells.
    pub grid: Grid,
    /// The loads at the end.
    pub loads: Loads,
}

impl BatchOutcome {
    /// The grid, both sweeps and the loads, as text.
    pub fn text(&self) -> String {
        let mut text = self.head.text("server") + "\n";
        if self.grid.is_whole() {
            self.write_grid(&mut text);
        }
        self.write_sweeps(&mut text);
        self.write_loads(&mut text);
        write_notes(&mut text, &self.notes);
        text
    }

    fn write_grid(&self, text: &mut String) {
        let rows = grouped(self.rows as f64);
        let _ = writeln!(
            text,
            "rows/s, {rows} rows a cell, or those of {} s: rows of an INSERT down, threads across",
            self.seconds_max
        );
        let _ = write!(text, "{:>8}", "");
        for threads in &self.grid.threads {
            let _ = write!(text, "{threads:>9}");
        }
        text.push('\n');
        for &batch in &self.grid.batches {
            let _ = write!(text, "{:>8}", grouped(batch as f64));
            for &threads in &self.grid.threads {
                let cell = self.grid.get(batch, threads);
                let rate = cell.map_or("-".to_owned(), |cell| grouped(cell.rows_per_second));
                let _ = write!(text, "{rate:>9}");
            }
            text.push('\n');
        }
        text.push('\n');
    }

    fn write_sweeps(&self, text: &mut String) {
        let grid = &self.grid;
        let _ = writeln!(text, "batch sizes, {} threads", grid.at_threads);
        write_sweep(text, "rows", &grid.batch_sweep(), |cell| cell.cell.batch);
        let _ = writeln!(text, "threads, {} rows an INSERT", grouped(grid.at_batch as f64));
        write_sweep(text, "threads", &grid.thread_sweep(), |cell| cell.cell.threads);
        let retries: u64 = grid.cells.iter().map(|cell| cell.retries).sum();
        if retries > 0 {
            let _ = writeln!(
                text,
                "{retries} statements were sent again after deadlocks or lock waits\n"
            );
        }
    }

    fn write_loads(&self, text: &mut String) {
        let best = self.loads.best_cell();
        let _ = writeln!(
            text,
            "{:<42} {:>10} {:>7} {:>7} {:>11}   seconds of each run",
            format!("{} rows into the empty table", grouped(self.loads.rows as f64)),
            "rows/s",
            "/ best",
            "/ LOAD",
            "us of CPU"
        );
        let load_data = self.loads.get(Way::LoadData).map_or(0.0, |load| load.rows_per_second);
        let ratio = |rate: f64, of: f64| if of > 0.0 { rate / of } else { 0.0 };
        for load in &self.loads.ways {
            let rate = load.rows_per_second;
            let _ = write!(
                text,
                "{:<42} {:>10} {:>7.2} {:>7.2} {:>11}  ",
                load.way.name(),
                grouped(rate),
                ratio(rate, best.map_or(0.0, |(_, best)| best.rows_per_second)),
                ratio(rate, load_data),
                self.cpu(load),
            );
            for run in &load.runs {
                let _ = write!(text, " {:.2}", run.seconds);
            }
            text.push('\n');
        }
        text.push('\n');
        self.write_verdicts(text);
        text.push_str(
            "\nINSERT: statements ready in memory, into the table with both its indexes, each committed \
             by itself.\nLOAD DATA: the server reads the file. Inrush: the whole process, which reads the \
             file; told nothing,\nor --batch-rows and --connections. us of CPU: microseconds of processors a row, \
             server + client.\nAll leave the same rows (CHECKSUM TABLE).\n",
        );
    }

    /// Microseconds of processors a row: the server's and the client's.
    fn cpu(&self, load: &Load) -> String {
        let micros = |seconds: f64| seconds * 1e6 / self.loads.rows as f64;
        let server = micros(load.median(|run| run.server_cpu_seconds));
        let client = micros(load.median(|run| run.client_cpu_seconds));
        format!("{server:.1} + {client:.1}")
    }

    /// The ratios that the benchmark is run for.
    fn write_verdicts(&self, text: &mut String) {
        let Some((cell, best)) = self.loads.best_cell() else { return };
        for load in &self.loads.ways {
            let Way::Inrush(path) = load.way else { continue };
            let _ = write!(
                text,
                "{} is {:.2} of the best cell ({cell})",
                load.way.name(),
                load.rows_per_second / best.rows_per_second,
            );
            if let Some(told) = self.loads.best_told(path) {
                let ratio = load.rows_per_second / told.rows_per_second;
                let _ = write!(text, ", {ratio:.2} of {}", told.way.name());
            }
            let settled = load.settled();
            if !settled.is_empty() {
                let _ = write!(text, "; settled on {} (connections x rows)", settled.join(", "));
            }
            text.push('\n');
        }
    }
}

fn write_sweep(
    text: &mut String,
    name: &str,
    cells: &[&Measured],
    of: impl Fn(&Measured) -> usize,
) {
    let _ = writeln!(text, "{name:>8} {:>10} {:>10} {:>10}", "rows/s", "slowest", "fastest");
    for cell in cells {
        let _ = writeln!(
            text,
            "{:>8} {:>10} {:>10} {:>10}",
            grouped(of(cell) as f64),
            grouped(cell.rows_per_second),
            grouped(cell.rows_per_second_min),
            grouped(cell.rows_per_second_max)
        );
    }
    text.push('\n');
}
