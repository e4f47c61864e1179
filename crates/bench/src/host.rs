//! The server of a benchmark: its own, in a folder of its own, or one that is given.
//!
//! Its own has a buffer pool larger than the data and a redo log that no load has to wait for, else
//! it is as it comes: durable at every commit, with doublewrite. Before each load it is idle, so
//! that none pays for what the one before left to be written.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use sandbox::{Sandbox, SandboxOptions, Status};
use server::{ConnectOptions, Interrupt, Session};

use crate::error::Error;
use crate::machine;
use crate::program::{self, Program};

/// Database of the benchmark's tables.
pub(crate) const DATABASE: &str = "inrush_bench";
/// Redo log of the benchmark's server: large enough that a load of scale 1 never waits for it.
pub(crate) const LOG_FILE_BYTES: u64 = 4 << 30;
/// Part of the machine's memory that the buffer pool may take.
const POOL_PART_OF_MEMORY_MAX: f64 = 0.6;
/// Variables of the server that an outcome records.
const SETTINGS: &str = "'innodb_buffer_pool_size', 'innodb_log_file_size', 'innodb_redo_log_capacity', \
     'innodb_flush_method', \
     'innodb_flush_log_at_trx_commit', 'innodb_doublewrite', 'innodb_sort_buffer_size', \
     'innodb_fill_factor', 'log_bin', 'sql_mode', 'max_allowed_packet', 'max_connections'";
/// Patience for the server to write back its dirty pages.
const SETTLE_MAX: Duration = Duration::from_secs(120);
/// So few dirty pages no longer disturb anybody: 4 MiB.
const DIRTY_PAGES_FEW: u64 = 256;

/// A server that was there before the benchmark.
#[derive(Clone, Debug)]
pub struct GivenServer {
    /// How the benchmark connects.
    pub connect: ConnectOptions,
    /// Arguments that tell `inrush load` the same, less the password.
    pub arguments: Vec<OsString>,
}

/// The server of a benchmark, and the program that it measures.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// Redo log of the benchmark's server; default [`LOG_FILE_BYTES`].
    pub log_file_bytes: u64,
    /// Where generated rows are kept, and the benchmark's server while it runs.
    pub data_dir: PathBuf,
    /// True if the benchmark's server keeps its folder, with the tables of the last method.
    pub keep: bool,
    /// A server to use instead. It must be able to read `data_dir`, and gets a database
    /// `inrush_bench` that is dropped afterwards.
    pub server: Option<GivenServer>,
    /// The inrush program to measure. Default: the one beside the running one, or on PATH.
    pub program: PathBuf,
    /// Ends the run early, the benchmark's own server with it.
    pub interrupt: Interrupt,
}

impl Default for HostOptions {
    fn default() -> HostOptions {
        HostOptions {
            log_file_bytes: LOG_FILE_BYTES,
            data_dir: default_data_dir(),
            keep: false,
            server: None,
            program: program::default_path(),
            interrupt: Interrupt::default(),
        }
    }
}

impl HostOptions {
    /// The folder of rows and server, whatever the folder at hand.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, Error> {
        std::path::absolute(&self.data_dir).map_err(Error::io("finding", &self.data_dir))
    }

    /// Refuses a file system that lacks space for `bytes` of files and tables, a gibibyte more, and the
    /// log of a server of the benchmark's own. Makes the folder.
    pub(crate) fn check_space(&self, bytes: u64) -> Result<(), Error> {
        let log_bytes = if self.server.is_some() { 0 } else { self.log_file_bytes };
        check_space(&self.data_dir, bytes + log_bytes + (1 << 30))
    }
}

/// The server of a run.
pub(crate) struct Host {
    own: Option<Sandbox>,
    pub(crate) server: GivenServer,
    keep: bool,
    /// Circumstances that make the comparison less than fair.
    pub(crate) notes: Vec<String>,
    /// Held while the benchmark runs, so that a second one does not take its server away.
    _lock: File,
}

impl Host {
    /// Starts the benchmark's own server, with a buffer pool for tables of so many bytes, or takes the given
    /// one.
    ///
    /// Errors: another benchmark in the same folder, a server that does not start.
    pub(crate) fn start(options: &HostOptions, tables_bytes: u64) -> Result<Host, Error> {
        let data_dir = options.data_dir()?;
        let lock = lock(&data_dir)?;
        let (keep, busy) = (options.keep, machine::busy_note());
        if let Some(mut server) = options.server.clone() {
            server.connect.interrupt = options.interrupt.clone();
            let given = "a server that was running already, with its own settings".to_owned();
            let notes = [given].into_iter().chain(busy).collect();
            return Ok(Host { own: None, server, keep, notes, _lock: lock });
        }
        let (pool_bytes, mut notes) = buffer_pool(tables_bytes, machine::memory_bytes());
        notes.extend(busy);
        let sandbox = Sandbox::at(data_dir.join("server"))?;
        // What a killed run left.
        sandbox.stop()?;
        remove_dir(sandbox.dir())?;
        sandbox.start(&SandboxOptions {
            buffer_pool_bytes: Some(pool_bytes),
            log_file_bytes: Some(options.log_file_bytes),
            ..SandboxOptions::default()
        })?;
        let mut connect = sandbox.connect_options();
        connect.interrupt = options.interrupt.clone();
        let arguments = vec![
            "--socket".into(),
            sandbox.socket().into(),
            "--user".into(),
            connect.user_name().into(),
        ];
        let server = GivenServer { connect, arguments };
        Ok(Host { own: Some(sandbox), server, keep, notes, _lock: lock })
    }

