//! Changes of files while they are read, and pipes.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sources::{Chunk, Dialect, Error, FileSource, Source, SourceExt as _, SourceOptions};

use crate::support::write;

fn options() -> SourceOptions {
    SourceOptions { chunk_bytes: 100, ..SourceOptions::default() }
}

fn open(path: &Path) -> FileSource {
    FileSource::new(&[path.to_owned()], &Dialect::mysql(), options()).unwrap()
}

fn drain(source: &mut FileSource) -> Result<Vec<u8>, Error> {
    let mut chunk = Chunk::default();
    let mut text = Vec::new();
    while source.next_chunk(&mut chunk)? {
        text.extend_from_slice(&chunk.bytes);
    }
    Ok(text)
}

fn lines() -> Vec<u8> {
    (0..1000).map(|n| format!("{n}\ttext\n")).collect::<String>().into_bytes()
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn truncate(path: &Path, size: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(size).unwrap();
}

/// As another program would write the same number of bytes a moment later.
fn rewrite(path: &Path) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all(b"9").unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(1)).unwrap();
}

fn replace(path: &Path) {
    let new = path.with_extension("new");
    fs::write(&new, lines()).unwrap();
    fs::rename(new, path).unwrap();
}

type Mishap = fn(&Path);

const SHRINK: Mishap = |path| truncate(path, 5000);
const GROW: Mishap = |path| append(path, b"1001\ttext\n");

/// A load of half of the old and half of the new would be neither.
#[test]
fn a_file_that_changes_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mishaps: [(Mishap, &str); 4] = [
        (SHRINK, "shrank from 8890 to 5000 bytes while it was read"),
        (|path| truncate(path, 0), "shrank from 8890 to 0 bytes"),
        (GROW, "grew from 8890 to 8900 bytes while it was read"),
        (rewrite, "was written to while it was read"),
    ];
    for (mishap, what) in mishaps {
        let path = write(&folder, "a", &lines());
        let mut source = open(&path);
        assert!(source.next_chunk(&mut Chunk::default()).unwrap());
        mishap(&path);
        let error = drain(&mut source).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{error}");
        assert!(error.to_string().contains(what), "{error}");
        assert!(error.to_string().contains("load a copy"), "{error}");
    }
}

#[test]
fn a_file_that_changes_before_it_is_read_again_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mishaps: [(Mishap, &str); 4] = [
        (SHRINK, "shrank"),
        (GROW, "grew"),
        (rewrite, "was written to"),
        (replace, "was replaced by another file during the load"),
    ];
    for (mishap, what) in mishaps {
        let path = write(&folder, "a", &lines());
        let mut source = open(&path);
        assert_eq!(drain(&mut source).unwrap(), lines());
        mishap(&path);
        source.restart().unwrap();
        let error = drain(&mut source).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
        // The same between looking at it and opening it.
        let mut source = open(&path);
        mishap(&path);
        if what != "shrank" {
            assert!(drain(&mut source).unwrap_err().to_string().contains(what));
        }
    }
    let path = write(&folder, "a", &lines());
    let mut source = open(&path);
    assert_eq!(drain(&mut source).unwrap(), lines());
    fs::remove_file(&path).unwrap();
    source.restart().unwrap();
    assert!(matches!(drain(&mut source), Err(Error::Io { action: "opening", .. })));
}

/// Who reads on has the old file to its end, whatever the name says now.
#[test]
fn a_file_whose_name_goes_to_another_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a", &lines());
    let mut source = open(&path);
    let mut chunk = Chunk::default();
    assert!(source.next_chunk(&mut chunk).unwrap());
    replace(&path);
    assert_eq!([chunk.bytes, drain(&mut source).unwrap()].concat(), lines());
}

/// This one's first bytes cannot be read by anybody.
#[test]
fn a_read_error_is_named() {
    let error = FileSource::new(&[PathBuf::from("/proc/self/mem")], &Dialect::mysql(), options())
        .and_then(|mut source| drain(&mut source))
        .unwrap_err();
    assert!(matches!(error, Error::Io { action: "reading", .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("reading /proc/self/mem: Input/output error"), "{text}");
    assert!(text.contains("see the kernel's log"), "{text}");
}

#[test]
fn a_pipe_is_read_as_often_as_wanted_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
    let write = std::thread::spawn(move || {
        for part in lines().chunks(999) {
            writer.write_all(part).unwrap();
        }
    });
    let options = SourceOptions { temp_dir: folder.path().to_owned(), ..options() };
    let mut source =
        FileSource::new(std::slice::from_ref(&path), &Dialect::mysql(), options.clone()).unwrap();
    assert_eq!(source.facts().bytes_total, None);
    // Not to its end the first time.
    for _ in 0..5 {
        assert!(source.next_chunk(&mut Chunk::default()).unwrap());
    }
    for _ in 0..2 {
        source.restart().unwrap();
        assert_eq!(drain(&mut source).unwrap(), lines());
        assert_eq!(source.bytes_read(), lines().len() as u64);
    }
    write.join().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let error = FileSource::new(&[path.clone(), path], &Dialect::mysql(), options).unwrap_err();
    assert!(error.to_string().contains("is named twice"), "{error}");
}

#[test]
fn the_same_file_twice_is_its_rows_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a", b"1\n2\n");
    let mut source = FileSource::new(&[path.clone(), path], &Dialect::mysql(), options()).unwrap();
    assert_eq!(drain(&mut source).unwrap(), b"1\n2\n1\n2\n");
}
