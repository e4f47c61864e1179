//! Where the files of an export are: the standard output, a folder, or a folder of an object store.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use disk::Folder;

use crate::error::Error;
use crate::leftover;
use crate::options::{ExportOptions, Place};
use crate::part_file::Sink;
use crate::store::{Object, Store};

/// The kind of these files in errors of the disk.
const WHAT: &str = "export";
/// Mode of a new folder, less what the umask denies.
const FOLDER_MODE: u32 = 0o755;

/// Where files are written to.
#[derive(Debug)]
pub(crate) enum Target {
    Stdout,
    Folder(Folder),
    Store(Arc<dyn Store>),
}

/// A file that is whole.
#[derive(Debug)]
pub(crate) struct FinishedFile {
    /// Its name until all are whole, in a folder.
    pub(crate) made: OsString,
    pub(crate) name: OsString,
    /// The object of it that is not visible yet, in an object store.
    pub(crate) object: Option<Box<dyn Object>>,
}

impl Target {
    /// The target of a place. Makes its folder, if it is missing.
    pub(crate) fn open(options: &ExportOptions) -> Result<Target, Error> {
        let open_folder = |path: &Path| {
            let folder = Folder::open_linked(path);
            folder.map(Target::Folder).map_err(Error::io("opening the folder", path))
        };
        match (&options.place, &options.store) {
            (Place::Stdout, _) => Ok(Target::Stdout),
            (_, Some(store)) => Ok(Target::Store(Arc::clone(store))),
            (Place::File(path), None) => {
                let above = path.parent().filter(|above| !above.as_os_str().is_empty());
                open_folder(above.unwrap_or(Path::new(".")))
            }
            (Place::Folder { path, .. }, None) => {
                let made = DirBuilder::new().mode(FOLDER_MODE).create(path);
                if let Err(error) = made
                    && error.kind() != io::ErrorKind::AlreadyExists
                {
                    return Err(Error::io("making", path)(error));
                }
                open_folder(path)
            }
        }
    }

    /// True if it has a file of this name.
    pub(crate) fn has(&self, name: &OsStr) -> io::Result<bool> {
        match self {
            Target::Stdout => Ok(false),
            Target::Folder(folder) => Ok(folder.look(name)?.is_some()),
            Target::Store(store) => store.has(text(name)?),
        }
    }

    /// The names of all files in it.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        match self {
            Target::Stdout => Ok(Vec::new()),
            Target::Folder(folder) => folder.names(),
            Target::Store(store) => Ok(store.names()?.into_iter().map(OsString::from).collect()),
        }
    }

    /// Begins a file, which replaces another one or must not.
    pub(crate) fn begin(&self, name: &OsStr, made: &OsStr, replaces: bool) -> io::Result<Sink> {
        match self {
            Target::Stdout => Ok(Sink::stdout()),
            Target::Folder(folder) => Ok(Sink::file(folder.create(made, 0o600, WHAT)?)),
            Target::Store(store) => Ok(Sink::object(store.create(text(name)?, replaces)?)),
        }
    }

    /// Gives a file its name.
    pub(crate) fn place(&self, file: &mut FinishedFile, replaces: bool) -> io::Result<()> {
        match (self, file.object.take()) {
            (_, Some(object)) => object.publish(),
            (Target::Folder(folder), None) if replaces => {
                folder.rename(&file.made, &file.name, WHAT)
            }
            (Target::Folder(folder), None) => folder.rename_new(&file.made, &file.name, WHAT),
            (Target::Stdout | Target::Store(_), None) => Ok(()),
        }
    }

    /// Removes a file, if there is one.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        match self {
            Target::Stdout => Ok(()),
            Target::Folder(folder) => folder.remove(name, WHAT).map(drop),
            Target::Store(store) => store.remove(text(name)?),
        }
    }

    /// Removes files of killed exports that would have had names that `is_own`. Nobody sees objects without names.
    pub(crate) fn remove_left(&self, is_own: impl Fn(&OsStr) -> bool) {
        if let Target::Folder(folder) = self {
            leftover::remove(folder, WHAT, is_own);
        }
    }

    /// Removes what a file is until it has its name. Objects do so themselves.
    pub(crate) fn remove_made(&self, made: &OsStr) {
        if let Target::Folder(folder) = self {
            let _ = folder.remove(made, WHAT);
        }
    }

    /// Has the names on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self {
            Target::Folder(folder) => folder.sync(WHAT),
            Target::Stdout | Target::Store(_) => Ok(()),
        }
    }
}

fn text(name: &OsStr) -> io::Result<&str> {
    name.to_str().ok_or_else(|| io::Error::other("the name of an object must be UTF-8"))
}
