//! Unsupported loads are refused before anything is done, naming the feature.

use std::collections::BTreeSet;
use std::path::Path;

use load::Error;
use testkit::{TestServer, TestServerOptions};

use testkit::tables::server::{Db, Server};

/// A table `b` of `a VARCHAR(9)`-like first column, and what the error must name.
const TABLES: [(&str, &str); 22] = [
    (
        "CREATE TABLE b (a INT PRIMARY KEY) PARTITION BY RANGE (a) SUBPARTITION BY HASH (a) \
         (PARTITION p VALUES LESS THAN MAXVALUE)",
        "partitions (subpartitions)",
    ),
    ("CREATE TABLE b (a INT, g INT AS (a + 1))", "generated column"),
    ("CREATE TABLE b (a INT, g INT AS (a + 1) STORED)", "generated column"),
    ("CREATE TABLE b (a INT, g INT AS (a + 1), KEY (g))", "generated column"),
    ("CREATE TABLE b (a INT CHECK (a > 0))", "CHECK"),
    ("CREATE TABLE b (a INT, CONSTRAINT positive CHECK (a > 0))", "positive"),
    ("CREATE TABLE b (a TEXT, FULLTEXT KEY words (a))", "FULLTEXT"),
    ("CREATE TABLE b (a INT, g POINT NOT NULL, SPATIAL KEY place (g))", "SPATIAL"),
    ("CREATE TABLE b (a INT) ROW_FORMAT=COMPRESSED", "COMPRESSED"),
    ("CREATE TABLE b (a INT) ROW_FORMAT=REDUNDANT", "REDUNDANT"),
    ("CREATE TABLE b (a INT) PAGE_COMPRESSED=1", "page compression"),
    ("CREATE TABLE b (a VARCHAR(9) COMPRESSED)", "COMPRESSED"),
    ("CREATE TABLE b (a INT) WITH SYSTEM VERSIONING", "system versioning"),
    ("CREATE TABLE b (a INT, s DATE, e DATE, PERIOD FOR p (s, e))", "period"),
    ("CREATE TABLE b (a INT) DATA DIRECTORY='{elsewhere}'", "DATA DIRECTORY"),
    ("CREATE TABLE b (a INT) ENGINE=MyISAM", "storage engine"),
    ("CREATE TABLE b (a BLOB UNIQUE)", "UNIQUE on a long column"),
    (
        "CREATE TABLE b (a VARCHAR(9) CHARACTER SET latin2 COLLATE latin2_czech_cs UNIQUE)",
        "latin2_czech_cs",
    ),
    (
        "CREATE TABLE b (a VARCHAR(9) CHARACTER SET cp1250 COLLATE cp1250_czech_cs, KEY (a(3)))",
        "cp1250_czech_cs",
    ),
    ("CREATE VIEW b AS SELECT 1 AS a", "view"),
    ("CREATE SEQUENCE b", "sequence"),
    (
        "CREATE TABLE b (a INT); CREATE TRIGGER before_b BEFORE INSERT ON b FOR EACH ROW SET NEW.a=1",
        "before_b",
    ),
];

#[test]
fn unsupported_tables_are_refused_by_name() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let elsewhere = server.folder(&format!("{}_elsewhere", db.name));
    let path = server.file(&db, "input", "7\n");
    let datadir = server.test_server().datadir().join(&db.name);
    for (sql, feature) in TABLES {
        let drop = db.tables().contains(&"b".to_owned());
        if drop {
            let kind = db.text(
                "SELECT TABLE_TYPE FROM information_schema.TABLES \
                                WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='b'",
            );
            let kind = if kind == "VIEW" {
                "VIEW"
            } else if kind == "SEQUENCE" {
                "SEQUENCE"
            } else {
                "TABLE"
            };
            db.sql(&format!("DROP {kind} b"));
        }
        for statement in sql.replace("{elsewhere}", &elsewhere.display().to_string()).split("; ") {
            db.sql(statement);
        }
        let before = (db.tables(), files(&datadir));
        let mut options = server.options(&db, "b", vec![path.clone()]);
        options.input.columns = Some(vec!["a".to_owned()]);
        let error = server.load(&options).unwrap_err();
        assert!(error.to_string().contains(feature), "{sql}: {error}");
        assert!(error.to_string().contains(&db.name), "{sql}: the target is not named: {error}");
        assert_eq!(error.exit_status(), 2, "{sql}: {error}");
        assert_eq!((db.tables(), files(&datadir)), before, "{sql}");
    }
}

