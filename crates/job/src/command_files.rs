//! The files that a command reads and writes: none may be both, and none may be written twice.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use face::OptionName;
use sources::is_stdin;

use crate::error::Error;
use crate::row_log::reasons_path;

/// Symbolic links that are followed to a file that does not exist yet.
const LINKS_MAX: usize = 40;

/// The files of a command, each with the option that names it.
#[derive(Clone, Debug, Default)]
pub struct CommandFiles {
    reads: Vec<NamedFile>,
    writes: Vec<NamedFile>,
}

#[derive(Clone, Debug)]
struct NamedFile {
    /// `--report`, or a noun for an argument.
    option: String,
    path: PathBuf,
    identity: Option<Identity>,
}

/// By which two files are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// Device and inode of a file that exists: links are the same file.
    Inode(u64, u64),
    /// Folder and name of one that does not exist yet.
    Name(PathBuf, OsString),
}

impl CommandFiles {
    /// No files.
    pub fn new() -> CommandFiles {
        CommandFiles::default()
    }

    /// Adds a file that the command reads.
    pub fn reads(&mut self, option: &str, path: &Path) {
        self.reads.push(NamedFile::new(option, path));
    }

    /// Adds a file that the command writes.
    pub fn writes(&mut self, option: &str, path: &Path) {
        self.writes.push(NamedFile::new(option, path));
    }

    /// Adds a file of rows, and the file beside it that says why the rows are there.
    pub(crate) fn writes_rows(&mut self, option: OptionName, path: &Path) {
        self.writes(&option.to_string(), path);
        self.writes(&format!("the reasons file of {option}"), &reasons_path(path));
    }

    /// Adds the standard output and the standard error, which may be one file together.
    pub fn writes_streams(&mut self) {
        let (out, error) = (std::io::stdout(), std::io::stderr());
        let out = stream_identity(out.as_fd());
        let error = stream_identity(error.as_fd()).filter(|error| Some(error) != out.as_ref());
        for (option, path, identity) in [
            ("the standard output", "/dev/stdout", out),
            ("the standard error", "/dev/stderr", error),
        ] {
            self.writes.push(NamedFile {
                option: option.to_owned(),
                path: PathBuf::from(path),
                identity,
            });
        }
    }

    /// Refuses a file that would be written over while it is read, one that would be written by two, and a name
    /// that is no plain file's, as a link. Devices may be shared.
    ///
    /// Errors: [`Error::Usage`], with the options.
    pub fn check(&self) -> Result<(), Error> {
        self.check_each_other()?;
        for written in &self.writes {
            let refused = disk::output::check(&written.path);
            let refused = refused.err().filter(|error| error.kind() == ErrorKind::InvalidInput);
            if let Some(error) = refused {
                return Err(Error::Usage(format!("{}: {error}", written.named())));
            }
        }
        Ok(())
    }

    fn check_each_other(&self) -> Result<(), Error> {
        for (at, written) in self.writes.iter().enumerate() {
            if let Some(read) = self.reads.iter().find(|read| read.is_same(written)) {
                return Err(Error::Usage(format!(
                    "{} would overwrite {}; name another file",
                    written.named(),
                    read.named()
                )));
            }
            if let Some(other) = self.writes[..at].iter().find(|other| other.is_same(written)) {
                return Err(Error::Usage(format!(
                    "{} and {} would both write to one file; name different files",
                    other.named(),
                    written.named()
                )));
            }
        }
        Ok(())
    }
}

impl NamedFile {
    fn new(option: &str, path: &Path) -> NamedFile {
        let identity = identity(path);
        NamedFile { option: option.to_owned(), path: path.to_owned(), identity }
    }

    fn is_same(&self, other: &NamedFile) -> bool {
        self.identity.is_some() && self.identity == other.identity
    }

    fn named(&self) -> String {
        format!("{} {}", self.option, self.path.display())
    }
}

