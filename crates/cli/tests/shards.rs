//! Tables whose partitions are tables of other servers: a head with Spider and three shards.

mod appended;
mod exported;
mod through_head;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use locks::{Mutex, MutexGuard};
use server::Session;
use testkit::Shards;

use crate::support::{Home, Outcome, PATIENCE, finish, resume, run, start, wait_paused};

const KILL: i32 = 9;
/// The head cannot connect to a shard.
const ER_NO_SHARD: u16 = 1429;
const COLUMNS: &str = "id INT NOT NULL, name VARCHAR(20) DEFAULT 'none', day DATE, PRIMARY KEY (id), \
    KEY name (name, day)";
/// Where a load is killed, or meets a node that is gone, before anybody sees new rows.
const BEFORE: [&str; 5] =
    ["shards.head", "shards.created.1", "import.placed", "shards.filled.0", "shards.swap"];
/// And behind the swap.
const BEHIND: [&str; 2] = ["shards.swapped", "shards.removed"];

/// The shards of all tests here, one after the other: five servers are enough for one machine.
fn shards() -> Option<MutexGuard<'static, Shards>> {
    static ONE: OnceLock<Option<Mutex<Shards>>> = OnceLock::new();
    let shards = ONE.get_or_init(|| Shards::start(3).unwrap().map(Mutex::new)).as_ref()?;
    Some(shards.lock())
}

/// A table of a database of its own, on the head and its shards.
struct Scene<'s> {
    shards: &'s Shards,
    home: Home,
    database: String,
    session: Session,
}

