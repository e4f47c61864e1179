//! The ways of getting the rows of a table out as text.

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
        /// `mariadb --batch -e 'select * from lineitem'`.
        Client = "client", "mariadb --batch -e 'select *'";
        /// `mariadb-dump --no-create-info`: INSERT statements.
        Dump = "dump", "mariadb-dump --no-create-info";
        /// `inrush export --path select`.
        Select = "select", "inrush export --path select";
        /// `inrush export --path direct`.
        Direct = "direct", "inrush export --path direct";
        /// The same, compressed.
        Gzip = "gzip", ".. direct, --compression gzip";
        /// The same, compressed.
        Zstd = "zstd", ".. direct, --compression zstd";
    }
}

impl ExportWay {
    /// How a load is told to read what it wrote; none of statements.
    pub(super) fn dialect(self) -> Option<&'static str> {
        match self {
            ExportWay::Client => Some("batch"),
            ExportWay::Dump => None,
            ExportWay::Select | ExportWay::Direct | ExportWay::Gzip | ExportWay::Zstd => {
                Some("mysql")
            }
        }
    }

    /// The end of the name of a file of it.
    pub(super) fn ending(self) -> &'static str {
        match self {
            ExportWay::Dump => "sql",
            ExportWay::Gzip => "txt.gz",
            ExportWay::Zstd => "txt.zst",
            ExportWay::Client | ExportWay::Select | ExportWay::Direct => "txt",
        }
    }

    /// The command that writes the table to its standard output.
    pub(super) fn command(
        self,
        table: &str,
        (program, limits): (&Path, &[OsString]),
        server: &GivenServer,
    ) -> Command {
        let (path, compression) = match self {
            ExportWay::Client => {
                let mut command = client::command(CLIENT, &server.connect);
                let select = format!("SELECT * FROM {}", quote_name(table));
                command.args(["--batch", "--execute", &select, DATABASE]);
                return command;
            }
            ExportWay::Dump => {
                let mut command = client::command(DUMPER, &server.connect);
                command.args(["--no-create-info", "--skip-dump-date", DATABASE, table]);
                return command;
            }
            ExportWay::Select => ("select", "none"),
            ExportWay::Direct => ("direct", "none"),
            ExportWay::Gzip => ("direct", "gzip"),
            ExportWay::Zstd => ("direct", "zstd"),
        };
        let mut command = Command::new(program);
        command.arg("export").arg(format!("{DATABASE}.{table}")).args(["-o", "-", "--quiet"]);
        command.args(["--path", path, "--compression", compression]);
        command.args(limits).args(&server.arguments);
        if let Some(password) = &server.connect.password {
            command.env("MYSQL_PWD", password.expose_secret());
        }
        command
    }
}
