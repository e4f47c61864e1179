//! Folders that the real tools wrote, replayed and dumped again. MySQL Shell's folders are written here by
//! its rules.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod shell;

use std::path::Path;
use std::process::{Command, Stdio};

use testkit::TestServer;

use crate::report::Report;
use crate::{Error, ReplayOptions, replay};

const SHOP: &str = include_str!("tests/shop.sql");
const ODD: &str = "o\"dd.name-x y";

/// A server with the databases, and one without.
struct Servers {
    source: TestServer,
    target: TestServer,
    place: tempfile::TempDir,
}

impl Servers {
    fn start() -> Option<Servers> {
        let (source, target) = (TestServer::start()?, TestServer::start()?);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("shop.sql");
        // One statement a line end, but for the bodies of routines, which hold `;` inside.
        std::fs::write(&path, format!("DELIMITER //\n{}", SHOP.replace(";\n", "//\n"))).unwrap();
        let input = std::fs::File::open(&path).unwrap();
        let done = Command::new("mariadb")
            .args(["--no-defaults", "-uroot", "-S"])
            .arg(source.socket())
            .stdin(input)
            .stdout(Stdio::null())
            .status();
        assert!(done.unwrap().success());
        Some(Servers { source, target, place })
    }

    /// A folder that anybody may write to: the server does.
    fn folder(&self, name: &str) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.place.path().join(name);
        std::fs::create_dir(&path).unwrap();
        for path in [self.place.path(), &path] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        path
    }

    fn replay(&self, set: impl FnOnce(&mut ReplayOptions), dump: &Path) -> Result<Report, Error> {
        let state = tempfile::tempdir().unwrap();
        let mut options = ReplayOptions::new(dump.to_owned());
        options.state_dir = state.path().to_owned();
        options.threads = 2;
        options.memory_bytes_max = 512 << 20;
        set(&mut options);
        replay(&self.target.options(), &options, &())
    }

    fn forget(&self, databases: &[&str]) {
        let mut session = self.target.connect().unwrap();
        for name in databases {
            let name = server::identifier::quote_name(name);
            session.exec(&format!("DROP DATABASE IF EXISTS {name}")).unwrap();
        }
    }
}

/// Runs a tool; what it prints.
fn run(tool: &str, arguments: &[&str]) -> String {
    let done = Command::new(tool).args(arguments).output().unwrap();
    let problems = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{tool} {arguments:?}: {problems}");
    String::from_utf8(done.stdout).unwrap()
}

fn is_there(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        println!("skipped: no {tool} found");
    }
    found
}

fn socket(server: &TestServer) -> &str {
    server.socket().to_str().unwrap()
}

/// All of a server's databases, or what is asked for, as text.
fn dump(server: &TestServer, more: &[&str]) -> String {
    let common = ["--no-defaults", "-uroot", "-S", socket(server), "--skip-comments", "--hex-blob"];
    run("mariadb-dump", &[&common, more].concat())
}

const WHOLE: [&str; 6] = ["--routines", "--events", "--triggers", "--databases", "shop", ODD];

#[track_caller]
fn assert_same(found: &str, wanted: &str) {
    let lines = wanted.lines().zip(found.lines());
    let differing = lines.filter(|(wanted, found)| wanted != found).take(3);
    let differing: Vec<_> = differing.map(|(a, b)| (shorten(a), shorten(b))).collect();
    assert_eq!(differing, [], "wanted, found");
    assert_eq!(found.len(), wanted.len());
}

fn shorten(line: &str) -> String {
    line.chars().take(300).collect()
}

