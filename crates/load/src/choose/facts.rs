//! Facts of a table that decide its method, and of all tables of a command that decide their publish.

use job::options::LoadPath;
use schema::{Flavor, Method, TableName};
use serde::{Deserialize, Serialize};

use super::refused::Refused;
use crate::append::Old;
use crate::estimate::Estimate;
use crate::partitioned::Scope;

/// Facts of server, table and input, by one inspection. A part that was not inspected decides nothing. They can be
/// written down and read back: `inrush plan --json` has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// The family of the server.
    #[serde(default)]
    pub(crate) flavor: Flavor,
    /// Reasons of server, account and table against the direct path.
    pub(crate) against_direct: Vec<String>,
    /// True if the server takes LOAD DATA LOCAL.
    pub(crate) local_infile: bool,
    /// True if the pages of a built table are stamped for incremental backups.
    #[serde(default)]
    pub(crate) stamps: bool,
    /// The engine's reason against LOAD DATA.
    pub(crate) against_load_data: Option<String>,
    /// Reasons of server, account and table against IMPORT INTO, where it is asked for.
    #[serde(default)]
    pub(crate) against_import: Vec<String>,
    /// True if rows that are sent are in a binary log. Looked at for `--unlogged` only.
    pub(crate) is_logged: bool,
    /// The engine's reason against every path.
    pub(crate) against_all: Option<String>,
    /// True if the table has triggers.
    pub(crate) has_triggers: bool,
    /// Partitions of the table; none of a table that has none.
    pub(crate) partitions: Option<usize>,
    /// True if foreign keys refer to the table.
    pub(crate) is_referred_to: bool,
    /// True if the server does not let one connection hold rows of the table, and those of tables that foreign keys
    /// join with it, from their reading to the swap.
    #[serde(default)]
    pub(crate) keeps_keys_apart: bool,
    /// Indexes of the table.
    pub(crate) indexes: usize,
    /// Unique keys among them, the primary one included.
    pub(crate) unique_keys: usize,
    /// Rows that are there.
    pub(crate) rows: Option<RowsThere>,
    /// The input.
    pub(crate) input: Option<Input>,
    /// Bytes of the text of the input, if its rows may go into the table itself for being few.
    #[serde(default)]
    pub(crate) small_bytes: Option<u64>,
    /// The method by which rows are sent, or every reason against that.
    pub(crate) sending: Option<Result<Method, Vec<String>>>,
}

/// Rows of a table before a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowsThere {
    /// True if there are none.
    pub(crate) is_empty: bool,
    /// True if they are those of a load that was killed after its swap.
    pub(crate) was_swapped: bool,
    /// True if a load that was killed had added all its rows.
    pub(crate) was_extended: bool,
    /// The ledger of a load by statements that was interrupted.
    pub(crate) ledger: Option<String>,
}

/// An input, as its first rows and its files tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Input {
    /// Bytes of all files, where that is known.
    pub(crate) bytes: Option<u64>,
    /// True if it can be read only once.
    pub(crate) is_read_once: bool,
    /// Reasons against building its rows.
    pub(crate) unfit: Vec<String>,
    /// A column of the table, quoted, that it has no field for.
    pub(crate) lacks: Option<String>,
    /// The engine's reason against one transaction of all rows.
    pub(crate) against_whole: Option<String>,
    /// A build of its rows for an empty table without partitions.
    pub(crate) built: Option<Estimate>,
    /// The part of the table that is built anew, where rows are kept.
    pub(crate) scope: Option<Scope>,
    /// The rows of that part.
    pub(crate) old: Option<Old>,
    /// The rows of the whole table, where that part is one partition.
    pub(crate) all: Option<Old>,
}

/// A method for a table, and what is against faster ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Choice {
    /// None where nothing is open.
    pub(crate) path: Option<LoadPath>,
    /// None where nothing is open, or it hangs on facts that were not looked at.
    pub(crate) method: Option<Method>,
    /// Why that path.
    pub(crate) why: String,
    pub(crate) refused: Vec<Refused>,
    /// Size and time of the load, where these can be told.
    pub(crate) estimate: Option<Estimate>,
    /// All seconds of it.
    pub(crate) expected_seconds: Option<f64>,
    /// Sentences on what was weighed.
    pub(crate) notes: Vec<String>,
    /// Why rows are merged with one partition only, if so.
    pub(crate) one_partition: Option<String>,
}

/// Facts about all tables of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CommandFacts {
    /// The family of the server.
    pub(crate) flavor: Flavor,
    /// The tables, in the order of the command.
    pub(crate) tables: Vec<CommandTable>,
    /// A table of the command whose rows are replaced.
    pub(crate) replaced: Option<TableName>,
    /// True if one transaction may hold the rows of all tables where a swap cannot publish them.
    pub(crate) can_be_whole: bool,
}

/// Facts about one table of a command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommandTable {
    /// Its name.
    pub(crate) name: TableName,
    /// Bytes of its input.
    pub(crate) bytes: u64,
    /// The tables that its rows refer to, also those of other commands.
    pub(crate) parents: Vec<TableName>,
    /// True if it has rows, which it keeps.
    pub(crate) keeps_rows: bool,
    /// Bytes of the text of its input, if its rows may go into the table itself for being few.
    pub(crate) small_bytes: Option<u64>,
}

impl Default for CommandTable {
    fn default() -> CommandTable {
        CommandTable {
            name: TableName::new("", ""),
            bytes: 0,
            parents: Vec::new(),
            keeps_rows: false,
            small_bytes: None,
        }
    }
}
