//! The installed `mariadbd`: found, given a data directory, started and stopped.
//!
//! Used by the sandbox and by the servers of tests; knows nothing of either.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal};

use server::error::{Error, Result};
use server::options::{ConnectOptions, passwd_user};
use server::session::Session;
use server::version::{Flavor, Version};

/// Folders beside PATH where servers are installed.
const FOLDERS: [&str; 6] = [
    "/usr/sbin",
    "/usr/bin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/mysql/bin",
    "/usr/libexec",
];
/// The last of the files that a process has from its start by custom.
const STDERR: i32 = 2;
/// Lines of the error log shown when a start fails.
const LOG_LINES: usize = 15;
const POLL_FIRST: Duration = Duration::from_millis(10);
const POLL_MAX: Duration = Duration::from_millis(100);

/// An installed server binary.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The program.
    pub path: PathBuf,
    /// Its version, by its own words.
    pub version: Version,
}

impl Binary {
    /// Finds `mariadbd`: the path in the environment variable `override_name`, PATH, the usual
    /// folders.
    pub fn find(override_name: &'static str) -> Result<Binary> {
        let named = std::env::var_os(override_name).filter(|v| !v.is_empty()).map(PathBuf::from);
        if let Some(path) = named {
            return Binary::at(path, override_name);
        }
        let path = find_program(&["mariadbd", "mysqld"], None);
        let path = path.ok_or(Error::NoServer("mariadbd", override_name))?;
        let output = version_output(&path).map_err(|e| Error::io("running", &path, e))?;
        Binary::new(path, &output)
    }

    /// The server at `path`, which `who` named.
    pub fn at(path: PathBuf, who: &str) -> Result<Binary> {
        let output = version_output(&path).map_err(|e| {
            Error::Option(format!("{who} names {}, which cannot be run: {e}", path.display()))
        })?;
        Binary::new(path, &output)
    }

    fn new(path: PathBuf, output: &Output) -> Result<Binary> {
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.split_once("Ver ").and_then(|(_, rest)| {
            // "mariadbd  Ver 10.11.19-MariaDB-... for debian-linux-gnu on x86_64 (comment)"
            let comment =
                rest.trim_end().split_once(" (").and_then(|(_, end)| end.strip_suffix(')'));
            let version = Version::parse(rest.split_whitespace().next()?)?;
            Some(version.with_comment(comment.unwrap_or_default()))
        });
        let version = version.ok_or_else(|| {
            let said = text.trim();
            Error::Option(format!(
                "{} --version prints {said:?}, which is not a server's version",
                path.display()
            ))
        })?;
        Ok(Binary { path, version })
    }

    /// `--basedir` for servers unpacked outside /usr, whose messages are not where they look.
    fn basedir(&self) -> Option<PathBuf> {
        let base = self.path.parent()?.parent().filter(|base| base.parent().is_some())?;
        let folders = [base.to_owned(), base.join("usr")];
        folders.into_iter().find(|dir| dir != Path::new("/usr") && dir.join("share").is_dir())
    }

    /// The program that makes data directories for MariaDB.
    pub fn installer(&self) -> Result<PathBuf> {
        let names = ["mariadb-install-db", "mysql_install_db"];
        let base = self.path.parent().and_then(Path::parent);
        find_program(&names, base).ok_or(Error::NoServer("mariadb-install-db", "PATH"))
    }

    /// Makes a new data directory at `datadir`, which must not exist.
    ///
    /// The account `root`, and the account of this process's user if it has a name, may connect
    /// through the socket without a password when the process that connects is theirs
    /// (unix_socket). A user id without a name gets a `root` without password: the caller keeps
    /// the socket in a folder of mode 0700.
    pub fn install(&self, datadir: &Path, extra: &[String]) -> Result<()> {
        self.install_by(None, datadir, extra, Command::output)
    }

