//! AUTO_INCREMENT values and the counter behind them: whatever step, offset, type and sql_mode,
//! with refused rows among the good ones, they are those that LOAD DATA gives the good rows.

use locks::Mutex;

use load::{LoadOptions, Memory};
use testkit::{TestServer, TestServerOptions};

use testkit::Random;
use testkit::tables::compare::same_rows;
use testkit::tables::server::{Db, Server};

const CASES: usize = 50;

/// A table, a server's settings, and rows with the number they give and whether they are good.
struct Case {
    declaration: &'static str,
    start: u64,
    step: (u64, u64),
    zero_is_value: bool,
    rows: Vec<(String, bool)>,
    rejects_max: u64,
}

impl Case {
    fn random(random: &mut Random) -> Case {
        let declaration = random.pick(&[
            "INT",
            "BIGINT UNSIGNED",
            "SMALLINT",
            "TINYINT UNSIGNED",
            "DOUBLE",
            "FLOAT",
            "DOUBLE UNSIGNED",
        ]);
        let increment = random.pick(&[1, 1, 1, 2, 5, 10]);
        let has_bad = !random.chance(3);
        let count = random.pick(&[1, 4, 20, 60]);
        let rows = (0..count)
            .map(|row| (number(random, declaration, row), !(has_bad && random.chance(6))))
            .collect();
        Case {
            declaration,
            start: random.pick(&[1, 1, 98]),
            step: (increment, random.pick(&[1, 1, 2, 3]).min(increment)),
            zero_is_value: random.chance(4),
            rows,
            rejects_max: if has_bad { 1000 } else { random.pick(&[0, 1000]) },
        }
    }

    fn file(&self, with_bad: bool) -> String {
        let rows = self.rows.iter().enumerate().filter(|(_, (_, good))| with_bad || *good);
        rows.map(|(at, (id, good))| match good {
            true => format!("{id}\t{at}\n"),
            false => format!("{id}\tnone\n"),
        })
        .collect()
    }
}

/// The number in a row.
fn number(random: &mut Random, declaration: &str, row: usize) -> String {
    let unsigned = declaration.contains("UNSIGNED");
    let real = declaration.contains("DOUBLE") || declaration == "FLOAT";
    let most = if declaration.starts_with("TINY") { 100 } else { 4 * row + 5 };
    match random.below(20) {
        0..=9 => "\\N".to_owned(),
        10 | 11 => "0".to_owned(),
        12 if !unsigned => format!("-{}", random.below(9)),
        13 if real => format!("{}.5", random.below(most)),
        14 if real => "0.3".to_owned(),
        15 if declaration == "DOUBLE" && random.chance(4) => "9007199254740991".to_owned(),
        16 if real && random.chance(8) => "16777216".to_owned(),
        _ => random.between(1, most).to_string(),
    }
}

fn options(server: &Server, db: &Db, random: &mut Random, case: &Case) -> LoadOptions {
    let file = server.file(db, "mixed", case.file(true));
    let mut options = server.options(db, "b", vec![file]);
    options.rows.rejects_max = case.rejects_max;
    options.rows.sql_mode = Some(mode(case).to_owned());
    options.limits.shares = Some(Memory {
        threads: random.between(1, 3),
        chunk_bytes: random.pick(&[20, 60, 2000]),
        record_bytes_max: 1 << 20,
        batch_bytes: 0,
        entry_bytes: 100,
        run_bytes: 4 << 20,
    });
    options
}

fn mode(case: &Case) -> &'static str {
    if case.zero_is_value { "NO_AUTO_VALUE_ON_ZERO" } else { "" }
}

/// A server whose global variables this test alone sets.
fn server() -> Option<Server> {
    static OWN: Mutex<Option<&'static TestServer>> = Mutex::new(None);
    let mut own = OWN.lock();
    if own.is_none() {
        let server = TestServer::start_with(&TestServerOptions::default())?;
        *own = Some(Box::leak(Box::new(server)));
    }
    own.map(Server::of)
}

#[test]
fn good_rows_are_numbered_as_if_the_refused_ones_were_not_there() {
    let Some(server) = server() else { return };
    let seed = Random::seed_of_run();
    let mut db = server.database();
    let mut numbered = 0;
    for seed in (0..CASES as u64).map(|case| seed + case) {
        let random = &mut Random::new(seed);
        let case = Case::random(random);
        let (increment, offset) = case.step;
        db.sql(&format!(
            "SET GLOBAL auto_increment_increment={increment}, auto_increment_offset={offset}"
        ));
        // A session begins with the global values.
        db = server.session(&db.name);
        db.sql("DROP TABLE IF EXISTS a, b");
        for table in ["a", "b"] {
            db.sql(&format!(
                "CREATE TABLE {table} (id {} AUTO_INCREMENT, v INT, KEY (id)) ENGINE=InnoDB \
                 AUTO_INCREMENT={}",
                case.declaration, case.start
            ));
        }
        let good = server.file(&db, "good", case.file(false));
        db.sql(&format!("SET sql_mode=CONCAT(@@sql_mode, ',{}')", mode(&case)));
        let theirs = db.try_sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a", good.display()));
        let options = options(&server, &db, random, &case);
        let what = format!(
            "seed {seed}: {} from {}, step {:?}, {:?}\n{}",
            case.declaration,
            case.start,
            case.step,
            options.rows.sql_mode,
            case.file(true)
        );
        let ours = server.load(&options);
        if theirs.is_err() {
            // A type at its end: what cannot be numbered is refused.
            let refused = case.rows.iter().filter(|(_, good)| !good).count() as u64;
            assert!(ours.is_err() || ours.is_ok_and(|r| r.rejects > refused), "{what}");
            continue;
        }
        ours.unwrap_or_else(|error| panic!("{what}: {error}"));
        println!("{what}");
        same_rows(&mut db, "b", "a", &["id"]);
        let next = |db: &mut Db, table: &str| {
            db.text(&format!(
                "SELECT AUTO_INCREMENT FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='{table}'"
            ))
        };
        assert_eq!(next(&mut db, "b"), next(&mut db, "a"), "the counter, {what}");
        numbered += 1;
    }
    assert!(numbered > CASES / 2, "{numbered} of {CASES} tables were numbered");
}
