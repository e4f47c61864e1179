//! Into what a table's rows are divided, in the server's words.

/// Into what a table's rows are divided. By default by nothing that is known, into no partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partitioning {
    /// By what; None where the definition does not say it as expected.
    pub method: Option<PartitionMethod>,
    /// True for partitions by values of columns: RANGE COLUMNS, LIST COLUMNS.
    pub by_columns: bool,
    /// True if hashes go by powers of two: LINEAR.
    pub is_linear: bool,
    /// The expression, or the names of columns; none for KEY by the primary key.
    pub expression: String,
    /// The partitions in their order.
    pub partitions: Vec<Partition>,
    /// The feature that makes every partition's rows go elsewhere than method and expression tell.
    pub oddity: Option<String>,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Which rows it takes.
    pub bound: PartitionBound,
}

/// Which rows a partition takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionBound {
    /// Those with its hash.
    Hash,
    /// Those with values below, or equal to, these; in the server's words.
    Values(String),
    /// Those that no other of a list takes.
    Default,
}

/// By what rows are divided into partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionMethod {
    /// Ranges of values.
    Range,
    /// Lists of values.
    List,
    /// A hash of an expression.
    Hash,
    /// A hash of columns.
    Key,
    /// When a row was replaced.
    SystemTime,
}

impl Partitioning {
    /// The feature for which no files are built.
    pub fn unfit(&self) -> Option<&str> {
        match self.method {
            None => Some("by an unsupported expression"),
            Some(PartitionMethod::SystemTime) => Some("by SYSTEM_TIME"),
            Some(_) => self.oddity.as_deref(),
        }
    }
}
