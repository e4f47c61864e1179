//! Proves that built tables are right on a build of the server that nobody has tested.
//!
//! ```text
//! build of the server -> tested? -> proven before? -> its program -> a private server -> trial -> kept
//! ```
//!
//! The private server has a folder of its own, listens on a socket there, and has the user's settings that
//! change files. The user's server is asked for these, and for nothing else.

#![forbid(unsafe_code)]

mod private_server;
mod program;
mod tables;
mod trial;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use face::option::{SERVER_PROGRAM, UNTESTED_SERVER};
use load::LoadOptions;
use sandbox::TemporaryServer;
use server::error::{Error, Result};
use server::tested_build::Outcome;
use server::{ConnectOptions, Interrupt, ServerBuild, ServerFacts, Session, Unsupported};

use crate::private_server::arguments;
use crate::program::Program;
use crate::trial::{Failed, START_TIMEOUT, Trial};

/// Seconds that a proof before a load may take.
pub const SECONDS_MAX: u64 = 20;
/// How long a server that crashed may take to end.
const CRASH_WAIT: Duration = Duration::from_secs(3);
/// A part of the end of a process that somebody killed.
const KILLED: &str = "SIGKILL";
/// Between two looks at the clock.
const LOOK: Duration = Duration::from_millis(50);

/// A request for a proof.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Where results are kept.
    pub state_dir: &'a Path,
    /// Where the private server has its folder, for the time of the proof.
    pub temp_dir: &'a Path,
    /// The server's program; none finds it by the server's process.
    pub program: Option<&'a Path>,
    /// Seconds after which it is given up.
    pub seconds_max: u64,
    /// Ends it early.
    pub interrupt: Interrupt,
}

/// The result of a proof.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The build, with the settings under which it was tried.
    pub build: ServerBuild,
    /// What came out.
    pub outcome: Outcome,
    /// The program that ran.
    pub program: PathBuf,
    /// Tables that were compared.
    pub tables: usize,
    /// How long it took.
    pub seconds: f64,
}

/// Why a build could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// No program, or one that cannot be run here, as a sentence.
    #[error("{0}")]
    Program(String),
    /// It took too long.
    #[error("the proof took longer than {0} s on this machine")]
    Late(u64),
    /// The server, the disk, or a signal.
    #[error(transparent)]
    Server(#[from] Error),
}

/// Tries the build of a server by a private server of the same program, and keeps the result.
///
/// Errors: no such program; a disk, or a signal, that ends the trial. Nothing is kept then.
pub fn prove(
    connect: &ConnectOptions,
    request: &Request<'_>,
) -> std::result::Result<Proof, Obstacle> {
    let begun = Instant::now();
    let mut session = Session::connect(connect)?;
    let build = ServerBuild::read(&mut session)?;
    let Program { binary, installer } =
        program::find(&mut session, request.program).map_err(Obstacle::Program)?;
    drop(session);
    let program = binary.path.clone();
    let folder = private_server::folder(request.temp_dir)?;
    let arguments = arguments(&build);
    let place = private_server::place(folder.path());
    let server = TemporaryServer::new(binary, place, arguments, START_TIMEOUT);
    let ended = watched(&server, request, begun, || {
        server.install(installer.as_deref()).map_err(not_run)?;
        tried(&server, &build, folder.path())
    });
    let (outcome, tables) = ended?;
    build.keep(request.state_dir, &outcome)?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Proof { build, outcome, program, tables, seconds })
}

/// Runs the trial on a server that is not started yet. Gives its outcome, and the number of tables.
fn tried(
    server: &TemporaryServer,
    build: &ServerBuild,
    folder: &Path,
) -> std::result::Result<(Outcome, usize), Obstacle> {
    server.start().map_err(not_run)?;
    let own = ServerBuild::read(&mut server.connect()?)?;
    if !own.is_same_program(build) {
        let text = format!("{} is {own}, and the server is {build}", server.binary.path.display());
        return Err(Obstacle::Program(format!(
            "{text}; {} names its own",
            SERVER_PROGRAM.with("PATH")
        )));
    }
    let trial = Trial::new(server, folder);
    let outcome = match trial.run() {
        Ok(()) => Outcome::Proven,
        Err(Failed::Ended(error)) => return Err(error.into()),
        Err(Failed::Lost(what)) => match crash(server) {
            Some(end) => Outcome::Differs(format!("{end} ({what})")),
            None => return Err(Error::Option(what).into()),
        },
        Err(Failed::Differs(what)) => Outcome::Differs(match server.end() {
            Some(end) => format!("{end} ({what})"),
            None => what,
        }),
    };
    Ok((outcome, trial.tables()))
}

/// How the server crashed; none if it still runs, or was killed, as for lack of memory.
fn crash(server: &TemporaryServer) -> Option<String> {
    let begun = Instant::now();
    loop {
        match server.end() {
            Some(end) => return (!end.contains(KILLED)).then_some(end),
            None if begun.elapsed() > CRASH_WAIT => return None,
            None => std::thread::sleep(LOOK),
        }
    }
}

fn not_run(error: Error) -> Obstacle {
    match error {
        error @ (Error::Interrupted | Error::Io { .. }) => Obstacle::Server(error),
        error => {
            Obstacle::Program(format!("a private server of its program cannot be run: {error}"))
        }
    }
}

