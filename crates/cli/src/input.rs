//! Input files as they are typed: patterns, `-`, endings, and character sets of two and four bytes.

use std::path::PathBuf;

use clap::ValueEnum;
use columnar::Kind;
use load::{LoadOptions, charset};
use sources::Preset;
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
}

impl FormatArg {
    /// The format of typed columns; none of text.
    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            FormatArg::Parquet => Some(Kind::Parquet),
            FormatArg::Arrow => Some(Kind::Arrow),
            FormatArg::Text | FormatArg::Jsonl | FormatArg::Json => None,
        }
    }
}

/// The files that were meant.
pub(crate) fn files(names: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let is_url = |name: &&PathBuf| name.to_string_lossy().contains("://") && !name.exists();
    if let Some(url) = names.iter().find(is_url) {
        let url = url.display();
        return Err(Failure::usage(format!(
            "{url} is a URL, but only files and pipes can be read: curl -sf {url} | inrush load - \
             .."
        )));
    }
    sources::expand(names).map_err(|error| Failure::usage(error.to_string()))
}

/// Has a load read a character set that was found out.
pub(crate) fn set_charset(options: &mut LoadOptions, name: &str) -> Result<(), Failure> {
    let name = charset::name(name).map_err(Failure::usage)?;
    (options.input.charset, options.input.encoding) = charset::of_file(Some(&name));
    Ok(())
}
