//! This machine's end: starts ssh, sends the load, passes messages and the exit status on.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use face::option::CONNECT_TIMEOUT;
use locks::Mutex;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};
use server::Interrupt;
use terminal::failure::Failure;
use terminal::say;

use crate::GREETING;
use crate::address::Address;
use crate::frame;
use crate::returned::{Part, ReturnedFiles};
use crate::upload::{Upload, UploadError};

/// The command that ssh has the other machine's shell run: words without meaning for any shell.
const COMMAND: &str = "inrush load --via -";
/// Longest line of a message; a longer one is cut into lines.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// The wait for the greeting, unless another one is named.
const GREETING_WAIT: Duration = Duration::from_secs(30);
/// Most bytes of a program's name for its version.
const VERSION_BYTES_MAX: u64 = 4 << 10;
/// How often somebody who waits looks whether to stop.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// The wait for the last lines of a program that has ended, and for a program that is to end to read.
const LAST_LINES: Duration = Duration::from_secs(5);
/// Exit status of ssh for its own failures.
const SSH_FAILED: i32 = 255;
/// Exit status of a shell for a program that is missing, or cannot be run.
const NO_PROGRAM: [i32; 2] = [127, 126];

/// A program of ours on another machine that awaits a load.
#[derive(Debug)]
pub struct Client {
    address: Address,
    child: Child,
    stdin: Pipe,
    messages: BufReader<Messages>,
}

impl Client {
    /// Starts `program`, which is ssh, and waits for the greeting of the program on the other machine, `wait` or
    /// 30 seconds. Lines that come before it are printed.
    ///
    /// Errors: no connection, no greeting in time; no program there, or one of another version. ssh has ended then.
    pub fn connect(
        program: &Path,
        address: &Address,
        version: &str,
        wait: Option<Duration>,
    ) -> Result<Client, Failure> {
        let wait = wait.unwrap_or(GREETING_WAIT);
        let mut command = address.command(program);
        // A Ctrl-C of the terminal is for this program, which tells the other machine.
        command.arg(COMMAND).process_group(0);
        let child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let starting = |error| Failure::failed(format!("starting {}: {error}", program.display()));
        let mut child = child.map_err(starting)?;
        let pipes = child.stdin.take().zip(child.stderr.take());
        let (stdin, stderr) = pipes.ok_or_else(|| starting(io::ErrorKind::BrokenPipe.into()))?;
        let mut messages = BufReader::new(Messages::until(stderr, Instant::now() + wait));
        while let Ok(Some(line)) = next_line(&mut messages) {
            let Some(other) = greeting(&line) else {
                say(line);
                continue;
            };
            if other == version {
                messages.get_mut().wait_for_ever();
                let stdin = Pipe(Arc::new(Mutex::new(Some(stdin))));
                return Ok(Client { address: address.clone(), child, stdin, messages });
            }
            let refusal = other_version(address, other, version);
            drop(stdin);
            end(&mut child).map_err(Failure::failed)?;
            return Err(refusal);
        }
        drop(stdin);
        if messages.get_ref().is_late() {
            kill(&mut child).map_err(Failure::failed)?;
            return Err(no_answer(address, wait));
        }
        let status = end(&mut child).map_err(Failure::failed)?;
        Err(no_greeting(program, address, version, status))
    }

