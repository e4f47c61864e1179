//! The rows of a table by the load engine: decoded, and by the fastest path into the table.
//!
//! The engine reads the dump's own text; what a literal means to a column it knows where LOAD DATA
//! takes the same text for the same value. A row of anything else, one that strict mode refuses, or
//! two with one key: the engine gives up, the table is as it was, and statements may do what the
//! dump's session would.

use std::sync::atomic::{AtomicU64, Ordering};

use load::{LoadOptions, OnDuplicate, Progress, RowRules, Snapshot, Stage};
use sources::Source;
use sources::sql::{InsertHead, Verb};

use crate::error::Error;
use crate::options::ReplayOptions;
use crate::progress::Watch;
use crate::state::State;
use crate::work::{Sent, Stopped, Work};

/// Loads a run into a table that has no rows.
pub(crate) fn load(work: &Work<'_>, run: impl Source + 'static) -> Result<Sent, Stopped> {
    let options = options(work).map_err(Stopped::Unfit)?;
    let counted = Counted::new(work.watch);
    let loaded = load::load_from(work.connect, &options, Box::new(run), &counted);
    counted.end(loaded, work.is_shadow)
}

/// What the engine is asked to do with INSERTs; or why it cannot do it as the dump's session would.
fn options(work: &Work<'_>) -> Result<LoadOptions, String> {
    Ok(LoadOptions {
        rules: RowRules::Insert,
        columns: columns(work.head)?,
        on_duplicate: match work.head.verb {
            Verb::Insert => OnDuplicate::Fail,
            Verb::InsertIgnore => OnDuplicate::Skip,
            Verb::Replace => OnDuplicate::Replace,
        },
        ..session_options(work)?
    })
}

/// What of that is the dump's session's and the whole replay's.
pub(crate) fn session_options(work: &Work<'_>) -> Result<LoadOptions, String> {
    if !work.is_empty {
        return Err("the table has rows already".to_owned());
    }
    if let Some(why) = refusal(work.state) {
        return Err(why);
    }
    let ReplayOptions { temp_dir, state_dir, lock_wait_seconds, interrupt, .. } = work.options;
    let into = work.into;
    Ok(LoadOptions {
        charset: work.state.charset().to_owned(),
        sql_mode: Some(work.state.sql_mode().to_owned()),
        time_zone: work.state.get("time_zone").map(str::to_owned),
        threads: work.threads,
        memory_bytes_max: work.memory_bytes_max,
        // Dumps are in key order by and large, and to find out costs a second reading.
        sort_input: Some(false),
        temp_dir: temp_dir.clone(),
        state_dir: state_dir.clone(),
        lock_wait_seconds: *lock_wait_seconds,
        interrupt: interrupt.clone(),
        ..LoadOptions::new(Vec::new(), &into.database, &into.table)
    })
}

/// What of a session's state changes rows in ways that the engine does not know.
fn refusal(state: &State) -> Option<String> {
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
        return Some("sql_mode EMPTY_STRING_IS_NULL makes NULL of ''".to_owned());
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
    let text = |name: &Vec<u8>| {
        String::from_utf8(name.clone())
            .map_err(|_| format!("the column name {} is not UTF-8", String::from_utf8_lossy(name)))
    };
    names.iter().map(text).collect::<Result<_, _>>().map(Some)
}

/// Whether another way may do what this one did not.
fn stopped(error: load::Error, is_shadow: bool) -> Stopped {
    use load::Error as E;
    use server::Error as S;
    let is_final = match innermost(&error) {
        error if error.is_not_plain() => false,
        // Somebody wants the end; the dump cannot be read.
        E::Stopped { .. } | E::StoppedAdding { .. } | E::Server(S::Interrupted) => true,
        E::Source(_) | E::InputChanged => true,
        // No other way writes its journal elsewhere.
        E::State { .. } => true,
        // Rows may be in, which are there a second time if they are sent again.
        E::SwapUnknown { .. }
        | E::Server(S::CommitUnknown(_) | S::Unanswered(_))
        | E::Appended { .. }
        | E::NotRolledBack { .. } => !is_shadow,
        _ => false,
    };
    match is_final {
        true => Stopped::Failed(Error::Load(error)),
        false => Stopped::Unfit(error.to_string()),
    }
}

