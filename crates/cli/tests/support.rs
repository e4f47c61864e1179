//! Runs the program in a home of its own, and looks at what it did.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use load::journal::StepEvent;
use server::Session;
use tempfile::TempDir;
use testkit::{TestServer, dialect};

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// What MySQL lacks for appended rows of tables with foreign keys, which are sent there.
pub(crate) const MERGED_CHILDREN: &str =
    "lock under which a table with foreign keys is read and then replaced";
/// And longer than any command.
const HANGS: Duration = Duration::from_secs(300);

/// Home, state and temporary folder of one test.
pub(crate) struct Home {
    dir: TempDir,
}

/// The output of a finished command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Outcome {
    /// The exit status; -1 for a command that was killed.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// Asserts the exit status and that every one of `parts` is in the error, which is one line
    /// that begins with `inrush:`. Progress lines may come before it.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code(), code, "{self:?}");
        let errors: Vec<&str> =
            self.err.lines().filter(|line| line.starts_with("inrush: ")).collect();
        assert_eq!(errors.len(), 1, "{self:?}");
        assert_eq!(self.err.lines().last(), errors.first().copied(), "{self:?}");
        for part in parts {
            assert!(errors[0].contains(part), "{part:?} is not in {:?}", errors[0]);
        }
        for debug in ["Error {", "Some(", "Os {", "None)"] {
            assert!(!errors[0].contains(debug), "{:?}", errors[0]);
        }
    }

    /// Asserts success.
    #[track_caller]
    pub(crate) fn done(&self) -> &Outcome {
        assert_eq!(self.code(), 0, "{self:?}");
        self
    }
}

impl Home {
    pub(crate) fn new() -> Home {
        let dir = tempfile::Builder::new().prefix("inrush-cli-").tempdir().unwrap();
        for folder in ["tmp", "state", "home"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        Home { dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where runs spill to: nothing may stay there.
    pub(crate) fn temp_dir(&self) -> PathBuf {
        self.path().join("tmp")
    }

    /// Writes a file.
    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, contents).unwrap();
        path
    }

    /// The program, with nothing of the environment that would change what it does.
    pub(crate) fn inrush<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_inrush"));
        testkit::program::settle(&mut command, self.path())
            .args(arguments)
            // What is learned of a collation is the same for every test.
            .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command
    }

    /// `inrush load FILES --into DB.TABLE -S SOCKET`, two threads, little memory.
    pub(crate) fn load(&self, server: &TestServer, into: &str, file: &Path) -> Command {
        let mut command = self.inrush(["load"]);
        // A later --path overrides it.
        command.arg(file).args(["--into", into, "--path", "direct"]);
        command.args(["--threads", "2", "--memory", "40M", "--socket"]).arg(server.socket());
        if let Some(user) = server.options().user {
            command.args(["--user", &user]);
        }
        command
    }

    /// Files in the temporary folder.
    pub(crate) fn temp_files(&self) -> Vec<String> {
        names(&self.temp_dir())
    }

    /// Steps of the only job, or of the last: `rows.begin` and so on.
    pub(crate) fn journal(&self) -> Vec<String> {
        let jobs = load::jobs::list(&self.path().join("state/inrush")).unwrap().0;
        let Some(last) = jobs.first() else { return Vec::new() };
        let name = |what: &StepEvent| format!("{}.{}", what.step, what.event.name());
        last.entries.iter().map(|entry| name(&entry.what)).collect()
    }
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Outcome {
    finish(start(command))
}

/// Starts a command whose output is wanted later.
pub(crate) fn start(command: &mut Command) -> Child {
    static SIGNALS: Once = Once::new();
    SIGNALS.call_once(heed_signals);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A shell has what it starts in the background ignore Ctrl-C, whose programs go on ignoring it; a
/// program that handles a signal, as this one then does, passes on the usual meaning.
fn heed_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        let always = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_default(signal, always).unwrap();
    }
}

