//! Folders of object stores, which exports write to.

#[cfg(not(feature = "cloud"))]
pub(crate) use refused::folder;
#[cfg(feature = "cloud")]
pub(crate) use stores::folder;

#[cfg(feature = "cloud")]
mod stores {
    use std::io::{self, Write};
    use std::path::Path;
    use std::sync::Arc;

    use ::export::store::{Object, Store};
    use ::export::{ExportOptions, Place};
    use remote::cloud;
    use terminal::failure::Failure;

    #[derive(Debug)]
    struct Folder(cloud::Folder);

    #[derive(Debug)]
    struct Upload(cloud::Upload);

    /// The folder that a place is in, or is.
    pub(crate) fn folder(url: &Path, options: &ExportOptions) -> Result<Arc<dyn Store>, Failure> {
        let text = url.to_string_lossy();
        let folder = match &options.place {
            Place::Folder { .. } => text.to_string(),
            _ => match text.rsplit_once('/') {
                // Behind the slashes of the scheme comes the bucket.
                Some((folder, _)) if folder.contains("://") => format!("{folder}/"),
                _ => {
                    let text =
                        format!("-o {text} names no object: {text}/NAME, or {text}/ for a folder");
                    return Err(Failure::usage(text));
                }
            },
        };
        let (memory, stop) = (options.memory_bytes_max, options.interrupt.flag());
        let folder = cloud::Folder::open(&folder, memory, &stop).map_err(Failure::usage)?;
        Ok(Arc::new(Folder(folder)))
    }

    impl Store for Folder {
        fn names(&self) -> io::Result<Vec<String>> {
            self.0.names()
        }

        fn has(&self, name: &str) -> io::Result<bool> {
            self.0.has(name)
        }

        fn create(&self, name: &str, replaces: bool) -> io::Result<Box<dyn Object>> {
            Ok(Box::new(Upload(self.0.create(name, replaces)?)))
        }

        fn remove(&self, name: &str) -> io::Result<()> {
            self.0.remove(name)
        }

        fn memory_bytes(&self) -> u64 {
            self.0.memory_bytes()
        }
    }

    impl Object for Upload {
        fn finish(&mut self) -> io::Result<()> {
            self.0.finish()
        }

        fn publish(self: Box<Self>) -> io::Result<()> {
            self.0.publish()
        }
    }

    impl Write for Upload {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.flush()
        }
    }
}

#[cfg(not(feature = "cloud"))]
mod refused {
    use std::path::Path;
    use std::sync::Arc;

    use ::export::ExportOptions;
    use ::export::store::Store;
    use terminal::failure::Failure;

    use crate::input;

    /// Errors: always.
    pub(crate) fn folder(url: &Path, _: &ExportOptions) -> Result<Arc<dyn Store>, Failure> {
        Err(input::refused_objects(url))
    }
}
