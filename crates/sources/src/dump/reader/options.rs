//! How a dump is read.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sql::{Comments, Syntax};

use crate::dump::window::PIECE_BYTES;

/// How a dump is read.
#[derive(Clone, Debug)]
pub struct SqlOptions {
    /// Longest statement that is read whole, in bytes; of an INSERT only the words before its rows
    /// are. Default 64 MiB. The server takes none longer than its `max_allowed_packet`.
    pub statement_bytes_max: usize,
    /// How the session reads text before the dump says otherwise.
    pub syntax: Syntax,
    /// Which version comments the server runs.
    pub comments: Comments,
    /// Bytes per read. Default 256 KiB: a piece is still in the second-level cache when it is lexed.
    /// Most leave it alone.
    pub piece_bytes: usize,
    /// As `SourceOptions::ahead_bytes`.
    pub ahead_bytes: usize,
    /// As `SourceOptions::unpack_bytes_max`.
    pub unpack_bytes_max: usize,
    /// Folder of the files that `source` lines name; None refuses these lines.
    pub source_folder: Option<PathBuf>,
    /// Folder of the inputs, if they are files that it has: none may be a link out of it. Default: none.
    pub below: Option<PathBuf>,
    /// True if a dump is acceptable whose program wrote an error into it.
    pub partial: bool,
    /// Folder in which a pipe's bytes are kept. Default: the system's temporary folder.
    pub temp_dir: PathBuf,
    /// Set by somebody who wants the end: nobody waits for a pipe then.
    pub stop: Arc<AtomicBool>,
}

impl Default for SqlOptions {
    fn default() -> SqlOptions {
        SqlOptions {
            statement_bytes_max: 64 << 20,
            syntax: Syntax::default(),
            comments: Comments::default(),
            piece_bytes: PIECE_BYTES,
            ahead_bytes: 8 << 20,
            unpack_bytes_max: 128 << 20,
            source_folder: None,
            below: None,
            partial: false,
            temp_dir: std::env::temp_dir(),
            stop: Arc::default(),
        }
    }
}
