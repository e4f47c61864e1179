//! Why a load did not happen.

mod kind;
mod outcome;
mod words;

use std::io;
use std::path::{Path, PathBuf};

use disk::size::show;
use face::option::{
    ALLOW_EMPTY, MAX_LAG, MEMORY, MODE, ON_DUPLICATE, PATH, REJECTS_MAX, REPLICA, STATE_DIR,
    TEMP_DIR,
};

use crate::position::{Position, RefusedRow};
use crate::report::Report;

use self::words::{
    added, also_bad, also_helps, by, kept_in, mebibytes, no_rows, none, not_tolerated, of_which,
    state_of_tables, unfinished,
};

/// Everything that ends a load. [`Error::leaves_tables_as_before`] tells if the tables are unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option that cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// No way that may be taken can load this table, or not on this server; nothing was started.
    #[error("{target} cannot be loaded{}: {}", by(*path), .reasons.join("; "))]
    Unfit {
        /// `database.table`.
        target: String,
        /// The way, where only one may be taken.
        path: Option<&'static str>,
        /// Each feature in the way, as a sentence.
        reasons: Vec<String>,
    },
    /// Two lines that say different things of one row.
    #[error(
        "{other} and {first} have the same key but different values for a row of {target}: \
         correct the input, or choose with on_conflict = \"first\", \"last\" or \"reject\""
    )]
    Conflict {
        /// `database.table`.
        target: String,
        /// The first line that has the row.
        first: String,
        /// The other.
        other: String,
    },
    /// More rows were refused than allowed.
    #[error(
        "{last}; {}{}",
        not_tolerated(*rejects, *rejects_max),
        kept_in(.kept.as_deref())
    )]
    Rejected {
        /// Rows refused so far, in input order.
        rejects: u64,
        /// How many were allowed.
        rejects_max: u64,
        /// The one that was too many.
        last: Box<RefusedRow>,
        /// The file that has them all, if one has.
        kept: Option<PathBuf>,
    },
    /// A line whose rows are of several tables was refused by one of them, when it could no longer be left out
    /// of the others.
    #[error(
        "{row}; {REJECTS_MAX} cannot skip this line, because the fault shows only while rows are \
         loaded: correct the line or the row that it looks up, or add a [[rule]] that finds such lines"
    )]
    RefusedLine {
        /// Where, and why.
        row: Box<RefusedRow>,
    },
    /// A larger part of the rows was refused than allowed.
    #[error("{rejects} of {rows} rows ({:.2} %) were rejected, and {REJECTS_MAX} is {percent_max}%{}", *rejects as f64 * 100.0 / (*rows).max(1) as f64, kept_in(.kept.as_deref()))]
    RejectedPart {
        /// Rows refused.
        rejects: u64,
        /// Rows of the input.
        rows: u64,
        /// How many of a hundred were allowed.
        percent_max: f64,
        /// The file that has them all, if one has.
        kept: Option<PathBuf>,
    },
    /// A row that the server takes and the direct path cannot put in order.
    #[error(
        "{0}: the server accepts this row, but the direct path cannot find its place in the table; \
         {sent} loads it",
        sent = PATH.with_any(&["stream", "insert"])
    )]
    NoOrder(Box<RefusedRow>),
    /// Rows would be replaced by none.
    #[error("{}, and {} would leave {target} empty; {ALLOW_EMPTY} allows that", no_rows(*.rejects), MODE.with("replace"))]
    NothingToLoad {
        /// `database.table`.
        target: String,
        /// Rows of the input that were refused.
        rejects: u64,
    },
    /// Two rows have the same key.
    #[error(
        "{second} has the same {index} key as {first}: {key}; {} loads one of them",
        ON_DUPLICATE.with_any(&["skip", "replace"])
    )]
    Duplicate {
        /// The index, quoted.
        index: String,
        /// The row that comes first in the input.
        first: Box<Position>,
        /// The row that comes later.
        second: Box<Position>,
        /// The key's values, as text.
        key: String,
    },
    /// The rows that a table has cannot be taken over into a new file.
    #[error(
        "the rows cannot be merged with the rows of the table: {0}; {stream} adds them",
        stream = PATH.with("stream")
    )]
    NotMerged(String),
    /// The server puts rows into other partitions than a build would.
    #[error("files of partitions cannot be built for these rows: {0}; {stream} sends the rows", stream = PATH.with("stream"))]
    NotRouted(String),
    /// A row has a key that a row of the table has already.
    #[error(
        "{row} has the same {index} key as a row of the table: {key}; {} chooses which row stays",
        ON_DUPLICATE.with_any(&["skip", "replace", "update"])
    )]
    KeyTaken {
        /// The index, quoted.
        index: String,
        /// The row.
        row: Box<Position>,
        /// The key's values, as text.
        key: String,
    },
    /// Two rows have the same key, and the input cannot tell any more which.
    #[error(
        "two rows have the same {index} key, but Inrush could not find out which rows: {reason}"
    )]
    UnknownDuplicate {
        /// The index, quoted.
        index: String,
        /// Why the input could not be asked.
        reason: String,
    },
    /// The server refused a row for its key, which another row has, here or in the table before.
    #[error(
        "{position}: the table or the input already has a row with this key ({message}); {} chooses which \
         row stays",
        ON_DUPLICATE.with_any(&["skip", "replace", "update"])
    )]
    DuplicateRow {
        /// Where the row is.
        position: Box<Position>,
        /// The server's words.
        message: String,
    },
    /// The server did not take rows for a reason that should have passed.
    #[error(
        "the rows from {position} on were sent {tries} times in {seconds} s and not loaded; last \
         error: {error}"
    )]
    GaveUp {
        /// Where the first of the rows is.
        position: Box<Position>,
        /// How often they were sent.
        tries: u32,
        /// For how long.
        seconds: u64,
        /// The server's last error.
        error: server::Error,
    },
    /// The server crashed and came up without transactions that it had committed.
    #[error(
        "the server lost the last {chunks} committed chunks ({kept_rows} of {sent_rows} rows are \
         left): the server stopped during the load, and innodb_flush_log_at_trx_commit is not 1; \
         run the same command again"
    )]
    LostCommits {
        /// Rows that were committed.
        sent_rows: u64,
        /// Rows that are there.
        kept_rows: u64,
        /// Chunks that are not there.
        chunks: u64,
    },
    /// A table that keeps what a transaction has put into it, whatever becomes of that.
    #[error(
        "the server could not roll back rows of {target} ({message}): its engine, or that of a \
         table that a trigger writes to, has no transactions; the table may contain rows of this \
         load"
    )]
    NotRolledBack {
        /// `database.table`.
        target: String,
        /// The server's words.
        message: String,
    },
    /// The input was not the same when it was read again.
    #[error(
        "the input changed while it was read; load it again when no program writes to its files"
    )]
    InputChanged,
    /// The input is not that of the interrupted load that this one would go on with.
    #[error(
        "the input differs from the input of the interrupted load, which has loaded its first \
         rows; the load can only continue with the same input"
    )]
    InputChangedSince,
    /// Rows of INSERTs of which only the server knows what becomes.
    #[error("{0}: only the server can tell how INSERT stores this value")]
    NotPlain(String),
    /// A file of ours could not be read or written.
    #[error("{doing} {}: {source}{}", path.display(), disk::advice(source))]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No journal could be begun.
    #[error(
        "creating the journal in {}: {source}; {STATE_DIR} or the variable XDG_STATE_HOME selects \
         another folder", path.display()
    )]
    State {
        /// The state folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Too little room for what the load will write.
    #[error(
        "{} has {} free{}; the load needs about {} there ({} for the table, {} for sorted runs): free some space, or \
         put sorted runs elsewhere with {TEMP_DIR}",
        path.display(), show(*free_bytes), of_which(*kept_bytes), show(table_bytes + temporary_bytes),
        show(*table_bytes), show(*temporary_bytes)
    )]
    NoSpace {
        /// The folder.
        path: PathBuf,
        /// Bytes free there.
        free_bytes: u64,
        /// Bytes of them that stay free for the server, where its tables are.
        kept_bytes: u64,
        /// Bytes of the tablespace, if it goes there.
        table_bytes: u64,
        /// Bytes of sorted runs, if they go there.
        temporary_bytes: u64,
    },
    /// `--memory` is too little even for one row at a time.
    #[error("{MEMORY} {} is too small: {reason}", mebibytes(*.given_bytes))]
    Memory {
        /// The limit, in bytes.
        given_bytes: u64,
        /// The part that does not fit.
        reason: String,
    },
    /// Somebody asked for the end of the load, by a signal.
    #[error("stopped by {by} during {stage}; {target} is unchanged")]
    Stopped {
        /// Name of the signal.
        by: &'static str,
        /// [`crate::Stage::name`] of what was being done.
        stage: &'static str,
        /// `database.table`.
        target: String,
    },
    /// The connection broke while the server was asked to swap the tables.
    #[error(
        "the connection broke during the swap, so {target} is either the complete old table or \
         the complete new one: check its rows, and load again if they are the old ones ({reason})"
    )]
    SwapUnknown {
        /// `database.table`.
        target: String,
        /// The operation during which the connection broke.
        reason: String,
    },
    /// A mistake of ours when the new table had its place already, or the transaction was committed.
    #[error("{error}; but all rows are in {target}: do not load them again")]
    AllIn {
        /// The cause.
        error: Box<Error>,
        /// `database.table`.
        target: String,
    },
    /// A load that adds rows ended early: some are in.
    #[error("{error}; {}", added(error, target, *rows))]
    Appended {
        /// The cause.
        error: Box<Error>,
        /// `database.table`, and the table beside it that lists the rows.
        target: Box<[String; 2]>,
        /// Rows that are in; none where the server could not be asked.
        rows: Option<u64>,
    },
    /// Somebody asked for the end of a load that adds rows.
    #[error("stopped by {by} during {stage}")]
    StoppedAdding {
        /// Name of the signal.
        by: &'static str,
        /// [`crate::Stage::name`] of what was being done.
        stage: &'static str,
    },
    /// The server failed, or could not be reached to remove what a failed load had made.
    #[error("{error}; step {step}: {state}")]
    Step {
        /// The step, as the journal has it.
        step: &'static str,
        /// The cause.
        error: Box<Error>,
        /// The state of the target, and leftovers of the load.
        state: String,
        /// True if nothing is left.
        clean: bool,
    },
    /// A replica that was to have the table failed.
    #[error("the replica {name}: {error}")]
    Replica {
        /// As the user named it.
        name: String,
        /// The cause.
        error: Box<Error>,
    },
    /// A replica applied nothing for longer than a load waits.
    #[error(
        "the replica {replica}, and the load waited {seconds} s for it: start replication there, or send the rows with {}, \
         which ignores replicas",
        MAX_LAG.with("0")
    )]
    StandingReplica {
        /// The replica, and that it stands still.
        replica: String,
        /// How long.
        seconds: u64,
    },
    /// A server with a partition of the table failed.
    #[error("the shard {name}: {error}")]
    Shard {
        /// As the head names it, with its address.
        name: String,
        /// The cause.
        error: Box<Error>,
    },
    /// A lock did not come, on a server with prepared transactions that nobody has ended.
    #[error(
        "{error}; unfinished prepared XA transactions may hold the lock: {} (XA RECOVER \
         FORMAT='SQL' lists them; XA COMMIT or XA ROLLBACK ends one, as its owner decides)",
        .prepared.join(", ")
    )]
    Prepared {
        /// The cause.
        error: Box<Error>,
        /// Their names, as the statements take them.
        prepared: Vec<String>,
    },
    /// Rows that were to be added to shards are prepared there, and some not committed yet.
    #[error(
        "the rows for {target} are prepared on its shards, but not committed on all of them: \
         {what}; run the same command again, or load the table from any machine, to finish this \
         load (all rows once, or none)"
    )]
    Pending {
        /// `database.table`.
        target: String,
        /// The cause.
        what: String,
    },
    /// Shards do not have what they had prepared, though it was decided that it is to be.
    #[error(
        "rows were added to {target} on all shards except {}: the prepared transaction and its \
         rows are missing there, because the transaction was rolled back or the server was \
         restored from an older copy. Add the missing rows by hand: table {record} describes \
         them. Then drop that table, so that loads can continue",
        .shards.join(" and ")
    )]
    LostBranches {
        /// `database.table`.
        target: String,
        /// Which.
        shards: Vec<String>,
        /// The table on the head, quoted.
        record: String,
    },
    /// Rows were told apart for other shards than there are now.
    #[error("the shards of {target} changed during the load: {what}")]
    ShardsMoved {
        /// The table.
        target: String,
        /// The fault of the rows.
        what: String,
    },
    /// The head does not find the rows that went to the shards.
    #[error(
        "nothing was published: the Spider server shows other rows for {target} than were sent: \
         {what}"
    )]
    Shards {
        /// `database.table`.
        target: String,
        /// The contents of the row.
        what: String,
    },
    /// A load that failed could not remove what it had made on replicas.
    #[error("{error}; {}: the next load of the table with the same {REPLICA} removes this", .left.join("; "))]
    OnReplicas {
        /// The cause.
        error: Box<Error>,
        /// Leftovers, one sentence for each replica.
        left: Vec<String>,
    },
    /// One of several tables that were to be loaded at once was not, and so none.
    #[error(
        "{table}: {error}; {}{}{}",
        none(table, *tables, left.as_deref()), also_bad(others), also_helps(error)
    )]
    Several {
        /// `database.table`, or all of them.
        table: String,
        /// The step, as the journal has it.
        step: &'static str,
        /// The cause.
        error: Box<Error>,
        /// How many there are.
        tables: usize,
        /// Why something is left of what the load made.
        left: Option<String>,
        /// Other tables that would have been refused for their rows, a sentence each.
        others: Vec<String>,
    },
    /// One of several tables that were loaded one after the other was not.
    #[error("{table}: {error}; {}", state_of_tables(table, error, done))]
    Each {
        /// `database.table`.
        table: String,
        /// The cause.
        error: Box<Error>,
        /// Those that were loaded before it.
        done: Vec<Report>,
    },
    /// The built file broke a rule of the format. It was not given to the server.
    #[error("the built file is wrong and was not imported; please report this: {0}")]
    BadFile(String),
    /// The server has other rows than were read.
    #[error(
        "the imported table for {target} has {found} row(s), but not the same {expected} row(s) that were read, because of faulty memory, a faulty disk or a bug; \
         load again, and report this if the load fails again"
    )]
    OtherRows {
        /// `database.table`.
        target: String,
        /// Rows in its files.
        found: u64,
        /// Rows that were encoded.
        expected: u64,
    },
    /// A file that the server has adopted cannot be understood.
    #[error("the imported file differs from the built one; please report this: {0}")]
    Adopted(String),
    /// IMPORT INTO of TiDB did not import all rows.
    #[error(
        "IMPORT INTO did not load the rows: {0}; {stream} sends them, and names those that TiDB refuses",
        stream = PATH.with("stream")
    )]
    NotImported(String),
    /// Rows that were read are not accounted for: a mistake of ours, or of a server's answers.
    #[error(
        "only {done} of the {read} rows that were read are accounted for{}, so nothing more was \
         published; please report this, and load again",
        unfinished(*lost)
    )]
    Miscounted {
        /// Rows that were found in the input.
        read: u64,
        /// Rows that are in, refused or left out.
        done: u64,
        /// Chunks of input that nobody has come to the end of.
        lost: u64,
    },
    /// A bug of ours.
    #[error("an internal error stopped the load; please report this: {0}")]
    Internal(String),
    /// The input.
    #[error(transparent)]
    Source(#[from] sources::Error),
    /// A value, a collation.
    #[error(transparent)]
    Values(#[from] values::Error),
    /// Sorted runs.
    #[error(transparent)]
    Sort(#[from] sort::Error),
    /// The tablespace format.
    #[error(transparent)]
    Innodb(#[from] innodb::error::Error),
    /// The server.
    #[error(transparent)]
    Server(#[from] server::Error),
}

impl Error {
    /// An I/O error with what was being done to which file.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { doing, path, source }
    }
}
