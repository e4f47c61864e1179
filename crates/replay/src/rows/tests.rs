//! Tables of dumps, whose rows go in by the first way that takes them: the same tables as by the
//! dump's statements one after the other.
#![allow(clippy::unwrap_used)]

use sources::ReadAs;
use std::path::Path;
use std::sync::Arc;

use schema::TableName;
use server::session::Session;
use sources::dump::SqlReader;
use sql::StatementKind;
use testkit::TestServer;

use super::*;
use crate::As;
use crate::journal::Spot;
use crate::reading;
use crate::route::{self, Input, Job, Shared};
use crate::sessions::Sessions;
use crate::table::{Created, Tables};

fn options(dump: &Path) -> ReplayOptions {
    let folder = dump.parent().unwrap();
    ReplayOptions {
        dump: dump.to_owned(),
        into: None,
        tables: Vec::new(),
        exclude: Vec::new(),
        map_collation: Vec::new(),
        rows_as: As::Rows,
        small_bytes_max: crate::options::SMALL_BYTES_MAX,
        atomic: false,
        force: false,
        partial: false,
        strict: false,
        show_changes: false,
        fresh: false,
        connections: Some(2),
        threads: 2,
        memory_bytes_max: 64 << 20,
        temp_dir: folder.to_owned(),
        state_dir: folder.join("state"),
        lock_wait_seconds: 5,
        stamps: None,
        tune: None,
        interrupt: server::Interrupt::default(),
    }
}

/// Where dumps are replayed.
struct Replayed<'a> {
    server: &'a TestServer,
    folder: &'a Path,
}

impl Replayed<'_> {
    /// Plays a dump of one table `t`: a staging table, its rows by [`route::put`], the swap.
    /// Returns the results, and the table.
    fn by_ways(&self, dump: &[u8]) -> (Vec<Sent>, String) {
        let path = self.folder.join("dump.sql");
        std::fs::write(&path, dump).unwrap();
        let options = options(&path);
        let connect = self.server.options();
        let database = self.server.database().unwrap();
        let mut sessions =
            Sessions { dump: self.server.connect().unwrap(), own: self.server.connect().unwrap() };
        sessions.dump.exec(&format!("USE `{database}`")).unwrap();
        let table = TableName::new(&database, "t");
        let mut tables = Tables::new(&options);
        let watch = Watch::default();
        let shared = Shared { connect: &connect, options: &options, watch: &watch, jobs_max: 1 };
        let reading = reading::options(&options, &sessions.own);
        let mut reader = SqlReader::open(&[path], reading).unwrap();
        let mut sent = Vec::new();
        while let Some(statement) = reader.next().unwrap() {
            match statement.kind {
                StatementKind::CreateTable { .. } => {
                    let made = tables.create(&mut sessions, &statement.text, &table, false);
                    assert_eq!(made.unwrap(), Created::StagingTable);
                }
                StatementKind::Insert(_) => {
                    let set = ["time_zone".to_owned()].into();
                    let state = SessionState::read(&mut sessions.dump, &set).unwrap();
                    reading::follow(&mut reader, &state);
                    let (run, handback) = reader.into_run(ReadAs::default()).unwrap();
                    let job = Job {
                        table: table.clone(),
                        staging: tables.staging(&table).cloned(),
                        is_empty: sent.is_empty(),
                        state: Arc::new(state),
                        spot: Spot::default(),
                        input: Input::Run(Box::new(run)),
                    };
                    sent.push(route::put(shared, job, &UnderWay::new(0)).unwrap());
                    reader = handback.wait().unwrap();
                }
                _ => {
                    sessions.dump.exec_bytes(&statement.text).unwrap();
                    sessions.dump.adopt_variables(&[]).unwrap();
                }
            }
        }
        tables.publish(&mut sessions, &[table]).unwrap();
        let rows: u64 = sent.iter().map(|sent| sent.rows).sum();
        assert_eq!(watch.rows(), rows, "each row is counted once");
        (sent, contents(&mut sessions.own, &database))
    }

    /// The same by the dump's statements.
    fn serially(&self, dump: &[u8]) -> String {
        let path = self.folder.join("serial.sql");
        std::fs::write(&path, dump).unwrap();
        let database = self.server.database().unwrap();
        let mut session = self.server.connect().unwrap();
        session.exec(&format!("USE `{database}`")).unwrap();
        let reading = reading::options(&options(&path), &session);
        let mut reader = SqlReader::open(&[path], reading).unwrap();
        while let Some(mut statement) = reader.next().unwrap() {
            if let StatementKind::Insert(_) = statement.kind {
                let state = SessionState::read(&mut session, &[].into()).unwrap();
                reading::follow(&mut reader, &state);
                statement.text = reader.whole().unwrap();
            }
            session.exec_bytes(&statement.text).unwrap();
        }
        contents(&mut session, &database)
    }

    /// Both give the same; which way the rows of each run went.
    #[track_caller]
    fn same(&self, dump: &[u8]) -> Vec<Sent> {
        let (sent, table) = self.by_ways(dump);
        assert_eq!(table, self.serially(dump), "{}", dump.escape_ascii());
        sent
    }
}

