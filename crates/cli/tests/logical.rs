//! The paths stream and insert: killed, stopped, and gone on with.

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::TestServer;

use crate::scene::{Mode, Scene};
use crate::support::{
    Desk, Outcome, PATIENCE, finish, resume, run, signal, start, wait_paused, wait_watching,
};

const KILL: i32 = 9;

/// Places where such a load can be stopped, in order; from `publish.swapped` on the target is new.
const PLACES: [&str; 13] = [
    "inspect.end",
    "staging.begin",
    "staging.end",
    "ledger.opened",
    "rows.begin",
    "chunk.0.read",
    "chunk.0.loaded",
    "chunk.7.loaded",
    "rows.end",
    "indexes.end",
    "publish.begin",
    "publish.swapped",
    "job.end",
];

fn kill_at_every_place(mode: Mode, path: &'static str) {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, mode, 20_000);
    scene.more = vec!["--path", path];
    let swapped = PLACES.iter().position(|&place| place == "publish.swapped").unwrap();
    for (position, place) in PLACES.iter().enumerate() {
        scene.reset();
        let killed = run(&mut scene.load_with(&format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        assert_eq!(scene.home.temp_files(), [""; 0], "{place}");
        assert_eq!(scene.is_new(), position >= swapped, "{place}");
        scene.again(place);
    }
}

#[test]
fn a_stream_killed_anywhere_leaves_the_old_rows_or_the_new_ones() {
    kill_at_every_place(Mode::Replace, "stream");
}

#[test]
fn inserts_killed_anywhere_leave_the_empty_table_or_the_full_one() {
    kill_at_every_place(Mode::Insert, "insert");
}

#[test]
fn a_signal_stops_a_stream_and_nothing_of_it_is_left() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Replace, 20_000);
    scene.more = vec!["--path", "stream", "--max-rate", "60K"];
    let mut child = start(&mut scene.command());
    std::thread::sleep(Duration::from_millis(700));
    wait_watching(&mut child);
    signal(child.id(), "-INT");
    let stopped = finish(child);
    stopped.refused(1, &["stopped by SIGINT during ", "t is unchanged"]);
    assert!(!scene.is_new());
    scene.clean("after a signal");
}

#[test]
fn a_signal_while_the_ledger_is_made_leaves_none() {
    let Some(server) = TestServer::shared() else { return };
    for (mode, path) in [(Mode::Replace, "stream"), (Mode::Insert, "insert")] {
        let mut scene = Scene::new(server, mode, 2_000);
        scene.more = vec!["--path", path];
        let mut child = start(&mut scene.load_with("ledger.created=pause"));
        wait_paused(&mut child);
        signal(child.id(), "-TERM");
        resume(&child);
        finish(child).refused(1, &["stopped by SIGTERM during ", "t is unchanged"]);
        assert!(!scene.is_new());
        scene.clean(path);
    }
}

/// A table with 100 rows, to which those of `file` are to be added.
struct Growing {
    desk: Desk,
    file: PathBuf,
    path: &'static str,
    memory: &'static str,
}

const ROWS: u64 = 40_000;

impl Growing {
    fn new(path: &'static str, key: &str) -> Option<Growing> {
        let mut desk = Desk::new()?;
        let database = desk.database.clone();
        desk.exec(&format!("CREATE TABLE t (id INT NOT NULL, word VARCHAR(60) {key})"));
        desk.exec(&format!("INSERT INTO t SELECT -seq, 'old' FROM {database}.seq_1_to_100"));
        let mut text = String::new();
        for line in 0..ROWS {
            writeln!(text, "{line}\tword {} of some length, {}", line % 100, line * 7).unwrap();
        }
        let file = desk.home.file("more.txt", text);
        Some(Growing { desk, file, path, memory: "30M" })
    }

    fn command(&self, file: &Path) -> std::process::Command {
        let mut command = self.desk.home.load(self.desk.server, &self.desk.table("t"), file);
        command.args(["--mode", "append", "--path", self.path, "--memory", self.memory]);
        command
    }

    fn add(&self, failpoint: &str) -> Outcome {
        run(self.command(&self.file).arg("--json").env("INRUSH_FAILPOINT", failpoint))
    }

