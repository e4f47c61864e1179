//! Values as people write them: the same rows by every way in, and what is not written so is refused.

use std::process::Command;

use crate::support::{Desk, Outcome, run};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, price DECIMAL(10,2), part DOUBLE, day DATE, \
     made TIMESTAMP(3) NULL, seen DATETIME, ok TINYINT, flag BIT(1), word VARCHAR(20), \
     origin VARCHAR(20) NOT NULL, UNIQUE KEY day (day, id))";
const FORMATS: &[&str] = &[
    "--header",
    "--decimal-comma",
    "--date-format=%d.%m.%Y",
    "--yes-no",
    "--trim",
    "--format-of=part=percent+decimal-comma",
    "--format-of=MADE=iso",
    "--format-of=seen=%m/%d/%y %H:%i",
    "--set=origin=märz, \"1\"",
    "--ignore-unknown-columns",
    "--time-zone=+02:00",
];
const HEADER: &str = "id,price,part,none of these,day,made,seen,ok,flag,word\n";
const ROWS: &str = "\
    1,\"1.234,50\",\"12,5 %\",x,31.12.2026,2026-12-31T10:00:00Z,12/31/26 9:05,yes,true,\"  a b \"\n\
    \" 2 \",-7,8%,x,1.2.2026,2026-07-01T10:00:00.1234+05:30,1/2/03 00:00,NO,f,NULL\n\
    3,\",5\",NULL,x,NULL,2026-12-31 10:00:00,NULL,1,0,\"say \"\"x\"\"\"\n";
const SHOWN: [&str; 3] = [
    "1|1234.50|12.5|2026-12-31|2026-12-31 12:00:00.000|2026-12-31 09:05:00|1|1|a b|märz, \"1\"",
    "2|-7.00|8|2026-02-01|2026-07-01 06:30:00.123|2003-01-02 00:00:00|0|0||märz, \"1\"",
    "3|0.50|||2026-12-31 10:00:00.000||1|0|say \"x\"|märz, \"1\"",
];
const SELECT: &str =
    "SELECT id, price, part, day, made, seen, ok, flag+0, word, origin FROM t ORDER BY id";
const PATHS: [&str; 3] = ["direct", "stream", "insert"];

fn load(desk: &Desk, text: &str, path: &str, more: &[&str]) -> Outcome {
    let file = desk.home.file("t.csv", text);
    let all = [FORMATS, &["--path", path, "--mode", "replace"], more].concat();
    desk.load("t", &file, &all)
}

#[test]
fn every_way_in_takes_the_same_rows() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    desk.exec("SET SESSION time_zone='+02:00'");
    for path in PATHS {
        load(&desk, &format!("{HEADER}{ROWS}"), path, &[]).done();
        assert_eq!(desk.rows(SELECT), SHOWN, "{path}");
    }
    // Out of key order, and with rows that share keys.
    let lines: Vec<&str> = ROWS.lines().collect();
    let shuffled = format!("{HEADER}{}\n{}\n{}\n{}\n", lines[2], lines[0], lines[1], lines[0]);
    load(&desk, &shuffled, "direct", &["--on-duplicate", "skip"]).done();
    assert_eq!(desk.rows(SELECT), SHOWN);
    load(&desk, &shuffled, "direct", &[]).refused(1, &["the same `PRIMARY` key", "(1)"]);
}