    /// The same by the program `installer`, if one is named, which `run` runs.
    pub(crate) fn install_by(
        &self,
        installer: Option<&Path>,
        datadir: &Path,
        extra: &[String],
        run: impl FnOnce(&mut Command) -> io::Result<Output>,
    ) -> Result<()> {
        if self.version.flavor == Flavor::MySql {
            return self.initialize(datadir, extra, run);
        }
        let installer = installer.map_or_else(|| self.installer(), |path| Ok(path.to_owned()))?;
        let mut command = Command::new(installer);
        command.arg("--no-defaults").arg(path_arg("--datadir=", datadir)).arg("--skip-test-db");
        // A starting server removes the #sql files it finds in its temporary folder: in a shared
        // one that would be another's. With --force the script resolves no names: there need not be an
        // /etc/hosts.
        let tmpdir = datadir.with_extension("install-tmp");
        fs::create_dir_all(&tmpdir).map_err(|e| Error::io("making", &tmpdir, e))?;
        command.arg(path_arg("--tmpdir=", &tmpdir)).arg("--force");
        match passwd_user() {
            Some(user) => command
                .arg("--auth-root-authentication-method=socket")
                .arg(format!("--auth-root-socket-user={user}"))
                .arg(format!("--user={user}")),
            None => command.arg("--auth-root-authentication-method=normal"),
        };
        if let Some(base) = self.basedir() {
            command.arg(path_arg("--basedir=", &base));
        }
        // A script: it finds sed and others by PATH, whatever ours is.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = FOLDERS.map(PathBuf::from).into_iter().chain([PathBuf::from("/bin")]);
        if let Ok(path) = std::env::join_paths(std::env::split_paths(&path).chain(folders)) {
            command.env("PATH", path);
        }
        let output = run(command.args(extra));
        let _ = fs::remove_dir_all(&tmpdir);
        let output = output.map_err(|e| Error::io("installing", datadir, e))?;
        if output.status.success() {
            return Ok(());
        }
        let said = output_tail(&output);
        // Debian's package of the server's programs does without it.
        let message = match said.contains("my_print_defaults") {
            true => {
                "mariadb-install-db needs the program my_print_defaults, which is not installed \
                     (Debian: apt install mariadb-client-core)"
                    .to_owned()
            }
            false => format!("mariadb-install-db: {said}"),
        };
        Err(Error::Sandbox { doing: "installing", dir: datadir.to_owned(), message })
    }

    /// As [`Binary::install`], for MySQL: `root` and the process's user have no password.
    fn initialize(
        &self,
        datadir: &Path,
        extra: &[String],
        run: impl FnOnce(&mut Command) -> io::Result<Output>,
    ) -> Result<()> {
        let failed = |message| Error::Sandbox {
            doing: "installing",
            dir: datadir.to_owned(),
            message: format!("mysqld --initialize-insecure: {message}"),
        };
        let work = datadir.with_extension("install-tmp");
        fs::create_dir_all(&work).map_err(|e| Error::io("making", &work, e))?;
        let mut command = Command::new(&self.path);
        command.args(["--no-defaults", "--initialize-insecure"]);
        command.arg(path_arg("--datadir=", datadir)).arg(path_arg("--tmpdir=", &work));
        match passwd_user() {
            Some(user) if user == "root" => drop(command.arg("--user=root")),
            Some(user) => {
                let account = format!("{}@localhost", server::identifier::quote_text(&user));
                let sql = work.join("accounts.sql");
                // One statement a line.
                let text = format!(
                    "CREATE USER {account};\nGRANT ALL ON *.* TO {account} WITH GRANT OPTION;\n"
                );
                fs::write(&sql, text).map_err(|e| Error::io("writing", &sql, e))?;
                command.arg(path_arg("--init-file=", &sql));
            }
            None => {}
        }
        if let Some(base) = self.basedir() {
            command.arg(path_arg("--basedir=", &base));
        }
        let output = run(command.args(extra));
        let _ = fs::remove_dir_all(&work);
        let output = output.map_err(|e| Error::io("installing", datadir, e))?;
        if output.status.success() { Ok(()) } else { Err(failed(output_tail(&output))) }
    }