    /// Each row of the file is there once, and so are those before; nothing of a load is left.
    #[track_caller]
    fn check(&mut self, when: &str) {
        let counts = "SELECT COUNT(*), COUNT(DISTINCT id), MIN(id), MAX(id), \
                      SUM(word = CONCAT('word ', id % 100, ' of some length, ', id * 7)) FROM t";
        let expected = format!("{}|{}|-100|{}|{ROWS}", ROWS + 100, ROWS + 100, ROWS - 1);
        assert_eq!(self.desk.rows(counts), [expected], "{when}");
        assert_eq!(self.desk.rows("SHOW TABLES"), ["t"], "{when}");
    }

    /// The last transaction of a killed load may be committed yet: until then it locks the table.
    fn wait_for_open_transactions(&mut self) {
        self.desk.exec("LOCK TABLES t WRITE");
        self.desk.exec("UNLOCK TABLES");
    }

    fn reset(&mut self) {
        self.desk.exec("DELETE FROM t WHERE id >= 0");
    }

    /// Puts the rows into a file of typed columns in place of the text.
    fn convert(&mut self, ending: &str) {
        self.desk.exec("CREATE TABLE converted (id INT NOT NULL, word VARCHAR(60))");
        self.desk.load("converted", &self.file, &[]).done();
        self.file = self.file.with_extension(ending);
        let mut export = self.desk.home.inrush(["export", &self.desk.table("converted"), "-o"]);
        run(export.arg(&self.file).arg("--socket").arg(self.desk.server.socket())).done();
        self.desk.exec("DROP TABLE converted");
        self.memory = "36M";
    }

    /// The newest job that was killed.
    fn killed_job(&self) -> String {
        let jobs = run(&mut self.desk.home.inrush(["jobs"]));
        let line = jobs.done().out.lines().find(|line| line.contains(" killed "));
        line.and_then(|line| line.split_whitespace().next()).unwrap().to_owned()
    }
}

fn rows_are_added_once(path: &'static str, key: &str) {
    let Some(mut growing) = Growing::new(path, key) else { return };
    for place in ["ledger.opened", "chunk.0.loaded", "chunk.5.read", "chunk.9.loaded"] {
        let killed = growing.add(&format!("{place}=kill"));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        let again = growing.add("chunk.19.loaded=kill");
        assert_eq!(again.status.signal(), Some(KILL), "{place}: {again:?}");
        let report: Value = serde_json::from_str(&growing.add("").done().out).unwrap();
        assert_eq!(report["rows"], ROWS, "{place}");
        let before = report["logical"]["rows_before"].as_u64().unwrap();
        // Other connections may have come to the end before the kill.
        assert!((1..=ROWS).contains(&before), "{place}: {report}");
        growing.check(place);
        growing.reset();
    }
}

/// Their chunks are rows of a row group or a record batch.
#[test]
fn rows_of_parquet_and_arrow_files_are_added_once_after_kills() {
    let sent = ["ledger.opened", "chunk.0.loaded", "chunk.1.read", "ledger.complete"];
    for (path, ending, places) in [
        ("stream", "parquet", &sent[..]),
        ("insert", "parquet", &sent[1..3]),
        ("stream", "arrow", &sent[1..3]),
        ("direct", "parquet", &["publish.begin", "publish.moved"]),
    ] {
        let Some(mut growing) = Growing::new(path, "") else { return };
        growing.convert(ending);
        for place in places {
            let killed = growing.add(&format!("{place}=kill"));
            assert_eq!(killed.status.signal(), Some(KILL), "{path} {place}: {killed:?}");
            growing.add("").done();
            growing.check(&format!("{path} {ending} {place}"));
            growing.reset();
        }
    }
}

/// Small files share transactions: 2,000 files of 20 rows would take 2,000.
#[test]
fn rows_of_many_small_files_are_added_once() {
    for path in ["stream", "insert"] {
        let Some(mut growing) = Growing::new(path, "") else { return };
        let folder = growing.file.with_extension("d");
        std::fs::create_dir(&folder).unwrap();
        let text = std::fs::read_to_string(&growing.file).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (number, rows) in lines.chunks(20).enumerate() {
            std::fs::write(folder.join(format!("{number:04}.txt")), rows.concat()).unwrap();
        }
        growing.file = folder.join("*.txt");
        let killed = growing.add("chunk.5.loaded=kill");
        assert_eq!(killed.status.signal(), Some(KILL), "{killed:?}");
        let report: Value = serde_json::from_str(&growing.add("").done().out).unwrap();
        let [before, chunks] =
            ["rows_before", "chunks"].map(|name| report["logical"][name].as_u64());
        assert!(before > Some(20) && chunks < Some(100), "{report}");
        growing.check(path);
    }
}

