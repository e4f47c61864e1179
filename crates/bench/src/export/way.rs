//! The ways of getting the rows of a table out as text.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use secrecy::ExposeSecret;
use serde::Serialize;
use server::identifier::quote_name;

use crate::client::{self, CLIENT, DUMPER};
use crate::host::{DATABASE, GivenServer};

/// A way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// `mariadb --batch -e 'select * from lineitem'`.
    Client,
    /// `mariadb-dump --no-create-info`: INSERT statements.
    Dump,
    /// `inrush export --path select`.
    Select,
    /// `inrush export --path direct`.
    Direct,
    /// The same, compressed.
    Gzip,
    /// The same, compressed.
    Zstd,
}

impl Way {
    /// In the order of printing.
    pub const ALL: [Way; 6] =
        [Way::Client, Way::Dump, Way::Select, Way::Direct, Way::Gzip, Way::Zstd];

    /// As `--ways` has it.
    pub fn short(self) -> &'static str {
        match self {
            Way::Client => "client",
            Way::Dump => "dump",
            Way::Select => "select",
            Way::Direct => "direct",
            Way::Gzip => "gzip",
            Way::Zstd => "zstd",
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Way::Client => "mariadb --batch -e 'select *'",
            Way::Dump => "mariadb-dump --no-create-info",
            Way::Select => "inrush export --path select",
            Way::Direct => "inrush export --path direct",
            Way::Gzip => ".. direct, --compression gzip",
            Way::Zstd => ".. direct, --compression zstd",
        }
    }

    /// How a load is told to read what it wrote; none of statements.
    pub(super) fn dialect(self) -> Option<&'static str> {
        match self {
            Way::Client => Some("batch"),
            Way::Dump => None,
            Way::Select | Way::Direct | Way::Gzip | Way::Zstd => Some("mysql"),
        }
    }

    /// The end of the name of a file of it.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Way::Dump => "sql",
            Way::Gzip => "txt.gz",
            Way::Zstd => "txt.zst",
            Way::Client | Way::Select | Way::Direct => "txt",
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
            Way::Client => {
                let mut command = client::command(CLIENT, &server.connect);
                let select = format!("SELECT * FROM {}", quote_name(table));
                command.args(["--batch", "--execute", &select, DATABASE]);
                return command;
            }
            Way::Dump => {
                let mut command = client::command(DUMPER, &server.connect);
                command.args(["--no-create-info", "--skip-dump-date", DATABASE, table]);
                return command;
            }
            Way::Select => ("select", "none"),
            Way::Direct => ("direct", "none"),
            Way::Gzip => ("direct", "gzip"),
            Way::Zstd => ("direct", "zstd"),
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
