//! One random table that is loaded again and again, each time with a kill: of the program or of the
//! server, at a step or at any moment. The table is the old one or the new one, the same command
//! again succeeds, and nothing else is left.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use load::{LoadOptions, Mode};

use crate::hosts::Host;
use crate::program;
use crate::scene::PLACES;
use crate::support::{Home, Outcome, PATIENCE, check_table, finish, resume, run, signal, start};
use crate::things::{Things, connections};
use testkit::Random;
use testkit::say;
use testkit::tables::case::Case;
use testkit::tables::compare::{Exported, same_rows};
use testkit::tables::run::{Input, Run};
use testkit::tables::server::{Db, Server};
use testkit::tables::table_pair;

/// Loads of one table that are killed.
const KILLS: usize = 5;
/// Exit status of a load with refused rows, which are none of this test's.
const REJECTS: i32 = 3;

/// The target and the moment of a kill.
#[derive(Clone, Debug)]
enum Kill {
    /// The program gets a signal after some time.
    Program(&'static str, Duration),
    /// The program is killed at a step.
    ProgramAt(&'static str),
    /// The server is killed after some time.
    Server(Duration),
    /// The server is killed while the program is at a step.
    ServerAt(&'static str),
    /// The server is asked to end after some time.
    Shutdown(Duration),
}

impl Kill {
    fn random(random: &mut Random, whole: Duration) -> Kill {
        let after = whole * random.below(1000) as u32 / 1000;
        let place = random.pick(&PLACES[..PLACES.len() - 2]);
        match random.below(10) {
            0 | 1 => Kill::Program("-KILL", after),
            2 => Kill::Program("-TERM", after),
            3 => Kill::Program("-INT", after),
            4 | 5 => Kill::ProgramAt(place),
            6 | 7 => Kill::Server(after),
            8 => Kill::ServerAt(place),
            _ => Kill::Shutdown(after),
        }
    }

    fn name(&self) -> String {
        match self {
            Kill::Program(signal, _) => format!("program, SIG{} at any moment", &signal[1..]),
            Kill::ProgramAt(_) => "program, SIGKILL at a step".to_owned(),
            Kill::Server(_) => "server, SIGKILL at any moment".to_owned(),
            Kill::ServerAt(_) => "server, SIGKILL at a step".to_owned(),
            Kill::Shutdown(_) => "server, shut down at any moment".to_owned(),
        }
    }
}

/// A table `b` to load, what it held before (`old`) and what LOAD DATA makes of the input (`a`).
struct Killed<'a> {
    host: &'a Host,
    server: Server,
    db: Db,
    case: Case,
    home: Home,
    options: LoadOptions,
    /// Tables and files of the database while nobody loads.
    quiet: Things,
    old: Sum,
    new: Sum,
    indexes: Vec<String>,
}

/// Rows and their checksum.
type Sum = (u64, String);

/// Makes a case and kills its loads; `killed` hears of each.
pub(crate) fn one(host: &Host, seed: u64, killed: impl Fn(&str)) {
    let random = &mut Random::new(seed);
    let mut killed_case = Killed::new(host, random, seed);
    let begun = Instant::now();
    let first = run(&mut killed_case.command());
    let whole = begun.elapsed();
    killed_case.loaded(&first);
    for _ in 0..KILLS {
        let kill = Kill::random(random, whole);
        say(&format!("  {kill:?}"));
        killed_case.reset();
        if killed_case.meet(&kill) {
            killed(&kill.name());
        }
        killed_case.again();
    }
    let name = killed_case.db.name.clone();
    killed_case.db.sql(&format!("DROP DATABASE {name}"));
}

impl<'a> Killed<'a> {
    fn new(host: &'a Host, random: &mut Random, seed: u64) -> Killed<'a> {
        let server = host.server();
        let mut db = server.database();
        let folder = server.folder(&db.name);
        let case = loop {
            let case = Case::random(random, &mut db);
            if case.is_read_alike() {
                break case;
            }
            db.sql("DROP TABLE a, b");
        };
        say(&format!("seed {seed}: {}", case.table.sql(&db.name, true, "")));
        let sorted = table_pair::rows(random, &mut db, &case, &folder);
        let input = Input::write(random, &case, &folder, &sorted.good, &sorted.bad);
        let run = Run { server: &server, case: &case, folder: &folder };
        run.load_data(random, &mut db, &sorted.good);
        let paths = input.files.iter().map(|(path, _)| path.clone()).collect();
        let mut options = case.options(run.options(random, &db), paths);
        options.limits.threads = random.between(1, 8);
        // Enough for so many threads.
        options.limits.memory_bytes_max = random.pick(&[96 << 20, 256 << 20]);
        if case.table.auto_increment().is_none() && random.chance(2) {
            run.fill_with_others(random, &mut db);
            options.mode = Mode::Replace;
        }
        db.sql("CREATE TABLE old LIKE b");
        db.sql("INSERT INTO old SELECT * FROM b");
        let home = Home::new();
        options.rows.rejects = Some(home.path().join("refused"));
        options.rows.rejects_max = 1_000_000;
        let (old, new) = (sum(&mut db, "old"), sum(&mut db, "a"));
        let indexes = case.table.keys.iter().map(|key| key.name.clone()).collect();
        let quiet = Things::of(host, &mut db);
        Killed { host, server, db, case, home, options, quiet, old, new, indexes }
    }

    fn command(&self) -> Command {
        program::command(&self.home, self.host.server, &self.options)
    }

    /// Makes the table as it is before a load.
    fn reset(&mut self) {
        self.db.sql("DROP TABLE b");
        self.db.sql(&self.case.table.sql("b", true, ""));
        if self.options.mode == Mode::Replace {
            self.db.sql("INSERT INTO b SELECT * FROM old");
        }
    }

    /// Loads and kills; whether the kill came before the load was over.
    fn meet(&mut self, kill: &Kill) -> bool {
        let mut command = self.command();
        let outcome = match kill {
            Kill::Program(name, after) => {
                let child = start_for(&mut command, *after);
                signal(child.id(), name);
                let outcome = finish(child);
                if *name != "-KILL" {
                    say(&format!("    {outcome:?}"));
                    self.ended_cleanly(&outcome);
                }
                outcome
            }
            Kill::ProgramAt(place) => run(command.env("INRUSH_FAILPOINT", format!("{place}=kill"))),
            Kill::Server(after) => {
                let child = start_for(&mut command, *after);
                self.host.server.kill_9().unwrap();
                self.come_back(child)
            }
            Kill::ServerAt(place) => {
                let mut child = start(command.env("INRUSH_FAILPOINT", format!("{place}=pause")));
                let is_paused = wait_paused_or_ended(&mut child);
                self.host.server.kill_9().unwrap();
                if is_paused {
                    resume(&child);
                }
                self.come_back(child)
            }
            Kill::Shutdown(after) => {
                let child = start_for(&mut command, *after);
                self.host.server.restart().unwrap();
                self.come_back(child)
            }
        };
        say(&format!("    {outcome:?}"));
        let is_fine = matches!(outcome.code(), 0 | REJECTS);
        // By SIGTERM or SIGINT only before they are watched for.
        let is_killed = outcome.status.signal().is_some();
        assert!(is_fine || is_killed || outcome.code() == 1, "{outcome:?}");
        !is_fine
    }

    /// The load's end after the server's, and the server back again.
    fn come_back(&mut self, child: Child) -> Outcome {
        if self.host.server.connect().is_err() {
            self.host.server.restart().unwrap();
        }
        let outcome = finish(child);
        self.db = self.server.session(&self.db.name);
        outcome
    }

    /// After a signal that asks to end, nothing is left at once.
    fn ended_cleanly(&mut self, outcome: &Outcome) {
        let is_before_main = outcome.status.signal().is_some();
        assert!(is_before_main || matches!(outcome.code(), 0 | 1 | REJECTS), "{outcome:?}");
        self.is_quiet();
    }

    /// True if the table is the new one; panics if it is neither.
    fn is_new(&mut self) -> bool {
        let seen = sum(&mut self.db, "b");
        assert!(
            seen == self.old || seen == self.new,
            "{seen:?} is neither old ({:?}) nor new ({:?})",
            self.old,
            self.new
        );
        seen == self.new
    }

    /// The same command again.
    fn again(&mut self) {
        let was_new = self.is_new();
        let has_rows = self.new.0 > 0;
        let outcome = run(&mut self.command());
        let is_done = was_new && has_rows;
        // A load that has said that it is done is another one's.
        if is_done
            && self.options.mode == Mode::Insert
            && !outcome.out.contains("all rows are loaded already")
        {
            outcome.refused(2, &["d by the direct path: "]);
            return self.compare();
        }
        self.loaded(&outcome);
    }

    /// After a load that went well.
    fn loaded(&mut self, outcome: &Outcome) {
        assert!(matches!(outcome.code(), 0 | REJECTS), "{outcome:?}");
        self.compare();
    }

    /// The new table, sound and as LOAD DATA makes it, and nothing besides.
    fn compare(&mut self) {
        self.is_quiet();
        let indexes: Vec<&str> = self.indexes.iter().map(String::as_str).collect();
        same_rows(&mut self.db, "b", "a", &indexes);
        check_table(self.db.session(), "b");
        let folder = self.server.folder(&self.db.name);
        Exported::new(&self.server, &mut self.db, "b").verify(&mut self.db, &folder);
        self.db.sql("UNLOCK TABLES");
    }

    /// No table, file or connection of a load is there.
    fn is_quiet(&mut self) {
        let begun = Instant::now();
        // The server needs a moment to notice that a client is gone.
        while connections(&mut self.db) > 1 && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(connections(&mut self.db), 1, "connections");
        assert_eq!(Things::of(self.host, &mut self.db), self.quiet, "left behind");
        assert_eq!(self.home.temp_files(), [""; 0], "temporary files");
    }
}

pub(crate) fn start_for(command: &mut Command, time: Duration) -> Child {
    let child = start(command);
    std::thread::sleep(time);
    child
}

/// Waits for a failpoint, which a load that ends before never reaches.
pub(crate) fn wait_paused_or_ended(child: &mut Child) -> bool {
    let stat = format!("/proc/{}/stat", child.id());
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(&stat).unwrap();
        // The state follows the name, which stands in parentheses.
        match text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
            Some('T') => return true,
            Some('Z') => return false,
            _ => {}
        }
        assert!(begun.elapsed() < PATIENCE, "neither paused nor ended");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn sum(db: &mut Db, table: &str) -> Sum {
    let count = db.number(&format!("SELECT COUNT(*) FROM `{table}`"));
    let sum = db.rows(&format!("CHECKSUM TABLE `{table}` EXTENDED"));
    (count, sum[0].text(1).unwrap())
}