/// The rows behind the one that was too many are of the chunk too, which is loaded whole or not.
#[test]
fn an_append_that_failed_on_refused_rows_goes_on_when_more_are_tolerated() {
    for path in ["stream", "insert"] {
        let Some(mut growing) = Growing::new(path, "") else { return };
        let text = std::fs::read_to_string(&growing.file).unwrap();
        let bad = text
            .replace("\n20000\t", "\nno\t20000\n20000\t")
            .replace("\n30000\t", "\nno\t30000\n30000\t");
        std::fs::write(&growing.file, bad).unwrap();
        let refused = run(&mut growing.command(&growing.file));
        let rest = "run the same command with a larger --rejects-max to load the rest";
        refused.refused(1, &["--rejects-max N skips up to N", "rows are in ", rest]);
        run(growing.command(&growing.file).args(["--rejects-max", "1"]))
            .refused(1, &["2 rows rejected", rest]);
        let done = run(growing.command(&growing.file).args(["--rejects-max", "2"]));
        assert_eq!(done.code(), 3, "{done:?}");
        let all = format!("{} rows loaded, 2 rejected", "40,000");
        assert!(done.out.contains(&all), "{done:?}");
        growing.check(path);
    }
}

#[test]
fn a_load_that_nobody_listens_to_goes_on() {
    let Some(mut growing) = Growing::new("stream", "") else { return };
    let mut command = growing.command(&growing.file);
    let mut load = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop((load.stdout.take(), load.stderr.take()));
    assert_eq!(load.wait().unwrap().code(), Some(0));
    growing.check("nobody listens");
}

#[test]
fn rows_streamed_into_a_table_without_a_key_are_there_once_after_kills() {
    rows_are_added_once("stream", "");
}

#[test]
fn rows_inserted_into_a_table_without_a_key_are_there_once_after_kills() {
    rows_are_added_once("insert", "");
}

#[test]
fn a_load_that_adds_rows_says_how_many_are_in_and_how_to_go_on() {
    let Some(mut growing) = Growing::new("stream", ", PRIMARY KEY (id)") else { return };
    // In the way of the last row.
    growing.desk.exec(&format!("INSERT INTO t VALUES ({}, 'in the way')", ROWS - 1));
    let failed = growing.add("");
    assert_eq!(failed.code(), 1, "{failed:?}");
    let rows = growing.desk.rows("SELECT COUNT(*) - 101 FROM t").remove(0);
    assert_ne!(rows, "0");
    let line = format!("line {ROWS} ");
    failed.refused(1, &["more.txt", &line, &format!("{rows} rows are in "), "the same command"]);
    // Another load does not pretend to be that one.
    let other = growing.desk.home.file("other.txt", "-1000\tword\n");
    let refused = run(&mut growing.command(&other));
    refused.refused(2, &["more.txt", &format!("after {rows} rows"), "DROP TABLE"]);
    growing.desk.exec("DELETE FROM t WHERE word = 'in the way'");
    growing.add("").done();
    growing.check("after the row in the way went");
}

/// The server gives several connections the same numbers: rows are skipped for them, or refused.
#[test]
fn rows_of_a_partitioned_table_that_the_server_numbers_go_over_one_connection() {
    for path in ["stream", "insert"] {
        let Some(mut growing) = Growing::new(path, "") else { return };
        growing.desk.exec("ALTER TABLE t ADD n INT NOT NULL AUTO_INCREMENT PRIMARY KEY");
        growing.desk.exec("ALTER TABLE t PARTITION BY HASH (n) PARTITIONS 4");
        let more = ["--columns", "id,word", "--connections", "5", "--json"];
        let loaded = run(growing.command(&growing.file).args(more));
        let report: Value = serde_json::from_str(&loaded.done().out).unwrap();
        assert_eq!(report["logical"]["connections"], 1, "{report}");
        assert!(report["notes"].to_string().contains("over one connection"), "{report}");
        growing.check(path);
    }
}