/// Waits for a command that [`start`] started, and kills one that hangs.
#[track_caller]
pub(crate) fn finish(child: Child) -> Outcome {
    let pid = child.id();
    let (ended, end) = channel();
    std::thread::spawn(move || ended.send(child.wait_with_output()));
    let output = end.recv_timeout(HANGS).unwrap_or_else(|_| {
        signal(pid, "-KILL");
        panic!("it hangs: {:?}", end.recv_timeout(PATIENCE));
    });
    let output = output.unwrap();
    Outcome {
        status: output.status,
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Waits until a failpoint has stopped the process.
#[track_caller]
pub(crate) fn wait_paused(child: &mut Child) {
    let stat = format!("/proc/{}/stat", child.id());
    let start = Instant::now();
    loop {
        let text = fs::read_to_string(&stat).unwrap();
        // The state follows the name, which stands in parentheses.
        match text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
            Some('T') => return,
            Some('Z') => panic!("it ended: {:?}", child.wait()),
            _ => {}
        }
        assert!(start.elapsed() < PATIENCE, "never paused");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a process watches for the signals that ask it to stop, or has ended: before that they just
/// end it.
#[track_caller]
pub(crate) fn wait_watching(child: &mut Child) {
    // Bits of SIGHUP, SIGINT and SIGTERM, counted from 1.
    const STOPS: u64 = 1 << 0 | 1 << 1 | 1 << 14;
    let status = format!("/proc/{}/status", child.id());
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() & STOPS == STOPS {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "it never watched for signals");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Lets a paused process go on.
pub(crate) fn resume(child: &Child) {
    signal(child.id(), "-CONT");
}

pub(crate) fn signal(pid: u32, signal: &str) {
    let done = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(done.success());
}

/// Names in a folder, sorted; none if it is not there.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Tables of a database, sorted.
pub(crate) fn tables(session: &mut Session, database: &str) -> Vec<String> {
    let rows = session.query(&format!("SHOW TABLES FROM `{database}`")).unwrap();
    let mut names: Vec<String> = rows.iter().map(|row| row.text(0).unwrap()).collect();
    names.sort();
    names
}

/// Rows and their checksum: equal for tables with the same rows.
pub(crate) type Contents = (u64, String);

/// Connections of others that wait for a statement, once they are the same ones twice: one that has its
/// answer is still said to be at work for a moment.
pub(crate) fn idle_connections(session: &mut Session) -> Vec<u64> {
    let idle = "SELECT ID FROM information_schema.PROCESSLIST \
                WHERE ID<>CONNECTION_ID() AND COMMAND='Sleep' ORDER BY ID";
    let mut before = None;
    loop {
        let rows = session.query(idle).unwrap();
        let seen: Vec<u64> = rows.iter().map(|row| row.number(0).unwrap()).collect();
        if before.as_ref() == Some(&seen) {
            return seen;
        }
        before = Some(seen);
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub(crate) fn contents(session: &mut Session, table: &str) -> Contents {
    let count = session.query_row(&format!("SELECT COUNT(*) FROM {table}")).unwrap();
    let sum = session.query_row(&format!("CHECKSUM TABLE {table}")).unwrap();
    (count.number(0).unwrap(), sum.text(1).unwrap())
}

/// Asserts that the server finds nothing wrong with a table.
#[track_caller]
pub(crate) fn check_table(session: &mut Session, table: &str) {
    let rows = session.query(&format!("CHECK TABLE {table} EXTENDED")).unwrap();
    let texts: Vec<String> = rows.iter().map(|row| row.text_lossy(3)).collect();
    assert_eq!(texts, ["OK"], "{table}");
}

/// A table with a primary, a unique and a plain key and off-page values.
pub(crate) const COLUMNS: &str = "(id INT NOT NULL PRIMARY KEY, n INT NOT NULL, \
     name VARCHAR(40) NOT NULL, body TEXT, UNIQUE KEY n (n), KEY name (name, n)) ENGINE=InnoDB";

/// `count` lines for [`COLUMNS`], not in key order.
pub(crate) fn lines(count: u32) -> String {
    let mut text = String::new();
    for line in 0..count {
        let id = line.wrapping_mul(7_919) % count;
        let body = match id % 400 {
            7 => "long ".repeat(4_000),
            8 => "\\N".to_owned(),
            _ => format!("body of {id}"),
        };
        let n = u64::from(id) * 48_271 % 2_147_483_647;
        writeln!(text, "{id}\t{n}\tname {:05}\t{body}", n % 5_000).unwrap();
    }
    text
}

/// Contents of a table of [`COLUMNS`] after LOAD DATA of `file`.
pub(crate) fn reference(session: &mut Session, database: &str, file: &Path) -> Contents {
    let table = format!("{database}.reference");
    session.exec(&format!("CREATE TABLE {table} {COLUMNS}")).unwrap();
    let sql = format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {table}");
    session.load_local(&sql, fs::File::open(file).unwrap()).unwrap();
    let contents = contents(session, &table);
    session.exec(&format!("DROP TABLE {table}")).unwrap();
    contents
}

/// A home, and a database of its own on the shared server.
pub(crate) struct Desk {
    pub(crate) server: &'static TestServer,
    pub(crate) session: Session,
    pub(crate) home: Home,
    pub(crate) database: String,
}

impl Desk {
    pub(crate) fn new() -> Option<Desk> {
        Some(Desk::on(TestServer::shared()?))
    }

    /// The same on a server of some tests alone.
    pub(crate) fn on(server: &'static TestServer) -> Desk {
        let database = server.database().unwrap();
        let mut session = server.connect().unwrap();
        session.exec(&format!("USE {database}")).unwrap();
        Desk { server, session, home: Home::new(), database }
    }

    pub(crate) fn table(&self, name: &str) -> String {
        format!("{}.{name}", self.database)
    }

    pub(crate) fn exec(&mut self, sql: &str) {
        dialect::exec(&mut self.session, sql).unwrap();
    }

    /// Rows of a query, columns joined with `|`; NULL is empty.
    pub(crate) fn rows(&mut self, sql: &str) -> Vec<String> {
        let rows = dialect::query(&mut self.session, sql).unwrap();
        let text = |row: &server::session::Row| {
            let fields: Vec<String> = (0..row.len()).map(|column| row.text_lossy(column)).collect();
            fields.join("|")
        };
        rows.iter().map(text).collect()
    }

    /// `inrush load FILE --into DB.TABLE` with `more` arguments.
    pub(crate) fn load(&self, table: &str, file: &Path, more: &[&str]) -> Outcome {
        run(self.home.load(self.server, &self.table(table), file).args(more))
    }

    /// `inrush verify FILE --into DB.TABLE` with `more` arguments.
    pub(crate) fn verify(&self, table: &str, file: &Path, more: &[&str]) -> Outcome {
        let load = self.home.load(self.server, &self.table(table), file);
        let arguments: Vec<_> = load.get_args().skip(1).map(ToOwned::to_owned).collect();
        run(self.home.inrush(["verify"]).args(arguments).args(more))
    }

    /// Loads `text` into a fresh table and gives its rows in key order.
    pub(crate) fn load_text(&mut self, columns: &str, text: &[u8], more: &[&str]) -> Vec<String> {
        self.exec("DROP TABLE IF EXISTS t");
        self.exec(&format!("CREATE TABLE t ({columns})"));
        let file = self.home.file("text", text);
        self.load("t", &file, more).done();
        self.rows("SELECT * FROM t ORDER BY 1")
    }

    /// Files of the database's folder.
    pub(crate) fn files(&self) -> Vec<String> {
        names(&self.server.datadir().join(&self.database))
    }
}
