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
    gzip_bytes(text.as_bytes())
}

fn gzip_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

const PEOPLE: &str = "id,name,born,height,seen\n\
    1,\"Smith, J\",1970-02-28,1.75,2024-01-01 10:00:00\n\
    2,\"O\"\"Brien\nof Cork\",1980-12-31,1.8,2024-01-02 11:30:00.5\n\
    3,NULL,1999-01-01,,2024-01-03 00:00:00\n";

fn cases() -> Vec<Case> {
    let people_columns: &[&str] = &[
        "id bigint(20) NO PRI",
        "name varchar(255) YES",
        "born date YES",
        "height decimal(13,6) YES",
        "seen datetime(1) YES",
    ];
    let people_rows: &[&str] = &[
        "1|Smith, J|1970-02-28|1.750000|2024-01-01 10:00:00.0",
        "2|O\"Brien\nof Cork|1980-12-31|1.800000|2024-01-02 11:30:00.5",
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
            &["code varchar(255) YES", "path varchar(255) YES", "n int(11) YES"],
            &["007|C:\\temp\\new|-5", "010|C:\\x|40000"],
        ),
        case(
            "nation.tbl",
            "0|ALGERIA|0| haggle. carefully|\n1|ARGENTINA|1|al foxes|\n2|BRAZIL|1|y alongside|\n",
            &[
                "c1 bigint(20) NO PRI",
                "c2 varchar(255) YES",
                "c3 int(11) YES",
                "c4 varchar(255) YES",
            ],
            &["0|ALGERIA|0| haggle. carefully", "1|ARGENTINA|1|al foxes", "2|BRAZIL|1|y alongside"],
        ),
        case(
            "umsatz.csv",
            b"Datum;Stra\xdfe;Betrag\n31.12.2023;H\xf6he 1;12,50\n01.01.2024;Am Tor;1,00\n",
            &["Datum date YES", "Stra\u{df}e varchar(255) YES", "Betrag decimal(10,2) YES"],
            &["2023-12-31|H\u{f6}he 1|12.50", "2024-01-01|Am Tor|1.00"],
        ),
        case(
            "dump.txt",
            "1\t\\N\ttwo\\nlines\n2\t1e10\ttab\\\there\n",
            &["c1 bigint(20) NO PRI", "c2 varchar(255) YES", "c3 varchar(255) YES"],
            &["1||two\nlines", "2|1e10|tab\there"],
        ),
        case(
            "marked.txt",
            "\u{feff}1\t\\N\n2\ta\\tb\n",
            &["c1 bigint(20) NO PRI", "c2 varchar(255) YES"],
            &["1|", "2|a\tb"],
        ),
        case(
            "bare.csv",
            "10:30:00,x,18446744073709551615\n-01:00:00.25,y,0\n",
            &["c1 time(2) YES", "c2 varchar(255) YES", "c3 bigint(20) unsigned YES"],
            &["10:30:00.00|x|18446744073709551615", "-01:00:00.25|y|0"],
        ),
        case(
            "words.txt",
            "one, two\nthree\nfour five\n",
            &["c1 varchar(255) YES"],
            &["one, two", "three", "four five"],
        ),
        case(
            "countries.csv",
            "id,country,people,code,big\n1,NA,2.5,1E5,12345678901234567890\n2,DE,NA,2E3,1E2\n3,,,7E1,3\n",
            &[
                "id bigint(20) NO PRI",
                "country varchar(255) YES",
                "people decimal(8,1) YES",
                "code varchar(255) YES",
                "big varchar(255) YES",
            ],
            &["1|NA|2.5|1E5|12345678901234567890", "2|DE||2E3|1E2", "3|||7E1|3"],
        ),
        case(
            "measured.csv",
            "a,b\n1.5e-3,-2E3\n2,7\n",
            &["a double YES", "b double YES"],
            &["0.0015|-2000", "2|7"],
        ),
        case("number.csv", "n\n5\n3\n", &["n int(11) YES"], &["5", "3"]),
        case(
            "empty.csv",
            "a,b,c\n1,,x\n,2.5,\"\"\n3,,\n",
            &["a int(11) YES", "b decimal(8,1) YES", "c varchar(255) YES"],
            &["1||x", "|2.5|", "3||"],
        ),
        case(
            "texts.csv",
            "name,town\n,Rome\nAnn,\n",
            &["name varchar(255) YES", "town varchar(255) YES"],
            &["|Rome", "Ann|"],
        ),
        case(
            "escaped.csv",
            "\"a\",\"say \\\"hi\\\"\"\n\"b\",\"x\"\n",
            &["c1 varchar(255) YES", "c2 varchar(255) YES"],
            &["a|say \"hi\"", "b|x"],
        ),
        case(
            "hive.txt",
            "1\u{1}a,b\u{1}\\N\n2\u{1}c\u{1}9\n",
            &["c1 bigint(20) NO PRI", "c2 varchar(255) YES", "c3 int(11) YES"],
            &["1|a,b|", "2|c|9"],
        ),
        case(
            "habits.csv",
            "id;betrag;plz;tag;bezahlt\n1;1.234,50;01234;31.12.2026;yes\n2;-7,5;99999;1.2.2026;No\n",
            &[
                "id bigint(20) NO PRI",
                "betrag decimal(12,2) YES",
                "plz varchar(255) YES",
                "tag date YES",
                "bezahlt tinyint(1) YES",
            ],
            &["1|1234.50|01234|2026-12-31|1", "2|-7.50|99999|2026-02-01|0"],
        ),
        case(
            "odd names.csv",
            "id,id,two words,\u{1f600},a\n1,2,3,4,5\n",
            &[
                "id bigint(20) YES",
                "idc2 int(11) YES",
                "two words int(11) YES",
                "_ int(11) YES",
                "a int(11) YES",
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
        run(testkit::program::settle(&mut command, self.home.path())
            .args(["-ec", script])
            .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .env("PATH", path))
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
    let (mut text, note) = (String::from("id,n,note\n"), "y".repeat(1000));
    for line in 0..46_000 {
        text.push_str(&format!("{line},{},{note}\n", if line == 20_000 { "x" } else { "1" }));
    }
    let file = desk.home.file("late.csv", text);
    let outcome = desk.load("t", &file, &["--create"]);
    outcome.refused(1, &["late.csv line 20002", "`n`: \"x\" is not INT"]);
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
    assert_eq!(desk.columns(), ["x int(11) YES", "y decimal(8,1) YES"]);
}

/// LOAD DATA rounds numbers and cuts off times; a table whose types are guessed from a part of the rows does not.
#[test]
fn values_behind_the_sample_that_a_guessed_type_would_change_are_refused() {
    let Some(mut desk) = Desk::new() else { return };
    let row = |discount: &str, day: &str| format!("{discount},{day},{}\n", "x".repeat(2000));
    let text = "discount,day,note\n".to_owned() + &row("0", "2026-01-02").repeat(18_000);
    for (discount, day, path, reason) in [
        ("0.15", "2026-01-02", "direct", "`discount`: \"0.15\" cannot be stored without loss"),
        ("007", "2026-01-02", "direct", "`discount`: \"007\" cannot be stored without loss"),
        ("1", "2026-01-02 10:00:00", "direct", "`day`: \"2026-01-02 10:00:00\" cannot be stored"),
        ("0.15", "2026-01-02", "stream", "`discount`: \"0.15\" cannot be stored without loss"),
    ] {
        let file = desk.home.file("o.csv.gz", gzip(&(text.clone() + &row(discount, day))));
        let load = desk.load("t", &file, &["--create", "--path", path]);
        load.refused(1, &[reason, "line 18002"]);
        assert_eq!(desk.rows("SHOW TABLES"), [""; 0]);
    }
    let file = desk.home.file("o.csv.gz", gzip(&(text + &row("-2", "2026-01-03"))));
    assert!(desk.sniff(&file, &[]).done().out.contains("--format-of discount=exact"));
    desk.load("t", &file, &["--create"]).done();
    assert_eq!(
        desk.rows("SELECT COUNT(*), SUM(discount), MAX(day) FROM t"),
        ["18001|-2|2026-01-03"]
    );
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
        assert_eq!(desk.columns(), ["id bigint(20) NO PRI", "n int(11) YES"]);
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
    assert_eq!(desk.files(), desk.server.database_files(&[]));
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
    let expected = ["id bigint(20) NO PRI", "name char(20) NO", "paid tinyint(1) YES"];
    assert_eq!(desk.shell(&desk.sniff(&file, &said).done().out).code(), 0);
    assert_eq!(desk.columns(), expected);
    desk.exec("DROP TABLE t");
    desk.load("t", &file, &[&["--create"], &said[..]].concat()).done();
    assert_eq!(desk.columns(), expected);
    assert!(desk.rows("SHOW CREATE TABLE t")[0].contains("COLLATE=latin1_german1_ci"));
    desk.load("t", &file, &said)
        .refused(2, &["--types, --collation and --one-column need --create"]);
    desk.sniff(&file, &["--types", "nam=INT"]).refused(2, &["`nam`", "id, name, paid"]);
    desk.sniff(&file, &["--collation", "a;b"]).refused(2, &["not the name of a collation"]);
}

#[test]
fn it_says_what_it_cannot_look_at() {
    let Some(desk) = Desk::new() else { return };
    let empty = desk.home.file("empty.csv", "");
    desk.sniff(&empty, &[]).refused(2, &["empty.csv has no rows to guess from"]);
    desk.sniff(desk.home.path(), &[]).refused(2, &["is a directory"]);
    desk.pipe("t", b"", &["--create"]).refused(2, &["/dev/stdin has no rows to guess from"]);
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
    let cases: [(&str, &[u8], &str); 5] = [
        ("shop.db", &database, "an SQLite database"),
        ("rows.parquet", b"PAR1\x15\x00\x00PAR1", "Parquet"),
        ("sheet.xlsx", b"PK\x03\x04\x14\x00", "a zip archive"),
        ("lines.txt", b"{\"a\": 1, \"b\": [2]}\n{\"a\": 2}\n", "JSON: --format jsonl reads it"),
        ("list.txt", b" [\n  {\"a\": 1},\n  {\"a\": 2}\n]\n", "JSON: --format json reads it"),
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
        let load = desk.load("t", "ftp://host/a.csv".as_ref(), more);
        load.refused(2, &["URLs of ftp:// cannot be read"]);
    }
}

#[test]
fn empty_fields_are_null_where_no_empty_text_fits() {
    let Some(mut desk) = Desk::new() else { return };
    let columns = "id INT PRIMARY KEY, n INT, d DECIMAL(5,2), f DOUBLE, day DATE, at TIME, word VARCHAR(9), \
                   must INT NOT NULL DEFAULT 5";
    let rows = ["1|||||||1", "2|1|2.50|3|2026-01-01|10:00:00|x|2", "3||||||\"|3"];
    let text = "1,,,,,,,1\n2,1,2.5,3,2026-01-01,10:00:00,x,2\n3,,,,,,\"\"\"\",3\n";
    let counts = "SELECT COUNT(n), COUNT(d), COUNT(f), COUNT(day), COUNT(at), COUNT(word) FROM t";
    let file = desk.home.file("rows.csv", text);
    for path in ["direct", "stream", "insert"] {
        desk.exec("DROP TABLE IF EXISTS t");
        desk.exec(&format!("CREATE TABLE t ({columns})"));
        desk.load("t", &file, &["--path", path]).done();
        assert_eq!(desk.rows("SELECT * FROM t ORDER BY 1"), rows, "{path}");
        assert_eq!(desk.rows(counts), ["1|1|1|1|1|3"], "{path}");
    }
    let tabs = desk.home.file("rows.tsv", text.replace(',', "\t").replace("\"\"\"\"", "\""));
    desk.load("t", &tabs, &["--mode", "replace"]).done();
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY 1"), rows);
    assert_eq!(desk.rows(counts), ["1|1|1|1|1|3"]);
    // Texts too, on request; and what accepts no NULL, or has quotes, takes no empty text.
    desk.load("t", &file, &["--mode", "replace", "--null-token", ""]).done();
    assert_eq!(desk.rows(counts), ["1|1|1|1|1|2"]);
    for (text, column) in [("1,,,,,,,\n", "must"), ("1,\"\",,,,,,1\n", "`n`")] {
        let file = desk.home.file("bad.csv", text);
        desk.load("t", &file, &["--mode", "replace"]).refused(1, &["nothing was loaded", column]);
    }
    // LOAD DATA's own rule.
    let text = desk.home.file("rows.txt", "1\t\t1\t1\t2026-01-01\t10:00:00\tx\t1\n");
    desk.load("t", &text, &["--mode", "replace"]).refused(1, &["nothing was loaded", "`n`"]);
}

#[test]
fn what_is_no_table_is_refused_by_name() {
    let Some(desk) = Desk::new() else { return };
    let gzipped = gzip("a,b\n1,2\n");
    for (name, bytes, said) in [
        ("a.csv", &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "is a PNG image"),
        ("b.csv", b"%PDF-1.7\n1,2\n", "is a PDF document"),
        ("c.csv", b"ARROW1\0\0\x10\0", "the file is cut off"),
        ("d.html", b"\n<!DOCTYPE html>\n<html><body>1,2</body></html>\n", "is an HTML page"),
        ("e.xml", b"<?xml version=\"1.0\"?>\n<a>1,2</a>\n", "is an XML document"),
        (
            "f.csv",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 12\n",
            "git lfs pull fetches the file",
        ),
        (
            "g.sql",
            b"-- some comment\n\n/*!40101 SET NAMES utf8 */;\nINSERT INTO t VALUES (1,2),(3,4);\n",
            "inrush replay loads it",
        ),
        ("h.csv", b"1,a\0b\n2,c\n", "is no text: byte 3 is NUL"),
        ("i.csv.gz", &gzip_bytes(&gzipped), "compressed twice"),
    ] {
        let file = desk.home.file(name, bytes);
        desk.load("t", &file, &["--create"]).refused(2, &[name, said]);
    }
    // Rows about such things are rows.
    let file = desk.home.file("html.csv", "id,text\n1,<html>\n2,INSERT INTO t\n");
    desk.load("t", &file, &["--create"]).done();
}

#[test]
fn fields_that_are_left_out_are_named_and_blanks_around_names_do_not_count() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("blanks.csv", "id, name ,extra\n1,a,9\n2,b,9\n");
    desk.load("t", &file, &["--create"]).done();
    assert_eq!(desk.columns()[1], "name varchar(255) YES");
    desk.exec("DROP TABLE t");
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9), made INT DEFAULT 3)");
    let more = ["--header", "--ignore-unknown-columns"];
    let plan = run(desk.home.inrush(["plan"]).arg(&file).args(more).args([
        "--into",
        &desk.table("t"),
        "--socket",
        desk.server.socket().to_str().unwrap(),
        "--user",
        "root",
    ]));
    for path in ["direct", "stream"] {
        let loaded =
            desk.load("t", &file, &[&more[..], &["--mode", "replace", "--path", path]].concat());
        for said in [
            "note: --ignore-unknown-columns left out `extra` of the input",
            "note: no field of the input goes to `made`",
        ] {
            assert!(loaded.done().out.contains(said), "{path}: {said}: {loaded:?}");
            assert!(plan.done().out.contains(said), "{said}: {plan:?}");
        }
        assert_eq!(desk.rows("SELECT * FROM t"), ["1|a|3", "2|b|3"], "{path}");
    }
}

