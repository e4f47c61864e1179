//! A check that a table's file can be read, and the lock under which it is.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use disk::File;
use face::option::{TIME_ZONE, WHERE};
use job::progress::{Progress, telling};
use schema::Table;
use server::engine::Kind;
use server::error::holders_text;
use server::facts::NO_FILES;
use server::facts::database_dir::{DatabaseDir, FileVersion};
use server::reach::is_full;
use server::{ServerFacts, Session};
use targets::brief_lock::ATTEMPT;
use targets::description::write_out;
use targets::export::{file_names, missing_file, rows_path};
use targets::guard::Guard;
use targets::waiting::{ER_LOCK_WAIT_TIMEOUT, lock_holders};
use values::Family;
use values::decode::Decoder;

use crate::columns::Columns;
use crate::error::Error;
use crate::options::{ExportOptions, UTC};
use crate::request::Request;
use crate::select::check_unaltered;

/// Server errors of an account that lacks a right, and of a table that the server does not export.
const REFUSED: [u16; 6] = [1031, 1044, 1045, 1142, 1227, 1235];

/// Between two attempts, while the table is not locked; doubled up to the second.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(8);

/// A table that nobody writes to, until it is let go or the connection ends.
pub(crate) struct Held {
    session: Session,
    /// Keeps writers away too; its end lets them go.
    _guard: Guard,
}

/// The server's description of a file, and the file.
pub(crate) type Exported = (Vec<u8>, File, PathBuf);

/// The table and its files; else each thing that is in the way, as a sentence.
pub(crate) type HeldFiles = Result<(Held, Vec<Exported>), Vec<String>>;

impl Held {
    /// Has the server write out the table, and opens its files: one, or one a partition.
    ///
    /// Errors of the inner result: each thing that is in the way, as a sentence.
    pub(crate) fn take(
        session: &mut Session,
        Request { table, columns, options }: Request<'_>,
        progress: &dyn Progress,
    ) -> Result<HeldFiles, Error> {
        let kind = Kind::ask(session)?;
        if !kind.has_files() {
            return Ok(Err(vec![format!("{kind}: {NO_FILES}")]));
        }
        let mut reasons = reasons(session, table, columns, options);
        if !reasons.is_empty() {
            return Ok(Err(reasons));
        }
        let facts = ServerFacts::read(session)?;
        let dir = match facts.database_dir(session, &table.name.database)? {
            Ok(dir) => dir,
            Err(reason) => {
                reasons.push(reason.to_string());
                return Ok(Err(reasons));
            }
        };
        if let Some(missing) = missing_file(session, &dir, table)? {
            return Ok(Err(vec![missing]));
        }
        let paths = file_names(table)
            .iter()
            .map(|partition| rows_path(session, &dir, table, partition.as_deref()))
            .collect::<Result<Vec<_>, _>>()?;
        let before = descriptions(&dir, &paths)?;
        let held = match Held::locked(session, table, options, progress) {
            Ok(held) => held,
            Err(server::Error::LockWait { target, seconds, holders }) => {
                return Err(Error::Locked { table: target, seconds, holders });
            }
            Err(error)
                if is_full(&error)
                    || error.errno().is_some_and(|errno| REFUSED.contains(&errno)) =>
            {
                return Ok(Err(vec![error.to_string()]));
            }
            Err(error) => return Err(error.into()),
        };
        check_unaltered(session, table)?;
        let now = descriptions(&dir, &paths)?;
        let are_written =
            now.iter().zip(&before).all(|(now, before)| now.is_some() && now != before);
        let why = match opened(&dir, paths) {
            Ok(files) if are_written => return Ok(Ok((held, files))),
            Err(error) if are_written => format!("{} cannot be read: {error}", table.name),
            _ => format!(
                "{} on this machine does not belong to the server: no .cfg file of {} was written \
                 there",
                dir.path.display(),
                table.name
            ),
        };
        held.release()?;
        Ok(Err(vec![why]))
    }

