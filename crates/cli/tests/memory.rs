//! The memory of the whole program stays within `--memory`, whatever the input.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Desk, Home, Outcome, check_table, finish, run, start};

/// Tolerance beyond the budget, in percent.
const BEYOND_PERCENT: u64 = 15;
/// Code that a program of tests has in memory beyond what an optimised one has: measured 26.8 MB of mapped files
/// instead of 14.8, and how much of it the kernel maps at a fault differs from run to run and from machine to machine.
pub(crate) const UNOPTIMIZED_BYTES: u64 = 12 << 20;

/// Loads a generated file within `mebibytes`, and gives the report.
#[track_caller]
fn load_within(
    desk: &mut Desk,
    columns: &str,
    mebibytes: u64,
    more: &[&str],
    write: impl FnOnce(&mut dyn Write),
) -> Value {
    let path: PathBuf = desk.home.path().join("input");
    let mut file = BufWriter::new(std::fs::File::create(&path).unwrap());
    write(&mut file);
    file.into_inner().unwrap();
    desk.exec("DROP TABLE IF EXISTS t");
    desk.exec(&format!("CREATE TABLE t ({columns})"));
    let memory = format!("{mebibytes}M");
    let mut load = desk.home.load(desk.server, &desk.table("t"), &path);
    let outcome = run(load.args(["--json", "--quiet", "--memory", &memory]).args(more));
    let report: Value = serde_json::from_str(&outcome.done().out).unwrap();
    let peak = report["memory_peak_bytes"].as_u64().unwrap();
    let limit = (mebibytes << 20) * (100 + BEYOND_PERCENT) / 100 + UNOPTIMIZED_BYTES;
    assert!(peak <= limit, "{} of {mebibytes} MiB: {columns}: {report}", peak >> 20);
    report
}

fn repeat(out: &mut dyn Write, byte: u8, count: usize) {
    let block = vec![byte; 1 << 20];
    let mut left = count;
    while left > 0 {
        let part = left.min(block.len());
        out.write_all(&block[..part]).unwrap();
        left -= part;
    }
}

/// Numbers from 0 in no order.
fn shuffled(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |number| number * 7_919 % count)
}

#[test]
fn long_values_take_no_more_than_the_budget() {
    let Some(mut desk) = Desk::new() else { return };
    let columns = "id INT PRIMARY KEY, n INT, b LONGBLOB, KEY (n), KEY (b(40))";
    let report = load_within(&mut desk, columns, 128, &["--threads", "4"], |out| {
        for id in shuffled(12) {
            write!(out, "{id}\t{}\t", id % 5).unwrap();
            repeat(out, b'a' + id as u8, 6 << 20);
            out.write_all(b"\n").unwrap();
        }
    });
    assert_eq!(report["rows"], 12);
    let lengths = desk.rows("SELECT SUM(LENGTH(b)), MIN(LENGTH(b)), MAX(LEFT(b, 2)) FROM t");
    assert_eq!(lengths, [format!("{}|{}|ll", 12 * (6 << 20), 6 << 20)]);
}

/// The reading that looks for duplicates encodes them all, too.
#[test]
fn long_values_among_duplicates_take_no_more_than_the_budget() {
    let Some(mut desk) = Desk::new() else { return };
    let columns = "id INT PRIMARY KEY, b LONGBLOB";
    let more = ["--threads", "4", "--on-duplicate", "skip"];
    let report = load_within(&mut desk, columns, 128, &more, |out| {
        for id in shuffled(8).chain([3]) {
            write!(out, "{id}\t").unwrap();
            repeat(out, b'a' + id as u8, 13 << 20);
            out.write_all(b"\n").unwrap();
        }
    });
    assert_eq!((&report["rows"], &report["duplicates"]), (&8.into(), &1.into()));
}

