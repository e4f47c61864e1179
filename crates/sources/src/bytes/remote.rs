//! Inputs on other machines: objects that are read by ranges, or once from their beginning.
//!
//! Who can read them registers each under the name that messages show; from then on it is an input as a file or a
//! pipe is. This crate has no network: it asks the object.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use locks::RwLock;

use crate::error::Error;

/// An object on another machine. It stays the same while it is read: a changed one is an error.
pub trait Remote: Debug + Send + Sync {
    /// Its size; None of one that can only be read from its beginning.
    fn bytes(&self) -> Option<u64>;

    /// A text that differs for another state of the same name.
    fn identity(&self) -> &str;

    /// Its first bytes, [`HEAD_BYTES_MIN`] or more unless it has fewer.
    fn head(&self) -> &[u8];

    /// Bytes from `position` on; 0 at the end.
    ///
    /// Errors: as [`Remote::open`]; of kind Interrupted, the end was asked for.
    fn read_at(&self, position: u64, out: &mut [u8]) -> io::Result<usize>;

    /// All of its bytes, front to back.
    ///
    /// Errors: the network's and the server's; the object has changed.
    fn open(&self) -> io::Result<Box<dyn Read + Send>>;

    /// Most memory for bytes that are read ahead.
    fn limit(&self, bytes: usize);

    /// Forgets the bytes that it keeps, as nobody reads it at present.
    fn forget(&self);

    /// Has those who wait look at this flag, which asks for the end.
    fn watch(&self, stop: &Arc<AtomicBool>);
}

/// First bytes that any object keeps, however many objects are inputs.
pub const HEAD_BYTES_MIN: usize = 512;

/// The objects of this process.
static KNOWN: RwLock<KnownObjects> =
    RwLock::new(KnownObjects { by_name: BTreeMap::new(), with_bytes: Vec::new() });

struct KnownObjects {
    by_name: BTreeMap<PathBuf, Known>,
    /// Names of those that may keep bytes that were read.
    with_bytes: Vec<PathBuf>,
}

struct Known {
    object: Arc<dyn Remote>,
    readers: usize,
}

/// A reader of an object. Objects without readers forget their bytes when another object gets one: the memory is
/// that of the objects that are read, however many are inputs.
#[derive(Debug)]
pub(super) struct Opened {
    name: PathBuf,
    object: Arc<dyn Remote>,
}

impl Opened {
    pub(super) fn new(name: &Path, object: Arc<dyn Remote>) -> Opened {
        let KnownObjects { by_name, with_bytes } = &mut *KNOWN.write();
        with_bytes.retain(|other| {
            let unread = by_name.get(other).filter(|known| other != name && known.readers == 0);
            unread.inspect(|known| known.object.forget()).is_none()
        });
        if let Some(known) = by_name.get_mut(name) {
            known.readers += 1;
            if !with_bytes.iter().any(|other| other == name) {
                with_bytes.push(name.to_owned());
            }
        }
        Opened { name: name.to_owned(), object }
    }

    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    /// Bytes from `position` on; 0 at the end.
    pub(super) fn read_at(&self, position: u64, out: &mut [u8]) -> Result<usize, Error> {
        self.object.read_at(position, out).map_err(|source| error(&self.name, source))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(known) = KNOWN.write().by_name.get_mut(&self.name) {
            known.readers = known.readers.saturating_sub(1);
        }
    }
}

/// Makes an object an input under this name.
pub fn register(name: &Path, object: Arc<dyn Remote>) {
    KNOWN.write().by_name.insert(name.to_owned(), Known { object, readers: 0 });
}

/// The object of this name.
pub(crate) fn of(name: &Path) -> Option<Arc<dyn Remote>> {
    KNOWN.read().by_name.get(name).map(|known| Arc::clone(&known.object))
}

/// The error of reading the object of this name.
pub(super) fn error(name: &Path, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::Interrupted => Error::Stopped { path: name.to_owned() },
        _ => Error::Io { action: "reading", path: name.to_owned(), source },
    }
}

/// What tells the object of this name from another state of it; None if none is registered.
pub fn identity(name: &Path) -> Option<String> {
    of(name).map(|object| object.identity().to_owned())
}

/// True if an object of this name can be read at any place.
pub fn has_ranges(name: &Path) -> bool {
    of(name).is_some_and(|object| object.bytes().is_some())
}

/// True of a plain file and of any object: what they begin with can be told without taking it from who reads them.
pub fn is_looked_at(path: &Path) -> bool {
    of(path).is_some() || path.is_file()
}

