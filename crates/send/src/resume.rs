//! Where a load begins: at the first chunk, or where one that was interrupted ended.
//!
//! Only rows that are added to a table outlive an interrupted load. Its ledger, beside the target,
//! says which input and options it had, and which chunks are in; the same command goes on with
//! the others. A staging table's ledger is of no use once its load has ended, and goes with it.

use std::collections::HashMap;
use std::time::Duration;

use encode::inspected::Inspected;
use job::error::Error;
use job::jobs;
use job::options::{Constant, ConstantValue, InputOptions, LoadOptions, Mode};
use schema::Method;
use server::Interrupt;
use server::identifier::quote_text;
use sources::{Chunk, Source, SourceExt as _};
use targets::Lock;

use crate::destination::Destination;
use crate::ledger::{Job, JobFile, Ledger, LedgerTable, LoadedChunk, Totals};

/// Begins the options of a job whose rows went into a staging table.
const STAGING_MARK: &str = "twin ";

/// Loaded chunks, and the ledger for the rest.
#[derive(Debug)]
pub(crate) struct Resume {
    pub(crate) ledger: Ledger,
    /// Bytes of input that the source must be asked for at once.
    pub(crate) chunk_bytes: usize,
    /// Chunks that are in, by number.
    loaded: HashMap<u64, LoadedChunk>,
}

impl Resume {
    /// Finds the load that this one goes on with, or begins a ledger. Rows go into the staging table, if
    /// there is one, that is made by now.
    ///
    /// Errors: the interrupted load was another one, and rows of it are in.
    pub(crate) fn open(
        target: &mut Lock,
        destination: &Destination,
        options: &LoadOptions,
        input_words: String,
        chunk_bytes: usize,
    ) -> Result<Resume, Error> {
        let table = LedgerTable::of(target);
        let files = || options.input.files.iter().map(|file| file.as_path());
        let is_staged = destination.method == Method::Stage;
        let words = match is_staged {
            true => format!("{STAGING_MARK}{}", target.names.staging),
            false => input_words,
        };
        let mut ours = Job::new(files(), words, chunk_bytes as u64);
        let mut begun = None;
        for (job, ledger) in table.clone().find(&mut target.session)? {
            if job.options.starts_with(STAGING_MARK) {
                ledger.remove(&mut target.session)?;
                continue;
            }
            let is_ours = Job { chunk_bytes: ours.chunk_bytes, ..job.clone() } == ours;
            // The last COMMIT of a killed load may be under way: DROP TABLE would wait for it and then forget it.
            let totals = ledger.totals(target, target.lock_wait())?;
            if totals.rows == 0 && !is_ours {
                ledger.remove(&mut target.session)?;
            } else if is_staged {
                // Its rows stay as long as the swap has not come.
            } else if target.is_empty()? {
                // Its rows were deleted since.
                ledger.remove(&mut target.session)?;
            } else if is_ours {
                if totals.rows > 0 && is_older(&ledger, target)? {
                    return Err(may_be_gone(target, totals, &added(options)?));
                }
                begun = Some(job.chunk_bytes);
            } else {
                return Err(interrupted(target, &job, totals, Some(&ours)));
            }
        }
        if begun.is_none() && destination.method == Method::Append {
            refuse_without_ledger(target, options)?;
        }
        ours.chunk_bytes = begun.unwrap_or(ours.chunk_bytes);
        target.watched(|session| table.create(session))?;
        let ledger = table.begin(&mut target.session, &ours, begun.is_none())?;
        let loaded = match begun {
            Some(_) => ledger.loaded(&mut target.session)?,
            None => HashMap::new(),
        };
        let chunk_bytes = usize::try_from(ours.chunk_bytes).unwrap_or(usize::MAX);
        Ok(Resume { ledger, chunk_bytes, loaded })
    }

    /// Looks for all chunks that are in before any other is sent: of an input that changed, not
    /// one row may go in, or neither it nor the one before could be gone on with. The source is at
    /// its start then. A pipe is looked at as it comes.
    ///
    /// Errors: the input was another one then.
    pub(crate) fn check(
        &self,
        source: &mut dyn Source,
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        if self.loaded.is_empty() || source.facts().bytes_total.is_none() {
            return Ok(());
        }
        let mut missing = self.loaded.len();
        let mut chunk = Chunk::default();
        while missing > 0 {
            interrupt.check()?;
            if !source.next_chunk(&mut chunk)? {
                return Err(Error::InputChangedSince);
            }
            missing -= usize::from(self.loaded(&chunk)?.is_some());
        }
        source.restart()?;
        Ok(())
    }

