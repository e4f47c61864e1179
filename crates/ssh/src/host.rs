//! The other machine's end: greets, reads the command, and makes the stream an input.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Cursor, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

use disk::returned;
use locks::Mutex;
use secrecy::SecretString;
use signal_hook::consts::SIGTERM;
use signal_hook::low_level::raise;
use sources::remote::{self, Remote};

use crate::GREETING;
use crate::frame::{self, FrameKind, invalid};
use crate::returned::Parts;

/// Bytes of the input that are enough to know its format.
const HEAD_BYTES: usize = 4 << 10;

/// The command that a stream brings, less its input.
#[derive(Debug)]
pub struct Received {
    /// The input's name: from now on [`sources`] reads the stream by it.
    pub name: PathBuf,
    /// The password of the server's account.
    pub password: Option<SecretString>,
    /// CREATE TABLE of a missing table.
    pub schema: Option<String>,
    /// Names of files that are sent back.
    written: Vec<PathBuf>,
    parts: Parts,
}

impl Received {
    /// Has this process send the files back that it writes by their names. Until then they are in `temp_dir`.
    pub fn return_files(self, temp_dir: PathBuf) {
        returned::begin(self.written, temp_dir, Box::new(self.parts));
    }
}

/// Greets the sender, and reads the arguments of the command. The standard input is read up to there and no
/// further: the command itself goes on with [`receive`].
///
/// Errors: a terminal; a stream that ends or is none.
pub fn answer(version: &str) -> io::Result<Vec<OsString>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(io::Error::other("a load by ssh was expected on standard input"));
    }
    let (before, behind) = GREETING;
    io::stderr().write_all(format!("{before}{version}{behind}\n").as_bytes())?;
    let mut input = open_stdin()?;
    let mut arguments = Vec::new();
    loop {
        match frame::read(&mut input)? {
            (FrameKind::Argument, payload) => arguments.push(OsString::from_vec(payload)),
            (FrameKind::Run, _) => return Ok(arguments),
            _ => return Err(invalid()),
        }
    }
}

/// Reads what comes before the input, and makes the stream behind it an input.
///
/// Errors: a stream that ends or is none.
pub fn receive() -> io::Result<Received> {
    let mut input = open_stdin()?;
    let mut received = Received {
        name: PathBuf::new(),
        password: None,
        schema: None,
        written: Vec::new(),
        parts: Parts::default(),
    };
    let mut schema: Option<Vec<u8>> = None;
    let text = |payload| String::from_utf8(payload).map_err(|_| invalid());
    loop {
        match frame::read(&mut input)? {
            (FrameKind::Name, payload) => received.name = OsStr::from_bytes(&payload).into(),
            (FrameKind::Password, payload) => received.password = Some(text(payload)?.into()),
            (FrameKind::Schema, part) => schema.get_or_insert_default().extend(part),
            (FrameKind::Written, payload) => {
                received.written.push(OsString::from_vec(payload).into())
            }
            (FrameKind::Start, _) => break,
            _ => return Err(invalid()),
        }
    }
    received.schema = schema.map(text).transpose()?;
    let parts = received.parts.clone();
    let mut stream = Stream { input: Some(input), left: 0, bytes: 0, parts };
    let mut head = Vec::new();
    stream.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let object = ReceivedInput { head, stream: Mutex::new(Some(stream)) };
    remote::register(&received.name, Arc::new(object));
    Ok(received)
}

fn open_stdin() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Bytes of the input, up to the frame of its end.
#[derive(Debug)]
struct Stream {
    /// None behind the end.
    input: Option<File>,
    /// Bytes of the frame that were not read yet.
    left: usize,
    bytes: u64,
    /// Gets the receipts behind the end.
    parts: Parts,
}

impl Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(mut input) = self.input.take() else { return Ok(0) };
        while self.left == 0 {
            match frame::read_head(&mut input)? {
                (FrameKind::Data, size) => self.left = size,
                (FrameKind::End, _) => {
                    let mut bytes = [0; 8];
                    frame::read_exact(&mut input, &mut bytes)?;
                    if u64::from_be_bytes(bytes) != self.bytes {
                        return Err(invalid());
                    }
                    take_receipts(input, &self.parts)?;
                    return Ok(0);
                }
                _ => return Err(invalid()),
            }
        }
        let size = self.left.min(out.len());
        let read = frame::read_some(&mut input, &mut out[..size])?;
        self.left -= read;
        self.bytes += read as u64;
        self.input = Some(input);
        Ok(read)
    }
}

