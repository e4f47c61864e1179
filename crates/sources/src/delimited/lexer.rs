//! The rules of a delimited file, byte by byte: exact for every dialect.
//!
//! Stops only between tokens (a byte of text, an escape and what it escapes, a pair of quotes, a
//! closing quote with the terminator after it), so that a [`Cursor`] is all there is to remember.
//! The SIMD path does whole blocks of well-behaved input, and hands this one the rest: the last
//! bytes of a chunk, blocks with quotes in odd places, dialects with long separators.

mod fixed_width;

use simd::Block;
use values::MultiByte;

use self::fixed_width::FixedWidth;
use crate::batch::text::{DECODE, QUOTED};
use crate::delimited::dialect::Dialect;

/// Bytes that are looked at first for the end of one record.
const FIRST_BYTES: usize = 1 << 10;

/// The special bytes of a dialect.
#[derive(Clone, Debug)]
pub(crate) struct Lexer {
    pub(crate) separator: Vec<u8>,
    pub(crate) terminator: Vec<u8>,
    pub(crate) prefix: Vec<u8>,
    pub(crate) quote: Option<u8>,
    pub(crate) escape: Option<u8>,
    pub(crate) any_newline: bool,
    /// Rows of fixed size; nothing of the above but prefix, terminator and escape counts then.
    pub(crate) fixed: Option<FixedWidth>,
    /// Fields that make a record where nothing ends it; 0 where something does.
    pub(crate) counted: u32,
    /// For each field of a record, whether it is read by characters; empty where that is the same.
    pub(crate) by_character: Vec<bool>,
    /// Each 0xff brings a NUL along: see [`crate::delimited::dialect`].
    pub(crate) ghost: bool,
    pub(crate) charset: MultiByte,
    /// Bytes that a token other than one byte of text may start with, outside quotes.
    stops: Box<[bool; 256]>,
    /// The same inside quotes.
    quoted_stops: Box<[bool; 256]>,
    /// Bytes that must be there to tell which token it is.
    lookahead: usize,
}

/// Where the lexer is, between two tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) position: usize,
    pub(crate) state: State,
    /// `DECODE` and `QUOTED` of the field so far.
    pub(crate) flags: u32,
    /// Fields of the record before this one. Not counted by the SIMD path.
    pub(crate) field: u32,
}

/// The construct that the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Text before LINES STARTING BY.
    BeforePrefix,
    /// A field that has no byte yet: a quote opens here.
    FieldStart,
    /// A field not in quotes, after its first byte.
    Unquoted,
    /// Inside quotes.
    Quoted,
    /// After the last field there is a column for, where fields are read by characters: the
    /// server skips to the end of the line, quotes or not.
    Rest,
}

/// The next item on the way to the end of a line.
enum Skip {
    /// Its terminator, of so many bytes.
    End(usize),
    /// So many bytes of text.
    Text(usize),
}

/// Takes what the lexer finds, in order.
pub(crate) trait Sink {
    /// A record begins: its prefix is at `start`. Only for dialects with LINES STARTING BY.
    fn record(&mut self, start: usize);
    /// A quote opens at `position`. Not told by the SIMD path.
    fn quote(&mut self, _position: usize) {}
    /// A field ends before `end`.
    fn field(&mut self, end: usize, flags: u32);
    /// A row ends before `end`, terminator included; its last field was told before.
    fn row(&mut self, end: usize);
    /// The fields that end in one 64-byte block.
    fn block<B: Block>(&mut self, block: &Ends<'_>);
}

/// Field and row ends in the 64 bytes from `base`; bit 0 is the first byte.
pub(crate) struct Ends<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) base: usize,
    /// Bytes that end a field: separators and first bytes of terminators.
    pub(crate) fields: u64,
    /// The terminators among them.
    pub(crate) rows: u64,
    /// The field ends whose field needs decoding.
    pub(crate) decode: u64,
    /// The field ends whose field is quoted.
    pub(crate) quoted: u64,
}

