//! The finished steps of a replay, for the same command after a crash.
//!
//! ```text
//! {"dump": ..}                            which dump, into which server, how
//! {"begin": place} {"done": place}        a statement that all tables before it were finished for
//! {"commit": places}                      statements of a transaction that the server may commit from here on
//! {"undone": place}                       a statement that the server refused, or rolled back
//! {"told": place}                         the user was told that the transaction of this statement may be done
//! {"publish": tables}                     new tables that one RENAME is about to put in their places
//! {"table": name, from, to, rows}         a table that has its place, and the statements it is of
//! {"changed": name}                       a finished table that a later statement may empty, rename or drop
//! {"gone": name}                          a table that the dump dropped
//! {"named": file, digest}                 a file that the dump names by `source`
//! {"failed"} {"seen": name, mark} ..      it failed, and left its finished tables like this
//! {"resumed"}                             another one goes on with it
//! ```
//!
//! A line a step, written and synced before the replay goes on. The same command finds the file by its
//! dump, and where the server has what the lines say, it passes over what is done: SET and USE run again,
//! tables and other statements do not. The file goes when the replay has come to its end.
//!
//! A statement can be done and its line not written. So its beginning is written too, and one that
//! was begun may fail the second time for having been done ([`Journal::is_unclear`]).
//!
//! A replay that failed, and was not killed, has told its user, who may have changed the tables since:
//! it is gone on with where they are `unchanged`.

mod dump;
mod unchanged;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use disk::journal::{self, Kind, Writer};
use disk::private;
use face::option::FRESH;
use schema::TableName;
use serde::{Deserialize, Serialize};
use server::Session;
use server::identifier::digest;

use self::dump::Identity;
use crate::error::Error;
use crate::options::ReplayOptions;
use crate::table::staging_name;

/// Errors of a statement that was done before: its object exists already, or there is none to drop any more; a key or
/// constraint exists already, or is gone. Source: MariaDB 10.11, sql/share/errmsg-utf8.txt.
const ER_DONE_BEFORE: [u16; 20] = [
    1007, 1008, 1050, 1051, 1060, 1061, 1068, 1091, 1125, 1133, 1304, 1305, 1359, 1360, 1396, 1537,
    1539, 1826, 4091, 4092,
];

/// Folder of the journals, in the state folder.
const FOLDER: &str = "replays";

/// How long another replay of the same dump is waited for: one that was killed has the journal for the
/// moment that its end takes.
const BUSY_WAIT: Duration = Duration::from_secs(3);

/// Where a statement is: the part of the dump, and the byte in it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub(crate) struct Spot {
    /// Index of the part.
    pub(crate) part: usize,
    /// Byte of the unpacked file.
    pub(crate) offset: u64,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Line {
    /// The dump and its options.
    Dump(Identity),
    /// A statement is about to run that is of no table, neither SET nor USE.
    Begin(Spot),
    /// The server may commit the transaction of these statements, which are more of it than those of the lines before.
    Commit(Vec<Spot>),
    /// The server has refused a statement, or rolled it back: it may be done.
    Undone(Spot),
    /// The user is told that a statement may be done, with all of its transaction, and sees to it that
    /// all of it may be done.
    Told(Spot),
    /// A statement is done, or failed and was passed over.
    Done(Spot),
    /// New tables are about to take their places by one RENAME, all or none; the first of them was not
    /// there before. Without a table: it was not done.
    Publish(Vec<Finished>),
    /// A table has its place.
    Table(Finished),
    /// A statement of the dump is about to run that may empty, rename or drop a finished table.
    Changed { database: String, table: String },
    /// A table is no more that was finished.
    Gone { database: String, table: String },
    /// A file that the dump names by `source`, and a digest of its size and times.
    Named { file: String, digest: u64 },
    /// The replay failed.
    Failed,
    /// The state of a finished table then.
    Seen { database: String, table: String, mark: String },
    /// Another replay goes on.
    Resumed,
}

impl Kind for Line {
    const NAME: &'static str = "replay";
    const REMEDY: &'static str = "finish its replay with the build that wrote it, or remove the \
                                  journal, and the same command begins anew";
}

/// A table that has its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finished {
    database: String,
    table: String,
    /// Its first statement: the DROP, or the CREATE.
    from: Spot,
    /// The last one that its rows are of.
    to: Spot,
    rows: u64,
}

impl Finished {
    pub(crate) fn new(name: &TableName, from: Spot, to: Spot, rows: u64) -> Finished {
        let (database, table) = (name.database.clone(), name.table.clone());
        Finished { database, table, from, to, rows }
    }

    fn name(&self) -> TableName {
        TableName::new(self.database.as_str(), self.table.as_str())
    }
}

