//! `inrush export` to Parquet and Arrow files: they load back as the same rows, from the table's file and by SELECT.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::exported::{export, filled};
use crate::memory::UNOPTIMIZED_BYTES;
use crate::support::{Desk, Outcome, contents, names, run};

/// Both formats.
const ENDINGS: [&str; 2] = ["parquet", "arrow"];

/// Exports a table to a file by each path, and asserts that both files are the same; the file.
#[track_caller]
fn both_paths(desk: &Desk, table: &str, ending: &str, more: &[&str]) -> String {
    let mut files = Vec::new();
    for path in ["direct", "select"] {
        let file = format!("{table}-{path}.{ending}");
        let options = ["--path", path, "--force", "--threads", "1"];
        let outcome = export(desk, table, &file, &[&options[..], more].concat());
        assert!(outcome.done().out.contains(&format!("path {path}")), "{outcome:?}");
        files.push(file);
    }
    files.swap_remove(0)
}

/// Loads a file into a table like another, and asserts that it then has the same rows.
#[track_caller]
fn comes_back(desk: &mut Desk, table: &str, file: &str, more: &[&str]) {
    desk.exec("DROP TABLE IF EXISTS back");
    desk.exec(&format!("CREATE TABLE back LIKE {table}"));
    desk.load("back", Path::new(file), &[&["--time-zone", "+00:00"], more].concat()).done();
    let database = desk.database.clone();
    let was = contents(&mut desk.session, &format!("{database}.{table}"));
    assert_eq!(contents(&mut desk.session, &format!("{database}.back")), was, "{file}");
}

/// The table of all types, without the dates that no calendar has.
fn with_days() -> Option<Desk> {
    let mut desk = filled()?;
    for column in ["da", "dt", "dt0", "ts0"] {
        desk.exec(&format!("UPDATE t SET {column}='1999-01-01' WHERE DAY({column})=0"));
    }
    Some(desk)
}

#[test]
fn every_type_comes_back_by_both_paths() {
    let Some(mut desk) = with_days() else { return };
    for ending in ENDINGS {
        let file = both_paths(&desk, "t", ending, &[]);
        let select = fs::read(desk.home.path().join(format!("t-select.{ending}"))).unwrap();
        assert!(fs::read(desk.home.path().join(&file)).unwrap() == select, "{file}");
        comes_back(&mut desk, "t", &file, &[]);
    }
    for (name, compression) in [("n.parquet", "none"), ("g.parquet", "gzip"), ("z.arrow", "zstd")] {
        export(&desk, "t", name, &["--compression", compression]).done();
        comes_back(&mut desk, "t", name, &[]);
    }
}

#[test]
fn a_date_of_no_calendar_ends_an_export_with_its_row() {
    let Some(desk) = filled() else { return };
    for path in ["direct", "select"] {
        for ending in ENDINGS {
            let file = format!("t.{ending}");
            let outcome = export(&desk, "t", &file, &["--path", path, "--columns", "id,dt,da"]);
            let parts = ["column `dt`", "`id` = 2", "0000-00-00 00:00:00", "--where"];
            outcome.refused(1, &parts);
            assert!(!names(desk.home.path()).iter().any(|name| name.contains(&file)));
        }
    }
}

