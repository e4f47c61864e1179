//! Loads that were killed when all their rows were in: the next load of the table finishes them.
//!
//! Between the publishing and the exit of a process something always says that the rows are in: first a table
//! on the server ([`Proof`]), then the journal, until that is closed. A load of the same command loads
//! nothing then; another load goes on behind it.

use std::path::{Path, PathBuf};
use std::slice;

use disk::journal::unix_ms;
use job::command::{CommandLine, CommandProof};
use job::error::Error;
use job::jobs::{self, Job, State};
use job::journal::{self, Event};
use job::options::{LoadOptions, Mode};
use job::report::{Report, memory_peak_bytes};
use job::row_log;
use job::steps::Steps;
use schema::TableName;
use server::identifier::table_condition;
use server::{ConnectOptions, Session};
use targets::{Keeper, Lock, Proof, Resting};

use crate::connections::SharedConnections;

/// Time by which a table may be newer than the job's end in the journal. The server's clock counts seconds.
const TOLERANCE_MS: u64 = 5_000;

/// Findings about killed loads.
#[derive(Default)]
pub(crate) struct KilledLoads {
    /// True if the rows of this very command are in: nothing is to be loaded.
    pub(crate) is_in: bool,
    /// The killed job of this command, if its journal is here.
    job: Option<Job>,
    /// True if the server proves that the rows are in, not the journal alone.
    is_proven: bool,
    /// Proofs that are removed, by the commands.
    proofs: Vec<String>,
    /// True if what the killed loads left is removed.
    clears: bool,
    /// Killed jobs whose rows this load replaces.
    replaced: Vec<Job>,
    /// For the report.
    pub(crate) notes: Vec<String>,
}

/// Looks for killed loads of a target, and finishes those of other commands.
///
/// Errors: the server's; journals that cannot be read or written to.
pub(crate) fn finish_of(
    target: &mut Lock,
    options: &LoadOptions,
    text: &str,
) -> Result<KilledLoads, Error> {
    let mut settled = match proofs(target, options)? {
        Some(proofs) => judge(slice::from_ref(options), text, &proofs, || Ok(!target.is_empty()?))?,
        None => return Ok(KilledLoads::default()),
    };
    settled.check_tables(&mut target.session, [&target.table.name])?;
    if !settled.is_in {
        settled.clear(target)?;
    }
    Ok(settled)
}

/// The same of a target whose rows are in other places, where the caller removes what killed loads have left.
pub(crate) fn finish_places(
    target: &mut Lock,
    options: &LoadOptions,
    text: &str,
) -> Result<KilledLoads, Error> {
    let proofs = match options.mode {
        Mode::Append => Vec::new(),
        Mode::Insert | Mode::Replace => target.proofs()?,
    };
    let settled = judge(slice::from_ref(options), text, &proofs, || Ok(!target.is_empty()?))?;
    settled.check_tables(&mut target.session, [&target.table.name])?;
    Ok(KilledLoads { clears: false, ..settled })
}

