//! `inrush bench export`: TPC-H lineitem into files, by the client, `mariadb-dump` and Inrush.
//!
//! All write into a file of their own, the table in memory. Inrush has its files on the disk when it ends, the
//! others in the page cache. Before it is timed each way writes a file, which is loaded again: that table has
//! to be equal to the exported one.
//!
//! In reading order: [`way`] is what is run, [`outcome`] what is printed.

pub mod outcome;
pub mod way;

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use server::Session;
use server::identifier::quote_name;

pub use self::outcome::{ExportOutcome, WayOutcome};
pub use self::way::ExportWay;

use crate::choice::Choice;
use crate::clock::{Clock, Took};
use crate::error::Error;
use crate::head::Head;
use crate::host::{self, DATABASE, Host, HostOptions};
use crate::program::Program;
use crate::rows::{self, TableFile};
use crate::runs::Runs;
use crate::tpch::{Schema, Table};
use crate::ways::table_bytes;

/// The table that is exported, and the one that its rows are loaded into again.
const TABLE: &str = "lineitem";
const BACK: &str = "lineitem_back";

/// Options of a run. `ExportOptions::default()` is all methods at scale 1.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// TPC-H scale factor.
    pub scale: f64,
    /// Which ways; empty for all.
    pub ways: Vec<ExportWay>,
    /// Runs of each way.
    pub repeat: usize,
    /// Threads for Inrush; none for its default.
    pub threads: Option<usize>,
    /// The server, and the program that is measured.
    pub host: HostOptions,
}

impl Default for ExportOptions {
    fn default() -> ExportOptions {
        ExportOptions {
            scale: 1.0,
            ways: Vec::new(),
            repeat: 3,
            threads: None,
            host: HostOptions::default(),
        }
    }
}

/// Runs the benchmark. `say` gets a line before each step that takes time.
///
/// Errors: no space, no server, a way that fails, and one whose rows are not those of the table.
pub fn run(options: &ExportOptions, say: &mut dyn FnMut(&str)) -> Result<ExportOutcome, Error> {
    if options.repeat == 0 {
        return Err(Error::Option("--repeat must be at least 1".to_owned()));
    }
    let data_dir = options.host.data_dir()?;
    let text = (Table::LineItem.text_bytes_at_scale_1() as f64 * options.scale) as u64;
    let needed = 3 * text + 2 * table_bytes(text);
    options.host.check_space(needed)?;
    say(&format!("{TABLE}: rows of scale {}", options.scale));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let dir = data_dir.join(format!("sf{}", options.scale));
    let file = rows::generate(Table::LineItem, options.scale, &dir, threads)?;
    let host = Host::start(&options.host, 2 * table_bytes(text))?;
    let mut yard = Yard::new(&host, options, data_dir)?;
    say(&format!("{TABLE}: {} rows are loaded", file.rows));
    let checksum = yard.fill(&file)?;
    let ways = yard.measure(file.rows, &checksum, say)?;
    let outcome = ExportOutcome {
        head: Head::new(yard.session.version().to_string()),
        server_settings: host::settings(&mut yard.session)?,
        scale: options.scale,
        rows: file.rows,
        notes: host.notes.clone(),
        ways,
    };
    if !options.host.keep {
        yard.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    }
    drop(yard);
    host.finish()?;
    Ok(outcome)
}

/// A server with the table.
struct Yard<'a> {
    host: &'a Host,
    options: &'a ExportOptions,
    session: Session,
    program: Program,
    /// Where files may be written.
    scratch: PathBuf,
}

