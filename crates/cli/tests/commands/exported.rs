//! `inrush export`: what comes out of a table is what was in it, and loads back as the same rows.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::TestServer;

use crate::support::{
    Desk, Home, Outcome, PATIENCE, contents, finish, names, run, signal, start, wait_paused,
};

/// A column of every type that has a text of its own, and of some character sets.
const COLUMNS: &str = "(id INT PRIMARY KEY, `odd ``name,\"` TINYINT, s SMALLINT UNSIGNED, m MEDIUMINT, \
     b BIGINT, bu BIGINT UNSIGNED, z INT(8) UNSIGNED ZEROFILL, d DECIMAL(20,4), wide DECIMAL(65,30), \
     f FLOAT, f2 FLOAT(8,3), r DOUBLE, r2 DOUBLE(12,4), y YEAR, da DATE, t TIME(6), t0 TIME, dt DATETIME(3), \
     dt0 DATETIME, ts TIMESTAMP(6) NULL, ts0 TIMESTAMP NULL, bit1 BIT(1), bit64 BIT(64), \
     e ENUM('a','it''s','ü') CHARACTER SET utf8mb4, st SET('x','y','zß') CHARACTER SET utf8mb4, \
     c CHAR(10) CHARACTER SET utf8mb4, l CHAR(10) CHARACTER SET latin1, v VARCHAR(300) CHARACTER SET utf8mb4, \
     u2 VARCHAR(20) CHARACTER SET ucs2, u16 VARCHAR(20) CHARACTER SET utf16, k VARCHAR(20) CHARACTER SET koi8r, \
     sj VARCHAR(20) CHARACTER SET sjis, bi BINARY(5), vb VARBINARY(300), bl MEDIUMBLOB, \
     tx MEDIUMTEXT CHARACTER SET utf8mb4, js JSON, uu UUID, i4 INET4, i6 INET6)";

/// Rows of [`COLUMNS`]: nothing, the least, the most, what dialects escape, what is long.
const ROWS: [&str; 6] = [
    "(1",
    "(2,-128,0,-8388608,-9223372036854775808,0,0,-9999999999999999.9999,-99999999999999999999999999999999999.999999999999999999999999999999,\
     -3.40282e38,-9999.999,-1.7976931348623157e308,-99999999.9999,1901,'0000-00-00','-838:59:59.999999','-838:59:59',\
     '0000-00-00','0000-00-00','1970-01-01 00:00:01','0000-00-00',b'0',0,'a','','','','','','','','','','','','','null',\
     '00000000-0000-0000-0000-000000000000','0.0.0.0','::'",
    "(3,127,65535,8388607,9223372036854775807,18446744073709551615,99999999,9999999999999999.9999,\
     99999999999999999999999999999999999.999999999999999999999999999999,3.40282e38,9999.999,1.7976931348623157e308,\
     99999999.9999,2155,'9999-12-31','838:59:59.999999','838:59:59','9999-12-31 23:59:59.999','9999-12-31 23:59:59',\
     '2038-01-19 03:14:07.999999','2038-01-19 03:14:07',b'1',18446744073709551615,'ü','x,y,zß','ü😀','ü','😀 ü\\t',\
     'ü','😀','Ж','表',x'00ff000102',x'0009',x'fffe00',REPEAT('😀',9000),'{\"a\": [1, \"\\\\u00fc\"]}',\
     'ffffffff-ffff-1fff-8fff-ffffffffffff','255.255.255.255','ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'",
    "(4,1,2,3,4,5,6,0.0001,1e-30,0.1,0.001,0.1,0.0001,2024,'2024-02-29','00:00:00.000001','-00:00:01','2024-02-29 23:59:59.5',\
     '2024-02-00','2024-03-31 01:30:00.5','2024-10-27 01:30:00',1,1,'it''s','y','NULL','NULL','NULL','NULL','NULL','NULL',\
     'NULL','NULL','NULL','NULL','\\\\N','\"NULL\"','123e4567-e89b-12d3-a456-426614174000','10.0.0.1','2001:db8::1'",
    "(5,0,0,0,0,0,0,0,0,-0.0,0,1e-300,0,0,'2000-01-01','00:00:00','00:00:00','2000-01-01','2000-01-01',\
     '2000-01-01','2000-01-01',0,256,'a','zß',' a','  ',' x ',' ','a\\nb','я','ソ\\\\','\\t','\\n\\\\',\
     CONCAT(x'00',REPEAT(x'ff5c09220a2c',4000)),'\"a\",\\'b\\'\\n\\r\\n\\t\\\\|,','[]',\
     '0189f6a8-0000-7000-8000-000000000001','1.2.3.4','::ffff:1.2.3.4'",
    "(6,1,1,1,1,1,1,1,1,16777217,1.5,123456789.123456789,1.5,1999,'1000-01-01','12:34:56.789','12:34:56',\
     '1999-12-31 23:59:59.999','1999-12-31','1999-12-31 23:59:59.000001','1999-12-31 23:59:59',0,9,'a','x','a','a','\\\\',\
     'a','a','a','a','a','\\r',x'efbbbf','\\r\\n','1','00000000-0000-0000-0000-000000000001','1.1.1.1','1::'",
];

pub(super) fn filled() -> Option<Desk> {
    let mut desk = Desk::new()?;
    desk.exec("SET sql_mode='ALLOW_INVALID_DATES', time_zone='+00:00'");
    desk.exec(&format!("CREATE TABLE t {COLUMNS} ENGINE=InnoDB"));
    for row in ROWS {
        let nulls = match row == ROWS[0] {
            true => ",NULL".repeat(39),
            false => String::new(),
        };
        desk.exec(&format!("INSERT INTO t VALUES {row}{nulls})"));
    }
    Some(desk)
}

