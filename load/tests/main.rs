//! The server decides: tables loaded by Inrush against tables loaded by LOAD DATA.
//!
//! One server for all tests, a database a test; skipped with a line where no MariaDB is installed.
//! See [`differential`] for how to run more cases.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod autoincrement;
mod case;
mod change;
mod charsets;
mod column;
mod compare;
mod defaults;
mod dialects;
mod differential;
mod duplicates;
mod format;
mod inputs;
mod insert_rules;
mod landing;
mod left_out;
mod left_out_numbers;
mod literals;
mod logical;
mod memory;
mod numbering;
mod oracle;
mod order;
mod pages;
mod random;
mod reasons;
mod refusals;
mod rejects;
mod replicas;
mod run;
mod sent;
mod server;
mod server_only;
mod sorted;
#[path = "../../innodb/tests/source.rs"]
mod source;
mod table;
mod text;
mod twins;
mod value;

/// Says what a test is at: shown when it fails. The soak keeps it in a file.
pub(crate) fn say(text: &str) {
    println!("{text}");
}