/// The same of all targets of a command.
pub(crate) fn finish_all(
    targets: Vec<Resting>,
    keeper: &Keeper,
    connect: &ConnectOptions,
    tables: &[LoadOptions],
    text: &str,
) -> Result<(Vec<Resting>, KilledLoads), Error> {
    let options = &tables[0];
    if options.proof().is_none() {
        return Ok((targets, KilledLoads::default()));
    }
    let mut found = Vec::new();
    let mut targets = targets;
    if !targets.iter().all(Resting::is_swept) {
        targets = each(targets, connect, |target| {
            found.extend(proofs(target, options)?.unwrap_or_default());
            Ok(())
        })?;
    }
    let has_rows = || {
        let mut session = keeper.another()?;
        for target in &targets {
            if !catalog::is_empty(&mut session, &target.table.name)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let mut settled = judge(tables, text, &found, has_rows)?;
    if settled.is_in {
        let apart = settled.apart().unwrap_or_default();
        let own = targets.iter().zip(tables).filter(|(_, one)| !apart.contains(&one.table));
        let names = own.map(|(target, _)| &target.table.name);
        settled.check_tables(&mut keeper.another()?, names)?;
    }
    if !settled.is_in && settled.clears {
        targets = each(targets, connect, |target| settled.clear(target))?;
    }
    Ok((targets, settled))
}

/// Does something with each target.
fn each(
    targets: Vec<Resting>,
    connect: &ConnectOptions,
    mut work: impl FnMut(&mut Lock) -> Result<(), Error>,
) -> Result<Vec<Resting>, Error> {
    let mut connections = SharedConnections::of(Session::connect(connect)?);
    let mut targets: Vec<Option<Resting>> = targets.into_iter().map(Some).collect();
    targets.iter_mut().try_for_each(|target| connections.at(target, &mut work))?;
    Ok(targets.into_iter().flatten().collect())
}

/// Proofs on the server that the rows of killed loads are in; none for a load without an identity.
fn proofs(target: &mut Lock, options: &LoadOptions) -> Result<Option<Vec<Proof>>, Error> {
    if options.proof().is_none() {
        return Ok(None);
    }
    let mut proofs = target.proofs()?;
    if !target.is_swept() {
        let table = &target.names.ledger.clone();
        let completed = send::completed(target, &options.input)?.into_iter();
        // Chunks of the same input are gone on with, whatever the other options are.
        let of = completed
            .filter(|job| !job.is_same_input || Some(&job.proof) == options.proof().as_ref());
        proofs.extend(of.map(|job| Proof { table: table.clone(), of: Some(job.proof) }));
    }
    Ok(Some(proofs))
}

/// Tells whose proofs these are.
fn judge(
    tables: &[LoadOptions],
    text: &str,
    proofs: &[Proof],
    has_rows: impl FnOnce() -> Result<bool, Error>,
) -> Result<KilledLoads, Error> {
    let options = &tables[0];
    let command = options.command.as_ref();
    let Some((command, own)) = command.and_then(|one| Some((one, one.proof.as_ref()?))) else {
        return Ok(KilledLoads::default());
    };
    let known = Known::read(tables, text, command, own, proofs.is_empty())?;
    let mut settled = KilledLoads { clears: !proofs.is_empty(), ..KilledLoads::default() };
    let is_noted = known.last.as_ref().is_some_and(Job::is_unfinished);
    for proof in proofs {
        let owner = match &proof.of {
            Some(id) if *id == own.id => known.last.clone(),
            Some(id) => of(options, id)?.into_iter().next(),
            None => known.of_target.first().cloned(),
        };
        settled.proofs.extend(proof.of.clone());
        let id = owner.as_ref().and_then(Job::proof).map(|proof| &proof.id);
        match (&proof.of, id) {
            // Its user knows: the table was only left behind.
            _ if owner.as_ref().is_some_and(is_told) => {}
            // It may be that of anybody: the table of another computer, or of an older version.
            (None, None) => settled.clears = false,
            (Some(id), _) | (None, Some(id)) if *id == own.id => settled.is_proven = true,
            _ => settled.notes.extend(finish(options, owner.as_ref(), text)?),
        }
    }
    settled.is_in = (is_noted || settled.is_proven) && has_rows()?;
    if !settled.is_in && options.mode == Mode::Append {
        known.refuse_changed(tables, text)?;
    }
    settled.clears |= settled.is_in;
    settled.job = known.last.filter(|_| settled.is_in);
    if !settled.is_in && options.mode != Mode::Append {
        let of_others = known.of_target.into_iter();
        let is_other = |job: &Job| job.proof().is_some_and(|proof| proof.id != own.id);
        settled.replaced = of_others.filter(|job| job.is_unfinished() && is_other(job)).collect();
    }
    Ok(settled)
}

/// Marks another command's killed job as loaded in its journal, before the proof on the server is removed.
/// Returns a note for the report.
fn finish(options: &LoadOptions, job: Option<&Job>, text: &str) -> Result<Option<String>, Error> {
    let Some(job) = job else {
        return Ok(Some(format!(
            "a load from another machine was killed after all its rows were in {text}; this load \
             finished it first"
        )));
    };
    if !job.is_in() {
        jobs::note_in(&options.state_dir, job)?;
    }
    Ok(Some(format!(
        "job {} was killed after all its rows were in {text}; this load finished it first",
        job.name
    )))
}

/// The time at which a table was made, or altered so that it has other files, by the clock of this machine;
/// none where the server does not know.
fn made_ms(session: &mut Session, table: &TableName) -> Result<Option<u64>, Error> {
    let row = session.query_row(&format!(
        "SELECT UNIX_TIMESTAMP() - UNIX_TIMESTAMP(CREATE_TIME) FROM information_schema.TABLES \
         WHERE {}",
        table_condition(table)
    ))?;
    let ago_ms = row.bytes(0).and_then(|text| std::str::from_utf8(text).ok()?.parse::<f64>().ok());
    Ok(ago_ms.map(|seconds| (unix_ms() as f64 - seconds * 1000.0) as u64))
}

/// Facts from the journals.
struct Known<'c> {
    command: &'c CommandLine,
    own: &'c CommandProof,
    /// The last job of this command that may have published.
    last: Option<Job>,
    /// Jobs into the same target that may have, the newest first.
    of_target: Vec<Job>,
}

impl<'c> Known<'c> {
    /// Jobs whose users know that their rows are in only tell whose proofs there are, if `without_proofs` is false.
    fn read(
        tables: &[LoadOptions],
        text: &str,
        command: &'c CommandLine,
        own: &'c CommandProof,
        without_proofs: bool,
    ) -> Result<Known<'c>, Error> {
        let (state_dir, quoted) =
            (&tables[0].state_dir, serde_json::to_string(text).unwrap_or_default());
        let mut of_target = match without_proofs {
            true => jobs::published_unclosed(state_dir, &quoted, &own.id)?,
            false => jobs::published(state_dir, &quoted)?,
        };
        let is_of_server = |job: &Job| job.proof().is_some_and(|proof| proof.server == own.server);
        of_target.retain(|job| job.target() == text && is_of_server(job));
        let is_own = |job: &&Job| job.proof().is_some_and(|proof| proof.id == own.id);
        let has_loaded = |job: &&Job| job.is_part() && is_part(job, tables, command);
        let last = of_target.iter().find(|job| is_own(job) || has_loaded(job)).cloned();
        // One that runs has its rows in, and is about to say so.
        let last = last.filter(|job| job.state != State::Running);
        Ok(Known { command, own, last, of_target })
    }

    /// Refuses to add rows of a table that this command has loaded before other tables of it failed, from files
    /// that were changed since.
    fn refuse_changed(&self, tables: &[LoadOptions], text: &str) -> Result<(), Error> {
        let Known { command, own, .. } = self;
        let is_other = |job: &&Job| job.proof().is_some_and(|proof| proof.id != own.id);
        let is_changed = |job: &&Job| is_other(job) && !is_part(job, tables, command);
        for job in self.of_target.iter().filter(|job| job.is_part()).filter(is_changed) {
            let then = job.command().filter(|then| then.is_typed_as(command)).cloned();
            let then = then.map(|then| then.reading(&own_files(job, tables)));
            if let Some(changed) = then.and_then(|then| then.changed()) {
                let quoted = serde_json::to_string(&command.folder).unwrap_or_default();
                let mut parts = jobs::published(&tables[0].state_dir, &quoted)?;
                let is_typed =
                    |job: &Job| job.command().is_some_and(|then| then.is_typed_as(command));
                parts.retain(|job| job.is_part() && is_typed(job));
                let names: Vec<&str> = parts.iter().map(|job| job.name.as_str()).collect();
                return Err(Error::Usage(format!(
                    "{changed}; job {} of this command has loaded it into {text} before another table \
                     failed, so its rows would be added twice: leave the file out, or, if the files are \
                     new ones, run inrush jobs clean {}, and this command again",
                    job.name,
                    names.join(" ")
                )));
            }
        }
        Ok(())
    }
}

