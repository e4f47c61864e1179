//! The standard input of this process, by the names that it has as a file.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

const NAMES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// True if a path names the standard input.
pub fn is_stdin(path: &Path) -> bool {
    NAMES.iter().any(|name| path == Path::new(name))
}

/// The standard input, as a file of our own.
pub(crate) fn open() -> std::io::Result<File> {
    Ok(File::from(std::io::stdin().as_fd().try_clone_to_owned()?))
}
