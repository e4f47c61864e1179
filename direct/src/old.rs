//! The rows that a table has already, merged with new ones into a new file.
//!
//! ```text
//! the server's file, held -> verified -> leaves of each index, in order of key --.
//! input -> sorted runs ---------------------------------------------------------- merged -> new leaves
//! ```
//!
//! Records are not decoded: their bytes go from page to page, and only those next to a new one are
//! compared. In reading order: `table` the file, `index` which leaves to read for which keys, `keys`
//! what records are compared by, `entries` page after page of them.

mod entries;
mod index;
mod keys;
mod table;

pub(crate) use entries::OldEntries;
pub(crate) use index::OldIndex;
pub(crate) use table::{OldSource, OldTable};
