//! One way of adding rows, run on a server of its own that has just begun.

use std::ffi::OsString;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use server::Session;
use server::identifier::quote_text;

use super::meter::{self, Counters};
use super::schema::{TABLE, Version};
use super::way::{Buffering, InrushLoad, InsertWay, Point, Run, Step};
use super::yard::{Setup, Yard};
use super::{InsertOptions, rows};
use crate::clock::Clock;
use crate::error::Error;
use crate::host::{self, DATABASE};
use crate::program::Program;

/// Names of files put aside: of a server without the table, and with it.
pub(super) const EMPTY: &str = "empty";
pub(super) const FULL: &str = "full";
/// Pages of a server at rest that need not be written.
const DIRTY_PAGES_FEW: u64 = 4;

/// The parts that a method needs.
pub(super) struct Field<'a> {
    pub(super) yard: &'a Yard,
    pub(super) options: &'a InsertOptions,
    pub(super) version: Version,
    pub(super) pool_bytes: u64,
}

/// A step in progress.
struct Progress {
    started: Instant,
    rows_before: u64,
    points: Vec<Point>,
    loads: Vec<InrushLoad>,
}

impl Progress {
    fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Ends an interval with so many rows in the table.
    fn point(&mut self, rows: u64) {
        let (before, begun) =
            self.points.last().map_or((self.rows_before, 0.0), |last| (last.rows, last.seconds));
        let seconds = self.seconds();
        let rows_per_second = crate::figure::rate(rows - before, seconds - begun);
        self.points.push(Point { rows, seconds, rows_per_second });
    }

    fn rows(&self) -> u64 {
        self.points.last().map_or(self.rows_before, |last| last.rows)
    }
}