/// The journal of a replay: what was done before, and what is being done.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// None where the dump cannot be read again, so that nothing can be gone on with.
    writer: Option<Writer>,
    path: PathBuf,
    identity: Option<Identity>,
    /// Statements that were done.
    done: BTreeSet<Spot>,
    /// Begun, and not known to be done.
    begun: BTreeSet<Spot>,
    /// The places among these that are committed together.
    committing: BTreeSet<Spot>,
    tables: BTreeMap<TableName, Vec<Finished>>,
    /// Tables that were finished, and that the dump has dropped since.
    gone: BTreeMap<TableName, Vec<Finished>>,
    /// Finished tables that a later statement may have emptied, renamed or dropped.
    changed: BTreeSet<TableName>,
    /// Places of statements that change rows, or may: done twice, they change more than once.
    changes: BTreeSet<Spot>,
    /// Tables whose RENAME may have been done.
    publishing: Vec<Finished>,
    /// Digests of the files that the dump names by `source`.
    named: BTreeMap<String, u64>,
    /// True if it ended by an error, and nobody has gone on since.
    has_failed: bool,
    /// How it left its tables then.
    seen: BTreeMap<TableName, String>,
}

impl Journal {
    /// Opens the journal of this dump into this server, `server` being what is connected to, or
    /// begins one. A pipe has none.
    ///
    /// Errors: the dump or the folder of journals cannot be used; the same command is running; a journal of another
    /// build, or a damaged one; one of other options or of the dump before it changed, by which rows were added.
    pub(crate) fn begin(
        options: &ReplayOptions,
        mapped: Vec<String>,
        server: &str,
    ) -> Result<Journal, Error> {
        let identity = Identity::of(options, mapped, server)?;
        let mut journal = Journal { identity, ..Journal::default() };
        let Some(identity) = &journal.identity else { return Ok(journal) };
        let name = format!("{:016x}.jsonl", digest(identity.key().as_bytes()));
        journal.path = options.state_dir.join(FOLDER).join(&name);
        let open = || {
            let folder = private::subfolder(&private::make(&options.state_dir)?, FOLDER)?;
            let mut writer = Writer::open(&folder, OsStr::new(&name))?;
            writer.lock(BUSY_WAIT)?;
            let records = if options.fresh { Vec::new() } else { writer.read::<Line>()? };
            folder.sync("journal")?;
            Ok((writer, records))
        };
        let (writer, records) = open().map_err(|source: io::Error| match source.kind() {
            ErrorKind::WouldBlock => Error::Usage(format!(
                "the same replay is already running, with the journal {}; wait for it, or end it",
                journal.path.display()
            )),
            ErrorKind::InvalidData => {
                load::Error::io("reading the journal", &journal.path)(source).into()
            }
            _ => state_error(&journal.path, source),
        })?;
        journal.writer = Some(writer);
        let first = records.first().map(|record| &record.what);
        match first == journal.identity.clone().map(Line::Dump).as_ref() {
            true => records.into_iter().for_each(|record| journal.take(record.what)),
            false => {
                let mut earlier = Journal::default();
                records.into_iter().for_each(|record| earlier.take(record.what));
                let why = "the dump has changed since, or this command has other options";
                earlier.check_anew(None, why)?;
                journal.restart()?;
            }
        }
        Ok(journal)
    }

    /// Takes notice of a file that the dump names by `source`.
    ///
    /// Errors: it was another one when the tables of an earlier replay were finished.
    pub(crate) fn named(&mut self, file: &Path) -> Result<(), Error> {
        let digest = dump::file_digest(file)?;
        let name = file.to_string_lossy().into_owned();
        match self.named.get(&name) {
            Some(&before) if before == digest => Ok(()),
            Some(_) => Err(Error::Refused(format!(
                "{name} has changed since the replay that this one continues; {FRESH} begins anew"
            ))),
            None => self.write(Line::Named { file: name, digest }),
        }
    }

    /// True if a statement without a table, neither SET nor USE, was done.
    pub(crate) fn is_done(&self, spot: Spot) -> bool {
        self.done.contains(&spot)
    }

    /// True if a statement was begun, and may have been done.
    pub(crate) fn is_unclear(&self, spot: Spot) -> bool {
        self.begun.contains(&spot)
    }

    /// True if a statement of a table, its DROP and CREATE included, belongs to a finished table, also to
    /// one that the dump has dropped behind it.
    pub(crate) fn is_table_done(&self, name: &TableName, spot: Spot) -> bool {
        let of = |table: &Finished| table.from <= spot && spot <= table.to;
        let all = [&self.tables, &self.gone].into_iter().filter_map(|tables| tables.get(name));
        all.flatten().any(of)
    }

    /// Tables that were finished, and their rows.
    pub(crate) fn finished(&self) -> impl Iterator<Item = (&TableName, u64)> {
        self.tables.iter().map(|(name, all)| (name, all.iter().map(|table| table.rows).sum()))
    }

    /// A table has its place, with the rows of its statements `from` the first, its DROP or CREATE, `to` the last.
    pub(crate) fn table(
        &mut self,
        name: &TableName,
        from: Spot,
        to: Spot,
        rows: u64,
    ) -> Result<(), Error> {
        self.write(Line::Table(Finished::new(name, from, to, rows)))
    }