/// As long as memory allows: escaped, enclosed, and text of another character set.
#[test]
fn a_value_of_a_ninth_of_the_budget_is_loaded() {
    let Some(mut desk) = Desk::new() else { return };
    let columns = "id INT PRIMARY KEY, t LONGTEXT CHARACTER SET utf8mb4, KEY (t(20))";
    let size = 46 << 20;
    let format = ["--fields-enclosed-by", "\"", "--charset", "latin1"];
    load_within(&mut desk, columns, 400, &format, |out| {
        for id in shuffled(2_000) {
            write!(out, "\"{id}\"\t\"").unwrap();
            if id == 1_234 {
                out.write_all(b"\\t\\\"").unwrap();
                repeat(out, b'x', size);
            }
            writeln!(out, "end {id}\"").unwrap();
        }
    });
    let row = desk.rows("SELECT LENGTH(t), RIGHT(t, 9), LEFT(t, 3) FROM t WHERE id = 1234");
    assert_eq!(row, [format!("{}|xend 1234|\t\"x", size + 2 + 8)]);
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["2000"]);
}

#[test]
fn wide_rows_and_many_indexes_take_no_more_than_the_budget() {
    let Some(mut desk) = Desk::new() else { return };
    let names: Vec<String> = (0..80).map(|number| format!("c{number}")).collect();
    let wide: Vec<String> = names.iter().map(|name| format!("{name} VARCHAR(90)")).collect();
    let columns = format!("id INT PRIMARY KEY, {}, KEY (c0), KEY (c1, c2)", wide.join(", "));
    let report = load_within(&mut desk, &columns, 64, &[], |out| {
        for id in shuffled(9_000) {
            write!(out, "{id}").unwrap();
            for column in 0..80 {
                write!(out, "\tvalue {} {}", id * column % 977, "w".repeat((column % 60) as usize))
                    .unwrap();
            }
            out.write_all(b"\n").unwrap();
        }
    });
    assert!(report["spilled_bytes"].as_u64().unwrap() > 0, "{report}");
    let kinds = ["a", "b", "n", "a, b", "b, n", "n, a", "a, n", "b, a"];
    let keys: Vec<String> = (0..63).map(|key| format!("KEY k{key} ({})", kinds[key % 8])).collect();
    let columns = format!("id INT PRIMARY KEY, a INT, b INT, n VARCHAR(40), {}", keys.join(", "));
    for (mebibytes, threads) in [(64, "2"), (200, "16")] {
        load_within(&mut desk, &columns, mebibytes, &["--threads", threads], |out| {
            for id in shuffled(30_000) {
                let (a, b) = (id * 31 % 1_009, id * 17 % 30_011);
                writeln!(out, "{id}\t{a}\t{b}\tname {}", id * 13 % 30_000).unwrap();
            }
        });
    }
}

/// Rows that are refused are held until it is their turn to be written down.
#[test]
fn refused_rows_take_no_more_than_the_budget() {
    let Some(mut desk) = Desk::new() else { return };
    let more = ["--rejects-max", "1000000", "--rejects", "rejected"];
    let outcome = {
        let path = desk.home.path().join("input");
        let mut file = BufWriter::new(std::fs::File::create(&path).unwrap());
        for id in 0..40 {
            write!(file, "x{id}\t").unwrap();
            repeat(&mut file, b'r', 2 << 20);
            file.write_all(b"\n").unwrap();
        }
        file.write_all(b"1\tgood\n").unwrap();
        file.into_inner().unwrap();
        desk.exec("CREATE TABLE t (id INT PRIMARY KEY, b LONGTEXT)");
        desk.load("t", &path, &[&more[..], &["--json", "--quiet", "--memory", "64M"]].concat())
    };
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    let report: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((&report["rows"], &report["rejects"]), (&1.into(), &40.into()));
    let peak = report["memory_peak_bytes"].as_u64().unwrap();
    assert!(peak < (64 << 20) * (100 + BEYOND_PERCENT) / 100, "{} MiB", peak >> 20);
}

/// The reason and the place of a short row take a hundred times as much as the row. Chunks of a pipe are large.
#[test]
fn short_refused_rows_take_no_more_than_the_budget() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY)");
    let mut load = desk.home.load(desk.server, &desk.table("t"), "-".as_ref());
    load.args(["--path", "stream", "--connections", "4", "--rejects-max", "1000000"]);
    load.args(["--json", "--quiet", "--memory", "64M"]);
    let mut child = start(load.stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(("x\n".repeat(1_000_000) + "1\n").as_bytes()).unwrap();
    drop(stdin);
    let outcome = finish(child);
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    let report: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((&report["rows"], &report["rejects"]), (&1.into(), &1_000_000.into()));
    let peak = report["memory_peak_bytes"].as_u64().unwrap();
    let limit = (64 << 20) * (100 + BEYOND_PERCENT) / 100;
    assert!(peak < limit + UNOPTIMIZED_BYTES, "{} MiB", peak >> 20);
}

