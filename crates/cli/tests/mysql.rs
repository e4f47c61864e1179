//! Loads into MySQL that send rows, and the direct path beside its binary log. Runs where
//! INRUSH_TEST_MYSQLD names a `mysqld`.

mod altered;
mod shapes;

use std::fmt::Write as _;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use server::Session;
use testkit::TestServer;

use crate::support::{Home, Outcome, run, tables};

/// A MySQL of the test's own.
struct Scene {
    server: TestServer,
    session: Session,
    home: Home,
}

impl Scene {
    fn new() -> Option<Scene> {
        Scene::of(TestServer::mysql(Vec::new()))
    }

    fn of(server: Option<TestServer>) -> Option<Scene> {
        let server = server?;
        let mut session = server.connect().unwrap();
        session.exec("CREATE DATABASE d").unwrap();
        session.exec("USE d").unwrap();
        Some(Scene { server, session, home: Home::new() })
    }

    fn exec(&mut self, sql: &str) {
        self.session.exec(sql).unwrap();
    }

    fn load(&self, table: &str, file: &Path, more: &[&str]) -> Outcome {
        run(self.home.load(&self.server, &format!("d.{table}"), file).args(more))
    }

    /// Every value of a query.
    fn values(&mut self, sql: &str) -> Vec<Vec<Option<Vec<u8>>>> {
        let rows = self.session.query(sql).unwrap();
        let values = |row: &server::session::Row| {
            (0..row.len()).map(|column| row.bytes(column).map(<[u8]>::to_vec)).collect()
        };
        rows.iter().map(values).collect()
    }

    fn lines(&mut self, sql: &str) -> Vec<String> {
        let rows = self.session.query(sql).unwrap();
        let text = |row: &server::session::Row| {
            let fields: Vec<String> = (0..row.len()).map(|column| row.text_lossy(column)).collect();
            fields.join("|")
        };
        rows.iter().map(text).collect()
    }
}

#[test]
fn mysql_gets_the_rows_of_its_own_load_data() {
    let Some(mut scene) = Scene::new() else { return };
    let columns = "id INT UNSIGNED PRIMARY KEY, i SMALLINT, d DECIMAL(10,3), f DOUBLE, \
                   s VARCHAR(30), l VARCHAR(20) CHARACTER SET latin1, b VARBINARY(9), \
                   t DATETIME(3), z TIMESTAMP NULL, y YEAR, e ENUM('one','two'), \
                   st SET('a','b'), j JSON, g INT AS (i + 1), m INT NOT NULL DEFAULT 7, \
                   p POINT SRID 0 DEFAULT (POINT(1,2)), KEY (s), UNIQUE KEY (l)";
    let list = "id,i,d,f,s,l,b,t,z,y,e,st,j,@g";
    let mut text = String::new();
    for id in 0..20_000 {
        let label = if id % 2 == 0 { "two" } else { "One" };
        let (i, d, f, milli) = (id % 30_000, id * 7, id % 100, id % 1000);
        let (second, year) = (id % 60, 1970 + id % 100);
        writeln!(
            text,
            "{id}\t{i}\t{d}.1256\t{f}e-3\tna\u{ef}ve {id} \\t \\\\\tcaf\u{e9} {id}\t\\0\\n{f}\t\
             2024-02-29 12:00:00.{milli:03}9\t2024-06-01 00:00:{second:02}\t{year}\t{label}\ta\t\
             {{\"k\": {id}}}\t\\N"
        )
        .unwrap();
    }
    let file = scene.home.file("rows.txt", &text);
    scene.exec(&format!("CREATE TABLE own ({columns})"));
    let sql = format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE own CHARACTER SET utf8mb4 ({list})");
    let done = scene.session.load_local(&sql, Cursor::new(text.into_bytes())).unwrap();
    // DECIMAL values are cut, which is a note.
    assert!(done.info.starts_with("Records: 20000  Deleted: 0  Skipped: 0"), "{}", done.info);
    let own = scene.values("SELECT * FROM own ORDER BY id");
    for path in ["stream", "insert", "auto"] {
        scene.exec(&format!("CREATE TABLE {path}_t ({columns})"));
        let outcome = scene.load(
            &format!("{path}_t"),
            &file,
            &["--verbose", "--path", path, "--columns", list],
        );
        let expected = if path == "auto" { "path stream: not direct:" } else { "path" };
        assert!(outcome.done().out.contains(expected), "{outcome:?}");
        assert_eq!(outcome.out.contains("generated column (g)"), path == "auto");
        let seen = scene.values(&format!("SELECT * FROM {path}_t ORDER BY id"));
        let differs = own.iter().zip(&seen).find(|(own, seen)| own != seen);
        assert!(own.len() == seen.len() && differs.is_none(), "{path}: {differs:?}");
    }
    scene.exec("SET GLOBAL local_infile=0");
    let more = ["--path", "auto", "--mode", "replace", "--columns", list];
    let outcome = scene.load("auto_t", &file, &more);
    assert!(outcome.done().out.contains(", insert "), "{outcome:?}");
    assert!(scene.values("SELECT * FROM auto_t ORDER BY id") == own);
    assert_eq!(tables(&mut scene.session, "d"), ["auto_t", "insert_t", "own", "stream_t"]);
}

