//! JSON columns of MySQL, built by the direct path. Runs where INRUSH_TEST_MYSQLD names a `mysqld`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use server::Session;
use testkit::TestServer;

use crate::support::{Home, Outcome, run};

struct Scene {
    server: TestServer,
    session: Session,
    home: Home,
}

impl Scene {
    fn new() -> Option<Scene> {
        let server = TestServer::mysql(vec!["--secure-file-priv=".to_owned()])?;
        let session = connect(&server);
        Some(Scene { server, session, home: Home::new() })
    }

    fn exec(&mut self, statements: &[&str]) {
        for sql in statements {
            self.session.exec(sql).unwrap();
        }
    }

    fn text(&mut self, sql: &str) -> String {
        self.session.query_text(sql).unwrap().unwrap_or_else(|| "NULL".to_owned())
    }

    fn build(&self, table: &str, file: &Path, more: &[&str]) -> Outcome {
        let mut load = self.home.load(&self.server, &format!("d.{table}"), file);
        run(load.args(["--path", "direct", "--unlogged"]).args(more))
    }

    /// Equal rows, the same stored sizes and a table without faults.
    #[track_caller]
    fn assert_same(&mut self, own: &str, built: &str) {
        let check = self.text(&format!(
            "SELECT COUNT(*) FROM {own} o JOIN {built} b USING (id) WHERE o.doc IS NULL <> (b.doc IS \
             NULL) OR CAST(o.doc AS CHAR) <> CAST(b.doc AS CHAR) OR JSON_STORAGE_SIZE(o.doc) <> \
             JSON_STORAGE_SIZE(b.doc) OR JSON_TYPE(o.doc) <> JSON_TYPE(b.doc)"
        ));
        assert_eq!(check, "0", "{built} differs from {own}");
        let mut checksum = |table: &str| {
            let rows = self.session.query(&format!("CHECKSUM TABLE {table}")).unwrap();
            rows[0].text_lossy(1)
        };
        assert_eq!(checksum(own), checksum(built));
        let rows = self.session.query(&format!("CHECK TABLE {built} EXTENDED")).unwrap();
        assert_eq!(rows.last().unwrap().text_lossy(3), "OK");
    }
}

fn connect(server: &TestServer) -> Session {
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE IF NOT EXISTS d").unwrap();
    session.exec("USE d").unwrap();
    session
}

const TABLE: &str =
    "(id INT PRIMARY KEY, doc JSON, note VARCHAR(20) COLLATE utf8mb4_bin, KEY (note))";

/// Rows of all sizes: in the page, off the page, beyond the small format, NULL.
fn rows() -> String {
    let mut text = String::new();
    for id in 0..6000 {
        let doc = match id % 12 {
            0 => "\\N".to_owned(),
            1 => format!(
                "{{\"id\": {id}, \"name\": \"na\u{ef}ve \\\\u00e9\", \"id\": {}}}",
                id * 70_000
            ),
            2 => format!("[{}]", "x".repeat(0)),
            3 => format!("[{id}, {id}.5, -{id}e-3, 1e{}, {}]", id % 300, u64::MAX - id),
            4 => format!("\"{}\"", "\u{1f600}".repeat(id as usize % 3000)),
            5 if id % 60 == 5 => {
                format!("[70000, {{\"pad\": \"{}\"}}]", "p".repeat(60_000 + id as usize))
            }
            6 => format!("{{\"a\": {{\"b\": [{}]}}}}", vec!["1"; id as usize % 4000].join(",")),
            7 => "true".to_owned(),
            8 => format!("{}{}", "[".repeat(100), "]".repeat(100)),
            _ => format!("{{\"k{id}\": null, \"k\": \"{}\"}}", "v".repeat(id as usize % 90)),
        };
        writeln!(text, "{id}\t{doc}\tnote {}", id % 7).unwrap();
    }
    text
}

