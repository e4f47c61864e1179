//! Files that a load on another machine writes here: rejected rows, a report, metrics.
//!
//! They come between the lines of messages, each part with its size, and take their names when they are complete.
//!
//! ```text
//! \x01 B NUMBER 0 SUM \n             a file begins
//! \x01 D NUMBER SIZE SUM \n bytes    a part of it
//! \x01 E NUMBER 0 SUM \n             it is complete
//! ```
//!
//! SUM is the CRC-32C of the file up to there: a message of the ssh of this machine, or of its ProxyCommand, may come
//! anywhere. A file that is complete has a receipt, for which the load waits before it publishes.

use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use disk::output::{self, NewFile};
use disk::returned::Sender;

use crate::frame;

/// The first character of a part. No line of a message begins with it, since control characters of messages are shown as words.
const MARK: char = '\u{1}';
/// Kinds of parts.
const BEGIN: &str = "B";
const DATA: &str = "D";
const END: &str = "E";
/// Bytes of a part.
const PART_BYTES: usize = 64 << 10;
/// The wait for a receipt: a slow disk may take minutes to store a large file.
const RECEIPT_WAIT: Duration = Duration::from_secs(600);
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts(Arc<Receipts>);

/// Receipts of this machine for the files that were sent.
#[derive(Debug, Default)]
struct Receipts {
    /// Files without one.
    missing: AtomicU64,
    /// None before the end of the input: no receipt comes until then, and no load publishes.
    arriving: Mutex<Option<Receiver<()>>>,
}

impl Parts {
    /// Has a load wait for receipts from now on.
    pub(crate) fn expect(&self, receipts: Receiver<()>) {
        *self.receipts() = Some(receipts);
    }

    fn receipts(&self) -> MutexGuard<'_, Option<Receiver<()>>> {
        self.0.arriving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a file, each part by one call.
    pub(crate) fn write(
        &self,
        number: usize,
        bytes: &mut dyn Read,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.0.missing.fetch_add(1, Ordering::Relaxed);
        write(format!("{MARK} {BEGIN} {number} 0 0\n").as_bytes())?;
        let mut sum = 0;
        loop {
            let mut part = Vec::new();
            let size = bytes.take(PART_BYTES as u64).read_to_end(&mut part)?;
            sum = crc32c::crc32c_append(sum, &part);
            if size == 0 {
                return write(format!("{MARK} {END} {number} 0 {sum}\n").as_bytes());
            }
            let head = format!("{MARK} {DATA} {number} {size} {sum}\n");
            write(&[head.as_bytes(), &part].concat())?;
        }
    }
}

impl Sender for Parts {
    fn send(&self, number: usize, bytes: &mut dyn Read) -> io::Result<()> {
        self.write(number, bytes, &mut |part| io::stderr().write_all(part))
    }

    fn sync(&self) -> io::Result<()> {
        let receipts = self.receipts();
        let Some(receipts) = receipts.as_ref() else { return Ok(()) };
        while self.0.missing.load(Ordering::Relaxed) > 0 {
            receipts.recv_timeout(RECEIPT_WAIT).map_err(|_| {
                io::Error::other("the machine that sends the input has not stored the file")
            })?;
            self.0.missing.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A part of a file, as it came between the messages.
#[derive(Debug)]
pub(crate) struct Part {
    kind: String,
    number: usize,
    sum: u32,
    bytes: Vec<u8>,
}

impl Part {
    /// Reads the part that `line` is the head of, if it is one, with its bytes from `messages`.
    ///
    /// Errors: a damaged head; the bytes end.
    pub(crate) fn read(line: &str, messages: &mut impl BufRead) -> io::Result<Option<Part>> {
        let Some(words) = line.strip_prefix(MARK) else { return Ok(None) };
        let words: Vec<&str> = words.split_whitespace().collect();
        let [kind, number, size, sum] = words[..] else { return Err(damaged()) };
        let size = size.parse().ok().filter(|&size| size <= PART_BYTES);
        let (Ok(number), Some(size), Ok(sum)) = (number.parse(), size, sum.parse()) else {
            return Err(damaged());
        };
        let mut bytes = vec![0; size];
        frame::read_exact(messages, &mut bytes)?;
        Ok(Some(Part { kind: kind.to_owned(), number, sum, bytes }))
    }
}

/// The error of bytes that are no part.
fn damaged() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the transfer is damaged; a ProxyCommand of ssh, or a jump host, must write no messages",
    )
}

/// A file on this machine.
#[derive(Debug)]
struct ReturnedFile {
    file: WrittenFile,
    new: Option<NewFile>,
    /// CRC-32C of its bytes so far.
    sum: u32,
}

/// The files on this machine.
#[derive(Debug)]
pub(crate) struct ReturnedFiles {
    files: Vec<ReturnedFile>,
    /// The first that cannot be written, in words.
    failure: Option<String>,
}

impl ReturnedFiles {
    pub(crate) fn new(files: Vec<WrittenFile>) -> ReturnedFiles {
        let files = files.into_iter().map(|file| ReturnedFile { file, new: None, sum: 0 });
        ReturnedFiles { files: files.collect(), failure: None }
    }