#[test]
fn backslashes_before_quotes_are_told_where_they_stay() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a VARCHAR(9), b VARCHAR(20))");
    let said =
        "contain \\\", which is read as a backslash and a quote; --fields-escaped-by '\\' reads";
    for (text, more, is_told, value) in [
        ("x,\"say \\\"hi\\\" now\"\n", &[][..], true, "say \\\"hi\\\" now"),
        ("x,\"say \\\"hi\\\" now\"\n", &["--fields-escaped-by", "\\"], false, "say \"hi\" now"),
        ("x,\"C:\\dir\\\"\n", &[], false, "C:\\dir\\"),
        ("x,\"say \"\"hi\"\"\"\n", &[], false, "say \"hi\""),
    ] {
        let file = desk.home.file("quotes.csv", text);
        let loaded = desk.load("t", &file, &[&["--mode", "replace"], more].concat());
        assert_eq!(loaded.done().err.contains(said), is_told, "{text}: {loaded:?}");
        assert_eq!(desk.rows("SELECT b FROM t"), [value], "{text}");
    }
}

#[test]
fn lines_that_nothing_cuts_evenly_are_texts_only_on_request() {
    let Some(mut desk) = Desk::new() else { return };
    let letter =
        desk.home.file("letter.csv", "Dear Ann, hello\nhow are you\na, b, c, and d; e\nBye\n");
    desk.load("t", &letter, &["--create"])
        .refused(2, &["letter.csv", "no separator cuts most lines", "--one-column"]);
    desk.load("t", &letter, &["--create", "--one-column"]).done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["4"]);
    desk.exec("DROP TABLE t");
    let list = desk.home.file("list.tsv", "pear\napple\n");
    let loaded = desk.load("t", &list, &["--create"]);
    assert!(loaded.done().err.contains("note: the lines have no separator"), "{loaded:?}");
    // The dialect that is typed has the rule for empty fields too.
    desk.exec("DROP TABLE t");
    let file = desk.home.file("typed.txt", "1,,x\n2,5,\n");
    desk.load("t", &file, &["--create", "--dialect", "csv"]).done();
    assert_eq!(desk.columns()[1], "c2 int(11) YES");
    assert_eq!(desk.rows("SELECT c2 IS NULL, c3 IS NULL FROM t ORDER BY c1"), ["1|0", "0|0"]);
}

