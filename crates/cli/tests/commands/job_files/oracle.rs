//! Random lines with rows of five tables, loaded by a job file in every way and by the server's own statements.
//!
//! The tables are compared with those that INSERT .. SELECT fills from a table of all lines but the bad ones.
//! Which lines are bad says a model that tries all of them again until none is left.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use testkit::Random;

use crate::support::{Desk, Outcome, run};

const TABLES: [(&str, &str); 5] = [
    (
        "coupons",
        "id INT AUTO_INCREMENT PRIMARY KEY, code VARCHAR(9) NOT NULL UNIQUE, percent INT NOT NULL, \
         origin ENUM('lines.csv') NOT NULL",
    ),
    (
        "rooms",
        "house VARCHAR(9) NOT NULL, room INT NOT NULL, size INT NOT NULL, owner INT, PRIMARY KEY (house, room)",
    ),
    ("kinds", "n INT AUTO_INCREMENT PRIMARY KEY, label VARCHAR(4) NOT NULL"),
    (
        "uses",
        "no INT NOT NULL, coupon VARCHAR(9) NOT NULL, coupon_id INT NOT NULL, PRIMARY KEY (no, coupon)",
    ),
    ("orders", "no INT NOT NULL, line INT PRIMARY KEY, coupon_id INT"),
];

/// Rows that a load adds to.
const KEPT: [&str; 4] = [
    "INSERT INTO coupons VALUES (1, 'A', 10, 'lines.csv')",
    "INSERT INTO rooms VALUES ('h', 1, 5, NULL)",
    "INSERT INTO kinds VALUES (1, 'one')",
    "INSERT INTO uses VALUES (1, 'a', 1)",
];

const JOB: &str = r#"
into = "DATABASE"
[input]
files = ["lines.csv"]
header = true
null_token = ""
[[rule]]
field = "no"
max = 90
[[table]]
name = "coupons"
columns = { code = "code", percent = "percent", origin = { file_name = true } }
entity = { key = ["code"], id = "id", on_conflict = "first" }
[[table]]
name = "rooms"
entity = { key = ["house", "room"], on_conflict = "last" }
[table.columns]
house = "house"
room = "room"
size = "size"
owner = { lookup = "DATABASE.owners", key = "code", take = "id", from = "owner" }
[[table]]
name = "kinds"
columns = { n = "n", label = "label" }
entity = { key = ["n"], on_conflict = "first" }
[[table]]
name = "uses"
columns = { no = "no", coupon = "code", coupon_id = { id_of = "coupons" } }
entity = { key = ["no", "coupon"] }
[[table]]
name = "orders"
when = { no = { null = false } }
columns = { no = "no", line = { line = true }, coupon_id = { id_of = "coupons" } }
"#;

/// As the server makes the same rows of a table of lines.
const STATEMENTS: [&str; 5] = [
    "INSERT INTO coupons (code, percent, origin) SELECT code, percent, 'lines.csv' FROM staging s \
     WHERE code IS NOT NULL AND line = (SELECT MIN(line) FROM staging t WHERE t.code = s.code) \
     AND NOT EXISTS (SELECT 1 FROM coupons c WHERE c.code = s.code) ORDER BY line",
    "INSERT INTO rooms SELECT house, room, size, (SELECT id FROM owners o WHERE o.code = s.owner) FROM staging s \
     WHERE house IS NOT NULL AND room IS NOT NULL AND line = (SELECT MAX(line) FROM staging t \
     WHERE t.house = s.house AND t.room = s.room) \
     AND NOT EXISTS (SELECT 1 FROM rooms r WHERE r.house = s.house AND r.room = s.room)",
    "INSERT INTO kinds SELECT n, label FROM staging s \
     WHERE n IS NOT NULL AND line = (SELECT MIN(line) FROM staging t WHERE t.n = s.n) \
     AND NOT EXISTS (SELECT 1 FROM kinds k WHERE k.n = s.n)",
    "INSERT INTO uses SELECT no, code, (SELECT id FROM coupons c WHERE c.code = s.code) FROM staging s \
     WHERE no IS NOT NULL AND code IS NOT NULL \
     AND line = (SELECT MIN(line) FROM staging t WHERE t.no = s.no AND t.code = s.code) \
     AND NOT EXISTS (SELECT 1 FROM uses u WHERE u.no = s.no AND u.coupon = s.code)",
    "INSERT INTO orders SELECT no, line, (SELECT id FROM coupons c WHERE c.code = s.code) FROM staging s \
     WHERE no IS NOT NULL",
];

