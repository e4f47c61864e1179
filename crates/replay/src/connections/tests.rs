//! Connections against a server, and against the same statements one after the other.

use sources::ReadAs;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use schema::TableName;
use server::{ConnectOptions, Session};
use sources::dump::{RowRun, SqlOptions, SqlReader};
use sql::{InsertHead, StatementKind, Syntax};
use testkit::TestServer;
use testkit::proxy::{Fate, Proxy};

use super::*;
use crate::journal::Spot;
use crate::options::ReplayOptions;
use crate::progress::Watch;
use crate::state::SessionState;

/// A table `t` that the INSERTs of a dump go into.
struct Scene {
    server: &'static TestServer,
    /// The session of the dump.
    session: Session,
    name: TableName,
    options: ReplayOptions,
    is_staging: bool,
    is_empty: bool,
    /// Variables that the dump has set besides those that always count.
    sets: BTreeSet<String>,
    dump: PathBuf,
}

impl Scene {
    fn new(shape: &str) -> Option<Scene> {
        let server = TestServer::shared()?;
        let name = TableName::new(server.database().unwrap(), "t");
        let mut session = server.connect().unwrap();
        session.exec(&format!("USE {}", name.database)).unwrap();
        session.exec(&format!("CREATE TABLE t {shape}")).unwrap();
        session.set(&[("sql_mode", "NO_AUTO_VALUE_ON_ZERO"), ("sql_notes", "0")]).unwrap();
        session.set(&[("unique_checks", "0"), ("foreign_key_checks", "0")]).unwrap();
        let mut options = ReplayOptions::new("/dev/null".into());
        options.connections = Some(4);
        let dump = server.dir().join(format!("{}.sql", name.database));
        let sets = BTreeSet::new();
        Some(Scene { server, session, name, options, is_staging: true, is_empty: true, sets, dump })
    }

    fn set(&mut self, sql: &str) {
        self.session.exec(sql).unwrap();
        self.session.adopt_variables(&[]).unwrap();
    }

    /// The first run of a dump.
    fn run(&self, dump: &[u8]) -> (InsertHead, RowRun) {
        std::fs::write(&self.dump, dump).unwrap();
        let options = SqlOptions { syntax: Syntax::default(), ..SqlOptions::default() };
        let mut reader = SqlReader::open(std::slice::from_ref(&self.dump), options).unwrap();
        let StatementKind::Insert(head) = reader.next().unwrap().unwrap().kind else { panic!() };
        let (run, _) = reader.into_run(ReadAs::default()).unwrap();
        (*head, run)
    }

