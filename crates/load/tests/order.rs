//! Duplicates that are skipped, replaced or updated on the paths stream and insert: whoever comes
//! first in the input, over however many connections.

use load::{LoadOptions, LoadPath, Memory, Mode, OnDuplicate, Report};

use testkit::Random;
use testkit::tables::compare::same_rows;
use testkit::tables::server::{Db, Server};

const ROWS: usize = 12_000;

/// Several unique keys, of which one ignores case and accents, one may be NULL, one is a prefix.
const SEVERAL: &str = "id INT PRIMARY KEY, u VARCHAR(20) CHARACTER SET utf8mb4 \
     COLLATE utf8mb4_uca1400_ai_ci NULL, v INT NULL, c VARCHAR(30), \
     UNIQUE KEY u (u, v DESC), UNIQUE KEY w (c(6))";
const ONE: &str = "id INT PRIMARY KEY, u VARCHAR(20) CHARACTER SET utf8mb4, v INT NULL, \
     c VARCHAR(30), KEY v (v)";

/// Lines whose keys meet others in the same chunk, in the next, and far away.
fn lines(random: &mut Random, rows: usize, ids: usize) -> String {
    let texts = ["a", "\u{c1}", "B", "b", "stra\u{df}e", "STRASSE", "\\N", "x y"];
    let line = |number: usize| {
        let id = match random.below(4) {
            0 => random.below(ids),
            // Beside those before it.
            1 => number.saturating_sub(random.below(300)),
            _ => number,
        };
        let text = texts[random.below(texts.len())];
        let v = if random.chance(5) { "\\N".to_owned() } else { random.below(4000).to_string() };
        format!("{id}\t{text}\t{v}\t{:06}{}\n", random.below(60_000), random.below(9))
    };
    (0..rows).map(line).collect()
}

/// Many small chunks over many connections.
fn options(server: &Server, db: &Db, path: LoadPath, text: &str) -> LoadOptions {
    let file = server.file(db, "input", text);
    let mut options = server.options(db, "b", vec![file]);
    options.path = path;
    options.limits.batches.connections = Some(6);
    options.limits.shares = Some(Memory {
        threads: 2,
        chunk_bytes: 6_000,
        record_bytes_max: 1 << 20,
        batch_bytes: 64 << 10,
        entry_bytes: 20_000,
        run_bytes: 16 << 20,
    });
    options
}

/// Loads the input by the server itself, row after row.
fn oracle(db: &mut Db, server: &Server, text: &str, rule: OnDuplicate) {
    let file = server.file(db, "theirs", text);
    let load = |words: &str| format!("LOAD DATA INFILE '{}' {words}", file.display());
    let load = |words: &str| format!("{} CHARACTER SET utf8mb4", load(words));
    match rule {
        OnDuplicate::Skip => drop(db.sql(&load("IGNORE INTO TABLE a"))),
        OnDuplicate::Replace => drop(db.sql(&load("REPLACE INTO TABLE a"))),
        OnDuplicate::Update => {
            db.sql(
                "CREATE OR REPLACE TABLE staged (n INT AUTO_INCREMENT PRIMARY KEY, id INT, \
                 u VARCHAR(20) CHARACTER SET utf8mb4, v INT, c VARCHAR(30))",
            );
            db.sql(&format!("{} (id, u, v, c)", load("INTO TABLE staged")));
            db.sql(
                "INSERT INTO a (id, u, v, c) SELECT id, u, v, c FROM staged ORDER BY n \
                 ON DUPLICATE KEY UPDATE u=VALUES(u), v=VALUES(v), c=VALUES(c)",
            );
            db.sql("DROP TABLE staged");
        }
        OnDuplicate::Fail => unreachable!("nothing to compare"),
    }
}

fn both(db: &mut Db, columns: &str, filling: &str) {
    db.sql(&format!("CREATE OR REPLACE TABLE b ({columns}) ENGINE=InnoDB"));
    if !filling.is_empty() {
        db.sql(&format!("INSERT IGNORE INTO b {filling}"));
    }
    db.sql("CREATE OR REPLACE TABLE a LIKE b");
    db.sql("INSERT INTO a SELECT * FROM b");
}