pub(super) fn export(desk: &Desk, table: &str, output: &str, more: &[&str]) -> Outcome {
    let table = desk.table(table);
    let mut export = desk.home.inrush(["export", &table, "-o", output, "--socket"]);
    run(export.arg(desk.server.socket()).args(more))
}

/// The files of a report.
fn files(outcome: &Outcome) -> Vec<String> {
    outcome.done();
    let report: Value =
        serde_json::from_str(&outcome.out).unwrap_or_else(|_| panic!("{outcome:?}"));
    let files = report["files"].as_array().unwrap().iter();
    files.map(|file| file.as_str().unwrap().to_owned()).collect()
}

/// Loads a file into a table like another, and asserts that it then has the same rows.
#[track_caller]
fn comes_back(desk: &mut Desk, table: &str, file: &str, more: &[&str]) {
    desk.exec("DROP TABLE IF EXISTS back");
    desk.exec(&format!("CREATE TABLE back LIKE {table}"));
    let zone = ["--time-zone", "+00:00", "--path", "auto"];
    desk.load("back", Path::new(file), &[&zone[..], more].concat()).done();
    let database = desk.database.clone();
    let was = contents(&mut desk.session, &format!("{database}.{table}"));
    assert_eq!(contents(&mut desk.session, &format!("{database}.back")), was, "{file}");
}

/// Asserts that the table's file has the rows of a file that SELECT wrote.
#[track_caller]
fn both_ways(desk: &Desk, table: &str, file: &str, more: &[&str]) {
    let direct = format!("direct-{file}");
    let outcome = export(desk, table, &direct, &[&["--path", "direct", "--force"], more].concat());
    assert!(
        outcome.done().out.contains("path direct: rows are read from the table's file"),
        "{outcome:?}"
    );
    let bytes = |file: &str| fs::read(desk.home.path().join(file)).unwrap();
    assert!(bytes(&direct) == bytes(file), "{file} and {direct} differ");
}

/// A JSON column, bytes, bits and numbers with all their digits.
#[test]
fn json_lines_come_back_as_the_same_rows() {
    let Some(mut desk) = filled() else { return };
    // JSON has one word for NULL and for the JSON value null; CSV and text as those of other tests.
    desk.exec("UPDATE t SET js='[1, \\n 2]' WHERE id=5");
    desk.exec("UPDATE t SET js=NULL WHERE js='null'");
    let columns = desk.rows(
        "SELECT GROUP_CONCAT(column_name SEPARATOR '\n') FROM information_schema.columns WHERE \
         table_schema=DATABASE() AND table_name='t' AND data_type LIKE '%b%' AND data_type IN \
         ('binary', 'varbinary', 'mediumblob')",
    );
    let file = desk.home.path().join("t.jsonl");
    export(&desk, "t", file.to_str().unwrap(), &[]).done();
    desk.exec("UPDATE t SET js=REPLACE(js, '\\n', ' ') WHERE js NOT LIKE '%\"%'");
    let formats: Vec<String> =
        columns[0].split('\n').map(|name| format!("--format-of={name}=base64")).collect();
    let mut more: Vec<&str> = formats.iter().map(String::as_str).collect();
    more.extend(["--time-zone", "+00:00", "--sql-mode", "STRICT_TRANS_TABLES,ALLOW_INVALID_DATES"]);
    comes_back(&mut desk, "t", file.to_str().unwrap(), &more);
}

#[test]
fn every_type_comes_back_by_every_dialect() {
    let Some(mut desk) = filled() else { return };
    for (file, cut) in [
        ("t.csv", &[][..]),
        ("t.csv.gz", &["--header"]),
        ("t.txt.zst", &[]),
        ("quoted.txt", &["--fields-enclosed-by", "'", "--null-token", "-"]),
        (
            "odd.txt",
            &[
                "--fields-terminated-by",
                "|x|",
                "--lines-terminated-by",
                "<>",
                "--lines-starting-by",
                ">",
            ],
        ),
        ("empty.csv", &["--null-token", ""]),
    ] {
        let outcome = export(&desk, "t", file, &[&["--path", "select"], cut].concat());
        assert!(outcome.done().out.contains("6 rows exported"), "{outcome:?}");
        comes_back(&mut desk, "t", file, cut);
        both_ways(&desk, "t", file, cut);
    }
    let lone = export(&desk, "t", "t.tsv", &[]);
    lone.refused(1, &["it is NULL, which the dialect cannot write", "--null-token"]);
    let tab = export(&desk, "t", "t.tbl", &["--null-token", "NULL"]);
    tab.refused(1, &["a value of column `", "neither quotes nor escapes"]);
    assert!(
        !names(desk.home.path())
            .iter()
            .any(|name| name.contains("t.tsv") || name.contains("t.tbl"))
    );
}

#[test]
fn text_that_utf_8_would_change_ends_an_export() {
    let Some(mut desk) = Desk::new() else { return };
    // A byte without a character, two codes of one character, a code without one, a byte that ASCII lacks.
    let lost = [
        ("greek", "41ff"),
        ("cp932", "879a"),
        ("gb2312", "a2a1"),
        ("ascii", "ff"),
        ("hebrew", "a1"),
    ];
    for (charset, bytes) in lost {
        let table = format!("t_{charset}");
        desk.exec(&format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET {charset}) ENGINE=InnoDB"
        ));
        desk.exec(&format!(
            "INSERT INTO {table} SELECT seq, REPEAT('ok', seq % 9) FROM seq_1_to_2000"
        ));
        desk.exec(&format!(
            "INSERT INTO {table} SELECT 3000, CONVERT(_{charset} x'{bytes}' USING {charset})"
        ));
        let file = format!("{table}.csv");
        for way in ["direct", "select"] {
            let outcome = export(&desk, &table, &file, &["--path", way]);
            outcome.refused(1, &["a value of column `v` cannot be written", "--where"]);
            assert!(!desk.home.path().join(&file).exists(), "{charset} {way}");
        }
        let comes_back = format!(
            "CAST(CONVERT(CONVERT(v USING utf8mb4) USING {charset}) AS BINARY) = CAST(v AS BINARY)"
        );
        let outcome = export(&desk, &table, &file, &["--where", &comes_back]);
        assert!(outcome.done().out.contains("2,000 rows exported"), "{outcome:?}");
    }
    // And what the server's sets have in common with Unicode is none of that.
    desk.exec("CREATE TABLE k (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET koi8r, e ENUM('Ж') CHARACTER SET koi8r)");
    desk.exec("INSERT INTO k VALUES (1, 'Ж', 'Ж'), (2, NULL, NULL), (3, '', 'Ж')");
    export(&desk, "k", "k.csv", &["--path", "select"]).done();
    both_ways(&desk, "k", "k.csv", &[]);
}

