//! Which chunks are loaded: rows of a table beside the target, committed with the chunks' own.
//!
//! A chunk's row is inserted before the chunk's rows and in the same transaction. A second attempt to send
//! the chunk, because the answer to COMMIT was lost or because the load was killed, inserts the same ledger
//! row: that waits for a transaction which still runs, and then is a duplicate if it was committed and new if
//! it was not. So a chunk is loaded exactly once, whatever keys the target has.
//!
//! Where a transaction may be committed on some of several shards, each shard has a ledger ([`Shards`]).

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use job::error::Error;
use job::failpoint;
use schema::TableName;
use serde::{Deserialize, Serialize};
use server::identifier::{digest, quote_text};
use server::session::{Row, Session};
use sources::remote;
use targets::Lock;
use targets::torn::rows_if_there;

use crate::sent_chunk::SentChunk;
use crate::shards::Shards;

/// The row that says which job it is, before those of its chunks.
const JOB_ROW: i64 = -1;
/// The row that says that all chunks of the job are in, and by what its command is known.
const COMPLETE_ROW: i64 = -2;
/// Refused rows of a chunk that do not fit its own row are in rows below `-(ordinal + 1) * NOTE_ROWS`.
const NOTE_ROWS: i64 = 1 << 24;
/// Most refused rows of one row.
const REFUSED_MAX: usize = 1000;
/// Bytes of a refused row in a statement, on average at most: the server's messages have 512.
const REFUSED_BYTES: usize = 2048;

/// The identity of two equal loads: the second may go on where the first ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The input, in order.
    pub(crate) files: Vec<JobFile>,
    /// Every option that decides which bytes are a chunk or what becomes of its rows.
    pub(crate) options: String,
    /// Bytes of input that the source was asked for at once.
    pub(crate) chunk_bytes: u64,
}

/// A file as it was when the load began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobFile {
    /// Its path, as it was named.
    pub(crate) path: String,
    /// Its size; none of a pipe.
    pub(crate) bytes: Option<u64>,
    /// When it was last written to, in nanoseconds since 1970; none of a pipe.
    pub(crate) modified_ns: Option<i128>,
    /// The state of an object on another machine: its ETag, or the time of its last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<String>,
}

impl Job {
    /// A load of `files`, by `options`, in chunks of `chunk_bytes`.
    pub(crate) fn new<'a>(
        files: impl IntoIterator<Item = &'a Path>,
        options: String,
        chunk_bytes: u64,
    ) -> Job {
        Job { files: files.into_iter().map(JobFile::at).collect(), options, chunk_bytes }
    }

    /// As it is kept, and compared.
    pub(crate) fn text(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(|e| Error::Internal(format!("a job as JSON: {e}")))
    }
}

impl JobFile {
    /// The file at `path` as it is now.
    pub(crate) fn at(path: &Path) -> JobFile {
        let meta = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
        let modified = |meta: &std::fs::Metadata| {
            i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())
        };
        JobFile {
            path: path.to_string_lossy().into_owned(),
            bytes: remote::plain_bytes(path),
            modified_ns: meta.as_ref().map(modified),
            state: remote::identity(path),
        }
    }
}

/// The table of a target's ledger: one table, or one on each shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LedgerTable {
    name: TableName,
    shards: Shards,
}

/// The ledger of one job. Cheap to copy: each connection has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    table: LedgerTable,
    /// Digest of the job's text, in hex.
    job: String,
}

/// The counts of one loaded chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// [`SentChunk::ordinal`].
    pub(crate) ordinal: u64,
    /// Index of its file among the source's.
    pub(crate) file: u32,
    /// Byte of the file at which it begins.
    pub(crate) offset: u64,
    /// Bytes of input, as the source gave them.
    pub(crate) bytes: u64,
    /// Their crc32c.
    pub(crate) crc: u32,
    /// Rows that went into the table.
    pub(crate) rows: u64,
    /// Rows left out, or replaced or updated, for others with the same key.
    pub(crate) duplicates: u64,
    /// Rows that were refused by the conversion.
    pub(crate) rejects: u64,
    /// Rows that were refused by the server.
    pub(crate) refused: Vec<Refused>,
}

/// A chunk that is in, for a load that continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadedChunk {
    pub(crate) rows: u64,
    pub(crate) duplicates: u64,
    /// True if rows of it were rejected, so that it has to be read again for their sake.
    pub(crate) has_rejects: bool,
    pub(crate) bytes: u64,
    pub(crate) crc: u32,
}

