//! Random tables, each loaded by LOAD DATA and by us: the same rows through every index, then and
//! after the same changes to both and a restart; the same rows refused; the same pages as the
//! server's own sorted build.
//!
//! `INRUSH_CASES=n` makes n tables instead of a few; `INRUSH_SEED=s` starts at another seed. Case
//! i has seed s + i, so `INRUSH_SEED=<seed of the case> INRUSH_CASES=1` repeats one alone.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use load::{Error, Fill, LoadOptions, Mode, Report};

use crate::case::{Arrangement, Case, Line, tiny_shares};
use crate::change;
use crate::compare::{Exported, same_rows, same_stored};
use crate::format::Written;
use crate::random::Random;
use crate::server::{Db, End, Server};

const CASES: usize = 100;
/// Tables between two restarts.
const BATCH: usize = 50;

#[test]
fn random_tables_are_as_load_data_makes_them() {
    let Some(mut server) = Server::get() else { return };
    let seed = Random::seed_of_run();
    let cases = std::env::var("INRUSH_CASES").ok().and_then(|text| text.parse().ok());
    let cases: usize = cases.unwrap_or(CASES);
    println!("seed {seed}, {cases} tables");
    let mut failed = Vec::new();
    let mut totals = Totals::default();
    for start in (0..cases).step_by(BATCH) {
        let mut loaded = Vec::new();
        for seed in (start..cases.min(start + BATCH)).map(|number| seed + number as u64) {
            let outcome = catch_unwind(AssertUnwindSafe(|| one(&server, seed, &mut totals)));
            match outcome {
                Ok(twins) => loaded.push((seed, twins)),
                Err(_) => failed.push(seed),
            }
        }
        let end = if (start / BATCH).is_multiple_of(2) { End::Kill } else { End::Shutdown };
        server = server.restart(end);
        for (seed, twins) in loaded {
            let again = catch_unwind(AssertUnwindSafe(|| twins.compare_again(&server)));
            if again.is_err() {
                println!("seed {seed} differs after the restart");
                failed.push(seed);
            }
        }
    }
    println!("{cases} tables, {totals:?}");
    assert!(failed.is_empty(), "cases that failed, by seed: {failed:?}");
}

/// How much of what was met.
#[derive(Debug, Default)]
struct Totals {
    rows: u64,
    rejects: usize,
    duplicates: usize,
    sorted: usize,
    spilled: usize,
    same_pages: usize,
    without_rows: usize,
}

/// Two loaded tables, kept over a restart.
struct Twins {
    database: String,
    indexes: Vec<String>,
}

impl Twins {
    fn compare_again(self, server: &Server) {
        let mut db = server.session(&self.database);
        self.compare(&mut db);
        db.sql(&format!("DROP DATABASE {}", self.database));
    }

    #[track_caller]
    fn compare(&self, db: &mut Db) {
        let indexes: Vec<&str> = self.indexes.iter().map(String::as_str).collect();
        same_rows(db, "b", "a", &indexes);
    }
}

/// One table from beginning to end.
fn one(server: &Server, seed: u64, totals: &mut Totals) -> Twins {
    let random = &mut Random::new(seed);
    let mut db = server.database();
    let folder = server.folder(&db.name);
    let case = Case::random(random, &mut db);
    println!("seed {seed}: {}", case.table.sql(&db.name, true, ""));
    let run = Run { server, case: &case, folder: &folder };
    let count = match random.below(30) {
        0 => 15_000,
        _ => random.pick(&[0, 1, 2, 7, 60, 60, 300, 300, 1000, 4000]),
    };
    let is_dirty = random.chance(2);
    let line = |number| match is_dirty && random.chance(8) {
        true => case.bad_line(random, number),
        false => case.line(random, number),
    };
    let lines: Vec<Line> = (0..count).map(line).collect();
    let arrangement = Arrangement::random(random);
    let mut sorted = case.sort_out(random, &mut db, &folder, lines, arrangement);
    if case.table.auto_increment().is_some() {
        // They would leave gaps in the generated numbers.
        sorted.bad.clear();
    }
    println!(
        "  {:?} {} {:?}, {} good, {} bad, {} duplicates",
        arrangement,
        String::from_utf8_lossy(&case.format.dialect.fields_terminated_by).escape_debug(),
        case.format.charset,
        sorted.good.len(),
        sorted.bad.len(),
        sorted.duplicates.len()
    );
    totals.duplicates += sorted.duplicates.len();
    if !sorted.duplicates.is_empty() {
        run.duplicates_stop_the_load(random, &mut db, &sorted.good, &sorted.duplicates);
    }
    let mixed = mix(random, &sorted.good, &sorted.bad);
    let mut options = run.options(random, &db);
    if case.table.auto_increment().is_none() && random.chance(4) {
        run.fill_with_others(random, &mut db);
        options.mode = Mode::Replace;
    }
    let is_whole = options.shares.is_none();
    let is_server_fill = options.fill == (Fill { secondary_reserve: 0, ..Fill::default() });
    let (report, files) = run.load(random, options, &mixed, &sorted.bad);
    assert_eq!(report.rows, sorted.good.len() as u64);
    if let Some(in_order) = sorted.in_order {
        assert_eq!(report.sorted_input, in_order, "sorted_input");
    }
    totals.rows += report.rows;
    totals.rejects += sorted.bad.len();
    totals.sorted += usize::from(report.sorted_input);
    totals.spilled += usize::from(report.spilled_bytes > 0);
    totals.without_rows += usize::from(report.rows == 0);

    run.load_data(random, &mut db, &sorted.good);
    let indexes = case.table.keys.iter().map(|key| key.name.clone()).collect();
    let twins = Twins { database: db.name.clone(), indexes };
    let ours = Exported::new(server, &mut db, "b");
    ours.verify(&mut db, &folder);
    same_stored(&ours, &Exported::new(server, &mut db, "a"));
    twins.compare(&mut db);
    // Of one chunk, so that no page in the middle is left partly empty.
    if is_whole && is_server_fill && files == 1 && report.bytes < 300_000 {
        db.sql("ALTER TABLE a FORCE");
        ours.same_pages(&Exported::new(server, &mut db, "a"));
        totals.same_pages += 1;
    }
    // Some meet the restart as they were imported.
    if !random.chance(4) {
        change::change(random, &mut db, &case, &folder, sorted.good.len());
        twins.compare(&mut db);
        Exported::new(server, &mut db, "b").verify(&mut db, &folder);
    }
    twins
}