#[test]
fn every_type_comes_back_by_sql_and_is_said_in_json() {
    let Some(mut desk) = filled() else { return };
    let out = export(&desk, "t", "t.sql", &["--path", "select"]);
    out.done();
    both_ways(&desk, "t", "t.sql", &[]);
    let text = fs::read(desk.home.path().join("t.sql")).unwrap();
    desk.exec("CREATE TABLE back LIKE t");
    let database = desk.database.clone();
    let was = contents(&mut desk.session, &format!("{database}.t"));
    desk.exec("RENAME TABLE t TO was, back TO t");
    let mut replay = desk.home.inrush(["replay", "t.sql", "--into", &desk.database, "--socket"]);
    run(replay.arg(desk.server.socket())).done();
    assert_eq!(contents(&mut desk.session, &format!("{database}.t")), was);
    // As statements, too.
    desk.exec("TRUNCATE t");
    for statement in String::from_utf8(text).unwrap().split(";\n").filter(|text| !text.is_empty()) {
        desk.exec(statement);
    }
    assert_eq!(contents(&mut desk.session, &format!("{database}.t")), was);

    let exported = export(&desk, "was", "all.jsonl", &["--path", "select"]);
    let told = &exported.done().out;
    assert!(told.contains("bytes are in base64: a load needs --format-of "), "{told}");
    assert!(told.contains(" --format-of vb=base64") && told.contains("--time-zone"), "{told}");
    both_ways(&desk, "was", "all.jsonl", &[]);
    let text = fs::read_to_string(desk.home.path().join("all.jsonl")).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 6);
    assert!(
        rows[0].as_object().unwrap().iter().all(|(name, value)| name == "id" || value.is_null())
    );
    for (row, column, expected) in [
        (1, "b", "-9223372036854775808"),
        (2, "bu", "18446744073709551615"),
        (2, "bit64", "18446744073709551615"),
        (1, "z", "0"),
        (3, "f", "0.1"),
        (3, "tx", "\"\\\\N\""),
        (2, "vb", "\"AAk=\""),
        (2, "st", "\"x,y,zß\""),
        (2, "u16", "\"😀\""),
        (4, "sj", "\"ソ\\\\\""),
        (3, "dt", "\"2024-02-29 23:59:59.500\""),
    ] {
        assert_eq!(rows[row][column].to_string(), expected, "row {row}, {column}");
    }
}

#[test]
fn many_rows_come_in_the_order_of_the_key_by_several_connections() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (a BIGINT, b INT, w VARCHAR(600), PRIMARY KEY (a DESC, b)) ENGINE=InnoDB",
    );
    desk.exec("INSERT INTO t SELECT CAST(seq AS SIGNED)*7-100000, seq, REPEAT(CHAR(97+seq%26), 590) FROM seq_1_to_20000");
    desk.exec("ANALYZE TABLE t");
    let outcome = export(&desk, "t", "t.csv", &["--path", "select", "--threads", "3"]);
    assert!(outcome.done().out.contains("3 threads"), "{outcome:?}");
    comes_back(&mut desk, "t", "t.csv", &[]);
    let text = fs::read_to_string(desk.home.path().join("t.csv")).unwrap();
    let keys: Vec<i64> =
        text.lines().map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(keys.is_sorted_by(|a, b| a > b) && keys.len() == 20000);

    both_ways(&desk, "t", "t.csv", &["--threads", "3"]);

    let cut = ["--split-rows", "3000", "--json", "--dialect", "csv", "--path", "select"];
    let parts = files(&export(&desk, "t", "parts/", &cut));
    assert_eq!(parts.len(), 7);
    let whole: String =
        parts.iter().map(|part| fs::read_to_string(desk.home.path().join(part)).unwrap()).collect();
    assert!(whole == text, "the files are not the one file in pieces");
    export(&desk, "t", "parts/", &cut).refused(2, &["exists already", "--force"]);
    let fewer = [&cut[..], &["--force", "--where", "b <= 4000 -- all others"]].concat();
    assert_eq!(files(&export(&desk, "t", "parts/", &fewer)).len(), 2);
    assert_eq!(names(&desk.home.path().join("parts")), ["t.0001.csv", "t.0002.csv"]);
    let sized = files(&export(
        &desk,
        "t",
        "sized/",
        &["--split-size", "2M", "--json", "--format", "sql", "--compression", "zstd"],
    ));
    assert!(!sized.is_empty());
}