#[test]
fn rows_of_every_shape_come_back() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE empty (a INT, b TEXT, e ENUM('x') CHARACTER SET utf8mb4, u UUID) ENGINE=InnoDB",
    );
    desk.exec(
        "CREATE TABLE long_values (a INT PRIMARY KEY, b LONGBLOB, c LONGTEXT CHARACTER SET utf8mb4, \
         d MEDIUMTEXT CHARACTER SET latin1) ENGINE=InnoDB",
    );
    desk.exec(
        "INSERT INTO long_values SELECT seq, IF(seq % 7 = 0, REPEAT(x'00ff0a', 700000), NULL), \
         REPEAT('ü😀', seq * 900), REPEAT(x'e4', seq * 300) FROM seq_1_to_40",
    );
    desk.exec(
        "CREATE TABLE many (a INT PRIMARY KEY, b VARCHAR(40) NOT NULL, c DECIMAL(12,2), d DATE, \
         e ENUM('a','b','c') NOT NULL, f CHAR(3) CHARACTER SET latin1) ENGINE=InnoDB",
    );
    desk.exec(
        "INSERT INTO many SELECT seq, CONCAT('w', seq % 91, REPEAT('x', seq % 19)), seq * 1.01, \
         '1970-01-01' + INTERVAL seq % 9000 DAY, 1 + seq % 3, IF(seq % 5, seq % 100, NULL) \
         FROM seq_1_to_300000",
    );
    desk.exec("CREATE TABLE parts (a INT PRIMARY KEY, b VARCHAR(40)) ENGINE=InnoDB PARTITION BY HASH (a) PARTITIONS 3");
    desk.exec("INSERT INTO parts SELECT a, b FROM many WHERE a < 3000");
    for table in ["empty", "long_values", "many", "parts"] {
        for ending in ENDINGS {
            let file = both_paths(&desk, table, ending, &[]);
            let memory = ["--memory", "256M"];
            comes_back(&mut desk, table, &file, &memory);
            comes_back(&mut desk, table, &format!("{table}-select.{ending}"), &memory);
        }
    }
    let name = "several.parquet";
    let outcome = export(&desk, "many", name, &["--threads", "3", "--memory", "64M", "--json"]);
    let report: Value = serde_json::from_str(&outcome.done().out).unwrap();
    assert_eq!(report["rows"], 300_000, "{report}");
    stays_within(&report, 64);
    comes_back(&mut desk, "many", name, &[]);
}

#[track_caller]
fn stays_within(report: &Value, mebibytes: u64) {
    let peak = report["memory_peak_bytes"].as_u64().unwrap();
    let limit = (mebibytes << 20) + UNOPTIMIZED_BYTES;
    assert!(peak < limit, "{} of {mebibytes} MiB: {report}", peak >> 20);
}

#[test]
fn many_columns_are_written_within_memory() {
    let Some(mut desk) = Desk::new() else { return };
    let columns = (0..120).map(|at| format!("c{at} VARCHAR(40), d{at} DECIMAL(12,2)"));
    let columns = columns.collect::<Vec<_>>().join(", ");
    desk.exec(&format!("CREATE TABLE t (id INT PRIMARY KEY, {columns}) ENGINE=InnoDB"));
    let values = (0..120).map(|at| format!("CONCAT('v', seq * {at} % 1000), seq * {at} % 99"));
    let values = values.collect::<Vec<_>>().join(", ");
    desk.exec(&format!("INSERT INTO t SELECT seq, {values} FROM seq_1_to_8000"));
    for ending in ENDINGS {
        let file = format!("t.{ending}");
        let outcome = export(&desk, "t", &file, &["--memory", "44M", "--threads", "2", "--json"]);
        let report: Value = serde_json::from_str(&outcome.done().out).unwrap();
        stays_within(&report, 44);
        comes_back(&mut desk, "t", &file, &["--memory", "256M"]);
    }
}

#[test]
fn geometries_are_written_with_one_srid() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, g GEOMETRY) ENGINE=InnoDB");
    desk.exec("INSERT INTO t VALUES (1, NULL), (2, ST_GeomFromText('POINT(1 2)', 4326))");
    export(&desk, "t", "one.arrow", &[]).done();
    let bytes = fs::read(desk.home.path().join("one.arrow")).unwrap();
    assert!(bytes.windows(4).any(|four| four == b"srid"));
    desk.exec("INSERT INTO t VALUES (3, ST_GeomFromText('POINT(1 2)', 0))");
    export(&desk, "t", "t.arrow", &[]).refused(1, &["column `g`", "`id` = 3", "SRID is 0"]);
}

