//! A run statement by statement, as it stands in the dump.

use std::sync::Arc;

use sql::Next;
use sql::token::is_cut;
use sql::walk::{Cursor, Walk};

use super::RowRun;
use crate::chunk::newlines;
use crate::error::{Error, Result};

/// A statement of a run, whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunStatement {
    /// Its bytes without the semicolon.
    pub text: Vec<u8>,
    /// Index into [`crate::InputFacts::files`] of the run.
    pub file: u32,
    /// Byte of the (unpacked) input at which it begins.
    pub offset: u64,
    /// Its line, from 1.
    pub line: u64,
}

impl RowRun {
    /// Overwrites `statement` with the next one, whole and as it stands, or returns false behind the
    /// last one. For a run of which no chunk was read.
    ///
    /// Errors: reading; a statement longer than the limit, or one that the input ends in.
    pub fn next_statement(&mut self, statement: &mut RunStatement) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let (walk, head) = (Walk::new(self.place.tuples.syntax), Arc::clone(&self.place.head));
        let mut cursor = Cursor::new(0);
        let is_closed = loop {
            if walk.tail(&mut cursor, &self.text.bytes, self.text.ended) {
                break true;
            }
            if self.text.ended {
                if cursor.quote != 0 {
                    self.ended = true;
                    return Err(Error::UnterminatedQuote {
                        at: self.text.position(&self.place, 0),
                    });
                }
                break false;
            }
            self.check_size(self.text.bytes.len())?;
            self.read()?;
        };
        let end = cursor.position.min(self.text.bytes.len());
        if !is_closed && is_cut(&self.text.bytes[..end], self.place.tuples.syntax) {
            self.ended = true;
            return Err(self.cut(self.text.position(&self.place, 0)));
        }
        // At the end of the input a semicolon may be part of a comment.
        let text = &self.text.bytes[..end - usize::from(is_closed)];
        statement.text.clear();
        statement.text.extend_from_slice(&head.text);
        statement.text.extend_from_slice(text);
        statement.file = self.text.file as u32;
        statement.offset = self.text.offset - head.text.len() as u64;
        statement.line = self.text.line - newlines(&head.text);
        self.pass_to_next(end)?;
        Ok(true)
    }

    /// Goes from the end of a statement to behind the head of the next one.
    fn pass_to_next(&mut self, end: usize) -> Result<()> {
        let tuples = Arc::clone(&self.place.tuples);
        loop {
            let (rest, ended) = (&self.text.bytes[end..], self.text.ended);
            match tuples.after_statement(rest, ended) {
                Next::Unknown => self.read()?,
                Next::Same(size) => {
                    self.text.drop_front(end + size);
                    return Ok(());
                }
                Next::Other => {
                    self.text.drop_front(end);
                    self.text.cutter = self.place.cutter();
                    if !self.go_on(0)? {
                        self.finish(Some(0));
                    }
                    return Ok(());
                }
            }
        }
    }
}
