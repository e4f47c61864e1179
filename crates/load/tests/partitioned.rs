//! Partitioned tables by the direct path: what LOAD DATA makes of the same file.
//!
//! A partition costs the server a while, whatever is in it: all shapes are for the soak.

use std::fmt::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use load::{LoadOptions, LoadPath, Mode, OnDuplicate, RowOptions};
use testkit::Random;
use testkit::tables::compare::{same_rows, same_scans, show, verdict};
use testkit::tables::server::{Db, Server};

/// Rows of a file.
const ROWS: usize = 701;
/// Rows of an input that is not small.
const MANY: usize = 80_000;

/// A table, and the values of a row of it.
struct Shape {
    what: &'static str,
    table: &'static str,
    by: &'static str,
    partitions: &'static [&'static str],
    indexes: &'static [&'static str],
    /// Fields with numbers that no two rows share.
    numbers: &'static [usize],
    row: fn(&mut Random, usize) -> String,
}

const SHAPES: &[Shape] = &[
    Shape {
        what: "ranges of years, a counter, a unique key, long values",
        table: "(id INT NOT NULL AUTO_INCREMENT, d DATE NOT NULL, k INT, t LONGTEXT, PRIMARY KEY (id, d), \
                UNIQUE k (k, d), KEY t (t(20)))",
        by: "RANGE (YEAR(d)) (PARTITION `p 0` VALUES LESS THAN (1990) COMMENT 'it''s', PARTITION `\u{e4}` VALUES \
             LESS THAN (2010), PARTITION none VALUES LESS THAN (2011), PARTITION p9 VALUES LESS THAN \
             MAXVALUE)",
        partitions: &["p 0", "\u{e4}", "none", "p9"],
        indexes: &["k", "t"],
        numbers: &[0, 2],
        row: |random, at| {
            let year = [1980, 1995, 2005, 2020][random.below(4)] + random.below(5);
            let text = "x".repeat(if random.chance(40) { 30_000 } else { random.below(50) });
            format!(
                "{}\t{year}-{:02}-11\t{at}\t{at}{text}",
                at * 7 % ROWS + 1,
                1 + random.below(12)
            )
        },
    },
    Shape {
        what: "a hash, and no key",
        table: "(a INT, b VARCHAR(30), KEY b (b))",
        by: "LINEAR HASH (a) PARTITIONS 5",
        partitions: &["p0", "p1", "p2", "p3", "p4"],
        indexes: &["b"],
        numbers: &[],
        row: |random, at| match random.chance(9) {
            true => format!("\\N\tnull {at}"),
            false => format!("{}\t{at}", random.below(1000)),
        },
    },
    Shape {
        what: "KEY, a table in the older format of rows",
        table: "(id BIGINT UNSIGNED PRIMARY KEY, v DECIMAL(9,2), KEY v (v)) ROW_FORMAT=COMPACT",
        by: "KEY () PARTITIONS 3",
        partitions: &["p0", "p1", "p2"],
        indexes: &["v"],
        numbers: &[0],
        row: |random, at| format!("{}\t{}.5", at * 1_000_003, random.below(100)),
    },
    Shape {
        what: "lists of text",
        table: "(s VARCHAR(9) NOT NULL, n INT, PRIMARY KEY (s, n)) CHARACTER SET utf8mb4 \
                COLLATE utf8mb4_unicode_ci",
        by: "LIST COLUMNS (s) (PARTITION a VALUES IN ('eins','ZWEI'), PARTITION b VALUES IN ('drei'), \
             PARTITION o DEFAULT)",
        partitions: &["a", "b", "o"],
        indexes: &[],
        numbers: &[1],
        row: |random, at| {
            let word = random.pick(&["Eins", "zwei", "DREI", "vier", "f\u{fc}nf"]);
            format!("{word}\t{}", ROWS - at)
        },
    },
];

impl Shape {
    fn sql(&self, name: &str) -> String {
        format!("CREATE OR REPLACE TABLE {name} {} PARTITION BY {}", self.table, self.by)
    }

    fn text(&self, random: &mut Random, rows: usize) -> String {
        (0..rows).fold(String::new(), |mut text, at| {
            writeln!(text, "{}", (self.row)(random, at)).unwrap();
            text
        })
    }