/// Definition and rows of `t`, every value as its bytes.
fn contents(session: &mut Session, database: &str) -> String {
    session.exec("SET NAMES utf8mb4, time_zone = '+00:00', sql_mode = ''").unwrap();
    let name = TableName::new(database, "t");
    let create = session.query_row(&format!("SHOW CREATE TABLE {}", name.quoted())).unwrap();
    let columns = session
        .query(&format!(
            "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_NAME = 't' AND \
             TABLE_SCHEMA = '{database}' ORDER BY ORDINAL_POSITION"
        ))
        .unwrap();
    let bytes: Vec<String> = columns
        .iter()
        .map(|row| {
            format!(
                "COALESCE(HEX({}), 'NULL')",
                server::identifier::quote_name(&row.text(0).unwrap())
            )
        })
        .collect();
    let order: Vec<String> = (1..=bytes.len()).map(|column| column.to_string()).collect();
    let rows = session
        .query(&format!(
            "SELECT {} FROM {} ORDER BY {}",
            bytes.join(", "),
            name.quoted(),
            order.join(", ")
        ))
        .unwrap();
    let row = |row: &server::Row| {
        (0..row.len()).map(|column| row.text_lossy(column)).collect::<Vec<_>>().join("|")
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    format!("{}\n{}", create.text_lossy(1), rows.join("\n"))
}

/// A session of mariadb-dump's.
const HEADER: &str = "SET NAMES utf8mb4;\nSET TIME_ZONE='+00:00';\n\
    SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO';\n";

fn dump(definition: &str, rows: &str) -> Vec<u8> {
    format!("{HEADER}CREATE TABLE `t` {definition};\n{rows}\n").into_bytes()
}

#[test]
fn rows_of_plain_literals_are_loaded() {
    let Some(server) = TestServer::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let replayed = Replayed { server, folder: folder.path() };
    let all_types = "(i INT NOT NULL, b BIGINT UNSIGNED, d DECIMAL(30,10), f FLOAT, g DOUBLE,
        day DATE, t TIME(3), dt DATETIME(6), ts TIMESTAMP NULL, y YEAR, bits BIT(12),
        e ENUM('a','b''c','\u{e9}'), s SET('x','y'), c CHAR(5), v VARCHAR(50), l LATIN_TEXT,
        bi BINARY(3), vb VARBINARY(9), bl BLOB, j JSON, u UUID, n INET6, PRIMARY KEY (i), KEY (v))"
        .replace("LATIN_TEXT", "TEXT CHARACTER SET latin1");
    let rows = "INSERT INTO `t` VALUES (1,18446744073709551615,-12345678901234567890.0123456789,\
        1.5,2.25e-300,'2024-02-29','-838:59:59.000','2024-01-01 00:00:00.000001',\
        '2024-07-01 12:00:00',2024,b'101010101010','b\\'c','x,y','\u{e9}','a\\nb\\\\\\0\\'\"','\u{e9}',\
        'ab\\0',0x00FF,x'',NULL,'123e4567-e89b-12d3-a456-426614174000','::1'),\n\
        (-2,0,0,0,0,'0000-00-00','00:00:00','0000-00-00 00:00:00',NULL,0000,NULL,'\u{e9}','','',\
        \"it's\",'',_binary 'x\\0','',x'','{\"a\": [1, \"\\\\u00e9\"]}',NULL,NULL);\n\
        INSERT INTO `t` VALUES (3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0x0FFF,NULL,NULL,\
        NULL,12,NULL,'abc',NULL,NULL,NULL,NULL,NULL);";
    let sent = replayed.same(&dump(&all_types, rows));
    assert_eq!((sent.len(), sent[0].way, sent[0].rows), (1, "direct", 3), "{sent:?}");
    for (definition, rows) in [
        ("(a INT)", "INSERT INTO t VALUES (1),(2),(1);"),
        ("(a INT PRIMARY KEY, b INT)", "REPLACE INTO t VALUES (1,1),(2,2),(1,3);"),
        ("(a INT PRIMARY KEY, b INT)", "INSERT IGNORE INTO t VALUES (1,1),(2,2),(1,3);"),
        ("(a INT DEFAULT 7, b INT, c INT INVISIBLE)", "INSERT INTO t (b) VALUES (1),(2);"),
        ("(a INT AUTO_INCREMENT KEY, b INT)", "INSERT INTO t VALUES (5,1),(0,2),(-3,4),(9,9);"),
        ("(a INT AUTO_INCREMENT KEY, b INT) AUTO_INCREMENT=9", "INSERT INTO t VALUES (NULL,1);"),
        ("(a INT AUTO_INCREMENT KEY, b INT)", "INSERT INTO t (b) VALUES (1),(2),(3);"),
    ] {
        let sent = replayed.same(&dump(definition, rows));
        assert_eq!((sent.len(), sent[0].way), (1, "direct"), "{rows}: {sent:?}");
    }
}

