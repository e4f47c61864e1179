//! Tables that a server has long worked on, made twice alike, and rows to be added to them.
//!
//! ```text
//! family (value) -> Aged: tables a and b, by the same statements in random order of keys (history)
//!                -> lines: rows between and behind the old ones, some with keys that are there
//!                -> same: equal through every index, in their definitions, and after a restart
//! ```
//!
//! Age comes from pages that were split and merged, records marked as deleted that purge has not come to
//! ([`Held`]), transactions rolled back, off-page values changed, columns added and dropped instantly. A
//! table is made of its family and one seed.

mod family;
mod history;
mod lines;
mod same;
mod value;

pub use family::{FAMILIES, Family};
pub use history::{Aged, Held, purged};
pub use lines::{Line, write};
