//! TiDB's IMPORT INTO: jobs that read a file, and go on without the connection that started them.
//!
//! Answers and errors are those of TiDB 8.5 with the store unistore, which starts jobs and ends none of them;
//! the ends of jobs are by its sources (pkg/executor/importer, pkg/executor/show.go). A job takes a step with
//! each look at it, and reads its file with the last.

use std::collections::BTreeMap;

use super::engine::Engine;
use super::statements::{Answer, Run, names, text, within};
use super::tables::{Tables, Value};

const COLUMNS: [&str; 13] = [
    "Job_ID",
    "Data_Source",
    "Target_Table",
    "Table_ID",
    "Phase",
    "Status",
    "Source_File_Size",
    "Imported_Rows",
    "Result_Message",
    "Create_Time",
    "Start_Time",
    "End_Time",
    "Created_By",
];
/// The options that make TiDB read the text of LOAD DATA.
const OPTIONS: &str = "character_set='utf8mb4', fields_terminated_by='\\t', fields_enclosed_by='', \
                       fields_escaped_by='\\\\', fields_defined_null_by='\\\\N', \
                       lines_terminated_by='\\n', split_file, checksum_table='required', detached";
/// Looks at a job until it ends.
const LOOKS: usize = 2;
const ER_CANNOT_READ: u16 = 8160;
const ER_NO_JOB: u16 = 8170;
const ER_CANNOT_CANCEL: u16 = 8171;
const ER_PRECHECK: u16 = 8173;
/// "Error checking the checksum": the message of a job that met equal keys.
const MISMATCH: &str = "[Lightning:Restore:ErrChecksumMismatch]checksum mismatched remote vs local";

/// The end of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImportEnd {
    /// All rows are in, unless two have one key.
    #[default]
    Finished,
    /// A value cannot be converted.
    Failed,
    /// Somebody cancels it.
    Cancelled,
    /// A row less than there are.
    Short,
    /// None, until it is cancelled.
    Never,
}

/// Jobs, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Imports {
    jobs: BTreeMap<u64, Job>,
    pub(super) end: ImportEnd,
}

#[derive(Clone, Debug)]
struct Job {
    path: String,
    table: String,
    /// Fields of a line that columns get: the first ones.
    fields: usize,
    status: &'static str,
    rows: Option<u64>,
    message: String,
    looks: usize,
}

impl Job {
    fn is_open(&self) -> bool {
        ["pending", "running"].contains(&self.status)
    }

    fn row(&self, id: u64) -> Vec<Value> {
        let now = text("2026-11-29 09:10:03.999551");
        vec![
            text(id),
            text(&self.path),
            text(format!("`model`.`{}`", self.table)),
            text(112),
            text(if self.status == "running" { "importing" } else { "" }),
            text(self.status),
            text("16B"),
            self.rows.and_then(text),
            text(&self.message),
            now.clone(),
            now,
            None,
            text("root@%"),
        ]
    }

    fn end(&mut self, status: &'static str, message: &str) {
        (self.status, self.message) = (status, message.to_owned());
    }
}

