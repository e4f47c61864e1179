//! How fields are cut: the separator that gives all lines the same number of fields.

use std::path::Path;

use sources::{COMPRESSED, Dialect, Part, Preset, Row, Rows, Sample};

use super::BYTE_ORDER_MARK;

/// Text that is tried on every candidate.
const TRIED_BYTES: usize = 1 << 20;
/// Candidates, the likelier first where two fit equally: text holds commas more often than tabs.
const SEPARATORS: [u8; 5] = [b'\t', 0x01, b'|', b';', b','];
/// Part of the lines that must agree on their number of fields.
const SHARE_MIN: f64 = 0.8;

/// A dialect and the preset that is nearest.
#[derive(Clone, Debug)]
pub(super) struct Guess {
    pub(super) dialect: Dialect,
    pub(super) preset: Preset,
    pub(super) is_given: bool,
    /// No separator cuts most lines into the same number of fields.
    pub(super) has_one_column: bool,
    /// Though there are some.
    pub(super) is_uneven: bool,
    /// Notes, a sentence each.
    pub(super) notes: Vec<String>,
}

impl Guess {
    fn new(dialect: Dialect, preset: Preset) -> Guess {
        let (is_given, has_one_column, is_uneven, notes) = (false, false, false, Vec::new());
        Guess { dialect, preset, is_given, has_one_column, is_uneven, notes }
    }

    /// A dialect that the user says.
    pub(super) fn given(dialect: Dialect) -> Guess {
        Guess { is_given: true, ..Guess::new(dialect, Preset::Mysql) }
    }
}

/// The ending of a file's name behind those of archives, in lower case.
pub(super) fn ending(path: &Path) -> Option<String> {
    let lower = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
    let outer = lower(path)?;
    match COMPRESSED.contains(&outer.as_str()) {
        true => lower(Path::new(path.file_stem()?)),
        false => Some(outer),
    }
}

/// The first lines of the first file, behind those that are skipped.
struct FirstLines<'a> {
    /// With the skipped lines.
    bytes: &'a [u8],
    lines: Lines,
    /// Without them.
    text: &'a [u8],
}

impl FirstLines<'_> {
    fn of(start: &Part, skip_lines: u64) -> FirstLines<'_> {
        let whole = start.is_end && start.bytes.len() <= TRIED_BYTES;
        let bytes = &start.bytes[..start.bytes.len().min(TRIED_BYTES)];
        let lines = Lines::of(bytes);
        let text = skip(bytes, skip_lines, lines);
        let text = if whole { text } else { whole_lines(text, lines) };
        FirstLines { bytes, lines, text }
    }
}

/// The first file, and what is known of its dialect.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstFile<'a> {
    pub(super) sample: &'a Sample,
    /// Lines above its rows.
    pub(super) skip_lines: u64,
    /// The separator of its fields.
    pub(super) separator: Option<u8>,
    /// The ending of its name.
    pub(super) ending: Option<&'a str>,
}

impl FirstFile<'_> {
    /// Finds its dialect.
    pub(super) fn guess(self) -> Guess {
        let Some(start) = self.sample.parts.first() else {
            return Guess { has_one_column: true, ..tab(false, Lines::Lf) };
        };
        self.separated().unwrap_or_else(|| {
            let FirstLines { lines, text, .. } = FirstLines::of(start, self.skip_lines);
            one_column(text, lines, self.ending)
        })
    }

    /// Its dialect; None where no separator cuts most lines into equally many fields.
    pub(super) fn separated(self) -> Option<Guess> {
        let start = self.sample.parts.first()?;
        let FirstLines { bytes, lines, text } = FirstLines::of(start, self.skip_lines);
        let mut best: Option<(Candidate, Shape)> = None;
        let candidates = self.separator.map_or(SEPARATORS.to_vec(), |known| vec![known]);
        for separator in candidates {
            let Some((candidate, shape)) = Candidate::of(separator, text, lines) else { continue };
            let is_better = best.as_ref().is_none_or(|(_, best)| {
                shape.share > best.share + 1e-9
                    || (shape.share > best.share - 1e-9 && shape.order() > best.order())
            });
            if is_better {
                best = Some((candidate, shape));
            }
        }
        let (candidate, shape) = best?;
        let mut guess = candidate.guess(&shape, lines, self.ending);
        if lines == Lines::Cr {
            guess.notes.push("lines end with a lone carriage return".to_owned());
        }
        if bytes.starts_with(BYTE_ORDER_MARK) && guess.preset == Preset::Mysql {
            // LOAD DATA would take the mark for data; a dialect of CSV readers leaves it out.
            let escaped_by = guess.dialect.escaped_by.filter(|_| candidate.escape);
            let fields_terminated_by = guess.dialect.fields_terminated_by;
            guess.dialect = Dialect { fields_terminated_by, escaped_by, ..Dialect::tsv() };
            guess.preset = Preset::Tsv;
        }
        Some(guess)
    }
}

