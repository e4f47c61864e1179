//! Tuples byte by byte and block by block: what is inside quotes, where fields and tuples end.
//!
//! ```text
//! bytes    (1,'a,(b',NULL),(2,'it''s',0)
//! inside   ...######............######...   quotes undone by parity, doubled ones too
//! tuple    ##############...#############    parity of the parentheses that are not inside
//! ends     ..#......#....#..#.......#..#.    commas and closing parentheses in a tuple
//! ```
//!
//! A block of 64 bytes that holds anything else outside of quotes than literals, commas, white
//! space and parentheses that take turns, is read byte by byte: comments, names in backquotes, the
//! end of a statement, functions. Both ways carry the same [`Cursor`], between any two bytes.
//!
//! Source: `lex_one_token` and `get_text` in the server's `sql/sql_lex.cc`.

use simd::{Block, Isa, Kernel, after_any, escaped_bytes};
use values::MultiByte;

use crate::syntax::Syntax;

/// Bytes that must be there to tell what a byte outside of quotes means.
const LOOKAHEAD: usize = 3;

/// The rules by which the text of tuples is walked over.
#[derive(Clone, Debug)]
pub struct Walk {
    backslash_escapes: bool,
    ansi_quotes: bool,
    charset: MultiByte,
    /// True if a backslash may be part of a longer character: no blocks then.
    by_character: bool,
}

/// Where a walk is, between two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The next byte.
    pub position: usize,
    /// Parentheses that are open.
    pub depth: u32,
    /// The quote that is open; 0 outside.
    pub quote: u8,
    /// The comment that is open.
    pub comment: Comment,
    /// A backslash inside quotes stands before.
    pub escaped: bool,
    /// The quote that the byte before closed; 0 if it closed none.
    pub after_close: u8,
    /// A field starts here.
    pub at_start: bool,
    /// `DECODE`, `QUOTED` and `OTHER` of the field so far.
    pub flags: u32,
}

/// Flag of a field: it is more than a number or a string without escapes.
pub const DECODE: u32 = simd::FLAGS[0];
/// Flag of a field: it is one string.
pub const QUOTED: u32 = simd::FLAGS[1];
/// Flag of a field that is neither one number nor one string: QUOTED does not count then.
const OTHER: u32 = 1;

/// The report of a field with these flags.
fn told(flags: u32) -> u32 {
    if flags & OTHER != 0 { DECODE } else { flags }
}

/// A comment that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comment {
    /// None.
    None,
    /// To the end of the line.
    Line,
    /// To `*/`.
    Block,
}

/// Why a walk stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The bytes, or those that can be told without more.
    End,
    /// A semicolon between tuples; the cursor is after it.
    Statement,
    /// Something else between or in tuples, which only the server understands; the cursor is at it.
    NotPlain(&'static str),
}

/// Takes what the walk finds, in order.
pub trait TupleSink {
    /// True if fields are reported.
    const FIELDS: bool;
    /// A tuple opens at `at`.
    fn open(&mut self, at: usize);
    /// A field ends before `end`.
    fn field(&mut self, end: usize, flags: u32);
    /// A tuple ends before `end`, its parenthesis included; its last field was told before.
    fn close(&mut self, end: usize);
    /// In a field stands what only a session can tell: a variable, or something in parentheses of
    /// its own, a function or a subselect.
    fn asks(&mut self) {}
    /// Reports the findings of one block.
    fn block<B: Block>(&mut self, found: &BlockMasks);
}

/// Tuples in the 64 bytes from `base`; bit 0 is the first byte.
pub struct BlockMasks {
    /// The byte that bit 0 is.
    pub base: usize,
    /// Opening parentheses of tuples.
    pub opens: u64,
    /// Closing ones.
    pub closes: u64,
    /// Bytes that end a field: commas in tuples, and `closes`.
    pub ends: u64,
    /// The ends whose field is more than a number or a string without escapes.
    pub decode: u64,
    /// The ends whose field is one string.
    pub quoted: u64,
}