/// A check finds the rows that MySQL refuses, and names CHECK constraints as not checked; a comparison finds changed rows.
#[test]
fn rows_are_checked_and_compared() {
    let Some(mut scene) = Scene::new() else { return };
    scene.exec("CREATE TABLE p (id INT PRIMARY KEY); INSERT INTO p VALUES (1),(2)");
    scene.exec(
        "CREATE TABLE t (id INT PRIMARY KEY, p INT, d DECIMAL(6,2), s VARCHAR(10), j JSON, UNIQUE KEY s (s), \
         CONSTRAINT few CHECK (d < 100), FOREIGN KEY by_p (p) REFERENCES p (id))",
    );
    scene.exec("INSERT INTO t VALUES (1, 1, 1.5, 'One', '{\"b\": 1, \"aa\": 2}')");
    let command = |scene: &Scene, name: &str, file: &Path| {
        let load = scene.home.load(&scene.server, "d.t", file);
        let arguments: Vec<_> = load.get_args().skip(1).map(ToOwned::to_owned).collect();
        run(scene.home.inrush([name]).args(arguments).args(["--dialect", "csv", "--header"]))
    };
    let bad = "id,p,d,s,j\n2,1,2.5,two,null\n3,9,1,three,{}\n4,1,10000,four,[]\n5,1,1,TWO,1\n6,1,1,six,{]\n1,1,500,x,1\n";
    let bad = scene.home.file("bad.csv", bad);
    let checked = command(&scene, "check", &bad);
    assert_eq!(checked.code(), 3, "{checked:?}");
    for part in [
        "6 rows, 5 of them bad",
        "foreign key",
        "line 4",
        "`s` key",
        "not checked: CHECK constraint `few`: MySQL judges rows of tables only",
    ] {
        assert!(checked.out.contains(part), "{part}: {checked:?}");
    }
    assert_eq!(scene.lines("SELECT COUNT(*) FROM t"), ["1"]);

    let good = "id,p,d,s,j\n1,1,1.50,One,\"{\"\"aa\"\": 2, \"\"b\"\": 1}\"\n";
    let same = scene.home.file("same.csv", good);
    command(&scene, "verify", &same).done();
    let other = scene.home.file("other.csv", good.replace("1.50", "1.51"));
    let compared = command(&scene, "verify", &other);
    assert_eq!(compared.code(), 3, "{compared:?}");
    assert!(compared.out.contains("1 row that the table has with other values"), "{compared:?}");
}

#[test]
fn text_behind_a_decimal_is_refused_on_each_path() {
    let Some(mut scene) = Scene::new() else { return };
    // By itself, since a value that MySQL warns of has all rows of its chunk sent strictly.
    let file = scene.home.file("rows.txt", "1\t1.25\n2\t3x\n3\t0.12x4\n4\t0.126\n");
    for rule in ["fail", "skip", "replace"] {
        for path in ["stream", "insert", "direct"] {
            scene.exec("DROP TABLE IF EXISTS t");
            scene.exec("CREATE TABLE t (a INT PRIMARY KEY, b DECIMAL(9,2))");
            let more = ["--unlogged", "--rejects-max", "9", "--on-duplicate", rule, "--path", path];
            let loaded = scene.load("t", &file, &more);
            assert_eq!(loaded.code(), 3, "{rule} {path} {loaded:?}");
            assert_eq!(scene.lines("SELECT * FROM t"), ["1|1.25", "4|0.13"], "{rule} {path}");
        }
    }
}

/// MySQL notes that a DECIMAL lost digits, which is no reason to send the rows of its chunk again.
#[test]
fn rows_with_rounded_decimals_are_sent_once() {
    let Some(mut scene) = Scene::new() else { return };
    let file = scene.home.file("rows.txt", "1\t0.126\n2\t1.25\n");
    scene.exec("CREATE TABLE t (a INT PRIMARY KEY, b DECIMAL(9,2))");
    let undone = "SHOW GLOBAL STATUS LIKE 'Com_rollback'";
    let before = scene.lines(undone);
    for more in [&["--path", "stream"][..], &["--path", "insert", "--on-duplicate", "skip"]] {
        scene.exec("TRUNCATE t");
        scene.load("t", &file, more).done();
        assert_eq!(scene.lines("SELECT * FROM t"), ["1|0.13", "2|1.25"]);
        assert_eq!(scene.lines(undone), before, "{more:?}");
    }
}

/// As a LOAD DATA of the other rows: else a number of the file could be one that was generated before.
#[test]
fn rejected_rows_use_no_auto_increment_numbers() {
    let Some(mut scene) = Scene::new() else { return };
    let file = scene.home.file("rows.txt", "\\N\tten\n\\N\t1\n2\t2\n");
    for path in ["stream", "insert"] {
        for mode in ["insert", "append"] {
            scene.exec("DROP TABLE IF EXISTS t");
            scene.exec("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n INT)");
            let more = ["--path", path, "--mode", mode, "--rejects-max", "9"];
            let loaded = scene.load("t", &file, &more);
            assert_eq!(loaded.code(), 3, "{path} {mode} {loaded:?}");
            assert_eq!(scene.lines("SELECT * FROM t"), ["1|1", "2|2"], "{path} {mode}");
        }
    }
}

