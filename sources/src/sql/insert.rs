//! The words of an INSERT before its rows.

use super::statement::ObjectName;

/// INSERT or REPLACE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `INSERT`.
    Insert,
    /// `INSERT IGNORE`.
    InsertIgnore,
    /// `REPLACE`.
    Replace,
}

/// Everything of `INSERT INTO t (a, b) VALUES (` before the first row. LOW_PRIORITY, DELAYED and
/// HIGH_PRIORITY, which mean nothing to InnoDB, are in `text` only; PARTITION makes it a statement
/// of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertHead {
    /// What becomes of duplicates.
    pub verb: Verb,
    /// Where rows go.
    pub table: ObjectName,
    /// The columns, where they are named.
    pub columns: Option<Vec<Vec<u8>>>,
    /// The words as they stand, `VALUES` included, the first parenthesis not: what the next
    /// statement of the same run begins with too.
    pub text: Vec<u8>,
}
