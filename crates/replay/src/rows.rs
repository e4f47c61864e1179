//! The rows of a table by the load engine: decoded, and by the fastest path into the table.
//!
//! The engine reads the dump's own text; what a literal means to a column it knows where LOAD DATA
//! takes the same text for the same value. A row of anything else, one that strict mode refuses, or
//! two with one key: the engine gives up, the table is as it was, and statements may do what the
//! dump's session would.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use load::{LoadOptions, LoadPath, OnDuplicate, Progress, RowRules, Snapshot, Stage};
use sources::Source;
use sql::{InsertHead, Verb};

use crate::error::{Error, innermost};
use crate::filling::{Filling, Sent, Stopped};
use crate::options::ReplayOptions;
use crate::progress::Watch;
use crate::state::SessionState;
use crate::under_way::UnderWay;

/// Loads a run into a table that has no rows: all of it, or nothing.
pub(crate) fn load(filling: &Filling<'_>, run: impl Source + 'static) -> Result<Sent, Stopped> {
    let options = options(filling).map_err(Stopped::Unfit)?;
    let counted = Counted::new(filling);
    let loaded = spider::load_from(filling.connect, &options, Box::new(run), &counted);
    counted.end(loaded, filling.is_staging)
}

/// Options for the engine to load INSERTs; or the reason why it cannot load as the dump's session would.
fn options(filling: &Filling<'_>) -> Result<LoadOptions, String> {
    let mut options = session_options(filling)?;
    options.input.columns = columns(filling.head)?;
    options.rows.rules = RowRules::Insert;
    options.rows.on_duplicate = match filling.head.verb {
        Verb::Insert => OnDuplicate::Fail,
        Verb::InsertIgnore => OnDuplicate::Skip,
        Verb::Replace => OnDuplicate::Replace,
    };
    Ok(options)
}

/// The part of these options that the dump's session and the whole replay determine.
pub(crate) fn session_options(filling: &Filling<'_>) -> Result<LoadOptions, String> {
    // Whether others' tables are empty, the engine sees for itself.
    if filling.is_staging && !filling.is_empty {
        return Err("the table has rows already".to_owned());
    }
    if let Some(why) = refusal(filling.state) {
        return Err(why);
    }
    let ReplayOptions { temp_dir, state_dir, lock_wait_seconds, interrupt, .. } = filling.options;
    let into = filling.into;
    let mut options = LoadOptions::new(Vec::new(), &into.database, &into.table);
    options.input.below = filling.options.folder();
    filling.state.charset().clone_into(&mut options.input.charset);
    options.rows.sql_mode = Some(filling.state.sql_mode().to_owned());
    options.rows.time_zone = filling.state.get("time_zone").map(str::to_owned);
    options.path = match filling.is_staging {
        true => LoadPath::Auto,
        // What else there is about a table that others made, its triggers, foreign keys, sees
        // the dump's session in statements only.
        false => LoadPath::Direct,
    };
    options.limits.threads = filling.options.threads;
    options.limits.memory_bytes_max = filling.memory_bytes_max;
    // Dumps are in key order by and large, and to find out costs a second reading.
    options.limits.sort_input = Some(false);
    options.limits.temp_dir.clone_from(temp_dir);
    options.server.lock_wait_seconds = *lock_wait_seconds;
    options.server.stamps = filling.options.stamps;
    options.state_dir.clone_from(state_dir);
    options.interrupt = interrupt.clone();
    Ok(options)
}

/// The part of a session's state that changes rows in ways that the engine does not know.
fn refusal(state: &SessionState) -> Option<String> {
    let is_other = |name: &str, plain: &str| state.get(name).is_some_and(|value| value != plain);
    let (client, connection) = (state.charset(), state.get("character_set_connection"));
    // Strings are converted to the connection's character set before they are stored.
    if connection.is_some_and(|set| set != client && set != "utf8mb4") {
        return Some(format!(
            "strings in {client} become {} before they are stored",
            connection.unwrap_or_default()
        ));
    }
    if state.has_mode("EMPTY_STRING_IS_NULL") {
        return Some("sql_mode EMPTY_STRING_IS_NULL turns '' into NULL".to_owned());
    }
    let variables = [
        ("auto_increment_increment", "1"),
        ("auto_increment_offset", "1"),
        ("system_versioning_insert_history", "0"),
        ("timestamp", ""),
        ("old_mode", "UTF8_IS_UTF8MB3"),
    ];
    let (name, _) = variables.iter().find(|(name, plain)| is_other(name, plain))?;
    Some(format!("the dump sets {name}"))
}