    /// Sends a load, prints the messages about it, and gives its exit status. A request of the end closes the
    /// stream, at which the program there stops and cleans up. A returned file that cannot be written is a warning:
    /// the program there keeps its rows.
    ///
    /// Errors: an input that cannot be read, a connection that ended.
    pub fn load(self, upload: Upload, interrupt: &Interrupt) -> Result<u8, Failure> {
        let Client { address, mut child, stdin, messages } = self;
        let mut out = stdin.clone();
        let files = Arc::new(Mutex::new(ReturnedFiles::new(upload.written.clone())));
        let has_files = !upload.written.is_empty();
        let (receipt, receipts) = channel();
        let mut upload = Some(start("upload", move || {
            disk::failpoint::hit("thread.upload");
            upload.write(&mut out, &receipts)
        })?);
        let (printing, printed) = channel::<()>();
        let messages = start("messages", {
            let files = Arc::clone(&files);
            move || {
                disk::failpoint::hit("thread.messages");
                let end = pass_on(messages, &files, &receipt);
                drop(printing);
                end
            }
        })?;
        let (mut failure, mut waited) = (None, Instant::now());
        let status = loop {
            if let Some(status) = child.try_wait().map_err(Failure::failed)? {
                break status;
            }
            if printed.recv_timeout(LOOK_INTERVAL) == Err(RecvTimeoutError::Disconnected) {
                // The end of the messages is that of the program, a moment later.
                thread::sleep(LOOK_INTERVAL / 10);
            }
            if upload.as_ref().is_some_and(JoinHandle::is_finished) {
                let end = upload.take().map(JoinHandle::join);
                // Behind a complete upload the pipe stays open: its end would stop the load.
                if !matches!(end, Some(Ok(Ok(())))) {
                    stdin.close();
                }
                failure = end.and_then(upload_failure);
            }
            // A program that does not read is told by the end of ssh.
            let is_over = interrupt.is_requested() || has_files && messages.is_finished();
            if is_over && !stdin.close() && waited.elapsed() > LAST_LINES {
                let _ = child.kill();
            }
            if !is_over {
                waited = Instant::now();
            }
        };
        let is_read = printed.recv_timeout(LAST_LINES) == Err(RecvTimeoutError::Disconnected);
        let end = if is_read { messages.join().ok() } else { None };
        if let Some(error) = failure {
            return Err(Failure::failed(format!("the transfer failed: {error}")));
        }
        let status = exit_status(&address, status)?;
        for failure in files.lock().failures(end.unwrap_or_else(|| Err(frame::cut_short()))) {
            say(format!("inrush: warning: {failure}"));
        }
        Ok(status)
    }
}

/// Prints messages and writes files, to the end of both. Gives a receipt for each file.
///
/// Errors: reading.
fn pass_on(
    mut messages: impl BufRead,
    files: &Mutex<ReturnedFiles>,
    receipt: &Sender<bool>,
) -> io::Result<()> {
    while let Some(line) = next_line(&mut messages)? {
        let taken = match Part::read(&line, &mut messages) {
            Ok(None) => {
                say(line);
                continue;
            }
            Ok(Some(part)) => files.lock().take(&part),
            Err(error) => Err(error),
        };
        // The sum of a file tells that a part was damaged.
        if let Some(is_stored) = taken.or_else(damaged_receipt)? {
            let _ = receipt.send(is_stored);
        }
    }
    Ok(())
}

/// The receipt for a part of which nobody knows what file it is of.
///
/// Errors: another one than that of a damaged part.
fn damaged_receipt(error: io::Error) -> io::Result<Option<bool>> {
    match error.kind() {
        io::ErrorKind::InvalidData => Ok(Some(false)),
        _ => Err(error),
    }
}

/// Why an upload failed by a fault of this machine.
fn upload_failure(end: thread::Result<Result<(), UploadError>>) -> Option<String> {
    match end {
        Ok(Ok(()) | Err(UploadError::Pipe)) => None,
        Ok(Err(UploadError::Input(error))) => Some(error),
        Err(_) => Some("an internal error ended the transfer; please report this".to_owned()),
    }
}

fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Failure> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|error| Failure::failed(format!("starting a thread: {error}")))
}

/// The exit status of the program on the other machine.
fn exit_status(address: &Address, status: ExitStatus) -> Result<u8, Failure> {
    let code = status.code().filter(|&code| code != SSH_FAILED);
    code.and_then(|code| u8::try_from(code).ok()).ok_or_else(|| {
        Failure::failed(format!(
            "the connection to {address} was lost, and the load stops there; {}",
            outcome(address)
        ))
    })
}

fn outcome(address: &Address) -> String {
    format!("`inrush jobs` on {address} tells if the rows are in the table")
}

/// The refusal of a machine that said nothing.
fn no_answer(address: &Address, wait: Duration) -> Failure {
    let seconds = wait.as_secs();
    Failure::failed(format!(
        "nothing was loaded: no program inrush on {address} answered within {seconds} s ({CONNECT_TIMEOUT} sets how \
         long), and ssh was ended; `ssh {address} inrush --version` shows where the connection stops"
    ))
}

/// The output of a program, which has a few seconds to end.
fn version_text(command: &mut Command) -> io::Result<String> {
    let pipes = command.process_group(0).stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = pipes.stdout(Stdio::piped()).spawn()?;
    end(&mut child)?;
    let mut text = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(VERSION_BYTES_MAX).read_to_end(&mut text)?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Waits for a child that has been told to end, and kills one that does not.
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    let until = Instant::now() + LAST_LINES;
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(LOOK_INTERVAL / 10);
    }
    kill(child)
}

/// Kills a child, which leads a group of its own, with its children: ssh may have one that connects.
fn kill(child: &mut Child) -> io::Result<ExitStatus> {
    // One that has ended needs no signal.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    child.wait()
}

