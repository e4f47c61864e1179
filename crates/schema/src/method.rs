//! Methods by which rows get into a table, and the fate of rows that are in it.

use serde::{Deserialize, Serialize};

/// The fate of rows that are in a table before a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// There must be none, up to the moment when others see the new ones. The default, because it destroys
    /// nothing.
    #[default]
    Insert,
    /// They stay, beside the new ones.
    Append,
    /// They go in the moment in which others see the new ones.
    Replace,
}

/// A path of rows into a server, as `--path` names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LoadPath {
    /// The first of the others that table, server and account allow.
    #[default]
    Auto,
    /// A finished tablespace that the server adopts: hardly a page goes through the server.
    Direct,
    /// LOAD DATA LOCAL from memory, over several connections.
    Stream,
    /// INSERT of many rows, over several connections.
    Insert,
    /// IMPORT INTO of TiDB, which reads a file that is written for it. Only taken by its name.
    Import,
}

impl LoadPath {
    /// The paths that [`LoadPath::Auto`] may take, the fastest first.
    pub const TAKEN: [LoadPath; 3] = [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert];

    /// The value of `--path`.
    pub fn name(self) -> &'static str {
        match self {
            LoadPath::Auto => "auto",
            LoadPath::Direct => "direct",
            LoadPath::Stream => "stream",
            LoadPath::Insert => "insert",
            LoadPath::Import => "import",
        }
    }

    /// True if the server gets rows as text.
    pub fn sends(self) -> bool {
        matches!(self, LoadPath::Stream | LoadPath::Insert | LoadPath::Import)
    }
}

/// A method by which rows get into a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A tablespace is built, and takes the place of the table's.
    Build,
    /// The same with the rows that are there.
    Merge,
    /// The same with one partition.
    MergePartition,
    /// Rows are sent into a staging table, over many connections, which takes the table's place.
    Stage,
    /// Rows are sent into the table, by one transaction of one connection.
    Transaction,
    /// Rows are sent into the table, over many connections, a transaction a chunk; a ledger says which are in.
    Append,
}

impl Method {
    /// True if rows that are there are kept by a tablespace that is built.
    pub fn merges(self) -> bool {
        matches!(self, Method::Merge | Method::MergePartition)
    }

    /// True if rows are sent.
    pub fn sends(self) -> bool {
        !(self.merges() || self == Method::Build)
    }

    /// True if rows are sent into the table itself.
    pub fn sends_in_place(self) -> bool {
        matches!(self, Method::Transaction | Method::Append)
    }

    /// The name of where rows go that are sent, in reports.
    pub fn destination(self) -> Option<&'static str> {
        match self {
            Method::Build | Method::Merge | Method::MergePartition => None,
            Method::Stage => Some("staging"),
            Method::Transaction => Some("transaction"),
            Method::Append => Some("append"),
        }
    }
}
