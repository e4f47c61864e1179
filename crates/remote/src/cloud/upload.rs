//! Objects that are written: sent in parts while they grow, and visible when all of them is there.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use disk::failpoint;
use futures_util::TryStreamExt;
use object_store::multipart::PartId;
use object_store::path::Path;
use object_store::{GetOptions, MultipartId, ObjectMeta, PutPayload};

use super::address::{Address, Scheme};
use super::listing::explained;
use super::refusal::{Refusal, Task};
use super::store::{Clients, Store, path};
use crate::patience::{Patience, Stops};

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

/// The outcome of a complete upload.
enum Completion {
    /// The object is there, with this ETag.
    Made(Option<String>),
    /// Another object has its name.
    Exists,
}

/// The answer to a question for an object.
enum Sight {
    Object(ObjectMeta),
    Missing,
    /// The account may not read.
    Forbidden,
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
        let listed = self.store(false)?.run(Task::List, Patience::short(&self.stops), |clients| {
            let prefix = prefix.clone();
            async move { clients.objects.list_with_delimiter(prefix.as_ref()).await }
        });
        let listed = listed.map_err(explained)?;
        let names = listed.objects.iter().filter_map(|meta| meta.location.filename());
        Ok(names.map(str::to_owned).collect())
    }

    /// True if it has an object of this name. An account that may not read has to write to know.
    ///
    /// Errors: the store's.
    pub fn has(&self, name: &str) -> io::Result<bool> {
        let path = self.path(name)?;
        let is_s3 = self.address.scheme == Scheme::S3;
        self.store(false)?.run(Task::Read, Patience::short(&self.stops), |clients| {
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
        let id = store.run(Task::Write, Patience::new(&self.stops), |clients| {
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
        remove(&*self.store(false)?, &self.path(name)?)
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

    /// Makes it visible, all of it, and asks the store for its size.
    ///
    /// Errors: the store's; of kind AlreadyExists, an object that must not be replaced; an object of another size.
    pub fn publish(mut self) -> io::Result<()> {
        self.finish()?;
        let target = Arc::clone(&self.target);
        let before = target.look()?;
        let parts = mem::take(&mut self.sent);
        match target.complete(parts, before.meta(), self.bytes)? {
            Completion::Exists => {
                Err(io::Error::new(ErrorKind::AlreadyExists, "the object exists already"))
            }
            Completion::Made(tag) => {
                self.is_published = true;
                target.check(self.bytes, tag)
            }
        }
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
        let _ = target.store.run(
            Task::Write,
            Patience::short(&Stops::default()),
            |clients| async move {
                match clients.uploads.abort_multipart(&target.path, &target.id).await {
                    Err(error) if Refusal::of(&error).is_some_and(Refusal::is_missing) => Ok(()),
                    ended => ended,
                }
            },
        );
    }
}

impl Target {
    fn put(&self, number: usize, part: &Bytes) -> io::Result<PartId> {
        self.store.run(Task::Write, Patience::new(&self.stops), |clients| {
            let part = PutPayload::from(part.clone());
            async move { clients.uploads.put_part(&self.path, &self.id, number, part).await }
        })
    }

    /// Puts the object together, if need be by several requests. `before` is the object that has its name before.
    ///
    /// The answer of a request may be lost, and the next one be refused, because the object is there or the upload
    /// is not: so the store is asked for the object behind each answer that tells nothing.
    fn complete(
        &self,
        parts: Vec<PartId>,
        before: Option<&ObjectMeta>,
        bytes: u64,
    ) -> io::Result<Completion> {
        let is_open = AtomicBool::new(false);
        self.store.run(Task::Write, Patience::new(&Stops::default()), |clients| {
            let (parts, is_open) = (parts.clone(), &is_open);
            async move {
                let answer = clients.uploads.complete_multipart(&self.path, &self.id, parts).await;
                let error = match answer {
                    Ok(made) => return Ok(Completion::Made(made.e_tag)),
                    Err(error) => error,
                };
                let refusal = Refusal::of(&error);
                let exists = refusal.is_some_and(|refusal| matches!(refusal.status, 409 | 412));
                let is_answer = refusal.is_some_and(Refusal::is_about_the_request);
                if !is_answer {
                    is_open.store(true, Ordering::Relaxed);
                }
                let is_missing = refusal.is_some_and(|refusal| refusal.code == "NoSuchUpload");
                if (is_open.load(Ordering::Relaxed) || is_missing)
                    && let Ok(Sight::Object(meta)) = look(&clients, &self.path).await
                    && meta.size == bytes
                    && before.is_none_or(|before| differ(before, &meta))
                {
                    return Ok(Completion::Made(meta.e_tag));
                }
                if exists { Ok(Completion::Exists) } else { Err(error) }
            }
        })
    }

    /// Compares the size of a complete object, whose ETag `tag` is, with the bytes that were written.
    ///
    /// Errors: another size; the object is removed if it is the one that was made.
    fn check(&self, bytes: u64, tag: Option<String>) -> io::Result<()> {
        let found = match self.look()? {
            Sight::Object(meta) if meta.size != bytes => meta,
            // A reader that waits for objects may have moved it already.
            Sight::Object(_) | Sight::Missing | Sight::Forbidden => return Ok(()),
        };
        let sizes = format!("the store has {} bytes of the object, of {bytes}", found.size);
        if tag.is_none() || tag != found.e_tag {
            return Err(io::Error::other(format!(
                "{sizes}; somebody else replaced the object, which stays"
            )));
        }
        let removed = remove(&self.store, &self.path);
        let end = removed.map_or_else(
            |error| format!("cannot be removed: {error}"),
            |()| "was removed".to_owned(),
        );
        Err(io::Error::other(format!("{sizes}; the object {end}")))
    }

    fn look(&self) -> io::Result<Sight> {
        self.store.run(Task::Read, Patience::new(&Stops::default()), |clients| async move {
            look(&clients, &self.path).await
        })
    }
}

impl Sight {
    fn meta(&self) -> Option<&ObjectMeta> {
        match self {
            Sight::Object(meta) => Some(meta),
            Sight::Missing | Sight::Forbidden => None,
        }
    }
}

/// Asks for an object without its bytes.
async fn look(clients: &Clients, path: &Path) -> object_store::Result<Sight> {
    let options = GetOptions { head: true, ..GetOptions::default() };
    match clients.objects.get_opts(path, options).await {
        Ok(answer) => Ok(Sight::Object(answer.meta)),
        Err(error) => match Refusal::of(&error).map(|refusal| refusal.status) {
            Some(404) => Ok(Sight::Missing),
            Some(403) => Ok(Sight::Forbidden),
            _ => Err(error),
        },
    }
}

/// True if an object took the place of another one. Stores may give equal objects the same ETag.
fn differ(before: &ObjectMeta, after: &ObjectMeta) -> bool {
    (&before.e_tag, before.last_modified) != (&after.e_tag, after.last_modified)
}

fn remove(store: &Store, path: &Path) -> io::Result<()> {
    store.run(Task::Write, Patience::short(&Stops::default()), |clients| {
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