    /// Nobody writes to the table, also no transaction that has no connection, and its file is written out.
    fn locked(
        session: &Session,
        table: &Table,
        options: &ExportOptions,
        progress: &dyn Progress,
    ) -> server::Result<Held> {
        let wait = options.lock_wait();
        let (begun, mut pause) = (Instant::now(), PAUSE_MIN);
        let mut holder = session.another()?;
        holder.set_lock_wait(ATTEMPT)?;
        loop {
            // The server counts whole seconds: a moment less than one would be none.
            let left = wait.saturating_sub(begun.elapsed()).max(ATTEMPT.min(wait));
            let guard =
                telling(progress, |told| Guard::of_table(session, &table.name, left, Some(told)));
            let guard = guard.map_err(|error| match error {
                // As long as the user says, in some attempts.
                server::Error::LockWait { target, holders, .. } => {
                    server::Error::LockWait { target, seconds: wait.as_secs(), holders }
                }
                error => error,
            })?;
            let others = match write_out(&mut holder, &table.name, ATTEMPT) {
                Ok(()) => return Ok(Held { session: holder, _guard: guard }),
                Err(server::Error::LockWait { holders, .. }) => holders,
                Err(error) if error.errno() == Some(ER_LOCK_WAIT_TIMEOUT) => Vec::new(),
                Err(error) => return Err(error),
            };
            // Writers go on during the pause.
            drop(guard);
            let holders = match others.is_empty() {
                true => lock_holders(&mut holder, &[&table.name], &[]).unwrap_or_default(),
                false => others,
            };
            let Some(left) = wait.checked_sub(begun.elapsed() + ATTEMPT) else {
                let (target, seconds) = (table.name.to_string(), wait.as_secs());
                return Err(server::Error::LockWait { target, seconds, holders });
            };
            let (seconds, text) = (wait.as_secs(), holders_text(&holders));
            progress.waiting(&format!(
                "waiting for a lock on {}, at most {seconds} s; {text}",
                table.name
            ));
            let interrupt = &session.options().interrupt;
            server::reach::sleep(pause.min(left), interrupt);
            interrupt.check()?;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Lets the table go.
    pub(crate) fn release(mut self) -> Result<(), Error> {
        // After an error it holds nothing any more. Whether it did to the end is not known.
        Ok(self.session.exec_always("UNLOCK TABLES")?)
    }
}

/// Obstacles that are known before the server is asked to do anything.
fn reasons(
    session: &Session,
    table: &Table,
    columns: &Columns,
    options: &ExportOptions,
) -> Vec<String> {
    let mut reasons = Vec::new();
    if options.condition.is_some() {
        reasons.push(format!("only the server can evaluate {WHERE}"));
    }
    reasons.extend(session.version().unfit().map(|unfit| unfit.to_string()));
    let refused = table.features().into_iter().filter(|feature| !feature.support().is_read);
    reasons.extend(refused.map(|feature| feature.to_string()));
    for place in &columns.places {
        let column = &table.columns[*place];
        if column.generated.is_some() {
            reasons.push(format!("the values of column `{}` are generated", column.name));
        } else if Decoder::new(&column.sql_type).is_none() && reasons.is_empty() {
            // The table's features name most of them.
            reasons.push(format!("column `{}` is of type {}", column.name, column.sql_type));
        } else if column.sql_type.family() == Family::Moment && options.time_zone != UTC {
            reasons.push(format!(
                "only the server can convert TIMESTAMP values with {}",
                TIME_ZONE.with(&options.time_zone)
            ));
        }
    }
    reasons.dedup();
    reasons
}

/// The versions of the descriptions beside these files.
///
/// The server writes each anew when it exports the table. That this happens in a folder proves that the folder is the
/// server's: one of the same path on this machine can be another server's.
fn descriptions(
    dir: &DatabaseDir,
    paths: &[PathBuf],
) -> Result<Vec<Option<FileVersion>>, server::Error> {
    paths.iter().map(|path| dir.version(&path.with_extension("cfg"))).collect()
}

fn opened(dir: &DatabaseDir, paths: Vec<PathBuf>) -> Result<Vec<Exported>, server::Error> {
    let open = |path: PathBuf| {
        let cfg = dir.read(&path.with_extension("cfg"), "description")?;
        Ok((cfg, dir.open(&path, "rows")?, path))
    };
    paths.into_iter().map(open).collect()
}