/// The columns of the rows, as text.
fn columns(head: &InsertHead) -> Result<Option<Vec<String>>, String> {
    let Some(names) = &head.columns else { return Ok(None) };
    names.iter().map(|name| column_name(name)).collect::<Result<_, _>>().map(Some)
}

/// The name of a column as text.
///
/// Errors: it is none.
pub(crate) fn column_name(name: &[u8]) -> Result<String, String> {
    String::from_utf8(name.to_vec())
        .map_err(|_| format!("the column name {} is not UTF-8", String::from_utf8_lossy(name)))
}

/// True if another method may load the rows that this one did not.
fn stopped(error: load::Error, is_staging: bool) -> Stopped {
    use load::Error as E;
    use server::Error as S;
    let is_final = match innermost(&error) {
        error if error.is_not_plain() => false,
        // Somebody wants the end; the dump cannot be read.
        E::Stopped { .. } | E::StoppedAdding { .. } | E::Server(S::Interrupted) => true,
        // Statements take more than a chunk.
        E::Source(sources::Error::RecordTooLong { .. }) => false,
        E::Source(_) | E::InputChanged => true,
        // No other way writes its journal elsewhere.
        E::State { .. } => true,
        // Rows may be in, which are there a second time if they are sent again.
        E::SwapUnknown { .. }
        | E::Server(S::CommitUnknown(_) | S::Unanswered(_))
        | E::AllIn { .. }
        | E::Appended { .. }
        | E::NotRolledBack { .. } => !is_staging,
        _ => false,
    };
    match is_final {
        true => Stopped::Failed(Error::Load(error)),
        false => Stopped::Unfit(error.to_string()),
    }
}

/// Counts rows as they are read.
pub(crate) struct Counted<'a> {
    watch: &'a Watch,
    under_way: Option<&'a UnderWay>,
    /// Rows told so far: those that are read a second time are not told again.
    rows: AtomicU64,
}

impl<'a> Counted<'a> {
    /// None so far.
    pub(crate) fn new(filling: &Filling<'a>) -> Counted<'a> {
        let Filling { watch, under_way, .. } = *filling;
        Counted { watch, under_way, rows: AtomicU64::new(0) }
    }

    /// The result of the run that was counted.
    pub(crate) fn end(
        &self,
        loaded: Result<load::Report, load::Error>,
        is_staging: bool,
    ) -> Result<Sent, Stopped> {
        match loaded {
            Ok(report) => {
                // Rows that are sent count as loaded although others replace them.
                let are_in = report.path != LoadPath::Direct.name()
                    && report.on_duplicate == OnDuplicate::Replace.name();
                let rows = report.rows + if are_in { 0 } else { report.duplicates };
                self.reach(rows);
                let notes = [report.notes, report.warnings].concat();
                Ok(Sent { rows, way: report.path, notes, ..Sent::default() })
            }
            Err(error) => {
                self.take_back();
                Err(stopped(error, is_staging))
            }
        }
    }

    fn reach(&self, rows: u64) {
        let before = self.rows.fetch_max(rows, Ordering::Relaxed);
        self.watch.add_rows(rows.saturating_sub(before));
    }

    /// None of them is in.
    fn take_back(&self) {
        self.watch.take_rows(self.rows.swap(0, Ordering::Relaxed));
    }
}

impl Progress for Counted<'_> {
    fn update(&self, snapshot: Snapshot) {
        if snapshot.stage == Stage::Rows {
            self.reach(snapshot.rows);
        }
        if let Some(under_way) = self.under_way {
            under_way.update(&snapshot, Instant::now());
        }
    }

    fn waiting(&self, text: &str) {
        self.watch.say(text);
    }
}