    /// The program to measure, which is told to use this server.
    pub(crate) fn program(&self, options: &HostOptions) -> Program {
        let connect_arguments = self.server.arguments.clone();
        let path = options.program.clone();
        Program { path, connect_arguments, environment: Vec::new() }
    }

    /// True if the server is the benchmark's own, so that its settings may be changed.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// The process of the benchmark's own server.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self.own.as_ref()?.status() {
            Status::Running { pid } => Some(pid),
            _ => None,
        }
    }

    /// A connection to the server.
    pub(crate) fn session(&self) -> Result<Session, Error> {
        Ok(Session::connect(&self.server.connect)?)
    }

    /// The server's data directory, as this process sees it.
    pub(crate) fn datadir(&self, session: &mut Session) -> Result<PathBuf, Error> {
        match &self.own {
            Some(sandbox) => Ok(sandbox.datadir().to_path_buf()),
            None => Ok(session.query_row("SELECT @@datadir")?.text(0)?.into()),
        }
    }

    /// Stops the benchmark's own server and removes it, unless it is kept.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.stop()
    }

    fn stop(&self) -> Result<(), Error> {
        let Some(sandbox) = &self.own else { return Ok(()) };
        sandbox.stop()?;
        if self.keep { Ok(()) } else { remove_dir(sandbox.dir()) }
    }
}

impl Drop for Host {
    /// A run that failed leaves no server behind. After `finish` there is nothing to do.
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Settings of the server that matter here, as SHOW VARIABLES gives them.
pub(crate) fn settings(session: &mut Session) -> Result<Vec<(String, String)>, Error> {
    let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({SETTINGS})");
    let rows = session.query(&sql)?;
    rows.iter().map(|row| Ok((row.text(0)?, row.text(1)?))).collect()
}

/// Waits until nothing written before is still on its way to the disk.
///
/// On a server that is not `own` the limits of dirty pages stay as they are, and only the system's
/// own caches are written back.
pub(crate) fn settle(session: &mut Session, own: bool) -> Result<(), Error> {
    if own {
        write_back(session, DIRTY_PAGES_FEW)?;
    }
    rustix::fs::sync();
    Ok(())
}

/// Waits until the server has no more than so many pages left to write.
pub(crate) fn write_back(session: &mut Session, pages: u64) -> Result<(), Error> {
    let before = session
        .query_row("SELECT @@innodb_max_dirty_pages_pct, @@innodb_max_dirty_pages_pct_lwm")?;
    set_dirty_limits(session, "0", "0")?;
    let flushed = wait_for_flush(session, pages);
    set_dirty_limits(session, &before.text(0)?, &before.text(1)?)?;
    flushed
}

fn set_dirty_limits(session: &mut Session, percent: &str, low_water: &str) -> Result<(), Error> {
    session.exec(&format!(
        "SET GLOBAL innodb_max_dirty_pages_pct_lwm={low_water}, \
         GLOBAL innodb_max_dirty_pages_pct={percent}"
    ))?;
    Ok(())
}

fn wait_for_flush(session: &mut Session, pages: u64) -> Result<(), Error> {
    let started = Instant::now();
    while started.elapsed() < SETTLE_MAX {
        let row = session.query_row("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")?;
        if row.number::<u64>(1)? <= pages {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Takes a folder for this benchmark alone, as long as the file is open.
pub(crate) fn lock(data_dir: &Path) -> Result<File, Error> {
    let path = data_dir.join("lock");
    let file = File::create(&path).map_err(Error::io("making", &path))?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| Error::Busy(data_dir.to_path_buf()))?;
    Ok(file)
}

/// `inrush/bench` in the user's cache folder, or in the temporary folder without a home.
pub fn default_data_dir() -> PathBuf {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("inrush/bench")
}

/// Refuses a file system with less than `needed_bytes` free. Makes `dir`.
pub(crate) fn check_space(dir: &Path, needed_bytes: u64) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(Error::io("making", dir))?;
    let stat = rustix::fs::statvfs(dir).map_err(|e| Error::io("measuring", dir)(e.into()))?;
    let available_bytes = stat.f_bavail * stat.f_frsize;
    if available_bytes < needed_bytes {
        return Err(Error::Space { path: dir.to_path_buf(), available_bytes, needed_bytes });
    }
    Ok(())
}

/// A quarter more than the data, and a note when the machine is too small for that.
pub(crate) fn buffer_pool(data_bytes: u64, memory_bytes: u64) -> (u64, Vec<String>) {
    const MIB: u64 = 1 << 20;
    let wanted = data_bytes + data_bytes / 4 + 512 * MIB;
    let most = (memory_bytes as f64 * POOL_PART_OF_MEMORY_MAX) as u64;
    if most == 0 || wanted <= most {
        return (wanted / MIB * MIB, Vec::new());
    }
    let note = format!(
        "the buffer pool is {:.1} GB, less than the {:.1} GB that hold all tables",
        most as f64 / 1e9,
        data_bytes as f64 / 1e9
    );
    (most / MIB * MIB, vec![note])
}

/// Removes a folder that need not be there.
pub(crate) fn remove_dir(dir: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("removing", dir)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_too_small_for_the_data_is_noted() {
        let (pool, notes) = buffer_pool(2 << 30, 16 << 30);
        assert!(pool > 2 << 30 && notes.is_empty());
        let (pool, notes) = buffer_pool(20 << 30, 16 << 30);
        assert!(pool < 10 << 30 && notes.len() == 1, "{notes:?}");
    }
}
