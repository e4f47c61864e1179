//! A pipe's bytes, kept in a file so that they can be read again.
//!
//! A load reads its input a second time when its rows turn out not to be in key order, and when two
//! rows with one key are to be named. A pipe has forgotten them by then, so each byte goes to an
//! unlinked file in the temporary folder as it is read; the bytes are those of the pipe, still
//! compressed if they were.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use locks::{Mutex, MutexGuard};

use super::remote::{self, Remote};
use super::stdin;
use crate::error::{Error, Result};

/// The copies of objects on other machines, by their names.
static COPIES: Mutex<BTreeMap<PathBuf, Arc<Spool>>> = Mutex::new(BTreeMap::new());

/// A pipe and what came out of it so far.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
    temp_dir: PathBuf,
    origin: Origin,
    state: Mutex<State>,
    /// Asks for the end.
    stop: Mutex<Arc<AtomicBool>>,
}

/// What a pipe is opened by.
#[derive(Debug)]
enum Origin {
    Named,
    Stdin,
    Remote(Arc<dyn Remote>),
}

/// How often somebody who waits for a pipe looks whether to stop.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// A pipe being read.
enum Pipe {
    File(File),
    Remote(Box<dyn Read + Send>),
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pipe")
    }
}

#[derive(Debug, Default)]
struct State {
    pipe: Option<Pipe>,
    copy: Option<disk::File>,
    /// Bytes in `copy`.
    bytes: u64,
    ended: bool,
    /// Why bytes were lost before the copy. No reader may take what is left for all of the input.
    lost: Option<LostBytes>,
}

#[derive(Clone, Debug)]
struct LostBytes {
    /// True if the pipe could not be read, false if the copy could not be written.
    is_of_pipe: bool,
    kind: ErrorKind,
    words: String,
}

impl Spool {
    /// Nothing is opened before the first read: opening a named pipe waits for its writer.
    pub(crate) fn new(path: &Path, temp_dir: &Path, is_stdin: bool) -> Spool {
        let origin = if is_stdin { Origin::Stdin } else { Origin::Named };
        Spool::with(path, temp_dir, origin)
    }

    /// The same of an object on another machine. All who read the object have one copy; those that name no folder
    /// read nothing.
    pub(super) fn of_remote(path: &Path, temp_dir: &Path, object: Arc<dyn Remote>) -> Arc<Spool> {
        let spool = Arc::new(Spool::with(path, temp_dir, Origin::Remote(object)));
        if temp_dir.as_os_str().is_empty() {
            return spool;
        }
        Arc::clone(COPIES.lock().entry(path.to_owned()).or_insert(spool))
    }

    fn with(path: &Path, temp_dir: &Path, origin: Origin) -> Spool {
        let (path, temp_dir) = (path.to_owned(), temp_dir.to_owned());
        Spool { path, temp_dir, origin, state: Mutex::default(), stop: Mutex::default() }
    }

    /// Has those who wait for the pipe look at this flag, which asks for the end.
    pub(super) fn watch(&self, stop: &Arc<AtomicBool>) {
        *self.stop.lock() = Arc::clone(stop);
    }

    fn is_stopped(&self) -> bool {
        self.stop.lock().load(Ordering::Relaxed)
    }

    /// The pipe's name, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that were read so far.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.state.lock().bytes
    }

    /// Bytes from `position` on, which is at most as far as anybody has read; 0 at the end. Waits
    /// for the pipe's writer.
    ///
    /// Errors: opening or reading the pipe; no room for the copy; the end was asked for.
    pub(crate) fn read_at(&self, position: u64, out: &mut [u8]) -> Result<usize> {
        let mut state = self.state.lock();
        if position < state.bytes {
            return self.read_copy(&state, position, out);
        }
        if state.ended {
            return Ok(0);
        }
        if let Some(lost) = &state.lost {
            return Err(self.lost(lost));
        }
        let read = self.read_pipe(&mut state, out)?;
        if read == 0 {
            state.ended = true;
            state.pipe = None;
            return Ok(0);
        }
        match self.keep(&mut state, &out[..read]) {
            Ok(()) => Ok(read),
            Err(error) => Err(self.lose(&mut state, false, &error)),
        }
    }

    fn lose(&self, state: &mut State, is_of_pipe: bool, error: &io::Error) -> Error {
        let lost = LostBytes { is_of_pipe, kind: error.kind(), words: error.to_string() };
        self.lost(state.lost.insert(lost))
    }

    fn lost(&self, lost: &LostBytes) -> Error {
        let error = io::Error::new(lost.kind, lost.words.clone());
        if lost.is_of_pipe { remote::error(&self.path, error) } else { self.no_copy(error) }
    }

    fn read_copy(
        &self,
        state: &MutexGuard<'_, State>,
        position: u64,
        out: &mut [u8],
    ) -> Result<usize> {
        let Some(copy) = &state.copy else { return Ok(0) };
        let left = usize::try_from(state.bytes - position).unwrap_or(usize::MAX);
        let size = out.len().min(left);
        copy.read_exact_at(&mut out[..size], position).map_err(|error| self.no_copy(error))?;
        Ok(size)
    }

    fn read_pipe(&self, state: &mut State, out: &mut [u8]) -> Result<usize> {
        let failed = |action| move |source| Error::Io { action, path: self.path.clone(), source };
        let mut pipe = match (state.pipe.take(), &self.origin) {
            (Some(pipe), _) => pipe,
            (None, Origin::Stdin) => Pipe::File(stdin::open().map_err(failed("opening"))?),
            (None, Origin::Named) => {
                Pipe::File(disk::open_to_read(&self.path).map_err(failed("opening"))?)
            }
            (None, Origin::Remote(object)) => {
                Pipe::Remote(object.open().map_err(|error| remote::error(&self.path, error))?)
            }
        };
        let read = pipe.read(out, || self.is_stopped());
        state.pipe = Some(pipe);
        read.map_err(|error| self.lose(state, true, &error))
    }

    /// Appends to the copy. The file has no name and is nobody else's: mode 0600 and unlinked.
    fn keep(&self, state: &mut State, bytes: &[u8]) -> io::Result<()> {
        let copy = match state.copy.take() {
            Some(copy) => copy,
            None => disk::unnamed(&self.temp_dir, "spool")?,
        };
        let written = copy.write_all_at(bytes, state.bytes);
        state.copy = Some(copy);
        written?;
        state.bytes += bytes.len() as u64;
        Ok(())
    }

    fn no_copy(&self, source: io::Error) -> Error {
        Error::Spool { path: self.path.clone(), folder: self.temp_dir.clone(), source }
    }
}

