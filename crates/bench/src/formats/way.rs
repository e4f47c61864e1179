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
        /// Inrush, a CSV file on a web server of this machine.
        Http = "http", "Inrush, CSV over HTTP";
        /// Inrush, a CSV file in an object store on this machine.
        S3 = "s3", "Inrush, CSV by the protocol of S3";
        /// Inrush, CSV by a job file with one table.
        JobCsv = "job-csv", "Inrush, job file, CSV";
        /// Inrush, Parquet by the same job file.
        JobParquet = "job-parquet", "Inrush, job file, Parquet";
        /// Inrush, Arrow IPC by the same job file.
        JobArrow = "job-arrow", "Inrush, job file, Arrow IPC";
        /// Inrush, JSON Lines by the same job file.
        JobJsonLines = "job-jsonl", "Inrush, job file, JSON Lines";
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
            FormatWay::Csv
            | FormatWay::WideCsv
            | FormatWay::Http
            | FormatWay::S3
            | FormatWay::JobCsv => "csv",
            FormatWay::Arrow | FormatWay::JobArrow => "arrow",
            FormatWay::JsonLines | FormatWay::JobJsonLines => "jsonl",
            FormatWay::Parquet
            | FormatWay::JobParquet
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

    /// True if a job file names the table and its columns.
    pub(super) fn is_job(self) -> bool {
        matches!(
            self,
            FormatWay::JobCsv
                | FormatWay::JobParquet
                | FormatWay::JobArrow
                | FormatWay::JobJsonLines
        )
    }

    /// True of programs in Python.
    pub(super) fn is_peer(self) -> bool {
        matches!(self, FormatWay::DuckDb | FormatWay::Polars | FormatWay::Pandas)
    }

    /// The way whose time this one is compared with.
    pub(super) fn compared_with(self) -> FormatWay {
        match self {
            _ if self.is_wide() => FormatWay::WideCsv,
            _ if self.is_job() => FormatWay::JobCsv,
            _ => FormatWay::Csv,
        }
    }
}
