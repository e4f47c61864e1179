//! Servers for tests: started in a quarter of a second, gone with the test.
//!
//! Each runs on a sparse copy of a data directory that is made once (`template`).

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sandbox::TemporaryServer;
use sandbox::mariadbd::{Binary, Place, Wrapper};
use server::error::{Error, Result};
use server::identifier::quote_name;
use server::version::{Flavor, Version};
use server::{ConnectOptions, Session, UntestedBuilds};

use crate::template;

/// Environment variable that names another `mariadbd` for the tests.
pub const BINARY_VARIABLE: &str = "INRUSH_TEST_MARIADBD";

/// Environment variable that names a `mysqld` for the tests that want MySQL.
pub const MYSQL_VARIABLE: &str = "INRUSH_TEST_MYSQLD";

/// Environment variable that keeps a server's folder until tests run again.
const KEEP_VARIABLE: &str = "INRUSH_KEEP";

const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Small and forgetful: nothing survives the machine, everything survives a kill of the process.
const FAST: [&str; 6] = [
    "--innodb-flush-method=nosync",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-fast-shutdown=2",
    "--innodb-buffer-pool-dump-at-shutdown=0",
    "--innodb-stats-persistent-sample-pages=8",
];

/// How a test's server is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestServerOptions {
    /// Flushes as a real server does (commit, doublewrite): for tests of crashes.
    pub durable: bool,
    /// More options, `--name=value` each; later ones win.
    pub extra: Vec<String>,
    /// The `mariadbd` to run; None takes the one tests run on.
    pub binary: Option<PathBuf>,
    /// A data directory to begin with a copy of: a restored backup. None takes a new one.
    pub restored: Option<PathBuf>,
    /// The data directory itself, made before, which stays when the server ends. None makes one.
    pub in_place: Option<PathBuf>,
    /// Options that the data directory is made with and every start needs: the size of pages.
    pub datadir: Vec<String>,
    /// Environment variables of the server's process.
    pub environment: Vec<(&'static str, String)>,
}

/// A server of a test. Killed, and its files removed, when it is dropped or the process ends.
pub struct TestServer {
    dir: PathBuf,
    pub(crate) server: TemporaryServer,
}

static DIRS: AtomicU32 = AtomicU32::new(0);
static DATABASES: AtomicU32 = AtomicU32::new(0);

impl TestServer {
    /// A fast server of this test alone; None, with a line printed, when none is installed.
    ///
    /// Panics when an installed server does not start: that is a failed test, not a skipped one.
    pub fn start() -> Option<TestServer> {
        TestServer::start_with(&TestServerOptions::default())
    }

    /// A server set up by `options`; else as [`TestServer::start`].
    pub fn start_with(options: &TestServerOptions) -> Option<TestServer> {
        match TestServer::try_start(options) {
            Ok(server) => Some(server),
            Err(Error::NoServer(program, variable)) => {
                println!("skipped: no {program} found (install mariadb-server or set {variable})");
                None
            }
            Err(e) => panic!("{e}"),
        }
    }

    /// As [`TestServer::start_with`], of the MySQL that [`MYSQL_VARIABLE`] names; None, with a line
    /// printed, when it names none.
    pub fn mysql(extra: Vec<String>) -> Option<TestServer> {
        TestServer::mysql_in(extra, Vec::new())
    }

    /// As [`TestServer::mysql`], with environment variables of the server's process.
    pub fn mysql_in(
        extra: Vec<String>,
        environment: Vec<(&'static str, String)>,
    ) -> Option<TestServer> {
        let Some(path) = std::env::var_os(MYSQL_VARIABLE).filter(|path| !path.is_empty()) else {
            println!("skipped: {MYSQL_VARIABLE} names no mysqld");
            return None;
        };
        let binary = Some(PathBuf::from(path));
        TestServer::start_with(&TestServerOptions {
            binary,
            extra,
            environment,
            ..Default::default()
        })
    }

    /// Arguments that load a plugin: one of the server's own, or of those that `make test` has
    /// unpacked into the build folder because the installed packages lack them.
    pub fn plugin(name: &str) -> Vec<String> {
        let mut options = vec![format!("--plugin-load-add={name}")];
        let folder = unpacked(&format!("{name}.so"));
        options.extend(folder.map(|folder| format!("--plugin-dir={}", folder.display())));
        options
    }

    /// The program `mariadb-backup`: beside the `mariadbd` that the environment names, else installed, or
    /// unpacked as plugins are. None, with a line printed, when there is none.
    pub fn backup_program() -> Option<PathBuf> {
        const NAME: &str = "mariadb-backup";
        if let Some(server) = std::env::var_os(BINARY_VARIABLE) {
            let beside = Path::new(&server).with_file_name(NAME);
            if !beside.exists() {
                println!("skipped: no {} found", beside.display());
            }
            return Some(beside).filter(|program| program.exists());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let installed =
            std::env::split_paths(&path).map(|dir| dir.join(NAME)).find(|path| path.exists());
        let found = installed.or_else(|| Some(unpacked(NAME)?.join(NAME)));
        if found.is_none() {
            println!("skipped: no {NAME} found");
        }
        found
    }

    /// One server for all tests of this process, for tests that keep to a database of their own.
    pub fn shared() -> Option<&'static TestServer> {
        static SHARED: OnceLock<Option<TestServer>> = OnceLock::new();
        SHARED.get_or_init(TestServer::start).as_ref()
    }

    fn try_start(options: &TestServerOptions) -> Result<TestServer> {
        let binary = match (&options.binary, std::env::var_os(BINARY_VARIABLE)) {
            (Some(path), _) => Binary::at(path.clone(), "the test's server")?,
            (None, Some(_)) => Binary::find(BINARY_VARIABLE)?,
            (None, None) => Binary::find(sandbox::BINARY_VARIABLE)?,
        };
        remove_dead_dirs();
        let mut arguments = template::common(&binary);
        arguments.extend(options.datadir.iter().cloned());
        let number = DIRS.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("inrush-test-{}-{number}", std::process::id()));
        make_dir(&dir)?;
        let place = Place {
            datadir: options.in_place.clone().unwrap_or_else(|| dir.join("data")),
            socket: dir.join("s.sock"),
            pid_file: dir.join("pid"),
            error_log: dir.join("error.log"),
            tmpdir: dir.join("tmp"),
            wrapper: Wrapper::DiesWithUs,
        };
        make_dir(&place.tmpdir)?;
        if options.in_place.is_none() {
            let from = match &options.restored {
                Some(restored) => restored.clone(),
                None => template::of(&binary, &arguments)?,
            };
            template::copy(&from, &place.datadir)?;
            // MySQL's own name for the server, which a replica must not share.
            let _ = fs::remove_file(place.datadir.join("auto.cnf"));
        }
        if !options.durable {
            arguments.extend(FAST.map(str::to_owned));
        }
        arguments.extend(options.extra.iter().cloned());
        let server = TemporaryServer::new(binary, place, arguments, START_TIMEOUT)
            .with_environment(options.environment.clone());
        server.start()?;
        Ok(TestServer { dir, server })
    }

