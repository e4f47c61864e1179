//! Dialects by name, and the endings of file names that stand for them.

use std::path::Path;

use crate::delimited::Dialect;

/// Endings of archives, behind which the ending of the text counts.
pub const COMPRESSED: [&str; 9] = ["gz", "gzip", "bgz", "zst", "zstd", "lz4", "bz2", "bzip2", "xz"];

/// A dialect that has a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// LOAD DATA's default: tabs, backslash escapes.
    #[default]
    Mysql,
    /// RFC 4180: commas, doubled quotes, newlines in quotes.
    Csv,
    /// Tabs, no quotes, no escapes.
    Tsv,
    /// Vertical bars, also at the line's end (dbgen).
    Tbl,
    /// The output of mariadb --batch and mysql --batch: a header, tabs, backslash escapes, NULL as a word.
    Batch,
    /// An object of JSON a line.
    JsonLines,
    /// Objects of JSON in arrays, or one behind the other.
    Json,
}

impl Preset {
    /// The preset that the ending of a file's name stands for, `x.csv.gz` like `x.csv`.
    pub fn by_ending(file: &Path) -> Preset {
        let ending = |file: &Path| file.extension()?.to_str().map(str::to_ascii_lowercase);
        let outer = ending(file);
        let is_compressed = outer.as_deref().is_some_and(|ending| COMPRESSED.contains(&ending));
        let ending = match file.file_stem() {
            Some(stem) if is_compressed => ending(Path::new(stem)),
            _ => outer,
        };
        match ending.as_deref() {
            Some("csv") => Preset::Csv,
            Some("tsv") => Preset::Tsv,
            Some("tbl") => Preset::Tbl,
            Some("jsonl" | "ndjson") => Preset::JsonLines,
            Some("json") => Preset::Json,
            _ => Preset::Mysql,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Mysql => "mysql",
            Preset::Csv => "csv",
            Preset::Tsv => "tsv",
            Preset::Tbl => "tbl",
            Preset::Batch => "batch",
            Preset::JsonLines => "jsonl",
            Preset::Json => "json",
        }
    }

    /// True if fields have names, and records are objects of JSON.
    pub fn is_json(self) -> bool {
        matches!(self, Preset::JsonLines | Preset::Json)
    }

    /// True if the first line of a file names the columns.
    pub fn has_header(self) -> bool {
        self == Preset::Batch
    }

    /// True if empty fields without quotes are NULL in columns that no empty text fits.
    pub fn empty_is_null(self) -> bool {
        matches!(self, Preset::Csv | Preset::Tsv)
    }

    /// The word for NULL, where it has one of its own.
    pub fn null_token(self) -> Option<&'static str> {
        (self == Preset::Batch).then_some("NULL")
    }

    /// The dialect, with its word for NULL.
    pub fn dialect(self) -> Dialect {
        let dialect = match self {
            Preset::Mysql | Preset::Batch => Dialect::mysql(),
            Preset::Csv => Dialect::csv(),
            Preset::Tsv => Dialect::tsv(),
            Preset::Tbl => Dialect::tbl(),
            Preset::JsonLines => Dialect::json(true),
            Preset::Json => Dialect::json(false),
        };
        Dialect {
            null_tokens: self
                .null_token()
                .map(|word| word.as_bytes().to_vec())
                .into_iter()
                .collect(),
            ..dialect
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_pass_their_own_check() {
        for preset in [Preset::Mysql, Preset::Csv, Preset::Tsv, Preset::Tbl, Preset::Batch] {
            assert!(preset.dialect().check().is_ok(), "{preset:?}");
        }
    }

    #[test]
    fn an_ending_counts_behind_that_of_the_archive() {
        for (name, preset) in [
            ("a.csv", Preset::Csv),
            ("a.CSV", Preset::Csv),
            ("a.csv.gz", Preset::Csv),
            ("a.b/c.tbl.zst", Preset::Tbl),
            ("a.tsv.xz", Preset::Tsv),
            ("csv.gz", Preset::Mysql),
            ("a.csv.txt", Preset::Mysql),
            ("/dev/stdin", Preset::Mysql),
        ] {
            assert_eq!(Preset::by_ending(Path::new(name)), preset, "{name}");
        }
    }
}