impl<'a> Yard<'a> {
    fn new(
        host: &'a Host,
        options: &'a ExportOptions,
        scratch: PathBuf,
    ) -> Result<Yard<'a>, Error> {
        let program = host.program(&options.host);
        Ok(Yard { host, options, session: host.session()?, program, scratch })
    }

    /// Loads the table; gives its checksum.
    fn fill(&mut self, file: &TableFile) -> Result<String, Error> {
        self.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        self.session.exec(&format!("CREATE DATABASE {DATABASE}"))?;
        self.session.exec(&format!("USE {DATABASE}"))?;
        self.session.exec(Table::LineItem.ddl(Schema::Dbgen)?)?;
        let arguments = ["--dialect", "tbl", "--charset", "latin1"].map(OsString::from);
        self.load(&file.path, TABLE, &arguments)?;
        self.checksum(TABLE, file.rows)
    }

    fn load(&self, file: &Path, table: &str, arguments: &[OsString]) -> Result<(), Error> {
        let into = format!("{DATABASE}.{table}");
        self.program.load(file, &into, arguments, &self.host.server.connect).map(drop)
    }

    /// The checksum of a table, which has to have so many rows.
    fn checksum(&mut self, table: &str, rows: u64) -> Result<String, Error> {
        let name = quote_name(table);
        let seen: u64 =
            self.session.query_row(&format!("SELECT COUNT(*) FROM {name}"))?.number(0)?;
        if seen != rows {
            return Err(Error::Different {
                table: table.to_owned(),
                method: "inrush load".to_owned(),
                seen: format!("{seen} rows"),
                reference: "the generator".to_owned(),
                expected: format!("{rows} lines"),
            });
        }
        Ok(self.session.query_row(&format!("CHECKSUM TABLE {name}"))?.text(1)?)
    }

    /// Verifies and times all ways, by turns.
    fn measure(
        &mut self,
        rows: u64,
        checksum: &str,
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<WayOutcome>, Error> {
        let mut ways = ExportWay::chosen(&self.options.ways);
        ways.sort_unstable();
        ways.dedup();
        let mut outcomes = Vec::new();
        for way in &ways {
            say(&format!("{}: loading the export again", way.name()));
            let (bytes, is_verified) = self.verify(*way, rows, checksum)?;
            outcomes.push(WayOutcome { way: *way, bytes, is_verified, runs: Runs::default() });
        }
        for round in 0..self.options.repeat {
            for turn in 0..ways.len() {
                let outcome = &mut outcomes[(round + turn) % ways.len()];
                let took = self.time(outcome.way)?;
                let cpu = took.server_cpu_seconds + took.client_cpu_seconds;
                let name = outcome.way.name();
                say(&format!("{name}: {:.2} s, {cpu:.2} of processors", took.seconds));
                outcome.runs.push(took, None);
            }
        }
        Ok(outcomes)
    }

    /// Loads what a way writes, if it is no statements, into a table that has to become equal. Gives the bytes,
    /// and whether it did.
    fn verify(&mut self, way: ExportWay, rows: u64, checksum: &str) -> Result<(u64, bool), Error> {
        let path = self.path(way);
        self.write(way, &path)?;
        let bytes = fs::metadata(&path).map_err(Error::io("looking at", &path))?.len();
        if let Some(arguments) = way.load_arguments() {
            self.session.exec(&format!("DROP TABLE IF EXISTS {BACK}"))?;
            self.session.exec(&format!("CREATE TABLE {BACK} LIKE {TABLE}"))?;
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            self.load(&path, BACK, &arguments)?;
            let seen = self.checksum(BACK, rows)?;
            if seen != checksum {
                return Err(Error::Different {
                    table: BACK.to_owned(),
                    method: format!("what {} wrote", way.name()),
                    seen: format!("rows of checksum {seen}"),
                    reference: TABLE.to_owned(),
                    expected: checksum.to_owned(),
                });
            }
            self.session.exec(&format!("DROP TABLE {BACK}"))?;
        }
        fs::remove_file(&path).map_err(Error::io("removing", &path))?;
        Ok((bytes, way.load_arguments().is_some()))
    }

    fn time(&mut self, way: ExportWay) -> Result<Took, Error> {
        host::settle(&mut self.session, self.host.is_own())?;
        let path = self.path(way);
        let clock = Clock::start(self.host.pid());
        self.write(way, &path)?;
        let took = clock.stop();
        fs::remove_file(&path).map_err(Error::io("removing", &path))?;
        Ok(took)
    }

    fn path(&self, way: ExportWay) -> PathBuf {
        self.scratch.join(format!("export-{}.{}", way.short(), way.ending()))
    }

    /// Has a way write the table into a file.
    fn write(&self, way: ExportWay, path: &Path) -> Result<(), Error> {
        let to: Stdio = match way.is_peer() {
            true => File::create(path).map_err(Error::io("making", path))?.into(),
            false => Stdio::null(),
        };
        let limits: Vec<OsString> = match self.options.threads {
            Some(threads) => vec!["--threads".into(), threads.to_string().into()],
            None => Vec::new(),
        };
        let program = &self.options.host.program;
        let mut command = way.command(TABLE, path, program, &limits, &self.host.server);
        command.stdin(Stdio::null()).stdout(to).stderr(Stdio::piped());
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |said: String| Error::Program { name: name.clone(), said };
        let output = command.output().map_err(|error| failed(format!("running it: {error}")))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn no_run_at_all_is_refused_before_anything() {
        let options = ExportOptions {
            repeat: 0,
            host: HostOptions { data_dir: "/nonexistent".into(), ..HostOptions::default() },
            ..ExportOptions::default()
        };
        let error = run(&options, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("--repeat"), "{error}");
    }
}