/// An export by several connections, during which another one alters the table: it comes between two snapshots.
fn altered_meanwhile(desk: &mut Desk, alter: &str) -> Outcome {
    let (table, file) = (desk.table("t"), desk.home.path().join("altered.csv"));
    let mut export = desk.home.inrush(["export", &table, "-o", file.to_str().unwrap(), "--force"]);
    export.args(["--path", "select", "--threads", "3", "--json", "--socket"]);
    export.arg(desk.server.socket()).env("INRUSH_FAILPOINT", "export.snapshot.1=pause");
    let mut child = start(&mut export);
    wait_paused(&mut child);
    let mut other = desk.session.another().unwrap();
    let (sql, pid) = (format!("ALTER TABLE {table} {alter}"), child.id());
    std::thread::scope(|scope| {
        let altering = scope.spawn(move || other.exec(&sql).map(drop));
        let begun = Instant::now();
        while desk.rows("SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'Waiting for table metadata lock'") == ["0"] {
            assert!(begun.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(10));
        }
        // Each attempt pauses it again.
        scope.spawn(move || {
            while fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|it| !it.contains(") Z "))
            {
                let _ =
                    std::process::Command::new("kill").args(["-CONT", &pid.to_string()]).output();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let outcome = finish(child);
        altering.join().unwrap().unwrap();
        outcome
    })
}

#[test]
fn connections_that_an_alter_comes_between_begin_once_more() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(600)) ENGINE=InnoDB");
    desk.exec("INSERT INTO t SELECT seq, REPEAT(CHAR(97+seq%26), 590) FROM seq_1_to_20000");
    desk.exec("ANALYZE TABLE t");
    let outcome = altered_meanwhile(&mut desk, "FORCE");
    let report: Value = serde_json::from_str(&outcome.done().out).unwrap();
    assert_eq!(report["rows"], 20_000, "{outcome:?}");
    assert!(!outcome.out.contains("one connection reads"), "{outcome:?}");
    altered_meanwhile(&mut desk, "ADD COLUMN more INT").refused(1, &["altered"]);
}

#[test]
fn tables_of_every_shape_come_back_from_their_files_or_by_select() {
    let Some(mut desk) = Desk::new() else { return };
    let rows = "SELECT seq, CONCAT('w', seq*7919%1000, REPEAT('x', seq%50)), IF(seq%97=0, REPEAT(CHAR(seq%256), 30000), seq) \
                FROM seq_1_to_3000";
    let columns = "a INT NOT NULL, w VARCHAR(100) NOT NULL, b MEDIUMBLOB";
    for (key, options, expected) in [
        ("", "", "direct"),
        (", PRIMARY KEY (w(6), a)", "", "direct"),
        (", PRIMARY KEY (w DESC, a)", "ROW_FORMAT=COMPACT", "direct"),
        (", PRIMARY KEY (a), KEY (w), FULLTEXT (w)", "", "direct"),
        (", PRIMARY KEY (a)", "PARTITION BY HASH (a) PARTITIONS 3", "direct"),
        (
            ", KEY (a)",
            "PARTITION BY RANGE (a) (PARTITION P1 VALUES LESS THAN (900), PARTITION `p ü` VALUES LESS THAN MAXVALUE)",
            "direct",
        ),
        (", PRIMARY KEY (a)", "ROW_FORMAT=REDUNDANT", "select"),
        (", PRIMARY KEY (a)", "ROW_FORMAT=COMPRESSED", "select"),
        (", PRIMARY KEY (a)", "ENGINE=Aria", "select"),
    ] {
        desk.exec("DROP TABLE IF EXISTS t");
        let engine = if options.contains("ENGINE") { "" } else { "ENGINE=InnoDB" };
        desk.exec(&format!("CREATE TABLE t ({columns}{key}) {engine} {options}"));
        desk.exec(&format!("INSERT INTO t {rows}"));
        desk.exec("DELETE FROM t WHERE a % 5 = 0");
        desk.exec("UPDATE t SET w=CONCAT('z', w) WHERE a % 11 = 0");
        let outcome = export(&desk, "t", "t.txt", &["--force", "--json", "--threads", "2"]);
        assert_eq!(files(&outcome).len(), 1);
        let report: Value = serde_json::from_str(&outcome.out).unwrap();
        assert_eq!(
            (&report["path"], &report["rows"]),
            (&expected.into(), &2400.into()),
            "{outcome:?}"
        );
        comes_back(&mut desk, "t", "t.txt", &[]);
    }
    // Rows from before and after they were altered.
    desk.exec("DROP TABLE t");
    desk.exec("CREATE TABLE t (c VARCHAR(9), a INT PRIMARY KEY) ENGINE=InnoDB");
    desk.exec("INSERT INTO t SELECT 'dropped', seq FROM seq_1_to_10");
    desk.exec("ALTER TABLE t ADD COLUMN b INT DEFAULT 7, DROP COLUMN c, ALGORITHM=INSTANT");
    desk.exec("UPDATE t SET b=8 WHERE a < 3");
    let direct = ["--path", "direct", "--dialect", "csv"];
    let out = export(&desk, "t", "-", &direct);
    assert!(out.done().out.starts_with("1,8\n2,8\n3,7\n"), "{out:?}");
    // A default value is longer than a page: the error names the reason and the path that works.
    let long = "ADD COLUMN l TEXT DEFAULT (REPEAT('long', 5000)), ALGORITHM=INSTANT";
    if !desk.server.lacks("column with a long value that is added instantly") {
        desk.exec("CREATE TABLE l (a INT PRIMARY KEY) ENGINE=InnoDB");
        desk.exec("INSERT INTO l VALUES (1)");
        desk.exec(&format!("ALTER TABLE l {long}"));
        let why = ["value of an added column", "--path select reads it"];
        export(&desk, "l", "-", &direct).refused(2, &why);
    }
    let out = export(&desk, "t", "-", &["--dialect", "csv", "--where", "a > 9"]);
    assert_eq!(out.done().out, "10,7\n");
    assert!(out.err.contains("only the server can evaluate --where"), "{out:?}");
    desk.exec("ALTER TABLE t FORCE");
    assert_eq!(export(&desk, "t", "-", &direct).done().out.lines().count(), 10);
    // The lock is gone.
    desk.exec("SET lock_wait_timeout=30");
    desk.exec("INSERT INTO t VALUES (11, 11)");
    desk.exec("CREATE TABLE `odd.n``äme` (`a b` INT) ENGINE=InnoDB");
    desk.exec("INSERT INTO `odd.n``äme` VALUES (1)");
    assert_eq!(export(&desk, "`odd.n``äme`", "-", &direct).done().out, "1\n");
}