/// `NOW()` has another value each time, and is the same expression.
#[test]
fn a_load_with_an_expression_goes_on() {
    let Some(mut growing) = Growing::new("stream", "") else { return };
    growing.desk.exec("ALTER TABLE t ADD run CHAR(36)");
    let add = |growing: &Growing, expression: &str, failpoint: &str| {
        let mut command = growing.command(&growing.file);
        command.args(["--set-sql", expression]).env("INRUSH_FAILPOINT", failpoint);
        run(&mut command)
    };
    let killed = add(&growing, "run=UUID()", "chunk.5.loaded=kill");
    assert_eq!(killed.status.signal(), Some(KILL), "{killed:?}");
    let words = ["was interrupted after", "this command has other options for the input"];
    add(&growing, "run=MD5(UUID())", "").refused(2, &words);
    let rest = add(&growing, "run=UUID()", "");
    let note = "the expression for run was evaluated again for the other rows";
    assert!(rest.done().out.contains(note), "{rest:?}");
    growing.check("with an expression");
    assert_eq!(growing.desk.rows("SELECT COUNT(DISTINCT run) FROM t"), ["2"]);
}

/// The load that ends drops the ledger, also if it runs under an account with other journals.
#[test]
fn rows_that_another_account_has_loaded_are_not_added_again() {
    let Some(mut growing) = Growing::new("stream", "") else { return };
    let killed = growing.add("chunk.5.loaded=kill");
    assert_eq!(killed.status.signal(), Some(KILL), "{killed:?}");
    let others = growing.desk.home.path().join("others");
    run(growing.command(&growing.file).arg("--state-dir").arg(&others)).done();
    growing.check("after another account");
    let job = growing.killed_job();
    let words = [&*format!("job {job} of this command"), "is gone", &format!("jobs clean {job}, ")];
    growing.add("").refused(2, &words);
    run(&mut growing.desk.home.inrush(["resume", &job])).refused(2, &words);
    growing.add("").refused(2, &words);
    growing.check("after the same command");
    run(&mut growing.desk.home.inrush(["jobs", "clean", &job])).done();
    growing.add("").done();
    let rows = growing.desk.rows("SELECT COUNT(*), COUNT(DISTINCT id) FROM t");
    assert_eq!(rows, [format!("{}|{}", 2 * ROWS + 100, ROWS + 100)]);
    // A job that has added nothing begins again.
    growing.reset();
    let killed = growing.add("ledger.opened=kill");
    assert_eq!(killed.status.signal(), Some(KILL), "{killed:?}");
    let ledger = growing.desk.rows("SHOW TABLES LIKE '\\_inrush%'").remove(0);
    growing.desk.exec(&format!("DROP TABLE `{ledger}`"));
    growing.add("").done();
    growing.check("after a kill before the first row");
}

/// The advice was a new load, which the ledger refuses.
#[test]
fn a_job_that_added_rows_of_a_file_that_has_changed_says_how_to_go_on() {
    let Some(mut growing) = Growing::new("stream", "") else { return };
    let killed = growing.add("chunk.9.loaded=kill");
    assert_eq!(killed.status.signal(), Some(KILL), "{killed:?}");
    growing.wait_for_open_transactions();
    let text = std::fs::read_to_string(&growing.file).unwrap();
    std::fs::write(&growing.file, format!("{text}{ROWS}\tone more\n")).unwrap();
    let mut resume = growing.desk.home.inrush(["resume", &growing.killed_job()]);
    let table = growing.desk.table("t");
    let words = [
        &*format!("the job has added rows to {table}, and a table _inrush_ledger_.. beside"),
        "To load the rest, put the files back as they were",
        "drop the table _inrush_ledger_.., then run: inrush load",
    ];
    run(&mut resume).refused(2, &words);
    growing.add("").refused(2, &["the same files, but one of them has changed"]);
    let kept: u64 = growing.desk.rows("SELECT COUNT(*) FROM t")[0].parse().unwrap();
    let ledger = growing.desk.rows("SHOW TABLES LIKE '\\_inrush\\_ledger%'").remove(0);
    growing.desk.exec(&format!("DROP TABLE `{ledger}`"));
    growing.add("").done();
    let rows = (kept + ROWS + 1).to_string();
    assert_eq!(growing.desk.rows("SELECT COUNT(*) FROM t"), [rows]);
    assert_eq!(growing.desk.rows("SHOW TABLES"), ["t"]);
}

