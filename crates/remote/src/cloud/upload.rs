//! Objects that are written: sent in parts while they grow, and visible when all of them is there.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use disk::failpoint;
use futures_util::TryStreamExt;
use object_store::multipart::PartId;
use object_store::path::Path;
use object_store::{GetOptions, MultipartId, PutPayload};

use super::address::{Address, Scheme};
use super::refusal::{Refusal, Task};
use super::store::{Store, path};
use crate::patience::Stops;

/// The smallest part that stores take before the last one, and the largest one of ours.
const PART_BYTES_MIN: u64 = 5 << 20;
const PART_BYTES_MAX: u64 = 64 << 20;
/// Parts of an object that are on their way at a time.
const COMING_MAX: usize = 2;
/// The most parts that an object can have.
const PARTS_MAX: usize = 10_000;
/// The share of the memory that is one part.
const MEMORY_SHARE: u64 = 64;

/// A folder of a store, to write to.
#[derive(Debug)]
pub struct Folder {
    /// Its key has no slash at the end.
    address: Address,
    part_bytes: usize,
    stops: Arc<Stops>,
}

/// An object that is being written. It is visible after [`Upload::publish`]; dropped before, it leaves nothing.
#[derive(Debug)]
pub struct Upload {
    target: Arc<Target>,
    part: Vec<u8>,
    part_bytes: usize,
    bytes: u64,
    coming: VecDeque<JoinHandle<io::Result<PartId>>>,
    sent: Vec<PartId>,
    is_published: bool,
}

/// Where an upload goes to.
#[derive(Debug)]
struct Target {
    store: Arc<Store>,
    path: Path,
    id: MultipartId,
    stops: Arc<Stops>,
}

impl Folder {
    /// The folder of a URL, which ends with a slash. Parts are made for so much memory of the process.
    ///
    /// Errors: what is wrong with the URL or the environment.
    pub fn open(text: &str, memory_bytes: u64, stop: &Arc<AtomicBool>) -> Result<Folder, String> {
        let address = Address::parse(text)?;
        let address = address.with_key(address.key.strip_suffix('/').unwrap_or(&address.key));
        if !address.key.is_empty() {
            path(&address.key)?;
        }
        let stops = Arc::<Stops>::default();
        stops.watch(stop);
        let part_bytes =
            (memory_bytes / MEMORY_SHARE).clamp(PART_BYTES_MIN, PART_BYTES_MAX) as usize;
        Ok(Folder { address, part_bytes, stops })
    }

    /// Bytes of memory that an object takes while it is written.
    pub fn memory_bytes(&self) -> u64 {
        (self.part_bytes * (COMING_MAX + 1)) as u64
    }

    /// The names directly in it.
    ///
    /// Errors: the store's.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let prefix = match self.address.key.as_str() {
            "" => None,
            key => Some(path(key).map_err(io::Error::other)?),
        };
        let listed = self.store(false)?.run(Task::List, &self.stops, |clients| {
            let prefix = prefix.clone();
            async move { clients.objects.list_with_delimiter(prefix.as_ref()).await }
        })?;
        let names = listed.objects.iter().filter_map(|meta| meta.location.filename());
        Ok(names.map(str::to_owned).collect())
    }

    /// True if it has an object of this name. An account that may not read has to write to know.
    ///
    /// Errors: the store's.
    pub fn has(&self, name: &str) -> io::Result<bool> {
        let path = self.path(name)?;
        let is_s3 = self.address.scheme == Scheme::S3;
        self.store(false)?.run(Task::Read, &self.stops, |clients| {
            let path = path.clone();
            async move {
                let options = GetOptions { head: true, ..GetOptions::default() };
                let Err(error) = clients.objects.get_opts(&path, options).await else {
                    return Ok(true);
                };
                match Refusal::of(&error).map(|refusal| refusal.status) {
                    Some(404) => Ok(false),
                    Some(403) if is_s3 => Ok(false),
                    _ => Err(error),
                }
            }
        })
    }

    /// Begins an object. One that must not replace another one is refused when it is published, if not before.
    ///
    /// Errors: the store's.
    pub fn create(&self, name: &str, replaces: bool) -> io::Result<Upload> {
        let path = self.path(name)?;
        let store = self.store(!replaces)?;
        let id = store.run(Task::Write, &self.stops, |clients| {
            let path = path.clone();
            async move { clients.uploads.create_multipart(&path).await }
        })?;
        let target = Arc::new(Target { store, path, id, stops: Arc::clone(&self.stops) });
        Ok(Upload {
            target,
            part: Vec::with_capacity(self.part_bytes),
            part_bytes: self.part_bytes,
            bytes: 0,
            coming: VecDeque::new(),
            sent: Vec::new(),
            is_published: false,
        })
    }

    /// Removes an object, if there is one.
    ///
    /// Errors: the store's.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.path(name)?;
        self.store(false)?.run(Task::Write, &Stops::default(), |clients| {
            let path = path.clone();
            async move {
                let paths = Box::pin(futures_util::stream::once(async { Ok(path) }));
                let removed = clients.objects.delete_stream(paths).try_collect::<Vec<_>>().await;
                match removed {
                    Err(error) if Refusal::of(&error).is_some_and(Refusal::is_missing) => Ok(()),
                    removed => removed.map(drop),
                }
            }
        })
    }

    fn store(&self, creates: bool) -> io::Result<Arc<Store>> {
        Store::of(&self.address, creates).map_err(io::Error::other)
    }

    fn path(&self, name: &str) -> io::Result<Path> {
        let key = match self.address.key.as_str() {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        path(&key).map_err(io::Error::other)
    }
}

