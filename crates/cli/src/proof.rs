//! Builds of servers that nobody has tested: proven before the first direct load, or when somebody asks.

use std::io::Write;
use std::path::Path;

use load::{Interrupt, LoadOptions, Plan};
use prove::{Obstacle, Proof, Request, SECONDS_MAX, Trust};
use serde::Serialize;
use server::tested_build::Outcome;
use server::{ConnectOptions, Session};
use sources::{is_stdin, remote};
use terminal::failure::{FAILED, Failure};

use crate::args::{DoctorArgs, UntestedArgs};
use crate::{connect, print};

/// Seconds that a proof may take for which somebody has asked.
const SECONDS_ASKED: u64 = 600;

/// The server for a load that may take the direct path. A build that lacks only a proof is proven first, and the line
/// that says so is printed even to those who want none but errors, since a load waits for it.
pub(crate) fn before_load(
    server: ConnectOptions,
    args: &UntestedArgs,
    options: &LoadOptions,
    is_direct: impl FnOnce(&ConnectOptions) -> Result<bool, Failure>,
) -> Result<ConnectOptions, Failure> {
    if args.untested_server {
        return accepted(server);
    }
    let program = args.server_program.as_deref();
    let mut server = server;
    match prove::look(&server, options, program) {
        // The load meets the same error, and says what it leaves.
        Ok(Trust::Settled) | Err(_) => return Ok(server),
        Ok(Trust::Unprovable(why)) => {
            server.untested.obstacle = Some(why);
            return Ok(server);
        }
        Ok(Trust::Provable(_)) => {}
    }
    let mut trusted = server.clone();
    trusted.untested.are_allowed = true;
    if !is_direct(&trusted)? {
        return Ok(server);
    }
    let version = Session::connect(&server)?.version().clone();
    tell!(
        "note: {version} is not on the tested list: before the first direct load, it is tested once in a private \
         copy of the server (at most {SECONDS_MAX} s)"
    );
    let request = Request {
        state_dir: &options.state_dir,
        temp_dir: &options.limits.temp_dir,
        program,
        seconds_max: SECONDS_MAX,
        interrupt: options.interrupt.clone(),
    };
    match prove::prove(&server, &request) {
        // The result is in the state folder, where the load finds it.
        Ok(_) => {}
        Err(Obstacle::Server(error @ server::Error::Interrupted)) => return Err(error.into()),
        Err(obstacle) => {
            tell!(
                "note: {version} is not proven: {obstacle}; inrush doctor --prove tries again, without a limit of time"
            );
            server.untested.obstacle = Some(obstacle.to_string());
        }
    }
    Ok(server)
}

/// The server with `--untested-server`, and its risk.
fn accepted(mut server: ConnectOptions) -> Result<ConnectOptions, Failure> {
    server.untested.are_allowed = true;
    if let Some(risk) = risk(&server)? {
        tell!("inrush: warning: {risk}");
    }
    Ok(server)
}

/// The risk of a direct load into a server whose build is accepted; none of a tested build, and of servers that get
/// their rows sent.
fn risk(server: &ConnectOptions) -> Result<Option<String>, Failure> {
    let session = Session::connect(server)?;
    let version = session.version();
    let is_risky = version.unfit().is_none() && !version.is_tested();
    Ok(is_risky.then(|| prove::risk(&version.text)))
}

/// True if a load can be planned without a reading of its input that is then missing.
pub(crate) fn may_be_planned(options: &LoadOptions) -> bool {
    let is_file = |path: &Path| !is_stdin(path) && remote::plain_bytes(path).is_some();
    options.input.files.iter().all(|path| is_file(path))
}

/// The server for a plan, and the note on the proof that a direct load begins with.
pub(crate) fn foresee(
    server: &ConnectOptions,
    args: &UntestedArgs,
    options: &LoadOptions,
) -> Result<(ConnectOptions, Option<String>), Failure> {
    let mut server = server.clone();
    if args.untested_server {
        server.untested.are_allowed = true;
        let risk = risk(&server)?;
        return Ok((server, risk));
    }
    let note = match prove::look(&server, options, args.server_program.as_deref())? {
        Trust::Settled => None,
        Trust::Unprovable(why) => {
            server.untested.obstacle = Some(why);
            None
        }
        Trust::Provable(program) => {
            server.untested.are_allowed = true;
            Some(format!(
                "this server's build is not on the tested list: the load proves it first, in a private server of {} \
                 (once, at most {SECONDS_MAX} s)",
                program.display()
            ))
        }
    };
    Ok((server, note))
}

/// Adds the note of [`foresee`] to the plan of a direct load.
pub(crate) fn note(plan: &mut Plan, note: Option<String>) {
    plan.notes.extend(note.filter(|_| plan.is_direct()));
}

/// The same for programs.
#[derive(Serialize)]
struct ProofReport<'a> {
    server: String,
    program: String,
    is_proven: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<&'a str>,
    settings: &'a [(String, String)],
    tables: usize,
    seconds: f64,
}

/// `inrush doctor --prove`: proves the build of a server, and prints the result.
pub(crate) fn run(args: &DoctorArgs, state_dir: &Path) -> Result<u8, Failure> {
    let visit = connect::existing(&args.connect)?;
    let interrupt = Interrupt::default();
    terminal::signals::watch(&interrupt, terminal::signals::UNCHANGED, false)?;
    let temp_dir = ::load::options::default_temp_dir();
    let request = Request {
        state_dir,
        temp_dir: &temp_dir,
        program: args.server_program.as_deref(),
        seconds_max: SECONDS_ASKED,
        interrupt,
    };
    let proof = prove::prove(&visit.connect, &request)
        .map_err(|obstacle| Failure::failed(format!("the build was not proven: {obstacle}")))?;
    show(args, &proof)?;
    Ok(if proof.outcome == Outcome::Proven { 0 } else { FAILED })
}

fn show(args: &DoctorArgs, proof: &Proof) -> Result<(), Failure> {
    let Proof { build, outcome, program, tables, seconds } = proof;
    let difference = match outcome {
        Outcome::Proven => None,
        Outcome::Differs(what) => Some(what.as_str()),
    };
    let mut out = terminal::out();
    if args.json {
        let (server, program, settings) =
            (build.to_string(), program.display().to_string(), &build.settings[..]);
        let is_proven = difference.is_none();
        let (tables, seconds) = (*tables, *seconds);
        let report =
            ProofReport { server, program, is_proven, difference, settings, tables, seconds };
        return Ok(print::json(&mut out, &report)?);
    }
    match difference {
        None => writeln!(
            out,
            "{build}: proven in {seconds:.1} s: {tables} tables built and imported are equal to those of LOAD DATA, \
             after kills, statements and merges too"
        )?,
        Some(what) => {
            writeln!(out, "{build}: the proof failed, so the direct path stays closed: {what}")?;
        }
    }
    writeln!(out, "  program   {}", program.display())?;
    let settings: Vec<String> =
        build.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    writeln!(out, "  settings  {}", settings.join(", "))?;
    Ok(())
}