#[test]
fn views_empty_tables_and_columns_are_exported() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (a INT, g INT AS (a*2) STORED, i INT INVISIBLE DEFAULT 5, v INT AS (a*3) VIRTUAL)",
    );
    export(&desk, "t", "none.csv", &["--header"]).done();
    assert_eq!(fs::read_to_string(desk.home.path().join("none.csv")).unwrap(), "a,i\n");
    desk.exec("INSERT INTO t (a, i) VALUES (1, 7), (2, 8)");
    let outcome = export(&desk, "t", "t.csv", &[]);
    assert!(outcome.done().out.contains("--columns a,i"), "{outcome:?}");
    comes_back(&mut desk, "t", "t.csv", &["--columns", "a,i"]);
    desk.exec("CREATE VIEW w AS SELECT a, g FROM t WHERE a > 1");
    let shown = export(&desk, "w", "-", &["--dialect", "csv", "--header"]);
    assert_eq!(shown.done().out, "a,g\n2,4\n");
    assert!(shown.err.contains("1 row exported"), "{shown:?}");
    let two = export(&desk, "t", "-", &["--columns", "v,A", "--quiet"]);
    assert_eq!((two.out.as_str(), two.err.as_str()), ("3\t1\n6\t2\n", ""));
}

#[test]
fn the_largest_and_the_smallest_real_numbers_come_back() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, f FLOAT, d DOUBLE)");
    let floats = [
        "3.4028234663852886e38",
        "-3.4028234663852886e38",
        "3.4028232e38",
        "1.1754943508222875e-38",
        "1.1754942e-38",
        "-1e-45",
        "1e-45",
        "0",
    ];
    let doubles = [
        "1.7976931348623157e308",
        "-1.7976931348623157e308",
        "1.7976931348623155e308",
        "2.2250738585072014e-308",
        "2.225073858507201e-308",
        "-5e-324",
        "5e-324",
        "0",
    ];
    for (at, (float, double)) in floats.iter().zip(doubles).enumerate() {
        desk.exec(&format!("INSERT INTO t VALUES ({at}, {float}, {double})"));
    }
    assert_eq!(
        desk.rows("SELECT f*1e0 FROM t WHERE id < 2"),
        ["3.4028234663852886e38", "-3.4028234663852886e38"]
    );
    desk.exec("CREATE TABLE loaded LIKE t");
    for (file, path) in [("t.csv", "select"), ("t.sql", "select")] {
        export(&desk, "t", file, &["--path", path]).done();
        both_ways(&desk, "t", file, &[]);
    }
    comes_back(&mut desk, "t", "t.csv", &[]);
    let csv = desk.home.path().join("t.csv");
    desk.exec(&format!(
        "LOAD DATA INFILE '{}' INTO TABLE loaded FIELDS TERMINATED BY ','",
        csv.display()
    ));
    let database = desk.database.clone();
    let was = contents(&mut desk.session, &format!("{database}.t"));
    assert_eq!(contents(&mut desk.session, &format!("{database}.loaded")), was);
    let empty = desk.server.database().unwrap();
    let mut replay = desk.home.inrush(["replay", "t.sql", "--into", &empty, "--socket"]);
    run(replay.arg(desk.server.socket())).done();
    assert_eq!(contents(&mut desk.session, &format!("{empty}.t")), was);
}

#[test]
fn a_sql_file_makes_its_table_in_an_empty_database() {
    let Some(mut desk) = Desk::new() else { return };
    let text = "CREATE TABLE `odd ``t` (id INT AUTO_INCREMENT PRIMARY KEY, p INT DEFAULT 3 COMMENT 'it''s;\n', \
        g INT AS (p*2) STORED, v VARCHAR(9) CHARACTER SET latin1 INVISIBLE, UNIQUE (p), CHECK (p > 0), \
        FOREIGN KEY (p) REFERENCES parent (id)) AUTO_INCREMENT=77";
    desk.exec("CREATE TABLE parent (id INT PRIMARY KEY)");
    desk.exec("INSERT INTO parent VALUES (1), (2)");
    desk.exec(text);
    desk.exec("INSERT INTO `odd ``t` (id, p, v) VALUES (1, 1, 'ü'), (2, 2, NULL)");
    desk.exec("CREATE VIEW w AS SELECT id FROM `odd ``t`");
    let shown = "SHOW CREATE TABLE";
    let (was, create) =
        (desk.rows("SELECT *, v FROM `odd ``t`"), desk.rows(&format!("{shown} `odd ``t`")));
    for (name, more) in
        [("direct.sql", &["--path", "direct"][..]), ("select.sql.gz", &["--path", "select"])]
    {
        export(&desk, "`odd ``t`", name, more).done();
        for as_what in ["rows", "statements"] {
            let empty = desk.server.database().unwrap();
            let mut replay =
                desk.home.inrush(["replay", name, "--as", as_what, "--into", &empty, "--socket"]);
            run(replay.arg(desk.server.socket())).done();
            assert_eq!(
                desk.rows(&format!("SELECT *, v FROM {empty}.`odd ``t`")),
                was,
                "{name} {as_what}"
            );
            let again = desk.rows(&format!("{shown} {empty}.`odd ``t`"));
            assert_eq!(again, create, "{name} {as_what}");
        }
    }
    // In any order into one table, and without it.
    export(&desk, "`odd ``t`", "parts/", &["--format", "sql", "--split-rows", "1"]).done();
    let text = |name: &str| fs::read_to_string(desk.home.path().join(name)).unwrap();
    for part in names(&desk.home.path().join("parts")) {
        assert!(
            text(&format!("parts/{part}")).contains("CREATE TABLE IF NOT EXISTS `odd ``t` ("),
            "{part}"
        );
    }
    export(&desk, "`odd ``t`", "rows.sql", &["--no-create"]).done();
    assert!(!text("rows.sql").contains("CREATE"));
    let view = export(&desk, "w", "view.sql", &[]);
    assert!(
        view.done().out.contains("has no CREATE TABLE") && view.out.contains("is a view"),
        "{view:?}"
    );
    assert!(!text("view.sql").contains("CREATE"));
    export(&desk, "parent", "t.csv", &["--no-create"]).refused(2, &["--no-create", "--format sql"]);
}