#[test]
fn pipes_and_folders_get_these_formats() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, e ENUM('x','y'), v VARCHAR(9)) ENGINE=InnoDB");
    desk.exec("INSERT INTO t SELECT seq, 1 + seq % 2, seq FROM seq_1_to_1000");
    desk.exec("CREATE TABLE `t/2` (a INT) ENGINE=InnoDB");
    for format in ENDINGS {
        let piped = desk.home.path().join(format!("piped.{format}"));
        let command =
            format!("\"$1\" export \"$2\" -o - --format {format} --quiet --socket \"$3\" > \"$4\"");
        let inrush = desk.home.inrush(["--version"]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &command, "sh"]).arg(inrush.get_program());
        shell.arg(desk.table("t")).arg(desk.server.socket()).arg(&piped);
        shell.envs(inrush.get_envs().filter_map(|(name, value)| Some((name, value?))));
        run(&mut shell).done();
        comes_back(&mut desk, "t", piped.to_str().unwrap(), &[]);
        let is_stream = fs::read(&piped).unwrap().starts_with(&[0xff; 4]);
        assert_eq!(is_stream, format == "arrow");
        let mut export = desk.home.inrush(["export", &desk.database, "-o", "all/", "--socket"]);
        let folder = run(export.arg(desk.server.socket()).args(["--format", format, "--force"]));
        folder.done();
    }
    let folder = names(&desk.home.path().join("all"));
    let expected =
        ["back.arrow", "back.parquet", "t.arrow", "t.parquet", "t@002f2.arrow", "t@002f2.parquet"];
    assert_eq!(folder, expected);
    comes_back(&mut desk, "t", "all/t.parquet", &[]);
}

#[test]
fn files_are_cut_between_row_groups() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(40)) ENGINE=InnoDB");
    desk.exec("INSERT INTO t SELECT seq, CONCAT('value ', seq) FROM seq_1_to_50000");
    for ending in ENDINGS {
        for (option, size) in [("--split-rows", "7000"), ("--split-size", "200K")] {
            for path in ["direct", "select"] {
                let options = ["--format", ending, option, size, "--path", path, "--force"];
                export(&desk, "t", &format!("cut-{ending}/"), &options).done();
                let folder = desk.home.path().join(format!("cut-{ending}"));
                let files = names(&folder);
                assert!((5..20).contains(&files.len()), "{options:?} {files:?}");
                let rows_max = if option == "--split-rows" { 7000 } else { 12_000 };
                for name in &files {
                    desk.exec("DROP TABLE IF EXISTS back");
                    desk.exec("CREATE TABLE back LIKE t");
                    desk.load("back", &folder.join(name), &[]).done();
                    let rows = desk.session.query_row("SELECT COUNT(*) FROM back").unwrap();
                    let rows: u64 = rows.number(0).unwrap();
                    assert!((1..=rows_max).contains(&rows), "{options:?} {name}: {rows}");
                }
                comes_back(&mut desk, "t", &format!("cut-{ending}/*.{ending}"), &[]);
            }
        }
    }
}

#[test]
fn options_of_text_are_refused() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT)");
    let before = names(desk.home.path());
    for (file, more, parts) in [
        ("t.parquet", &["--header"][..], &["--format text"][..]),
        ("t.parquet.gz", &[], &["--compression"]),
        ("t.arrow.zst", &[], &["--compression"]),
        ("t.arrow", &["--compression", "gzip"], &["zstd"]),
        ("t.parquet", &["--time-zone", "+02:00"], &["--time-zone", "UTC"]),
    ] {
        let outcome: Outcome = export(&desk, "t", file, more);
        outcome.refused(2, parts);
        assert_eq!(names(desk.home.path()), before, "{file} {more:?}");
    }
}

#[test]
fn whatever_fails_on_the_way_leaves_no_file() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b TEXT) ENGINE=InnoDB");
    desk.exec("INSERT INTO t SELECT seq, REPEAT('x', 1000) FROM seq_1_to_2000");
    let log = desk.home.path().join("log");
    for file in ["t.parquet", "t.arrow"] {
        let exported = |desk: &Desk, name: &str, value: &str| {
            let table = desk.table("t");
            let mut export = desk.home.inrush(["export", &table, "-o", file, "--socket"]);
            run(export.arg(desk.server.socket()).env(name, value))
        };
        let _ = fs::remove_file(&log);
        exported(&desk, "INRUSH_FAULT_LOG", log.to_str().unwrap()).done();
        let count = fs::read_to_string(&log).unwrap().lines().count();
        for nth in 1..=count {
            let _ = fs::remove_file(desk.home.path().join(file));
            let outcome = exported(&desk, "INRUSH_FAULT", &format!("{nth}:enospc"));
            let left = names(desk.home.path());
            let left: Vec<_> = left.iter().filter(|name| name.contains(file)).collect();
            let is_whole = outcome.code() == 0 || outcome.err.contains("syncing");
            assert_eq!(left.len(), usize::from(is_whole), "{nth}: {outcome:?} {left:?}");
        }
    }
}

