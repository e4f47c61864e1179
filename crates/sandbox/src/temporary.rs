//! A server that ends with this process: for proofs of a build, and for tests.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use locks::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

use server::Session;
use server::error::{Error, Result};

use crate::mariadbd::{Binary, Place, child_end};

/// Between two looks at a server that ends.
const POLL: Duration = Duration::from_millis(10);

/// A server on a data directory. Killed when it is dropped, or when the process ends.
#[derive(Debug)]
pub struct TemporaryServer {
    /// Its program.
    pub binary: Binary,
    /// Its files.
    pub place: Place,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    start_timeout: Duration,
    child: Mutex<Option<Child>>,
}

impl TemporaryServer {
    /// Describes it, with arguments of every start. Starts nothing.
    pub fn new(
        binary: Binary,
        place: Place,
        arguments: Vec<String>,
        start_timeout: Duration,
    ) -> TemporaryServer {
        let (environment, child) = (Vec::new(), Mutex::new(None));
        TemporaryServer { binary, place, arguments, environment, start_timeout, child }
    }

    /// The same with environment variables of its process.
    pub fn with_environment(mut self, environment: Vec<(&'static str, String)>) -> TemporaryServer {
        self.environment = environment;
        self
    }

    /// Makes its data directory, by the program `installer` if one is named.
    ///
    /// Errors: as of [`Binary::install`]; it was killed.
    pub fn install(&self, installer: Option<&Path>) -> Result<()> {
        let run = |command: &mut Command| self.run(command);
        self.binary.install_by(installer, &self.place.datadir, &self.arguments, run)
    }

    /// Runs a program to its end as the server's process, so that another thread can kill it.
    fn run(&self, command: &mut Command) -> io::Result<Output> {
        let (mut reader, writer) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
        *self.child.lock() = Some(command.spawn()?);
        // Ours would keep the pipe open.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut stdout = Vec::new();
        reader.read_to_end(&mut stdout)?;
        let child = self.child.lock().take();
        let mut child = child.ok_or_else(|| io::Error::other("the program was killed"))?;
        Ok(Output { status: child.wait()?, stdout, stderr: Vec::new() })
    }

    /// Starts it; returns once it answers.
    ///
    /// Errors: a server that does not come up, with the end of its log.
    pub fn start(&self) -> Result<()> {
        self.start_with(&[])
    }

    /// The same, this once with more arguments.
    pub fn start_with(&self, more: &[String]) -> Result<()> {
        for stale in [&self.place.socket, &self.place.pid_file] {
            let _ = fs::remove_file(stale);
        }
        let from = self.place.log_len();
        let arguments = [&self.arguments[..], more].concat();
        let mut command = self.binary.command(&self.place, &arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let child = spawn_from_lasting_thread(command)
            .map_err(|e| Error::io("running", &self.binary.path, e))?;
        // From here on another thread can kill it.
        *self.child.lock() = Some(child);
        let ended = || match self.child.lock().as_mut() {
            Some(child) => child_end(child),
            None => Some("the server was killed at its start".to_owned()),
        };
        match self.place.wait_for_connection(self.start_timeout, ended) {
            Ok(_session) => Ok(()),
            Err(reason) => {
                let _ = self.kill_9();
                let message = format!("{reason}\n{}", self.place.log_tail(from));
                let dir = self.place.datadir.clone();
                Err(Error::Sandbox { doing: "starting", dir, message })
            }
        }
    }

    /// A session as its administrator.
    pub fn connect(&self) -> Result<Session> {
        Session::connect(&self.place.connect_options())
    }

    /// Kills it as a crash would: no flush, no goodbye. Its whole process group goes, for its program can be a
    /// script that has the server as a process of its own.
    pub fn kill_9(&self) -> Result<()> {
        let mut slot = self.child.lock();
        let Some(mut child) = slot.take() else { return Ok(()) };
        let failed = |e| Error::io("killing", &self.place.datadir, e);
        // The number of a process that was waited for may be another's.
        if child.try_wait().map_err(failed)?.is_none() {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let killed = group.map(|group| kill_process_group(group, Signal::KILL));
            killed.unwrap_or(Ok(())).map_err(|e| failed(e.into()))?;
            child.wait().map_err(failed)?;
        }
        Ok(())
    }

    /// Ends it cleanly; nothing if it does not run.
    pub fn stop(&self) -> Result<()> {
        if self.child.lock().is_none() {
            return Ok(());
        }
        self.connect()?.exec("SHUTDOWN")?;
        // Not held while it ends: another thread can kill it.
        while self.child.lock().is_some() && self.end().is_none() {
            std::thread::sleep(POLL);
        }
        self.child.lock().take();
        Ok(())
    }

    /// How it ended by itself, if it did.
    pub fn end(&self) -> Option<String> {
        self.child.lock().as_mut().and_then(child_end)
    }
}

impl Drop for TemporaryServer {
    fn drop(&mut self) {
        let _ = self.kill_9();
    }
}

/// Starts `command` from a thread that lives as long as this process.
///
/// The kernel sends the death signal when the starting *thread* ends, which may be one of many.
fn spawn_from_lasting_thread(command: Command) -> std::io::Result<Child> {
    type Request = (Command, Sender<std::io::Result<Child>>);
    static STARTER: OnceLock<Mutex<Sender<Request>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (sender, receiver): (Sender<Request>, Receiver<Request>) = channel();
        std::thread::spawn(move || {
            for (mut command, answer) in receiver {
                let _ = answer.send(command.spawn());
            }
        });
        Mutex::new(sender)
    });
    let (answer, result) = channel();
    let gone = || std::io::Error::other("the starting thread has gone");
    let starter = starter.lock();
    starter.send((command, answer)).map_err(|_| gone())?;
    drop(starter);
    result.recv().map_err(|_| gone())?
}