#[test]
fn doubles_keep_the_sign_of_zero_and_verify_says_so() {
    let Some(mut scene) = Scene::new() else { return };
    let file = scene.home.file("rows.txt", "1\t-0\n2\t0\n3\t-1.5\n");
    for path in ["stream", "direct"] {
        scene.exec("DROP TABLE IF EXISTS t");
        scene.exec("CREATE TABLE t (a INT PRIMARY KEY, b DOUBLE)");
        scene.load("t", &file, &["--unlogged", "--path", path]).done();
        assert_eq!(scene.lines("SELECT b FROM t"), ["-0", "0", "-1.5"], "{path}");
        let mut verify = scene.home.inrush(["verify"]);
        verify.arg(&file).args(["--into", "d.t", "--dialect", "mysql", "--socket"]);
        verify.arg(scene.server.socket()).args(["--user", "root"]);
        run(&mut verify).done();
    }
}

#[test]
fn rows_that_mysql_refuses_are_rejects() {
    let Some(mut scene) = Scene::new() else { return };
    let bad = "2\tten\t2024-01-31\n3\t30\t2024-02-31\n4\t40000\t\\N\n6\t60\t\\N\n";
    let text = format!("1\t10\t2024-01-31\n{bad}5\t50\t\\N\n");
    let file = scene.home.file("rows.txt", text);
    for path in ["stream", "insert"] {
        scene.exec("DROP TABLE IF EXISTS t");
        scene.exec(
            "CREATE TABLE t (id INT PRIMARY KEY, n SMALLINT NOT NULL CHECK (n < 55), d DATE)",
        );
        let rejects = scene.home.path().join("rejects");
        let more = ["--path", path, "--rejects", rejects.to_str().unwrap(), "--rejects-max", "9"];
        let outcome = scene.load("t", &file, &more);
        assert_eq!(outcome.code(), 3, "{outcome:?}");
        assert_eq!(scene.lines("SELECT id FROM t ORDER BY id"), ["1", "5"]);
        let refused = fs::read_to_string(&rejects).unwrap();
        assert_eq!(refused, bad, "{path}");
        let reasons = fs::read_to_string(scene.home.path().join("rejects.reasons.jsonl")).unwrap();
        let expected = [
            r#""field":2,"column":"n","value":"ten""#,
            r#""field":3,"column":"d","value":"2024-02-31""#,
            r#""field":2,"column":"n","value":"40000""#,
            "the server refused it: Check constraint",
        ];
        for (line, expected) in reasons.lines().zip(expected) {
            assert!(line.contains(expected), "{line}");
        }
        let outcome = scene.load("t", &file, &["--path", path, "--mode", "replace"]);
        outcome.refused(1, &["line 2"]);
        assert_eq!(scene.lines("SELECT id FROM t ORDER BY id"), ["1", "5"]);
        let twice = scene.home.file("twice.txt", "7\t1\t\\N\n8\t1\t\\N\n7\t2\t\\N\n");
        let outcome = scene.load("t", &twice, &["--path", path, "--mode", "replace"]);
        outcome.refused(1, &["Duplicate entry '7'"]);
        assert_eq!(scene.lines("SELECT id FROM t ORDER BY id"), ["1", "5"]);
    }
}

#[test]
fn numbers_and_the_moment_are_those_of_one_load() {
    let Some(mut scene) = Scene::new() else { return };
    let columns = "id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT, \
                   c TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6), u VARCHAR(36) DEFAULT (UUID())";
    let text: String = (0..50_000).map(|a| format!("{a}\n")).collect();
    let file = scene.home.file("rows.txt", text);
    for path in ["stream", "insert"] {
        scene.exec("DROP TABLE IF EXISTS t");
        scene.exec(&format!("CREATE TABLE t ({columns})"));
        scene.load("t", &file, &["--path", path, "--columns", "a"]).done();
        let count = scene.lines(
            "SELECT COUNT(*), SUM(id <> a + 1), COUNT(DISTINCT c), COUNT(DISTINCT u) FROM t",
        );
        assert_eq!(count, ["50000|0|1|50000"], "{path}");
    }
}

#[test]
fn built_tables_get_defaults_that_are_expressions_with_texts() {
    let Some(mut scene) = Scene::new() else { return };
    let columns = "a INT PRIMARY KEY, b VARCHAR(40) DEFAULT (CONCAT('it''s ', 'x\\\\y', '\\n')), \
                   c DATETIME(3) DEFAULT (TIMESTAMP('2001-09-09', '01:46:40.125'))";
    scene.exec(&format!("CREATE TABLE t ({columns})"));
    scene.exec("CREATE TABLE oracle LIKE t");
    scene.exec("INSERT INTO oracle (a) VALUES (1), (2)");
    let file = scene.home.file("rows.txt", "1\n2\n");
    let loaded = scene.load("t", &file, &["--path", "direct", "--unlogged", "--columns", "a"]);
    assert!(loaded.done().out.contains("direct build"));
    assert_eq!(scene.values("SELECT * FROM t"), scene.values("SELECT * FROM oracle"));
}