impl Pipe {
    /// The next bytes; 0 at the end. Waits for the writer.
    ///
    /// Errors: reading; of kind Interrupted, the end was asked for.
    fn read(&mut self, out: &mut [u8], is_stopped: impl Fn() -> bool) -> io::Result<usize> {
        let file = match self {
            Pipe::Remote(object) => return object.read(out),
            Pipe::File(file) => file,
        };
        loop {
            if is_stopped() {
                return Err(ErrorKind::Interrupted.into());
            }
            if !disk::wait_for_bytes(file, LOOK_INTERVAL)? {
                continue;
            }
            match file.read(out) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => return result,
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    fn read_all(spool: &Spool, step: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let mut out = vec![0; step];
        loop {
            match spool.read_at(all.len() as u64, &mut out).unwrap() {
                0 => return all,
                read => all.extend_from_slice(&out[..read]),
            }
        }
    }

    /// A pipe with `bytes` in it, closed at the other end.
    fn pipe(bytes: &[u8]) -> (std::io::PipeReader, PathBuf) {
        use std::io::Write;
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(bytes).unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
        (reader, path)
    }

    #[test]
    fn a_pipe_can_be_read_again_from_any_place() {
        let folder = tempfile::tempdir().unwrap();
        let text: Vec<u8> = (0..50_000u32).flat_map(|n| n.to_le_bytes()).take(60_000).collect();
        let (_reader, path) = pipe(&text);
        let spool = Spool::new(&path, folder.path(), false);
        // A part, then all from the start, over the place where the first reader was.
        let mut out = [0; 1000];
        assert!(spool.read_at(0, &mut out).unwrap() > 0);
        assert_eq!(read_all(&spool, 777), text);
        assert_eq!(read_all(&spool, 100_000), text);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
    }

    /// A load of an Arrow stream heard no Ctrl-C while its writer said nothing.
    #[test]
    fn a_pipe_that_says_nothing_is_left_when_the_end_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (reader, _writer) = std::io::pipe().unwrap();
        let silent = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
        let named = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&named).status().unwrap();
        assert!(made.success());
        for path in [silent, named] {
            let spool = Spool::new(&path, folder.path(), false);
            let stop = Arc::new(AtomicBool::new(false));
            spool.watch(&stop);
            let outcome = std::thread::scope(|scope| {
                let reading = scope.spawn(|| spool.read_at(0, &mut [0; 10]));
                std::thread::sleep(std::time::Duration::from_millis(120));
                assert!(!reading.is_finished());
                stop.store(true, Ordering::Relaxed);
                reading.join().unwrap()
            });
            assert!(matches!(outcome, Err(Error::Stopped { .. })), "{outcome:?}");
        }
    }

    #[test]
    fn a_named_pipe_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&named).status().unwrap().success());
        let spool = Spool::new(&named, folder.path(), false);
        let bytes = std::thread::scope(|scope| {
            let reading = scope.spawn(|| read_all(&spool, 10));
            std::thread::sleep(std::time::Duration::from_millis(120));
            std::fs::write(&named, "a longer text").unwrap();
            reading.join().unwrap()
        });
        assert_eq!(bytes, b"a longer text");
    }

    #[test]
    fn no_room_for_the_copy_is_an_error_that_stays() {
        let (_reader, path) = pipe(b"bytes");
        let spool = Spool::new(&path, Path::new("/no/where"), false);
        for _ in 0..2 {
            let error = spool.read_at(0, &mut [0; 10]).unwrap_err();
            assert!(matches!(error, Error::Spool { .. }), "{error}");
            assert!(error.to_string().contains("/no/where"), "{error}");
        }
    }
}
