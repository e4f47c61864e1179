//! An object of a store as an input: read by ranges, all of the same state.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta};
use sources::remote::{HEAD_BYTES_MIN, Remote};

use super::address::Address;
use super::refusal::{Refusal, Task};
use super::store::{Store, path};
use crate::answer::State;
use crate::blocks::{Blocks, Ranges};
use crate::client::replaced;
use crate::patience::{Fault, Patience, Stops};

/// Bytes that the first request asks for.
const HEAD_BYTES: u64 = 64 << 10;

/// Bytes of all heads together. Objects beyond keep the first bytes of theirs alone.
static HEADS_LEFT: AtomicUsize = AtomicUsize::new(16 << 20);

/// An object.
pub(crate) struct Object {
    ranges: Arc<ObjectRanges>,
    blocks: Arc<Blocks>,
    identity: String,
    head: Vec<u8>,
    bytes: u64,
}

/// The ranges of an object in one state.
struct ObjectRanges {
    store: Arc<Store>,
    path: Path,
    state: State,
    stops: Stops,
}

/// All of an object, front to back.
struct Reader {
    blocks: Arc<Blocks>,
    head: Vec<u8>,
    position: u64,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("state", &self.ranges.state).finish_non_exhaustive()
    }
}

impl Object {
    /// Asks for the first bytes.
    ///
    /// Errors: the store's and the network's, after more tries.
    pub(crate) fn open(address: &Address) -> io::Result<Object> {
        let path = path(&address.key).map_err(io::Error::other)?;
        let store = Store::of(address, false).map_err(io::Error::other)?;
        let stops = Stops::default();
        let (head, meta) = store.run(Task::Read, Patience::short(&stops), |clients| {
            let path = path.clone();
            async move {
                let range = Some(GetRange::Bounded(0..HEAD_BYTES));
                let options = GetOptions { range, ..GetOptions::default() };
                match clients.objects.get_opts(&path, options).await {
                    Ok(answer) => {
                        let meta = answer.meta.clone();
                        Ok((answer.bytes().await?.to_vec(), meta))
                    }
                    // No first byte can be sent of an empty object.
                    Err(error) if Refusal::of(&error).is_some_and(|it| it.status == 416) => {
                        let options = GetOptions { head: true, ..GetOptions::default() };
                        let meta = clients.objects.get_opts(&path, options).await?.meta;
                        Ok((Vec::new(), meta))
                    }
                    Err(error) => Err(error),
                }
            }
        })?;
        let bytes = meta.size;
        let expected = bytes.min(HEAD_BYTES);
        if head.len() as u64 != expected {
            return Err(io::Error::other("the connection ended within the object"));
        }
        let state = state(&meta);
        let identity = state.text();
        let ranges = Arc::new(ObjectRanges { store, path, state, stops });
        let head = kept(head, &HEADS_LEFT);
        let blocks = Blocks::new(Arc::clone(&ranges) as _, bytes, head.len());
        Ok(Object { ranges, blocks, identity, head, bytes })
    }
}

/// The part of a head that is kept, where so many bytes are left for heads.
fn kept(mut head: Vec<u8>, left: &AtomicUsize) -> Vec<u8> {
    let take = |left: usize| left.checked_sub(head.len());
    if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
        head.truncate(HEAD_BYTES_MIN);
        head.shrink_to_fit();
    }
    head
}

fn state(meta: &ObjectMeta) -> State {
    let modified = Some(meta.last_modified.timestamp().to_string());
    State { tag: meta.e_tag.clone(), modified, bytes: Some(meta.size) }
}

impl ObjectRanges {
    fn try_range(&self, start: u64, out: &mut [u8], got: &mut usize) -> Result<(), Fault> {
        let wanted = start + *got as u64..start + out.len() as u64;
        let if_match = self.state.condition().filter(|(name, _)| *name == "If-Match");
        let options = GetOptions {
            range: Some(GetRange::Bounded(wanted)),
            if_match: if_match.map(|(_, tag)| tag.to_owned()),
            ..GetOptions::default()
        };
        let answer = self.store.try_run(Task::Read, |clients| async move {
            match clients.objects.get_opts(&self.path, options).await {
                Err(error) => match Refusal::of(&error).map(|refusal| refusal.status) {
                    Some(412) => Ok(Err("is another one now")),
                    Some(416) => Ok(Err("is shorter now")),
                    Some(404) => Ok(Err("is gone")),
                    _ => Err(error),
                },
                answer => answer.map(Ok),
            }
        })?;
        let answer = answer.map_err(replaced)?;
        if let Some(what) = self.state.difference(&state(&answer.meta)) {
            return Err(replaced(&what));
        }
        self.fill(answer, out, got)
    }

    fn fill(&self, answer: GetResult, out: &mut [u8], got: &mut usize) -> Result<(), Fault> {
        let mut stream = answer.into_stream();
        let filled = self.store.try_run(Task::Read, |_| async {
            while let Some(bytes) = stream.next().await {
                let bytes = bytes?;
                let size = bytes.len().min(out.len() - *got);
                out[*got..*got + size].copy_from_slice(&bytes[..size]);
                *got += size;
            }
            Ok(())
        });
        match filled {
            Ok(()) if *got < out.len() => {
                Err(Fault::Again("the connection ended within the object".to_owned(), None))
            }
            filled => filled,
        }
    }
}

impl Ranges for ObjectRanges {
    fn read_range(&self, start: u64, out: &mut [u8]) -> io::Result<()> {
        let mut patience = Patience::new(&self.stops);
        let mut got = 0;
        while got < out.len() {
            self.stops.check()?;
            let before = got;
            if let Err(fault) = self.try_range(start, out, &mut got) {
                patience.wait(fault, got > before)?;
            }
        }
        Ok(())
    }

    fn stops(&self) -> &Stops {
        &self.stops
    }
}

/// Bytes from `position` on, of the head or by ranges.
fn read_at(head: &[u8], blocks: &Arc<Blocks>, position: u64, out: &mut [u8]) -> io::Result<usize> {
    let of_head = usize::try_from(position).ok().and_then(|at| head.get(at..));
    match of_head.filter(|bytes| !bytes.is_empty()) {
        Some(bytes) => {
            let size = bytes.len().min(out.len());
            out[..size].copy_from_slice(&bytes[..size]);
            Ok(size)
        }
        None => blocks.read_at(position, out),
    }
}

impl Remote for Object {
    fn bytes(&self) -> Option<u64> {
        Some(self.bytes)
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn head(&self) -> &[u8] {
        &self.head
    }

    fn read_at(&self, position: u64, out: &mut [u8]) -> io::Result<usize> {
        read_at(&self.head, &self.blocks, position, out)
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        let (blocks, head) = (Arc::clone(&self.blocks), self.head.clone());
        Ok(Box::new(Reader { blocks, head, position: 0 }))
    }

    fn limit(&self, bytes: usize) {
        self.blocks.limit(bytes);
    }

    fn forget(&self) {
        self.blocks.forget();
    }

    fn watch(&self, stop: &Arc<AtomicBool>) {
        self.ranges.stops.watch(stop);
    }
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = read_at(&self.head, &self.blocks, self.position, out)?;
        self.position += size as u64;
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_many_objects_are_short() {
        let left = AtomicUsize::new(100_000);
        let sizes = [60_000, 60_000, 300, 40_000].map(|bytes| kept(vec![0; bytes], &left).len());
        assert_eq!(sizes, [60_000, HEAD_BYTES_MIN, 300, HEAD_BYTES_MIN]);
    }
}
