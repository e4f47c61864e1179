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
//! anywhere. Each file has a receipt at its end, which says if it is stored.

use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use disk::output::{self, NewFile};
use disk::returned::Sender;
use locks::Mutex;

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
    /// True if it has rows: the other machine keeps it until it is stored here.
    pub has_rows: bool,
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
    arriving: Mutex<Option<Receiver<bool>>>,
}

impl Parts {
    /// Has receipts be waited for from now on.
    pub(crate) fn expect(&self, receipts: Receiver<bool>) {
        *self.0.arriving.lock() = Some(receipts);
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
        let receipts = self.0.arriving.lock();
        while self.0.missing.load(Ordering::Relaxed) > 0 {
            let receipt = receipts.as_ref().map(|receipts| receipts.recv_timeout(RECEIPT_WAIT));
            if receipt != Some(Ok(true)) {
                return Err(io::Error::other(
                    "the machine that sends the input has not stored the file",
                ));
            }
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
    /// Why it is not written, in words.
    failure: Option<String>,
}

/// The files on this machine.
#[derive(Debug)]
pub(crate) struct ReturnedFiles(Vec<ReturnedFile>);

impl ReturnedFiles {
    pub(crate) fn new(files: Vec<WrittenFile>) -> ReturnedFiles {
        let returned = |file| ReturnedFile { file, new: None, sum: 0, failure: None };
        ReturnedFiles(files.into_iter().map(returned).collect())
    }

    /// Why files are missing or incomplete. `end` is that of the messages.
    pub(crate) fn failures(&self, end: io::Result<()>) -> Vec<String> {
        let is_cut = end.is_err();
        let cut = end.err().unwrap_or_else(frame::cut_short);
        let failure = |it: &ReturnedFile| {
            let is_open = it.new.is_some() || is_cut;
            it.failure.clone().or_else(|| is_open.then(|| it.file.failed(&cut)))
        };
        self.0.iter().filter_map(failure).collect()
    }

    /// Takes a part. At the end of a file, its receipt: false if it has rows and is not on the disk.
    ///
    /// Errors: a part of no file.
    pub(crate) fn take(&mut self, part: &Part) -> io::Result<Option<bool>> {
        let it = self.0.get_mut(part.number).ok_or_else(damaged)?;
        if part.kind == BEGIN {
            (it.sum, it.failure) = (0, None);
        }
        it.sum = crc32c::crc32c_append(it.sum, &part.bytes);
        let written = match it.sum == part.sum {
            true => it.file.write(&mut it.new, &part.kind, &part.bytes),
            false => Err(damaged()),
        };
        if let Err(error) = written {
            it.new = None;
            it.failure.get_or_insert_with(|| it.file.failed(error));
        }
        let is_stored = it.failure.is_none() || !it.file.has_rows;
        Ok((part.kind == END).then_some(is_stored))
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
            _ => return Err(damaged()),
        }
        Ok(())
    }

    fn failed(&self, why: impl std::fmt::Display) -> String {
        format!("writing {} {}: {why}", self.option, self.path.display())
    }
}

/// Refuses a name under which no file can be written. Leaves no file behind.
///
/// Errors: the system's, and a sentence about a name that is no plain file's.
pub fn check(path: &Path, mode: u32) -> io::Result<()> {
    NewFile::create(path, mode, WHAT).map(drop)
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
        let file =
            |name: &str| WrittenFile { option: "--x", path: at(name), mode: 0o600, has_rows: true };
        let new = || ReturnedFiles::new(vec![file("a"), file("b")]);
        let large: Vec<u8> = (0..3 * PART_BYTES + 7).map(|at| (at % 251) as u8).collect();
        let parts = [&b"first\n"[..], &sent(0, &large), b"second\n", &sent(1, b"")].concat();
        let mut files = new();
        assert_eq!(read(&mut files, &parts).unwrap(), "first\nsecond\n");
        assert_eq!(files.failures(Ok(())), Vec::<String>::new());
        assert_eq!(fs::read(at("a")).unwrap(), large);
        assert_eq!(fs::read(at("b")).unwrap(), b"");
        // A file that is sent once more takes the place of the first, when it is complete.
        let (begun, _) = parts.split_at(parts.len() / 2);
        let mut files = new();
        assert!(read(&mut files, begun).is_err());
        assert!(files.failures(Ok(()))[0].contains("--x"), "{files:?}");
        assert!(new().failures(Err(damaged()))[1].contains("damaged"));
        assert_eq!(fs::read(at("a")).unwrap(), large);
        drop(files);
        read(&mut new(), &sent(0, b"other")).unwrap();
        assert_eq!(fs::read(at("a")).unwrap(), b"other");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // One that cannot be written is said once, and the others are written.
        let lost = WrittenFile { path: at("none/c"), ..file("") };
        let mut files = ReturnedFiles::new(vec![lost, file("b")]);
        read(&mut files, &[sent(0, &large), sent(1, b"b")].concat()).unwrap();
        assert_eq!(fs::read(at("b")).unwrap(), b"b");
        let failures = files.failures(Ok(()));
        assert!(failures.len() == 1 && failures[0].contains("none/c: No such file"));
        // Parts of no file.
        for part in ["B 7 0 0", "D 0 99999999 0", "", "D x 1 0", "B 0 0 0 0", "B 0 0"] {
            let line = format!("{MARK} {part}\nx");
            assert!(read(&mut new(), line.as_bytes()).is_err(), "{part}");
        }
    }

    #[test]
    fn a_receipt_says_if_rows_are_stored_and_a_later_file_mends_a_report() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none/a");
        let files = [true, false].map(|has_rows| WrittenFile {
            option: "--x",
            path: path.clone(),
            mode: 0o600,
            has_rows,
        });
        let mut files = ReturnedFiles::new(files.to_vec());
        let receipts = |files: &mut ReturnedFiles, number| {
            let bytes = sent(number, b"abc");
            let mut bytes = &bytes[..];
            let mut receipts = Vec::new();
            while !bytes.is_empty() {
                let mut line = String::new();
                bytes.read_line(&mut line).unwrap();
                let part = Part::read(&line, &mut bytes).unwrap().unwrap();
                receipts.extend(files.take(&part).unwrap());
            }
            receipts
        };
        assert_eq!([0, 1].map(|number| receipts(&mut files, number)), [[false], [true]]);
        assert_eq!(files.failures(Ok(())).len(), 2);
        fs::create_dir(folder.path().join("none")).unwrap();
        assert_eq!(receipts(&mut files, 1), [true]);
        assert_eq!(files.failures(Ok(())).len(), 1);
    }

    /// A line of the ssh of this machine, with LogLevel DEBUG or of a ProxyCommand, comes between any bytes.
    #[test]
    fn a_file_with_a_message_in_it_takes_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = WrittenFile { option: "--x", path: path.clone(), mode: 0o600, has_rows: true };
        let parts = sent(0, b"1,a\n2,b\n");
        for at in 1..parts.len() {
            let (before, behind) = parts.split_at(at);
            let mut files = ReturnedFiles::new(vec![file.clone()]);
            let end = read(&mut files, &[before, b"debug1: x\r\n", behind].concat());
            let is_written = path.exists();
            assert!(!is_written || before.ends_with(b"\n"), "{at}: {end:?}");
            assert_eq!(is_written, files.failures(end.map(drop)).is_empty(), "{at}");
            let _ = fs::remove_file(&path);
        }
    }
}
