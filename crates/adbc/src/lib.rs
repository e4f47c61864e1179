//! A driver for ADBC, the interface by which programs of any language reach a database with Arrow data.
//!
//! ```text
//! driver -> database (server_options, uri) -> connection (info, objects) -> statement -> ingest -> program
//!                                                                                     -> result (result_queue, result_set, batches, column)
//! ```
//!
//! Bulk loads run the program `inrush` as a process of its own: a crash of a load stays outside the process
//! that called the driver. Statements go over one connection to the server, whose answers become Arrow batches.

#![deny(unsafe_code)]

mod batches;
mod column;
mod connection;
mod database;
mod driver;
mod errors;
mod info;
mod ingest;
mod objects;
mod program;
mod result;
mod result_queue;
mod result_set;
mod server_options;
mod shared;
mod statement;
#[cfg(test)]
mod tests;
mod uri;
mod work;

pub use driver::InrushDriver;

/// The entry point for driver managers.
#[allow(unsafe_code, missing_docs)]
mod entry {
    adbc_ffi::export_driver!(AdbcDriverInrushInit, super::InrushDriver);
}
