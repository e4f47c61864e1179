//! Variables of the server that are set for a load which asks for it, and put back behind it.

use std::path::{Path, PathBuf};

use face::option::TUNE;
use server::{ConnectOptions, Flushing, UntestedBuilds};
use sources::{FileSource, remote};
use tune::{Change, Tuned, Wish};

use crate::options::{LoadOptions, LoadPath};

/// Variables that are set while a load runs. Dropping it restores them.
#[derive(Debug, Default)]
pub struct Tuning {
    tuned: Option<Tuned>,
    /// Failures before it.
    warnings: Vec<String>,
}

/// Its report, one sentence each.
#[derive(Debug, Default)]
pub struct TuningReport {
    /// Variables that were set, or left as they are.
    pub notes: Vec<String>,
    /// Failures, and variables that somebody else changed.
    pub warnings: Vec<String>,
}

impl Tuning {
    /// Sets the variables that the options of a load of these files ask for, and that matter to its path.
    pub fn of_load(
        connect: &ConnectOptions,
        options: &LoadOptions,
        files: &[PathBuf],
        path: LoadPath,
        what: &str,
    ) -> Tuning {
        let Some(class) = options.server.tune else { return Tuning::default() };
        // Finished files go past all that.
        if path == LoadPath::Direct {
            return Tuning::default();
        }
        let bytes = files.iter().map(|file| uncompressed_bytes(file)).sum::<Option<u64>>();
        let bytes = bytes.filter(|_| !files.is_empty());
        let state_dir = &options.state_dir;
        Tuning::begin(connect, &Wish { class, path, bytes, state_dir, what })
    }

    /// Sets the variables of a wish. A load goes on without them if they cannot be set.
    pub fn begin(connect: &ConnectOptions, wish: &Wish<'_>) -> Tuning {
        match Tuned::begin(connect, wish) {
            Ok(tuned) => Tuning { tuned: Some(tuned), warnings: Vec::new() },
            Err(error) => {
                let text = format!("{TUNE}: variables could not be set for the load ({error})");
                Tuning { tuned: None, warnings: vec![text] }
            }
        }
    }

    /// Puts back what was set, unless another load counts on it.
    pub fn end(self) -> TuningReport {
        let Tuning { tuned, warnings } = self;
        let Some(mut tuned) = tuned else { return TuningReport { notes: Vec::new(), warnings } };
        let mut notes: Vec<String> = std::mem::take(&mut tuned.notes);
        if !tuned.changes.is_empty() {
            let all: Vec<String> = tuned.changes.iter().map(in_words).collect();
            notes.insert(
                0,
                format!("{TUNE}: set until the last load that uses them ends: {}", all.join(", ")),
            );
        }
        TuningReport { notes, warnings: tuned.end() }
    }
}

/// The server, with what the state folder knows of it: proofs of its build, and variables that are set by turns.
pub fn with_state(connect: &ConnectOptions, state_dir: &Path) -> ConnectOptions {
    if state_dir.as_os_str().is_empty() {
        return connect.clone();
    }
    let untested = &connect.untested;
    let untested = UntestedBuilds { state_dir: Some(state_dir.to_owned()), ..untested.clone() };
    ConnectOptions { untested, flushing: Some(flushing(state_dir)), ..connect.clone() }
}

/// As [`with_state`], for a load by these options.
pub fn for_load(connect: &ConnectOptions, options: &LoadOptions) -> ConnectOptions {
    let mut connect = with_state(connect, &options.state_dir);
    connect.untested.are_allowed |= options.server.untested;
    connect.time_zone = options.rows.time_zone.clone().or(connect.time_zone);
    connect.unlogged = options.server.unlogged;
    connect.unchecked_keys = options.server.unchecked_keys;
    connect
}

/// How a server without `innodb_log_checkpoint_now` is had to write out its changed pages: by variables that are
/// written down in the state folder, and put back.
fn flushing(state_dir: &Path) -> Flushing {
    let begin =
        |connect: &ConnectOptions, state_dir: &Path| -> server::error::Result<Box<dyn Send>> {
            Ok(Box::new(Tuned::flush(connect, state_dir)?))
        };
    Flushing { begin, state_dir: state_dir.to_owned() }
}

/// Puts back what loads of this server have left that were killed. Gives sentences on what was done, and what
/// could not be; that keeps nobody from anything.
pub fn recover(connect: &ConnectOptions, state_dir: &Path) -> Vec<String> {
    if state_dir.as_os_str().is_empty() {
        return Vec::new();
    }
    match tune::recover(connect, state_dir) {
        Ok(told) => told.into_iter().map(|text| format!("note: {text}")).collect(),
        // The command itself says so.
        Err(server::Error::Connect { .. }) => Vec::new(),
        Err(error) => vec![format!(
            "warning: settings of a killed load could not be restored: \
                                    {error}"
        )],
    }
}

/// Size of a file, if that tells the number of rows: a pipe's, a folder's and an archive's does
/// not.
pub fn uncompressed_bytes(file: &Path) -> Option<u64> {
    let bytes = remote::plain_bytes(file)?;
    let is_plain = FileSource::compression(file).is_ok_and(|kind| kind.is_none());
    is_plain.then_some(bytes)
}

fn in_words(change: &Change) -> String {
    let Change { variable, before, set, .. } = change;
    format!("{variable}={set} (was {before})")
}
