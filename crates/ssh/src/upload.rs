//! The stream to the other machine, as it is written.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use columnar::Kind;
use secrecy::{ExposeSecret, SecretString};
use sources::{Compression, FoundInput, InputBytes, is_stdin};
use zstd::stream::write::Encoder;

use crate::frame::{self, DataWriter, FrameKind};
use crate::returned::WrittenFile;

/// Bytes of the input that are read at once.
const PIECE_BYTES: usize = 256 << 10;
/// Level of zstd: as fast as a network of 10 Gbit/s needs.
const ZSTD_LEVEL: i32 = 1;

/// All that a load on another machine gets from here.
#[derive(Debug)]
pub struct Upload {
    /// Arguments of the program, from the command's name on. They may be seen there in the list of processes.
    pub arguments: Vec<OsString>,
    /// The password of the server's account.
    pub password: Option<SecretString>,
    /// CREATE TABLE of a missing table.
    pub schema: Option<String>,
    /// Files that the load writes on this machine.
    pub written: Vec<WrittenFile>,
    /// The input. Its name is sent too.
    pub input: FoundInput,
}

/// Why an upload did not come to its end.
#[derive(Debug)]
pub(crate) enum UploadError {
    /// Nobody takes it any more; the other machine says why.
    Pipe,
    /// The input cannot be read, in words.
    Input(String),
}

impl From<io::Error> for UploadError {
    fn from(_: io::Error) -> UploadError {
        UploadError::Pipe
    }
}

impl From<sources::Error> for UploadError {
    fn from(error: sources::Error) -> UploadError {
        UploadError::Input(error.to_string())
    }
}

impl Upload {
    /// Writes all of it, and receipts as they come: true of a file that is stored.
    pub(crate) fn write(
        self,
        out: &mut impl Write,
        receipts: &Receiver<bool>,
    ) -> Result<(), UploadError> {
        self.write_load(out)?;
        for is_stored in receipts {
            frame::write(out, FrameKind::Receipt, if is_stored { &[] } else { &[0] })?;
        }
        Ok(())
    }

    /// Input that is not packed is packed: its bytes there are those of a zstd file.
    fn write_load(self, out: &mut impl Write) -> Result<(), UploadError> {
        for argument in &self.arguments {
            frame::write(out, FrameKind::Argument, argument.as_bytes())?;
        }
        frame::write(out, FrameKind::Run, &[])?;
        frame::write(out, FrameKind::Name, self.input.path().as_os_str().as_bytes())?;
        if let Some(password) = &self.password {
            frame::write(out, FrameKind::Password, password.expose_secret().as_bytes())?;
        }
        for part in self.schema.iter().flat_map(|text| text.as_bytes().chunks(PIECE_BYTES)) {
            frame::write(out, FrameKind::Schema, part)?;
        }
        for WrittenFile { path, .. } in &self.written {
            frame::write(out, FrameKind::Written, path.as_os_str().as_bytes())?;
        }
        frame::write(out, FrameKind::Start, &[])?;
        let mut input = InputReader::open(&self.input)?;
        let mut piece = vec![0; PIECE_BYTES];
        let size = input.read(&mut piece)?;
        let head = &piece[..size];
        let mut data = DataWriter::new(out);
        if size == 0 || Compression::of(head).is_some() || Kind::of(head).is_some() {
            write_rest(input, piece, size, &mut data)?;
            return Ok(data.finish()?);
        }
        let mut packer = Encoder::new(&mut data, ZSTD_LEVEL)?;
        packer.include_checksum(true)?;
        write_rest(input, piece, size, &mut packer)?;
        packer.finish()?;
        Ok(data.finish()?)
    }
}

/// Writes the `size` bytes that were read, and those behind them.
fn write_rest(
    mut input: InputReader,
    mut piece: Vec<u8>,
    mut size: usize,
    out: &mut impl Write,
) -> Result<(), UploadError> {
    while size > 0 {
        out.write_all(&piece[..size])?;
        size = input.read(&mut piece)?;
    }
    input.check_unchanged()
}

/// An input being read, once and front to back.
enum InputReader {
    File(InputBytes, u64),
    Pipe(File, PathBuf),
}

impl InputReader {
    fn open(input: &FoundInput) -> Result<InputReader, UploadError> {
        if input.bytes().is_some() {
            return Ok(InputReader::File(input.open()?, 0));
        }
        let path = input.path();
        let file = match is_stdin(path) {
            true => io::stdin().as_fd().try_clone_to_owned().map(File::from),
            false => File::open(path),
        };
        let file = file
            .map_err(|error| UploadError::Input(format!("opening {}: {error}", path.display())))?;
        Ok(InputReader::Pipe(file, path.to_owned()))
    }

    /// The next bytes, as many as fit; fewer only at the end.
    fn read(&mut self, out: &mut [u8]) -> Result<usize, UploadError> {
        match self {
            InputReader::File(bytes, position) => {
                let size = bytes.read_at(*position, out)?;
                *position += size as u64;
                Ok(size)
            }
            InputReader::Pipe(file, path) => fill(file, out).map_err(|error| {
                UploadError::Input(format!("reading {}: {error}", path.display()))
            }),
        }
    }

    fn check_unchanged(&self) -> Result<(), UploadError> {
        match self {
            InputReader::File(bytes, _) => Ok(bytes.check_unchanged()?),
            InputReader::Pipe(..) => Ok(()),
        }
    }
}

fn fill(file: &mut File, out: &mut [u8]) -> io::Result<usize> {
    let mut size = 0;
    while size < out.len() {
        match file.read(&mut out[size..]) {
            Ok(0) => break,
            Ok(read) => size += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(size)
}
