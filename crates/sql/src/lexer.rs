//! Where a statement ends.
//!
//! The rules are those by which the server reads a statement, cut at the delimiter as the mariadb
//! client does: also inside a version comment, not in quotes, not in other comments. Source:
//! `add_line` in the server's `client/mysql.cc`, `lex_one_token` and `get_text` in
//! `sql/sql_lex.cc`.

use simd::{Block, Isa, Kernel, escaped_bytes};

use crate::syntax::Syntax;

/// The item that the lexer found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The delimiter, or the end of the input: where the statement ends, and what is behind it.
    End {
        /// Bytes of the statement.
        text: usize,
        /// First byte behind its delimiter.
        next: usize,
    },
    /// More bytes are needed.
    More,
    /// A backslash outside quotes at this byte: a command to the client.
    Command(usize),
    /// The input ends in quotes or a comment, which began at [`Lexer::opened`].
    Open(Inside),
}

/// The construct that a byte is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// A statement.
    Plain,
    /// Quotes of this kind.
    Quotes(u8),
    /// A comment up to the end of the line.
    Line,
    /// A comment between `/*` and `*/`.
    Block,
}

/// Goes through one statement, as its bytes come.
#[derive(Clone, Debug)]
pub struct Lexer {
    syntax: Syntax,
    delimiter: Vec<u8>,
    inside: Inside,
    /// Byte the quotes or the comment begin at.
    opened: Option<usize>,
    /// Next byte to be looked at.
    at: usize,
    /// Bytes that may mean something outside quotes and comments.
    special: [bool; 256],
    isa: Isa,
    /// True if the parity of `'` tells what is in them.
    has_blocks: bool,
}

impl Lexer {
    /// At the start of a statement.
    pub fn new(syntax: Syntax, delimiter: &[u8], isa: Isa) -> Lexer {
        let mut special = [false; 256];
        let first = delimiter.first().copied().unwrap_or(b';');
        for byte in [b'\'', b'"', b'`', b'\\', b'/', b'-', b'#', first] {
            special[usize::from(byte)] = true;
        }
        if syntax.hides_ascii() {
            special[0x80..].fill(true);
        }
        let delimiter = delimiter.to_vec();
        let has_blocks = !syntax.hides_ascii() && first != b'\'';
        Lexer {
            syntax,
            delimiter,
            inside: Inside::Plain,
            opened: None,
            at: 0,
            special,
            isa,
            has_blocks,
        }
    }

    /// At the start of the next statement.
    pub fn restart(&mut self) {
        (self.inside, self.opened, self.at) = (Inside::Plain, None, 0);
    }

    /// Bytes that were looked at and need not be kept: to be followed by [`Lexer::forget`].
    pub fn seen(&self) -> usize {
        self.at
    }

    /// Where the quotes or the comment begin in which it stands, if that is not forgotten.
    pub fn opened(&self) -> Option<usize> {
        if self.inside == Inside::Plain { None } else { self.opened }
    }

    /// The first `size` bytes, all of them seen, are gone.
    pub fn forget(&mut self, size: usize) {
        self.at -= size;
        self.opened = self.opened.and_then(|at| at.checked_sub(size));
    }

    /// Goes on behind a command at this byte.
    pub fn step_over(&mut self, at: usize) {
        self.at = at + 1;
    }

    /// Goes on in `bytes`, which begin where the statement does and hold at least what they held
    /// before. `last`: nothing comes behind them.
    pub fn run(&mut self, bytes: &[u8], last: bool) -> Boundary {
        loop {
            if self.has_blocks
                && matches!(self.inside, Inside::Plain | Inside::Quotes(b'\''))
                && bytes.len() > self.at + 64
            {
                self.isa.dispatch(Quotes { lexer: self, bytes });
            }
            let stopped = match self.inside {
                Inside::Plain => self.plain(bytes, last),
                Inside::Quotes(quote) => self.quotes(bytes, quote, last),
                Inside::Line => self.line(bytes),
                Inside::Block => self.block(bytes),
            };
            match stopped {
                None => {}
                Some(Boundary::More) if last => return self.end(bytes),
                Some(found) => return found,
            }
        }
    }

    /// The input ends.
    fn end(&mut self, bytes: &[u8]) -> Boundary {
        match self.inside {
            Inside::Plain | Inside::Line => Boundary::End { text: bytes.len(), next: bytes.len() },
            inside => Boundary::Open(inside),
        }
    }

    fn enter(&mut self, inside: Inside, at: usize, size: usize) {
        (self.inside, self.opened, self.at) = (inside, Some(at), at + size);
    }

