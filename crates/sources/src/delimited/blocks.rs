//! Field ends from bit masks, one block of 64 bytes after the other.
//!
//! ```text
//! bytes      1,"a,b","c""d",x\n
//! quotes     ..#...#.#.##.#...     parity of the quotes up to here tells what is inside
//! inside     ..####..##.##....     (not so between doubled quotes, where nothing ends anyway)
//! ends       .#.....#......#.#     separators and line ends not inside
//! ```
//!
//! The parity is right as long as every quote opens at a field start, closes before a field end,
//! or is doubled. Each block is checked for just that; a block that breaks it, which the server's
//! rules allow, is read byte by byte. So the result is exact for any input, and fast for usual
//! input. Between blocks a few bits are carried, which [`Carry`] turns from and into a [`Cursor`].

use simd::{Block, Isa, Kernel, after_any, escaped_bytes};

use super::lexer::{Cursor, Ends, Lexer, Sink, State};
use crate::batch::text::{DECODE, QUOTED};

/// The special bytes of a dialect whose blocks can be scanned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRules {
    separator: u8,
    terminator: u8,
    quote: Option<u8>,
    escape: Option<u8>,
    lines: Lines,
}

/// How lines end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    /// With one byte.
    Byte,
    /// With LF or CRLF; no escapes.
    AnyNewline,
    /// With CRLF; either of the two alone is text.
    Crlf,
}

impl BlockRules {
    /// None if the dialect is one for the byte-wise lexer only: a long separator or terminator, a
    /// prefix, or a byte with two meanings; or if the instructions have no blocks.
    pub(crate) fn new(lexer: &Lexer, isa: Isa) -> Option<BlockRules> {
        if !isa.has_blocks() {
            return None;
        }
        let &[separator] = lexer.separator.as_slice() else {
            return None;
        };
        let lines = match lexer.terminator.as_slice() {
            b"\n" if lexer.any_newline => Lines::AnyNewline,
            b"\r\n" => Lines::Crlf,
            [_] => Lines::Byte,
            _ => return None,
        };
        // An escape that is the quote only matters outside quotes, where no quote is usual.
        let escape = lexer.escape.filter(|_| lexer.escape != lexer.quote);
        let special: Vec<u8> = [separator]
            .into_iter()
            .chain(lexer.terminator.iter().copied())
            .chain(lexer.quote)
            .chain(escape)
            .collect();
        let unique = special.iter().enumerate().all(|(at, byte)| !special[..at].contains(byte));
        let supported = unique
            && !lexer.counts_fields()
            && lexer.prefix.is_empty()
            && (lexer.quote.is_some() || escape == lexer.escape)
            && (lines != Lines::AnyNewline || lexer.escape.is_none());
        let &terminator = lexer.terminator.first()?;
        supported.then_some(BlockRules { separator, terminator, quote: lexer.quote, escape, lines })
    }
}

/// Runs the lexer over all blocks of `bytes` that have a byte after them, from the cursor on, and
/// leaves the cursor between two tokens. `last` as in [`Lexer::run`], which has to do the rest.
pub(crate) struct Blocks<'a, S: Sink> {
    pub(crate) plan: BlockRules,
    pub(crate) lexer: &'a Lexer,
    pub(crate) cursor: &'a mut Cursor,
    pub(crate) bytes: &'a [u8],
    pub(crate) last: bool,
    pub(crate) sink: &'a mut S,
}

impl<S: Sink> Kernel for Blocks<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<B: Block>(self) {
        let Blocks { plan, lexer, cursor, bytes, last, sink } = self;
        run::<B, S>(plan, lexer, cursor, bytes, last, sink);
    }
}

#[inline(always)]
fn run<B: Block, S: Sink>(
    plan: BlockRules,
    lexer: &Lexer,
    cursor: &mut Cursor,
    bytes: &[u8],
    last: bool,
    sink: &mut S,
) {
    let mut walk = Walk { plan, lexer, cursor, bytes, last, sink };
    match (plan.quote.is_some(), plan.escape.is_some(), plan.lines) {
        (false, false, Lines::Crlf) => walk.run::<B, false, false, true>(),
        (false, false, _) => walk.run::<B, false, false, false>(),
        (false, true, Lines::Crlf) => walk.run::<B, false, true, true>(),
        (false, true, _) => walk.run::<B, false, true, false>(),
        (true, false, Lines::Crlf) => walk.run::<B, true, false, true>(),
        (true, false, _) => walk.run::<B, true, false, false>(),
        (true, true, Lines::Crlf) => walk.run::<B, true, true, true>(),
        (true, true, _) => walk.run::<B, true, true, false>(),
    }
}

/// One run over a chunk.
struct Walk<'a, S: Sink> {
    plan: BlockRules,
    lexer: &'a Lexer,
    cursor: &'a mut Cursor,
    bytes: &'a [u8],
    last: bool,
    sink: &'a mut S,
}

