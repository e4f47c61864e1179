//! Time in proportion to the input, without a server: processor time of 16 times as much.

mod formats;

use std::fmt::Write as _;
use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use self::formats::FORMATS;
use crate::support::Home;

/// How much larger the larger input is.
const TIMES: usize = 16;
/// What it may take: what grows as the square takes 256 times as much.
const TIMES_MAX: u64 = 4 * TIMES as u64;
/// Ticks of the smaller input at least, so that they can be told from none.
const TICKS_MIN: u64 = 2;

/// `count` pieces.
fn many(count: usize, piece: impl Fn(usize) -> String) -> String {
    (0..count).map(piece).collect()
}

/// A kind of input: its file's ending, how many pieces the smaller one has, and the text of so many.
struct Kind {
    name: &'static str,
    ending: &'static str,
    pieces: usize,
    text: fn(usize) -> String,
}

const fn kind(
    name: &'static str,
    ending: &'static str,
    pieces: usize,
    text: fn(usize) -> String,
) -> Kind {
    Kind { name, ending, pieces, text }
}

const JOB: &str = "into = \"d\"\n[input]\nfiles = [\"rows.csv\"]\nheader = true\n";

/// A job file of one table with more behind it.
fn job(more: &str) -> String {
    format!("{JOB}[[table]]\nname = \"t\"\n[table.columns]\na = \"a\"\n{more}")
}

fn create(elements: &str, tail: &str) -> String {
    format!("CREATE TABLE t (a INT{elements}){tail};\n")
}

const KINDS: [Kind; 22] = [
    kind("commas", "csv", 20_000, |n| ",".repeat(n)),
    kind("names in a header", "csv", 4_000, |n| many(n, |at| format!("n{at},"))),
    kind("quotes", "csv", 20_000, |n| "\"".repeat(n + 1)),
    kind("quotes in a field", "csv", 8_000, |n| format!("\"{}\"\n", "\"\"".repeat(n))),
    kind("open quotes", "csv", 4_000, |n| many(n, |_| "1,\"x\n".to_owned())),
    kind("lines", "csv", 8_000, |n| many(n, |at| format!("{at},x\n"))),
    kind("a long line", "csv", 200_000, |n| format!("a,b\n1,{}\n", "x".repeat(n))),
    kind("statements", "sql", 8_000, |n| many(n, |at| format!("SET @a{at}=1;\n"))),
    kind("tables with rows", "sql", 1_000, |n| {
        many(n, |at| format!("CREATE TABLE t{at} (a INT);\nINSERT INTO t{at} VALUES (1);\n"))
    }),
    kind("rows in INSERTs", "sql", 8_000, |n| {
        many(n, |at| format!("INSERT INTO t VALUES ({at});\n"))
    }),
    kind("foreign keys", "sql", 1_000, |n| {
        many(n, |at| {
            format!("CREATE TABLE t{at} (a INT, FOREIGN KEY (a) REFERENCES t{} (a));\n", at + 1)
        })
    }),
    kind("columns of a definition", "sql", 2_000, |n| {
        create(&many(n, |at| format!(",c{at} INT")), "")
    }),
    kind("keys of a definition", "sql", 2_000, |n| {
        create(&many(n, |at| format!(",KEY k{at} (a)")), "")
    }),
    kind("partitions", "sql", 2_000, |n| {
        let parts = many(n, |at| format!("PARTITION p{at} VALUES LESS THAN ({at}),"));
        create(
            "",
            &format!(" PARTITION BY RANGE (a) ({} PARTITION p VALUES LESS THAN MAXVALUE)", parts),
        )
    }),
    kind("a long name", "sql", 200_000, |n| {
        format!("CREATE TABLE `{}` (a INT);\n", "x`".repeat(n))
    }),
    kind("parentheses", "sql", 50_000, |n| {
        format!("SELECT {}1{};\n", "(".repeat(n), ")".repeat(n))
    }),
    kind("an open comment", "sql", 50_000, |n| "/*".repeat(n)),
    kind("tables of a job file", "toml", 100, |n| {
        JOB.to_owned()
            + &many(n, |at| format!("[[table]]\nname = \"t{at}\"\n[table.columns]\na = \"a\"\n"))
    }),
    kind("columns of a job file", "toml", 2_000, |n| {
        job(&many(n, |at| format!("c{at} = \"a\"\n")))
    }),
    kind("rules of a job file", "toml", 1_000, |n| {
        job(&many(n, |_| "[[rule]]\nfield = \"a\"\nrequired = true\n".to_owned()))
    }),
    kind("values of a condition", "toml", 4_000, |n| {
        let values = many(n, |at| format!("\"{at}\","));
        format!(
            "{JOB}[[table]]\nname = \"t\"\nwhen = {{ a = [{values}] }}\n[table.columns]\na = \"a\"\n"
        )
    }),
    kind("nested lists", "toml", 50_000, |n| {
        format!("into = {}{}\n", "[".repeat(n), "]".repeat(n))
    }),
];

/// Processor time of a process in hundredths of a second, its threads included, and whether it has ended.
fn ticks(child: &Child) -> (u64, bool) {
    let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
    let number = |at: usize| fields[at].parse::<u64>().unwrap();
    // Behind the name: the state, and fields 14 and 15 of proc(5).
    (number(11) + number(12), fields[0] == "Z")
}