impl LoadedChunk {
    /// Reads a row of [`ENTRY_COLUMNS`].
    fn read(row: &Row) -> server::Result<LoadedChunk> {
        Ok(LoadedChunk {
            bytes: row.number(3)?,
            crc: row.number(4)?,
            rows: row.number(5)?,
            duplicates: row.number(6)?,
            has_rejects: row.number::<u64>(7)? > 0 || !row.is_null(8),
        })
    }
}

/// A row that the server refused: its reason cannot be had again without asking it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    /// First byte of the row in the chunk.
    pub(crate) begin: usize,
    /// End of the row, terminator included.
    pub(crate) end: usize,
    /// The server's error number.
    pub(crate) errno: u16,
    /// The server's words.
    pub(crate) message: String,
}

/// Sums over a job's chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Chunks that are in.
    pub(crate) chunks: u64,
    /// [`Entry::rows`] of all.
    pub(crate) rows: u64,
}

impl Entry {
    /// The entry of a chunk all of whose accepted rows are loaded.
    pub(crate) fn of(chunk: &SentChunk) -> Entry {
        Entry {
            ordinal: chunk.ordinal,
            file: chunk.input.file,
            offset: chunk.input.offset,
            bytes: chunk.input.bytes.len() as u64,
            crc: crc32c::crc32c(&chunk.input.bytes),
            rows: chunk.rows.len() as u64,
            duplicates: 0,
            rejects: chunk.rejected.len() as u64,
            refused: Vec::new(),
        }
    }

    /// True if both have the same bytes of the same input.
    pub(crate) fn is_of_same_input(&self, other: &Entry) -> bool {
        let input = |e: &Entry| (e.ordinal, e.file, e.offset, e.bytes, e.crc);
        input(self) == input(other)
    }

    fn read(row: &Row) -> Result<Entry, Error> {
        Ok(Entry {
            ordinal: row.number(0)?,
            file: row.number(1)?,
            offset: row.number(2)?,
            bytes: row.number(3)?,
            crc: row.number(4)?,
            rows: row.number(5)?,
            duplicates: row.number(6)?,
            rejects: row.number(7)?,
            refused: refused_of(row)?,
        })
    }
}

/// The refused rows of a row of the ledger.
fn refused_of(row: &Row) -> Result<Vec<Refused>, Error> {
    let Some(text) = row.text_or_null(8)? else { return Ok(Vec::new()) };
    serde_json::from_str(&text)
        .map_err(|e| Error::Internal(format!("rejected rows in the ledger are not JSON: {e}")))
}

/// The columns of [`Entry::read`], but for the refused rows.
const ENTRY_COLUMNS: &str =
    "ordinal, file, first_byte, bytes, crc32c, row_count, duplicates, rejects";

impl LedgerTable {
    /// That of a target.
    pub(crate) fn of(target: &Lock) -> LedgerTable {
        LedgerTable::new(target.names.ledger.clone(), Shards::of(target))
    }

    pub(crate) fn new(name: TableName, shards: Shards) -> LedgerTable {
        LedgerTable { name, shards }
    }

    /// Where it is.
    pub(crate) fn shards(&self) -> &Shards {
        &self.shards
    }

    /// Makes it if it is missing. Killed after it: an empty table is left.
    pub(crate) fn create(&self, session: &mut Session) -> server::Result<()> {
        self.shards.at_each(session, |session| self.create_here(session))
    }

    /// Writes the job down in it if that is missing. Killed after it: a job without chunks is left.
    ///
    /// Where there are several shards, the job of a load that begins has no chunks on any.
    pub(crate) fn begin(
        self,
        session: &mut Session,
        job: &Job,
        begins: bool,
    ) -> Result<Ledger, Error> {
        let text = job.text()?;
        let ledger = Ledger { job: id(&text), table: self };
        let shards = ledger.shards();
        failpoint::hit("ledger.created");
        if begins {
            shards.at_others(session, |session| ledger.delete_here(session))?;
        }
        ledger.mark(session, JOB_ROW, &text, "INSERT of the job into the ledger")?;
        Ok(ledger)
    }

