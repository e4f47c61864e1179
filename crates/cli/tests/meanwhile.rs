//! Changes of the target by others between its first inspection and the swap.

use std::fs;

use testkit::{TestServer, dialect};

use crate::appended::wait_for_waiter;
use crate::scene::{Mode, Scene};
use crate::support::{Outcome, contents, finish, names, resume, run, start, tables, wait_paused};

/// The end of a load whose target somebody changes.
enum End {
    /// It fails, with these words, and the change stays.
    Refused(&'static str),
    /// The change does not matter.
    Done,
}
use End::{Done, Refused};

const ANOTHER: &str = ": the table's definition changed during the load";
const GONE: &str = ": the table, or its database, was dropped or renamed";

/// A change, how it is taken back (a table that is gone is made again), and what comes of it.
const CHANGES: [(&str, &str, End); 21] = [
    ("ALTER TABLE t ADD COLUMN more INT", "", Refused(ANOTHER)),
    ("ALTER TABLE t DROP COLUMN body", "", Refused(ANOTHER)),
    ("ALTER TABLE t DROP KEY name", "", Refused(ANOTHER)),
    ("CREATE INDEX more ON t (name)", "", Refused(ANOTHER)),
    ("ALTER TABLE t MODIFY name VARCHAR(40) COLLATE latin1_bin NOT NULL", "", Refused(ANOTHER)),
    ("ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4", "", Refused(ANOTHER)),
    ("ALTER TABLE t ALTER n SET DEFAULT 5", "", Refused(ANOTHER)),
    ("ALTER TABLE t ROW_FORMAT=COMPRESSED", "", Refused(ANOTHER)),
    ("ALTER TABLE t ENGINE=MyISAM", "", Refused(ANOTHER)),
    ("ALTER TABLE t ADD CONSTRAINT c CHECK (n > 0)", "", Refused(ANOTHER)),
    (
        "ALTER TABLE t DROP KEY n; ALTER TABLE t PARTITION BY KEY (id) PARTITIONS 2",
        "",
        Refused("nothing was loaded: "),
    ),
    (
        "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.n=1",
        "",
        Refused("the table got a trigger during the load"),
    ),
    (
        "CREATE TABLE child (a INT, FOREIGN KEY (a) REFERENCES t (id))",
        "DROP TABLE child",
        Refused("the table got a foreign key during the load"),
    ),
    ("DROP TABLE t", "", Refused(GONE)),
    ("RENAME TABLE t TO elsewhere", "DROP TABLE elsewhere", Refused(GONE)),
    (
        "RENAME TABLE t TO elsewhere; CREATE VIEW t AS SELECT * FROM elsewhere",
        "DROP VIEW t; DROP TABLE elsewhere",
        Refused("nothing was loaded: "),
    ),
    ("DROP TABLE t; CREATE TABLE t (id INT PRIMARY KEY)", "", Refused(ANOTHER)),
    ("TRUNCATE TABLE t", "", Done),
    ("INSERT INTO t VALUES (-1, -1, 'mine', 'goes')", "", Done),
    ("CREATE VIEW v AS SELECT id FROM t", "DROP VIEW v", Done),
    ("ANALYZE TABLE t PERSISTENT FOR ALL", "", Done),
];

/// Stops a load at `place`, lets others do `sql`, and gives the load's outcome.
fn meanwhile(scene: &mut Scene<'_>, place: &str, sql: &str) -> Outcome {
    let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
    wait_paused(&mut child);
    all(scene, sql);
    resume(&child);
    finish(child)
}

fn all(scene: &mut Scene<'_>, sql: &str) {
    for sql in sql.split("; ").filter(|sql| !sql.is_empty()) {
        dialect::query(&mut scene.session, sql).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_target_changed_meanwhile_stays_as_it_was_changed() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 500);
    let use_it = format!("USE {}", scene.database);
    scene.session.exec(&use_it).unwrap();
    for (number, (change, back, end)) in CHANGES.iter().enumerate() {
        let place = if number % 2 == 0 { "rows.begin" } else { "publish.begin" };
        let when = format!("{change} at {place}");
        let outcome = meanwhile(&mut scene, place, change);
        match end {
            Refused(words) => {
                outcome.refused(1, &[&scene.table, words]);
                let (database, session) = (&scene.database, &mut scene.session);
                let left = tables(session, database);
                assert!(left.iter().all(|name| !name.starts_with("_inrush")), "{when}: {left:?}");
                let files = names(&server.datadir().join(database));
                assert!(files.iter().all(|name| !name.contains("_inrush")), "{when}: {files:?}");
            }
            Done => {
                outcome.done();
                assert!(scene.is_new(), "{when}");
            }
        }
        all(&mut scene, back);
        scene.reset();
        scene.again(&when);
        scene.reset();
    }
}

/// Statistics that ANALYZE made of the old rows are those of the table, whatever its rows.
#[test]
fn a_view_of_the_target_shows_the_new_rows() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 500);
    let view = format!("{}.v", scene.database);
    scene.session.exec(&format!("CREATE VIEW {view} AS SELECT * FROM {}", scene.table)).unwrap();
    run(&mut scene.command()).done();
    let count = scene.session.query_text(&format!("SELECT COUNT(*) FROM {view}")).unwrap();
    assert_eq!(count.as_deref(), Some("500"));
}