/// What a command takes; nothing once it has taken more than `most`.
fn cost(home: &Home, arguments: &[String], most: u64) -> Option<u64> {
    let mut command = home.inrush(arguments);
    command.current_dir(home.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let seen = loop {
        // A process that has ended and was not waited for keeps its numbers.
        let (ticks, has_ended) = ticks(&child);
        if has_ended || ticks > most {
            break ticks;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let _ = child.kill();
    child.wait().unwrap();
    (seen <= most).then_some(seen)
}

/// Asserts that the larger of two commands takes time in proportion.
fn grows_evenly(home: &Home, name: &str, small: &[String], large: &[String]) -> Result<(), String> {
    let few = cost(home, small, u64::MAX).unwrap().max(TICKS_MIN);
    match cost(home, large, few * TIMES_MAX) {
        Some(_) => Ok(()),
        None => Err(format!(
            "{name}: {few} hundredths of a second, and more than {TIMES_MAX} times as much"
        )),
    }
}

#[test]
fn time_grows_as_the_input_does() {
    let home = Home::new();
    home.file("rows.csv", "a\n1\n");
    let arguments = |kind: &Kind, count: usize| {
        let name = format!("{}-{count}.{}", kind.name.replace(' ', "-"), kind.ending);
        home.file(&name, (kind.text)(count));
        let words: &[&str] = match kind.ending {
            "csv" => &["sniff", &name],
            "sql" => &["replay", &name, "--dry-run", "--into", "d"],
            _ => &["plan", "-c", &name, "--socket", "/nowhere"],
        };
        words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>()
    };
    let mut wrong = String::new();
    for kind in &KINDS {
        let (small, large) = (arguments(kind, kind.pieces), arguments(kind, kind.pieces * TIMES));
        if let Err(why) = grows_evenly(&home, kind.name, &small, &large) {
            writeln!(wrong, "{why}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn time_grows_as_inputs_of_other_formats_do() {
    let home = Home::new();
    let mut wrong = String::new();
    for (name, ending, pieces, bytes) in FORMATS {
        let [small, large] = [pieces, pieces * TIMES].map(|count| {
            let file = format!("{}-{count}.{ending}", name.replace(' ', "-"));
            home.file(&file, bytes(count));
            ["sniff".to_owned(), file]
        });
        if let Err(why) = grows_evenly(&home, name, &small, &large) {
            writeln!(wrong, "{why}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A folder as mydumper writes it, with so many tables.
fn dump_folder(home: &Home, tables: usize) -> Vec<String> {
    let folder = format!("dump-{tables}");
    fs::create_dir(home.path().join(&folder)).unwrap();
    let file = |name: &str, text: &str| drop(home.file(&format!("{folder}/{name}"), text));
    file("metadata", "Started dump at: 2026-01-01 00:00:00\n");
    file("d-schema-create.sql", "CREATE DATABASE `d`;\n");
    for at in 0..tables {
        file(&format!("d.t{at}-schema.sql"), &format!("CREATE TABLE `t{at}` (`a` int);\n"));
        file(&format!("d.t{at}.00000.sql"), &format!("INSERT INTO `t{at}` VALUES(1);\n"));
    }
    ["replay", &folder, "--dry-run"].map(str::to_owned).to_vec()
}

#[test]
fn time_grows_as_the_files_and_the_options_do() {
    let home = Home::new();
    let files = 300;
    for (folder, count) in [("small", files), ("large", files * TIMES)] {
        fs::create_dir(home.path().join(folder)).unwrap();
        (0..count).for_each(|at| drop(home.file(&format!("{folder}/t{at}.csv"), "1\n")));
    }
    let plan = |more: Vec<String>| -> Vec<String> {
        let plan = ["plan", "--into", "d", "--socket", "/nowhere"].map(str::to_owned);
        plan.into_iter().chain(more).collect()
    };
    let of_table = |option: &str, count: usize, value: fn(usize) -> String| -> Vec<String> {
        let words = ["plan", "small/t0.csv", "--into", "d.t", "--socket", "/nowhere"];
        let options = (0..count).flat_map(|at| [option.to_owned(), value(at)]);
        words.map(str::to_owned).into_iter().chain(options).collect()
    };
    let names = |count: usize| (0..count).map(|at| format!("large/t{at}.csv")).collect();
    let columns = |count: usize| vec![many(count, |at| format!("c{at},")) + "c"];
    let mut wrong = String::new();
    for (name, small, large) in [
        ("files of a folder", plan(vec!["small".to_owned()]), plan(vec!["large".to_owned()])),
        ("files", plan(names(files)), plan(names(files * TIMES))),
        ("tables of a dump folder", dump_folder(&home, 100), dump_folder(&home, 100 * TIMES)),
        (
            "--columns",
            of_table("--columns", 1, |_| many(400, |at| format!("c{at},")) + "c"),
            [
                of_table("--columns", 0, |_| String::new()),
                vec!["--columns".to_owned()],
                columns(400 * TIMES),
            ]
            .concat(),
        ),
        (
            "--set",
            of_table("--set", 200, |at| format!("c{at}=1")),
            of_table("--set", 200 * TIMES, |at| format!("c{at}=1")),
        ),
        (
            "--set-sql",
            of_table("--set-sql", 1, |_| format!("c={}1{}", "(".repeat(2_000), ")".repeat(2_000))),
            of_table("--set-sql", 1, |_| {
                format!("c={}1{}", "(".repeat(32_000), ")".repeat(32_000))
            }),
        ),
    ] {
        if let Err(why) = grows_evenly(&home, name, &small, &large) {
            writeln!(wrong, "{why}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