/// Columns that the readers are asked for, and the text of their values.
const READ: &[(&str, &str, &str)] = &[
    ("id", "INT PRIMARY KEY", "id"),
    ("tiny", "TINYINT", "tiny"),
    ("bu", "BIGINT UNSIGNED", "bu"),
    ("d", "DECIMAL(20,4)", "d"),
    ("wide", "DECIMAL(65,30)", "wide"),
    ("r", "DOUBLE", "r"),
    ("y", "YEAR", "y"),
    ("da", "DATE", "da"),
    ("t", "TIME(6)", "CAST(TIME_TO_SEC(t) * 1000000 AS SIGNED)"),
    ("dt", "DATETIME(6)", "dt"),
    ("ts", "TIMESTAMP(6) NULL", "ts"),
    ("e", "ENUM('a','ü')", "e"),
    ("v", "VARCHAR(40) CHARACTER SET utf8mb4", "v"),
    ("l", "VARCHAR(40) CHARACTER SET latin1", "l"),
    ("b", "BLOB", "LOWER(HEX(b))"),
    ("bi", "BINARY(3)", "LOWER(HEX(bi))"),
    ("uu", "UUID", "uu"),
    ("js", "JSON", "js"),
    ("n", "DECIMAL(15,2)", "n"),
];

/// `INRUSH_TEST_PYTHON` names a Python with the packages pyarrow, duckdb and polars.
#[test]
fn pyarrow_duckdb_and_polars_read_exports() {
    let Some(mut desk) = Desk::new() else { return };
    let columns: Vec<String> =
        READ.iter().map(|(name, sql_type, _)| format!("{name} {sql_type}")).collect();
    let columns = columns.join(", ");
    desk.exec("SET time_zone='+00:00'");
    desk.exec(&format!("CREATE TABLE t ({columns}) CHARACTER SET utf8mb4 ENGINE=InnoDB"));
    for row in [
        "1,-128,0,-9999999999999999.9999,-99999999999999999999999999999999999.5,-1.5e300,1901,'0001-01-01',\
         '-838:59:59.000001','0001-01-01','1970-01-01 00:00:00.000001','a','','',x'','','ffffffff-ffff-1fff-8fff-ffffffffffff','[]',-9999999999999.99",
        "2,127,18446744073709551615,0.0001,1e-30,0.1,2155,'9999-12-31','838:59:59','9999-12-31 23:59:59.999999',\
         '2038-01-19 03:14:07','ü','ü😀','é',x'00ff',x'010203','123e4567-e89b-12d3-a456-426614174000','{\"a\": 1}',0.05",
    ] {
        desk.exec(&format!("INSERT INTO t VALUES ({row})"));
    }
    desk.exec("INSERT INTO t (id) VALUES (3)");
    // Values that do not repeat have no dictionary.
    desk.exec(
        "INSERT INTO t (id, v, bu, n, da, dt) SELECT seq, seq, seq * 7919, seq * 1.01, \
         '1000-01-01' + INTERVAL seq * 31 DAY, '1000-01-01' + INTERVAL seq * 7919 SECOND \
         FROM seq_4_to_9000",
    );
    let texts: Vec<String> = READ
        .iter()
        .map(|(_, _, text)| format!("COALESCE(CAST({text} AS CHAR), '\\\\N')"))
        .collect();
    let rows =
        desk.rows(&format!("SELECT CONCAT_WS('\\t', {}) FROM t ORDER BY id", texts.join(", ")));
    let names: Vec<&str> = READ.iter().map(|(name, _, _)| *name).collect();
    let values = format!("{}\n{}\n", names.join("\t"), rows.join("\n"));
    let values = desk.home.file("values.tsv", values.as_bytes());
    let files = ENDINGS.map(|ending| desk.home.path().join(format!("t.{ending}")));
    for file in &files {
        export(&desk, "t", file.to_str().unwrap(), &[]).done();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/read-columnar.py");
    let python = std::env::var("INRUSH_TEST_PYTHON").unwrap_or("python3".to_owned());
    let mut python = std::process::Command::new(python);
    let Ok(output) = python.arg(script).arg(values).args(&files).output() else {
        eprintln!("skipped: there is no Python");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(3) => eprintln!("skipped: {said}"),
        code => assert!(code == Some(0), "{said}\n{}", String::from_utf8_lossy(&output.stderr)),
    }
}
