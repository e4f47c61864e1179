//! The storage of a folder: file system, mount options, device, room.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::host::chosen;

/// File systems that never overwrite a block in place, so that a page is there whole or not at all.
const COPY_ON_WRITE: [&str; 1] = ["zfs"];
/// How the names of a virtual machine's disks begin.
const VIRTUAL: [&str; 2] = ["vd", "xvd"];

/// The storage of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Storage {
    /// The folder.
    pub path: PathBuf,
    /// `ext4`, `xfs`, `zfs`.
    pub file_system: String,
    /// How it is mounted, the file system's own options included.
    pub options: Vec<String>,
    /// The device, if it is one of this machine.
    pub device: Option<Device>,
    /// Bytes that are free there for everybody.
    pub free_bytes: u64,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Device {
    /// `nvme0n1`.
    pub name: String,
    /// True for a disk with a moving head.
    pub rotates: Option<bool>,
    /// Who orders its requests: `none`, `mq-deadline`.
    pub scheduler: Option<String>,
    /// The longest write that it does whole or not at all; 0 where it promises none.
    pub atomic_write_bytes: u64,
}

impl Storage {
    /// The storage of a folder of this machine; none if it is missing or the kernel does not tell.
    pub fn of(path: &Path) -> Option<Storage> {
        let real = fs::canonicalize(path).ok()?;
        let stat = rustix::fs::statvfs(&real).ok()?;
        let mut storage = Storage::below(Path::new("/"), &real)?;
        storage.free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
        Some(storage)
    }

    /// The same without its room, by the `proc` and `sys` in `root`.
    pub(crate) fn below(root: &Path, path: &Path) -> Option<Storage> {
        let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
        // Of several mounts on one folder the last one counts.
        let mounts = mounts.lines().filter_map(Mount::parse);
        let mount = mounts
            .filter(|mount| path.starts_with(&mount.point))
            .max_by_key(|mount| mount.point.components().count())?;
        let device = Device::below(root, &mount);
        let Mount { file_system, options, .. } = mount;
        Some(Storage { path: path.to_owned(), file_system, options, device, free_bytes: 0 })
    }

    /// True if it is mounted with an option of this name, or with this name and value.
    pub(crate) fn has_option(&self, option: &str) -> bool {
        self.options.iter().any(|one| one == option)
    }

    /// True if the file system writes a page of the server atomically by itself.
    pub(crate) fn writes_pages_whole(&self) -> bool {
        COPY_ON_WRITE.contains(&self.file_system.as_str())
    }

    /// True if its device is known to have no moving head.
    pub(crate) fn is_solid(&self) -> bool {
        self.device.as_ref().is_some_and(|device| device.rotates == Some(false))
    }
}

/// A line of `/proc/self/mountinfo`.
struct Mount {
    /// `253:0`; `0:..` where no one device is behind it.
    device: String,
    point: PathBuf,
    options: Vec<String>,
    file_system: String,
    source: String,
}

impl Mount {
    fn parse(line: &str) -> Option<Mount> {
        let (own, behind) = line.split_once(" - ")?;
        let own: Vec<&str> = own.split(' ').collect();
        let mut behind = behind.split(' ');
        let (file_system, source) = (behind.next()?.to_owned(), unescape(behind.next()?));
        let all = own.get(5)?.split(',').chain(behind.next().unwrap_or_default().split(','));
        let mut options: Vec<String> = all.map(str::to_owned).collect();
        options.sort();
        options.dedup();
        let point = PathBuf::from(unescape(own.get(4)?));
        Some(Mount { device: (*own.get(2)?).to_owned(), point, options, file_system, source })
    }
}

/// Blanks and backslashes in names are written as `\040`.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(char::from(byte));
                out.push_str(&part[3..]);
            }
            None => {
                out.push('\\');
                out.push_str(part);
            }
        }
    }
    out
}

impl Device {
    fn below(root: &Path, mount: &Mount) -> Option<Device> {
        let by_number = root.join("sys/dev/block").join(&mount.device);
        let by_name = root.join("sys/class/block").join(Path::new(&mount.source).file_name()?);
        let link = if mount.device.starts_with("0:") { by_name } else { by_number };
        let mut folder = fs::canonicalize(link).ok()?;
        if folder.join("partition").exists() {
            folder.pop();
        }
        let text = |name: &str| fs::read_to_string(folder.join("queue").join(name)).ok();
        let atomic = text("atomic_write_unit_max_bytes").and_then(|text| text.trim().parse().ok());
        let name = folder.file_name()?.to_string_lossy().into_owned();
        let rotates = text("rotational").map(|text| text.trim() == "1");
        // Disks of virtual machines say that they rotate, whatever is behind them.
        let is_virtual = VIRTUAL.iter().any(|start| name.starts_with(start));
        Some(Device {
            rotates: rotates.filter(|rotates| !(*rotates && is_virtual)),
            scheduler: text("scheduler").and_then(|text| chosen(&text)),
            atomic_write_bytes: atomic.unwrap_or(0),
            name,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_on_the_deepest_mount_and_the_whole_device() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "proc/self/mountinfo",
            "1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
             2 1 259:2 / /var/my\\040data rw,noatime - xfs /dev/nvme0n1p2 rw,nobarrier\n\
             3 1 0:50 / /pool rw - zfs tank/pool rw,xattr\n",
        );
        write("sys/devices/nvme0n1/nvme0n1p2/partition", "2\n");
        write("sys/devices/nvme0n1/queue/rotational", "0\n");
        write("sys/devices/nvme0n1/queue/scheduler", "none [mq-deadline] kyber\n");
        write("sys/devices/nvme0n1/queue/atomic_write_unit_max_bytes", "65536\n");
        fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
        let part = root.path().join("sys/devices/nvme0n1/nvme0n1p2");
        symlink(part, root.path().join("sys/dev/block/259:2")).unwrap();
        let of = |path: &str| Storage::below(root.path(), Path::new(path)).unwrap();
        let data = of("/var/my data/mysql");
        assert_eq!((data.file_system.as_str(), data.has_option("nobarrier")), ("xfs", true));
        let device = Device {
            name: "nvme0n1".to_owned(),
            rotates: Some(false),
            scheduler: Some("mq-deadline".to_owned()),
            atomic_write_bytes: 65_536,
        };
        assert_eq!(data.device, Some(device));
        assert!(data.is_solid() && !data.writes_pages_whole());
        assert!(of("/pool/mysql").writes_pages_whole());
        let other = of("/var/my");
        assert_eq!((other.file_system.as_str(), other.device), ("ext4", None));
    }

    #[test]
    fn this_machine_says_what_a_folder_is_on() {
        let folder = tempfile::tempdir().unwrap();
        let storage = Storage::of(folder.path()).unwrap();
        assert!(!storage.file_system.is_empty() && storage.free_bytes > 0, "{storage:?}");
        assert_eq!(Storage::of(&folder.path().join("missing")), None);
    }
}
