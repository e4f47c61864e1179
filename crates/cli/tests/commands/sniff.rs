//! The output of `inrush sniff` is run as it is, by a shell, and loads the file.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::support::{Desk, Outcome, run};

/// A file, the columns of its table, and its rows.
struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    columns: &'static [&'static str],
    rows: &'static [&'static str],
}

fn case(
    name: &'static str,
    bytes: impl AsRef<[u8]>,
    columns: &'static [&'static str],
    rows: &'static [&'static str],
) -> Case {
    Case { name, bytes: bytes.as_ref().to_vec(), columns, rows }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

const PEOPLE: &str = "id,name,born,height,seen\n\
    1,\"Smith, J\",1970-02-28,1.75,2024-01-01 10:00:00\n\
    2,\"O\"\"Brien\nof Cork\",1980-12-31,1.8,2024-01-02 11:30:00.5\n\
    3,NULL,1999-01-01,,2024-01-03 00:00:00\n";

fn cases() -> Vec<Case> {
    let people_columns: &[&str] = &[
        "id bigint(20) NO PRI",
        "name varchar(40) YES",
        "born date NO",
        "height decimal(5,2) YES",
        "seen datetime(1) NO",
    ];
    let people_rows: &[&str] = &[
        "1|Smith, J|1970-02-28|1.75|2024-01-01 10:00:00.0",
        "2|O\"Brien\nof Cork|1980-12-31|1.80|2024-01-02 11:30:00.5",
        "3||1999-01-01||2024-01-03 00:00:00.0",
    ];
    let wide: Vec<u8> = PEOPLE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        case("people.csv", PEOPLE, people_columns, people_rows),
        case("people.csv.gz", gzip(PEOPLE), people_columns, people_rows),
        case("bom.csv", ["\u{feff}", PEOPLE].concat(), people_columns, people_rows),
        case(
            "crlf.csv",
            PEOPLE.replace('\n', "\r\n").replace("Brien\r\n", "Brien\n"),
            people_columns,
            people_rows,
        ),
        case("wide.csv", &wide, people_columns, people_rows),
        case("marked.csv", [b"\xff\xfe", &wide[..]].concat(), people_columns, people_rows),
        case(
            "codes.tsv",
            "code\tpath\tn\n007\tC:\\temp\\new\t-5\n010\tC:\\x\t40000\n",
            &["code varchar(10) NO", "path varchar(20) NO", "n int(11) NO"],
            &["007|C:\\temp\\new|-5", "010|C:\\x|40000"],
        ),
        case(
            "nation.tbl",
            "0|ALGERIA|0| haggle. carefully|\n1|ARGENTINA|1|al foxes|\n2|BRAZIL|1|y alongside|\n",
            &["c1 bigint(20) NO PRI", "c2 varchar(20) NO", "c3 tinyint(4) NO", "c4 varchar(40) NO"],
            &["0|ALGERIA|0| haggle. carefully", "1|ARGENTINA|1|al foxes", "2|BRAZIL|1|y alongside"],
        ),
        case(
            "umsatz.csv",
            b"Datum;Stra\xdfe;Betrag\n31.12.2023;H\xf6he 1;12,50\n01.01.2024;Am Tor;1,00\n",
            &["Datum date NO", "Stra\u{df}e varchar(10) NO", "Betrag decimal(6,2) NO"],
            &["2023-12-31|H\u{f6}he 1|12.50", "2024-01-01|Am Tor|1.00"],
        ),
        case(
            "dump.txt",
            "1\t\\N\ttwo\\nlines\n2\t1e10\ttab\\\there\n",
            &["c1 bigint(20) NO PRI", "c2 double YES", "c3 varchar(20) NO"],
            &["1||two\nlines", "2|10000000000|tab\there"],
        ),
        case(
            "marked.txt",
            "\u{feff}1\t\\N\n2\ta\\tb\n",
            &["c1 bigint(20) NO PRI", "c2 varchar(10) YES"],
            &["1|", "2|a\tb"],
        ),
        case(
            "bare.csv",
            "10:30:00,x,18446744073709551615\n-01:00:00.25,y,0\n",
            &["c1 time(2) NO", "c2 varchar(10) NO", "c3 bigint(20) unsigned NO"],
            &["10:30:00.00|x|18446744073709551615", "-01:00:00.25|y|0"],
        ),
        case(
            "words.txt",
            "one, two\nthree\nfour five\n",
            &["c1 varchar(20) NO"],
            &["one, two", "three", "four five"],
        ),
        case("number.csv", "n\n5\n3\n", &["n tinyint(4) NO"], &["5", "3"]),
        case(
            "empty.csv",
            "a,b,c\n1,,x\n,2.5,\"\"\n3,,\n",
            &["a tinyint(4) YES", "b decimal(4,1) YES", "c varchar(10) YES"],
            &["1||x", "|2.5|", "3||"],
        ),
        case(
            "texts.csv",
            "name,town\n,Rome\nAnn,\n",
            &["name varchar(10) NO", "town varchar(10) NO"],
            &["|Rome", "Ann|"],
        ),
        case(
            "escaped.csv",
            "\"a\",\"say \\\"hi\\\"\"\n\"b\",\"x\"\n",
            &["c1 varchar(10) NO", "c2 varchar(20) NO"],
            &["a|say \"hi\"", "b|x"],
        ),
        case(
            "hive.txt",
            "1\u{1}a,b\u{1}\\N\n2\u{1}c\u{1}9\n",
            &["c1 bigint(20) NO PRI", "c2 varchar(10) NO", "c3 tinyint(4) YES"],
            &["1|a,b|", "2|c|9"],
        ),
        case(
            "habits.csv",
            "id;betrag;plz;tag;bezahlt\n1;1.234,50;01234;31.12.2026;yes\n2;-7,5;99999;1.2.2026;No\n",
            &[
                "id bigint(20) NO PRI",
                "betrag decimal(8,2) NO",
                "plz varchar(10) NO",
                "tag date NO",
                "bezahlt tinyint(1) NO",
            ],
            &["1|1234.50|01234|2026-12-31|1", "2|-7.50|99999|2026-02-01|0"],
        ),
        case(
            "odd names.csv",
            "id,id,two words,\u{1f600},a\n1,2,3,4,5\n",
            &[
                "id bigint(20) NO",
                "idc2 tinyint(4) NO",
                "two words tinyint(4) NO",
                "_ tinyint(4) NO",
                "a tinyint(4) NO",
            ],
            &["1|2|3|4|5"],
        ),
    ]
}

