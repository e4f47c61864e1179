//! The rows of a sample: whole records, also of parts that begin in the middle of one.

use sources::{Dialect, Part, Row, Rows, Sample, TextIndex, TextRow, Value};

/// A value and how it stands in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawValue<'a> {
    /// None is NULL.
    pub(super) value: Option<&'a [u8]>,
    pub(super) is_quoted: bool,
}

/// Lines that may stand above a header.
pub(super) const TITLES_MAX: usize = 20;

/// Characters of a last line that a note shows.
const SHOWN_CHARS: usize = 40;

/// Rows of all parts.
pub(super) struct Records<'a> {
    parts: Vec<Scanned<'a>>,
    quote: Option<u8>,
    /// True if blanks at the ends of values do not count.
    pub(super) trim: bool,
    /// Fields that most rows have.
    pub(super) fields: usize,
    /// Rows that have another number.
    pub(super) odd_rows: u64,
}

/// Rows of a sample that are not UTF-8.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BadRows {
    /// Their number.
    pub(super) bad: u64,
    /// Rows with letters beyond ASCII that are UTF-8.
    pub(super) good: u64,
    /// Number of the file, and line in it, of the first bad one, if that is known.
    pub(super) first: Option<(usize, u64)>,
}

struct Scanned<'a> {
    bytes: &'a [u8],
    index: TextIndex,
    /// The first row to be looked at, and the one after the last.
    first: usize,
    end: usize,
    file: usize,
    /// Lines of the file before it; None in the middle of a file.
    lines_before: Option<u64>,
    is_start: bool,
    is_reliable: bool,
}

impl<'a> Records<'a> {
    pub(super) fn new(sample: &'a Sample, dialect: &Dialect, skip_lines: u64) -> Records<'a> {
        let mut parts = Vec::new();
        let mut fields = 0;
        for part in &sample.parts {
            let scanned = match part.is_start {
                true => Scanned::start(part, dialect, skip_lines),
                false => Scanned::middle(part, dialect, fields),
            };
            if fields == 0 {
                fields = scanned.usual_fields(dialect);
            }
            parts.push(scanned);
        }
        let mut records =
            Records { parts, quote: dialect.enclosed_by, trim: false, fields, odd_rows: 0 };
        let odd = |part: &Scanned<'_>| {
            part.rows().filter(|row| !row.has_fields_for(fields, fields)).count() as u64
        };
        records.odd_rows = records.parts.iter().filter(|part| part.is_reliable).map(odd).sum();
        records
    }

    /// Counts the rows that are UTF-8, and those that are not.
    pub(super) fn not_utf8(&self) -> BadRows {
        let mut found = BadRows::default();
        for part in &self.parts {
            for row in part.rows() {
                let raw = &part.bytes[row.span()];
                match std::str::from_utf8(raw) {
                    Ok(text) => found.good += u64::from(!text.is_ascii()),
                    Err(error) => {
                        found.bad += 1;
                        let at = row.start() + error.valid_up_to();
                        let place = || Some((part.file, part.line_at(at)?));
                        found.first = found.first.or_else(place);
                    }
                }
            }
        }
        found
    }

    /// The first row of the first file that has any.
    pub(super) fn first(&self) -> Option<Vec<Option<Vec<u8>>>> {
        self.starts().next().map(|part| part.values(part.first))
    }

