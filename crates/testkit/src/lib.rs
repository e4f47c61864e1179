//! Tools shared by tests and the soak: servers, and random tables to load into them.
//!
//! ```text
//! template -> TestServer -> Cluster          servers that end with their test
//! TestServer <- proxy                         a server that loses connections and answers
//! stand_in                                   one in memory that does so, for thousands of loads
//! arrow_tables                               random tables of Arrow, with the text of each value
//! tables: case -> run -> compare             random tables, by LOAD DATA and by Inrush
//! dialect                                    statements of tests in the words of MySQL
//! power                                      a disk that can lose its power, and what is left of it then
//! aged: family -> history -> same             tables that were changed at random before, and rows to add
//! schemas: shape -> rows                     tables of applications, and rows that fit together
//! program                                    our programs, in a home of their own
//! ```
//!
//! Nothing of it is in the product: it is only ever a dev-dependency. A failure here fails the test that
//! called it, so most functions panic rather than return an error.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[cfg(feature = "tables")]
pub mod aged;
#[cfg(feature = "arrow")]
pub mod arrow_tables;
mod case_log;
mod client;
mod cluster;
pub mod dialect;
mod mydumper;
mod port;
#[cfg(feature = "power")]
pub mod power;
pub mod program;
pub mod proxy;
pub mod random;
#[cfg(feature = "tables")]
pub mod schemas;
mod shards;
pub mod stand_in;
#[cfg(feature = "tables")]
pub mod tables;
pub mod tablespace;
mod template;
mod test_server;
mod wire;

pub use case_log::{keep_what_is_said, say};
pub use cluster::Cluster;
pub use port::free_port;
pub use random::Random;
pub use shards::Shards;
pub use test_server::{BINARY_VARIABLE, MYSQL_VARIABLE, TestServer, TestServerOptions};