/// True if a job with tables behind it was of this command, and the files of its own tables are as they were.
fn is_part(job: &Job, tables: &[LoadOptions], command: &CommandLine) -> bool {
    job.command().is_some_and(|then| then.is_same_for(&own_files(job, tables), command))
}

/// Files of the tables that a job loads itself, not behind the others.
fn own_files(job: &Job, tables: &[LoadOptions]) -> Vec<PathBuf> {
    let apart = job.apart();
    let own = tables.iter().filter(|options| !apart.contains(&options.table));
    own.flat_map(|options| options.input.files.clone()).collect()
}

/// Jobs of another command, the newest first.
fn of(options: &LoadOptions, id: &str) -> Result<Vec<Job>, Error> {
    let mut jobs = jobs::published(&options.state_dir, id)?;
    jobs.retain(|job| job.proof().is_some_and(|proof| proof.id == id));
    Ok(jobs)
}

/// True if the user of a job knows that its rows are in.
fn is_told(job: &Job) -> bool {
    job.state == State::Running
        || job.entries.last().is_some_and(|last| last.what.event == Event::Closed)
}

impl KilledLoads {
    /// Refuses if only the journal says that the rows are in, and the table was created or altered later.
    ///
    /// Errors: [`Error::Usage`], with the way out; the server's.
    fn check_tables<'t>(
        &self,
        session: &mut Session,
        tables: impl IntoIterator<Item = &'t TableName>,
    ) -> Result<(), Error> {
        let Some(job) = self.job.as_ref().filter(|_| self.is_in && !self.is_proven) else {
            return Ok(());
        };
        let Some(in_since_ms) = job.in_since_ms() else { return Ok(()) };
        for table in tables {
            if made_ms(session, table)?.is_some_and(|made| made > in_since_ms + TOLERANCE_MS) {
                let name = &job.name;
                return Err(Error::Usage(format!(
                    "job {name} of this command loaded all its rows into {table}; {table} was \
                     created anew or altered since and has rows, \
                     so these may be other rows. If the loaded rows are gone, run inrush jobs \
                     clean {name}, and this command again"
                )));
            }
        }
        Ok(())
    }

    /// Removes what killed loads have left, if all of it is accounted for.
    fn clear(&mut self, target: &mut Lock) -> Result<(), Error> {
        if self.clears {
            target.cleanup_tables()?;
            send::forget_completed(target, &self.proofs)?;
            // Where this account cannot look, it has left nothing.
            let _ = send::sweep(target);
        }
        Ok(())
    }

    /// Finishes the killed load of this command: its journal is closed with that of this one.
    pub(crate) fn finish_own(
        mut self,
        target: &mut Lock,
        connect: &ConnectOptions,
        options: &LoadOptions,
        steps: &mut Steps<'_>,
    ) -> Report {
        let warnings = self.take_over(steps, |settled| settled.clear(target));
        let rejects = self.rejects(options, journal::rejects_path);
        self.report(&target.table.name.to_string(), connect, rejects, steps, warnings)
    }

    /// The same of several targets, with the options of each.
    pub(crate) fn finish_own_all(
        mut self,
        tables: Vec<(&LoadOptions, Resting)>,
        connect: &ConnectOptions,
        steps: &mut Steps<'_>,
    ) -> (Vec<Report>, Vec<String>) {
        let (tables, targets): (Vec<&LoadOptions>, Vec<Resting>) = tables.into_iter().unzip();
        let names: Vec<String> = targets.iter().map(|one| one.table.name.to_string()).collect();
        let warnings = self.take_over(steps, |settled| {
            each(targets, connect, |target| settled.clear(target)).map(drop)
        });
        let report = |(name, options): (&String, &&LoadOptions)| {
            let of_table = |journal: &Path| {
                journal::rejects_path_of(&journal::rejects_path(journal), &options.table)
            };
            let rejects = self.rejects(options, of_table);
            self.report(name, connect, rejects, steps, Vec::new())
        };
        (names.iter().zip(&tables).map(report).collect(), warnings)
    }

    /// The tables that the killed command had left to loads behind this one, each by itself; none where its journal
    /// is not here.
    pub(crate) fn apart(&self) -> Option<Vec<String>> {
        self.job.as_ref().map(Job::apart)
    }

    /// The file of rows that the killed load has refused, and how many they are; none where it has refused
    /// none. `beside` gives the file that it kept beside its journal.
    fn rejects(
        &self,
        options: &LoadOptions,
        beside: impl FnOnce(&Path) -> PathBuf,
    ) -> Option<(PathBuf, u64)> {
        // Of lines with rows of several tables all are read before, and the bad ones told.
        if options.input.selection.is_some() {
            return None;
        }
        let kept = self.job.as_ref().map(|job| beside(&job.path));
        let files = options.rows.rejects.iter().cloned().chain(kept);
        files
            .filter_map(|file| Some((row_log::rows(&file)?, file)))
            .find(|(rows, _)| *rows > 0)
            .map(|(rows, file)| (file, rows))
    }

    /// The journal of this job says that the rows are in before the proof goes.
    fn take_over(
        &mut self,
        steps: &mut Steps<'_>,
        clear: impl FnOnce(&mut KilledLoads) -> Result<(), Error>,
    ) -> Vec<String> {
        let cleared = steps.rows_are_in().and_then(|()| clear(self));
        if let Some(job) = self.job.clone() {
            steps.finishes(job);
        }
        let left = |error| {
            format!(
                "all rows are loaded, but leftovers of the killed load could not be removed \
                 ({error}): the next load removes them"
            )
        };
        cleared.err().map(left).into_iter().collect()
    }

    fn report(
        &self,
        target: &str,
        connect: &ConnectOptions,
        rejects: Option<(PathBuf, u64)>,
        steps: &mut Steps<'_>,
        warnings: Vec<String>,
    ) -> Report {
        let who = match &self.job {
            Some(job) => format!("job {} loaded them", job.name),
            None => "the same command loaded them".to_owned(),
        };
        let end = match self.job.as_ref().and_then(Job::missing) {
            Some(table) => format!("its command failed at {table}"),
            None => "was killed before its report".to_owned(),
        };
        let mut report = Report {
            target: target.to_owned(),
            job: steps.job(),
            path: "none",
            why: format!("all rows are loaded already: {who}, and {end}"),
            server_address: connect.server_text(),
            is_in_already: true,
            rejects: rejects.as_ref().map_or(0, |(_, rows)| *rows),
            rejects_file: rejects.map(|(file, _)| file),
            ..Report::default()
        };
        report.finish(&mut steps.stopwatch, memory_peak_bytes(), warnings);
        report
    }

    /// Jobs whose rows this load has replaced are over.
    pub(crate) fn close_replaced(self, steps: &mut Steps<'_>) {
        self.replaced.into_iter().for_each(|job| steps.finishes(job));
    }
}