#[test]
fn a_database_dropped_meanwhile_stays_dropped() {
    let Some(server) = TestServer::shared() else { return };
    for place in ["staging.begin", "rows.begin", "verify.end", "import.placed", "publish.begin"] {
        let mut scene = Scene::new(server, Mode::Insert, 500);
        let drop = format!("DROP DATABASE {}", scene.database);
        let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
        wait_paused(&mut child);
        // The unfinished file keeps the server from removing the folder.
        let dropped = scene.session.exec(&drop);
        resume(&child);
        let outcome = finish(child);
        if dropped.is_err() && server.is_mysql() {
            // MySQL drops all or nothing.
            outcome.done();
            assert!(scene.is_new(), "{place}");
            continue;
        }
        outcome.refused(1, &[&scene.table, GONE]);
        let folder = server.datadir().join(&scene.database);
        assert_eq!(names(&folder), [""; 0], "{place}: {outcome:?}");
        if dropped.is_err() {
            scene.session.exec(&drop).unwrap();
        }
        if server.is_mysql() && folder.exists() {
            // MySQL drops a database whose folder it cannot remove, with a warning.
            fs::remove_dir(&folder).unwrap();
        }
        assert!(!folder.exists(), "{place}: {dropped:?} {outcome:?}");
        // The same again, once the table is there.
        scene.session.exec(&format!("CREATE DATABASE {} CHARSET latin1", scene.database)).unwrap();
        scene.reset();
        assert_eq!(contents(&mut scene.session, &scene.table).0, 0);
        scene.again(place);
    }
}

/// The same while rows are sent: the load's own tables go with the database, and the target is named.
#[test]
fn a_database_dropped_while_rows_are_sent_is_named_whatever_the_method() {
    let Some(server) = TestServer::shared() else { return };
    let stream = vec!["--path", "stream"];
    for (place, mode, more) in [
        ("staging.discarded", Mode::Insert, vec![]),
        ("ledger.created", Mode::Replace, stream.clone()),
        ("rows.begin", Mode::Replace, stream.clone()),
        ("publish.begin", Mode::Insert, stream.clone()),
        ("ledger.created", Mode::Append, stream.clone()),
        ("rows.begin", Mode::Append, stream.clone()),
        ("publish.begin", Mode::Append, stream),
    ] {
        let mut scene = Scene::new(server, mode, 4_000);
        let drop = format!("DROP DATABASE {}", scene.database);
        let mut child = start(scene.load_with(&format!("{place}=pause")).args(more));
        wait_paused(&mut child);
        all(&mut scene, &drop);
        resume(&child);
        let outcome = finish(child);
        outcome.refused(1, &["nothing was loaded: ", &scene.table, GONE]);
        assert!(!outcome.err.contains("ledger"), "{place}: {outcome:?}");
        assert!(!server.datadir().join(&scene.database).exists(), "{place}");
    }
}

/// The server ends the load's transaction for a deadlock with the DROP, which then drops all.
#[test]
fn a_database_dropped_before_the_commit_is_named() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Append, 4_000);
    let drop = format!("DROP DATABASE {}", scene.database);
    let mut load = scene.load_with("publish.commit=pause");
    let mut child = start(load.args(["--atomic", "--path", "insert"]));
    wait_paused(&mut child);
    std::thread::scope(|scope| {
        let dropping = scope.spawn(|| server.connect().unwrap().exec(&drop).map(|_| ()));
        wait_for_waiter(&mut scene.session, "DROP DATABASE");
        resume(&child);
        finish(child).refused(1, &["nothing was loaded: ", &scene.table, GONE]);
        dropping.join().unwrap().unwrap();
    });
    assert!(!server.datadir().join(&scene.database).exists());
}
