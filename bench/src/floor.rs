//! The least work that any load does, measured: read the input once, write the file once.
//!
//! Writing is direct (`O_DIRECT`) where the file system has it: 1.09 GB took 0.2 s so, and
//! 0.6 to 0.9 s through the page cache, which costs a copy and the server's own direct reads
//! would have to wait for.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use rustix::fs::OFlags;

use crate::error::Error;

/// Bytes read or written at once.
const BLOCK_BYTES: usize = 1 << 20;
/// Direct I/O wants memory and lengths in multiples of this.
const ALIGNMENT: usize = 4096;

/// Reads a file from front to back; gives its bytes and the seconds that took.
pub fn read_seconds(path: &Path) -> Result<(u64, f64), Error> {
    let mut file = File::open(path).map_err(Error::io("opening", path))?;
    let mut block = vec![0; BLOCK_BYTES];
    let mut bytes = 0;
    let started = Instant::now();
    loop {
        match file.read(&mut block).map_err(Error::io("reading", path))? {
            0 => return Ok((bytes, started.elapsed().as_secs_f64())),
            n => bytes += n as u64,
        }
    }
}

/// Writes `bytes` (rounded up to whole blocks of 4 KiB) to a new file and makes them durable;
/// gives the seconds. The file is removed.
pub fn write_seconds(path: &Path, bytes: u64) -> Result<f64, Error> {
    let seconds = write_and_sync(path, bytes).map_err(Error::io("writing", path));
    let removed = fs::remove_file(path).map_err(Error::io("removing", path));
    let seconds = seconds?;
    removed.map(|()| seconds)
}

fn write_and_sync(path: &Path, bytes: u64) -> std::io::Result<f64> {
    let mut memory = vec![0; BLOCK_BYTES + ALIGNMENT];
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    let block = &mut memory[start..start + BLOCK_BYTES];
    fill_with_noise(block);
    let bytes = bytes.next_multiple_of(ALIGNMENT as u64);
    let started = Instant::now();
    let file = create_direct(path)?;
    let mut offset = 0;
    while offset < bytes {
        let size = (bytes - offset).min(BLOCK_BYTES as u64);
        file.write_all_at(&block[..size as usize], offset)?;
        offset += size;
    }
    file.sync_all()?;
    Ok(started.elapsed().as_secs_f64())
}

/// A file that bypasses the page cache, or an ordinary one where that does not exist (tmpfs).
fn create_direct(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let direct = options.clone().custom_flags(OFlags::DIRECT.bits() as i32).open(path);
    direct.or_else(|_| options.open(path))
}

/// Bytes that no disk compresses (xorshift64).
fn fill_with_noise(block: &mut [u8]) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for word in block.chunks_exact_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_ne_bytes());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_measured_and_leaves_no_file() {
        let path = std::env::temp_dir().join(format!("inrush-floor-{}", std::process::id()));
        fs::write(&path, vec![7; 3_000_000]).unwrap();
        let (bytes, seconds) = read_seconds(&path).unwrap();
        assert_eq!(bytes, 3_000_000);
        assert!(seconds > 0.0);
        assert!(write_seconds(&path, 3_000_001).unwrap() > 0.0);
        assert!(!path.exists());
    }
}
