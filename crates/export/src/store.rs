//! Places for files that are not in a file system: folders of object stores.
//!
//! This crate has no network: who can write there gives an export the folder.

use std::fmt::Debug;
use std::io::{self, Write};

/// A folder of an object store.
pub trait Store: Debug + Send + Sync {
    /// The names directly in it.
    ///
    /// Errors: the store's.
    fn names(&self) -> io::Result<Vec<String>>;

    /// True if it has an object of this name.
    ///
    /// Errors: the store's.
    fn has(&self, name: &str) -> io::Result<bool>;

    /// Begins an object, which replaces another one or must not.
    ///
    /// Errors: the store's.
    fn create(&self, name: &str, replaces: bool) -> io::Result<Box<dyn Object>>;

    /// Removes an object, if there is one.
    ///
    /// Errors: the store's.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Bytes of memory that an object takes while it is written.
    fn memory_bytes(&self) -> u64;
}

/// An object that is being written. Dropped before it is published, it leaves nothing.
pub trait Object: Write + Debug + Send {
    /// Sends all that was written.
    ///
    /// Errors: the store's.
    fn finish(&mut self) -> io::Result<()>;

    /// Makes it visible.
    ///
    /// Errors: the store's; of kind AlreadyExists, an object that must not be replaced.
    fn publish(self: Box<Self>) -> io::Result<()>;
}
