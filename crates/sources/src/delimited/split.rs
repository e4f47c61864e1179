//! Where to cut the input: after the last whole record of what was read.
//!
//! Without quotes a terminator is one wherever it stands unescaped, so the last one is searched
//! from the back. With quotes it depends on all bytes since the start of the record: every byte is
//! looked at once, in order, 64 at a time.

use simd::{Block, Isa};

use super::blocks::{BlockRules, Blocks};
use super::dialect::Dialect;
use super::lexer::{Cursor, Ends, Lexer, Sink, State};
use crate::json::Objects;

/// Finds the last record end in a growing buffer that begins at a record start.
#[derive(Clone, Debug)]
pub(crate) struct Splitter {
    lexer: Lexer,
    how: Cut,
    isa: Isa,
    cursor: Cursor,
    /// End of the last whole record found so far; 0 if there is none.
    cut: usize,
}

#[derive(Clone, Debug)]
enum Cut {
    /// Search from the back.
    Backward,
    /// Follow the lexer, by blocks where the dialect has a plan.
    Forward(Option<BlockRules>),
    /// Follow the braces of JSON.
    Objects(Objects),
}

impl Splitter {
    pub(crate) fn new(dialect: &Dialect, isa: Isa) -> Splitter {
        let lexer = Lexer::new(dialect);
        let how = match dialect.json {
            Some(json) if !json.is_lines => Cut::Objects(Objects::default()),
            _ if lexer.ends_are_local() => Cut::Backward,
            _ => Cut::Forward(BlockRules::new(&lexer, isa)),
        };
        Splitter { how, isa, cursor: lexer.cursor(0), cut: 0, lexer }
    }

    /// Looks at what was added to `bytes` since the last call; returns the end of the last whole
    /// record, 0 if there is none. `last`: the input ends with `bytes`.
    pub(crate) fn advance(&mut self, bytes: &[u8], last: bool) -> usize {
        match &mut self.how {
            Cut::Backward => self.search_back(bytes),
            Cut::Objects(objects) => {
                let cut = &mut self.cut;
                objects.go_over(bytes, self.cursor.position, |_, end| *cut = end);
                self.cursor.position = bytes.len();
            }
            Cut::Forward(plan) => {
                let plan = *plan;
                let mut sink =
                    LastRow { cut: self.cut, terminator_size: self.lexer.terminator.len() };
                if let Some(plan) = plan {
                    self.isa.dispatch(Blocks {
                        plan,
                        lexer: &self.lexer,
                        cursor: &mut self.cursor,
                        bytes,
                        last,
                        sink: &mut sink,
                    });
                }
                if plan.is_none() || last {
                    self.lexer.run(&mut self.cursor, bytes, bytes.len(), last, &mut sink);
                }
                self.cut = sink.cut;
            }
        }
        self.cut
    }

    /// The first `size` bytes of the buffer are gone; `size` was returned by `advance`.
    pub(crate) fn consume(&mut self, size: usize) {
        self.cursor.position -= size;
        self.cut -= size;
        if let Cut::Objects(objects) = &mut self.how {
            objects.consume(size);
        }
    }

    /// Where the record of JSON begins that is not closed after everything was advanced over, or the text whose
    /// array is not.
    pub(crate) fn open_record(&self) -> Option<usize> {
        match &self.how {
            Cut::Objects(objects) if objects.is_open() => Some(objects.open_record()),
            _ => None,
        }
    }

    /// Where the quote opened that is not closed after everything was advanced over, in `bytes`.
    pub(crate) fn open_quote(&self, bytes: &[u8]) -> Option<usize> {
        if self.cursor.state != State::Quoted {
            return None;
        }
        let mut sink = LastQuote::default();
        let mut cursor = self.lexer.cursor(self.cut);
        self.lexer.run(&mut cursor, bytes, bytes.len(), true, &mut sink);
        sink.quote
    }

    /// True if the open quote is closed nowhere, because one before it is closed nowhere up to the end of the file:
    /// both mean the same by what is behind a byte that begins no pair.
    pub(crate) fn stays_open(&self, bytes: &[u8]) -> bool {
        if self.lexer.counts_fields() {
            return false;
        }
        let Some(quote) = self.open_quote(bytes) else { return false };
        let is_plain =
            |&byte: &u8| Some(byte) != self.lexer.quote && Some(byte) != self.lexer.escape;
        let behind = bytes.get(quote + 1..self.cursor.position).unwrap_or_default();
        behind.iter().any(is_plain)
    }

