//! One file of an export while it is written, compressed or not.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

use flate2::write::GzEncoder;

use crate::options::Compression;

/// Level of zstd and gzip: what their programs take by default, and less for gzip, which is slow.
const ZSTD_LEVEL: i32 = 3;
const GZIP_LEVEL: u32 = 4;
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
    File(disk::File),
}

impl Sink {
    pub(crate) fn stdout() -> Sink {
        Sink { to: To::Stdout(io::stdout()), bytes: 0 }
    }

    pub(crate) fn file(file: disk::File) -> Sink {
        Sink { to: To::File(file), bytes: 0 }
    }

    /// Has it on the disk, open to others as the process makes its files.
    fn finish(self) -> io::Result<u64> {
        match self.to {
            To::Stdout(mut stdout) => stdout.flush()?,
            To::File(file) => {
                file.set_permissions(PermissionsExt::from_mode(MODE & !mask()))?;
                file.sync_all()?;
            }
        }
        Ok(self.bytes)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.to {
            To::Stdout(stdout) => stdout.write(bytes)?,
            To::File(file) => file.write(bytes)?,
        };
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Stdout(stdout) => stdout.flush(),
            To::File(file) => file.flush(),
        }
    }
}

/// What the process keeps from others of files that it makes; all where the kernel does not say.
fn mask() -> u32 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o077)
}

/// A file while it is written.
pub(crate) struct Part {
    encoder: Encoder,
    /// Before they are compressed.
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
}

enum Encoder {
    Plain(Sink),
    Gzip(GzEncoder<Sink>),
    Zstd(zstd::Encoder<'static, Sink>),
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Part of {} bytes", self.bytes)
    }
}

impl Part {
    pub(crate) fn begin(sink: Sink, compression: Compression, prelude: &[u8]) -> io::Result<Part> {
        let encoder = match compression {
            Compression::None => Encoder::Plain(sink),
            Compression::Gzip => {
                Encoder::Gzip(GzEncoder::new(sink, flate2::Compression::new(GZIP_LEVEL)))
            }
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(sink, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Encoder::Zstd(encoder)
            }
        };
        let mut part = Part { encoder, bytes: 0, rows: 0 };
        part.write(prelude)?;
        Ok(part)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::Plain(sink) => sink.write_all(bytes)?,
            Encoder::Gzip(encoder) => encoder.write_all(bytes)?,
            Encoder::Zstd(encoder) => encoder.write_all(bytes)?,
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Ends it, on the disk; how many bytes it has there.
    pub(crate) fn finish(self) -> io::Result<u64> {
        let sink = match self.encoder {
            Encoder::Plain(sink) => sink,
            Encoder::Gzip(encoder) => encoder.finish()?,
            Encoder::Zstd(encoder) => encoder.finish()?,
        };
        sink.finish()
    }
}