impl Desk {
    pub(crate) fn sniff(&self, file: &Path, more: &[&str]) -> Outcome {
        let mut command = self.home.inrush(["sniff"]);
        command.arg(file).args(["--into", &self.table("t"), "--socket"]);
        command.arg(self.server.socket());
        if let Some(user) = self.server.options().user {
            command.args(["--user", &user]);
        }
        run(command.args(more))
    }

    /// Runs a script in which `inrush` is the program.
    pub(crate) fn shell(&self, script: &str) -> Outcome {
        let program = Path::new(env!("CARGO_BIN_EXE_inrush"));
        let path = format!(
            "{}:{}",
            program.parent().unwrap().display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut command = Command::new("sh");
        for name in ["HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR"] {
            let inrush = self.home.inrush(["x"]);
            let value =
                inrush.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| value);
            command.env(name, value.unwrap());
        }
        run(command.args(["-ec", script]).env("PATH", path).current_dir(self.home.path()))
    }

    fn columns(&mut self) -> Vec<String> {
        self.rows("SHOW COLUMNS FROM t")
            .iter()
            .map(|row| {
                let parts: Vec<&str> = row.split('|').collect();
                parts[..4].join(" ").trim_end().to_owned()
            })
            .collect()
    }
}

#[test]
fn its_output_loads_the_file() {
    let Some(mut desk) = Desk::new() else { return };
    for case in cases() {
        let file = desk.home.file(case.name, &case.bytes);
        desk.exec("DROP TABLE IF EXISTS t");
        let sniffed = desk.sniff(&file, &[]);
        sniffed.done();
        let loaded = desk.shell(&sniffed.out);
        assert_eq!(loaded.code(), 0, "{}: {loaded:?}\n{}", case.name, sniffed.out);
        assert_eq!(desk.columns(), case.columns, "{}: {}", case.name, sniffed.out);
        let mut rows = desk.rows("SELECT * FROM t");
        let mut expected: Vec<&str> = case.rows.to_vec();
        rows.sort();
        expected.sort_unstable();
        assert_eq!(rows, expected, "{}: {}", case.name, sniffed.out);
        // The same at once.
        desk.exec("DROP TABLE t");
        desk.load("t", &file, &["--create"]).done();
        assert_eq!(desk.columns(), case.columns, "{}", case.name);
        let mut created = desk.rows("SELECT * FROM t");
        created.sort();
        assert_eq!(created, rows, "{}", case.name);
    }
}

