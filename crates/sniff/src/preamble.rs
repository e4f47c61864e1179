//! Lines above the rows that are none: `sep=;`, comments, a title.
//!
//! ```text
//! sep=;                       the separator, as spreadsheets write it
//! # exported 2026-10-02       comments, `#TYPE ..` of PowerShell
//! Orders of September         a title: one field where rows have several
//! id;customer;total           the header
//! ```
//!
//! They are skipped as lines, so all files must have equally many of them. A line is only left out where what
//! follows shows that it is no row, and a note says so.

use job::error::Error;
use sources::{Dialect, Part, Sample};

use super::dialect::{FirstFile, Guess};
use super::header;
use super::records::{Records, TITLES_MAX};
use super::{BYTE_ORDER_MARK, Charset, Header, SniffOptions};

/// Comments that are looked at.
const COMMENTS_MAX: usize = 1000;
/// Bytes of a line that a note shows.
const SHOWN_BYTES: usize = 40;

/// The lines above the rows of each file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Preamble {
    /// Their number.
    pub(super) lines: u64,
    /// The separator that the first of them names.
    pub(super) separator: Option<u8>,
}

impl Preamble {
    /// The lines that begin each file and tell by themselves that they are no rows.
    ///
    /// Errors: files that have not equally many.
    pub(super) fn of(sample: &Sample, options: &SniffOptions) -> Result<Preamble, Error> {
        let mut starts = sample.parts.iter().filter(|part| part.is_start && !part.bytes.is_empty());
        let Some(first) = starts.next() else { return Ok(Preamble::default()) };
        let found = Preamble::of_start(&first.bytes);
        let name = |part: &Part| options.files[part.file].display().to_string();
        match starts.find(|part| Preamble::of_start(&part.bytes) != found) {
            None => Ok(found),
            Some(other) => Err(Error::Usage(format!(
                "{} and {} do not begin with equally many comment lines: load them separately",
                name(first),
                name(other)
            ))),
        }
    }

    fn of_start(bytes: &[u8]) -> Preamble {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let separator = separator(bytes);
        let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
        let is_comment = |line: &&[u8]| line.starts_with(b"#");
        let named = usize::from(separator.is_some());
        let comments = lines.clone().skip(named).take(COMMENTS_MAX).take_while(is_comment).count();
        // Comments alone are the rows of a list.
        let has_rows = lines.nth(named + comments).is_some();
        let comments = if has_rows { comments } else { 0 };
        Preamble { lines: (named + comments) as u64, separator }
    }

    /// The dialect of the rows. Where a title of several lines hides it, they are counted, too.
    pub(super) fn guess(
        &mut self,
        sample: &Sample,
        options: &SniffOptions,
        ending: Option<&str>,
    ) -> Guess {
        let skip_lines = options.skip_lines + self.lines;
        let first = FirstFile { sample, skip_lines, separator: self.separator, ending };
        let found = first.guess();
        let may_have_title =
            found.has_one_column && !options.one_column && options.header.is_none();
        for titles in 1..=if may_have_title { TITLES_MAX as u64 } else { 0 } {
            let skip_lines = skip_lines + titles;
            let Some(other) = FirstFile { skip_lines, ..first }.separated() else { continue };
            let records = Records::new(sample, &other.dialect, skip_lines);
            if find(records, sample, options).is_some() {
                self.lines += titles;
                return other;
            }
        }
        found
    }

    /// Counts those lines as rows that are cut as rows are, and takes the titles above a header for what they are.
    /// `records` begin behind these lines then.
    pub(super) fn settle<'a>(
        &mut self,
        mut records: Records<'a>,
        sample: &'a Sample,
        dialect: &Dialect,
        options: &SniffOptions,
    ) -> Records<'a> {
        let behind = |lines| Records::new(sample, dialect, options.skip_lines + lines);
        let named = u64::from(self.separator.is_some());
        if self.lines > named {
            let all = behind(named);
            let rows = all.rows_like_others(self.lines - named);
            let is_last = all.is_like_others(self.lines - named - 1);
            if find(behind(self.lines), sample, options).is_none() {
                match rows {
                    0 if records.fields > 1 => {}
                    // The last of them names the columns, or is a row.
                    1 if is_last => self.lines -= 1,
                    _ => self.lines = named,
                }
            }
            records = behind(self.lines);
        }
        let titles = records.title_lines();
        if titles > 0 && options.header.is_none() && options.columns.is_none() {
            let below = behind(self.lines + titles);
            if below.fields > 1 && find(below, sample, options).is_some() {
                self.lines += titles;
                records = behind(self.lines);
            }
        }
        records
    }

    /// A note on the lines that are left out.
    pub(super) fn note(&self, sample: &Sample) -> Option<String> {
        let start = sample.parts.first().filter(|_| self.lines > 0)?;
        let bytes = start.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start.bytes);
        let lines = bytes.split(|&byte| byte == b'\n').take(self.lines as usize);
        let text = lines.map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
        let shown = text.map(|text| String::from_utf8_lossy(&text[..text.len().min(SHOWN_BYTES)]));
        Some(match (self.lines, shown) {
            (1, Some(shown)) => format!("the line above the rows is skipped: {shown:?}"),
            (lines, Some(shown)) => {
                format!("the {lines} lines above the rows are skipped, the first is {shown:?}")
            }
            (1, None) => "the blank line above the rows is skipped".to_owned(),
            (lines, None) => format!("the {lines} blank lines above the rows are skipped"),
        })
    }
}

/// The header of these records.
fn find(mut records: Records<'_>, sample: &Sample, options: &SniffOptions) -> Option<Header> {
    let charset = Charset::of(sample, &records, options);
    header::find(&mut records, None, &charset)
}

/// The separator of a line `sep=;`.
fn separator(bytes: &[u8]) -> Option<u8> {
    let line = bytes.split(|&byte| byte == b'\n').next()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let (name, separator) = line.split_at_checked(4)?;
    match separator {
        [one] if name.eq_ignore_ascii_case(b"sep=") && bytes.contains(&b'\n') => Some(*one),
        _ => None,
    }
}
