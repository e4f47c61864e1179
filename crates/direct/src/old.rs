//! The rows that a table has already, merged with new ones into a new file.
//!
//! ```text
//! the server's file, held -> verified -> leaves of each index, in order of key --.
//! input -> sorted runs ---------------------------------------------------------- merged -> new leaves
//! ```
//!
//! Records are not decoded: their bytes go from page to page, and only those next to a new one are compared.
//! In reading order: `table` the files, `file` one of them, `index` which leaves to read for which keys,
//! `leaves` page after page of these, `keys` what records are compared by, `entries` the ones of a range,
//! `replaced` which rows go.

mod entries;
mod file;
mod index;
mod keys;
mod leaves;
mod replaced;
mod table;

pub(crate) use entries::OldEntries;
pub(crate) use file::{Like, OldFile, REWRITE};
pub(crate) use replaced::{Replaced, Replacing};
pub(crate) use table::{OldSource, OldTable};
