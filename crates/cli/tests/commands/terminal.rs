//! The terminal while a load or a replay runs: one line, no wider than it is.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Desk, run};

/// Runs a command on a terminal of so many columns, and gives what it drew and printed: lines, without
/// the codes that move the cursor. None, with a line, where there is no `script` to make a terminal.
fn on_terminal(command: &Command, columns: usize, folder: &Path) -> Option<Vec<String>> {
    let quoted = |text: &OsStr| format!("'{}'", text.to_str().unwrap().replace('\'', r"'\''"));
    let words: Vec<String> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(quoted).collect();
    let inside = format!("stty cols {columns} rows 24; {} 1>out", words.join(" "));
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &inside, "typescript"]).current_dir(folder);
    script.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let outcome = match script.env("TERM", "xterm").stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: no terminal can be made: script: {error}");
            return None;
        }
    };
    assert!(outcome.status.success(), "{outcome:?}");
    let text = String::from_utf8(outcome.stdout).unwrap();
    // A line that is drawn over another is filled up with spaces.
    let drawn = text.split(['\r', '\n']).map(|line| plain(line).trim_end().to_owned());
    Some(drawn.filter(|line| !line.is_empty()).collect())
}

/// Without escape sequences.
fn plain(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        text.push_str(&part[end..]);
    }
    text
}

/// Seconds of `about 12 s left`.
fn seconds_left(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("about ")?;
    rest.strip_suffix(" s left")?.parse().ok()
}

/// Rows that take a debug build some seconds.
fn many_rows() -> String {
    (0..600_000).map(|id| format!("{id}\t{}\tname of number {id}\n", id * 7 % 1_000)).collect()
}

#[test]
fn a_load_says_on_one_line_how_long_all_of_it_takes() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, n INT, t VARCHAR(60), KEY (n), KEY (t, n))");
    let file = desk.home.file("rows", many_rows());
    for (columns, path) in [(80, "direct"), (60, "direct"), (60, "stream")] {
        let mut load = desk.home.load(desk.server, &desk.table("t"), &file);
        load.args(["--mode", "replace", "--path", path, "--threads", "1"]);
        let Some(lines) = on_terminal(&load, columns, desk.home.path()) else { return };
        let is_stage = |line: &&String| line.starts_with("rows ") || line.starts_with("indexes ");
        let drawn: Vec<&String> = lines.iter().filter(is_stage).collect();
        assert!(drawn.len() > 2, "{lines:?}");
        for line in &lines {
            assert!(line.chars().count() < columns, "{columns}: {line:?}");
        }
        let left: Vec<u64> = drawn.iter().filter_map(|line| seconds_left(line)).collect();
        assert!(left.len() > 2, "{lines:?}");
        // The last moments of the load: nothing begins anew at a stage.
        for pair in left.windows(2).skip(left.len() / 2) {
            assert!(pair[1] <= pair[0] + 2, "{left:?} of {lines:?}");
        }
    }
}

#[test]
fn a_replay_says_on_one_line_how_long_all_of_it_takes() {
    let Some(mut desk) = Desk::new() else { return };
    let mut dump =
        "CREATE TABLE a_table_with_a_name_that_is_rather_long (id INT PRIMARY KEY, n INT);\n"
            .to_owned();
    for first in (0..600_000).step_by(10_000) {
        let rows: Vec<String> =
            (first..first + 10_000).map(|id| format!("({id},{})", id % 7)).collect();
        dump += "INSERT INTO a_table_with_a_name_that_is_rather_long VALUES ";
        dump += &(rows.join(",") + ";\n");
    }
    let dump = desk.home.file("dump.sql", dump);
    for columns in [80, 60] {
        let mut replay = desk.home.inrush(["replay", "--fresh", "--into", &desk.database]);
        replay.arg(&dump).args(["--as", "statements", "--socket"]).arg(desk.server.socket());
        replay.args(desk.server.options().user.map(|user| format!("--user={user}")));
        let Some(lines) = on_terminal(&replay, columns, desk.home.path()) else { return };
        assert!(lines.iter().any(|line| line.starts_with("replay ")), "{lines:?}");
        for line in &lines {
            assert!(line.chars().count() < columns, "{columns}: {line:?}");
        }
        desk.exec("DROP TABLE a_table_with_a_name_that_is_rather_long");
    }
}

/// True for a character that a terminal obeys.
fn is_obeyed(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || "\u{202e}\u{2066}\u{200f}".contains(c)
}

#[test]
fn nothing_of_a_file_or_a_server_is_obeyed() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40), n INT, UNIQUE KEY (v))");
    desk.exec("CREATE TABLE `u\u{202e}\u{9b}2J` (id INT PRIMARY KEY, v VARCHAR(40))");
    let evil = "\u{1b}]0;owned\u{7}\u{9b}31m\r\u{202e}x";
    let rows = |header: &str, values: [&str; 2]| {
        format!("id,v,{header}\n1,\"{evil}\",{}\n2,\"{evil}\",{}\n", values[0], values[1])
    };
    let name = "evil\u{1b}[31m\u{202e}.csv";
    let twice = desk.home.file("twice.csv", rows("n", ["1", "2"]));
    let bad = desk.home.file(name, rows("n", ["1", evil]));
    let unknown = desk.home.file("unknown.csv", rows(evil, ["1", "2"]));
    let other = |name: &str, file: &Path, more: &[&str]| {
        let load = desk.home.load(desk.server, &desk.table("t"), file);
        let arguments: Vec<_> = load.get_args().skip(1).map(ToOwned::to_owned).collect();
        run(desk.home.inrush([name]).args(arguments).args(more))
    };
    let mut outcomes = Vec::new();
    for file in [&twice, &bad, &unknown] {
        for more in [&["--header"][..], &["--header", "--json"], &["--create", "--verbose"]] {
            outcomes.push(desk.load("t", file, more));
        }
        for name in ["check", "plan", "verify"] {
            outcomes.push(other(name, file, &["--header"]));
            outcomes.push(other(name, file, &["--header", "--json"]));
        }
        outcomes.push(other("sniff", file, &[]));
        outcomes.push(other("sniff", file, &["--json"]));
        outcomes.push(run(desk.home.inrush(["replay", "--dry-run"]).arg(file)));
    }
    outcomes.push(desk.load("u\u{202e}\u{9b}2J", &twice, &["--header"]));
    for outcome in outcomes {
        let said = [outcome.out.as_str(), &outcome.err].concat();
        let obeyed = said.chars().find(|c| is_obeyed(*c));
        assert_eq!(obeyed, None, "{outcome:?}");
        assert!(outcome.out.is_empty() || !outcome.out.starts_with('{') || json(&outcome.out));
    }
}

/// A line end in a value begins no line of its own, which would look like one of ours.
#[test]
fn an_error_is_one_line() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (v VARCHAR(40) PRIMARY KEY, n INT)");
    let twice = desk.home.file("twice.csv", "\"a\nb\",1\n\"a\nb\",2\n");
    let outcome = desk.load("t", &twice, &["--dialect", "csv"]);
    outcome.refused(1, &["a\\nb"]);
    assert_eq!(outcome.err.trim_end().lines().count(), 1, "{outcome:?}");
}

fn json(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok()
}