/// The refusal of a program that did not greet.
fn no_greeting(program: &Path, address: &Address, version: &str, status: ExitStatus) -> Failure {
    match status.code() {
        None | Some(SSH_FAILED) => Failure::failed(format!(
            "nothing was loaded: {address} cannot be reached by ssh, which must log in without a question, by a key \
             or an agent"
        )),
        Some(code) if NO_PROGRAM.contains(&code) => Failure::usage(format!(
            "the PATH of ssh's commands on {address} has no program inrush; install Inrush {version} there, such as \
             in /usr/local/bin"
        )),
        Some(code) => {
            let mut probe = address.command(program);
            let text = version_text(probe.arg("inrush --version")).unwrap_or_default();
            let other = text.lines().find_map(|line| line.strip_prefix("inrush "));
            match other.filter(|&other| other != version) {
                Some(other) => other_version(address, other, version),
                None => Failure::usage(format!(
                    "the program inrush on {address} ended with exit status {code} before it took the load; install \
                     Inrush {version} there"
                )),
            }
        }
    }
}

fn other_version(address: &Address, other: &str, version: &str) -> Failure {
    Failure::usage(format!(
        "{address} has Inrush {other}, and this is Inrush {version}; install the same version on both machines"
    ))
}

/// The version in a greeting.
fn greeting(line: &str) -> Option<&str> {
    let version = line.strip_prefix(GREETING.0)?.strip_suffix(GREETING.1)?;
    (!version.contains(' ')).then_some(version)
}