#[test]
fn more_memory_than_there_is_is_refused() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY)");
    let file = desk.home.file("one", "1\n");
    let outcome = desk.load("t", &file, &["--memory", "900T"]);
    outcome.refused(
        2,
        &[
            "--memory 943718400 MiB exceeds the ",
            " MiB of this machine, or of the process's limits",
        ],
    );
    let load = desk.home.load(desk.server, &desk.table("t"), &file);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh"]).arg(load.get_program());
    shell.args(load.get_args()).args(["--memory", "3G"]).current_dir(desk.home.path());
    shell.envs(load.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(&mut shell).refused(2, &["--memory 3072 MiB exceeds the 1953 MiB"]);
}

/// Each connection has a chunk; as many as are asked for share what there is.
#[test]
fn many_connections_take_no_more_than_the_budget() {
    let Some(mut desk) = Desk::new() else { return };
    for path in ["stream", "insert"] {
        let more = ["--path", path, "--connections", "24"];
        let columns = "id INT PRIMARY KEY, n INT, c VARCHAR(60)";
        let report = load_within(&mut desk, columns, 64, &more, |out| {
            for id in 0..150_000 {
                writeln!(out, "{id}\t{}\tsome text of row {id} that is not short", id % 77)
                    .unwrap();
            }
        });
        assert_eq!((&report["rows"], &report["threads"]), (&150_000.into(), &24.into()));
    }
}

/// A value that no connection has room for beside others goes alone.
#[test]
fn long_values_are_sent_within_the_budget() {
    let Some(mut desk) = Desk::new() else { return };
    for path in ["stream", "insert"] {
        let report = load_within(
            &mut desk,
            "id INT PRIMARY KEY, b LONGBLOB",
            128,
            &["--path", path],
            |out| {
                for id in 0..12 {
                    write!(out, "{id}\t").unwrap();
                    repeat(out, b'a' + id as u8, 5 << 20);
                    out.write_all(b"\n").unwrap();
                }
            },
        );
        assert_eq!(report["rows"], 12);
        let lengths = desk.rows("SELECT SUM(LENGTH(b)), MIN(LENGTH(b)), MAX(LEFT(b, 2)) FROM t");
        assert_eq!(lengths, [format!("{}|{}|ll", 12 * (5 << 20), 5 << 20)]);
    }
}

/// The longest that may be, by one connection after the other.
#[test]
fn connections_do_not_keep_the_room_of_long_values_that_they_have_sent() {
    let Some(mut desk) = Desk::new() else { return };
    let (memory, longest) = (60, (60 - 20) << 17);
    for path in ["stream", "insert"] {
        let more = ["--path", path, "--dialect", "csv", "--connections", "8"];
        let columns = "id INT PRIMARY KEY, b LONGBLOB";
        let report = load_within(&mut desk, columns, memory, &more, |out| {
            for id in 0..12 {
                write!(out, "{id},").unwrap();
                repeat(out, b'x', longest - 100);
                out.write_all(b"\n").unwrap();
            }
        });
        assert_eq!(report["rows"], 12);
    }
}

/// Guessing a table before its load is part of the program.
#[test]
fn guessing_a_table_takes_no_more_than_the_budget() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("digits.csv", "1\n".repeat(4_000_000));
    let more = ["--create", "--quiet", "--json", "--memory", "64M"];
    let outcome = desk.load("t", &file, &more);
    let report: Value = serde_json::from_str(&outcome.done().out).unwrap();
    let peak = report["memory_peak_bytes"].as_u64().unwrap();
    assert!(peak < (64 << 20) * (100 + BEYOND_PERCENT) / 100, "{} MiB", peak >> 20);
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["4000000"]);
}

#[test]
fn looking_at_short_lines_takes_no_more_than_the_budget() {
    let home = Home::new();
    let file = home.file("ones.csv", "1\n".repeat(50_000_000));
    let mut sniff = home.inrush(["sniff", "--memory", "64M"]);
    let (outcome, peak) = run_with_peak(sniff.arg(file));
    assert!(outcome.done().out.contains("`c1` INT"), "{outcome:?}");
    assert!(peak < (64 << 20) * (100 + BEYOND_PERCENT) / 100, "{} MiB", peak >> 20);
}

