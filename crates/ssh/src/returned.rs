//! Files that a load on another machine writes here: rejected rows, a report, metrics.
//!
//! They come between the lines of messages, each part with its size, and take their names when they are complete.
//!
//! ```text
//! \x01 B NUMBER 0 \n             a file begins
//! \x01 D NUMBER SIZE \n bytes    a part of it
//! \x01 E NUMBER 0 \n             it is complete
//! ```

use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use disk::output::{self, NewFile};
use disk::returned::Sender;

/// The first character of a part. No line of a message begins with it, since control characters of messages are shown as words.
const MARK: char = '\u{1}';
/// Bytes of a part.
const PART_BYTES: usize = 64 << 10;
/// The word for these files where files are counted by their use.
const WHAT: &str = "returned";

/// A file that the load is to write on this machine.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// The option that names it.
    pub option: &'static str,
    /// Its name, as it was typed.
    pub path: PathBuf,
    /// Its mode.
    pub mode: u32,
}

/// The other machine's end: writes parts between the lines of its messages.
#[derive(Debug)]
pub(crate) struct Parts;

impl Sender for Parts {
    fn send(&self, number: usize, bytes: &mut dyn Read) -> io::Result<()> {
        write_file(number, bytes, &mut |part| io::stderr().write_all(part))
    }
}

/// Writes a file, each part by one call.
fn write_file(
    number: usize,
    bytes: &mut dyn Read,
    write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    write(format!("{MARK} B {number} 0\n").as_bytes())?;
    loop {
        let mut part = Vec::new();
        let size = bytes.take(PART_BYTES as u64).read_to_end(&mut part)?;
        if size == 0 {
            return write(format!("{MARK} E {number} 0\n").as_bytes());
        }
        let head = format!("{MARK} D {number} {size}\n");
        write(&[head.as_bytes(), &part].concat())?;
    }
}

/// The files on this machine.
#[derive(Debug)]
pub(crate) struct ReturnedFiles {
    files: Vec<(WrittenFile, Option<NewFile>)>,
    /// The first that cannot be written, in words.
    failure: Option<String>,
}

impl ReturnedFiles {
    pub(crate) fn new(files: Vec<WrittenFile>) -> ReturnedFiles {
        ReturnedFiles { files: files.into_iter().map(|file| (file, None)).collect(), failure: None }
    }

    /// True if a file cannot be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Why a file is missing or incomplete, if the files were asked for and one is.
    pub(crate) fn failure(&mut self, is_read_to_end: bool) -> Option<String> {
        let open = |(_, new): &&(WrittenFile, Option<NewFile>)| new.is_some() || !is_read_to_end;
        let cut = self.files.iter().find(open).map(|(file, _)| file.failed("the transfer was cut"));
        self.failure.take().or(cut)
    }

    /// Takes the part that `line` is the head of, if it is one, and its bytes from `messages`.
    ///
    /// Errors: a part of no file; the bytes end.
    pub(crate) fn take(&mut self, line: &str, messages: &mut impl BufRead) -> io::Result<bool> {
        let Some(words) = line.strip_prefix(MARK) else { return Ok(false) };
        let mut words = words.split_whitespace();
        let (kind, number, size) = (words.next(), words.next(), words.next());
        let number = number.and_then(|word| word.parse().ok());
        let size: Option<usize> = size.and_then(|word| word.parse().ok());
        let size = size.filter(|&size| size <= PART_BYTES);
        let (Some(kind), Some(number), Some(size)) = (kind, number, size) else {
            return Err(crate::frame::invalid());
        };
        let mut part = vec![0; size];
        messages.read_exact(&mut part)?;
        let file: Option<&mut (WrittenFile, Option<NewFile>)> = self.files.get_mut::<usize>(number);
        let (file, new) = file.ok_or_else(crate::frame::invalid)?;
        if let Err(error) = file.write(new, kind, &part) {
            *new = None;
            self.failure.get_or_insert_with(|| file.failed(error));
        }
        Ok(true)
    }
}

