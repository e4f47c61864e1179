//! Files and folders in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::operations::Operation;

/// The folder that all others are in.
pub(super) const ROOT: u64 = 1;

/// Files and folders by their numbers. Copies share their contents until these change.
#[derive(Clone)]
pub struct Files {
    nodes: BTreeMap<u64, Node>,
    next: u64,
}

#[derive(Clone)]
pub(super) struct Node {
    pub(super) body: Body,
    pub(super) mode: u32,
    /// Names that it has.
    pub(super) links: u32,
    pub(super) changed: SystemTime,
}

#[derive(Clone)]
pub(super) enum Body {
    Folder(BTreeMap<OsString, u64>),
    File(Arc<Vec<u8>>),
    Link(PathBuf),
    /// A socket or a pipe, by the bits of its mode.
    Other(u32),
}

impl Body {
    pub(super) fn file() -> Body {
        Body::File(Arc::default())
    }

    pub(super) fn folder() -> Body {
        Body::Folder(BTreeMap::new())
    }
}

impl Node {
    fn of(body: Body, mode: u32) -> Node {
        Node { body, mode: mode & 0o7777, links: 1, changed: SystemTime::now() }
    }

    pub(super) fn is_folder(&self) -> bool {
        matches!(self.body, Body::Folder(_))
    }

    /// Bytes of a file; 0 of others.
    pub(super) fn size(&self) -> u64 {
        match &self.body {
            Body::File(bytes) => bytes.len() as u64,
            _ => 0,
        }
    }
}

impl Default for Files {
    fn default() -> Files {
        let root = Node::of(Body::folder(), 0o700);
        Files { nodes: BTreeMap::from([(ROOT, root)]), next: ROOT + 1 }
    }
}

impl Files {
    /// Adds a folder of the machine, with all that is in it, to the root.
    pub fn add(&mut self, folder: &Path, name: &str) {
        self.add_to(ROOT, folder, OsStr::new(name));
    }

    /// Adds an empty folder to the root.
    pub fn add_empty(&mut self, name: &str) {
        self.create(ROOT, OsStr::new(name), Body::folder(), 0o700);
    }

    fn add_to(&mut self, parent: u64, path: &Path, name: &OsStr) {
        let metadata = fs::symlink_metadata(path).unwrap();
        let (kind, mode) = (metadata.file_type(), metadata.mode());
        if kind.is_dir() {
            let node = self.create(parent, name, Body::folder(), mode);
            for entry in fs::read_dir(path).unwrap() {
                let entry = entry.unwrap();
                self.add_to(node, &entry.path(), &entry.file_name());
            }
        } else if kind.is_symlink() {
            self.create(parent, name, Body::Link(fs::read_link(path).unwrap()), mode);
        } else if !kind.is_socket() && !kind.is_fifo() {
            self.create(parent, name, Body::File(Arc::new(fs::read(path).unwrap())), mode);
        }
    }

    fn create(&mut self, parent: u64, name: &OsStr, body: Body, mode: u32) -> u64 {
        let number = self.next;
        let name = name.to_owned();
        self.apply(&Operation::Create { parent, name, number, body, mode });
        number
    }

    /// The number that the next file gets.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn node(&self, number: u64) -> Option<&Node> {
        self.nodes.get(&number)
    }

    pub(super) fn entries(&self, folder: u64) -> Option<&BTreeMap<OsString, u64>> {
        match &self.nodes.get(&folder)?.body {
            Body::Folder(entries) => Some(entries),
            _ => None,
        }
    }

    pub(super) fn entry(&self, folder: u64, name: &OsStr) -> Option<u64> {
        self.entries(folder)?.get(name).copied()
    }

    /// Does what has been done. Something of a file that is not there is nothing.
    pub(super) fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Create { parent, name, number, body, mode } => {
                self.nodes.insert(*number, Node::of(body.clone(), *mode));
                self.next = self.next.max(number + 1);
                self.enter(*parent, name, *number);
            }
            Operation::Link { number, parent, name } => {
                if let Some(node) = self.nodes.get_mut(number) {
                    node.links += 1;
                    self.enter(*parent, name, *number);
                }
            }
            Operation::Unlink { parent, name, .. } => {
                let gone = self.leave(*parent, name);
                self.unlinked(gone);
            }
            Operation::Rename { from, to, .. } => {
                let moved = self.leave(from.0, &from.1);
                let gone = self.leave(to.0, &to.1);
                self.unlinked(gone);
                if let Some(moved) = moved {
                    self.enter(to.0, &to.1, moved);
                }
            }
            Operation::Exchange { one, other, .. } => {
                let nodes = (self.leave(one.0, &one.1), self.leave(other.0, &other.1));
                if let (Some(first), Some(second)) = nodes {
                    self.enter(one.0, &one.1, second);
                    self.enter(other.0, &other.1, first);
                }
            }
            Operation::Resize { number, size } => self.change(*number, |bytes| {
                bytes.resize(usize::try_from(*size).unwrap_or(usize::MAX), 0);
            }),
            Operation::Zero { number, offset, length } => self.change(*number, |bytes| {
                let end = bytes.len();
                let at = |place: u64| usize::try_from(place).map_or(end, |place| place.min(end));
                bytes[at(*offset)..at(offset + length)].fill(0);
            }),
            Operation::Mode { number, mode } => {
                if let Some(node) = self.nodes.get_mut(number) {
                    node.mode = mode & 0o7777;
                }
            }
            Operation::Write { number, offset, data, .. } => self.write(*number, *offset, data),
            Operation::Sync { .. } => {}
        }
    }

    pub(super) fn write(&mut self, number: u64, offset: u64, data: &[u8]) {
        self.change(number, |bytes| {
            let from = usize::try_from(offset).unwrap();
            let end = from + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[from..end].copy_from_slice(data);
        });
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut Vec<u8>)) {
        let Some(node) = self.nodes.get_mut(&number) else { return };
        if let Body::File(bytes) = &mut node.body {
            change(Arc::make_mut(bytes));
            node.changed = SystemTime::now();
        }
    }

    fn enter(&mut self, folder: u64, name: &OsStr, number: u64) {
        if let Some(Node { body: Body::Folder(entries), .. }) = self.nodes.get_mut(&folder) {
            entries.insert(name.to_owned(), number);
        }
    }

    fn leave(&mut self, folder: u64, name: &OsStr) -> Option<u64> {
        match self.nodes.get_mut(&folder)? {
            Node { body: Body::Folder(entries), .. } => entries.remove(name),
            _ => None,
        }
    }

    /// A file without a name stays: somebody may have it open.
    fn unlinked(&mut self, number: Option<u64>) {
        if let Some(node) = number.and_then(|number| self.nodes.get_mut(&number)) {
            node.links = node.links.saturating_sub(1);
        }
    }

    /// Drops the files that no name leads to, as a machine does when it starts.
    pub(super) fn drop_unreachable(&mut self) {
        let (mut reached, mut folders) = (BTreeSet::from([ROOT]), vec![ROOT]);
        while let Some(folder) = folders.pop() {
            for &number in self.entries(folder).into_iter().flat_map(BTreeMap::values) {
                if reached.insert(number) && self.node(number).is_some_and(Node::is_folder) {
                    folders.push(number);
                }
            }
        }
        self.nodes.retain(|number, _| reached.contains(number));
    }
}
