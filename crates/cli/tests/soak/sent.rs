//! One random table whose rows are sent to the server, by LOAD DATA LOCAL or INSERTs, again and
//! again, each time with a kill of the program, the server or its connections, or an ALTER in the
//! way. The same command again ends with exactly the rows of LOAD DATA, and nothing else is left.

use std::path::Path;

use load::{LoadOptions, LoadPath, Mode, OnDuplicate};
use serde_json::Value;
use server::version::Flavor;

use crate::hosts::Host;
use crate::program;
use crate::sent_kill::Kill;
use crate::sent_rows::{Columns, Sum, same_rows_in_any_order, server_loads, sum, without_number};
use crate::support::{Home, Outcome, PATIENCE, check_table, run};
use crate::things::{Things, connections};
use testkit::Random;
use testkit::say;
use testkit::tables::case::{Arrangement, Case, Line};
use testkit::tables::compare::{same_rows, same_scans};
use testkit::tables::left_out;
use testkit::tables::run::{Input, Run};
use testkit::tables::server::{Db, Server};

/// Loads of one table that are killed; of each half where the input goes in by halves.
const KILLS: usize = 4;
/// Exit status of a load with refused rows.
const REJECTS: i32 = 3;

/// A table `b` that is loaded, and `a`, which LOAD DATA has filled.
pub(crate) struct Sent<'a> {
    pub(crate) host: &'a Host,
    server: Server,
    pub(crate) db: Db,
    case: Case,
    home: Home,
    options: LoadOptions,
    /// True if the table has a trigger, for which its rows are loaded in one transaction.
    has_trigger: bool,
    /// The input; two halves where rows are appended.
    parts: Vec<Part>,
    /// Tables and files of the database while nobody loads.
    quiet: Things,
    columns: Columns,
    /// Indexes of both tables.
    indexes: Vec<String>,
}

/// Input of one command.
struct Part {
    input: Input,
    good: usize,
    /// The table's contents before and after.
    old: Sum,
    new: Sum,
}

/// Makes a case and kills its loads; `killed` hears of each. Gives the number of rows.
pub(crate) fn one(host: &Host, seed: u64, killed: impl Fn(&str)) -> u64 {
    let random = &mut Random::new(seed);
    let mut sent = Sent::new(host, random, seed);
    sent.reset();
    let begun = std::time::Instant::now();
    for part in 0..sent.parts.len() {
        let outcome = run(&mut sent.command(part));
        sent.loaded(part, &outcome);
    }
    let whole = begun.elapsed() / sent.parts.len() as u32;
    for _ in 0..KILLS {
        sent.reset();
        for part in 0..sent.parts.len() {
            let kill = Kill::random(random, whole);
            say(&format!("  part {part}: {kill:?}"));
            let outcome = kill.meet(&mut sent, part);
            say(&format!("    {outcome:?}"));
            match matches!(outcome.code(), 0 | REJECTS) {
                true => sent.loaded(part, &outcome),
                false => {
                    sent.failed(part, &kill, &outcome);
                    killed(&kill.name());
                    sent.again(part);
                }
            }
        }
    }
    let name = sent.db.name.clone();
    sent.db.sql(&format!("DROP DATABASE {name}"));
    sent.parts.iter().map(|part| part.good as u64).sum()
}