#[test]
fn what_is_not_written_so_is_refused_and_never_guessed() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    let bad = "\
        11,1.23,NULL,x,NULL,NULL,NULL,NULL,NULL,\n\
        12,NULL,NULL,x,01.02.03,NULL,NULL,NULL,NULL,\n\
        13,NULL,NULL,x,NULL,yesterday,NULL,maybe,NULL,\n\
        14,NULL,NULL,x,31.02.2026,NULL,NULL,NULL,NULL,\n";
    for path in PATHS {
        let text = format!("{HEADER}{ROWS}{bad}");
        let log = format!("bad-{path}.csv");
        let log = desk.home.path().join(log);
        let rejects = ["--rejects-max", "9", "--rejects", log.to_str().unwrap()];
        let loaded = load(&desk, &text, path, &rejects);
        assert_eq!(loaded.code(), 3, "{path}: {loaded:?}");
        assert_eq!(desk.rows("SELECT id FROM t ORDER BY id"), ["1", "2", "3"], "{path}");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), format!("{HEADER}{bad}"), "{path}");
        let reasons = std::fs::read_to_string(format!("{}.reasons.jsonl", log.display())).unwrap();
        let lines: Vec<&str> = reasons.lines().collect();
        let format = "does not match the column's format";
        for (line, parts) in lines.iter().zip([
            ["1.23", "price", format],
            ["01.02.03", "day", format],
            ["yesterday", "maybe", format],
            ["31.02.2026", "day", "\\\"31.02.2026\\\" is not DATE"],
        ]) {
            for part in parts {
                assert!(line.contains(part), "{path}: {part} in {line}");
            }
        }
    }
    let file = desk.home.file("t.csv", format!("{HEADER}{ROWS}{bad}"));
    let all = [FORMATS, &["--dry-run", "--mode", "replace"]].concat();
    let checked = desk.load("t", &file, &all);
    assert_eq!(checked.code(), 3, "{checked:?}");
    assert!(checked.out.contains("7 rows, 4 of them bad"), "{checked:?}");
}

#[test]
fn what_cannot_be_meant_is_said_before_anything_is_done() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(TABLE);
    let file = desk.home.file("t.csv", "1,x\n");
    for (more, part) in [
        (vec!["--columns", "id,word", "--format-of", "day=iso"], "the input has no such column of"),
        (vec!["--columns", "id,word", "--format-of", "word=upper"], "`upper` is not a format"),
        (vec!["--columns", "id,seen", "--date-format", "%H:%i"], "the pattern has no date"),
        (vec!["--columns", "id,word", "--format-of", "word=hex"], "formats of binary columns"),
        (vec!["--columns", "id,seen", "--format-of", "seen=%Y-%m-%d %h:%i"], "%h and %p together"),
        (vec!["--columns", "id,word", "--set", "none=1"], "no such column"),
        (vec!["--columns", "id,word", "--set", "word=1"], "the input has this column too"),
        (
            vec!["--columns", "id,word", "--set", "day=32"],
            "day=32: the value is not a date or time",
        ),
        (
            vec!["--columns", "id,word", "--set", "day=2026-01-01", "--set", "DAY=2026-01-02"],
            "two values",
        ),
        (vec!["--columns", "id,word", "--set", "origin=é", "--charset", "latin1"], "must be ASCII"),
        (vec!["--set", "day"], "--set"),
        (
            vec!["--columns", "id,word", "--set-sql", "day=NULL"],
            "column day, NULL: its value is NULL",
        ),
        (vec!["--columns", "id,word", "--set-sql", "day=a+"], "column day, a+: "),
        (vec!["--columns", "id,word", "--set-sql", "day=X'FF'"], "is not text"),
        (
            vec!["--columns", "id,word", "--set-sql", "day='x'"],
            "the value is not a date or time: DATE",
        ),
        (vec!["--header", "--ignore-unknown-columns"], "but the table has only"),
    ] {
        desk.load("t", &file, &more).refused(2, &[part]);
    }
    assert_eq!(desk.rows("SELECT * FROM t"), [""; 0]);
}

const BYTES: &str = "CREATE TABLE t (id INT PRIMARY KEY, a VARBINARY(300), b BINARY(4), c BLOB, d BIT(12), \
     KEY (a(20)))";
const BYTES_FORMATS: &[&str] = &[
    "--format-of=a=hex+null:-",
    "--format-of=b=hex",
    "--format-of=c=base64",
    "--format-of=d=hex",
    "--null-token=",
];

