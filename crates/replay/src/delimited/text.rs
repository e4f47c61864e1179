//! The chunks of a source as one text.

use std::io::{self, Read};

use sources::{Chunk, Source};

/// Reads a source's text front to back. A file that lacks its last line end gets one where another
/// follows.
pub(super) struct Text {
    source: Box<dyn Source>,
    chunk: Chunk,
    at: usize,
    /// The line end that is missing between two files.
    line_end: Vec<u8>,
}

impl Text {
    pub(super) fn new(source: Box<dyn Source>) -> Text {
        let line_end = source.facts().row_end.clone();
        Text { source, chunk: Chunk::default(), at: 0, line_end }
    }

    /// Has some of the text at hand; false at its end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at < self.chunk.bytes.len() {
            return Ok(true);
        }
        let lacks_end = self.at > 0 && !self.chunk.bytes.ends_with(&self.line_end);
        let last_file = self.chunk.file;
        self.at = 0;
        let is_more = self.source.next_chunk(&mut self.chunk).map_err(io::Error::other)?;
        if is_more && lacks_end && self.chunk.file != last_file {
            let end = self.line_end.iter().copied();
            self.chunk.bytes.splice(0..0, end);
        }
        Ok(is_more)
    }
}

impl Read for Text {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.fill()? {
            return Ok(0);
        }
        let rest = &self.chunk.bytes[self.at..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use sources::{Dialect, FileSource, SourceOptions};

    #[test]
    fn files_follow_each_other_as_lines() {
        let place = tempfile::tempdir().unwrap();
        let paths = ["a", "b", "c"].map(|name| place.path().join(name));
        for (path, text) in paths.iter().zip(["1\n2", "3\n", "4"]) {
            std::fs::write(path, text).unwrap();
        }
        let options = SourceOptions { chunk_bytes: 2, ..SourceOptions::default() };
        let source = FileSource::new(&paths, &Dialect::mysql(), options).unwrap();
        let mut text = String::new();
        Text::new(Box::new(source)).read_to_string(&mut text).unwrap();
        assert_eq!(text, "1\n2\n3\n4");
    }
}
