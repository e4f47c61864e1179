//! A load from its beginning to its end, whichever way it takes.

use std::path::Path;
use std::sync::mpsc::Sender;

use disk::private;
use encode::input;
use job::error::Error;
use job::failed::Failed;
use job::memory::Memory;
use job::options::{LoadOptions, LoadPath, RowOptions};
use job::pool;
use job::progress::{Progress, Stage};
use job::report::Report;
use job::row_log::reasons_path;
use job::steps::Steps;
use job::tuning::Tuning;
use rustix::fs::{FileType, Stat};
use server::{ConnectOptions, Session};
use sources::{Source, SourceExt as _};
use targets::Lock;

use crate::choose::{self, Chosen, Purpose};
use crate::copies::{self, Copies};
use crate::ddl::{self, CreatedTables};
use crate::fill::Filling;
use crate::forecast::Forecast;
use crate::journaled::job;
use crate::killed_loads::{self, KilledLoads};
use crate::lock_target::lock;
use crate::places::{Inspection, LoadPlaces, Places};
use crate::speeds::Speeds;

/// The kind of files with refused rows in errors of the disk.
const REJECTS: &str = "rejects";

/// Loads files into a table: all of it, or nothing. `places` loads the tables that it claims.
///
/// Errors leave the target as it was, unless they say how many rows were appended.
pub fn load(
    connect: &ConnectOptions,
    options: &LoadOptions,
    places: Option<&dyn Places>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let (memory, source) = input::open_files(options)?;
    let may_read_again = source.files().iter().all(|file| file.bytes.is_some());
    let rows = Rows { memory: &memory, source, may_read_again };
    load_input(connect, options, places, progress, rows)
}

/// Loads the rows of an unread source in place of files. The source decides about files and their
/// contents, so these input options are not used: `files`, `dialect`, `header`, `skip_lines` and
/// `encoding`.
///
/// Any number of loads may run at once in one process: into tables of their own, each with its own
/// memory and temporary files.
///
/// Errors: as [`load`]; rows that are no plain literals ([`Error::is_not_plain`]).
pub fn load_from(
    connect: &ConnectOptions,
    options: &LoadOptions,
    mut source: Box<dyn Source>,
    places: Option<&dyn Places>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let (memory, options) = input::adopt(options, &mut *source)?;
    let rows = Rows { memory: &memory, source, may_read_again: false };
    load_input(connect, &options, places, progress, rows)
}

/// Loads some rows of the files that the options name into the table of one place.
///
/// Errors: as [`load`].
pub fn load_part(
    connect: &ConnectOptions,
    options: &LoadOptions,
    mut source: Box<dyn Source>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let memory = input::adopt_part(options, &mut *source)?;
    let rows = Rows { memory: &memory, source, may_read_again: false };
    load_input(connect, options, None, progress, rows)
}

/// The input of a load.
struct Rows<'m> {
    memory: &'m Memory,
    source: Box<dyn Source>,
    /// True if these are all rows of the files that the options name, which are no pipes.
    may_read_again: bool,
}

fn load_input(
    connect: &ConnectOptions,
    options: &LoadOptions,
    places: Option<&dyn Places>,
    progress: &dyn Progress,
    mut rows: Rows<'_>,
) -> Result<Report, Error> {
    let target = options.target().to_string();
    let forecast = &Forecast::new(progress);
    let mut kept_rejects = None;
    let outcome = job(connect, options, &target, forecast, |connect, steps, told| {
        let beside = options.rows.rejects.is_none() && options.rows.rejects_max > 0;
        let rejects =
            if beside { Some(steps.rejects_path()) } else { options.rows.rejects.clone() };
        kept_rejects = rejects.clone().filter(|_| beside);
        let options = &LoadOptions {
            command: steps.command(),
            rows: RowOptions { rejects, ..options.rows.clone() },
            ..options.clone()
        };
        let text = steps.target().to_owned();
        let found = steps.step_or_undo(
            Stage::Inspect,
            || inspect(connect, options, places, &mut rows, &told, &text),
            |found| match found {
                Target::Table(mut inspected) => {
                    undo(&mut inspected.target, &inspected.made, options)
                }
                Target::Loaded(..) | Target::Places(_) => {}
            },
        )?;
        let mut report = match found {
            Target::Table(inspected) => run(connect, options, forecast, rows, steps, *inspected)?,
            Target::Loaded(mut target, settled) => {
                settled.finish_own(&mut target, connect, options, steps)
            }
            Target::Places(load) => load(rows.source, forecast, steps)?,
        };
        if report.rejects_file.is_none() {
            report.rejects_file = options.rows.rejects.clone().filter(|_| report.rejects > 0);
        }
        Ok(report)
    });
    if let Some(rejects) = kept_rejects {
        remove_empty(&rejects);
    }
    outcome
}

