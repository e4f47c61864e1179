//! Files of a command whose user is at another machine: written to files without names here, and sent there at the end.
//!
//! Their names are those of the other machine. [`output`](crate::output) asks for them by these names. A file that must
//! not be lost has a name here too until the other machine has stored it: nobody waits for a network with locks held.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use locks::Mutex;
use rustix::fs::{AtFlags, CWD, linkat};

use crate::File;

/// The word for these files where files are counted by their use.
const WHAT: &str = "returned";

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
    /// Part of names here that no other process has.
    stamp: u128,
    files: Mutex<Vec<ReturnedFile>>,
    sender: Box<dyn Sender>,
}

#[derive(Default)]
struct ReturnedFile {
    /// None if it was not begun.
    file: Option<std::fs::File>,
    /// True if it has a name here.
    is_kept: bool,
}

static RETURNED: OnceLock<Returned> = OnceLock::new();

/// Has this process send files of these names, which are numbered from 0 on. Only the first call counts.
pub fn begin(names: Vec<PathBuf>, temp_dir: PathBuf, sender: Box<dyn Sender>) {
    let files = Mutex::new(names.iter().map(|_| ReturnedFile::default()).collect());
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let _ = RETURNED.set(Returned { names, temp_dir, stamp: since.as_nanos(), files, sender });
}

/// True of the name of a file that is sent to another machine.
pub fn has(path: &Path) -> bool {
    find(path).is_some()
}

/// Gives a file that is on the disk a durable name here, until [`send_all`]; does nothing about files of this machine.
///
/// Errors: the system's.
pub fn keep(path: &Path) -> io::Result<()> {
    find(path).map_or(Ok(()), |(returned, number)| returned.keep(number))
}

/// Sends the files that were written, at the end of the process. Waits until those that have names here are on the disk
/// of the other machine, and removes these names. Gives the files that it may not have: their names there and here.
pub fn send_all() -> Vec<(&'static Path, PathBuf)> {
    let Some(returned) = RETURNED.get() else { return Vec::new() };
    let sent = (0..returned.names.len()).try_for_each(|number| returned.send(number));
    let is_kept = |number: &usize| returned.files.lock()[*number].is_kept;
    let kept: Vec<usize> = (0..returned.names.len()).filter(is_kept).collect();
    let is_stored = !kept.is_empty() && sent.and_then(|()| returned.sender.sync()).is_ok();
    let files = kept.into_iter().map(|number| (&*returned.names[number], returned.kept(number)));
    let is_left = |(_, here): &(_, PathBuf)| !is_stored || crate::remove(here, WHAT).is_err();
    files.filter(is_left).collect()
}

/// Begins such a file, empty; None if the file is one of this machine.
pub(crate) fn create(path: &Path, what: &'static str) -> Option<io::Result<File>> {
    let (returned, number) = find(path)?;
    Some(crate::unnamed(&returned.temp_dir, what).and_then(|file| {
        let reader = file.as_fd().try_clone_to_owned()?.into();
        returned.files.lock()[number].file = Some(reader);
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
    /// The name here of a file that is kept.
    fn kept(&self, number: usize) -> PathBuf {
        self.temp_dir.join(format!("inrush-returned-{:x}-{number}", self.stamp))
    }

    fn keep(&self, number: usize) -> io::Result<()> {
        let mut files = self.files.lock();
        let ReturnedFile { file: Some(file), is_kept } = &mut files[number] else { return Ok(()) };
        let path = self.kept(number);
        // It may be one that was begun anew since.
        crate::remove(&path, WHAT)?;
        *is_kept = true;
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        if linkat(CWD, own, CWD, &path, AtFlags::SYMLINK_FOLLOW).is_err() {
            // Only some file systems give a name to a file that never had one.
            let mut copy =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            io::copy(&mut FromStart { file, position: 0 }, &mut copy)?;
            copy.sync_all()?;
        }
        crate::sync_folder(&self.temp_dir, WHAT)
    }

    fn send(&self, number: usize) -> io::Result<()> {
        let files = self.files.lock();
        let Some(file) = &files[number].file else { return Ok(()) };
        self.sender.send(number, &mut FromStart { file, position: 0 })
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
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::output;

    /// The file that was sent, and whether the other machine stores it.
    #[derive(Clone, Default)]
    struct Sent(Arc<Mutex<Vec<(usize, String)>>>, Arc<AtomicBool>);

    impl Sender for Sent {
        fn send(&self, number: usize, bytes: &mut dyn Read) -> io::Result<()> {
            let mut text = String::new();
            bytes.read_to_string(&mut text)?;
            self.0.lock().push((number, text));
            Ok(())
        }

        fn sync(&self) -> io::Result<()> {
            match self.1.load(Ordering::Relaxed) {
                true => Ok(()),
                false => Err(io::ErrorKind::TimedOut.into()),
            }
        }
    }

    #[test]
    fn files_of_another_machine_are_sent_and_kept_until_they_are_stored() {
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| Path::new("/nowhere/of/this/machine").join(name);
        let sent = Sent::default();
        let names = vec![name("a"), name("b"), name("c"), name("d")];
        begin(names, folder.path().to_owned(), Box::new(sent.clone()));
        assert!(has(&name("a")) && !has(&name("x")));
        output::check(&name("a")).unwrap();
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        let mut first = output::create(&name("a"), "x").unwrap();
        first.write_all(b"one").unwrap();
        output::create(&name("b"), "x").unwrap();
        assert_eq!(output::head(&name("c"), 9, "x").unwrap(), None);
        output::replace(&name("c"), b"three", 0o644, "x").unwrap();
        keep(&name("x")).unwrap();
        keep(&name("d")).unwrap();
        assert_eq!((send_all().len(), count()), (0, 0));
        // A file that begins anew, and is kept each time.
        keep(&name("a")).unwrap();
        output::create(&name("a"), "x").unwrap().write_all(b"new").unwrap();
        keep(&name("a")).unwrap();
        assert_eq!(count(), 1);
        let kept = send_all();
        assert!(kept.len() == 1 && kept[0].0 == name("a"), "{kept:?}");
        assert_eq!(std::fs::read(&kept[0].1).unwrap(), b"new");
        sent.1.store(true, Ordering::Relaxed);
        assert_eq!((send_all().len(), count()), (0, 0));
        let text = |(number, text): &(usize, String)| format!("{number}{text}");
        let all: Vec<String> = sent.0.lock().iter().map(text).collect();
        assert_eq!(all, ["2three", "0one", "1", "0new", "1", "0new", "1"]);
    }
}