impl Lexer {
    pub(crate) fn new(dialect: &Dialect) -> Lexer {
        let separator = dialect.fields_terminated_by.clone();
        let is_counted = dialect.is_counted();
        let terminator = match is_counted {
            true => Vec::new(),
            false => dialect.lines_terminated_by.clone(),
        };
        // What is not known yet does not matter yet: one field more than any record has.
        let fields = dialect.fields.len() as u32;
        let by_character: Vec<bool> = match dialect.is_read_by_character() {
            true => dialect.fields.iter().map(|field| field.is_text).collect(),
            false => Vec::new(),
        };
        let ghost = dialect.has_ghosts();
        let mut stops = Box::new([false; 256]);
        let newline_start = if dialect.any_newline { Some(b'\r') } else { None };
        let ghost_start = if ghost { Some(0xff) } else { None };
        let first = [separator.first(), terminator.first(), newline_start.as_ref()];
        let first = first.into_iter().flatten().copied();
        for byte in first.chain(dialect.escaped_by).chain(ghost_start) {
            stops[usize::from(byte)] = true;
        }
        let mut quoted_stops = Box::new([false; 256]);
        for byte in dialect.enclosed_by.iter().chain(&dialect.escaped_by) {
            quoted_stops[usize::from(*byte)] = true;
        }
        if !by_character.is_empty() {
            stops[0x80..].fill(true);
            quoted_stops[0x80..].fill(true);
        }
        let longest = separator.len().max(terminator.len()).max(dialect.lines_starting_by.len());
        Lexer {
            separator,
            terminator,
            prefix: dialect.lines_starting_by.clone(),
            quote: dialect.enclosed_by,
            escape: dialect.escaped_by,
            any_newline: dialect.any_newline,
            fixed: dialect.is_fixed().then(|| FixedWidth::new(&dialect.fields)),
            counted: if is_counted { fields.max(1) } else { 0 },
            by_character,
            ghost,
            charset: dialect.charset,
            stops,
            quoted_stops,
            lookahead: longest.max(2).max(dialect.charset.char_bytes_max()) + 1,
        }
    }

    /// True if the fields of a record, or their bytes, mean something by their number: only the
    /// lexer itself counts them.
    pub(crate) fn counts_fields(&self) -> bool {
        self.counted > 0 || !self.by_character.is_empty() || self.fixed.is_some() || self.ghost
    }

    /// The state at the first byte of a record.
    pub(crate) fn record_start(&self) -> State {
        if self.prefix.is_empty() { State::FieldStart } else { State::BeforePrefix }
    }

    /// A cursor at the first byte of a record.
    pub(crate) fn cursor(&self, position: usize) -> Cursor {
        Cursor { position, state: self.record_start(), flags: 0, field: 0 }
    }

    /// Reads tokens until the cursor is at or after `stop`. Unless the input ends with `bytes`
    /// (`last`), stops earlier where the bytes to come could change what a token is.
    pub(crate) fn run<S: Sink>(
        &self,
        cursor: &mut Cursor,
        bytes: &[u8],
        stop: usize,
        last: bool,
        sink: &mut S,
    ) {
        let stop = if last {
            stop.min(bytes.len())
        } else {
            stop.min((bytes.len() + 1).saturating_sub(self.lookahead))
        };
        while cursor.position < stop {
            match cursor.state {
                State::FieldStart if self.fixed.is_some() => {
                    if !self.fixed_row(cursor, bytes, last, sink) {
                        return;
                    }
                }
                State::BeforePrefix => self.seek_prefix(cursor, bytes, last, sink),
                State::FieldStart if self.quote == Some(bytes[cursor.position]) => {
                    sink.quote(cursor.position);
                    cursor.position += 1;
                    cursor.state = State::Quoted;
                    cursor.flags = QUOTED;
                }
                State::FieldStart => {
                    cursor.state = State::Unquoted;
                    cursor.flags = 0;
                }
                State::Unquoted => self.unquoted(cursor, bytes, stop, sink),
                State::Quoted => self.quoted(cursor, bytes, stop, sink),
                State::Rest => self.rest(cursor, bytes, stop, sink),
            }
        }
    }