/// Every byte there is, so that also those count that mean something where rows are sent.
#[test]
fn bytes_are_written_in_hex_and_base64() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(BYTES);
    let all: String = (0..=255).map(|byte| format!("{byte:02x}")).collect();
    let good = format!(
        "1,\\x{all},0x4142,\"iVBO\r\nRw0K==\",0xabc\n\
         2,0X31,31323334,aGVsbG8,01\n\
         3,-, \\x ,\"_-8=\",\n\
         4,\\x,\"00ff0a09\",,0FFF\n"
    );
    let good = good.replace("Rw0K==", "Rw0KXA==");
    let good = good.replace("0xabc", "0x0abc");
    let shown = [
        format!("1|{all}|41420000|89504e470d0a5c|2748"),
        "2|31|31323334|68656c6c6f|1".to_owned(),
        "3||00000000|ffef|".to_owned(),
        "4||00ff0a09||4095".to_owned(),
    ];
    let bad = "\
        11,\\x123,,,\n\
        12,0x4g,,,\n\
        13,,,Zg=,\n\
        14,,0x0102030405,,\n\
        15,,,,1000\n";
    let select = "SELECT id, LOWER(HEX(a)), LOWER(HEX(b)), LOWER(HEX(c)), d+0 FROM t ORDER BY id";
    let nulls = "SELECT id, a IS NULL, c IS NULL, d IS NULL FROM t WHERE id > 2 ORDER BY id";
    let file = desk.home.file("good.csv", &good);
    for path in PATHS {
        let all = [BYTES_FORMATS, &["--path", path, "--mode", "replace"]].concat();
        desk.load("t", &file, &all).done();
        assert_eq!(desk.rows(select), shown, "{path}");
        assert_eq!(desk.rows(nulls), ["3|1|0|1", "4|0|1|0"], "{path}");
        let verified = desk.verify("t", &file, BYTES_FORMATS);
        assert_eq!(verified.code(), 0, "{path}: {verified:?}");
        let both = desk.home.file("both.csv", format!("{good}{bad}"));
        let log = desk.home.path().join(format!("bad-{path}.csv"));
        let rejects = ["--rejects-max", "9", "--rejects", log.to_str().unwrap()];
        let loaded = desk.load("t", &both, &[&all[..], &rejects].concat());
        assert_eq!(loaded.code(), 3, "{path}: {loaded:?}");
        assert_eq!(desk.rows(select), shown, "{path}");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), bad, "{path}");
        let reasons = std::fs::read_to_string(format!("{}.reasons.jsonl", log.display())).unwrap();
        for (line, parts) in reasons.lines().zip([
            [r#""value":"\\x123""#, "does not match the column's format: hex+null:-"],
            [r#""value":"0x4g""#, "does not match the column's format: hex+null:-"],
            [r#""value":"Zg=""#, "does not match the column's format: base64"],
            [r#""value":"0x0102030405""#, "is too long"],
            [r#""value":"1000""#, "is too long"],
        ]) {
            assert!(parts.iter().all(|part| line.contains(part)), "{path}: {parts:?} in {line}");
        }
        let checked = desk.load("t", &both, &[&all[..], &["--dry-run"]].concat());
        assert!(checked.out.contains("9 rows, 5 of them bad"), "{path}: {checked:?}");
    }
    // Rows that join others.
    let more = desk.home.file("more.csv", "7,\\xff00,\\x41,AAA=,\n");
    let append = [BYTES_FORMATS, &["--mode", "append"]].concat();
    desk.load("t", &more, &append).done();
    assert_eq!(desk.rows(select)[4], "7|ff00|41000000|0000|");
}

#[test]
fn shapes_are_written_in_well_known_text() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, p POINT NOT NULL, g GEOMETRY, SPATIAL KEY (p))");
    let texts = [
        ("POINT(1.5 -2)", "LINESTRING(0 0,1 1)"),
        ("point ( 1 2 )", "SRID=4326;POLYGON((0 0,9 0,9 9,0 0),(1 1,2 1,2 2,1 1))"),
        ("POINT(0 0)", "GEOMETRYCOLLECTION(POINT(1 1),MULTIPOINT(2 2,3 3))"),
    ];
    let mut good = String::new();
    for (id, (point, shape)) in texts.iter().enumerate() {
        good += &format!("{id},{point},\"{shape}\"\n");
    }
    good += "3,POINT(7 7),NULL\n";
    let bad = "\
        11,POINT(1),NULL\n\
        12,\"LINESTRING(0 0,1 1)\",NULL\n\
        13,POINT(1 1),\"POLYGON((0 0,9 0,9 9))\"\n\
        14,POINT(1 1),POINT(1 1) and more\n";
    let formats = ["--format-of=p=wkt", "--format-of=g=wkt", "--mode", "replace"];
    let file = desk.home.file("both.csv", format!("{good}{bad}"));
    let shown: Vec<String> = (0..4)
        .map(|id| {
            let (point, shape) = texts.get(id).copied().unwrap_or(("POINT(7 7)", ""));
            let (srid, shape) = match shape.split_once(';') {
                Some((_, shape)) => (4326, shape),
                None => (0, shape),
            };
            let sql = format!(
                "SELECT {id}, HEX(ST_GeomFromText('{point}')), HEX(ST_GeomFromText('{shape}', \
                 {srid}))"
            );
            desk.rows(&sql)[0].clone()
        })
        .collect();
    for path in ["auto", "stream", "insert"] {
        let log = desk.home.path().join(format!("bad-{path}.csv"));
        let rejects = ["--path", path, "--rejects-max", "9", "--rejects", log.to_str().unwrap()];
        let loaded = desk.load("t", &file, &[&formats[..], &rejects].concat());
        assert_eq!(loaded.code(), 3, "{path}: {loaded:?}");
        assert_eq!(desk.rows("SELECT id, HEX(p), HEX(g) FROM t ORDER BY id"), shown, "{path}");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), bad, "{path}");
        let reasons = std::fs::read_to_string(format!("{}.reasons.jsonl", log.display())).unwrap();
        for (line, value) in reasons.lines().zip([
            r#""value":"POINT(1)""#,
            r#""value":"LINESTRING(0 0,1 1)""#,
            r#""value":"POLYGON((0 0,9 0,9 9))""#,
            r#""value":"POINT(1 1) and more""#,
        ]) {
            assert!(line.contains(value), "{path}: {value} in {line}");
            assert!(line.contains("does not match the column's format"), "{path}: {line}");
        }
    }
    let checked = desk.load("t", &file, &[&formats[..], &["--dry-run"]].concat());
    assert!(checked.out.contains("8 rows, 4 of them bad"), "{checked:?}");
    let null = desk.home.file("null.csv", "1,NULL,NULL\n");
    let checked = desk.load("t", &null, &[&formats[..], &["--dry-run"]].concat());
    assert!(checked.out.contains("the column is NOT NULL"), "{checked:?}");
    let file = desk.home.file("id.csv", "1,POINT(1 1),POINT(1 1)\n");
    desk.load("t", &file, &["--format-of", "id=wkt", "--path", "stream", "--mode", "append"])
        .refused(2, &["wkt is the format of GEOMETRY columns; the column is INT"]);
    // As the server keeps them, in hexadecimal digits.
    let file =
        desk.home.file("hex.csv", "9,0x0000000001010000000000000000000000000000000000F03F,\n");
    desk.load("t", &file, &["--format-of=p=hex", "--mode", "replace", "--path", "stream"]).done();
    assert_eq!(desk.rows("SELECT ST_AsText(p) FROM t"), ["POINT(0 1)"]);
}

