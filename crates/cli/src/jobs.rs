//! `inrush jobs`: what ran here, and what became of it.

use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use load::jobs::{self, Job, State};
use load::journal::{Entry, Event};
use serde::Serialize;
use terminal::failure::Failure;
use terminal::size::{count, show};
use terminal::state::state_dir;

use crate::args::{JobsAction, JobsArgs};
use crate::print;

/// Seconds, for people.
const SECOND: &str = "%F %T";
/// And what is left out of it.
const MILLISECOND: &str = "%T%.3f";

/// Lists jobs, shows one, or removes journals.
pub(crate) fn run(args: &JobsArgs) -> Result<u8, Failure> {
    let state_dir = state_dir(args.state_dir.as_deref())?;
    let mut out = terminal::lines();
    let job = |name: &str| jobs::find(&state_dir, name);
    let printed = match args.action.as_ref().unwrap_or(&JobsAction::List) {
        JobsAction::List => list(&mut out, &readable(&state_dir)?, args.json),
        JobsAction::Show { job: name } => {
            let job = job(name)?;
            let later = jobs::loaded_later(&state_dir, &job)?;
            show_job(&mut out, &job, later.as_ref(), args.json)
        }
        JobsAction::Logs { job: name } => logs(&mut out, &job(name)?, args.json),
        JobsAction::Clean { jobs, rejects } => {
            let cleaned = clean(&state_dir, jobs, *rejects)?;
            match args.json {
                true => print::json(&mut out, &cleaned),
                false => show_cleaned(&mut out, &cleaned),
            }
        }
    };
    printed?;
    Ok(0)
}

/// All jobs whose journals can be read. The others are named in warnings.
fn readable(state_dir: &Path) -> Result<Vec<Job>, Failure> {
    let (jobs, unreadable) = jobs::list(state_dir)?;
    for error in unreadable {
        tell!("inrush: warning: {error}");
    }
    Ok(jobs)
}

/// A job for programs.
#[derive(Serialize)]
struct JobSummary<'a> {
    job: &'a str,
    state: State,
    target: &'a str,
    begun_unix_ms: u64,
    seconds: f64,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a ::load::CommandLine>,
    /// A later job that has loaded the same files into the same table.
    #[serde(skip_serializing_if = "Option::is_none")]
    loaded_by: Option<&'a str>,
    journal: &'a Path,
}

impl<'a> JobSummary<'a> {
    fn of(job: &'a Job, later: Option<&'a Job>) -> JobSummary<'a> {
        JobSummary {
            job: &job.name,
            state: job.state,
            target: job.target(),
            begun_unix_ms: job.begun_ms(),
            seconds: job.seconds(),
            pid: job.entries.first().map_or(0, |first| first.pid),
            step: job.last_step().filter(|_| job.state != State::Done),
            error: job.failure(),
            command: job.command(),
            loaded_by: later.map(|later| &*later.name),
            journal: &job.path,
        }
    }
}

fn list(out: &mut impl Write, jobs: &[Job], is_json: bool) -> io::Result<()> {
    let later = |job: &Job| jobs.iter().find(|later| later.has_loaded(job));
    if is_json {
        let all = jobs.iter().rev().map(|job| JobSummary::of(job, later(job)));
        return print::json_list(out, &all.collect::<Vec<_>>());
    }
    if jobs.is_empty() {
        return writeln!(out, "no jobs");
    }
    writeln!(out, "{:<24} {:<19} {:<8} {:>10}  into", "job", "begun", "state", "seconds")?;
    for job in jobs.iter().rev() {
        let (begun, state) = (time(job.begun_ms(), SECOND), job.state.name());
        let seconds = job.seconds();
        let mut target = one_line(job.target());
        if let Some(later) = later(job) {
            target = format!("{target} (loaded by job {})", later.name);
        }
        writeln!(out, "{:<24} {begun} {state:<8} {seconds:>10.2}  {target}", job.name)?;
    }
    // The newest job of a table knows best.
    let is_newest = |at: usize| !jobs[..at].iter().any(|newer| newer.target() == jobs[at].target());
    let added = jobs.iter().enumerate().filter(|(at, job)| job.has_added() && is_newest(*at));
    for (_, job) in added {
        let (target, name) = (one_line(job.target()), &job.name);
        writeln!(
            out,
            "{target}: job {name} was interrupted while it added rows. A table _inrush_ledger_.. \
             beside {target} lists them; inrush resume {name} loads the rest and drops that table."
        )?;
    }
    Ok(())
}

