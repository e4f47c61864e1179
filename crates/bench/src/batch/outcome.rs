//! Results of the batch benchmark: as tables for people, as JSON and as a picture.

use std::fmt::Write;

use serde::Serialize;

use super::grid::{Grid, Measured};
use super::loads::{BatchWay, Loads};
use crate::figure::grouped;
use crate::head::{Head, write_notes};
use crate::text_table::TextTable;

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct BatchOutcome {
    /// The program, the server and the machine.
    #[serde(flatten)]
    pub head: Head,
    /// Settings of the server that matter here, as SHOW VARIABLES gives them.
    pub server_settings: Vec<(String, String)>,
    /// Circumstances that make the comparison less than fair.
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
        let threads = self.grid.threads.iter().map(usize::to_string);
        let mut table = TextTable::new([String::new()].into_iter().chain(threads));
        for &batch in &self.grid.batches {
            let rate = |threads: &usize| {
                let cell = self.grid.get(batch, *threads);
                cell.map_or("-".to_owned(), |cell| grouped(cell.rows_per_second))
            };
            let name = [grouped(batch as f64)];
            table.line(name.into_iter().chain(self.grid.threads.iter().map(rate)));
        }
        let _ = writeln!(text, "{table}");
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
        let name = format!("{} rows into the empty table", grouped(self.loads.rows as f64));
        let heads = ["rows/s", "/ best", "/ LOAD", "us of CPU", "seconds of each run"];
        let mut table = TextTable::new([name].into_iter().chain(heads.map(str::to_owned)));
        let load_data = self.loads.get(BatchWay::LoadData).map_or(0.0, |load| load.rows_per_second);
        let ratio = |rate: f64, of: f64| format!("{:.2}", if of > 0.0 { rate / of } else { 0.0 });
        for load in &self.loads.ways {
            let rate = load.rows_per_second;
            table.line([
                load.way.name(),
                grouped(rate),
                ratio(rate, best.map_or(0.0, |(_, best)| best.rows_per_second)),
                ratio(rate, load_data),
                load.runs.cpu(1e6 / self.loads.rows as f64, 1),
                load.runs.each(),
            ]);
        }
        let _ = writeln!(text, "{table}");
        self.write_verdicts(text);
        text.push_str(
            "\nINSERT: statements ready in memory, into the table with both its indexes, each committed \
             by itself.\nLOAD DATA: the server reads the file. Inrush: the whole process, which reads the \
             file; told nothing,\nor --batch-rows and --connections. us of CPU: microseconds of processors a row, \
             server + client.\nAll leave the same rows (CHECKSUM TABLE).\n",
        );
    }

    /// The ratios that the benchmark is run for.
    fn write_verdicts(&self, text: &mut String) {
        let Some((cell, best)) = self.loads.best_cell() else { return };
        for load in &self.loads.ways {
            let BatchWay::Inrush(path) = load.way else { continue };
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
    let mut table = TextTable::new([name, "rows/s", "slowest", "fastest"]);
    for cell in cells {
        table.line([
            grouped(of(cell) as f64),
            grouped(cell.rows_per_second),
            grouped(cell.rows_per_second_min),
            grouped(cell.rows_per_second_max),
        ]);
    }
    let _ = writeln!(text, "{table}");
}
