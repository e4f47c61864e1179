//! Input files as they are typed: patterns, `-`, endings, and character sets of two and four bytes.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::slice;

use clap::ValueEnum;
use columnar::Kind;
use load::{LoadOptions, charset};
use sources::{Preset, remote};
use terminal::failure::Failure;

/// A dialect by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// Default of LOAD DATA: tabs, backslash escapes, also under NO_BACKSLASH_ESCAPES.
    Mysql,
    /// RFC 4180: commas, doubled quotes, newlines in quotes.
    Csv,
    /// Tabs, no quotes, no escapes.
    Tsv,
    /// Vertical bars, also at the line's end (dbgen).
    Tbl,
    /// Output of mariadb --batch and mysql --batch: a header, tabs, backslash escapes, NULL as a word.
    Batch,
}

impl From<DialectArg> for Preset {
    fn from(typed: DialectArg) -> Preset {
        match typed {
            DialectArg::Mysql => Preset::Mysql,
            DialectArg::Csv => Preset::Csv,
            DialectArg::Tsv => Preset::Tsv,
            DialectArg::Tbl => Preset::Tbl,
            DialectArg::Batch => Preset::Batch,
        }
    }
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// Delimited text; --dialect and other options say how it is cut.
    Text,
    /// An object of JSON a line.
    Jsonl,
    /// Objects of JSON in arrays, or one behind the other.
    Json,
    /// Apache Parquet; files are recognised without this option.
    Parquet,
    /// Apache Arrow IPC, a file or a stream; files are recognised without this option.
    Arrow,
    /// A workbook of Excel or OpenDocument; files are recognised without this option.
    Excel,
}

impl FormatArg {
    /// The format of typed columns; none of text.
    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            FormatArg::Parquet => Some(Kind::Parquet),
            FormatArg::Arrow => Some(Kind::Arrow),
            FormatArg::Excel => Some(Kind::Excel),
            FormatArg::Text | FormatArg::Jsonl | FormatArg::Json => None,
        }
    }
}

/// The files that were meant.
///
/// Errors: names that stand for no files, or for one file by two names.
pub(crate) fn files(names: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    open_urls(names)?;
    let mut found = Vec::new();
    for name in names {
        found.extend(files_of(name)?.into_iter().map(|file| (name, file)));
    }
    check_same_files(&found)?;
    Ok(found.into_iter().map(|(_, file)| file).collect())
}

/// The files that one name stands for.
pub(crate) fn files_of(name: &PathBuf) -> Result<Vec<PathBuf>, Failure> {
    match is_url(name) {
        true if remote::is_object_url(name) => open_objects(&name.to_string_lossy()),
        true => open_url(&name.to_string_lossy()),
        false => expanded(name),
    }
}

/// Refuses a file that two names stand for, by a link or by two patterns: its rows would be loaded twice. Whoever
/// types one name twice means that.
fn check_same_files(found: &[(&PathBuf, PathBuf)]) -> Result<(), Failure> {
    let mut known = HashMap::new();
    for typed_file in found {
        let (typed, file) = typed_file;
        let identity = match std::fs::metadata(file) {
            Ok(metadata) if metadata.is_file() => (metadata.dev(), metadata.ino(), None),
            Err(_) if remote::is_looked_at(file) => (0, 0, Some(file)),
            _ => continue,
        };
        let (first_typed, first) = *known.entry(identity).or_insert(typed_file);
        if (first_typed, first) != (typed, file) {
            return Err(Failure::usage(format!(
                "{} ({}) and {} ({}) are the same file, whose rows would be loaded twice; name it once",
                first.display(),
                shown(first_typed).display(),
                file.display(),
                shown(typed).display()
            )));
        }
    }
    Ok(())
}

fn expanded(name: &PathBuf) -> Result<Vec<PathBuf>, Failure> {
    sources::expand(slice::from_ref(name)).map_err(|error| Failure::usage(error.to_string()))
}