impl Cursor {
    /// Between tuples.
    pub fn new(position: usize) -> Cursor {
        Cursor {
            position,
            depth: 0,
            quote: 0,
            comment: Comment::None,
            escaped: false,
            after_close: 0,
            at_start: false,
            flags: 0,
        }
    }

    /// True if nothing is open.
    pub fn is_between(&self) -> bool {
        self.depth == 0 && self.quote == 0 && self.comment != Comment::Block
    }
}

impl Walk {
    /// Those of a session.
    pub fn new(syntax: Syntax) -> Walk {
        Walk {
            backslash_escapes: !syntax.no_backslash_escapes,
            ansi_quotes: syntax.ansi_quotes,
            charset: syntax.characters,
            by_character: syntax.hides_ascii(),
        }
    }

    /// Reads on until there is a reason to stop, block by block where these instructions have
    /// blocks; `last` as in [`Walk::bytes`].
    pub fn run<S: TupleSink>(
        &self,
        isa: Isa,
        cursor: &mut Cursor,
        bytes: &[u8],
        last: bool,
        sink: &mut S,
    ) -> Stop {
        if !self.by_character {
            let blocks = Blocks { walk: self, cursor: &mut *cursor, bytes, last, sink: &mut *sink };
            match isa.dispatch(blocks) {
                None | Some(Stop::End) => {}
                Some(stop) => return stop,
            }
        }
        self.bytes(cursor, bytes, bytes.len(), last, sink)
    }

    /// Reads bytes one by one until the cursor is at or after `stop`, or there is a reason to stop
    /// earlier. Unless the input ends with `bytes` (`last`), leaves the last few for later.
    fn bytes<S: TupleSink>(
        &self,
        cursor: &mut Cursor,
        bytes: &[u8],
        stop: usize,
        last: bool,
        sink: &mut S,
    ) -> Stop {
        let stop = self.stop(bytes, stop, last);
        while cursor.position < stop {
            if !self.is_code(cursor, bytes) {
                continue;
            }
            match self.code(cursor, bytes, sink) {
                Stop::End => {}
                stop => return stop,
            }
        }
        Stop::End
    }

    /// Goes on to after the semicolon that ends a statement, whatever it holds; false if it is not
    /// in `bytes`.
    pub fn tail(&self, cursor: &mut Cursor, bytes: &[u8], last: bool) -> bool {
        let stop = self.stop(bytes, bytes.len(), last);
        while cursor.position < stop {
            if !self.is_code(cursor, bytes) {
                continue;
            }
            let rest = &bytes[cursor.position..];
            match rest[0] {
                quote @ (b'\'' | b'"' | b'`') => cursor.quote = quote,
                b';' => {
                    *cursor = Cursor::new(cursor.position + 1);
                    return true;
                }
                _ => {
                    if let Some((comment, size)) = comment(rest) {
                        cursor.comment = comment;
                        cursor.position += size;
                        continue;
                    }
                }
            }
            cursor.position += 1;
        }
        false
    }

    fn stop(&self, bytes: &[u8], stop: usize, last: bool) -> usize {
        let known = match last {
            true => bytes.len(),
            false => bytes.len().saturating_sub(LOOKAHEAD.max(self.charset.char_bytes_max())),
        };
        stop.min(known)
    }

    /// True if the next byte is outside of quotes and comments; else steps over it, or over the
    /// text to skip.
    fn is_code(&self, cursor: &mut Cursor, bytes: &[u8]) -> bool {
        let at = cursor.position;
        let byte = bytes[at];
        if cursor.quote != 0 {
            cursor.position += self.quoted(cursor, &bytes[at..]);
            return false;
        }
        match cursor.comment {
            Comment::None => return true,
            Comment::Line if byte == b'\n' => cursor.comment = Comment::None,
            Comment::Block if byte == b'*' && bytes.get(at + 1) == Some(&b'/') => {
                cursor.comment = Comment::None;
                cursor.position += 1;
            }
            _ => {}
        }
        cursor.position += 1;
        false
    }

