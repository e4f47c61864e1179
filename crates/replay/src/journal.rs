//! What of a dump is done, for the same command after a crash.
//!
//! ```text
//! {"dump": ..}                            which dump, into which server, how
//! {"begin": place} {"done": place}        a statement that all tables before it were finished for
//! {"fill": place}                         rows of a table that was there before, without any
//! {"told": place}                         the user was told that such a statement may have been done
//! {"table": name, from, to, rows}         a table that has its place, and the statements it is of
//! {"gone": name}                          a table that the dump dropped
//! {"failed"} {"seen": name, mark} ..      it failed, and left its finished tables like this
//! {"resumed"}                             another one goes on with it
//! ```
//!
//! A line a step, each with a CRC-32C of its text, written and synced before the replay goes on; a
//! torn last line is dropped. The same command finds the file by its dump, and where the server has
//! what the lines say, it passes over what is done: SET and USE run again, tables and other
//! statements do not. The file goes when the replay has come to its end.
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
use std::fs::TryLockError;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use disk::{File, private};
use schema::TableName;
use serde::{Deserialize, Serialize};
use server::identifier::digest;

use self::dump::Identity;
use crate::error::Error;
use crate::options::ReplayOptions;

/// What a statement fails with that was done before: there is one of that name already, or none
/// to drop any more; a key or constraint is there already, or gone.
/// Source: MariaDB 10.11, sql/share/errmsg-utf8.txt.
const ER_DONE_BEFORE: [u16; 20] = [
    1007, 1008, 1050, 1051, 1060, 1061, 1068, 1091, 1125, 1133, 1304, 1305, 1359, 1360, 1396, 1537,
    1539, 1826, 4091, 4092,
];

/// Folder of the journals, in the state folder.
const FOLDER: &str = "replays";

/// How long another replay of the same dump is waited for, and the pause between two looks.
const BUSY_WAIT: Duration = Duration::from_secs(3);
const BUSY_PAUSE: Duration = Duration::from_millis(50);

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
enum Line {
    Dump(Identity),
    Begin(Spot),
    Fill(Spot),
    Told(Spot),
    Done(Spot),
    Table(Finished),
    Gone { database: String, table: String },
    Failed,
    Seen { database: String, table: String, mark: String },
    Resumed,
}

/// A table that has its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Finished {
    database: String,
    table: String,
    /// Its first statement: the DROP, or the CREATE.
    from: Spot,
    /// The last one that its rows are of.
    to: Spot,
    rows: u64,
}

/// The journal of a replay: what was done before, and what is being done.
#[derive(Debug)]
pub(crate) struct Journal {
    /// None where the dump cannot be read again, so that nothing can be gone on with.
    file: Option<File>,
    path: PathBuf,
    identity: Option<Identity>,
    /// Statements that were done.
    done: BTreeSet<Spot>,
    /// Begun, and not known to be done.
    begun: BTreeSet<Spot>,
    /// Of these, rows for tables that had none.
    fills: BTreeSet<Spot>,
    tables: BTreeMap<TableName, Vec<Finished>>,
    /// Whether it ended by an error, and nobody has gone on since.
    has_failed: bool,
    /// How it left its tables then.
    seen: BTreeMap<TableName, String>,
}