/// The size of a plain file, or of an object that can be read at any place; None of anything else.
pub fn plain_bytes(path: &Path) -> Option<u64> {
    match of(path) {
        Some(object) => object.bytes(),
        None => std::fs::metadata(path).ok().filter(|it| it.is_file()).map(|it| it.len()),
    }
}

/// The first bytes of a plain file or an object, as many as fit; None of anything else.
pub fn head(path: &Path, out: &mut [u8]) -> Option<usize> {
    let Some(object) = of(path) else {
        plain_bytes(path)?;
        let mut file = std::fs::File::open(path).ok()?;
        return file.read(out).ok();
    };
    let head = object.head();
    let size = head.len().min(out.len());
    out[..size].copy_from_slice(&head[..size]);
    Some(size)
}

/// True if a name is meant as a URL of an input: of HTTP, or of an object store.
pub fn is_url(name: &Path) -> bool {
    begins_with(name, &["http://", "https://"]) || is_object_url(name)
}

/// True if a name is meant as a URL of an object store.
pub fn is_object_url(name: &Path) -> bool {
    begins_with(name, &["s3://", "gs://", "az://"])
}

fn begins_with(name: &Path, schemes: &[&str]) -> bool {
    let bytes = name.as_os_str().as_encoded_bytes();
    schemes.iter().any(|scheme| {
        let start = bytes.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    })
}

/// A URL without what may be a secret, which are user, password, query and fragment; and whether it has any of
/// these. URLs of object stores have no query: `?` and `#` are of their names. None if the text is no URL of an input.
pub fn without_secrets(text: &str) -> Option<(String, bool)> {
    if !is_url(Path::new(text)) {
        return None;
    }
    let (scheme, rest) = text.split_once("://")?;
    let query = if is_object_url(Path::new(text)) { None } else { rest.find(['?', '#']) };
    let end = query.unwrap_or(rest.len());
    let (authority, path) = match rest[..end].split_once('/') {
        Some((authority, path)) => (authority, path),
        None => (&rest[..end], ""),
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let has_secrets = host.len() < authority.len() || end < rest.len();
    Some((format!("{}://{host}/{path}", scheme.to_ascii_lowercase()), has_secrets))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Debug, Default)]
    struct Counted(AtomicUsize);

    impl Remote for Counted {
        fn bytes(&self) -> Option<u64> {
            Some(0)
        }

        fn identity(&self) -> &str {
            ""
        }

        fn head(&self) -> &[u8] {
            &[]
        }

        fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }

        fn open(&self) -> io::Result<Box<dyn Read + Send>> {
            Ok(Box::new(io::empty()))
        }

        fn limit(&self, _: usize) {}

        fn forget(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn watch(&self, _: &Arc<AtomicBool>) {}
    }

    /// Each of many inputs kept the blocks that were read last: 25 of them 650 MB.
    #[test]
    fn objects_that_nobody_reads_forget_their_bytes() {
        let objects = [(); 2].map(|()| Arc::<Counted>::default());
        let names = ["http://test/1", "http://test/2"].map(Path::new);
        for (name, object) in names.iter().zip(&objects) {
            register(name, Arc::clone(object) as _);
        }
        let forgot = || [0, 1].map(|at: usize| objects[at].0.load(Ordering::Relaxed));
        let open = |at: usize| Opened::new(names[at], Arc::clone(&objects[at]) as _);
        let (first, again) = (open(0), open(0));
        assert_eq!(forgot(), [0, 0], "objects that nobody read have nothing to forget");
        drop(first);
        let second = open(1);
        assert_eq!(forgot(), [0, 0], "it is still read once");
        drop((again, second));
        // Who reads the same one again finds its bytes.
        drop(open(1));
        assert_eq!(forgot(), [1, 0]);
        drop((open(0), open(0)));
        assert_eq!(forgot(), [1, 1]);
    }

    #[test]
    fn secrets_of_a_url_are_left_out() {
        for (url, shown, has) in [
            ("https://h/a/b.csv", "https://h/a/b.csv", false),
            ("HTTPS://u:p@h:81/a.csv?sig=1#x", "https://h:81/a.csv", true),
            ("http://u:p/w@d@h", "http://u:p/w@d@h", false),
            ("http://h?a=/b@c", "http://h/", true),
            ("http://h/a@b", "http://h/a@b", false),
            ("S3://b/a?b#c", "s3://b/a?b#c", false),
            ("s3://key:secret@b/a", "s3://b/a", true),
        ] {
            assert_eq!(without_secrets(url), Some((shown.to_owned(), has)), "{url}");
        }
        assert_eq!(without_secrets("ftp://h/a"), None);
    }
}