#[test]
fn words_and_marks_that_people_write_are_numbers() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (id INT PRIMARY KEY, ok BOOL, n INT, price DECIMAL(12,2), at TIME, day DATE, \
         seen DATETIME)",
    );
    let rows = "\
        1,FALSE,\"1,234\",.5,09:03,2012/01/01,2014-01-01 01:15\n\
        2,t,\"-1,234,567\",\"1,234.5\",9:03 ,2012/1/2,2014/01/01 1:15\n\
        3,\" true \",\" 7 \",\"1'234.50\",23:59:59,2012.01.03,2014-01-01\n";
    let shown = [
        "1|0|1234|0.50|09:03:00|2012-01-01|2014-01-01 01:15:00",
        "2|1|-1234567|1234.50|09:03:00|2012-01-02|2014-01-01 01:15:00",
        "3|1|7|1234.50|23:59:59|2012-01-03|2014-01-01 00:00:00",
    ];
    let formats = ["--yes-no", "--format-of=n=decimal-point", "--format-of=price=decimal-point"];
    let file = desk.home.file("t.csv", rows);
    for path in PATHS {
        let all = [&formats[..], &["--path", path, "--mode", "replace"]].concat();
        desk.load("t", &file, &all).done();
        assert_eq!(desk.rows("SELECT * FROM t ORDER BY id"), shown, "{path}");
        for (value, reason) in [
            ("9,NULL,\"1,23\",NULL,NULL,NULL,NULL", "\\\"1,23\\\" does not match"),
            ("9,NULL,NULL,\"1,234,5\",NULL,NULL,NULL", "\\\"1,234,5\\\" does not match"),
            ("9,maybe,NULL,NULL,NULL,NULL,NULL", "\\\"maybe\\\" does not match"),
            (
                "9,NULL,\"9,999,999,999\",NULL,NULL,NULL,NULL",
                "\\\"9,999,999,999\\\" is out of range",
            ),
        ] {
            let file = desk.home.file("bad.csv", format!("{rows}{value}\n"));
            let refused = desk.load("t", &file, &[&all[..], &["--json"]].concat());
            assert!(refused.out.contains(reason), "{path}: {value}: {refused:?}");
        }
    }
}