    /// Size of the first line of `bytes` as IGNORE n LINES counts: up to an unescaped terminator,
    /// quotes or not. None if it does not end in `bytes` and more may come.
    ///
    /// Source: `READ_INFO::next_line` in the server's `sql/sql_load.cc`.
    pub(crate) fn line_size(&self, bytes: &[u8], last: bool) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() && (last || at + self.lookahead <= bytes.len()) {
            match self.skip(&bytes[at..]) {
                Skip::End(size) => return Some(at + size),
                Skip::Text(size) => at += size,
            }
        }
        last.then_some(bytes.len())
    }

    /// The server's reading of the next bytes when it skips to the end of a line.
    ///
    /// Source: `READ_INFO::next_line` in the server's `sql/sql_load.cc`.
    fn skip(&self, rest: &[u8]) -> Skip {
        let size = self.charset.skip_size(rest);
        if size == 1 && self.escape == Some(rest[0]) {
            return Skip::Text(2);
        }
        match self.line_end(rest) {
            Some(end) if size == 1 || rest[..size] == self.terminator[..size.min(end)] => {
                Skip::End(end)
            }
            _ => Skip::Text(size),
        }
    }

    /// Bytes of the line that `bytes` begins with, without its end and with it; None if nothing ends it.
    pub(crate) fn line_ends(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let mut at = 0;
        while at < bytes.len() {
            match self.skip(&bytes[at..]) {
                Skip::End(size) => return Some((at, at + size)),
                Skip::Text(size) => at += size,
            }
        }
        None
    }

    /// Size of the first record of `bytes`, terminator included. None if there is none, or if it
    /// does not end in `bytes` and more may come.
    pub(crate) fn record_size(&self, bytes: &[u8], last: bool) -> Option<usize> {
        let mut sink = FirstRow::default();
        let mut cursor = self.cursor(0);
        let mut stop = 0;
        while stop < bytes.len() && sink.end.is_none() {
            // Most end soon, and what is behind need not be looked at.
            stop = (stop * 2).max(FIRST_BYTES).min(bytes.len());
            self.run(&mut cursor, bytes, stop, last, &mut sink);
        }
        sink.end.or((last && !bytes.is_empty()).then_some(bytes.len()))
    }

    /// The end of the last record of `bytes`, which begin as one does; None where lines do not end records.
    pub(crate) fn last_end(&self, bytes: &[u8]) -> Option<LastEnd> {
        if self.counts_fields() || !self.prefix.is_empty() {
            return None;
        }
        let (mut cursor, mut sink) = (self.cursor(0), LastRow::default());
        self.run(&mut cursor, bytes, bytes.len(), true, &mut sink);
        let LastRow { field, end } = sink;
        Some(match end == bytes.len() {
            true => LastEnd { field, has_line_end: field.0 < end },
            false => LastEnd { field: (bytes.len(), cursor.flags), has_line_end: false },
        })
    }

    /// Skips what is before the prefix, over line ends too.
    fn seek_prefix<S: Sink>(&self, cursor: &mut Cursor, bytes: &[u8], last: bool, sink: &mut S) {
        match memchr::memmem::find(&bytes[cursor.position..], &self.prefix) {
            Some(found) => {
                let start = cursor.position + found;
                sink.record(start);
                cursor.position = start + self.prefix.len();
                cursor.state = State::FieldStart;
            }
            None if last => cursor.position = bytes.len(),
            None => cursor.position = bytes.len() + 1 - self.prefix.len(),
        }
    }

    /// Tokens of a field not in quotes, up to its end or `stop`.
    fn unquoted<S: Sink>(&self, cursor: &mut Cursor, bytes: &[u8], stop: usize, sink: &mut S) {
        while cursor.position < stop {
            let plain = plain_size(&bytes[cursor.position..stop], &self.stops);
            cursor.position += plain;
            if cursor.position == stop {
                return;
            }
            let rest = &bytes[cursor.position..];
            let byte = rest[0];
            if self.ghost && byte == 0xff {
                cursor.flags |= DECODE;
            }
            // An escape that is the quote escapes only itself.
            let escapes = || self.escape != self.quote || rest.get(1).is_none_or(|&b| b == byte);
            if self.escape == Some(byte) && escapes() {
                cursor.flags |= DECODE;
                cursor.position += rest.len().min(2);
            } else if let Some(size) = self.line_end(rest) {
                return self.end_row(cursor, cursor.position, size, sink);
            } else if self.separates(rest) {
                return self.end_field(cursor, cursor.position, sink);
            } else {
                cursor.position += self.token_size(cursor.field, rest);
            }
        }
    }

    /// Bytes of text that are read at once.
    fn token_size(&self, field: u32, rest: &[u8]) -> usize {
        match self.by_character.get(field as usize) {
            Some(true) => self.charset.token_size(rest),
            _ => 1,
        }
    }

    /// Tokens of a quoted field, up to its end or `stop`.
    fn quoted<S: Sink>(&self, cursor: &mut Cursor, bytes: &[u8], stop: usize, sink: &mut S) {
        while cursor.position < stop {
            let plain = plain_size(&bytes[cursor.position..stop], &self.quoted_stops);
            cursor.position += plain;
            if cursor.position == stop {
                return;
            }
            let rest = &bytes[cursor.position..];
            let byte = Some(rest[0]);
            if self.escape == byte && self.escape != self.quote {
                cursor.flags |= DECODE;
                cursor.position += rest.len().min(2);
            } else if self.quote == byte {
                let after = &rest[1..];
                let end = cursor.position + 1;
                if after.first().copied() == byte {
                    cursor.flags |= DECODE;
                    cursor.position += 2;
                } else if after.is_empty() && self.escape == self.quote {
                    // Not a quoted field to the server, which looks for what it escapes.
                    cursor.flags = DECODE;
                    return self.end_row(cursor, end, 0, sink);
                } else if after.is_empty() {
                    return self.end_row(cursor, end, 0, sink);
                } else if let Some(size) = self.line_end(after) {
                    return self.end_row(cursor, end, size, sink);
                } else if self.separates(after) {
                    return self.end_field(cursor, end, sink);
                } else {
                    cursor.flags |= DECODE;
                    cursor.position += self.token_size(cursor.field, rest);
                }
            } else {
                cursor.position += self.token_size(cursor.field, rest);
            }
        }
    }

    /// Reads the text after the last field with a column: one field more, perhaps empty.
    fn rest<S: Sink>(&self, cursor: &mut Cursor, bytes: &[u8], stop: usize, sink: &mut S) {
        while cursor.position < stop {
            match self.skip(&bytes[cursor.position..]) {
                Skip::End(size) => return self.end_row(cursor, cursor.position, size, sink),
                Skip::Text(size) => {
                    cursor.position = (cursor.position + size).min(bytes.len());
                }
            }
        }
    }

    /// Size of the line terminator `rest` begins with.
    fn line_end(&self, rest: &[u8]) -> Option<usize> {
        if self.any_newline {
            return match rest {
                [b'\n', ..] => Some(1),
                [b'\r', b'\n', ..] => Some(2),
                _ => None,
            };
        }
        let is_end = !self.terminator.is_empty() && rest.starts_with(&self.terminator);
        is_end.then_some(self.terminator.len())
    }

    fn separates(&self, rest: &[u8]) -> bool {
        !self.separator.is_empty() && rest.starts_with(&self.separator)
    }

    fn end_field<S: Sink>(&self, cursor: &mut Cursor, end: usize, sink: &mut S) {
        sink.field(end, cursor.flags);
        let position = end + self.separator.len();
        let field = cursor.field + 1;
        if field == self.counted {
            sink.row(position);
            *cursor = self.cursor(position);
            return;
        }
        let is_rest = !self.by_character.is_empty() && field as usize >= self.by_character.len();
        let state = if is_rest { State::Rest } else { State::FieldStart };
        *cursor = Cursor { position, state, flags: 0, field };
    }

    fn end_row<S: Sink>(&self, cursor: &mut Cursor, end: usize, size: usize, sink: &mut S) {
        sink.field(end, cursor.flags);
        sink.row(end + size);
        *cursor = self.cursor(end + size);
    }
}