#[test]
fn tables_with_indexes_of_expressions_get_sent_rows() {
    let Some(mut scene) = Scene::new() else { return };
    scene.exec(
        "CREATE TABLE t (id INT PRIMARY KEY, mail VARCHAR(40), j JSON, KEY e ((LOWER(mail))), \
         UNIQUE KEY two (id, (LENGTH(mail))), KEY m ((CAST(j->'$.a' AS UNSIGNED ARRAY))))",
    );
    let file = scene.home.file("rows.txt", "1\tAnn@x\t{\"a\":[1,2]}\n2\tbob@x\t{\"a\":[2]}\n");
    for path in ["auto", "stream", "insert"] {
        let sent = scene.load("t", &file, &["--verbose", "--path", path, "--mode", "replace"]);
        let reason = sent.done().out.contains("index of an expression (index e)");
        assert_eq!(reason, path == "auto", "{sent:?}");
        assert_eq!(scene.lines("SELECT id FROM t WHERE LOWER(mail)='ann@x'"), ["1"]);
        assert_eq!(scene.lines("SELECT id FROM t WHERE 1 MEMBER OF (j->'$.a')"), ["1"]);
    }
    scene
        .load("t", &file, &["--path", "direct", "--unlogged", "--mode", "replace"])
        .refused(2, &["index of an expression (index e)"]);
}

/// An account with the rights of the documentation, but for one.
#[test]
fn a_table_whose_triggers_are_not_seen_is_not_built() {
    let Some(mut scene) = Scene::new() else { return };
    scene.exec("CREATE TABLE t (a INT PRIMARY KEY, b INT); INSERT INTO t VALUES (9, 9)");
    scene.exec("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.b = NEW.a + 10");
    scene.exec("CREATE USER one@localhost IDENTIFIED BY 'x'");
    scene.exec(
        "GRANT ALTER, CREATE, DROP, INSERT, SELECT, LOCK TABLES, DELETE ON d.* TO one@localhost",
    );
    scene.exec("GRANT RELOAD, PROCESS ON *.* TO one@localhost");
    let file = scene.home.file("rows.txt", "1\t1\n");
    let load = |scene: &Scene, path: &str| {
        let mut load = scene.home.load(&scene.server, "d.t", &file);
        load.args(["--user", "one", "--mode", "replace", "--path", path]).env("MYSQL_PWD", "x");
        run(&mut load)
    };
    let grant = "GRANT TRIGGER ON `d`.* TO `one`@`localhost`";
    load(&scene, "direct").refused(2, &[grant]);
    assert_eq!(scene.lines("SELECT * FROM t"), ["9|9"]);
    load(&scene, "auto").done();
    assert_eq!(scene.lines("SELECT * FROM t"), ["1|11"]);
    // Staging tables do not take SESSION_VARIABLES_ADMIN either.
    scene.exec("DROP TRIGGER g");
    scene.exec(grant);
    for path in ["direct", "stream"] {
        load(&scene, path).done();
        assert_eq!(scene.lines("SELECT * FROM t"), ["1|1"], "{path}");
    }
}

#[test]
fn tables_that_the_server_does_not_copy_get_sent_rows() {
    let folder = tempfile::tempdir().unwrap();
    let known = format!("--innodb-directories={}", folder.path().display());
    let Some(mut scene) = Scene::of(TestServer::mysql(vec![known])) else { return };
    scene.exec("CREATE TABLESPACE s ADD DATAFILE 's.ibd'");
    let file = scene.home.file("rows.txt", "1\t1\n2\t2\n");
    for (columns, options, reason) in [
        ("b INT CHECK (b > 7) NOT ENFORCED", String::new(), "CHECK constraint (t_chk_1"),
        ("b INT", format!("DATA DIRECTORY='{}'", folder.path().display()), "DATA DIRECTORY ("),
        ("b INT", "TABLESPACE s".to_owned(), "general tablespace (s)"),
        ("b INT", "COMPRESSION='zlib'".to_owned(), "page compression (compression=zlib)"),
        ("b INT", "AUTOEXTEND_SIZE=4M".to_owned(), "AUTOEXTEND_SIZE (4194304)"),
    ] {
        scene.exec("DROP TABLE IF EXISTS t");
        // Its counter is not of the definition, wherever the server shows it.
        let key = "a INT AUTO_INCREMENT PRIMARY KEY";
        scene.exec(&format!("CREATE TABLE t ({key}, {columns}) {options}"));
        scene.load("t", &file, &["--path", "direct"]).refused(2, &[reason]);
        for mode in ["insert", "replace"] {
            let loaded = scene.load("t", &file, &["--path", "auto", "--verbose", "--mode", mode]);
            assert!(loaded.done().out.contains(reason), "{loaded:?}");
            assert_eq!(scene.lines("SELECT * FROM t"), ["1|1", "2|2"], "{reason}");
        }
        assert_eq!(tables(&mut scene.session, "d"), ["t"], "{reason}");
    }
}