impl<'a> Sent<'a> {
    fn new(host: &'a Host, random: &mut Random, seed: u64) -> Sent<'a> {
        let server = host.server();
        let mut db = server.database();
        let folder = server.folder(&db.name);
        let mode = random.pick(&[Mode::Insert, Mode::Replace, Mode::Append, Mode::Append]);
        let path = random.pick(&[LoadPath::Stream, LoadPath::Insert]);
        let rule = rule(random, path);
        let (case, good, bad) = rows(random, &mut db, &folder, mode, rule, seed);
        let run = Run { server: &server, case: &case, folder: &folder };
        let mut options = case.options(server.options(&db, "b", Vec::new()), Vec::new());
        options.mode = mode;
        options.path = path;
        options.rows.on_duplicate = rule;
        draw(random, &mut options);
        if mode == Mode::Replace {
            run.fill_with_others(random, &mut db);
        }
        db.sql("CREATE TABLE old LIKE b");
        db.sql("INSERT INTO old SELECT * FROM b");
        // Rows that MySQL refuses have used up their numbers.
        let are_lost = db.session().version().flavor == Flavor::MySql && !bad.is_empty();
        let columns = Columns::of(&case, mode == Mode::Append || are_lost);
        let parts =
            parts(random, &mut db, &run, &mut options, &columns, &Rows { good: &good, bad: &bad });
        let home = Home::new();
        options.rows.rejects = Some(home.path().join("refused"));
        options.rows.rejects_max = 1_000_000;
        let has_trigger = mode != Mode::Append && random.chance(5);
        let indexes = case.table.keys.iter().map(|key| key.name.clone()).collect();
        let quiet = Things::default();
        let mut sent = Sent {
            host,
            server,
            db,
            case,
            home,
            options,
            has_trigger,
            parts,
            quiet,
            columns,
            indexes,
        };
        say(&format!("  {}", sent.shown()));
        sent.reset();
        sent.quiet = Things::of(host, &mut sent.db);
        sent
    }

    fn shown(&self) -> String {
        let LoadOptions { path, mode, rows, atomic, limits, .. } = &self.options;
        let (on_duplicate, batches) = (rows.on_duplicate, &limits.batches);
        format!(
            "{path:?} {mode:?} {on_duplicate:?} atomic {atomic} trigger {} {batches:?} memory {}",
            self.has_trigger,
            limits.memory_bytes_max >> 20
        )
    }

    pub(crate) fn command(&self, part: usize) -> std::process::Command {
        let mut options = self.options.clone();
        options.input.files =
            self.parts[part].input.files.iter().map(|(path, _)| path.clone()).collect();
        let mut command = program::command(&self.home, self.host.server, &options);
        command.arg("--json");
        command
    }

    /// Makes the table as it is before the first part.
    fn reset(&mut self) {
        // Nobody remembers loads of the table before.
        let _ = std::fs::remove_dir_all(self.home.path().join("state/inrush"));
        // The mark of a COMMIT goes with the next load, which may end before.
        for mark in self.db.tables().iter().filter(|name| name.starts_with("_inrush_mark_")) {
            self.db.sql(&format!("DROP TABLE `{mark}`"));
        }
        self.db.sql("DROP TABLE b");
        self.db.sql(&self.case.table.sql("b", true, ""));
        if self.options.mode == Mode::Replace {
            self.db.sql("INSERT INTO b SELECT * FROM old");
        }
        if self.has_trigger {
            self.db.sql("CREATE TRIGGER tr BEFORE INSERT ON b FOR EACH ROW SET @seen = 1");
        }
    }

    /// A new session, after the server came back.
    pub(crate) fn reconnect(&mut self) {
        self.db = self.server.session(&self.db.name);
    }

    /// After a load that did not end well: what may be there, and what may not.
    fn failed(&mut self, part: usize, kill: &Kill, outcome: &Outcome) {
        let is_killed = outcome.status.code().is_none();
        assert!(is_killed || outcome.code() == 1, "{outcome:?}");
        if is_killed {
            return;
        }
        self.wait_until_alone();
        // After a signal nothing is left at once, but for the ledger of what is in.
        if kill.is_polite() && !self.goes_on() {
            self.is_quiet();
        }
        if !self.goes_on() {
            self.is_new(part);
        }
    }

    /// True if rows are committed chunk by chunk.
    fn goes_on(&self) -> bool {
        self.options.mode == Mode::Append && !self.options.atomic
    }

    /// True if the table is the new one; panics if it is neither.
    fn is_new(&mut self, part: usize) -> bool {
        let seen = sum(&mut self.db, "b", &self.columns);
        let Part { old, new, .. } = &self.parts[part];
        assert!(seen == *old || seen == *new, "{seen:?} is neither old {old:?} nor new {new:?}");
        seen == *new && new != old
    }

    /// The same command again.
    fn again(&mut self, part: usize) {
        // The server may be at undoing what a killed program had sent.
        self.wait_until_alone();
        let has_ledger = Things::of(self.host, &mut self.db).tables != self.quiet.tables;
        let is_appended = self.options.mode == Mode::Append;
        let is_done = if self.goes_on() && has_ledger { false } else { self.is_new(part) };
        if is_done && is_appended {
            // It was done, but for the words. What tells of its COMMIT goes with the next load.
            return if self.options.atomic { self.holds(part) } else { self.compare(part) };
        }
        if self.has_trigger && !is_done && self.case.table.auto_increment().is_some() {
            // Rows that were rolled back have used up their numbers, as those of LOAD DATA would.
            self.db.sql("ALTER TABLE b AUTO_INCREMENT=1");
        }
        let outcome = run(&mut self.command(part));
        say(&format!("    again: {outcome:?}"));
        if outcome.out.contains("all rows are loaded already") {
            return self.were_in(part, &outcome);
        }
        if is_done && self.options.mode == Mode::Insert {
            outcome.refused(2, &[" path: "]);
            return self.compare(part);
        }
        self.loaded(part, &outcome);
    }

    /// After a command that found all rows in.
    fn were_in(&mut self, part: usize, outcome: &Outcome) {
        let rejects = self.parts[part].input.rejects();
        let report: Value = serde_json::from_str(&outcome.out).unwrap();
        assert_eq!(report["rejects"], rejects, "{report}");
        assert_eq!(outcome.code(), if rejects > 0 { REJECTS } else { 0 }, "{outcome:?}");
        self.compare(part);
    }

    /// After a load that went well.
    fn loaded(&mut self, part: usize, outcome: &Outcome) {
        let part_of = &self.parts[part];
        let wanted = if part_of.input.rejects() > 0 { REJECTS } else { 0 };
        assert_eq!(outcome.code(), wanted, "{outcome:?}");
        let report: Value = serde_json::from_str(&outcome.out).unwrap();
        let rejects = self.options.rows.rejects.as_ref().unwrap();
        part_of.input.were_refused(rejects, &self.options.input.dialect.lines_terminated_by);
        assert_eq!(report["rejects"], part_of.input.rejects(), "{report}");
        if self.options.rows.on_duplicate == OnDuplicate::Fail {
            assert_eq!(report["rows"], part_of.good, "{report}");
        }
        let warnings = report["warnings"].to_string();
        if warnings.contains("but the ledger ") || warnings.contains("could not be dropped") {
            // The server was gone when they were to be removed. The next load would do it, but for the rows of the
            // same command it would take them as a proof: each has a state folder of its own here.
            for left in self.db.tables().iter().filter(|name| name.starts_with("_inrush_")) {
                self.db.sql(&format!("DROP TABLE `{left}`"));
            }
        }
        self.compare(part);
    }

    /// The new table, sound and as LOAD DATA makes it, and nothing besides.
    fn compare(&mut self, part: usize) {
        self.is_quiet();
        self.holds(part);
    }

    fn holds(&mut self, part: usize) {
        let seen = sum(&mut self.db, "b", &self.columns);
        if seen != self.parts[part].new && part + 1 == self.parts.len() {
            // It names the first row that differs.
            same_scans(&mut self.db, "b", "a", &[]);
        }
        assert_eq!(seen, self.parts[part].new, "rows and their checksum");
        check_table(self.db.session(), "b");
        if part + 1 < self.parts.len() {
            return;
        }
        let indexes: Vec<&str> = self.indexes.iter().map(String::as_str).collect();
        let is_in_order = self.case.has_clustered_key() && self.columns.are_all();
        match is_in_order {
            true => same_rows(&mut self.db, "b", "a", &indexes),
            // Rows without a key of their own lie as they came, over several connections.
            false => same_rows_in_any_order(&mut self.db, &self.columns, &indexes),
        }
    }

    fn wait_until_alone(&mut self) {
        let begun = std::time::Instant::now();
        while connections(&mut self.db) > 1 && begun.elapsed() < PATIENCE {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(connections(&mut self.db), 1, "connections");
    }

    /// No table, file or connection of a load is there.
    fn is_quiet(&mut self) {
        self.wait_until_alone();
        assert_eq!(Things::of(self.host, &mut self.db), self.quiet, "left behind");
        assert_eq!(self.home.temp_files(), [""; 0], "temporary files");
    }
}

fn rule(random: &mut Random, path: LoadPath) -> OnDuplicate {
    match random.below(6) {
        0 => OnDuplicate::Skip,
        1 => OnDuplicate::Replace,
        2 if path == LoadPath::Insert => OnDuplicate::Update,
        _ => OnDuplicate::Fail,
    }
}

/// Draws the fixed settings of the sending.
fn draw(random: &mut Random, options: &mut LoadOptions) {
    options.limits.threads = random.between(1, 4);
    options.limits.memory_bytes_max = random.pick(&[40 << 20, 96 << 20]);
    options.atomic = options.mode == Mode::Append && random.chance(3);
    if random.chance(2) {
        options.limits.batches.connections = Some(random.pick(&[1, 2, 3, 8, 16]));
    }
    if random.chance(2) {
        options.limits.batches.rows = Some(random.pick(&[1, 7, 100, 1000, 5000]));
    }
}

/// A table, rows for it, and rows that are to be refused.
fn rows(
    random: &mut Random,
    db: &mut Db,
    folder: &Path,
    mode: Mode,
    rule: OnDuplicate,
    seed: u64,
) -> (Case, Vec<Line>, Vec<Line>) {
    // On MySQL, where rows that the server refuses use up numbers, one of these might be given by a later row.
    let server_gives_numbers =
        mode == Mode::Append || db.session().version().flavor == Flavor::MySql;
    let case = loop {
        let case = Case::random_with(random, db, |random, table| {
            if matches!(rule, OnDuplicate::Skip | OnDuplicate::Replace) {
                left_out::with_more_unique_keys(random, table);
            }
        });
        let is_numbered = case.table.auto_increment().is_some();
        // A row that the server skips or replaces uses up a number, and a table with rows in it
        // has its next number from these.
        let may_be_numbered = rule == OnDuplicate::Fail && mode != Mode::Replace;
        let has_its_rule = rule == OnDuplicate::Fail || case.has_unique_key();
        if case.is_read_alike() && has_its_rule && (!is_numbered || may_be_numbered) {
            break case;
        }
        db.sql("DROP TABLE a, b");
    };
    say(&format!("seed {seed}: {}", case.table.sql(&db.name, true, "")));
    if rule != OnDuplicate::Fail {
        let (good, bad) = left_out::rows(random, db, &case, folder);
        return (case, good, bad);
    }
    let count = random.pick(&[0, 1, 60, 300, 1000, 1000, 4000, 4000, 15_000]);
    let is_dirty = random.chance(2);
    let line = |number| match is_dirty && random.chance(8) {
        true => case.bad_line(random, number),
        false => case.line(random, number),
    };
    let lines: Vec<Line> = (0..count).map(line).collect();
    let arrangement = Arrangement::random(random);
    let lines = match server_gives_numbers {
        // Numbers that are given might be those that the server gives to rows sent before.
        true => lines.into_iter().map(|line| without_number(&case, line)).collect(),
        false => lines,
    };
    let sorted = case.sort_out(random, db, folder, lines, arrangement);
    (case, sorted.good, sorted.bad)
}

struct Rows<'a> {
    good: &'a [Line],
    bad: &'a [Line],
}

/// Writes the input, in two halves where rows are appended, and has the server load it.
fn parts(
    random: &mut Random,
    db: &mut Db,
    run: &Run,
    options: &mut LoadOptions,
    columns: &Columns,
    rows: &Rows,
) -> Vec<Part> {
    let is_halved = options.mode == Mode::Append;
    let split = |random: &mut Random, len| if is_halved { random.below(len + 1) } else { len };
    let (first_good, second_good) = rows.good.split_at(split(random, rows.good.len()));
    let (first_bad, second_bad) = rows.bad.split_at(split(random, rows.bad.len()));
    let halves = [(first_good, first_bad), (second_good, second_bad)];
    let mut old = sum(db, "old", columns);
    let mut parts = Vec::new();
    for (number, (good, bad)) in halves.into_iter().enumerate().take(1 + usize::from(is_halved)) {
        let folder = run.folder.join(format!("part{number}"));
        std::fs::create_dir_all(&folder).unwrap();
        let input = Input::write(random, run.case, &folder, good, bad);
        if !server_loads(random, db, run, good, options.rows.on_duplicate) {
            // A row that is changed may meet a third one: what is skipped, meets none.
            db.sql("TRUNCATE a");
            options.rows.on_duplicate = OnDuplicate::Skip;
            return self::parts(random, db, run, options, columns, rows);
        }
        let new = sum(db, "a", columns);
        parts.push(Part { input, good: good.len(), old: old.clone(), new: new.clone() });
        old = new;
    }
    parts
}