    /// Rows that are not among those of a lesser round.
    fn more(&self, random: &mut Random, round: usize) -> String {
        let text = self.text(random, ROWS);
        let lines = text.lines().map(|line| {
            let fields =
                line.split('\t').enumerate().map(|(at, field)| match field.parse::<usize>() {
                    Ok(number) if self.numbers.contains(&at) => {
                        (number + round * 1_000_000).to_string()
                    }
                    _ => field.to_owned(),
                });
            fields.collect::<Vec<_>>().join("\t") + "\n"
        });
        lines.collect()
    }

    /// All rows and all partitions of `b` are those of `a`.
    fn same(&self, db: &mut Db) {
        if self.what.contains("no key") {
            same_scans(db, "b", "a", &[]);
            assert_eq!(verdict(db, "b"), ["OK"]);
        } else {
            same_rows(db, "b", "a", self.indexes);
        }
        for partition in self.partitions {
            let rows = |db: &mut Db, table: &str| {
                let sql = format!("SELECT * FROM {table} PARTITION (`{partition}`) ORDER BY 1, 2");
                db.rows(&sql).iter().map(show).collect::<Vec<_>>()
            };
            assert_eq!(rows(db, "b"), rows(db, "a"), "{}: {partition}", self.what);
        }
        assert_eq!(definition(db, "b"), definition(db, "a"), "{}", self.what);
    }
}

fn definition(db: &mut Db, table: &str) -> String {
    let shown = db.rows(&format!("SHOW CREATE TABLE {table}"))[0].text_lossy(1);
    shown.split_once('(').unwrap().1.to_owned()
}

fn options(server: &Server, db: &Db, file: &Path) -> LoadOptions {
    LoadOptions { path: LoadPath::Direct, ..server.options(db, "b", vec![file.to_owned()]) }
}

/// Changes made to both tables afterwards.
fn change(db: &mut Db, shape: &Shape) {
    let columns = db.rows("SHOW COLUMNS FROM a");
    let (first, second) = (columns[0].text_lossy(0), columns[1].text_lossy(0));
    let order = format!("ORDER BY {first}, {second}");
    for table in ["a", "b"] {
        db.sql(&format!("DELETE FROM {table} {order} LIMIT 20"));
        db.sql(&format!("INSERT IGNORE INTO {table} SELECT * FROM {table} {order} LIMIT 10"));
        if shape.what.contains("counter") {
            // To other partitions.
            let later = "d = d + INTERVAL 10 YEAR";
            db.sql(&format!("UPDATE IGNORE {table} SET {later} {order} LIMIT 50"));
            db.sql(&format!("INSERT INTO {table} (d) VALUES ('1985-01-01'), ('2030-01-01')"));
        }
    }
    shape.same(db);
}

#[test]
fn a_partitioned_table_is_as_load_data_fills_it() {
    as_load_data(&SHAPES[..1]);
}

#[test]
#[ignore = "some seconds a shape; make soak runs it"]
fn partitioned_tables_of_all_shapes_are_as_load_data_fills_them() {
    as_load_data(SHAPES);
}

fn as_load_data(shapes: &[Shape]) {
    let Some(server) = Server::get() else { return };
    let random = &mut Random::new(Random::seed_of_run());
    for shape in shapes {
        let mut db = server.database();
        let file = server.file(&db, "rows", shape.text(random, ROWS));
        db.sql(&shape.sql("a"));
        db.sql(&shape.sql("b"));
        db.sql(&load_data("a", &file));
        let report = server.load(&options(&server, &db, &file)).unwrap();
        assert_eq!((report.path, report.rows), ("direct", ROWS as u64), "{}", shape.what);
        shape.same(&mut db);
        change(&mut db, shape);
        assert_eq!(db.tables(), ["a", "b"]);
        // Others in their place.
        let file = server.file(&db, "others", shape.text(random, 50));
        db.sql("TRUNCATE a");
        db.sql(&load_data("a", &file));
        let replace = LoadOptions { mode: Mode::Replace, ..options(&server, &db, &file) };
        server.load(&replace).unwrap();
        shape.same(&mut db);
        // None: the table is as if it were new.
        let file = server.file(&db, "none", "");
        let nothing = LoadOptions { allow_empty: true, ..options(&server, &db, &file) };
        db.sql(&shape.sql("a"));
        db.sql(&shape.sql("b"));
        server.load(&nothing).unwrap();
        shape.same(&mut db);
        change(&mut db, shape);
    }
}