/// Rows that are there, some with the keys of later ones.
const FILLING: &str =
    "SELECT seq * 7, 'B', seq * 3, CONCAT(LPAD(seq * 20, 6, '0'), 'x') FROM seq_1_to_1500";

#[test]
fn the_order_of_the_input_decides_who_stays() {
    let Some(server) = Server::get() else { return };
    let mut random = Random::new(Random::seed_of_run());
    let mut db = server.database();
    for rule in [OnDuplicate::Skip, OnDuplicate::Replace] {
        for path in [LoadPath::Stream, LoadPath::Insert] {
            for mode in [Mode::Insert, Mode::Append] {
                let text = lines(&mut random, ROWS, 6000);
                both(&mut db, SEVERAL, if mode == Mode::Append { FILLING } else { "" });
                let mut options = options(&server, &db, path, &text);
                options.mode = mode;
                options.rows.on_duplicate = rule;
                let before = db.number("SELECT COUNT(*) FROM b");
                let report: Report = server.load(&options).unwrap();
                let logical = report.logical.as_ref().unwrap();
                assert!(logical.chunks > 20, "{logical:?}");
                let serial = report.notes.iter().any(|note| note.contains("one after the other"));
                assert!(!serial, "{:?}", report.notes);
                oracle(&mut db, &server, &text, rule);
                same_rows(&mut db, "b", "a", &["u", "w"]);
                if rule == OnDuplicate::Skip {
                    let after = db.number("SELECT COUNT(*) FROM b");
                    assert_eq!(report.rows, after - before);
                    assert_eq!(report.rows + report.duplicates, ROWS as u64);
                }
            }
        }
    }
}

#[test]
fn the_last_row_of_a_key_updates_it() {
    let Some(server) = Server::get() else { return };
    let mut random = Random::new(Random::seed_of_run());
    let mut db = server.database();
    for path in [LoadPath::Insert, LoadPath::Stream] {
        for mode in [Mode::Insert, Mode::Append] {
            let text = lines(&mut random, ROWS, 6000);
            both(&mut db, ONE, if mode == Mode::Append { FILLING } else { "" });
            let mut options = options(&server, &db, path, &text);
            options.mode = mode;
            options.rows.on_duplicate = OnDuplicate::Update;
            match server.load(&options) {
                Ok(_) => {}
                // LOAD DATA has no such rule.
                Err(_) if path == LoadPath::Stream => continue,
                Err(error) => panic!("{error}"),
            }
            oracle(&mut db, &server, &text, OnDuplicate::Update);
            same_rows(&mut db, "b", "a", &["v"]);
        }
    }
}

/// An update may free a key of the row that it changes, so with several keys chunks cannot tell
/// whether they meet.
#[test]
fn updates_by_several_keys_come_one_after_the_other() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let columns = "id INT PRIMARY KEY, u VARCHAR(20) CHARACTER SET utf8mb4, v INT NULL, \
         c VARCHAR(30), UNIQUE KEY v (v)";
    // The row of id n has v n or n + 100000; the one with the other v is gone by then.
    let line = |n: usize| format!("{}\tx\t{}\tc{n}\n", n % 900, n % 900 + 100_000 * (n / 900 % 2));
    let text: String = (0..ROWS).map(line).collect();
    both(&mut db, columns, "SELECT seq + 200000, 'B', seq + 100000, 'old' FROM seq_1_to_300");
    let mut options = options(&server, &db, LoadPath::Insert, &text);
    options.mode = Mode::Append;
    options.rows.on_duplicate = OnDuplicate::Update;
    let report = server.load(&options);
    let text_of = |report: &Report| report.notes.join("; ");
    // Rows that are there have a v that rows of the input take: who comes second is refused.
    let refused = report.map(|report| text_of(&report)).map_err(|error| error.to_string());
    assert!(refused.as_ref().is_err_and(|error| error.contains("Duplicate entry")), "{refused:?}");
    // The rows that it lists went with their table.
    for ledger in db.tables().iter().filter(|name| name.starts_with("_inrush_ledger_")) {
        db.sql(&format!("DROP TABLE `{ledger}`"));
    }
    both(&mut db, columns, "SELECT seq + 200000, 'B', seq + 300000, 'old' FROM seq_1_to_300");
    let report = server.load(&options).unwrap();
    assert!(text_of(&report).contains("one after the other"), "{:?}", report.notes);
    oracle(&mut db, &server, &text, OnDuplicate::Update);
    same_rows(&mut db, "b", "a", &["v"]);
}