#[test]
fn a_table_that_was_made_is_taken_back_when_the_load_fails() {
    let Some(mut desk) = Desk::new() else { return };
    // Not like the parts that are looked at: one late word among numbers.
    let mut text = String::from("id,n\n");
    for line in 0..4_600_000 {
        text.push_str(&format!("{line},{}\n", if line == 2_000_000 { "x" } else { "1" }));
    }
    let file = desk.home.file("late.csv", text);
    let outcome = desk.load("t", &file, &["--create"]);
    outcome.refused(1, &["late.csv line 2000002", "`n`: \"x\" is not INT"]);
    assert!(outcome.err.contains("note: only parts of the input were read"), "{outcome:?}");
    assert_eq!(desk.rows("SHOW TABLES"), [""; 0]);
    let sniffed = desk.sniff(&file, &[]);
    assert!(
        sniffed.done().out.contains("`id` is unique in the rows that were read"),
        "{sniffed:?}"
    );
    assert!(!sniffed.out.contains("PRIMARY KEY ("), "{sniffed:?}");
    // What is said is not guessed.
    let file = desk.home.file("said.csv", "a,b\n1;2,3\n");
    let more = ["--create", "--fields-terminated-by", ";", "--columns", "x,y", "--skip-lines", "1"];
    desk.load("t", &file, &more).done();
    assert_eq!(desk.columns(), ["x tinyint(4) NO", "y decimal(4,1) NO"]);
}

#[test]
fn a_null_token_leaves_the_dialect_to_be_guessed() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("said.txt", "id;n\n1;-\n2;3\n");
    let sniffed = desk.sniff(&file, &["--null-token", "-"]);
    assert_eq!(sniffed.done().out.matches("--null-token").count(), 1, "{sniffed:?}");
    for how in [None, Some(["--create", "--null-token", "-"])] {
        desk.exec("DROP TABLE IF EXISTS t");
        match how {
            None => assert_eq!(desk.shell(&sniffed.out).code(), 0),
            Some(more) => drop(desk.load("t", &file, &more).done()),
        }
        assert_eq!(desk.columns(), ["id bigint(20) NO PRI", "n tinyint(4) YES"]);
        assert_eq!(desk.rows("SELECT id FROM t WHERE n IS NULL"), ["1"]);
    }
}

#[test]
fn text_that_is_not_utf_8_is_said_to_be_a_guess() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("sjis.csv", b"id,name\n1,\x93\xfa\x96\x7b\n");
    let created = desk.load("t", &file, &["--create"]);
    assert!(created.done().err.contains("note: the file is not UTF-8"), "{created:?}");
    desk.exec("DROP TABLE t");
    let created = desk.load("t", &file, &["--create", "--charset", "sjis"]);
    assert!(!created.done().err.contains("not UTF-8"), "{created:?}");
    assert_eq!(desk.rows("SELECT HEX(name) FROM t"), ["E697A5E69CAC"]);
}