    /// The counts of a chunk that an earlier run has loaded.
    ///
    /// Errors: its input was another one then.
    pub(crate) fn loaded(&self, chunk: &Chunk) -> Result<Option<LoadedChunk>, Error> {
        let Some(&loaded) = self.loaded.get(&chunk.ordinal) else { return Ok(None) };
        let is_same =
            loaded.bytes == chunk.bytes.len() as u64 && loaded.crc == crc32c::crc32c(&chunk.bytes);
        if is_same { Ok(Some(loaded)) } else { Err(Error::InputChangedSince) }
    }

    /// Chunks and rows that an earlier run has loaded.
    pub(crate) fn before(&self) -> Totals {
        Totals {
            chunks: self.loaded.len() as u64,
            rows: self.loaded.values().map(|loaded| loaded.rows).sum(),
        }
    }
}

/// Forgets the loads into staging tables that were killed: their staging tables are gone.
pub fn sweep(target: &mut Lock) -> Result<(), Error> {
    for (job, ledger) in LedgerTable::of(target).find(&mut target.session)? {
        if job.options.starts_with(STAGING_MARK) {
            ledger.remove(&mut target.session)?;
        }
    }
    Ok(())
}

/// A load all of whose chunks are in, and whose ledger is still there.
pub struct Completed {
    /// The identity of its command.
    pub proof: String,
    /// True if its files are those of this load.
    pub is_same_input: bool,
}

/// The loads of a target all of whose chunks are in, of commands that are known by something.
///
/// Errors: the server's.
pub fn completed(target: &mut Lock, options: &InputOptions) -> Result<Vec<Completed>, Error> {
    let table = LedgerTable::of(target);
    let proofs = match table.clone().completed(&mut target.session) {
        // An account that may not look has left nothing.
        Err(Error::Server(error)) if error.is_denied() => return Ok(Vec::new()),
        proofs => proofs?,
    };
    if proofs.is_empty() {
        return Ok(Vec::new());
    }
    let files: Vec<JobFile> = options.files.iter().map(|file| JobFile::at(file)).collect();
    let jobs = table.find(&mut target.session)?;
    let completed = jobs.into_iter().filter_map(|(job, ledger)| {
        let (_, proof) = proofs.iter().find(|(completed, _)| *completed == ledger)?;
        Some(Completed { proof: proof.clone()?, is_same_input: job.files == files })
    });
    Ok(completed.collect())
}

/// Forgets the loads all of whose chunks are in, of the commands that are known by `proofs`.
///
/// Errors: the server's.
pub fn forget_completed(target: &mut Lock, proofs: &[String]) -> Result<(), Error> {
    for (ledger, proof) in LedgerTable::of(target).completed(&mut target.session)? {
        if proof.is_some_and(|proof| proofs.contains(&proof)) {
            ledger.remove(&mut target.session)?;
        }
    }
    Ok(())
}

/// Removes what a load that ended while it opened its ledger may have made of it. Rows that another
/// load has added stay written down.
pub(crate) fn give_up(target: &mut Lock) -> Result<(), Error> {
    let table = LedgerTable::of(target);
    let found = table.clone().find(&mut target.session)?;
    for (job, ledger) in &found {
        let has_rows = match job.options.starts_with(STAGING_MARK) {
            true => false,
            // Rows that are still to be committed may come.
            false => match ledger.totals(target, Duration::ZERO) {
                Err(server::Error::LockWait { .. }) => true,
                totals => totals?.rows > 0,
            },
        };
        if !has_rows {
            ledger.remove(&mut target.session)?;
        }
    }
    match found.is_empty() {
        true => table.remove_empty(&mut target.session),
        false => Ok(()),
    }
}

/// All that decides which bytes are a row, and what its values are.
pub(crate) fn input_words(
    options: &LoadOptions,
    inspected: &Inspected,
    source_words: &str,
    is_sorted: bool,
) -> String {
    let mut words = format!(
        "{source_words} {:?} charset {} sql_mode {} zone {:?}{}",
        options.input.columns,
        options.input.charset,
        inspected.sql_mode,
        options.rows.time_zone,
        sorted(is_sorted)
    );
    if options.input.empty_is_null {
        words.push_str(" empty NULL");
    }
    for Constant { column, value } in &options.rows.constants {
        words.push_str(&match value {
            ConstantValue::Evaluated { expression, .. } => {
                format!(" expression {column:?} {expression}")
            }
            ConstantValue::Text(text) | ConstantValue::Expression(text) => {
                format!(" set {column:?} {text:?}")
            }
        });
    }
    words
}

/// The identity of two equal loads, as a ledger has it: for callers that keep one of another kind.
///
/// Errors: a job that cannot be written down.
pub fn input_text(
    options: &LoadOptions,
    inspected: &Inspected,
    source_words: &str,
) -> Result<String, Error> {
    let files = options.input.files.iter().map(|file| file.as_path());
    Job::new(files, input_words(options, inspected, source_words, false), 0).text()
}