/// A ledger outlives its table: rows of a table that was made anew are not taken for loaded.
#[test]
fn rows_that_may_be_gone_with_their_table_are_asked_for() {
    for is_gone in [true, false] {
        let Some(mut growing) = Growing::new("stream", "") else { return };
        let killed = growing.add("chunk.9.loaded=kill");
        assert_eq!(killed.status.signal(), Some(KILL), "{killed:?}");
        growing.wait_for_open_transactions();
        let ledger = growing.desk.rows("SHOW TABLES LIKE '\\_inrush%'").remove(0);
        // The server tells times in seconds.
        std::thread::sleep(Duration::from_millis(1_100));
        match is_gone {
            true => {
                growing.desk.exec("CREATE TABLE restored LIKE t");
                growing.desk.exec("INSERT INTO restored SELECT * FROM t WHERE id < 0");
                growing.desk.exec("DROP TABLE t");
                growing.desk.exec("RENAME TABLE restored TO t");
            }
            false => growing.desk.exec("ALTER TABLE t FORCE"),
        }
        let refused = growing.add("");
        let database = &growing.desk.database;
        let (drop, keep) = (
            format!("If they are gone, run DROP TABLE `{database}`.`{ledger}`"),
            format!("if they are still there, run ALTER TABLE `{database}`.`{ledger}` FORCE"),
        );
        refused.refused(2, &["was created anew or altered since", &drop, &keep]);
        std::thread::sleep(Duration::from_millis(1_100));
        let job = growing.killed_job();
        assert!(refused.err.contains(&format!(", and inrush jobs clean {job}; ")), "{refused:?}");
        growing.desk.exec(&match is_gone {
            true => format!("DROP TABLE `{ledger}`"),
            false => format!("ALTER TABLE `{ledger}` FORCE"),
        });
        if is_gone {
            run(&mut growing.desk.home.inrush(["jobs", "clean", &job])).done();
        }
        growing.add("").done();
        growing.check("after the choice");
    }
}

#[test]
fn a_ledger_that_stays_is_told_with_what_to_do() {
    let Some(mut growing) = Growing::new("stream", "") else { return };
    let mut command = growing.command(&growing.file);
    command.args(["--lock-wait", "1"]).env("INRUSH_FAILPOINT", "ledger.done=pause");
    let mut child = start(&mut command);
    wait_paused(&mut child);
    let ledger = growing.desk.rows("SHOW TABLES LIKE '\\_inrush%'").remove(0);
    growing.desk.exec(&format!("LOCK TABLES {ledger} READ"));
    resume(&child);
    let outcome = finish(child);
    let told = format!("{ledger} could not be removed");
    assert!(outcome.done().err.contains(&told), "{outcome:?}");
    assert!(outcome.err.contains("the next load removes it"), "{outcome:?}");
    growing.desk.exec("UNLOCK TABLES");
    // Its user knows that all rows are in: whoever types it once more wants them once more.
    growing.add("").done();
    let rows = (2 * ROWS + 100).to_string();
    assert_eq!(growing.desk.rows("SELECT COUNT(*) FROM t"), [rows]);
    assert_eq!(growing.desk.rows("SHOW TABLES LIKE '\\_inrush%'"), [""; 0]);
}