/// The end of some work, also by a panic.
#[derive(Default)]
struct Done(Arc<AtomicBool>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does some work on a server, which is killed when time is up or somebody wants the end.
fn watched<T>(
    server: &TemporaryServer,
    request: &Request<'_>,
    begun: Instant,
    work: impl FnOnce() -> std::result::Result<T, Obstacle>,
) -> std::result::Result<T, Obstacle> {
    let limit = Duration::from_secs(request.seconds_max);
    std::thread::scope(|scope| {
        let is_done = Done::default();
        let done = Arc::clone(&is_done.0);
        let watcher = scope.spawn(move || {
            let mut is_over = false;
            while !done.load(Ordering::Relaxed) {
                is_over |= begun.elapsed() > limit || request.interrupt.check().is_err();
                if is_over {
                    // Statements under way fail then, and so does a start.
                    let _ = server.kill_9();
                }
                std::thread::sleep(LOOK);
            }
            is_over
        });
        let outcome = work();
        drop(is_done);
        match watcher.join() {
            Ok(true) => {
                request.interrupt.check()?;
                Err(Obstacle::Late(request.seconds_max))
            }
            _ => outcome,
        }
    })
}

/// The state of a server's build before a load.
#[derive(Debug)]
pub enum Trust {
    /// Its tables may be built, or something else is in the way of that.
    Settled,
    /// It can be tried first, by this program.
    Provable(PathBuf),
    /// It cannot, for this reason.
    Unprovable(String),
}

/// Looks at the build of a server, which is not changed: whether only a proof is missing for the direct path.
///
/// Errors: the server's.
pub fn look(
    connect: &ConnectOptions,
    options: &LoadOptions,
    program: Option<&Path>,
) -> Result<Trust> {
    if options.server.untested || options.path.sends() {
        return Ok(Trust::Settled);
    }
    let connect = load::with_state(connect, &options.state_dir);
    let connect = ConnectOptions { unlogged: options.server.unlogged, ..connect };
    let mut session = Session::connect(&connect)?;
    if session.version().is_tested() || session.version().unfit().is_some() {
        session.keep();
        return Ok(Trust::Settled);
    }
    let facts = ServerFacts::read(&mut session)?;
    let against = facts.unsupported(&options.database);
    let is_alone = matches!(&against[..], [Unsupported::UntestedBuild(..)]);
    if !is_alone || has_failed(&mut session, &options.state_dir)? {
        return Ok(Trust::Settled);
    }
    Ok(match program::find(&mut session, program) {
        Ok(Program { binary, .. }) => Trust::Provable(binary.path),
        Err(why) => Trust::Unprovable(why),
    })
}

/// True if the build was tried, and differed.
fn has_failed(session: &mut Session, state_dir: &Path) -> Result<bool> {
    Ok(ServerBuild::read(session)?.outcome(state_dir)?.is_some())
}

/// A sentence on the risk of a server that is neither tested nor proven.
pub fn risk(version: &str) -> String {
    format!(
        "{UNTESTED_SERVER}: {version} is not on the tested list. If this build reads or writes tablespaces in \
         another way, rows can be wrong or missing, and the server can stop at them: take a backup first, and \
         run CHECK TABLE .. EXTENDED afterwards"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use sandbox::mariadbd::Binary;
    use server::Version;

    use super::*;

    /// A request for a proof in a folder.
    fn request(folder: &Path, seconds_max: u64) -> Request<'_> {
        Request {
            state_dir: folder,
            temp_dir: folder,
            program: None,
            seconds_max,
            interrupt: Interrupt::default(),
        }
    }

    #[test]
    fn the_limit_of_a_proof_ends_the_making_of_a_data_directory() {
        let folder = tempfile::tempdir().unwrap();
        let (installer, running) = (folder.path().join("installer"), folder.path().join("running"));
        std::fs::write(&installer, format!("#!/bin/sh\n: > {}\nsleep 100\n", running.display()))
            .unwrap();
        std::fs::set_permissions(&installer, std::fs::Permissions::from_mode(0o755)).unwrap();
        let version = Version::parse("10.11.6-MariaDB").unwrap();
        let binary = Binary { path: folder.path().join("mariadbd"), version };
        let place = private_server::place(folder.path());
        let server = TemporaryServer::new(binary, place, Vec::new(), START_TIMEOUT);
        let begun = Instant::now();
        let work = || server.install(Some(&installer)).map_err(not_run);
        let outcome = watched(&server, &request(folder.path(), 1), begun, work);
        assert!(matches!(outcome, Err(Obstacle::Late(1))), "{outcome:?}");
        assert!(running.exists() && begun.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_panic_within_a_proof_ends_the_watcher_too() {
        let Ok(binary) = Binary::find(sandbox::BINARY_VARIABLE) else {
            println!("skipped: no server is installed");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let place = private_server::place(folder.path());
        let server = TemporaryServer::new(binary, place, Vec::new(), START_TIMEOUT);
        let request = request(folder.path(), 600);
        let begun = Instant::now();
        let work = || -> std::result::Result<(), Obstacle> { panic!("as a bug would") };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            watched(&server, &request, begun, work)
        }));
        assert!(outcome.is_err());
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}
