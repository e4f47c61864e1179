//! Duplicates that are skipped or replaced: the same table as LOAD DATA IGNORE and REPLACE make
//! of the same rows, and exactly the rows that those leave out written down.
//!
//! `INRUSH_CASES=n` makes n random tables instead of a few, as in [`crate::differential`].

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use load::{Error, LoadOptions, Memory, Mode, OnDuplicate, Report};
use serde_json::Value;
use sources::Dialect;

use crate::case::{Case, Line};
use crate::compare::{Exported, same_rows, same_stored, scan, show};
use crate::duplicates;
use crate::format::Written;
use crate::random::Random;
use crate::reasons::{Place, Reasons};
use crate::run::Run;
use crate::say;
use crate::server::{Db, Server};
use crate::table::{KeyKind, Table};

const CASES: usize = 30;
const BOTH: [OnDuplicate; 2] = [OnDuplicate::Skip, OnDuplicate::Replace];

fn word(on_duplicate: OnDuplicate) -> &'static str {
    match on_duplicate {
        OnDuplicate::Skip => "IGNORE",
        OnDuplicate::Replace => "REPLACE",
        OnDuplicate::Fail | OnDuplicate::Update => "",
    }
}

#[test]
fn random_tables_with_conflicts_are_as_load_data_makes_them() {
    let Some(server) = Server::get() else { return };
    let seed = Random::seed_of_run();
    let cases = std::env::var("INRUSH_CASES").ok().and_then(|text| text.parse().ok());
    let cases: usize = cases.unwrap_or(CASES);
    println!("seed {seed}, {cases} tables");
    let mut failed = Vec::new();
    let mut totals = Totals::default();
    for seed in (0..cases).map(|number| seed + number as u64) {
        if catch_unwind(AssertUnwindSafe(|| one(&server, seed, &mut totals))).is_err() {
            failed.push(seed);
        }
    }
    println!("{cases} tables, {totals:?}");
    assert!(failed.is_empty(), "cases that failed, by seed: {failed:?}");
}

/// How much of what was met.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) rows: u64,
    rejects: u64,
    left_out: u64,
    by_index: HashMap<String, usize>,
    sorted: usize,
    spilled: usize,
}

/// The files of a case: good rows and bad ones.
struct Files {
    written: Vec<(PathBuf, Written)>,
    /// File and row in it of each good row.
    good: Vec<(usize, usize)>,
}

impl Files {
    fn paths(&self) -> Vec<PathBuf> {
        self.written.iter().map(|(path, _)| path.clone()).collect()
    }

    fn place(&self, row: usize) -> Place {
        let (file, row) = self.good[row];
        let (path, written) = &self.written[file];
        (path.display().to_string(), written.line_of(row), written.rows[row].start as u64)
    }

    fn raw(&self, row: usize, terminator: &[u8]) -> Vec<u8> {
        let (file, row) = self.good[row];
        let raw = self.written[file].1.raw(row);
        let end = if raw.ends_with(terminator) { b"" } else { terminator };
        [raw, end].concat()
    }
}

