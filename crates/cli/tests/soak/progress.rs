//! The progress of a soak: a line every ten seconds, the summary, and failed cases kept.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use locks::Mutex;
use testkit::say;

use crate::hosts::Host;
use crate::settings::Settings;

const LINE_EVERY: Duration = Duration::from_secs(10);

/// The messages of the current case, a panic's included.
static SAID: Mutex<String> = Mutex::new(String::new());

/// Keeps what a case says it is at, should it fail.
fn note(text: &str) {
    let mut said = SAID.lock();
    said.push_str(text);
    said.push('\n');
}

/// The counts of one server.
#[derive(Clone, Debug, Default)]
struct ServerTally {
    version: String,
    tables: u64,
    rows: u64,
    kills: BTreeMap<String, u64>,
    failed: Vec<u64>,
}

impl ServerTally {
    fn line(&self) -> String {
        let kills: u64 = self.kills.values().sum();
        let failed = self.failed.len();
        format!(
            "{}: {} tables, {} rows, {kills} kills, {failed} failed",
            self.version, self.tables, self.rows
        )
    }
}

pub(crate) struct Progress {
    begun: Instant,
    first_seed: u64,
    seen: Arc<Mutex<Vec<ServerTally>>>,
}

impl Progress {
    pub(crate) fn begin(settings: &Settings, hosts: &[Host]) -> Progress {
        testkit::keep_what_is_said(note);
        std::panic::set_hook(Box::new(|panic| say(&format!("{panic}\n{}", Backtrace::capture()))));
        let seen = |host: &Host| ServerTally { version: host.version(), ..ServerTally::default() };
        let seen = Arc::new(Mutex::new(hosts.iter().map(seen).collect::<Vec<_>>()));
        let begun = Instant::now();
        println!("soak: seed {}", settings.seed);
        if settings.is_long {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                loop {
                    std::thread::sleep(LINE_EVERY);
                    let lines: Vec<String> = seen.lock().iter().map(ServerTally::line).collect();
                    println!("{:>5} s  {}", begun.elapsed().as_secs(), lines.join(" | "));
                }
            });
        }
        Progress { begun, first_seed: settings.seed, seen }
    }

    fn note(&self, host: usize, change: impl FnOnce(&mut ServerTally)) {
        change(&mut self.seen.lock()[host]);
    }

    pub(crate) fn case(&self, _host: usize, seed: u64) {
        SAID.lock().clear();
        say(&format!("seed {seed}"));
    }

    pub(crate) fn case_done(&self, host: usize) {
        self.note(host, |seen| seen.tables += 1);
    }

    pub(crate) fn rows(&self, host: usize, rows: u64) {
        self.note(host, |seen| seen.rows += rows);
    }

    pub(crate) fn kill(&self, host: usize, kind: &str) {
        self.note(host, |seen| *seen.kills.entry(kind.to_owned()).or_default() += 1);
    }

    /// Keeps the files of a failed case and says how to have it again.
    pub(crate) fn failed(&self, host: &Host, seed: u64, settings: &Settings) {
        let version = host.version();
        if let Some(seen) = self.seen.lock().iter_mut().find(|seen| seen.version == version) {
            seen.failed.push(seed);
        }
        let kept = settings.failed_dir.join(format!("{seed}-{version}"));
        let said = SAID.lock().clone();
        keep(host, &kept, &said);
        let panic = said.lines().skip_while(|line| !line.contains("panicked")).take(4);
        println!("FAILED seed {seed} on {version}; its files are in {}", kept.display());
        panic.for_each(|line| println!("    {}", line.chars().take(300).collect::<String>()));
        println!("    again: make soak SEED={seed} SOAK_SERVERS={}", host.named);
    }

    /// Prints the summary.
    pub(crate) fn finish(self) -> ExitCode {
        let seen = self.seen.lock();
        let seconds = self.begun.elapsed().as_secs();
        println!("soak: {seconds} s from seed {}", self.first_seed);
        for seen in seen.iter() {
            println!("{}", seen.line());
            for (kind, count) in &seen.kills {
                println!("    {count:>5} {kind}");
            }
        }
        let tables: u64 = seen.iter().map(|seen| seen.tables).sum();
        let kills: u64 = seen.iter().flat_map(|seen| seen.kills.values()).sum();
        let failed: Vec<u64> = seen.iter().flat_map(|seen| seen.failed.clone()).collect();
        println!("all: {tables} tables, {kills} kills, {} failed", failed.len());
        if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Copies the inputs and tables of the newest database, which is the failed case's, and the logs.
fn keep(host: &Host, kept: &Path, said: &str) {
    let _ = fs::create_dir_all(kept);
    let _ = fs::write(kept.join("case.log"), said);
    let _ = fs::write(kept.join("server.log"), host.server.error_log());
    let database = |name: &str| name.strip_prefix('t').and_then(|n| n.parse::<u64>().ok());
    let folders = fs::read_dir(host.server.datadir()).into_iter().flatten().flatten();
    let names = folders.filter_map(|entry| database(entry.file_name().to_str()?));
    let Some(newest) = names.max() else { return };
    let name = format!("t{newest}");
    for (from, to) in
        [(host.server.dir().join(&name), "files"), (host.server.datadir().join(&name), "tables")]
    {
        let _ = Command::new("cp").arg("-a").arg(from).arg(kept.join(to)).status();
    }
}
