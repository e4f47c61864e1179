//! A mistake of ours in any thread, or in the one that conducts them: the program says so with exit
//! status 1 and does not hang, and what it says of the rows is so. Nothing is beside the table, and
//! the same command then works. Threads that only look on take nothing with them: the load ends well.
//!
//! `"thread.shard"`, `"thread.route"`, `"thread.prepare"`, `"thread.staged"` and `"thread.commit"` are tried
//! where there are shards (`shards.rs`), `"thread.objects"` where there are objects (`cloud/answers.rs`), `"thread.upload"`, `"thread.messages"` and `"thread.hang-up"` where there is
//! ssh (`via/faults.rs`), `"thread.holders"` where somebody holds a lock (`waits.rs`). The threads are those of the
//! product, each with its place `thread.<its work>`; that none is missing here is a test of the house
//! (`crates/testkit/tests/house`).

mod scene;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use self::scene::{LoadKind, Scene};
use crate::support::{Desk, names, run};
use crate::web::Web;

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
const ITSELF: End = Fails("an internal error stopped the load; please report this: the failpoint");
/// A load that adds rows and has added all.
const ADDED: End = IsIn("3999 rows are in");
/// Behind the step that publishes.
const PUBLISHED: End = IsIn(": do not load them again");
/// In a replay, whose tables are told one by one: those that it came to are new.
const REPLAYED: End = IsIn("the failpoint replay.");

/// Threads that no load into MySQL has: its files are not stamped, nothing has to pass between DISCARD and IMPORT, and
/// one connection publishes a table with foreign keys.
const MARIADB_THREADS: [&str; 4] =
    ["thread.stamp", "thread.checkpoint", "thread.behind", "thread.carrier"];
/// Every thread, on a way that has it.
const THREADS: [(&str, LoadKind, End); 45] = [
    ("thread.rows", LoadKind::Direct, ITSELF),
    ("batch.0", LoadKind::Direct, ITSELF),
    ("thread.indexes", LoadKind::Direct, ITSELF),
    ("thread.verify", LoadKind::Direct, ITSELF),
    ("thread.adopted", LoadKind::Direct, ITSELF),
    ("thread.stamp", LoadKind::Direct, ITSELF),
    ("thread.checkpoint", LoadKind::Direct, FailsAlone("the checkpoint thread has ended")),
    ("thread.mover", LoadKind::Direct, Fails("the renaming thread has ended")),
    ("thread.connect", LoadKind::Direct, Fails("connecting to")),
    ("thread.told", LoadKind::Direct, Goes),
    ("thread.waiting", LoadKind::Direct, Goes),
    ("thread.interrupt", LoadKind::Direct, Goes),
    ("thread.signals", LoadKind::Direct, Goes),
    ("thread.behind", LoadKind::Keys, Fails("the thread that waits for a table's lock has ended")),
    ("thread.carrier", LoadKind::Keys, Goes),
    ("thread.staging", LoadKind::Several, ITSELF),
    ("thread.import", LoadKind::Several, ITSELF),
    ("thread.verify", LoadKind::Several, ITSELF),
    ("thread.mover", LoadKind::Several, Fails("the renaming thread has ended")),
    ("thread.read-ahead", LoadKind::Packed, Fails("the read-ahead thread has ended")),
    ("thread.rows", LoadKind::Skipping, ITSELF),
    ("thread.collect", LoadKind::Skipping, ITSELF),
    ("thread.groups", LoadKind::Skipping, ITSELF),
    ("thread.connection", LoadKind::Stream, ITSELF),
    ("batch.0", LoadKind::Stream, ITSELF),
    ("thread.mover", LoadKind::Stream, Fails("the renaming thread has ended")),
    ("thread.controller", LoadKind::Stream, Goes),
    ("thread.gauge", LoadKind::Stream, Goes),
    ("thread.sort", LoadKind::Sorted, ITSELF),
    ("thread.merge", LoadKind::Sorted, Fails("the merging thread has ended")),
    ("thread.connection", LoadKind::Sorted, ITSELF),
    ("thread.connection", LoadKind::Insert, ITSELF),
    ("batch.0", LoadKind::Insert, ITSELF),
    ("thread.gauge", LoadKind::Insert, Goes),
    ("thread.second", LoadKind::Whole, ITSELF),
    ("thread.run", LoadKind::Rows, ITSELF),
    ("thread.rows", LoadKind::Rows, Goes),
    ("thread.verify", LoadKind::Rows, Goes),
    ("thread.run", LoadKind::Connections, ITSELF),
    ("thread.connection", LoadKind::Connections, ITSELF),
    ("chunk.0", LoadKind::Connections, ITSELF),
    ("thread.controller", LoadKind::Connections, Goes),
    ("thread.progress", LoadKind::Connections, Goes),
    ("batch.0", LoadKind::Serial, ITSELF),
    ("thread.progress", LoadKind::Serial, Goes),
];

