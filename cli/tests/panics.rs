//! A mistake of ours in any thread: the program says so with exit status 1 and does not hang, the
//! table is as it was with nothing beside it, and the same command then works. Threads that only
//! look on take nothing with them: the load ends well.
//!
//! The threads are those of the product, each with its place `thread.<its work>`; that none is
//! missing here is a test of the house (`testkit/tests/house`).

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

use crate::support::{Desk, Outcome, PATIENCE, check_table, finish, run, signal, start, tables};

const ROWS: u32 = 4000;
/// The only row before.
const OLD: &str = "7|old";

/// What becomes of a load whose thread panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// It fails, and its error has these words.
    Fails(&'static str),
    /// The thread only looked on; or the rows of a dump, that cannot be built, are sent.
    Goes,
}
use End::{Fails, Goes};

/// The same words as the panic's.
const ITSELF: End = Fails("an internal error stopped the load, please report it: the failpoint");

/// How rows get in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Direct,
    /// By the direct path, from an archive.
    Packed,
    /// By the direct path, with rows that share keys.
    Skipping,
    Stream,
    /// By LOAD DATA, of a pipe whose rows are sorted first.
    Sorted,
    Insert,
    /// A dump whose rows are built.
    Rows,
    /// A dump whose rows are sent by several connections.
    Lanes,
    /// A dump whose statements are played one after the other.
    Serial,
}

/// Every thread, on a way that has it.
const THREADS: [(&str, Way, End); 39] = [
    ("thread.rows", Way::Direct, ITSELF),
    ("batch.0", Way::Direct, ITSELF),
    ("thread.indexes", Way::Direct, ITSELF),
    ("thread.verify", Way::Direct, ITSELF),
    ("thread.checkpoint", Way::Direct, Fails("the checkpoint's thread ended")),
    ("thread.mover", Way::Direct, Fails("the thread that renames has ended")),
    ("thread.connect", Way::Direct, Fails("connecting to")),
    ("thread.told", Way::Direct, Goes),
    ("thread.waiting", Way::Direct, Goes),
    ("thread.interrupt", Way::Direct, Goes),
    ("thread.signals", Way::Direct, Goes),
    ("thread.read-ahead", Way::Packed, Fails("the thread that reads ahead has ended")),
    // In the thread that conducts a build, until there is something to publish.
    ("shadow.discarded", Way::Direct, ITSELF),
    ("verify.begin", Way::Direct, ITSELF),
    ("import.placed", Way::Direct, ITSELF),
    ("thread.rows", Way::Skipping, ITSELF),
    ("thread.collect", Way::Skipping, ITSELF),
    ("thread.groups", Way::Skipping, ITSELF),
    ("thread.lane", Way::Stream, ITSELF),
    ("batch.0", Way::Stream, ITSELF),
    ("thread.mover", Way::Stream, Fails("the thread that renames has ended")),
    ("thread.controller", Way::Stream, Goes),
    ("thread.gauge", Way::Stream, Goes),
    ("thread.sort", Way::Sorted, ITSELF),
    ("thread.merge", Way::Sorted, Fails("the thread that merges them has ended")),
    ("thread.lane", Way::Sorted, ITSELF),
    ("thread.lane", Way::Insert, ITSELF),
    ("batch.0", Way::Insert, ITSELF),
    ("thread.gauge", Way::Insert, Goes),
    ("thread.run", Way::Rows, ITSELF),
    ("thread.rows", Way::Rows, Goes),
    ("thread.verify", Way::Rows, Goes),
    ("thread.run", Way::Lanes, ITSELF),
    ("thread.lane", Way::Lanes, ITSELF),
    ("lane.0", Way::Lanes, ITSELF),
    ("thread.controller", Way::Lanes, Goes),
    ("thread.progress", Way::Lanes, Goes),
    ("batch.0", Way::Serial, ITSELF),
    ("thread.progress", Way::Serial, Goes),
];

struct Scene {
    desk: Desk,
    way: Way,
    /// What the program reads.
    file: PathBuf,
}