    /// A RENAME without an answer was done if its first table has its place: then all of them have.
    ///
    /// Errors: nobody can tell yet.
    pub(crate) fn resolve_publish(&mut self, own: &mut Session) -> Result<(), Error> {
        let Some(first) = self.publishing.first() else { return Ok(()) };
        let first = first.name();
        let was_done =
            catalog::exists(own, &first)? && !catalog::exists(own, &staging_name(&first))?;
        match was_done {
            true => {
                self.publishing.clone().into_iter().try_for_each(|one| self.write(Line::Table(one)))
            }
            false => self.write(Line::Publish(Vec::new())),
        }
    }

    /// A table is no more that was finished.
    pub(crate) fn gone(&mut self, name: &TableName) -> Result<(), Error> {
        if !self.tables.contains_key(name) {
            return Ok(());
        }
        let (database, table) = (name.database.clone(), name.table.clone());
        self.write(Line::Gone { database, table })
    }

    /// A statement is about to run that may empty, rename or drop those of these finished tables that `is_meant` says.
    pub(crate) fn changed(&mut self, is_meant: impl Fn(&TableName) -> bool) -> Result<(), Error> {
        let names =
            self.tables.keys().filter(|name| !self.changed.contains(name) && is_meant(name));
        let names: Vec<TableName> = names.cloned().collect();
        let mut lines = names.into_iter().map(|TableName { database, table }| (database, table));
        lines.try_for_each(|(database, table)| self.write(Line::Changed { database, table }))
    }

    /// There is nothing to go on with any more: everything is done, or what the dump does cannot be
    /// gone on with. The same command begins anew.
    pub(crate) fn forget(&mut self) -> Result<(), Error> {
        if self.writer.take().is_some() {
            disk::remove(&self.path, "journal")
                .map_err(load::Error::io("removing the journal", &self.path))?;
        }
        Ok(())
    }

    /// A statement has come to its end, and with it those that are committed together with it. All of them.
    fn ended(&mut self, spot: Spot) -> BTreeSet<Spot> {
        let mut ended = match self.committing.contains(&spot) {
            true => std::mem::take(&mut self.committing),
            false => BTreeSet::new(),
        };
        ended.insert(spot);
        ended.iter().for_each(|one| _ = self.begun.remove(one));
        ended
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Dump(_) => {}
            Line::Begin(spot) => _ = self.begun.insert(spot),
            Line::Commit(spots) => {
                self.begun.extend(&spots);
                self.changes.extend(&spots);
                self.committing.extend(spots);
            }
            Line::Undone(spot) => {
                self.begun.remove(&spot);
                self.committing.remove(&spot);
            }
            Line::Told(spot) => drop(self.ended(spot)),
            Line::Done(spot) => {
                let ended = self.ended(spot);
                self.done.extend(ended);
            }
            Line::Publish(tables) => self.publishing = tables,
            Line::Table(table) => {
                self.publishing.retain(|one| *one != table);
                self.begun.remove(&table.to);
                let mut together = self.ended(table.from);
                together.remove(&table.from);
                self.done.extend(together);
                self.changed.remove(&table.name());
                self.tables.entry(table.name()).or_default().push(table);
            }
            Line::Changed { database, table } => {
                self.changed.insert(TableName::new(database, table));
            }
            Line::Gone { database, table } => {
                let name = TableName::new(database, table);
                self.changed.remove(&name);
                let gone = self.tables.remove(&name).unwrap_or_default();
                self.gone.entry(name).or_default().extend(gone);
            }
            Line::Named { file, digest } => _ = self.named.insert(file, digest),
            Line::Failed => {
                self.has_failed = true;
                self.seen.clear();
            }
            Line::Seen { database, table, mark } => {
                self.seen.insert(TableName::new(database, table), mark);
            }
            Line::Resumed => self.has_failed = false,
        }
    }

    /// Writes a line, and waits until it is on disk.
    pub(crate) fn write(&mut self, line: Line) -> Result<(), Error> {
        if let Some(writer) = &mut self.writer {
            writer.append(&line).map_err(|e| state_error(&self.path, e))?;
        }
        self.take(line);
        load::failpoint::step("replay.journal");
        Ok(())
    }

    /// Forgets everything that was done.
    fn restart(&mut self) -> Result<(), Error> {
        if let Some(writer) = &mut self.writer {
            writer.restart().map_err(|e| state_error(&self.path, e))?;
        }
        let Journal { writer, path, identity, .. } = std::mem::take(self);
        *self = Journal { writer, path, identity, ..Journal::default() };
        self.identity.clone().map_or(Ok(()), |identity| self.write(Line::Dump(identity)))
    }
}

/// True if a statement that may have been done before failed for just that.
pub(crate) fn was_done_before(error: &server::Error) -> bool {
    error.errno().is_some_and(|errno| ER_DONE_BEFORE.contains(&errno))
}

/// How many lines a journal has, for the fuzz target: any bytes can be given.
pub fn lines(text: &[u8]) -> usize {
    journal::parse::<Line>(text).map_or(0, |(lines, _)| lines.len())
}

fn state_error(path: &Path, source: io::Error) -> Error {
    load::Error::State { path: path.to_owned(), source }.into()
}

#[cfg(test)]
mod tests;
