//! Rows that are not loaded: their bytes to one file, the reasons to another beside it.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use disk::{File, output, returned};
use serde::Serialize;

use crate::error::Error;

/// The place of reasons that have none.
const NOWHERE: &str = "/dev/null";

/// Why rows are in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// Refused.
    Rejects,
    /// Left out for another with the same key.
    Duplicates,
}

impl LogKind {
    fn what(self) -> &'static str {
        match self {
            LogKind::Rejects => "rejects",
            LogKind::Duplicates => "duplicates",
        }
    }

    fn creating(self) -> &'static str {
        match self {
            LogKind::Rejects => "creating the rejects file",
            LogKind::Duplicates => "creating the duplicates file",
        }
    }

    fn writing(self) -> &'static str {
        match self {
            LogKind::Rejects => "writing the rejects file",
            LogKind::Duplicates => "writing the duplicates file",
        }
    }
}

/// The form of a file of rows, so that it can be read as the input was.
#[derive(Clone, Debug, Default)]
pub struct LogForm {
    /// The text before the first row: the header. A file without rows has none.
    pub head: Vec<u8>,
    /// Ends a row that has no end: the last of a file.
    pub row_end: Vec<u8>,
}

/// Rows in the log at `path` of a load that is over; none where it cannot be read.
pub fn rows(path: &Path) -> Option<u64> {
    let mut reasons = BufReader::new(std::fs::File::open(reasons_path(path)).ok()?);
    let mut rows = 0;
    loop {
        let text = reasons.fill_buf().ok()?;
        let bytes = text.len();
        if bytes == 0 {
            return Some(rows);
        }
        rows += text.iter().filter(|byte| **byte == b'\n').count() as u64;
        reasons.consume(bytes);
    }
}

/// Writes rows down, byte for byte, and a JSON object for each.
#[derive(Debug)]
pub struct RowLog {
    kind: LogKind,
    form: LogForm,
    is_begun: bool,
    rows: BufWriter<File>,
    rows_path: PathBuf,
    reasons: BufWriter<File>,
    reasons_path: PathBuf,
}

impl RowLog {
    /// Begins empty files at `path` and beside it, replacing what is there. Rows that go to a device, or to an
    /// output stream, have no reasons beside them.
    pub fn create(kind: LogKind, path: &Path, form: &LogForm) -> Result<RowLog, Error> {
        let open = |path: &Path| {
            let file = output::create(path, kind.what());
            file.map_err(Error::io(kind.creating(), path))
        };
        let rows = open(path)?;
        let has_folder =
            rows.metadata().is_ok_and(|rows| rows.is_file()) && !output::is_stream(path);
        let reasons_path = if has_folder { reasons_path(path) } else { PathBuf::from(NOWHERE) };
        Ok(RowLog {
            kind,
            form: form.clone(),
            is_begun: false,
            rows: BufWriter::new(rows),
            rows_path: path.to_owned(),
            reasons: BufWriter::new(open(&reasons_path)?),
            reasons_path,
        })
    }

    /// Writes one row, and one line that tells why.
    pub fn write(&mut self, raw: &[u8], reason: &impl Serialize) -> Result<(), Error> {
        let failed = || Error::io(self.kind.writing(), &self.rows_path);
        let head = match std::mem::replace(&mut self.is_begun, true) {
            true => &[],
            false => &self.form.head[..],
        };
        for text in [head, raw] {
            self.rows.write_all(text).map_err(failed())?;
            if !text.is_empty() && !text.ends_with(&self.form.row_end) {
                self.rows.write_all(&self.form.row_end).map_err(failed())?;
            }
        }
        let failed = || Error::io("writing the reasons file", &self.reasons_path);
        serde_json::to_writer(&mut self.reasons, reason).map_err(|e| failed()(e.into()))?;
        self.reasons.write_all(b"\n").map_err(failed())
    }

    /// Waits until everything is on the disk, names included: the rows are in no table, so these
    /// files are all there is of them, and the table outlives a power cut. Files of another machine are kept on
    /// this one until they are there.
    pub fn flush(&mut self) -> Result<(), Error> {
        flush(&mut self.rows).map_err(Error::io(self.kind.writing(), &self.rows_path))?;
        let reasons = flush(&mut self.reasons);
        reasons.map_err(Error::io("writing the reasons file", &self.reasons_path))?;
        let synced = match returned::has(&self.rows_path) {
            true => {
                returned::keep(&self.rows_path).and_then(|()| returned::keep(&self.reasons_path))
            }
            false => output::sync_name(&self.rows_path, self.kind.what()),
        };
        synced.map_err(Error::io(self.kind.writing(), &self.rows_path))
    }
}

/// A pipe or a terminal is as good as it can be when it is written to.
fn flush(file: &mut BufWriter<File>) -> io::Result<()> {
    file.flush()?;
    match file.get_ref().metadata()?.is_file() {
        true => file.get_ref().sync_all(),
        false => Ok(()),
    }
}

/// Where the reasons for the rows in `rows_path` go.
pub fn reasons_path(rows_path: &Path) -> PathBuf {
    let mut path = rows_path.as_os_str().to_owned();
    path.push(".reasons.jsonl");
    PathBuf::from(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_row_ends_as_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rejects");
        let form = LogForm { head: b"id".to_vec(), row_end: b"|".to_vec() };
        let mut log = RowLog::create(LogKind::Rejects, &path, &form).unwrap();
        // The second is the last of a file that an editor ended with a newline.
        for raw in ["a|", "b\n", "c"] {
            log.write(raw.as_bytes(), &raw).unwrap();
        }
        log.flush().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"id|a|b\n|c|");
        assert_eq!(std::fs::read_to_string(reasons_path(&path)).unwrap().lines().count(), 3);
    }
}
