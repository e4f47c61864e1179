//! Variables of the server that are set for a load which asks for it, and put back behind it.

use std::path::Path;

use face::option::TUNE;
use server::ConnectOptions;
use sources::FileSource;
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
    /// Sets what the options ask for, of what matters to this way in; a load goes on without it where that
    /// cannot be done.
    pub fn begin(
        connect: &ConnectOptions,
        options: &LoadOptions,
        path: LoadPath,
        what: &str,
    ) -> Tuning {
        let Some(class) = options.server.tune else { return Tuning::default() };
        // Finished files go past all that.
        if path == LoadPath::Direct {
            return Tuning::default();
        }
        let bytes = options.input.files.iter().map(|file| bytes(file)).sum::<Option<u64>>();
        let bytes = bytes.filter(|_| !options.input.files.is_empty());
        let wish = Wish { class, path, bytes, state_dir: &options.state_dir, what };
        match Tuned::begin(connect, &wish) {
            Ok(tuned) => Tuning { tuned: Some(tuned), warnings: Vec::new() },
            Err(error) => {
                let text = format!("{TUNE}: no variable was set for the load ({error})");
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
fn bytes(file: &Path) -> Option<u64> {
    let meta = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    let is_plain = FileSource::compression(file).is_ok_and(|kind| kind.is_none());
    is_plain.then_some(meta.len())
}

fn in_words(change: &Change) -> String {
    let Change { variable, before, set, .. } = change;
    format!("{variable}={set} (was {before})")
}