#[test]
fn empty_fields_of_many_rows_are_what_load_data_makes_of_null() {
    let Some(mut desk) = Desk::new() else { return };
    let columns = "(id INT PRIMARY KEY, n INT, s VARCHAR(9), d DECIMAL(9,2), f DOUBLE, day DATE, KEY (n), KEY (day, s))";
    let (mut csv, mut nulls) = (String::new(), String::new());
    for id in 0..5_000_u64 {
        // Some blocks of rows have no empty field, some columns of a row do.
        let bits = if id / 300 % 3 == 0 { 0 } else { id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50 };
        let values = [
            (id * 7 % 1_000).to_string(),
            format!("s{}", id % 97),
            format!("{}.25", id % 500),
            "1.5".to_owned(),
            format!("2026-01-{:02}", id % 28 + 1),
        ];
        let empty = |at: usize| bits >> at & 1 == 1;
        let field =
            |at: usize, value: &String| if empty(at) { String::new() } else { value.clone() };
        let fields: Vec<String> = values.iter().enumerate().map(|(at, v)| field(at, v)).collect();
        csv += &format!("{id},{}\n", fields.join(","));
        let fields = fields.iter().enumerate().map(|(at, text)| match empty(at) && at != 1 {
            true => "\\N".to_owned(),
            false => text.clone(),
        });
        nulls += &format!("{id}\t{}\n", fields.collect::<Vec<_>>().join("\t"));
    }
    let nulls = desk.home.file("nulls.txt", nulls);
    desk.exec(&format!("CREATE TABLE expected {columns}"));
    desk.load("expected", &nulls, &["--path", "stream"]).done();
    for (name, text) in [("many.csv", csv.clone()), ("many.tsv", csv.replace(',', "\t"))] {
        let file = desk.home.file(name, text);
        for path in ["direct", "stream", "insert"] {
            desk.exec("DROP TABLE IF EXISTS t");
            desk.exec(&format!("CREATE TABLE t {columns}"));
            desk.load("t", &file, &["--path", path]).done();
            let rows = desk.rows("CHECKSUM TABLE expected, t");
            let sums: Vec<&str> = rows.iter().map(|row| row.split('|').nth(1).unwrap()).collect();
            assert_eq!(sums[0], sums[1], "{name} {path}");
        }
    }
}

