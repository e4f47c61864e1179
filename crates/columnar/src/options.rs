//! How files of typed columns are opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sources::KeptPipes;

/// How the columns of files find those of the table, and those of the other files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnMatching {
    /// By name; all files have the same columns.
    #[default]
    ByName,
    /// By name; a column that a file lacks is NULL in its rows.
    ByNameOrNull,
    /// By place.
    ByPosition,
}

/// How files of typed columns are opened.
#[derive(Clone, Debug)]
pub struct ColumnarOptions {
    /// How columns of several files belong together.
    pub matching: ColumnMatching,
    /// Most memory for reading, in bytes, apart from the typed rows.
    pub memory_bytes: u64,
    /// Folder in which a pipe's bytes are kept.
    pub temp_dir: PathBuf,
    /// Folder of the inputs, if they are files that it has: none may be a link out of it.
    pub below: Option<PathBuf>,
    /// Pipes that were read before.
    pub kept: KeptPipes,
    /// Set by somebody who wants the end.
    pub stop: Arc<AtomicBool>,
}

impl Default for ColumnarOptions {
    fn default() -> ColumnarOptions {
        ColumnarOptions {
            matching: ColumnMatching::default(),
            memory_bytes: 256 << 20,
            temp_dir: std::env::temp_dir(),
            below: None,
            kept: KeptPipes::default(),
            stop: Arc::default(),
        }
    }
}
