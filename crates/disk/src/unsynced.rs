//! The losses of a power cut: any part of all that was not made durable.
//!
//! Until a file is synced, each write to it may be on the disk, or not, or by half, whatever came before and
//! after it, and so may its size; until its folder is, so may a name that was made, or changed. This is less
//! than ext4 and XFS promise. The state before each operation is kept here, for [`lose`] to put some of it
//! back.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use locks::{Mutex, MutexGuard};
use rustix::fs::AtFlags;

/// An operation that a power cut may undo.
#[derive(Debug)]
enum Change {
    /// Bytes that were there before a write of `bytes`; fewer where the file ended.
    Written { file: File, offset: u64, bytes: usize, before: Vec<u8> },
    /// The size before it was set.
    Sized { file: File, before: u64 },
    /// A file was made.
    Made { folder: OwnedFd, name: OsString },
    /// A file had another name.
    Renamed { folder: OwnedFd, from: OsString, to: OsString },
}

/// In the order in which they were done, each with the file or folder whose sync makes it durable.
static CHANGES: Mutex<Vec<(Id, Change)>> = Mutex::new(Vec::new());

/// Device and inode.
type Id = (u64, u64);

fn id_of(file: impl AsFd) -> io::Result<Id> {
    let stat = rustix::fs::fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}

fn changes() -> MutexGuard<'static, Vec<(Id, Change)>> {
    CHANGES.lock()
}

/// Before `bytes` bytes are written at `offset`.
pub(crate) fn write(file: &File, offset: u64, bytes: usize) -> io::Result<()> {
    let mut before = vec![0; bytes];
    let mut filled = 0;
    while filled < bytes {
        // A file that is only written to, as one of refused rows is, was empty.
        match file.read_at(&mut before[filled..], offset + filled as u64) {
            Ok(0) | Err(_) => break,
            Ok(read) => filled += read,
        }
    }
    before.truncate(filled);
    let change = Change::Written { file: file.try_clone()?, offset, bytes, before };
    changes().push((id_of(file)?, change));
    Ok(())
}

/// Before the size is set.
pub(crate) fn size(file: &File) -> io::Result<()> {
    let before = file.metadata()?.len();
    changes().push((id_of(file)?, Change::Sized { file: file.try_clone()?, before }));
    Ok(())
}

/// After a file was made in a folder.
pub(crate) fn make(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let change = Change::Made { folder: folder.try_clone_to_owned()?, name: name.to_owned() };
    changes().push((id_of(folder)?, change));
    Ok(())
}

/// After a file got another name in its folder.
pub(crate) fn rename(folder: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (from, to) = (from.to_owned(), to.to_owned());
    let change = Change::Renamed { folder: folder.try_clone_to_owned()?, from, to };
    changes().push((id_of(folder)?, change));
    Ok(())
}

/// After a file or a folder was synced.
pub(crate) fn sync(of: impl AsFd) -> io::Result<()> {
    let id = id_of(of)?;
    changes().retain(|(changed, _)| *changed != id);
    Ok(())
}

/// How much of what is not durable is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// All of it.
    All,
    /// All, nothing or half of each change, as a seed decides.
    Some(u64),
}

/// Puts back what was there before, all of it or some.
pub(crate) fn lose(loss: Loss) {
    let mut random = if let Loss::Some(seed) = loss { seed } else { 0 };
    for (_, change) in changes().drain(..).rev() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // What cannot be put back stays: that may happen too.
        let _ = match random >> 33 & 3 {
            _ if loss == Loss::All => change.undo(false),
            0 => Ok(()),
            1 => change.undo(true),
            _ => change.undo(false),
        };
    }
}

impl Change {
    fn undo(self, by_half: bool) -> io::Result<()> {
        match self {
            Change::Written { file, offset, bytes, mut before } => {
                before.resize(bytes, 0);
                let lost = if by_half { bytes / 2 } else { 0 };
                file.write_all_at(&before[lost..], offset + lost as u64)
            }
            Change::Sized { file, before } => file.set_len(before),
            Change::Made { folder, name } => {
                Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
            }
            Change::Renamed { folder, from, to } => {
                Ok(rustix::fs::renameat(&folder, to, &folder, from)?)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Folder;

    /// One test, since what was changed is known to the whole process.
    #[test]
    fn what_is_synced_stays_and_what_is_not_may_go() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let mut outcomes = std::collections::BTreeSet::new();
        for loss in (0..200).map(|seed| Loss::Some(seed * 7_919)).chain([Loss::All]) {
            let path = place.path().join("old");
            std::fs::write(&path, "durable").unwrap();
            let file = File::options().read(true).write(true).open(&path).unwrap();
            write(&file, 0, 4).unwrap();
            file.write_all_at(b"WRIT", 0).unwrap();
            sync(&file).unwrap();
            write(&file, 4, 8).unwrap();
            file.write_all_at(b"lost....", 4).unwrap();
            std::fs::rename(&path, place.path().join("new")).unwrap();
            rename(folder.as_fd(), "old".as_ref(), "new".as_ref()).unwrap();
            lose(loss);
            let is_renamed = !path.exists();
            let left = if is_renamed { place.path().join("new") } else { path };
            let text = std::fs::read(&left).unwrap();
            assert!(text.starts_with(b"WRIT"), "what was synced is gone: {}", text.escape_ascii());
            let all = !is_renamed && text == b"WRITble\0\0\0\0\0";
            assert!(loss != Loss::All || all, "not all is lost: {}", text.escape_ascii());
            outcomes.insert((is_renamed, text[4..].escape_ascii().to_string()));
            std::fs::remove_file(left).unwrap();
        }
        // Kept, half kept and lost, under both names.
        assert_eq!(outcomes.len(), 6, "{outcomes:?}");
    }
}