    fn with<T>(
        &mut self,
        dump: &[u8],
        go: impl FnOnce(&Filling<'_>, RowRun, &mut Session) -> T,
    ) -> T {
        let (head, run) = self.run(dump);
        let state = SessionState::read(&mut self.session, &self.sets).unwrap();
        let filling = Filling {
            connect: &self.server.options(),
            options: &self.options,
            state: &state,
            head: &head,
            table: &self.name,
            into: &self.name,
            is_staging: self.is_staging,
            is_empty: self.is_empty,
            spot: Spot::default(),
            // Chunks of 64 KiB.
            memory_bytes_max: 1 << 20,
            watch: &Watch::default(),
            under_way: None,
        };
        go(&filling, run, &mut self.session)
    }

    fn send(&mut self, dump: &[u8]) -> Result<Sent, Stopped> {
        self.with(dump, |filling, run, _| send(filling, run))
    }

    fn serial(&mut self, dump: &[u8]) -> Result<Sent, Stopped> {
        self.with(dump, |filling, run, session| {
            crate::serial::send(filling, run, session, false, &Default::default())
        })
    }

    /// Why connections are not for this.
    fn unfit(&mut self, dump: &str) -> String {
        match self.send(dump.as_bytes()) {
            Err(Stopped::Unfit(why)) => why,
            other => panic!("{dump:.200}: {other:?}"),
        }
    }

    fn text(&mut self, sql: &str, column: usize) -> String {
        self.session.query_row(sql).unwrap().text_lossy(column)
    }

    /// Everything that tells two tables apart.
    fn picture(&mut self) -> (String, String, String) {
        let definition = self.text("SHOW CREATE TABLE t", 1);
        let check = self.text("CHECK TABLE t EXTENDED", 3);
        (definition, check, self.text("CHECKSUM TABLE t EXTENDED", 1))
    }
}

/// INSERTs of so many rows each, which `row` writes.
fn dump(words: &str, rows: usize, per_statement: usize, row: impl Fn(usize) -> String) -> String {
    let numbers: Vec<usize> = (0..rows).collect();
    let statement = |rows: &[usize]| {
        let rows: Vec<String> = rows.iter().map(|&n| row(n)).collect();
        format!("{words} {};\n", rows.join(","))
    };
    numbers.chunks(per_statement).map(statement).collect()
}

/// A row of [`SHAPE`].
fn row(n: usize) -> String {
    let filler = "x;(".repeat(n % 12);
    let c = if n.is_multiple_of(5) { "NULL".to_owned() } else { n.to_string() };
    format!("({},'it''s \\'{filler}\\' {n}',{c})", n * 3 + 1)
}

const SHAPE: &str = "(a INT NOT NULL AUTO_INCREMENT PRIMARY KEY, b VARCHAR(60) NOT NULL, c INT, \
    KEY b (b), UNIQUE KEY c (c), KEY cb (c, b))";
const WORDS: &str = "INSERT INTO `t` VALUES";

#[test]
fn connections_and_serial_make_the_same_table_whatever_the_statements() {
    for (rows, per_statement) in [(3000, 1), (9000, 3), (9000, 4000)] {
        for words in [WORDS, "INSERT IGNORE INTO t (a, `b`, c) VALUES", "REPLACE INTO `t` VALUES"] {
            let Some(mut scene) = Scene::new(SHAPE) else { return };
            let dump = dump(words, rows, per_statement, row);
            let sent = scene.send(dump.as_bytes()).unwrap();
            assert_eq!((sent.rows, sent.way), (rows as u64, "parallel"));
            let connections = scene.picture();
            scene.set("TRUNCATE t");
            let sent = scene.serial(dump.as_bytes()).unwrap();
            assert_eq!((sent.rows, sent.way), (rows as u64, "serial"));
            assert_eq!(scene.picture(), connections);
            assert_eq!(connections.1, "OK");
            assert!(
                connections.0.contains(&format!("AUTO_INCREMENT={}", rows * 3 - 1)),
                "{}",
                connections.0
            );
        }
    }
}

#[test]
fn the_indexes_of_a_large_run_are_built_behind_it() {
    let Some(mut scene) = Scene::new(SHAPE) else { return };
    let before = scene.text("SHOW CREATE TABLE t", 1);
    let filler = "y".repeat(40);
    let dump = dump(WORDS, DEFER_BYTES / 50, 10_000, |n| format!("({},'{filler}{n}',{n})", n + 1));
    assert!(dump.len() > DEFER_BYTES);
    let sent = scene.send(dump.as_bytes()).unwrap();
    let (after, check, _) = scene.picture();
    assert_eq!(check, "OK");
    assert_eq!(after.replace(&format!(" AUTO_INCREMENT={}", sent.rows + 1), ""), before);
    let counted = scene.text("SELECT COUNT(*) FROM t FORCE INDEX (cb) WHERE c >= 0", 0);
    assert_eq!(counted, sent.rows.to_string());
}

#[test]
fn rows_without_a_primary_key_keep_their_order() {
    let Some(mut scene) = Scene::new("(a INT, b VARCHAR(60), c INT, KEY b (b))") else { return };
    let dump = dump(WORDS, 9000, 700, row);
    scene.send(dump.as_bytes()).unwrap();
    let rows = scene.session.query("SELECT a FROM t IGNORE INDEX (b)").unwrap();
    let rows: Vec<usize> = rows.iter().map(|row| row.number(0).unwrap()).collect();
    assert_eq!(rows, (0..9000).map(|n| n * 3 + 1).collect::<Vec<_>>());
}

#[test]
fn whatever_depends_on_statements_is_left_to_them() {
    let many = |words: &str| dump(words, 4000, 500, row);
    let cases = [
        (WORDS, "(NULL,'counted',7)", "a value that the server generates"),
        (WORDS, "(9999999,NOW(),7)", ""),
        (WORDS, "(9999999,'x',3999) ON DUPLICATE KEY UPDATE a=a", ""),
        // The last row again: under another key, and the same.
        ("REPLACE INTO t VALUES", "(9999999,'x',3999)", "place"),
        ("INSERT IGNORE INTO t VALUES", "(9999999,'x',3999)", "place"),
        (WORDS, "(9999999,'x',3999)", "error 1062"),
        // An error in one row, a warning in many.
        (WORDS, "(9999999,NULL,9999999)", "INSERT of one row"),
    ];
    // Other warnings say the same of one row as of many.
    if let Some(mut scene) = Scene::new(SHAPE) {
        let dump = many(WORDS) + &format!("{WORDS} (9999999,'{}',9999999);\n", "z".repeat(70));
        assert_eq!(scene.send(dump.as_bytes()).unwrap().rows, 4001);
    }
    for (words, last, why) in cases {
        let Some(mut scene) = Scene::new(SHAPE) else { return };
        let dump = many(words) + &format!("{words} {last};\n");
        let said = scene.unfit(&dump);
        assert!(said.contains(why), "{last}: {said}");
    }
    let cases = [
        ("(a INT AUTO_INCREMENT PRIMARY KEY, b INT)", "INSERT INTO t (b) VALUES (1);"),
        ("(a INT PRIMARY KEY) ENGINE=MyISAM", "INSERT INTO t VALUES (1);"),
        ("(a INT PRIMARY KEY) WITH SYSTEM VERSIONING", "INSERT INTO t VALUES (1);"),
        ("(a INT PRIMARY KEY)", "INSERT INTO t VALUES (1+(2));"),
    ];
    for (shape, dump) in cases {
        let Some(mut scene) = Scene::new(shape) else { return };
        scene.unfit(dump);
        assert_eq!(scene.serial(dump.as_bytes()).unwrap().rows, 1, "{shape}");
    }
    let Some(mut scene) = Scene::new("(a INT PRIMARY KEY)") else { return };
    scene.set("CREATE SEQUENCE s");
    scene.set("ALTER TABLE t ADD b INT DEFAULT NEXTVAL(s)");
    scene.unfit("INSERT INTO t (a) VALUES (1);");
    scene.send(b"INSERT INTO t (a,b) VALUES (1,2);").unwrap();
}

#[test]
fn rows_of_a_table_that_others_see_go_in_all_or_none() {
    let Some(mut scene) = Scene::new(SHAPE) else { return };
    scene.is_staging = false;
    let good = dump(WORDS, 4000, 500, row);
    let bad = good.clone() + "INSERT INTO `t` VALUES (9999999,'x',3999);";
    let said = scene.unfit(&bad);
    assert!(said.contains("1062"), "{said}");
    assert_eq!(scene.text("SELECT COUNT(*) FROM t", 0), "0");
    let error = match scene.serial(bad.as_bytes()) {
        Err(Stopped::Failed(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let line = format!("line 9, byte {}", good.len());
    assert!(error.contains(&line) && error.contains("1062"), "{error}");
    assert_eq!(scene.text("SELECT COUNT(*) FROM t", 0), "0");
    assert_eq!(scene.send(good.as_bytes()).unwrap().rows, 4000);
    assert_eq!(scene.text("SELECT COUNT(*) FROM t", 0), "4000");
}

/// How many of our transactions are prepared.
fn prepared(scene: &mut Scene) -> usize {
    let rows = scene.session.query("XA RECOVER").unwrap();
    let global = Together::of(&scene.name, Spot::default()).global;
    rows.iter().filter(|row| row.text_lossy(3).starts_with(&global)).count()
}

#[test]
fn rows_of_a_table_that_others_see_go_over_several_connections() {
    let Some(mut scene) = Scene::new(SHAPE) else { return };
    scene.is_staging = false;
    scene.set("INSERT INTO t VALUES (9999999,'was there',NULL)");
    let good = dump(WORDS, 9000, 500, row);
    let is_several = |scene: &mut Scene, dump: &[u8]| {
        let name = scene.name.clone();
        scene.with(dump, |filling, _, session| {
            assert_eq!(filling.into, &name);
            matches!(Gate::of(session, filling).unwrap().commit, Commit::Together(_))
        })
    };
    assert!(is_several(&mut scene, good.as_bytes()));
    assert!(!is_several(&mut scene, good.replace("INSERT INTO", "REPLACE INTO").as_bytes()));
    scene.set("ALTER TABLE t ADD FOREIGN KEY (c) REFERENCES t (a)");
    assert!(is_several(&mut scene, good.as_bytes()));
    scene.set("SET foreign_key_checks=1");
    assert!(!is_several(&mut scene, good.as_bytes()));
    scene.set("SET foreign_key_checks=0");

    // The key that is there already comes last, when all other connections are through.
    let said = scene.unfit(&(good.clone() + "INSERT INTO `t` VALUES (9999999,'x',NULL);"));
    assert!(said.contains("1062"), "{said}");
    assert_eq!((scene.text("SELECT COUNT(*) FROM t", 0).as_str(), prepared(&mut scene)), ("1", 0));
    assert_eq!(scene.send(good.as_bytes()).unwrap().rows, 9000);
    assert_eq!(
        (scene.text("SELECT COUNT(*) FROM t", 0).as_str(), prepared(&mut scene)),
        ("9001", 0)
    );
    assert_eq!(scene.picture().1, "OK");
}

#[test]
fn two_connections_with_one_key_do_not_wait_for_each_other_for_ever() {
    let Some(mut scene) = Scene::new(SHAPE) else { return };
    scene.is_staging = false;
    scene.sets.insert("innodb_lock_wait_timeout".to_owned());
    scene.set("SET innodb_lock_wait_timeout=1");
    let twice = dump(WORDS, 9000, 500, row) + "INSERT INTO `t` VALUES (9999999,'x',1);";
    let said = scene.unfit(&twice);
    assert!(said.contains("1062") || said.contains("1205"), "{said}");
    assert_eq!((scene.text("SELECT COUNT(*) FROM t", 0).as_str(), prepared(&mut scene)), ("0", 0));
}

#[test]
fn what_was_prepared_by_somebody_who_died_stays_or_goes_as_a_whole() {
    let Some(mut scene) = Scene::new("(a INT PRIMARY KEY)") else { return };
    let name = scene.name.clone();
    let prepare = |scene: &Scene, together: &Together, numbers: [usize; 2]| {
        for number in numbers {
            let mut session = scene.server.connect().unwrap();
            together.begin(&mut session, number).unwrap();
            session.exec(&format!("INSERT INTO {} VALUES ({number})", name.quoted())).unwrap();
            together.prepare(&mut session, number).unwrap();
        }
    };
    let spot = |offset| Together::of(&name, Spot { part: 0, offset });
    let mut own = scene.server.connect().unwrap();
    // Nothing is decided while a connection is still at work, and nobody else takes its number.
    let mut late = scene.server.connect().unwrap();
    prepare(&scene, &spot(7), [0, 1]);
    spot(7).begin(&mut late, 2).unwrap();
    late.exec(&format!("INSERT INTO {} VALUES (2)", name.quoted())).unwrap();
    let is_at_work = AtomicBool::new(true);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            is_at_work.store(false, Ordering::SeqCst);
            drop(late);
        });
        assert_eq!(spot(7).resolve(&mut own).unwrap(), Resolved::Out);
        assert!(!is_at_work.load(Ordering::SeqCst), "decided while a connection was at work");
    });
    spot(7).begin(&mut scene.server.connect().unwrap(), 2).unwrap();
    prepare(&scene, &spot(7), [0, 1]);
    assert_eq!(spot(7).resolve(&mut own).unwrap(), Resolved::Out);
    assert_eq!((scene.text("SELECT COUNT(*) FROM t", 0).as_str(), prepared(&mut scene)), ("0", 0));
    prepare(&scene, &spot(7), [1, 2]);
    assert_eq!(spot(7).resolve(&mut own).unwrap(), Resolved::In);
    assert_eq!((scene.text("SELECT COUNT(*) FROM t", 0).as_str(), prepared(&mut scene)), ("2", 0));
    // Of another run of the same table: it is ended too.
    prepare(&scene, &spot(8), [3, 4]);
    while prepared(&mut scene) > 0 {
        assert_eq!(spot(7).resolve(&mut own).unwrap(), Resolved::Nothing);
    }
    assert_eq!((scene.text("SELECT COUNT(*) FROM t", 0).as_str(), prepared(&mut scene)), ("4", 0));
}