#[test]
fn a_signal_stops_adding_and_the_same_command_goes_on() {
    let Some(mut growing) = Growing::new("insert", "") else { return };
    let child = start(growing.command(&growing.file).args(["--max-rate", "60K"]));
    let begun = Instant::now();
    while growing.desk.rows("SELECT COUNT(*) > 100 FROM t") != ["1"] {
        assert!(begun.elapsed() < PATIENCE, "no rows came");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Once more at once, as `timeout` does: not somebody's second thought.
    let twice = ["-c", "kill -TERM $0; kill -TERM $0", &child.id().to_string()];
    assert!(Command::new("sh").args(twice).status().unwrap().success());
    let stopped = finish(child);
    stopped.refused(
        1,
        &[
            "stopped by SIGTERM during rows; ",
            " in ",
            "run the same command again to load the rest",
        ],
    );
    // The table that lists the rows is in view until they are all in, and named where people look.
    let ledger = growing.desk.rows("SHOW TABLES LIKE '\\_inrush\\_ledger%'");
    let table = format!("{}.{}", growing.desk.database, ledger[0]);
    let named = format!("until then the table {table} lists these rows");
    assert!(stopped.err.contains(&named), "{stopped:?}");
    let told = |growing: &Growing| {
        let desk = &growing.desk;
        let mut doctor = desk.home.inrush(["doctor", "--user", "root", "--socket"]);
        let doctor = run(doctor.arg(desk.server.socket()));
        (run(&mut desk.home.inrush(["jobs"])).done().out.clone(), doctor.done().out.clone())
    };
    let (jobs, doctor) = told(&growing);
    assert!(
        jobs.contains("was interrupted while it added rows. A table _inrush_ledger_.."),
        "{jobs}"
    );
    assert!(doctor.contains("unfinished load") && doctor.contains(&table), "{doctor}");
    growing.add("").done();
    growing.check("after a signal");
    let (jobs, doctor) = told(&growing);
    assert!(!jobs.contains("_inrush_ledger_") && !doctor.contains(&table), "{jobs}{doctor}");
}

/// Few rows go into the table itself: none of them, or all, and once.
#[test]
fn a_small_input_killed_beside_its_commit_is_loaded_once() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9), KEY (name))");
    let file = desk.home.file("rows.txt", "1\ta\n2\tb\n");
    for (mode, before) in [("insert", 0), ("append", 1)] {
        for (place, is_in) in [("publish.commit", false), ("publish.committed", true)] {
            desk.exec("TRUNCATE t");
            desk.exec(&format!(
                "INSERT INTO t SELECT seq + 10, 'old' FROM seq_1_to_{before} LIMIT {before}"
            ));
            let more = ["--path", "auto", "--mode", mode];
            let mut load = desk.home.load(desk.server, &desk.table("t"), &file);
            let killed = run(load.args(more).env("INRUSH_FAILPOINT", format!("{place}=kill")));
            assert_eq!(killed.status.signal(), Some(KILL), "{killed:?}");
            let again = desk.load("t", &file, &more);
            let said = again.done().out.contains("all rows are loaded already");
            assert_eq!(said, is_in, "{place}: {again:?}");
            let count = desk.rows("SELECT COUNT(*) FROM t");
            assert_eq!(count, [(before + 2).to_string()], "{place}, {mode}");
            assert_eq!(desk.rows("SHOW TABLES"), ["t"]);
        }
    }
}

