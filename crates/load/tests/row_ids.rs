//! Tables whose key is the server's hidden row id, on servers whose counter is at its start.

use std::fmt::Write as _;

use load::{LoadOptions, LoadPath};
use server::Session;
use testkit::{TestServer, TestServerOptions};

const ROWS: usize = 300_000;
/// Inserted one by one after the load, as often as the table is looked at.
const MORE: usize = 1_000;

/// A new server with a table that a load has just filled.
struct Scene {
    server: TestServer,
    session: Session,
    database: String,
    /// How many rows the table should have.
    rows: usize,
}

impl Scene {
    fn new(keys: &str) -> Option<Scene> {
        let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
        let server = TestServer::start_with(&options)?;
        let database = server.database().unwrap();
        let mut session = server.connect().unwrap();
        session.exec(&format!("USE {database}")).unwrap();
        session.exec(&format!("CREATE TABLE nk (id INT NOT NULL, v VARCHAR(10), {keys})")).unwrap();
        let mut text = String::new();
        for row in 0..ROWS {
            writeln!(text, "{row}\tv{}", row % 1000).unwrap();
        }
        let input = server.dir().join("input");
        std::fs::write(&input, text).unwrap();
        let mut options = LoadOptions::new(vec![input], &database, "nk");
        options.state_dir = server.dir().join("state");
        options.path = LoadPath::Direct;
        let report = load::load(&server.options(), &options, None, &()).unwrap();
        assert_eq!((report.rows, report.path), (ROWS as u64, "direct"));
        Some(Scene { server, session, database, rows: ROWS })
    }

    fn connect_again(&mut self) {
        self.session = self.server.connect().unwrap();
        self.session.exec(&format!("USE {}", self.database)).unwrap();
    }

    fn insert(&mut self) {
        for row in 0..MORE {
            let id = self.rows + row;
            self.session.exec(&format!("INSERT INTO nk VALUES ({id}, 'more')")).unwrap();
        }
        self.rows += MORE;
    }

    /// No row took another's place, in the table or in its index.
    #[track_caller]
    fn check(&mut self, when: &str) {
        for index in ["", "USE INDEX ()", "FORCE INDEX (id)"] {
            let sql = format!("SELECT COUNT(*), COUNT(DISTINCT id), SUM(v='more') FROM nk {index}");
            let row = self.session.query_row(&sql).unwrap();
            let seen = [0, 1, 2].map(|field| row.number::<usize>(field).unwrap());
            assert_eq!(seen, [self.rows, self.rows, self.rows - ROWS], "{when} {index}");
        }
        let checked = self.session.query_row("CHECK TABLE nk EXTENDED").unwrap();
        assert_eq!(checked.text(3).unwrap(), "OK", "{when}");
        let tables = self.session.query("SHOW TABLES LIKE '\\_inrush%'").unwrap();
        assert!(tables.is_empty(), "{when}");
    }
}

#[test]
fn rows_of_a_table_without_a_key_stay_when_more_are_inserted() {
    let Some(mut scene) = Scene::new("KEY (id)") else { return };
    scene.insert();
    scene.check("after the load");
    scene.server.restart().unwrap();
    scene.connect_again();
    scene.insert();
    scene.check("after a restart");
}

#[test]
fn they_stay_when_the_server_is_killed_before_the_first_insert() {
    let Some(mut scene) = Scene::new("KEY (id)") else { return };
    scene.server.kill_9().unwrap();
    scene.server.restart().unwrap();
    scene.connect_again();
    scene.insert();
    scene.check("after a crash");
}

#[test]
fn they_stay_when_they_become_a_partition() {
    let Some(mut scene) = Scene::new("KEY (id)") else { return };
    let session = &mut scene.session;
    let parts = "PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN MAXVALUE)";
    session.exec("CREATE TABLE p LIKE nk").unwrap();
    session.exec(&format!("ALTER TABLE p {parts}")).unwrap();
    session.exec("ALTER TABLE p EXCHANGE PARTITION a WITH TABLE nk").unwrap();
    session.exec("DROP TABLE nk").unwrap();
    session.exec("RENAME TABLE p TO nk").unwrap();
    scene.server.kill_9().unwrap();
    scene.server.restart().unwrap();
    scene.connect_again();
    scene.insert();
    scene.check("of a partitioned table after a crash");
}

/// These have no hidden ids: a unique index without NULLs takes the key's place.
#[test]
fn tables_with_a_key_of_their_own_are_not_concerned() {
    for keys in ["UNIQUE KEY id (id)", "PRIMARY KEY (id), KEY id (id)"] {
        let Some(mut scene) = Scene::new(keys) else { return };
        scene.server.kill_9().unwrap();
        scene.server.restart().unwrap();
        scene.connect_again();
        scene.insert();
        scene.check(keys);
    }
}