/// The end of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    Lf,
    CrLf,
    Cr,
}

impl Lines {
    fn of(bytes: &[u8]) -> Lines {
        match bytes.iter().position(|&byte| byte == b'\n') {
            Some(at) if at > 0 && bytes[at - 1] == b'\r' => Lines::CrLf,
            Some(_) => Lines::Lf,
            None if bytes.contains(&b'\r') => Lines::Cr,
            None => Lines::Lf,
        }
    }

    fn terminator(self) -> &'static [u8] {
        match self {
            Lines::Lf => b"\n",
            Lines::CrLf => b"\r\n",
            Lines::Cr => b"\r",
        }
    }

    fn last_byte(self) -> u8 {
        if self == Lines::Cr { b'\r' } else { b'\n' }
    }
}

fn skip(bytes: &[u8], lines: u64, ends: Lines) -> &[u8] {
    let mut rest = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    for _ in 0..lines {
        let end = rest.iter().position(|&byte| byte == ends.last_byte());
        rest = end.map_or(&[], |end| &rest[end + 1..]);
    }
    rest
}

fn whole_lines(text: &[u8], ends: Lines) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte == ends.last_byte());
    &text[..end.map_or(text.len(), |end| end + 1)]
}

/// A separator with the quote and escape that fit it best.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    separator: u8,
    quote: Option<u8>,
    escape: bool,
}

#[cfg(test)]
thread_local! {
    /// Passes over all lines.
    pub(super) static SHAPES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The form of lines under a candidate.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    /// Fields that most lines have, and the part of the lines that do.
    fields: usize,
    share: f64,
    /// Quoted fields, and those among them whose quotes are in odd places.
    quoted: usize,
    dirty: usize,
    /// Every line has an empty last field.
    is_trailing: bool,
    /// Fields that are `\N`, and whether a backslash is there at all.
    nulls: usize,
    backslashes: bool,
}

impl Shape {
    /// How orderly quotes are: those of a writer, none, or such as mean nothing.
    fn order(&self) -> u8 {
        match (self.quoted, self.dirty) {
            (0, _) => 1,
            (_, 0) => 2,
            _ => 0,
        }
    }
}

impl Candidate {
    /// The best of a separator; None if it does not make fields of the lines.
    fn of(separator: u8, text: &[u8], lines: Lines) -> Option<(Candidate, Shape)> {
        if !text.contains(&separator) {
            return None;
        }
        let plain = Candidate { separator, quote: None, escape: false };
        let mut best = (plain, plain.shape(text, lines));
        for quote in [b'"', b'\''] {
            for escape in [false, true] {
                let candidate = Candidate { separator, quote: Some(quote), escape };
                let shape = candidate.shape(text, lines);
                let is_clean = shape.quoted > 0 && shape.dirty == 0;
                if is_clean && best.0.quote.is_none() && shape.share + 1e-9 >= best.1.share {
                    best = (candidate, shape);
                }
            }
        }
        if best.1.nulls > 0 || (best.0.quote.is_none() && separator == b'\t') {
            best.0.escape |= best.1.nulls > 0 || (best.1.backslashes && escapes(text));
            best.1 = best.0.shape(text, lines);
        }
        (best.1.fields > 1 && best.1.share >= SHARE_MIN).then_some(best)
    }

    fn dialect(self, lines: Lines) -> Dialect {
        let any_newline = lines != Lines::Cr;
        Dialect {
            fields_terminated_by: vec![self.separator],
            enclosed_by: self.quote,
            optionally_enclosed: self.quote.is_some(),
            escaped_by: self.escape.then_some(b'\\'),
            lines_terminated_by: if any_newline { b"\n".to_vec() } else { b"\r".to_vec() },
            any_newline,
            ..Dialect::mysql()
        }
    }

    fn shape(self, text: &[u8], lines: Lines) -> Shape {
        #[cfg(test)]
        SHAPES.set(SHAPES.get() + 1);
        let index = self.dialect(lines).index(text);
        let rows = index.rows(text);
        let mut shape = Shape { is_trailing: !rows.is_empty(), ..Shape::default() };
        let (mut counts, mut filled): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for row in rows.iter() {
            let count = row.field_count();
            if count == 1 && row.raw_field(0).is_empty() {
                // A blank line is refused, whatever separates fields.
                continue;
            }
            let is_trailing = count > 1 && row.raw_field(count - 1).is_empty();
            counts.push(count);
            filled.push(count - usize::from(is_trailing));
            shape.is_trailing &= is_trailing;
            for raw in (0..count).map(|field| row.raw_field(field)) {
                shape.backslashes |= raw.contains(&b'\\');
                shape.nulls += usize::from(raw == br"\N");
                if raw.first() == Some(&self.quote.unwrap_or(b'"')) {
                    shape.quoted += 1;
                    shape.dirty += usize::from(!self.is_clean(raw));
                }
            }
        }
        (shape.fields, shape.share) = most(counts);
        if shape.share < SHARE_MIN {
            // Rows may end with a separator that the header has not.
            (shape.fields, shape.share) = most(filled);
        }
        shape
    }

