//! Tests that need more than one file of the crate, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod cases;
mod hostile;
mod instant;
mod leaves;
mod model;
mod mysql;
mod rebuild;
mod sample;
mod server;
mod store;
mod verify;
mod verify_server;