/// The next line of messages; None at their end.
fn next_line(messages: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let size = messages.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    let text = String::from_utf8_lossy(&line);
    Ok((size > 0).then(|| text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// The standard error of ssh, which is waited for until some moment or for ever.
#[derive(Debug)]
struct Messages {
    stderr: ChildStderr,
    until: Option<Instant>,
}

impl Messages {
    fn until(stderr: ChildStderr, until: Instant) -> Messages {
        let is_set = fcntl_setfl(&stderr, OFlags::NONBLOCK).is_ok();
        Messages { stderr, until: Some(until).filter(|_| is_set) }
    }

    fn wait_for_ever(&mut self) {
        if self.until.take().is_some() {
            // It cannot fail while the pipe is open.
            let _ = fcntl_setfl(&self.stderr, OFlags::empty());
        }
    }

    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

impl Read for Messages {
    /// Errors: of kind TimedOut, no byte until the moment.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stderr.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            if self.is_late() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(LOOK_INTERVAL / 10);
        }
    }
}

/// The standard input of ssh, which one thread writes to and another closes.
#[derive(Clone, Debug)]
struct Pipe(Arc<Mutex<Option<ChildStdin>>>);

impl Pipe {
    /// Closes it; false while a write waits for a reader.
    fn close(&self) -> bool {
        self.0.try_lock().map(|mut stdin| stdin.take()).is_some()
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0.lock() {
            Some(stdin) => stdin.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::mpsc::TryRecvError;

    use sources::{FoundInput, KeptPipes};

    use super::*;
    use crate::returned::WrittenFile;

    /// Another process writes it: a program that this one has open to write, if only in the fork of another test,
    /// cannot be run.
    fn executable(program: &Path, script: &str) {
        let text = program.with_extension("txt");
        std::fs::write(&text, format!("#!/bin/sh\n{script}")).unwrap();
        assert!(Command::new("cp").arg(&text).arg(program).status().unwrap().success());
        std::fs::set_permissions(program, Permissions::from_mode(0o700)).unwrap();
    }

    /// Loads by a script in place of ssh and the program behind it, with a file `back` that is sent back.
    fn load(folder: &Path, script: &str) -> Result<u8, Failure> {
        let (program, input) = (folder.join("ssh"), folder.join("in"));
        executable(&program, &format!("echo 'inrush 1 awaits a load' >&2\n{script}"));
        std::fs::write(&input, "1,a\n").unwrap();
        let found = FoundInput::find(&[input], None, &KeptPipes::default(), folder).unwrap();
        let upload = Upload {
            arguments: Vec::new(),
            password: None,
            schema: None,
            written: vec![WrittenFile {
                option: "--x",
                path: folder.join("back"),
                mode: 0o600,
                has_rows: true,
            }],
            input: found.into_iter().next().unwrap(),
        };
        let address = Address::parse("ssh://host").unwrap();
        let client = Client::connect(&program, &address, "1", None).unwrap();
        client.load(upload, &Interrupt::default())
    }

    #[test]
    fn a_receipt_follows_a_file_that_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let script = "exec 3<&0; cd $(dirname $0)\ncat <&3 > stream 2> /dev/null &\n\
                      printf '\\001 B 0 0 0\\n\\001 E 0 0 0\\n' >&2\n\
                      for i in $(seq 500); do\n\
                      test \"$(tail -c 5 stream | tr '\\0' .)\" = C.... && test -e back && exit 7\n\
                      sleep 0.01\ndone\nexit 9\n";
        assert_eq!(load(folder.path(), script).unwrap(), 7);
    }

    /// A load there that has put all rows in, after which a file fails here: its status is passed on, or a script runs the
    /// command again.
    #[test]
    fn a_file_that_is_not_written_changes_no_status() {
        let damaged = "\\001 B 0 0 0\\n\\001 D 0 3 1\\nabc\\001 E 0 0 1\\n";
        let headless = "\\001 B 0 0\\n";
        let complete = "\\001 B 0 0 0\\n\\001 E 0 0 0\\n";
        for (parts, make) in [(damaged, "true"), (headless, "true"), (complete, "mkdir back")] {
            let folder = tempfile::tempdir().unwrap();
            let script = format!(
                "exec 3<&0; cd $(dirname $0)\n{make}\ncat <&3 > stream 2> /dev/null &\n\
                 printf '{parts}' >&2\n\
                 for i in $(seq 500); do\n\
                 test \"$(tail -c 6 stream | tr '\\0\\1' .x)\" = C...x. && exit 3\n\
                 sleep 0.01\ndone\nexit 9\n"
            );
            assert_eq!(load(folder.path(), &script).unwrap(), 3, "{parts}");
            assert!(!folder.path().join("back").is_file());
        }
    }

    #[test]
    fn a_part_that_is_under_way_keeps_nobody_from_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = WrittenFile { option: "--x", path, mode: 0o600, has_rows: true };
        let files = Arc::new(Mutex::new(ReturnedFiles::new(vec![file])));
        let (reader, mut writer) = io::pipe().unwrap();
        let (receipt, receipts) = channel();
        let passing = thread::spawn({
            let files = Arc::clone(&files);
            move || pass_on(BufReader::new(reader), &files, &receipt)
        });
        writer.write_all(b"\x01 B 0 0 0\n\x01 D 0 3 910901175\na").unwrap();
        let begin = Instant::now();
        while std::fs::read_dir(folder.path()).unwrap().count() == 0 {
            assert!(begin.elapsed() < LAST_LINES);
            thread::sleep(LOOK_INTERVAL / 10);
        }
        // The thread has nothing to do but to wait for the rest.
        thread::sleep(LOOK_INTERVAL * 4);
        assert!(files.try_lock().is_some());
        assert_eq!(receipts.try_recv(), Err(TryRecvError::Empty));
        writer.write_all(b"bc\x01 E 0 0 910901175\n").unwrap();
        assert_eq!(receipts.recv(), Ok(true));
        assert_eq!(std::fs::read(folder.path().join("a")).unwrap(), b"abc");
        drop(writer);
        passing.join().unwrap().unwrap();
    }

    #[test]
    fn greetings_are_told_from_messages() {
        assert_eq!(greeting("inrush 0.1.0 awaits a load"), Some("0.1.0"));
        for line in ["inrush: an error", "inrush 0.1.0", "inrush who awaits awaits a load", ""] {
            assert_eq!(greeting(line), None, "{line}");
        }
    }

    #[test]
    fn a_machine_that_says_nothing_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (program, pids) = (folder.path().join("ssh"), folder.path().join("pids"));
        // It has a child, as ssh has with ProxyCommand, and says something else.
        let script = format!(
            "sleep 100 &\necho $$ $! > {}\necho banner >&2\nexec sleep 100\n",
            pids.display()
        );
        executable(&program, &script);
        let address = Address::parse("ssh://host").unwrap();
        let wait = Duration::from_secs(2);
        let error = Client::connect(&program, &address, "1", Some(wait)).unwrap_err();
        assert!(error.to_string().contains("answered within 2 s (--connect-timeout"), "{error}");
        for pid in std::fs::read_to_string(pids).unwrap().split_whitespace() {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // Nobody may have waited for the child of a child yet.
            assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
        }
    }

    #[test]
    fn long_lines_of_messages_are_cut() {
        let text = [b"a\r\n\n".as_slice(), &vec![b'x'; 70_000], b"\nend"].concat();
        let mut text = &text[..];
        let lines: Vec<String> = std::iter::from_fn(|| next_line(&mut text).unwrap()).collect();
        let sizes: Vec<usize> = lines.iter().map(String::len).collect();
        assert_eq!(sizes, [1, 0, 65_536, 4_464, 3]);
    }
}
