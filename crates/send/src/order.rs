//! Which portions may overtake others, where the order of rows matters.
//!
//! With `--on-duplicate skip`, `replace` and `update` it is the input's order that decides which of
//! the rows with one key stays. Rows that share no key commute, whatever the table holds: so
//! portions run side by side as long as none shares a key with an earlier one that is not done.
//!
//! ```text
//! enter(ordinal, keys)   waits until 1. all earlier portions have said which keys they have
//!                                    2. those of them that may share one are done
//! Pass::done             the portion is committed: whoever waits for it goes on
//! ```
//!
//! Nobody waits for a later portion, so there is no circle; and a portion that was read is in the
//! hands of a lane, which enters, passes over or fails. Of a portion whose [`Pass`] is dropped
//! without [`Pass::done`] it is not known that its rows are in: whoever waits for them must not go
//! on, and waits until the gate is closed. The lane that failed sees to that, after it has said
//! why, so that its reason is the one that counts.

mod gate;
mod keys;
mod unique;

pub(crate) use self::gate::OrderGate;
pub(crate) use self::keys::{IndexKeys, KeySet, PortionKeys};
pub(crate) use self::unique::{KeyCollector, RowOrder, UniqueKeys};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