fn show_job(out: &mut impl Write, job: &Job, later: Option<&Job>, is_json: bool) -> io::Result<()> {
    if is_json {
        return print::json(out, &JobSummary::of(job, later));
    }
    writeln!(out, "job {}: {}", job.name, job.state.name())?;
    writeln!(out, "  into     {}", one_line(job.target()))?;
    writeln!(out, "  begun    {}", time(job.begun_ms(), SECOND))?;
    if let Some(command) = job.command() {
        writeln!(out, "  command  {}", one_line(&command.to_string()))?;
        writeln!(out, "  run in   {}", command.folder.display())?;
        for input in &command.inputs {
            let bytes = input.state.map_or("a pipe".to_owned(), |state| show(state.bytes));
            writeln!(out, "  input    {}, {bytes}", input.path.display())?;
        }
        if let Some(changed) = command.changed().filter(|_| job.state != State::Done) {
            writeln!(out, "           {changed}")?;
        }
    }
    for JobStep { name, begun_ms, ended_ms } in steps(&job.entries) {
        match ended_ms {
            Some(ended_ms) => {
                let seconds = ended_ms.saturating_sub(begun_ms) as f64 / 1000.0;
                writeln!(out, "  {:>8.2} s  {name}", seconds)?;
            }
            None => writeln!(out, "  unfinished  {name}")?,
        }
    }
    if let Some(failure) = job.failure() {
        writeln!(out, "  failed   {}", one_line(failure))?;
    }
    if let Some(table) = job.missing() {
        writeln!(out, "  missing  {}, of the same command", one_line(table))?;
    }
    if let Some(later) = later {
        return writeln!(out, "  loaded   by job {}", later.name);
    }
    let is_over = job.state == State::Done && job.missing().is_none();
    match job.command() {
        Some(command) if !is_over && job.state != State::Running && command.is_whole() => {
            writeln!(out, "  resume   inrush resume {}", job.name)
        }
        _ => writeln!(out, "  journal  {}", job.path.display()),
    }
}

/// A step of a table.
#[derive(Debug, PartialEq)]
struct JobStep {
    name: String,
    begun_ms: u64,
    /// None if it did not end.
    ended_ms: Option<u64>,
}

/// Each step of each table.
fn steps(entries: &[Entry]) -> Vec<JobStep> {
    let mut steps: Vec<JobStep> = Vec::new();
    let job = entries.first().map_or("", |first| &first.what.detail);
    for Entry { unix_ms, what, .. } in entries.iter().filter(|entry| entry.what.step != "job") {
        let is_of_all = what.detail == job;
        let of = if is_of_all { String::new() } else { format!(" of {}", one_line(&what.detail)) };
        let name = format!("{}{of}", what.step);
        match what.event {
            Event::Begin => steps.push(JobStep { name, begun_ms: *unix_ms, ended_ms: None }),
            Event::End | Event::Failed | Event::Closed => {
                if let Some(step) = steps.iter_mut().rfind(|step| step.name == name) {
                    step.ended_ms = Some(*unix_ms);
                }
            }
        }
    }
    steps
}

fn logs(out: &mut impl Write, job: &Job, is_json: bool) -> io::Result<()> {
    if is_json {
        return print::json_list(out, &job.entries);
    }
    for Entry { unix_ms, what, .. } in &job.entries {
        let (at, event) = (time(*unix_ms, MILLISECOND), what.event.name());
        let detail = one_line(&what.detail);
        writeln!(out, "{at}  {:<10} {event:<6}  {detail}", what.step)?;
    }
    Ok(())
}

/// Names of jobs whose files `jobs clean` has removed, or kept.
#[derive(Serialize)]
struct CleanedJobs {
    journals_removed: Vec<String>,
    rejects_removed: Vec<String>,
    rejects_kept: Vec<String>,
    /// Sentences about killed jobs among them.
    notes: Vec<String>,
}

