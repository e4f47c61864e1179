//! A check that a file has rows: a file with text and no row is read otherwise than it was written.

use face::option::{LINES_STARTING_BY, LINES_TERMINATED_BY, SKIP_LINES};
use memchr::memmem;

use super::SourceOptions;
use super::open::OpenFile;
use crate::delimited::dialect::Dialect;
use crate::error::{Error, Result};

/// Bytes that are read at once for the first row.
const PIECE_BYTES: usize = 16 << 10;

impl OpenFile {
    /// Notes whether there are rows in some of the text behind the start.
    pub(super) fn note_rows(&mut self, text: &[u8], dialect: &Dialect) {
        let prefix = &dialect.lines_starting_by;
        self.has_text |= !text.is_empty();
        self.has_rows = self.has_rows
            || match prefix.is_empty() {
                true => !text.is_empty(),
                false => memmem::find(text, prefix).is_some(),
            };
    }

    /// Reads up to the first row; true of a file that has only its header.
    ///
    /// Errors: as [`OpenFile::check_rows`]; reading.
    pub(super) fn find_rows(&mut self, dialect: &Dialect, options: &SourceOptions) -> Result<bool> {
        self.skip_start(dialect, options)?;
        let mut text = std::mem::take(&mut self.rest);
        self.note_rows(&text, dialect);
        while !self.has_rows && !self.ended {
            // The text before a row may begin in what was read, and end in what was not.
            let size = dialect.lines_starting_by.len().saturating_sub(1);
            text.drain(..text.len().saturating_sub(size));
            self.read(&mut text, PIECE_BYTES)?;
            self.note_rows(&text, dialect);
        }
        self.check_rows(dialect, options)
    }

    /// At the end of the file, or behind its first row: true where there is only the header.
    ///
    /// Errors: [`Error::NoRows`].
    pub(super) fn check_rows(&self, dialect: &Dialect, options: &SourceOptions) -> Result<bool> {
        let has_any_text = self.has_text || !self.preamble.is_empty();
        if self.has_rows || !has_any_text {
            return Ok(false);
        }
        match self.no_rows(dialect, options) {
            None => Ok(true),
            Some(reason) => Err(Error::NoRows { path: self.path.clone(), reason }),
        }
    }

    /// The likely reason why no row was found; none where there are only column names.
    fn no_rows(&self, dialect: &Dialect, options: &SourceOptions) -> Option<String> {
        if self.has_text {
            let prefix = dialect.lines_starting_by.escape_ascii();
            return Some(format!("no line contains {prefix}, the text of {LINES_STARTING_BY}"));
        }
        if let Some(seen) = other_line_end(&self.preamble, dialect) {
            return Some(match dialect.any_newline {
                true => format!("the file ends lines in {seen}, but LF or CR LF is expected"),
                false => format!(
                    "the file ends lines in {seen}, but {LINES_TERMINATED_BY} is {}",
                    dialect.lines_terminated_by.escape_ascii()
                ),
            });
        }
        let (lines, skipped) = (self.lines_skipped, options.skip_lines);
        let noun = if lines == 1 { "line" } else { "lines" };
        match (options.header, skipped) {
            _ if lines < skipped => {
                Some(format!("the file has {lines} {noun}, and {SKIP_LINES} skips {skipped}"))
            }
            (true, _) | (false, 1) => None,
            (false, _) => Some(format!("{SKIP_LINES} skips all {lines} {noun} of the file")),
        }
    }
}

/// The line end that a text has beside those of the dialect.
fn other_line_end(text: &[u8], dialect: &Dialect) -> Option<&'static str> {
    let terminator = &dialect.lines_terminated_by;
    if terminator.is_empty() {
        return None;
    }
    let mut lines = Vec::new();
    let mut start = 0;
    for end in memmem::find_iter(text, terminator).chain([text.len()]) {
        let line = &text[start..end];
        let returns = if dialect.any_newline { line.strip_suffix(b"\r") } else { None };
        lines.push(returns.unwrap_or(line));
        start = (end + terminator.len()).min(text.len());
    }
    let ends: [(&[u8], &str); 3] = [(b"\r\n", "CR LF"), (b"\n", "LF"), (b"\r", "CR")];
    let has = |end: &[u8]| lines.iter().any(|line| memmem::find(line, end).is_some());
    ends.into_iter().find(|(end, _)| has(end)).map(|(_, name)| name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{Chunk, Dialect, Error, FileSource, Source, SourceOptions};

    /// The error for a file that was read, as a pipe is judged.
    fn read(text: &str, dialect: &Dialect, skip_lines: u64, header: bool) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().join("x")];
        std::fs::write(&paths[0], text).unwrap();
        let options =
            SourceOptions { needs_rows: true, skip_lines, header, ..SourceOptions::default() };
        let mut source = FileSource::new(&paths, dialect, options).unwrap();
        let before = source.check_rows();
        let mut chunk = Chunk::default();
        let after = loop {
            match source.next_chunk(&mut chunk) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(Error::NoRows { reason, .. }) => break Some(reason),
                Err(error) => panic!("{error}"),
            }
        };
        match before {
            Err(Error::NoRows { reason, .. }) => assert_eq!(Some(reason), after),
            before => assert!(before.is_ok() && after.is_none(), "{before:?}, then {after:?}"),
        }
        after
    }

    #[test]
    fn a_file_without_rows_is_judged_alike_before_and_after_it_is_read() {
        let csv = Dialect::csv();
        let crlf = Dialect { lines_terminated_by: b"\r\n".to_vec(), ..Dialect::mysql() };
        let prefix = Dialect { lines_starting_by: b"xyz".to_vec(), ..Dialect::mysql() };
        let no_prefix = "xy".repeat(20_000);
        for (text, dialect, skip_lines, reason) in [
            ("a\rb\r", &csv, 1, "the file ends lines in CR, but LF or CR LF is expected"),
            ("a\nb\n", &crlf, 1, "in LF, but --lines-terminated-by is \\r\\n"),
            ("a\nb", &csv, 3, "the file has 2 lines, and --skip-lines skips 3"),
            ("a\nb\n", &csv, 2, "--skip-lines skips all 2 lines of the file"),
            ("xy\nz\n", &prefix, 0, "no line contains xyz, the text of --lines-starting-by"),
            (&no_prefix, &prefix, 0, "--lines-starting-by"),
        ] {
            let said = read(text, dialect, skip_lines, false).unwrap_or_default();
            assert!(said.contains(reason), "{text:?}: {said}");
        }
        let prefixed = [&no_prefix, "z1\n"].concat();
        for (text, dialect, skip_lines, header) in [
            ("", &csv, 5, false),
            ("a\n", &csv, 1, false),
            ("made\na,b\n", &csv, 1, true),
            ("a\nb\n", &csv, 1, false),
            ("\n", &csv, 0, false),
            ("a\nxyz1", &prefix, 0, false),
            (&prefixed, &prefix, 0, false),
        ] {
            assert_eq!(read(text, dialect, skip_lines, header), None, "{text:?}");
        }
    }
}