#[test]
fn a_type_that_is_typed_answers_the_note_about_codes() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("codes.csv", "id,code\n1,1E5\n2,2E3\n");
    let told = "`code` is text in a new table, because its numbers may be codes";
    assert!(desk.load("t", &file, &["--create"]).done().err.contains(told));
    desk.exec("DROP TABLE t");
    let typed = desk.load("t", &file, &["--create", "--types", "code=DOUBLE"]);
    assert!(!typed.done().err.contains("codes, which"), "{typed:?}");
    assert_eq!(desk.rows("SELECT code FROM t ORDER BY id"), ["100000", "2000"]);
}

#[test]
fn a_pipe_makes_a_table() {
    let Some(mut desk) = Desk::new() else { return };
    let rows: String = (0..200_000).map(|id| format!("{id};{},5;NA\n", id % 9)).collect();
    let text = ["id;price;left\n", &rows].concat();
    for bytes in [text.clone().into_bytes(), gzip(&text)] {
        desk.exec("DROP TABLE IF EXISTS t");
        desk.pipe("t", &bytes, &["--create"]).done();
        // The sample is a part of the pipe.
        assert_eq!(desk.columns()[..2], ["id bigint(20) YES", "price decimal(12,5) YES"]);
        let sums = desk.rows("SELECT COUNT(*), SUM(id), SUM(price) FROM t");
        assert_eq!(sums, ["200000|19999900000|899993.00000"]);
        assert_eq!(desk.home.temp_files(), [""; 0]);
    }
    // Rows out of order are read twice.
    desk.exec("DROP TABLE t");
    desk.pipe("t", b"id,name\n2,b\n1,a\n", &["--create"]).done();
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY id"), ["1|a", "2|b"]);
}

