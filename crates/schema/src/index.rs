//! Indexes.

/// One index, as far as reports and plans want it: its layout comes from the exported template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// `PRIMARY` or its name.
    pub name: String,
    /// True if equal keys are refused.
    pub unique: bool,
    /// How it is organised.
    pub kind: IndexKind,
    /// Its columns in key order.
    pub columns: Vec<IndexColumn>,
    /// Where rows of one key may not overlap in time: the index as the server words it.
    pub without_overlaps: Option<String>,
}

/// How an index is organised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// Ordered by its keys.
    BTree,
    /// By the words of texts.
    FullText,
    /// By shapes in a plane.
    Spatial,
    /// Hashes of keys. In InnoDB: a UNIQUE over columns too long for an ordered index.
    Hash,
    /// By nearness of vectors.
    Vector,
    /// Another, as the server names it.
    Other(String),
}

impl IndexKind {
    /// By INDEX_TYPE of information_schema.STATISTICS.
    pub fn named(name: &str) -> IndexKind {
        match name {
            "BTREE" => IndexKind::BTree,
            "FULLTEXT" => IndexKind::FullText,
            "SPATIAL" | "RTREE" => IndexKind::Spatial,
            "HASH" => IndexKind::Hash,
            "VECTOR" => IndexKind::Vector,
            other => IndexKind::Other(other.to_owned()),
        }
    }
}

/// One column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// Name of the table's column; empty for an expression.
    pub name: String,
    /// Characters (bytes for binary types) of a prefix key.
    pub prefix: Option<u32>,
    /// True if larger values come first.
    pub descending: bool,
}
