//! Loads of one case: good rows and bad ones mixed, duplicates, and the server's own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use load::{Error, LoadOptions, Mode, OnDuplicate, Report};

use crate::Random;
use crate::tables::case::{Case, Line, tiny_shares};
use crate::tables::format::Written;
use crate::tables::reasons::{Place, Reasons};
use crate::tables::server::{Db, Server};

/// Loads so far, and of how many one is verified too.
static LOADS: AtomicU64 = AtomicU64::new(0);
const LOADS_PER_VERIFY: u64 = 4;

/// Written input files.
pub struct Input {
    /// The files, in the order in which they are loaded.
    pub files: Vec<(PathBuf, Written)>,
    /// The rows to be refused, in order: file and row of it.
    bad: Vec<(usize, usize)>,
}

impl Input {
    /// Writes bad rows among good ones, whose order stays; now and then to two files.
    pub fn write(
        random: &mut Random,
        case: &Case,
        folder: &Path,
        good: &[Line],
        bad: &[Line],
    ) -> Input {
        let mixed = mix(random, good, bad);
        let split = if random.chance(3) { random.below(mixed.len() + 1) } else { mixed.len() };
        let (first, second) = mixed.split_at(split);
        let mut input = Input { files: Vec::new(), bad: Vec::new() };
        for (number, part) in [first, second].into_iter().enumerate() {
            if number == 1 && part.is_empty() {
                continue;
            }
            let path = folder.join(format!("input{number}"));
            let lines: Vec<&Line> = part.iter().map(|&(_, line)| line).collect();
            let written = case.write(random, &path, &lines);
            let refused = part.iter().enumerate().filter(|(_, (is_bad, _))| *is_bad);
            input.bad.extend(refused.map(|(row, _)| (number, row)));
            input.files.push((path, written));
        }
        input
    }

    /// Number of rows to be refused.
    pub fn rejects(&self) -> usize {
        self.bad.len()
    }

    /// Exactly the rows to be refused are in the file `rejects` and its reasons, byte for byte.
    #[track_caller]
    pub fn were_refused(&self, rejects: &Path, terminator: &[u8]) {
        let wanted: Vec<Place> = self.bad.iter().map(|row| self.place(row)).collect();
        Reasons::of(rejects).are_of(&wanted, |place| self.show(place));
        let raw: Vec<u8> = self.bad.iter().flat_map(|row| self.raw(row, terminator)).collect();
        // Behind the header, if there is one.
        let seen = std::fs::read(rejects).unwrap();
        let is_all = seen.ends_with(&raw) && raw.is_empty() == seen.is_empty();
        assert!(is_all, "bytes of the refused rows");
    }

    fn place(&self, &(file, row): &(usize, usize)) -> Place {
        let (path, written) = &self.files[file];
        (path.display().to_string(), written.line_of(row), written.rows[row].start as u64)
    }

    /// The bytes of a row as the file of refused rows has them.
    fn raw(&self, &(file, row): &(usize, usize), terminator: &[u8]) -> Vec<u8> {
        let raw = self.files[file].1.raw(row);
        let end = if raw.ends_with(terminator) { b"" } else { terminator };
        [raw, end].concat()
    }

    fn show(&self, place: &Place) -> String {
        let named = |(path, _): &&(PathBuf, Written)| path.display().to_string() == place.0;
        let (path, written) = self.files.iter().find(named).unwrap();
        let row = written.rows.iter().position(|row| row.start as u64 == place.2);
        let raw = row.map_or(&b"?"[..], |row| written.raw(row));
        format!("{} {}: {}", path.display(), place.1, raw.escape_ascii())
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

/// One case, and where its files go.
pub struct Run<'a> {
    /// The server of both loads.
    pub server: &'a Server,
    /// The table and how its files are written.
    pub case: &'a Case,
    /// Where its files go.
    pub folder: &'a Path,
}

impl Run<'_> {
    /// Random memory, threads and fill.
    pub fn options(&self, random: &mut Random, db: &Db) -> LoadOptions {
        let mut options = self.server.options(db, "b", Vec::new());
        if random.chance(2) {
            options.limits.fill.secondary_reserve = 0;
        }
        if random.chance(6) {
            options.limits.fill.clustered_reserve = random.pick(&[0, 5_000, 15_000]);
            options.limits.fill.secondary_reserve = random.pick(&[0, 1, 5_000, 15_000]);
        }
        if random.chance(2) {
            options.limits.shares = Some(tiny_shares(random, 1 + self.case.table.keys.len()));
        } else {
            options.limits.memory_bytes_max = random.pick(&[28 << 20, 64 << 20]);
        }
        options
    }

    /// Our load of `input`; exactly its bad rows are refused, byte for byte.
    pub fn load(&self, options: LoadOptions, input: &Input) -> Report {
        let rejects = self.folder.join("rejects");
        let paths = input.files.iter().map(|(path, _)| path.clone()).collect();
        let mut options = self.case.options(options, paths);
        options.rows.rejects = Some(rejects.clone());
        options.rows.rejects_max = 1_000_000;
        let report = self.server.load(&options).unwrap_or_else(|error| panic!("{error}"));
        input.were_refused(&rejects, &self.case.format.dialect.lines_terminated_by);
        assert_eq!(report.rejects, input.rejects() as u64);
        if LOADS.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOADS_PER_VERIFY) {
            self.verify(&options, &report);
        }
        report
    }

    /// The table holds exactly the rows of the input that were not refused.
    fn verify(&self, options: &LoadOptions, report: &Report) {
        if options.mode == Mode::Append || options.rows.on_duplicate != OnDuplicate::Fail {
            return;
        }
        let seen = match check::verify(&self.server.connect_options(), options, &()) {
            // Of a table whose numbers the server gives, and which has no other column.
            Err(Error::Usage(text)) if text.starts_with("no column") => return,
            seen => seen.unwrap_or_else(|error| panic!("{error}")),
        };
        let differing = (seen.missing_rows, seen.changed_rows, seen.extra_rows);
        assert_eq!((differing, seen.refused_rows), ((0, 0, 0), report.rejects), "{seen:#?}");
    }

    /// Puts rows into `b` that a load is to replace.
    pub fn fill_with_others(&self, random: &mut Random, db: &mut Db) {
        let path = self.folder.join("others");
        let lines: Vec<Line> = (0..20).map(|number| self.case.line(random, number)).collect();
        self.case.write(random, &path, &lines.iter().collect::<Vec<_>>());
        db.sql(&self.case.format.load_data(&path, "IGNORE", "b", &self.case.names()));
    }

    /// The server's load of the good rows alone.
    pub fn load_data(&self, random: &mut Random, db: &mut Db, good: &[Line]) {
        let path = self.folder.join("theirs");
        self.case.write(random, &path, &good.iter().collect::<Vec<_>>());
        db.sql(&self.case.format.load_data(&path, "", "a", &self.case.names()));
    }

    /// With one duplicate among the rows nothing is loaded, and the two rows named are duplicates
    /// to the server too.
    pub fn duplicates_stop_the_load(
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
        options.rows.rejects_max = 0;
        let (first, second) = match self.server.load(&options) {
            Err(Error::Duplicate { first, second, .. }) => (first, second),
            other => panic!("a duplicate was not found: {other:?}"),
        };
        assert_eq!(db.number("SELECT COUNT(*) FROM b"), 0);
        let found: Vec<&Line> = [&first, &second]
            .into_iter()
            .map(|position| {
                assert_eq!(position.file, path);
                let start = position.offset.unwrap() as usize;
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