/// None of a device, a pipe, a folder, an output stream, a file of another machine, and of one that nobody can look at.
fn identity(path: &Path) -> Option<Identity> {
    // Whoever names an output stream wants to share it.
    if disk::output::is_stream(path) || disk::returned::has(path) {
        return None;
    }
    if is_stdin(path) {
        return stream_identity(std::io::stdin().as_fd());
    }
    match std::fs::metadata(path) {
        Ok(metadata) => of_metadata(&metadata),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => by_name(path),
        Err(_) => None,
    }
}

fn stream_identity(stream: BorrowedFd<'_>) -> Option<Identity> {
    let file = File::from(stream.try_clone_to_owned().ok()?);
    of_metadata(&file.metadata().ok()?)
}

fn of_metadata(metadata: &Metadata) -> Option<Identity> {
    metadata.is_file().then(|| Identity::Inode(metadata.dev(), metadata.ino()))
}

/// Where a file would be created: a symbolic link to a missing file creates that one.
fn by_name(path: &Path) -> Option<Identity> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        match std::fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => return Some(Identity::Name(folder, path.file_name()?.to_owned())),
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use face::option::{DUPLICATES, REJECTS};

    use super::*;

    fn text(files: &CommandFiles) -> String {
        files.check_each_other().map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn a_file_that_is_read_is_not_written_by_any_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("in"), "1\n").unwrap();
        std::fs::write(path("in.reasons.jsonl"), "1\n").unwrap();
        std::fs::hard_link(path("in"), path("hard")).unwrap();
        symlink("in", path("soft")).unwrap();
        std::fs::create_dir(path("sub")).unwrap();
        for name in ["in", "hard", "soft", "sub/../in", "./in"] {
            let mut files = CommandFiles::new();
            files.reads("the input", &path("in"));
            files.writes("--report", &path(name));
            let text = text(&files);
            assert!(
                text.contains("--report") && text.contains("would overwrite the input"),
                "{text}"
            );
        }
        let mut files = CommandFiles::new();
        files.reads("--ddl", &path("in.reasons.jsonl"));
        files.writes_rows(REJECTS, &path("soft"));
        assert_eq!(text(&files), "");
        files.writes_rows(DUPLICATES, &path("in"));
        assert!(text(&files).contains("--rejects"), "{files:?}");
        let mut files = CommandFiles::new();
        files.reads("--ddl", &path("in.reasons.jsonl"));
        files.writes_rows(REJECTS, &path("in"));
        assert!(text(&files).contains("the reasons file of --rejects"), "{files:?}");
    }

    #[test]
    fn a_link_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        symlink("nowhere", folder.path().join("link")).unwrap();
        for (name, words) in [("link", "--rejects {}: it is a symbolic link"), ("new", "")] {
            let path = folder.path().join(name);
            let mut files = CommandFiles::new();
            files.writes_rows(REJECTS, &path);
            let text = files.check().map_or_else(|error| error.to_string(), |()| String::new());
            assert!(text.starts_with(&words.replace("{}", &path.display().to_string())), "{text}");
        }
    }

    #[test]
    fn two_outputs_are_not_one_file_that_does_not_exist_yet() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("sub")).unwrap();
        symlink(folder.path(), path("here")).unwrap();
        symlink("new", path("dangling")).unwrap();
        symlink("loop", path("loop")).unwrap();
        for name in ["new", "sub/../new", "here/new", "dangling", "here/dangling"] {
            let mut files = CommandFiles::new();
            files.writes("--report", &path("new"));
            files.writes("--duplicates", &path(name));
            let text = text(&files);
            assert!(text.contains("--report") && text.contains("--duplicates"), "{name}: {text}");
        }
        for name in ["other", "sub/new", "none/new", "loop"] {
            let mut files = CommandFiles::new();
            files.writes("--report", &path("new"));
            files.writes("--duplicates", &path(name));
            files.writes("--duplicates", Path::new("/dev/null"));
            files.writes("--report", Path::new("/dev/null"));
            assert_eq!(text(&files), "", "{name}");
        }
    }
}