    /// A byte, or a character, inside quotes: its size.
    fn quoted(&self, cursor: &mut Cursor, rest: &[u8]) -> usize {
        let byte = rest[0];
        let is_name = cursor.quote == b'`' || (cursor.quote == b'"' && self.ansi_quotes);
        if std::mem::take(&mut cursor.escaped) {
            // One byte, also of a longer character.
            return 1;
        }
        if byte == b'\\' && self.backslash_escapes && !is_name {
            cursor.escaped = true;
            cursor.flags |= DECODE;
            return 1;
        }
        if byte == cursor.quote {
            cursor.after_close = std::mem::take(&mut cursor.quote);
            return 1;
        }
        self.character(rest)
    }

    /// Bytes of the character at the start of `rest`.
    fn character(&self, rest: &[u8]) -> usize {
        match self.by_character {
            true => self.charset.token_size(rest).clamp(1, rest.len()),
            false => 1,
        }
    }

    /// A byte outside of quotes and comments.
    fn code<S: TupleSink>(&self, cursor: &mut Cursor, bytes: &[u8], sink: &mut S) -> Stop {
        let at = cursor.position;
        let rest = &bytes[at..];
        let after_close = std::mem::take(&mut cursor.after_close);
        let at_start = std::mem::take(&mut cursor.at_start);
        match (rest[0], cursor.depth) {
            (b'(', 0) => {
                sink.open(at);
                cursor.depth = 1;
                cursor.flags = 0;
                cursor.at_start = true;
            }
            (b',', 0) => {}
            (b';', 0) => {
                cursor.position += 1;
                return Stop::Statement;
            }
            (byte, 0) if is_space(byte) => {}
            (_, 0) => match comment(rest) {
                Some((comment, size)) => {
                    cursor.comment = comment;
                    cursor.position += size;
                    return Stop::End;
                }
                None => return Stop::NotPlain("a clause after the rows"),
            },
            (b';', _) => return Stop::NotPlain("a row that is not closed"),
            (b',' | b')', 1) => {
                sink.field(at, told(cursor.flags));
                cursor.flags = 0;
                if rest[0] == b')' {
                    cursor.depth = 0;
                    sink.close(at + 1);
                } else {
                    cursor.at_start = true;
                }
            }
            (byte, _) => {
                if matches!(byte, b'(' | b'@') {
                    sink.asks();
                }
                return self.in_field(cursor, rest, byte, at_start, after_close);
            }
        }
        cursor.position += 1;
        Stop::End
    }

    /// A byte of a field, outside of quotes and comments, that does not end it.
    fn in_field(
        &self,
        cursor: &mut Cursor,
        rest: &[u8],
        byte: u8,
        at_start: bool,
        after_close: u8,
    ) -> Stop {
        if let Some((comment, size)) = comment(rest) {
            cursor.flags |= OTHER;
            cursor.comment = comment;
            cursor.position += size;
            return Stop::End;
        }
        match byte {
            b'\'' | b'"' | b'`' => {
                cursor.quote = byte;
                let is_string = byte == b'\'' || (byte == b'"' && !self.ansi_quotes);
                cursor.flags |= match is_string && cursor.depth == 1 {
                    true if at_start => QUOTED,
                    true if after_close == byte => DECODE,
                    _ => OTHER,
                };
            }
            b'.' | b'0'..=b'9' if after_close == 0 => {}
            b'-' if at_start => {}
            b'(' => {
                cursor.depth += 1;
                cursor.flags |= OTHER;
            }
            b')' => cursor.depth -= 1,
            _ => cursor.flags |= OTHER,
        }
        cursor.position += 1;
        Stop::End
    }

    /// The work of [`Blocks`].
    #[inline(always)]
    fn blocks<B: Block, S: TupleSink>(
        &self,
        cursor: &mut Cursor,
        bytes: &[u8],
        last: bool,
        sink: &mut S,
    ) -> Stop {
        while cursor.position + 64 < bytes.len() {
            let base = cursor.position;
            let Some(first) = bytes[base..].first_chunk::<64>() else { break };
            if self.block::<B, S>(cursor, first, bytes[base + 64], sink) {
                continue;
            }
            match self.bytes(cursor, bytes, base + 64, last, sink) {
                // A token that needs more than there is.
                Stop::End if cursor.position < base + 64 => return Stop::End,
                Stop::End => {}
                stop => return stop,
            }
        }
        Stop::End
    }

