//! A disk that can lose its power: a file system in memory that keeps what was written in order, and tells what
//! a machine would find of it after a power cut at any moment.
//!
//! ```text
//! Files --mount--> server and program run on it --> Operations
//! Files + Operations + moment + seed --> Files, as after the power cut there --mount--> server starts again
//! ```
//!
//! One run gives all moments: a cut is a prefix of the operations, of which only those that were synced are sure.
//! What may be lost of the others, and what not: [`operations`]. Wants root and `/dev/fuse`.

mod files;
mod mounted;
mod operations;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use fuser::{BackgroundSession, Config, MountOption};
use locks::Mutex;

pub use files::Files;
pub use operations::{Operations, PowerCut};

use mounted::Mounted;
use operations::Operation;

/// Files, and what was done to them since they were mounted.
struct State {
    files: Files,
    operations: Vec<Operation>,
}

type Shared = Arc<Mutex<State>>;

/// Files that are mounted at a folder until this is dropped.
pub struct PowerDisk {
    folder: PathBuf,
    state: Shared,
    session: Option<BackgroundSession>,
}

impl PowerDisk {
    /// True where files can be mounted; else a line tells why not.
    pub fn is_possible() -> bool {
        let is_root = fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0);
        let is_there = Path::new("/dev/fuse").exists();
        if !is_root || !is_there {
            println!("skipped: a file system of our own takes root and /dev/fuse");
        }
        is_root && is_there
    }

    /// Mounts files at a folder that has this name in every run of a process.
    pub fn mount(name: &str, files: Files) -> PowerDisk {
        let folder =
            std::env::temp_dir().join(format!("inrush-test-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let state = Arc::new(Mutex::new(State { files, operations: Vec::new() }));
        let mut config = Config::default();
        config.mount_options =
            vec![MountOption::FSName("inrush-power".to_owned()), MountOption::DefaultPermissions];
        let mounted = Mounted::of(&state);
        let session = fuser::spawn_mount(mounted, &folder, &config).unwrap();
        PowerDisk { folder, state, session: Some(session) }
    }

    /// Where the files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many operations there were until now.
    pub fn operations_done(&self) -> usize {
        self.state.lock().operations.len()
    }

    /// Ends the mount, and gives what was done since its begin. Whoever worked there has ended.
    pub fn unmount(mut self) -> Operations {
        self.end();
        Operations::of(std::mem::take(&mut self.state.lock().operations))
    }

    fn end(&mut self) {
        let Some(session) = self.session.take() else { return };
        if let Err(error) = session.umount_and_join() {
            // Somebody has a file open still, whose end ends it.
            println!("{}: {error}", self.folder.display());
            detach(&self.folder);
        }
    }
}

impl Drop for PowerDisk {
    fn drop(&mut self) {
        self.end();
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Takes away what is mounted at a folder, if anything is, also where a process that is gone had mounted it.
pub(crate) fn detach(folder: &Path) {
    let _ = Command::new("umount").arg("-l").arg(folder).stderr(Stdio::null()).status();
}
