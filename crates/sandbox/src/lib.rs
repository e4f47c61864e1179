//! A private MariaDB for people without a server: `inrush sandbox`.
//!
//! ```text
//! DIR/lock           held while starting or stopping
//! DIR/users          locked by each command that uses the server
//! DIR/data/          the data directory
//! DIR/version        version of the server that last ran on it
//! DIR/server.sock    the socket (elsewhere when DIR is too long for one)
//! DIR/server.pid     process id
//! DIR/error.log      the server's log
//! DIR/tmp/           its temporary files
//! ```
//!
//! `shards` is one of several servers. It listens on the socket alone, reads no option file and outlives the
//! command that started it. It holds the user's data, so it runs with durable settings.

#![forbid(unsafe_code)]

pub mod mariadbd;
mod shards;
mod temporary;
mod user;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use face::option::SANDBOX;
use rustix::fs::{FlockOperation, Mode};
use rustix::process::Signal;

use crate::mariadbd::{Binary, Place, Wrapper, child_end, find_program};
use server::error::{Error, Result};
use server::options::ConnectOptions;
use server::version::{Flavor, Version};

pub use temporary::TemporaryServer;
pub use user::{Lifetime, User};

pub use shards::{PLUGIN_VARIABLE, ShardSandbox, ShardServer, spelled};

/// Environment variable that names the `mariadbd` to use.
pub const BINARY_VARIABLE: &str = "INRUSH_MARIADBD";

/// Held while starting or stopping; empty.
const LOCK: &str = "lock";
/// The version of the server that last ran here.
const VERSION: &str = "version";
/// The same while it is written: a full disk must not empty the file that tells a sandbox from other folders.
const VERSION_NEW: &str = "version.new";
/// A data directory that is being made.
const FRESH: &str = "data.new";
/// Everything in a folder whose server was never started.
const FIRST_NAMES: [&str; 7] =
    [LOCK, VERSION, VERSION_NEW, FRESH, "data.install-tmp", "shards", user::NAME];

/// Longest path of a unix socket: `sockaddr_un.sun_path` less its final NUL.
const SOCKET_BYTES_MAX: usize = 107;
const MIB: u64 = 1 << 20;
const BUFFER_POOL_MIN: u64 = 128 * MIB;
const BUFFER_POOL_MAX: u64 = 4096 * MIB;
/// Crash recovery of a large log takes its time.
const START_TIMEOUT: Duration = Duration::from_secs(600);
const STOP_TIMEOUT: Duration = Duration::from_secs(300);

/// Settings of a sandbox's server. They take effect when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxOptions {
    /// `innodb_buffer_pool_size`; default an eighth of the RAM, 128 MiB to 4 GiB.
    pub buffer_pool_bytes: Option<u64>,
    /// `innodb_log_file_size`; default the server's (96 MiB).
    pub log_file_bytes: Option<u64>,
    /// `innodb_flush_method`; default the server's (O_DIRECT).
    pub flush_method: Option<String>,
    /// More options of `mariadbd`, `--name=value` each. Later ones win.
    pub extra: Vec<String>,
}

/// A private server in a folder of its own.
#[derive(Clone, Debug)]
pub struct Sandbox {
    dir: PathBuf,
    place: Place,
}

/// The state of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The folder does not exist or was never started.
    Absent,
    /// Installed, not running.
    Stopped,
    /// Running as this process.
    Running {
        /// Process id.
        pid: u32,
    },
}

impl Sandbox {
    /// The sandbox in `dir`, which need not exist yet, by whatever way `dir` names it. Touches nothing.
    ///
    /// Errors: a folder with files that is no sandbox; a server would write into it, and close it to others.
    pub fn at(dir: impl AsRef<Path>) -> Result<Sandbox> {
        let dir = real_path(dir.as_ref()).map_err(|e| Error::io("finding", dir.as_ref(), e))?;
        if !is_free_or_ours(&dir) {
            return Err(Error::Option(format!(
                "{} has files and is no sandbox: {} names a new folder, an empty one, or a sandbox",
                dir.display(),
                SANDBOX.with("DIR")
            )));
        }
        let mut place = Place {
            datadir: dir.join("data"),
            socket: socket_path(&dir),
            pid_file: dir.join("server.pid"),
            error_log: dir.join("error.log"),
            tmpdir: dir.join("tmp"),
            wrapper: Wrapper::Session,
        };
        // Its start may have had another XDG_RUNTIME_DIR, or named the folder by another path.
        if let Some(socket) = place.running().and_then(|process| process.socket) {
            place.socket = socket;
        }
        Ok(Sandbox { dir, place })
    }