    /// A session as the server's administrator.
    pub fn connect(&self) -> Result<Session> {
        Session::connect(&self.options())
    }

    /// Options to connect as the server's administrator. Tests are what builds are tested by.
    pub fn options(&self) -> ConnectOptions {
        let untested = UntestedBuilds { are_allowed: true, ..UntestedBuilds::default() };
        ConnectOptions { untested, ..self.server.place.connect_options() }
    }

    /// The server's version.
    pub fn version(&self) -> &Version {
        &self.server.binary.version
    }

    /// True for MySQL, which then has nothing of what `only_mariadb` names: a line says that the test
    /// was skipped.
    pub fn lacks(&self, only_mariadb: &str) -> bool {
        let lacks = self.is_mysql();
        if lacks {
            println!("skipped: MySQL has no {only_mariadb}");
        }
        lacks
    }

    /// True for MySQL.
    pub fn is_mysql(&self) -> bool {
        self.version().flavor == Flavor::MySql
    }

    /// Names of the files in a database's folder for tables, sorted. Only MariaDB describes tables in files.
    pub fn table_files(&self, tables: &[&str]) -> Vec<String> {
        let endings: &[&str] = if self.is_mysql() { &["ibd"] } else { &["frm", "ibd"] };
        let mut names = Vec::new();
        for table in tables {
            names.extend(endings.iter().map(|ending| format!("{table}.{ending}")));
        }
        names.sort();
        names
    }

    /// The same with the file that describes the database, which only MariaDB has.
    pub fn database_files(&self, tables: &[&str]) -> Vec<String> {
        let mut names = self.table_files(tables);
        names.extend((!self.is_mysql()).then(|| "db.opt".to_owned()));
        names.sort();
        names
    }

    /// Its socket.
    pub fn socket(&self) -> &Path {
        &self.server.place.socket
    }

    /// Its data directory.
    pub fn datadir(&self) -> &Path {
        &self.server.place.datadir
    }

    /// A folder for a test's own files, removed with the server.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A new, empty database, no other test's; its name.
    pub fn database(&self) -> Result<String> {
        let name = format!("t{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        self.connect()?
            .exec(&format!("CREATE DATABASE {} CHARACTER SET latin1", quote_name(&name)))?;
        Ok(name)
    }

    /// Kills the server as a crash would: no flush, no goodbye. [`TestServer::restart`] follows.
    pub fn kill_9(&self) -> Result<()> {
        self.server.kill_9()
    }

    /// Starts the server again after [`TestServer::kill_9`], or stops it cleanly and starts it.
    pub fn restart(&self) -> Result<()> {
        self.restart_with(Vec::new())
    }

    /// As [`TestServer::restart`], this once with more options.
    pub fn restart_with(&self, extra: Vec<String>) -> Result<()> {
        self.stop()?;
        self.server.start_with(&extra)
    }

    /// Ends the server cleanly; nothing if it does not run.
    pub fn stop(&self) -> Result<()> {
        self.server.stop()
    }

    /// The server's error log so far.
    pub fn error_log(&self) -> String {
        fs::read(&self.server.place.error_log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.kill_9();
        if std::env::var_os(KEEP_VARIABLE).is_none() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// The folder beside the build, if there is one, into which `make test` has unpacked what installed
/// packages lack, `name` too.
fn unpacked(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let mut folders = program.ancestors().map(|folder| folder.join("plugins"));
    folders.find(|folder| folder.join(name).exists())
}

/// Folders of test processes that were killed before they could tidy up.
fn remove_dead_dirs() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|n| n.strip_prefix("inrush-test-")) else {
            continue;
        };
        let Some(pid) = rest.split_once('-').and_then(|(pid, _)| pid.parse::<u32>().ok()) else {
            continue;
        };
        if !Path::new(&format!("/proc/{pid}")).exists() {
            #[cfg(feature = "power")]
            crate::power::detach(&entry.path());
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn make_dir(dir: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|e| Error::io("making", dir, e))
}