/// Rows of a connection whose COMMIT was refused behind the first one's were taken for refused, and the
/// same command loaded all rows once more.
#[test]
fn a_refused_commit_leaves_no_rows_or_the_next_replay_commits_them() {
    let Some(mut scene) = Scene::new("(a INT PRIMARY KEY)") else { return };
    let (name, spot) = (scene.name.clone(), Spot { part: 0, offset: 9 });
    let together = Together::of(&name, spot);
    let socket = scene.server.dir().join(format!("{}-refused", name.database));
    let proxy = Proxy::start(socket, scene.server.socket());
    let connect =
        ConnectOptions { socket: Some(proxy.socket().to_owned()), ..scene.server.options() };
    let mut own = scene.server.connect().unwrap();
    for (refused, rows) in [(0, "0"), (1, "3"), (2, "3")] {
        let mut open = BTreeMap::new();
        for number in 0..3 {
            let mut session = Session::connect(&connect).unwrap();
            together.begin(&mut session, number).unwrap();
            session.exec(&format!("INSERT INTO {} VALUES ({number})", name.quoted())).unwrap();
            open.insert(number, session);
        }
        let mut count = 0;
        proxy.judge(move |request| {
            count += usize::from(request.begins("XA COMMIT"));
            // Somebody holds back all that is to be committed.
            match request.begins("XA COMMIT") && count == refused + 1 {
                true => Fate::Refused(1401),
                false => Fate::Done,
            }
        });
        let error = together.commit(&mut own, open).unwrap_err();
        proxy.let_pass();
        assert_eq!((error.is_certain(), error.is_passed_over()), (refused == 0, refused == 0));
        if refused > 0 {
            assert!(error.to_string().contains("a part of the rows"), "{error}");
            assert_eq!(together.resolve(&mut own).unwrap(), Resolved::In);
        }
        assert_eq!(prepared(&mut scene), 0);
        assert_eq!(scene.text("SELECT COUNT(*) FROM t", 0), rows, "{refused}: {error}");
        scene.set("TRUNCATE t");
    }
}

