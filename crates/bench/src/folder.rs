//! `inrush bench folder`: the tables of an application, hundreds of small ones and a few large ones, with foreign
//! keys among them.
//!
//! A folder of files, one a table, goes into empty tables: by LOAD DATA one after the other in one client, by
//! `mariadb-import` over eight connections, and by one command of Inrush. A dump of the same tables goes into an
//! empty database: by the client, by `myloader`, and by `inrush replay`. Every way has to leave the same rows.

mod application;
mod outcome;
mod way;

use std::path::PathBuf;
use std::process::Command;

use server::identifier::quote_name;
use server::{ConnectOptions, Session};

pub use self::outcome::{ApplicationOutcome, FolderOutcome, WayOutcome};
pub use self::way::FolderWay;

use self::application::Application;
use crate::choice::Choice;
use crate::client::{self, CLIENT, DUMPER};
use crate::clock::{Clock, Took};
use crate::error::Error;
use crate::head::Head;
use crate::host::{self, DATABASE, Host, HostOptions};
use crate::program::Program;

/// Bytes of a table at most, as text and as a file; for room on the disk.
const TABLE_BYTES: u64 = 1 << 20;
/// Connections of the peers that have several.
const CONNECTIONS: &str = "8";

/// Options of a run. `FolderOptions::default()` is everything, three times.
#[derive(Clone, Debug)]
pub struct FolderOptions {
    /// Numbers of tables, an application each.
    pub tables: Vec<usize>,
    /// Which ways; empty for all.
    pub ways: Vec<FolderWay>,
    /// Runs of each way.
    pub repeat: usize,
    /// The server, and the program that is measured.
    pub host: HostOptions,
}

impl Default for FolderOptions {
    fn default() -> FolderOptions {
        let tables = vec![50, 400, 700];
        FolderOptions { tables, ways: Vec::new(), repeat: 3, host: HostOptions::default() }
    }
}

/// Runs the benchmark. `say` gets a line before each step that takes time.
///
/// Errors: no space, no server, a way that fails or whose program is not installed, and one that leaves other rows.
pub fn run(options: &FolderOptions, say: &mut dyn FnMut(&str)) -> Result<FolderOutcome, Error> {
    let most = options.tables.iter().copied().max().unwrap_or(0);
    if options.repeat == 0 || options.tables.contains(&0) || most == 0 {
        return Err(Error::Option("--repeat and --tables must be at least 1".to_owned()));
    }
    let data_dir = options.host.data_dir()?;
    let tables_bytes = most as u64 * TABLE_BYTES;
    options.host.check_space(4 * tables_bytes)?;
    let host = Host::start(&options.host, tables_bytes)?;
    let mut session = host.session()?;
    let mut outcome = FolderOutcome {
        head: Head::new(session.version().to_string()),
        server_settings: host::settings(&mut session)?,
        notes: host.notes.clone(),
        applications: Vec::new(),
    };
    for &tables in &options.tables {
        say(&format!("{tables} tables: making their files and dumps"));
        let folder = data_dir.join("folder").join(tables.to_string());
        let mut bench = Bench::new(options, &host, &mut session, folder, tables)?;
        outcome.applications.push(bench.run(say)?);
        host::remove_dir(&bench.folder)?;
    }
    if !options.host.keep {
        session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    }
    drop(session);
    host.finish()?;
    Ok(outcome)
}

/// One application, by all ways.
struct Bench<'a> {
    options: &'a FolderOptions,
    host: &'a Host,
    session: &'a mut Session,
    folder: PathBuf,
    application: Application,
    ways: Vec<FolderWay>,
    /// The sums of all tables, one a line.
    sums: String,
}

