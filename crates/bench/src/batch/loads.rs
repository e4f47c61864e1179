//! The loads that are compared at the end: all rows of the file, by each way, several times.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use server::identifier::quote_text;

use super::Bench;
use super::grid::Cell;
use crate::clock::{Clock, Took};
use crate::error::Error;
use crate::figure::rate;
use crate::floor;
use crate::host::DATABASE;
use crate::runs::Runs;

/// No load of the benchmark takes longer: a month.
const LOAD_TIME_MAX: Duration = Duration::from_secs(30 * 86_400);

/// A way of loading the rows into the empty table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchWay {
    /// INSERTs from memory, as a cell of the grid does.
    Cell(Cell),
    /// LOAD DATA INFILE: the server reads the file.
    LoadData,
    /// `inrush load`, from the start of the process to its end.
    Inrush(InrushPath),
    /// `inrush load` with `--batch-rows` and `--connections` of a cell.
    Fixed(InrushPath, Cell),
}

/// How Inrush gets the rows to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InrushPath {
    /// LOAD DATA LOCAL.
    Stream,
    /// Multi-row INSERTs.
    Insert,
}

/// The times of one method.
#[derive(Clone, Debug, Serialize)]
pub struct Load {
    /// Which.
    pub way: BatchWay,
    /// Rows a second: the median of the runs.
    pub rows_per_second: f64,
    /// The runs.
    #[serde(flatten)]
    pub runs: Runs,
}

/// All ways.
#[derive(Clone, Debug, Serialize)]
pub struct Loads {
    /// Rows of each load.
    pub rows: u64,
    /// CHECKSUM TABLE, the same for all.
    pub checksum: String,
    /// The ways, in the order they are printed.
    pub ways: Vec<Load>,
}

/// One load of one way.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) took: Took,
    pub(crate) checksum: String,
    /// None for ways other than Inrush.
    pub(crate) report: Option<serde_json::Value>,
}

impl InrushPath {
    /// As `--path` has it.
    pub fn name(self) -> &'static str {
        match self {
            InrushPath::Stream => "stream",
            InrushPath::Insert => "insert",
        }
    }
}

impl BatchWay {
    /// Name for people.
    pub fn name(self) -> String {
        match self {
            BatchWay::Cell(cell) => format!("INSERT, {cell}"),
            BatchWay::LoadData => "LOAD DATA".to_owned(),
            BatchWay::Inrush(path) => format!("Inrush {}", path.name()),
            BatchWay::Fixed(path, cell) => format!("Inrush {}, told {cell}", path.name()),
        }
    }
}

impl Load {
    /// The settings at which each run of Inrush arrived, as `4 x 1000`: connections by rows of a
    /// statement, which the path stream does not cut.
    pub fn settled(&self) -> Vec<String> {
        let settled = self.runs.reports.iter().filter_map(|report| {
            let connections = report["logical"]["connections"].as_u64()?;
            Some(match report["logical"]["batch_rows"].as_u64() {
                Some(rows) => format!("{connections} x {rows}"),
                None => connections.to_string(),
            })
        });
        settled.collect()
    }
}

impl Loads {
    pub(crate) fn new(ways: &[BatchWay], rows: u64) -> Loads {
        let load = |&way| Load { way, rows_per_second: 0.0, runs: Runs::default() };
        Loads { rows, checksum: String::new(), ways: ways.iter().map(load).collect() }
    }

    /// Adds a run. Errors: it left other rows than the first one.
    pub(crate) fn push(&mut self, way: BatchWay, run: Loaded) -> Result<(), Error> {
        if self.checksum.is_empty() {
            self.checksum.clone_from(&run.checksum);
        }
        if self.checksum != run.checksum {
            return Err(Error::Different {
                table: "sbtest1".to_owned(),
                method: way.name(),
                seen: format!("rows of checksum {}", run.checksum),
                reference: "the way before".to_owned(),
                expected: self.checksum.clone(),
            });
        }
        if let Some(load) = self.ways.iter_mut().find(|load| load.way == way) {
            load.runs.push(run.took, run.report);
            load.rows_per_second = rate(self.rows, load.runs.seconds());
        }
        Ok(())
    }

    /// The times of one method, if it ran.
    pub fn get(&self, way: BatchWay) -> Option<&Load> {
        self.ways.iter().find(|load| load.way == way)
    }

    /// The fastest load of Inrush that was told batch and connections.
    pub(crate) fn best_told(&self, path: InrushPath) -> Option<&Load> {
        let told = self.ways.iter().filter(|load| {
            matches!(load.way, BatchWay::Fixed(its, _) if its == path) && load.rows_per_second > 0.0
        });
        told.max_by(|a, b| a.rows_per_second.total_cmp(&b.rows_per_second))
    }

