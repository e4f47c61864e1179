//! Input files as they are typed: patterns, `-`, endings, and character sets of two and four bytes.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use load::LoadOptions;
use load::several::files::COMPRESSED;
use sources::Encoding;
use terminal::failure::Failure;

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
    /// What mariadb --batch and mysql --batch print: a header, tabs, backslash escapes, NULL as a word.
    Batch,
}

impl DialectArg {
    /// Whether the first line names the columns, with no word of it.
    pub(crate) fn has_header(self) -> bool {
        self == DialectArg::Batch
    }
}

/// The files that were meant.
pub(crate) fn files(names: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let is_url = |name: &&PathBuf| name.to_string_lossy().contains("://") && !name.exists();
    if let Some(url) = names.iter().find(is_url) {
        let url = url.display();
        return Err(Failure::usage(format!(
            "{url} is a URL, and only files and pipes are read: curl -sf {url} | inrush load - .."
        )));
    }
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

/// Names that others have for character sets of the server, in small letters and without `-`, `_`
/// and spaces. Its latin1 is windows-1252, which web browsers take ISO 8859-1 for too.
const CHARSETS: [(&str, &str); 32] = [
    ("usascii", "ascii"),
    ("iso88591", "latin1"),
    ("cp1252", "latin1"),
    ("windows1252", "latin1"),
    ("iso88592", "latin2"),
    ("iso88597", "greek"),
    ("iso88598", "hebrew"),
    ("iso88599", "latin5"),
    ("iso885913", "latin7"),
    ("windows1250", "cp1250"),
    ("windows1251", "cp1251"),
    ("windows1256", "cp1256"),
    ("windows1257", "cp1257"),
    ("ibm850", "cp850"),
    ("ibm852", "cp852"),
    ("ibm866", "cp866"),
    ("shiftjis", "sjis"),
    ("windows31j", "cp932"),
    ("ms932", "cp932"),
    ("eucjp", "ujis"),
    ("uhc", "euckr"),
    ("cp936", "gbk"),
    ("macintosh", "macroman"),
    ("macintoshce", "macce"),
    ("maccentraleurope", "macce"),
    ("utf16be", "utf16"),
    ("utf32be", "utf32"),
    ("iso10646ucs2", "ucs2"),
    ("iso646us", "ascii"),
    ("l1", "latin1"),
    ("l2", "latin2"),
    ("l5", "latin5"),
];

/// A character set's name in the server's spelling.
///
/// `utf8` is the server's own name, of three bytes; spelled as everywhere else, `utf-8`, it is all
/// of Unicode.
pub(crate) fn charset_name(typed: &str) -> Result<String, String> {
    let name = typed.to_ascii_lowercase();
    let known = values::charset::NAMES;
    let is_known =
        |name: &str| known.contains(&name) || ENCODINGS.iter().any(|(of, _)| *of == name);
    let plain = name.replace(['-', '_', ' '], "");
    let other = CHARSETS.iter().find(|(other, _)| *other == plain).map(|(_, name)| *name);
    match name.as_str() {
        "utf8" => Ok("utf8mb3".to_owned()),
        "utf-8" | "utf_8" => Ok("utf8mb4".to_owned()),
        name if is_known(name) => Ok(name.to_owned()),
        _ if is_known(&plain) => Ok(plain),
        _ => other.map(str::to_owned).ok_or_else(|| {
            format!("no server has this character set; they have {}", known.join(", "))
        }),
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
        DialectArg::Batch => "batch",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn character_sets_have_names_of_others_too() {
        for (typed, name) in [
            ("utf-8", "utf8mb4"),
            ("UTF-8", "utf8mb4"),
            ("utf8", "utf8mb3"),
            ("utf8mb4", "utf8mb4"),
            ("ISO-8859-1", "latin1"),
            ("iso_8859-1", "latin1"),
            ("windows-1252", "latin1"),
            ("Windows-1251", "cp1251"),
            ("utf-16le", "utf16le"),
            ("UTF-16", "utf16"),
            ("latin-1", "latin1"),
            ("Shift_JIS", "sjis"),
            ("euc-kr", "euckr"),
            ("koi8-r", "koi8r"),
            ("tis-620", "tis620"),
        ] {
            assert_eq!(charset_name(typed).unwrap(), name, "{typed}");
        }
        assert!(charset_name("utf-9").is_err());
        for (other, name) in CHARSETS {
            let is_known = values::charset::NAMES.contains(&name);
            assert!(is_known || ENCODINGS.iter().any(|(of, _)| *of == name), "{other}: {name}");
        }
    }

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
