//! A load that is killed when its rows are in: whoever comes next finds them, and nobody loads them twice.

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Desk, Home, Outcome, run, tables};

const KILL: i32 = 9;
/// Rows of each file.
const ROWS: usize = 30;
/// Number of rows that each table has before, if it has any.
const OLD: usize = 2;

/// A way into tables without a unique key, where rows may be twice.
struct Method {
    name: &'static str,
    options: &'static [&'static str],
    /// The partitioning of the tables.
    by: &'static str,
    tables: &'static [&'static str],
    has_rows: bool,
    /// Places where all rows are in, of which `make test` takes some.
    places: &'static [&'static str],
}

const ONE: &[&str] = &["t"];
const TWO: &[&str] = &["t", "u"];
const SWAP: &[&str] = &["publish.moved", "job.end", "publish.dropped", "job.reported"];
const LEDGER: &[&str] = &["ledger.complete", "job.end", "ledger.done", "job.reported"];
const COMMIT: &[&str] = &["publish.committed", "publish.end", "job.end", "job.reported"];
const BY_RANGE: &str = "PARTITION BY RANGE (n) (PARTITION p VALUES LESS THAN (500), \
                        PARTITION q VALUES LESS THAN MAXVALUE)";
const BY_HASH: &str = "PARTITION BY HASH (n) PARTITIONS 3";

const METHODS: [Method; 12] = [
    method("direct", &["--mode", "append", "--path", "direct"], SWAP),
    method("stream", &["--mode", "append", "--path", "stream"], LEDGER),
    method("insert", &["--mode", "append", "--path", "insert"], LEDGER),
    method("atomic", &["--mode", "append", "--path", "stream", "--atomic"], COMMIT),
    method("replace", &["--mode", "replace", "--path", "direct"], SWAP),
    method("replace by stream", &["--mode", "replace", "--path", "stream"], SWAP),
    Method { by: BY_RANGE, ..method("a partition", METHODS_DIRECT, SWAP) },
    Method { by: BY_HASH, ..method("partitions", METHODS_DIRECT, SWAP) },
    Method { has_rows: false, ..method("empty", &["--path", "direct"], SWAP) },
    Method { has_rows: false, ..method("empty by insert", &["--path", "insert"], SWAP) },
    Method { tables: TWO, ..method("two tables", &["--mode", "append"], COMMIT) },
    Method { tables: TWO, has_rows: false, ..method("two empty", &["--path", "direct"], SWAP) },
];
const METHODS_DIRECT: &[&str] = &["--mode", "append", "--path", "direct"];

const fn method(
    name: &'static str,
    options: &'static [&'static str],
    places: &'static [&'static str],
) -> Method {
    Method { name, options, by: "", tables: ONE, has_rows: true, places }
}

/// Who goes on with a killed load.
#[derive(Clone, Copy, Debug)]
enum By {
    Resume,
    SameCommand,
}

struct Killed {
    desk: Desk,
    method: &'static Method,
    files: Vec<PathBuf>,
}

impl Killed {
    fn new(method: &'static Method) -> Option<Killed> {
        let desk = Desk::new()?;
        // The header is guessed, in each run of the command anew.
        let file =
            |name: &&str| desk.home.file(&format!("{name}.csv"), ["n,word\n", &rows(0)].concat());
        let files = method.tables.iter().map(file).collect();
        let mut killed = Killed { desk, method, files };
        killed.reset();
        Some(killed)
    }

    /// The tables as they are before, and a user who has loaded nothing.
    fn reset(&mut self) {
        for table in self.method.tables {
            self.desk.exec(&format!("DROP TABLE IF EXISTS {table}"));
            let by = self.method.by;
            self.desk
                .exec(&format!("CREATE TABLE {table} (n INT, word VARCHAR(20), KEY (n)) {by}"));
            if self.method.has_rows {
                self.desk.exec(&format!("INSERT INTO {table} VALUES (1000, 'old'), (1001, 'old')"));
            }
        }
        self.forget();
    }

    /// The user comes from elsewhere.
    fn forget(&self) {
        let _ = std::fs::remove_dir_all(self.desk.home.path().join("state/inrush"));
    }

