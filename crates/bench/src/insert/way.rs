//! Steps and ways of the benchmark, and what one run of them took.

use serde::Serialize;

use super::meter::Counters;
use crate::choice::choices;
use crate::clock::Took;
use crate::figure::rate;

choices! {
    /// A step of the benchmark.
    pub enum Step {
        /// Rows into the empty table, and the indexes where they are made behind it: l.i0 and l.x.
        #[serde(rename = "l.i0")]
        First = "first";
        /// More rows, with all indexes in place: l.i1.
        #[serde(rename = "l.i1")]
        More = "more";
    }
}

/// A way of adding rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertWay {
    /// INSERTs of as many rows as the benchmark has, each committed.
    Insert,
    /// LOAD DATA INFILE, the server reads the file: of all rows, or in files of 1 % of the table.
    LoadData,
    /// `inrush load`, from the start of the process to its end: of so many percent of the table.
    Inrush(u64),
}

/// The changes of secondary indexes that the server may put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Buffering {
    /// `innodb_change_buffering=none`, as it comes; servers from 11.0 on have nothing else.
    None,
    /// `innodb_change_buffering=all`.
    All,
}

/// So many rows were in the table at this time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Rows in the table at the end of the interval.
    pub rows: u64,
    /// Seconds since the step began.
    pub seconds: f64,
    /// Rows a second of the interval.
    pub rows_per_second: f64,
}

/// The times of one method.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Which step.
    pub step: Step,
    /// Which way.
    pub way: InsertWay,
    /// The changes that the server may put off.
    pub buffering: Buffering,
    /// Rows of an INSERT, or of a file.
    pub batch_rows: u64,
    /// Rows before.
    pub rows_before: u64,
    /// Rows added: fewer than were to be where time was over.
    pub rows: u64,
    /// True if all were added.
    pub is_whole: bool,
    /// The time to add them.
    pub took: Took,
    /// Seconds of making the indexes behind it; None where they were there.
    pub index_seconds: Option<f64>,
    /// Seconds afterwards until the server had written its pages back.
    pub settle_seconds: f64,
    /// Pages of the change buffer that were left then.
    pub change_buffer_pages: Option<u64>,
    /// Bytes read and written until then, indexes included.
    pub io: Counters,
    /// Rows a second over the whole run.
    pub points: Vec<Point>,
    /// The loads of Inrush, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<InrushLoad>,
}

/// One load of Inrush, by its own report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InrushLoad {
    /// The way into the server that it chose.
    pub path: String,
    /// Its time.
    pub seconds: f64,
    /// Its estimate.
    pub expected_seconds: Option<f64>,
}

impl Buffering {
    /// As the server has it.
    pub fn name(self) -> &'static str {
        match self {
            Buffering::None => "none",
            Buffering::All => "all",
        }
    }
}

impl Run {
    /// Rows a second, without the making of indexes.
    pub fn rows_per_second(&self) -> f64 {
        rate(self.rows, self.took.seconds)
    }

    /// Name for people.
    pub fn name(&self) -> String {
        let kept = match self.buffering {
            Buffering::None => "",
            Buffering::All => ", change buffer",
        };
        match self.way {
            InsertWay::Insert => format!("INSERT, {} rows{kept}", self.batch_rows),
            InsertWay::LoadData => format!("LOAD DATA{kept}"),
            InsertWay::Inrush(percent) if self.step == Step::More => {
                format!("Inrush, {percent} % ({})", self.path())
            }
            InsertWay::Inrush(_) => format!("Inrush ({})", self.path()),
        }
    }

    fn path(&self) -> String {
        let mut paths: Vec<&str> = self.loads.iter().map(|load| load.path.as_str()).collect();
        paths.dedup();
        paths.join(", then ")
    }
}