    fn create_here(&self, session: &mut Session) -> server::Result<()> {
        let done = session.exec(&format!(
            "CREATE TABLE IF NOT EXISTS {} (\
             job CHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, \
             ordinal BIGINT NOT NULL, \
             file INT UNSIGNED NOT NULL, \
             first_byte BIGINT UNSIGNED NOT NULL, \
             bytes BIGINT UNSIGNED NOT NULL, \
             crc32c INT UNSIGNED NOT NULL, \
             row_count BIGINT UNSIGNED NOT NULL, \
             duplicates BIGINT UNSIGNED NOT NULL, \
             rejects BIGINT UNSIGNED NOT NULL, \
             note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL, \
             PRIMARY KEY (job, ordinal)\
             ) ENGINE=InnoDB COMMENT='rows of an interrupted load by inrush, which the same command continues: do not drop'",
            self.shards.name(&self.name)
        ));
        done.map(drop)
    }

    /// The jobs whose ledger was left by loads that did not end.
    pub(crate) fn find(self, session: &mut Session) -> Result<Vec<(Job, Ledger)>, Error> {
        let sql = format!(
            "SELECT job, note FROM {base} WHERE ordinal={JOB_ROW} ORDER BY job",
            base = self.name.base()
        );
        let jobs = self.rows(session, |session| session.query(&sql))?;
        let mut found = Vec::with_capacity(jobs.len());
        for row in jobs {
            let ledger = Ledger { table: self.clone(), job: row.text(0)? };
            let job = serde_json::from_str(&row.text_lossy(1)).map_err(|e| {
                Error::Internal(format!("{} contains a job that is not JSON ({e})", self.name))
            })?;
            found.push((job, ledger));
        }
        Ok(found)
    }

    /// The jobs in a ledger all of whose chunks are in, with what their commands are known by.
    pub(crate) fn completed(
        self,
        session: &mut Session,
    ) -> Result<Vec<(Ledger, Option<String>)>, Error> {
        let base = self.name.base();
        let sql = format!("SELECT job, note FROM {base} WHERE ordinal={COMPLETE_ROW}");
        let rows = self.rows(session, |session| session.query(&sql))?;
        let job = |row: &Row| {
            let proof = Some(row.text_lossy(1)).filter(|proof| !proof.is_empty());
            Ok((Ledger { table: self.clone(), job: row.text(0)? }, proof))
        };
        rows.iter().map(job).collect()
    }

    /// Removes the table if it is there and no job is in it.
    pub(crate) fn remove_empty(self, session: &mut Session) -> Result<(), Error> {
        let count = format!("SELECT COUNT(*) FROM {base}", base = self.name.base());
        let jobs = self.rows(session, |session| session.query_text(&count))?;
        // A shard may have one before the last shard has.
        let is_empty = jobs.map_or(self.shards.are_several(), |jobs| jobs == "0");
        if is_empty { Ok(self.drop(session)?) } else { Ok(()) }
    }

    /// Removes the table with all jobs. Done again, it does nothing.
    pub(crate) fn drop(&self, session: &mut Session) -> server::Result<()> {
        let sql = format!("DROP TABLE IF EXISTS {}", self.shards.name(&self.name));
        self.shards.at_each(session, |session| session.exec(&sql).map(drop))
    }

    /// Rows of the ledger that counts; none if it is missing.
    fn rows<T: Default>(
        &self,
        session: &mut Session,
        work: impl FnOnce(&mut Session) -> server::Result<T>,
    ) -> server::Result<T> {
        self.shards
            .at(session, self.shards.last(), |session| rows_if_there(session, &self.name, work))
    }
}

impl Ledger {
    /// The ledger's table.
    pub(crate) fn table(&self) -> &TableName {
        &self.table.name
    }

    /// Where the ledger is.
    pub(crate) fn shards(&self) -> &Shards {
        &self.table.shards
    }

    /// All chunks that are in, by number.
    pub(crate) fn loaded(&self, session: &mut Session) -> Result<HashMap<u64, LoadedChunk>, Error> {
        // Refused rows stay where they are.
        let sql = format!("{} AND ordinal>=0", self.select("LEFT(note, 0)"));
        let shards = self.shards();
        let mut loaded = HashMap::new();
        shards.at(session, shards.last(), |session| {
            session.for_each(&sql, |row| {
                loaded.insert(row.number(0)?, LoadedChunk::read(&row)?);
                Ok(())
            })
        })?;
        // The last shard has what all have; whatever it has besides is sent again, where it is missing.
        shards.at_others(session, |session| {
            let mut there = HashSet::new();
            session.for_each(&sql, |row| {
                there.insert(row.number::<u64>(0)?);
                Ok(())
            })?;
            loaded.retain(|ordinal, _| there.contains(ordinal));
            Ok(())
        })?;
        Ok(loaded)
    }

