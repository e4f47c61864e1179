//! Files of a command whose user is at another machine: written to files without names here, and sent there.
//!
//! Their names are those of the other machine. [`output`](crate::output) asks for them by these names.

use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::File;

/// The way to the other machine.
pub trait Sender: Send + Sync {
    /// Sends the complete file of this number, in place of one that was sent before.
    ///
    /// Errors: reading it, and the way.
    fn send(&self, number: usize, bytes: &mut dyn Read) -> io::Result<()>;

    /// Waits until the files that were sent are on the disk of the other machine.
    ///
    /// Errors: the other machine does not say so.
    fn sync(&self) -> io::Result<()>;
}

struct Returned {
    names: Vec<PathBuf>,
    temp_dir: PathBuf,
    files: Mutex<Vec<Option<ReturnedFile>>>,
    sender: Box<dyn Sender>,
}

struct ReturnedFile {
    file: std::fs::File,
    /// Bytes that were sent; None if nothing was.
    sent: Option<u64>,
}

static RETURNED: OnceLock<Returned> = OnceLock::new();

/// Has this process send files of these names, which are numbered from 0 on. Only the first call counts.
pub fn begin(names: Vec<PathBuf>, temp_dir: PathBuf, sender: Box<dyn Sender>) {
    let files = Mutex::new(names.iter().map(|_| None).collect());
    let _ = RETURNED.set(Returned { names, temp_dir, files, sender });
}

/// True of the name of a file that is sent to another machine.
pub fn has(path: &Path) -> bool {
    find(path).is_some()
}

/// Sends what is written of a file so far; does nothing about files of this machine.
///
/// Errors: as [`Sender::send`].
pub fn send(path: &Path) -> io::Result<()> {
    find(path).map_or(Ok(()), |(returned, number)| returned.send(number))
}

/// Waits until the files that were sent are on the disk of the other machine.
///
/// Errors: as [`Sender::sync`].
pub fn sync() -> io::Result<()> {
    RETURNED.get().map_or(Ok(()), |returned| returned.sender.sync())
}

/// Sends the files that were written to since they were sent, at the end of the process.
///
/// Errors: as [`Sender::send`].
pub fn send_all() -> io::Result<()> {
    let Some(returned) = RETURNED.get() else { return Ok(()) };
    (0..returned.names.len()).try_for_each(|number| returned.send(number))
}

/// Begins such a file, empty; None if the file is one of this machine.
pub(crate) fn create(path: &Path, what: &'static str) -> Option<io::Result<File>> {
    let (returned, number) = find(path)?;
    Some(crate::unnamed(&returned.temp_dir, what).and_then(|file| {
        let reader = file.as_fd().try_clone_to_owned()?.into();
        returned.files()[number] = Some(ReturnedFile { file: reader, sent: None });
        Ok(file)
    }))
}

/// Sends such a file; None if the file is one of this machine.
pub(crate) fn replace(path: &Path, mut bytes: &[u8]) -> Option<io::Result<()>> {
    let (returned, number) = find(path)?;
    Some(returned.sender.send(number, &mut bytes))
}

fn find(path: &Path) -> Option<(&'static Returned, usize)> {
    let returned = RETURNED.get()?;
    let number = returned.names.iter().position(|name| name == path)?;
    Some((returned, number))
}

impl Returned {
    fn files(&self) -> MutexGuard<'_, Vec<Option<ReturnedFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, number: usize) -> io::Result<()> {
        let mut files = self.files();
        let Some(ReturnedFile { file, sent }) = &mut files[number] else { return Ok(()) };
        let bytes = file.metadata()?.len();
        if *sent != Some(bytes) {
            self.sender.send(number, &mut FromStart { file, position: 0 }.take(bytes))?;
            *sent = Some(bytes);
        }
        Ok(())
    }
}

/// A file from its first byte on, wherever its writer is.
struct FromStart<'a> {
    file: &'a std::fs::File,
    position: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(out, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write as _;
    use std::sync::Arc;

    use super::*;
    use crate::output;

    #[derive(Clone, Default)]
    struct Sent(Arc<Mutex<Vec<(usize, String)>>>);

    impl Sender for Sent {
        fn send(&self, number: usize, bytes: &mut dyn Read) -> io::Result<()> {
            let mut text = String::new();
            bytes.read_to_string(&mut text)?;
            self.0.lock().unwrap().push((number, text));
            Ok(())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn files_of_another_machine_are_sent_and_have_no_names_here() {
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| Path::new("/nowhere/of/this/machine").join(name);
        let sent = Sent::default();
        let names = vec![name("a"), name("b"), name("c"), name("d")];
        begin(names, folder.path().to_owned(), Box::new(sent.clone()));
        assert!(has(&name("a")) && !has(&name("x")));
        output::check(&name("a")).unwrap();
        let mut first = output::create(&name("a"), "x").unwrap();
        first.write_all(b"one").unwrap();
        send(&name("a")).unwrap();
        // Only what has changed is sent once more.
        send(&name("a")).unwrap();
        first.write_all(b" two").unwrap();
        output::create(&name("b"), "x").unwrap();
        assert_eq!(output::head(&name("c"), 9, "x").unwrap(), None);
        output::replace(&name("c"), b"three", 0o644, "x").unwrap();
        send(&name("x")).unwrap();
        send_all().unwrap();
        // A file that begins anew.
        output::create(&name("a"), "x").unwrap().write_all(b"new").unwrap();
        send_all().unwrap();
        let text = |(number, text): &(usize, String)| format!("{number}{text}");
        let all: Vec<String> = sent.0.lock().unwrap().iter().map(text).collect();
        assert_eq!(all, ["0one", "2three", "0one two", "1", "0new"]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
