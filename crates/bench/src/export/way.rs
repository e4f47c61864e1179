//! The ways of getting the rows of a table into a file.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use secrecy::ExposeSecret;
use server::identifier::quote_name;

use crate::choice::choices;
use crate::client::{self, CLIENT, DUMPER};
use crate::host::{DATABASE, GivenServer};

choices! {
    /// A way.
    pub enum ExportWay {
        /// `mariadb --batch -e 'select * from lineitem'`, which holds the whole result in memory.
        Client = "client", "mariadb --batch -e 'select *'";
        /// The same row by row.
        Quick = "quick", "mariadb --batch --quick -e ..";
        /// `mariadb-dump --no-create-info`: INSERT statements.
        Dump = "dump", "mariadb-dump --no-create-info";
        /// `inrush export --path select`.
        Select = "select", "inrush export --path select, text";
        /// `inrush export --path direct`: text as LOAD DATA reads it.
        Direct = "direct", "inrush export --path direct, text";
        /// The same as CSV.
        Csv = "csv", ".. direct, CSV";
        /// The same as TSV.
        Tsv = "tsv", ".. direct, TSV";
        /// The same as Parquet.
        Parquet = "parquet", ".. direct, Parquet";
        /// Text, compressed.
        Gzip = "gzip", ".. direct, text, --compression gzip";
        /// Text, compressed.
        Zstd = "zstd", ".. direct, text, --compression zstd";
    }
}

impl ExportWay {
    /// True of ways without Inrush.
    pub fn is_peer(self) -> bool {
        matches!(self, ExportWay::Client | ExportWay::Quick | ExportWay::Dump)
    }

    /// How a load is told to read what it wrote; none of statements.
    pub(super) fn load_arguments(self) -> Option<&'static [&'static str]> {
        match self {
            ExportWay::Client | ExportWay::Quick => Some(&["--dialect", "batch", "--header"]),
            ExportWay::Dump => None,
            ExportWay::Select | ExportWay::Direct | ExportWay::Gzip | ExportWay::Zstd => {
                Some(&["--dialect", "mysql"])
            }
            ExportWay::Csv => Some(&["--dialect", "csv"]),
            ExportWay::Tsv => Some(&["--dialect", "tsv"]),
            ExportWay::Parquet => Some(&[]),
        }
    }

    /// The end of the name of a file of it.
    pub(super) fn ending(self) -> &'static str {
        match self {
            ExportWay::Dump => "sql",
            ExportWay::Gzip => "txt.gz",
            ExportWay::Zstd => "txt.zst",
            ExportWay::Csv => "csv",
            ExportWay::Tsv => "tsv",
            ExportWay::Parquet => "parquet",
            ExportWay::Client | ExportWay::Quick | ExportWay::Select | ExportWay::Direct => "txt",
        }
    }

    /// The command that writes the table: Inrush into the file, the others to their standard output.
    pub(super) fn command(
        self,
        table: &str,
        file: &Path,
        program: &Path,
        limits: &[OsString],
        server: &GivenServer,
    ) -> Command {
        let path = match self {
            ExportWay::Client | ExportWay::Quick => {
                let mut command = client::command(CLIENT, &server.connect);
                let select = format!("SELECT * FROM {}", quote_name(table));
                if self == ExportWay::Quick {
                    command.arg("--quick");
                }
                command.args(["--batch", "--execute", &select, DATABASE]);
                return command;
            }
            ExportWay::Dump => {
                let mut command = client::command(DUMPER, &server.connect);
                command.args(["--no-create-info", "--skip-dump-date", DATABASE, table]);
                return command;
            }
            ExportWay::Select => "select",
            ExportWay::Direct | ExportWay::Csv | ExportWay::Tsv => "direct",
            ExportWay::Parquet | ExportWay::Gzip | ExportWay::Zstd => "direct",
        };
        let mut command = Command::new(program);
        command.arg("export").arg(format!("{DATABASE}.{table}")).arg("-o").arg(file);
        command.args(["--quiet", "--path", path]).args(limits).args(&server.arguments);
        if let Some(password) = &server.connect.password {
            command.env("MYSQL_PWD", password.expose_secret());
        }
        command
    }
}