/// Sorted by primary key, rows of one key keep the order of the input.
#[test]
fn sorted_rows_of_one_key_keep_their_order() {
    let Some(server) = Server::get() else { return };
    let mut random = Random::new(Random::seed_of_run());
    let mut db = server.database();
    for (rule, path) in [
        (OnDuplicate::Skip, LoadPath::Stream),
        (OnDuplicate::Replace, LoadPath::Insert),
        (OnDuplicate::Update, LoadPath::Insert),
    ] {
        let text = lines(&mut random, ROWS, 3000);
        both(&mut db, ONE, "");
        let mut options = options(&server, &db, path, &text);
        options.rows.on_duplicate = rule;
        options.limits.sort_input = Some(true);
        let report = server.load(&options).unwrap();
        assert!(report.stages.iter().any(|stage| stage.name == "sort"), "{:?}", report.stages);
        oracle(&mut db, &server, &text, rule);
        same_rows(&mut db, "b", "a", &["v"]);
    }
}

/// A key that cannot be compared here puts chunks one after the other.
#[test]
fn keys_that_only_the_server_knows_are_taken_in_order() {
    let Some(server) = Server::get() else { return };
    let mut random = Random::new(Random::seed_of_run());
    let mut db = server.database();
    let columns = "id INT, u VARCHAR(20) CHARACTER SET utf8mb4, v INT NULL, c VARCHAR(30), \
         g INT AS (id DIV 3) PERSISTENT, PRIMARY KEY (id), UNIQUE KEY g (g)";
    for rule in [OnDuplicate::Skip, OnDuplicate::Replace] {
        let text = lines(&mut random, ROWS / 4, 3000);
        both(&mut db, columns, "");
        let mut options = options(&server, &db, LoadPath::Stream, &text);
        options.rows.on_duplicate = rule;
        options.input.columns = Some(["id", "u", "v", "c"].map(str::to_owned).to_vec());
        let report = server.load(&options).unwrap();
        let notes = report.notes.join("; ");
        assert!(notes.contains("one after the other"), "{notes}");
        let file = server.file(&db, "theirs", &text);
        let word = if rule == OnDuplicate::Skip { "IGNORE" } else { "REPLACE" };
        db.sql(&format!(
            "LOAD DATA INFILE '{}' {word} INTO TABLE a CHARACTER SET utf8mb4 (id, u, v, c)",
            file.display()
        ));
        // CHECKSUM TABLE does not always say the same of one table with such a column twice.
        for (ours, theirs) in [("a", "b"), ("b", "a")] {
            let sql = format!("SELECT * FROM {ours} EXCEPT SELECT * FROM {theirs} LIMIT 3");
            let rows: Vec<String> =
                db.rows(&sql).iter().map(testkit::tables::compare::show).collect();
            assert!(rows.is_empty(), "{rule:?}: only in {ours}: {rows:?}");
        }
        let count = |db: &mut Db, table: &str| {
            db.number(&format!("SELECT COUNT(*) FROM {table} FORCE INDEX (g) WHERE g >= 0"))
        };
        assert_eq!(count(&mut db, "b"), count(&mut db, "a"));
    }
}

