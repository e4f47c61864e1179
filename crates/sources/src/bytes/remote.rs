//! Inputs on other machines: objects that are read by ranges, or once from their beginning.
//!
//! Who can read them registers each under the name that messages show; from then on it is an input as a file or a
//! pipe is. This crate has no network: it asks the object.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::Error;

/// An object on another machine. It stays the same while it is read: a changed one is an error.
pub trait Remote: Debug + Send + Sync {
    /// Its size; None of one that can only be read from its beginning.
    fn bytes(&self) -> Option<u64>;

    /// What tells it from another state of the same name.
    fn identity(&self) -> &str;

    /// Its first bytes, 4 KiB or more unless it has fewer.
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

    /// Has those who wait look at this flag, which asks for the end.
    fn watch(&self, stop: &Arc<AtomicBool>);
}

/// The objects of this process, by their names.
static KNOWN: RwLock<BTreeMap<PathBuf, Arc<dyn Remote>>> = RwLock::new(BTreeMap::new());

/// Makes an object an input under this name.
pub fn register(name: &Path, object: Arc<dyn Remote>) {
    KNOWN.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), object);
}

/// The object of this name.
pub(crate) fn of(name: &Path) -> Option<Arc<dyn Remote>> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
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

/// True if a name is meant as a URL of HTTP.
pub fn is_url(name: &Path) -> bool {
    let bytes = name.as_os_str().as_encoded_bytes();
    [&b"http://"[..], b"https://"].iter().any(|scheme| {
        bytes.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

/// A URL without what may be a secret, which are user, password, query and fragment; and whether it has any of
/// these. None if the text is no URL of HTTP.
pub fn without_secrets(text: &str) -> Option<(String, bool)> {
    if !is_url(Path::new(text)) {
        return None;
    }
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
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
    use super::*;

    #[test]
    fn secrets_of_a_url_are_left_out() {
        for (url, shown, has) in [
            ("https://h/a/b.csv", "https://h/a/b.csv", false),
            ("HTTPS://u:p@h:81/a.csv?sig=1#x", "https://h:81/a.csv", true),
            ("http://u:p/w@d@h", "http://u:p/w@d@h", false),
            ("http://h?a=/b@c", "http://h/", true),
            ("http://h/a@b", "http://h/a@b", false),
        ] {
            assert_eq!(without_secrets(url), Some((shown.to_owned(), has)), "{url}");
        }
        assert_eq!(without_secrets("s3://h/a"), None);
    }
}