    /// The starts of files that have rows.
    fn starts(&self) -> impl Iterator<Item = &Scanned<'a>> {
        self.parts.iter().filter(|part| part.is_start && part.first < part.end)
    }

    /// How many files with rows were looked at.
    pub(super) fn files(&self) -> usize {
        self.starts().count()
    }

    /// Number of a file that has rows and begins with another one than this.
    pub(super) fn begins_otherwise(&self, first: &[Option<Vec<u8>>]) -> Option<usize> {
        self.starts().find(|part| part.values(part.first) != first).map(|part| part.file)
    }

    /// Leaves out the first row of each file that begins with `header`.
    pub(super) fn drop_headers(&mut self, header: &[Option<Vec<u8>>]) {
        for part in self.parts.iter_mut().filter(|part| part.is_start && part.first < part.end) {
            if part.values(part.first) == header {
                part.first += 1;
            }
        }
    }

    /// Leaves out the line of dashes below the header, if all files have one; gives its number of lines.
    pub(super) fn drop_underlines(&mut self) -> u64 {
        let is_underline = |part: &Scanned<'a>| {
            let is_dashes = |value: &Option<Vec<u8>>| {
                value.as_ref().is_some_and(|text| {
                    let dashes = text.trim_ascii();
                    !dashes.is_empty() && dashes.iter().all(|&byte| byte == b'-')
                })
            };
            part.first < part.end && part.values(part.first).iter().all(is_dashes)
        };
        let mut starts = self.parts.iter().filter(|part| part.is_start).peekable();
        if starts.peek().is_none() || !starts.all(is_underline) {
            return 0;
        }
        self.parts.iter_mut().filter(|part| part.is_start).for_each(|part| part.first += 1);
        1
    }

    /// Has them back.
    pub(super) fn keep_headers(&mut self) {
        self.parts.iter_mut().for_each(|part| part.first = 0);
    }

    /// Lines of the first row of the first file.
    pub(super) fn header_lines(&self) -> u64 {
        let header = self.parts.iter().find(|part| part.is_start && part.first > 0);
        header.map_or(1, |part| newlines(&part.bytes[part.row(0).span()]).max(1))
    }

    /// True if no row has a value from this field on.
    pub(super) fn are_empty_from(&self, field: usize) -> bool {
        !self.has_values().iter().skip(field).any(|has| *has)
    }

    /// Rows among these first ones of the first file that have as many fields as most, if these are several.
    pub(super) fn rows_like_others(&self, lines: u64) -> usize {
        (0..lines).filter(|&row| self.is_like_others(row)).count()
    }

    /// True if this row of the first file has as many fields as most, and more than one.
    pub(super) fn is_like_others(&self, row: u64) -> bool {
        let Some(part) = self.starts().next() else { return false };
        let row = part.first + usize::try_from(row).unwrap_or(usize::MAX - part.first);
        row < part.end && self.fields > 1 && part.row(row).field_count() == self.fields
    }

    /// The rows of another number of fields, if they end the only file: how many, and the first text of them.
    pub(super) fn footer(&self) -> Option<(u64, String)> {
        let [part] = &self.parts[..] else { return None };
        let is_odd = |at: &usize| !part.row(*at).has_fields_for(self.fields, self.fields);
        let footer = (part.first..part.end).rev().take_while(is_odd);
        let is_all = self.odd_rows > 0 && footer.clone().count() as u64 == self.odd_rows;
        let text = |at: usize| {
            let text = String::from_utf8_lossy(&part.bytes[part.row(at).span()]).trim().to_owned();
            (!text.is_empty()).then(|| text.chars().take(SHOWN_CHARS).collect())
        };
        let text = footer.filter_map(text).last().filter(|_| is_all && self.fields > 1)?;
        Some((self.odd_rows, text))
    }

    /// Lines above the first row of the first file that has as many fields as most, and more than one value.
    pub(super) fn title_lines(&self) -> u64 {
        let Some(part) = self.starts().next().filter(|_| self.fields > 1) else { return 0 };
        let is_title = |row: &TextRow<'_>| {
            let is_value = |at: &usize| !row.raw_field(*at).trim_ascii().is_empty();
            row.field_count() < self.fields || (0..row.field_count()).filter(is_value).count() < 2
        };
        let titles = part.rows().take(TITLES_MAX).take_while(is_title).count();
        match part.first + titles < part.end {
            true => newlines(&part.bytes[..part.row(part.first + titles).start()]),
            false => 0,
        }
    }

    /// Which fields have any value that is not empty.
    pub(super) fn has_values(&self) -> Vec<bool> {
        let mut has_values = vec![false; self.fields];
        self.each(|values| {
            for (has, given) in has_values.iter_mut().zip(values) {
                *has |= given.value.is_some_and(|value| !value.is_empty());
            }
        });
        has_values
    }

    /// Gives every row that has the usual number of fields to `take`.
    pub(super) fn each(&self, mut take: impl FnMut(&[RawValue<'_>])) {
        let mut scratches = vec![Vec::new(); self.fields];
        for part in &self.parts {
            for row in part.rows() {
                if !row.has_fields_for(self.fields, self.fields) {
                    continue;
                }
                let mut row_values = Vec::with_capacity(self.fields);
                let fields = 0..row.field_count();
                for (field, scratch) in fields.zip(&mut scratches) {
                    let first = row.raw_field(field).first().copied();
                    let is_quoted = self.quote.is_some() && first == self.quote;
                    let value = match row.value(field, scratch) {
                        Value::Bytes(bytes) if self.trim => Some(bytes.trim_ascii()),
                        Value::Bytes(bytes) => Some(bytes),
                        _ => None,
                    };
                    row_values.push(RawValue { value, is_quoted });
                }
                take(&row_values);
            }
        }
    }

    /// Number of the file, and line in it, of a row that [`Records::each`] gave, by its number from 0.
    pub(super) fn line_of(&self, row: u64) -> Option<(usize, u64)> {
        let fits = |row: &TextRow<'_>| row.has_fields_for(self.fields, self.fields);
        let rows = self.parts.iter().flat_map(|part| part.rows().map(move |row| (part, row)));
        let mut rows = rows.filter(|(_, row)| fits(row));
        let (part, row) = rows.nth(usize::try_from(row).ok()?)?;
        Some((part.file, part.line_at(row.start())?))
    }
}

impl<'a> Scanned<'a> {
    /// From the start of a file.
    fn start(part: &'a Part, dialect: &Dialect, skip_lines: u64) -> Scanned<'a> {
        let mut bytes = &part.bytes[..];
        if dialect.any_newline {
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        for _ in 0..skip_lines {
            let terminator = &dialect.lines_terminated_by;
            let end = bytes.windows(terminator.len().max(1)).position(|at| at == terminator);
            bytes = end.map_or(&[], |end| &bytes[end + terminator.len()..]);
        }
        Scanned::scan(bytes, part, dialect)
    }

    /// From the middle of a file: behind the first line end outside quotes, which may be one
    /// inside. Both are tried; the better has more rows of the usual number of fields.
    fn middle(part: &'a Part, dialect: &Dialect, fields: usize) -> Scanned<'a> {
        let behind = |at: &[u8], bytes: &'a [u8]| -> &'a [u8] {
            let end = bytes.windows(at.len().max(1)).position(|window| window == at);
            end.map_or(&[], |end| &bytes[end + at.len()..])
        };
        let outside =
            Scanned::scan(behind(&dialect.lines_terminated_by, &part.bytes), part, dialect);
        let Some(quote) = dialect.enclosed_by else { return outside };
        let closing = [&[quote], &dialect.lines_terminated_by[..]].concat();
        let inside = Scanned::scan(behind(&closing, &part.bytes), part, dialect);
        let usual = |scanned: &Scanned<'_>| {
            scanned.rows().filter(|row| row.has_fields_for(fields, fields)).count() * 1000
                / scanned.end.max(1)
        };
        if usual(&inside) > usual(&outside) { inside } else { outside }
    }

    fn scan(bytes: &'a [u8], part: &Part, dialect: &Dialect) -> Scanned<'a> {
        let index = dialect.index(bytes);
        // The last one may be cut. Blank lines at the end of the file are no rows, unless all are such.
        let end = match part.is_end && dialect.any_newline {
            true => {
                let rows = index.rows(bytes);
                let last = (0..index.len()).rfind(|&at| !rows.row(at).is_blank());
                last.filter(|&at| rows.row(at).field_count() > 1).map_or(index.len(), |at| at + 1)
            }
            false => index.len().saturating_sub(usize::from(!part.is_end)),
        };
        let Part { file, is_start, .. } = *part;
        let before = &part.bytes[..part.bytes.len() - bytes.len()];
        let lines_before = is_start.then(|| newlines(before));
        Scanned { bytes, index, first: 0, end, file, lines_before, is_start, is_reliable: is_start }
    }

    /// Line of the file, from 1, that `bytes[at]` is on.
    fn line_at(&self, at: usize) -> Option<u64> {
        Some(self.lines_before? + newlines(&self.bytes[..at]) + 1)
    }

    fn row(&self, index: usize) -> TextRow<'_> {
        self.index.rows(self.bytes).row(index)
    }

    fn rows(&self) -> impl Iterator<Item = TextRow<'_>> {
        (self.first..self.end).map(|index| self.row(index))
    }

    fn usual_fields(&self, dialect: &Dialect) -> usize {
        // Blank lines say nothing of the others.
        let rows = self.rows().filter(|row| row.field_count() > 1 || !row.raw_field(0).is_empty());
        let mut counts: Vec<usize> = rows.map(Row::field_count).collect();
        let first = counts.first().copied().unwrap_or(0);
        counts.sort_unstable();
        let most = counts.chunk_by(|a, b| a == b).max_by_key(|run| run.len());
        let most = most.and_then(|run| run.first()).copied().unwrap_or(0);
        // One more, empty, is what some dialects allow: the header or the first row decides.
        match dialect.trailing_separator || first + 1 != most {
            true => most,
            false => {
                let is_empty = |row: TextRow<'_>| {
                    row.field_count() <= first || row.raw_field(first).is_empty()
                };
                if self.rows().all(is_empty) { first } else { most }
            }
        }
    }

    fn values(&self, index: usize) -> Vec<Option<Vec<u8>>> {
        let (row, mut scratch) = (self.row(index), Vec::new());
        let value = |field| match row.value(field, &mut scratch) {
            Value::Bytes(bytes) => Some(bytes.to_vec()),
            _ => None,
        };
        (0..row.field_count()).map(value).collect()
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}