#[test]
fn built_documents_are_those_of_load_data_and_can_be_changed() {
    let Some(mut scene) = Scene::new() else { return };
    let file = scene.home.file("rows.txt", rows());
    scene.exec(&[
        &format!("CREATE TABLE own {TABLE}"),
        &format!("CREATE TABLE built {TABLE}"),
        &format!("LOAD DATA INFILE '{}' INTO TABLE own CHARACTER SET utf8mb4", file.display()),
    ]);
    scene.build("built", &file, &[]).done();
    scene.assert_same("own", "built");
    for change in [
        "UPDATE {} SET doc = JSON_SET(doc, '$.k', 'short') WHERE id % 12 > 8",
        "UPDATE {} SET doc = JSON_REPLACE(doc, '$[1].pad', REPEAT('q', 30000)) WHERE id % 60 = 5",
        "UPDATE {} SET doc = JSON_REMOVE(doc, '$.a.b[0]') WHERE id % 12 = 6",
        "UPDATE {} SET doc = JSON_ARRAY(id, 1.50, CURDATE()) WHERE id % 24 = 3",
        "DELETE FROM {} WHERE id % 12 = 4 AND id % 5 = 0",
        "INSERT INTO {} SELECT id + 10000, doc, note FROM (SELECT * FROM own WHERE id < 100) n",
    ] {
        scene.exec(&[&change.replace("{}", "built"), &change.replace("{}", "own")]);
        scene.assert_same("own", "built");
    }
    scene.server.restart().unwrap();
    scene.session = connect(&scene.server);
    scene.assert_same("own", "built");
    scene.server.kill_9().unwrap();
    scene.server.restart().unwrap();
    scene.session = connect(&scene.server);
    scene.assert_same("own", "built");
}

#[test]
fn documents_that_mysql_refuses_are_rejects() {
    let Some(mut scene) = Scene::new() else { return };
    let long_key = format!("{{\"{}\": 1}}", "k".repeat(65_536));
    let deep = format!("{}{}", "[".repeat(101), "]".repeat(101));
    let documents =
        ["{}", "", "{\"a\": 1,}", "1e400", &long_key, &deep, "\\N", "[1] 2", "01", "\"\u{1}\""];
    let text: String =
        (1..).zip(documents).map(|(id, document)| format!("{id}\t{document}\tn\n")).collect();
    let file = scene.home.file("rows.txt", text);
    scene.exec(&[&format!("CREATE TABLE t {TABLE}")]);
    let rejects = scene.home.path().join("rejects");
    let more = ["--rejects", rejects.to_str().unwrap(), "--rejects-max", "9"];
    let outcome = scene.build("t", &file, &more);
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    assert_eq!(scene.text("SELECT GROUP_CONCAT(id ORDER BY id) FROM t"), "1,7");
    let reasons = fs::read_to_string(scene.home.path().join("rejects.reasons.jsonl")).unwrap();
    for (line, reason) in [
        (2, "is not valid JSON"),
        (3, "is not valid JSON"),
        (4, "is not valid JSON"),
        (5, "has a JSON key of more than 65535 bytes"),
        (6, "has JSON of more than 100 levels"),
        (8, "is not valid JSON"),
        (9, "is not valid JSON"),
        (10, "is not valid JSON"),
    ] {
        let of_line = reasons.lines().find(|text| text.contains(&format!("\"line\":{line},")));
        let of_line = of_line.unwrap_or_else(|| panic!("line {line}: {reasons}"));
        assert!(of_line.contains(reason) && of_line.contains("\"doc\""), "{of_line}");
    }
    // The server refuses each of them.
    for id in [2, 3, 4, 5, 6, 8, 9, 10] {
        let line = fs::read_to_string(&file).unwrap().lines().nth(id - 1).unwrap().to_owned();
        let one = scene.home.file("one.txt", format!("{line}\n"));
        let sql =
            format!("LOAD DATA INFILE '{}' INTO TABLE t CHARACTER SET utf8mb4", one.display());
        assert!(scene.session.exec(&sql).is_err(), "{id}");
    }
}

#[test]
fn texts_of_other_character_sets_become_documents() {
    let Some(mut scene) = Scene::new() else { return };
    let latin1 = scene.home.file("latin1.txt", b"1\t{\"k\xe9y\": \"\xa4\x80\"}\tn\n".as_slice());
    for table in ["own", "built"] {
        scene.exec(&[&format!("CREATE TABLE {table} {TABLE}")]);
    }
    let sql =
        format!("LOAD DATA INFILE '{}' INTO TABLE own CHARACTER SET latin1", latin1.display());
    scene.exec(&[&sql]);
    scene.build("built", &latin1, &["--charset", "latin1"]).done();
    scene.assert_same("own", "built");
    let outcome = scene.build("built", &latin1, &["--charset", "binary", "--mode", "replace"]);
    outcome.refused(1, &["has no character set, which JSON needs"]);
    scene.assert_same("own", "built");
}
