//! The inputs of a dump: opened one after the other, how far they are read, which of them were cut.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use unpack::Compression;

use super::SqlReader;
use crate::bytes::encoding::Encoding;
use crate::bytes::stream::Stream;
use crate::bytes::text::TextOptions;
use crate::dump::lead::Lead;
use crate::dump::window::Window;
use crate::error::{Error, Result};
use crate::source::InputFile;

impl SqlReader {
    /// The inputs in order; [`crate::dump::Statement::file`] is an index into this.
    pub fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// Size of all inputs, packed if they are; None if there is a pipe.
    pub fn bytes_total(&self) -> Option<u64> {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Bytes read so far, in the unit of `bytes_total`.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_before + self.window.as_ref().map_or(0, Window::consumed)
    }

    /// Where [`SqlReader::bytes_read`] is told now and then, also while the reader is lent to a run
    /// of rows: for whoever shows how far it is.
    pub fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.told)
    }

    /// Tells how far it is.
    pub(in crate::dump) fn tell(&self) {
        self.told.store(self.bytes_read(), Ordering::Relaxed);
    }

    /// The first bytes of the first input, unpacked, for whoever wants to know its format; opens it. None
    /// if it is empty.
    ///
    /// Errors: as [`SqlReader::next`].
    pub fn begin(&mut self) -> Result<Option<&[u8]>> {
        self.open_next()?;
        let Some(window) = &mut self.window else { return Ok(None) };
        window.need(FORMAT_BYTES)?;
        Ok(Some(window.bytes()).filter(|bytes| !bytes.is_empty()))
    }

    /// Opens the input whose turn it is, or goes on in the one that named the last, if there is one left.
    pub(super) fn open_next(&mut self) -> Result<bool> {
        if self.window.is_some() {
            return Ok(true);
        }
        if self.resume() {
            return Ok(true);
        }
        if !self.open_input()? {
            return Ok(false);
        }
        self.delimiter = b";".to_vec();
        self.lead = Some(Lead::new(self.session.syntax));
        Ok(true)
    }

    /// Opens the input whose turn it is, if there is one left.
    pub(super) fn open_input(&mut self) -> Result<bool> {
        let Some(input) = self.inputs.get(self.index) else { return Ok(false) };
        let options = TextOptions {
            encoding: Encoding::Bytes,
            unpack_bytes_max: self.options.unpack_bytes_max,
        };
        let stream = Stream::open(input, options, self.options.ahead_bytes, &self.ends)?;
        let mut window = Window::new(stream, input.path().to_owned(), self.options.piece_bytes);
        window.need(4)?;
        let what = not_sql(window.bytes());
        if let Some(what) = what {
            return Err(Error::NotText { path: input.path().to_owned(), what });
        }
        if window.bytes().starts_with(BYTE_ORDER_MARK) {
            window.take(BYTE_ORDER_MARK.len());
        }
        self.window = Some(window);
        Ok(true)
    }

    /// Inputs read to their end that were written by mariadb-dump or mysqldump, as they begin, and do
    /// not end as these do: with the line `-- Dump completed`, or triggers behind it. They were cut, between two
    /// statements. With the first line of the next dump, where one follows in the same input.
    pub fn cut_short(&self) -> &[(PathBuf, Option<u64>)] {
        &self.cut_short
    }

    /// Behind the last statement of an input.
    pub(super) fn judge_end(&mut self) {
        let (Some(input), Some(window)) = (self.inputs.get(self.index), &self.window) else {
            return;
        };
        let (path, before) = (input.path(), window.cut_before);
        self.cut_short.extend(before.map(|line| (path.to_owned(), Some(line))));
        if window.is_of_client && !window.last_line.is_end() {
            self.cut_short.push((path.to_owned(), None));
        }
    }

    pub(super) fn close(&mut self) {
        self.bytes_before += self.window.as_ref().map_or(0, Window::consumed);
        self.window = None;
        self.index += 1;
    }

    /// Goes on in the next input, which `window` is over.
    pub(in crate::dump) fn go_on(&mut self, window: Window) {
        self.close();
        self.window = Some(window);
        self.tell();
    }
}

/// Bytes that show the format of an input.
const FORMAT_BYTES: usize = 4 << 10;

/// U+FEFF in UTF-8, which some editors put at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The format of an input that is no dump in SQL, by its first bytes.
fn not_sql(head: &[u8]) -> Option<&'static str> {
    let is_wide = head.starts_with(b"\xff\xfe")
        || head.starts_with(b"\xfe\xff")
        || head.iter().take(4).any(|&byte| byte == 0);
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
    if Compression::of(head).is_some() {
        Some("compressed twice: unpack it once")
    } else if is_wide {
        Some(
            "UTF-16 or UTF-32, in which the server accepts no statements; convert it to UTF-8 \
              first",
        )
    } else if text.first() == Some(&b'<') && !is_html(text) {
        Some("XML, not SQL; create the dump without --xml")
    } else {
        None
    }
}

fn is_html(text: &[u8]) -> bool {
    let begins =
        |word: &[u8]| text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    begins(b"<html") || begins(b"<!doctype")
}
