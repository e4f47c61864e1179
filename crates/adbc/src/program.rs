//! One run of the program `inrush`, in a process of its own.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use adbc_core::error::{Error, Result, Status};
use locks::Mutex;
use serde_json::Value;

use crate::errors::{error, of_load};
use crate::server_options::ServerOptions;
use crate::work::{ProgramRun, Work};

/// The variable that names the program, where no option does.
const PROGRAM: &str = "INRUSH_PROGRAM";
/// The variable by which messages of the program name options as keywords of a call.
const FACE: &str = "INRUSH_FACE";
/// Bytes that are written to the program at once.
const WRITTEN_BYTES: usize = 1 << 20;
/// Pause between two looks at a program that is about to end.
const PAUSE: Duration = Duration::from_millis(2);
/// Exit status of a load that rejected as many rows as it was allowed to.
const REJECTED: i32 = 3;
/// Signals by which somebody ends a load: SIGINT and SIGTERM.
const STOPS: [i32; 2] = [2, 15];

/// A program that waits for its input.
pub(crate) struct Program {
    run: ProgramRun,
    input: Option<BufWriter<UnixStream>>,
    /// Files without a name: no thread has to read pipes.
    stdout: File,
    stderr: File,
}

impl Program {
    /// Starts the program with the server's options.
    ///
    /// Errors: there is no such program; the system refuses a process.
    pub(crate) fn start(server: &ServerOptions, arguments: &[String]) -> Result<Program> {
        let failed = |doing: &str| {
            let doing = doing.to_owned();
            move |cause: std::io::Error| error(Status::IO, format!("{doing}: {cause}"))
        };
        let file = || tempfile::tempfile().map_err(failed("creating a temporary file"));
        let (stdout, stderr) = (file()?, file()?);
        let copy = |file: &File| file.try_clone().map_err(failed("creating a temporary file"));
        // A write to a socket whose reader has gone is an error. To a pipe it would be a signal that ends the
        // process of the caller.
        let (input, theirs) = UnixStream::pair().map_err(failed("creating a socket"))?;
        let path = path(server);
        let mut command = Command::new(&path);
        command.args(&arguments[..1]);
        server.apply_to(&mut command);
        command
            .args(&arguments[1..])
            .env(FACE, "keyword")
            .env_remove(PROGRAM)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(copy(&stdout)?)
            .stderr(copy(&stderr)?)
            // Ctrl-C of a terminal comes to the caller alone, which passes it on once.
            .process_group(0);
        let child = command.spawn().map_err(|cause| not_started(&path, &cause))?;
        let run = ProgramRun {
            child: Arc::new(Mutex::new(child)),
            input: Arc::new(input.try_clone().map_err(failed("creating a socket"))?),
            is_cancelled: Arc::default(),
        };
        let input = Some(BufWriter::with_capacity(WRITTEN_BYTES, input));
        Ok(Program { run, input, stdout, stderr })
    }

    /// Sends the input by `write`, and waits for the end; gives the report. The second argument of `write` is
    /// false once the program takes no more.
    ///
    /// Errors: those of the program, as it reports them; those of `write`, which stop the program before it
    /// loads anything.
    pub(crate) fn run(
        mut self,
        work: &Work,
        write: impl FnOnce(&mut BufWriter<UnixStream>, &dyn Fn() -> bool) -> Written,
    ) -> Result<Value> {
        let _running = work.program(&self.run);
        let run = &self.run;
        let written = match &mut self.input {
            Some(input) => write(input, &|| run.takes_input())
                .and_then(|()| input.flush().map_err(WriteError::from)),
            None => Ok(()),
        };
        if let Err(WriteError::Input(_)) = written {
            run.stop();
        }
        if let Some(input) = self.input.take() {
            // The rest of a failed stream is not sent: it would only be refused.
            drop(input.into_parts());
        }
        // The copy of the socket keeps it open.
        let _ = run.input.shutdown(Shutdown::Write);
        let status = self.wait()?;
        let is_cancelled = self.run.is_cancelled.load(Ordering::SeqCst);
        match (written, self.report(status)) {
            (Err(WriteError::Input(cause)), Err(of_program)) => {
                Err(with_outcome(cause, &of_program))
            }
            (Err(WriteError::Input(cause)), Ok(_)) => Err(cause),
            // A program that reads no more has ended, and says why.
            (_, Err(cause)) if is_cancelled => Err(Error { status: Status::Cancelled, ..cause }),
            (_, reported) => reported,
        }
    }