    /// The command that runs the server in the foreground on `place`, output to its error log.
    pub fn command(&self, place: &Place, extra: &[String]) -> Command {
        let mut command = match wrapper(place.wrapper) {
            Some(mut wrapper) => {
                wrapper.arg(&self.path);
                wrapper
            }
            None => Command::new(&self.path),
        };
        command
            .arg("--no-defaults")
            .arg(path_arg("--datadir=", &place.datadir))
            .arg(path_arg("--socket=", &place.socket))
            .arg(path_arg("--pid-file=", &place.pid_file))
            .arg(path_arg("--log-error=", &place.error_log))
            .arg(path_arg("--tmpdir=", &place.tmpdir))
            .args(["--skip-networking", "--skip-name-resolve"]);
        if rustix::process::geteuid().is_root() {
            command.arg("--user=root");
        }
        if let Some(base) = self.basedir() {
            command.arg(path_arg("--basedir=", &base));
        }
        command.args(extra).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match place.wrapper {
            // It would hold the files that our caller has open, and the locks on them, for good.
            Wrapper::Session => close_fds::set_fds_cloexec_threadsafe(STDERR + 1, &[]),
            // A Ctrl-C for the foreground program is not for its server.
            Wrapper::DiesWithUs => drop(command.process_group(0)),
        }
        command
    }
}

/// How the server's process is tied to ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapper {
    /// A session of its own: it outlives us and our terminal.
    Session,
    /// It is killed when the thread that started it ends.
    DiesWithUs,
}

/// Where one server keeps its things.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its data directory.
    pub datadir: PathBuf,
    /// Where it listens.
    pub socket: PathBuf,
    /// Where it writes the number of its process.
    pub pid_file: PathBuf,
    /// Its error log.
    pub error_log: PathBuf,
    /// Its temporary folder, no other server's.
    pub tmpdir: PathBuf,
    /// The wrapper that ends it with us, or not.
    pub wrapper: Wrapper,
}

impl Place {
    /// Options to connect to the server here.
    pub fn connect_options(&self) -> ConnectOptions {
        let mut options = ConnectOptions::for_socket(&self.socket);
        options.user = Some(passwd_user().unwrap_or_else(|| "root".to_owned()));
        options
    }

    /// The process that runs on this data directory, if one does.
    pub(crate) fn running(&self) -> Option<Process> {
        let text = fs::read_to_string(&self.pid_file).ok()?;
        Process::on_datadir(text.trim().parse().ok()?, &self.datadir)
    }