impl<'s> Scene<'s> {
    fn new(shards: &'s Shards, by: &str, bounds: &[&str]) -> Scene<'s> {
        Scene::with(shards, COLUMNS, by, bounds)
    }

    fn with(shards: &'s Shards, columns: &str, by: &str, bounds: &[&str]) -> Scene<'s> {
        let database = shards.head.database().unwrap();
        shards.create(&format!("{database}.t"), columns, by, bounds).unwrap();
        let session = shards.session().unwrap();
        Scene { shards, home: Home::new(), database, session }
    }

    fn table(&self) -> String {
        format!("{}.t", self.database)
    }

    /// `count` rows that begin at `first`, in no order.
    fn rows(&self, first: u32, count: u32) -> std::path::PathBuf {
        let row = |at: u32| {
            let id = first + at.wrapping_mul(7_919) % count;
            format!("{id}\tname {}\t20{:02}-03-{:02}\n", id % 97, id % 30, id % 28 + 1)
        };
        self.home.file("rows", (0..count).map(row).collect::<String>())
    }

    fn command(&self, verb: &str, more: &[&str]) -> Command {
        self.command_of(verb, "rows", more)
    }

    fn command_of(&self, verb: &str, file: &str, more: &[&str]) -> Command {
        let mut command = self.home.inrush([verb, file, "--into", &self.table()]);
        // All loads at once; of less, one after the other.
        let memory = if more.contains(&"--memory") { &[][..] } else { &["--memory", "400M"] };
        command.args(["--threads", "2", "--lock-wait", "10"]).args(memory);
        command.args(["--host", "127.0.0.1", "--user", "shard", "--port"]);
        let port = self.shards.options().port.unwrap();
        command.arg(port.to_string()).env("MYSQL_PWD", "secret").args(more);
        command
    }

    fn load(&self, more: &[&str]) -> Outcome {
        run(self.command("load", more).arg("--verbose"))
    }

    /// Rows of the table. For a second the head remembers of a shard that it was gone.
    fn count(&mut self) -> u64 {
        let (count, begun) = (format!("SELECT COUNT(*) FROM {}", self.table()), Instant::now());
        loop {
            match self.session.query_row(&count) {
                Err(error) if error.errno() == Some(ER_NO_SHARD) && begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                row => return row.unwrap().number(0).unwrap(),
            }
        }
    }

    /// The table has just the rows of the file, each where it belongs, and nothing else is anywhere.
    #[track_caller]
    fn is_whole(&mut self, when: &str) {
        let (database, table) = (self.database.clone(), self.table());
        self.session
            .exec(&format!(
                "CREATE TABLE {database}.expected ({COLUMNS}) ENGINE=InnoDB CHARSET=utf8mb4"
            ))
            .unwrap();
        let file = std::fs::File::open(self.home.path().join("rows")).unwrap();
        let sql = format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {database}.expected");
        self.session.load_local(&sql, file).unwrap();
        let mut sums = Vec::new();
        for table in [&table, &format!("{database}.expected")] {
            let sum = format!(
                "SELECT COUNT(*), BIT_XOR(CRC32(CONCAT_WS('|', id, name, day))), SUM(CRC32(CONCAT(id, name))) \
                 FROM {table}"
            );
            let row = self.session.query_row(&sum).unwrap();
            sums.push([row.text_lossy(0), row.text_lossy(1), row.text_lossy(2)]);
        }
        assert_eq!(sums[0], sums[1], "{when}");
        self.session.exec(&format!("DROP TABLE {database}.expected")).unwrap();
        let checked = self.session.query_row(&format!("CHECK TABLE {table}")).unwrap();
        assert_eq!(checked.text(3).unwrap(), "OK", "{when}");
        self.is_clean(when);
    }

    /// Each server has one table.
    #[track_caller]
    fn is_clean(&self, when: &str) {
        for tables in self.shards.tables(&self.database).unwrap() {
            assert_eq!(tables.len(), 1, "{when}: {tables:?}");
        }
    }

    /// Rows of each shard's table.
    fn counts(&self) -> Vec<u64> {
        let tables = self.shards.tables(&self.database).unwrap();
        let count = |(node, tables): (&testkit::TestServer, &Vec<String>)| {
            let sql = format!("SELECT COUNT(*) FROM {}.`{}`", self.database, tables[0]);
            node.connect().unwrap().query_row(&sql).unwrap().number(0).unwrap()
        };
        self.shards.nodes.iter().zip(&tables[1..]).map(count).collect()
    }
}

#[test]
fn rows_go_to_their_shards_and_are_published_at_once() {
    let Some(shards) = shards() else { return };
    let ranges: &[&str] =
        &["VALUES LESS THAN (1000)", "VALUES LESS THAN (1500)", "VALUES LESS THAN MAXVALUE"];
    for (by, bounds, path) in [
        ("HASH (id)", &[][..], "auto"),
        ("KEY (id)", &[], "stream"),
        ("LINEAR HASH (id * 3 + 1)", &[], "insert"),
        ("RANGE (id)", ranges, "direct"),
        ("LIST (id MOD 3)", &["VALUES IN (0)", "VALUES IN (1)", "VALUES IN (2)"], "auto"),
    ] {
        let mut scene = Scene::new(&shards, by, bounds);
        scene.rows(1, 2_000);
        let plan = run(&mut scene.command("plan", &[]));
        let map = format!("partition p1: {}.t on s2 (127.1:{})", scene.database, shards.port(1));
        assert!(plan.done().out.contains(&map), "{plan:?}");
        let loaded = scene.load(&["--path", path]);
        assert!(loaded.done().out.contains("2,000 rows loaded"), "{loaded:?}");
        assert!(loaded.out.contains("partition p2: "), "{loaded:?}");
        scene.is_whole(by);
        let first = scene.counts();
        assert!(first.iter().all(|&count| count > 300), "{by}: {first:?}");
        // Not empty any more, unless they are replaced.
        scene.load(&[]).refused(2, &["is not empty; --mode append"]);
        scene.is_whole(by);
        scene.rows(700, 3_000);
        scene.load(&["--mode", "replace"]).done();
        scene.is_whole(by);
        // What is written to it afterwards goes where the rows are.
        let insert = format!("INSERT INTO {} VALUES (9999, 'after', NULL)", scene.table());
        scene.session.exec(&insert).unwrap();
        assert_eq!(scene.counts().iter().sum::<u64>(), 3_001);
        // All to one shard, none to the others.
        if by.starts_with("RANGE") {
            scene.rows(5_000, 1_000);
            scene.load(&["--mode", "replace"]).done();
            scene.is_whole("skewed");
            assert_eq!(scene.counts(), [0, 0, 1_000]);
        }
    }
}

#[test]
fn whatever_the_input_is_it_is_read_for_all_shards() {
    let Some(shards) = shards() else { return };
    let mut scene = Scene::new(&shards, "HASH (id)", &[]);
    let rows = scene.rows(1, 3_000);
    // As many loads at once as there is memory for.
    scene.load(&["--memory", "120M"]).done();
    scene.is_whole("one after the other");
    // A pipe, which is read once, though it is asked for again for those that come after others.
    for memory in ["400M", "120M"] {
        let pipe = scene.home.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let writing = std::thread::spawn({
            let (rows, pipe) = (rows.clone(), pipe.clone());
            move || std::fs::write(pipe, std::fs::read(rows).unwrap())
        });
        let more = ["--mode", "replace", "--memory", memory];
        run(&mut scene.command_of("load", "pipe", &more)).done();
        writing.join().unwrap().unwrap();
        std::fs::remove_file(&pipe).unwrap();
        scene.is_whole("a pipe");
    }
    // Two files with a header and lines before it, one compressed; values that go over lines.
    let text = std::fs::read_to_string(&rows).unwrap();
    let (first, second) = text.split_at(text.find("1500\t").unwrap());
    let head = "made by hand\nid\tname\tday\n";
    scene.home.file("a", format!("{head}{first}"));
    let packed = scene.home.file("b", format!("{head}{second}"));
    assert!(Command::new("gzip").arg(&packed).status().unwrap().success());
    let more = ["b.gz", "--mode", "replace", "--skip-lines", "1", "--header", "--path", "stream"];
    run(&mut scene.command_of("load", "a", &more)).done();
    scene.is_whole("compressed");
}

#[test]
fn what_is_wrong_with_a_row_is_told_by_its_place_in_the_input() {
    let Some(shards) = shards() else { return };
    let scene = Scene::new(&shards, "HASH (id)", &[]);
    let good: String = (1..=400).map(|id| format!("{id}\tname\t2020-01-01\n")).collect();
    for (row, reason) in [
        ("401\tname\tnever\n", &["rows line 401", "byte 7892", "never", "the shard s3"][..]),
        ("7\tseven\t2020-01-01\n", &["line 401", "line 7", "PRIMARY"]),
        ("x\tname\t2020-01-01\n", &["rows line 401", "the shard s1"]),
    ] {
        for path in ["direct", "stream", "insert"] {
            scene.home.file("rows", format!("{good}{row}402\tlast\t2020-01-01\n"));
            let refused = scene.load(&["--path", path]);
            let seen: &[&str] = if path == "direct" { reason } else { &reason[..1] };
            refused.refused(1, seen);
        }
    }
    let mut command = scene.command("load", &[]);
    let panicked =
        run(command.env("INRUSH_FAILPOINT", "thread.route=panic").env("RUST_BACKTRACE", "0"));
    panicked.refused(1, &["an internal error", "thread.route"]);
    scene.is_clean("refused");
    assert_eq!(scene.counts(), [0, 0, 0]);
}

fn replace<'w>(more: &[&'w str]) -> Vec<&'w str> {
    [&["--mode", "replace"], more].concat()
}

