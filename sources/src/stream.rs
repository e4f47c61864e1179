//! The bytes that are cut into records: a plain file's own, or text that is made on a thread.

use crate::ahead::{Ahead, Ends};
use crate::encoding::Unit;
use crate::error::Result;
use crate::input::{Input, Raw};
use crate::text::{Text, TextOptions};

/// An input being read, front to back.
#[derive(Debug)]
pub(crate) enum Stream {
    /// A file whose bytes are its text: read where they are needed.
    Plain(Raw),
    /// Everything else.
    Ahead(Ahead),
}

impl Stream {
    /// Begins to read an input; never waits for a pipe's writer.
    ///
    /// Errors: opening; an archive that cannot be read.
    pub(crate) fn open(
        input: &Input,
        options: TextOptions,
        ahead_bytes: usize,
        ends: &Ends,
    ) -> Result<Stream> {
        if input.bytes().is_some()
            && let Some(raw) = Text::open(input, options)?.into_raw()
        {
            return Ok(Stream::Plain(raw));
        }
        Ok(Stream::Ahead(Ahead::new(input, options, ahead_bytes, ends.clone())?))
    }

    /// The next bytes of text; 0 at its end.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        match self {
            Stream::Plain(raw) => raw.read(out),
            Stream::Ahead(ahead) => ahead.read(out),
        }
    }

    /// What characters of the input are made of, once something was read.
    pub(crate) fn unit(&self) -> Unit {
        match self {
            Stream::Plain(_) => Unit::Byte,
            Stream::Ahead(ahead) => ahead.unit(),
        }
    }

    /// Bytes at the start of the input that are no text, once something was read.
    pub(crate) fn mark_bytes(&self) -> usize {
        match self {
            Stream::Plain(_) => 0,
            Stream::Ahead(ahead) => ahead.mark_bytes(),
        }
    }

    /// Bytes of the input that the text so far came from; None where they are the text's own.
    pub(crate) fn consumed(&self) -> Option<u64> {
        match self {
            Stream::Plain(_) => None,
            Stream::Ahead(ahead) => Some(ahead.consumed()),
        }
    }

    /// Whether a thread has read all of it, so that the next input can be begun.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self, Stream::Ahead(ahead) if ahead.is_read())
    }
}