/// Each ALTER there moves a table into the shared file.
#[test]
fn rows_go_into_the_table_itself_where_new_tables_share_a_file() {
    let Some(mut scene) = Scene::new() else { return };
    scene.exec("CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT, KEY (b))");
    scene.exec("SET GLOBAL innodb_file_per_table=0");
    let file = scene.home.file("rows.txt", "1\t1\n2\t2\n");
    for path in ["auto", "stream", "insert"] {
        let loaded = scene.load("t", &file, &["--path", path, "--mode", "replace", "--verbose"]);
        assert!(loaded.done().out.contains("innodb_file_per_table is off"), "{loaded:?}");
        assert_eq!(scene.lines("SELECT * FROM t"), ["1|1", "2|2"], "{path}");
    }
    let place = "SELECT SPACE_TYPE FROM information_schema.INNODB_TABLES WHERE NAME = 'd/t'";
    assert_eq!(scene.lines(place), ["Single"]);
}

/// With `partial_revokes` the server takes the name of a database as it is.
#[test]
fn the_grants_that_a_load_names_give_the_rights() {
    let Some(mut scene) = Scene::of(TestServer::mysql(vec!["--partial-revokes=ON".to_owned()]))
    else {
        return;
    };
    scene.exec("CREATE DATABASE e_f");
    scene.exec("CREATE TABLE e_f.p (a INT PRIMARY KEY); INSERT INTO e_f.p VALUES (1), (2)");
    scene.exec("CREATE TABLE e_f.t (a INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES p (a))");
    let file = scene.home.file("rows.txt", "1\t1\n2\t2\n");
    let one = "`one`@`localhost`";
    for rights in ["", "SELECT, INSERT, ALTER, DROP, CREATE, TRIGGER, LOCK TABLES, REFERENCES"] {
        scene.exec("CREATE USER one@localhost IDENTIFIED BY 'x'");
        if !rights.is_empty() {
            scene.exec(&format!("GRANT {rights} ON *.* TO {one}"));
            scene.exec(&format!("REVOKE INSERT ON e_f.* FROM {one}"));
        }
        let mut given = Vec::new();
        loop {
            let mut load = scene.home.load(&scene.server, "e_f.t", &file);
            load.args(["--user", "one", "--mode", "replace", "--path", "direct"]);
            let loaded = run(load.env("MYSQL_PWD", "x"));
            if loaded.code() == 0 {
                break;
            }
            assert!(loaded.code() == 2 && given.len() < 12, "{given:?} {loaded:?}");
            let grants: Vec<String> = loaded
                .err
                .split("GRANT ")
                .skip(1)
                .filter_map(|rest| {
                    rest.split_once(one).map(|(grant, _)| format!("GRANT {grant}{one}"))
                })
                .collect();
            assert!(!grants.is_empty(), "{loaded:?}");
            grants.iter().for_each(|grant| scene.exec(grant));
            given.extend(grants);
        }
        assert_eq!(scene.lines("SELECT * FROM e_f.t"), ["1|1", "2|2"]);
        scene.exec("DROP USER one@localhost");
    }
}

#[test]
fn tables_without_a_key_are_loaded_where_the_server_requires_one() {
    let Some(mut scene) = Scene::new() else { return };
    scene.exec("CREATE TABLE t (a INT, b VARBINARY(9) DEFAULT 'x')");
    scene.exec("SET GLOBAL sql_require_primary_key=1");
    scene.exec("CREATE USER one@localhost IDENTIFIED BY 'x'");
    scene.exec("GRANT ALL ON d.* TO one@localhost");
    scene.exec("GRANT RELOAD, PROCESS ON *.* TO one@localhost");
    let file = scene.home.file("rows.txt", "1\t1\n2\t2\n");
    for path in ["direct", "stream", "auto"] {
        scene.load("t", &file, &["--path", path, "--mode", "replace"]).done();
        assert_eq!(scene.lines("SELECT * FROM t ORDER BY a"), ["1|1", "2|2"], "{path}");
        let mut load = scene.home.load(&scene.server, "d.t", &file);
        load.args(["--user", "one", "--mode", "replace", "--path", path]).env("MYSQL_PWD", "x");
        let loaded = run(&mut load);
        match path {
            "direct" => loaded.refused(2, &["GRANT SESSION_VARIABLES_ADMIN ON *.* TO `one`"]),
            _ => _ = loaded.done(),
        }
        assert_eq!(scene.lines("SELECT * FROM t ORDER BY a"), ["1|1", "2|2"], "{path}");
    }
}

/// The key is an invisible column with AUTO_INCREMENT values, which the input does not have.
#[test]
fn tables_whose_key_the_server_generates_get_their_numbers() {
    let Some(mut scene) = Scene::new() else { return };
    scene.exec("SET SESSION sql_generate_invisible_primary_key=1");
    scene.exec("CREATE TABLE t (a INT, b VARCHAR(9))");
    let file = scene.home.file("rows.txt", "7\tx\n8\ty\n");
    for mode in ["insert", "append"] {
        let loaded = scene.load("t", &file, &["--unlogged", "--path", "direct", "--mode", mode]);
        assert!(loaded.done().out.contains("direct "), "{loaded:?}");
    }
    assert_eq!(scene.lines("SELECT my_row_id, a, b FROM t"), ["1|7|x", "2|8|y", "4|7|x", "5|8|y"]);
    let check = scene.lines("CHECK TABLE t EXTENDED");
    assert!(check.last().unwrap().ends_with("|OK"), "{check:?}");
    assert!(scene.lines("SHOW CREATE TABLE t")[0].contains("INVISIBLE"));
}

