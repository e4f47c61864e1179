//! Loads by ssh whose connection ends, that are stopped, or whose threads panic: no row is visible.

use std::fs;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::Machine;
use crate::support::{Desk, Outcome, PATIENCE, finish, run, signal, start, wait_watching};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9))";

impl Machine {
    /// A load of standard input that has sent some rows, and waits for more.
    fn begun(&mut self, options: &[&str]) -> Child {
        self.desk.exec(TABLE);
        let mut load = self.load("t");
        load.args(["-", "--dialect", "csv"]).args(options).stdin(Stdio::piped());
        let mut load = start(&mut load);
        // Much more than is on the way, packed, at any time.
        let name = |id: u64| id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 35;
        let rows: String = (0..200_000).map(|id| format!("{id},{}\n", name(id))).collect();
        load.stdin.as_mut().unwrap().write_all(rows.as_bytes()).unwrap();
        self.wait_for_program();
        wait_watching(&mut load);
        load
    }

    /// Asserts that the load there ends, and that neither rows nor anything else stays.
    #[track_caller]
    fn is_as_before(&mut self) {
        self.leaves_nothing();
        self.has_rows("t", "");
    }
}

/// The ssh of a load, which is its child.
fn ssh_of(load: &Child) -> u32 {
    let begin = Instant::now();
    loop {
        let pid = load.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        if let Some(child) = children.split_whitespace().next() {
            return child.parse().unwrap();
        }
        assert!(begin.elapsed() < PATIENCE, "no ssh");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn assert_ends(outcome: &Outcome, words: &[&str]) {
    assert_eq!(outcome.code(), 1, "{outcome:?}");
    words.iter().for_each(|word| assert!(outcome.err.contains(word), "{word}: {outcome:?}"));
}

#[test]
fn a_connection_that_ends_within_the_file_loads_no_row() {
    for path in ["direct", "stream", "insert"] {
        let Some(mut machine) = Machine::new() else { return };
        let load = machine.begun(&["--path", path]);
        signal(ssh_of(&load), "-KILL");
        assert_ends(&finish(load), &["connection to 127.0.0.1 was lost"]);
        machine.is_as_before();
    }
}

/// The bytes that are enough for a guess are not taken for the whole file.
#[test]
fn a_connection_that_ends_within_a_guess_loads_no_row() {
    let Some(mut machine) = Machine::new() else { return };
    machine.desk.exec(TABLE);
    let mut load = machine.load("t");
    let mut load = start(load.arg("-").stdin(Stdio::piped()));
    load.stdin.as_mut().unwrap().write_all(b"1\ta\n").unwrap();
    machine.wait_for_program();
    std::thread::sleep(Duration::from_millis(500));
    signal(ssh_of(&load), "-KILL");
    assert_ends(&finish(load), &["connection to 127.0.0.1 was lost"]);
    machine.is_as_before();
}

#[test]
fn a_program_here_that_is_killed_loads_no_row() {
    let Some(mut machine) = Machine::new() else { return };
    let mut load = machine.begun(&[]);
    signal(load.id(), "-KILL");
    // Its input ends behind it, so that only the end of the stream tells.
    load.wait().unwrap();
    machine.is_as_before();
}

#[test]
fn a_connection_that_ends_behind_the_file_stops_the_load() {
    for path in ["direct", "insert"] {
        // The lock of one load holds up others on its server.
        let Some(mut machine) = Machine::alone() else { return };
        let mut load = machine.begun(&["--path", path]);
        // Held back from the table, the load has all rows and waits.
        machine.desk.exec("BEGIN");
        machine.desk.exec("SELECT COUNT(*) FROM t");
        drop(load.stdin.take());
        let begin = Instant::now();
        while !machine.desk.home.journal().iter().any(|step| step == "publish.begin") {
            assert!(begin.elapsed() < PATIENCE, "{:?}", machine.desk.home.journal());
            std::thread::sleep(Duration::from_millis(5));
        }
        signal(ssh_of(&load), "-KILL");
        assert_ends(&finish(load), &["connection to 127.0.0.1 was lost"]);
        machine.wait_for_end();
        machine.desk.exec("COMMIT");
        machine.is_as_before();
    }
}

#[test]
fn a_signal_here_stops_the_load_there() {
    for name in ["-INT", "-TERM"] {
        let Some(mut machine) = Machine::new() else { return };
        let mut load = machine.begun(&[]);
        let stdin = load.stdin.take();
        signal(load.id(), name);
        let words = ["stopping and cleaning up", "nothing was loaded", "the transfer ended before"];
        assert_ends(&finish(load), &words);
        drop(stdin);
        machine.is_as_before();
    }
}

#[test]
fn a_signal_here_ends_a_load_whose_program_there_does_not_read() {
    let Some(mut machine) = Machine::new() else { return };
    machine.desk.exec(TABLE);
    let greeting = format!("inrush {} awaits a load", env!("CARGO_PKG_VERSION"));
    let go = machine.desk.home.path().join("go");
    let script = format!("echo '{greeting}' >&2; : > {}; exec sleep 100", go.display());
    machine.has_program("inrush", &script);
    // Much more than is on the way at any time.
    let mut state = 1u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let bytes: Vec<u8> = (0..8 << 20).map(|_| byte()).collect();
    fs::write(machine.desk.home.path().join("a.csv"), bytes).unwrap();
    let mut load = start(machine.load("t").arg("a.csv"));
    let begin = Instant::now();
    while !go.exists() {
        assert!(begin.elapsed() < PATIENCE, "{}", machine.log());
        std::thread::sleep(Duration::from_millis(5));
    }
    wait_watching(&mut load);
    signal(load.id(), "-TERM");
    assert_ends(&finish(load), &["stopping and cleaning up", "connection to 127.0.0.1 was lost"]);
    machine.is_as_before();
}

/// A Ctrl-C ends the program that writes to the pipe too: the input is then complete, or seems so.
#[test]
fn a_signal_that_ends_the_input_too_loads_no_row() {
    let Some(mut machine) = Machine::new() else { return };
    let mut load = machine.begun(&[]);
    signal(load.id(), "-INT");
    drop(load.stdin.take());
    assert_ends(&finish(load), &["stopping and cleaning up"]);
    machine.is_as_before();
}

#[test]
fn a_file_that_changes_while_it_is_sent_loads_no_row() {
    let Some(mut machine) = Machine::new() else { return };
    machine.desk.exec(TABLE);
    // The program there waits before it reads, and the pipe is smaller than the file.
    let program = env!("CARGO_BIN_EXE_inrush");
    let wait = "while ! test -e \"$TMPDIR/../go\"; do sleep 0.01; done";
    machine.has_program(
        "inrush",
        &format!("echo wait > \"$TMPDIR/../wait\"; {wait}; exec {program} \"$@\""),
    );
    let file = machine.desk.home.file("a.csv", "1,a\n");
    let load = start(machine.load("t").arg(&file));
    let begin = Instant::now();
    while !machine.desk.home.path().join("wait").exists() {
        assert!(begin.elapsed() < PATIENCE, "{}", machine.log());
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::write(&file, "1,a\n2,b\n").unwrap();
    machine.desk.home.file("go", "");
    let ended = finish(load);
    assert_ends(&ended, &["the transfer failed", "a.csv grew from 4 to 8 bytes"]);
    machine.is_as_before();
}

/// The rejected rows are in no table, and nobody waits for a network with locks held: the rows are kept there until they
/// are stored here.
#[test]
fn rejected_rows_are_kept_there_until_they_are_stored_here() {
    for path in ["direct", "insert"] {
        let Some(mut machine) = Machine::new() else { return };
        machine.desk.exec(TABLE);
        machine.desk.home.file("a.csv", "1,a\nx,b\n");
        let mut load = machine.load("t");
        load.args(["a.csv", "--no-guess", "--path", path, "--rejects-max", "1"]);
        load.args(["--rejects", "bad.csv"]);
        let mut load = start(load.env("INRUSH_FAILPOINT", "returned.complete=pause"));
        let stat = format!("/proc/{}/stat", load.id());
        let begin = Instant::now();
        while !fs::read_to_string(&stat).unwrap().contains(") T ") {
            assert!(begin.elapsed() < PATIENCE, "{}", machine.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        machine.has_rows("t", "1a");
        signal(load.id(), "-KILL");
        load.wait().unwrap();
        machine.wait_for_end();
        assert_eq!(machine.kept_rows(), "x,b\n");
        machine.leaves_nothing();
        assert!(!machine.desk.home.path().join("bad.csv").exists());
    }
}

#[test]
fn a_thread_that_panics_loads_no_row_unless_it_only_looks_on() {
    let Some(mut machine) = Machine::with(Desk::new, "INRUSH_FAILPOINT=thread.hang-up=panic")
    else {
        return;
    };
    machine.desk.exec(TABLE);
    machine.desk.home.file("a.csv", "1,a\n");
    let load = |machine: &Machine, point: &str| {
        let mut load = machine.load("t");
        run(load.arg("a.csv").env("INRUSH_FAILPOINT", format!("{point}=panic")))
    };
    assert_ends(&load(&machine, "thread.upload"), &["an internal error ended the transfer"]);
    machine.is_as_before();
    load(&machine, "thread.messages").done();
    machine.has_rows("t", "1a");
    machine.leaves_nothing();
}