/// The value of `v` of each row, of which NULL is told.
const SELECT_NULLS: &str = "SELECT id, COALESCE(n, 'NULL'), COALESCE(v, 'NULL') FROM t ORDER BY id";

#[test]
fn null_may_have_several_texts_and_stand_in_quotes() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, n INT, v VARCHAR(9))");
    let rows = "\"1\",\"\",\"\"\n\"2\",\"7\",\"NA\"\n3,8,NA\n4,9,\n5,1,\" NA \"\n6,1,\"N\"\"A\"\n7,1,\" \"\n";
    let file = desk.home.file("t.csv", rows);
    for (more, shown) in [
        (
            &["--null-token", "", "--null-token", "NA", "--null-in-quotes"][..],
            "1|NULL|NULL,2|7|NULL,3|8|NULL,4|9|NULL,5|1| NA ,6|1|N\"A,7|1| ",
        ),
        (
            &["--null-token", "NA", "--null-in-quotes"],
            "1|NULL|,2|7|NULL,3|8|NULL,4|9|,5|1| NA ,6|1|N\"A,7|1| ",
        ),
        (
            &["--null-token", "NA", "--null-token", "N\"A", "--null-in-quotes", "--trim"],
            "1|NULL|,2|7|NULL,3|8|NULL,4|9|,5|1|NULL,6|1|NULL,7|1|",
        ),
        (
            &["--null-token", "", "--format-of", "n=decimal-comma", "--null-in-quotes", "--trim"],
            "1|NULL|NULL,2|7|NA,3|8|NA,4|9|NULL,5|1|NA,6|1|N\"A,7|1|NULL",
        ),
        (
            &["--format-of", "n=null:", "--null-token", "", "--null-token", "NA"],
            "1|NULL|,2|7|NA,3|8|NULL,4|9|NULL,5|1| NA ,6|1|N\"A,7|1| ",
        ),
    ] {
        let shown: Vec<&str> = shown.split(',').collect();
        for path in PATHS {
            let all = [more, &["--path", path, "--mode", "replace"]].concat();
            desk.load("t", &file, &all).done();
            assert_eq!(desk.rows(SELECT_NULLS), shown, "{path}: {more:?}");
        }
        assert_eq!(desk.verify("t", &file, more).code(), 0, "{more:?}");
        let checked = desk.load("t", &file, &[more, &["--dry-run", "--mode", "replace"]].concat());
        assert_eq!(checked.code(), 0, "{more:?}: {checked:?}");
        if more.contains(&"--format-of") {
            continue;
        }
        // The command that sniff prints reads them alike.
        let more: Vec<&str> = more.iter().copied().filter(|word| *word != "--trim").collect();
        let sniffed = desk.sniff(&file, &more);
        assert!(sniffed.done().out.contains("--null-in-quotes"), "{sniffed:?}");
        let tokens = more.iter().filter(|word| **word == "--null-token").count();
        assert_eq!(sniffed.out.matches("--null-token").count(), tokens, "{sniffed:?}");
    }
    let unquoted = ["--null-token", "NA", "--mode", "replace"];
    desk.load("t", &file, &unquoted).refused(1, &["t.csv line 1", "`n`", "is not INT"]);
}

