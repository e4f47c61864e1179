//! The grid: rows a second for every batch size and number of threads, each measured several times.

use serde::Serialize;

use super::clients::Inserted;
use crate::figure::{least, median, rate};

/// A cell is measured again when its first run comes so near the best one's.
const NEAR_BEST: f64 = 0.85;

/// A batch size and a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Cell {
    /// Rows of a statement.
    pub batch: usize,
    /// Connections.
    pub threads: usize,
}

/// The results of one cell's runs.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Which cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Rows a second: the median of the runs.
    pub rows_per_second: f64,
    /// The slowest run's.
    pub rows_per_second_min: f64,
    /// The fastest run's.
    pub rows_per_second_max: f64,
    /// Rows and seconds of each run, in the order of the runs. Fewer rows than were to be inserted:
    /// time was over.
    pub runs: Vec<(u64, f64)>,
    /// Statements sent again after deadlocks or lock wait timeouts, in all runs.
    pub retries: u64,
}

/// The measured cells.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Grid {
    /// Batch sizes, ascending.
    pub batches: Vec<usize>,
    /// Numbers of threads, ascending.
    pub threads: Vec<usize>,
    /// Threads of the sweep over batch sizes.
    pub at_threads: usize,
    /// Batch size of the sweep over threads.
    pub at_batch: usize,
    /// The cells, by batch, then threads. Those where not every thread would get a statement, and
    /// those off the sweeps where only these were asked for, are not there.
    pub cells: Vec<Measured>,
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows x {} threads", self.batch, self.threads)
    }
}

impl Measured {
    fn new(cell: Cell) -> Measured {
        Measured {
            cell,
            rows_per_second: 0.0,
            rows_per_second_min: 0.0,
            rows_per_second_max: 0.0,
            runs: Vec::new(),
            retries: 0,
        }
    }

    fn push(&mut self, run: Inserted) {
        self.runs.push((run.rows, run.seconds));
        self.retries += run.retries;
        let rates: Vec<f64> =
            self.runs.iter().map(|&(rows, seconds)| rate(rows, seconds)).collect();
        self.rows_per_second = median(&rates);
        self.rows_per_second_min = least(&rates);
        self.rows_per_second_max = rates.iter().copied().fold(0.0, f64::max);
    }
}

impl Grid {
    /// An unmeasured grid. With `sweeps_only`, only the two sweeps have cells.
    pub(crate) fn new(
        batches: &[usize],
        threads: &[usize],
        at: Cell,
        rows: usize,
        sweeps_only: bool,
    ) -> Grid {
        let sorted = |list: &[usize], also: usize| {
            let mut list: Vec<usize> = list.iter().copied().chain([also]).collect();
            list.sort_unstable();
            list.dedup();
            list
        };
        let mut grid = Grid {
            batches: sorted(batches, at.batch),
            threads: sorted(threads, at.threads),
            at_threads: at.threads,
            at_batch: at.batch,
            cells: Vec::new(),
        };
        for &batch in &grid.batches {
            for &threads in &grid.threads {
                let cell = Cell { batch, threads };
                let enough = batch * (threads - 1) < rows;
                if enough && (!sweeps_only || grid.on_a_sweep(cell)) {
                    grid.cells.push(Measured::new(cell));
                }
            }
        }
        grid
    }

    fn on_a_sweep(&self, cell: Cell) -> bool {
        cell.batch == self.at_batch || cell.threads == self.at_threads
    }

    /// The cells to measure in a round, counted from 0: all in the first, then the sweeps and the
    /// cells near the best.
    pub(crate) fn due(&self, round: usize) -> Vec<Cell> {
        let best = self.cells.iter().map(|cell| cell.rows_per_second).fold(0.0, f64::max);
        let near = |cell: &Measured| cell.rows_per_second >= best * NEAR_BEST;
        let due =
            self.cells.iter().filter(|cell| round == 0 || self.on_a_sweep(cell.cell) || near(cell));
        due.map(|cell| cell.cell).collect()
    }

    /// Adds a run of a cell.
    pub(crate) fn push(&mut self, cell: Cell, run: Inserted) {
        if let Some(measured) = self.cells.iter_mut().find(|measured| measured.cell == cell) {
            measured.push(run);
        }
    }

    /// A cell's figures, if it was measured.
    pub fn get(&self, batch: usize, threads: usize) -> Option<&Measured> {
        let cell = Cell { batch, threads };
        self.cells.iter().find(|measured| measured.cell == cell && !measured.runs.is_empty())
    }

    /// True if there are cells off the sweeps.
    pub fn is_whole(&self) -> bool {
        self.cells.iter().any(|measured| !self.on_a_sweep(measured.cell))
    }

    /// The batch sizes at the one number of threads.
    pub(crate) fn batch_sweep(&self) -> Vec<&Measured> {
        self.cells.iter().filter(|measured| measured.cell.threads == self.at_threads).collect()
    }

    /// The numbers of threads at the one batch size.
    pub(crate) fn thread_sweep(&self) -> Vec<&Measured> {
        self.cells.iter().filter(|measured| measured.cell.batch == self.at_batch).collect()
    }

    /// The fastest cells, the fastest first.
    pub fn best(&self, count: usize) -> Vec<&Measured> {
        let mut cells: Vec<&Measured> = self.cells.iter().collect();
        cells.sort_by(|a, b| b.rows_per_second.total_cmp(&a.rows_per_second));
        cells.truncate(count);
        cells
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const AT: Cell = Cell { batch: 10, threads: 2 };

    fn run(rows_per_second: f64) -> Inserted {
        Inserted { rows: 1000, seconds: 1000.0 / rows_per_second, retries: 1 }
    }

    #[test]
    fn a_cell_needs_a_statement_for_every_thread() {
        let grid = Grid::new(&[100, 1], &[1, 4], AT, 300, false);
        assert_eq!((&grid.batches[..], &grid.threads[..]), (&[1, 10, 100][..], &[1, 2, 4][..]));
        let cells: Vec<Cell> = grid.due(0);
        assert_eq!(cells.len(), 8, "100 rows for each of 4 threads are more than 300: {cells:?}");
        assert!(!cells.contains(&Cell { batch: 100, threads: 4 }));
    }

    #[test]
    fn sweeps_are_a_row_and_a_column() {
        let grid = Grid::new(&[1, 10, 100], &[1, 2, 4], AT, 1000, true);
        assert_eq!(grid.due(0).len(), 5);
    }

    #[test]
    fn later_rounds_measure_the_sweeps_and_what_is_near_the_best() {
        let mut grid = Grid::new(&[1, 10, 100], &[1, 2, 4], AT, 1000, false);
        for cell in grid.due(0) {
            grid.push(cell, run(if cell.batch == 100 && cell.threads > 2 { 900.0 } else { 100.0 }));
        }
        assert_eq!(grid.due(1).len(), 6);
        let cell = Cell { batch: 100, threads: 4 };
        grid.push(cell, run(500.0));
        grid.push(cell, run(800.0));
        let best = grid.best(1)[0];
        assert_eq!((best.cell, best.rows_per_second.round()), (cell, 800.0));
        assert_eq!((best.rows_per_second_min.round(), best.retries), (500.0, 3));
    }
}