/// Equal keys are in one partition, so who loses is found as in any table.
#[test]
fn rows_with_keys_of_others_are_left_out_of_partitions_too() {
    let Some(server) = Server::get() else { return };
    let random = &mut Random::new(Random::seed_of_run());
    let shape = &SHAPES[0];
    let once = shape.text(random, 200);
    // The same primary key with another text, or another one with the same unique key.
    let again = once.lines().step_by(3).enumerate().map(|(at, line)| match line.split_once('\t') {
        Some((id, rest)) if at % 2 == 1 => {
            format!("{}\t{rest}y\n", id.parse::<usize>().unwrap() + ROWS)
        }
        _ => format!("{line}y\n"),
    });
    let text = format!("{once}{}", again.collect::<String>());
    for (rule, words) in [(OnDuplicate::Skip, "IGNORE"), (OnDuplicate::Replace, "REPLACE")] {
        let mut db = server.database();
        let file = server.file(&db, "rows", &text);
        db.sql(&shape.sql("a"));
        db.sql(&shape.sql("b"));
        let path = file.display();
        db.sql(&format!("LOAD DATA INFILE '{path}' {words} INTO TABLE a CHARACTER SET utf8mb4"));
        let mut options = options(&server, &db, &file);
        options.rows.on_duplicate = rule;
        let report = server.load(&options).unwrap();
        let kept = db.number("SELECT COUNT(*) FROM a");
        assert_eq!(kept, 200, "{words}");
        assert_eq!((report.path, report.rows, report.duplicates), ("direct", 200, 67), "{words}");
        let changed = db.number("SELECT COUNT(*) FROM a WHERE t LIKE '%y'");
        assert_eq!(changed, if rule == OnDuplicate::Skip { 0 } else { 67 }, "{words}");
        shape.same(&mut db);
        if rule == OnDuplicate::Replace {
            let failing = LoadOptions {
                mode: Mode::Replace,
                rows: RowOptions { on_duplicate: OnDuplicate::Fail, ..options.rows },
                ..options
            };
            let error = server.load(&failing).unwrap_err();
            assert!(error.to_string().contains("has the same"), "{error}");
            shape.same(&mut db);
        }
        assert_eq!(db.tables(), ["a", "b"]);
    }
}

#[test]
fn a_row_that_no_partition_takes_is_refused_as_the_server_does() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    for (by, text, reasons) in [
        (
            "RANGE (a) (PARTITION p VALUES LESS THAN (10))",
            "1\n10\n\\N\n11\n",
            ["Table has no partition for value 10", "Table has no partition for value 11"],
        ),
        (
            "LIST (a) (PARTITION p VALUES IN (1, 2))",
            "1\n\\N\n2\n3\n",
            ["Table has no partition for value NULL", "Table has no partition for value 3"],
        ),
        (
            "RANGE COLUMNS (a) (PARTITION p VALUES LESS THAN (10))",
            "1\n10\n9\n2147483647\n",
            ["Table has no partition for value from column_list"; 2],
        ),
    ] {
        db.sql(&format!("CREATE OR REPLACE TABLE b (a INT, KEY a (a)) PARTITION BY {by}"));
        let file = server.file(&db, "rows", text);
        let (rejects, options) = (file.with_extension("rejects"), options(&server, &db, &file));
        let error = server.load(&options).unwrap_err().to_string();
        assert!(error.contains(reasons[0]) && error.contains("line 2"), "{error}");
        assert_eq!(db.number("SELECT COUNT(*) FROM b"), 0);
        let options = LoadOptions {
            rows: RowOptions { rejects: Some(rejects.clone()), rejects_max: 2, ..options.rows },
            ..options
        };
        let report = server.load(&options).unwrap();
        assert_eq!((report.path, report.rows, report.rejects), ("direct", 2, 2), "{by}");
        let refused: Vec<&str> = text.lines().skip(1).step_by(2).collect();
        let kept = std::fs::read_to_string(&rejects).unwrap();
        assert_eq!(kept.lines().collect::<Vec<_>>(), refused, "{by}");
        let path = format!("{}.reasons.jsonl", rejects.display());
        let lines = std::fs::read_to_string(path).unwrap();
        for (line, reason) in lines.lines().zip(reasons) {
            assert!(line.contains(reason) && line.contains("1526"), "{line}");
        }
        // The server says the same of the first.
        let sql = format!("LOAD DATA INFILE '{}' INTO TABLE b", file.display());
        let said = db.try_sql(&sql).unwrap_err();
        assert!(said.to_string().contains(reasons[0]), "{said}");
        std::fs::remove_file(&rejects).unwrap();
    }
}