#[test]
fn well_known_text_has_the_longitude_first() {
    let Some(mut scene) = Scene::new() else { return };
    scene.exec("CREATE TABLE t (id INT PRIMARY KEY, g GEOMETRY, p POINT SRID 4326)");
    let place = "SRID=4326;POINT(13.4 52.5)";
    let file =
        scene.home.file("rows.txt", format!("1\t{place}\t{place}\n2\tPOINT(1 2)\t{place}\n"));
    scene.load("t", &file, &["--path=stream", "--format-of=g=wkt", "--format-of=p=wkt"]).done();
    let same =
        |text: &str| format!("ST_GeomFromText('POINT({text})', 4326, 'axis-order=long-lat')");
    let sql = format!("SELECT id, g = {0}, p = {0}, ST_Longitude(p) FROM t", same("13.4 52.5"));
    assert_eq!(scene.lines(&sql), ["1|1|1|13.4", "2|0|1|13.4"]);
    assert_eq!(scene.lines("SELECT ST_AsText(g) FROM t WHERE id = 2"), ["POINT(1 2)"]);
}

#[test]
fn tables_that_are_tied_get_rows_in_place() {
    let Some(mut scene) = Scene::new() else { return };
    let file = scene.home.file("rows.txt", "1\t1\n2\t1\n");
    scene.exec("CREATE TABLE parent (id INT PRIMARY KEY)");
    scene.exec("INSERT INTO parent VALUES (1)");
    scene.exec(
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))",
    );
    for path in ["stream", "insert"] {
        scene.load("child", &file, &["--path", path, "--mode", "replace"]).done();
        assert_eq!(scene.lines("SELECT * FROM child ORDER BY id"), ["1|1", "2|1"]);
        let orphan = scene.home.file("orphan.txt", "3\t9\n");
        let outcome = scene.load("child", &orphan, &["--path", path, "--mode", "replace"]);
        outcome.refused(1, &["foreign key constraint fails"]);
        assert_eq!(scene.lines("SELECT * FROM child ORDER BY id"), ["1|1", "2|1"]);
        let more = scene.home.file("more.txt", "3\t1\n2\t\\N\n");
        let append = ["--path", path, "--mode", "append", "--on-duplicate", "skip"];
        scene.load("child", &more, &append).done();
        assert_eq!(scene.lines("SELECT * FROM child ORDER BY id"), ["1|1", "2|1", "3|1"]);
    }
}

#[test]
fn a_killed_load_is_gone_on_with_or_leaves_nothing() {
    let Some(mut scene) = Scene::new() else { return };
    let mut text = String::new();
    for id in 0..40_000 {
        writeln!(text, "{id}\tword {} of some length, {}", id % 100, id * 7).unwrap();
    }
    let file = scene.home.file("rows.txt", text);
    let load = |scene: &Scene, path: &str, mode: &str, place: &str| {
        let mut command = scene.home.load(&scene.server, "d.t", &file);
        command.args(["--path", path, "--mode", mode, "--memory", "30M"]);
        run(command.env("INRUSH_FAILPOINT", place))
    };
    for (path, mode, place) in [
        ("stream", "append", "chunk.1.loaded=kill"),
        ("insert", "append", "chunk.1.loaded=kill"),
        ("stream", "append", "ledger.opened=kill"),
        ("stream", "replace", "chunk.1.loaded=kill"),
        ("insert", "replace", "indexes.end=kill"),
    ] {
        scene.exec("DROP TABLE IF EXISTS t");
        scene.exec("CREATE TABLE t (id INT NOT NULL, word VARCHAR(60), KEY (word))");
        scene.exec("INSERT INTO t VALUES (-1, 'old')");
        let killed = load(&scene, path, mode, place);
        assert_eq!(killed.code(), -1, "{path} {mode} {place}: {killed:?}");
        if mode == "replace" {
            assert_eq!(scene.lines("SELECT id FROM t"), ["-1"], "{path} {place}");
        }
        load(&scene, path, mode, "").done();
        let old = if mode == "append" { 1 } else { 0 };
        let count = scene.lines("SELECT COUNT(*), COUNT(DISTINCT id), SUM(id < 0) FROM t");
        let expected = format!("{}|{}|{old}", 40_000 + old, 40_000 + old);
        assert_eq!(count, [expected], "{path} {mode} {place}");
        assert_eq!(tables(&mut scene.session, "d"), ["t"], "{path} {mode} {place}");
    }
}

#[test]
fn later_rows_take_the_place_of_those_there() {
    let Some(mut scene) = Scene::new() else { return };
    let file = scene.home.file("rows.txt", "1\ta\n2\tb\n1\tc\n3\tB\n");
    for (rule, expected) in [
        ("skip", ["1|a", "2|b", "7|z"]),
        ("replace", ["1|c", "3|B", "7|z"]),
        ("update", ["1|c", "3|B", "7|z"]),
    ] {
        scene.exec("DROP TABLE IF EXISTS t");
        scene.exec("CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(9), UNIQUE KEY (w))");
        scene.exec("INSERT INTO t VALUES (7, 'z')");
        let more = ["--path", "auto", "--mode", "append", "--on-duplicate", rule];
        scene.load("t", &file, &more).done();
        assert_eq!(scene.lines("SELECT * FROM t ORDER BY id"), expected, "{rule}");
    }
}

