//! Which partition of a table a row goes to, told from what is stored of it.
//!
//! ```text
//! Partitioning (the server's words) --Router::new--> Router --place--> number of the partition
//!     expression   YEAR(d), a MOD 7: computed          bound   the values that partitions take
//!     hash         HASH and KEY                        sample  rows to try it by, on the server
//!     maker        what all of this is made from
//! ```
//!
//! Unsupported expressions are refused by name when the router is made. Before it is used it is tried: the
//! server tells where it puts rows with values at every bound, and others.

mod bound;
mod expression;
mod hash;
mod maker;
mod sample;
mod time_part;

use std::collections::HashMap;
use std::sync::Arc;

use schema::{Partitioning, Table};
use values::{Collation, ConvertOptions, KeyPart, Reason, SqlType};

use self::expression::Expression;
use self::hash::{KeyForm, KeyHash};
use self::maker::Maker;
use self::time_part::NoValue;

pub use self::sample::{Sample, differences, differences_of};

/// Collations by name.
pub type Collations = HashMap<String, Arc<Collation>>;

/// The collation that orders values of a type; none for types without collations.
///
/// Errors: the name of a collation that is unknown.
pub fn collation_of<'t>(
    sql_type: &'t SqlType,
    collations: &Collations,
) -> Result<Option<Arc<Collation>>, &'t str> {
    let Some(name) = sql_type.collation() else { return Ok(None) };
    collations.get(name).cloned().map(Some).ok_or(name)
}

/// A first byte above all keys of a column: their first byte tells if they are NULL.
const ABOVE_ALL: u8 = 0xff;

/// Tells which partition a row goes to.
#[derive(Clone, Debug)]
pub struct Router {
    partitions: Vec<String>,
    /// Positions in the table of the columns that say it.
    columns: Vec<usize>,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    /// Below each; None is MAXVALUE.
    Range(Expression, Vec<Option<i128>>),
    List(Expression, Listed<Option<i128>>),
    Hash {
        by: Expression,
        is_linear: bool,
    },
    /// Below the keys of each.
    RangeColumns(Vec<KeyPart>, Vec<Vec<u8>>),
    ListColumns(Vec<KeyPart>, Listed<Vec<u8>>),
    Key {
        forms: Vec<KeyForm>,
        is_linear: bool,
    },
}

/// The partitions of values that are listed.
#[derive(Clone, Debug)]
struct Listed<V> {
    at: HashMap<V, usize>,
    /// That of all others.
    default: Option<usize>,
}

/// Why a row goes to no partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// None takes it; with the value of the expression, where there is one.
    NoPartition(Option<String>),
    /// The expression has no value of 64 bits: the server refuses the row.
    OutOfRange,
    /// The server's result for a value is unknown here; with the column of the table, if it is one.
    Unknown(Option<usize>),
}

impl Unplaced {
    fn none(value: Option<i128>) -> Unplaced {
        let text = value.map_or_else(|| "NULL".to_owned(), |value| value.to_string());
        Unplaced::NoPartition(Some(text))
    }
}

impl From<NoValue> for Unplaced {
    fn from(why: NoValue) -> Unplaced {
        match why {
            NoValue::OutOfRange => Unplaced::OutOfRange,
            NoValue::Unknown => Unplaced::Unknown(None),
        }
    }
}

impl Router {
    /// For a table that is partitioned so.
    ///
    /// Errors: what of it is not known here, in words.
    pub fn new(
        table: &Table,
        partitioning: &Partitioning,
        convert: &ConvertOptions,
        collations: &Collations,
    ) -> Result<Router, String> {
        let names = partitioning.partitions.iter().map(|partition| partition.name.clone());
        let made = Maker::new(table, convert, collations).make(partitioning);
        let (columns, rule) = made.map_err(|what| format!("partitions by {what}"))?;
        Ok(Router { partitions: names.collect(), columns, rule })
    }

    /// The names of the partitions, in their order.
    pub fn partitions(&self) -> &[String] {
        &self.partitions
    }

    /// Positions in the table of the columns that are looked at.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// True if each row has a partition, whatever its values.
    pub fn takes_all(&self) -> bool {
        match &self.rule {
            Rule::Range(by, bounds) => by.has_value() && bounds.last() == Some(&None),
            Rule::List(by, listed) => by.has_value() && listed.default.is_some(),
            Rule::Hash { by, .. } => by.has_value(),
            Rule::RangeColumns(_, bounds) => bounds.last().is_some_and(|last| *last == [ABOVE_ALL]),
            Rule::ListColumns(_, listed) => listed.default.is_some(),
            Rule::Key { .. } => true,
        }
    }

    /// The partition of a row; `stored` gives what is stored of a column, by its place among
    /// [`Router::columns`], None being NULL. `key` is overwritten.
    #[inline]
    pub fn place<'r>(
        &self,
        stored: impl Fn(usize) -> Option<&'r [u8]>,
        key: &mut Vec<u8>,
    ) -> Result<usize, Unplaced> {
        let count = self.partitions.len();
        match &self.rule {
            Rule::Range(by, bounds) => {
                // NULL is below all numbers.
                let Some(value) = by.value(&stored)? else { return Ok(0) };
                let at = bounds.partition_point(|bound| bound.is_some_and(|bound| bound <= value));
                if at < count { Ok(at) } else { Err(Unplaced::none(Some(value))) }
            }
            Rule::List(by, listed) => {
                let value = by.value(&stored)?;
                listed.find(&value).ok_or_else(|| Unplaced::none(value))
            }
            Rule::Hash { by, is_linear } => {
                Ok(hash::of_value(by.value(&stored)?, count, *is_linear))
            }
            Rule::RangeColumns(parts, bounds) => {
                self.key(parts, &stored, key)?;
                let at = bounds.partition_point(|bound| bound <= key);
                if at < count { Ok(at) } else { Err(Unplaced::NoPartition(None)) }
            }
            Rule::ListColumns(parts, listed) => {
                self.key(parts, &stored, key)?;
                listed.find(key).ok_or(Unplaced::NoPartition(None))
            }
            Rule::Key { forms, is_linear } => {
                let mut hash = KeyHash::new();
                for (at, form) in forms.iter().enumerate() {
                    hash.add(*form, stored(at));
                }
                Ok(hash::of_key(hash.finish(), count, *is_linear))
            }
        }
    }

    fn key<'r>(
        &self,
        parts: &[KeyPart],
        stored: &impl Fn(usize) -> Option<&'r [u8]>,
        key: &mut Vec<u8>,
    ) -> Result<(), Unplaced> {
        key.clear();
        for (at, part) in parts.iter().enumerate() {
            let unknown = |_: Reason| Unplaced::Unknown(Some(self.columns[at]));
            part.push(stored(at), key).map_err(unknown)?;
        }
        Ok(())
    }
}

impl<V: std::hash::Hash + Eq> Listed<V> {
    fn find(&self, value: &V) -> Option<usize> {
        self.at.get(value).copied().or(self.default)
    }
}
