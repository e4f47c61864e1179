//! Databases to dump, and what is compared after a replay.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use server::Session;
use server::identifier::{quote_name, quote_text};
use testkit::{TestServer, TestServerOptions};

use crate::support::{Home, Outcome, run};

/// How rows may go in; every dump is replayed in both ways.
pub(super) const WAYS: [&str; 2] = ["rows", "statements"];
/// Databases that the files of `zoo/` make.
const ZOO: [(&str, &str); 4] = [
    ("types", include_str!("zoo/types.sql")),
    ("links", include_str!("zoo/links.sql")),
    ("code", include_str!("zoo/code.sql")),
    ("na` mes", include_str!("zoo/names.sql")),
];

/// A server with databases of a test's own.
pub(super) struct Yard {
    server: &'static TestServer,
    /// A server of the test alone, which is used instead.
    own: Option<TestServer>,
    pub(super) session: Session,
    pub(super) home: Home,
    /// The databases, which begin with words that no other test's do.
    pub(super) databases: Vec<String>,
}

impl Yard {
    /// All that a server can hold.
    pub(super) const ZOO: [&str; 4] = ["types", "links", "code", "na` mes"];

    /// Databases without a table: one for each of `names`. None, with a line printed, where there is
    /// no server or no mariadb-dump.
    pub(super) fn new(names: &[&str]) -> Option<Yard> {
        let server = TestServer::shared()?;
        Yard::on(server, None, names)
    }

    /// As [`Yard::of`], on a server that no other test sees.
    pub(super) fn alone(names: &[&str]) -> Option<Yard> {
        let shared = TestServer::shared()?;
        Yard::on(shared, Some(TestServer::start()?), names).map(|yard| yard.filled(names))
    }

    /// As [`Yard::new`], on a server of its own with these options.
    pub(super) fn with(extra: &[&str], names: &[&str]) -> Option<Yard> {
        let shared = TestServer::shared()?;
        let extra = extra.iter().map(|&option| option.to_owned()).collect();
        let options = TestServerOptions { extra, ..TestServerOptions::default() };
        Yard::on(shared, Some(TestServer::start_with(&options)?), names)
    }

    /// The same on one that writes a binary log.
    pub(super) fn logging(names: &[&str]) -> Option<Yard> {
        Yard::with(&["--log-bin=log", "--server-id=1"], names)
    }

    fn on(server: &'static TestServer, own: Option<TestServer>, names: &[&str]) -> Option<Yard> {
        if Command::new("mariadb-dump").arg("--version").output().is_err() {
            println!("skipped: no mariadb-dump found (install mariadb-client)");
            return None;
        }
        let used = own.as_ref().unwrap_or(server);
        let prefix = used.database().unwrap();
        let session = used.connect().unwrap();
        let databases = names.iter().map(|name| format!("{prefix}_{name}")).collect();
        let mut yard = Yard { server, own, session, home: Home::new(), databases };
        yard.make_databases();
        Some(yard)
    }

    /// The databases of `zoo/` that `names` have, with everything in them.
    pub(super) fn of(names: &[&str]) -> Option<Yard> {
        Yard::new(names).map(|yard| yard.filled(names))
    }

    fn filled(self, names: &[&str]) -> Yard {
        for (database, name) in self.databases.iter().zip(names) {
            let (_, text) = ZOO.iter().find(|(its, _)| its == name).unwrap();
            // MariaDB 11.8 shows the name of a foreign key without doubling its backquotes, so that
            // nobody can read back what it dumps of such a table.
            let text = match self.server().version().number >= (11, 0, 0) {
                true => text.replace("`by ``code```", "`by code`").replace("`fk``1`", "`fk1`"),
                false => (*text).to_owned(),
            };
            let file = self.home.file("zoo.sql", text);
            self.client(Some(database), &file).unwrap();
        }
        self
    }

    pub(super) fn server(&self) -> &TestServer {
        self.own.as_ref().unwrap_or(self.server)
    }

    pub(super) fn make_databases(&mut self) {
        for database in self.databases.clone() {
            let name = quote_name(&database);
            self.session.exec(&format!("CREATE DATABASE {name} CHARACTER SET utf8mb4")).unwrap();
        }
    }

    /// Takes the databases away.
    pub(super) fn wipe(&mut self) {
        for database in self.databases.clone() {
            self.session
                .exec(&format!("DROP DATABASE IF EXISTS {}", quote_name(&database)))
                .unwrap();
        }
    }

