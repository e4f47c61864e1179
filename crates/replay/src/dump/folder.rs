//! A folder as the files in it, and the small ones as text.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sources::dump::SqlOptions;
use sources::{Chunk, Dialect, FileSource, Source, SourceOptions};

use crate::error::Error;

/// Endings of archives that are told by their first bytes.
const ARCHIVES: [&[u8]; 5] = [b".gz", b".zst", b".lz4", b".bz2", b".xz"];

/// Bytes of a file that is read whole: a definition, not rows. 64 MiB.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// The files in a folder, by the bytes of their names.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its files: names without the ending of an archive, and paths.
    pub(crate) files: BTreeMap<Vec<u8>, PathBuf>,
    /// Folders in it.
    pub(crate) folders: BTreeMap<Vec<u8>, PathBuf>,
}

impl Folder {
    /// Looks through the folder at `path`. Hidden files are passed over.
    ///
    /// Errors: it cannot be read; a link out of it; two files that differ by how they are compressed.
    pub(crate) fn open(path: &Path) -> Result<Folder, Error> {
        let fail = |error: std::io::Error| {
            Error::Usage(format!("{} cannot be listed: {error}", path.display()))
        };
        let real = std::fs::canonicalize(path).map_err(fail)?;
        let mut folder =
            Folder { path: path.to_owned(), files: BTreeMap::new(), folders: BTreeMap::new() };
        for entry in std::fs::read_dir(path).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name();
            let name = name.as_bytes();
            if name.starts_with(b".") {
                continue;
            }
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_symlink() {
                check_link(&real, &entry.path())?;
            }
            if kind.is_dir() {
                folder.folders.insert(name.to_vec(), entry.path());
            } else if let Some(other) = folder.files.insert(plain(name).to_vec(), entry.path()) {
                return Err(Error::Usage(format!(
                    "{} and {} would both be read; keep one of them in the folder",
                    other.display(),
                    entry.path().display()
                )));
            }
        }
        Ok(folder)
    }

    /// The file of this name, compressed or not.
    pub(crate) fn file(&self, name: &[u8]) -> Option<&PathBuf> {
        self.files.get(name)
    }

    /// True if a file's name ends so.
    pub(crate) fn has_ending(&self, ending: &[u8]) -> bool {
        self.files.keys().any(|name| name.ends_with(ending))
    }
}

/// How a definition in a folder is read before there is a session.
pub(crate) fn reading(path: &Path) -> SqlOptions {
    SqlOptions { below: folder_of(path), ..SqlOptions::default() }
}

fn folder_of(path: &Path) -> Option<PathBuf> {
    path.parent().map(Path::to_owned)
}

/// A name without the ending of an archive.
pub(crate) fn plain(name: &[u8]) -> &[u8] {
    ARCHIVES.iter().find_map(|ending| name.strip_suffix(*ending)).unwrap_or(name)
}

/// A file's bytes, unpacked.
///
/// Errors: reading it; more than 64 MiB.
pub(crate) fn text(path: &Path) -> Result<Vec<u8>, Error> {
    head(path, TEXT_BYTES_MAX).and_then(|(text, is_whole)| {
        if is_whole {
            return Ok(text);
        }
        let reason = "is larger than 64 MiB, but a definition is expected; it does not belong to \
                      the dump";
        Err(Error::Usage(format!("{} {reason}", path.display())))
    })
}

/// Refuses a link that leads out of a folder, which is given without links.
fn check_link(folder: &Path, link: &Path) -> Result<(), Error> {
    match std::fs::canonicalize(link) {
        Ok(file) if !file.starts_with(folder) => Err(Error::Usage(format!(
            "{} is a link to {}, but only files in the folder of the dump are read; copy the file \
             there, or remove the link",
            link.display(),
            file.display()
        ))),
        // Of a link to nothing tells whoever reads it.
        _ => Ok(()),
    }
}

/// The first bytes of a file, unpacked, and whether they are all. At least `bytes` if there are so
/// many, and at most a line and some read calls more.
pub(crate) fn head(path: &Path, bytes: usize) -> Result<(Vec<u8>, bool), Error> {
    let dialect = Dialect { escaped_by: None, ..Dialect::mysql() };
    let options = SourceOptions {
        chunk_bytes: bytes.clamp(1, 1 << 20),
        below: folder_of(path),
        ..SourceOptions::default()
    };
    let mut source = FileSource::new(&[path.to_owned()], &dialect, options)?;
    let mut chunk = Chunk::default();
    let mut text = Vec::new();
    while source.next_chunk(&mut chunk)? {
        text.extend_from_slice(&chunk.bytes);
        if text.len() > bytes {
            return Ok((text, false));
        }
    }
    Ok((text, true))
}