/// Runs a command, and looks at the highest resident memory it had until shortly before its end.
fn run_with_peak(command: &mut Command) -> (Outcome, u64) {
    let child = start(command);
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while let Ok(text) = std::fs::read_to_string(&status)
        && let Some(line) = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))
    {
        peak = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10;
        std::thread::sleep(Duration::from_millis(1));
    }
    (finish(child), peak)
}

/// Rows without a key in the input are told apart by all their values.
#[test]
fn a_comparison_of_other_rows_takes_no_more_than_the_budget() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, doc LONGTEXT)");
    desk.exec("INSERT INTO t (doc) SELECT REPEAT(MD5(seq), 625) FROM seq_1_to_4000");
    let row = |id: u32| format!("{id:032}").repeat(625) + "\n";
    let file = desk.home.file("t.csv", (0..4_000).map(row).collect::<String>());
    let mut verify = desk.home.inrush(["verify", file.to_str().unwrap(), "--columns", "doc"]);
    verify.args(["--into", &desk.table("t"), "--json", "--quiet", "--memory", "64M", "--socket"]);
    let (outcome, peak) = run_with_peak(verify.arg(desk.server.socket()));
    let report: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((&report["missing_rows"], &report["extra_rows"]), (&4_000.into(), &4_000.into()));
    let limit = (64 << 20) * (100 + BEYOND_PERCENT) / 100 + UNOPTIMIZED_BYTES;
    assert!(peak < limit, "{} MiB", peak >> 20);
}

/// Sorted runs keep a few keys in memory, even if they are as long as half a block and differ only
/// at their ends.
#[test]
fn rows_of_kilobytes_with_long_keys_take_no_more_than_the_least_budget() {
    let Some(mut desk) = Desk::new() else { return };
    let columns = "id INT PRIMARY KEY, n INT, v VARCHAR(6000), KEY (n), KEY (v(700))";
    for ids in [shuffled(20_000).collect::<Vec<_>>(), (0..20_000).collect()] {
        let text = "v".repeat(5_000);
        let report = load_within(&mut desk, columns, 28, &["--threads", "2"], |out| {
            for id in &ids {
                writeln!(out, "{id}\t{}\t{}{text}", id * 7_919 % 100_003, id % 100).unwrap();
            }
        });
        assert_eq!(report["rows"], 20_000);
        check_table(&mut desk.session, "t");
    }
}

/// A table that takes more than most says so before anything is done, and how much would do.
#[test]
fn the_least_memory_is_said_beforehand_and_is_enough() {
    let Some(mut desk) = Desk::new() else { return };
    let keys: Vec<String> = (1..60).map(|key| format!("KEY k{key} (a, t({key}))")).collect();
    desk.exec(&format!("CREATE TABLE t (id INT PRIMARY KEY, a INT, t TEXT, {})", keys.join(", ")));
    let rows = shuffled(20_000).map(|id| format!("{id}\t{}\ttext {id}\n", id % 13));
    let file = desk.home.file("rows", rows.collect::<String>());
    let outcome = desk.load("t", &file, &["--memory", "28M"]);
    outcome.refused(2, &["--memory 28 MiB is too small: at least ", "60 indexes"]);
    assert!(!desk.home.journal().iter().any(|step| step.starts_with("staging")), "{outcome:?}");
    let least = |text: &str| {
        let (_, rest) = text.split_once("at least ").unwrap();
        rest.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let mebibytes = least(&outcome.err);
    let plan = |memory: &str| {
        let load = desk.home.load(desk.server, &desk.table("t"), &file);
        let arguments: Vec<_> = load.get_args().skip(1).map(ToOwned::to_owned).collect();
        run(desk.home.inrush(["plan"]).args(arguments).args(["--memory", memory]))
    };
    let planned = plan("28M");
    assert_eq!((planned.code(), least(&planned.out)), (2, mebibytes), "{planned:?}");
    let said = format!("memory: at least --memory {mebibytes}M; 1024M is set");
    assert!(plan("1G").done().out.contains(&said), "{:?}", plan("1G"));
    desk.load("t", &file, &["--memory", &format!("{}M", mebibytes - 1)]).refused(2, &["at least"]);
    let loaded = desk.load("t", &file, &["--memory", &format!("{mebibytes}M"), "--json"]);
    let report: Value = serde_json::from_str(&loaded.done().out).unwrap();
    assert_eq!(report["rows"], 20_000);
    check_table(&mut desk.session, "t");
}

#[test]
fn connections_that_are_asked_for_say_what_they_take_beforehand() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY)");
    let file = desk.home.file("one", "1\n");
    let more = ["--path", "insert", "--connections", "100"];
    let outcome = desk.load("t", &file, &[&more[..], &["--memory", "40M"]].concat());
    outcome.refused(2, &["at least 92 MiB is needed: --connections 100 needs that much"]);
    assert!(!desk.home.journal().iter().any(|step| step.starts_with("staging")), "{outcome:?}");
    desk.load("t", &file, &[&more[..], &["--memory", "92M"]].concat()).done();
}