impl Journal {
    /// Opens the journal of this dump into this server, `server` being what is connected to, or
    /// begins one. A pipe has none.
    ///
    /// Errors: the dump or the folder of journals cannot be used; the same command is running.
    pub(crate) fn begin(options: &ReplayOptions, server: &str) -> Result<Journal, Error> {
        let mut journal = Journal {
            file: None,
            path: PathBuf::new(),
            identity: Identity::of(options, server)?,
            done: BTreeSet::new(),
            begun: BTreeSet::new(),
            fills: BTreeSet::new(),
            tables: BTreeMap::new(),
            has_failed: false,
            seen: BTreeMap::new(),
        };
        let Some(identity) = &journal.identity else { return Ok(journal) };
        let name = format!("{:016x}.jsonl", digest(identity.key().as_bytes()));
        let path = options.state_dir.join(FOLDER).join(&name);
        journal.path.clone_from(&path);
        let (text, file) =
            open(&options.state_dir, &name).map_err(|source| match source.kind() {
                std::io::ErrorKind::WouldBlock => Error::Usage(format!(
                    "the same replay is running: it has {}; wait for it, or end it",
                    path.display()
                )),
                _ => state_error(&path, source),
            })?;
        let mut lines = text.split_inclusive(|&byte| byte == b'\n').map_while(parse);
        let is_ours = lines.next() == journal.identity.clone().map(Line::Dump) && !options.fresh;
        journal.file = Some(file);
        if is_ours {
            // A torn line must not stand before whole ones.
            let mut whole = 0;
            for line in text.split_inclusive(|&byte| byte == b'\n') {
                let Some(parsed) = parse(line) else { break };
                whole += line.len() as u64;
                journal.take(parsed);
            }
            journal.cut(whole)?;
        } else {
            journal.restart()?;
        }
        Ok(journal)
    }

    /// Whether a statement was done that is of no table, neither SET nor USE.
    pub(crate) fn is_done(&self, spot: Spot) -> bool {
        self.done.contains(&spot)
    }

    /// Whether a statement was begun, and may have been done.
    pub(crate) fn is_unclear(&self, spot: Spot) -> bool {
        self.begun.contains(&spot)
    }

    /// Whether a statement of a table, its DROP and CREATE included, is of one that is finished.
    pub(crate) fn is_table_done(&self, name: &TableName, spot: Spot) -> bool {
        let of = |table: &Finished| table.from <= spot && spot <= table.to;
        self.tables.get(name).is_some_and(|finished| finished.iter().any(of))
    }

    /// Tables that were finished, and their rows.
    pub(crate) fn finished(&self) -> impl Iterator<Item = (&TableName, u64)> {
        self.tables.iter().map(|(name, all)| (name, all.iter().map(|table| table.rows).sum()))
    }

    /// A statement is about to run that is of no table, neither SET nor USE.
    pub(crate) fn begins(&mut self, spot: Spot) -> Result<(), Error> {
        self.write(Line::Begin(spot))
    }

    /// Rows are about to go into a table that was there before and has none.
    pub(crate) fn fills(&mut self, spot: Spot) -> Result<(), Error> {
        self.write(Line::Fill(spot))
    }

    /// Whether a statement was begun whose rows were to be the first of their table: rows that are
    /// there now are all of them, since they go in all or none.
    pub(crate) fn may_have_filled(&self, spot: Spot) -> bool {
        self.fills.contains(&spot)
    }

    /// The user is told that a statement may have been done, and sees to it that it may be done.
    pub(crate) fn told(&mut self, spot: Spot) -> Result<(), Error> {
        self.write(Line::Told(spot))
    }

    /// It is done, or failed and was passed over.
    pub(crate) fn done(&mut self, spot: Spot) -> Result<(), Error> {
        self.write(Line::Done(spot))
    }

    /// A table has its place, with the rows of its statements `from` the first, its DROP or CREATE,
    /// `to` the last.
    pub(crate) fn table(
        &mut self,
        name: &TableName,
        from: Spot,
        to: Spot,
        rows: u64,
    ) -> Result<(), Error> {
        let (database, table) = (name.database.clone(), name.table.clone());
        self.write(Line::Table(Finished { database, table, from, to, rows }))
    }

    /// A table is no more that was finished.
    pub(crate) fn gone(&mut self, name: &TableName) -> Result<(), Error> {
        if !self.tables.contains_key(name) {
            return Ok(());
        }
        let (database, table) = (name.database.clone(), name.table.clone());
        self.write(Line::Gone { database, table })
    }

