//! The ways of loading the rows of one table from files of several formats.

use crate::choice::choices;

choices! {
    /// A way.
    pub enum FormatWay {
        /// Inrush, CSV: what the others are compared with.
        Csv = "csv", "Inrush, CSV";
        /// Inrush, Parquet.
        Parquet = "parquet", "Inrush, Parquet (zstd)";
        /// Inrush, Arrow IPC.
        Arrow = "arrow", "Inrush, Arrow IPC";
        /// Inrush, JSON Lines.
        JsonLines = "jsonl", "Inrush, JSON Lines";
        /// Inrush, 5 columns of a CSV file that has 40.
        WideCsv = "wide-csv", "Inrush, 5 of 40 columns, CSV";
        /// Inrush, 5 columns of a Parquet file that has 40.
        WideParquet = "wide-parquet", "Inrush, 5 of 40 columns, Parquet";
        /// DuckDB's extension for MySQL.
        DuckDb = "duckdb", "DuckDB, INSERT .. SELECT FROM '.parquet'";
        /// polars' own reader and writer.
        Polars = "polars", "polars, read_parquet, write_database";
        /// pandas' own reader and writer.
        Pandas = "pandas", "pandas, read_parquet, to_sql";
    }
}

impl FormatWay {
    /// The end of the name of the file that is loaded.
    pub(super) fn ending(self) -> &'static str {
        match self {
            FormatWay::Csv | FormatWay::WideCsv => "csv",
            FormatWay::Arrow => "arrow",
            FormatWay::JsonLines => "jsonl",
            FormatWay::Parquet
            | FormatWay::WideParquet
            | FormatWay::DuckDb
            | FormatWay::Polars
            | FormatWay::Pandas => "parquet",
        }
    }

    /// Options by which its file has the names of columns, and is read so.
    pub(super) fn header(self) -> &'static [&'static str] {
        if self.ending() == "csv" { &["--header"] } else { &[] }
    }

    /// True if the rows are those of the wide table.
    pub(super) fn is_wide(self) -> bool {
        matches!(self, FormatWay::WideCsv | FormatWay::WideParquet)
    }

    /// True of programs in Python.
    pub(super) fn is_peer(self) -> bool {
        matches!(self, FormatWay::DuckDb | FormatWay::Polars | FormatWay::Pandas)
    }

    /// The way whose time this one is compared with.
    pub(super) fn compared_with(self) -> FormatWay {
        if self.is_wide() { FormatWay::WideCsv } else { FormatWay::Csv }
    }
}
