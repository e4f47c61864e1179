//! Tables that were altered with ALGORITHM=INSTANT: their rows have several forms, and are read in the current one.

use std::fs;
use std::path::Path;

use testkit::TestServer;

use super::Scene;
use crate::support::{Outcome, run};

/// A table and its alterations; `{}` is its name.
struct AlteredTable {
    name: &'static str,
    create: &'static str,
    /// Statements in order. `seq` is a table of the numbers `n` from 1 to 3,000.
    steps: &'static [&'static str],
    /// Columns of the loaded file, and a line of it.
    columns: &'static str,
    line: fn(u32) -> String,
}

const ALTERED_TABLES: &[AlteredTable] = &[
    AlteredTable {
        name: "columns added, dropped, added again and renamed",
        create: "CREATE TABLE {} (k VARCHAR(20) CHARACTER SET latin1, a INT NOT NULL, b INT, c VARCHAR(300), \
                 e ENUM('x','y'), s SET('p','q'), l LONGTEXT, h CHAR(5), PRIMARY KEY (k), KEY c (c(20)), UNIQUE KEY a (a))",
        steps: &[
            "INSERT INTO {} SELECT CONCAT('a', n), n, NULLIF(n%7, 0), CONCAT('first ', n*37%100), 1+n%2, n%4, \
             IF(n%10=0, REPEAT('long', 4000+n), 'short'), n FROM seq WHERE n <= 600",
            "ALTER TABLE {} ADD COLUMN z INT NOT NULL DEFAULT 7 FIRST, ALGORITHM=INSTANT",
            "INSERT INTO {} SELECT n, CONCAT('b', n), 1000+n, n, REPEAT('c', n%300), 1, 2, NULL, NULL FROM seq WHERE n <= 300",
            "ALTER TABLE {} DROP COLUMN b, DROP COLUMN e, DROP COLUMN h, ALGORITHM=INSTANT",
            "UPDATE {} SET z = z+1 WHERE a%11 = 0",
            "DELETE FROM {} WHERE a%13 = 0",
            "ALTER TABLE {} ADD COLUMN b VARCHAR(9) AFTER a, ADD COLUMN d DATETIME(3) NOT NULL DEFAULT '2020-01-02 03:04:05.678', \
             ADD COLUMN i INT NOT NULL, ALGORITHM=INSTANT",
            "ALTER TABLE {} RENAME COLUMN s TO ss, ALGORITHM=INSTANT",
            "INSERT INTO {} (k, a, c, b, l, i) SELECT CONCAT('c', n), 2000+n, NULL, n, IF(n%9, NULL, REPEAT('l', 9000)), n \
             FROM seq WHERE n <= 200",
            "ALTER TABLE {} ADD COLUMN j JSON, ADD COLUMN n DECIMAL(10,2) DEFAULT 1.25 AFTER k, DROP COLUMN ss, ALGORITHM=INSTANT",
            "UPDATE {} SET j = JSON_OBJECT('a', a) WHERE a%17 = 0",
            "UPDATE {} SET l = REPEAT('m', 20000) WHERE a%19 = 0",
        ],
        columns: "k,a,z,b,i,l",
        line: |row| {
            format!(
                "n{row}\t{}\t{row}\t\\N\t{row}\t{}",
                5000 + row,
                "new".repeat(row as usize % 90 * 100)
            )
        },
    },
    AlteredTable {
        name: "no key",
        create: "CREATE TABLE {} (x INT, y CHAR(9) CHARACTER SET latin1, z BINARY(3), KEY x (x))",
        steps: &[
            "INSERT INTO {} SELECT n, n, 'z' FROM seq",
            "ALTER TABLE {} DROP COLUMN y, ADD COLUMN w DATETIME DEFAULT '2020-01-02 03:04:05', ALGORITHM=INSTANT",
            "INSERT INTO {} SELECT n, NULL, NULL FROM seq",
            "ALTER TABLE {} DROP COLUMN z, ALGORITHM=INSTANT",
        ],
        columns: "x,w",
        line: |row| format!("{row}\t2021-02-03 04:05:06"),
    },
    AlteredTable {
        name: "a key of a prefix, in ROW_FORMAT=COMPACT",
        create: "CREATE TABLE {} (c VARCHAR(30) NOT NULL, x CHAR(4), n INT NOT NULL, t MEDIUMTEXT, \
                 PRIMARY KEY (n, c(5) DESC), KEY c (c)) ROW_FORMAT=COMPACT",
        steps: &[
            "INSERT INTO {} SELECT CONCAT('row ', n), n%10, n, REPEAT('t', n*13%9000) FROM seq WHERE n <= 500",
            "ALTER TABLE {} ADD COLUMN f INT NOT NULL DEFAULT 7 FIRST, DROP COLUMN x, ALGORITHM=INSTANT",
            "INSERT INTO {} SELECT n, CONCAT('row ', n), -n, NULL FROM seq WHERE n <= 500",
        ],
        columns: "c,n,t",
        line: |row| format!("new {row}\t{}\t{}", 10_000 + row, "u".repeat(row as usize * 100)),
    },
    AlteredTable {
        name: "many nullable columns, and a key of text on three levels",
        create: "CREATE TABLE {} (k VARCHAR(700) CHARACTER SET latin1, n1 INT, n2 INT, n3 INT, n4 INT, n5 INT, n6 INT, n7 INT, \
                 pad VARCHAR(900), PRIMARY KEY (k), KEY n1 (n1))",
        steps: &[
            "INSERT INTO {} SELECT CONCAT(n, REPEAT('k', 600)), n, 2, NULL, 4, 5, 6, 7, REPEAT('p', n%900) FROM seq",
            "ALTER TABLE {} ADD COLUMN n8 INT, ADD COLUMN n9 INT DEFAULT 9, ADD COLUMN n10 INT, ALGORITHM=INSTANT",
            "INSERT INTO {} SELECT CONCAT(n, REPEAT('m', 600)), n, 2, NULL, 4, 5, 6, 7, NULL, 8, NULL, 10 FROM seq",
            "ALTER TABLE {} DROP COLUMN n2, ALGORITHM=INSTANT",
            "INSERT INTO {} (k, n1, n10) SELECT CONCAT(n, REPEAT('o', 600)), n, n FROM seq",
        ],
        columns: "k,n1,n8",
        line: |row| format!("{row}{}\t\\N\t{row}", "q".repeat(600)),
    },
    AlteredTable {
        name: "partitions",
        create: "CREATE TABLE {} (id INT NOT NULL AUTO_INCREMENT, w VARCHAR(60), x INT, PRIMARY KEY (id), KEY x (x)) \
                 PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (1000), \
                 PARTITION p1 VALUES LESS THAN (100000), PARTITION p2 VALUES LESS THAN MAXVALUE)",
        steps: &[
            "INSERT INTO {} SELECT n, n, n%9 FROM seq",
            "ALTER TABLE {} ADD COLUMN later INT NOT NULL DEFAULT 7 FIRST, DROP COLUMN w, ALGORITHM=INSTANT",
            "INSERT INTO {} SELECT n, n+100000, n%9 FROM seq",
        ],
        columns: "later,id,x",
        line: |row| format!("{row}\t{}\t5", 5_000 + row),
    },
    AlteredTable {
        name: "rows for several partitions",
        create: "CREATE TABLE {} (id INT NOT NULL, x INT, PRIMARY KEY (id)) PARTITION BY HASH (id) PARTITIONS 3",
        steps: &[
            "INSERT INTO {} SELECT n, n FROM seq",
            "ALTER TABLE {} ADD COLUMN y VARCHAR(20) DEFAULT 'added' AFTER id, ALGORITHM=INSTANT",
            "INSERT INTO {} SELECT n+5000, 'since', n FROM seq",
            "ALTER TABLE {} ADD COLUMN v INT, ALGORITHM=INSTANT",
        ],
        columns: "id,x",
        line: |row| format!("{}\t{row}", 20_000 + row),
    },
];

