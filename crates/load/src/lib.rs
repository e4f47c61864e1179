//! A load from its beginning to its end: what conducts the stages, and chooses the way.
//!
//! In reading order: `run` the load as a whole, `journaled` from the first line of its journal to the last,
//! its target `taken` for it alone, `published` what loads have left that were killed when their rows were
//! in, `fill` a table's part of it, `publish` what has its rows appear; before it `expressions` that columns
//! get the values of, `choose` the method and the reasons against others, `adding` the time of a merge beside
//! that of sending, `plan` the choice without a load, `ddl` the table made, `small` when several tables are
//! not worth a swap, [`places`] tables whose rows are on other servers, `copies` replicas that get the same
//! file, `estimate` how large and how long it will be by the rows of the `first_chunk`, by the `speeds` of
//! loads before and the `key_order` of its first rows, `foreseen` the same of a table that is not there yet,
//! `space` whether there is room, `least` how much memory it takes, `left_keys` what earlier loads have left,
//! `partitioned` whether files of partitions are worth their while; meanwhile `forecast` how long it still
//! takes; `sniff` what a file is that nothing is known of. What is asked, used and told is of crate `job`,
//! the ways in are `direct` and `send`.

mod append;
mod choose;
mod copies;
mod ddl;
mod estimate;
mod expressions;
mod fill;
mod first_chunk;
mod forecast;
mod journaled;
mod key_order;
mod left_keys;
mod lock_target;
mod min_memory;
mod overhead;
mod partitioned;
pub mod places;
mod plan;
mod predicted_table;
mod publish;
mod published;
mod run;
pub mod several;
mod single_transaction;
mod space;
mod speeds;

pub use job::closing::close_jobs;
pub use job::command::CommandLine;
pub use job::command_files::CommandFiles;
#[doc(hidden)]
pub use job::failpoint;
pub use job::memory::Memory;
pub use job::options::{
    Batches, Fill, InputOptions, LoadOptions, LoadPath, Mode, OnDuplicate, Replicas,
    ResourceLimits, RowOptions, RowRules, ServerOptions,
};
pub use job::position::{ErrorPlace, Position};
pub use job::progress::{Progress, Snapshot, Stage};
pub use job::report::{LogicalReport, RejectTally, Report, ShardReport};
pub use job::settled::{HeldBack, Settled};
pub use job::state::{check as check_state_dir, default_dir as default_state_dir};
pub use job::tuning::recover as recover_settings;
pub use job::{Error, jobs, journal, options, progress, report};
pub use server::Interrupt;
pub use sources::charset;

pub use sniff;

pub use choose::Refused;
pub use estimate::Estimate;
pub use expressions::evaluate_expressions;
pub use left_keys::{LeftKeys, carry_keys_over};
pub use plan::{Plan, check, plan};
pub use run::{load, load_from};
pub use several::{
    LinesOf, LinesReport, SeveralPlan, SeveralReport, check_lines, load_each, load_lines,
    load_several, plan_several,
};

/// Parts of a load, for the loads of a table's [`places`].
pub mod parts {
    pub use crate::choose::{Chosen, not_empty};
    pub use crate::journaled::job;
    pub use crate::lock_target::lock;
    pub use crate::run::load_part;
}
