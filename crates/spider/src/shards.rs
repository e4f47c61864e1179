//! A load into a table whose partitions are tables of other servers.
//!
//! ```text
//! head      look: map, router, shards --> next table, empty ---------- CHECK, count --> RENAME, drop the old
//! shard 1         its table is alike          table -> load of its rows --^
//! shard n         the same                    table -> load of its rows --^
//! ```
//!
//! A shard is loaded as any table is, by its own best way, into a table beside the one that it has. Readers
//! see the old rows of all shards or the new ones: nothing is changed but by the RENAME on the head.
//! `looked` is what is found out before, `tables` what is made and removed, `filled` the loads beside the one
//! reading of the input, `shares` what memory they have.
//!
//! Where it cannot be told here which shard takes a row, or shards cannot be reached, the new table is filled
//! by INSERTs to the head (`through_head`), and published likewise.
//!
//! Rows are added by another way (`appended`), all or none too, by branches (`opened`), `staged` in new
//! tables where they go through the head, and `cleaned` brings to an end what of that was broken off;
//! `published` is the step by which rows of all shards appear.

mod appended;
mod cleaned;
mod filled;
mod inspection;
mod opened;
mod published;
mod reached;
mod shares;
mod staged;
mod tables;
mod through_head;

use disk::size::show;
use job::error::Error;
use job::failpoint;
use job::options::{LoadOptions, Mode};
use job::pool;
use job::progress::{Progress, Stage};
use job::publish::publish;
use job::report::{Report, memory_peak_bytes};
use job::steps::Steps;
use server::{ConnectOptions, Session};
use sources::Source;

use self::appended::Rows;
use self::filled::{Filled, Loads};
use self::published::HeadSwap;
use self::tables::Tables;

pub(crate) use inspection::{Inspection, look, planned};

/// Loads the rows of a source into the shard of this number.
type LoadOne<'l> = dyn Fn(
        usize,
        &ConnectOptions,
        &LoadOptions,
        Box<dyn Source>,
        &dyn Progress,
    ) -> Result<Report, Error>
    + Sync
    + 'l;

/// Removes what a killed load that replaced rows has left on the head and on its shards.
pub(crate) fn sweep(
    connect: &ConnectOptions,
    options: &LoadOptions,
    looked: &mut Inspection,
) -> Result<(), Error> {
    if options.mode == Mode::Append {
        return Ok(());
    }
    let by_head = looked.head.as_ref().is_some_and(|way| way.by_head);
    let tables = Tables::new(connect, options, looked, by_head);
    tables.sweep(&mut looked.target.session)
}

/// A load of this kind.
pub(crate) struct Sharded<'l, 's> {
    pub(crate) connect: &'l ConnectOptions,
    pub(crate) options: &'l LoadOptions,
    pub(crate) progress: &'l dyn Progress,
    pub(crate) steps: &'l mut Steps<'s>,
}

impl Sharded<'_, '_> {
    /// Loads all shards, or none.
    pub(crate) fn load(
        &mut self,
        mut looked: Inspection,
        source: Box<dyn Source>,
    ) -> Result<Report, Error> {
        match self.options.mode {
            Mode::Append if looked.head.is_some() => self.append_through_head(looked, source),
            Mode::Append => self.append(&mut looked, Rows::Of(source)),
            Mode::Insert | Mode::Replace => self.replace(looked, source),
        }
    }

    fn replace(
        &mut self,
        mut looked: Inspection,
        source: Box<dyn Source>,
    ) -> Result<Report, Error> {
        let load_one = |_,
                        connect: &ConnectOptions,
                        options: &LoadOptions,
                        source,
                        progress: &dyn Progress| {
            load::parts::load_part(connect, options, source, progress)
        };
        let by_head = looked.head.as_ref().is_some_and(|way| way.by_head);
        let tables = Tables::new(self.connect, self.options, &looked, by_head);
        let filled = self
            .steps
            .step(Stage::Staging, || tables.create(&mut looked.target.session))
            .and_then(|()| {
                let filled = match &looked.head {
                    None => {
                        let (connect, options, next) = (self.connect, self.options, tables.next());
                        let loads =
                            Loads::new(connect, options, &load_one, &looked, next, &*source)?;
                        self.steps.step(Stage::Rows, || loads.run(source, self.progress))?
                    }
                    Some(way) => self.fill_through_head(way, &tables, source)?,
                };
                let rows = filled.rows();
                if rows == 0 && self.options.mode == Mode::Replace && !self.options.allow_empty {
                    let target = looked.target.table.name.to_string();
                    return Err(Error::NothingToLoad { target, rejects: 0 });
                }
                self.steps.step(Stage::Compare, || {
                    failpoint::hit("shards.compare");
                    // It was idle while the shards were loaded.
                    looked.target.reconnect()?;
                    let session = &mut looked.target.session;
                    tables.compare(session, rows, self.options.server.verifies)
                })?;
                Ok(filled)
            });
        let published = filled.and_then(|filled| {
            let (options, looked, tables) = (self.options, &mut looked, &tables);
            let warnings = publish(self.steps, &mut HeadSwap { options, looked, tables })?;
            Ok((filled, warnings))
        });
        match published {
            Ok((filled, warnings)) => Ok(self.report(&looked, filled, warnings)),
            Err(error) => Err(self.abandon(&mut looked, &tables, error)),
        }
    }

