//! AUTO_INCREMENT values where rows are skipped or replaced: those of LOAD DATA IGNORE, which gives
//! the number of a row it skips to the next, and of LOAD DATA REPLACE, which does not.

use load::{Memory, OnDuplicate};

use testkit::Random;
use testkit::tables::compare::same_rows;
use testkit::tables::server::{Db, Server};

const TABLES: [&str; 5] = [
    "(id INT AUTO_INCREMENT PRIMARY KEY, u INT NULL UNIQUE KEY)",
    "(id BIGINT UNSIGNED AUTO_INCREMENT, u INT NOT NULL PRIMARY KEY, KEY (id))",
    "(u INT NULL, id SMALLINT AUTO_INCREMENT, UNIQUE KEY (id, u), UNIQUE KEY (u DESC), KEY (id))",
    "(id INT AUTO_INCREMENT UNIQUE KEY, u INT NOT NULL, UNIQUE KEY u (u)) AUTO_INCREMENT=20",
    // Full soon, if skipped rows gave no numbers back.
    "(id TINYINT AUTO_INCREMENT PRIMARY KEY, u INT NULL UNIQUE KEY)",
];

const CASES: usize = 40;

/// The same with rows among them that are refused, which take no number.
fn with_refused(random: &mut Random, text: &str) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    for _ in 0..random.below(4) {
        let bad = random.pick(&["\\N\tbad\n", "7\t1x\n", "0\n"]);
        lines.insert(random.below(lines.len() + 1), bad);
    }
    lines.concat()
}

fn options(server: &Server, db: &Db, file: &str, random: &mut Random) -> load::LoadOptions {
    let mut options = server.options(db, "b", vec![server.file(db, "input", file)]);
    options.input.columns = Some(vec!["id".to_owned(), "u".to_owned()]);
    options.limits.shares = Some(Memory {
        threads: random.between(1, 3),
        chunk_bytes: random.pick(&[20, 200, 2000]),
        record_bytes_max: 1 << 20,
        batch_bytes: 0,
        entry_bytes: 100,
        run_bytes: 8 << 20,
    });
    options
}

/// Rows of `id`, `u`: numbers given seldom, always, or now and then.
fn file(random: &mut Random) -> String {
    let rows = random.pick(&[3, 8, 30, 200]);
    let values = random.pick(&[2, 10, 40, 100]);
    let given_of_10 = random.pick(&[0, 1, 5, 10]);
    let row = |_| {
        let id = match random.below(10) < given_of_10 {
            true => random.between(1, 60).to_string(),
            false => random.pick(&["\\N", "0"]).to_owned(),
        };
        let u = match random.chance(12) {
            true => "77".to_owned(),
            false => random.below(values).to_string(),
        };
        format!("{id}\t{u}\n")
    };
    (0..rows).map(row).collect()
}

#[test]
fn numbers_are_those_of_load_data_where_rows_are_left_out() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let mut compared = 0;
    let cases = std::env::var("INRUSH_CASES").ok().and_then(|text| text.parse().ok());
    for seed in 0..cases.unwrap_or(CASES) as u64 {
        let random = &mut Random::new(Random::seed_of_run() + seed);
        let table = random.pick(&TABLES);
        let text = file(random);
        for (on_duplicate, word) in
            [(OnDuplicate::Skip, "IGNORE"), (OnDuplicate::Replace, "REPLACE")]
        {
            let what = format!("seed {seed} {word} {table}");
            db.sql("DROP TABLE IF EXISTS a, b");
            db.sql(&format!("CREATE TABLE a {table}"));
            db.sql(&format!("CREATE TABLE b {table}"));
            let path = server.file(&db, "theirs", &text).display().to_string();
            let ours = with_refused(random, &text);
            let mut options = options(&server, &db, &ours, random);
            let theirs =
                db.try_sql(&format!("LOAD DATA INFILE '{path}' {word} INTO TABLE a (id, u)"));
            // It adjusts numbers that are too large to fit, and may refuse a given number that is
            // the last it generated for a row that was replaced since.
            let is_adjusted = word == "IGNORE"
                && db.warnings().iter().any(|(_, text)| text.starts_with("Out of range"));
            if theirs.is_err() || is_adjusted {
                println!("{what}: {theirs:?}");
                continue;
            }
            options.rows.on_duplicate = on_duplicate;
            options.rows.rejects_max = random.pick(&[3, 100]);
            let report = server.load(&options).unwrap_or_else(|e| panic!("{what}: {e}\n{ours}"));
            assert_eq!(report.rows, db.number("SELECT COUNT(*) FROM a"), "{what}");
            let rows = |db: &mut Db, table: &str| {
                let sql = format!("SELECT CONCAT_WS(' ', id, u) FROM {table} ORDER BY id, u");
                db.rows(&sql).iter().map(|row| row.text_lossy(0)).collect::<Vec<_>>()
            };
            assert_eq!(rows(&mut db, "b"), rows(&mut db, "a"), "{what}\n{ours}");
            let has_hidden_id = table.contains("u INT NULL, id");
            if !(has_hidden_id && on_duplicate == OnDuplicate::Replace) {
                same_rows(&mut db, "b", "a", &[]);
            }
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}