pub(crate) fn one(server: &Server, seed: u64, totals: &mut Totals) {
    let random = &mut Random::new(seed);
    let mut db = server.database();
    let folder = server.folder(&db.name);
    let case = loop {
        let case = Case::random_with(random, &mut db, with_more_unique_keys);
        // Numbers have a test of their own: bad rows take some of ours.
        if case.has_unique_key() && case.table.auto_increment().is_none() {
            break case;
        }
        db.sql("DROP TABLE a, b");
    };
    say(&format!("seed {seed}: {}", case.table.sql(&db.name, true, "")));
    let (good, bad) = rows(random, &mut db, &case, &folder);
    let files = write(random, &case, &folder, &good, &bad);
    let run = Run { server, case: &case, folder: &folder };
    let all_good = folder.join("good");
    case.write(random, &all_good, &good.iter().collect::<Vec<_>>());
    for on_duplicate in BOTH {
        db.sql("TRUNCATE a");
        db.sql("TRUNCATE b");
        db.sql(&case.format.load_data(&all_good, word(on_duplicate), "a", &case.names()));
        let wanted = left_out(&mut db, &case, &all_good, good.len(), on_duplicate);
        let mut options = case.options(run.options(random, &db), files.paths());
        let logged = folder.join("left_out");
        options.on_duplicate = on_duplicate;
        options.duplicates = Some(logged.clone());
        options.rejects = Some(folder.join("refused"));
        options.rejects_max = 1_000_000;
        let report = server.load(&options).unwrap_or_else(|error| panic!("{error}"));
        say(&format!("  {on_duplicate:?}: {} rows, {} left out", report.rows, report.duplicates));
        assert_eq!(report.duplicates, wanted.len() as u64);
        assert_eq!(report.rejects, bad.len() as u64);
        assert_eq!(report.rows, (good.len() - wanted.len()) as u64);
        same_table(server, &mut db, &case, on_duplicate);
        check_log(&case, &files, &logged, &wanted, on_duplicate, totals);
        note(totals, &report);
    }
    db.sql(&format!("DROP DATABASE {}", db.name));
}

pub(crate) fn with_more_unique_keys(random: &mut Random, table: &mut Table) {
    for key in table.keys.iter_mut().filter(|key| key.kind == KeyKind::Plain) {
        if key.name != "ai" && random.chance(2) {
            key.kind = KeyKind::Unique;
        }
    }
}

fn note(totals: &mut Totals, report: &Report) {
    totals.rows += report.rows;
    totals.rejects += report.rejects;
    totals.left_out += report.duplicates;
    totals.sorted += usize::from(report.sorted_input);
    totals.spilled += usize::from(report.spilled_bytes > 0);
}

/// Rows of which many have keys of others, sorted out by the server: good ones and bad ones.
pub(crate) fn rows(
    random: &mut Random,
    db: &mut Db,
    case: &Case,
    folder: &Path,
) -> (Vec<Line>, Vec<Line>) {
    let count = random.pick(&[2, 7, 60, 60, 300, 300, 1000, 4000]);
    let one_in = random.pick(&[1, 2, 4, 20]);
    let mut lines: Vec<Line> = Vec::with_capacity(count);
    for number in 0..count {
        let mut line = match random.chance(10) {
            true => case.bad_line(random, number),
            false => case.line(random, number),
        };
        if number > 0 && random.chance(one_in) {
            // Some values of one row, some of another.
            for _ in 0..random.pick(&[1, 1, 2, 3]) {
                let other = &lines[random.below(number)];
                let of_how_many = random.between(1, 3);
                for (value, other) in line.iter_mut().zip(other) {
                    if random.chance(of_how_many) {
                        value.clone_from(other);
                    }
                }
            }
        }
        lines.push(line);
    }
    let (good, bad) = case.part(random, db, folder, lines);
    let mut good = good;
    match random.below(3) {
        0 => {
            let order = case.order(random, db, folder, &good);
            let rank: HashMap<usize, usize> =
                order.iter().enumerate().map(|(rank, &row)| (row, rank)).collect();
            // Rows that lost follow those they are like, or stand anywhere.
            let mut numbered: Vec<(usize, Line)> = good.into_iter().enumerate().collect();
            let anywhere = random.below(order.len() + 1);
            numbered.sort_by_key(|(row, _)| rank.get(row).copied().unwrap_or(anywhere));
            good = numbered.into_iter().map(|(_, line)| line).collect();
        }
        1 => random.shuffle(&mut good),
        _ => {}
    }
    (good, bad)
}

