//! Disks that are full, and files that changed.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use disk::File;
use locks::Mutex;

use crate::file::SpillDir;
use crate::{EntryShape, Error, KeyRange, MemoryRun, RunStore, SortBuffer, StoreOptions};

const MEMORY: usize = 128 << 10;

fn store(shape: EntryShape, memory_bytes_max: usize) -> RunStore {
    let temp_dir = std::env::temp_dir();
    let options = StoreOptions { memory_bytes_max, temp_dir, threads: 1, stop: Default::default() };
    RunStore::with_options(shape, options).unwrap()
}

fn run(shape: EntryShape, ordinal: u64) -> MemoryRun {
    let mut buffer = SortBuffer::new(shape);
    for i in 0..1000_u64 {
        let key = (i ^ ordinal).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        let payload = if shape.payload { &b"some payload, some payload"[..] } else { b"" };
        buffer.push(&key, payload);
    }
    buffer.sort(ordinal)
}

/// Adds runs until one fails.
fn first_error(store: &RunStore, shape: EntryShape) -> Error {
    (0..1000).find_map(|ordinal| store.add(run(shape, ordinal)).err()).unwrap()
}

fn shapes() -> [EntryShape; 3] {
    [
        EntryShape::fixed(8),
        EntryShape { key_len: Some(8), tail_len: 0, payload: true },
        EntryShape { key_len: None, tail_len: 0, payload: true },
    ]
}

#[test]
fn a_full_disk_is_an_error_that_says_how_much_was_needed() {
    for shape in shapes() {
        let mut store = store(shape, MEMORY);
        store.dir = SpillDir {
            open: |_| disk::open(OpenOptions::new().write(true), Path::new("/dev/full"), "run"),
            ..SpillDir::new("/spill/here".into())
        };
        let error = first_error(&store, shape);
        assert!(matches!(error, Error::Write { run: 0, bytes_written: 0, .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.starts_with("writing spill run 0 to /spill/here: No space left"), "{text}");
        let again = store.add(run(shape, 0)).unwrap_err().to_string();
        assert_eq!(again, format!("the sort has stopped: {text}"));
        assert!(store.finish().is_err());
    }
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let shape = shapes()[0];
    let mut store = store(shape, MEMORY);
    store.dir = SpillDir::new("/no/such/directory".into());
    let error = first_error(&store, shape);
    assert!(matches!(error, Error::Create { run: 0, .. }), "{error:?}");
}

#[test]
fn a_thread_that_waits_for_memory_learns_of_a_failure() {
    static OPENED: AtomicU32 = AtomicU32::new(0);
    let shape = shapes()[1];
    let mut store = store(shape, MEMORY);
    store.dir.open = |_| {
        OPENED.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(50));
        Err(io::ErrorKind::StorageFull.into())
    };
    let errors = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| errors.lock().push(first_error_of(&store, shape)));
        }
    });
    assert_eq!(errors.lock().len(), 3);
    assert_eq!(OPENED.load(Ordering::Relaxed), 1, "nobody tries again");
}

/// Not under the lock of the list: the threads are to wait for each other.
fn first_error_of(store: &RunStore, shape: EntryShape) -> String {
    first_error(store, shape).to_string()
}

/// A run on disk, one bit of which was turned.
fn damaged(shape: EntryShape, byte: u64) -> Error {
    static FILE: Mutex<Option<File>> = Mutex::new(None);
    let mut store = store(shape, MEMORY);
    store.dir.open = |dir| {
        let file = disk::unnamed(dir, "run")?;
        *FILE.lock() = Some(file.try_clone()?);
        Ok(file)
    };
    (0..20).for_each(|ordinal| store.add(run(shape, ordinal)).unwrap());
    let runs = store.finish().unwrap();
    let file = FILE.lock().take().unwrap();
    let mut bytes = [0];
    file.read_exact_at(&mut bytes, byte).unwrap();
    file.write_all_at(&[bytes[0] ^ 4], byte).unwrap();
    let all = KeyRange::all();
    let mut merge = runs.merge(&all).unwrap();
    loop {
        match merge.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the damage went unnoticed"),
            Err(error) => break error,
        }
    }
}

#[test]
fn a_damaged_block_is_an_error_that_names_it() {
    for shape in shapes() {
        for byte in [0, 5, 13, 17, 20, 1000] {
            let error = damaged(shape, byte);
            assert!(matches!(error, Error::Corrupt { block: 0, .. }), "{error:?}");
            assert!(error.to_string().contains("is damaged: checksum is"), "{error}");
        }
    }
}

#[test]
fn a_truncated_file_is_an_error() {
    static FILE: Mutex<Option<File>> = Mutex::new(None);
    let shape = shapes()[1];
    let mut store = store(shape, MEMORY);
    store.dir.open = |dir| {
        let file = disk::unnamed(dir, "run")?;
        *FILE.lock() = Some(file.try_clone()?);
        Ok(file)
    };
    (0..20).for_each(|ordinal| store.add(run(shape, ordinal)).unwrap());
    let runs = store.finish().unwrap();
    FILE.lock().take().unwrap().set_len(100).unwrap();
    let all = KeyRange::all();
    let mut merge = runs.merge(&all).unwrap();
    let error = loop {
        match merge.next() {
            Ok(entry) => assert!(entry.is_some()),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Read { .. }), "{error:?}");
}

#[test]
fn a_slow_disk_gets_compressed_blocks() {
    let shape = shapes()[1];
    let mut store = store(shape, MEMORY);
    store.budget.zstd_above_ns = Some(-1.0);
    (0..100).for_each(|ordinal| store.add(run(shape, ordinal)).unwrap());
    let runs = store.finish().unwrap();
    let stats = runs.stats();
    assert!(stats.spilled_file_bytes < stats.spilled_entry_bytes / 2, "{stats:?}");
    let all = KeyRange::all();
    let mut merge = runs.merge(&all).unwrap();
    let mut count = 0;
    while merge.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 100_000);
}