/// Rows of a loaded file.
const LINES: u32 = 500;

impl AlteredTable {
    /// Creates and alters the tables `a` and `b` in the same way.
    fn create_both(&self, scene: &mut Scene) {
        for table in ["a", "b"] {
            scene.exec(&format!("DROP TABLE IF EXISTS {table}"));
            for sql in [&self.create].into_iter().chain(self.steps) {
                scene.exec(&sql.replace("{}", table));
            }
        }
    }

    /// Adds rows, from this number on.
    fn append(&self, scene: &mut Scene, first: u32) -> Outcome {
        let lines: String = (first..first + LINES).map(|row| (self.line)(row) + "\n").collect();
        let file = scene.home.file("rows.txt", lines);
        append(scene, &file, self.columns)
    }
}

/// Adds the rows of a file to `a` by LOAD DATA, and to `b` by the direct path.
fn append(scene: &mut Scene, file: &Path, columns: &str) -> Outcome {
    scene.exec(&format!("LOAD DATA INFILE '{}' INTO TABLE a ({columns})", file.display()));
    let more = ["--unlogged", "--mode", "append", "--path", "direct", "--columns", columns];
    scene.load("b", file, &more)
}

/// A server that may read files, with the table `seq`.
fn scene() -> Option<Scene> {
    let mut scene = Scene::of(TestServer::mysql(vec!["--secure-file-priv=".to_owned()]))?;
    scene.exec(
        "CREATE TABLE seq AS WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n+1 FROM s WHERE n < 3000) \
         SELECT /*+ SET_VAR(cte_max_recursion_depth=5000) */ n FROM s",
    );
    Some(scene)
}

