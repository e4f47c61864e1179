//! The bytes that are cut into records: a plain file's own, or text that is made on a thread.

use crate::bytes::ahead::{Ahead, Ends};
use crate::bytes::encoding::Unit;
use crate::bytes::input::{Input, Raw};
use crate::bytes::text::{Text, TextOptions};
use crate::error::Result;

/// Bytes read at once on the way to a place.
const SKIP_BYTES: usize = 64 << 10;
/// Bytes of text made at once of a file whose start alone is read.
const START_BYTES: usize = 16 << 10;

/// An input being read, front to back.
#[derive(Debug)]
pub(crate) enum Stream {
    /// A file whose bytes are its text: read where they are needed.
    Plain(Raw),
    /// Everything else.
    Ahead(Ahead),
    /// The same without a thread, for who reads the start only: text, how much of it was given out.
    Here(Box<Text>, Vec<u8>, usize),
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

    /// As [`Stream::open`], of a file whose start alone is read: on no thread of its own.
    pub(crate) fn open_start(input: &Input, options: TextOptions) -> Result<Stream> {
        match Text::open(input, options)?.into_raw() {
            Some(raw) => Ok(Stream::Plain(raw)),
            None => Ok(Stream::Here(Box::new(Text::open(input, options)?), Vec::new(), 0)),
        }
    }

    /// As [`Stream::open`], from a byte of the text on that somebody has read before: plain text,
    /// also that of a pipe, is not read up to there again.
    pub(crate) fn open_at(
        input: &Input,
        options: TextOptions,
        ahead_bytes: usize,
        ends: &Ends,
        offset: u64,
    ) -> Result<Stream> {
        if let Some(mut raw) = Text::open(input, options)?.into_raw() {
            raw.seek(offset);
            return Ok(Stream::Plain(raw));
        }
        let mut stream = Stream::open(input, options, ahead_bytes, ends)?;
        let mut scratch = vec![0; SKIP_BYTES];
        let mut left = offset;
        while left > 0 {
            let size = usize::try_from(left).unwrap_or(usize::MAX).min(scratch.len());
            match stream.read(&mut scratch[..size])? {
                0 => break,
                read => left -= read as u64,
            }
        }
        Ok(stream)
    }

    /// The next bytes of text; 0 at its end.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        match self {
            Stream::Plain(raw) => raw.read(out),
            Stream::Ahead(ahead) => ahead.read(out),
            Stream::Here(text, made, given) => {
                if *given == made.len() {
                    made.clear();
                    *given = 0;
                    text.read(made, START_BYTES)?;
                }
                let size = (made.len() - *given).min(out.len());
                out[..size].copy_from_slice(&made[*given..*given + size]);
                *given += size;
                Ok(size)
            }
        }
    }

    /// The unit of the input's characters, once something was read.
    pub(crate) fn unit(&self) -> Unit {
        match self {
            Stream::Plain(_) => Unit::Byte,
            Stream::Ahead(ahead) => ahead.unit(),
            Stream::Here(text, ..) => text.unit(),
        }
    }

    /// Bytes at the start of the input that are no text, once something was read.
    pub(crate) fn mark_bytes(&self) -> usize {
        match self {
            Stream::Plain(_) => 0,
            Stream::Ahead(ahead) => ahead.mark_bytes(),
            Stream::Here(text, ..) => text.mark_bytes(),
        }
    }

    /// Bytes of the input that the text so far came from; None where they are the text's own.
    pub(crate) fn consumed(&self) -> Option<u64> {
        match self {
            Stream::Plain(_) => None,
            Stream::Ahead(ahead) => Some(ahead.consumed()),
            Stream::Here(text, ..) => Some(text.consumed()),
        }
    }

    /// True if a thread has read all of it, so that the next input can be begun.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self, Stream::Ahead(ahead) if ahead.is_read())
    }
}