fn sorted(is_sorted: bool) -> String {
    format!(" sorted {is_sorted}")
}

/// Refuses to add rows at once to those of a load that was interrupted.
pub(crate) fn refuse_interrupted(target: &mut Lock, mode: Mode) -> Result<(), Error> {
    if mode != Mode::Append || target.is_swept() {
        return Ok(());
    }
    let found = match LedgerTable::of(target).find(&mut target.session) {
        Err(Error::Server(error)) if error.is_denied() => return Ok(()),
        found => found?,
    };
    for (job, ledger) in found {
        if job.options.starts_with(STAGING_MARK) {
            continue;
        }
        let totals = ledger.totals(target, target.lock_wait())?;
        if totals.rows > 0 && !target.is_empty()? {
            return Err(interrupted(target, &job, totals, None));
        }
    }
    Ok(())
}

/// True if the target was created or altered after its ledger: rows that are listed may be gone.
fn is_older(ledger: &Ledger, target: &mut Lock) -> Result<bool, Error> {
    if ledger.shards().are_several() {
        return Ok(false);
    }
    let of = |name: &str| format!("MAX(IF(TABLE_NAME={}, CREATE_TIME, NULL))", quote_text(name));
    let (table, ledger) = (&target.table.name, ledger.table());
    let sql = format!(
        "SELECT {} > {} FROM information_schema.TABLES WHERE TABLE_SCHEMA={} AND TABLE_NAME IN ({}, {})",
        of(&table.table),
        of(&ledger.table),
        quote_text(&table.database),
        quote_text(&table.table),
        quote_text(&ledger.table)
    );
    Ok(target.session.query_text(&sql)?.as_deref() == Some("1"))
}

fn may_be_gone(target: &Lock, totals: Totals, jobs: &[String]) -> Error {
    let (name, rows, ledger) = (&target.table.name, totals.rows, target.names.ledger.quoted());
    let clean = match jobs {
        [] => String::new(),
        jobs => format!(", and inrush jobs clean {}", jobs.join(" ")),
    };
    Error::Usage(format!(
        "a load of this command into {name} was interrupted after {rows} rows, and {name} was created anew or \
         altered since, so these rows may be gone. If they are gone, run DROP TABLE {ledger}{clean}; if they \
         are still there, run ALTER TABLE {ledger} FORCE; then run this command again"
    ))
}

/// Names of the jobs here that have added rows of this command, the newest first.
fn added(options: &LoadOptions) -> Result<Vec<String>, Error> {
    let command = options.command.as_ref();
    let Some(proof) = command.and_then(|command| command.proof.as_ref()) else {
        return Ok(Vec::new());
    };
    let jobs = jobs::added(&options.state_dir, proof)?;
    Ok(jobs.into_iter().map(|job| job.name).collect())
}

/// Refuses to add rows of which an earlier run has added some, if the ledger that lists them is gone: another
/// account may have added the others before it dropped the ledger.
fn refuse_without_ledger(target: &mut Lock, options: &LoadOptions) -> Result<(), Error> {
    let jobs = added(options)?;
    let Some(newest) = jobs.first() else { return Ok(()) };
    if target.is_empty()? {
        return Ok(());
    }
    let (name, ledger, jobs) = (&target.table.name, &target.names.ledger, jobs.join(" "));
    Err(Error::Usage(format!(
        "job {newest} of this command was interrupted after it had added rows to {name}. The table {ledger}, which \
         listed these rows, is gone: another account or computer has loaded the rest, or somebody dropped the table. \
         Check which rows are in {name}. To add all rows of the input, run inrush jobs clean {jobs}, then this \
         command again"
    )))
}

/// Another load was interrupted than `ours`, if that could go on with one.
fn interrupted(target: &Lock, job: &Job, totals: Totals, ours: Option<&Job>) -> Error {
    let (name, rows) = (&target.table.name, totals.rows);
    let paths = |job: &Job| job.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
    let unsorted = |job: &Job| job.options.replace(&sorted(true), "").replace(&sorted(false), "");
    let differs = match ours {
        Some(ours) if paths(ours) != paths(job) => "",
        Some(ours) if ours.files != job.files => {
            " (this command has the same files, but one of them has changed since)"
        }
        Some(ours) if unsorted(ours) == unsorted(job) => {
            " (its rows were sorted by key, or are to be now: that depends on the memory limit and on the free \
             space for temporary files, which were others then)"
        }
        Some(_) => " (this command has other options for the input)",
        None => "",
    };
    Error::Usage(format!(
        "a load of {} into {name} was interrupted after {rows} rows; the command of that load \
         continues with the rest{differs}; to keep the loaded rows without the rest, drop the \
         record of that load: DROP TABLE {}",
        paths(job).join(", "),
        target.names.ledger.quoted()
    ))
}