#[test]
fn folders_of_mydumper_give_the_same_databases() {
    if !is_there("mydumper") {
        return;
    }
    let Some(servers) = Servers::start() else { return };
    let wanted = dump(&servers.source, &WHOLE);
    let only = "^(shop|o\"dd)[.]";
    let styles: [&[&str]; 3] =
        [&[], &["-F", "1"], &["--complete-insert", "-s", "10000", "-r", "9000"]];
    for (index, style) in styles.into_iter().enumerate() {
        let folder = servers.place.path().join(format!("mydumper{index}"));
        let folder_name = folder.to_str().unwrap();
        let common = [
            "-S",
            socket(&servers.source),
            "-u",
            "root",
            "-G",
            "-E",
            "-R",
            "-x",
            only,
            "-o",
            folder_name,
        ];
        run("mydumper", &[&common, style].concat());
        servers.forget(&["shop", ODD]);
        let report = servers.replay(|_| {}, &folder).unwrap();
        assert!(report.failed.is_empty());
        assert_same(&dump(&servers.target, &WHOLE), &wanted);
    }
}

#[test]
fn a_folder_of_mydumper_goes_into_one_database_and_tables_are_left_out() {
    if !is_there("mydumper") {
        return;
    }
    let Some(servers) = Servers::start() else { return };
    let folder = servers.place.path().join("mydumper");
    let name = folder.to_str().unwrap();
    run(
        "mydumper",
        &["-S", socket(&servers.source), "-u", "root", "-B", "shop", "-G", "-E", "-R", "-o", name],
    );
    servers.replay(|options| options.into = Some("copy".to_owned()), &folder).unwrap();
    let parts = ["--routines", "--events", "--triggers"];
    let wanted = dump(&servers.source, &[&parts[..], &["shop"]].concat());
    let wanted = wanted.replace("FROM shop.t", "FROM `copy`.t").replace("`shop`.", "`copy`.");
    assert_same(&dump(&servers.target, &[&parts[..], &["copy"]].concat()), &wanted);
    let mut session = servers.target.connect().unwrap();
    let databases = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME='shop'";
    assert_eq!(session.query_text(databases).unwrap().as_deref(), Some("0"));

    let chosen = |options: &mut ReplayOptions| {
        options.tables = vec!["shop.*".to_owned()];
        options.exclude = vec!["big".to_owned(), "*_second".to_owned(), "a_third".to_owned()];
    };
    servers.replay(chosen, &folder).unwrap();
    let tables = "SELECT GROUP_CONCAT(TABLE_NAME ORDER BY TABLE_NAME SEPARATOR '|') FROM \
                  information_schema.TABLES WHERE TABLE_SCHEMA='shop'";
    let found = session.query_text(tables).unwrap().unwrap();
    assert_eq!(found, "a.00001 x-schema|child|gen|nothing|parent|sq|t|zero|z_first");
}

#[test]
fn folders_of_mariadb_dump_tab_give_the_same_tables() {
    if !is_there("mariadb-dump") {
        return;
    }
    let Some(servers) = Servers::start() else { return };
    let folder = servers.folder("tab");
    let tab = format!("--tab={}", folder.display());
    // Sequences and routines are printed; what asks for them is left out.
    let mut source = servers.source.connect().unwrap();
    source.exec("DROP VIEW shop.a_third").unwrap();
    source.exec("DROP VIEW shop.m_second").unwrap();
    source.exec("CREATE VIEW shop.m_second AS SELECT id FROM shop.z_first").unwrap();
    source.exec("CREATE VIEW shop.a_third AS SELECT id FROM shop.m_second").unwrap();
    source.exec("ALTER TABLE shop.gen MODIFY n INT").unwrap();
    source.exec("DROP SEQUENCE shop.sq").unwrap();
    // Bytes of its characters that look like escapes are written as they are, for no loader to read.
    source.exec("ALTER TABLE shop.t DROP k").unwrap();
    dump(&servers.source, &[&tab, "shop"]);
    let error = servers.replay(|_| {}, &folder).unwrap_err().to_string();
    assert!(error.contains("--into"), "{error}");
    servers.replay(|options| options.into = Some("shop".to_owned()), &folder).unwrap();
    let wanted = dump(&servers.source, &["--triggers", "shop"]);
    assert_same(&dump(&servers.target, &["--triggers", "shop"]), &wanted);
}

