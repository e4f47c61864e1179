//! Loads into MySQL, which the direct path does not know: rows are sent.

use std::path::Path;

use server::Session;
use server::testing::TestServer;

use crate::support::{Home, Outcome, run};

/// A MySQL, and the same rows loaded by itself.
struct Scene {
    server: TestServer,
    session: Session,
    home: Home,
}

impl Scene {
    fn new(extra: &[&str]) -> Option<Scene> {
        let server = TestServer::mysql(extra.iter().map(|&text| text.to_owned()).collect())?;
        let mut session = server.connect().unwrap();
        session.exec("CREATE DATABASE d").unwrap();
        session.exec("USE d").unwrap();
        Some(Scene { server, session, home: Home::new() })
    }

    fn load(&self, table: &str, file: &Path, more: &[&str]) -> Outcome {
        run(self.home.load(&self.server, &format!("d.{table}"), file).args(more))
    }

    fn rows(&mut self, table: &str) -> Vec<server::session::Row> {
        self.session.query(&format!("SELECT * FROM {table} ORDER BY id")).unwrap()
    }
}

#[test]
fn the_same_rows_as_its_own_load_data() {
    let Some(mut scene) = Scene::new(&[]) else { return };
    let columns = "id INT UNSIGNED PRIMARY KEY, i SMALLINT, d DECIMAL(10,3), f DOUBLE, \
                   s VARCHAR(30), l VARCHAR(20) CHARACTER SET latin1, b VARBINARY(9), t DATETIME(3), \
                   z TIMESTAMP NULL, y YEAR, e ENUM('one','two'), st SET('a','b'), j JSON, \
                   g INT AS (i + 1), KEY (s), UNIQUE KEY (l)";
    let mut text = String::new();
    for id in 0..20_000 {
        text += &format!(
            "{id}\t{}\t{}.125\t{}e-3\tna\u{ef}ve {id} \\t \\\\\tcaf\u{e9} {id}\t\\0\\n{}\t\
             2024-02-29 12:00:00.{:03}\t2024-06-01 00:00:{:02}\t{}\t{}\ta\t{{\"k\": {id}}}\t\\N\n",
            id % 30_000,
            id * 7,
            id,
            id % 100,
            id % 1000,
            id % 60,
            1970 + id % 100,
            if id % 2 == 0 { "two" } else { "One" },
        );
    }
    let file = scene.home.file("rows.txt", &text);
    let list = "id,i,d,f,s,l,b,t,z,y,e,st,j,@g";
    scene.session.exec(&format!("CREATE TABLE own ({columns})")).unwrap();
    let sql = format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE own CHARACTER SET utf8mb4 ({list})");
    let done = scene.session.load_local(&sql, std::io::Cursor::new(text.into_bytes())).unwrap();
    assert!(
        done.info.contains("Skipped: 0  Warnings: 0"),
        "{} {:?}",
        done.info,
        scene.session.warnings()
    );
    let own = scene.rows("own");
    for path in ["stream", "insert", "auto"] {
        scene.session.exec(&format!("CREATE TABLE {path}_t ({columns})")).unwrap();
        let table = format!("{path}_t");
        let outcome = scene.load(&table, &file, &["--path", path, "--columns", list]);
        outcome.done();
        println!("{}", outcome.out);
        assert!(scene.rows(&table) == own, "{path}");
    }
}