#[test]
fn a_name_whose_ending_stands_for_no_format_is_refused() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT)");
    for name in ["x.docx", "x.json", "x.csv.xz", "x.docx.gz", "t.ibd", "x.CSV2"] {
        export(&desk, "t", name, &[]).refused(2, &[name, ".csv", ".jsonl", ".zst", "--format"]);
        assert!(!desk.home.path().join(name).exists());
    }
    for (name, more) in [
        ("x.docx", &["--format", "text"][..]),
        ("x.json", &["--dialect", "csv"]),
        ("x", &[]),
        ("x.CSV", &[]),
        ("x.txt.gz", &[]),
    ] {
        export(&desk, "t", name, more).done();
    }
}

#[test]
fn mistakes_are_one_sentence_and_leave_no_file() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT)");
    desk.exec("CREATE TABLE g (a INT, b INT AS (a + 1))");
    desk.home.file("there.csv", "x");
    let before = names(desk.home.path());
    for (table, output, more, code, parts) in [
        ("t", "there.csv", &[][..], 2, &["there.csv exists already; --force"][..]),
        ("t", "x.csv", &["--columns", "b"], 2, &["has no column `b`, only `a`"]),
        ("t", "x.csv", &["--columns", "a,A"], 2, &["column `A` is given twice"]),
        ("t", "x.csv", &["--split-rows", "1"], 2, &["-o DIR/"]),
        ("t", "x.csv", &["--threads", "0"], 2, &["--threads must be at least 1"]),
        ("t", "x.sql", &["--format", "sql", "--header"], 2, &["--format text"]),
        ("t", "x.csv", &["--fields-terminated-by", ""], 2, &["--fields-terminated-by"]),
        ("t", "-", &["--json"], 2, &["standard output"]),
        ("t", "/no/where/x.csv", &[], 1, &["/no/where"]),
        (
            "t",
            "x.csv",
            &["--where", "b ="],
            2,
            &["the server refused the condition of --where", "error in your SQL"],
        ),
        (
            "t",
            "x.csv",
            &["--where", "a=1) OR (a=2"],
            2,
            &["the server refused the condition of --where"],
        ),
        ("t", "/dev/null", &["--force"], 2, &["/dev/null is not a regular file", "-o -"]),
        ("g", "x.sql", &["--columns", "b,a"], 2, &["column `b` is generated", "--columns"]),
        ("missing", "x.csv", &[], 2, &["missing"]),
    ] {
        export(&desk, table, output, more).refused(code, parts);
        assert_eq!(names(desk.home.path()), before, "{output} {more:?}");
    }
}

#[test]
fn whatever_fails_on_the_way_leaves_no_file() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b TEXT) ENGINE=InnoDB");
    desk.exec("INSERT INTO t SELECT seq, REPEAT('x', 1000) FROM seq_1_to_2000");
    let log = desk.home.path().join("log");
    let parts = ["--split-rows", "1500", "--force"];
    let exported = |desk: &Desk, name: &str, value: &str| {
        let table = desk.table("t");
        let mut export = desk.home.inrush(["export", &table, "-o", "parts/", "--socket"]);
        run(export.arg(desk.server.socket()).args(parts).env(name, value))
    };
    let whole = ["t.0001.txt", "t.0002.txt"];
    exported(&desk, "INRUSH_FAULT_LOG", log.to_str().unwrap()).done();
    let folder = desk.home.path().join("parts");
    assert_eq!(names(&folder), whole);
    let count = fs::read_to_string(&log).unwrap().lines().count();
    assert!((10..60).contains(&count), "{count} operations");
    for nth in 1..=count {
        fs::remove_dir_all(&folder).unwrap();
        let kind = if nth % 2 == 0 { "eio" } else { "enospc" };
        let outcome = exported(&desk, "INRUSH_FAULT", &format!("{nth}:{kind}"));
        let left = names(&folder);
        match outcome.code() {
            0 => assert_eq!(left, whole, "{nth}"),
            // The names were given, and could not be made durable.
            1 if outcome.err.contains("syncing") => assert_eq!(left, whole, "{nth}: {outcome:?}"),
            1 => {
                // With --force what has its name already stays: it is whole.
                assert!(left.iter().all(|name| whole.contains(&name.as_str())), "{nth}: {left:?}");
                let is_partly = outcome.err.contains("1 of 2 files are new");
                assert_eq!(is_partly, left.len() == 1, "{nth}: {outcome:?}");
                assert!(
                    outcome.err.contains("t.0")
                        || outcome.err.contains("parts")
                        || outcome.err.contains("/t."),
                    "{outcome:?}"
                );
            }
            _ => panic!("{nth}: {outcome:?}"),
        }
        fs::create_dir_all(&folder).unwrap();
    }
}