    /// True if a file cannot be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Why a file is missing or incomplete, if the files were asked for and one is. `end` is that of the messages.
    pub(crate) fn failure(&mut self, end: io::Result<()>) -> Option<String> {
        let is_open = |file: &&ReturnedFile| file.new.is_some() || end.is_err();
        let open = self.files.iter().find(is_open);
        let cut = open.map(|file| file.file.failed(end.err().unwrap_or_else(frame::cut_short)));
        self.failure.take().or(cut)
    }

    /// Takes a part; true if a file is complete by it, and on the disk.
    ///
    /// Errors: a part of no file; bytes that are not those that were sent.
    pub(crate) fn take(&mut self, part: &Part) -> io::Result<bool> {
        let ReturnedFile { file, new, sum } =
            self.files.get_mut(part.number).ok_or_else(damaged)?;
        let before = if part.kind == BEGIN { 0 } else { *sum };
        *sum = crc32c::crc32c_append(before, &part.bytes);
        if *sum != part.sum {
            return Err(damaged());
        }
        let is_last = part.kind == END && new.is_some();
        match file.write(new, &part.kind, &part.bytes) {
            Ok(()) => Ok(is_last),
            Err(error) => {
                *new = None;
                self.failure.get_or_insert_with(|| file.failed(error));
                Ok(false)
            }
        }
    }
}

impl WrittenFile {
    fn write(&self, new: &mut Option<NewFile>, kind: &str, part: &[u8]) -> io::Result<()> {
        match (kind, new.take()) {
            (BEGIN, _) => *new = Some(NewFile::create(&self.path, self.mode, WHAT)?),
            (DATA, Some(mut begun)) => {
                begun.file().write_all(part)?;
                *new = Some(begun);
            }
            (END, Some(mut begun)) => {
                disk::failpoint::hit("returned.complete");
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
        Parts::default().write(number, &mut bytes, &mut write).unwrap();
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
            match Part::read(&line, &mut bytes)? {
                Some(part) => drop(files.take(&part)?),
                None => messages += &line,
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
        assert_eq!(files.failure(Ok(())), None);
        assert_eq!(fs::read(at("a")).unwrap(), large);
        assert_eq!(fs::read(at("b")).unwrap(), b"");
        // A file that is sent once more takes the place of the first, when it is complete.
        let (begun, _) = parts.split_at(parts.len() / 2);
        let mut files = new();
        assert!(read(&mut files, begun).is_err());
        assert!(files.failure(Ok(())).unwrap().contains("--x"), "{files:?}");
        assert!(new().failure(Err(damaged())).unwrap().contains("damaged"));
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
        assert!(files.failure(Ok(())).unwrap().contains("none/c: No such file"));
        // Parts of no file.
        for part in ["B 7 0 0", "D 0 99999999 0", "", "D x 1 0", "B 0 0 0 0", "B 0 0", "B 0 0 1"] {
            let line = format!("{MARK} {part}\nx");
            assert!(read(&mut new(), line.as_bytes()).is_err(), "{part}");
        }
    }

    /// A line of the ssh of this machine, with LogLevel DEBUG or of a ProxyCommand, comes between any bytes.
    #[test]
    fn a_file_with_a_message_in_it_takes_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = WrittenFile { option: "--x", path: path.clone(), mode: 0o600 };
        let parts = sent(0, b"1,a\n2,b\n");
        for at in 1..parts.len() {
            let (before, behind) = parts.split_at(at);
            let mut files = ReturnedFiles::new(vec![file.clone()]);
            let end = read(&mut files, &[before, b"debug1: x\r\n", behind].concat());
            let is_between = before.ends_with(b"\n") && end.is_ok();
            assert_eq!(is_between, path.exists(), "{at}: {end:?}");
            assert!(is_between || files.failure(end.map(drop)).is_some(), "{at}");
            let _ = fs::remove_file(&path);
        }
    }
}