impl WrittenFile {
    fn write(&self, new: &mut Option<NewFile>, kind: &str, part: &[u8]) -> io::Result<()> {
        match (kind, new.take()) {
            ("B", _) => *new = Some(NewFile::create(&self.path, self.mode, WHAT)?),
            ("D", Some(mut begun)) => {
                begun.file().write_all(part)?;
                *new = Some(begun);
            }
            ("E", Some(mut begun)) => {
                begun.file().sync_all()?;
                begun.take_name()?;
                output::sync_name(&self.path, WHAT)?;
            }
            // The rest of one that could not be written.
            _ => {}
        }
        Ok(())
    }

    fn failed(&self, why: impl std::fmt::Display) -> String {
        format!("writing {} {}: {why}", self.option, self.path.display())
    }
}

/// Refuses a name that is no plain file's, or has no folder.
///
/// Errors: the system's, and a sentence about another kind of file.
pub fn check(path: &Path) -> io::Result<()> {
    output::head(path, 0, WHAT).map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn sent(number: usize, mut bytes: &[u8]) -> Vec<u8> {
        let mut lines = Vec::new();
        let mut write = |part: &[u8]| {
            lines.extend_from_slice(part);
            Ok(())
        };
        write_file(number, &mut bytes, &mut write).unwrap();
        lines
    }

    /// Reads messages as the client does; gives those that are no files.
    fn read(files: &mut ReturnedFiles, mut bytes: &[u8]) -> io::Result<String> {
        let mut messages = String::new();
        loop {
            let mut line = Vec::new();
            if bytes.read_until(b'\n', &mut line)? == 0 {
                return Ok(messages);
            }
            let line = String::from_utf8_lossy(&line).into_owned();
            if !files.take(&line, &mut bytes)? {
                messages += &line;
            }
        }
    }

    #[test]
    fn files_arrive_as_they_are_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let file = |name: &str| WrittenFile { option: "--x", path: at(name), mode: 0o600 };
        let new = || ReturnedFiles::new(vec![file("a"), file("b")]);
        let large: Vec<u8> = (0..3 * PART_BYTES + 7).map(|at| (at % 251) as u8).collect();
        let parts = [&b"first\n"[..], &sent(0, &large), b"second\n", &sent(1, b"")].concat();
        let mut files = new();
        assert_eq!(read(&mut files, &parts).unwrap(), "first\nsecond\n");
        assert_eq!(files.failure(true), None);
        assert_eq!(fs::read(at("a")).unwrap(), large);
        assert_eq!(fs::read(at("b")).unwrap(), b"");
        // A file that is sent once more takes the place of the first, when it is complete.
        let (begun, _) = parts.split_at(parts.len() / 2);
        let mut files = new();
        assert!(read(&mut files, begun).is_err());
        assert!(files.failure(true).unwrap().contains("--x"), "{files:?}");
        assert!(new().failure(false).unwrap().contains("cut"));
        assert_eq!(fs::read(at("a")).unwrap(), large);
        drop(files);
        read(&mut new(), &sent(0, b"other")).unwrap();
        assert_eq!(fs::read(at("a")).unwrap(), b"other");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // One that cannot be written is said once, and the others are written.
        let lost = WrittenFile { path: at("none/c"), ..file("") };
        let mut files = ReturnedFiles::new(vec![lost, file("b")]);
        read(&mut files, &[sent(0, &large), sent(1, b"b")].concat()).unwrap();
        assert!(files.has_failed() && fs::read(at("b")).unwrap() == b"b");
        assert!(files.failure(true).unwrap().contains("none/c: No such file"));
        // Parts of no file.
        for part in ["\u{1} B 7 0\n", "\u{1} D 0 99999999\n", "\u{1}\n", "\u{1} D x 1\n"] {
            assert!(read(&mut new(), part.as_bytes()).is_err(), "{part}");
        }
    }
}