impl Scene {
    fn new(way: Way) -> Option<Scene> {
        let mut desk = Desk::new()?;
        desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b)) ENGINE=InnoDB");
        desk.exec("INSERT INTO t VALUES (7, 'old')");
        let order = (0..ROWS).map(|row| row * 1237 % ROWS);
        let again = if way == Way::Skipping { 0..50 } else { 0..0 };
        let lines: String = order.chain(again).map(|row| format!("{row}\tnew\n")).collect();
        let file = match way {
            Way::Rows | Way::Lanes | Way::Serial => desk.home.file("dump.sql", dump(&desk)),
            Way::Packed => {
                let fast = flate2::Compression::fast();
                let mut archive = flate2::write::GzEncoder::new(Vec::new(), fast);
                archive.write_all(lines.as_bytes()).unwrap();
                desk.home.file("rows.txt.gz", archive.finish().unwrap())
            }
            _ => desk.home.file("rows.txt", lines),
        };
        Some(Scene { desk, way, file })
    }

    fn command(&self) -> Command {
        let load = |path: &str, more: &[&str]| {
            let is_piped = self.way == Way::Sorted;
            let input = if is_piped { "-".into() } else { self.file.clone() };
            let mut load = self.desk.home.load(self.desk.server, &self.desk.table("t"), &input);
            load.args(["--path", path, "--mode", "replace"]).args(more);
            if is_piped {
                let mut cat =
                    Command::new("cat").arg(&self.file).stdout(Stdio::piped()).spawn().unwrap();
                load.stdin(cat.stdout.take().unwrap());
                std::thread::spawn(move || cat.wait());
            }
            load
        };
        match self.way {
            Way::Direct | Way::Packed => load("direct", &[]),
            Way::Skipping => load("direct", &["--on-duplicate", "skip"]),
            Way::Stream | Way::Sorted => load("stream", &[]),
            Way::Insert => load("insert", &[]),
            Way::Rows => self.replay(&["--small", "1"]),
            Way::Lanes => self.replay(&["--as", "statements", "--small", "1"]),
            Way::Serial => self.replay(&["--small", "1M"]),
        }
    }

    fn replay(&self, more: &[&str]) -> Command {
        let mut command = self.desk.home.inrush(["replay"]);
        command.arg(&self.file).args(["--threads", "2", "--memory", "120M", "--socket"]);
        command.arg(self.desk.server.socket()).args(more);
        if let Some(user) = self.desk.server.options().user {
            command.args(["--user", &user]);
        }
        command
    }

    /// To its end, which has to come.
    fn run(&self, point: &str) -> Outcome {
        let mut command = self.command();
        command.env("INRUSH_FAILPOINT", format!("{point}=panic")).env("RUST_BACKTRACE", "0");
        let child = start(&mut command);
        let pid = child.id();
        let (ended, end) = channel();
        std::thread::spawn(move || ended.send(finish(child)));
        match end.recv_timeout(PATIENCE) {
            Ok(outcome) => outcome,
            Err(_) => {
                signal(pid, "-KILL");
                panic!("{point} {:?} hangs: {:?}", self.way, end.recv());
            }
        }
    }

    fn is_met(&mut self, point: &str, end: End) {
        let what = format!("{point} {:?}", self.way);
        let outcome = self.run(point);
        // Of the thread that connects it is not printed.
        let is_met = outcome.err.contains("the failpoint") || point == "thread.connect";
        assert!(is_met, "{what} was not met: {outcome:?}");
        match end {
            Goes => self.is_new(&outcome, &what),
            Fails(words) => {
                assert_eq!(outcome.code(), 1, "{what}: {outcome:?}");
                outcome.refused(1, &[words]);
                assert_eq!(self.desk.rows("SELECT * FROM t"), [OLD], "{what}");
                self.is_clean(&what);
            }
        }
        let again = run(&mut self.command());
        self.is_new(&again, &what);
    }

    fn is_new(&mut self, outcome: &Outcome, what: &str) {
        assert!([0, 3].contains(&outcome.code()), "{what}: {outcome:?}");
        let found = self.desk.rows("SELECT COUNT(*), MIN(b), MAX(b), MAX(a) FROM t");
        assert_eq!(found, [format!("{ROWS}|new|new|{}", ROWS - 1)], "{what}: {outcome:?}");
        let table = self.desk.table("t");
        check_table(&mut self.desk.session, &table);
        self.is_clean(what);
    }

    fn is_clean(&mut self, what: &str) {
        let database = self.desk.database.clone();
        assert_eq!(tables(&mut self.desk.session, &database), ["t"], "{what}");
        assert_eq!(self.desk.files(), ["db.opt", "t.frm", "t.ibd"], "{what}");
        assert_eq!(self.desk.home.temp_files(), [""; 0], "{what}");
    }
}

/// A dump that makes the table anew.
fn dump(desk: &Desk) -> String {
    let tuples: Vec<String> = (0..ROWS).map(|row| format!("({row},'new')")).collect();
    let inserts: String = tuples
        .chunks(1000)
        .map(|tuples| format!("INSERT INTO `t` VALUES {};\n", tuples.join(",")))
        .collect();
    format!(
        "USE `{}`;\nDROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (`a` int PRIMARY KEY, \
         `b` varchar(20), KEY `b` (`b`)) ENGINE=InnoDB;\n{inserts}",
        desk.database
    )
}

#[track_caller]
fn all_of(ways: &[Way]) {
    let mut failed = Vec::new();
    for (point, way, end) in THREADS.into_iter().filter(|(_, way, _)| ways.contains(way)) {
        let Some(mut scene) = Scene::new(way) else { return };
        if catch_unwind(AssertUnwindSafe(|| scene.is_met(point, end))).is_err() {
            failed.push((point, way));
        }
    }
    assert!(failed.is_empty(), "{failed:?}, as said above");
}

#[test]
fn a_panic_in_a_thread_of_a_build_ends_it_or_nothing() {
    all_of(&[Way::Direct, Way::Packed, Way::Skipping]);
}

#[test]
fn a_panic_in_a_thread_that_sends_rows_ends_the_load_or_nothing() {
    all_of(&[Way::Stream, Way::Sorted, Way::Insert]);
}

#[test]
fn a_panic_in_a_thread_of_a_replay_ends_it_or_nothing() {
    all_of(&[Way::Rows, Way::Lanes, Way::Serial]);
}
