//! Which chunks may overtake others, where the order of rows matters.
//!
//! With `--on-duplicate skip`, `replace` and `update` it is the input's order that decides which of
//! the rows with one key stays. Rows that share no key commute, whatever the table holds: so
//! chunks run side by side as long as none shares a key with an earlier one that is not done.
//!
//! ```text
//! enter(ordinal, keys)   waits until 1. all earlier chunks have said which keys they have
//!                                    2. those of them that may share one are done
//! Pass::done             the chunk is committed: whoever waits for it goes on
//! ```
//!
//! Nobody waits for a later chunk, so there is no circle; and a chunk that was read is in the hands of a
//! connection, which enters, passes over or fails. If the [`Pass`] of a chunk is dropped without
//! [`Pass::done`], its rows may not be in: others that wait for them must not go on, and wait until the gate
//! is closed. The failed connection closes it, after it has reported its error, so that its reason is the one
//! that counts.

mod gate;
mod keys;
mod unique;

pub(crate) use self::gate::OrderGate;
pub(crate) use self::keys::{ChunkKeys, IndexKeys, KeySet};
pub(crate) use self::unique::{KeyCollector, RowOrder, UniqueKeys};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
