//! The server decides: tables loaded by Inrush against tables loaded by LOAD DATA.
//!
//! One server for all tests, a database a test; skipped with a line where no MariaDB is installed.
//! See [`differential`] for how to run more cases.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod aged;
mod autoincrement;
mod charsets;
mod clusters;
mod columnar;
mod defaults;
mod destination;
mod dialects;
mod differential;
mod duplicates;
mod fresh;
mod hostile;
mod inputs;
mod insert_rules;
mod json;
mod left_out;
mod left_out_numbers;
mod literals;
mod logical;
mod memory;
mod modelled;
mod numbering;
mod order;
mod pages;
mod partitioned;
mod partitions;
mod refusals;
mod rejects;
mod replicas;
mod row_ids;
mod sent;
mod server_only;
mod single_transaction;
mod sorted;
mod stand_in;
mod statistics;
mod typed;
mod untouched;