#[test]
fn rows_are_read_as_the_session_reads_them() {
    let Some(server) = TestServer::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let replayed = Replayed { server, folder: folder.path() };
    let table = "CREATE TABLE t (a INT, v VARCHAR(20) CHARACTER SET utf8mb4, ts TIMESTAMP NULL);\n";
    for (set, rows) in [
        ("SET NAMES latin1;", &b"(1,'\xe9\\'','2024-07-01 12:00:00')"[..]),
        ("SET NAMES gbk;", b"(1,'\xb5\x5c\\'','2024-07-01 12:00:00')"),
        ("SET NAMES sjis;", b"(1,'\x95\x5c','2024-07-01 12:00:00')"),
        ("SET NAMES binary;", b"(1,'\xc3\xa9','2024-07-01 12:00:00')"),
        ("SET TIME_ZONE='+05:30';", b"(1,'x','2024-07-01 12:00:00')"),
        ("SET SQL_MODE='NO_BACKSLASH_ESCAPES';", b"(1,'\\','2024-07-01 12:00:00'),(2,'''\\',NULL)"),
        ("SET SQL_MODE='ANSI_QUOTES';", b"(1,'\"','2024-07-01 12:00:00')"),
    ] {
        let insert = [b"INSERT INTO t VALUES ", rows, b";"].concat();
        let dump = [HEADER.as_bytes(), table.as_bytes(), set.as_bytes(), b"\n", &insert].concat();
        let sent = replayed.same(&dump);
        assert_eq!((sent.len(), sent[0].way), (1, "direct"), "{set} {sent:?}");
    }
}

#[test]
fn what_is_not_plain_goes_as_statements() {
    let Some(server) = TestServer::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let replayed = Replayed { server, folder: folder.path() };
    for (definition, rows, why) in [
        (
            "(a INT, b TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00')",
            "INSERT INTO t VALUES (1,DEFAULT);",
            "DEFAULT",
        ),
        ("(a INT, b INT)", "INSERT INTO t VALUES (1,2),(2,1+1);", "an expression"),
        ("(a INT, b INT)", "INSERT INTO t VALUES (1,2),(2,'12x');", "12x"),
        ("(a INT, b CHAR(2))", "INSERT INTO t VALUES (1,'abc');", "abc"),
        ("(a INT, b INT)", "INSERT INTO t VALUES (1,0x41);", "hexadecimal"),
        ("(a INT, b DATE)", "INSERT INTO t VALUES (1,20240102);", "number"),
        ("(a INT, b INT NOT NULL)", "INSERT INTO t VALUES (1,1),(2,NULL);", "NULL"),
        (
            "(a INT AUTO_INCREMENT KEY, b INT)",
            "INSERT INTO t VALUES (5,1),(NULL,2);\nINSERT INTO t VALUES (NULL,3);",
            "AUTO_INCREMENT",
        ),
        (
            "(a INT AUTO_INCREMENT KEY, b INT)",
            "REPLACE INTO t (b) VALUES (1),(2);",
            "AUTO_INCREMENT",
        ),
    ] {
        let sent = replayed.same(&dump(definition, rows));
        let notes = sent[0].notes.join("; ");
        assert!(matches!(sent[0].way, "parallel" | "serial"), "{rows}: {sent:?}");
        assert!(notes.contains(why), "{rows}: {notes}");
    }
    // Into rows that are there, the engine does not load.
    let two_runs = "INSERT INTO t VALUES (1,1);\nSET @x = 1;\nINSERT INTO t VALUES (2,2);";
    let sent = replayed.same(&dump("(a INT PRIMARY KEY, b INT)", two_runs));
    assert_eq!((sent[0].way, sent[1].way), ("direct", "parallel"));
}

