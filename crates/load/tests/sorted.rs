//! Rows out of key order on the paths stream and insert: sorted first, the same tables as by LOAD
//! DATA.

use load::{LoadOptions, LoadPath, Mode, Report};

use testkit::Random;
use testkit::tables::compare::same_rows;
use testkit::tables::server::{Db, Server};

const ROWS: u64 = 20_000;

/// Primary keys of `(id INT, t VARCHAR .., n INT, ..)`, whose collations order in different ways.
const KEYS: [&str; 5] = [
    "PRIMARY KEY (id)",
    "PRIMARY KEY (id DESC)",
    "PRIMARY KEY (t, id)",
    "PRIMARY KEY (t(3) DESC, n, id)",
    "PRIMARY KEY (n, t, id DESC)",
];

const COLUMNS: &str = "id INT NOT NULL, t VARCHAR(30) CHARACTER SET utf8mb4 \
     COLLATE utf8mb4_uca1400_ai_ci NOT NULL, n INT UNSIGNED NOT NULL, c VARCHAR(60), KEY n (n)";

/// Lines in random order, ids that are distinct, texts that are equal but for case and accents.
fn lines(random: &mut Random) -> Vec<String> {
    let texts =
        ["a", "B\u{e9}", "\u{c1}", "b e", "", "stra\u{df}e", "STRASSE", "\u{1f600}", "z\\\nz"];
    let mut lines: Vec<String> = (0..ROWS)
        .map(|id| {
            let text = texts[random.below(texts.len())];
            format!("{id}\t{text}\t{}\t{}\n", random.below(50), "x".repeat(random.below(60)))
        })
        .collect();
    random.shuffle(&mut lines);
    lines
}

fn options(server: &Server, db: &Db, path: LoadPath, texts: &[String]) -> LoadOptions {
    let file = |(number, text): (usize, &String)| server.file(db, &format!("input{number}"), text);
    let files = texts.iter().enumerate().map(file).collect();
    let mut options = server.options(db, "b", files);
    options.path = path;
    options.mode = Mode::Replace;
    options.limits.sort_input = Some(true);
    options
}

#[test]
fn sorted_rows_make_the_table_that_load_data_makes() {
    let Some(server) = Server::get() else { return };
    let mut random = Random::new(7);
    let mut db = server.database();
    for (number, key) in KEYS.iter().enumerate() {
        let lines = lines(&mut random);
        let (first, second) = lines.split_at(random.below(lines.len()));
        let texts = [first.concat(), second.concat()];
        db.sql(&format!("CREATE OR REPLACE TABLE b ({COLUMNS}, {key}) ENGINE=InnoDB"));
        db.sql("CREATE OR REPLACE TABLE a LIKE b");
        let path = if number % 2 == 0 { LoadPath::Stream } else { LoadPath::Insert };
        let mut options = options(&server, &db, path, &texts);
        options.limits.memory_bytes_max = [32 << 20, 256 << 20][number / 2 % 2];
        let report: Report = server.load(&options).unwrap();
        assert_eq!((report.rows, report.rejects, report.sorted_input), (ROWS, 0, false), "{key}");
        assert!(report.stages.iter().any(|stage| stage.name == "sort"), "{:?}", report.stages);
        assert!(report.logical.unwrap().chunks > 1);
        for file in &options.input.files {
            db.sql(&format!(
                "LOAD DATA INFILE '{}' INTO TABLE a CHARACTER SET utf8mb4",
                file.display()
            ));
        }
        same_rows(&mut db, "b", "a", &["n"]);
    }
}

/// That the order is the server's shows where one connection sends the rows and a trigger sees them.
#[test]
fn rows_are_sent_in_the_order_of_the_primary_key() {
    let Some(server) = Server::get() else { return };
    let mut random = Random::new(8);
    let mut db = server.database();
    for key in KEYS {
        let lines = lines(&mut random);
        db.sql(&format!("CREATE OR REPLACE TABLE b ({COLUMNS}, {key}) ENGINE=InnoDB"));
        let options = options(&server, &db, LoadPath::Stream, &[lines.concat()]);
        db.sql("CREATE OR REPLACE TABLE seen (at INT AUTO_INCREMENT PRIMARY KEY, id INT)");
        // Tables with triggers keep their identity: rows are sent straight into them.
        db.sql("CREATE TRIGGER watch BEFORE INSERT ON b FOR EACH ROW INSERT INTO seen (id) VALUES (NEW.id)");
        assert_eq!(server.load(&options).unwrap().rows, ROWS);
        let seen = db.rows("SELECT id FROM seen ORDER BY at");
        let order = key.trim_start_matches("PRIMARY KEY (").trim_end_matches(')');
        // A prefix is no expression.
        let order = order.replace("t(3)", "LEFT(t, 3)");
        let sorted = db.rows(&format!("SELECT id FROM b FORCE INDEX (n) ORDER BY {order}"));
        let ids = |rows: &[server::Row]| -> Vec<i64> {
            rows.iter().map(|row| row.number(0).unwrap()).collect()
        };
        assert_eq!(ids(&seen), ids(&sorted), "{key}");
    }
}

#[test]
fn refused_rows_are_named_by_their_place_in_the_file() {
    let Some(server) = Server::get() else { return };
    let mut random = Random::new(9);
    let mut db = server.database();
    db.sql(&format!("CREATE TABLE b ({COLUMNS}, {})", KEYS[0]));
    for path in [LoadPath::Stream, LoadPath::Insert] {
        let mut lines = lines(&mut random);
        // No key; a key, and a text that is too long.
        lines[700] = "x\ta\t1\tq\n".to_owned();
        lines[9_000] = lines[9_000].replace('\n', &format!("{}\n", "y".repeat(61)));
        let text = lines.concat();
        let line_of = |row: usize| 1 + lines[..row].concat().matches('\n').count();
        let mut options = options(&server, &db, path, &[text]);
        options.rows.rejects_max = 2;
        options.rows.rejects = Some(server.folder(&db.name).join("rejects"));
        let report = server.load(&options).unwrap();
        assert_eq!((report.rows, report.rejects), (ROWS - 2, 2));
        let rejects = std::fs::read_to_string(options.rows.rejects.clone().unwrap()).unwrap();
        assert_eq!(rejects, lines[700].clone() + &lines[9_000], "in input order");
        let reasons = server.folder(&db.name).join("rejects.reasons.jsonl");
        let reasons = std::fs::read_to_string(reasons).unwrap();
        for row in [700, 9_000] {
            let place = format!("\"line\":{},", line_of(row));
            assert!(reasons.contains(&place), "{place} in {reasons}");
            let offset = format!("\"byte\":{},", lines[..row].concat().len());
            assert!(reasons.contains(&offset), "{offset} in {reasons}");
        }
    }
}

#[test]
fn numbers_go_by_the_order_of_the_input() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT AUTO_INCREMENT PRIMARY KEY, n INT)");
    let line = |n: u64| match n {
        500 => format!("\\N\t{n}\n"),
        _ => format!("{}\t{n}\n", (n * 7919) % 100_003 + 1),
    };
    let text: String = (0..ROWS).map(line).collect();
    let options = options(&server, &db, LoadPath::Stream, &[text]);
    let report = server.load(&options).unwrap();
    assert_eq!(report.rows, ROWS);
    assert!(report.notes.iter().any(|note| note.contains("AUTO_INCREMENT")), "{:?}", report.notes);
}