#[test]
fn a_typed_text_of_null_replaces_those_of_an_option_file() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, n INT, v VARCHAR(9))");
    let file = desk.home.file("t.csv", "1,1,NA\n2,2,-\n3,3,x\n");
    let options = "[inrush]\nnull-token = NA\nnull-token = -\nnull-in-quotes\n";
    let options = desk.home.file("options.cnf", options);
    let defaults = format!("--defaults-extra-file={}", options.display());
    for (typed, shown) in [
        (&[][..], ["1|1|NULL", "2|2|NULL", "3|3|x"]),
        (&["--null-token", "x"], ["1|1|NA", "2|2|-", "3|3|NULL"]),
        (&["--null-token=x", "--null-token=-"], ["1|1|NA", "2|2|NULL", "3|3|NULL"]),
    ] {
        let mut command = desk.home.inrush(["load"]);
        command.arg(&defaults).arg(&file).args(["--into", &desk.table("t"), "--mode", "replace"]);
        command.arg("--socket").arg(desk.server.socket()).args(typed);
        run(&mut command).done();
        assert_eq!(desk.rows(SELECT_NULLS), shown, "{typed:?}");
    }
}

/// A pattern's result for a text equals that of STR_TO_DATE.
#[test]
fn patterns_mean_what_the_server_means_by_them() {
    let Some(mut desk) = Desk::new() else { return };
    let cases = [
        ("%d.%m.%Y", "31.12.2026"),
        ("%e.%c.%Y", "1.2.2026"),
        ("%m/%d/%y", "12/31/69"),
        ("%m/%d/%y", "12/31/70"),
        ("%d-%b-%Y", "03-jan-2026"),
        ("%d %M %Y", "3 September 2026"),
        ("%Y%m%d%H%i%s", "20261231235958"),
        ("%d.%m.%Y %k:%i:%S.%f", "1.2.2026 9:05:07.1239"),
        ("%H:%i", "9:05"),
        ("%m/%d/%Y %h:%i:%s %p", "6/13/2018 1:05:09 PM"),
        ("%b %e %Y %l:%i%p", "Jun  3 2018 12:05AM"),
        ("%a %D %M %y %r", "Sun 3rd june 18 11:59:59 pm"),
        ("%Y-%j %T", "2024-366 23:59:59"),
    ];
    let columns: Vec<String> = (0..cases.len()).map(|at| format!("c{at} VARCHAR(40)")).collect();
    desk.exec(&format!("CREATE TABLE t ({})", columns.join(", ")));
    let formats: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(at, case)| format!("--format-of=c{at}={}", case.0))
        .collect();
    let formats: Vec<&str> = formats.iter().map(String::as_str).collect();
    let text = cases.map(|case| case.1).join(",");
    let file = desk.home.file("t.csv", format!("{text}\n"));
    desk.load("t", &file, &formats).done();
    for (at, (pattern, text)) in cases.iter().enumerate() {
        // Text, without the zeros that the server writes behind a fraction.
        let seen = desk.rows(&format!("SELECT c{at} FROM t"));
        let sql = format!("SELECT STR_TO_DATE('{text}', '{pattern}')");
        let theirs = desk.rows(&sql)[0].trim_end_matches(".000000").to_owned();
        let theirs = theirs.strip_suffix("00").filter(|_| theirs.contains('.')).unwrap_or(&theirs);
        assert_eq!(seen, [theirs], "{pattern}: {text}");
    }
}

#[test]
fn of_several_tables_each_or_one_is_meant() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE a (id INT PRIMARY KEY, day DATE, part DOUBLE, origin VARCHAR(9))");
    desk.exec("CREATE TABLE b (id INT PRIMARY KEY, day DATE, part DOUBLE, origin VARCHAR(9))");
    let rows = |day: &str, part: &str| format!("id,day,part\n1,{day},\"{part}\"\n");
    let a = desk.home.file("a.csv", rows("31.12.2026", "1,5"));
    let b = desk.home.file("b.csv", rows("12/31/2026", "1,5"));
    let load = |more: &[&str]| {
        let mut command = desk.home.inrush(["load"]);
        command.args([&a, &b]).args(["--into", &desk.database, "--header", "--memory", "40M"]);
        command.arg("--socket").arg(desk.server.socket());
        command.args(["--date-format", "%d.%m.%Y", "--decimal-comma", "--set", "origin=x"]);
        run(command.args(more))
    };
    load(&[]).refused(1, &["b.csv line 2", "does not match the column's format"]);
    load(&["--format-of", "c.day=iso"])
        .refused(2, &["names a column of table c, which has no file"]);
    load(&["--format-of", "b.none=iso"])
        .refused(2, &["--format-of none", "the input has no such column of"]);
    load(&["--format-of", "b.day=%m/%d/%Y", "--set", "a.id=1"]).refused(2, &["--set id=1"]);
    load(&["--format-of", "b.day=%m/%d/%Y"]).done();
    for table in ["a", "b"] {
        let seen = desk.rows(&format!("SELECT * FROM {table}"));
        assert_eq!(seen, ["1|2026-12-31|1.5|x"], "{table}");
    }
}

