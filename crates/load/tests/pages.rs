//! A load of one chunk, filled as the server fills, writes the pages of the server's own sorted
//! build, byte for byte; whatever the number of threads, in both orders of rows.

use load::{LoadOptions, Memory};

use testkit::tables::compare::{Exported, same_rows, same_stored};
use testkit::tables::server::Server;

struct Case {
    name: &'static str,
    columns: &'static str,
    /// Rows, as SELECT .. FROM seq_1_to_<rows>.
    select: &'static str,
    rows: usize,
    indexes: &'static [&'static str],
    /// Levels of the tallest index, at least.
    levels: usize,
}

const CASES: [Case; 5] = [
    Case {
        name: "narrow",
        columns: "a INT NOT NULL, b SMALLINT NOT NULL, c INT NULL, d DATE NOT NULL,
            PRIMARY KEY (a, b), KEY k1 (d, c), KEY k2 (c DESC), UNIQUE KEY k3 (b, a DESC)",
        select: "seq DIV 3, seq % 3, NULLIF(seq * 7919 % 10007, 5), '2000-01-01' + INTERVAL seq % 9000 DAY",
        rows: 60_000,
        indexes: &["PRIMARY", "k1", "k2", "k3"],
        levels: 2,
    },
    Case {
        name: "wide keys",
        columns: "k VARCHAR(200) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL,
            u VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci NULL,
            c CHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, f DOUBLE NOT NULL,
            PRIMARY KEY (k), KEY k1 (u, c), KEY k2 (c(10) DESC, f), KEY k3 (f)",
        select: "CONCAT(MD5(seq), REPEAT('k', seq % 150), 'K'), IF(seq % 5, CONCAT('\u{e9}', MD5(seq)), NULL),
            CONCAT(seq % 700, '\u{f1} '), SIN(seq)",
        rows: 12_000,
        indexes: &["PRIMARY", "k1", "k2", "k3"],
        levels: 3,
    },
    Case {
        name: "no key",
        columns: "a INT NULL, t TEXT CHARACTER SET latin1 NULL, b VARBINARY(30) NOT NULL,
            KEY k1 (a), KEY k2 (t(12), b)",
        select: "seq % 3000, IF(seq % 9, REPEAT(CHAR(97 + seq % 26), seq % 90), NULL), LEFT(MD5(seq), seq % 31)",
        rows: 20_000,
        indexes: &["k1", "k2"],
        levels: 2,
    },
    Case {
        name: "off page",
        columns: "id BIGINT UNSIGNED NOT NULL, t MEDIUMTEXT CHARACTER SET utf8mb4 NULL, b BLOB NULL,
            v VARCHAR(3000) CHARACTER SET latin1 NOT NULL, PRIMARY KEY (id DESC), KEY k1 (t(20), b(9))",
        select: "seq * 11, IF(seq % 4, REPEAT('t\u{e9}', seq * 37 % 20000), ''), REPEAT('b', seq * 53 % 40000),
            REPEAT('v', seq % 3001)",
        rows: 400,
        indexes: &["PRIMARY", "k1"],
        levels: 2,
    },
    Case {
        name: "prefix key",
        columns: "t TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL, n DECIMAL(30,10) NOT NULL,
            PRIMARY KEY (t(40), n), KEY k1 (n DESC)",
        select: "CONCAT(seq % 600, REPEAT('\u{fc}', seq % 60)), seq / 7",
        rows: 6_000,
        indexes: &["PRIMARY", "k1"],
        levels: 2,
    },
];

#[test]
fn pages_are_those_of_the_servers_sorted_build() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    for case in &CASES {
        for format in ["DYNAMIC", "COMPACT"] {
            let name = format!("{} {format}", case.name);
            let create = |table: &str| {
                format!("CREATE OR REPLACE TABLE {table} ({}) ROW_FORMAT={format}", case.columns)
            };
            db.sql(&create("a"));
            db.sql(&format!("INSERT INTO a SELECT {} FROM seq_1_to_{}", case.select, case.rows));
            db.sql("ALTER TABLE a FORCE");
            let theirs = Exported::new(&server, &mut db, "a");
            let folder = server.folder(&db.name);
            // LOAD DATA's text of the rows, as they are stored and the other way round.
            let clustered = case.indexes[0] == "PRIMARY";
            let hint = if clustered { "FORCE INDEX (PRIMARY)" } else { "" };
            let orders: &[&str] = if clustered { &["", "reversed"] } else { &[""] };
            for order in orders {
                println!("{name} {order}");
                let path = folder.join("rows");
                let _ = std::fs::remove_file(&path);
                db.sql(&format!(
                    "SELECT * INTO OUTFILE '{}' CHARACTER SET utf8mb4 FROM a {hint}",
                    path.display()
                ));
                if *order == "reversed" {
                    reverse(&path);
                }
                db.sql(&create("b"));
                let mut options = server.options(&db, "b", vec![path]);
                whole(&mut options);
                let report = server.load(&options).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(report.rows, case.rows as u64, "{name}");
                assert_eq!(report.sorted_input, order.is_empty(), "{name}");
                let tallest = report.indexes.iter().map(|index| index.height).max();
                assert!(tallest >= Some(case.levels as u16), "{name}: {tallest:?} levels");
                let ours = Exported::new(&server, &mut db, "b");
                ours.verify(&mut db, &folder);
                same_stored(&ours, &theirs);
                same_rows(&mut db, "b", "a", case.indexes);
                ours.same_pages(&theirs);
            }
        }
    }
}

/// One chunk, one batch, one range: nothing ends in the middle of an index.
fn whole(options: &mut LoadOptions) {
    options.limits.fill.secondary_reserve = 0;
    options.limits.shares = Some(Memory {
        threads: 2,
        chunk_bytes: 128 << 20,
        record_bytes_max: 128 << 20,
        batch_bytes: 128 << 20,
        entry_bytes: 128 << 20,
        run_bytes: 128 << 20,
    });
}

/// Lines of a file the other way round; none of the values has a line end.
fn reverse(path: &std::path::Path) {
    let bytes = std::fs::read(path).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').rev().collect();
    std::fs::write(path, lines.concat()).unwrap();
}