    /// How much is in, once the chunks of a killed load are committed or rolled back. After a restart of the
    /// server this may be less than was committed: by its settings it may lose the last transactions, with their
    /// ledger rows. Of several shards it is that of the shard that has most.
    ///
    /// Errors: as [`Lock::when_settled`].
    pub(crate) fn totals(&self, target: &mut Lock, wait: Duration) -> server::Result<Totals> {
        let each = self.settled_totals(target, wait)?;
        Ok(each.into_iter().max_by_key(|totals| totals.chunks).unwrap_or_default())
    }

    fn settled_totals(&self, target: &mut Lock, wait: Duration) -> server::Result<Vec<Totals>> {
        target.when_settled(wait, &self.totals_query(), |session, sql| {
            self.totals_of_each(session, sql)
        })
    }

    fn totals_query(&self) -> String {
        format!(
            "SELECT COUNT(*), COALESCE(SUM(row_count), 0) FROM {base} WHERE job={} AND ordinal>=0",
            quote_text(&self.job),
            base = self.table().base()
        )
    }

    fn totals_of_each(&self, session: &mut Session, sql: &str) -> server::Result<Vec<Totals>> {
        let mut each = Vec::new();
        self.shards().at_each(session, |session| {
            let row = session.query_row(sql)?;
            each.push(Totals { chunks: row.number(0)?, rows: row.number(1)? });
            Ok(())
        })?;
        Ok(each)
    }

    /// The most rows that are in, and whether it is so many: not where some shards lack rows that others have.
    /// Waits for connections of the load that have not ended.
    ///
    /// Errors: as [`Lock::when_settled`].
    pub(crate) fn rows_in(&self, target: &mut Lock, wait: Duration) -> server::Result<(u64, bool)> {
        let each = self.settled_totals(target, wait)?;
        let most = each.iter().map(|totals| totals.rows).max().unwrap_or_default();
        Ok((most, each.iter().all(|totals| totals.rows == most)))
    }

    /// Sees to it that all that was committed is there, before anything is built on it.
    ///
    /// Errors: [`Error::LostCommits`], of a server that crashed while the load ran.
    pub(crate) fn require(&self, session: &mut Session, sent: Totals) -> Result<(), Error> {
        let each = self.totals_of_each(session, &self.totals_query())?;
        let Some(kept) = each.into_iter().find(|kept| *kept != sent) else { return Ok(()) };
        Err(Error::LostCommits {
            sent_rows: sent.rows,
            kept_rows: kept.rows,
            chunks: sent.chunks.saturating_sub(kept.chunks),
        })
    }

    /// Writes down that all chunks are in, of a command that is known by `proof`. Done again, it does
    /// nothing.
    pub(crate) fn complete(&self, session: &mut Session, proof: Option<&str>) -> Result<(), Error> {
        let note = proof.unwrap_or_default();
        self.mark(session, COMPLETE_ROW, note, "INSERT of the job's end into the ledger")
    }

    /// Writes a row about the job itself, unless it is there.
    fn mark(&self, session: &mut Session, row: i64, note: &str, label: &str) -> Result<(), Error> {
        let table = self.table();
        let sql = format!(
            "INSERT IGNORE INTO {} VALUES ({}, {row}, 0, 0, 0, 0, 0, 0, 0, {})",
            table.quoted(),
            quote_text(&self.job),
            quote_text(note)
        );
        self.shards().at(session, self.shards().last(), |session| {
            session.write_to(table, |session| session.exec_rows(&sql, label))
        })?;
        Ok(())
    }

    /// The entry of one chunk on one of [`Shards::all`], if it is in there.
    pub(crate) fn entry(
        &self,
        session: &mut Session,
        shard: &str,
        ordinal: u64,
    ) -> Result<Option<Entry>, Error> {
        let (first, last) = (note_row(ordinal, NOTE_ROWS - 1), note_row(ordinal, 1));
        let sql = format!(
            "{} AND (ordinal={ordinal} OR ordinal BETWEEN {first} AND {last}) ORDER BY ordinal DESC",
            self.select("note")
        );
        let rows = self.shards().at(session, shard, |session| session.query(&sql))?;
        let [row, notes @ ..] = rows.as_slice() else { return Ok(None) };
        let mut entry = Entry::read(row)?;
        for note in notes {
            entry.refused.extend(refused_of(note)?);
        }
        Ok(Some(entry))
    }