fn files(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// A collation Inrush cannot order is no hindrance to a column that no key has.
#[test]
fn a_collation_matters_in_keys_only() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql(
        "CREATE TABLE b (id INT PRIMARY KEY, a VARCHAR(9) CHARACTER SET latin2 \
         COLLATE latin2_czech_cs, KEY (id, a)) ENGINE=InnoDB",
    );
    let path = server.file(&db, "input", "1\t\u{e9}\n");
    let options = server.options(&db, "b", vec![path]);
    let error = server.load(&options).unwrap_err();
    assert!(error.to_string().contains("latin2_czech_cs"), "{error}");
    db.sql("ALTER TABLE b DROP KEY id");
    db.sql("ALTER TABLE b FORCE");
    assert_eq!(server.load(&options).unwrap().rows, 1);
}

/// Servers whose every table is refused.
#[test]
fn unfit_servers_are_refused_by_name() {
    let keys = std::env::temp_dir().join(format!("inrush-keys-{}", std::process::id()));
    std::fs::write(&keys, format!("1;{}\n", "0123456789abcdef".repeat(2))).unwrap();
    let key_file = format!("--file-key-management-filename={}", keys.display());
    let with_keys = |options: &[&str]| -> Vec<String> {
        let given = options.iter().map(|&option| option.to_owned());
        TestServer::plugin("file_key_management").into_iter().chain(given).collect()
    };
    let plain = |options: &[&str]| options.iter().map(|&option| option.to_owned()).collect();
    let cases: [(Vec<String>, &str, &str); 4] = [
        (plain(&["--log-bin=log", "--server-id=1"]), "", "binary log"),
        (plain(&["--innodb-file-per-table=0"]), "", "shared tablespace"),
        (with_keys(&[&key_file, "--innodb-encrypt-tables=ON"]), "", "encrypted"),
        (with_keys(&[&key_file]), "ENCRYPTED=YES", "encrypted"),
    ];
    for (extra, table_option, feature) in cases {
        let options = TestServerOptions { extra, ..TestServerOptions::default() };
        let Some(test_server) = TestServer::start_with(&options) else { return };
        let database = test_server.database().unwrap();
        let mut session = test_server.connect().unwrap();
        session.exec(&format!("CREATE TABLE {database}.b (a INT) {table_option}")).unwrap();
        let input = test_server.dir().join("input");
        std::fs::write(&input, "7\n").unwrap();
        let mut options = load::LoadOptions::new(vec![input], &database, "b");
        options.state_dir = test_server.dir().join("state");
        options.path = load::LoadPath::Direct;
        let error = load::load(&test_server.options(), &options, None, &()).unwrap_err();
        assert!(error.to_string().contains(feature), "{error}");
        assert!(matches!(error, Error::Unfit { .. }), "{error}");
        let tables = session.query(&format!("SHOW TABLES FROM {database}")).unwrap();
        assert_eq!(tables.len(), 1, "{feature}");
    }
    std::fs::remove_file(keys).unwrap();
}

/// Two loads of one table: the second is told of the first, which goes on.
#[test]
fn a_table_that_is_being_loaded_is_busy() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (a INT PRIMARY KEY, t TEXT) ENGINE=InnoDB");
    let rows: String = (0..40_000).map(|row| format!("{row}\t{row} text\n")).collect();
    let path = server.file(&db, "input", rows);
    let options = server.options(&db, "b", vec![path]);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..2).map(|_| scope.spawn(|| server.load(&options))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    // The second waits a little for the first; then the table is not empty any more.
    let errors: Vec<String> =
        outcomes.iter().filter_map(|o| o.as_ref().err()).map(ToString::to_string).collect();
    assert_eq!(errors.len(), 1, "{outcomes:?}");
    let expected = ["another load", "not empty"];
    assert!(expected.iter().any(|text| errors[0].contains(text)), "{errors:?}");
    whole(&mut db);
}

fn whole(db: &mut Db) {
    assert_eq!(db.text("SELECT CONCAT(COUNT(*), ' ', SUM(a)) FROM b"), "40000 799980000");
    assert_eq!(db.tables(), ["b"]);
}