/// Removes a file of refused rows that nobody has asked for, if there are none.
pub(crate) fn remove_empty(rejects: &Path) {
    let Some((folder, name)) = rejects.parent().zip(rejects.file_name()) else { return };
    let Ok(folder) = private::open(folder) else { return };
    let is_empty = |stat: Stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_size == 0
    };
    if folder.look(name).is_ok_and(|stat| stat.is_some_and(is_empty)) {
        let reasons = reasons_path(Path::new(name));
        // It takes no room, and goes with the journal.
        let _ = folder.remove(reasons.as_os_str(), REJECTS);
        let _ = folder.remove(name, REJECTS);
    }
}

/// Loads a table whose rows are in itself.
fn run(
    connect: &ConnectOptions,
    options: &LoadOptions,
    progress: &Forecast<'_>,
    Rows { memory, source, may_read_again }: Rows<'_>,
    steps: &mut Steps<'_>,
    inspected: Inspected,
) -> Result<Report, Error> {
    let Inspected { mut target, made, mut chosen, copies, settled } = inspected;
    let path = if copies.is_some() { LoadPath::Direct } else { options.path };
    let options = &LoadOptions { path, ..options.clone() };
    let tuning =
        Tuning::of_load(connect, options, &options.input.files, chosen.path, &load_into(options));
    let mut filling = Filling { connect, options, progress, memory, steps, copies };
    let outcome = filling.fill(&mut chosen, &mut target, source);
    let outcome = outcome.and_then(|filled| filling.publish(&chosen, &mut target, filled));
    let outcome = match outcome {
        Err(failed) if may_read_again => filling.once_more(&mut chosen, &mut target, failed),
        outcome => outcome,
    };
    match outcome {
        Ok(mut report) => {
            let method = chosen.method;
            report.notes.extend(settled.notes.iter().cloned());
            settled.close_replaced(steps);
            let told = tuning.end();
            report.notes.extend(told.notes);
            report.warnings.extend(told.warnings);
            let indexes = target.table.indexes.len();
            report.expected_seconds = chosen.expected_seconds;
            // Without them the next forecast is worse, no more.
            let _ = pool::catch(|| {
                // Of partitions with rows that were there the report does not say how many.
                if !method.merges() || report.partitions == 0 {
                    let (state_dir, flavor) = (&options.state_dir, target.session.version().flavor);
                    let (path, method) = (chosen.path, Some(method));
                    Speeds::remember(state_dir, flavor, path, method, &report, indexes);
                }
            });
            Ok(report)
        }
        Err(failed) => {
            let Failed { error, cleaned } = *failed;
            // Questions about the table make the message right.
            let _shield = options.interrupt.shield();
            tuning.end().warnings.iter().for_each(|text| progress.waiting(text));
            // Where the RENAME may be in the log, replicas may be about to publish.
            let copies = filling.copies.take().filter(|_| !error.is_told());
            if !error.is_told() {
                made.undo(&mut target.session);
            }
            let error = match error {
                error @ Error::Appended { .. } => error,
                error => gone(error, &mut target).in_step(steps.stage.name(), &target, cleaned),
            };
            Err(match copies {
                Some(copies) => copies.abandon(&options.interrupt, error),
                None => error,
            })
        }
    }
}

/// A table or file that is missing because somebody has dropped the target, or what the load had made, says so.
fn gone(error: Error, target: &mut Lock) -> Error {
    use std::io::ErrorKind::NotFound;
    let is_missing = match &error {
        Error::Io { source, .. } | Error::Server(server::Error::Io { source, .. }) => {
            source.kind() == NotFound && target.is_gone()
        }
        _ => false,
    };
    match error {
        Error::Server(error) if !is_missing => target.gone_meanwhile(error).into(),
        _ if is_missing => server::Error::Altered {
            target: target.table.name.to_string(),
            detail: "the table, or its database, was dropped or renamed during the load".to_owned(),
        }
        .into(),
        error => error,
    }
}

/// A description of a load, for those who wonder who has set variables of the server.
pub(crate) fn load_into(options: &LoadOptions) -> String {
    format!("load into {}", options.target())
}