/// The pattern of all objects in a folder of an object store; any other name as it is.
pub(crate) fn in_folder_of_store(name: &Path) -> PathBuf {
    let is_folder = name.as_os_str().as_encoded_bytes().ends_with(b"/");
    if is_folder && remote::is_object_url(name) { name.join("*") } else { name.to_owned() }
}

/// True if a name is meant as a URL; a file of that name is a file.
pub(crate) fn is_url(name: &Path) -> bool {
    name.to_string_lossy().contains("://") && !name.exists()
}

/// A name as it may be printed: of a URL, without what may be a secret.
pub(crate) fn shown(name: &Path) -> PathBuf {
    let shown = remote::without_secrets(&name.to_string_lossy()).filter(|_| is_url(name));
    shown.map_or_else(|| name.to_owned(), |(shown, _)| PathBuf::from(shown))
}

/// Refuses a URL where only files can be read.
pub(crate) fn refuse_url(name: &Path) -> Result<(), Failure> {
    match is_url(name) {
        true => Err(Failure::usage(format!(
            "{} is a URL, but this command reads only files and pipes; copy the file",
            shown(name).display()
        ))),
        false => Ok(()),
    }
}

/// Opens all URLs that name one file each, several at a time: each waits for an answer of its server.
#[cfg(feature = "http")]
pub(crate) fn open_urls(names: &[PathBuf]) -> Result<(), Failure> {
    let urls = names.iter().filter(|name| is_url(name) && remote::is_url(name));
    let urls = urls.filter_map(|name| name.to_str());
    let (objects, files): (Vec<&str>, Vec<&str>) =
        urls.partition(|url| remote::is_object_url(Path::new(url)));
    ::remote::open_all(&files).map_err(Failure::usage)?;
    #[cfg(feature = "cloud")]
    ::remote::cloud::open_all(&objects).map_err(Failure::usage)?;
    #[cfg(not(feature = "cloud"))]
    let _ = objects;
    Ok(())
}

#[cfg(not(feature = "http"))]
pub(crate) fn open_urls(_: &[PathBuf]) -> Result<(), Failure> {
    Ok(())
}

#[cfg(feature = "http")]
fn open_url(url: &str) -> Result<Vec<PathBuf>, Failure> {
    let scheme = url.split("://").next().unwrap_or_default();
    if !remote::is_url(Path::new(url)) {
        let known = match cfg!(feature = "cloud") {
            true => "https://, http://, s3://, gs:// and az://",
            false => "https:// and http://",
        };
        return Err(Failure::usage(format!(
            "URLs of {scheme}:// cannot be read, but those of {known} can"
        )));
    }
    ::remote::open_all(&[url]).map_err(Failure::usage)
}

#[cfg(not(feature = "http"))]
fn open_url(url: &str) -> Result<Vec<PathBuf>, Failure> {
    let shown = shown(Path::new(url));
    Err(Failure::usage(format!(
        "{} is a URL, and this program was built without the feature `http`, which reads URLs",
        shown.display()
    )))
}

#[cfg(feature = "cloud")]
fn open_objects(url: &str) -> Result<Vec<PathBuf>, Failure> {
    ::remote::cloud::open(url).map_err(Failure::usage)
}

#[cfg(not(feature = "cloud"))]
fn open_objects(url: &str) -> Result<Vec<PathBuf>, Failure> {
    Err(refused_objects(Path::new(url)))
}

/// The refusal of a URL of an object store by a program that has none.
#[cfg(not(feature = "cloud"))]
pub(crate) fn refused_objects(url: &Path) -> Failure {
    Failure::usage(format!(
        "{} is in an object store, and this program was built without the feature `cloud`, which reads and writes \
         there",
        shown(url).display()
    ))
}

/// Has a load read a character set that was found out.
pub(crate) fn set_charset(options: &mut LoadOptions, name: &str) -> Result<(), Failure> {
    let name = charset::name(name).map_err(Failure::usage)?;
    (options.input.charset, options.input.encoding) = charset::of_file(Some(&name));
    Ok(())
}