    /// There is nothing to go on with any more: everything is done, or what the dump does cannot be
    /// gone on with. The same command begins anew.
    pub(crate) fn forget(&mut self) -> Result<(), Error> {
        if self.file.take().is_some() {
            disk::remove(&self.path, "journal").map_err(|e| state_error(&self.path, e))?;
        }
        Ok(())
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Dump(_) => {}
            Line::Begin(spot) => {
                self.begun.insert(spot);
            }
            Line::Told(spot) => {
                self.begun.remove(&spot);
            }
            Line::Fill(spot) => {
                self.begun.insert(spot);
                self.fills.insert(spot);
            }
            Line::Done(spot) => {
                self.begun.remove(&spot);
                self.done.insert(spot);
            }
            Line::Table(table) => {
                self.begun.retain(|spot| *spot < table.from || table.to < *spot);
                let name = TableName::new(table.database.as_str(), table.table.as_str());
                self.tables.entry(name).or_default().push(table);
            }
            Line::Gone { database, table } => {
                self.tables.remove(&TableName::new(database, table));
            }
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

    fn write(&mut self, line: Line) -> Result<(), Error> {
        if let Some(file) = &mut self.file {
            let text = render(&line).map_err(|e| state_error(&self.path, e))?;
            let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
            written.map_err(|e| state_error(&self.path, e))?;
        }
        self.take(line);
        load::failpoint::step("replay.journal");
        Ok(())
    }

    /// Forgets everything that was done.
    fn restart(&mut self) -> Result<(), Error> {
        self.cut(0)?;
        (self.begun, self.done) = (BTreeSet::new(), BTreeSet::new());
        self.fills.clear();
        self.tables.clear();
        self.has_failed = false;
        match self.identity.clone() {
            Some(identity) => self.write(Line::Dump(identity)),
            None => Ok(()),
        }
    }

    fn cut(&mut self, bytes: u64) -> Result<(), Error> {
        let Some(file) = &self.file else { return Ok(()) };
        file.set_len(bytes).map_err(|e| state_error(&self.path, e))
    }
}

/// Whether a statement that may have been done before failed for just that.
pub(crate) fn was_done_before(error: &server::Error) -> bool {
    error.errno().is_some_and(|errno| ER_DONE_BEFORE.contains(&errno))
}

/// The file `name` among the journals, ours alone, and what is in it.
fn open(state_dir: &Path, name: &str) -> std::io::Result<(Vec<u8>, File)> {
    let folder = private::subfolder(&private::make(state_dir)?, FOLDER)?;
    let file = private::append_to(&folder, OsStr::new(name), "journal")?;
    // A replay that was killed has it for the moment that its end takes.
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if begun.elapsed() < BUSY_WAIT => sleep(BUSY_PAUSE),
            Err(TryLockError::WouldBlock) => return Err(std::io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    let (mut text, mut file) = (Vec::new(), File::new(file, "journal"));
    file.read_to_end(&mut text)?;
    folder.sync("journal")?;
    Ok((text, file))
}

/// How many whole lines a journal has, for the fuzz target: any bytes can be given.
pub fn lines(text: &[u8]) -> usize {
    text.split_inclusive(|&byte| byte == b'\n').map_while(parse).count()
}

fn render(line: &Line) -> std::io::Result<String> {
    let text = serde_json::to_string(line).map_err(std::io::Error::other)?;
    Ok(format!("{:08x} {text}\n", crc32c::crc32c(text.as_bytes())))
}

/// A whole line that is what was written.
fn parse(line: &[u8]) -> Option<Line> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (sum, text) = line.split_once(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    if sum != crc32c::crc32c(text.as_bytes()) {
        return None;
    }
    serde_json::from_str(text).ok()
}

fn state_error(path: &Path, source: std::io::Error) -> Error {
    load::Error::State { path: path.to_owned(), source }.into()
}

#[cfg(test)]
mod tests;