/// Asserts that `a` and `b` are equal, by their rows and through every index.
fn same(scene: &mut Scene, what: &str) {
    for (one, other) in [("a", "b"), ("b", "a")] {
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other}) rest"
        );
        assert_eq!(scene.lines(&sql), ["0"], "{what}: {one} without {other}");
    }
    let sums = scene.lines("CHECKSUM TABLE a, b");
    let sums: Vec<&str> =
        sums.iter().filter_map(|line| line.split_once('|')).map(|(_, sum)| sum).collect();
    assert!(sums[0] == sums[1] && sums[0] != "0", "{what}: {sums:?}");
    let check = scene.lines("CHECK TABLE b EXTENDED");
    assert!(check.len() == 1 && check[0].ends_with("|OK"), "{what}: {check:?}");
}

/// The row versions of a table, in all its files.
fn versions(scene: &mut Scene, table: &str) -> String {
    scene.lines(&format!(
        "SELECT SUM(TOTAL_ROW_VERSIONS) FROM information_schema.INNODB_TABLES WHERE NAME = 'd/{table}' OR NAME LIKE 'd/{table}#p#%'"
    ))[0]
        .clone()
}

fn export(scene: &Scene, table: &str, path: &str, format: &str) -> Vec<u8> {
    let file = scene.home.path().join(format!("{path}.{format}"));
    let mut command =
        scene.home.inrush(["export", &format!("d.{table}"), "-o", file.to_str().unwrap()]);
    command
        .args(["--force", "--path", path, "--threads", "2", "--socket"])
        .arg(scene.server.socket());
    run(&mut command).done();
    fs::read(&file).unwrap()
}

#[test]
fn rows_are_merged_into_tables_that_were_altered_instantly() {
    let Some(mut scene) = scene() else { return };
    for altered in ALTERED_TABLES {
        altered.create_both(&mut scene);
        assert_ne!(versions(&mut scene, "b"), "0", "{}", altered.name);
        same(&mut scene, altered.name);
        altered.append(&mut scene, 0).done();
        assert_eq!(versions(&mut scene, "b"), "0", "{}", altered.name);
        same(&mut scene, &format!("{}, merged", altered.name));
        // The merged table can be altered instantly and merged again.
        for table in ["a", "b"] {
            scene.exec(&format!("ALTER TABLE {table} ADD COLUMN most INT NOT NULL DEFAULT 3 FIRST, ALGORITHM=INSTANT"));
            let key = format!("CRC32({})", altered.columns.split(',').next().unwrap());
            scene.exec(&format!("UPDATE {table} SET most = most+1 WHERE {key}%3 = 0"));
            scene.exec(&format!("DELETE FROM {table} WHERE {key}%10 = 0"));
        }
        same(&mut scene, &format!("{}, changed", altered.name));
        altered.append(&mut scene, LINES).done();
        same(&mut scene, &format!("{}, merged again", altered.name));
    }
}

#[test]
fn a_merged_table_survives_a_restart_and_a_kill() {
    let Some(mut scene) = scene() else { return };
    ALTERED_TABLES[0].create_both(&mut scene);
    ALTERED_TABLES[0].append(&mut scene, 0).done();
    for is_killed in [false, true] {
        match is_killed {
            true => scene.server.kill_9().unwrap(),
            false => scene.server.stop().unwrap(),
        }
        scene.server.restart().unwrap();
        scene.session = scene.server.connect().unwrap();
        scene.exec("USE d");
        same(&mut scene, &format!("killed: {is_killed}"));
        for table in ["a", "b"] {
            scene
                .exec(&format!("UPDATE {table} SET z = z+1, l = REPEAT('u', 12000) WHERE a%3 = 0"));
        }
        same(&mut scene, &format!("killed: {is_killed}, changed"));
    }
}