#[test]
fn what_is_not_known_of_shards_is_refused_and_changes_nothing() {
    let Some(shards) = shards() else { return };
    let mut scene = Scene::new(&shards, "HASH (id)", &[]);
    scene.rows(1, 50);
    // The same server for two partitions.
    let twice = format!("s2=127.0.0.1:{}", shards.port(0));
    scene.load(&["--shard", &twice]).refused(2, &["two partitions have the rows"]);
    let misnamed = ["--shard", "s9=127.0.0.1:1"];
    scene.load(&misnamed).refused(
        2,
        &["no partition is on server s9, which --shard names; the partitions are on s1, s2, s3"],
    );
    scene.load(&["--shard", "s2"]).refused(2, &["SERVER=ADDRESS"]);
    scene.load(&[]).done();
    let before = scene.counts();
    for (server, whose) in [
        (&shards.nodes[1], "s2: read-only server (read_only is set)"),
        (&shards.head, "read-only server (read_only is set)"),
    ] {
        let mut session = server.connect().unwrap();
        session.exec("SET GLOBAL read_only=1").unwrap();
        let outcomes = ["append", "replace"].map(|mode| scene.load(&["--mode", mode]));
        session.exec("SET GLOBAL read_only=0").unwrap();
        outcomes.iter().for_each(|outcome| outcome.refused(2, &[whose]));
    }
    scene
        .load(&["--mode", "append", "--unlogged"])
        .refused(2, &["in the shards' binary logs: omit --unlogged"]);
    scene
        .load(&replace(&["--rejects-max", "5"]))
        .refused(2, &["a load of shards accepts no rejected rows"]);
    scene
        .load(&replace(&["--shard", "s2=127.0.0.1:1", "--path", "stream"]))
        .refused(1, &["the shard s2 (127.0.0.1:1)"]);
    scene.home.file("rows", "1\tone\t2020-01-01\nx\ttwo\t2020-01-01\n");
    scene.load(&replace(&[])).refused(1, &["rows line 2", "the shard s1"]);
    scene.home.file("rows", "");
    scene.load(&replace(&[])).refused(2, &["--allow-empty"]);
    assert_eq!(scene.counts(), before);
    scene.is_clean("refused");
    // A shard's table that is another.
    let alter = format!("ALTER TABLE {}.`{}` ADD KEY (day)", scene.database, {
        shards.tables(&scene.database).unwrap()[2][0].clone()
    });
    shards.nodes[1].connect().unwrap().exec(&alter).unwrap();
    scene.rows(1, 50);
    scene
        .load(&replace(&[]))
        .refused(2, &["on s2 differs from the Spider table", "KEY `day` (`day`)"]);
    scene
        .session
        .exec(&format!(
            "CREATE TRIGGER {}.g BEFORE INSERT ON {} FOR EACH ROW SET @a=1",
            scene.database,
            scene.table()
        ))
        .unwrap();
    scene
        .load(&replace(&[]))
        .refused(2, &["triggers of the Spider table would not run, because the rows"]);
    let bounds = ["VALUES LESS THAN (10)", "VALUES LESS THAN (20)", "VALUES LESS THAN (40)"];
    let scene = Scene::new(&shards, "RANGE (id)", &bounds);
    scene.rows(1, 50);
    scene.load(&[]).refused(1, &["belongs to no partition, with 4"]);
    scene.is_clean("a row of no partition");
}

