//! The options of one load: a plain struct of four others, every field with its default.

mod at_server;
mod input;
mod limits;
mod rows;

use std::path::{Path, PathBuf};

use face::OptionName;
use face::option::{
    CREATE, DDL, DUPLICATES, NO_FOREIGN_KEY_CHECKS, ON_DUPLICATE, REJECTS, REJECTS_MAX, TEMP_DIR,
    UNLOGGED,
};
use rustix::fs::Access;
use schema::TableName;
use server::Interrupt;

use crate::command::CommandLine;
use crate::command_files::CommandFiles;
use crate::error::Error;
use crate::memory::{ConnectionShares, Memory};
use crate::state;

pub use self::at_server::{Replicas, ServerOptions};
pub use self::input::{InputOptions, Select};
pub use self::limits::{Batches, Fill, ResourceLimits, default_memory_bytes, default_temp_dir};
pub use self::rows::{Constant, ConstantValue, OnDuplicate, RowOptions, RowRules};
pub use crate::written::Written;
pub use schema::{LoadPath, Mode};

/// The way in which a table gets its rows together with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithOthers {
    /// By itself.
    #[default]
    Alone,
    /// By the swap of all, so that its rows must not go into it before.
    Swap,
    /// In one transaction that holds the rows of all, in the tables themselves.
    Transaction,
    /// The same, since that is sooner done with small tables.
    Small,
}

impl WithOthers {
    /// True if one transaction holds the rows of all.
    pub fn is_transaction(self) -> bool {
        matches!(self, WithOthers::Transaction | WithOthers::Small)
    }
}

/// Everything about one load that is not the connection.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The input files, and how they are read.
    pub input: InputOptions,
    /// Database of the target.
    pub database: String,
    /// Name of the target table.
    pub table: String,
    /// SQL that makes the target when it is missing. Its database is made too.
    pub ddl: Option<String>,
    /// The same for servers without the type UUID, where it is another text.
    pub ddl_without_uuid: Option<String>,
    /// The treatment of rows that the target has.
    pub mode: Mode,
    /// Way into the server. Default: the fastest that is open.
    pub path: LoadPath,
    /// The way in which the table gets its rows together with others. Default: alone; loads of
    /// several tables set it.
    pub with_others: WithOthers,
    /// True if appended rows become visible all at once: one connection, one transaction. Default no.
    pub atomic: bool,
    /// True if [`Mode::Replace`] keeps the table's next AUTO_INCREMENT number. Default no: numbers begin as
    /// after TRUNCATE.
    pub keep_auto_increment: bool,
    /// True if a file that has text and no row is loaded as an empty one, and whether [`Mode::Replace`]
    /// may put nothing in the place of the rows that are there: an input without rows, or with refused
    /// ones only. Default no.
    pub allow_empty: bool,
    /// The conversion of values, and the rules for refused rows and for rows that share a key.
    pub rows: RowOptions,
    /// The server's binary log, triggers, keys, replicas and settings, and waits for others.
    pub server: ServerOptions,
    /// Threads, memory, folders, and the sizes of batches and pages.
    pub limits: ResourceLimits,
    /// Where the journal is kept. Default: `inrush` in the user's state folder; empty, and refused,
    /// where there is none.
    pub state_dir: PathBuf,
    /// The command that the journal notes, so that it can be run again; of several tables that of the
    /// first. Default: none.
    pub command: Option<CommandLine>,
    /// The signal that ends the load early.
    pub interrupt: Interrupt,
}

impl LoadOptions {
    /// The identity of the rows of its command, in a job.
    pub fn proof(&self) -> Option<String> {
        self.command.as_ref()?.proof.as_ref().map(|proof| proof.id.clone())
    }

    /// A load of `files` into `database.table`, everything else at its default.
    pub fn new(files: Vec<PathBuf>, database: &str, table: &str) -> LoadOptions {
        LoadOptions {
            input: InputOptions { files, ..InputOptions::default() },
            database: database.to_owned(),
            table: table.to_owned(),
            ddl: None,
            ddl_without_uuid: None,
            mode: Mode::Insert,
            path: LoadPath::Auto,
            with_others: WithOthers::Alone,
            atomic: false,
            keep_auto_increment: false,
            allow_empty: false,
            rows: Default::default(),
            server: Default::default(),
            limits: Default::default(),
            state_dir: state::default_dir(),
            command: None,
            interrupt: Interrupt::default(),
        }
    }

    /// The target.
    pub fn target(&self) -> TableName {
        TableName::new(&self.database, &self.table)
    }

    /// True if AUTO_INCREMENT numbers begin as after TRUNCATE.
    pub fn restarts_numbers(&self) -> bool {
        self.mode == Mode::Replace && !self.keep_auto_increment
    }

    /// Who may use how much of the memory, of what reading ahead leaves.
    ///
    /// Errors: [`Error::Memory`], [`Error::Usage`] where it is too little, or more than there is.
    pub fn memory(&self, reading_bytes: u64) -> Result<Memory, Error> {
        match self.limits.shares {
            Some(shares) => Ok(shares),
            None => Memory::of(self.limits.memory_bytes_max, self.limits.threads, reading_bytes),
        }
    }

    /// Memory that connections may use together to send rows by `path`, without that of reading
    /// ahead.
    ///
    /// Errors: [`Error::Memory`] where it is too little for one.
    pub fn connection_shares(
        &self,
        path: LoadPath,
        reading_bytes: u64,
        input_bytes: Option<u64>,
    ) -> Result<ConnectionShares, Error> {
        let (given_bytes, connections) =
            (self.limits.memory_bytes_max, self.limits.batches.connections);
        match &self.limits.shares {
            Some(shares) => Ok(ConnectionShares::of_shares(shares, path)),
            None => {
                ConnectionShares::of(given_bytes, reading_bytes, path, connections, input_bytes)
            }
        }
    }