/// The fields of a line that go to tables, in order.
const FIELDS: [&str; 9] = ["no", "code", "percent", "house", "room", "size", "owner", "n", "label"];
type Line = [&'static str; 9];

/// A row of an entity, as a line has it.
struct EntityRow {
    /// Its table and its key.
    key: (&'static str, String),
    is_faulty: bool,
    /// True if the last line with the key counts, and not the first.
    counts_last: bool,
}

/// The rows of entities that a line has; none of a line that is bad by itself.
fn entity_rows(line: &Line) -> Option<Vec<EntityRow>> {
    let [no, code, percent, house, room, size, owner, n, label] = *line;
    let is_room = !house.is_empty() && !room.is_empty();
    if matches!(no, "x" | "95") || is_room && room == "x" || n == "x" {
        return None;
    }
    let row = |table, key: String, is_faulty| EntityRow {
        key: (table, key.to_lowercase()),
        is_faulty,
        counts_last: table == "rooms",
    };
    let mut rows = Vec::new();
    if !code.is_empty() {
        rows.push(row("coupons", code.to_owned(), matches!(percent, "" | "x")));
    }
    if is_room {
        let is_faulty = matches!(size, "" | "x") || owner == "nobody";
        rows.push(row("rooms", format!("{house} {room}"), is_faulty));
    }
    if !n.is_empty() {
        rows.push(row("kinds", n.to_owned(), matches!(label, "" | "longer")));
    }
    Some(rows)
}

/// The lines that go to no table, by their numbers from 0.
fn bad_lines(lines: &[Line], kept: &[(&str, &str)]) -> BTreeSet<usize> {
    let rows: Vec<_> = lines.iter().map(entity_rows).collect();
    let mut bad: BTreeSet<usize> = (0..lines.len()).filter(|at| rows[*at].is_none()).collect();
    loop {
        let stands = |at: usize, row: &EntityRow| {
            let is_other = |other: usize| match row.counts_last {
                true => other > at,
                false => other < at,
            };
            let has_row = |other: &usize| {
                is_other(*other)
                    && !bad.contains(other)
                    && rows[*other].iter().flatten().any(|one| one.key == row.key)
            };
            !kept.contains(&(row.key.0, &row.key.1)) && !(0..lines.len()).any(|at| has_row(&at))
        };
        let is_bad = |at: &usize| {
            let mut faulty = rows[*at].iter().flatten().filter(|row| row.is_faulty);
            !bad.contains(at) && faulty.any(|row| stands(*at, row))
        };
        let more: Vec<usize> = (0..lines.len()).filter(is_bad).collect();
        if more.is_empty() {
            return bad;
        }
        bad.extend(more);
    }
}

fn random_lines(random: &mut Random, count: usize) -> Vec<Line> {
    // In some inputs few lines are bad.
    let odd = random.pick(&[3, 12, 60]);
    let mut one = |usual: &[&'static str], others: &[&'static str]| match random.chance(odd) {
        true => random.pick(others),
        false => random.pick(usual),
    };
    let mut line = || {
        [
            one(&["1", "2", "3", ""], &["x", "95", "1"]),
            one(&["a", "A", "b", "c", ""], &["d", "e"]),
            one(&["10", "20"], &["x", ""]),
            one(&["h", "H", "k", ""], &["m"]),
            one(&["1", "2", ""], &["x", "3"]),
            one(&["5", "6"], &["x", ""]),
            one(&["", "ann"], &["nobody"]),
            one(&["1", "2", "3", ""], &["x", "4"]),
            one(&["one", "two"], &["longer", ""]),
        ]
    };
    (0..count).map(|_| line()).collect()
}

/// The lines of the file, by their numbers.
fn text(lines: &[Line], padding: usize) -> Vec<String> {
    let padding = "p".repeat(padding);
    lines.iter().map(|line| format!("{},{padding}\n", line.join(","))).collect()
}

struct Oracle {
    desk: Desk,
    texts: Vec<String>,
    lines: Vec<Line>,
}

impl Oracle {
    fn new(lines: Vec<Line>, padding: usize) -> Option<Oracle> {
        let mut desk = Desk::new()?;
        desk.exec("CREATE TABLE owners (code VARCHAR(9) PRIMARY KEY, id INT NOT NULL)");
        desk.exec("INSERT INTO owners VALUES ('Ann', 7)");
        let fields = FIELDS.map(|field| format!("{field} VARCHAR(20)")).join(", ");
        desk.exec(&format!("CREATE TABLE staging (line INT PRIMARY KEY, {fields})"));
        desk.home.file("job.toml", JOB.replace("DATABASE", &desk.database));
        let texts = text(&lines, padding);
        let header = format!("{},padding\n", FIELDS.join(","));
        desk.home.file("lines.csv", format!("{header}{}", texts.concat()));
        Some(Oracle { desk, texts, lines })
    }

    /// Makes the tables anew; with some rows where a load adds to them.
    fn reset(&mut self, is_append: bool) {
        for (table, columns) in TABLES {
            self.desk.exec(&format!("DROP TABLE IF EXISTS {table}"));
            self.desk.exec(&format!("CREATE TABLE {table} ({columns})"));
        }
        for sql in KEPT.iter().filter(|_| is_append) {
            self.desk.exec(sql);
        }
    }

    fn rows(&mut self) -> Vec<String> {
        let rows =
            |(table, _)| format!("SELECT '{table}', {table}.* FROM {table} ORDER BY 1, 2, 3");
        TABLES.into_iter().flat_map(|table| self.desk.rows(&rows(table))).collect()
    }

    /// The rows that the server makes of all lines but the bad ones.
    fn expected(&mut self, bad: &BTreeSet<usize>, is_append: bool) -> Vec<String> {
        self.reset(is_append);
        self.desk.exec("TRUNCATE staging");
        let mut values = Vec::new();
        for (at, line) in self.lines.iter().enumerate().filter(|(at, _)| !bad.contains(at)) {
            let mut row = format!("({}", at + 2);
            for field in line {
                match field.is_empty() {
                    true => row.push_str(", NULL"),
                    false => write!(row, ", '{field}'").unwrap(),
                }
            }
            values.push(row + ")");
        }
        if !values.is_empty() {
            self.desk.exec(&format!("INSERT INTO staging VALUES {}", values.join(", ")));
        }
        self.desk.exec("SET sql_mode = 'STRICT_ALL_TABLES'");
        STATEMENTS.iter().for_each(|sql| self.desk.exec(sql));
        self.rows()
    }

    fn load(&self, arguments: &[&str]) -> Outcome {
        let mut command: Command = self.desk.home.inrush(["load", "-c", "job.toml", "--quiet"]);
        command.args(["--threads", "2", "--memory", "40M", "--socket"]);
        command.arg(self.desk.server.socket()).args(arguments);
        if let Some(user) = self.desk.server.options().user {
            command.args(["--user", &user]);
        }
        run(&mut command)
    }

    /// The lines of a file of rejects.
    fn rejects(&self) -> String {
        let path = self.desk.home.path().join("bad.csv");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        text.split_once('\n').map_or(String::new(), |(_, lines)| lines.to_owned())
    }
}

/// Compares all ways of loading the lines into empty tables, or of adding them.
fn compare(oracle: &mut Oracle, is_append: bool, seed: u64) {
    let kept: &[(&str, &str)] = match is_append {
        true => &[("coupons", "a"), ("rooms", "h 1"), ("kinds", "1")],
        false => &[],
    };
    let bad = bad_lines(&oracle.lines, kept);
    let bad_text: String = bad.iter().map(|at| oracle.texts[*at].as_str()).collect();
    let expected = oracle.expected(&bad, is_append);
    let mode: &[&str] = if is_append { &["--mode", "append"] } else { &[] };
    let what = format!("seed {seed}, {mode:?}, bad lines {bad:?}");
    let status = if bad.is_empty() { 0 } else { 3 };

    oracle.reset(is_append);
    let before = oracle.rows();
    let log = ["--dry-run", "--rejects", "bad.csv"];
    let checked = oracle.load(&[mode, &log].concat());
    assert_eq!((checked.code(), oracle.rejects()), (status, bad_text.clone()), "check: {what}");

    let strict = oracle.load(mode);
    let (code, rows) = if bad.is_empty() { (0, &expected) } else { (1, &before) };
    assert_eq!((strict.code(), &oracle.rows()), (code, rows), "{what}: {strict:?}");

    oracle.reset(is_append);
    let log = ["--rejects-max", "10000", "--rejects", "bad.csv"];
    let tolerant = oracle.load(&[mode, &log].concat());
    assert_eq!((tolerant.code(), oracle.rejects()), (status, bad_text), "{what}: {tolerant:?}");
    assert_eq!(oracle.rows(), expected, "{what}");
}

#[test]
fn lines_are_bad_and_rows_are_made_as_the_servers_statements_have_it() {
    let first = Random::seed_of_run();
    let runs = std::env::var("INRUSH_LINES").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    for seed in first..first + runs {
        let random = &mut Random::new(seed);
        // Few lines, or many that are read in several chunks.
        let (count, padding) = if seed % 2 == 0 { (30, 0) } else { (400, 4_000) };
        let lines = random_lines(random, count);
        let Some(mut oracle) = Oracle::new(lines, padding) else { return };
        for is_append in [false, true] {
            compare(&mut oracle, is_append, seed);
        }
    }
}