/// Rows are added by sending them, as before; what is not known here is sent, too, and what is faster
/// sent.
#[test]
fn what_is_not_built_is_sent_and_says_why() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let file = server.file(&db, "rows", "1\n2\n");
    let all = options(&server, &db, &file);
    // Without what other loads took.
    let state_dir = file.with_extension("state");
    let with = |mode, path| LoadOptions { mode, path, state_dir: state_dir.clone(), ..all.clone() };
    let append = with(Mode::Append, LoadPath::Auto);
    db.sql("CREATE TABLE b (a INT) PARTITION BY HASH (a) PARTITIONS 2");
    let direct = LoadOptions { mode: Mode::Append, ..all.clone() };
    assert_eq!(server.load(&direct).unwrap().path, "direct");
    let many = server.file(&db, "many", "1\n".repeat(MANY));
    let report =
        server.load(&LoadOptions { input: options(&server, &db, &many).input, ..append.clone() });
    let report = report.unwrap();
    assert_eq!(report.path, "stream");
    assert!(report.why.contains("in 2 partitions would take"), "{}", report.why);
    // A small input is not weighed.
    let why = server.load(&append).unwrap().why;
    assert!(why.starts_with("not direct: the input is small"), "{why}");
    assert_eq!(db.number("SELECT COUNT(*) FROM b"), 4 + MANY as u64);
    for (sql, why) in [
        (
            "(a VARCHAR(9)) PARTITION BY KEY (a) PARTITIONS 2",
            "KEY of column `a`, which is VARCHAR(9)",
        ),
        (
            "(a INT) PARTITION BY RANGE (a) SUBPARTITION BY HASH (a) (PARTITION p VALUES LESS THAN (9))",
            "partitions (subpartitions)",
        ),
        ("(a INT) PARTITION BY KEY ALGORITHM=1 (a) PARTITIONS 2", "partitions (KEY ALGORITHM = 1)"),
        (
            "(a INT) PARTITION BY HASH (a) PARTITIONS 3",
            "building its 3 partitions, a file each, would take about",
        ),
    ] {
        db.sql(&format!("CREATE OR REPLACE TABLE b {sql}"));
        let report = server.load(&with(Mode::Replace, LoadPath::Auto)).unwrap();
        assert_eq!((report.path, report.rows), ("stream", 2));
        assert!(report.why.contains(why), "{}", report.why);
    }
    assert!(
        server.load(&with(Mode::Replace, LoadPath::Auto)).unwrap().why.contains(" the rows about ")
    );
    // Where rows cannot be sent, that is no reason.
    let duplicates = Some(file.with_extension("duplicates"));
    let on_duplicate = OnDuplicate::Skip;
    let rows = RowOptions { duplicates, on_duplicate, ..RowOptions::default() };
    let only = LoadOptions { rows, ..with(Mode::Replace, LoadPath::Auto) };
    assert_eq!(server.load(&only).unwrap().path, "direct");
}

/// The files of a table's partitions, by name.
fn files(server: &Server, db: &Db) -> Vec<(String, u64)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(server.test_server().datadir().join(&db.name)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("b#P#") && name.ends_with(".ibd") {
            files.push((name, entry.metadata().unwrap().ino()));
        }
    }
    files.sort();
    files
}

