//! Input files as they are typed: patterns, `-`, endings, and character sets of two and four bytes.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use load::LoadOptions;
use sources::Encoding;

use crate::failure::Failure;

/// A dialect by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// LOAD DATA's default: tabs, backslash escapes, also under NO_BACKSLASH_ESCAPES.
    Mysql,
    /// RFC 4180: commas, doubled quotes, newlines in quotes.
    Csv,
    /// Tabs, no quotes, no escapes.
    Tsv,
    /// Vertical bars, also at the line's end (dbgen).
    Tbl,
}

/// Endings of compressed files. What a file is, its first bytes tell; these only hide the ending
/// that chooses a dialect.
const COMPRESSED: [&str; 9] = ["gz", "gzip", "bgz", "zst", "zstd", "lz4", "bz2", "bzip2", "xz"];

/// The files that were meant.
pub(crate) fn files(names: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    sources::expand(names).map_err(|error| Failure::usage(error.to_string()))
}

/// The dialect that a file's ending stands for, `x.csv.gz` like `x.csv`.
pub(crate) fn dialect_by_ending(file: &Path) -> DialectArg {
    let ending = |file: &Path| file.extension()?.to_str().map(str::to_ascii_lowercase);
    let outer = ending(file);
    let is_compressed = outer.as_deref().is_some_and(|ending| COMPRESSED.contains(&ending));
    let ending = match file.file_stem() {
        Some(stem) if is_compressed => ending(Path::new(stem)),
        _ => outer,
    };
    match ending.as_deref() {
        Some("csv") => DialectArg::Csv,
        Some("tsv") => DialectArg::Tsv,
        Some("tbl") => DialectArg::Tbl,
        _ => DialectArg::Mysql,
    }
}

/// Names of encodings that files have and no server knows, or that it does not read files in.
const ENCODINGS: [(&str, Encoding); 5] = [
    ("utf16", Encoding::Utf16),
    ("utf16le", Encoding::Utf16Le),
    ("ucs2", Encoding::Ucs2),
    ("utf32", Encoding::Utf32),
    ("utf32le", Encoding::Utf32Le),
];

/// A character set's name in the server's spelling.
pub(crate) fn charset_name(typed: &str) -> Result<String, String> {
    let name = typed.to_ascii_lowercase();
    let known = values::charset::NAMES;
    match name.as_str() {
        "utf8" => Ok("utf8mb3".to_owned()),
        name if known.contains(&name) || ENCODINGS.iter().any(|(of, _)| *of == name) => {
            Ok(name.to_owned())
        }
        _ => Err(format!("no server has this character set; they have {}", known.join(", "))),
    }
}

/// The character set of the text, and how it is encoded in the file.
pub(crate) fn charset(typed: Option<&str>) -> (String, Encoding) {
    let utf8mb4 = || "utf8mb4".to_owned();
    match typed {
        None => (utf8mb4(), Encoding::ByMark),
        Some(name) => match ENCODINGS.iter().find(|(of, _)| *of == name) {
            Some((_, encoding)) => (utf8mb4(), *encoding),
            None => (name.to_owned(), Encoding::Bytes),
        },
    }
}

/// Has a load read a character set that was found out.
pub(crate) fn set_charset(options: &mut LoadOptions, name: &str) -> Result<(), Failure> {
    let name = charset_name(name).map_err(Failure::usage)?;
    (options.charset, options.encoding) = charset(Some(&name));
    Ok(())
}

/// The preset that is meant, by option or ending.
pub(crate) fn preset_name(dialect: Option<DialectArg>, file: &Path) -> &'static str {
    match dialect.unwrap_or_else(|| dialect_by_ending(file)) {
        DialectArg::Mysql => "mysql",
        DialectArg::Csv => "csv",
        DialectArg::Tsv => "tsv",
        DialectArg::Tbl => "tbl",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_counts_behind_that_of_the_archive() {
        for (name, dialect) in [
            ("a.csv", DialectArg::Csv),
            ("a.CSV", DialectArg::Csv),
            ("a.csv.gz", DialectArg::Csv),
            ("a.b/c.tbl.zst", DialectArg::Tbl),
            ("a.tsv.xz", DialectArg::Tsv),
            ("csv.gz", DialectArg::Mysql),
            ("a.csv.txt", DialectArg::Mysql),
            ("/dev/stdin", DialectArg::Mysql),
        ] {
            assert_eq!(dialect_by_ending(Path::new(name)), dialect, "{name}");
        }
    }
}