    /// True if the quotes of a quoted field are where a writer of quotes puts them.
    fn is_clean(self, raw: &[u8]) -> bool {
        let Some(quote) = self.quote else { return false };
        let [_, inside @ .., last] = raw else { return false };
        let mut rest = inside;
        while let Some(at) = rest.iter().position(|&byte| byte == quote || byte == b'\\') {
            let is_pair = rest.get(at + 1) == Some(&quote) && rest[at] == quote;
            let is_escaped = rest[at] == b'\\' && self.escape;
            rest = match (rest[at] == quote, is_pair || is_escaped) {
                (_, true) => rest.get(at + 2..).unwrap_or_default(),
                (true, false) => return false,
                (false, false) => &rest[at + 1..],
            };
        }
        *last == quote
    }

    fn guess(self, shape: &Shape, lines: Lines, ending: Option<&str>) -> Guess {
        let dialect = Dialect { trailing_separator: false, ..self.dialect(lines) };
        if self.quote.is_some() || matches!(self.separator, b',' | b';') {
            // Quotes may come in rows that were not seen; a single quote may be an apostrophe.
            let enclosed_by = self.quote.or(Some(b'"'));
            let dialect = Dialect { enclosed_by, optionally_enclosed: true, ..dialect };
            return Guess::new(dialect, Preset::Csv);
        }
        if self.separator == b'\t' || self.separator == 0x01 {
            let is_mysql = self.escape
                || (self.separator == 0x01)
                || (!shape.backslashes && ending != Some("tsv") && lines == Lines::Lf);
            let mut guess = tab(is_mysql, lines);
            guess.dialect.fields_terminated_by = vec![self.separator];
            return guess;
        }
        let is_tbl = self.separator == b'|' && shape.is_trailing && !self.escape;
        if is_tbl && lines != Lines::Cr {
            return Guess::new(Dialect::tbl(), Preset::Tbl);
        }
        Guess::new(dialect, Preset::Tsv)
    }
}

/// The commonest number of fields, and the part of the lines that have it.
fn most(mut counts: Vec<usize>) -> (usize, f64) {
    counts.sort_unstable();
    let most = counts.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).unwrap_or_default();
    (most.first().copied().unwrap_or(0), most.len() as f64 / counts.len().max(1) as f64)
}

/// True if backslashes stand only where LOAD DATA's writers put them.
fn escapes(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
        if !rest.get(at + 1).is_some_and(|next| b"\\\t\n0Nnrtb".contains(next)) {
            return false;
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    true
}

/// Tabs, with escapes as LOAD DATA has them or without.
fn tab(is_mysql: bool, lines: Lines) -> Guess {
    if is_mysql {
        let lines_terminated_by = lines.terminator().to_vec();
        let dialect = Dialect { lines_terminated_by, ..Dialect::mysql() };
        return Guess::new(dialect, Preset::Mysql);
    }
    let mut dialect = Dialect::tsv();
    if lines == Lines::Cr {
        dialect.any_newline = false;
        dialect.lines_terminated_by = b"\r".to_vec();
    }
    Guess::new(dialect, Preset::Tsv)
}

/// Lines that no separator cuts.
fn one_column(text: &[u8], lines: Lines, ending: Option<&str>) -> Guess {
    let candidate = Candidate { separator: b',', quote: Some(b'"'), escape: false };
    let shape = candidate.shape(text, lines);
    if shape.fields == 1 && shape.share == 1.0 && shape.dirty == 0 && lines != Lines::Cr {
        let is_quoted = shape.quoted > 0 || ending == Some("csv");
        if is_quoted {
            return Guess { has_one_column: true, ..Guess::new(Dialect::csv(), Preset::Csv) };
        }
    }
    // A whole line is one field, whatever is in it.
    let is_table = ending == Some("csv") || ending == Some("tsv");
    let is_uneven = is_table && text.iter().any(|byte| b",;\t|".contains(byte));
    let mut guess = Guess { has_one_column: true, is_uneven, ..tab(false, lines) };
    if is_table && !is_uneven {
        guess.notes.push("the lines have no separator, so each is one field".to_owned());
    }
    guess
}