    /// The end of the line that a quote opened in, which is closed nowhere; none where lines have no
    /// ends of their own, or this one has none yet (`last`: the input ends with `bytes`).
    pub(crate) fn line_end(&self, bytes: &[u8], quote: usize, last: bool) -> Option<usize> {
        if self.lexer.counts_fields() {
            return None;
        }
        self.lexer.line_size(&bytes[quote..], last).map(|size| quote + size)
    }

    /// As new, at the start of a record.
    pub(crate) fn begin_anew(&mut self) {
        self.cursor = self.lexer.cursor(0);
        self.cut = 0;
        if let Cut::Objects(objects) = &mut self.how {
            *objects = Objects::default();
        }
    }

    /// The last unescaped terminator that was not there at the last call. `cursor.position` is how
    /// far was looked.
    fn search_back(&mut self, bytes: &[u8]) {
        let terminator = &self.lexer.terminator;
        // A terminator may begin in what was seen already, and end in what is new.
        let seen = (self.cursor.position + 1).saturating_sub(terminator.len()).max(self.cut);
        let mut end = bytes.len();
        while let Some(found) = rfind(&bytes[seen..end], terminator) {
            let at = seen + found;
            if !self.lexer.is_escaped(bytes, at, self.cut) {
                self.cut = at + terminator.len();
                break;
            }
            // No terminator overlaps this one, but one may still begin before it.
            end = at;
        }
        self.cursor.position = bytes.len();
    }
}

/// Last place of `needle` in `bytes`.
fn rfind(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    match needle {
        &[byte] => memchr::memrchr(byte, bytes),
        _ => memchr::memmem::rfind(bytes, needle),
    }
}

impl Lexer {
    /// True if a line terminator can be told from the few bytes around it: there are no quotes and no prefix,
    /// records are not counted, terminators cannot overlap each other or a separator, and the escape is in
    /// neither.
    fn ends_are_local(&self) -> bool {
        let (separator, terminator) = (&self.separator, &self.terminator);
        let overlaps_itself =
            (1..terminator.len()).any(|at| terminator.starts_with(&terminator[at..]));
        let starts_in_separator = (1..separator.len()).any(|at| {
            let tail = &separator[at..];
            tail.starts_with(terminator) || terminator.starts_with(tail)
        });
        let escaped = |bytes: &[u8]| self.escape.is_some_and(|escape| bytes.contains(&escape));
        self.quote.is_none()
            && !self.counts_fields()
            && self.prefix.is_empty()
            && !overlaps_itself
            && !starts_in_separator
            && !escaped(separator)
            && !escaped(terminator)
    }

    /// True if the byte at `at` has an escape before it that is not escaped itself. `floor` is a
    /// record start at or before it.
    fn is_escaped(&self, bytes: &[u8], at: usize, floor: usize) -> bool {
        let Some(escape) = self.escape else {
            return false;
        };
        let run = bytes[floor..at].iter().rev().take_while(|&&byte| byte == escape).count();
        run % 2 == 1
    }
}

/// Remembers the end of the last row.
struct LastRow {
    cut: usize,
    terminator_size: usize,
}

impl Sink for LastRow {
    fn record(&mut self, _start: usize) {}

    fn field(&mut self, _end: usize, _flags: u32) {}

    fn row(&mut self, end: usize) {
        self.cut = end;
    }

    #[inline(always)]
    fn block<B: Block>(&mut self, block: &Ends<'_>) {
        if block.rows != 0 {
            let bit = 63 - block.rows.leading_zeros() as usize;
            self.cut = block.base + bit + self.terminator_size;
        }
    }
}

/// Remembers the last quote that opened.
#[derive(Default)]
struct LastQuote {
    quote: Option<usize>,
}

impl Sink for LastQuote {
    fn record(&mut self, _start: usize) {}

    fn quote(&mut self, position: usize) {
        self.quote = Some(position);
    }

    fn field(&mut self, _end: usize, _flags: u32) {}

    fn row(&mut self, _end: usize) {}

    fn block<B: Block>(&mut self, _block: &Ends<'_>) {}
}