#[test]
fn an_account_that_may_not_see_transactions_reads_the_file() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY) ENGINE=InnoDB");
    desk.exec("INSERT INTO t VALUES (1), (2)");
    let (database, user) = (desk.database.clone(), format!("{}_reader", desk.database));
    desk.exec(&format!("CREATE USER {user}@localhost"));
    desk.exec(&format!("GRANT RELOAD ON *.* TO {user}@localhost"));
    desk.exec(&format!("GRANT SELECT, LOCK TABLES ON {database}.* TO {user}@localhost"));
    let outcome = export(&desk, "t", "t.csv", &["--user", &user]);
    outcome.done();
    for part in ["2 rows exported", "path direct"] {
        assert!(outcome.out.contains(part), "{outcome:?}");
    }
    // And the table is not held any more.
    desk.exec("INSERT INTO t VALUES (3)");
    desk.exec(&format!("DROP USER {user}@localhost"));
}

/// Many connections read a table, but the account may have few.
#[test]
fn an_account_with_few_connections_reads_by_one() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, w VARCHAR(600)) ENGINE=InnoDB");
    desk.exec("INSERT INTO t SELECT seq, REPEAT('x', 590) FROM seq_1_to_20000");
    desk.exec("ANALYZE TABLE t");
    let (database, user) = (desk.database.clone(), format!("{}_few", desk.database));
    desk.exec(&format!("CREATE USER {user}@localhost WITH MAX_USER_CONNECTIONS 3"));
    desk.exec(&format!("GRANT SELECT, LOCK TABLES ON {database}.* TO {user}@localhost"));
    let more = ["--user", &user, "--path", "select", "--threads", "8"];
    let outcome = export(&desk, "t", "t.csv", &more);
    assert!(outcome.done().out.contains("no room for"), "{outcome:?}");
    let text = fs::read_to_string(desk.home.path().join("t.csv")).unwrap();
    assert_eq!(text.lines().count(), 20_000);
    desk.exec(&format!("DROP USER {user}@localhost"));
}

/// The rest of the rows would take minutes.
#[test]
fn a_value_that_cannot_be_written_ends_the_query() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE VIEW slow AS SELECT NULLIF(seq, 1) AS a, REPEAT('x', 20000) AS x, \
         IF(seq > 3, SLEEP(1), 0) AS s FROM seq_1_to_600",
    );
    let begun = Instant::now();
    let outcome = export(&desk, "slow", "slow.tsv", &["--dialect", "tsv"]);
    outcome.refused(1, &["a value of column `a` cannot be written"]);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

/// Tables that were made while `innodb_file_per_table` was off share a file.
#[test]
fn a_table_without_a_file_of_its_own_is_read_by_select_and_gets_sent_rows() {
    let Some(server) = TestServer::start() else { return };
    let (home, mut session) = (Home::new(), server.connect().unwrap());
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("SET GLOBAL innodb_file_per_table=OFF").unwrap();
    session.exec("CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
    session.exec("SET GLOBAL innodb_file_per_table=ON").unwrap();
    session.exec("INSERT INTO d.t VALUES (1)").unwrap();
    let more = home.file("more.csv", "2\n");
    let append = |path: &str| {
        run(home.load(&server, "d.t", &more).args(["--mode", "append", "--path", path]))
    };
    append("direct").refused(2, &["t.ibd does not exist"]);
    append("auto").done();
    let export = |path: &str| {
        let mut export = home.inrush(["export", "d.t", "-o", "t.csv", "--path", path, "--socket"]);
        run(export.arg(server.socket()))
    };
    export("direct").refused(2, &["t.ibd does not exist"]);
    let outcome = export("auto");
    assert!(outcome.done().out.contains("path select"), "{outcome:?}");
    assert_eq!(fs::read_to_string(home.path().join("t.csv")).unwrap(), "1\n2\n");
}

#[test]
fn a_damaged_page_of_rows_or_of_long_values_ends_an_export() {
    use std::os::unix::fs::FileExt;
    const PAGE: usize = 16_384;
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b LONGBLOB) ENGINE=InnoDB");
    desk.exec(
        "INSERT INTO t SELECT seq, REPEAT('x', IF(seq % 10 = 0, 50000, 100)) FROM seq_1_to_500",
    );
    let direct = ["--path", "direct", "--force", "--quiet"];
    export(&desk, "t", "t.txt", &direct).done();
    let sound = fs::read(desk.home.path().join("t.txt")).unwrap();
    fs::remove_file(desk.home.path().join("t.txt")).unwrap();
    let before = names(desk.home.path());
    let path = desk.server.datadir().join(&desk.database).join("t.ibd");
    let bytes = fs::read(&path).unwrap();
    // FIL_PAGE_TYPE: FIL_PAGE_TYPE_BLOB (FIL_PAGE_TYPE_LOB_DATA of MySQL), FIL_PAGE_INDEX; of the latter PAGE_LEVEL, of
    // which a leaf has 0.
    let long = if desk.server.is_mysql() { 23 } else { 10 };
    let is_of = |page: &[u8], is_leaf: bool| match is_leaf {
        true => page[24..26] == [0x45, 0xbf] && page[64..66] == [0, 0],
        false => page[24..26] == [0, long],
    };
    for is_leaf in [false, true] {
        let pages: Vec<usize> = (0..bytes.len() / PAGE)
            .filter(|at| is_of(&bytes[at * PAGE..][..PAGE], is_leaf))
            .collect();
        assert!(pages.len() > 3, "{pages:?}");
        for (number, offset) in [(pages[0], 60), (pages[pages.len() / 2], 9_000)] {
            let place = number * PAGE + offset;
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.write_all_at(&[bytes[place] ^ 0x10], place as u64).unwrap();
            let outcome = export(&desk, "t", "t.txt", &direct);
            outcome.refused(1, &["t.ibd", &format!("page {number}"), "checksum"]);
            assert_eq!(names(desk.home.path()), before, "page {number}");
            file.write_all_at(&bytes[place..=place], place as u64).unwrap();
        }
    }
    export(&desk, "t", "t.txt", &direct).done();
    assert!(fs::read(desk.home.path().join("t.txt")).unwrap() == sound);
}