/// Takes the sender's receipts for files. Has the end of the connection, which the sender keeps until this program
/// ends, stop the load.
fn take_receipts(mut input: File, parts: &Parts) -> io::Result<()> {
    let (receipt, receipts) = channel();
    parts.expect(receipts);
    let wait = move || {
        disk::failpoint::hit("thread.hang-up");
        while let Ok((FrameKind::Receipt, payload)) = frame::read(&mut input) {
            let _ = receipt.send(payload.is_empty());
        }
        let _ = raise(SIGTERM);
    };
    std::thread::Builder::new().name("hang-up".to_owned()).spawn(wait).map(drop)
}

/// The input, which can be read once.
#[derive(Debug)]
struct ReceivedInput {
    head: Vec<u8>,
    stream: Mutex<Option<Stream>>,
}

impl Remote for ReceivedInput {
    fn bytes(&self) -> Option<u64> {
        None
    }

    fn identity(&self) -> &str {
        ""
    }

    fn head(&self) -> &[u8] {
        &self.head
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        let stream = self.stream.lock().take();
        let stream = stream.ok_or_else(|| io::Error::other("the file was sent once only"))?;
        Ok(Box::new(Cursor::new(self.head.clone()).chain(stream)))
    }

    fn limit(&self, _: usize) {}

    fn forget(&self) {}

    fn watch(&self, _: &Arc<AtomicBool>) {}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Seek as _, SeekFrom};

    use super::*;
    use crate::frame::DataWriter;

    fn stream(bytes: &[u8]) -> Stream {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        Stream { input: Some(file), left: 0, bytes: 0, parts: Parts::default() }
    }

    #[test]
    fn files_are_stored_when_their_receipts_say_so() {
        use disk::returned::Sender as _;

        let stopped = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGTERM, Arc::clone(&stopped)).unwrap();
        let (input, mut out) = io::pipe().unwrap();
        let parts = Parts::default();
        let send = || parts.write(0, &mut io::empty(), &mut |_| Ok(())).unwrap();
        send();
        // No receipt comes before the end of the input, and none is waited for.
        parts.sync().unwrap_err();
        take_receipts(File::from(std::os::fd::OwnedFd::from(input)), &parts).unwrap();
        send();
        let other = parts.clone();
        let waiting = std::thread::spawn(move || other.sync());
        frame::write(&mut out, FrameKind::Receipt, &[]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(!waiting.is_finished());
        frame::write(&mut out, FrameKind::Receipt, &[]).unwrap();
        waiting.join().unwrap().unwrap();
        parts.sync().unwrap();
        send();
        frame::write(&mut out, FrameKind::Receipt, &[0]).unwrap();
        parts.sync().unwrap_err();
        drop(out);
        let error = parts.sync().unwrap_err().to_string();
        assert!(error.contains("has not stored the file"), "{error}");
        assert!(stopped.load(std::sync::atomic::Ordering::Relaxed));
    }

    /// Bytes that no format checks, as those of a packed file that ends between its members.
    #[test]
    fn a_stream_that_is_cut_anywhere_never_ends_well() {
        let mut bytes = Vec::new();
        let mut data = DataWriter::new(&mut bytes);
        for part in [&b"first"[..], b"second"] {
            data.write_all(part).unwrap();
            data.flush().unwrap();
        }
        data.finish().unwrap();
        for size in 0..bytes.len() {
            let error = stream(&bytes[..size]).read_to_end(&mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{size}");
        }
        // Another number of bytes, another kind of frame, a size beyond all bounds.
        let last = bytes.len() - 1;
        for (at, byte) in [(last, 12), (0, b'N'), (0, b'x'), (1, 0xff)] {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            let error = stream(&bytes).read_to_end(&mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{at}");
        }
    }
}
