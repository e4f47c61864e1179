//! The least work that any load does, measured: read the input once, write the file once.
//!
//! The file is written into the page cache and not synced: IMPORT TABLESPACE, whose time is the
//! third part of the floor, reads and writes it there and syncs it, so that it goes to the disk once.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

use crate::error::Error;

/// Bytes read or written at once.
const BLOCK_BYTES: usize = 1 << 20;

/// Reads a file from front to back; gives its bytes and the seconds that took.
pub(crate) fn read_seconds(path: &Path) -> Result<(u64, f64), Error> {
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

/// Writes `bytes` to a new file, into the page cache; gives the seconds. The file is removed.
///
/// It is done twice, and the second time counts: see [`warm_memory`].
pub(crate) fn write_seconds(path: &Path, bytes: u64) -> Result<f64, Error> {
    warm_memory(path, bytes)?;
    written_seconds(path, bytes)
}

/// Has the next `bytes` that are written into the page cache find memory that was in use a moment ago.
///
/// The host of a virtual machine may take back memory that was free for some seconds, and to get it again
/// costs more than to write it: how long a load takes would hang on what ran before it.
pub(crate) fn warm_memory(path: &Path, bytes: u64) -> Result<(), Error> {
    written_seconds(path, bytes).map(drop)
}

fn written_seconds(path: &Path, bytes: u64) -> Result<f64, Error> {
    let seconds = write(path, bytes).map_err(Error::io("writing", path));
    let removed = fs::remove_file(path).map_err(Error::io("removing", path));
    let seconds = seconds?;
    removed.map(|()| seconds)
}

fn write(path: &Path, bytes: u64) -> std::io::Result<f64> {
    let mut block = vec![0; BLOCK_BYTES];
    fill_with_noise(&mut block);
    let started = Instant::now();
    let mut file = File::create(path)?;
    let mut left = bytes;
    while left > 0 {
        let size = left.min(BLOCK_BYTES as u64);
        file.write_all(&block[..size as usize])?;
        left -= size;
    }
    Ok(started.elapsed().as_secs_f64())
}

/// Bytes that no disk compresses (xorshift64).
pub(crate) fn fill_with_noise(block: &mut [u8]) {
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