impl<S: Sink> Walk<'_, S> {
    #[inline(always)]
    fn run<B: Block, const QUOTES: bool, const ESCAPES: bool, const CRLF: bool>(&mut self) {
        let mut base = self.cursor.position;
        let mut carry = Carry::enter(self.cursor);
        while base + 64 < self.bytes.len() {
            let Some(first) = self.bytes[base..].first_chunk::<64>() else {
                break;
            };
            let block = B::load(first);
            let next = self.bytes[base + 64];
            let mut after = carry;

            let mut special = 0;
            let mut escaped = 0;
            if ESCAPES {
                let escapes = block.equal(self.plan.escape.unwrap_or_default());
                escaped = after.escaped_bytes(escapes);
                special = escapes;
            }
            let separators = block.equal(self.plan.separator) & !escaped;
            let mut terminators = block.equal(self.plan.terminator) & !escaped;
            if CRLF {
                terminators &= before_newline(block.equal(b'\n'), next);
            }
            let mut ends = separators | terminators;

            let mut opened = 0;
            if QUOTES {
                let quotes = block.equal(self.plan.quote.unwrap_or_default()) & !escaped;
                let inside = B::prefix_parity(quotes) ^ carry.inside;
                after.inside = ((inside as i64) >> 63) as u64;
                ends &= !inside;
                terminators &= !inside;
                let opens = quotes & inside;
                let closes = quotes & !inside;
                let after_close = (closes << 1) | carry.after_close;
                after.after_close = closes >> 63;
                let starts = after.starts::<CRLF>(ends, terminators);
                let mut odd = (opens & !(starts | after_close)) | (after_close & !(ends | opens));
                if odd != 0 && self.plan.lines == Lines::AnyNewline {
                    odd &= !(block.equal(b'\r') & before_newline(block.equal(b'\n'), next));
                }
                if odd != 0 {
                    carry.leave(base, self.cursor);
                    self.join_newline();
                    self.lexer.run(self.cursor, self.bytes, base + 64, self.last, self.sink);
                    if self.cursor.position < base + 64 {
                        return;
                    }
                    base = self.cursor.position;
                    carry = Carry::enter(self.cursor);
                    continue;
                }
                special |= opens & after_close;
                opened = opens & starts;
            } else {
                after.starts::<CRLF>(ends, terminators);
            }

            let decode = after_any(special, ends, &mut after.decode);
            let quoted = if QUOTES { after_any(opened, ends, &mut after.quoted) } else { 0 };
            let fields =
                Ends { bytes: self.bytes, base, fields: ends, rows: terminators, decode, quoted };
            self.sink.block::<B>(&fields);
            carry = after;
            base += 64;
        }
        carry.leave(base, self.cursor);
        self.join_newline();
    }

    /// Steps back before a carriage return, so that it is not parted from a newline.
    fn join_newline(&mut self) {
        let before = self.cursor.position.wrapping_sub(1);
        let after_return = self.bytes.get(before) == Some(&b'\r');
        if self.plan.lines == Lines::AnyNewline
            && self.cursor.state == State::Unquoted
            && after_return
        {
            self.cursor.position = before;
        }
    }
}

/// Bits of the bytes that have a newline after them.
#[inline(always)]
fn before_newline(newlines: u64, next: u8) -> u64 {
    (newlines >> 1) | (u64::from(next == b'\n') << 63)
}

/// State that one block passes to the next.
#[derive(Clone, Copy)]
struct Carry {
    /// All ones inside quotes, else 0.
    inside: u64,
    /// 1 if the first byte is escaped.
    escaped: u64,
    /// 1 if the byte before was a closing quote.
    after_close: u64,
    /// Bit 0 or 1 is set if a field starts at the first or second byte.
    field_starts: u64,
    /// 1 if the open field needs decoding.
    decode: u64,
    /// 1 if the open field is quoted.
    quoted: u64,
}

impl Carry {
    #[inline(always)]
    fn enter(cursor: &Cursor) -> Carry {
        Carry {
            inside: if cursor.state == State::Quoted { !0 } else { 0 },
            escaped: 0,
            after_close: 0,
            field_starts: u64::from(cursor.state == State::FieldStart),
            decode: u64::from(cursor.flags & DECODE != 0),
            quoted: u64::from(cursor.flags & QUOTED != 0),
        }
    }

    /// The cursor for a carry into the block at `base`: one byte before it if a token spans the
    /// border, one after it if the border splits CRLF.
    #[inline(always)]
    fn leave(self, base: usize, cursor: &mut Cursor) {
        let flag = |set: u64, flag: u32| if set != 0 { flag } else { 0 };
        let state = match self {
            _ if self.after_close != 0 || self.inside != 0 => State::Quoted,
            _ if self.field_starts != 0 => State::FieldStart,
            _ => State::Unquoted,
        };
        let position = base + (self.field_starts >> 1) as usize;
        let position = position - (self.after_close | self.escaped) as usize;
        let flags = flag(self.decode, DECODE) | flag(self.quoted, QUOTED);
        *cursor = Cursor { position, state, flags, field: 0 };
    }

    /// Bits of the bytes that an escape stands before.
    #[inline(always)]
    fn escaped_bytes(&mut self, escapes: u64) -> u64 {
        escaped_bytes(escapes, &mut self.escaped)
    }

    /// Bits of the bytes a field starts at, this block's ends taken into the carry.
    #[inline(always)]
    fn starts<const CRLF: bool>(&mut self, ends: u64, terminators: u64) -> u64 {
        let before = self.field_starts;
        if CRLF {
            let separators = ends & !terminators;
            self.field_starts = (separators >> 63) | (terminators >> 62);
            (separators << 1) | (terminators << 2) | before
        } else {
            self.field_starts = ends >> 63;
            (ends << 1) | before
        }
    }
}