    /// Connects until it works or `alive` says the server has gone.
    ///
    /// `alive` gives None while the server runs, else how it ended.
    pub fn wait_for_connection(
        &self,
        timeout: Duration,
        mut alive: impl FnMut() -> Option<String>,
    ) -> Result<Session, String> {
        let (start, mut pause) = (Instant::now(), POLL_FIRST);
        loop {
            let failure = match Session::connect(&self.connect_options()) {
                Ok(session) => return Ok(session),
                Err(e) => e,
            };
            // Refused by a server that is up: waiting does not help.
            if let Error::Connect { errno: Some(1045 | 1698), .. } = failure {
                return Err(failure.to_string());
            }
            if let Some(end) = alive() {
                return Err(end);
            }
            if start.elapsed() > timeout {
                return Err(format!("no connection within {} s ({failure})", timeout.as_secs()));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(POLL_MAX);
        }
    }

    /// The end of the error log from byte `from` on.
    pub fn log_tail(&self, from: u64) -> String {
        let bytes = fs::read(&self.error_log).unwrap_or_default();
        let from = usize::try_from(from).unwrap_or(0).min(bytes.len());
        let text = String::from_utf8_lossy(&bytes[from..]);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    /// Length of the error log now.
    pub fn log_len(&self) -> u64 {
        fs::metadata(&self.error_log).map_or(0, |meta| meta.len())
    }
}

/// A running server process, known to be the one on its data directory.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Where it listens, by its arguments.
    pub(crate) socket: Option<PathBuf>,
    handle: rustix::fd::OwnedFd,
}

impl Process {
    /// The process `pid` if it runs a server on `datadir`. A process that merely got the same
    /// number after a reboot does not count, nor does one that has ended and was not waited for.
    pub(crate) fn on_datadir(pid: u32, datadir: &Path) -> Option<Process> {
        let raw = Pid::from_raw(i32::try_from(pid).ok()?)?;
        // The handle first, the look at the process after: then both mean the same process.
        let handle = rustix::process::pidfd_open(raw, PidfdFlags::empty()).ok()?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let want = datadir.canonicalize().ok()?;
        let paths = |name: &'static [u8]| {
            let values = line.split(|&b| b == 0).filter_map(move |word| word.strip_prefix(name));
            values.map(|path| Path::new(OsStr::from_bytes(path)))
        };
        // It may have been started by another path of the folder.
        let is_here = |path: &Path| path.canonicalize().is_ok_and(|path| path == want);
        let socket = paths(b"--socket=").next_back().map(Path::to_owned);
        paths(b"--datadir=").any(is_here).then_some(Process { pid, socket, handle })
    }

    pub(crate) fn signal(&self, signal: Signal) -> std::io::Result<()> {
        Ok(rustix::process::pidfd_send_signal(&self.handle, signal)?)
    }

    /// True if it still runs. A zombie has an empty command line and counts as gone.
    pub(crate) fn is_alive(&self) -> bool {
        rustix::process::pidfd_send_signal(&self.handle, Signal::CONT).is_ok()
            && fs::read(format!("/proc/{}/cmdline", self.pid)).is_ok_and(|line| !line.is_empty())
    }

    /// Waits for its end; false when it still runs after `timeout`.
    pub(crate) fn wait_gone(&self, timeout: Duration) -> bool {
        let start = Instant::now();
        while self.is_alive() {
            if start.elapsed() > timeout {
                return false;
            }
            std::thread::sleep(POLL_FIRST);
        }
        true
    }
}

fn version_output(program: &Path) -> std::io::Result<Output> {
    Command::new(program).args(["--no-defaults", "--version"]).output()
}

/// How a child ended, None while it runs.
pub fn child_end(child: &mut Child) -> Option<String> {
    match child.try_wait() {
        Ok(None) => None,
        Ok(Some(status)) => Some(format!("the server ended with {status}")),
        Err(e) => Some(format!("the server cannot be watched: {e}")),
    }
}

/// The first of `names` in `base`/bin, sbin or scripts, in PATH or in the usual folders.
pub fn find_program(names: &[&str], base: Option<&Path>) -> Option<PathBuf> {
    let mut folders = Vec::new();
    if let Some(base) = base {
        folders.extend(["bin", "sbin", "scripts"].map(|sub| base.join(sub)));
    }
    if let Some(path) = std::env::var_os("PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    folders.extend(FOLDERS.map(PathBuf::from));
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

/// `--name=` and a path, whatever bytes the path has.
fn path_arg(name: &str, path: &Path) -> std::ffi::OsString {
    let mut arg = std::ffi::OsString::from(name);
    arg.push(path);
    arg
}

/// The util-linux program that ties or unties a process without unsafe code of ours.
fn wrapper(kind: Wrapper) -> Option<Command> {
    match kind {
        Wrapper::Session => find_program(&["setsid"], None).map(Command::new),
        Wrapper::DiesWithUs => find_program(&["setpriv"], None).map(|path| {
            let mut command = Command::new(path);
            command.args(["--pdeathsig", "KILL"]);
            command
        }),
    }
}

fn output_tail(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}