/// Writes bad rows among good ones, whose order stays, to one file or two.
fn write(random: &mut Random, case: &Case, folder: &Path, good: &[Line], bad: &[Line]) -> Files {
    let mut places: Vec<bool> = (0..good.len() + bad.len()).map(|n| n < bad.len()).collect();
    random.shuffle(&mut places);
    let (mut next_good, mut next_bad) = (good.iter(), bad.iter());
    let mixed: Vec<(bool, &Line)> = places
        .into_iter()
        .map(|is_bad| (is_bad, if is_bad { next_bad.next() } else { next_good.next() }.unwrap()))
        .collect();
    let split = if random.chance(3) { random.below(mixed.len() + 1) } else { mixed.len() };
    let (first, second) = mixed.split_at(split);
    let mut files = Files { written: Vec::new(), good: Vec::new() };
    for (number, part) in [first, second].into_iter().enumerate() {
        if number == 1 && part.is_empty() {
            continue;
        }
        let path = folder.join(format!("input{number}"));
        let lines: Vec<&Line> = part.iter().map(|&(_, line)| line).collect();
        let written = case.write(random, &path, &lines);
        let good = part.iter().enumerate().filter(|(_, (is_bad, _))| !is_bad);
        files.good.extend(good.map(|(row, _)| (number, row)));
        files.written.push((path, written));
    }
    files
}

/// The rows that LOAD DATA leaves out, by a counter in each.
fn left_out(
    db: &mut Db,
    case: &Case,
    path: &Path,
    rows: usize,
    on_duplicate: OnDuplicate,
) -> Vec<usize> {
    db.sql("DROP TABLE IF EXISTS counted");
    db.sql(&case.table.sql("counted", true, "`__n` INT"));
    db.sql("SET @n = -1");
    let load = case.format.load_data(path, word(on_duplicate), "counted", &case.names());
    db.sql(&format!("{load} SET __n = (@n := @n + 1)"));
    let kept: BTreeSet<usize> =
        db.rows("SELECT __n FROM counted").iter().map(|row| row.number(0).unwrap()).collect();
    (0..rows).filter(|row| !kept.contains(row)).collect()
}

fn same_table(server: &Server, db: &mut Db, case: &Case, on_duplicate: OnDuplicate) {
    let ours = Exported::new(server, db, "b");
    ours.verify(db, &server.folder(&db.name));
    if on_duplicate == OnDuplicate::Replace && !case.has_clustered_key() {
        // The server puts a new row in the place of an old one, with its hidden number.
        let rows = |db: &mut Db, table: &str| {
            let mut rows: Vec<String> = scan(db, table, None).iter().map(show).collect();
            rows.sort_unstable();
            rows
        };
        assert_eq!(rows(db, "b"), rows(db, "a"));
        return;
    }
    same_stored(&ours, &Exported::new(server, db, "a"));
    let indexes: Vec<&str> = case.table.keys.iter().map(|key| key.name.as_str()).collect();
    same_rows(db, "b", "a", &indexes);
}

/// Exactly the rows that the server leaves out are in the file, and each lost to a row before it
/// that is not left out, or was replaced by one behind it.
fn check_log(
    case: &Case,
    files: &Files,
    logged: &Path,
    wanted: &[usize],
    on_duplicate: OnDuplicate,
    totals: &mut Totals,
) {
    let reasons = Reasons::of(logged);
    let places: Vec<Place> = wanted.iter().map(|&row| files.place(row)).collect();
    reasons.are_of(&places, |place| format!("{place:?}"));
    let terminator = &case.format.dialect.lines_terminated_by;
    let raw: Vec<u8> = wanted.iter().flat_map(|&row| files.raw(row, terminator)).collect();
    assert!(std::fs::read(logged).unwrap() == raw, "bytes of the rows left out");
    let by_line: HashMap<(String, u64), usize> = (0..files.good.len())
        .map(|row| {
            let (file, line, _) = files.place(row);
            ((file, line), row)
        })
        .collect();
    for (&row, reason) in wanted.iter().zip(&reasons.lines) {
        let lost_to = &reason["lost_to"];
        let file = lost_to["file"].as_str().unwrap().to_owned();
        let winner = by_line[&(file, lost_to["line"].as_u64().unwrap())];
        match on_duplicate {
            OnDuplicate::Skip => {
                assert!(winner < row && !wanted.contains(&winner), "{row} lost to {winner}");
            }
            _ => assert!(winner > row, "{row} lost to {winner}"),
        }
        let key = reason["key"].as_str().unwrap();
        let key = case.table.keys.iter().find(|candidate| candidate.name == key).unwrap();
        assert_eq!(reason["values"].as_array().unwrap().len(), key.parts.len());
        *totals.by_index.entry(key.name.clone()).or_default() += 1;
    }
}

