//! A load from its beginning to its end: the method, and the stages one after the other.
//!
//! | module | contents |
//! | --- | --- |
//! | `run`, `journaled`, `lock_target`, `fill`, `publish` | the load of one table, in this order |
//! | `several`, `connections` | the load of several tables, and the connections that work at one after the other |
//! | `choose` | the method of a table and the publish of all tables, by facts |
//! | `append`, `partitioned`, `estimate`, `first_chunk`, `key_order`, `overhead`, `speeds` | times and sizes |
//! | `predicted_table`, `ddl` | tables that do not exist yet |
//! | `plan`, `replication_notes`, `space`, `min_memory`, `forecast` | the plan without a load, replicas, room, memory, the time left |
//! | `killed_loads`, `left_keys` | leftovers of killed loads whose rows are in |
//! | `copies` | replicas that get the same file |
//! | [`places`] | tables whose rows are on other servers |
//! | `guess` | how files of a table that exists are written, where no option says it |
//! | `expressions` | values of columns by expressions |
//!
//! Options, limits, progress and reports are in crate `job`; the methods are in `direct` and `send`; `sniff`
//! guesses unknown files.

mod append;
mod choose;
mod connections;
mod copies;
mod ddl;
mod estimate;
mod expressions;
mod fill;
mod first_chunk;
mod forecast;
mod guess;
mod journaled;
mod key_order;
mod killed_loads;
mod left_keys;
mod lock_target;
mod min_memory;
mod overhead;
mod partitioned;
pub mod places;
mod plan;
mod predicted_table;
mod publish;
mod replication_notes;
mod run;
pub mod several;
mod space;
mod speeds;

pub use job::closing::{close_jobs, leave_jobs};
pub use job::command::{CommandLine, shell_word};
pub use job::command_files::CommandFiles;
#[doc(hidden)]
pub use job::failpoint;
pub use job::memory::Memory;
pub use job::options::{
    Batches, Constant, ConstantValue, Fill, InputOptions, LoadOptions, LoadPath, Mode, OnDuplicate,
    Replicas, ResourceLimits, RowOptions, RowRules, ServerOptions,
};
pub use job::position::{ErrorPlace, Position};
pub use job::progress::{Progress, Snapshot, Stage};
pub use job::report::{LogicalReport, RejectTally, Report, ShardReport};
pub use job::row_log::reasons_path;
pub use job::settled::{HeldBack, Settled};
pub use job::state::{check as check_state_dir, default_dir as default_state_dir};
pub use job::tuning::{recover as recover_settings, with_state};
pub use job::{Error, jobs, journal, options, progress, report};
pub use server::Interrupt;
pub use sources::charset;

pub use sniff;

pub use choose::Refused;
pub use ddl::check_types;
pub use estimate::Estimate;
pub use expressions::evaluate_expressions;
pub use guess::{FileGuess, guesses};
pub use left_keys::{LeftKeys, carry_keys_over, keys_left};
pub use plan::{Plan, check, plan};
pub use run::{load, load_from};
pub use several::{
    LinesOf, LinesReport, SeveralPlan, SeveralReport, check_lines, load_each, load_lines,
    load_several, plan_several, verify_lines,
};

/// Parts of a load, for the loads of a table's [`places`].
pub mod parts {
    pub use crate::choose::{Chosen, not_empty};
    pub use crate::journaled::job;
    pub use crate::lock_target::lock;
    pub use crate::run::load_part;
}
