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

/// How a command ends.
#[derive(Clone, Copy)]
enum End {
    /// With status 0.
    Done,
    /// With this status, and a message with these words.
    Refused(i32, &'static str),
}

/// A kind of input: its file's ending, how many pieces the smaller one has, the text of so many, and how its
/// command ends.
struct Kind {
    name: &'static str,
    ending: &'static str,
    pieces: usize,
    text: fn(usize) -> String,
    end: End,
}

const fn kind(
    name: &'static str,
    ending: &'static str,
    pieces: usize,
    text: fn(usize) -> String,
) -> Kind {
    Kind { name, ending, pieces, text, end: End::Done }
}

impl Kind {
    const fn refused(self, status: i32, words: &'static str) -> Kind {
        Kind { end: End::Refused(status, words), ..self }
    }
}

const JOB: &str = "into = \"d\"\n[input]\nfiles = [\"rows.csv\"]\nheader = true\n";

/// A job file of one table with more behind it.
fn job(more: &str) -> String {
    format!("{JOB}[[table]]\nname = \"t\"\n[table.columns]\na = \"a\"\n{more}")
}

/// A list of so many levels.
fn list(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

fn create(elements: &str, tail: &str) -> String {
    format!("CREATE TABLE t (a INT{elements}){tail};\n")
}

/// The end of plans that have read all they can without a server.
const NO_SERVER: &str = "connecting to /nowhere";
/// The end of a guess at more fields than a table can have columns.
const TOO_WIDE: &str = "an InnoDB table has at most 1017 columns";

const KINDS: [Kind; 23] = [
    kind("commas", "csv", 20_000, |n| ",".repeat(n)).refused(2, TOO_WIDE),
    kind("names in a header", "csv", 4_000, |n| many(n, |at| format!("n{at},")))
        .refused(2, TOO_WIDE),
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
    kind("an open comment", "sql", 50_000, |n| "/*".repeat(n)).refused(1, "never closed"),
    kind("tables of a job file", "toml", 100, |n| {
        JOB.to_owned()
            + &many(n, |at| format!("[[table]]\nname = \"t{at}\"\n[table.columns]\na = \"a\"\n"))
    })
    .refused(1, NO_SERVER),
    kind("columns of a job file", "toml", 2_000, |n| {
        job(&many(n, |at| format!("c{at} = \"a\"\n")))
    })
    .refused(1, NO_SERVER),
    kind("rules of a job file", "toml", 1_000, |n| {
        job(&many(n, |_| "[[rule]]\nfield = \"a\"\nrequired = true\n".to_owned()))
    })
    .refused(1, NO_SERVER),
    kind("values of a condition", "toml", 4_000, |n| {
        let values = many(n, |at| format!("\"{at}\","));
        format!(
            "{JOB}[[table]]\nname = \"t\"\nwhen = {{ a = [{values}] }}\n[table.columns]\na = \"a\"\n"
        )
    })
    .refused(1, NO_SERVER),
    kind("nested lists", "toml", 1_000, |n| format!("into = [{}]\n", many(n, |_| list(50) + ",")))
        .refused(2, "a text is expected"),
    kind("levels of a list", "toml", 50_000, |n| format!("into = {}\n", list(n)))
        .refused(2, "max recursion depth"),
];

/// Processor time of a process in hundredths of a second, its threads included, and whether it has ended.
fn ticks(child: &Child) -> (u64, bool) {
    let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
    let number = |at: usize| fields[at].parse::<u64>().unwrap();
    // Behind the name: the state, and fields 14 and 15 of proc(5).
    (number(11) + number(12), fields[0] == "Z")
}

/// Processor time of a command that must end so; nothing once it has taken more than `most`.
///
/// Errors: it ends in another way.
fn cost(home: &Home, arguments: &[String], end: End, most: u64) -> Result<Option<u64>, String> {
    let errors = home.path().join("errors");
    let mut command = home.inrush(arguments);
    command.current_dir(home.path()).stdout(Stdio::null());
    command.stderr(fs::File::create(&errors).unwrap());
    let mut child = command.spawn().unwrap();
    let seen = loop {
        // A process that has ended and was not waited for keeps its numbers.
        let (ticks, has_ended) = ticks(&child);
        if ticks > most {
            child.kill().unwrap();
            child.wait().unwrap();
            return Ok(None);
        }
        if has_ended {
            break ticks;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let status = child.wait().unwrap();
    let errors = fs::read_to_string(errors).unwrap();
    let is_so = match end {
        End::Done => status.success(),
        End::Refused(code, words) => status.code() == Some(code) && errors.contains(words),
    };
    if is_so { Ok(Some(seen)) } else { Err(format!("{status}, {errors}")) }
}

/// Asserts that the larger of two commands takes time in proportion, and that both end so.
fn grows_evenly(
    home: &Home,
    name: &str,
    end: End,
    [small, large]: [&[String]; 2],
) -> Result<(), String> {
    let ended = |why: String| format!("{name}: {why}");
    let few = cost(home, small, end, u64::MAX).map_err(ended)?.unwrap_or(0).max(TICKS_MIN);
    match cost(home, large, end, few * TIMES_MAX).map_err(ended)? {
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
        if let Err(why) = grows_evenly(&home, kind.name, kind.end, [&small, &large]) {
            writeln!(wrong, "{why}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn time_grows_as_inputs_of_other_formats_do() {
    let home = Home::new();
    let mut wrong = String::new();
    for (name, ending, pieces, end, bytes) in FORMATS {
        let [small, large] = [pieces, pieces * TIMES].map(|count| {
            let file = format!("{}-{count}.{ending}", name.replace(' ', "-"));
            home.file(&file, bytes(count));
            ["sniff".to_owned(), file]
        });
        if let Err(why) = grows_evenly(&home, name, end, [&small, &large]) {
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
    let metadata = "Started dump at: 2026-01-01 00:00:00\nFinished dump at: 2026-01-01 00:00:01\n";
    file("metadata", metadata);
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
    let no_server = End::Refused(1, NO_SERVER);
    for (name, end, small, large) in [
        (
            "files of a folder",
            no_server,
            plan(vec!["small".to_owned()]),
            plan(vec!["large".to_owned()]),
        ),
        ("files", no_server, plan(names(files)), plan(names(files * TIMES))),
        (
            "tables of a dump folder",
            End::Done,
            dump_folder(&home, 100),
            dump_folder(&home, 100 * TIMES),
        ),
        (
            "--columns",
            no_server,
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
            no_server,
            of_table("--set", 200, |at| format!("c{at}=1")),
            of_table("--set", 200 * TIMES, |at| format!("c{at}=1")),
        ),
        (
            "--set-sql",
            no_server,
            of_table("--set-sql", 1, |_| format!("c={}1{}", "(".repeat(2_000), ")".repeat(2_000))),
            of_table("--set-sql", 1, |_| {
                format!("c={}1{}", "(".repeat(32_000), ")".repeat(32_000))
            }),
        ),
    ] {
        if let Err(why) = grows_evenly(&home, name, end, [&small, &large]) {
            writeln!(wrong, "{why}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
