//! A mistake of ours in any thread, or in the one that conducts them: the program says so with exit
//! status 1 and does not hang, and what it says of the rows is so. Nothing is beside the table, and
//! the same command then works. Threads that only look on take nothing with them: the load ends well.
//!
//! `"thread.shard"`, `"thread.route"`, `"thread.prepare"`, `"thread.staged"` and `"thread.commit"` are tried where there are shards (`shards.rs`). The threads are those of the product, each with its place `thread.<its work>`; that none is
//! missing here is a test of the house (`crates/testkit/tests/house`).

mod scene;

use std::panic::{AssertUnwindSafe, catch_unwind};

use self::scene::{Scene, Way};
use crate::support::{Desk, names, run};

/// The end of a load that meets a panic.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// It fails, its error has these words, and nothing was changed.
    Fails(&'static str),
    /// The same, unless another load on the same server did the thread's work meanwhile.
    FailsAlone(&'static str),
    /// It fails, and its error has these words, that all rows are in among them.
    IsIn(&'static str),
    /// The thread only looked on; or the rows of a dump, that cannot be built, are sent.
    Goes,
    /// The rows were in already: it ends well, with a warning.
    Warns,
}
use End::{Fails, FailsAlone, Goes, IsIn, Warns};

/// The same words as the panic's.
const ITSELF: End = Fails("an internal error stopped the load, please report it: the failpoint");
/// A load that adds rows and has added all.
const ADDED: End = IsIn("3999 rows are in");
/// Behind the step that publishes.
const PUBLISHED: End = IsIn("nevertheless: do not load them again");
/// In a replay, whose tables are told one by one: those that it came to are new.
const REPLAYED: End = IsIn("the failpoint replay.");

/// Every thread, on a way that has it.
const THREADS: [(&str, Way, End); 43] = [
    ("thread.rows", Way::Direct, ITSELF),
    ("batch.0", Way::Direct, ITSELF),
    ("thread.indexes", Way::Direct, ITSELF),
    ("thread.verify", Way::Direct, ITSELF),
    ("thread.adopted", Way::Direct, ITSELF),
    ("thread.checkpoint", Way::Direct, FailsAlone("the checkpoint's thread ended")),
    ("thread.mover", Way::Direct, Fails("the thread that renames has ended")),
    ("thread.connect", Way::Direct, Fails("connecting to")),
    ("thread.told", Way::Direct, Goes),
    ("thread.waiting", Way::Direct, Goes),
    ("thread.interrupt", Way::Direct, Goes),
    ("thread.signals", Way::Direct, Goes),
    ("thread.behind", Way::Keys, Fails("the thread that waits for a table has ended")),
    ("thread.carrier", Way::Keys, Fails("the thread that waits for a table has ended")),
    ("thread.shadow", Way::Several, ITSELF),
    ("thread.import", Way::Several, ITSELF),
    ("thread.verify", Way::Several, ITSELF),
    ("thread.mover", Way::Several, Fails("the thread that renames has ended")),
    ("thread.read-ahead", Way::Packed, Fails("the thread that reads ahead has ended")),
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

/// Where a load or a replay is conducted from, on a way that comes there.
const CONDUCTED: [(&str, Way, End); 39] = [
    ("inspect.end", Way::Made, ITSELF),
    ("shadow.discarded", Way::Made, ITSELF),
    ("shadow.discarded", Way::Direct, ITSELF),
    ("verify.begin", Way::Direct, ITSELF),
    ("import.placed", Way::Direct, ITSELF),
    ("publish.queued", Way::Direct, ITSELF),
    ("publish.begin", Way::Direct, ITSELF),
    ("publish.moved", Way::Direct, PUBLISHED),
    ("publish.swapped", Way::Direct, Warns),
    ("publish.end", Way::Direct, Warns),
    ("job.end", Way::Direct, Goes),
    ("publish.prepared", Way::Keys, ITSELF),
    ("shadow.discarded", Way::Several, ITSELF),
    ("import.placed", Way::Several, ITSELF),
    ("publish.begin", Way::Several, ITSELF),
    ("publish.moved", Way::Several, PUBLISHED),
    ("publish.swapped", Way::Several, Warns),
    ("inspect.begin", Way::Stream, ITSELF),
    ("shadow.begin", Way::Stream, ITSELF),
    ("ledger.created", Way::Stream, ITSELF),
    ("ledger.opened", Way::Stream, ITSELF),
    ("rows.begin", Way::Insert, ITSELF),
    ("rows.end", Way::Insert, ITSELF),
    ("publish.queued", Way::Stream, ITSELF),
    ("publish.moved", Way::Insert, PUBLISHED),
    ("publish.swapped", Way::Stream, Warns),
    ("ledger.done", Way::Stream, Warns),
    ("ledger.opened", Way::Added, ITSELF),
    ("rows.begin", Way::Added, ITSELF),
    ("rows.end", Way::Added, ADDED),
    ("ledger.done", Way::Added, Warns),
    ("rows.begin", Way::Whole, ITSELF),
    ("publish.commit", Way::Whole, ITSELF),
    ("publish.committed", Way::Whole, PUBLISHED),
    ("replay.created", Way::Rows, ITSELF),
    ("replay.rename", Way::Rows, ITSELF),
    ("replay.renamed", Way::Rows, REPLAYED),
    ("replay.dropped", Way::Rows, REPLAYED),
    ("replay.journal", Way::Serial, ITSELF),
];

impl Scene {
    fn is_met(&mut self, point: &str, end: End) {
        let what = format!("{point} {:?}", self.way);
        let outcome = self.run(point);
        // Of the thread that connects it is not printed.
        let is_met = outcome.err.contains("the failpoint") || point == "thread.connect";
        assert!(is_met, "{what} was not met: {outcome:?}");
        match end {
            FailsAlone(_) if outcome.code() == 0 => self.is_new(&outcome, &what),
            Goes => self.is_new(&outcome, &what),
            Warns => {
                assert!(outcome.err.contains("inrush: warning: an internal error"), "{outcome:?}");
                self.is_new(&outcome, &what);
            }
            Fails(words) | FailsAlone(words) => {
                outcome.refused(1, &[words]);
                let is_told = self.way.is_replay() || end != ITSELF || self.says_old(&outcome);
                assert!(is_told, "{what}: {outcome:?}");
                assert_eq!(self.seen(), self.before, "{what}");
                assert_eq!(self.desk.home.temp_files(), [""; 0], "{what}");
            }
            IsIn(words) => {
                outcome.refused(1, &[words]);
                self.has_new(&what, &outcome);
            }
        }
        // What is added when all are in is added once more.
        if (self.way, end) != (Way::Added, Warns) {
            let again = self.again();
            self.is_new(&again, &what);
        }
    }
}

#[track_caller]
fn all_of(cases: &[(&'static str, Way, End)], ways: &[Way]) {
    let mut failed = Vec::new();
    for &(point, way, end) in cases.iter().filter(|(_, way, _)| ways.contains(way)) {
        let Some(mut scene) = Scene::new(way) else { return };
        if catch_unwind(AssertUnwindSafe(|| scene.is_met(point, end))).is_err() {
            failed.push((point, way));
        }
    }
    assert!(failed.is_empty(), "{failed:?}, as said above");
}

#[test]
fn a_panic_in_a_thread_of_a_build_ends_it_or_nothing() {
    all_of(&THREADS, &[Way::Direct, Way::Keys, Way::Several, Way::Packed, Way::Skipping]);
}

#[test]
fn a_panic_in_a_thread_of_a_check_ends_it() {
    let Some(mut scene) = Scene::new(Way::Direct) else { return };
    let outcome = scene.run_with("thread.judge", &["--dry-run"]);
    outcome.refused(1, &["an internal error", "the failpoint thread.judge"]);
    assert_eq!(scene.seen(), scene.before);
    assert_eq!(scene.desk.home.temp_files(), [""; 0]);
}

#[test]
fn a_panic_in_a_thread_of_a_comparison_ends_it() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("t", "1\n");
    desk.exec("CREATE TABLE t (a INT)");
    let mut verify = desk.home.inrush(["verify", "--dialect", "csv", "--into", &desk.table("t")]);
    verify.arg(&file).arg("--socket").arg(desk.server.socket());
    let place = "thread.compare";
    let panicking = verify.env("INRUSH_FAILPOINT", format!("{place}=panic"));
    run(panicking.env("RUST_BACKTRACE", "0"))
        .refused(1, &["an internal error", "the failpoint thread.compare"]);
}

#[test]
fn a_panic_in_a_thread_of_an_export_leaves_no_file() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT)");
    let mut export = desk.home.inrush(["export", &desk.table("t"), "-o", "out.csv", "--socket"]);
    export.arg(desk.server.socket());
    let place = "thread.export";
    let panicking = export.env("INRUSH_FAILPOINT", format!("{place}=panic"));
    run(panicking.env("RUST_BACKTRACE", "0"))
        .refused(1, &["an internal error", "the failpoint thread.export"]);
    assert!(!names(desk.home.path()).iter().any(|name| name.contains("out.csv")));
}

#[test]
fn a_panic_in_a_thread_that_sends_rows_ends_the_load_or_nothing() {
    all_of(&THREADS, &[Way::Stream, Way::Sorted, Way::Insert]);
}

#[test]
fn a_panic_in_a_thread_of_a_replay_ends_it_or_nothing() {
    all_of(&THREADS, &[Way::Rows, Way::Lanes, Way::Serial]);
}

#[test]
fn a_panic_of_who_conducts_a_build_says_what_is_in() {
    all_of(&CONDUCTED, &[Way::Direct, Way::Keys, Way::Several, Way::Made]);
}

#[test]
fn a_panic_of_who_conducts_a_sending_says_what_is_in() {
    all_of(&CONDUCTED, &[Way::Stream, Way::Insert, Way::Added, Way::Whole]);
}

#[test]
fn a_panic_of_who_conducts_a_replay_leaves_old_tables_or_new_ones() {
    all_of(&CONDUCTED, &[Way::Rows, Way::Serial]);
}

#[test]
fn a_panic_while_lines_are_read_leaves_their_tables_as_they_were() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(9) UNIQUE)");
    desk.home.file("lines.csv", "word\nx\ny\nx\n");
    let job = format!(
        "into = \"{}\"\n[input]\nfiles = [\"lines.csv\"]\nheader = true\n[[table]]\nname = \"a\"\n\
         columns = {{ word = \"word\" }}\nentity = {{ key = [\"word\"], id = \"id\" }}\n",
        desk.database
    );
    desk.home.file("job.toml", job);
    let load = |desk: &Desk| {
        let mut command = desk.home.inrush(["load", "-c", "job.toml", "--quiet", "--socket"]);
        command.arg(desk.server.socket());
        if let Some(user) = desk.server.options().user {
            command.args(["--user", &user]);
        }
        command
    };
    for place in ["thread.lines", "thread.entities", "thread.ids"] {
        let panicked = run(load(&desk).env("INRUSH_FAILPOINT", format!("{place}=panic")));
        panicked.refused(1, &["an internal error", &format!("the failpoint {place}")]);
        assert!(desk.rows("SELECT * FROM a").is_empty(), "{place}");
    }
    run(&mut load(&desk)).done();
    assert_eq!(desk.rows("SELECT id, word FROM a ORDER BY id"), ["1|x", "2|y"]);
}
