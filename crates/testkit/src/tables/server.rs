//! The one server of this binary, and sessions that say what they were doing when they fail.

use std::path::PathBuf;
use std::sync::OnceLock;

use load::{Error, LoadOptions, Report};
use server::session::Done;
use server::{ConnectOptions, Row, Session};

use crate::{TestServer, TestServerOptions, dialect};

/// A server that tests share, or that one has for itself.
pub struct Server {
    server: &'static TestServer,
}

/// How a server ends.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// As it is asked to.
    Shutdown,
    /// As in a crash of its process.
    Kill,
}

impl Server {
    /// None, with a line printed, if no server is installed.
    pub fn get() -> Option<Server> {
        static SERVER: OnceLock<Option<TestServer>> = OnceLock::new();
        let server = SERVER.get_or_init(|| TestServer::start_with(&options())).as_ref()?;
        Some(Server { server })
    }

    /// One that a test has for itself, and may end; it is to [`Server::remove`] it.
    pub fn own() -> Option<Server> {
        // The harness has servers that live as long as the tests.
        let server = Box::leak(Box::new(TestServer::start_with(&options())?));
        Some(Server { server })
    }

    /// A server that one test has for itself.
    pub fn of(server: &'static TestServer) -> Server {
        Server { server }
    }

    /// Ends the server and starts it again.
    pub fn restart(&self, end: End) {
        if let End::Kill = end {
            self.server.kill_9().unwrap();
        }
        self.server
            .restart()
            .unwrap_or_else(|error| panic!("{error}\n{}", self.server.error_log()));
    }

    /// Ends a server that nobody needs any more, and removes what it had.
    pub fn remove(self) {
        self.server.kill_9().unwrap();
        let _ = std::fs::remove_dir_all(self.server.dir());
    }

    /// The server itself.
    pub fn test_server(&self) -> &TestServer {
        self.server
    }

    /// Options to connect as its administrator.
    pub fn connect_options(&self) -> ConnectOptions {
        self.server.options()
    }

    /// A new database and a session in it.
    pub fn database(&self) -> Db {
        self.session(&self.server.database().unwrap())
    }

    /// A session in a database that exists.
    pub fn session(&self, name: &str) -> Db {
        let session = self.server.connect().unwrap();
        let mut db = Db { session, name: name.to_owned() };
        db.sql(&format!("USE {name}"));
        // Texts come as the bytes that are stored; the statements themselves are UTF-8.
        db.sql("SET character_set_results=NULL, sql_notes=0, max_error_count=65535");
        db
    }

    /// A folder of this test alone, gone with the server.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.server.dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A file of `bytes` in the database's own folder.
    pub fn file(&self, db: &Db, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder(&db.name).join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Options of a direct load whose journal and runs stay in the server's folder.
    pub fn options(&self, db: &Db, table: &str, files: Vec<PathBuf>) -> LoadOptions {
        let mut options = LoadOptions::new(files, &db.name, table);
        // As of large inputs, which those of tests are not.
        options.limits.defer_indexes = Some(true);
        options.state_dir = self.folder("state");
        options.limits.temp_dir = self.folder("runs");
        options.path = load::LoadPath::Direct;
        options.limits.threads = 2;
        // Random input may have no rows.
        options.allow_empty = true;
        options.limits.memory_bytes_max = 64 << 20;
        options
    }

    /// Our load.
    pub fn load(&self, options: &LoadOptions) -> Result<Report, Error> {
        load::load(&self.connect_options(), options, None, &())
    }
}

fn options() -> TestServerOptions {
    let extra = [
        // What was committed outlives a kill of the process.
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-buffer-pool-size=256M",
        "--max-allowed-packet=64M",
        "--default-time-zone=+05:30",
    ];
    let extra = extra.map(str::to_owned).into();
    TestServerOptions { extra, ..TestServerOptions::default() }
}

/// A session in a database of its own.
pub struct Db {
    session: Session,
    /// Its name, which needs no quotes.
    pub name: String,
}

impl Db {
    /// Runs a statement; an error fails the test.
    #[track_caller]
    pub fn sql(&mut self, sql: &str) -> Done {
        let done = dialect::exec(&mut self.session, sql);
        let done = done.unwrap_or_else(|error| panic!("{error}"));
        if sql.starts_with("SET ") {
            // The product is handed this session, and expects what it set itself.
            self.session.adopt_variables(&[]).unwrap_or_else(|error| panic!("{error}"));
        }
        done
    }

    /// Runs a statement that may fail.
    pub fn try_sql(&mut self, sql: &str) -> server::Result<Done> {
        dialect::exec(&mut self.session, sql)
    }

    /// Rows of a query; an error fails the test.
    #[track_caller]
    pub fn rows(&mut self, sql: &str) -> Vec<Row> {
        dialect::query(&mut self.session, sql).unwrap_or_else(|error| panic!("{error}"))
    }

    /// First column of the first row; empty for NULL.
    #[track_caller]
    pub fn text(&mut self, sql: &str) -> String {
        self.rows(sql).first().unwrap_or_else(|| panic!("no row: {sql}")).text_lossy(0)
    }

    /// First column of the first row, a number.
    #[track_caller]
    pub fn number(&mut self, sql: &str) -> u64 {
        self.text(sql).parse().unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Names of all tables, ours included.
    pub fn tables(&mut self) -> Vec<String> {
        self.rows("SHOW TABLES").iter().map(|row| row.text_lossy(0)).collect()
    }

    /// The session itself.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Warnings of the statement before: number and text.
    pub fn warnings(&mut self) -> Vec<(u16, String)> {
        // Messages are cut in mid-character by the server, so not read as text.
        let rows = self.rows("SHOW WARNINGS");
        rows.iter().map(|row| (row.number(1).unwrap(), row.text_lossy(2))).collect()
    }

    /// The same: level and text.
    pub(crate) fn remarks(&mut self) -> Vec<(String, String)> {
        let rows = self.rows("SHOW WARNINGS");
        rows.iter().map(|row| (row.text_lossy(0), row.text_lossy(2))).collect()
    }
}