    /// Outside everything. None: went into something.
    #[inline]
    fn plain(&mut self, bytes: &[u8], last: bool) -> Option<Boundary> {
        let mut at = self.at;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(skip) = rest.iter().position(|&byte| self.special[usize::from(byte)]) else {
                self.at = bytes.len().max(at);
                return Some(Boundary::More);
            };
            at += skip;
            self.at = at;
            let rest = &rest[skip..];
            // Enough to tell each of them: `/*M!`, a delimiter, a character.
            let enough = last || rest.len() >= self.delimiter.len().max(4);
            if !enough {
                return Some(Boundary::More);
            }
            if rest.starts_with(&self.delimiter) {
                let next = at + self.delimiter.len();
                return Some(Boundary::End { text: at, next });
            }
            match *rest {
                [b'\\', b'N', ..] => at += 2,
                [b'\\', ..] => return Some(Boundary::Command(at)),
                [quote @ (b'\'' | b'"' | b'`'), ..] => {
                    self.enter(Inside::Quotes(quote), at, 1);
                    return None;
                }
                [b'#', ..] => {
                    self.enter(Inside::Line, at, 1);
                    return None;
                }
                [b'-', b'-', ..] if rest.get(2).is_none_or(|&byte| ends_dashes(byte)) => {
                    self.enter(Inside::Line, at, 2);
                    return None;
                }
                [b'/', b'*', b'!', ..] => at += 3,
                [b'/', b'*', b'M', b'!', ..] => at += 4,
                [b'/', b'*', ..] => {
                    self.enter(Inside::Block, at, 2);
                    return None;
                }
                [byte, ..] if byte >= 0x80 => at += self.syntax.characters.token_size(rest),
                _ => at += 1,
            }
        }
    }

    fn quotes(&mut self, bytes: &[u8], quote: u8, last: bool) -> Option<Boundary> {
        if self.syntax.hides_ascii() {
            return self.wide_quotes(bytes, quote, last);
        }
        let escapes = self.syntax.escapes_in(quote);
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let found = match escapes {
                true => memchr::memchr2(quote, b'\\', rest),
                false => memchr::memchr(quote, rest),
            };
            let Some(skip) = found else {
                self.at = bytes.len().max(self.at);
                return Some(Boundary::More);
            };
            if rest[skip] == quote {
                // A doubled quote opens again at once.
                (self.inside, self.at) = (Inside::Plain, self.at + skip + 1);
                return None;
            }
            // May be beyond the bytes there are: the escaped one is still to come.
            self.at += skip + 2;
        }
    }

    /// The same where a quote or a backslash may be half a character.
    fn wide_quotes(&mut self, bytes: &[u8], quote: u8, last: bool) -> Option<Boundary> {
        let escapes = self.syntax.escapes_in(quote);
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            if rest.is_empty() || (!last && rest.len() < self.syntax.characters.char_bytes_max()) {
                return Some(Boundary::More);
            }
            if rest[0] == quote {
                (self.inside, self.at) = (Inside::Plain, self.at + 1);
                return None;
            }
            if rest[0] == b'\\' && escapes {
                // What is escaped is a character, of which the first byte is enough: the server
                // takes one byte too.
                self.at += 2;
            } else {
                self.at += self.syntax.characters.token_size(rest);
            }
        }
    }

    fn line(&mut self, bytes: &[u8]) -> Option<Boundary> {
        match memchr::memchr(b'\n', bytes.get(self.at..).unwrap_or_default()) {
            None => {
                self.at = bytes.len().max(self.at);
                Some(Boundary::More)
            }
            Some(skip) => {
                (self.inside, self.at) = (Inside::Plain, self.at + skip + 1);
                None
            }
        }
    }

    fn block(&mut self, bytes: &[u8]) -> Option<Boundary> {
        let rest = bytes.get(self.at..).unwrap_or_default();
        for star in memchr::memchr_iter(b'*', rest) {
            match rest.get(star + 1) {
                Some(b'/') => {
                    (self.inside, self.at) = (Inside::Plain, self.at + star + 2);
                    return None;
                }
                Some(_) => {}
                None => {
                    self.at += star;
                    return Some(Boundary::More);
                }
            }
        }
        self.at = bytes.len().max(self.at);
        Some(Boundary::More)
    }
}

/// Goes over whole blocks of 64 bytes up to the first byte that may mean something and is
/// neither in `'` nor one. The parity of the quotes up to a byte tells whether it is in them.
struct Quotes<'a> {
    lexer: &'a mut Lexer,
    bytes: &'a [u8],
}

impl Kernel for Quotes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<B: Block>(self) {
        let Quotes { lexer, bytes } = self;
        let first = lexer.delimiter.first().copied().unwrap_or(b';');
        let escapes = lexer.syntax.escapes_in(b'\'');
        let mut inside: u64 = if lexer.inside == Inside::Plain { 0 } else { !0 };
        let (mut escaped, mut at) = (0, lexer.at);
        while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<64>()) {
            let block = B::load(block);
            let backslashes = block.equal(b'\\');
            let hidden = if escapes { escaped_bytes(backslashes, &mut escaped) } else { 0 };
            let quotes = block.equal(b'\'') & !hidden;
            let quoted = B::prefix_parity(quotes) ^ inside;
            let dashes = block.equal(b'-');
            // Two of them, or one whose neighbour is in the next block.
            let dashes = dashes & (dashes >> 1 | 1 << 63);
            let special = backslashes
                | block.equal(b'"')
                | block.equal(b'`')
                | block.equal(b'#')
                | block.equal(b'/')
                | block.equal(first)
                | dashes;
            let special = special & !quoted & !quotes;
            let opens = quotes & quoted;
            let here = special & special.wrapping_neg();
            // Of a block that is left early only what is before counts.
            let opens = if special == 0 { opens } else { opens & (here - 1) };
            if opens != 0 {
                lexer.opened = Some(at + 63 - opens.leading_zeros() as usize);
            }
            if special != 0 {
                lexer.inside = Inside::Plain;
                lexer.at = at + special.trailing_zeros() as usize;
                return;
            }
            inside = ((quoted as i64) >> 63) as u64;
            at += 64;
        }
        lexer.inside = if inside == 0 { Inside::Plain } else { Inside::Quotes(b'\'') };
        lexer.at = at + escaped as usize;
    }
}

/// True if this byte behind two dashes makes them a comment.
pub(crate) fn ends_dashes(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_control()
}
