//! The server of the Insert Benchmark, started anew for each way on the same files.
//!
//! A table that is made once is put aside, and each way gets a copy of it that is in no cache: a
//! server that has just begun, whose buffer pool is empty, reads what it needs from the disk.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::Advice;
use sandbox::{Sandbox, SandboxOptions, Status};
use server::{ConnectOptions, Interrupt, Session};

use super::way::Buffering;
use crate::error::Error;
use crate::host::{self, DATABASE};

/// Folder of files that were put aside.
const ASIDE: &str = "aside";

/// Files from this size on are read from the disk, and not from the page cache.
const LARGE_FILE_BYTES: u64 = 1 << 20;

/// How a server is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) pool_bytes: u64,
    pub(crate) log_file_bytes: u64,
    pub(crate) buffering: Buffering,
}

/// The folder of the benchmark, and the server in it.
pub(crate) struct Yard {
    dir: PathBuf,
    sandbox: Sandbox,
    interrupt: Interrupt,
    keep: bool,
    /// Held while the benchmark runs, so that a second one does not take its server away.
    _lock: File,
}

impl Yard {
    /// Takes the folder. Errors: another benchmark in it.
    pub(crate) fn open(dir: &Path, keep: bool, interrupt: &Interrupt) -> Result<Yard, Error> {
        let lock = host::lock(dir)?;
        let sandbox = Sandbox::at(dir.join("server"))?;
        let dir = dir.to_path_buf();
        let yard = Yard { dir, sandbox, interrupt: interrupt.clone(), keep, _lock: lock };
        // What a killed run left.
        yard.clear()?;
        let aside = yard.dir.join(ASIDE);
        fs::create_dir_all(&aside).map_err(Error::io("making", &aside))?;
        Ok(yard)
    }

    /// A file of rows, which ends with the benchmark.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.aside(name)
    }

    /// Starts the server on the files that were brought, or on new ones.
    pub(crate) fn start(&self, setup: Setup) -> Result<Session, Error> {
        self.sandbox.start(&SandboxOptions {
            buffer_pool_bytes: Some(setup.pool_bytes),
            log_file_bytes: Some(setup.log_file_bytes),
            extra: vec![
                "--innodb-buffer-pool-load-at-startup=OFF".to_owned(),
                "--innodb-buffer-pool-dump-at-shutdown=OFF".to_owned(),
                // Else statistics of each table are made beside the ways, sooner or later.
                "--innodb-stats-auto-recalc=OFF".to_owned(),
                format!("--loose-innodb-change-buffering={}", setup.buffering.name()),
            ],
            ..SandboxOptions::default()
        })?;
        let mut session = Session::connect(&self.connect_options())?;
        session.exec(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
        session.exec(&format!("USE {DATABASE}"))?;
        Ok(session)
    }

    /// How to connect to the server.
    pub(crate) fn connect_options(&self) -> ConnectOptions {
        let mut connect = self.sandbox.connect_options();
        connect.interrupt = self.interrupt.clone();
        connect
    }

    /// The same for the program.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        vec![
            "--socket".into(),
            self.sandbox.socket().into(),
            "--user".into(),
            self.connect_options().user_name().into(),
        ]
    }

    /// The server's process.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self.sandbox.status() {
            Status::Running { pid } => Some(pid),
            _ => None,
        }
    }

    /// Bytes of the table's file.
    pub(crate) fn table_bytes(&self) -> Result<u64, Error> {
        let path = self.sandbox.datadir().join(DATABASE).join(format!("{}.ibd", super::TABLE));
        Ok(fs::metadata(&path).map_err(Error::io("measuring", &path))?.len())
    }

    /// Ends the server when nothing is left to do in its files, and puts these aside under a name.
    pub(crate) fn put_aside(&self, mut session: Session, name: &str) -> Result<(), Error> {
        session.exec("SET GLOBAL innodb_fast_shutdown=0")?;
        drop(session);
        self.sandbox.stop()?;
        let aside = self.aside(name);
        host::remove_dir(&aside)?;
        fs::rename(self.sandbox.datadir(), &aside).map_err(Error::io("renaming", &aside))
    }

    /// True if files of this name were kept.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.aside(name).exists()
    }

    /// Has the next server begin on a copy of the files put aside.
    pub(crate) fn bring(&self, name: &str) -> Result<(), Error> {
        self.sandbox.stop()?;
        let datadir = self.sandbox.datadir();
        host::remove_dir(datadir)?;
        copy(&self.aside(name), datadir)?;
        forget(datadir)
    }

    /// Ends a server whose files nobody needs.
    pub(crate) fn discard(&self, mut session: Session) -> Result<(), Error> {
        session.exec("SET GLOBAL innodb_fast_shutdown=2")?;
        drop(session);
        Ok(self.sandbox.stop()?)
    }

    /// Ends the server and removes all that the benchmark made, unless it is kept.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.end()
    }

    fn end(&self) -> Result<(), Error> {
        if self.keep { Ok(self.sandbox.stop()?) } else { self.clear() }
    }

    fn clear(&self) -> Result<(), Error> {
        self.sandbox.stop()?;
        host::remove_dir(self.sandbox.dir())?;
        host::remove_dir(&self.dir.join(ASIDE))
    }

    fn aside(&self, name: &str) -> PathBuf {
        self.dir.join(ASIDE).join(name)
    }
}

impl Drop for Yard {
    /// A run that failed leaves no server behind. After `finish` there is nothing to do.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let permissions = fs::metadata(from).map_err(Error::io("reading", from))?.permissions();
    fs::create_dir(to).map_err(Error::io("making", to))?;
    fs::set_permissions(to, permissions).map_err(Error::io("making", to))?;
    each(from, &mut |path, is_dir| {
        let to = to.join(path.file_name().unwrap_or_default());
        if is_dir {
            return copy(path, &to);
        }
        fs::copy(path, &to).map(drop).map_err(Error::io("copying", path))
    })
}

/// Has the large files of a folder on the disk, and out of the page cache. The small ones, hundreds of
/// system tables, would take longer to sync than a short run takes.
fn forget(dir: &Path) -> Result<(), Error> {
    each(dir, &mut |path, is_dir| {
        if is_dir {
            return forget(path);
        }
        let file = File::open(path).map_err(Error::io("opening", path))?;
        let bytes = file.metadata().map_err(Error::io("measuring", path))?.len();
        if bytes < LARGE_FILE_BYTES {
            return Ok(());
        }
        file.sync_all().map_err(Error::io("syncing", path))?;
        // Advice: where it is not taken, reading is merely faster for all ways alike.
        let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
        Ok(())
    })
}

fn each(dir: &Path, visit: &mut dyn FnMut(&Path, bool) -> Result<(), Error>) -> Result<(), Error> {
    for entry in fs::read_dir(dir).map_err(Error::io("reading", dir))? {
        let path = entry.map_err(Error::io("reading", dir))?.path();
        visit(&path, path.is_dir())?;
    }
    Ok(())
}