/// Under another name they may not be where they are.
#[test]
fn tables_of_the_server_itself_are_replayed() {
    let Some(mut scene) = Scene::new() else { return };
    let create = scene.lines("SHOW CREATE TABLE mysql.time_zone_leap_second").join("");
    let (_, create) = create.split_once('|').unwrap();
    let dump = format!(
        "USE mysql;\nDROP TABLE IF EXISTS time_zone_leap_second;\n{create};\n\
         INSERT INTO time_zone_leap_second VALUES (78796800,1),(94694401,2);\n"
    );
    let dump = scene.home.file("dump.sql", dump);
    let mut command = scene.home.inrush(["replay"]);
    command.arg(&dump).arg("--socket").arg(scene.server.socket());
    run(command.args(["--user", &scene.server.options().user_name()])).done();
    let rows = scene.lines("SELECT * FROM mysql.time_zone_leap_second ORDER BY 1");
    assert_eq!(rows, ["78796800|1", "94694401|2"]);
}

#[test]
fn rows_are_added_over_several_connections() {
    let Some(mut scene) = Scene::new() else { return };
    scene.exec("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300))");
    scene.exec("INSERT INTO t VALUES (-1, 'old')");
    let rows: Vec<String> = (0..6_000).map(|id| format!("({id},'{}')", "x".repeat(250))).collect();
    let inserts =
        rows.chunks(500).map(|some| format!("INSERT INTO t VALUES {};\n", some.join(",")));
    let dump = scene.home.file("dump.sql", inserts.collect::<String>());
    let mut command = scene.home.inrush(["replay"]);
    command.arg(&dump).args(["--into", "d", "--connections", "3", "--socket"]);
    command.arg(scene.server.socket());
    run(command.args(["--user", &scene.server.options().user_name()])).done();
    assert_eq!(
        scene.lines("SELECT COUNT(*), SUM(id), SUM(LENGTH(v)) FROM t"),
        ["6001|17996999|1500003"]
    );
}

/// Names of CHECK constraints are those of one table in a database there, so that the old and the new table cannot
/// both have them.
#[test]
fn a_table_with_a_check_is_replaced_by_a_replay() {
    let Some(mut scene) = Scene::new() else { return };
    let make = "CREATE TABLE t (id INT PRIMARY KEY, CONSTRAINT t_chk_1 CHECK (id > 0));\n";
    scene.exec(make);
    scene.exec("INSERT INTO t VALUES (9)");
    let text = format!("DROP TABLE IF EXISTS t;\n{make}INSERT INTO t VALUES (1),(2);\n");
    let dump = scene.home.file("dump.sql", text);
    let mut command = scene.home.inrush(["replay"]);
    command.arg(dump).args(["--into", "d", "--socket"]).arg(scene.server.socket());
    run(command.args(["--user", &scene.server.options().user_name()])).done();
    assert_eq!(scene.lines("SELECT GROUP_CONCAT(id) FROM t"), ["1,2"]);
    assert!(scene.session.exec("INSERT INTO t VALUES (-1)").is_err());
}

/// Rows that statements have to bring come into a table that is made anew, from what the server shows of it.
#[test]
fn a_table_with_another_collation_is_made_anew_by_a_replay() {
    let Some(mut scene) = Scene::new() else { return };
    for collation in ["utf8mb4_general_ci", "utf8mb4_bin", "latin1_german1_ci"] {
        let set = collation.split('_').next().unwrap();
        let make = format!(
            "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20) DEFAULT 'x', b TEXT, e ENUM('a,b','c''d'), \
             `f``g` CHAR(3) CHARACTER SET ascii, h CHAR(3) CHARACTER SET {set}) \
             DEFAULT CHARSET={set} COLLATE={collation} COMMENT=') COLLATE=x'"
        );
        scene.exec("DROP TABLE IF EXISTS t");
        scene.exec(&make);
        let shown = scene.lines("SHOW CREATE TABLE t");
        let value = |id| if id == 600 { "UPPER('a')" } else { "'a'" };
        let rows: Vec<String> = (0..5_000)
            .map(|id| format!("({id},{},'{}','c''d','f','h')", value(id), "b".repeat(900)))
            .collect();
        let inserts =
            rows.chunks(500).map(|some| format!("INSERT INTO t VALUES {};\n", some.join(",")));
        let text = format!("DROP TABLE IF EXISTS t;\n{make};\n{}", inserts.collect::<String>());
        let dump = scene.home.file("dump.sql", text);
        let mut command = scene.home.inrush(["replay"]);
        command.arg(dump).args(["--into", "d", "--socket"]).arg(scene.server.socket());
        run(command.args(["--user", &scene.server.options().user_name()])).done();
        let sums = "SELECT COUNT(*), SUM(id), SUM(BINARY a = 'A'), SUM(e + 0) FROM t";
        assert_eq!(scene.lines(sums), ["5000|12497500|1|10000"]);
        assert_eq!(scene.lines("SHOW CREATE TABLE t"), shown);
    }
}