/// Has the server know a zone, whose clocks are set back once a year; false where this machine does not
/// know it.
fn knows_berlin(desk: &mut Desk) -> bool {
    knows(desk, "Europe/Berlin")
}

fn knows(desk: &mut Desk, name: &str) -> bool {
    let mut tool = Command::new("mariadb-tzinfo-to-sql");
    let sql = tool.arg(format!("/usr/share/zoneinfo/{name}")).arg(name).output();
    let Ok(sql) = sql else { return false };
    let script = format!("USE mysql;\n{}", String::from_utf8_lossy(&sql.stdout));
    let is_known = desk.session.exec(&format!("SET time_zone='{name}'")).is_ok();
    is_known || (sql.status.success() && desk.server.script(&script).is_ok())
}

/// In 2023 the clocks of Morocco changed on April 23, a week before older tables say.
#[test]
fn a_zone_that_differs_for_a_week_is_not_built_by() {
    const NAME: &str = "Africa/Casablanca";
    let Some(mut desk) = Desk::new() else { return };
    if !knows(&mut desk, NAME) {
        return;
    }
    let sql = format!("SELECT Time_zone_id FROM mysql.time_zone_name WHERE Name = '{NAME}'");
    let zone = desk.rows(&sql).remove(0);
    desk.exec(&format!(
        "UPDATE mysql.time_zone_transition SET Transition_time = Transition_time + 604800 \
         WHERE Time_zone_id = {zone} AND Transition_time BETWEEN 1682121600 AND 1682380800"
    ));
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, made TIMESTAMP NULL)");
    let file = desk.home.file("t.csv", "1,2023-04-26 10:00:00\n");
    desk.load("t", &file, &["--path", "direct", "--time-zone", NAME])
        .refused(2, &["time zone Africa/Casablanca differs from this machine's: 2023-04-23"]);
    let sent = desk.load("t", &file, &["--verbose", "--path", "auto", "--time-zone", NAME]);
    assert!(sent.done().out.contains("differs from this machine's"), "{sent:?}");
}

/// Where rows are sent, such a moment would be another once the server has read it.
#[test]
fn an_hour_that_comes_twice_is_told_apart_or_refused() {
    let Some(mut desk) = Desk::new() else { return };
    if !knows_berlin(&mut desk) {
        return;
    }
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, made TIMESTAMP NULL, shown DATETIME)");
    let moments = ["2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"];
    let line = |(at, moment): (usize, &&str)| format!("{at},{moment},{moment}\n");
    let file = desk.home.file("t.csv", moments.iter().enumerate().map(line).collect::<String>());
    let select = "SELECT UNIX_TIMESTAMP(made), shown FROM t ORDER BY id";
    let shown = ["2026-10-25 01:30:00", "2026-10-25 02:30:00", "2026-10-25 02:30:00"];
    let expected = |shown: [&str; 3]| {
        let row = |(at, shown): (usize, &&str)| format!("{}|{shown}", 1_792_884_600 + 3600 * at);
        shown.iter().enumerate().map(row).collect::<Vec<_>>()
    };
    for path in PATHS {
        let berlin = ["--path", path, "--date-format", "iso", "--time-zone", "Europe/Berlin"];
        let loaded = desk.load("t", &file, &berlin);
        if path == "direct" {
            loaded.done();
            assert_eq!(desk.rows(select), expected(shown));
        } else {
            loaded.refused(
                1,
                &[
                    "t.csv line 2",
                    "`made`",
                    "(in UTC, if it names no zone) is in the hour that occurs twice in the session's time zone",
                ],
            );
        }
        let utc = ["--path", path, "--date-format", "iso", "--time-zone", "+00:00"];
        desk.load("t", &file, &[&utc[..], &["--mode", "replace"]].concat()).done();
        let shown = ["2026-10-24 23:30:00", "2026-10-25 00:30:00", "2026-10-25 01:30:00"];
        assert_eq!(desk.rows(select), expected(shown), "{path}");
        desk.exec("TRUNCATE TABLE t");
    }
    // Also where no column of the table depends on the zone.
    desk.exec("CREATE TABLE u (id INT PRIMARY KEY, shown DATETIME)");
    let file = desk.home.file("u.csv", "1,2026-07-01T10:00:00Z\n");
    let iso = ["--date-format", "iso", "--time-zone", "+02:00"];
    desk.load("u", &file, &iso).done();
    assert_eq!(desk.rows("SELECT shown FROM u"), ["2026-07-01 12:00:00"]);
}