/// An eighth of what the program leaves, whichever way it goes in; of a longer one all say the same.
#[test]
fn a_record_may_be_as_long_on_every_path() {
    let Some(mut desk) = Desk::new() else { return };
    let (memory, longest) = (60, (60 - 20) << 17);
    let paths = ["direct", "stream", "insert"];
    // What has to be escaped for a server.
    for byte in [b'x', b'\\'] {
        for path in paths {
            let more = ["--path", path, "--dialect", "csv"];
            let columns = "id INT PRIMARY KEY, b LONGBLOB";
            let report = load_within(&mut desk, columns, memory, &more, |out| {
                for id in 0..4 {
                    write!(out, "{id},\"").unwrap();
                    repeat(out, byte, longest - 100);
                    out.write_all(b"\"\n").unwrap();
                }
            });
            assert_eq!(report["rows"], 4);
        }
    }
    let long = [&b"1,\""[..], &vec![b'x'; longest + (3 << 20)], b"\"\n"].concat();
    let file = desk.home.file("long.csv", long);
    let said = format!("the record that starts here is longer than {longest} bytes");
    for path in paths {
        let more = ["--mode", "replace", "--path", path, "--memory", "60M"];
        desk.load("t", &file, &more).refused(1, &["long.csv line 1 (byte 0): ", &said]);
    }
    let row = format!("INSERT INTO t VALUES (9, '{}');\n", "x".repeat(longest - 100));
    let dump = desk.home.file("dump.sql", format!("DELETE FROM t;\n{row}"));
    let mut replay = desk.home.inrush(["replay", "--memory", "60M", "--into", &desk.database]);
    replay.arg(dump).arg("--socket").arg(desk.server.socket());
    replay.args(desk.server.options().user.map(|user| format!("--user={user}")));
    run(&mut replay).done();
    assert_eq!(desk.rows("SELECT id, LENGTH(b) FROM t"), [format!("9|{}", longest - 100)]);
}

/// Text that waits for its turn, plain and compressed, and rows that are longer than usual.
#[test]
fn exports_take_no_more_than_the_budget() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b LONGTEXT) ENGINE=InnoDB");
    desk.exec("INSERT INTO t SELECT seq, REPEAT(MD5(seq), 20) FROM seq_1_to_50000");
    desk.exec("INSERT INTO t SELECT seq, REPEAT(MD5(seq), 30000) FROM seq_60001_to_60040");
    desk.exec("ANALYZE TABLE t");
    let table = desk.table("t");
    for path in ["direct", "select"] {
        let mut export = desk.home.inrush(["export", &table, "-o", "t.csv.gz", "--socket"]);
        export.arg(desk.server.socket()).args(["--json", "--quiet", "--force", "--path", path]);
        let outcome = run(export.args(["--threads", "4", "--memory", "64M"]));
        let report: Value = serde_json::from_str(&outcome.done().out).unwrap();
        let peak = report["memory_peak_bytes"].as_u64().unwrap();
        assert!(peak <= (64 << 20) * (100 + BEYOND_PERCENT) / 100, "{path}: {report}");
        assert_eq!(report["rows"], 50_040);
    }
    let mut export = desk.home.inrush(["export", &table, "-o", "no.csv", "--socket"]);
    let outcome = run(export.arg(desk.server.socket()).args(["--memory", "20M"]));
    outcome.refused(2, &["--memory", "too small"]);
}