/// A row that is replaced has used up its number, as with LOAD DATA REPLACE; one that is skipped
/// has too, where LOAD DATA IGNORE gives it to the next.
#[test]
fn generated_numbers_under_replace_are_those_of_load_data() {
    let Some(server) = Server::get() else { return };
    let mut random = Random::new(Random::seed_of_run());
    let mut db = server.database();
    let columns = "id INT AUTO_INCREMENT PRIMARY KEY, u INT, c VARCHAR(9), UNIQUE KEY u (u)";
    let text: String =
        (0..ROWS).map(|row| format!("{}\tc{}\n", random.below(9000), row % 1000)).collect();
    for path in [LoadPath::Stream, LoadPath::Insert] {
        for rule in [OnDuplicate::Replace, OnDuplicate::Skip] {
            both(&mut db, columns, "");
            let mut options = options(&server, &db, path, &text);
            options.rows.on_duplicate = rule;
            options.input.columns = Some(["u", "c"].map(str::to_owned).to_vec());
            let report = server.load(&options).unwrap();
            let is_noted = report
                .notes
                .iter()
                .any(|note| note.contains("skipped rows used AUTO_INCREMENT values"));
            assert_eq!(is_noted, rule == OnDuplicate::Skip, "{:?}", report.notes);
            let file = server.file(&db, "theirs", &text);
            let word = if rule == OnDuplicate::Skip { "IGNORE" } else { "REPLACE" };
            let load = format!("LOAD DATA INFILE '{}' {word} INTO TABLE a (u, c)", file.display());
            db.sql(&load);
            if rule == OnDuplicate::Replace {
                same_rows(&mut db, "b", "a", &["u"]);
            } else {
                // The same rows in the same order.
                let rows = |db: &mut Db, table: &str| -> Vec<String> {
                    let sql = format!("SELECT u, c FROM {table} ORDER BY id");
                    db.rows(&sql).iter().map(testkit::tables::compare::show).collect()
                };
                assert_eq!(rows(&mut db, "b"), rows(&mut db, "a"));
            }
        }
    }
}

/// Each row refers to the one before it in the input: one that came in earlier would be refused.
#[test]
fn rows_that_refer_to_rows_before_them_go_in_after_them() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    // Against the order of the primary key, so that they would be worth sorting too.
    let text: String = (0..ROWS)
        .rev()
        .map(|id| match id + 1 {
            ROWS => format!("{id}\t\\N\n"),
            before => format!("{id}\t{before}\n"),
        })
        .collect();
    for (mode, atomic) in [(Mode::Append, false), (Mode::Append, true), (Mode::Insert, false)] {
        db.sql(
            "CREATE OR REPLACE TABLE b (id INT PRIMARY KEY, before_it INT NULL, \
             FOREIGN KEY (before_it) REFERENCES b (id)) ENGINE=InnoDB",
        );
        let mut options = options(&server, &db, LoadPath::Stream, &text);
        options.mode = mode;
        options.atomic = atomic;
        options.limits.sort_input = Some(true);
        let report = server.load(&options).unwrap();
        assert_eq!(report.rows, ROWS as u64, "{mode:?}");
        assert_eq!(db.number("SELECT COUNT(*) FROM b"), ROWS as u64);
    }
}

/// Changes of a key by a trigger are unknown to a load.
#[test]
fn rows_whose_keys_a_trigger_changes_keep_their_order() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let text: String = (0..ROWS).map(|row| format!("{}\t{row}\n", row * 7 % 5000)).collect();
    for rule in [OnDuplicate::Skip, OnDuplicate::Replace] {
        for table in ["a", "b"] {
            db.sql(&format!(
                "CREATE OR REPLACE TABLE {table} (id INT PRIMARY KEY, c INT) ENGINE=InnoDB"
            ));
            db.sql(&format!(
                "CREATE TRIGGER {table}_key BEFORE INSERT ON {table} FOR EACH ROW \
                 SET NEW.id = NEW.id MOD 50"
            ));
        }
        let mut options = options(&server, &db, LoadPath::Stream, &text);
        options.mode = Mode::Append;
        options.rows.on_duplicate = rule;
        options.limits.sort_input = Some(true);
        server.load(&options).unwrap();
        let file = server.file(&db, "theirs", &text);
        let word = if rule == OnDuplicate::Skip { "IGNORE" } else { "REPLACE" };
        db.sql(&format!("LOAD DATA INFILE '{}' {word} INTO TABLE a", file.display()));
        same_rows(&mut db, "b", "a", &[]);
    }
}