    /// Removes what was made, unless it may be published.
    fn abandon(&self, looked: &mut Inspection, tables: &Tables<'_>, error: Error) -> Error {
        if error.is_told() {
            return error;
        }
        let _shield = self.options.interrupt.shield();
        let target = looked.target.table.name.to_string();
        if !looked.target.session.is_alive() {
            match Session::connect(self.connect) {
                Ok(session) => looked.target.session = session,
                Err(unreached) => return not_clean(error, &target, &unreached.into()),
            }
        }
        match pool::catch(|| tables.abandon(&mut looked.target.session)).flatten() {
            Ok(()) => error,
            Err(left) => not_clean(error, &target, &left),
        }
    }

    fn report(&mut self, looked: &Inspection, filled: Filled, warnings: Vec<String>) -> Report {
        let Filled { reports, bytes } = filled;
        let facts = &looked.target.facts;
        let mut all = Report {
            target: looked.target.table.name.to_string(),
            job: self.steps.job(),
            path: "shards",
            why: why(self.options.mode, looked.map.shards.len()),
            server: facts.version.text.clone(),
            server_address: looked.target.session.options().server_text(),
            on_duplicate: self.options.rows.on_duplicate.name(),
            threads: self.options.limits.threads,
            sorted_input: reports.iter().all(|(report, _)| report.sorted_input),
            bytes,
            ..Report::default()
        };
        if let Some(way) = &looked.head {
            (all.path, all.why) = ("insert", through_head::why(&way.reasons));
            all.shards.extend(looked.map.shards.iter().map(|shard| inspection::told(shard, None)));
            for (report, _) in reports {
                all.rows += report.rows;
                all.warnings.extend(report.warnings);
            }
            all.finish(&mut self.steps.stopwatch, memory_peak_bytes(), warnings);
            return all;
        }
        if reports.is_empty() {
            // Their rows were in before.
            all.shards.extend(looked.map.shards.iter().map(|shard| inspection::told(shard, None)));
        }
        for ((report, waited), shard) in reports.into_iter().zip(&looked.map.shards) {
            all.rows += report.rows;
            all.duplicates += report.duplicates;
            all.file_bytes += report.file_bytes;
            all.spilled_bytes += report.spilled_bytes;
            all.shards.push(inspection::told(shard, Some((&report, waited))));
            all.warnings.extend(report.warnings);
        }
        all.finish(&mut self.steps.stopwatch, memory_peak_bytes(), warnings);
        all
    }
}

/// Why such a table is loaded as it is.
pub(crate) fn why(mode: Mode, partitions: usize) -> String {
    let how = match mode {
        Mode::Append => ", each of which is loaded by a branch of one transaction",
        Mode::Insert | Mode::Replace => "",
    };
    format!("its {partitions} partitions are tables on other servers{how}")
}

/// Notes for the user before the load; `bytes` of the input are a shard's on average.
pub(crate) fn notes(mode: Mode, bytes: u64) -> Vec<String> {
    match mode {
        Mode::Insert | Mode::Replace => {
            vec!["each shard is loaded with its own best method; the input is read once".to_owned()]
        }
        Mode::Append => vec![
            format!(
                "each shard keeps undo and locks of all its rows, about {} of input, until the \
                 last shard is loaded: writers of the same keys wait, and so do ALTER and DROP \
                 TABLE of the shards' tables",
                show(bytes)
            ),
            "for some milliseconds between the first shard's commit and the last one's, readers \
             through the Spider server can see the new rows of some shards only"
                .to_owned(),
        ],
    }
}

fn left(error: &Error) -> String {
    format!(
        "all rows are loaded, but the old tables could not be removed ({error}): the next load \
         removes them"
    )
}

fn left_staged(error: &Error) -> String {
    format!(
        "all rows are loaded, but the staging tables could not be removed ({error}): the next \
         load removes them"
    )
}

fn not_clean(error: Error, target: &str, left: &Error) -> Error {
    let state = format!(
        "{target} is unchanged; some of the load's tables on the shards could not be removed; the \
         next load of the table removes them ({left})"
    );
    Error::Step { step: Stage::Rows.name(), error: Box::new(error), state, clean: false }
}