fn clean(state_dir: &Path, names: &[String], with_rejects: bool) -> Result<CleanedJobs, Failure> {
    let mut all = Vec::new();
    for name in names {
        all.push(jobs::find(state_dir, name)?);
    }
    if names.is_empty() {
        all = readable(state_dir)?;
        // What a killed load has left is told by its journal.
        all.retain(|job| {
            matches!(job.state, State::Done | State::Failed) && job.missing().is_none()
        });
    }
    for job in &all {
        jobs::remove(state_dir, job)?;
    }
    let rejects = jobs_with_rejects(state_dir, names, &all)?;
    if with_rejects {
        rejects.iter().try_for_each(|job| jobs::remove_rejects(state_dir, job))?;
    }
    let killed = all.iter().filter(|job| job.state == State::Killed);
    let notes = killed.map(killed_note).collect();
    let (rejects_removed, rejects_kept) = match with_rejects {
        true => (rejects, Vec::new()),
        false => (Vec::new(), rejects),
    };
    let journals_removed = all.into_iter().map(|job| job.name).collect();
    Ok(CleanedJobs { journals_removed, rejects_removed, rejects_kept, notes })
}

/// The note on a killed job without its journal.
fn killed_note(job: &Job) -> String {
    let (target, name) = (one_line(job.target()), &job.name);
    match job.has_added() {
        true => format!(
            "job {name} has added rows to {target}; the same command adds the rest, as long as the table \
             _inrush_ledger_.. beside {target} exists"
        ),
        false => format!("the next load into {target} removes leftovers of job {name}"),
    }
}

fn show_cleaned(out: &mut impl Write, cleaned: &CleanedJobs) -> io::Result<()> {
    let jobs = |names: &[String]| count(names.len() as u64, "job");
    writeln!(out, "{} removed", count(cleaned.journals_removed.len() as u64, "journal"))?;
    if !cleaned.rejects_removed.is_empty() {
        writeln!(out, "rejected rows of {} removed", jobs(&cleaned.rejects_removed))?;
    }
    if !cleaned.rejects_kept.is_empty() {
        let kept = jobs(&cleaned.rejects_kept);
        writeln!(out, "rejected rows of {kept} kept: inrush jobs clean --rejects removes them")?;
    }
    cleaned.notes.iter().try_for_each(|note| writeln!(out, "{note}"))
}

/// The `cleaned` jobs or, if nobody named jobs, all jobs without a journal, that have rejected rows beside the journals.
fn jobs_with_rejects(
    state_dir: &Path,
    names: &[String],
    cleaned: &[Job],
) -> Result<Vec<String>, Failure> {
    let mut with_rejects = Vec::new();
    for name in jobs::with_rejects(state_dir)? {
        let is_cleaned = match names.is_empty() {
            true => !jobs::has_journal(state_dir, &name)?,
            false => cleaned.iter().any(|job| job.name == name),
        };
        with_rejects.extend(is_cleaned.then_some(name));
    }
    Ok(with_rejects)
}

/// In the time zone of the user.
fn time(unix_ms: u64, format: &str) -> String {
    match Timestamp::from_millisecond(unix_ms as i64) {
        Ok(time) => time.to_zoned(TimeZone::system()).strftime(format).to_string(),
        Err(_) => unix_ms.to_string(),
    }
}

/// A name or a message may hold anything.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use load::journal::StepEvent;

    use super::*;

    fn entry(unix_ms: u64, step: &str, event: Event, detail: &str) -> Entry {
        let (step, detail) = (step.to_owned(), detail.to_owned());
        Entry { unix_ms, pid: 1, what: StepEvent { step, event, detail, command: None } }
    }

    #[test]
    fn steps_of_several_tables_are_told_apart() {
        let entries = [
            entry(0, "job", Event::Begin, "2 tables"),
            entry(5, "rows", Event::Begin, "d.a"),
            entry(6, "rows", Event::Begin, "d.b"),
            entry(9, "rows", Event::End, "d.a"),
            entry(11, "publish", Event::Begin, "2 tables"),
        ];
        let expected =
            [("rows of d.a", 5, Some(9)), ("rows of d.b", 6, None), ("publish", 11, None)].map(
                |(name, begun_ms, ended_ms)| JobStep { name: name.to_owned(), begun_ms, ended_ms },
            );
        assert_eq!(steps(&entries), expected);
    }
    #[test]
    fn removed_journals_and_rejects_are_counted() {
        let [journals_removed, rejects_removed] = [vec!["a".to_owned()], vec!["b".to_owned(); 2]];
        let notes = vec!["A note.".to_owned()];
        let cleaned =
            CleanedJobs { journals_removed, rejects_removed, rejects_kept: Vec::new(), notes };
        let mut out = Vec::new();
        assert!(show_cleaned(&mut out, &cleaned).is_ok());
        let expected = "1 journal removed\nrejected rows of 2 jobs removed\nA note.\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