#[test]
fn a_load_of_shards_killed_at_any_step_leaves_the_old_rows_or_the_new_ones() {
    let Some(shards) = shards() else { return };
    let mut scene = Scene::new(&shards, "HASH (id)", &[]);
    scene.rows(1, 500);
    scene.load(&[]).done();
    for (at, place) in BEFORE.iter().chain(&BEHIND).enumerate() {
        let (before, count) = (scene.count(), 600 + at as u32 * 10);
        scene.rows(1, count);
        let mut command = scene.command("load", &["--mode", "replace"]);
        let killed = run(command.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        let expected = if BEFORE.contains(place) { before } else { u64::from(count) };
        assert_eq!(scene.count(), expected, "{place}");
        scene.load(&["--mode", "replace"]).done();
        scene.is_whole(place);
    }
    let mut command = scene.command("load", &["--mode", "replace"]);
    let panicked =
        run(command.env("INRUSH_FAILPOINT", "thread.shard=panic").env("RUST_BACKTRACE", "0"));
    panicked.refused(1, &["an internal error", "thread.shard"]);
    scene.is_whole("a panic");
}

#[test]
fn a_map_that_changes_meanwhile_ends_the_load() {
    let Some(shards) = shards() else { return };
    let mut scene = Scene::new(&shards, "HASH (id)", &[]);
    scene.rows(1, 100);
    scene.load(&[]).done();
    scene.rows(1, 300);
    let mut session = shards.session().unwrap();
    let mut move_to = |port: u16| {
        session.exec(&format!("ALTER SERVER s2 OPTIONS (PORT {port})")).unwrap();
    };
    for (mode, place) in [("replace", "shards.swap"), ("append", "branches.decide")] {
        let mut command = scene.command("load", &["--mode", mode]);
        let mut child = start(command.env("INRUSH_FAILPOINT", format!("{place}=pause")));
        wait_paused(&mut child);
        move_to(1);
        resume(&child);
        let outcome = finish(child);
        move_to(shards.port(1));
        let said = format!(" on s2 (127.1:{}) and is", shards.port(1));
        outcome.refused(1, &["nothing was loaded", &said, "on s2 (127.1:1) now"]);
        assert_eq!(scene.count(), 100, "{mode}");
        scene.load(&["--mode", "replace"]).done();
        scene.is_whole(mode);
        scene.rows(1, 100);
        scene.load(&["--mode", "replace"]).done();
        scene.rows(101, 200);
    }
}

#[test]
fn a_reader_sees_the_old_rows_of_all_shards_or_the_new_ones() {
    let Some(shards) = shards() else { return };
    let scene = Scene::new(&shards, "HASH (id)", &[]);
    scene.rows(1, 300);
    scene.load(&[]).done();
    let done = AtomicBool::new(false);
    let sum = format!("SELECT COUNT(*), MIN(id) FROM {}", scene.table());
    let mut reader = shards.session().unwrap();
    let seen = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let (mut seen, begun) = (Vec::new(), Instant::now());
            while !done.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
                let row = reader.query_row(&sum).unwrap();
                seen.push((row.number::<u64>(0).unwrap(), row.number::<u64>(1).unwrap()));
            }
            seen
        });
        let outcomes = [1_000, 2_000].map(|first| {
            scene.rows(first, 300);
            scene.load(&["--mode", "replace"])
        });
        done.store(true, Ordering::Relaxed);
        for outcome in &outcomes {
            outcome.done();
        }
        reading.join().unwrap()
    });
    assert!(seen.iter().all(|(count, _)| *count == 300), "{seen:?}");
    assert!(seen.iter().all(|(_, first)| [1, 1_000, 2_000].contains(first)), "{seen:?}");
    scene.is_clean("read meanwhile");
}

