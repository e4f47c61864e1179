//! The files as the kernel asks for them.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use super::files::{Body, Files, Node};
use super::operations::Operation;
use super::{Shared, State};

/// Nobody else changes the files, so the kernel need not ask again.
const FOREVER: Duration = Duration::from_secs(3600);
const BLOCK: u32 = 4096;
/// Bits of a mode that say what a file is, and those of files, sockets and pipes.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const SOCKET: u32 = 0o140_000;
/// Bits of fallocate's mode: the size stays; the range becomes zeros.
const KEEP_SIZE: i32 = 1;
const PUNCH_HOLE: i32 = 2;
const ZERO_RANGE: i32 = 16;

pub(super) struct Mounted {
    state: Shared,
}

type Done<T> = Result<T, Errno>;

impl Mounted {
    pub(super) fn of(state: &Shared) -> Mounted {
        Mounted { state: Arc::clone(state) }
    }

    fn attributes(&self, number: u64) -> Done<FileAttr> {
        self.state
            .lock()
            .files
            .node(number)
            .map(|node| attributes(number, node))
            .ok_or(Errno::ENOENT)
    }

    fn create(&self, parent: u64, name: &OsStr, body: Body, mode: u32) -> Done<FileAttr> {
        let mut state = self.state.lock();
        if state.files.entry(parent, name).is_some() {
            return Err(Errno::EEXIST);
        }
        let number = state.files.next();
        state.does(Operation::Create { parent, name: name.to_owned(), number, body, mode });
        state.files.node(number).map(|node| attributes(number, node)).ok_or(Errno::ENOENT)
    }

    fn remove(&self, parent: u64, name: &OsStr) -> Done<()> {
        let mut state = self.state.lock();
        let number = state.files.entry(parent, name).ok_or(Errno::ENOENT)?;
        if state.files.entries(number).is_some_and(|entries| !entries.is_empty()) {
            return Err(Errno::ENOTEMPTY);
        }
        state.does(Operation::Unlink { parent, name: name.to_owned(), number });
        Ok(())
    }

    fn rename(&self, from: (u64, OsString), to: (u64, OsString), flags: RenameFlags) -> Done<()> {
        let mut state = self.state.lock();
        let number = state.files.entry(from.0, &from.1).ok_or(Errno::ENOENT)?;
        let there = state.files.entry(to.0, &to.1);
        if flags.contains(RenameFlags::RENAME_EXCHANGE) {
            let numbers = [number, there.ok_or(Errno::ENOENT)?];
            state.does(Operation::Exchange { one: from, other: to, numbers });
            return Ok(());
        }
        if flags.contains(RenameFlags::RENAME_NOREPLACE) && there.is_some() {
            return Err(Errno::EEXIST);
        }
        // Two names of one file: nothing, as POSIX has it.
        if there != Some(number) {
            state.does(Operation::Rename { from, to, number });
        }
        Ok(())
    }

    fn read(&self, number: u64, offset: u64, size: u32) -> Done<Vec<u8>> {
        let state = self.state.lock();
        let Some(Node { body: Body::File(bytes), .. }) = state.files.node(number) else {
            return Err(Errno::EINVAL);
        };
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = from.saturating_add(size as usize).min(bytes.len());
        Ok(bytes[from..end].to_vec())
    }

    fn allocate(&self, number: u64, offset: u64, length: u64, mode: i32) -> Done<()> {
        let mut state = self.state.lock();
        let size = state.files.node(number).ok_or(Errno::ENOENT)?.size();
        if mode & !(KEEP_SIZE | PUNCH_HOLE | ZERO_RANGE) != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        if mode & (PUNCH_HOLE | ZERO_RANGE) != 0 {
            state.does(Operation::Zero { number, offset, length });
        }
        if mode & KEEP_SIZE == 0 && offset + length > size {
            state.does(Operation::Resize { number, size: offset + length });
        }
        Ok(())
    }

    fn sync(&self, number: u64) {
        self.state.lock().does(Operation::Sync { number });
    }
}

impl State {
    fn does(&mut self, operation: Operation) {
        self.files.apply(&operation);
        self.operations.push(operation);
    }
}