    /// Reads one block; false if it has to be read byte by byte.
    #[inline(always)]
    fn block<B: Block, S: TupleSink>(
        &self,
        cursor: &mut Cursor,
        bytes: &[u8; 64],
        next: u8,
        sink: &mut S,
    ) -> bool {
        // In a name a backslash is no escape.
        let in_name = cursor.quote == b'`' || (cursor.quote == b'"' && self.ansi_quotes);
        if cursor.depth > 1 || cursor.comment != Comment::None || in_name {
            return false;
        }
        let block = B::load(bytes);
        let escapes = if self.backslash_escapes { block.equal(b'\\') } else { 0 };
        let mut escape_carry = u64::from(cursor.escaped);
        let escaped = escaped_bytes(escapes, &mut escape_carry);
        let single = block.equal(b'\'') & !escaped;
        let double = block.equal(b'"') & !escaped;
        let Quotes { quotes, inside, last: quote, last_closed, is_mixed } =
            quotes::<B>(single, double, cursor.quote);
        let opening = quotes & inside;
        let closing = quotes & !inside;
        let code = !inside & !closing;

        let dashes = block.equal(b'-') & code;
        let double_dash = dashes & ((dashes >> 1) | (u64::from(next == b'-') << 63));
        let mut odd = double_dash
            | (code
                & (escapes
                    | block.equal(b';')
                    | block.equal(b'/')
                    | block.equal(b'#')
                    | block.equal(b'@')
                    | block.equal(b'`')));
        if self.ansi_quotes {
            odd |= quotes & block.equal(b'"');
        }
        let (open, close) = (block.equal(b'(') & code, block.equal(b')') & code);
        let tuple = B::prefix_parity(open | close) ^ 0u64.wrapping_sub(u64::from(cursor.depth));
        odd |= (open & !tuple) | (close & tuple) | (opening & !tuple);
        let commas = block.equal(b',') & code;
        let gap = code & !tuple & !close & !commas;
        if gap != 0 {
            let space = block.equal(b' ') | block.equal(b'\n') | block.equal(b'\r');
            odd |= gap & !(space | block.equal(b'\t'));
        }
        // Another kind of quote right after one that closed in the block before.
        let kinds = if cursor.after_close == b'"' { single } else { double };
        if cursor.after_close != 0 {
            odd |= opening & kinds & 1;
        }
        if odd != 0 {
            return false;
        }
        let separators = commas & tuple;
        let ends = separators | close;
        let fields = open | separators;
        let starts = (fields << 1) | u64::from(cursor.at_start);
        let mut found = BlockMasks {
            base: cursor.position,
            opens: open,
            closes: close,
            ends,
            decode: 0,
            quoted: 0,
        };
        if S::FIELDS {
            let after_close = (closing << 1) | u64::from(cursor.after_close != 0);
            let number = block.within(b'.', b'9') | (dashes & starts);
            // Two quotes of one kind in a string are one.
            let doubled = if is_mixed { 0 } else { opening & after_close };
            let other = (opening & !starts & !doubled)
                | (after_close & !ends & !doubled)
                | (tuple & code & !open & !separators & !number);
            let carried = |flag: u32| u64::from(cursor.flags & flag != 0);
            let mut carry = [carried(DECODE), carried(QUOTED), carried(OTHER)];
            let escapes = escapes & inside;
            let decode = after_any(escapes | doubled, ends, &mut carry[0]);
            let quoted = after_any(opening & starts, ends, &mut carry[1]);
            let other = after_any(other & !ends, ends, &mut carry[2]);
            found.decode = decode | other;
            found.quoted = quoted & !other;
            let flag = |carry: u64, flag: u32| if carry != 0 { flag } else { 0 };
            cursor.flags = flag(carry[0], DECODE) | flag(carry[1], QUOTED) | flag(carry[2], OTHER);
        }
        sink.block::<B>(&found);
        cursor.position += 64;
        cursor.depth = (tuple >> 63) as u32;
        cursor.quote = quote;
        cursor.escaped = escape_carry != 0;
        cursor.after_close = if closing >> 63 != 0 { last_closed } else { 0 };
        cursor.at_start = fields >> 63 != 0;
        true
    }
}

