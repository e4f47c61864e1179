//! Rows of INSERTs: what becomes of them where LOAD DATA has other rules.

use load::{Error, LoadPath, OnDuplicate, RowRules};

use testkit::tables::server::{Db, Server};

const TABLE: &str = "(id INT AUTO_INCREMENT PRIMARY KEY, t VARCHAR(9), at TIMESTAMP NOT NULL,
    g INT AS (id + 1) VIRTUAL) ENGINE=InnoDB AUTO_INCREMENT=17";

/// Loads a line each into a new table `b` by INSERT's rules, each way that there is.
fn load(
    server: &Server,
    db: &mut Db,
    columns: &[&str],
    lines: &str,
    rule: OnDuplicate,
) -> Vec<Result<u64, Error>> {
    let path = server.file(db, "input", lines);
    let ways = [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert];
    let load = |way: LoadPath| {
        db.sql("DROP TABLE IF EXISTS b");
        // The direct path takes no tables with generated columns.
        let definition = match way {
            LoadPath::Direct => TABLE.replace(",\n    g INT AS (id + 1) VIRTUAL", ""),
            _ => TABLE.to_owned(),
        };
        db.sql(&format!("CREATE TABLE b {definition}"));
        let mut options = server.options(db, "b", vec![path.clone()]);
        options.path = way;
        options.rows.rules = RowRules::Insert;
        options.rows.on_duplicate = rule;
        options.input.columns = Some(columns.iter().map(|&name| name.to_owned()).collect());
        server.load(&options).map(|report| report.rows)
    };
    ways.map(load).into()
}

#[test]
fn generated_numbers_are_those_of_inserts() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let count = 1000;
    let lines = "x\t2024-01-01 00:00:00\n".repeat(count);
    // LOAD DATA would have reserved values up to 1039.
    let loaded = load(&server, &mut db, &["t", "at"], &lines, OnDuplicate::Fail);
    assert!(loaded.iter().all(|rows| matches!(rows, Ok(1000))), "{loaded:?}");
    db.sql(&format!("CREATE TABLE a {TABLE}"));
    let rows = vec!["('x', '2024-01-01 00:00:00')"; count / 2].join(",");
    for _ in 0..2 {
        db.sql(&format!("INSERT INTO a (t, at) VALUES {rows}"));
    }
    // CHECKSUM TABLE is of no use: it differs where columns are virtual.
    let all = "SELECT CONCAT_WS(' ', COUNT(*), MIN(id), MAX(id), SUM(g), MIN(t), MAX(at)) FROM ";
    assert_eq!(db.text(&format!("{all} a")), db.text(&format!("{all} b")));
    assert_eq!(db.number("SELECT MAX(id) FROM b"), 1016);
    let next = "SELECT GROUP_CONCAT(DISTINCT AUTO_INCREMENT) FROM information_schema.TABLES
        WHERE TABLE_SCHEMA = DATABASE()";
    assert_eq!(db.text(next), "1017");
}

#[test]
fn what_depends_on_statements_is_not_loaded() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let day = "2024-01-01 00:00:00";
    for (columns, lines, rule, words) in [
        (&["id", "at"][..], format!("7\t{day}\n\\N\t{day}\n"), OnDuplicate::Fail, "AUTO_INCREMENT"),
        (&["id", "at"], format!("0\t{day}\n"), OnDuplicate::Skip, "AUTO_INCREMENT"),
        (&["at"], format!("{day}\n"), OnDuplicate::Replace, "AUTO_INCREMENT"),
    ] {
        for loaded in load(&server, &mut db, columns, &lines, rule) {
            let error = loaded.unwrap_err();
            assert!(error.is_not_plain() && error.to_string().contains(words), "{error}");
            assert_eq!(db.number("SELECT COUNT(*) FROM b"), 0);
        }
    }
    for loaded in load(&server, &mut db, &["id", "at"], "7\t\\N\n", OnDuplicate::Fail) {
        let error = loaded.unwrap_err();
        assert!(matches!(error, Error::Rejected { .. }), "{error}");
    }
    let lines = format!("1\t{day}\t2\n");
    let loaded = load(&server, &mut db, &["id", "at", "g"], &lines, OnDuplicate::Fail);
    for loaded in &loaded[1..] {
        let error = loaded.as_ref().unwrap_err();
        assert!(error.is_not_plain() && error.to_string().contains("`g`"), "{error}");
    }
    let lines = format!("1\t{day}\t2\n");
    for loaded in load(&server, &mut db, &["id", "at", "@x"], &lines, OnDuplicate::Fail) {
        let error = loaded.unwrap_err();
        assert!(error.to_string().contains("no column `@x`"), "{error}");
    }
}
