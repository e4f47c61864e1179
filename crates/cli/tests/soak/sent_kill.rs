//! Faults of a load whose rows are sent, and their moments.

use std::time::Duration;

use crate::killed::{start_for, wait_paused_or_ended};
use crate::sent::Sent;
use crate::support::{Outcome, finish, resume, run, signal, start};
use testkit::Random;

/// Places where such a load can be stopped.
const PLACES: [&str; 19] = [
    "inspect.end",
    "staging.begin",
    "staging.end",
    "ledger.created",
    "ledger.opened",
    "rows.begin",
    "chunk.0.read",
    "chunk.0.loaded",
    "chunk.1.read",
    "chunk.1.loaded",
    "chunk.4.loaded",
    "chunk.9.loaded",
    "rows.end",
    "indexes.end",
    "publish.begin",
    "publish.commit",
    "publish.committed",
    "publish.swapped",
    "job.end",
];

#[derive(Clone, Debug)]
pub(crate) enum Kill {
    /// The program gets a signal after some time.
    Program(&'static str, Duration),
    /// The program is killed at a place.
    ProgramAt(&'static str),
    /// The server is killed after some time.
    Server(Duration),
    /// The server is killed while the program is at a place.
    ServerAt(&'static str),
    /// The server is asked to end after some time.
    Shutdown(Duration),
    /// Some of the program's connections are ended, or all, several times.
    Connections(Vec<(Duration, bool)>),
    /// The table is altered after some time.
    Alter(Duration, &'static str),
}

impl Kill {
    pub(crate) fn random(random: &mut Random, whole: Duration) -> Kill {
        let after = whole * random.below(1000) as u32 / 1000;
        let place = random.pick(&PLACES);
        match random.below(14) {
            0 | 1 => Kill::Program("-KILL", after),
            2 => Kill::Program("-TERM", after),
            3 => Kill::Program("-INT", after),
            4..=6 => Kill::ProgramAt(place),
            7 => Kill::Server(after),
            8 => Kill::ServerAt(place),
            9 => Kill::Shutdown(after),
            10 | 11 => {
                let times = random.between(1, 4) as u32;
                let pause = |random: &mut Random| {
                    (whole * random.below(1000) as u32 / 1000 / times, random.chance(4))
                };
                Kill::Connections((0..times).map(|_| pause(random)).collect())
            }
            _ => {
                let sql = ["COMMENT='altered'", "FORCE", "ALGORITHM=COPY, COMMENT='copied'"];
                Kill::Alter(after, random.pick(&sql))
            }
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Kill::Program(signal, _) => {
                format!("rows sent: program, SIG{} at any moment", &signal[1..])
            }
            Kill::ProgramAt(_) => "rows sent: program, SIGKILL at a step".to_owned(),
            Kill::Server(_) => "rows sent: server, SIGKILL at any moment".to_owned(),
            Kill::ServerAt(_) => "rows sent: server, SIGKILL at a step".to_owned(),
            Kill::Shutdown(_) => "rows sent: server, shut down at any moment".to_owned(),
            Kill::Connections(_) => "rows sent: connections ended, load failed".to_owned(),
            Kill::Alter(..) => "rows sent: table altered, load failed".to_owned(),
        }
    }

    /// True if the program is asked to end.
    pub(crate) fn is_polite(&self) -> bool {
        matches!(self, Kill::Program("-TERM" | "-INT", _))
    }

    /// Loads and kills. The server is there afterwards.
    pub(crate) fn meet(&self, sent: &mut Sent, part: usize) -> Outcome {
        let mut command = sent.command(part);
        let server = sent.host.server;
        match self {
            Kill::Program(name, after) => {
                let child = start_for(&mut command, *after);
                signal(child.id(), name);
                finish(child)
            }
            Kill::ProgramAt(place) => run(command.env("INRUSH_FAILPOINT", format!("{place}=kill"))),
            Kill::Server(after) => {
                let child = start_for(&mut command, *after);
                server.kill_9().unwrap();
                come_back(sent, child)
            }
            Kill::ServerAt(place) => {
                let mut child = start(command.env("INRUSH_FAILPOINT", format!("{place}=pause")));
                let is_paused = wait_paused_or_ended(&mut child);
                server.kill_9().unwrap();
                if is_paused {
                    resume(&child);
                }
                come_back(sent, child)
            }
            Kill::Shutdown(after) => {
                let child = start_for(&mut command, *after);
                server.restart().unwrap();
                come_back(sent, child)
            }
            Kill::Connections(times) => {
                let child = start(&mut command);
                for &(pause, is_all) in times {
                    std::thread::sleep(pause);
                    end_connections(sent, is_all);
                }
                finish(child)
            }
            Kill::Alter(after, what) => {
                let child = start_for(&mut command, *after);
                sent.db.sql("SET lock_wait_timeout=2");
                // Whether it comes to its turn or not.
                let done = sent.db.try_sql(&format!("ALTER TABLE b {what}"));
                testkit::say(&format!(
                    "    ALTER: {:?}",
                    done.err().map(|error| error.to_string())
                ));
                sent.db.sql("SET lock_wait_timeout=DEFAULT");
                finish(child)
            }
        }
    }
}

/// Ends the first of the connections that are not ours, or all.
fn end_connections(sent: &mut Sent, is_all: bool) {
    let others = "SELECT ID FROM information_schema.PROCESSLIST \
                  WHERE ID<>CONNECTION_ID() AND COMMAND<>'Daemon' ORDER BY TIME_MS";
    let ids: Vec<String> = sent.db.rows(others).iter().map(|row| row.text(0).unwrap()).collect();
    for id in ids.iter().take(if is_all { ids.len() } else { 1 }) {
        // It may be gone by now.
        let _ = sent.db.try_sql(&format!("KILL CONNECTION {id}"));
    }
}

/// The load's end after the server's, and the server back again.
fn come_back(sent: &mut Sent, child: std::process::Child) -> Outcome {
    let server = sent.host.server;
    if server.connect().is_err() {
        server.restart().unwrap();
    }
    let outcome = finish(child);
    sent.reconnect();
    outcome
}