/// Only its text is left of the value of an expression: `NOW()` in the second half past two would be the first one.
#[test]
fn a_moment_of_an_expression_in_an_hour_that_comes_twice_is_refused() {
    let Some(mut desk) = Desk::new() else { return };
    if !knows_berlin(&mut desk) {
        return;
    }
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, made TIMESTAMP(3) NULL, shown DATETIME)");
    let file = desk.home.file("t.csv", "1\n");
    let load = |path: &str, set: &[&str]| {
        let berlin =
            ["--columns=id", "--mode=replace", "--time-zone=Europe/Berlin", "--path", path];
        desk.load("t", &file, &[&berlin[..], set].concat())
    };
    for path in PATHS {
        for unix in [1_792_888_200, 1_792_891_800] {
            let moment = format!("=FROM_UNIXTIME({unix})");
            load(path, &[&format!("--set-sql=made{moment}")]).refused(
                2,
                &["--set-sql made=(not shown): the value occurs twice in the session's time zone"],
            );
            load(path, &[&format!("--set-sql=shown{moment}")]).done();
        }
        load(path, &["--set-sql=made=FROM_UNIXTIME(1792895400)"]).done();
        // A text of the user's is read as by LOAD DATA.
        load(path, &["--set=made=2026-10-25 02:30:00"]).done();
    }
    let select = "SELECT UNIX_TIMESTAMP(made), shown FROM t";
    assert_eq!(desk.rows(select), ["1792888200.000|"]);
}

const BATCH: [&str; 4] =
    ["1|tab\tand\nline|0|3|0", "2||1||1", "3|back\\slash|0|4|0", "4|é\0\r|0|5|0"];

#[test]
fn what_the_client_prints_loads_as_it_is() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE s (a INT, b VARCHAR(20) CHARACTER SET utf8mb4, c INT)");
    desk.exec("CREATE TABLE t LIKE s");
    desk.exec(
        "INSERT INTO s VALUES (1, 'tab\\tand\\nline', 3), (2, NULL, NULL), (3, 'back\\\\slash', 4), \
         (4, 'é\\0\\r', 5)",
    );
    let mut client = desk.server.client("mariadb");
    let select = format!("SELECT c, a, b FROM {}.s", desk.database);
    client.args(["--batch", "--default-character-set=utf8mb4", "-e", &select]);
    let printed = client.output().unwrap();
    assert!(printed.status.success(), "{printed:?}");
    let file = desk.home.file("out.txt", &printed.stdout);
    let select = "SELECT a, b, b IS NULL, c, c IS NULL FROM t ORDER BY a";
    for path in PATHS {
        desk.load("t", &file, &["--dialect", "batch", "--path", path, "--mode", "replace"]).done();
        assert_eq!(desk.rows(select), BATCH, "{path}");
    }
    desk.exec("DROP TABLE t");
    let with_dates = desk.load("t", &file, &["--create", "--date-format", "iso"]);
    with_dates.refused(2, &["--create detects decimal commas and formats of dates"]);
    desk.load("t", &file, &["--dialect", "batch", "--create"]).done();
    assert_eq!(desk.rows(select), BATCH, "--create");
    // Names that no column can have are skipped, once.
    let file = desk.home.file("odd.txt", "a\ta\tb\n1\tNULL\tx\n2\t3\tNULL\n");
    desk.exec("DROP TABLE t");
    let sniffed = desk.sniff(&file, &["--dialect", "batch"]);
    sniffed.done();
    desk.shell(&sniffed.out).done();
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY a"), ["1||x", "2|3|"], "{sniffed:?}");
}
