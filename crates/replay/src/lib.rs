//! A dump into a server: rows by the fastest path, everything else in its order.
//!
//! ```text
//! dump -> statements --conductor--> session           in order, one after the other
//!         rows of a table ---------> rows (load) or connections (statements), while the conductor goes on
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | [`options`], [`dump`] | the request; the files of a dump |
//! | [`names`], `naming` | the selected tables and their new database; names in statements |
//! | `reading`, `order` | statements, and the statements that each waits for |
//! | `collations` | other names for collations that the server lacks |
//! | `conductor`, `sessions`, `state`, `session_question` | statements in order over two sessions, with the variables that they set |
//! | `table`, `keys` | a table from its CREATE to its publish, and its foreign keys |
//! | `filling`, `route`, `runs` | rows of a table, the ways to load them, and the loads at work |
//! | `rows`, `connections`, `serial`, `delimited` | rows by the load engine, as statements over several connections, as they stand, from files |
//! | `journal` | finished statements, for the same command after a crash |
//! | `dry` | a replay without changes |
//! | [`changes`] | values that the server changed |
//! | [`report`], [`progress`], `under_way`, `place`, `error` | results and progress |

pub mod changes;
mod collations;
mod conductor;
mod connections;
mod delimited;
mod dry;
mod dump;
mod error;
mod filling;
mod journal;
mod keys;
mod names;
mod naming;
mod options;
mod order;
mod place;
pub mod progress;
mod reading;
pub mod report;
mod route;
mod rows;
mod runs;
mod serial;
mod session_question;
mod sessions;
mod state;
mod table;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod under_way;

#[doc(hidden)]
pub use journal::lines as journal_lines;

use std::time::Instant;

use job::options::LoadPath;
use job::tuning::{self, Tuning};
use job::{failpoint, pool};
use server::{ConnectOptions, Session};
use tune::Wish;

use crate::conductor::Conductor;
use crate::dry::DryRun;
use crate::dump::Dump;
pub use crate::error::Error;
use crate::names::Names;
pub use crate::options::{As, ReplayOptions};
use crate::order::Order;
pub use crate::place::Place;
use crate::progress::{Progress, Watch};
use crate::report::Report;
use crate::route::Shared;
use crate::runs::Runs;

/// Refuses what can be seen to fail without a server.
pub fn check(options: &ReplayOptions) -> Result<(), Error> {
    Dump::open(&options.dump, &names(options)?)?;
    reading::check(options)
}

fn names(options: &ReplayOptions) -> Result<Names, Error> {
    job::state::check(&options.state_dir).map_err(|error| Error::Usage(error.to_string()))?;
    Names::new(options)
}

/// Replays a dump into a server.
///
/// Errors: where in the dump, at which statement, and what was wrong. Tables before it are
/// finished, those that are not are as they were; with `atomic` all are.
pub fn replay(
    connect: &ConnectOptions,
    options: &ReplayOptions,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let started = Instant::now();
    let mut names = names(options)?;
    let connect = ConnectOptions { interrupt: options.interrupt.clone(), ..connect.clone() };
    let _watcher = options.interrupt.watch(&connect);
    if names.select() {
        names.read_case(&mut Session::connect(&connect)?)?;
    }
    let dump = Dump::open(&options.dump, &names)?;
    tuning::recover(&connect, &options.state_dir).iter().for_each(|text| progress.say(text));
    let watch = Watch::default();
    let (connect, watch) = (&connect, &watch);
    let jobs_max = runs::jobs_max(options.memory_bytes_max);
    let shared = Shared { connect, options, watch, jobs_max };
    let tuning = tuning(connect, options);
    let outcome = std::thread::scope(|scope| {
        let ending = watch.until_dropped();
        let telling = scope.spawn(|| {
            failpoint::hit("thread.progress");
            watch.tell(progress);
        });
        let order = Order::new(names, connect.database.clone().map(String::into_bytes));
        let outcome = pool::catch(|| {
            let conductor = Conductor::new(shared, Runs::new(scope, shared), order)?;
            conductor.run(&dump)
        });
        drop(ending);
        // What is not told changes nothing of what was done.
        let _ = telling.join();
        outcome.unwrap_or_else(|died| Err(died.into()))
    });
    let tuned = tuning.end();
    if outcome.is_err() {
        tuned.warnings.iter().for_each(|text| progress.say(text));
    }
    let mut report = outcome.map_err(|error| options.interrupted().unwrap_or(error))?;
    report.notes.extend(tuned.notes.into_iter().chain(tuned.warnings));
    report.memory_peak_bytes = load::report::memory_peak_bytes();
    report.finish(started.elapsed().as_secs_f64(), watch.read_bytes());
    Ok(report)
}

/// Sets what is asked for: of rows that are sent, since some of a dump always may be.
fn tuning(connect: &ConnectOptions, options: &ReplayOptions) -> Tuning {
    let Some(class) = options.tune else { return Tuning::default() };
    let what = format!("replay of {}", options.dump.display());
    let (path, bytes) = (LoadPath::Stream, tuning::uncompressed_bytes(&options.dump));
    Tuning::begin(connect, &Wish { class, path, bytes, state_dir: &options.state_dir, what: &what })
}

/// Says what a replay would do, asking no server.
pub fn dry_run(options: &ReplayOptions) -> Result<Report, Error> {
    let started = Instant::now();
    let names = names(options)?;
    let dump = Dump::open(&options.dump, &names)?;
    let dry = DryRun::new(options, Order::new(names, None));
    let mut report = dry.run(&dump).map_err(|error| options.interrupted().unwrap_or(error))?;
    report.memory_peak_bytes = load::report::memory_peak_bytes();
    let bytes = report.bytes;
    report.finish(started.elapsed().as_secs_f64(), bytes);
    Ok(report)
}
