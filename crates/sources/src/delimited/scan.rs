//! Scanning a chunk: where every field ends.

use simd::{Block, Isa, POSITION_MAX};

use super::blocks::{BlockRules, Blocks};
use super::dialect::Dialect;
use super::lexer::{Cursor, Ends, Lexer, Sink, State};
use crate::batch::TextIndex;
use crate::batch::decode::Rules;
use crate::batch::text::{DECODE, Mark, Meaning, Shape};
use crate::chunk::Chunk;

/// Finds the fields of chunks of one dialect. Cheap to make; one per thread.
#[derive(Clone, Debug)]
pub(super) struct Scanner {
    lexer: Lexer,
    /// How whole blocks are scanned, if this dialect's can be.
    plan: Option<BlockRules>,
    isa: Isa,
    shape: Shape,
    /// Fields that a record has columns for; 0 if that is not known.
    fields_max: usize,
}

impl Scanner {
    /// The dialect has passed [`Dialect::check`].
    pub(super) fn new(dialect: &Dialect, isa: Isa) -> Scanner {
        let lexer = Lexer::new(dialect);
        let shape = Shape {
            separator_size: lexer.separator.len() as u32,
            prefix_size: lexer.prefix.len() as u32,
            trailing_separator: dialect.trailing_separator,
            has_null_text: lexer.quote.is_some() || !dialect.null_tokens.is_empty(),
            null_tokens: dialect.null_tokens.as_slice().into(),
            null_in_quotes: dialect.null_in_quotes,
            empty_nulls: dialect.fields.iter().map(|field| field.empty_is_null).collect(),
            meaning: Meaning::Delimited(rules(&lexer)),
        };
        let fields_max = dialect.fields.len();
        Scanner { plan: BlockRules::new(&lexer, isa), lexer, isa, shape, fields_max }
    }

    /// Overwrites `rows` with the rows of `text`: whole records, the last of which may lack its
    /// terminator because the file ends there. At most [`Chunk::BYTES_MAX`] bytes.
    ///
    /// Any bytes are rows; how many fields one must have is the caller's to check
    /// ([`crate::Row::has_fields_for`]).
    pub(super) fn scan(&mut self, text: &[u8], rows: &mut TextIndex) {
        assert!(text.len() <= Chunk::BYTES_MAX, "a chunk is at most 1 GiB - 1");
        rows.begin(&self.shape);
        let mut sink = Fields { rows, lexer: &self.lexer, fields_max: self.fields_max };
        let mut cursor = self.lexer.cursor(0);
        if let Some(plan) = self.plan {
            self.isa.dispatch(Blocks {
                plan,
                lexer: &self.lexer,
                cursor: &mut cursor,
                bytes: text,
                last: true,
                sink: &mut sink,
            });
        }
        self.lexer.run(&mut cursor, text, text.len(), true, &mut sink);
        sink.finish(cursor, text);
    }

    /// Overwrites `rows` with one row of all of `text`, whose fields cannot be told.
    pub(super) fn leave_unclosed(&self, text: &[u8], rows: &mut TextIndex) {
        rows.leave_unclosed(text, &self.shape);
    }
}

/// The rules of the dialect for decoding a field.
fn rules(lexer: &Lexer) -> Rules {
    Rules {
        quote: lexer.quote,
        escape: lexer.escape,
        charset: lexer.charset,
        by_character: lexer.by_character.as_slice().into(),
        ghost: lexer.ghost,
        is_fixed: lexer.fixed.is_some(),
    }
}

/// Writes what the lexer finds into `rows`.
struct Fields<'a> {
    rows: &'a mut TextIndex,
    lexer: &'a Lexer,
    fields_max: usize,
}

impl Fields<'_> {
    /// Closes the record that the end of the file cuts off.
    fn finish(&mut self, cursor: Cursor, chunk: &[u8]) {
        let size = chunk.len();
        let fields_before = self.rows.marks.last().map_or(0, |mark| mark.fields as usize);
        let row_open = self.rows.fields > fields_before;
        let mut is_cut = true;
        match cursor.state {
            State::BeforePrefix => is_cut = self.ends_at(size),
            State::FieldStart if !row_open => {
                // A prefix and nothing after it is no row.
                self.rows.starts.truncate(self.rows.marks.len());
                is_cut = self.ends_at(size);
            }
            State::FieldStart => {
                if self.lexer.any_newline {
                    self.field(size, 0);
                }
                self.row(size);
            }
            State::Unquoted | State::Rest => {
                self.field(size, cursor.flags);
                self.row(size);
            }
            State::Quoted => {
                self.field(size, cursor.flags | DECODE);
                self.row(size);
            }
        }
        let has_server_rules = !self.lexer.any_newline && self.lexer.fixed.is_none();
        if is_cut && self.fields_max > 0 && has_server_rules {
            self.drop_what_is_cut_off(chunk);
        }
    }

    /// True if the last field ends with the input: a quoted one that no terminator follows.
    fn ends_at(&self, size: usize) -> bool {
        let last = self.rows.fields.checked_sub(1).map(|last| self.rows.ends[last]);
        last.is_some_and(|end| (end & POSITION_MAX) as usize == size)
    }

    /// Takes the fields that there is no column for off a last record without terminator: the
    /// server meets the end of the file on its way to the end of the line, and says nothing.
    fn drop_what_is_cut_off(&mut self, chunk: &[u8]) {
        let (fields, size) = (self.rows.fields, chunk.len());
        let first = match self.rows.marks.as_slice() {
            [.., before, _] => before.fields as usize,
            _ => 0,
        };
        let kept = first + self.fields_max;
        if kept >= fields {
            return;
        }
        let rest = (self.rows.ends[kept - 1] & POSITION_MAX) as usize + self.lexer.separator.len();
        if self.lexer.line_ends(&chunk[rest.min(size)..]).is_none()
            && let Some(mark) = self.rows.marks.last_mut()
        {
            mark.fields = kept as u32;
            self.rows.fields = kept;
        }
    }
}

impl Sink for Fields<'_> {
    fn record(&mut self, start: usize) {
        self.rows.starts.push(start as u32);
    }

    #[inline]
    fn field(&mut self, end: usize, flags: u32) {
        self.rows.reserve_block();
        self.rows.ends[self.rows.fields] = end as u32 | flags;
        self.rows.fields += 1;
    }

    #[inline]
    fn row(&mut self, end: usize) {
        self.rows.marks.push(Mark { fields: self.rows.fields as u32, end: end as u32 });
    }

    #[inline(always)]
    fn block<B: Block>(&mut self, block: &Ends<'_>) {
        self.rows.reserve_block();
        let before = self.rows.fields;
        if let Some(out) = self.rows.ends[before..].first_chunk_mut::<64>() {
            B::store(block.base as u32, block.fields, block.decode, block.quoted, out);
        }
        self.rows.fields += block.fields.count_ones() as usize;
        let mut left = block.rows;
        while left != 0 {
            let bit = left.trailing_zeros();
            let up_to = left ^ (left - 1);
            left &= left - 1;
            let fields = before + (block.fields & up_to).count_ones() as usize;
            let position = block.base + bit as usize;
            if self.lexer.any_newline && position > 0 && block.bytes[position - 1] == b'\r' {
                self.rows.ends[fields - 1] -= 1;
            }
            let end = (position + self.lexer.terminator.len()) as u32;
            self.rows.marks.push(Mark { fields: fields as u32, end });
        }
    }
}