/// Facts that are known before anything is made, except perhaps the table.
struct Inspected {
    target: Lock,
    made: CreatedTables,
    chosen: Chosen,
    /// Replicas that get the same file.
    copies: Option<Copies>,
    /// Findings about killed loads.
    settled: KilledLoads,
}

/// The target of a load, inspected.
enum Target<'r> {
    /// A table that has its rows itself.
    Table(Box<Inspected>),
    /// A table that a killed load of this command has loaded already.
    Loaded(Box<Lock>, Box<KilledLoads>),
    /// A table whose rows are in other places, with what loads these.
    Places(LoadPlaces<'r>),
}

/// Takes the target, chooses the way into it, and removes what a killed load left.
fn inspect<'r>(
    connect: &'r ConnectOptions,
    options: &'r LoadOptions,
    places: Option<&dyn Places>,
    Rows { memory, source, may_read_again }: &mut Rows<'_>,
    told: &Sender<String>,
    text: &str,
) -> Result<Target<'r>, Error> {
    let source = &mut **source;
    let (mut against, mut settled) = (Vec::new(), KilledLoads::default());
    if copies::are_asked_for(options) {
        let mut target = lock(Session::connect(connect)?, options, Some(told))?;
        settled = killed_loads::finish_of(&mut target, options, text)?;
        if settled.is_in {
            return Ok(Target::Loaded(Box::new(target), Box::new(settled)));
        }
    }
    match copies::decide(connect, options, memory, &mut *source, Some(told), Purpose::Load)? {
        Ok((target, decision, copies)) => {
            let chosen = decision.require(&target, options)?;
            let made = CreatedTables::default();
            let copies = Some(copies);
            return Ok(Target::Table(Box::new(Inspected {
                target,
                made,
                chosen,
                copies,
                settled,
            })));
        }
        Err(reasons) => against.extend(reasons),
    }
    let mut session = Session::connect(connect)?;
    let made = ddl::make_table(&mut session, options, told)?;
    let locked = pool::catch(|| lock(session, options, Some(told)));
    let mut target = match locked.flatten() {
        Ok(target) => target,
        Err(error) => {
            made.undo_anew(connect);
            return Err(error);
        }
    };
    if let Some(places) = places.filter(|places| places.claims(&target.table)) {
        let settle = &mut |target: &mut Lock| {
            settled = killed_loads::finish_places(target, options, text)?;
            Ok(settled.is_in)
        };
        return Ok(match places.inspect(target, connect, options, source, settle)? {
            Inspection::Loaded(target) => Target::Loaded(target, Box::new(settled)),
            Inspection::Ready(load) => Target::Places(load),
        });
    }
    copies::add_reasons(&mut target.unsupported, &against);
    settled.notes.extend(copies::sent_note(&against));
    let chosen = pool::catch(|| {
        let mut now = killed_loads::finish_of(&mut target, options, text)?;
        now.notes.splice(0..0, settled.notes.drain(..));
        settled = now;
        if settled.is_in {
            return Ok(None);
        }
        let purpose = if *may_read_again { Purpose::Load } else { Purpose::Part };
        let decision = choose::decide(&mut target, options, memory, source, purpose)?;
        decision.require(&target, options).map(Some)
    });
    match chosen.flatten() {
        Ok(None) => Ok(Target::Loaded(Box::new(target), Box::new(settled))),
        Ok(Some(chosen)) => {
            let copies = None;
            Ok(Target::Table(Box::new(Inspected { target, made, chosen, copies, settled })))
        }
        Err(error) => {
            undo(&mut target, &made, options);
            Err(error)
        }
    }
}

/// Takes back what a load made that ends before its staging table.
fn undo(target: &mut Lock, made: &CreatedTables, options: &LoadOptions) {
    let _shield = options.interrupt.shield();
    // Where the server has gone, the error that is reported says so.
    let _ = target.reconnect();
    made.undo(&mut target.session);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn an_empty_file_of_refused_rows_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let at = |name: &str| place.path().join(name);
        for (name, text) in [("empty", ""), ("full", "1\n"), ("target", "")] {
            fs::write(at(name), text).unwrap();
            fs::write(reasons_path(&at(name)), "").unwrap();
        }
        symlink(at("target"), at("link")).unwrap();
        symlink(place.path(), at("folder")).unwrap();
        for name in ["empty", "full", "link", "folder/target", "missing"] {
            remove_empty(&at(name));
        }
        let is_left = |name: &str| at(name).exists() && reasons_path(&at(name)).exists();
        assert!(!at("empty").exists() && !reasons_path(&at("empty")).exists());
        assert!(is_left("full") && is_left("target") && at("link").is_symlink());
    }
}