/// Chunks of a few rows, runs of a few entries.
fn small(options: &mut LoadOptions, threads: usize) {
    options.shares = Some(Memory {
        threads,
        chunk_bytes: 300,
        record_bytes_max: 1 << 20,
        batch_bytes: 0,
        entry_bytes: 200,
        run_bytes: 8 << 20,
    });
}

/// Pairs that each collation and type takes for one value, in many chunks, NULLs among them.
#[test]
fn values_that_are_alike_are_left_out() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    for (number, pair) in duplicates::ALIKE.iter().enumerate() {
        let order = duplicates::Order::ALL[number % 3];
        let path = server.file(&db, "input", duplicates::file(pair, order));
        for (threads, on_duplicate) in BOTH.into_iter().enumerate() {
            db.sql("DROP TABLE IF EXISTS a, b");
            db.sql(&duplicates::create(pair, "b"));
            db.sql("CREATE TABLE a LIKE b");
            let what = format!("{on_duplicate:?} {} {:?}", pair.column, pair.values);
            let load = format!(
                "LOAD DATA INFILE '{}' {} INTO TABLE a CHARACTER SET utf8mb4",
                path.display(),
                word(on_duplicate)
            );
            db.sql(&load);
            let mut options = server.options(&db, "b", vec![path.clone()]);
            small(&mut options, 1 + threads);
            options.on_duplicate = on_duplicate;
            let report = server.load(&options).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(report.duplicates, 1, "{what}");
            same_rows(&mut db, "b", "a", &["PRIMARY", "u"]);
        }
    }
}

/// A row that conflicts with a different row in each key, rows that are replaced twice over, and
/// refused rows whose keys count for nothing.
#[test]
fn the_log_says_which_key_and_to_whom() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let columns = "(id INT PRIMARY KEY, `a``k` VARCHAR(9) NULL, n INT NULL, \
                   UNIQUE KEY `a``k` (`a``k`, n), UNIQUE KEY n (n))";
    db.sql(&format!("CREATE TABLE b {columns}"));
    let one = server.file(&db, "one.csv", "id,a,n\n1,x,1\n2,\"x\ny\",2\n3,z,NULL\nbad,x,3\n");
    let two = server.file(&db, "two.csv", "id,a,n\n4,Z,\n3,x ,1\n2,q,1\n5,NULL,NULL\n5,\"x\",4");
    // `4,Z,` is refused, for an empty n.
    let mut options = server.options(&db, "b", vec![one.clone(), two.clone()]);
    options.dialect = Dialect::csv();
    options.header = true;
    options.columns = Some(["id", "a`k", "n"].map(str::to_owned).to_vec());
    options.rejects_max = 2;
    let logged = server.folder(&db.name).join("left_out");
    options.duplicates = Some(logged.clone());
    let rows = |db: &mut Db| db.text("SELECT GROUP_CONCAT(id, ':', n ORDER BY id) FROM b");
    let lost = |line: &Value| {
        let text = |value: &Value| value.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let lost_to = &line["lost_to"];
        format!(
            "{} {} {}: {} {} to {} {}",
            text(&line["file"]),
            line["line"],
            line["byte"],
            text(&line["key"]),
            line["values"],
            text(&lost_to["file"]),
            lost_to["line"]
        )
    };

    options.on_duplicate = OnDuplicate::Skip;
    let report = server.load(&options).unwrap();
    assert_eq!((report.rows, report.rejects, report.duplicates), (4, 2, 3));
    assert_eq!(rows(&mut db), "1:1,2:2");
    let reasons = Reasons::of(&logged);
    let expected = [
        r#"two.csv 3 12: PRIMARY ["3"] to one.csv 5"#,
        r#"two.csv 4 19: PRIMARY ["2"] to one.csv 3"#,
        r#"two.csv 6 37: PRIMARY ["5"] to two.csv 5"#,
    ];
    assert_eq!(reasons.lines.iter().map(lost).collect::<Vec<_>>(), expected);
    assert_eq!(
        std::fs::read_to_string(&logged).unwrap(),
        "3,x ,1\n2,q,1\n5,\"x\"\n".replace("\"x\"", "\"x\",4")
    );
    let reason = reasons.lines[0]["reason"].as_str().unwrap();
    let winner = format!("skipped for {} line 5, which has the same `PRIMARY` key", one.display());
    assert_eq!(reason, winner);

    options.on_duplicate = OnDuplicate::Replace;
    options.mode = Mode::Replace;
    let report = server.load(&options).unwrap();
    assert_eq!((report.rows, report.rejects, report.duplicates), (2, 2, 5));
    assert_eq!(rows(&mut db), "2:1,5:4");
    let reasons = Reasons::of(&logged);
    let expected = [
        r#"one.csv 2 7: a`k ["x","1"] to two.csv 3"#,
        r#"one.csv 3 13: PRIMARY ["2"] to two.csv 4"#,
        r#"one.csv 5 23: PRIMARY ["3"] to two.csv 3"#,
        r#"two.csv 3 12: n ["1"] to two.csv 4"#,
        r#"two.csv 5 25: PRIMARY ["5"] to two.csv 6"#,
    ];
    assert_eq!(reasons.lines.iter().map(lost).collect::<Vec<_>>(), expected);
    assert_eq!(db.tables(), ["b"]);

    // Nothing is left out the next time: the files are empty.
    options.files = vec![one];
    options.rejects_max = 1;
    assert_eq!(server.load(&options).unwrap().duplicates, 0);
    assert!(std::fs::read(&logged).unwrap().is_empty() && Reasons::of(&logged).lines.is_empty());
}

