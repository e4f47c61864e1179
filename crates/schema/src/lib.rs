//! Facts about a table, as a server tells them, without asking one.
//!
//! ```text
//! Table -> columns, indexes, foreign keys, triggers, checks ..   what there is
//!       -> features()                                            what is out of the ordinary
//! ```
//!
//! [`Feature::support`] says of each feature which methods take it: a new one does not compile before it
//! has a line there.

#![forbid(unsafe_code)]

mod column;
mod constraint;
mod engine;
mod feature;
mod filename;
mod first_of;
mod flavor;
mod index;
mod method;
mod name;
mod partition;
mod support;
mod table;

pub use column::{Column, DefaultValue, Generated, Storage};
pub use constraint::{Check, ForeignKey, KeyEnd, Reference, Trigger};
pub use engine::Engine;
pub use feature::{Feature, NamedText};
pub use filename::{
    filename_ascii, filename_by_letters, name_of_file, stem_of_table, table_of_stem,
};
pub use first_of::first_of;
pub use flavor::Flavor;
pub use index::{Index, IndexColumn, IndexKind};
pub use method::{LoadPath, Method, Mode};
pub use name::{
    BASE_TABLE, NAME_CHARS_MAX, NameError, TableName, is_system_schema, quote_name, quoted_name,
};
pub use partition::{Partition, PartitionBound, PartitionMethod, Partitioning};
pub use support::{Staged, Support};
pub use table::{CreateOption, OldUuids, RowFormat, Table, TableKind, UuidMaker};