impl<'a> Bench<'a> {
    /// Makes the files, and fills the tables once for the dumps.
    fn new(
        options: &'a FolderOptions,
        host: &'a Host,
        session: &'a mut Session,
        folder: PathBuf,
        tables: usize,
    ) -> Result<Bench<'a>, Error> {
        host::remove_dir(&folder)?;
        let application = Application::make(&folder.join("files"), tables)?;
        let ways = FolderWay::chosen(&options.ways);
        let mut bench =
            Bench { options, host, session, folder, application, ways, sums: String::new() };
        bench.make_tables()?;
        bench.load_data()?;
        bench.sums = bench.sums()?;
        if bench.ways.iter().any(|way| matches!(way, FolderWay::Client | FolderWay::Replay)) {
            let mut dumper = bench.command(DUMPER);
            dumper.arg(DATABASE);
            client::run(dumper, None, Some(&bench.dump()))?;
        }
        if bench.ways.contains(&FolderWay::MyLoader) {
            let mut dumper = bench.peer("mydumper");
            dumper.arg("--outputdir").arg(bench.folder.join("mydumper"));
            client::run(dumper, None, None)?;
        }
        Ok(bench)
    }

    fn run(&mut self, say: &mut dyn FnMut(&str)) -> Result<ApplicationOutcome, Error> {
        let planned_seconds = self.plan()?;
        let mut outcome = ApplicationOutcome::of(&self.application, planned_seconds);
        for round in 0..self.options.repeat {
            for turn in 0..self.ways.len() {
                let way = self.ways[(round + turn) % self.ways.len()];
                let took = self.play(way)?;
                say(&format!("{} tables, {}: {:.2} s", outcome.tables, way.name(), took.seconds));
                outcome.push(way, took);
            }
        }
        Ok(outcome)
    }

    /// Loads the application by one way, and compares what is there then.
    fn play(&mut self, way: FolderWay) -> Result<Took, Error> {
        if way.is_of_files() {
            self.make_tables()?
        } else {
            self.make_database()?
        }
        host::settle(self.session, self.host.is_own())?;
        let clock = Clock::start(self.host.pid());
        match way {
            FolderWay::LoadData => self.load_data()?,
            FolderWay::Import => {
                let mut import = self.command("mariadb-import");
                import.args(["--local", "--ignore-foreign-keys", "--use-threads", CONNECTIONS]);
                import.arg(DATABASE).args(self.application.files());
                client::run(import, None, None)?;
            }
            FolderWay::Load => {
                let (program, connect) = self.program();
                program.load(&self.files(), DATABASE, &[], connect)?;
            }
            FolderWay::Client => {
                let mut client = self.command(CLIENT);
                client.arg(DATABASE);
                client::run(client, Some(&self.dump()), None)?;
            }
            FolderWay::MyLoader => {
                let mut loader = self.peer("myloader");
                loader.arg("--directory").arg(self.folder.join("mydumper"));
                loader.args(["--threads", CONNECTIONS]);
                client::run(loader, None, None)?;
            }
            FolderWay::Replay => {
                let (program, connect) = self.program();
                program.replay(&self.dump(), &["--into".into(), DATABASE.into()], connect)?;
            }
        }
        let took = clock.stop();
        let seen = self.sums()?;
        if seen == self.sums {
            return Ok(took);
        }
        let mut pairs = seen.lines().zip(self.sums.lines());
        let (seen, expected) = pairs.find(|(seen, expected)| seen != expected).unwrap_or_default();
        Err(Error::Different {
            table: DATABASE.to_owned(),
            method: way.name().to_owned(),
            seen: seen.to_owned(),
            reference: "LOAD DATA".to_owned(),
            expected: expected.to_owned(),
        })
    }

    /// Seconds that `inrush plan` expects of the folder, where it expects some.
    fn plan(&mut self) -> Result<Option<f64>, Error> {
        if !self.ways.contains(&FolderWay::Load) {
            return Ok(None);
        }
        self.make_tables()?;
        let (program, connect) = self.program();
        let report = program.plan(&self.files(), DATABASE, connect)?;
        Ok(report["estimate"]["seconds"].as_f64())
    }

    fn program(&self) -> (Program, &ConnectOptions) {
        (self.host.program(&self.options.host), &self.host.server.connect)
    }

    /// LOAD DATA of each file, parents first, in one client.
    fn load_data(&self) -> Result<(), Error> {
        let mut client = self.command(CLIENT);
        client.args(["--local-infile=1", DATABASE]);
        client::run(client, Some(&self.application.script), None).map(drop)
    }

    fn make_database(&mut self) -> Result<(), Error> {
        self.session.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        self.session.exec(&format!("CREATE DATABASE {DATABASE}"))?;
        self.session.exec(&format!("USE {DATABASE}"))?;
        Ok(())
    }

    fn make_tables(&mut self) -> Result<(), Error> {
        self.make_database()?;
        self.application.statements().try_for_each(|sql| Ok(self.session.exec(&sql).map(drop)?))
    }

    /// CHECKSUM TABLE of all.
    fn sums(&mut self) -> Result<String, Error> {
        let names = self.application.names().map(|name| quote_name(&name));
        let sql = format!("CHECKSUM TABLE {}", names.collect::<Vec<_>>().join(", "));
        let rows = self.session.query(&sql)?;
        let line = |row: &server::session::Row| Ok(format!("{} {}\n", row.text(0)?, row.text(1)?));
        rows.iter().map(line).collect()
    }

    fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    fn dump(&self) -> PathBuf {
        self.folder.join("dump.sql")
    }

    fn command(&self, program: &str) -> Command {
        client::command(program, &self.host.server.connect)
    }

    /// mydumper or myloader, which have options of their own.
    fn peer(&self, program: &str) -> Command {
        let connect = &self.host.server.connect;
        let mut command = Command::new(program);
        if let Some(socket) = &connect.socket {
            command.arg("--socket").arg(socket);
        }
        if let (Some(host), Some(port)) = (&connect.host, connect.port) {
            command.args(["--host", host, "--port", &port.to_string()]);
        }
        command.args(["--user", &connect.user_name(), "--database", DATABASE]);
        command
    }
}