    fn command(&self) -> Command {
        let one = self.desk.table("t");
        let into = if self.files.len() == 1 { &one } else { &self.desk.database };
        let mut command = self.desk.home.inrush(["load"]);
        command.args(&self.files).args(["--into", into, "--threads", "2"]);
        command.args(["--memory", "60M", "--socket"]).arg(self.desk.server.socket());
        command.args(self.method.options);
        command
    }

    #[track_caller]
    fn kill_at(&self, place: &str) {
        let mut command = self.command();
        let killed = run(command.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        let what = format!("{} {place}: {killed:?}", self.method.name);
        assert_eq!(killed.status.signal(), Some(KILL), "{what}");
    }

    fn go_on(&self, by: By) -> Outcome {
        match by {
            By::SameCommand => run(&mut self.command()),
            By::Resume => run(&mut self.desk.home.inrush(["resume", &last_job(&self.desk.home)])),
        }
    }

    /// Rows of each table.
    fn counts(&mut self) -> Vec<usize> {
        let count = |table: &&str| {
            let sql = format!("SELECT COUNT(*) FROM {table}");
            self.desk.session.query_row(&sql).unwrap().number(0).unwrap()
        };
        self.method.tables.iter().map(count).collect()
    }

    /// Asserts that all rows are in, so many times, and nothing else is there.
    #[track_caller]
    fn has_rows(&mut self, times: usize, when: &str) {
        let is_kept = self.method.has_rows && !self.method.options.contains(&"replace");
        let expected = times * ROWS + if is_kept { OLD } else { 0 };
        let name = self.method.name;
        assert_eq!(self.counts(), vec![expected; self.method.tables.len()], "{name}, {when}");
        let database = self.desk.database.clone();
        assert_eq!(tables(&mut self.desk.session, &database), self.method.tables, "{name}, {when}");
    }
}

fn rows(from: usize) -> String {
    (from..from + ROWS).fold(String::new(), |mut text, n| {
        writeln!(text, "{n},word").unwrap();
        text
    })
}

/// The name of the newest job.
fn last_job(home: &Home) -> String {
    let listed = run(&mut home.inrush(["jobs", "--json"]));
    let jobs: Vec<serde_json::Value> = serde_json::from_str(&listed.done().out).unwrap();
    jobs.last().unwrap()["job"].as_str().unwrap().to_owned()
}

#[test]
fn a_load_killed_when_its_rows_are_in_is_finished_by_the_same_command_and_by_resume() {
    for (at, method) in METHODS.iter().enumerate() {
        let Some(mut killed) = Killed::new(method) else { return };
        let some = if is_thorough() { 1 } else { 2 };
        for (number, place) in method.places.iter().enumerate().skip(at % some).step_by(some) {
            let by = [By::Resume, By::SameCommand][(at / 2 + number / some) % 2];
            killed.reset();
            killed.kill_at(place);
            let outcome = killed.go_on(by);
            let when = format!("{place} {by:?}: {outcome:?}");
            assert!(outcome.done().out.contains("loaded already"), "{}, {when}", method.name);
            killed.has_rows(1, &when);
        }
    }
}

#[test]
fn a_command_that_was_finished_adds_its_rows_again_when_it_is_typed_again() {
    for method in &METHODS[..4] {
        let Some(mut killed) = Killed::new(method) else { return };
        killed.kill_at("job.end");
        killed.go_on(By::SameCommand).done();
        killed.has_rows(1, "finished");
        killed.go_on(By::SameCommand).done();
        killed.has_rows(2, "typed again");
        let job = last_job(&killed.desk.home);
        run(&mut killed.desk.home.inrush(["resume", &job])).refused(2, &["it is done"]);
    }
}

#[test]
fn another_load_of_the_table_finishes_a_killed_one_and_loads_its_own_rows() {
    for (method, place) in METHODS.iter().zip(["publish.moved", "ledger.complete"]) {
        let Some(mut killed) = Killed::new(method) else { return };
        killed.kill_at(place);
        let job = last_job(&killed.desk.home);
        let first = killed.files[0].clone();
        killed.files = vec![killed.desk.home.file("other.csv", rows(500))];
        let other = killed.go_on(By::SameCommand);
        assert!(other.done().out.contains(&format!("job {job} was killed after all")), "{other:?}");
        killed.has_rows(2, "both");
        killed.files = vec![first];
        let resumed = run(&mut killed.desk.home.inrush(["resume", &job]));
        assert!(resumed.done().out.contains("all rows are loaded already"), "{resumed:?}");
        killed.has_rows(2, "both, once");
    }
}

#[test]
fn the_same_command_finds_its_rows_without_a_journal_while_the_server_says_so() {
    let places = ["publish.moved", "ledger.complete", "ledger.complete", "publish.committed"];
    for (method, place) in METHODS.iter().zip(places) {
        let Some(mut killed) = Killed::new(method) else { return };
        killed.kill_at(place);
        killed.forget();
        let outcome = killed.go_on(By::SameCommand);
        assert!(outcome.done().out.contains("loaded already"), "{place}: {outcome:?}");
        killed.has_rows(1, place);
    }
}

/// Where the killed load kept them, in the file that was named or beside its journal.
#[test]
fn rows_that_a_killed_load_has_refused_are_told_by_whoever_finishes_it() {
    let places = ["publish.moved", "ledger.complete", "job.end", "publish.committed", "job.end"];
    let with_two = METHODS.iter().take(4).zip(places).chain([(&METHODS[11], places[4])]);
    for (at, (method, place)) in with_two.enumerate() {
        let Some(mut killed) = Killed::new(method) else { return };
        let bad = format!("n,word\n{}x,no number\n9,\"more\",than two\n", rows(0));
        killed.desk.home.file("t.csv", bad);
        let named = killed.desk.home.path().join("refused.csv");
        let mut command = killed.command();
        command.args(["--rejects-max", "5", "--json"]);
        if at % 2 == 0 && method.tables == ONE {
            command.arg("--rejects").arg(&named);
        }
        let dead = run(command.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        assert_eq!(dead.status.signal(), Some(KILL), "{} {place}: {dead:?}", method.name);
        let finished = match at % 3 {
            0 => killed.go_on(By::Resume),
            _ => run(command.env_remove("INRUSH_FAILPOINT")),
        };
        let name = method.name;
        assert_eq!(finished.code(), 3, "{name}: {finished:?}");
        let report: serde_json::Value = serde_json::from_str(&finished.out).unwrap();
        assert_eq!(report["rejects"], 2, "{name}: {report}");
        let of_table = if method.tables == ONE { &report } else { &report["tables"][0] };
        let file = of_table["rejects_file"].as_str().unwrap();
        let kept = std::fs::read_to_string(file).unwrap();
        assert_eq!(kept, "n,word\nx,no number\n9,\"more\",than two\n", "{name}");
        killed.has_rows(1, "finished");
    }
}

/// Nobody can tell whether its rows are among those that are there.
#[test]
fn a_killed_load_of_a_table_that_was_made_anew_is_neither_finished_nor_loaded_again() {
    for (method, place) in METHODS.iter().take(4).zip([SWAP[2], LEDGER[3], LEDGER[3], COMMIT[3]]) {
        let Some(mut killed) = Killed::new(method) else { return };
        killed.kill_at(place);
        let job = last_job(&killed.desk.home);
        // The clock of the server counts seconds.
        std::thread::sleep(Duration::from_secs(7));
        killed.desk.exec("DROP TABLE t");
        killed.desk.exec("CREATE TABLE t (n INT, word VARCHAR(20), KEY (n))");
        killed.desk.exec("INSERT INTO t VALUES (1000, 'other'), (1001, 'other')");
        let clean = format!("inrush jobs clean {job}");
        for by in [By::SameCommand, By::Resume] {
            killed.go_on(by).refused(
                2,
                &["was created anew or altered since and has rows, so these may", &clean],
            );
            assert_eq!(killed.counts(), [OLD], "{by:?}");
        }
        // Where it has no rows, there is no question.
        killed.desk.exec("TRUNCATE t");
        killed.go_on(By::SameCommand).done();
        assert_eq!(killed.counts(), [ROWS], "{}", method.name);
    }
}

/// The table has no rows, as one would that somebody had made anew; the command replaces what it had before.
#[test]
fn a_killed_load_that_has_put_nothing_in_the_place_of_rows_is_finished() {
    for method in &METHODS[4..6] {
        let Some(mut killed) = Killed::new(method) else { return };
        killed.desk.home.file("t.csv", String::new());
        let mut command = killed.command();
        command.arg("--allow-empty");
        let dead = run(command.env("INRUSH_FAILPOINT", "publish.moved=kill"));
        assert_eq!(dead.status.signal(), Some(KILL), "{}: {dead:?}", method.name);
        run(command.env_remove("INRUSH_FAILPOINT")).done();
        assert_eq!(killed.counts(), [0], "{}", method.name);
        let database = killed.desk.database.clone();
        assert_eq!(tables(&mut killed.desk.session, &database), ["t"], "{}", method.name);
    }
}

#[test]
fn a_job_that_has_read_a_pipe_is_finished_by_resume() {
    let Some(mut killed) = Killed::new(&METHODS[0]) else { return };
    let file = std::mem::replace(&mut killed.files, vec![PathBuf::from("-")]);
    let mut command = killed.command();
    command.stdin(Stdio::from(std::fs::File::open(&file[0]).unwrap()));
    let dead = run(command.env("INRUSH_FAILPOINT", "publish.dropped=kill"));
    assert_eq!(dead.status.signal(), Some(KILL), "{dead:?}");
    let finished = killed.go_on(By::Resume);
    assert!(finished.done().err.contains("all rows are in"), "{finished:?}");
    killed.go_on(By::Resume).refused(2, &["it is done"]);
    killed.has_rows(1, "resumed");
}

/// True if all kills are to be tried.
fn is_thorough() -> bool {
    std::env::var("INRUSH_TEST_KILLS").is_ok_and(|kills| kills == "all")
}

/// Every system call of the thread that conducts the load, from the one before it publishes to the exit:
/// minutes, so only with `INRUSH_TEST_KILLS=all`. strace does the killing.
#[test]
fn a_load_killed_at_any_system_call_behind_its_publish_has_its_rows_once() {
    if !is_thorough() {
        return;
    }
    for method in &METHODS {
        let Some(mut killed) = Killed::new(method) else { return };
        let calls = killed.calls();
        assert!(calls.len() > 20, "{}: {calls:?}", method.name);
        for (number, (call, when)) in calls.iter().enumerate() {
            killed.reset();
            let kill = format!("{call}:signal=KILL:when={when}");
            let outcome = run(&mut killed.traced(&["-e", &format!("inject={kill}")]));
            if outcome.status.signal() != Some(KILL) {
                // It did not come so far: calls that wait are not always as many.
                continue;
            }
            let by = [By::Resume, By::SameCommand][number % 2];
            let outcome = killed.go_on(by);
            let when = format!("{kill} {by:?}: {outcome:?}");
            outcome.done();
            killed.has_rows(1, &when);
        }
    }
}

impl Killed {
    /// The command under strace, which writes into a file beside the state.
    fn traced(&self, options: &[&str]) -> Command {
        let plain = self.command();
        let mut traced = Command::new("strace");
        traced.args(["-f", "-s", "300", "-o"]).arg(self.desk.home.path().join("trace"));
        traced.args(options).arg(plain.get_program()).args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => traced.env(name, value),
                None => traced.env_remove(name),
            };
        }
        traced.current_dir(self.desk.home.path()).stdin(Stdio::null());
        traced
    }

    /// The calls of the first thread from the publishing on, each with how many of its name came before.
    fn calls(&self) -> Vec<(String, usize)> {
        run(&mut self.traced(&[])).done();
        let trace = std::fs::read_to_string(self.desk.home.path().join("trace")).unwrap();
        let first = trace.split(' ').next().unwrap();
        let mut counts = std::collections::BTreeMap::new();
        let (mut calls, mut from) = (Vec::new(), None);
        for line in trace.lines().filter(|line| line.starts_with(first)) {
            let call = line[first.len()..].trim_start();
            let Some((name, _)) = call.split_once('(') else { continue };
            if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                continue;
            }
            let begins = |step: &str| call.contains(&format!(r#"\"{step}\""#)) && name == "write";
            if begins("publish") && begins("begin") || begins("rows") && begins("end") {
                from = Some(calls.len());
            }
            let count = counts.entry(name.to_owned()).or_insert(0);
            *count += 1;
            calls.push((name.to_owned(), *count));
        }
        // The exit itself: nobody can tell that from a process that was killed behind its last word.
        calls.retain(|(name, _)| name != "exit_group");
        calls.split_off(from.unwrap())
    }
}