fn attributes(number: u64, node: &Node) -> FileAttr {
    let kind = match &node.body {
        Body::Folder(_) => FileType::Directory,
        Body::File(_) => FileType::RegularFile,
        Body::Link(_) => FileType::Symlink,
        Body::Other(kind) if *kind == SOCKET => FileType::Socket,
        Body::Other(_) => FileType::NamedPipe,
    };
    let size = node.size();
    FileAttr {
        ino: INodeNo(number),
        size,
        blocks: size.div_ceil(512),
        atime: node.changed,
        mtime: node.changed,
        ctime: node.changed,
        crtime: node.changed,
        kind,
        perm: u16::try_from(node.mode & 0o7777).unwrap_or_default(),
        nlink: node.links,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: BLOCK,
        flags: 0,
    }
}

fn entry(reply: ReplyEntry, made: Done<FileAttr>) {
    match made {
        Ok(attributes) => reply.entry(&FOREVER, &attributes, Generation(0)),
        Err(error) => reply.error(error),
    }
}

fn attribute(reply: ReplyAttr, found: Done<FileAttr>) {
    match found {
        Ok(attributes) => reply.attr(&FOREVER, &attributes),
        Err(error) => reply.error(error),
    }
}

fn empty(reply: ReplyEmpty, done: Done<()>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

fn list(files: &Files, folder: u64) -> Option<Vec<(u64, FileType, OsString)>> {
    let kind = |number| files.node(number).map(|node| attributes(number, node).kind);
    let entries = files.entries(folder)?;
    let own =
        [(folder, FileType::Directory, ".".into()), (folder, FileType::Directory, "..".into())];
    let inner =
        entries.iter().filter_map(|(name, &number)| Some((number, kind(number)?, name.clone())));
    Some(own.into_iter().chain(inner).collect())
}

impl Filesystem for Mounted {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.state.lock().files.entry(parent.0, name).ok_or(Errno::ENOENT);
        entry(reply, found.and_then(|number| self.attributes(number)));
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        attribute(reply, self.attributes(number.0));
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let number = number.0;
        if let Some(mode) = mode {
            self.state.lock().does(Operation::Mode { number, mode });
        }
        if let Some(size) = size {
            self.state.lock().does(Operation::Resize { number, size });
        }
        attribute(reply, self.attributes(number));
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        use std::os::unix::ffi::OsStrExt;
        match self.state.lock().files.node(number.0).map(|node| &node.body) {
            Some(Body::Link(target)) => reply.data(target.as_os_str().as_bytes()),
            _ => reply.error(Errno::EINVAL),
        }
    }

    fn mknod(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let kind = mode & KIND;
        let body = if kind == REGULAR { Body::file() } else { Body::Other(kind) };
        entry(reply, self.create(parent.0, name, body, mode & !umask));
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        entry(reply, self.create(parent.0, name, Body::folder(), mode & !umask));
    }

    fn symlink(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        entry(reply, self.create(parent.0, name, Body::Link(target.to_owned()), 0o777));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, self.remove(parent.0, name));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, self.remove(parent.0, name));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (from, to) = ((parent.0, name.to_owned()), (newparent.0, newname.to_owned()));
        empty(reply, Mounted::rename(self, from, to, flags));
    }

    fn link(&self, _: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (number, parent) = (number.0, parent.0);
        if self.state.lock().files.entry(parent, name).is_some() {
            return reply.error(Errno::EEXIST);
        }
        self.state.lock().does(Operation::Link { number, parent, name: name.to_owned() });
        entry(reply, self.attributes(number));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        match Mounted::create(self, parent.0, name, Body::file(), mode & !umask) {
            Ok(attributes) => {
                let flags = FopenFlags::FOPEN_KEEP_CACHE;
                reply.created(&FOREVER, &attributes, Generation(0), FileHandle(0), flags);
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match Mounted::read(self, number.0, offset, size) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let (number, mut state) = (number.0, self.state.lock());
        let size = state.files.node(number).map_or(0, Node::size);
        let grows = offset + data.len() as u64 > size;
        state.does(Operation::Write { number, offset, data: data.to_vec(), grows });
        reply.written(u32::try_from(data.len()).unwrap_or(u32::MAX));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(number.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(number.0);
        reply.ok();
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let Some(entries) = list(&self.state.lock().files, number.0) else {
            return reply.error(Errno::ENOTDIR);
        };
        let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
        for (at, (number, kind, name)) in entries.into_iter().enumerate().skip(skipped) {
            if reply.add(INodeNo(number), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        const BLOCKS: u64 = 1 << 20;
        reply.statfs(BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCK, 255, BLOCK);
    }

    fn fallocate(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        empty(reply, self.allocate(number.0, offset, length, mode));
    }
}