    /// The fastest of the grid's cells, at the number of rows of the loads.
    pub fn best_cell(&self) -> Option<(Cell, &Load)> {
        let cells = self.ways.iter().filter_map(|load| match load.way {
            BatchWay::Cell(cell) => Some((cell, load)),
            _ => None,
        });
        cells.max_by(|a, b| a.1.rows_per_second.total_cmp(&b.1.rows_per_second))
    }
}

impl Bench<'_> {
    /// Loads the emptied table in one way; then counts and checksums it. `rows` is how many `file` has.
    pub(crate) fn load(&mut self, way: BatchWay, file: &Path, rows: u64) -> Result<Loaded, Error> {
        // Into the page cache, for all alike.
        floor::read_seconds(file)?;
        let (took, report) = match way {
            BatchWay::Cell(cell) => (self.cell_timed(cell, rows as usize)?, None),
            BatchWay::LoadData => (self.load_data(file)?, None),
            BatchWay::Inrush(path) => self.inrush(path, None, file)?,
            BatchWay::Fixed(path, cell) => self.inrush(path, Some(cell), file)?,
        };
        let there: u64 = self.session.query_row("SELECT COUNT(*) FROM sbtest1")?.number(0)?;
        if there != rows {
            return Err(Error::Different {
                table: "sbtest1".to_owned(),
                method: way.name(),
                seen: format!("{there} rows"),
                reference: "the file".to_owned(),
                expected: format!("{rows} rows"),
            });
        }
        let checksum = self.session.query_row("CHECKSUM TABLE sbtest1")?.text(1)?;
        Ok(Loaded { took, checksum, report })
    }

    /// Inserts as a cell of the grid does, to the last row.
    fn cell_timed(&mut self, cell: Cell, rows: usize) -> Result<Took, Error> {
        let (done, took) = self.cell(cell, rows, LOAD_TIME_MAX)?;
        // Less the time to connect.
        Ok(Took { seconds: done.seconds, ..took })
    }

    fn load_data(&mut self, file: &Path) -> Result<Took, Error> {
        self.empty()?;
        let file = quote_text(&file.to_string_lossy());
        let sql = format!("LOAD DATA INFILE {file} INTO TABLE sbtest1 CHARACTER SET utf8mb4");
        let clock = Clock::start(self.host.pid());
        let done = self.session.exec(&sql)?;
        let took = clock.stop();
        if done.warnings > 0 {
            return Err(Error::Option(format!("LOAD DATA into sbtest1 warned: {}", done.info)));
        }
        Ok(took)
    }

    fn inrush(
        &mut self,
        path: InrushPath,
        fixed: Option<Cell>,
        file: &Path,
    ) -> Result<(Took, Option<serde_json::Value>), Error> {
        self.empty()?;
        let mut arguments: Vec<OsString> =
            ["--dialect", "tsv", "--path", path.name()].map(OsString::from).into();
        if let Some(cell) = fixed {
            arguments.extend(["--batch-rows".into(), cell.batch.to_string().into()]);
            arguments.extend(["--connections".into(), cell.threads.to_string().into()]);
        }
        if let Some(bytes) = self.options.memory_bytes_max {
            arguments.extend(["--memory".into(), bytes.to_string().into()]);
        }
        let table = format!("{DATABASE}.sbtest1");
        let connect = &self.host.server.connect;
        let clock = Clock::start(self.host.pid());
        let report = self.program.load(file, &table, &arguments, connect)?;
        Ok((clock.stop(), Some(report)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn loaded(seconds: f64, checksum: &str) -> Loaded {
        let took = Took { seconds, ..Took::default() };
        Loaded { took, checksum: checksum.to_owned(), report: None }
    }

    #[test]
    fn a_way_that_leaves_other_rows_is_an_error() {
        let mut loads = Loads::new(&[BatchWay::LoadData], 100);
        loads.push(BatchWay::LoadData, loaded(1.0, "7")).unwrap();
        let error = loads.push(BatchWay::LoadData, loaded(1.0, "8")).unwrap_err().to_string();
        assert!(error.contains("sbtest1") && error.contains("checksum 8"), "{error}");
    }

    #[test]
    fn the_best_cell_is_the_best_of_the_median_runs() {
        let (slow, fast) = (Cell { batch: 1, threads: 1 }, Cell { batch: 2, threads: 1 });
        let mut loads =
            Loads::new(&[BatchWay::Cell(slow), BatchWay::Cell(fast), BatchWay::LoadData], 100);
        for (cell, seconds) in [(slow, 0.1), (slow, 4.0), (slow, 4.0), (fast, 2.0)] {
            loads.push(BatchWay::Cell(cell), loaded(seconds, "7")).unwrap();
        }
        loads.push(BatchWay::LoadData, loaded(0.1, "7")).unwrap();
        let (cell, load) = loads.best_cell().unwrap();
        assert_eq!((cell, load.rows_per_second), (fast, 50.0));
    }
}