impl Run<'_> {
    /// IMPORT INTO, SHOW IMPORT JOBS, CANCEL IMPORT JOB.
    pub(super) fn imports(&self, sql: &str) -> Option<Answer> {
        if let Some(rest) = sql.strip_prefix("IMPORT INTO ") {
            return Some(self.start_import(sql, rest));
        }
        if sql.starts_with("DROP TABLE ") {
            let dropped = names(sql);
            let imports = self.shared.imports.lock();
            let fills = |job: &Job| job.is_open() && dropped.contains(&job.table);
            if imports.jobs.values().any(fills) {
                drop(imports);
                self.broke(sql);
            }
            return None;
        }
        if sql == "SHOW IMPORT JOBS" {
            let imports = self.shared.imports.lock();
            let rows = imports.jobs.iter().map(|(id, job)| job.row(*id)).collect();
            return Some(Answer::Named(&COLUMNS, rows));
        }
        if let Some(id) = sql.strip_prefix("SHOW IMPORT JOB ") {
            let id: u64 = id.parse().ok()?;
            let mut tables = self.shared.held();
            let mut imports = self.shared.imports.lock();
            let end = imports.end;
            let Some(job) = imports.jobs.get_mut(&id) else { return Some(no_job(id)) };
            look(job, end, &mut tables);
            return Some(Answer::Named(&COLUMNS, vec![job.row(id)]));
        }
        let id: u64 = sql.strip_prefix("CANCEL IMPORT JOB ")?.parse().ok()?;
        let mut imports = self.shared.imports.lock();
        let Some(job) = imports.jobs.get_mut(&id) else { return Some(no_job(id)) };
        if !job.is_open() {
            let words = "The current job status cannot perform the operation. CANCEL".to_owned();
            return Some(Answer::Refused(ER_CANNOT_CANCEL, words));
        }
        job.end("cancelled", "cancelled by user");
        Some(Answer::done())
    }

    fn start_import(&self, sql: &str, rest: &str) -> Answer {
        let refused =
            |words: &str| Answer::Refused(ER_PRECHECK, format!("PreCheck failed: {words}"));
        let Some(table) = names(rest).into_iter().next() else { return refused("no table") };
        let path = within(rest, ") FROM '", "' FORMAT 'csv' WITH ").unwrap_or_default().to_owned();
        let is_strict =
            self.shared.held().session(self.id).variables.get("sql_mode").is_some_and(|modes| {
                modes.contains("STRICT_ALL_TABLES") && !modes.contains("NO_BACKSLASH_ESCAPES")
            });
        if !sql.ends_with(OPTIONS) || !path.ends_with(".csv") || !is_strict {
            self.broke(sql);
        }
        match std::fs::metadata(&path) {
            Ok(meta) if meta.len() > 0 => {}
            Ok(_) => {
                return refused(
                    "No file matched, or the file is empty. Please provide a valid file location.",
                );
            }
            Err(error) => {
                let words = format!(
                    "Failed to read source files. Reason: open {path}: {error}. Please check the file \
                     location is correct"
                );
                return Answer::Refused(ER_CANNOT_READ, words);
            }
        }
        {
            let tables = self.shared.held();
            match tables.tables.get(&table) {
                None => return Answer::no_table(&table),
                Some(table) if !table.rows.is_empty() => {
                    return refused("target table is not empty");
                }
                Some(_) => {}
            }
        }
        let mut imports = self.shared.imports.lock();
        if imports.jobs.values().any(|job| job.is_open() && job.table == table) {
            return refused("there is active job on the target table already");
        }
        let id = imports.jobs.len() as u64 + 1;
        let message = String::new();
        let columns = within(rest, "` (", ") FROM ").unwrap_or_default();
        let fields = columns.split(", ").filter(|name| name.starts_with('`')).count();
        let job = Job { path, table, fields, status: "pending", rows: None, message, looks: 0 };
        let row = job.row(id);
        imports.jobs.insert(id, job);
        Answer::Named(&COLUMNS, vec![row])
    }
}

/// A step of a job.
fn look(job: &mut Job, end: ImportEnd, tables: &mut Tables) {
    if !job.is_open() {
        return;
    }
    job.looks += 1;
    (job.status, job.rows) = ("running", Some(0));
    if job.looks < LOOKS || end == ImportEnd::Never {
        return;
    }
    let mut rows = match std::fs::read(&job.path) {
        Ok(bytes) => rows_of(&bytes, job.fields),
        Err(error) => return job.end("failed", &format!("open {}: {error}", job.path)),
    };
    match end {
        ImportEnd::Failed => {
            return job.end("failed", "[types:1292]Truncated incorrect DOUBLE value: 'x'");
        }
        ImportEnd::Cancelled => return job.end("cancelled", "cancelled by user"),
        ImportEnd::Short => drop(rows.pop()),
        ImportEnd::Finished | ImportEnd::Never => {}
    }
    // Connection 0 is nobody's.
    let count = tables.insert(0, &job.table, &rows, true).unwrap_or_default();
    tables.commit(0);
    tables.end(0);
    if count < rows.len() as u64 {
        return job.end("failed", MISMATCH);
    }
    job.rows = Some(count);
    job.end("finished", "");
}

fn no_job(id: u64) -> Answer {
    Answer::Refused(ER_NO_JOB, format!("Job ID {id} doesn't exist"))
}

/// Rows of so many values as TiDB's reader of CSV gives them with these options: lines of nothing but white
/// space are none.
fn rows_of(bytes: &[u8], fields: usize) -> Vec<Vec<Value>> {
    let lines = without_mark(bytes).split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !line.iter().all(|&byte| byte == b' ' || byte == b'\r'));
    let values =
        |line: &[u8]| line.split(|&byte| byte == b'\t').map(value_of).take(fields).collect();
    lines.map(values).collect()
}

/// A text less its byte order mark, which TiDB takes from every text that it reads.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// The value of a field of LOAD DATA's lines.
pub(super) fn value_of(field: &[u8]) -> Value {
    if field == b"\\N" {
        return None;
    }
    let (mut value, mut bytes) = (Vec::new(), field.iter().copied());
    while let Some(byte) = bytes.next() {
        let escaped = if byte == b'\\' { bytes.next() } else { None };
        value.push(match escaped {
            Some(b'0') => 0,
            Some(b'b') => 8,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'Z') => 0x1a,
            Some(other) => other,
            None => byte,
        });
    }
    Some(value)
}

impl Engine {
    /// The answer to `SELECT tidb_version()` with a store.
    pub(super) fn tidb_version(store: &str) -> String {
        format!("Release Version: v8.5.0\nEdition: Community\nStore: {store}")
    }
}