    /// Refuses what can be seen to fail, before anything is done.
    pub fn check(&self) -> Result<(), Error> {
        if schema::is_system_schema(&self.database) {
            return Err(Error::Usage(format!(
                "{} belongs to the server itself, so no load changes it; name another database",
                self.target()
            )));
        }
        state::check(&self.state_dir)?;
        check_folder(&TEMP_DIR.to_string(), &self.limits.temp_dir)?;
        if self.rows.duplicates.is_some() && self.rows.on_duplicate == OnDuplicate::Fail {
            return Err(Error::Usage(format!(
                "{DUPLICATES} needs {}: without that option the first duplicate fails the load, \
                 and the message names both rows",
                ON_DUPLICATE.with_any(&["skip", "replace"])
            )));
        }
        if self.server.unlogged && self.ddl.is_some() {
            return Err(Error::Usage(format!(
                "{UNLOGGED} with {DDL} or {CREATE} would create a table that replicas lack: \
                 create it first, in the binary log"
            )));
        }
        if let Some(percent) = self.rows.rejects_max_percent
            && !(0.0..=100.0).contains(&percent)
        {
            return Err(Error::Usage(format!(
                "{} is not a percentage of rows: 0% to 100% is expected",
                REJECTS_MAX.with(format!("{percent}%"))
            )));
        }
        self.limits.batches.check()?;
        let logs = [(REJECTS, &self.rows.rejects), (DUPLICATES, &self.rows.duplicates)];
        for (option, path) in logs {
            path.as_deref().map_or(Ok(()), |path| check_log(option, path))?;
        }
        files_of(std::slice::from_ref(self)).check()
    }

    /// True if a line with an unclosed quote is a row; false if it is an error.
    pub fn leaves_unclosed(&self) -> bool {
        let tolerates_any = self.rows.rejects_max > 0 || self.rows.rejects_max_percent.is_some();
        self.input.leaves_unclosed.unwrap_or(tolerates_any)
    }

    /// Judges what came of the `read` rows of an input: refuses to publish without too large a part of
    /// them, and to put nothing in the place of rows, which an export that failed looks like.
    ///
    /// Errors: [`Error::RejectedPart`], [`Error::NothingToLoad`].
    pub fn check_loaded(&self, rows: u64, rejects: u64, read: u64) -> Result<(), Error> {
        if let Some(percent_max) = self.rows.rejects_max_percent
            && rejects as f64 * 100.0 > percent_max * read as f64
        {
            let kept = self.rows.rejects.clone();
            return Err(Error::RejectedPart { rejects, rows: read, percent_max, kept });
        }
        if self.mode != Mode::Replace || self.allow_empty || rows > 0 {
            return Ok(());
        }
        Err(Error::NothingToLoad { target: self.target().to_string(), rejects })
    }

    /// The note about a table that was emptied; none if it was not.
    pub fn emptied_note(&self, rows: u64, rejects: u64) -> Option<String> {
        let why = match rejects {
            _ if self.mode != Mode::Replace || rows > 0 => return None,
            0 => "the input had no rows",
            _ => "every row of the input was rejected",
        };
        Some(format!("{why}, so the table is empty now"))
    }

    /// The note about unchecked foreign keys of a table; none without foreign keys, or if they were
    /// checked.
    pub fn unchecked_note(&self, has_foreign_keys: bool) -> Option<String> {
        let is_unchecked = self.server.unchecked_keys && has_foreign_keys;
        is_unchecked.then(|| format!("{NO_FOREIGN_KEY_CHECKS}: foreign keys were not checked"))
    }
}

/// The inputs of loads that are one command, and their files for rows that are not loaded.
pub fn files_of(tables: &[LoadOptions]) -> CommandFiles {
    let mut files = CommandFiles::new();
    for (at, options) in tables.iter().enumerate() {
        // All tables of a job file share the inputs, and the file of refused lines.
        let is_shared = options.input.selection.is_some() && at > 0;
        if !is_shared {
            options.input.files.iter().for_each(|file| files.reads("the input", file));
            options.rows.rejects.iter().for_each(|path| files.writes_rows(REJECTS, path));
        }
        options.rows.duplicates.iter().for_each(|path| files.writes_rows(DUPLICATES, path));
    }
    files
}

/// Refuses a file for rows that are not loaded where it cannot be made.
fn check_log(option: OptionName, path: &Path) -> Result<(), Error> {
    if disk::returned::has(path) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    check_folder(&format!("the folder of {option}"), folder.unwrap_or(Path::new(".")))?;
    match path.is_dir() {
        true => Err(Error::Usage(format!(
            "{option} {} is a directory; name another file",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// Refuses a folder that is not there or cannot be written to.
fn check_folder(what: &str, folder: &Path) -> Result<(), Error> {
    let wrong = |reason: &str| Err(Error::Usage(format!("{what}, {}, {reason}", folder.display())));
    match std::fs::metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => wrong("does not exist"),
        Err(error) => wrong(&format!("cannot be used: {error}")),
        Ok(meta) if !meta.is_dir() => wrong("is not a folder"),
        Ok(_) => match rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK) {
            Err(error) => wrong(&format!("cannot be written to: {error}")),
            Ok(()) => Ok(()),
        },
    }
}