/// Half of the rows conflict, some with two others, in little memory.
#[test]
fn losers_beyond_the_memory_for_them_spill() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql(
        "CREATE TABLE b (id INT PRIMARY KEY, u VARCHAR(30) NOT NULL, UNIQUE KEY (u), KEY (u, id))",
    );
    db.sql("CREATE TABLE a LIKE b");
    // Every second row once more, in another order, with another's name.
    let name = |row: usize| format!("{:x}", row.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut text: String = (0..60_000).map(|row| format!("{row}\t{}\n", name(row))).collect();
    text.extend((0..60_000).rev().step_by(2).map(|row| format!("{row}\t{}\n", name(row ^ 2))));
    let path = server.file(&db, "input", text);
    for on_duplicate in BOTH {
        db.sql("TRUNCATE a");
        let word = word(on_duplicate);
        db.sql(&format!("LOAD DATA INFILE '{}' {word} INTO TABLE a", path.display()));
        let mut options = server.options(&db, "b", vec![path.clone()]);
        options.on_duplicate = on_duplicate;
        options.mode = Mode::Replace;
        options.memory_bytes_max = 29 << 20;
        let report = server.load(&options).unwrap();
        assert!(report.duplicates >= 30_000, "{}", report.duplicates);
        same_rows(&mut db, "b", "a", &["PRIMARY", "u", "u_2"]);
        assert_eq!(std::fs::read_dir(&options.temp_dir).unwrap().count(), 0);
    }
}

/// Memory too little for what is to be sorted is said so, with the option that helps.
#[test]
fn too_many_losers_for_the_memory_are_an_error() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT PRIMARY KEY)");
    let path = server.file(&db, "input", "1\n".repeat(600_000));
    let mut options = server.options(&db, "b", vec![path]);
    options.on_duplicate = OnDuplicate::Skip;
    options.shares = Some(Memory {
        threads: 1,
        chunk_bytes: 40_000,
        record_bytes_max: 1 << 20,
        batch_bytes: 40_000,
        entry_bytes: 100_000,
        run_bytes: 600 << 10,
    });
    match server.load(&options) {
        Err(Error::Memory { reason, .. }) => assert!(reason.contains("to sort"), "{reason}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(db.tables(), ["b"]);
    assert_eq!(db.number("SELECT COUNT(*) FROM b"), 0);
    options.shares = None;
    assert_eq!(server.load(&options).unwrap().duplicates, 599_999);
}