fn load_data(table: &str, file: &Path) -> String {
    format!("LOAD DATA INFILE '{}' INTO TABLE {table} CHARACTER SET utf8mb4", file.display())
}

/// Tables `a` and `b` with the same rows, some of which were changed and deleted.
fn both_with_rows(server: &Server, random: &mut Random, shape: &Shape) -> Db {
    let mut db = server.database();
    let file = server.file(&db, "rows", shape.text(random, ROWS));
    for table in ["a", "b"] {
        db.sql(&shape.sql(table));
        db.sql(&load_data(table, &file));
    }
    change(&mut db, shape);
    db
}

#[test]
fn rows_are_added_to_one_partition_and_the_others_stay_as_they_are() {
    let Some(server) = Server::get() else { return };
    let random = &mut Random::new(Random::seed_of_run());
    let shape = &SHAPES[0];
    let mut db = both_with_rows(&server, random, shape);
    for round in 0..3 {
        // Numbers of the server's where the file has none; what it reserves of them is its own affair.
        let is_counted = round == 2;
        let line = |at: usize| {
            let number = (at * 7 % 900 + 5_000 + round * 1_000).to_string();
            let id = if is_counted && !at.is_multiple_of(3) { "\\N" } else { number.as_str() };
            let (year, month, k) = (2015 + at % 80, 1 + at % 9, round * 1_000 + at + 10_000);
            format!("{id}\t{year}-0{month}-01\t{k}\t{at}{}\n", "y".repeat(at % 400 * 40))
        };
        let file = server.file(&db, "more", (0..500).map(line).collect::<String>());
        db.sql(&load_data("a", &file));
        let before = files(&server, &db);
        let append = LoadOptions { mode: Mode::Append, ..options(&server, &db, &file) };
        let report = server.load(&append).unwrap();
        assert_eq!((report.path, report.rows, report.partitions), ("direct", 500, 1));
        assert!(
            report.why.contains("the partition with new rows is rebuilt with its old rows, and"),
            "{}",
            report.why
        );
        let after = files(&server, &db);
        let changed: Vec<_> = before.iter().zip(&after).filter(|(old, new)| old != new).collect();
        assert_eq!((before.len(), changed.len()), (4, 1), "{changed:?}");
        assert!(changed[0].0.0.contains("p9"), "{changed:?}");
        assert_eq!(db.tables(), ["a", "b"]);
        if is_counted {
            same_rows(&mut db, "b", "a", shape.indexes);
            db.sql("INSERT INTO b (d, k) VALUES ('1986-01-01', -1)");
            continue;
        }
        shape.same(&mut db);
        for table in ["a", "b"] {
            db.sql(&format!("DELETE FROM {table} WHERE id % 5 = {round} AND d > '2012-01-01'"));
            db.sql(&format!("UPDATE {table} SET t = REVERSE(CONCAT(t, 'z')) WHERE id % 7 = 0"));
            db.sql(&format!("INSERT INTO {table} (d, k) VALUES ('2030-01-01', -{round} - 10)"));
        }
        shape.same(&mut db);
    }
    db.sql("INSERT INTO a SELECT * FROM b WHERE d = '1986-01-01' AND k = -1");
    // One that is there already, which is a fault of the file as of any.
    let there = db.text("SELECT CONCAT_WS('\t', id, d, k) FROM a WHERE d > '2020-01-01' ORDER BY id LIMIT 1 OFFSET 7");
    let file = server.file(&db, "again", format!("99999\t2020-02-02\t-77\tx\n{there}\tx\n"));
    let append = LoadOptions { mode: Mode::Append, ..options(&server, &db, &file) };
    let error = server.load(&append).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("as a row of the table"), "{error}");
    same_rows(&mut db, "b", "a", shape.indexes);
    assert_eq!(db.tables(), ["a", "b"]);
}

#[test]
fn rows_are_added_to_several_partitions_at_once() {
    added_to_several(&SHAPES[..2]);
}

#[test]
#[ignore = "some seconds a shape; make soak runs it"]
fn rows_are_added_to_several_partitions_of_all_shapes() {
    added_to_several(SHAPES);
}

