//! Duplicates that are skipped or replaced instead of failing the load.
//!
//! A load is first tried as if there were none, which costs nothing where that is so. When two
//! rows of one key meet, the input is read again for its unique keys alone, and the losers are
//! found out; then the table is built as ever, without them.
//!
//! ```text
//! collect   input -> (unique key, place of the row), sorted, an index each
//! groups    rows of equal keys; of one unique index: who loses
//! replay    of several: such rows once more in input order, as the server would go through them
//! gate      losers in input order, as bits of the chunk their rows are in
//! log       the losers' bytes, and to which row they lost
//! ```
//!
//! All of it is sorted within the memory for runs, so nothing grows with the input but files.
//!
//! AUTO_INCREMENT values make a circle: a row that LOAD DATA IGNORE leaves out gives its number to the next,
//! so numbers follow from losers, and losers from numbers if a unique key has them. The fate of a row depends
//! on rows before it only, so finding losers with the numbers that follow from the losers found before, again
//! and again, settles from the first row on: when two rounds agree, they are right. If the input gives all
//! numbers or none, one round suffices.

pub(crate) mod collect;
pub(crate) mod gate;
pub(crate) mod groups;
pub(crate) mod log;
pub(crate) mod loser;
pub(crate) mod losers;
pub(crate) mod replay;
pub(crate) mod resolve;
pub(crate) mod rounds;
pub(crate) mod row_position;
pub(crate) mod table;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
