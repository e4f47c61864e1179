//! The reader of a dump, lent to a run of rows and given back behind it.

use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use sql::Tuples;

use super::text::RunText;
use super::{RowRun, RunPlace};
use crate::bytes::encoding::Encoding;
use crate::bytes::text::TextOptions;
use crate::dump::onward::Onward;
use crate::dump::reader::{Pending, SqlReader};
use crate::error::{Error, Result};
use crate::source::ReadAs;

/// The reader, and the way back to who lent it.
#[derive(Debug)]
pub(super) struct Lent {
    pub(super) reader: SqlReader,
    pub(super) back: Sender<Returned>,
}

/// A reader that comes back, and how far it is.
#[derive(Debug)]
pub(super) struct Returned {
    pub(super) reader: SqlReader,
    pub(super) text: RunText,
    pub(super) asks: bool,
}

/// Where the reader of the dump comes back.
#[derive(Debug)]
pub struct Handback {
    returned: Receiver<Returned>,
    place: RunPlace,
}

impl Handback {
    /// Waits until the run has been read, or was given up; then the rest of it is passed over here.
    /// The reader stands behind the run.
    ///
    /// Errors: reading.
    pub fn wait(self) -> Result<SqlReader> {
        self.wait_to_judge().map(|(reader, _)| reader)
    }

    /// The same, with what [`RowRun::asks_session`] says of the run.
    pub fn wait_to_judge(self) -> Result<(SqlReader, bool)> {
        let Ok(Returned { mut reader, mut text, mut asks }) = self.returned.recv() else {
            return Err(Error::Stopped { path: self.place.input.path().to_owned() });
        };
        loop {
            let Some(window) = &mut reader.window else { return Ok((reader, asks)) };
            let end = loop {
                if let Some(end) = text.end() {
                    break end.min(text.bytes.len());
                }
                let seen = text.cutter.seen().min(text.bytes.len());
                text.consume(seen);
                text.read(window)?;
                text.look(usize::MAX);
            };
            asks |= text.cutter.asks();
            match self.place.next_window(&text, end, &reader.ends)? {
                None => {
                    text.return_to(window);
                    return Ok((reader, asks));
                }
                Some(next) => {
                    text = text.behind(&self.place, &next);
                    reader.go_on(next);
                }
            }
        }
    }
}

impl SqlReader {
    /// True if the reader stands before the rows of an INSERT that [`SqlReader::into_run`] can
    /// read: not so where statements end with another delimiter than a semicolon.
    pub fn stands_before_rows(&self) -> bool {
        matches!(self.pending, Pending::Rows(_)) && self.delimiter == b";"
    }

    /// Lends itself to a run of the rows it stands before. Gives itself back where there are none.
    pub fn into_run(mut self, options: ReadAs) -> Result<(RowRun, Handback), Box<SqlReader>> {
        if !self.stands_before_rows() {
            return Err(Box::new(self));
        }
        let (Pending::Rows(head), Some(window), Some(input)) = (
            mem::replace(&mut self.pending, Pending::Nothing),
            &self.window,
            self.inputs.get(self.index),
        ) else {
            return Err(Box::new(self));
        };
        let (lead, syntax) = (self.lead.take(), self.session.syntax);
        let onward = Onward::new(
            self.inputs.get(self.index..).unwrap_or_default(),
            lead,
            syntax,
            &self.options,
        );
        let place = RunPlace {
            input: input.clone(),
            text: TextOptions {
                encoding: Encoding::Bytes,
                unpack_bytes_max: self.options.unpack_bytes_max,
            },
            ahead_bytes: self.options.ahead_bytes,
            stop: Arc::clone(&self.options.stop),
            file: self.index as u32,
            offset: window.offset(),
            line: window.line(),
            tuples: Arc::new(Tuples { head: head.text.clone(), syntax }),
            head: Arc::new(head),
            onward,
        };
        let (back, returned) = channel();
        let handback = Handback { returned, place: place.clone() };
        let run = RowRun::new(place, options, Some(Lent { reader: self, back }));
        Ok((run, handback))
    }
}