/// Partitions that get no rows are taken over, those that do are merged.
fn added_to_several(shapes: &[Shape]) {
    let Some(server) = Server::get() else { return };
    let random = &mut Random::new(Random::seed_of_run());
    for shape in shapes {
        let mut db = both_with_rows(&server, random, shape);
        let mut text = String::new();
        for round in 1..3 {
            text = shape.more(random, round);
            let file = server.file(&db, "more", &text);
            db.sql(&load_data("a", &file));
            let append = LoadOptions { mode: Mode::Append, ..options(&server, &db, &file) };
            let report = server.load(&append).unwrap();
            assert_eq!((report.path, report.rows), ("direct", ROWS as u64), "{}", shape.what);
            assert!(report.partitions > 1, "{}: {report:?}", shape.what);
            assert!(
                report
                    .why
                    .contains("partitions, so these are rebuilt with their old rows, and all"),
                "{}",
                report.why
            );
            shape.same(&mut db);
            change(&mut db, shape);
            assert_eq!(db.tables(), ["a", "b"]);
        }
        if shape.what.contains("no key") {
            continue;
        }
        // One that is there already, behind others: neither is in.
        let there = text.lines().rfind(|line| !line.starts_with("DREI")).unwrap();
        let text = format!("{}{there}\n", shape.more(random, 9));
        let file = server.file(&db, "again", text);
        let append = LoadOptions { mode: Mode::Append, ..options(&server, &db, &file) };
        let error = server.load(&append).unwrap_err().to_string();
        assert!(error.contains("as a row of the table"), "{}: {error}", shape.what);
        shape.same(&mut db);
        assert_eq!(db.tables(), ["a", "b"]);
    }
}

#[test]
fn a_row_behind_the_first_ones_may_go_to_another_partition() {
    let Some(server) = Server::get() else { return };
    let random = &mut Random::new(Random::seed_of_run());
    let shape = &SHAPES[0];
    let mut db = both_with_rows(&server, random, shape);
    for (first, block_seconds_max) in [(80_000, None), (90_000, Some(1))] {
        let line = |at: usize| {
            let year = if at == 2_999 { 1985 } else { 2020 };
            format!("{}\t{year}-01-01\t{}\tx\n", first + at, first + at)
        };
        let file = server.file(&db, "late", (0..3_000).map(line).collect::<String>());
        let mut append = LoadOptions { mode: Mode::Append, ..options(&server, &db, &file) };
        append.server.write_block_seconds_max = block_seconds_max;
        // A partition took 0.6 s in loads before.
        append.state_dir = file.with_extension("state");
        remember_partitions(&append.state_dir, 0.6);
        let loaded = server.load(&append);
        let Some(max) = block_seconds_max else {
            let report = loaded.unwrap();
            assert_eq!((report.path, report.rows), ("direct", 3_000), "{}", report.why);
            db.sql(&load_data("a", &file));
            shape.same(&mut db);
            continue;
        };
        // One partition would be built in that time, and not four.
        let error = loaded.unwrap_err().to_string();
        let allowed = format!("--max-write-block allows {max} s");
        assert!(error.contains("several partitions") && error.contains(&allowed), "{error}");
        shape.same(&mut db);
        assert_eq!(db.tables(), ["a", "b"]);
    }
}

/// Leaves what loads before are taken to have left in a state folder.
fn remember_partitions(folder: &Path, seconds: f64) {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::DirBuilder::new().mode(0o700).create(folder).unwrap();
    let speeds = format!(
        r#"{{"loads":1,"build":3e8,"sort":4e8,"verify":1e9,"import":1e9,"stream_work":7e7,
        "insert_work":7e7,"partition_seconds":{seconds}}}"#
    );
    let path = folder.join("speeds.json");
    std::fs::write(&path, speeds).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn more_partitions_than_files_can_be_open_are_refused_by_name() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let file = server.file(&db, "rows", "1\n2\n");
    db.sql("CREATE TABLE b (a INT) PARTITION BY HASH (a) PARTITIONS 129");
    let error = server.load(&options(&server, &db, &file)).unwrap_err().to_string();
    assert!(error.contains("129 partitions: the direct path builds 128 at most"), "{error}");
}