/// A line that lacks a field would get a default, and a date that is none become zero.
#[test]
fn delimited_rows_that_the_server_would_change_are_refused() {
    let Some(target) = TestServer::start() else { return };
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("tab");
    std::fs::create_dir(&folder).unwrap();
    let table = "CREATE TABLE `t` (`id` int PRIMARY KEY, `day` date);\n";
    std::fs::write(folder.join("t.sql"), table).unwrap();
    let replay = |force: bool| {
        let mut options = ReplayOptions::new(folder.clone());
        options.state_dir = place.path().to_owned();
        options.into = Some("shop".to_owned());
        options.force = force;
        replay(&target.options(), &options, &())
    };
    for wrong in ["1\n", "1\t2024-02-31\n", "1\t\\N\n1\t\\N\n"] {
        std::fs::write(folder.join("t.txt"), format!("0\t2024-02-29\n{wrong}")).unwrap();
        let error = replay(false).unwrap_err().to_string();
        assert!(error.contains("`shop`.`t`: ") || error.contains("shop.t: "), "{error}");
        let mut session = target.connect().unwrap();
        let tables = session.query("SHOW TABLES FROM shop").unwrap();
        assert_eq!(tables.len(), 0, "{error}");
    }
    std::fs::write(folder.join("t.txt"), "0\t2024-02-29\n1\n").unwrap();
    let report = replay(true).unwrap();
    assert_eq!(report.rows, 2, "{report:?}");
}

/// Statements that `--atomic` runs at its end once had the name of the folder in their errors.
#[test]
fn statements_of_the_end_are_reported_by_their_file() {
    let Some(target) = TestServer::start() else { return };
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("tab");
    std::fs::create_dir(&folder).unwrap();
    let table = "CREATE TABLE `t` (`id` int PRIMARY KEY);\n";
    std::fs::write(folder.join("t.sql"), table).unwrap();
    std::fs::write(folder.join("t.txt"), "1\n").unwrap();
    let view = "-- A view\n\nCREATE VIEW `v` AS SELECT `id` FROM `nothing`;\n";
    std::fs::write(folder.join("v.sql"), view).unwrap();
    let mut options = ReplayOptions::new(folder.clone());
    options.state_dir = place.path().to_owned();
    options.into = Some("shop".to_owned());
    options.atomic = true;
    let error = replay(&target.options(), &options, &()).unwrap_err().to_string();
    let path = folder.join("v.sql");
    assert!(error.starts_with(&format!("{}, line 3, ", path.display())), "{error}");
}

#[test]
fn folders_of_mysql_shell_give_the_same_tables() {
    if !is_there("mariadb-dump") {
        return;
    }
    let Some(servers) = Servers::start() else { return };
    let mut source = servers.source.connect().unwrap();
    // MySQL has no sequences.
    source.exec("ALTER TABLE shop.gen MODIFY n INT").unwrap();
    source.exec("DROP SEQUENCE shop.sq").unwrap();
    source.exec("DROP VIEW shop.z_first").unwrap();
    source.exec("CREATE VIEW shop.z_first AS SELECT id FROM shop.t").unwrap();
    let wanted = dump(&servers.source, &["--triggers", "shop"]);
    for coding in ["TO_BASE64", "HEX"] {
        let folder = servers.folder(coding);
        shell::write(&mut source, &folder, coding, &["z_first", "m_second", "a_third"]);
        servers.forget(&["shop"]);
        servers.replay(|_| {}, &folder).unwrap();
        assert_same(&dump(&servers.target, &["--triggers", "shop"]), &wanted);
    }
}