#[test]
fn a_run_that_does_not_go_in_leaves_the_rows_of_earlier_ones() {
    let Some(mut scene) = Scene::new(SHAPE) else { return };
    let first = dump(WORDS, 4000, 500, row);
    scene.send(first.as_bytes()).unwrap();
    scene.is_empty = false;
    let second = dump(WORDS, 4000, 500, |n| row(n + 4000));
    let said = scene.unfit(&(second.clone() + "INSERT INTO `t` VALUES (9999999,'x',7998);"));
    assert!(said.contains("1062"), "{said}");
    assert_eq!(scene.text("SELECT COUNT(*) FROM t", 0), "4000");
    assert_eq!(scene.send(second.as_bytes()).unwrap().rows, 4000);
    let connections = scene.picture();
    scene.set("TRUNCATE t");
    scene.serial((first + &second).as_bytes()).unwrap();
    assert_eq!(scene.picture(), connections);
    // The dump's session is as it was.
    assert_eq!(
        scene.text("SELECT CONCAT(@@unique_checks=0, @@autocommit=1, @@in_transaction)", 0),
        "110"
    );
}

#[test]
fn a_dump_in_another_character_set_names_what_it_names() {
    let Some(mut scene) = Scene::new("(a INT)") else { return };
    scene.set(
        "CREATE TABLE `\u{e4}\u{df}` (`\u{f6}` INT PRIMARY KEY, b VARCHAR(9)) CHARSET utf8mb4",
    );
    scene.name.table = "\u{e4}\u{df}".to_owned();
    scene.set("SET NAMES latin1");
    let dump = b"INSERT INTO `\xe4\xdf` (`\xf6`,`b`) VALUES (1,'\xe4'),(2,_binary '\xc3\xa4');";
    assert_eq!(scene.send(dump).unwrap().rows, 2);
    let dump = b"INSERT INTO `\xe4\xdf` (`\xf6`,`b`) VALUES (3,'\xe4');";
    assert_eq!(scene.serial(dump).unwrap().rows, 1);
    scene.set("SET NAMES utf8mb4");
    let sql = "SELECT GROUP_CONCAT(HEX(b) ORDER BY `\u{f6}`) FROM `\u{e4}\u{df}`";
    assert_eq!(scene.text(sql, 0), "C3A4,C3A4,C3A4");

    scene.set("SET NAMES gbk");
    scene.name.table = "t".to_owned();
    assert!(scene.unfit("INSERT INTO t VALUES (1);").contains("gbk"));
}
