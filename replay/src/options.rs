//! What a replay is asked to do.

use std::path::PathBuf;

use server::Interrupt;

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
    /// How rows go in.
    pub rows_as: As,
    /// Whether all tables take their places in one step at the end.
    pub atomic: bool,
    /// Whether to go on after statements that fail.
    pub force: bool,
    /// Connections for rows as statements. Default: twice as many as cores, at most 16.
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
    /// Whoever wants the replay to end early says so here.
    pub interrupt: Interrupt,
}
