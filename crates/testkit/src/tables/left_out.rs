//! Duplicates that are skipped or replaced: the same table as LOAD DATA IGNORE and REPLACE make
//! of the same rows, and exactly the rows that those leave out written down.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use load::{OnDuplicate, Report};

use crate::Random;
use crate::say;
use crate::tables::case::{Case, Line};
use crate::tables::compare::{Exported, same_rows, same_stored, scan, show};
use crate::tables::format::Written;
use crate::tables::reasons::{Place, Reasons};
use crate::tables::run::Run;
use crate::tables::server::{Db, Server};
use crate::tables::table::{KeyKind, Table};

/// Rules for rows whose keys others have.
pub const BOTH: [OnDuplicate; 2] = [OnDuplicate::Skip, OnDuplicate::Replace];

/// The word of LOAD DATA for it.
pub fn word(on_duplicate: OnDuplicate) -> &'static str {
    match on_duplicate {
        OnDuplicate::Skip => "IGNORE",
        OnDuplicate::Replace => "REPLACE",
        OnDuplicate::Fail | OnDuplicate::Update => "",
    }
}

/// How much of what was met.
#[derive(Debug, Default)]
pub struct Totals {
    /// Rows loaded.
    pub rows: u64,
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

/// One table from beginning to end: its duplicates skipped, then replaced.
pub fn one(server: &Server, seed: u64, totals: &mut Totals) {
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
        options.rows.on_duplicate = on_duplicate;
        options.rows.duplicates = Some(logged.clone());
        options.rows.rejects = Some(folder.join("refused"));
        options.rows.rejects_max = 1_000_000;
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

/// Makes some plain keys unique ones.
pub fn with_more_unique_keys(random: &mut Random, table: &mut Table) {
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
pub fn rows(
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
    // Behind the header, if there is one.
    let seen = std::fs::read(logged).unwrap();
    let is_all = seen.ends_with(&raw) && raw.is_empty() == seen.is_empty();
    assert!(is_all, "bytes of the rows left out");
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