impl Field<'_> {
    /// A server on a copy of the table, or of nothing.
    pub(super) fn start(&self, step: Step, buffering: Buffering) -> Result<Session, Error> {
        self.yard.bring(match step {
            Step::First => EMPTY,
            Step::More => FULL,
        })?;
        self.yard.start(Setup {
            pool_bytes: self.pool_bytes,
            log_file_bytes: self.options.log_file_bytes,
            buffering,
        })
    }

    /// Puts aside the files of a server that has no table yet, if that is still to be done.
    pub(super) fn put_empty_aside(&self) -> Result<(), Error> {
        if self.yard.has(EMPTY) {
            return Ok(());
        }
        let (pool_bytes, buffering) = (self.pool_bytes, Buffering::None);
        let log_file_bytes = self.options.log_file_bytes;
        let session = self.yard.start(Setup { pool_bytes, log_file_bytes, buffering })?;
        self.yard.put_aside(session, EMPTY)
    }

    /// Runs a step by one way on the server of `session`.
    pub(super) fn run(
        &self,
        session: &mut Session,
        step: Step,
        way: InsertWay,
        buffering: Buffering,
    ) -> Result<Run, Error> {
        let rows = self.options.rows_of(step);
        let batch_rows = self.batch_rows(step, way);
        let files = match way {
            InsertWay::Insert => Vec::new(),
            InsertWay::LoadData | InsertWay::Inrush(_) => self.files(&rows, batch_rows)?,
        };
        let is_indexed = self.version.has_indexes_first() || matches!(way, InsertWay::Inrush(_));
        if step == Step::First {
            self.create(session, is_indexed)?;
        }
        host::write_back(session, DIRTY_PAGES_FEW)?;
        let before = Counters::now(session, self.yard.pid())?;
        let (points, loads) = (Vec::new(), Vec::new());
        let clock = Clock::start(self.yard.pid());
        let started = Instant::now();
        let mut progress = Progress { started, rows_before: rows.start, points, loads };
        match way {
            InsertWay::Insert => self.insert(session, &rows, batch_rows, &mut progress)?,
            InsertWay::LoadData | InsertWay::Inrush(_) => {
                self.load(session, way, &files, &mut progress)?
            }
        }
        let took = clock.stop();
        let index_seconds = match step == Step::First && !is_indexed {
            true => Some(self.create_indexes(session)?),
            false => None,
        };
        let settling = Instant::now();
        host::write_back(session, DIRTY_PAGES_FEW)?;
        let settle_seconds = settling.elapsed().as_secs_f64();
        let io = Counters::now(session, self.yard.pid())? - before;
        for (file, _) in files {
            fs::remove_file(&file).map_err(Error::io("removing", &file))?;
        }
        Ok(Run {
            step,
            way,
            buffering,
            batch_rows,
            rows_before: rows.start,
            rows: progress.rows() - rows.start,
            is_whole: progress.rows() == rows.end,
            took,
            index_seconds,
            settle_seconds,
            change_buffer_pages: meter::change_buffer_pages(session)?,
            io,
            points: progress.points,
            loads: progress.loads,
        })
    }

    /// Makes the table.
    pub(super) fn create(&self, session: &mut Session, is_indexed: bool) -> Result<(), Error> {
        session.exec(self.version.create())?;
        if is_indexed {
            self.create_indexes(session)?;
        }
        Ok(())
    }

    /// Makes its indexes; gives the seconds.
    pub(super) fn create_indexes(&self, session: &mut Session) -> Result<f64, Error> {
        let started = Instant::now();
        for statement in self.version.create_indexes() {
            session.exec(statement)?;
        }
        Ok(started.elapsed().as_secs_f64())
    }

    fn batch_rows(&self, step: Step, way: InsertWay) -> u64 {
        let [first, more] = self.version.insert_rows();
        let percent = |percent: u64| (self.options.rows * percent / 100).max(1);
        match (step, way) {
            (Step::First, InsertWay::Insert) => first,
            (Step::More, InsertWay::Insert) => more,
            (Step::First, _) => self.options.rows,
            (Step::More, InsertWay::LoadData) => percent(1),
            (Step::More, InsertWay::Inrush(part)) => percent(part),
        }
    }

    /// Files of so many rows each, with the number of the row behind the last one.
    fn files(&self, rows: &Range<u64>, batch_rows: u64) -> Result<Vec<(PathBuf, u64)>, Error> {
        let mut files = Vec::new();
        let mut start = rows.start;
        while start < rows.end {
            let end = rows.end.min(start + batch_rows);
            let path = self.yard.file(&format!("{}-{start}-{end}.tsv", self.version));
            rows::write(self.version, start..end, &path)?;
            files.push((path, end));
            start = end;
        }
        Ok(files)
    }

    fn insert(
        &self,
        session: &mut Session,
        rows: &Range<u64>,
        batch_rows: u64,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let mut statement = String::new();
        let mut start = rows.start;
        let mut interval_end = self.options.interval_seconds;
        while start < rows.end && progress.seconds() < self.options.seconds_max {
            let end = rows.end.min(start + batch_rows);
            rows::insert(self.version, start..end, &mut statement);
            session.exec(&statement)?;
            start = end;
            if progress.seconds() >= interval_end {
                progress.point(start);
                interval_end += self.options.interval_seconds;
            }
        }
        if progress.rows() < start {
            progress.point(start);
        }
        Ok(())
    }

    fn load(
        &self,
        session: &mut Session,
        way: InsertWay,
        files: &[(PathBuf, u64)],
        progress: &mut Progress,
    ) -> Result<(), Error> {
        for (file, end) in files {
            if progress.seconds() >= self.options.seconds_max {
                break;
            }
            match way {
                InsertWay::Inrush(_) => progress.loads.push(self.inrush(file)?),
                _ => {
                    let file = quote_text(&file.to_string_lossy());
                    let columns = self.version.columns();
                    session
                        .exec(&format!("LOAD DATA INFILE {file} INTO TABLE {TABLE} ({columns})"))?;
                }
            }
            progress.point(*end);
        }
        Ok(())
    }

    fn inrush(&self, file: &std::path::Path) -> Result<InrushLoad, Error> {
        let program = Program {
            path: self.options.program.clone(),
            connect_arguments: self.yard.arguments(),
            environment: Vec::new(),
        };
        let words = ["--dialect", "mysql", "--mode", "append", "--columns", self.version.columns()];
        let mut arguments: Vec<OsString> = words.map(OsString::from).into();
        arguments.extend(["--path".into(), self.options.path.clone().into()]);
        if let Some(bytes) = self.options.memory_bytes_max {
            arguments.extend(["--memory".into(), bytes.to_string().into()]);
        }
        let table = format!("{DATABASE}.{TABLE}");
        let report = program.load(file, &table, &arguments, &self.yard.connect_options())?;
        Ok(InrushLoad {
            path: report["path"].as_str().unwrap_or("unknown").to_owned(),
            seconds: report["seconds"].as_f64().unwrap_or(0.0),
            expected_seconds: report["expected_seconds"].as_f64(),
        })
    }
}
