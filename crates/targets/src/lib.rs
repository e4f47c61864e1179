//! A table that is loaded: locked against other loads, filled, and swapped in.
//!
//! ```text
//! lock -> staging table -> (build) -> import -> publish -> swap       the direct path
//!      -> staging table -> (rows are sent) ------> publish -> swap      sending, where a staging table may take its place
//!      -> transaction                                          sending, into the target itself
//! ```
//!
//! [`lock`] is the target that [`take`] takes, if nobody is `busy` with it, with [`names`] of what is made
//! for it; of several at once [`keeper`] holds all, and those that nobody works at are [`resting`];
//! [`export`] has its rows read meanwhile; a [`guard`] holds tables that it has to do with, in [`turns`];
//! [`partitions`] are tried and filled one by one, and a `merged_partition` takes the place of one; `reach` connects; `leftovers`
//! removes what a killed load left, of which `left` knows for many targets, and [`left_keys`] for all of a
//! server; `followers` are locked with whom they refer to; `import_job` is TiDB's; [`carried_keys`] refer to the new table in place
//! of the old one; `recover` goes on after a connection was lost; [`waiting`] is for locks of others, beside statements that are `lasting`,
//! [`brief_lock`] for locks that writers queue behind, [`row_waits`] for rows, [`description`] for files that the server describes,
//! `backup` for backups, which [`stamp`] has copy imported pages; `clones` for clones of MySQL; `triggers` stay on the target, by their `trigger_text` on MySQL, where `carried_triggers` are on the old table first; [`identity`]
//! says whether another may take the target's place.

#![forbid(unsafe_code)]

mod backup;
mod behind;
pub mod brief_lock;
mod built_file;
mod busy;
pub mod carried_keys;
mod carried_triggers;
mod checkpoint;
mod clones;
mod copy;
mod covered;
pub mod description;
pub mod export;
mod followers;
pub mod foreign_keys;
pub mod guard;
pub mod identity;
pub mod import;
mod import_job;
mod keeper;
mod kept_rows;
pub mod key_run;
mod lasting;
mod left;
pub mod left_keys;
mod leftovers;
pub mod lock;
mod log_wait;
mod merged_partition;
pub mod names;
mod orphans;
pub mod partitions;
pub mod publish;
mod queued;
mod reach;
mod read_back;
mod recover;
pub mod relations;
mod resting;
mod row_ids;
pub mod row_waits;
pub mod secondary;
mod staging_copy;
mod staging_database;
pub mod staging_table;
pub mod stamp;
pub mod swap;
pub mod swapped;
mod take;
pub mod torn;
pub mod transaction;
mod trigger_text;
mod triggers;
pub mod turns;
pub mod waiting;

pub use busy::claim;
pub use import_job::ImportJob;
pub use keeper::Keeper;
pub use leftovers::Proof;
pub use lock::{Lock, LockOptions, RECONNECT_WAIT};
pub use names::Names;
pub use reach::ENDING_WAIT;
pub use resting::{Connections, Resting};
pub use staging_copy::StagingCopy;
pub use staging_table::Direct;
pub use take::{refuse_any_put_aside, refuse_put_aside};
pub use transaction::Transaction;