impl Upload {
    /// Sends what has not been sent; visible it is not.
    ///
    /// Errors: the store's.
    pub fn finish(&mut self) -> io::Result<()> {
        if !self.part.is_empty() || self.sent.is_empty() && self.coming.is_empty() {
            self.send()?;
        }
        self.part = Vec::new();
        self.wait(0)
    }

    /// Makes it visible, all of it.
    ///
    /// Errors: the store's; of kind AlreadyExists, an object that must not be replaced.
    pub fn publish(mut self) -> io::Result<()> {
        self.finish()?;
        let (target, bytes) = (Arc::clone(&self.target), self.bytes);
        let parts = mem::take(&mut self.sent);
        let is_there = target.store.run(Task::Write, &Stops::default(), |clients| {
            let (path, id, parts) = (&target.path, &target.id, parts.clone());
            async move {
                let error = match clients.uploads.complete_multipart(path, id, parts).await {
                    Ok(_) => return Ok(false),
                    Err(error) => error,
                };
                match Refusal::of(&error).map(|refusal| (refusal.status, refusal.code.as_str())) {
                    Some((409 | 412, _)) => Ok(true),
                    // The answer of an earlier try was lost.
                    Some((404, "NoSuchUpload")) => {
                        let options = GetOptions { head: true, ..GetOptions::default() };
                        match clients.objects.get_opts(path, options).await {
                            Ok(answer) if answer.meta.size == bytes => Ok(false),
                            _ => Err(error),
                        }
                    }
                    _ => Err(error),
                }
            }
        })?;
        if is_there {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "the object exists already"));
        }
        self.is_published = true;
        Ok(())
    }

    /// Begins to send the part, when there is room for another one.
    fn send(&mut self) -> io::Result<()> {
        self.wait(COMING_MAX - 1)?;
        let number = self.sent.len() + self.coming.len();
        if number >= PARTS_MAX {
            let gigabytes = (self.part_bytes * PARTS_MAX) >> 30;
            return Err(io::Error::other(format!(
                "the object would be larger than {gigabytes} GiB; with more memory its parts are larger"
            )));
        }
        let part = mem::replace(&mut self.part, Vec::with_capacity(self.part_bytes));
        let (target, part) = (Arc::clone(&self.target), Bytes::from(part));
        let work = move || {
            failpoint::hit("thread.upload");
            target.put(number, &part)
        };
        self.coming.push_back(thread::Builder::new().name("upload".to_owned()).spawn(work)?);
        Ok(())
    }

    /// Waits until so many parts, or fewer, are on their way.
    fn wait(&mut self, most: usize) -> io::Result<()> {
        while self.coming.len() > most
            && let Some(thread) = self.coming.pop_front()
        {
            let ended = |_| Err(io::Error::other("the thread that sends a part has ended"));
            let part = thread.join().unwrap_or_else(ended);
            // Who writes would try again what was interrupted.
            self.sent.push(part.map_err(|error| io::Error::other(error.to_string()))?);
        }
        Ok(())
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.part.len() == self.part_bytes {
            self.send()?;
        }
        let size = bytes.len().min(self.part_bytes - self.part.len());
        self.part.extend_from_slice(&bytes[..size]);
        self.bytes += size as u64;
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.is_published {
            return;
        }
        // A part that comes after the end would stay.
        self.coming.drain(..).for_each(|thread| drop(thread.join()));
        let target = &self.target;
        // Nobody can be told; a rule of the bucket removes what is left.
        let _ = target.store.run(Task::Write, &Stops::default(), |clients| async move {
            match clients.uploads.abort_multipart(&target.path, &target.id).await {
                Err(error) if Refusal::of(&error).is_some_and(Refusal::is_missing) => Ok(()),
                ended => ended,
            }
        });
    }
}

impl Target {
    fn put(&self, number: usize, part: &Bytes) -> io::Result<PartId> {
        self.store.run(Task::Write, &self.stops, |clients| {
            let part = PutPayload::from(part.clone());
            async move { clients.uploads.put_part(&self.path, &self.id, number, part).await }
        })
    }
}