#[test]
fn plan_says_which_rung_and_why_not_the_faster_ones() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, CONSTRAINT few CHECK (a < 1000))");
    let file = desk.home.file("rows.txt", "1\n2\n");
    let plan = |desk: &Desk, more: &[&str]| {
        let mut load = desk.home.load(desk.server, &desk.table("t"), &file);
        load.args(["--path", "auto"]).args(more);
        let arguments: Vec<_> = load.get_args().skip(1).map(ToOwned::to_owned).collect();
        run(desk.home.inrush(["plan"]).args(arguments))
    };
    let text = plan(&desk, &[]);
    assert!(
        text.done().out.contains("t: loads with the stream path, which sends rows\n"),
        "{text:?}"
    );
    assert!(text.out.contains("  not direct: CHECK constraint (few"), "{text:?}");
    assert!(text.out.contains("one transaction loads all rows"), "{text:?}");
    assert!(text.out.contains("  about 2 rows"), "{text:?}");
    assert!(text.out.contains("  time: about 0."), "{text:?}");
    let json = plan(&desk, &["--json", "--on-duplicate", "update"]);
    let json: Value = serde_json::from_str(&json.done().out).unwrap();
    assert_eq!(json["path"], "insert");
    let paths: Vec<&str> =
        json["refused"].as_array().unwrap().iter().map(|no| no["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["direct", "stream"]);
    desk.load("t", &file, &["--path", "auto"]).done();
    assert_eq!(desk.rows("SELECT a FROM t ORDER BY a"), ["1", "2"]);
}

/// The server is still at the COMMIT of a killed load when the same command runs again: DROP TABLE of the ledger
/// would wait for the rows, and the command would send them again.
#[test]
fn an_append_waits_for_a_commit_that_is_under_way() {
    for path in ["stream", "insert"] {
        let Some(mut growing) = Growing::new(path, "") else { return };
        let killed = growing.add("chunk.5.loaded=kill");
        assert_eq!(killed.status.signal(), Some(KILL), "{killed:?}");
        growing.wait_for_open_transactions();
        let desk = &mut growing.desk;
        let ledger = desk.rows("SHOW TABLES LIKE '%ledger%'").remove(0);
        desk.exec(&format!("CREATE TABLE chunks SELECT * FROM `{ledger}` WHERE ordinal >= 0"));
        desk.exec("CREATE TABLE arrived SELECT * FROM t WHERE id >= 0");
        assert_ne!(desk.rows("SELECT COUNT(*) FROM arrived"), ["0"]);
        desk.exec(&format!("DELETE FROM `{ledger}` WHERE ordinal >= 0"));
        desk.exec("DELETE FROM t");
        let mut committing = desk.server.connect().unwrap();
        committing.exec(&format!("USE {}", desk.database)).unwrap();
        committing.exec("START TRANSACTION").unwrap();
        committing.exec(&format!("INSERT INTO `{ledger}` SELECT * FROM chunks")).unwrap();
        committing.exec("INSERT INTO t SELECT * FROM arrived").unwrap();

        let refused = run(growing.command(&growing.file).args(["--lock-wait", "1"]));
        let holder = format!("connection {} of", committing.id());
        refused.refused(1, &["lock", &holder]);
        let other = growing.desk.home.file("other.txt", "-1000\tword\n");
        run(growing.command(&other).args(["--lock-wait", "1"])).refused(1, &["lock", &holder]);
        let load = start(&mut growing.command(&growing.file));
        std::thread::sleep(Duration::from_secs(2));
        committing.exec("COMMIT").unwrap();
        finish(load).done();
        let database = growing.desk.database.clone();
        let old = format!("INSERT INTO t SELECT -seq, 'old' FROM {database}.seq_1_to_100");
        for sql in ["DROP TABLE chunks", "DROP TABLE arrived", &old] {
            growing.desk.exec(sql);
        }
        growing.check(path);
    }
}

/// Rows that went with their table are not told as being in, and the table made anew gets them all.
#[test]
fn a_table_that_is_dropped_under_an_append_has_no_rows_in() {
    let Some(mut growing) = Growing::new("stream", "") else { return };
    let mut command = growing.command(&growing.file);
    let load = start(command.args(["--max-rate", "120K"]));
    let begun = Instant::now();
    while growing.desk.rows("SELECT COUNT(*) > 100 FROM t") != ["1"] {
        assert!(begun.elapsed() < PATIENCE, "no rows came");
        std::thread::sleep(Duration::from_millis(20));
    }
    growing.desk.exec("CREATE TABLE other LIKE t");
    growing.desk.exec("INSERT INTO other SELECT * FROM t WHERE id < 0");
    growing.desk.exec("DROP TABLE t");
    let failed = finish(load);
    failed.refused(1, &["was dropped or renamed during the load"]);
    assert!(!failed.err.contains("rows are in"), "{failed:?}");
    growing.desk.exec("RENAME TABLE other TO t");
    run(&mut growing.command(&growing.file)).done();
    growing.check("was created anew or altered since and has rows, so these may");
}

/// An append goes on with the input that it began with only, and says what is wrong with another.
#[test]
fn an_append_whose_file_changed_says_so_and_goes_on_when_it_is_back() {
    let Some(mut growing) = Growing::new("stream", "") else { return };
    let killed = growing.add("chunk.5.loaded=kill");
    assert_eq!(killed.status.signal(), Some(KILL), "{killed:?}");
    growing.wait_for_open_transactions();
    let text = std::fs::read_to_string(&growing.file).unwrap();
    let modified = std::fs::metadata(&growing.file).unwrap().modified().unwrap();
    let write = |text: &str| {
        std::fs::write(&growing.file, text).unwrap();
        let file = std::fs::File::options().append(true).open(&growing.file).unwrap();
        file.set_modified(modified).unwrap();
    };
    let rows_in = growing.desk.rows("SELECT COUNT(*) FROM t");
    write(&text.replace("word 1 of", "WORD 1 of"));
    run(&mut growing.command(&growing.file))
        .refused(1, &["the input differs from the input of the interrupted load"]);
    assert_eq!(growing.desk.rows("SELECT COUNT(*) FROM t"), rows_in, "rows of the other input");
    write(&text[..text.len() / 2]);
    run(&mut growing.command(&growing.file))
        .refused(2, &["this command has the same files, but one of them has changed since"]);
    write(&text);
    run(growing.command(&growing.file).args(["--skip-lines", "1"]))
        .refused(2, &["this command has other options"]);
    run(&mut growing.command(&growing.file)).done();
    growing.check("the file as it was");
}