#[test]
fn a_few_rows_that_are_not_utf_8_do_not_make_a_file_latin1() {
    let Some(mut desk) = Desk::new() else { return };
    let row = |at: u32| match at {
        500 => b"500,H\xf6he\n".to_vec(),
        _ => format!("{at},H\u{f6}he {at}\n").into_bytes(),
    };
    let rows: Vec<u8> = (1..=1000).flat_map(row).collect();
    let file = desk.home.file("t.csv", [b"id,name\n", &rows[..]].concat());
    let sniffed = desk.sniff(&file, &[]);
    assert!(!sniffed.done().out.contains("--charset latin1 --"), "{sniffed:?}");
    assert!(sniffed.out.contains("1 row is not, the first in line 501"), "{sniffed:?}");
    // By default the load fails, and says where.
    let created = desk.load("t", &file, &["--create"]);
    created.refused(1, &["line 501", "byte", "`name`"]);
    assert_eq!(desk.files(), ["db.opt"]);
    let created = desk.load("t", &file, &["--create", "--rejects-max", "1", "--rejects", "bad"]);
    assert_eq!(created.code(), 3, "{created:?}");
    assert_eq!(desk.rows("SELECT COUNT(*), MIN(HEX(name)) FROM t"), ["999|48C3B668652031"]);
    assert_eq!(std::fs::read(desk.home.path().join("bad")).unwrap(), b"id,name\n500,H\xf6he\n");
}

#[test]
fn what_is_said_of_the_table_overrules_what_is_guessed() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("a.csv", "id,name,paid\n1,Ann,1\n2,Bob,0\n");
    let said = ["--types", "NAME=CHAR(20) NOT NULL", "--types", "paid=BOOLEAN", "--collation"];
    let said = [&said[..], &["latin1_german1_ci"]].concat();
    let expected = ["id bigint(20) NO PRI", "name char(20) NO", "paid tinyint(1) NO"];
    assert_eq!(desk.shell(&desk.sniff(&file, &said).done().out).code(), 0);
    assert_eq!(desk.columns(), expected);
    desk.exec("DROP TABLE t");
    desk.load("t", &file, &[&["--create"], &said[..]].concat()).done();
    assert_eq!(desk.columns(), expected);
    assert!(desk.rows("SHOW CREATE TABLE t")[0].contains("COLLATE=latin1_german1_ci"));
    desk.load("t", &file, &said).refused(2, &["--types and --collation need --create"]);
    desk.sniff(&file, &["--types", "nam=INT"]).refused(2, &["`nam`", "id, name, paid"]);
    desk.sniff(&file, &["--collation", "a;b"]).refused(2, &["not the name of a collation"]);
}