/// Runs over all whole blocks that have a byte after them, and over what else is in them byte by
/// byte.
struct Blocks<'a, S: TupleSink> {
    walk: &'a Walk,
    cursor: &'a mut Cursor,
    bytes: &'a [u8],
    last: bool,
    sink: &'a mut S,
}

impl<S: TupleSink> Kernel for Blocks<'_, S> {
    type Output = Stop;

    #[inline(always)]
    fn run<B: Block>(self) -> Stop {
        let Blocks { walk, cursor, bytes, last, sink } = self;
        walk.blocks::<B, S>(cursor, bytes, last, sink)
    }
}

/// Quotes of a block that open or close, and what is inside them: the opening ones are, the
/// closing ones are not.
struct Quotes {
    quotes: u64,
    inside: u64,
    /// The quote that is open at the end; 0 outside.
    last: u8,
    /// The kind of the last one that closes, if one does.
    last_closed: u8,
    /// Both kinds open.
    is_mixed: bool,
}

/// Tells quotes from text by the quote that is open before the block.
#[inline(always)]
fn quotes<B: Block>(single: u64, double: u64, before: u8) -> Quotes {
    let (own, quote) = match before {
        b'\'' => (single, b'\''),
        b'"' => (double, b'"'),
        _ if double == 0 => (single, b'\''),
        _ if single == 0 => (double, b'"'),
        _ => (0, 0),
    };
    let other = (single | double) & !own;
    let carried = 0u64.wrapping_sub(u64::from(before != 0));
    let inside = B::prefix_parity(own) ^ carried;
    // Those of the other kind are text if they are all inside.
    if quote != 0 && other & !inside == 0 {
        let last = if inside >> 63 != 0 { quote } else { 0 };
        return Quotes { quotes: own, inside, last, last_closed: quote, is_mixed: false };
    }
    mixed_quotes(single, double, before)
}

/// The same where both kinds take turns.
#[inline(never)]
fn mixed_quotes(single: u64, double: u64, before: u8) -> Quotes {
    let mut quotes = Quotes { quotes: 0, inside: 0, last: before, last_closed: 0, is_mixed: true };
    let mut left = single | double;
    let mut from = 0;
    while left != 0 {
        let bit = left.trailing_zeros();
        left &= left - 1;
        let kind = if single >> bit & 1 != 0 { b'\'' } else { b'"' };
        if quotes.last == 0 {
            quotes.last = kind;
            quotes.quotes |= 1 << bit;
            from = bit;
        } else if quotes.last == kind {
            quotes.last = 0;
            quotes.last_closed = kind;
            quotes.quotes |= 1 << bit;
            // Bits from the opening quote to before this one.
            quotes.inside |= (1u64 << bit) - (1u64 << from);
        }
    }
    if quotes.last != 0 {
        quotes.inside |= !0 << from;
    }
    quotes
}

/// White space between tokens.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// The comment that `rest` begins with, and the bytes that open it. One that a server may run is
/// none.
pub(crate) fn comment(rest: &[u8]) -> Option<(Comment, usize)> {
    match rest {
        [b'#', ..] => Some((Comment::Line, 1)),
        [b'-', b'-'] => Some((Comment::Line, 2)),
        [b'-', b'-', byte, ..] if is_space(*byte) || byte.is_ascii_control() => {
            Some((Comment::Line, 2))
        }
        [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..] => None,
        [b'/', b'*', ..] => Some((Comment::Block, 2)),
        _ => None,
    }
}
