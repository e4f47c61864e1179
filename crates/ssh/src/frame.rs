//! Frames, of which the stream to the other machine consists.
//!
//! ```text
//! kind (1 byte)   size (4 bytes, big-endian)   payload
//! ```

use std::io::{self, Read, Write};

/// Largest payload, in bytes.
const PAYLOAD_BYTES_MAX: usize = 4 << 20;
/// Payload of a frame of data, in bytes.
const DATA_BYTES: usize = 64 << 10;
/// Kind and size, in bytes.
const HEAD_BYTES: usize = 5;

/// The kind of a frame, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FrameKind {
    /// An argument of the command.
    Argument = b'A',
    /// The last argument was sent: nothing follows until the command runs.
    Run = b'R',
    /// The input's name, for messages and for its ending.
    Name = b'N',
    /// The password of the server's account.
    Password = b'P',
    /// A part of the text by which a missing table is created.
    Schema = b'S',
    /// The name of a file that the load writes on the sender's machine.
    Written = b'W',
    /// The input follows.
    Start = b'I',
    /// Bytes of the input.
    Data = b'D',
    /// The input is complete; its size in 8 bytes, big-endian.
    End = b'E',
    /// Behind the end: one more of the load's files is on the sender's disk; with a payload, it is not.
    Receipt = b'C',
}

impl FrameKind {
    fn of(byte: u8) -> io::Result<FrameKind> {
        let all = [
            FrameKind::Argument,
            FrameKind::Run,
            FrameKind::Name,
            FrameKind::Password,
            FrameKind::Schema,
            FrameKind::Written,
            FrameKind::Start,
            FrameKind::Data,
            FrameKind::End,
            FrameKind::Receipt,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte).ok_or_else(invalid)
    }
}

/// The error of bytes that are no frame, or none that may come here.
pub(crate) fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the transfer is damaged")
}

/// The error of a stream that ends before the input does.
pub(crate) fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the transfer ended before the end of the file")
}

/// Writes a frame, in one call.
pub(crate) fn write(out: &mut impl Write, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
    let size = u32::try_from(payload.len()).ok().filter(|&size| size as usize <= PAYLOAD_BYTES_MAX);
    let size = size.ok_or_else(|| io::Error::other("an argument is too long"))?;
    let mut frame = Vec::with_capacity(HEAD_BYTES + payload.len());
    frame.push(kind as u8);
    frame.extend_from_slice(&size.to_be_bytes());
    frame.extend_from_slice(payload);
    out.write_all(&frame)
}

/// Reads the head of a frame, no byte more: its kind, and the size of its payload.
///
/// Errors: the stream ends; bytes that are no frame.
pub(crate) fn read_head(input: &mut impl Read) -> io::Result<(FrameKind, usize)> {
    let mut head = [0; HEAD_BYTES];
    read_exact(input, &mut head)?;
    let [kind, size @ ..] = head;
    let size = u32::from_be_bytes(size) as usize;
    match size <= PAYLOAD_BYTES_MAX {
        true => Ok((FrameKind::of(kind)?, size)),
        false => Err(invalid()),
    }
}

/// Reads a frame.
///
/// Errors: as [`read_head`].
pub(crate) fn read(input: &mut impl Read) -> io::Result<(FrameKind, Vec<u8>)> {
    let (kind, size) = read_head(input)?;
    let mut payload = vec![0; size];
    read_exact(input, &mut payload)?;
    Ok((kind, payload))
}

pub(crate) fn read_exact(input: &mut impl Read, out: &mut [u8]) -> io::Result<()> {
    input.read_exact(out).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => cut_short(),
        _ => error,
    })
}

/// Reads some bytes of a frame, at least one.
pub(crate) fn read_some(input: &mut impl Read, out: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(out) {
            Ok(0) => return Err(cut_short()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Bytes as frames of data.
pub(crate) struct DataWriter<W> {
    out: W,
    piece: Vec<u8>,
    bytes: u64,
}

impl<W: Write> DataWriter<W> {
    pub(crate) fn new(out: W) -> DataWriter<W> {
        DataWriter { out, piece: Vec::with_capacity(DATA_BYTES), bytes: 0 }
    }

    /// Writes the frame of the end.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        write(&mut self.out, FrameKind::End, &self.bytes.to_be_bytes())
    }
}

impl<W: Write> Write for DataWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = bytes.len().min(DATA_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..size]);
        if self.piece.len() == DATA_BYTES {
            self.flush()?;
        }
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            write(&mut self.out, FrameKind::Data, &self.piece)?;
            self.bytes += self.piece.len() as u64;
            self.piece.clear();
        }
        Ok(())
    }
}