/// A folder as mydumper 1.0 writes it with `--load-data --hex-blob`, of names that no file can have.
/// Source: `mydumper_write.c`, `mydumper_start_dump.c`.
const TODAY: [(&str, &[u8]); 7] = [
    (
        "metadata",
        b"# Started dump at: 2026-01-01 00:00:00\n[config]\nquote-character = BACKTICK\n\n\
          [myloader_session_variables]\nSQL_MODE='NO_AUTO_VALUE_ON_ZERO' /*!40101\n\n\
          [`mydumper_0`.`mydumper_1`]\nreal_table_name=a.b\nrows = 3\n\
          # Finished dump at: 2026-01-01 00:00:01\n",
    ),
    ("mydumper_0-schema-create.sql", b"CREATE DATABASE /*!32312 IF NOT EXISTS*/ `x.y`;\n"),
    (
        "mydumper_0.mydumper_1-schema.sql",
        b"/*!40101 SET NAMES binary*/;\nCREATE TABLE `a.b` (`id` int AUTO_INCREMENT PRIMARY KEY, `t` \
          varchar(9) CHARACTER SET latin1, `b` blob, `j` json, `ts` timestamp NULL);\n",
    ),
    ("mydumper_0.mydumper_1.00000.sql", LOAD_0),
    ("mydumper_0.mydumper_1.00000.dat", b"0\t\xe9\\t\t00FF0A\t{\"a\":1}\t1970-01-01 00:00:01\n"),
    ("mydumper_0.mydumper_1.00002.sql", LOAD_2),
    ("mydumper_0.mydumper_1.00002.dat", b"7\t\\N\t\\N\t\\N\t\\N\n8\t\t\t[]\t2026-07-01 12:00:00\n"),
];

const LOAD_0: &[u8] = b"/*!40101 SET NAMES binary*/;\n/*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n\
    /*!40101 SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO'*/;\n/*!40103 SET TIME_ZONE='+00:00' */;\n\
    LOAD DATA LOCAL INFILE 'mydumper_0.mydumper_1.00000.dat' INTO TABLE `a.b` FIELDS TERMINATED BY \
    '\\t' ENCLOSED BY '' ESCAPED BY '\\\\' LINES STARTING BY '' TERMINATED BY '\\n' \
    (`id`,`t`,@b,@j,`ts`)SET `b`=UNHEX(@b),`j`=CONVERT(@j USING UTF8MB4);\n";

const LOAD_2: &[u8] = b"/*!40101 SET NAMES binary*/;\n/*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n\
    /*!40101 SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO'*/;\n/*!40103 SET TIME_ZONE='+00:00' */;\n\
    LOAD DATA LOCAL INFILE 'mydumper_0.mydumper_1.00002.dat' INTO TABLE `a.b` FIELDS TERMINATED BY \
    '\\t' ENCLOSED BY '' ESCAPED BY '\\\\' LINES STARTING BY '' TERMINATED BY '\\n' \
    (`id`,`t`,@b,@j,`ts`)SET `b`=UNHEX(@b),`j`=CONVERT(@j USING UTF8MB4);\n";

#[test]
fn delimited_rows_of_mydumper_are_loaded() {
    let Some(server) = TestServer::start() else { return };
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("today");
    std::fs::create_dir(&folder).unwrap();
    for (name, text) in TODAY {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let mut options = ReplayOptions::new(folder);
    options.state_dir = place.path().to_owned();
    let report = replay(&server.options(), &options, &()).unwrap();
    assert_eq!(report.notes, Vec::<String>::new());
    let mut session = server.connect().unwrap();
    session.exec("SET time_zone='+00:00'").unwrap();
    let rows = "SELECT GROUP_CONCAT(CONCAT_WS('|', id, HEX(t), HEX(b), j, ts) ORDER BY id SEPARATOR '/') \
                FROM `x.y`.`a.b`";
    assert_eq!(
        session.query_text(rows).unwrap().unwrap(),
        "0|E909|00FF0A|{\"a\":1}|1970-01-01 00:00:01/7/8|||[]|2026-07-01 12:00:00"
    );
}