#[test]
fn it_says_what_it_cannot_look_at() {
    let Some(desk) = Desk::new() else { return };
    let empty = desk.home.file("empty.csv", "");
    desk.sniff(&empty, &[]).refused(2, &["empty.csv has no rows to guess from"]);
    desk.sniff(desk.home.path(), &[]).refused(2, &["is a directory"]);
    desk.load("t", "-".as_ref(), &["--create"])
        .refused(2, &["--create reads the input twice, which a pipe does not allow"]);
    let file = desk.home.file("a.csv", "id,name\n1,Ann\n2,Bob\n");
    let json = desk.sniff(&file, &["--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.done().out).unwrap();
    assert_eq!(value["header"], true);
    assert_eq!(value["columns"][1]["name"], "name");
    assert_eq!(value["primary_key"], "id");
    assert_eq!(value["command"][0], "inrush");
}

/// Each file's first line is a header if it is the same in all: not a row of the second file's.
#[test]
fn every_file_has_its_header() {
    let Some(mut desk) = Desk::new() else { return };
    let cases: [(&[&str], &[&str]); 4] = [
        (
            &["id,name\n1,Ann\n", "id,name\n2,Bob\n", "id,name\n3,Cid\n"],
            &["1|Ann", "2|Bob", "3|Cid"],
        ),
        // Words only: that the row comes again tells.
        (&["town,river\nRome,Tiber\n", "town,river\nBern,Aare\n"], &["Bern|Aare", "Rome|Tiber"]),
        // Names that no column can have.
        (&["id,,a\n1,2,3\n", "id,,a\n4,5,6\n"], &["1|2|3", "4|5|6"]),
        (&["1,Ann\n", "2,Bob\n"], &["1|Ann", "2|Bob"]),
    ];
    for (texts, rows) in cases {
        desk.exec("DROP TABLE IF EXISTS t");
        for (number, text) in texts.iter().enumerate() {
            desk.home.file(&format!("part{number}.csv"), text);
        }
        let last = format!("part[1-{}].csv", texts.len() - 1);
        desk.load("t", "part0.csv".as_ref(), &[&last, "--create"]).done();
        assert_eq!(desk.rows("SELECT * FROM t ORDER BY 1"), rows, "{texts:?}");
    }
    // One that has none would lose its first row, or have the others' headers loaded.
    desk.exec("DROP TABLE IF EXISTS t");
    for (first, name) in
        [("id,name\n1,Ann\n", "as in the first file"), ("id,\n1,2\n", "begin with")]
    {
        desk.home.file("part0.csv", first);
        desk.home.file("part1.csv", "7,8\n9,10\n");
        let load = desk.load("t", "part0.csv".as_ref(), &["part1.csv", "--create"]);
        assert!(load.code() > 0 && load.err.contains(name), "{load:?}");
        assert_eq!(desk.rows("SHOW TABLES"), [""; 0]);
    }
}

#[test]
fn what_is_no_table_of_text_is_said_to_be_none() {
    let Some(desk) = Desk::new() else { return };
    let database = [b"SQLite format 3\0".as_slice(), &[0; 100]].concat();
    let cases: [(&str, &[u8], &str); 6] = [
        ("shop.db", &database, "an SQLite database"),
        ("rows.parquet", b"PAR1\x15\x00\x00PAR1", "a Parquet file"),
        ("sheet.xlsx", b"PK\x03\x04\x14\x00", "a zip archive"),
        ("lines.jsonl", b"{\"a\": 1, \"b\": [2]}\n{\"a\": 2}\n", "JSON"),
        ("list.txt", b" [\n  {\"a\": 1},\n  {\"a\": 2}\n]\n", "JSON"),
        ("one.json", b"{\n  \"a\": {\n    \"b\": 1\n  }\n}\n", "JSON"),
    ];
    for (name, bytes, what) in cases {
        let file = desk.home.file(name, bytes);
        for outcome in [desk.sniff(&file, &[]), desk.load("t", &file, &["--create"])] {
            outcome.refused(2, &[name, what]);
        }
    }
    // What looks a little like it is text.
    let file = desk.home.file("brackets.csv", "{a},[b]\n{1},[2]\n");
    desk.sniff(&file, &[]).done();
    // Who says how fields are cut wants just that.
    let file = desk.home.file("docs.txt", "{\"a\": 1}\n{\"a\": 2}\n");
    desk.sniff(&file, &["--dialect", "tsv"]).done();
}

#[test]
fn a_file_that_is_not_there_is_not_taken_for_a_pipe() {
    let Some(desk) = Desk::new() else { return };
    let folder = desk.home.path().to_owned();
    let load = |file: &Path| desk.load("t", file, &["--create"]);
    load("no.csv".as_ref()).refused(2, &["opening no.csv: No such file"]);
    load(&folder).refused(2, &["is a directory"]);
    for more in [&["--create"][..], &[]] {
        let load = desk.load("t", "https://example.org/a.csv".as_ref(), more);
        load.refused(2, &["https://example.org/a.csv", "a URL", "curl"]);
    }
}