    /// One of MariaDB's programs, connecting to the server.
    pub(super) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        if name.starts_with("mariadb") {
            command.arg("--no-defaults");
        }
        if name == "mariadb" {
            // Where a dump does not say, it is in the character set that mariadb-dump writes.
            command.arg("--default-character-set=utf8mb4");
        }
        command.arg("--socket").arg(self.server().socket());
        if let Some(user) = self.server().options().user {
            command.args(["--user", &user]);
        }
        command.current_dir(self.home.path()).stdin(Stdio::null());
        command
    }

    /// `mariadb DATABASE < FILE`; what it said, if it failed.
    pub(super) fn client(&self, database: Option<&str>, file: &Path) -> Result<(), String> {
        let mut command = self.program("mariadb");
        command.args(database).stdin(File::open(file).unwrap());
        let outcome = command.output().unwrap();
        match outcome.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&outcome.stderr).into_owned()),
        }
    }

    /// `mariadb-dump ARGUMENTS > NAME`, in the test's folder.
    #[track_caller]
    pub(super) fn dump(&self, name: &str, arguments: &[&str]) -> PathBuf {
        let path = self.home.path().join(name);
        let mut command = self.program("mariadb-dump");
        command.args(arguments).stdout(File::create(&path).unwrap());
        let outcome = command.output().unwrap();
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert!(outcome.status.success(), "{arguments:?}: {said}");
        path
    }

    /// A dump of all databases of the test in the style of `arguments`.
    #[track_caller]
    pub(super) fn dump_all(&self, name: &str, arguments: &[&str]) -> PathBuf {
        let databases = self.databases.iter().map(String::as_str);
        let arguments: Vec<&str> =
            arguments.iter().copied().chain(["--databases"]).chain(databases).collect();
        self.dump(name, &arguments)
    }

    /// All that the databases hold, as text: the second dump, and what CHECK TABLE finds wrong.
    #[track_caller]
    pub(super) fn seen(&mut self) -> Vec<u8> {
        let there: Vec<String> = self.databases.clone();
        let mut arguments =
            vec!["--skip-dump-date", "--hex-blob", "--routines", "--triggers", "--events"];
        arguments.push("--databases");
        arguments.extend(there.iter().map(String::as_str));
        let mut text = fs::read(self.dump("seen.sql", &arguments)).unwrap();
        text.extend(self.unsound().join("\n").bytes());
        text
    }

    /// Faults that CHECK TABLE finds, and the index rows that it counts.
    fn unsound(&mut self) -> Vec<String> {
        let list: Vec<String> = self.databases.iter().map(|name| quote_text(name)).collect();
        let sql = format!(
            "SELECT CONCAT('`', REPLACE(table_schema, '`', '``'), '`.`', REPLACE(table_name, '`', '``'), '`') \
             FROM information_schema.tables WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') \
             AND table_schema IN ({}) ORDER BY 1",
            list.join(", ")
        );
        let rows = self.session.query(&sql).unwrap();
        let tables: Vec<String> = rows.iter().map(|row| row.text(0).unwrap()).collect();
        if tables.is_empty() {
            return Vec::new();
        }
        let checked = self.session.query(&format!("CHECK TABLE {}", tables.join(", "))).unwrap();
        let texts = checked.iter().map(|row| (row.text_lossy(0), row.text_lossy(3)));
        texts
            .filter(|(_, said)| said != "OK")
            .map(|(table, said)| format!("{table}: {said}"))
            .collect()
    }

    /// `inrush replay DUMP ARGUMENTS`, with little memory.
    pub(super) fn replay(&self, dump: &Path, arguments: &[&str]) -> Command {
        let mut command = self.home.inrush(["replay"]);
        command.arg(dump).args(["--threads", "2", "--memory", "120M", "--socket"]);
        command.arg(self.server().socket());
        if let Some(user) = self.server().options().user {
            command.args(["--user", &user]);
        }
        command.args(arguments);
        command
    }

    /// Replays `dump` both as rows and as statements into a server without the databases, each time
    /// with `expected` as what is [`Yard::seen`] then. Small tables go the ways of large ones.
    #[track_caller]
    pub(super) fn check(&mut self, what: &str, dump: &Path, arguments: &[&str], expected: &[u8]) {
        for way in WAYS {
            self.wipe();
            let outcome = run(self.replay(dump, &["--as", way, "--small", "1"]).args(arguments));
            self.compare(&format!("{what} as {way}"), &outcome, expected);
        }
    }

    /// Asserts that a replay was done, left the databases as `expected`, and nothing of its own.
    #[track_caller]
    pub(super) fn compare(&mut self, what: &str, outcome: &Outcome, expected: &[u8]) {
        assert_eq!(outcome.code(), 0, "{what}: {outcome:?}");
        same(what, &self.seen(), expected);
        assert_eq!(self.home.temp_files(), [""; 0], "{what}");
        // Loads of other tests have theirs.
        let sql = "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE '\\_inrush%' \
                   AND SCHEMA_NAME NOT REGEXP '^_inrush_(new|old|empty)_'";
        let left = self.session.query(sql).unwrap();
        assert!(left.is_empty(), "{what}: a database of its own is left");
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        for database in &self.databases {
            let _ = self.session.exec(&format!("DROP DATABASE IF EXISTS {}", quote_name(database)));
        }
    }
}

/// Asserts that two texts are the same, and shows the lines around the first that differs.
#[track_caller]
pub(super) fn same(what: &str, seen: &[u8], expected: &[u8]) {
    if seen == expected {
        return;
    }
    let lines = |text: &[u8]| -> Vec<String> {
        let lines = text.split(|&byte| byte == b'\n');
        lines.map(|line| String::from_utf8_lossy(line).chars().take(400).collect()).collect()
    };
    let (seen, expected) = (lines(seen), lines(expected));
    let same = seen.iter().zip(&expected).take_while(|(one, other)| one == other).count();
    let shown = |lines: &[String]| {
        let from = same.saturating_sub(12).min(lines.len());
        lines[from..(same + 4).min(lines.len())].join("\n")
    };
    panic!(
        "{what}: line {} differs\n---- seen\n{}\n---- expected\n{}\n----",
        same + 1,
        shown(&seen),
        shown(&expected)
    );
}