#[test]
fn tables_that_were_altered_instantly_are_exported_from_their_files() {
    let Some(mut scene) = scene() else { return };
    for altered in ALTERED_TABLES {
        altered.create_both(&mut scene);
        for format in ["csv", "jsonl"] {
            let [direct, select] =
                ["direct", "select"].map(|path| export(&scene, "b", path, format));
            assert!(
                sorted(&direct) == sorted(&select) && !direct.is_empty(),
                "{}, {format}",
                altered.name
            );
        }
    }
}

fn sorted(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

/// 64 are the most that MySQL allows.
#[test]
fn rows_of_64_versions_are_read() {
    let Some(mut scene) = scene() else { return };
    for table in ["a", "b"] {
        scene.exec(&format!("DROP TABLE IF EXISTS {table}"));
        scene.exec(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, c0 INT, t VARCHAR(20))"));
        for version in 0..64 {
            scene.exec(&format!(
                "INSERT INTO {table} (id, t) VALUES ({version}, 'version {version}')"
            ));
            let change = match version % 4 {
                1 => format!("DROP COLUMN d{}", version - 1),
                2 => format!("ADD COLUMN d{version} VARCHAR(9) FIRST"),
                _ => format!("ADD COLUMN d{version} VARCHAR(9) DEFAULT 'new'"),
            };
            scene.exec(&format!("ALTER TABLE {table} {change}, ALGORITHM=INSTANT"));
        }
    }
    assert_eq!(versions(&mut scene, "b"), "64");
    let [direct, select] = ["direct", "select"].map(|path| export(&scene, "b", path, "csv"));
    assert_eq!(direct, select);
    let file = scene.home.file("rows.txt", "1000\tnew\n");
    append(&mut scene, &file, "id,t").done();
    same(&mut scene, "64 versions");
    assert_eq!(versions(&mut scene, "b"), "0");
}

/// Values of added columns make rows longer than a page has room for.
#[test]
fn rows_that_the_added_columns_make_too_long_are_sent() {
    let Some(mut scene) = scene() else { return };
    for table in ["a", "b"] {
        scene.exec(&format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(7000) CHARACTER SET latin1)"
        ));
        scene.exec(&format!(
            "INSERT INTO {table} SELECT n, REPEAT('v', 7000) FROM seq WHERE n < 20"
        ));
        for column in 0..4 {
            let text = "d".repeat(2900);
            scene.exec(&format!(
                "ALTER TABLE {table} ADD COLUMN d{column} VARCHAR(3000) CHARACTER SET latin1 DEFAULT '{text}', ALGORITHM=INSTANT"
            ));
        }
    }
    let file = scene.home.file("rows.txt", "1000\tnew\n");
    append(&mut scene, &file, "id,v")
        .refused(1, &["cannot be merged", "fits a page with the columns that were added"]);
    scene.load("b", &file, &["--path", "auto", "--mode", "append", "--columns", "id,v"]).done();
    same(&mut scene, "sent");
    let direct = ["--path", "direct", "--socket"];
    let mut refused = scene.home.inrush(["export", "d.b", "-o", "-"]);
    run(refused.args(direct).arg(scene.server.socket()))
        .refused(2, &["default values are longer than a page"]);
}

#[test]
fn a_plan_tells_that_all_partitions_of_an_altered_table_are_rebuilt() {
    let Some(mut scene) = scene() else { return };
    let altered = ALTERED_TABLES.iter().find(|altered| altered.name == "partitions").unwrap();
    let file = scene.home.file("rows.txt", "5000\t5\n");
    let plan = |scene: &Scene| {
        let more = ["--mode", "append", "--path", "direct", "--columns", "id,x", "--unlogged"];
        let mut plan = scene.home.inrush(["plan", "--into", "d.b"]);
        plan.arg(&file).args(more).arg("--socket").arg(scene.server.socket());
        run(&mut plan).done().out.clone()
    };
    for sql in [altered.create, altered.steps[0]] {
        scene.exec(&sql.replace("{}", "b"));
    }
    let planned = plan(&scene);
    assert!(planned.contains("the partition with new rows is rebuilt"), "{planned}");
    scene.exec(&altered.steps[1].replace("{}", "b"));
    let planned = plan(&scene);
    assert!(planned.contains("so all of its 3 partitions are rebuilt"), "{planned}");
}