/// Its dictionary does not say which table a key refers to; the definition does.
#[test]
fn mysql_gets_the_rows_of_parents_before_those_of_children() {
    let Some(mut scene) = Scene::new() else { return };
    scene.exec("CREATE TABLE p (id INT PRIMARY KEY)");
    scene.exec("CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))");
    let parents: String = (0..50).map(|id| format!("{id}\n")).collect();
    let children: String = (0..500).map(|id| format!("{id}\t{}\n", id % 50)).collect();
    scene.home.file("p.txt", parents);
    scene.home.file("c.txt", children);
    let mut command = scene.home.inrush(["load", "c.txt", "p.txt", "--into", "d", "--each"]);
    command.args(["--dialect", "mysql", "--socket"]).arg(scene.server.socket());
    run(command.args(["--user", &scene.server.options().user_name()])).done();
    assert_eq!(scene.lines("SELECT COUNT(*), SUM(p) FROM c"), ["500|12250"]);
}

#[test]
fn several_tables_come_at_once_by_one_transaction_or_one_rename() {
    let Some(mut scene) = Scene::new() else { return };
    scene.home.file(
        "schema.sql",
        "CREATE TABLE b (id INT PRIMARY KEY, t TEXT); \
        CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, t VARCHAR(80))",
    );
    std::fs::create_dir(scene.home.path().join("rows")).unwrap();
    let schema = scene.home.path().join("schema.sql");
    for (rows, [path, mode], said) in [
        (10, ["auto", "insert"], "one transaction loads all rows"),
        (20_000, ["stream", "replace"], "rows are loaded into a staging table, which replaces the"),
        (20_000, ["insert", "replace"], "rows are loaded into a staging table, which replaces the"),
    ] {
        let lines: String = (1..=rows).map(|id| format!("{id}\trow {id} {said}\n")).collect();
        scene.home.file("rows/a.txt", &lines);
        scene.home.file("rows/b.txt", &lines);
        let folder = scene.home.path().join("rows");
        let mut load = scene.home.load(&scene.server, "d", &folder);
        let loaded =
            run(load.args(["--verbose", "--path", path, "--mode", mode]).arg("--ddl").arg(&schema));
        assert_eq!(loaded.done().out.matches(said).count(), 2, "{loaded:?}");
        assert_eq!(tables(&mut scene.session, "d"), ["a", "b"]);
        for table in ["a", "b"] {
            let sql = format!("SELECT COUNT(*), MAX(t LIKE '%{said}') FROM {table}");
            assert_eq!(scene.lines(&sql), [format!("{rows}|1")], "{table}");
        }
        // A row of one file that is none leaves both as they are.
        scene.home.file("rows/b.txt", &(lines + "x\ty\n"));
        let mut load = scene.home.load(&scene.server, "d", &folder);
        let failed = run(load.args(["--path", path, "--mode", "replace"]));
        failed.refused(1, &["d.b", "is not INT"]);
        assert_eq!(tables(&mut scene.session, "d"), ["a", "b"]);
        assert_eq!(scene.lines("SELECT COUNT(*) FROM a"), [rows.to_string()]);
    }
    // Tables that foreign keys join are built together, and sent one by one.
    scene.exec("DELETE FROM a");
    scene.exec("DELETE FROM b");
    scene.exec("ALTER TABLE b ADD FOREIGN KEY (id) REFERENCES a (id)");
    scene.home.file("rows/b.txt", "1\tone\n");
    let folder = scene.home.path().join("rows");
    let load = |scene: &Scene, more: &[&str]| {
        let mut load = scene.home.load(&scene.server, "d", &folder);
        run(load.args(more))
    };
    load(&scene, &["--path", "stream"]).refused(2, &["--each"]);
    load(&scene, &["--path", "stream", "--each"]).done();
    assert_eq!(scene.lines("SELECT id FROM b"), ["1"]);
    load(&scene, &["--path", "direct", "--mode", "replace"]).done();
    assert_eq!(scene.lines("SELECT id FROM b"), ["1"]);
}

#[test]
fn uuids_of_a_file_make_a_column_of_their_bytes() {
    let Some(mut scene) = Scene::new() else { return };
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../columnar/testdata/other/uuids.parquet");
    for path in ["direct", "stream"] {
        scene.exec("DROP TABLE IF EXISTS t");
        scene.load("t", &file, &["--create", "--path", path]).done();
        let types = "SELECT column_type FROM information_schema.columns \
                     WHERE table_schema = 'd' AND column_name = 'u'";
        assert_eq!(scene.lines(types), ["binary(16)"]);
        let [one, other] = ["000102030405060708090A0B0C0D0E0F", "6465666768696A6B6C6D6E6F70717273"];
        let expected = [one, other, "NULL"].map(str::to_owned);
        assert_eq!(scene.lines("SELECT IFNULL(HEX(u), 'NULL') FROM t ORDER BY id"), expected);
    }
}