struct Run<'a> {
    server: &'a Server,
    case: &'a Case,
    folder: &'a Path,
}

impl Run<'_> {
    fn options(&self, random: &mut Random, db: &Db) -> LoadOptions {
        let mut options = self.server.options(db, "b", Vec::new());
        if random.chance(2) {
            options.fill.secondary_reserve = 0;
        }
        if random.chance(6) {
            options.fill.clustered_reserve = random.pick(&[0, 5_000, 15_000]);
            options.fill.secondary_reserve = random.pick(&[0, 1, 5_000, 15_000]);
        }
        if random.chance(2) {
            options.shares = Some(tiny_shares(random, 1 + self.case.table.keys.len()));
        } else {
            options.memory_bytes_max = random.pick(&[28 << 20, 64 << 20]);
        }
        options
    }

    /// Our load; checks that exactly the `bad` rows are refused, byte for byte.
    fn load(
        &self,
        random: &mut Random,
        options: LoadOptions,
        mixed: &[(bool, &Line)],
        bad: &[Line],
    ) -> (Report, usize) {
        // Now and then the rows come in two files.
        let split = if random.chance(3) { random.below(mixed.len() + 1) } else { mixed.len() };
        let (first, second) = mixed.split_at(split);
        let mut files: Vec<(PathBuf, Written)> = Vec::new();
        let mut expected = Vec::new();
        for (number, part) in [first, second].into_iter().enumerate() {
            if number == 1 && part.is_empty() {
                continue;
            }
            let path = self.folder.join(format!("input{number}"));
            let lines: Vec<&Line> = part.iter().map(|&(_, line)| line).collect();
            let written = self.case.write(random, &path, &lines);
            let refused = part.iter().enumerate().filter(|(_, (is_bad, _))| *is_bad);
            expected.extend(refused.map(|(row, _)| (number, row)));
            files.push((path, written));
        }
        let rejects = self.folder.join("rejects");
        let paths = files.iter().map(|(path, _)| path.clone()).collect();
        let mut options = self.case.options(options, paths);
        options.rejects = Some(rejects.clone());
        options.rejects_max = 1_000_000;
        let report = self.server.load(&options).unwrap_or_else(|error| panic!("{error}"));
        let seen = reasons(&rejects);
        let wanted: Vec<(String, u64, u64)> = expected
            .iter()
            .map(|&(file, row)| {
                let (path, written) = &files[file];
                let start = written.rows[row].start as u64;
                (path.display().to_string(), written.line_of(row), start)
            })
            .collect();
        if seen.places != wanted {
            let (seen_set, wanted_set): (BTreeSet<_>, BTreeSet<_>) =
                (seen.places.iter().collect(), wanted.iter().collect());
            let ours: Vec<_> = seen_set.difference(&wanted_set).take(3).collect();
            let theirs: Vec<_> = wanted_set.difference(&seen_set).take(3).collect();
            let text = |place: &&&(String, u64, u64)| {
                let (path, written) =
                    files.iter().find(|(p, _)| p.display().to_string() == place.0).unwrap();
                let row = written.rows.iter().position(|row| row.start as u64 == place.2);
                let raw = row.map_or(&b"?"[..], |row| written.raw(row));
                format!("{} {}: {}", path.display(), place.1, raw.escape_ascii())
            };
            let reason = |place: &&&(String, u64, u64)| {
                let at = seen.places.iter().position(|seen| seen == **place).unwrap();
                format!("{} ({})", text(place), seen.lines[at])
            };
            panic!(
                "refused by us alone: {:#?}\nby the server alone: {:#?}",
                ours.iter().map(reason).collect::<Vec<_>>(),
                theirs.iter().map(text).collect::<Vec<_>>()
            );
        }
        assert_eq!(report.rejects, bad.len() as u64);
        let raw: Vec<u8> = expected
            .iter()
            .flat_map(|&(file, row)| {
                let raw = files[file].1.raw(row);
                let end: &[u8] = if raw.ends_with(b"\n") {
                    b""
                } else {
                    &self.case.format.dialect.lines_terminated_by
                };
                [raw, end].concat()
            })
            .collect();
        assert!(std::fs::read(&rejects).unwrap() == raw, "bytes of the refused rows");
        (report, files.len())
    }

    /// Puts rows into `b` that a load is to replace.
    fn fill_with_others(&self, random: &mut Random, db: &mut Db) {
        let path = self.folder.join("others");
        let lines: Vec<Line> = (0..20).map(|number| self.case.line(random, number)).collect();
        self.case.write(random, &path, &lines.iter().collect::<Vec<_>>());
        db.sql(&self.case.format.load_data(&path, "IGNORE", "b", &self.case.names()));
    }

    /// The server's load of the good rows alone.
    fn load_data(&self, random: &mut Random, db: &mut Db, good: &[Line]) {
        let path = self.folder.join("theirs");
        self.case.write(random, &path, &good.iter().collect::<Vec<_>>());
        db.sql(&self.case.format.load_data(&path, "", "a", &self.case.names()));
    }

    /// With one duplicate among the rows nothing is loaded, and the two rows named are duplicates
    /// to the server too.
    fn duplicates_stop_the_load(
        &self,
        random: &mut Random,
        db: &mut Db,
        good: &[Line],
        duplicates: &[Line],
    ) {
        let one = &duplicates[random.below(duplicates.len())];
        let mut lines: Vec<&Line> = good.iter().collect();
        lines.insert(random.below(lines.len() + 1), one);
        let path = self.folder.join("duplicates");
        let written = self.case.write(random, &path, &lines);
        let mut options = self.case.options(self.options(random, db), vec![path.clone()]);
        options.rejects_max = 0;
        let (first, second) = match self.server.load(&options) {
            Err(Error::Duplicate { first, second, .. }) => (first, second),
            other => panic!("a duplicate was not found: {other:?}"),
        };
        assert_eq!(db.number("SELECT COUNT(*) FROM b"), 0);
        let found: Vec<&Line> = [&first, &second]
            .into_iter()
            .map(|position| {
                assert_eq!(position.file, path);
                let start = position.offset as usize;
                let row = written.rows.iter().position(|row| row.start == start).unwrap();
                assert_eq!(position.line, written.line_of(row), "line of a duplicate");
                lines[row]
            })
            .collect();
        assert!(first.offset < second.offset, "the first row comes first");
        let pair = self.folder.join("pair");
        self.case.write(random, &pair, &found);
        db.sql("DROP TABLE IF EXISTS pair");
        db.sql("CREATE TABLE pair LIKE b");
        let load = self.case.format.load_data(&pair, "", "pair", &self.case.names());
        let outcome = db.try_sql(&load).map_err(|error| error.errno());
        assert_eq!(outcome.err(), Some(Some(1062)), "the two rows are duplicates to the server");
        db.sql("DROP TABLE pair");
    }
}

/// Bad rows put among the good ones, whose order stays.
fn mix<'a>(random: &mut Random, good: &'a [Line], bad: &'a [Line]) -> Vec<(bool, &'a Line)> {
    let mut places: Vec<bool> =
        (0..good.len() + bad.len()).map(|number| number < bad.len()).collect();
    random.shuffle(&mut places);
    let (mut good, mut bad) = (good.iter(), bad.iter());
    let next = |is_bad: bool| {
        let line = if is_bad { bad.next() } else { good.next() };
        (is_bad, line.unwrap())
    };
    places.into_iter().map(next).collect()
}

/// What a load wrote about its refused rows.
pub(crate) struct Reasons {
    /// File, line and byte.
    pub(crate) places: Vec<(String, u64, u64)>,
    pub(crate) lines: Vec<serde_json::Value>,
}

pub(crate) fn reasons(rejects: &Path) -> Reasons {
    let path = format!("{}.reasons.jsonl", rejects.display());
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let place = |line: &serde_json::Value| {
        let number = |name: &str| line[name].as_u64().unwrap();
        (line["file"].as_str().unwrap().to_owned(), number("line"), number("byte"))
    };
    Reasons { places: lines.iter().map(place).collect(), lines }
}
