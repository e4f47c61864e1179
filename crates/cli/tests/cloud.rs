//! Object stores: servers of S3 (moto) and of Azure (Azurite), and servers that refuse, change and die.

mod answers;
mod azure;
mod google;
mod moto;
mod read;
pub(crate) mod written;

use std::path::Path;
use std::process::Command;

use crate::support::{Desk, Outcome, run};

/// Credentials of all tests.
const KEY: &str = "AKIAHUNTER1";
const SECRET: &str = "hunter2/secret+key";

/// A command whose environment names a server and credentials, and nothing of the machine's.
fn with_store<'c>(command: &'c mut Command, endpoint: &str) -> &'c mut Command {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
        .env("AWS_ACCESS_KEY_ID", KEY)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_ENDPOINT_URL", endpoint)
}

fn load(desk: &Desk, endpoint: &str, url: &str, more: &[&str]) -> Outcome {
    let mut load = desk.home.load(desk.server, &desk.table("t"), Path::new(url));
    run(with_store(&mut load, endpoint).args(more))
}