    fn wait(&self) -> Result<ExitStatus> {
        loop {
            match self.run.status() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => std::thread::sleep(PAUSE),
                Err(cause) => {
                    return Err(error(Status::IO, format!("waiting for inrush: {cause}")));
                }
            }
        }
    }

    fn report(&mut self, status: ExitStatus) -> Result<Value> {
        let stdout = text(&mut self.stdout);
        let objects = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
        let objects: Vec<Value> = objects.map_while(|object| object.ok()).collect();
        let failure = objects.iter().find(|object| object.get("error").is_some());
        let code = status.code().unwrap_or(-1);
        if let Some(failure) = failure {
            return Err(of_load(failure, code));
        }
        match objects.into_iter().next() {
            Some(report) if code == 0 || code == REJECTED => Ok(report),
            _ => Err(of_load(&self.last_words(status), code)),
        }
    }

    /// The failure of a program that did not report it.
    fn last_words(&mut self, status: ExitStatus) -> Value {
        let stderr = text(&mut self.stderr);
        let message = stderr.lines().rev().find_map(|line| line.strip_prefix("inrush: "));
        let end = match (status.signal(), status.code()) {
            (Some(signal), _) => format!("inrush was ended by signal {signal}"),
            (None, Some(0)) => "inrush gave no report".to_owned(),
            (None, code) => format!("inrush ended with status {}", code.unwrap_or(-1)),
        };
        let words = match (message, stderr.trim()) {
            (Some(message), _) if status.signal().is_none() => message.to_owned(),
            (_, "") => end,
            (message, all) => format!("{end}: {}", message.unwrap_or(all)),
        };
        let is_stopped = status.signal().is_some_and(|signal| STOPS.contains(&signal));
        serde_json::json!({
            "error": words,
            "kind": if is_stopped { "stopped" } else { "failed" },
        })
    }
}

/// The result of a write to the program.
pub(crate) type Written = std::result::Result<(), WriteError>;

/// Failure of a write to the program.
pub(crate) enum WriteError {
    /// The caller's data cannot be read or written as a stream.
    Input(Error),
    /// The program reads no more.
    Closed,
}

impl From<std::io::Error> for WriteError {
    fn from(_: std::io::Error) -> WriteError {
        WriteError::Closed
    }
}

impl From<arrow_schema::ArrowError> for WriteError {
    fn from(cause: arrow_schema::ArrowError) -> WriteError {
        match cause {
            arrow_schema::ArrowError::IoError(..) => WriteError::Closed,
            cause => WriteError::Input(error(Status::InvalidData, cause.to_string())),
        }
    }
}

/// The error of a data source with the program's words: rows before the failure may be in the table.
fn with_outcome(cause: Error, of_program: &Error) -> Error {
    let message = format!("{}; {}", cause.message, of_program.message);
    Error { message, details: of_program.details.clone(), ..cause }
}

/// The program that the option names, or the variable, or PATH.
fn path(server: &ServerOptions) -> PathBuf {
    let named = || std::env::var_os(PROGRAM).filter(|path| !path.is_empty()).map(PathBuf::from);
    server.program.clone().or_else(named).unwrap_or_else(|| PathBuf::from("inrush"))
}

fn not_started(path: &std::path::Path, cause: &std::io::Error) -> Error {
    if cause.kind() == std::io::ErrorKind::NotFound {
        return error(
            Status::NotFound,
            format!(
                "the program {} was not found: the option inrush.program names the program of \
                 this driver",
                path.display()
            ),
        );
    }
    error(Status::IO, format!("starting {}: {cause}", path.display()))
}

/// The text of a file; a file that cannot be read has none.
fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
