//! One file of an export while it is written.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

use crate::aligned_file::AlignedFile;
use crate::store::Object;

/// Mode of a file that has its name, before the process's mask.
const MODE: u32 = 0o666;

/// Where bytes go to, and how many.
#[derive(Debug)]
pub(crate) struct Sink {
    to: To,
    bytes: u64,
}

#[derive(Debug)]
enum To {
    Stdout(io::Stdout),
    File(AlignedFile),
    Object(Box<dyn Object>),
}

impl Sink {
    pub(crate) fn stdout() -> Sink {
        Sink { to: To::Stdout(io::stdout()), bytes: 0 }
    }

    pub(crate) fn file(file: disk::File) -> Sink {
        Sink { to: To::File(AlignedFile::new(file)), bytes: 0 }
    }

    pub(crate) fn object(object: Box<dyn Object>) -> Sink {
        Sink { to: To::Object(object), bytes: 0 }
    }

    /// Has it on the disk, open to others as the process makes its files; an object, in the store.
    fn finish(self) -> io::Result<(u64, Option<Box<dyn Object>>)> {
        match self.to {
            To::Stdout(mut stdout) => stdout.flush()?,
            To::Object(mut object) => {
                object.finish()?;
                return Ok((self.bytes, Some(object)));
            }
            To::File(file) => {
                let file = file.finish()?;
                file.set_permissions(PermissionsExt::from_mode(MODE & !mask()))?;
                file.sync_all()?;
            }
        }
        Ok((self.bytes, None))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.to {
            To::Stdout(stdout) => stdout.write(bytes)?,
            To::File(file) => file.write(bytes)?,
            To::Object(object) => object.write(bytes)?,
        };
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Stdout(stdout) => stdout.flush(),
            To::File(file) => file.flush(),
            To::Object(object) => object.flush(),
        }
    }
}

/// The permissions that the process denies others for its files (umask); all if the kernel does not
/// tell.
fn mask() -> u32 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o077)
}

/// A file while it is written.
#[derive(Debug)]
pub(crate) struct Part {
    sink: Sink,
    /// Bytes of text, before it is compressed.
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
}

impl Part {
    pub(crate) fn begin(sink: Sink) -> Part {
        Part { sink, bytes: 0, rows: 0 }
    }

    /// True if nothing was written yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.sink.bytes == 0
    }

    /// Writes what stands for so many bytes of text, and rows.
    pub(crate) fn write(&mut self, packed: &[u8], bytes: usize, rows: u64) -> io::Result<()> {
        self.sink.write_all(packed)?;
        self.bytes += bytes as u64;
        self.rows += rows;
        Ok(())
    }

    /// The same, for bytes that `write` writes itself.
    pub(crate) fn write_by(
        &mut self,
        bytes: usize,
        rows: u64,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        write(&mut self.sink)?;
        self.bytes += bytes as u64;
        self.rows += rows;
        Ok(())
    }

    /// Ends it, on the disk or in the store; how many bytes it has there, and the object that is not visible yet.
    pub(crate) fn finish(self) -> io::Result<(u64, Option<Box<dyn Object>>)> {
        self.sink.finish()
    }
}