/// An export that has begun a file in the folder `parts`, and will not end.
fn start_endless(desk: &mut Desk) -> Child {
    desk.exec("CREATE OR REPLACE VIEW slow AS SELECT seq, REPEAT('x', 3000) AS x, IF(seq > 2000, SLEEP(100), 0) AS s FROM seq_1_to_4000");
    let table = desk.table("slow");
    let mut export = desk.home.inrush(["export", &table, "-o", "parts/", "--socket"]);
    let child = start(export.arg(desk.server.socket()));
    let folder = desk.home.path().join("parts");
    let begun = Instant::now();
    while !names(&folder).iter().any(|name| name.ends_with(".part")) {
        assert!(begun.elapsed() < PATIENCE, "no file was begun");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

#[test]
fn a_signal_ends_an_export_and_leaves_no_file() {
    let Some(mut desk) = Desk::new() else { return };
    let child = start_endless(&mut desk);
    signal(child.id(), "-INT");
    finish(child).refused(1, &["stopped by SIGINT", "no file is left"]);
    assert_eq!(names(&desk.home.path().join("parts")), [""; 0]);
}

#[test]
fn a_second_signal_of_an_export_speaks_of_no_load() {
    let Some(mut desk) = Desk::new() else { return };
    let child = start_endless(&mut desk);
    for name in ["-STOP", "-TERM", "-INT", "-CONT"] {
        signal(child.id(), name);
    }
    let outcome = finish(child);
    outcome.refused(1, &["ended at once by a second signal", "no table was changed"]);
    assert!(!outcome.err.contains("load"), "{outcome:?}");
}

#[test]
fn all_tables_of_a_database_go_into_a_folder_and_load_again() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE a (id INT PRIMARY KEY, n INT, s VARCHAR(9))");
    desk.exec("INSERT INTO a VALUES (1, NULL, ''), (2, 3, 'x,\"y')");
    desk.exec("CREATE TABLE `b c` (id INT PRIMARY KEY)");
    desk.exec("INSERT INTO `b c` VALUES (7)");
    desk.exec("CREATE TABLE `../n.csv` (id INT PRIMARY KEY)");
    desk.exec("CREATE VIEW v AS SELECT * FROM a");
    desk.exec("CREATE TABLE _inrush_ledger_1_a (id INT PRIMARY KEY)");
    let folder = desk.home.path().join("all");
    fs::create_dir(&folder).unwrap();
    let database = desk.database.clone();
    let export = |more: &[&str]| {
        let mut command = desk.home.inrush(["export", &database, "-o"]);
        command.arg(&folder).arg("--socket").arg(desk.server.socket()).args(["--user", "root"]);
        run(command.args(more))
    };
    for (dialect, more) in
        [("csv", &["--header"][..]), ("tsv", &["--null-token", "-"]), ("mysql", &[])]
    {
        let exported = export(&[&["--dialect", dialect, "--force"], more].concat());
        assert!(
            exported.done().out.contains(&format!("{database}.a: 2 rows exported")),
            "{exported:?}"
        );
        let ending = if dialect == "mysql" { "txt" } else { dialect };
        let files = names(&folder);
        assert_eq!(files.len(), 3, "{files:?}");
        assert!(files.contains(&format!("a.{ending}")), "{files:?}");
        desk.session.exec("CREATE DATABASE IF NOT EXISTS again").unwrap();
        for table in ["a", "`b c`", "`../n.csv`"] {
            desk.session.exec(&format!("DROP TABLE IF EXISTS again.{table}")).unwrap();
            let sql = format!("CREATE TABLE again.{table} LIKE `{database}`.{table}");
            desk.session.exec(&sql).unwrap();
        }
        let mut load = desk.home.inrush(["load"]);
        load.arg(&folder).args(["--into", "again", "--allow-empty", "--memory", "40M", "--socket"]);
        load.arg(desk.server.socket()).args(["--user", "root"]).args(more);
        run(&mut load).done();
        let checksums = |database: &str, session: &mut server::Session| {
            let tables = ["a", "`b c`", "`../n.csv`"].map(|table| format!("`{database}`.{table}"));
            let rows = session.query(&format!("CHECKSUM TABLE {}", tables.join(", "))).unwrap();
            rows.iter().map(|row| row.text_lossy(1)).collect::<Vec<_>>()
        };
        let (before, after) =
            (checksums(&database, &mut desk.session), checksums("again", &mut desk.session));
        assert_eq!(before, after, "{dialect}");
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
    }
    let refused = |more: &[&str]| {
        let mut command = desk.home.inrush(["export", &database]);
        command.arg("--socket").arg(desk.server.socket()).args(["--user", "root"]);
        run(command.args(more))
    };
    let told = refused(&["-o", "all/", "--json", "--force"]);
    let told: serde_json::Value = serde_json::from_str(&told.done().out).unwrap();
    assert_eq!((&told["json_version"], &told["database"]), (&2.into(), &(*database).into()));
    let rows: Vec<u64> = (0..3).map(|at| told["tables"][at]["rows"].as_u64().unwrap()).collect();
    assert_eq!(rows, [0, 2, 1], "{told}");
    refused(&["-o", "all.csv"]).refused(2, &["is a database: -o must be a folder"]);
    refused(&["-o", "all/", "--where", "1"]).refused(2, &["--where is for one table"]);
    refused(&["-o", "all/", "--columns", "id"]).refused(2, &["--columns is for one table"]);
}
