//! `inrush bench split`: one wide file of orders into four tables with foreign keys, all of it or nothing:
//! by a script in Python, by a staging table, and by a job file. A second file has one bad line in a thousand,
//! which must go to none of the tables.
//!
//! Each way begins with empty tables and an idle server, and has to leave the same rows: ids may differ, what
//! they stand for may not.

mod outcome;
mod rows;
mod ways;

use std::path::{Path, PathBuf};
use std::time::Instant;

use server::Session;

pub use self::outcome::{FileOutcome, SplitOutcome, WayOutcome};
pub use self::ways::SplitWay;

use crate::choice::Choice;
use crate::error::Error;
use crate::head::Head;
use crate::host::{self, DATABASE, Host, HostOptions};

/// Bytes of a line as text and in all tables; for room on the disk.
const LINE_BYTES: u64 = 130;
const ROWS_BYTES: u64 = 250;

/// Options of a run. `SplitOptions::default()` is everything, with a million lines.
#[derive(Clone, Debug)]
pub struct SplitOptions {
    /// Lines of each file.
    pub lines: u64,
    /// Which ways; empty for all.
    pub ways: Vec<SplitWay>,
    /// Runs of each way.
    pub repeat: usize,
    /// The interpreter that runs the script. Default: `python3`.
    pub python: PathBuf,
    /// Memory for Inrush, in bytes; none for its default.
    pub memory_bytes_max: Option<u64>,
    /// The server, and the program that is measured.
    pub host: HostOptions,
}

impl Default for SplitOptions {
    fn default() -> SplitOptions {
        SplitOptions {
            lines: 1_000_000,
            ways: Vec::new(),
            repeat: 1,
            python: "python3".into(),
            memory_bytes_max: None,
            host: HostOptions::default(),
        }
    }
}

/// Runs the benchmark. `say` gets a line before each step that takes time.
///
/// Errors: no space, no server, no Python, a way that fails, and one that leaves other rows.
pub fn run(options: &SplitOptions, say: &mut dyn FnMut(&str)) -> Result<SplitOutcome, Error> {
    if options.repeat == 0 || options.lines == 0 {
        return Err(Error::Option("--repeat and --lines must be at least 1".to_owned()));
    }
    let data_dir = options.host.data_dir()?;
    let tables_bytes = options.lines * ROWS_BYTES;
    let needed = options.lines * 2 * LINE_BYTES + 3 * tables_bytes;
    options.host.check_space(needed)?;
    let host = Host::start(&options.host, 2 * tables_bytes)?;
    let mut session = host.session()?;
    let folder = data_dir.join("split");
    std::fs::create_dir_all(&folder).map_err(Error::io("making", &folder))?;
    let mut outcome = SplitOutcome {
        head: Head::new(session.version().to_string()),
        server_settings: host::settings(&mut session)?,
        lines: options.lines,
        client: String::new(),
        notes: host.notes.clone(),
        files: Vec::new(),
    };
    for has_bad in [false, true] {
        let name = if has_bad { "orders-bad.csv" } else { "orders.csv" };
        let path = folder.join(format!("{}-{name}", options.lines));
        if !path.exists() {
            say(&format!("making {}", path.display()));
            rows::write(&path, options.lines, has_bad).map_err(Error::io("writing", &path))?;
        }
        let mut bench = Bench { options, host: &host, session: &mut session, path: &path, has_bad };
        let file = bench.run(&mut outcome.client, say)?;
        outcome.files.push(file);
    }
    if !options.host.keep {
        session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    }
    drop(session);
    host.finish()?;
    Ok(outcome)
}

/// One file, by all ways.
struct Bench<'a> {
    options: &'a SplitOptions,
    host: &'a Host,
    session: &'a mut Session,
    path: &'a Path,
    has_bad: bool,
}

impl Bench<'_> {
    fn run(
        &mut self,
        client: &mut String,
        say: &mut dyn FnMut(&str),
    ) -> Result<FileOutcome, Error> {
        let ways = SplitWay::chosen(&self.options.ways);
        let mut outcome = FileOutcome::new(self.path, self.has_bad);
        let mut expected: Option<(SplitWay, String)> = None;
        for round in 0..self.options.repeat {
            for turn in 0..ways.len() {
                let way = ways[(round + turn) % ways.len()];
                say(&format!("{}: {}", outcome.name(), way.name()));
                ways::make_tables(self.session)?;
                host::settle(self.session, self.host.is_own())?;
                let begun = Instant::now();
                self.load(way, client)?;
                let seconds = begun.elapsed().as_secs_f64();
                say(&format!("{}: {seconds:.2} s", outcome.name()));
                outcome.push(way, seconds);
                let seen = rows_of(self.session)?;
                match &expected {
                    Some((reference, expected)) if *expected != seen => {
                        return Err(Error::Different {
                            table: DATABASE.to_owned(),
                            method: way.name().to_owned(),
                            seen,
                            reference: reference.name().to_owned(),
                            expected: expected.clone(),
                        });
                    }
                    _ => expected = Some((way, seen)),
                }
            }
        }
        outcome.rows = expected.map(|(_, rows)| rows).unwrap_or_default();
        Ok(outcome)
    }

    fn load(&mut self, way: SplitWay, client: &mut String) -> Result<(), Error> {
        // Some are tolerated, and not one more than there are.
        let bad = (0..self.options.lines).filter(|line| rows::is_bad(*line)).count() as u64;
        let rejects_max = if self.has_bad { bad } else { 0 };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        match way {
            SplitWay::Staging => ways::staging(self.session, self.path, self.has_bad),
            SplitWay::Script => {
                let connect = &self.host.server.connect;
                let (python, path) = (&self.options.python, self.path);
                *client = ways::script(python, folder, connect, path, rejects_max)?;
                Ok(())
            }
            SplitWay::Inrush => {
                let name = self.path.file_name().unwrap_or_default().to_string_lossy();
                let job = ways::write_job(folder, &name)?;
                self.inrush(&job, rejects_max)
            }
        }
    }

    fn inrush(&self, job: &Path, rejects_max: u64) -> Result<(), Error> {
        let mut arguments = vec!["--rejects-max".into(), rejects_max.to_string().into()];
        if let Some(bytes) = self.options.memory_bytes_max {
            arguments.extend(["--memory".into(), bytes.to_string().into()]);
        }
        let program = self.host.program(&self.options.host);
        program.load_job(job, &arguments, &self.host.server.connect).map(drop)
    }
}

/// The contents of the tables, whatever the ids: numbers of rows, and a sum over all joined.
fn rows_of(session: &mut Session) -> Result<String, Error> {
    let mut seen = Vec::new();
    for (table, _) in ways::TABLES {
        let count: u64 = session.query_row(&format!("SELECT COUNT(*) FROM {table}"))?.number(0)?;
        seen.push(format!("{count} {table}"));
    }
    let sum = session.query_text(
        "SELECT SUM(CRC32(CONCAT_WS('|', o.no, o.ordered, c.email, c.name, c.city, p.sku, p.name, p.price, \
         l.line, l.quantity))) FROM order_lines l JOIN orders o ON o.id = l.order_id \
         JOIN customers c ON c.id = o.customer_id JOIN products p ON p.id = l.product_id",
    )?;
    Ok(format!("{}, sum {}", seen.join(", "), sum.unwrap_or_default()))
}
