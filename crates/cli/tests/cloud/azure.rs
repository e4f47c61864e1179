//! Azure Blob Storage: Azurite, its server for tests.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::with_store;
use crate::support::{Desk, Outcome, run};

/// The account of every Azurite, whose key is public.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

struct Azurite {
    process: Child,
    server: String,
}

impl Azurite {
    /// None where `INRUSH_TEST_AZURITE` names no program, which is said.
    fn new() -> Option<Azurite> {
        let Ok(program) = std::env::var("INRUSH_TEST_AZURITE") else {
            eprintln!("skipped: INRUSH_TEST_AZURITE does not name the program azurite-blob");
            return None;
        };
        let mut node = Command::new("node");
        node.args(["-e", include_str!("azurite.js"), &program]);
        let mut process = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port: u16 = line.trim().parse().unwrap();
        Some(Azurite { process, server: format!("http://127.0.0.1:{port}") })
    }

    /// A command that reaches it as an account of Azure.
    fn run(&self, command: &mut Command, key: &str) -> Outcome {
        let endpoint = format!("{}/{ACCOUNT}", self.server);
        let command = with_store(command, "").env("AZURE_STORAGE_ENDPOINT", endpoint);
        run(command
            .env("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT)
            .env("AZURE_STORAGE_ACCOUNT_KEY", key))
    }

    /// A load by the variables of the emulator.
    fn load(&self, desk: &Desk, url: &str) -> Outcome {
        let mut load = desk.home.load(desk.server, &desk.table("t"), Path::new(url));
        let command = with_store(&mut load, "").env("AZURE_STORAGE_USE_EMULATOR", "true");
        run(command.env("AZURITE_BLOB_STORAGE_URL", &self.server))
    }
}

impl Drop for Azurite {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        _ = self.process.wait();
    }
}

fn export(desk: &Desk, url: &str, more: &[&str]) -> Command {
    let mut export = desk.home.inrush(["export", &desk.table("t"), "-o", url, "--memory", "64M"]);
    export.args(more).arg("--socket").arg(desk.server.socket());
    export
}

#[test]
fn exports_to_azure_are_read_back_by_ranges_and_patterns() {
    let Some(azurite) = Azurite::new() else { return };
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(200))");
    // Several parts of 5 MiB.
    desk.exec("INSERT INTO t SELECT seq, REPEAT(MD5(seq), 4) FROM seq_1_to_100000");
    let sum = desk.rows("CHECKSUM TABLE t");
    for (key, pattern) in
        [("a/t.csv", "a/*.csv"), ("t.parquet", "t.parquet"), ("b/c d/t.arrow", "b/*/*")]
    {
        let [url, pattern] = [key, pattern].map(|key| format!("az://shop/{key}"));
        azurite.run(&mut export(&desk, &url, &[]), KEY).done();
        let again = azurite.run(&mut export(&desk, &url, &[]), KEY);
        again.refused(2, &[&url, "exists already; --force overwrites it"]);
        desk.exec("TRUNCATE t");
        azurite.load(&desk, &pattern).done();
        assert_eq!(desk.rows("CHECKSUM TABLE t"), sum, "{key}");
    }
    let cut = ["--split-rows", "40000", "--dialect", "csv"];
    azurite.run(&mut export(&desk, "az://shop/cut/", &cut), KEY).done();
    desk.exec("TRUNCATE t");
    azurite.load(&desk, "az://shop/cut/t.000?.csv").done();
    assert_eq!(desk.rows("CHECKSUM TABLE t"), sum);
}

#[test]
fn what_azure_refuses_is_named() {
    let Some(azurite) = Azurite::new() else { return };
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT PRIMARY KEY)");
    let missing = azurite.load(&desk, "az://shop/no.csv");
    missing.refused(2, &["az://shop/no.csv: the container has no such object"]);
    let missing = azurite.run(&mut export(&desk, "az://nowhere/t.csv", &[]), KEY);
    missing.refused(1, &["az://nowhere/t.csv", "there is no such container"]);
    let wrong = azurite.run(&mut export(&desk, "az://shop/t.csv", &[]), "aHVudGVyNg==");
    wrong.refused(1, &["az://shop/t.csv"]);
    assert!(!format!("{wrong:?}").contains("aHVudGVy"), "{wrong:?}");
}
