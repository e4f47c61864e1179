//! The text of one input: unpacked if it is compressed, UTF-8 if it was UTF-16 or UTF-32.

use std::fmt;
use std::path::PathBuf;

use unpack::Compression;

use crate::bytes::archive::Archive;
use crate::bytes::encoding::{Encoding, Transcoder, Unit};
use crate::bytes::input::{Input, Raw};
use crate::error::{Error, Result};

/// How inputs become text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextOptions {
    pub(crate) encoding: Encoding,
    /// Most memory that unpacking one input may take.
    pub(crate) unpack_bytes_max: usize,
}

/// An input being read as text.
pub(crate) struct Text {
    path: PathBuf,
    bytes: Bytes,
    /// Read ahead to see what the text is, and not given out yet.
    head: Vec<u8>,
    transcoder: Option<Transcoder>,
    /// Bytes before they are transcoded.
    scratch: Vec<u8>,
    ended: bool,
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text").field("path", &self.path).finish_non_exhaustive()
    }
}

enum Bytes {
    Plain { raw: Raw, consumed: u64 },
    Packed(Archive),
}

impl Text {
    /// Looks at the first bytes of an input to see what it is.
    ///
    /// Errors: opening, reading; an archive that holds no text, a damaged one.
    pub(crate) fn open(input: &Input, options: TextOptions) -> Result<Text> {
        let path = input.path().to_owned();
        let raw = input.open()?;
        let (compression, head) = look(&raw)?;
        let mut text = Text {
            bytes: match compression {
                None => Bytes::Plain { raw, consumed: 0 },
                Some(kind) => Bytes::Packed(Archive::new(raw, kind, options.unpack_bytes_max)?),
            },
            path,
            head,
            transcoder: None,
            scratch: Vec::new(),
            ended: false,
        };
        if compression.is_some() {
            text.read_head()?;
            refuse(&text.path, &text.head)?;
        }
        text.transcoder = options.encoding.transcoder(&text.head);
        if compression.is_none() {
            // It was only looked at, and is read from its start.
            text.head = Vec::new();
        }
        Ok(text)
    }

    /// Memory that unpacking an input takes; None if its bytes are its text.
    pub(crate) fn need(input: &Input, options: TextOptions) -> Result<Option<usize>> {
        let (compression, head) = look(&input.open()?)?;
        let transcoded = || options.encoding.transcoder(&head).map(|_| 0);
        Ok(compression.map(Compression::memory_bytes).or_else(transcoded))
    }

    /// True if it is unpacked as it is read.
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.bytes, Bytes::Packed(_))
    }

    /// The input itself, if that is all there is to it.
    pub(crate) fn into_raw(self) -> Option<Raw> {
        match self.bytes {
            Bytes::Plain { raw, .. } if self.transcoder.is_none() => Some(raw),
            _ => None,
        }
    }

    pub(crate) fn unit(&self) -> Unit {
        self.transcoder.as_ref().map_or(Unit::Byte, Transcoder::unit)
    }

    /// Bytes at the start of the input that are no text.
    pub(crate) fn mark_bytes(&self) -> usize {
        self.transcoder.as_ref().map_or(0, Transcoder::mark_bytes)
    }

    /// Bytes of the input used so far.
    pub(crate) fn consumed(&self) -> u64 {
        match &self.bytes {
            Bytes::Plain { consumed, .. } => *consumed,
            Bytes::Packed(packed) => packed.consumed(),
        }
    }

    /// Appends some of the text, at most `size` bytes, at least 4; nothing at the end of it.
    ///
    /// Errors: reading; a damaged archive; what is no character.
    pub(crate) fn read(&mut self, text: &mut Vec<u8>, size: usize) -> Result<()> {
        let Some(mut transcoder) = self.transcoder.take() else {
            let seen = text.len();
            text.resize(seen + size, 0);
            let read = self.read_bytes(&mut text[seen..]);
            text.truncate(seen + *read.as_ref().unwrap_or(&0));
            return read.map(drop);
        };
        let seen = text.len();
        let mut outcome = Ok(());
        // Some bytes may make no text yet.
        while outcome.is_ok() && text.len() == seen && !self.ended {
            let mut scratch = std::mem::take(&mut self.scratch);
            // Two bytes become at most three; one unit may be left from before.
            scratch.resize((size / 3 * 2).max(4), 0);
            outcome = self.read_bytes(&mut scratch).and_then(|read| {
                self.ended = read == 0;
                transcoder.push(&scratch[..read], self.ended, text, &self.path)
            });
            self.scratch = scratch;
        }
        self.transcoder = Some(transcoder);
        outcome
    }

    fn read_bytes(&mut self, out: &mut [u8]) -> Result<usize> {
        if !self.head.is_empty() {
            let size = self.head.len().min(out.len());
            out[..size].copy_from_slice(&self.head[..size]);
            self.head.drain(..size);
            return Ok(size);
        }
        match &mut self.bytes {
            Bytes::Plain { raw, consumed } => {
                let read = raw.read(out)?;
                *consumed += read as u64;
                Ok(read)
            }
            Bytes::Packed(packed) => packed.read(out),
        }
    }

    /// Unpacks the first bytes into `head`.
    fn read_head(&mut self) -> Result<()> {
        let Bytes::Packed(packed) = &mut self.bytes else { return Ok(()) };
        let mut head = vec![0; unpack::HEAD_BYTES];
        let mut size = 0;
        while size < head.len() {
            match packed.read(&mut head[size..])? {
                0 => break,
                read => size += read,
            }
        }
        head.truncate(size);
        self.head = head;
        Ok(())
    }
}

/// How an input is compressed, by its first bytes, which come too.
pub(crate) fn look(raw: &Raw) -> Result<(Option<Compression>, Vec<u8>)> {
    let mut head = vec![0; unpack::HEAD_BYTES];
    let size = raw.head(&mut head)?;
    head.truncate(size);
    refuse(raw.path(), &head)?;
    Ok((Compression::of(&head), head))
}

fn refuse(path: &std::path::Path, head: &[u8]) -> Result<()> {
    match unpack::not_text(head) {
        None => Ok(()),
        Some(what) => Err(Error::NotText { path: path.to_owned(), what }),
    }
}