/// Bytes before the first stop.
#[inline]
fn plain_size(bytes: &[u8], stops: &[bool; 256]) -> usize {
    bytes.iter().position(|&byte| stops[usize::from(byte)]).unwrap_or(bytes.len())
}

/// The end of the last record of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastEnd {
    /// End of its last field, and `DECODE` and `QUOTED` of that.
    pub(crate) field: (usize, u32),
    pub(crate) has_line_end: bool,
}

/// Remembers the ends of the last row and of its last field.
#[derive(Default)]
struct LastRow {
    field: (usize, u32),
    end: usize,
}

impl Sink for LastRow {
    fn record(&mut self, _start: usize) {}

    fn field(&mut self, end: usize, flags: u32) {
        self.field = (end, flags);
    }

    fn row(&mut self, end: usize) {
        self.end = end;
    }

    fn block<B: Block>(&mut self, _block: &Ends<'_>) {}
}

/// Remembers the end of the first row.
#[derive(Default)]
struct FirstRow {
    end: Option<usize>,
}

impl Sink for FirstRow {
    fn record(&mut self, _start: usize) {}

    fn field(&mut self, _end: usize, _flags: u32) {}

    fn row(&mut self, end: usize) {
        self.end.get_or_insert(end);
    }

    fn block<B: Block>(&mut self, _block: &Ends<'_>) {}
}
