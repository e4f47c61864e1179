//! Input files as they are typed: patterns, `-`, endings, and character sets of two and four bytes.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use load::LoadOptions;
use sources::Encoding;
use values::Charset;

use crate::args::{CharsetArg, DialectArg};
use crate::failure::Failure;

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

/// The character set of the text, and how it is encoded in the file.
pub(crate) fn charset(typed: Option<CharsetArg>) -> (Charset, Encoding) {
    let Some(typed) = typed else { return (Charset::Utf8mb4, Encoding::ByMark) };
    match typed {
        CharsetArg::Utf8mb4 => (Charset::Utf8mb4, Encoding::Bytes),
        CharsetArg::Utf8mb3 => (Charset::Utf8mb3, Encoding::Bytes),
        CharsetArg::Latin1 => (Charset::Latin1, Encoding::Bytes),
        CharsetArg::Ascii => (Charset::Ascii, Encoding::Bytes),
        CharsetArg::Binary => (Charset::Binary, Encoding::Bytes),
        CharsetArg::Utf16 => (Charset::Utf8mb4, Encoding::Utf16),
        CharsetArg::Utf16le => (Charset::Utf8mb4, Encoding::Utf16Le),
        CharsetArg::Ucs2 => (Charset::Utf8mb4, Encoding::Ucs2),
        CharsetArg::Utf32 => (Charset::Utf8mb4, Encoding::Utf32),
        CharsetArg::Utf32le => (Charset::Utf8mb4, Encoding::Utf32Le),
    }
}

/// A character set's name as `--charset` takes it.
pub(crate) fn charset_name(charset: CharsetArg) -> String {
    charset.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Has a load read a character set that was found out.
pub(crate) fn set_charset(options: &mut LoadOptions, name: &str) -> Result<(), Failure> {
    let charset = CharsetArg::from_str(name, true).map_err(Failure::usage)?;
    (options.charset, options.encoding) = self::charset(Some(charset));
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
