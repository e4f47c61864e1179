//! Options of a replay.

use std::path::PathBuf;

use server::Interrupt;

use crate::error::Error;

/// [`ReplayOptions::small_bytes_max`] unless it is told.
pub(crate) const SMALL_BYTES_MAX: usize = 1 << 20;

/// How rows go in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum As {
    /// By the fastest path that the planner finds.
    #[default]
    Rows,
    /// As the dump's own statements.
    Statements,
}

/// Everything about one replay that is not the connection.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// A dump: a file, `/dev/stdin`, or a folder.
    pub dump: PathBuf,
    /// The one database that everything goes into, whatever the dump says.
    pub into: Option<String>,
    /// Tables to replay, `table` or `db.table`, `*` for any; empty takes all.
    pub tables: Vec<String>,
    /// Tables to leave out.
    pub exclude: Vec<String>,
    /// Collations of the dump, and those that take their places in its definitions.
    pub map_collation: Vec<(String, String)>,
    /// How rows go in.
    pub rows_as: As,
    /// A run of INSERTs of at most so many bytes goes in at once, over the dump's own session: more
    /// hands would cost more than they do. Default [`SMALL_BYTES_MAX`].
    pub small_bytes_max: usize,
    /// True if all tables take their places in one step at the end.
    pub atomic: bool,
    /// True to go on after statements that fail.
    pub force: bool,
    /// True if a dump that was cut between two statements is acceptable.
    pub partial: bool,
    /// True if a value that the server changes is an error.
    pub strict: bool,
    /// True to tell of each value that the server changes, not of the first one of a table alone.
    pub show_changes: bool,
    /// True to begin anew instead of going on with an earlier replay of the same dump.
    pub fresh: bool,
    /// Connections for rows as statements. Default: as many as load fastest.
    pub connections: Option<usize>,
    /// Threads that parse and build. Default: one a core.
    pub threads: usize,
    /// Memory of the whole process, in bytes.
    pub memory_bytes_max: u64,
    /// Where sorted runs, and pipes, are kept.
    pub temp_dir: PathBuf,
    /// Where journals are kept.
    pub state_dir: PathBuf,
    /// Seconds to wait for others who hold a table. Default 60.
    pub lock_wait_seconds: u32,
    /// True if pages of built tables get the server's LSN, so that incremental backups contain the tables.
    /// Default: where the server has a history of backups.
    pub stamps: Option<bool>,
    /// The safety that may be given up for server variables, which are set for the replay and
    /// restored behind it. Default: none is set.
    pub tune: Option<tune::Class>,
    /// The signal that ends the replay early.
    pub interrupt: Interrupt,
}

impl ReplayOptions {
    /// The dump, if it is a folder: its files alone are read.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.dump.is_dir().then(|| self.dump.clone())
    }

    /// A replay of `dump`, everything else at its default.
    pub fn new(dump: PathBuf) -> ReplayOptions {
        let load = load::LoadOptions::new(Vec::new(), "", "");
        ReplayOptions {
            dump,
            into: None,
            tables: Vec::new(),
            exclude: Vec::new(),
            map_collation: Vec::new(),
            small_bytes_max: SMALL_BYTES_MAX,
            rows_as: As::Rows,
            atomic: false,
            force: false,
            partial: false,
            strict: false,
            show_changes: false,
            fresh: false,
            connections: None,
            threads: load.limits.threads,
            memory_bytes_max: load.limits.memory_bytes_max,
            temp_dir: load.limits.temp_dir,
            state_dir: load.state_dir,
            lock_wait_seconds: load.server.lock_wait_seconds,
            stamps: None,
            tune: None,
            interrupt: Interrupt::default(),
        }
    }

    /// True if a failed statement is passed over.
    pub(crate) fn passes_over(&self, error: &Error) -> bool {
        self.force && error.is_passed_over()
    }

    /// The error of a replay that somebody has ended.
    pub(crate) fn interrupted(&self) -> Option<Error> {
        self.interrupt.requested().map(|by| Error::Stopped { by })
    }
}