/// What failed, without what is said of the step that it failed in.
fn innermost(mut error: &load::Error) -> &load::Error {
    while let load::Error::Step { error: inner, .. } = error {
        error = inner;
    }
    error
}

/// Counts rows as they are read.
pub(crate) struct Counted<'a> {
    watch: &'a Watch,
    /// Rows told so far: those that are read a second time are not told again.
    rows: AtomicU64,
}

impl<'a> Counted<'a> {
    /// None so far.
    pub(crate) fn new(watch: &'a Watch) -> Counted<'a> {
        Counted { watch, rows: AtomicU64::new(0) }
    }

    /// What became of the run that was counted.
    pub(crate) fn end(
        &self,
        loaded: Result<load::Report, load::Error>,
        is_shadow: bool,
    ) -> Result<Sent, Stopped> {
        match loaded {
            Ok(report) => {
                self.reach(report.rows);
                let notes = [report.notes, report.warnings].concat();
                Ok(Sent { rows: report.rows, way: report.path, notes })
            }
            Err(error) => {
                self.take_back();
                Err(stopped(error, is_shadow))
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
    }

    fn waiting(&self, text: &str) {
        self.watch.say(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_reads_values_otherwise_is_left_to_statements() {
        let why = |variables: &[(&str, &str)]| refusal(&State::of(variables));
        let names = |client, connection| {
            why(&[("character_set_client", client), ("character_set_connection", connection)])
        };
        assert_eq!(names("latin1", "latin1"), None);
        assert_eq!(names("utf8mb3", "utf8mb4"), None);
        assert!(names("utf8mb4", "latin1").is_some_and(|why| why.contains("latin1")));
        assert_eq!(why(&[("sql_mode", "NO_AUTO_VALUE_ON_ZERO"), ("unique_checks", "0")]), None);
        assert!(why(&[("sql_mode", "ORACLE,EMPTY_STRING_IS_NULL")]).is_some());
        assert_eq!(why(&[("auto_increment_increment", "1")]), None);
        for (name, value) in [
            ("auto_increment_increment", "2"),
            ("timestamp", "1700000000.000000"),
            ("system_versioning_insert_history", "1"),
        ] {
            assert!(why(&[(name, value)]).is_some_and(|why| why.contains(name)), "{name}");
        }
    }

    #[test]
    fn rows_that_may_be_in_are_not_sent_again() {
        use load::Error as E;
        let unknown = || E::SwapUnknown { target: "d.t".to_owned(), reason: "it broke".to_owned() };
        assert!(matches!(stopped(unknown(), false), Stopped::Failed(_)));
        // A shadow is made anew.
        assert!(matches!(stopped(unknown(), true), Stopped::Unfit(_)));
        let not_plain = E::Step {
            step: "rows",
            error: Box::new(E::NotPlain("a DEFAULT".to_owned())),
            state: "d.t is as it was".to_owned(),
            clean: true,
        };
        assert!(matches!(stopped(not_plain, false), Stopped::Unfit(_)));
        let by = || E::Stopped { by: "SIGINT", stage: "rows", target: "d.t".to_owned() };
        assert!(matches!(stopped(by(), true), Stopped::Failed(_)));
        assert!(matches!(stopped(E::InputChanged, true), Stopped::Failed(_)));
    }

    #[test]
    fn rows_are_counted_once() {
        let watch = Watch::default();
        let counted = Counted { watch: &watch, rows: AtomicU64::new(0) };
        let (done_bytes, total_bytes) = (0, None);
        for (stage, rows) in
            [(Stage::Rows, 5), (Stage::Rows, 3), (Stage::Indexes, 90), (Stage::Rows, 8)]
        {
            counted.update(Snapshot { stage, rows, done_bytes, total_bytes });
        }
        assert_eq!(watch.rows(), 8);
        counted.take_back();
        assert_eq!(watch.rows(), 0);
    }
}