/// Where a load or a replay is conducted from, on a way that comes there.
const CONDUCTED: [(&str, LoadKind, End); 39] = [
    ("inspect.end", LoadKind::Made, ITSELF),
    ("staging.discarded", LoadKind::Made, ITSELF),
    ("staging.discarded", LoadKind::Direct, ITSELF),
    ("verify.begin", LoadKind::Direct, ITSELF),
    ("import.placed", LoadKind::Direct, ITSELF),
    ("publish.queued", LoadKind::Direct, ITSELF),
    ("publish.begin", LoadKind::Direct, ITSELF),
    ("publish.moved", LoadKind::Direct, PUBLISHED),
    ("publish.swapped", LoadKind::Direct, Warns),
    ("publish.end", LoadKind::Direct, Warns),
    ("job.end", LoadKind::Direct, Goes),
    ("publish.prepared", LoadKind::Keys, ITSELF),
    ("staging.discarded", LoadKind::Several, ITSELF),
    ("import.placed", LoadKind::Several, ITSELF),
    ("publish.begin", LoadKind::Several, ITSELF),
    ("publish.moved", LoadKind::Several, PUBLISHED),
    ("publish.swapped", LoadKind::Several, Warns),
    ("inspect.begin", LoadKind::Stream, ITSELF),
    ("staging.begin", LoadKind::Stream, ITSELF),
    ("ledger.created", LoadKind::Stream, ITSELF),
    ("ledger.opened", LoadKind::Stream, ITSELF),
    ("rows.begin", LoadKind::Insert, ITSELF),
    ("rows.end", LoadKind::Insert, ITSELF),
    ("publish.queued", LoadKind::Stream, ITSELF),
    ("publish.moved", LoadKind::Insert, PUBLISHED),
    ("publish.swapped", LoadKind::Stream, Warns),
    ("ledger.done", LoadKind::Stream, Warns),
    ("ledger.opened", LoadKind::Added, ITSELF),
    ("rows.begin", LoadKind::Added, ITSELF),
    ("rows.end", LoadKind::Added, ADDED),
    ("ledger.done", LoadKind::Added, Warns),
    ("rows.begin", LoadKind::Whole, ITSELF),
    ("publish.commit", LoadKind::Whole, ITSELF),
    ("publish.committed", LoadKind::Whole, PUBLISHED),
    ("replay.created", LoadKind::Rows, ITSELF),
    ("replay.rename", LoadKind::Rows, ITSELF),
    ("replay.renamed", LoadKind::Rows, REPLAYED),
    ("replay.dropped", LoadKind::Rows, REPLAYED),
    ("replay.journal", LoadKind::Serial, ITSELF),
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
        if (self.way, end) != (LoadKind::Added, Warns) {
            let again = self.again();
            self.is_new(&again, &what);
        }
    }
}

#[track_caller]
fn all_of(cases: &[(&'static str, LoadKind, End)], ways: &[LoadKind]) {
    let mut failed = Vec::new();
    for &(point, way, end) in cases.iter().filter(|(_, way, _)| ways.contains(way)) {
        let Some(mut scene) = Scene::new(way) else { return };
        if scene.is_mysql() && MARIADB_THREADS.contains(&point) {
            continue;
        }
        if catch_unwind(AssertUnwindSafe(|| scene.is_met(point, end))).is_err() {
            failed.push((point, way));
        }
    }
    assert!(failed.is_empty(), "{failed:?}, as said above");
}

#[test]
fn a_panic_in_a_thread_of_a_build_ends_it_or_nothing() {
    all_of(
        &THREADS,
        &[
            LoadKind::Direct,
            LoadKind::Keys,
            LoadKind::Several,
            LoadKind::Packed,
            LoadKind::Skipping,
        ],
    );
}

#[test]
fn a_panic_in_a_thread_of_a_check_ends_it() {
    let Some(mut scene) = Scene::new(LoadKind::Direct) else { return };
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

/// The main thread prints the last line of progress.
#[test]
fn a_panic_in_the_thread_that_prints_progress_ends_nothing() {
    let Some(mut scene) = Scene::new(LoadKind::Direct) else { return };
    let outcome = scene.run_with("thread.watch", &["--progress", "json"]);
    assert!(outcome.err.contains("the failpoint thread.watch"), "{outcome:?}");
    assert!(outcome.err.lines().any(|line| line.contains("\"phase\":\"done\"")), "{outcome:?}");
    scene.is_new(&outcome, "thread.watch");
}

#[test]
fn a_panic_in_a_thread_that_reads_ranges_ends_the_load() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT)");
    let web = Web::of("1\n".repeat(100_000));
    let target = desk.table("t");
    let mut load = desk.home.load(desk.server, &target, Path::new(&web.url("t.csv")));
    let place = "thread.ranges";
    let panicking = load.env("INRUSH_FAILPOINT", format!("{place}=panic"));
    run(panicking.env("RUST_BACKTRACE", "0"))
        .refused(1, &["the thread that reads ranges has ended"]);
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["0"]);
    assert_eq!(desk.home.temp_files(), [""; 0]);
}

#[cfg(feature = "cloud")]
#[test]
fn a_panic_in_a_thread_that_sends_to_an_object_store_ends_the_export() {
    crate::cloud::written::panic_at("thread.upload");
}

#[test]
fn a_panic_in_a_thread_that_sends_rows_ends_the_load_or_nothing() {
    all_of(&THREADS, &[LoadKind::Stream, LoadKind::Sorted, LoadKind::Insert, LoadKind::Whole]);
}

#[test]
fn a_panic_in_a_thread_of_a_replay_ends_it_or_nothing() {
    all_of(&THREADS, &[LoadKind::Rows, LoadKind::Connections, LoadKind::Serial]);
}

#[test]
fn a_panic_of_who_conducts_a_build_says_what_is_in() {
    all_of(&CONDUCTED, &[LoadKind::Direct, LoadKind::Keys, LoadKind::Several, LoadKind::Made]);
}

#[test]
fn a_panic_of_who_conducts_a_sending_says_what_is_in() {
    all_of(&CONDUCTED, &[LoadKind::Stream, LoadKind::Insert, LoadKind::Added, LoadKind::Whole]);
}

#[test]
fn a_panic_of_who_conducts_a_replay_leaves_old_tables_or_new_ones() {
    all_of(&CONDUCTED, &[LoadKind::Rows, LoadKind::Serial]);
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