#[test]
fn a_new_table_has_the_columns_that_are_set() {
    let Some(mut desk) = Desk::new() else { return };
    let file = desk.home.file("a.csv", "id,name,paid\n1, Ann ,yes\n2,Bob, no\n");
    let set = ["--create", "--set", "batch=7", "--set", "source=web", "--set", "day=2026-01-31"];
    let more = ["--trim", "--yes-no", "--set-sql", "made=1+1", "--types", "made=SMALLINT"];
    desk.load("t", &file, &[&set[..], &more].concat()).done();
    let expected = [
        "id bigint(20) NO PRI",
        "name varchar(255) YES",
        "paid tinyint(1) YES",
        "batch int(11) YES",
        "source varchar(255) YES",
        "day date YES",
        "made smallint(6) YES",
    ];
    assert_eq!(desk.columns(), expected);
    let rows = ["1|Ann|1|7|web|2026-01-31|2", "2|Bob|0|7|web|2026-01-31|2"];
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY id"), rows);
    desk.exec("DROP TABLE t");
    desk.load("t", &file, &["--create", "--set-sql", "made=NOW()"])
        .refused(2, &["--set-sql made=..", "--types made=DATETIME"]);
    desk.load("t", &file, &["--create", "--decimal-comma"])
        .refused(2, &["--create detects decimal commas"]);
    // A file without a header has the columns before those that are set.
    let file = desk.home.file("b.csv", "1,x\n2,NA\n3, 5\n");
    desk.load("t", &file, &["--create", "--trim", "--set", "batch=7"]).done();
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY c1"), ["1|x|7", "2|NA|7", "3|5|7"]);
    // Blanks do not make numbers text, and words of NULL stay such.
    desk.exec("DROP TABLE t");
    let file = desk.home.file("c.csv", "id,n\n1, 5\n2, NA\n");
    desk.load("t", &file, &["--create", "--trim"]).done();
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY id"), ["1|5", "2|"]);
}