    /// Writes a chunk down on one of [`Shards::all`], first in its transaction, which holds the table: error 1062
    /// of the server says that the chunk is loaded there.
    pub(crate) fn insert(
        &self,
        session: &mut Session,
        shard: &str,
        entry: &Entry,
    ) -> server::Result<()> {
        let sql = format!(
            "INSERT INTO {} VALUES ({}, {}, {}, {}, {}, {}, {}, {}, {}, NULL)",
            self.table().quoted(),
            quote_text(&self.job),
            entry.ordinal,
            entry.file,
            entry.offset,
            entry.bytes,
            entry.crc,
            entry.rows,
            entry.duplicates,
            entry.rejects,
        );
        let insert = |session: &mut Session| session.exec_rows(&sql, "INSERT into the ledger");
        self.shards().at(session, shard, insert).map(drop)
    }

    /// Corrects what became of a chunk's rows, last in its transaction, on these of [`Shards::all`], by statements
    /// of `statement_bytes` at most.
    pub(crate) fn update(
        &self,
        session: &mut Session,
        shards: &[&str],
        entry: &Entry,
        statement_bytes: usize,
    ) -> Result<(), Error> {
        let (table, job) = (self.table().quoted(), quote_text(&self.job));
        let rows_max = (statement_bytes / REFUSED_BYTES).clamp(1, REFUSED_MAX);
        let mut notes = entry.refused.chunks(rows_max).map(|refused| {
            serde_json::to_string(refused)
                .map(|note| quote_text(&note))
                .map_err(|e| Error::Internal(format!("rejected rows as JSON: {e}")))
        });
        let mut run = |sql: &str, label: &str| {
            shards.iter().try_for_each(|shard| {
                let run = |session: &mut Session| session.exec_rows(sql, label);
                self.shards().at(session, shard, run).map(drop)
            })
        };
        let (rows, duplicates) = (entry.rows, entry.duplicates);
        let mut sql = format!("UPDATE {table} SET row_count={rows}, duplicates={duplicates}");
        if let Some(note) = notes.next() {
            // Writing to a text does not fail.
            let _ = write!(sql, ", note={}", note?);
        }
        let _ = write!(sql, " WHERE job={job} AND ordinal={}", entry.ordinal);
        run(&sql, "UPDATE of the ledger")?;
        for (note, part) in notes.zip(1..NOTE_ROWS) {
            let row = note_row(entry.ordinal, part);
            let note = note?;
            run(
                &format!("INSERT INTO {table} VALUES ({job}, {row}, 0, 0, 0, 0, 0, 0, 0, {note})"),
                "INSERT of rejected rows into the ledger",
            )?;
        }
        Ok(())
    }

    /// Forgets the job, and removes the table if no other job is in it. Done again, it does
    /// nothing.
    pub(crate) fn remove(&self, session: &mut Session) -> Result<(), Error> {
        let base = self.table().base();
        let job = quote_text(&self.job);
        let count = format!("SELECT COUNT(*) FROM {base} WHERE ordinal={JOB_ROW} AND job<>{job}");
        match self.table.rows(session, |session| session.query_text(&count))?.as_deref() {
            None if !self.shards().are_several() => {}
            // The others' ledgers go before the one that counts.
            None | Some("0") => self.table.drop(session)?,
            Some(_) => self.shards().at_each(session, |session| self.delete_here(session))?,
        }
        Ok(())
    }

    fn delete_here(&self, session: &mut Session) -> server::Result<()> {
        let table = self.table();
        let delete = format!("DELETE FROM {} WHERE job={}", table.quoted(), quote_text(&self.job));
        session.write_to(table, |session| session.exec(&delete)).map(drop)
    }

    fn select(&self, note: &str) -> String {
        let (job, base) = (quote_text(&self.job), self.table().base());
        format!("SELECT {ENTRY_COLUMNS}, {note} FROM {base} WHERE job={job}")
    }
}

/// The number of a row with refused rows of a chunk, from 1.
fn note_row(ordinal: u64, part: i64) -> i64 {
    let chunk = i64::try_from(ordinal).unwrap_or(i64::MAX).saturating_add(1);
    chunk.saturating_mul(NOTE_ROWS).saturating_add(part).saturating_neg()
}

/// Names a job by its text.
fn id(text: &str) -> String {
    format!("{:016x}", digest(text.as_bytes()))
}
