//! `inrush bench formats`: the same rows from CSV, Parquet, Arrow and JSON Lines, and by other libraries.
//!
//! TPC-H lineitem is loaded, and written by `inrush export` in every format; then each file is loaded, by turns, also over
//! HTTP and by a job file. Of a table with 40 columns five are loaded, from CSV and from Parquet. Every loaded table has to
//! equal that of the CSV file.
//!
//! In reading order: [`way`] is what is run, `wide` the table of many columns, `file_server` the files over HTTP,
//! [`outcome`] what is printed.

mod file_server;
pub mod outcome;
pub mod way;
mod wide;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use server::Session;

pub use self::outcome::{FormatsOutcome, WayOutcome};
pub use self::way::FormatWay;

use self::file_server::FileServer;
use crate::choice::Choice;
use crate::client;
use crate::clock::Clock;
use crate::error::Error;
use crate::head::Head;
use crate::host::{self, DATABASE, Host, HostOptions};
use crate::program::Program;
use crate::rows;
use crate::runs::Runs;
use crate::tpch::{Schema, Table};
use crate::ways::table_bytes;

/// The tables whose rows are written, and those that are loaded.
const LINEITEM: &str = "lineitem";
const WIDE: &str = "wide";
const LOADED: &str = "loaded";
/// Rows of the wide table at scale 1, and bytes of each as text.
const WIDE_ROWS: f64 = 1_000_000.0;
const WIDE_ROW_BYTES: f64 = 520.0;

/// Options of a run. `FormatsOptions::default()` is all ways at scale 1.
#[derive(Clone, Debug)]
pub struct FormatsOptions {
    /// TPC-H scale factor.
    pub scale: f64,
    /// Which ways; empty for all.
    pub ways: Vec<FormatWay>,
    /// Runs of each way.
    pub repeat: usize,
    /// The interpreter that has other libraries.
    pub python: PathBuf,
    /// Memory for Inrush, in bytes; none for its default.
    pub memory_bytes_max: Option<u64>,
    /// The server, and the program that is measured.
    pub host: HostOptions,
}

impl Default for FormatsOptions {
    fn default() -> FormatsOptions {
        FormatsOptions {
            scale: 1.0,
            ways: Vec::new(),
            repeat: 3,
            python: "python3".into(),
            memory_bytes_max: None,
            host: HostOptions::default(),
        }
    }
}

/// Runs the benchmark. `say` gets a line before each step that takes time.
///
/// Errors: no space, no server, a way that fails, and one whose rows are not those of the CSV file.
pub fn run(options: &FormatsOptions, say: &mut dyn FnMut(&str)) -> Result<FormatsOutcome, Error> {
    if options.repeat == 0 {
        return Err(Error::Option("--repeat must be at least 1".to_owned()));
    }
    let data_dir = options.host.data_dir()?;
    let text = (Table::LineItem.text_bytes_at_scale_1() as f64 * options.scale
        + WIDE_ROWS * WIDE_ROW_BYTES * options.scale) as u64;
    let needed = 6 * text + 2 * table_bytes(text);
    options.host.check_space(needed)?;
    let host = Host::start(&options.host, 2 * table_bytes(text))?;
    let folder = data_dir.join(format!("formats-sf{}", options.scale));
    fs::create_dir_all(&folder).map_err(Error::io("making", &folder))?;
    let mut yard = Yard::new(&host, options, folder)?;
    let mut notes = host.notes.clone();
    let mut ways = yard.ways(&mut notes)?;
    yard.make_files(&mut ways, say)?;
    yard.measure(&mut ways, say)?;
    let outcome = FormatsOutcome {
        head: Head::new(yard.session.version().to_string()),
        server_settings: host::settings(&mut yard.session)?,
        scale: options.scale,
        notes,
        ways,
    };
    if !options.host.keep {
        yard.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        host::remove_dir(&yard.folder)?;
    }
    drop(yard);
    host.finish()?;
    Ok(outcome)
}

/// A server, and the files.
struct Yard<'a> {
    host: &'a Host,
    options: &'a FormatsOptions,
    session: Session,
    program: Program,
    folder: PathBuf,
    files: FileServer,
    /// CHECKSUM TABLE of what the ways load: of lineitem, and of the columns of the wide table.
    checksums: [Option<String>; 2],
}