#[test]
fn a_shard_that_is_killed_leaves_the_old_rows_or_the_new_ones() {
    let Some(shards) = shards() else { return };
    let mut scene = Scene::new(&shards, "HASH (id)", &[]);
    scene.rows(1, 200);
    scene.load(&[]).done();
    for place in ["shards.created.0", "shards.filled.1", "shards.compare", "shards.swapped"] {
        let before = scene.count();
        scene.rows(1, 700);
        let mut command = scene.command("load", &["--mode", "replace"]);
        let mut child = start(command.env("INRUSH_FAILPOINT", format!("{place}=pause")));
        wait_paused(&mut child);
        shards.nodes[2].kill_9().unwrap();
        resume(&child);
        let outcome = finish(child);
        shards.nodes[2].restart().unwrap();
        scene.session = shards.session().unwrap();
        // All rows are in: that old tables are left on a shard is a warning.
        let is_new = place == "shards.swapped";
        assert_eq!(outcome.code(), if is_new { 0 } else { 1 }, "{place}: {outcome:?}");
        assert_eq!(scene.count(), if is_new { 700 } else { before }, "{place}: {outcome:?}");
        scene.rows(1, 300);
        scene.load(&["--mode", "replace"]).done();
        scene.is_whole(place);
    }
    assert!(
        catalog::exists(&mut scene.session, &schema::TableName::new(&scene.database, "t")).unwrap()
    );
}
