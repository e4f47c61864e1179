//! Exports from engines that lock no tables, as the stand-in plays them.

use std::path::Path;
use std::sync::Arc;

use locks::Mutex;
use server::ConnectOptions;
use testkit::TestServer;
use testkit::proxy::Fate;
use testkit::stand_in::{DATABASE, Engine, StandIn};

use super::*;

/// As SHOW CREATE TABLE has it, behind the name.
const TABLE: &str = " (\n  `a` int(11) NOT NULL,\n  `b` int(11) DEFAULT NULL,\n  PRIMARY KEY (`a`),\n  \
     KEY `b` (`b`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci";
/// More rows than vtgate keeps of an answer.
const ROWS: usize = 12_000;

/// The report of an export by four threads, the file's lines, and the statements.
fn exported(engine: Engine, folder: &Path) -> (ExportReport, usize, Vec<String>) {
    let server = StandIn::start_as(folder.join("s"), engine);
    let rows: Vec<String> = (0..ROWS).map(|row| format!("{row} {}", row % 7)).collect();
    server.make("t", TABLE, None, &rows);
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&requests);
    server.judge(move |request| {
        seen.lock().push(String::from_utf8_lossy(&request.text).into_owned());
        Fate::Done
    });
    let to = folder.join("t.tsv");
    let table = TableName::new(DATABASE, "t");
    let options =
        ExportOptions { threads: 4, ..ExportOptions::new(table, Place::File(to.clone())) };
    let connect = ConnectOptions::for_socket(server.socket());
    let report = export(&connect, &options, None, &()).unwrap();
    server.settle();
    assert_eq!(server.unknown(), Vec::<String>::new());
    assert_eq!(server.broken(), Vec::<String>::new());
    let lines = std::fs::read_to_string(to).unwrap().lines().count();
    (report, lines, std::mem::take(&mut *requests.lock()))
}

/// The file had the columns of before, and was reported as whole.
#[test]
fn a_table_that_is_altered_while_an_export_waits_for_its_lock_is_an_error() {
    let Some(server) = TestServer::shared() else { return };
    let (database, folder) = (server.database().unwrap(), tempfile::tempdir().unwrap());
    let mut other = server.connect().unwrap();
    other.exec(&format!("CREATE TABLE {database}.t (id INT PRIMARY KEY) ENGINE=InnoDB")).unwrap();
    other.exec(&format!("INSERT INTO {database}.t VALUES (1)")).unwrap();
    other.exec(&format!("LOCK TABLES {database}.t WRITE")).unwrap();
    let (connect, to) = (server.options(), folder.path().join("t.tsv"));
    let options = ExportOptions::new(TableName::new(&database, "t"), Place::File(to.clone()));
    let exported = std::thread::spawn(move || export(&connect, &options, None, &()));
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID<>CONNECTION_ID() AND INFO \
         LIKE '%LOCK TABLES%{database}%'"
    );
    while !exported.is_finished() && other.query_row(&waits).unwrap().number::<u64>(0).unwrap() == 0
    {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    other.exec(&format!("ALTER TABLE {database}.t ADD COLUMN more INT")).unwrap();
    other.exec("UNLOCK TABLES").unwrap();
    let error = exported.join().unwrap().unwrap_err();
    assert!(matches!(error, Error::Altered(_)), "{error}");
    assert!(!to.exists());
}

#[test]
fn connections_to_tidb_read_by_one_timestamp() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::TiDb { release: (8, 5), bytes: 1 << 30 };
    let (report, lines, requests) = exported(engine, folder.path());
    assert_eq!((report.threads, report.rows, lines), (4, ROWS as u64, ROWS));
    let count = |words: &str| requests.iter().filter(|sql| sql.contains(words)).count();
    assert_eq!(count("START TRANSACTION WITH CONSISTENT SNAPSHOT"), 1);
    assert_eq!(count("SET SESSION tidb_snapshot=454000000000000001"), 4);
    assert!(report.why.contains("TiDB"), "{}", report.why);
}

#[test]
fn one_connection_reads_from_vitess_however_many_rows_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let (report, lines, _) = exported(Engine::Vitess { shards: 1 }, folder.path());
    assert_eq!((report.threads, report.rows, lines), (1, ROWS as u64, ROWS));
    assert!(report.notes.iter().any(|note| note.contains("LOCK TABLES locks nothing on Vitess")));
}
