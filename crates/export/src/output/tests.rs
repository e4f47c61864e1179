//! Files that are cut, compressed, named, and left behind by nobody.

use std::path::Path;

use super::*;
use crate::options::{Compression, Split};
use crate::text::Cut;
use schema::TableName;

fn rows(count: usize, each: &str) -> Chunk {
    let cut = |row: usize| Cut { end: row * each.len(), rows: 1 };
    let cuts = (1..=count).map(cut).collect();
    let bytes = each.repeat(count).into_bytes();
    Chunk { bytes, rows: count as u64, cuts, ..Chunk::default() }
}

fn options(place: Place, split: Split) -> ExportOptions {
    let table = TableName::new("d", "t");
    ExportOptions { split, ..ExportOptions::new(table, place) }
}

fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_cut_by_rows_or_bytes_between_rows() {
    for (split, expected) in [
        (Split { rows: Some(4), bytes: None }, vec![8, 8, 4]),
        (Split { rows: None, bytes: Some(7) }, vec![6, 6, 6, 2]),
        (Split { rows: None, bytes: Some(1) }, vec![2; 10]),
        (Split { rows: Some(3), bytes: Some(5) }, vec![4, 4, 4, 4, 4]),
        (Split { rows: Some(100), bytes: None }, vec![20]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::Folder { path: folder.path().to_owned(), ending: "txt".to_owned() };
        let options = options(place, split);
        let mut output = Output::open(&options, b"").unwrap();
        output.write(&rows(3, "a\n")).unwrap();
        output.write(&rows(7, "b\n")).unwrap();
        let finished = output.finish().unwrap();
        let sizes: Vec<u64> =
            finished.files.iter().map(|path| path.metadata().unwrap().len()).collect();
        assert_eq!(sizes, expected, "{split:?}");
        assert_eq!(finished.bytes, 20);
        assert_eq!(names(folder.path())[0], "t.0001.txt");
    }
}

#[test]
fn a_file_is_there_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let mut options = options(Place::File(path.clone()), Split::default());
    let mut output = Output::open(&options, b"head\n").unwrap();
    output.write(&rows(3, "a\n")).unwrap();
    assert_eq!(names(folder.path()).len(), 1);
    assert!(names(folder.path())[0].starts_with(".t.csv."));
    drop(output);
    assert!(names(folder.path()).is_empty());

    Output::open(&options, b"head\n").unwrap().finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"head\n");
    let error = Output::open(&options, b"").unwrap_err();
    assert!(error.to_string().contains("--force"), "{error}");
    options.force = true;
    let mut output = Output::open(&options, b"").unwrap();
    output.write(&rows(1, "b\n")).unwrap();
    output.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"b\n");
}

#[test]
fn files_that_a_killed_export_left_are_removed_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    // No process has this number.
    let left = |name: &str| folder.path().join(format!(".{name}.4194305-0123abcd.part"));
    let own = ["t.csv", "t.0001.csv", "t.12345.csv"];
    let foreign = ["t.1.csv", "t.2023.1.csv", "u.csv", "t.csv.gz"];
    own.iter().chain(&foreign).for_each(|name| std::fs::write(left(name), "rows").unwrap());
    let path = folder.path().to_owned();
    let many = options(Place::Folder { path, ending: "csv".to_owned() }, Split::default());
    let one = options(Place::File(folder.path().join("u.csv")), Split::default());
    Output::open(&many, b"").unwrap().finish().unwrap();
    assert!(own.iter().all(|name| !left(name).exists()));
    assert!(foreign.iter().all(|name| left(name).exists()));
    Output::open(&one, b"").unwrap().finish().unwrap();
    assert!(!left("u.csv").exists());
}

#[test]
fn older_files_of_the_same_table_do_not_stay_among_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::Folder { path: folder.path().to_owned(), ending: "txt".to_owned() };
    let mut options = options(place, Split { rows: Some(1), bytes: None });
    let export = |options: &ExportOptions, count| {
        let mut output = Output::open(options, b"")?;
        output.write(&rows(count, "a\n"))?;
        output.finish()
    };
    export(&options, 3).unwrap();
    std::fs::write(folder.path().join("t2.0009.txt"), "").unwrap();
    assert!(export(&options, 2).is_err());
    options.force = true;
    export(&options, 2).unwrap();
    assert_eq!(names(folder.path()), ["t.0001.txt", "t.0002.txt", "t2.0009.txt"]);
}

/// They were removed once, as parts of a longer export, and without --force they kept an export from its folder.
#[test]
fn files_whose_names_are_only_alike_stay() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::Folder { path: folder.path().to_owned(), ending: "txt".to_owned() };
    let alike = ["t.+5.txt", "t.0004.txt", "t.2.txt", "t.2023.txt"];
    for name in alike {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    for split in [Split { rows: Some(1), bytes: None }, Split::default()] {
        let mut options = options(place.clone(), split);
        for force in [false, true] {
            options.force = force;
            let mut output = Output::open(&options, b"").unwrap();
            output.write(&rows(2, "a\n")).unwrap();
            output.finish().unwrap();
            let all = names(folder.path());
            assert!(alike.iter().all(|name| all.iter().any(|one| one == name)), "{all:?}");
            assert_eq!(all.len(), alike.len() + if split.rows.is_some() { 2 } else { 1 });
        }
        let made = names(folder.path()).into_iter().filter(|name| !alike.contains(&name.as_str()));
        made.for_each(|name| std::fs::remove_file(folder.path().join(name)).unwrap());
    }
}

#[test]
fn compressed_files_are_read_back_wherever_they_are_cut() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        for (most, sizes) in [(None, vec![12_005]), (Some(1_500), vec![9_005, 3_005])] {
            let folder = tempfile::tempdir().unwrap();
            let place = Place::Folder { path: folder.path().to_owned(), ending: "txt".to_owned() };
            let mut options = options(place, Split { rows: most, bytes: None });
            options.compression = compression;
            let mut packer = Packer::new(compression).unwrap();
            let mut output = Output::open(&options, b"head\n").unwrap();
            for _ in 0..2 {
                let mut chunk = rows(1000, "a row\n");
                packer.pack(&chunk.bytes, &mut chunk.packed).unwrap();
                output.write(&chunk).unwrap();
            }
            let finished = output.finish().unwrap();
            assert_eq!(finished.bytes, sizes.iter().sum::<u64>());
            let read = |path: &PathBuf| unpacked(compression, &std::fs::read(path).unwrap());
            let texts: Vec<Vec<u8>> = finished.files.iter().map(read).collect();
            assert_eq!(texts.iter().map(|text| text.len() as u64).collect::<Vec<_>>(), sizes);
            assert!(texts.iter().all(|text| text.starts_with(b"head\na row\n")));
        }
    }
}

#[test]
fn no_rows_are_a_compressed_file_too() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(Place::File(folder.path().join("t")), Split::default());
        options.compression = compression;
        let finished = Output::open(&options, b"").unwrap().finish().unwrap();
        let file = std::fs::read(&finished.files[0]).unwrap();
        assert!(!file.is_empty());
        assert_eq!(unpacked(compression, &file), b"");
    }
}

fn unpacked(compression: Compression, file: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    match compression {
        Compression::None => text.extend_from_slice(file),
        Compression::Gzip => {
            let mut decoder = flate2::read::MultiGzDecoder::new(file);
            io::Read::read_to_end(&mut decoder, &mut text).unwrap();
        }
        Compression::Zstd => zstd::stream::copy_decode(file, &mut text).unwrap(),
    }
    text
}