#[test]
fn tables_that_cannot_be_built_are_streamed() {
    let Some(server) = TestServer::shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let replayed = Replayed { server, folder: folder.path() };
    for (definition, rows) in [
        ("(a INT, b INT AS (a + 1) STORED, c INT)", "INSERT INTO t (a, c) VALUES (1,2),(3,4);"),
        (
            "(a INT, b GEOMETRY)",
            "INSERT INTO t VALUES (1,0x000000000101000000000000000000F03F000000000000F03F);",
        ),
        (
            "(a INT, b CHAR(9)) PARTITION BY KEY (b) PARTITIONS 2",
            "INSERT INTO t VALUES (1,'x'),(3,'y');",
        ),
    ] {
        let sent = replayed.same(&dump(definition, rows));
        assert_eq!((sent.len(), sent[0].way), (1, "stream"), "{rows}: {sent:?}");
    }
}

#[test]
fn a_session_that_reads_values_otherwise_is_left_to_statements() {
    let why = |variables: &[(&str, &str)]| refusal(&SessionState::of(variables));
    let names = |client, connection| {
        why(&[("character_set_client", client), ("character_set_connection", connection)])
    };
    assert_eq!(names("latin1", "latin1"), None);
    assert_eq!(names("utf8mb3", "utf8mb4"), None);
    assert!(names("utf8mb4", "latin1").is_some_and(|why| why.contains("latin1")));
    assert_eq!(why(&[("sql_mode", "NO_AUTO_VALUE_ON_ZERO"), ("unique_checks", "0")]), None);
    assert!(why(&[("sql_mode", "ORACLE,EMPTY_STRING_IS_NULL")]).is_some());
    assert_eq!(why(&[("auto_increment_increment", "1")]), None);
    for (name, value) in [
        ("auto_increment_increment", "2"),
        ("timestamp", "1700000000.000000"),
        ("system_versioning_insert_history", "1"),
    ] {
        assert!(why(&[(name, value)]).is_some_and(|why| why.contains(name)), "{name}");
    }
}

#[test]
fn rows_that_may_be_in_are_not_sent_again() {
    use load::Error as E;
    let unknown = || E::SwapUnknown { target: "d.t".to_owned(), reason: "it broke".to_owned() };
    assert!(matches!(stopped(unknown(), false), Stopped::Failed(_)));
    let died = Box::new(E::Internal("a bug".to_owned()));
    let all_in = E::AllIn { error: died, target: "d.t".to_owned() };
    assert!(matches!(stopped(all_in, false), Stopped::Failed(_)));
    // A staging table is made anew.
    assert!(matches!(stopped(unknown(), true), Stopped::Unfit(_)));
    let not_plain = E::Step {
        step: "rows",
        error: Box::new(E::NotPlain("a DEFAULT".to_owned())),
        state: "d.t is unchanged".to_owned(),
        clean: true,
    };
    assert!(matches!(stopped(not_plain, false), Stopped::Unfit(_)));
    let by = || E::Stopped { by: "SIGINT", stage: "rows", target: "d.t".to_owned() };
    assert!(matches!(stopped(by(), true), Stopped::Failed(_)));
    assert!(matches!(stopped(E::InputChanged, true), Stopped::Failed(_)));
}

#[test]
fn rows_are_counted_once() {
    let watch = Watch::default();
    let counted = Counted { watch: &watch, under_way: None, rows: AtomicU64::new(0) };
    let (done_bytes, total_bytes) = (0, None);
    for (stage, rows) in
        [(Stage::Rows, 5), (Stage::Rows, 3), (Stage::Indexes, 90), (Stage::Rows, 8)]
    {
        counted.update(Snapshot { stage, rows, done_bytes, total_bytes, seconds_left: None });
    }
    assert_eq!(watch.rows(), 8);
    counted.take_back();
    assert_eq!(watch.rows(), 0);
}