    /// The sandbox in the user's data directory: `$XDG_DATA_HOME/inrush/sandbox`, or
    /// `~/.local/share/inrush/sandbox`.
    pub fn in_home() -> Result<Sandbox> {
        let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let data = set("XDG_DATA_HOME").filter(|path| path.is_absolute());
        let data = data.or_else(|| Some(set("HOME")?.join(".local/share")));
        let data = data.ok_or_else(|| {
            let sandbox = SANDBOX.with("DIR");
            Error::Option(format!("neither XDG_DATA_HOME nor HOME is set: use {sandbox}"))
        })?;
        Sandbox::at(data.join("inrush/sandbox"))
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its data directory.
    pub fn datadir(&self) -> &Path {
        &self.place.datadir
    }

    /// Its socket.
    pub fn socket(&self) -> &Path {
        &self.place.socket
    }

    /// Its server's error log.
    pub fn error_log(&self) -> &Path {
        &self.place.error_log
    }

    /// Options to connect to it.
    pub fn connect_options(&self) -> ConnectOptions {
        ConnectOptions { name: Some("sandbox".to_owned()), ..self.place.connect_options() }
    }

    /// Its state: running or not.
    pub fn status(&self) -> Status {
        match self.place.running() {
            Some(process) => Status::Running { pid: process.pid },
            None if self.place.datadir.exists() => Status::Stopped,
            None => Status::Absent,
        }
    }

    /// Starts it if it does not run, installing it the first time; returns once it answers. It runs until it is
    /// stopped, also if it ran for its users alone before.
    ///
    /// Safe to call from several processes at once: one starts it, the others wait. Killed in
    /// between, the next call finds a half-made installation (thrown away) or a server on its way
    /// up (waited for).
    ///
    /// Errors: no server installed, a downgrade, a server that does not come up (with the end of
    /// its log).
    pub fn start(&self, options: &SandboxOptions) -> Result<()> {
        let _lock = self.make_and_lock()?;
        self.keep_running()?;
        self.start_locked(options)
    }

    fn start_locked(&self, options: &SandboxOptions) -> Result<()> {
        if let Some(process) = self.place.running() {
            let gone = || (!process.is_alive()).then(|| "the server ended".to_owned());
            let from = self.place.log_len();
            return self.wait(from, gone).map(drop);
        }
        let binary = Binary::find(BINARY_VARIABLE)?;
        let upgrade = self.check_version(&binary.version)?;
        self.install_if_needed(&binary)?;
        make_private_dir(&self.place.tmpdir)?;
        if let Some(folder) = self.place.socket.parent().filter(|folder| *folder != self.dir) {
            make_private_dir(folder)?;
        }
        remove_stale(&self.place.socket)?;
        remove_stale(&self.place.pid_file)?;

        let from = self.place.log_len();
        let mut child = binary
            .command(&self.place, &server_arguments(options, binary.version.flavor))
            .spawn()
            .map_err(|e| Error::io("running", &binary.path, e))?;
        // The server writes it at the end of its start. Until then somebody else may start or stop the sandbox.
        let pid_file = &self.place.pid_file;
        fs::write(pid_file, format!("{}\n", child.id()))
            .map_err(|e| Error::io("writing", pid_file, e))?;
        self.wait(from, || child_end(&mut child))?;
        if upgrade {
            self.upgrade(&binary)?;
        }
        self.write_version(&binary.version)
    }

    /// Stops it and waits until it has written everything. Not running is fine.
    pub fn stop(&self) -> Result<()> {
        if !self.dir.exists() {
            return Ok(());
        }
        let _lock = self.lock(START_TIMEOUT)?;
        self.stop_locked()
    }

    fn stop_locked(&self) -> Result<()> {
        let Some(process) = self.place.running() else { return Ok(()) };
        process.signal(Signal::TERM).map_err(|e| self.failed("stopping", e.to_string()))?;
        if !process.wait_gone(STOP_TIMEOUT) {
            let message = format!("process {} still runs after 300 s", process.pid);
            return Err(self.failed("stopping", message));
        }
        Ok(())
    }

    /// The mariadb client, set up to talk to this sandbox; the caller adds arguments and runs it.
    pub fn client(&self) -> Result<Command> {
        let program = find_program(&["mariadb", "mysql"], None).ok_or_else(|| {
            Error::Option("no mariadb client found: apt install mariadb-client".to_owned())
        })?;
        let mut command = Command::new(program);
        command
            .arg("--no-defaults")
            .arg("--socket")
            .arg(&self.place.socket)
            .arg(format!("--user={}", self.connect_options().user_name()))
            .arg("--default-character-set=utf8mb4");
        Ok(command)
    }

    fn wait(&self, log_from: u64, alive: impl FnMut() -> Option<String>) -> Result<()> {
        match self.place.wait_for_connection(START_TIMEOUT, alive) {
            Ok(_session) => Ok(()),
            Err(reason) => {
                let log = self.place.log_tail(log_from);
                let path = self.place.error_log.display();
                Err(self.failed("starting", format!("{reason}; the end of {path}:\n{log}")))
            }
        }
    }

    /// Makes the folder and takes its lock file.
    fn make_and_lock(&self) -> Result<File> {
        make_private_dir(&self.dir)?;
        self.lock(START_TIMEOUT)
    }

    /// Takes the sandbox's lock file; it is released when the file is closed, also by a kill.
    fn lock(&self, timeout: Duration) -> Result<File> {
        let path = self.dir.join(LOCK);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|e| Error::io("opening", &path, e))?;
        let start = Instant::now();
        while rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if start.elapsed() > timeout {
                return Err(self.failed("locking", format!("{} is held", path.display())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(file)
    }

    /// True if the data was last used by an older series; an error if by a newer one.
    fn check_version(&self, binary: &Version) -> Result<bool> {
        if !self.place.datadir.exists() {
            return Ok(false);
        }
        let Ok(text) = fs::read_to_string(self.dir.join(VERSION)) else { return Ok(false) };
        let Some(data) = Version::parse(&text) else { return Ok(false) };
        if data.series() > binary.series() {
            let (data, binary) = (data.to_string(), binary.to_string());
            return Err(Error::Downgrade { dir: self.dir.clone(), data, binary });
        }
        Ok(data.series() < binary.series())
    }

    fn write_version(&self, version: &Version) -> Result<()> {
        let (path, new) = (self.dir.join(VERSION), self.dir.join(VERSION_NEW));
        let written = fs::write(&new, format!("{version}\n"));
        written.and_then(|()| fs::rename(&new, &path)).map_err(|e| Error::io("writing", &path, e))
    }

    /// Brings the system tables of an older series up to the running server's.
    fn upgrade(&self, binary: &Binary) -> Result<()> {
        // Its own, if it has one: each knows the tables of its series.
        let base = binary.path.parent().and_then(Path::parent);
        let program = find_program(&["mariadb-upgrade", "mysql_upgrade"], base);
        let program = program.ok_or_else(|| {
            self.failed("upgrading", "mariadb-upgrade was not found (package mariadb-client)")
        })?;
        let output = Command::new(&program)
            .arg("--no-defaults")
            .arg("--socket")
            .arg(&self.place.socket)
            .arg(format!("--user={}", self.connect_options().user_name()))
            .output()
            .map_err(|e| Error::io("running", &program, e))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(self.failed("upgrading", text))
    }

    fn install_if_needed(&self, binary: &Binary) -> Result<()> {
        let datadir = &self.place.datadir;
        if datadir.exists() {
            return Ok(());
        }
        // Installed beside and renamed: a data directory that exists is whole, and has its version beside it.
        let fresh = self.dir.join(FRESH);
        if fresh.exists() {
            fs::remove_dir_all(&fresh).map_err(|e| Error::io("removing", &fresh, e))?;
        }
        binary.install(&fresh, &[])?;
        self.write_version(&binary.version)?;
        fs::rename(&fresh, datadir).map_err(|e| Error::io("renaming", &fresh, e))
    }

    fn failed(&self, doing: &'static str, message: impl Into<String>) -> Error {
        Error::Sandbox { doing, dir: self.dir.clone(), message: message.into() }
    }
}

fn server_arguments(options: &SandboxOptions, flavor: Flavor) -> Vec<String> {
    let pool = options.buffer_pool_bytes.unwrap_or_else(default_buffer_pool);
    let mut arguments = vec![
        format!("--innodb-buffer-pool-size={pool}"),
        "--innodb-flush-log-at-trx-commit=1".to_owned(),
        "--innodb-doublewrite=ON".to_owned(),
        "--local-infile=ON".to_owned(),
        "--skip-log-bin".to_owned(),
        "--character-set-server=utf8mb4".to_owned(),
    ];
    let log_size = match flavor {
        Flavor::MariaDb => "innodb-log-file-size",
        Flavor::MySql => "innodb-redo-log-capacity",
    };
    if let Some(bytes) = options.log_file_bytes {
        arguments.push(format!("--{log_size}={bytes}"));
    }
    if flavor == Flavor::MySql {
        // A server of a package lets nobody read files but in a folder of its own, which must be there; and
        // a second server would ask for the same port of the X protocol.
        arguments.extend(["--secure-file-priv=", "--mysqlx=OFF"].map(str::to_owned));
    }
    if let Some(method) = &options.flush_method {
        arguments.push(format!("--innodb-flush-method={method}"));
    }
    arguments.extend(options.extra.iter().cloned());
    arguments
}

fn default_buffer_pool() -> u64 {
    let total = memory_total_bytes().unwrap_or(BUFFER_POOL_MIN * 8);
    (total / 8 / MIB * MIB).clamp(BUFFER_POOL_MIN, BUFFER_POOL_MAX)
}

fn memory_total_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// `DIR/server.sock`, or a short path with a digest of DIR when that is too long for a socket.
pub fn socket_path(dir: &Path) -> PathBuf {
    let path = dir.join("server.sock");
    if path.as_os_str().len() <= SOCKET_BYTES_MAX {
        return path;
    }
    let name =
        format!("inrush-{:016x}.sock", server::identifier::digest(dir.as_os_str().as_bytes()));
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(|run| Path::new(&run).join(&name));
    match runtime {
        Some(path) if path.is_absolute() && path.as_os_str().len() <= SOCKET_BYTES_MAX => path,
        _ => {
            PathBuf::from(format!("/tmp/inrush-{}", rustix::process::geteuid().as_raw())).join(name)
        }
    }
}

/// The one path of a folder that need not exist: without `..`, and without links in the folders above it.
fn real_path(dir: &Path) -> io::Result<PathBuf> {
    let dir = std::path::absolute(dir)?;
    // Its last name may be a link, which is refused where it is used.
    let (above, name) = match (dir.parent(), dir.file_name()) {
        (Some(above), Some(name)) => (above, Path::new(name)),
        _ => (&*dir, Path::new("")),
    };
    for existing in above.ancestors() {
        match existing.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            real => {
                let rest = above.strip_prefix(existing).unwrap_or(Path::new(""));
                // As components: an empty rest adds no slash.
                return Ok(real?
                    .components()
                    .chain(rest.components())
                    .chain(name.components())
                    .collect());
            }
        }
    }
    Ok(dir)
}

/// True if a folder is missing or empty, or its lock and version are those of a sandbox, or it was killed while
/// its data directory was made. One that cannot be read is told of by who uses it.
fn is_free_or_ours(dir: &Path) -> bool {
    let is_empty = |name: &str| {
        dir.join(name).symlink_metadata().is_ok_and(|file| file.is_file() && file.len() == 0)
    };
    let version =
        || fs::read_to_string(dir.join(VERSION)).ok().and_then(|text| Version::parse(&text));
    if is_empty(LOCK) && version().is_some() {
        return true;
    }
    let Ok(mut names) = fs::read_dir(dir) else { return true };
    names.all(|entry| {
        entry.is_ok_and(|entry| FIRST_NAMES.iter().any(|name| entry.file_name() == *name))
    })
}

/// Makes a folder only we can enter; one that exists must be ours alone to write to, and no link,
/// and loses others' rights to look into it.
fn make_private_dir(dir: &Path) -> Result<()> {
    let folder = disk::private::make(dir).map_err(|e| Error::io("using", dir, e))?;
    let mode = folder.stat().map_err(|e| Error::io("reading", dir, e))?.st_mode;
    if mode & 0o077 != 0 {
        rustix::fs::fchmod(&folder, Mode::RWXU).map_err(|e| Error::io("closing", dir, e.into()))?;
    }
    Ok(())
}

fn remove_stale(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("removing", path, e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_folder_gets_a_short_socket() {
        let long = PathBuf::from("/data").join("x".repeat(120));
        let path = socket_path(&long);
        assert!(path.as_os_str().len() <= SOCKET_BYTES_MAX);
        assert_ne!(path, socket_path(&long.join("y")), "two sandboxes, two sockets");
        assert_eq!(socket_path(Path::new("/d")), Path::new("/d/server.sock"));
    }
}