#[test]
fn a_folder_makes_tables_whose_equal_columns_have_one_type() {
    let Some(mut desk) = Desk::new() else { return };
    let folder = desk.home.path().join("shop");
    std::fs::create_dir(&folder).unwrap();
    for (name, text) in [
        ("orders.csv", "id,customer,code,total,note\n1,10,7,5,\n2,11,8,6,\n"),
        ("lines.csv", "id;code;total;note\n1;A1;1,25;x\n"),
        ("sums.tsv", "total\tday\n99.125\t2026-01-31\n"),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let load = |desk: &Desk, more: &[&str]| {
        let mut command = desk.home.load(desk.server, &desk.database, &folder);
        run(command.args(["--create", "--path", "auto"]).args(more))
    };
    let refused = load(&desk, &["--types", "nobody=INT"]);
    refused.refused(2, &["--types names `nobody`, which no table has"]);
    let loaded = load(&desk, &["--types", "customer=MEDIUMINT", "--types", "sums.day=DATETIME"]);
    let note = "note: orders: `code` is VARCHAR(255), the common type of this column";
    assert!(loaded.done().err.contains(note), "{loaded:?}");
    let types = desk.rows(
        "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = \
         DATABASE() ORDER BY 1, ORDINAL_POSITION",
    );
    let expected = [
        "lines|id|bigint(20)",
        "lines|code|varchar(255)",
        "lines|total|decimal(13,3)",
        "lines|note|varchar(255)",
        "orders|id|bigint(20)",
        "orders|customer|mediumint(9)",
        "orders|code|varchar(255)",
        "orders|total|decimal(13,3)",
        "orders|note|varchar(255)",
        "sums|total|decimal(13,3)",
        "sums|day|datetime",
    ];
    assert_eq!(types, expected);
    assert_eq!(desk.rows("SELECT * FROM `lines`"), ["1|A1|1.250|x"]);
    assert_eq!(desk.rows("SELECT SUM(total) FROM orders"), ["11.000"]);
    // A failed load leaves nothing.
    for table in ["orders", "`lines`", "sums"] {
        desk.exec(&format!("DROP TABLE {table}"));
    }
    std::fs::write(folder.join("sums.tsv"), "total\tday\n99.125\tx\n").unwrap();
    load(&desk, &["--types", "day=DATE"]).refused(1, &["`day`"]);
    assert_eq!(desk.rows("SHOW TABLES"), [""; 0]);
}

#[test]
fn wide_tables_are_made_and_too_wide_ones_are_refused() {
    let Some(mut desk) = Desk::new() else { return };
    let table = |columns: usize, value: &dyn Fn(usize) -> String| {
        let line = |value: &dyn Fn(usize) -> String| {
            (0..columns).map(value).collect::<Vec<String>>().join(",") + "\n"
        };
        line(&|at| format!("col{at}")) + &line(value) + &line(value)
    };
    let mixed = |at: usize| match at % 4 {
        0 => "x".repeat(200),
        1 => "ab".to_owned(),
        2 => "1234567".to_owned(),
        _ => format!("{at}.25"),
    };
    for (columns, value) in [
        (98, &(|_| "x".repeat(120)) as &dyn Fn(usize) -> String),
        (126, &|_| "ab".to_owned()),
        (380, &|_| "ab".to_owned()),
        (500, &mixed),
        (1000, &|at| at.to_string()),
    ] {
        let file = desk.home.file("wide.csv", table(columns, value));
        desk.load("t", &file, &["--create", "--quiet", "--header"]).done();
        assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["2"], "{columns}");
        desk.exec("DROP TABLE t");
    }
    let file = desk.home.file("wide.csv", table(400, &|_| "ab".to_owned()));
    let more = ["--create", "--quiet", "--header"];
    desk.load("t", &file, &more).refused(
        2,
        &[
            "table of 400 columns, 400 of them text, needs 8475 bytes",
            "--types COLUMN='VARCHAR(4)'",
        ],
    );
    let short = (0..100).flat_map(|at| ["--types".to_owned(), format!("col{at}=VARCHAR(4)")]);
    let short: Vec<String> = short.collect();
    let more: Vec<&str> = more.into_iter().chain(short.iter().map(String::as_str)).collect();
    desk.load("t", &file, &more).done();
}
