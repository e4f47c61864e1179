//! Rows of the input to what a server stores of them.
//!
//! ```text
//! chunk -> rows -> fields -> values of columns -> clustered record, its key, secondary entries
//!          input   fields    binding, column_source    encoder                    entry
//! ```
//!
//! In reading order: [`input`] what is read, [`mapped`] what of it goes to one of several tables, and
//! [`reading`] it, chunk by chunk, by many workers; [`inspected`] what server and input say of a table, with
//! [`fields`] which column a field goes to, [`formats`] how it is written, [`constants`] which columns an option gives one value, `json_keys` by which name JSON has it, [`column_source`] where a column's
//! values come from, [`clock`] the zone of its times; [`binding`] the fields of each index, [`mod@field`] one
//! value, [`encoder`] one row, with `block` the usual numbers, dates and texts of 64 rows at once,
//! [`partition`] which of a table's partitions takes it, [`entry`] what is sorted of it and [`entries`] those
//! of a worker; numbers: [`sequence`] for every row and [`numbering`] those of a chunk, of [`counter`] the
//! server's rule and [`explicit`] the input's own; [`row_keys`] of rows that are not encoded; rows that are
//! not loaded: [`fault`] why, [`rejects`] their place, column, value and reason, and the rejects file
//! (message: `job::position::RefusedRow`), [`left_out`] those that lose to others; [`long_records`] records
//! beyond a worker's share; [`text`] of values where rows are sent or asked about; [`prepared`] all that a
//! way in begins with.

#![forbid(unsafe_code)]

pub mod binding;
mod block;
mod clock;
pub mod column_source;
pub mod constants;
pub mod counter;
pub mod encoder;
pub mod entries;
pub mod entry;
pub mod explicit;
pub mod fault;
pub mod field;
pub mod fields;
pub mod formats;
pub mod input;
pub mod inspected;
mod json_keys;
pub mod left_out;
pub mod long_records;
pub mod mapped;
pub mod numbering;
pub mod partition;
pub mod prepared;
pub mod reading;
pub mod rejects;
pub mod row_keys;
pub mod sequence;
pub mod text;

pub use prepared::Prepared;

/// Locks of this crate. Models of what waits here (`crates/testkit/tests/models`) put others in their place.
mod sync {
    pub(crate) use locks::{Condvar, Mutex};
}