impl<'a> Yard<'a> {
    fn new(
        host: &'a Host,
        options: &'a FormatsOptions,
        folder: PathBuf,
    ) -> Result<Yard<'a>, Error> {
        let mut program = host.program(&options.host);
        let files = FileServer::start(folder.clone()).map_err(Error::io("serving", &folder))?;
        program.environment =
            vec![("AWS_ENDPOINT_URL", files.url()), ("AWS_SKIP_SIGNATURE", "true".to_owned())];
        let (session, checksums) = (host.session()?, [None, None]);
        Ok(Yard { host, options, session, program, folder, files, checksums })
    }

    /// The ways that can be run, those first that others are compared with; others are noted.
    fn ways(&self, notes: &mut Vec<String>) -> Result<Vec<WayOutcome>, Error> {
        let mut ways = FormatWay::chosen(&self.options.ways);
        let compared: Vec<FormatWay> = ways.iter().map(|way| way.compared_with()).collect();
        ways.extend(compared);
        ways.sort_unstable();
        ways.dedup();
        let mut outcomes = Vec::new();
        for way in ways {
            if way.is_peer() {
                match self.peer(way, None) {
                    Ok(version) => notes.push(format!("{} {version}", way.short())),
                    Err(Error::Program { said, .. }) => {
                        let last = said.lines().last().unwrap_or_default();
                        notes.push(format!("{} is left out: {last}", way.short()));
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            outcomes.push(WayOutcome { way, rows: 0, bytes: 0, runs: Runs::default() });
        }
        Ok(outcomes)
    }

    /// Fills the tables, and has Inrush write them in every format.
    fn make_files(
        &mut self,
        ways: &mut [WayOutcome],
        say: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        self.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        self.session.exec(&format!("CREATE DATABASE {DATABASE}"))?;
        self.session.exec(&format!("USE {DATABASE}"))?;
        let scale = self.options.scale;
        say(&format!("{LINEITEM}: rows of scale {scale}"));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let file = rows::generate(Table::LineItem, scale, &self.folder, threads)?;
        self.session.exec(Table::LineItem.ddl(Schema::Dbgen)?)?;
        self.load(&file.path, LINEITEM, &["--dialect", "tbl"])?;
        let checksum = self.session.query_row(&format!("CHECKSUM TABLE {LINEITEM}"))?.text(1)?;
        self.checksums[0] = Some(checksum);
        let wide_rows = (WIDE_ROWS * scale).max(1.0) as u64;
        if ways.iter().any(|outcome| outcome.way.is_wide()) {
            say(&format!("{WIDE}: {wide_rows} rows"));
            let path = self.folder.join("wide.source.csv");
            wide::write(&path, wide_rows).map_err(Error::io("writing", &path))?;
            self.session.exec(&wide::ddl(WIDE, true))?;
            self.load(&path, WIDE, &[])?;
        }
        for outcome in ways {
            let is_wide = outcome.way.is_wide();
            let path = self.path(outcome.way);
            if !path.exists() {
                say(&format!("writing {}", path.display()));
                self.export(if is_wide { WIDE } else { LINEITEM }, &path, outcome.way.header())?;
            }
            outcome.rows = if is_wide { wide_rows } else { file.rows };
            outcome.bytes = fs::metadata(&path).map_err(Error::io("looking at", &path))?.len();
        }
        Ok(())
    }

    fn path(&self, way: FormatWay) -> PathBuf {
        let table = if way.is_wide() { WIDE } else { LINEITEM };
        self.folder.join(format!("{table}.{}", way.ending()))
    }

    fn load(&self, file: &Path, table: &str, more: &[&str]) -> Result<serde_json::Value, Error> {
        let mut arguments: Vec<OsString> = more.iter().map(OsString::from).collect();
        arguments.extend(self.memory());
        let into = format!("{DATABASE}.{table}");
        self.program.load(file, &into, &arguments, &self.host.server.connect)
    }

    /// The input of a way, as the command names it.
    fn input(&self, way: FormatWay, path: PathBuf) -> PathBuf {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match way {
            FormatWay::Http => format!("{}/{name}", self.files.url()).into(),
            FormatWay::S3 => format!("s3://files/{name}").into(),
            _ => path,
        }
    }

    /// Loads a file by a job file that names every column.
    fn load_job(&mut self, way: FormatWay, file: &Path) -> Result<serde_json::Value, Error> {
        let columns = self.session.query(&format!("SHOW COLUMNS FROM {LOADED}"))?;
        let columns: Vec<String> =
            columns.iter().map(|row| row.text(0)).collect::<Result<_, _>>()?;
        let columns: Vec<String> =
            columns.iter().map(|name| format!("{name} = \"{name}\"")).collect();
        let job = self.folder.join(format!("{}.toml", way.short()));
        let header = if way.header().is_empty() { "" } else { "header = true\n" };
        let text = format!(
            "into = \"{DATABASE}\"\n[input]\nfiles = [{:?}]\n{header}[[table]]\nname = \"{LOADED}\"\n\
             columns = {{ {} }}\n",
            file.to_string_lossy(),
            columns.join(", ")
        );
        fs::write(&job, text).map_err(Error::io("writing", &job))?;
        self.program.load_job(&job, &self.memory(), &self.host.server.connect)
    }

    /// The option that limits memory, if there is one.
    fn memory(&self) -> Vec<OsString> {
        let bytes = self.options.memory_bytes_max;
        bytes.map_or_else(Vec::new, |bytes| vec!["--memory".into(), bytes.to_string().into()])
    }

    fn export(&self, table: &str, path: &Path, more: &[&str]) -> Result<(), Error> {
        let from = format!("{DATABASE}.{table}");
        self.program.export(&from, path, more, &self.host.server.connect).map(drop)
    }

    /// Runs all ways, by turns.
    fn measure(&mut self, ways: &mut [WayOutcome], say: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let count = ways.len();
        for round in 0..self.options.repeat {
            for turn in 0..count {
                let outcome = &mut ways[(round + turn) % count];
                self.time(outcome)?;
                let seconds = outcome.runs.runs.last().map_or(0.0, |took| took.seconds);
                say(&format!("{}: {seconds:.2} s", outcome.way.name()));
            }
        }
        Ok(())
    }

    /// Loads a file once, into an empty table.
    fn time(&mut self, outcome: &mut WayOutcome) -> Result<(), Error> {
        let way = outcome.way;
        self.session.exec(&format!("DROP TABLE IF EXISTS {LOADED}"))?;
        match way.is_wide() {
            true => self.session.exec(&wide::ddl(LOADED, false))?,
            false => self.session.exec(&format!("CREATE TABLE {LOADED} LIKE {LINEITEM}"))?,
        };
        let path = self.path(way);
        // A file that is not in the page cache would be measured with the disk.
        let read = File::open(&path).and_then(|mut file| io::copy(&mut file, &mut io::sink()));
        read.map_err(Error::io("reading", &path))?;
        host::settle(&mut self.session, self.host.is_own())?;
        let clock = Clock::start(self.host.pid());
        let mut arguments = way.header().to_vec();
        if way.is_wide() {
            arguments.push("--ignore-unknown-columns");
        }
        let report = match way.is_peer() {
            true => self.peer(way, Some(&path)).map(|_| None)?,
            false if way.is_job() => Some(self.load_job(way, &path)?),
            false => Some(self.load(&self.input(way, path), LOADED, &arguments)?),
        };
        outcome.runs.push(clock.stop(), report);
        self.compare(way)
    }

    /// Runs a library of Python on a file; without one it gives its version.
    fn peer(&self, way: FormatWay, file: Option<&Path>) -> Result<String, Error> {
        let script = self.folder.join("peer.py");
        fs::write(&script, include_str!("formats/peer.py"))
            .map_err(Error::io("writing", &script))?;
        let connect = &self.host.server.connect;
        let socket = connect.socket.clone().ok_or_else(|| Error::Program {
            name: way.short().to_owned(),
            said: "it connects by a Unix socket only: name the server with -S SOCKET".to_owned(),
        })?;
        let mut command = Command::new(&self.options.python);
        command.arg(&script).arg(way.short()).arg(socket).arg(connect.user_name());
        command.args([DATABASE, LOADED]).args(file);
        let said = client::run(command, None, None)?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }

    /// Compares the loaded table with what the first way has loaded.
    fn compare(&mut self, way: FormatWay) -> Result<(), Error> {
        let seen = self.session.query_row(&format!("CHECKSUM TABLE {LOADED}"))?.text(1)?;
        match &mut self.checksums[usize::from(way.is_wide())] {
            Some(expected) if *expected != seen => Err(Error::Different {
                table: LOADED.to_owned(),
                method: way.name().to_owned(),
                seen: format!("rows of checksum {seen}"),
                reference: way.compared_with().name().to_owned(),
                expected: expected.clone(),
            }),
            expected => {
                *expected = Some(seen);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn no_run_at_all_is_refused_before_anything() {
        let options = FormatsOptions {
            repeat: 0,
            host: HostOptions { data_dir: "/nonexistent".into(), ..HostOptions::default() },
            ..FormatsOptions::default()
        };
        let error = run(&options, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("--repeat"), "{error}");
    }
}
